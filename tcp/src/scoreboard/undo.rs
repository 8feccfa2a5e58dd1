//! Taking back that packets are lost.

use super::{NONE, Place, Scoreboard, mark};

impl Scoreboard {
    /// Nothing is taken for lost any more (undo). What a timeout or a count took for lost is looked
    /// at by its time again; what its time did is in no list until a timeout looks at every packet,
    /// as in Linux.
    pub fn unmark_lost(&mut self) {
        for number in self.head..self.tail {
            self.get_mut(number).marks &= !mark::LOST;
        }
        let mut back = Vec::new();
        while let Some(number) = self.next_lost() {
            if self.get(number).place == Place::Lost {
                back.push((self.get(number).sent_us, number));
            }
            self.unlink(number);
        }
        self.lost_out = 0;
        back.sort_unstable();
        self.merge_in_flight(&back);
    }

    /// Packets, in the order of their sending, come between those in flight.
    fn merge_in_flight(&mut self, back: &[(u64, u64)]) {
        let mut after = self.in_flight.first;
        for &(sent_us, number) in back {
            while after != NONE && (self.get(after).sent_us, after) < (sent_us, number) {
                after = self.get(after).after;
            }
            let before = match after {
                NONE => self.in_flight.last,
                after => self.get(after).before,
            };
            self.link(number, before, after, Place::InFlight);
        }
    }
}
