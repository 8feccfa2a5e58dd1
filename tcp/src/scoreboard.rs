//! The scoreboard: all packets sent and not acknowledged cumulatively.
//!
//! A ring of packets, indexed by packet number. Counters are updated as packets change, so an acknowledgement
//! costs in proportion to what it changes, not to the window. A packet in flight is in a list ordered by its
//! last send time (which RACK scans), a lost packet in a list ordered by sequence number (retransmitted
//! next), a SACKed packet in none.
//!
//! Counters have the names of Linux: `packets_out`, `sacked_out`, `lost_out`, `retrans_out`
//! (include/linux/tcp.h); in flight are `packets_out - sacked_out - lost_out + retrans_out`.

mod buffers;
mod lists;
mod outstanding;
mod packed;
#[cfg(test)]
mod tests;
mod undo;

use dumbbell_core::prefetch::prefetch;
use outstanding::{PacketList, mark};
use packed::{Link, MOST_PLACES, PackedPacket};

pub use outstanding::{Outstanding, RateNote};

/// No packet.
const NONE: u64 = u64::MAX;
/// Initial number of places.
const FIRST_PLACES: usize = 16;

/// First and last of a doubly linked list through the ring.
#[derive(Debug, Clone, Copy, PartialEq)]
struct List {
    first: Link,
    last: Link,
}

const EMPTY: List = List {
    first: Link::NONE,
    last: Link::NONE,
};

/// Packets that are sent and not acknowledged cumulatively.
#[derive(Debug, Clone)]
pub struct Scoreboard {
    /// A power of two of places; packet `n` is at `n` modulo their number.
    places: Box<[PackedPacket]>,
    /// Number of the first unacknowledged packet.
    head: u64,
    /// Number of the next packet to send.
    tail: u64,
    /// Lower bound of the sequence numbers of outstanding packets.
    head_seq: u64,
    /// Ordered by send time.
    in_flight: List,
    /// Ordered by sequence number.
    lost: List,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Number of packets that continue the sk_buff of the one before.
    continuing: u32,
    /// One past the highest SACKed sequence number.
    highest_sacked_end: u64,
    mss_bytes: u32,
}

const _: () = assert!(size_of::<Scoreboard>() <= 88);

/// The place of a packet in a ring of `places` places.
#[inline(always)]
fn place_in(places: usize, number: u64) -> usize {
    number as usize & (places - 1)
}

/// A link to a packet, or to none, in a ring of `places` places.
#[inline(always)]
fn link_in(places: usize, number: u64) -> Link {
    if number == NONE {
        Link::NONE
    } else {
        Link::to(place_in(places, number))
    }
}

/// Unused places do not matter.
impl PartialEq for Scoreboard {
    fn eq(&self, other: &Scoreboard) -> bool {
        let numbers = |board: &Scoreboard| {
            let counted = (board.sacked_out, board.lost_out, board.retrans_out);
            let ends = (board.head, board.tail, board.highest_sacked_end);
            let lists = [board.in_flight, board.lost];
            let lists = lists.map(|list| (board.number(list.first), board.number(list.last)));
            (ends, counted, board.continuing, lists)
        };
        let mut out = self.head..self.tail;
        numbers(self) == numbers(other) && out.all(|number| self.get(number) == other.get(number))
    }
}

impl Scoreboard {
    /// An empty scoreboard. The payload of a full segment helps to find packets.
    pub fn new(mss_bytes: u32) -> Scoreboard {
        Scoreboard {
            places: Box::default(),
            head: 0,
            tail: 0,
            head_seq: 0,
            in_flight: EMPTY,
            lost: EMPTY,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            continuing: 0,
            highest_sacked_end: 0,
            mss_bytes: mss_bytes.max(1),
        }
    }

    /// Number of the first unacknowledged packet.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Number of the next packet to send.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Packets sent and not acknowledged cumulatively.
    #[inline]
    pub fn packets_out(&self) -> u32 {
        (self.tail - self.head) as u32
    }

    /// SACKed packets among them (without SACK: duplicate acknowledgements).
    #[inline]
    pub fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Packets among them considered lost.
    #[inline]
    pub fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Retransmitted packets among them.
    #[inline]
    pub fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Packets in flight: sent, neither acknowledged nor SACKed nor considered lost
    /// (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        // Without SACK, duplicates and losses together may exceed the outstanding packets.
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// One past the highest SACKed sequence number; None if nothing is SACKed.
    #[inline]
    pub fn highest_sacked_end(&self) -> Option<u64> {
        (self.sacked_out > 0).then_some(self.highest_sacked_end)
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        place_in(self.places.len(), number)
    }

    /// The number of the packet that a link refers to.
    #[inline]
    fn number(&self, link: Link) -> u64 {
        link.place().map_or(NONE, |place| {
            let distance = place.wrapping_sub(self.head as usize) & (self.places.len() - 1);
            self.head + distance as u64
        })
    }

    #[inline]
    fn known(&self, link: Link) -> Option<u64> {
        (link != Link::NONE).then(|| self.number(link))
    }

    /// A link to this packet, or to none.
    #[inline]
    fn link_to(&self, number: u64) -> Link {
        link_in(self.places.len(), number)
    }

    /// The outstanding packet with this number.
    #[inline]
    pub fn get(&self, number: u64) -> Outstanding {
        self.packed(number)
            .unpack(number, self.head_seq, |link| self.number(link))
    }

    #[inline]
    fn seq(&self, number: u64) -> u64 {
        self.packed(number).seq(self.head_seq)
    }

    #[inline]
    fn packed(&self, number: u64) -> &PackedPacket {
        &self.places[self.place(number)]
    }

    #[inline]
    fn packed_mut(&mut self, number: u64) -> &mut PackedPacket {
        let place = self.place(number);
        &mut self.places[place]
    }

    /// The first outstanding packet.
    #[inline]
    pub fn first(&self) -> Option<Outstanding> {
        (self.head != self.tail).then(|| self.get(self.head))
    }

    /// Prefetches the packets that the next acknowledgement and transmission use.
    pub fn prefetch_ends(&self) {
        if self.places.is_empty() {
            return;
        }
        let (head, tail) = (self.head, self.tail);
        // The first and the last of three consecutive packets cover all their cache lines.
        for number in [head, head + 2, tail, tail + 1] {
            prefetch(self.packed(number));
        }
    }

    /// Number of the first packet that begins at or after `seq`; `tail` for none.
    pub fn first_from(&self, seq: u64) -> u64 {
        if self.head == self.tail {
            return self.tail;
        }
        // Nearly always all packets before it are full.
        let distance = seq.saturating_sub(self.seq(self.head));
        let guess = self.head + distance.div_ceil(u64::from(self.mss_bytes));
        if guess < self.tail && self.seq(guess) == seq {
            return guess;
        }
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.seq(middle) < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Adds a packet that is sent for the first time.
    pub fn push(&mut self, seq: u64, end: u64, now_us: u64, note: RateNote) {
        if self.packets_out() as usize == self.places.len() {
            self.grow();
        }
        if self.head == self.tail {
            self.head_seq = seq;
        }
        let number = self.tail;
        self.tail += 1;
        let (bytes, before) = ((end - seq) as u32, self.in_flight.last);
        *self.packed_mut(number) = PackedPacket::sent(number, seq, bytes, now_us, note, before);
        self.append_new(number);
    }

    #[cold]
    fn grow(&mut self) {
        let places = (2 * self.places.len()).max(FIRST_PLACES);
        assert!(places <= MOST_PLACES, "{places} packets are out");
        let link_to = |number: u64| link_in(places, number);
        let mut grown = vec![PackedPacket::default(); places];
        for number in self.head..self.tail {
            grown[place_in(places, number)] = PackedPacket::of(number, &self.get(number), link_to);
        }
        [self.in_flight, self.lost] = [self.in_flight, self.lost].map(|list| List {
            first: link_to(self.number(list.first)),
            last: link_to(self.number(list.last)),
        });
        self.places = grown.into_boxed_slice();
    }

    /// Removes the first packet, which is acknowledged.
    pub fn pop(&mut self) -> Outstanding {
        let number = self.head;
        self.unlink(number);
        let sent = self.get(number);
        self.retrans_out -= u32::from(sent.is_retransmitted());
        self.sacked_out -= u32::from(sent.is_sacked());
        self.lost_out -= u32::from(sent.is_lost());
        self.head += 1;
        self.head_seq = sent.seq;
        if sent.continues() {
            self.continuing -= 1;
        }
        if self.continuing > 0 && self.head < self.tail {
            self.split(self.head);
        }
        sent
    }

    /// Whether nothing is SACKed, lost, or retransmitted and in flight.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out == 0
    }

    /// As `pop`, if nothing is SACKed, lost or retransmitted.
    #[inline(always)]
    pub fn pop_plain(&mut self) -> Outstanding {
        debug_assert!(self.is_plain());
        let number = self.head;
        let sent = self.get(number);
        if self.in_flight.first == self.link_to(number) {
            let after = self.packed(number).after();
            self.in_flight.first = after;
            if after == Link::NONE {
                self.in_flight.last = Link::NONE;
            }
        } else {
            self.unlink(number);
        }
        self.head_seq = sent.seq;
        self.head += 1;
        if self.continuing > 0 {
            self.continuing -= u32::from(sent.continues());
            self.split(self.head);
        }
        sent
    }

    /// Marks a packet as SACKed. Returns its previous state; None if it was SACKed before.
    pub fn sack(&mut self, number: u64) -> Option<Outstanding> {
        let was = self.get(number);
        if was.is_sacked() {
            return None;
        }
        // The retransmission of a packet that is not considered lost counts as in flight.
        if was.is_lost() {
            self.lost_out -= 1;
            self.retrans_out -= u32::from(was.is_retransmitted());
            self.packed_mut(number)
                .remove_marks(mark::LOST | mark::RETRANSMITTED);
        }
        self.unlink(number);
        self.packed_mut(number).add_marks(mark::SACKED);
        self.sacked_out += 1;
        self.highest_sacked_end = if self.sacked_out == 1 {
            was.end()
        } else {
            self.highest_sacked_end.max(was.end())
        };
        Some(was)
    }

    /// A DSACK says that the retransmission of a packet has arrived too.
    pub fn forget_retransmission(&mut self, number: u64) {
        if self.get(number).is_retransmitted() {
            self.packed_mut(number).remove_marks(mark::RETRANSMITTED);
            self.retrans_out -= 1;
        }
    }

    /// Marks the packet as counted in a rate sample.
    pub fn count_rate(&mut self, number: u64) {
        self.packed_mut(number).add_marks(mark::RATE_COUNTED);
    }

    /// Marks a packet, or its retransmission, as lost. Returns whether it was not marked before.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let was = self.get(number);
        if was.is_sacked() {
            return false;
        }
        let is_news = if was.is_retransmitted() && was.is_lost() {
            self.retrans_out -= 1;
            self.packed_mut(number).remove_marks(mark::RETRANSMITTED);
            true
        } else if was.is_retransmitted() {
            self.retrans_out -= 1;
            self.lost_out += 1;
            let marks = was.marks & !mark::RETRANSMITTED | mark::LOST;
            self.packed_mut(number).set_marks(marks);
            true
        } else if !was.is_lost() {
            self.lost_out += 1;
            self.packed_mut(number).add_marks(mark::LOST);
            true
        } else {
            false
        };
        if is_news {
            self.unlink(number);
            self.insert_lost(number);
        }
        is_news
    }

    /// Marks a packet as lost whose retransmission counts as in flight: it is not retransmitted until that is
    /// lost too.
    pub fn mark_lost_beside_copy(&mut self, number: u64) {
        let sent = self.get(number);
        debug_assert!(sent.is_retransmitted() && !sent.is_lost() && !sent.is_sacked());
        self.packed_mut(number).add_marks(mark::LOST);
        self.lost_out += 1;
    }

    /// Excludes a packet from loss detection by time.
    pub fn forget_time(&mut self, number: u64) {
        match self.packed(number).list() {
            PacketList::InFlight => self.unlink(number),
            PacketList::Lost => self.packed_mut(number).set_list(PacketList::LostByTime),
            _ => {}
        }
    }

    /// The next packet to retransmit: lost, and not retransmitted yet.
    #[inline]
    pub fn next_lost(&self) -> Option<u64> {
        self.known(self.lost.first)
    }

    /// A packet has been retransmitted. With `is_counted` it counts in `retrans_out`.
    pub fn retransmit(&mut self, number: u64, now_us: u64, note: RateNote, is_counted: bool) {
        self.unlink(number);
        let packed = self.packed_mut(number);
        packed.set_sent(number, now_us, note);
        let was_retransmitted = packed.marks() & mark::RETRANSMITTED != 0;
        packed.add_marks(mark::EVER_RETRANSMITTED);
        if is_counted && !was_retransmitted {
            packed.add_marks(mark::RETRANSMITTED);
            self.retrans_out += 1;
        }
        if !self.get(number).is_sacked() {
            self.append_in_flight(number);
        }
    }

    /// Removes the packet sent last, which was not sent after all.
    pub fn pop_last(&mut self) -> Outstanding {
        let number = self.tail - 1;
        self.unlink(number);
        self.split(number);
        let last = self.get(number);
        self.tail = number;
        last
    }

    /// Undoes a retransmission that was not sent after all.
    pub fn take_back(&mut self, number: u64) {
        self.unlink(number);
        self.packed_mut(number).remove_marks(mark::RETRANSMITTED);
        self.retrans_out -= 1;
        if self.get(number).is_lost() {
            self.insert_lost(number);
        }
    }

    /// The packet in flight with the latest send time.
    pub fn newest_in_flight(&self) -> Option<u64> {
        self.known(self.in_flight.last)
    }

    /// The receiver has discarded SACKed data (reneging, RFC 2018 section 8).
    pub fn forget_sacks(&mut self) {
        for number in self.head..self.tail {
            self.packed_mut(number).remove_marks(mark::SACKED);
        }
        self.sacked_out = 0;
    }

    /// Without SACK, counts duplicate acknowledgements instead.
    pub fn set_duplicates(&mut self, duplicates: u32) {
        self.sacked_out = duplicates;
    }

    /// The packet in flight with the earliest send time.
    #[inline]
    pub fn oldest_in_flight(&self) -> Option<u64> {
        self.known(self.in_flight.first)
    }

    /// The packet in flight sent next after this one.
    #[inline]
    pub fn next_in_flight(&self, number: u64) -> Option<u64> {
        self.known(self.packed(number).after())
    }
}
