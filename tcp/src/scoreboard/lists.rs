//! The two lists through the ring: in flight by time of sending, lost by number.

use super::{List, NONE, Place, Scoreboard};

impl Scoreboard {
    pub(super) fn append_in_flight(&mut self, number: u64) {
        let last = self.in_flight.last;
        self.link(number, last, NONE, Place::InFlight);
    }

    /// Losses are found nearly in the order of their numbers, so the place is near the end; or
    /// it is the first packet that is lost again, and the place is the beginning.
    pub(super) fn insert_lost(&mut self, number: u64) {
        let first = self.lost.first;
        if first != NONE && number < first {
            self.link(number, NONE, first, Place::Lost);
            return;
        }
        let (mut before, mut after) = (self.lost.last, NONE);
        while before != NONE && before > number {
            after = before;
            before = self.get(before).before;
        }
        self.link(number, before, after, Place::Lost);
    }

    fn list(&mut self, place: Place) -> &mut List {
        match place {
            Place::Lost | Place::LostByTime => &mut self.lost,
            _ => &mut self.in_flight,
        }
    }

    pub(super) fn link(&mut self, number: u64, before: u64, after: u64, place: Place) {
        let sent = self.get_mut(number);
        (sent.before, sent.after, sent.place) = (before, after, place);
        self.join(before, number, place);
        self.join(number, after, place);
    }

    pub(super) fn unlink(&mut self, number: u64) {
        let sent = *self.get(number);
        if sent.place == Place::Nowhere {
            return;
        }
        self.get_mut(number).place = Place::Nowhere;
        self.join(sent.before, sent.after, sent.place);
    }

    /// Makes two neighbours of a list; NONE stands for its ends.
    fn join(&mut self, before: u64, after: u64, place: Place) {
        if before == NONE {
            self.list(place).first = after;
        } else {
            self.get_mut(before).after = after;
        }
        if after == NONE {
            self.list(place).last = before;
        } else {
            self.get_mut(after).before = before;
        }
    }
}
