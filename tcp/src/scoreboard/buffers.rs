//! Grouping of packets into sk_buffs: packets sent together that have not been split. Without bursts each
//! packet is its own sk_buff, until it is SACKed.

use super::packed::PackedPacket;
use super::{List, NONE, Outstanding, PacketList, Scoreboard, link_in, mark};

/// The neighbours with which a SACKed packet has been merged into one sk_buff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergedNeighbours {
    /// The packet before it.
    pub before: bool,
    /// The packet behind it.
    pub behind: bool,
}

impl Scoreboard {
    /// Number of outstanding sk_buffs.
    #[inline]
    pub fn buffers_out(&self) -> u32 {
        self.packets_out() - self.continuing
    }

    /// The packet sent last continues the sk_buff of the one before (`tcp_transmit_skb` of several).
    pub fn continue_last(&mut self) {
        self.join_buffers(self.tail - 1);
    }

    /// The packet sent last carries PSH.
    pub fn push_last(&mut self) {
        let last = self.tail - 1;
        self.packed_mut(last).add_marks(mark::PUSHED);
    }

    /// Splits the sk_buff in front of a packet (`tcp_fragment`).
    #[inline]
    pub fn split(&mut self, number: u64) {
        if number < self.tail && self.get(number).continues() {
            self.packed_mut(number).remove_marks(mark::CONTINUES);
            self.continuing -= 1;
        }
    }

    /// Merges a packet into the sk_buff before it (`tcp_shift_skb_data`). If that carries PSH, both do now
    /// (`tcp_shifted_skb`), and splitting the result keeps it at the end (`tcp_fragment`).
    fn join_buffers(&mut self, number: u64) {
        if number > self.head && number < self.tail && !self.get(number).continues() {
            self.packed_mut(number).add_marks(mark::CONTINUES);
            self.continuing += 1;
            if self.get(number - 1).is_pushed() {
                let last = self.end_of_buffer(number) - 1;
                self.packed_mut(number - 1).remove_marks(mark::PUSHED);
                self.packed_mut(last).add_marks(mark::PUSHED);
            }
        }
    }

    /// A packet was SACKed. It is merged into the sk_buff before it if that is SACKed, and SACKed packets
    /// behind it follow: holes are filled from the left (`tcp_shift_skb_data`). It is split from packets that
    /// are not SACKed (`tcp_match_skb_to_sack`).
    pub fn join_sacked(&mut self, number: u64) -> MergedNeighbours {
        let joins = number > self.head && self.is_one_run(number - 1, number);
        let goes_on = joins && number + 1 < self.tail && self.is_one_run(number, number + 1);
        // Splits it from what is behind before merging it with what is before.
        for (border, joins) in [(number + 1, goes_on), (number, joins)] {
            if joins {
                self.join_buffers(border);
            } else {
                self.split(border);
            }
        }
        MergedNeighbours {
            before: joins,
            behind: goes_on,
        }
    }

    /// Whether two neighbours are SACKed, have equal size, and neither was retransmitted without being
    /// considered lost.
    fn is_one_run(&self, number: u64, next: u64) -> bool {
        let (one, other) = (self.get(number), self.get(next));
        let may_join = |sent: &Outstanding| sent.is_sacked() && !sent.is_retransmitted();
        may_join(&one) && may_join(&other) && one.bytes() == other.bytes()
    }

    /// One past the last packet of this sk_buff that also waits for retransmission.
    pub fn end_of_lost_buffer(&self, number: u64) -> u64 {
        let goes_on = |number: &u64| {
            let sent = self.get(*number);
            sent.continues() && matches!(sent.place, PacketList::Lost | PacketList::LostByTime)
        };
        (number + 1..self.tail)
            .find(|number| !goes_on(number))
            .unwrap_or(self.tail)
    }

    /// One past the last packet of this sk_buff.
    pub fn end_of_buffer(&self, number: u64) -> u64 {
        (number + 1..self.tail)
            .find(|number| !self.get(*number).continues())
            .unwrap_or(self.tail)
    }

    /// Whether this packet, or another of its sk_buff, was retransmitted.
    pub fn was_one_of_its_buffer_retransmitted(&self, number: u64) -> bool {
        let begins = |number: &u64| !self.get(*number).continues();
        let mut below = (self.head..=number).rev();
        let first = below.find(begins).unwrap_or(self.head);
        (first..self.end_of_buffer(number)).any(|number| self.get(number).was_ever_retransmitted())
    }

    /// Merges the next packet, an sk_buff of its own, into this one (`tcp_collapse_retrans`). Numbers behind
    /// it decrease by one.
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
            let packed = PackedPacket::of(number, sent, |known| link_in(places, known));
            *self.packed_mut(number) = packed;
        }
        [self.in_flight, self.lost] = lists.map(|list| {
            let [first, last] = list.map(|number| self.link_to(number));
            List { first, last }
        });
    }
}
