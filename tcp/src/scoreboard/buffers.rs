//! Which packets are one sk_buff: those that were sent together and nothing has parted since.
//!
//! Where each segment goes by itself, each is one of its own.

use super::packed::Packed;
use super::{List, NONE, Outstanding, Place, Scoreboard, link_in, mark};

impl Scoreboard {
    /// sk_buffs that are out.
    #[inline]
    pub fn buffers_out(&self) -> u32 {
        self.packets_out() - self.continuing
    }

    /// The packet sent last is part of the sk_buff of the one before (`tcp_transmit_skb` of
    /// several).
    pub fn continue_last(&mut self) {
        self.join_buffers(self.tail - 1);
    }

    /// The last byte of the packet sent last is pushed.
    pub fn push_last(&mut self) {
        let last = self.tail - 1;
        self.packed_mut(last).add_marks(mark::PUSHED);
    }

    /// From here on it is another sk_buff (`tcp_fragment`).
    #[inline]
    pub fn split(&mut self, number: u64) {
        if number < self.tail && self.get(number).continues() {
            self.packed_mut(number).remove_marks(mark::CONTINUES);
            self.continuing -= 1;
        }
    }

    /// A packet becomes part of the sk_buff before it (`tcp_shift_skb_data`).
    fn join_buffers(&mut self, number: u64) {
        if number > self.head && number < self.tail && !self.get(number).continues() {
            self.packed_mut(number).add_marks(mark::CONTINUES);
            self.continuing += 1;
        }
    }

    /// Packets of one sk_buff that are SACKed become one of their own, together with SACKed
    /// neighbours (`tcp_match_skb_to_sack`, `tcp_shift_skb_data`).
    pub fn split_sacked(&mut self, number: u64) {
        for (border, before) in [(number, number.wrapping_sub(1)), (number + 1, number + 1)] {
            if border <= self.head || border >= self.tail {
                continue;
            }
            if self.get(before).is_sacked() {
                self.join_buffers(border);
            } else {
                self.split(border);
            }
        }
    }

    /// One past the last packet of the sk_buff of this one that waits to be sent again like it.
    pub fn end_of_lost_buffer(&self, number: u64) -> u64 {
        let goes_on = |number: &u64| {
            let sent = self.get(*number);
            sent.continues() && matches!(sent.place, Place::Lost | Place::LostByTime)
        };
        (number + 1..self.tail)
            .find(|number| !goes_on(number))
            .unwrap_or(self.tail)
    }

    /// One past the last packet of the sk_buff of this one.
    pub fn end_of_buffer(&self, number: u64) -> u64 {
        (number + 1..self.tail)
            .find(|number| !self.get(*number).continues())
            .unwrap_or(self.tail)
    }

    /// Whether a packet was sent more than once, or one that lies with it in one sk_buff since both
    /// are SACKed: neighbours of one size do (`tcp_shift_skb_data`), but for what was sent again and
    /// never taken for lost.
    pub fn was_one_of_its_run_retransmitted(&self, number: u64) -> bool {
        let sent = self.get(number);
        let is_run = |other: &Outstanding| {
            other.is_sacked() && !other.is_retransmitted() && other.bytes() == sent.bytes()
        };
        if sent.was_ever_retransmitted() || !is_run(&sent) {
            return sent.was_ever_retransmitted();
        }
        let below = (self.head..number).rev().map(|number| self.get(number));
        let above = (number + 1..self.tail).map(|number| self.get(number));
        let below = below.take_while(is_run);
        let above = above.take_while(is_run);
        below
            .chain(above)
            .any(|other| other.was_ever_retransmitted())
    }

    /// A packet takes the next one in, which is an sk_buff of its own: both are one packet from now
    /// on (`tcp_collapse_retrans`). Numbers behind it are one less.
    pub fn collapse_next(&mut self, number: u64) {
        let next = number + 1;
        let taken = self.get(next);
        debug_assert!(next < self.tail && !taken.is_sacked() && !taken.continues());
        self.unlink(next);
        self.lost_out -= u32::from(taken.is_lost());
        self.retrans_out -= u32::from(taken.is_retransmitted());
        let renumbered = |known: u64| known - u64::from(known != NONE && known > next);
        let lists = [self.in_flight, self.lost];
        let lists =
            lists.map(|list| [list.first, list.last].map(|link| renumbered(self.number(link))));
        let known = (self.head..self.tail).filter(|known| *known != next);
        let mut out: Vec<Outstanding> = known.map(|known| self.get(known)).collect();
        for sent in &mut out {
            (sent.before, sent.after) = (renumbered(sent.before), renumbered(sent.after));
        }
        let kept = &mut out[(number - self.head) as usize];
        kept.bytes += taken.bytes;
        kept.marks |= taken.marks & (mark::EVER_RETRANSMITTED | mark::PUSHED);
        self.tail -= 1;
        let places = self.places.len();
        for (number, sent) in (self.head..).zip(&out) {
            let packed = Packed::of(number, sent, |known| link_in(places, known));
            *self.packed_mut(number) = packed;
        }
        [self.in_flight, self.lost] = lists.map(|list| {
            let [first, last] = list.map(|number| self.link_to(number));
            List { first, last }
        });
    }
}
