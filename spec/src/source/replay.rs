//! A recorded trace, sent again.

use crate::SizeAt;
use dumbbell_core::time::Time;

/// A trace at its next packet.
#[derive(Debug, Clone)]
pub struct Replay {
    times_ns: Vec<u64>,
    sizes_bytes: Vec<u32>,
    size_at: SizeAt,
    next: usize,
}

impl Replay {
    /// A trace at its beginning: instants from the flow's start, not decreasing.
    pub fn new(times_ns: Vec<u64>, sizes_bytes: Vec<u32>, size_at: SizeAt) -> Replay {
        Replay {
            times_ns,
            sizes_bytes,
            size_at,
            next: 0,
        }
    }

    /// To the next packet of the trace.
    pub fn next_gap(&mut self) -> Option<Time> {
        let due = *self.times_ns.get(self.next)?;
        let before = match self.next {
            0 => 0,
            next => self.times_ns[next - 1],
        };
        self.next += 1;
        Some(Time::from_ns(due - before))
    }

    /// The size of the packet whose gap was returned last, bytes.
    pub fn next_size(&mut self) -> u32 {
        let most = match self.size_at {
            SizeAt::Wire => 65_535,
            SizeAt::Payload => 65_507,
        };
        self.sizes_bytes[self.next - 1].min(most)
    }

    /// What its sizes mean.
    pub fn size_at(&self) -> SizeAt {
        self.size_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_the_trace() {
        let mut replay = Replay::new(vec![5, 5, 9], vec![100, 70_000, 3], SizeAt::Wire);
        let mut out = Vec::new();
        let mut now = Time::ZERO;
        while let Some(gap) = replay.next_gap() {
            now += gap;
            out.push((now.as_ns(), replay.next_size()));
        }
        assert_eq!(out, vec![(5, 100), (5, 65_535), (9, 3)]);
    }
}
