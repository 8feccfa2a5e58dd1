//! Lists of a tin's queues, each queue in one at most, out of which it can be taken wherever it is.

/// No queue.
const NONE: u16 = u16::MAX;

/// The three rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// Queues that have just got a packet.
    New,
    /// Those with a backlog.
    Old,
    /// Empty ones whose COBALT has not come to rest.
    Decaying,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    before: u16,
    after: u16,
    list: Option<Rotation>,
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    first: u16,
    last: u16,
}

/// The rotations of one tin.
#[derive(Debug, Clone)]
pub struct Rotations {
    places: Vec<Place>,
    ends: [Ends; 3],
}

impl Rotations {
    /// Of so many queues, none of them in a rotation.
    pub fn new(queues: u16) -> Rotations {
        let place = Place {
            before: NONE,
            after: NONE,
            list: None,
        };
        let ends = Ends {
            first: NONE,
            last: NONE,
        };
        Rotations {
            places: vec![place; queues.into()],
            ends: [ends; 3],
        }
    }

    /// The queue whose turn it is.
    #[inline]
    pub fn first(&self, rotation: Rotation) -> Option<u16> {
        let first = self.ends[rotation as usize].first;
        (first != NONE).then_some(first)
    }

    /// Puts a queue last in a rotation, out of the one it was in.
    #[inline]
    pub fn move_last(&mut self, queue: u16, rotation: Rotation) {
        self.take_out(queue);
        let ends = &mut self.ends[rotation as usize];
        let before = std::mem::replace(&mut ends.last, queue);
        if before == NONE {
            ends.first = queue;
        } else {
            self.places[usize::from(before)].after = queue;
        }
        self.places[usize::from(queue)] = Place {
            before,
            after: NONE,
            list: Some(rotation),
        };
    }

    /// Takes a queue out of its rotation, if it is in one.
    #[inline]
    pub fn take_out(&mut self, queue: u16) {
        let place = &mut self.places[usize::from(queue)];
        let Some(rotation) = place.list.take() else {
            return;
        };
        let Place { before, after, .. } = *place;
        let ends = &mut self.ends[rotation as usize];
        if before == NONE {
            ends.first = after;
        } else {
            self.places[usize::from(before)].after = after;
        }
        if after == NONE {
            ends.last = before;
        } else {
            self.places[usize::from(after)].before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rotation::{New, Old};
    use super::*;

    #[test]
    fn a_queue_leaves_from_anywhere() {
        let mut rotations = Rotations::new(4);
        for queue in 0..4 {
            rotations.move_last(queue, New);
        }
        rotations.move_last(1, Old);
        rotations.take_out(3);
        rotations.move_last(0, New);
        let mut left = Vec::new();
        while let Some(queue) = rotations.first(New) {
            left.push(queue);
            rotations.take_out(queue);
        }
        assert_eq!(left, [2, 0]);
        assert_eq!(rotations.first(Old), Some(1));
    }
}
