//! Packets that were marked lost and are in flight after all.

use super::{PacketList, Scoreboard, mark, packed::Link};

impl Scoreboard {
    /// Clears all loss marks (undo). Packets marked by a timeout or by count are again subject to detection
    /// by time. Packets marked by time are in no list until a timeout examines every packet, as in Linux.
    pub fn unmark_lost(&mut self) {
        for number in self.head..self.tail {
            self.packed_mut(number).remove_marks(mark::LOST);
        }
        let mut back = Vec::new();
        while let Some(number) = self.next_lost() {
            let sent = self.get(number);
            if sent.place == PacketList::Lost {
                back.push((sent.sent_us, number));
            }
            self.unlink(number);
        }
        self.lost_out = 0;
        back.sort_unstable();
        self.merge_in_flight(&back);
    }

    /// Merges packets, ordered by send time, into those in flight.
    fn merge_in_flight(&mut self, back: &[(u64, u64)]) {
        let mut after = self.in_flight.first;
        for &(sent_us, number) in back {
            while let Some(next) = self.known(after)
                && (self.get(next).sent_us, next) < (sent_us, number)
            {
                after = self.packed(next).after();
            }
            let before = match after.place() {
                None => self.in_flight.last,
                Some(_) if after == self.in_flight.first => Link::NONE,
                Some(place) => self.places[place].before(),
            };
            self.link(number, before, after, PacketList::InFlight);
        }
    }
}
