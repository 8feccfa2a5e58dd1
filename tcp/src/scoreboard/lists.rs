//! The two lists through the ring: in flight by send time, lost by number.
//!
//! The `before` link of the first packet of a list is not maintained, so removing a packet at the head of the
//! ring changes no other packet.

use super::{List, PacketList, Scoreboard, packed::Link};

impl Scoreboard {
    pub(super) fn append_in_flight(&mut self, number: u64) {
        self.link(
            number,
            self.in_flight.last,
            Link::NONE,
            PacketList::InFlight,
        );
    }

    /// As `append_in_flight`, for a packet whose state is already set.
    #[inline(always)]
    pub(super) fn append_new(&mut self, number: u64) {
        let own = self.link_to(number);
        match self.in_flight.last.place() {
            None => self.in_flight.first = own,
            Some(last) => self.places[last].set_after(own),
        }
        self.in_flight.last = own;
    }

    /// Losses are found nearly in order, so the place is near the end; or the first packet is lost again, and
    /// the place is the front.
    pub(super) fn insert_lost(&mut self, number: u64) {
        let first = self.lost.first;
        if first != Link::NONE && number < self.number(first) {
            self.link(number, Link::NONE, first, PacketList::Lost);
            return;
        }
        let (mut before, mut after) = (self.lost.last, Link::NONE);
        while let Some(place) = before.place()
            && self.number(before) > number
        {
            after = before;
            before = self.places[place].before();
        }
        self.link(number, before, after, PacketList::Lost);
    }

    fn list(&mut self, place: PacketList) -> &mut List {
        match place {
            PacketList::Lost | PacketList::LostByTime => &mut self.lost,
            _ => &mut self.in_flight,
        }
    }

    pub(super) fn link(&mut self, number: u64, before: Link, after: Link, place: PacketList) {
        let own = self.link_to(number);
        let sent = self.packed_mut(number);
        sent.set_before(before);
        sent.set_after(after);
        sent.set_list(place);
        self.join(before, own, place);
        self.join(own, after, place);
    }

    pub(super) fn unlink(&mut self, number: u64) {
        let sent = self.packed(number);
        let (list, before, after) = (sent.list(), sent.before(), sent.after());
        if list == PacketList::Nowhere {
            return;
        }
        self.packed_mut(number).set_list(PacketList::Nowhere);
        let own = self.link_to(number);
        let is_first = self.list(list).first == own;
        self.join(if is_first { Link::NONE } else { before }, after, list);
    }

    /// Links two neighbours of a list; an empty link stands for its end.
    fn join(&mut self, before: Link, after: Link, place: PacketList) {
        match before.place() {
            None => self.list(place).first = after,
            Some(at) => self.places[at].set_after(after),
        }
        match after.place() {
            None => self.list(place).last = before,
            Some(at) if before != Link::NONE => self.places[at].set_before(before),
            Some(_) => {}
        }
    }
}
