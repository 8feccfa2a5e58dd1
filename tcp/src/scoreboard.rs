//! The scoreboard: every packet that is sent and not yet acknowledged cumulatively.
//!
//! A ring of packets, found by their number, with counters that are kept as packets change, so
//! that an acknowledgement costs what it changes and not what the window holds. A packet that is
//! in flight lies in a list by the time it was last sent (what RACK looks through), one that is
//! taken for lost in a list by sequence number (what is sent again next), one that was SACKed in
//! neither.
//!
//! Names of counters are Linux's: `packets_out`, `sacked_out`, `lost_out`, `retrans_out`
//! (include/linux/tcp.h); in flight are `packets_out - sacked_out - lost_out + retrans_out`.

mod buffers;
mod lists;
#[cfg(test)]
mod tests;
mod undo;

use dumbbell_core::prefetch::prefetch;

/// No packet.
const NONE: u64 = u64::MAX;
/// Places made at first.
const FIRST_PLACES: usize = 16;

/// What is known of a packet.
mod mark {
    /// SACKed.
    pub const SACKED: u8 = 1;
    /// Taken for lost.
    pub const LOST: u8 = 2;
    /// Sent again, and that copy may be in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// Sent more than once.
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// The application had nothing more to send when it was sent.
    pub const APP_LIMITED: u8 = 16;
    /// It has been counted in a rate sample.
    pub const RATE_COUNTED: u8 = 32;
    /// Part of the sk_buff of the packet before it.
    pub const CONTINUES: u8 = 64;
    /// Its last byte is pushed.
    pub const PUSHED: u8 = 128;
}

/// Where a packet lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    InFlight,
    Lost,
    /// Lost by its time, which is looked at no more (`tcp_rack_detect_loss`).
    LostByTime,
}

/// What the rate estimator notes with a packet when it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateNote {
    /// When the first packet of the sample was sent.
    pub first_sent_us: u64,
    /// When a packet was last delivered.
    pub delivered_time_us: u64,
    /// Delivered in total.
    pub delivered_pkts: u64,
    /// Whether the application had nothing more to send.
    pub is_app_limited: bool,
}

/// A packet that was sent. Each is written once and read once a window later: a line of the
/// cache.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub struct Outstanding {
    /// Sequence number of its first byte.
    pub seq: u64,
    /// When it was last sent.
    pub sent_us: u64,
    first_sent_us: u64,
    delivered_time_us: u64,
    delivered_pkts: u64,
    before: u64,
    after: u64,
    /// Sequence numbers it takes; a FIN counts.
    bytes: u32,
    marks: u8,
    place: Place,
}

const _: () = assert!(size_of::<Outstanding>() == 64);

impl Outstanding {
    /// One past its last sequence number.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.bytes)
    }

    /// Sequence numbers it takes; a FIN counts.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// SACKed.
    #[inline]
    pub fn is_sacked(&self) -> bool {
        self.has(mark::SACKED)
    }

    /// Taken for lost.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.has(mark::LOST)
    }

    /// Sent again, and that copy may be in flight.
    #[inline]
    pub fn is_retransmitted(&self) -> bool {
        self.has(mark::RETRANSMITTED)
    }

    /// Sent more than once.
    #[inline]
    pub fn was_ever_retransmitted(&self) -> bool {
        self.has(mark::EVER_RETRANSMITTED | mark::RETRANSMITTED)
    }

    /// Its last byte is pushed.
    #[inline]
    pub fn is_pushed(&self) -> bool {
        self.has(mark::PUSHED)
    }

    /// Part of the sk_buff of the packet before it.
    #[inline]
    pub fn continues(&self) -> bool {
        self.has(mark::CONTINUES)
    }

    /// What the rate estimator noted; None once it has been used.
    #[inline]
    pub fn rate_note(&self) -> Option<RateNote> {
        (!self.has(mark::RATE_COUNTED)).then_some(RateNote {
            first_sent_us: self.first_sent_us,
            delivered_time_us: self.delivered_time_us,
            delivered_pkts: self.delivered_pkts,
            is_app_limited: self.has(mark::APP_LIMITED),
        })
    }

    fn set_note(&mut self, note: RateNote) {
        self.first_sent_us = note.first_sent_us;
        self.delivered_time_us = note.delivered_time_us;
        self.delivered_pkts = note.delivered_pkts;
        self.marks &= !(mark::APP_LIMITED | mark::RATE_COUNTED);
        self.marks |= if note.is_app_limited {
            mark::APP_LIMITED
        } else {
            0
        };
    }
}

/// First and last of a doubly linked list through the ring.
#[derive(Debug, Clone, Copy, PartialEq)]
struct List {
    first: u64,
    last: u64,
}

const EMPTY: List = List {
    first: NONE,
    last: NONE,
};

/// Packets that are sent and not acknowledged cumulatively.
#[derive(Debug, Clone)]
pub struct Scoreboard {
    /// As many as a power of two; packet `n` is at `n` modulo that.
    places: Box<[Outstanding]>,
    /// Number of the first that is not acknowledged.
    head: u64,
    /// Number of the next to be sent.
    tail: u64,
    /// By time of sending.
    in_flight: List,
    /// By sequence number.
    lost: List,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Packets that are part of the sk_buff of the one before.
    continuing: u32,
    /// One past the highest sequence number that was SACKed.
    highest_sacked_end: u64,
    mss_bytes: u32,
}

const _: () = assert!(size_of::<Scoreboard>() <= 96);

/// What places hold that are in no use is of no account.
impl PartialEq for Scoreboard {
    fn eq(&self, other: &Scoreboard) -> bool {
        let numbers = |board: &Scoreboard| {
            let counted = (board.sacked_out, board.lost_out, board.retrans_out);
            let ends = (board.head, board.tail, board.highest_sacked_end);
            (ends, counted, board.continuing, board.in_flight, board.lost)
        };
        let mut out = self.head..self.tail;
        numbers(self) == numbers(other) && out.all(|number| self.get(number) == other.get(number))
    }
}

impl Scoreboard {
    /// Empty. The payload of a full segment helps to find packets.
    pub fn new(mss_bytes: u32) -> Scoreboard {
        Scoreboard {
            places: Box::default(),
            head: 0,
            tail: 0,
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

    /// Number of the first packet that is not acknowledged.
    #[inline]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Number of the next packet to be sent.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Sent and not acknowledged cumulatively.
    #[inline]
    pub fn packets_out(&self) -> u32 {
        (self.tail - self.head) as u32
    }

    /// Of those, SACKed (without SACK: duplicate acknowledgements).
    #[inline]
    pub fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Of those, taken for lost.
    #[inline]
    pub fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Of those, sent again.
    #[inline]
    pub fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Sent, and neither acknowledged nor SACKed nor taken for lost (`tcp_packets_in_flight`).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        // Without SACK, duplicates and losses may together exceed what is out.
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// One past the highest SACKed sequence number; None while nothing is SACKed.
    #[inline]
    pub fn highest_sacked_end(&self) -> Option<u64> {
        (self.sacked_out > 0).then_some(self.highest_sacked_end)
    }

    #[inline]
    fn place(&self, number: u64) -> usize {
        number as usize & (self.places.len() - 1)
    }

    /// The packet of this number, which is out.
    #[inline]
    pub fn get(&self, number: u64) -> &Outstanding {
        &self.places[self.place(number)]
    }

    #[inline]
    fn get_mut(&mut self, number: u64) -> &mut Outstanding {
        let place = self.place(number);
        &mut self.places[place]
    }

    /// The first packet that is out.
    #[inline]
    pub fn first(&self) -> Option<&Outstanding> {
        (self.head != self.tail).then(|| self.get(self.head))
    }

    /// Has the packets fetched that an acknowledgement and a transmission will look at next.
    pub fn prefetch_ends(&self) {
        if self.places.is_empty() {
            return;
        }
        let (head, tail) = (self.head, self.tail);
        for number in [head, head + 1, head + 2, tail, tail + 1] {
            prefetch(self.get(number));
        }
    }

    /// The number of the first packet that begins at `seq` or later; `tail` for none.
    pub fn first_from(&self, seq: u64) -> u64 {
        if self.head == self.tail {
            return self.tail;
        }
        // Nearly always all packets before it are full.
        let distance = seq.saturating_sub(self.get(self.head).seq);
        let guess = self.head + distance.div_ceil(u64::from(self.mss_bytes));
        if guess < self.tail && self.get(guess).seq == seq {
            return guess;
        }
        let (mut low, mut high) = (self.head, self.tail);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).seq < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Adds a packet that is sent for the first time.
    pub fn push(&mut self, seq: u64, end: u64, now_us: u64, note: RateNote) {
        let mut sent = Outstanding {
            seq,
            sent_us: now_us,
            first_sent_us: 0,
            delivered_time_us: 0,
            delivered_pkts: 0,
            before: NONE,
            after: NONE,
            bytes: (end - seq) as u32,
            marks: 0,
            place: Place::Nowhere,
        };
        sent.set_note(note);
        if self.packets_out() as usize == self.places.len() {
            self.grow(sent);
        }
        let number = self.tail;
        self.tail += 1;
        *self.get_mut(number) = sent;
        self.append_in_flight(number);
    }

    #[cold]
    fn grow(&mut self, filler: Outstanding) {
        let places = (2 * self.places.len()).max(FIRST_PLACES);
        let mut grown = vec![filler; places];
        for number in self.head..self.tail {
            grown[number as usize & (places - 1)] = *self.get(number);
        }
        self.places = grown.into_boxed_slice();
    }

    /// Takes out the first packet: it is acknowledged.
    pub fn pop(&mut self) -> Outstanding {
        let number = self.head;
        self.unlink(number);
        let sent = *self.get(number);
        self.retrans_out -= u32::from(sent.is_retransmitted());
        self.sacked_out -= u32::from(sent.is_sacked());
        self.lost_out -= u32::from(sent.is_lost());
        self.head += 1;
        if sent.continues() {
            self.continuing -= 1;
        }
        if self.continuing > 0 && self.head < self.tail {
            self.split(self.head);
        }
        sent
    }

    /// Whether nothing is SACKed, taken for lost, or sent again and believed to be in flight.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.sacked_out | self.lost_out | self.retrans_out == 0
    }

    /// As `pop`, while nothing is SACKed, lost or sent again.
    #[inline(always)]
    pub fn pop_plain(&mut self) -> Outstanding {
        debug_assert!(self.is_plain());
        let number = self.head;
        let sent = *self.get(number);
        if self.in_flight.first == number {
            self.in_flight.first = sent.after;
            if sent.after == NONE {
                self.in_flight.last = NONE;
            } else {
                self.get_mut(sent.after).before = NONE;
            }
        } else {
            self.unlink(number);
        }
        self.head += 1;
        if self.continuing > 0 {
            self.continuing -= u32::from(sent.continues());
            self.split(self.head);
        }
        sent
    }

    /// Marks a packet as SACKed. Returns what it was before; None if it was SACKed already.
    pub fn sack(&mut self, number: u64) -> Option<Outstanding> {
        let was = *self.get(number);
        if was.is_sacked() {
            return None;
        }
        // The copy of a packet that is not taken for lost is believed to be in flight still.
        if was.is_lost() {
            self.lost_out -= 1;
            self.retrans_out -= u32::from(was.is_retransmitted());
            self.get_mut(number).marks &= !(mark::LOST | mark::RETRANSMITTED);
            self.get_mut(number).marks |= was.marks & mark::EVER_RETRANSMITTED;
        }
        self.unlink(number);
        self.get_mut(number).marks |= mark::SACKED;
        self.sacked_out += 1;
        self.highest_sacked_end = if self.sacked_out == 1 {
            was.end()
        } else {
            self.highest_sacked_end.max(was.end())
        };
        Some(was)
    }

    /// A duplicate SACK says that the copy of a packet has arrived too.
    pub fn forget_retransmission(&mut self, number: u64) {
        if self.get(number).is_retransmitted() {
            self.get_mut(number).marks &= !mark::RETRANSMITTED;
            self.retrans_out -= 1;
        }
    }

    /// The packet has been counted in a rate sample.
    pub fn count_rate(&mut self, number: u64) {
        self.get_mut(number).marks |= mark::RATE_COUNTED;
    }

    /// Takes a packet for lost; if it was sent again, that copy. Returns whether that is news.
    pub fn mark_lost(&mut self, number: u64) -> bool {
        let was = *self.get(number);
        if was.is_sacked() {
            return false;
        }
        let is_news = if was.is_retransmitted() && was.is_lost() {
            self.retrans_out -= 1;
            self.get_mut(number).marks &= !mark::RETRANSMITTED;
            true
        } else if was.is_retransmitted() {
            self.retrans_out -= 1;
            self.lost_out += 1;
            let marks = was.marks & !mark::RETRANSMITTED | mark::LOST;
            self.get_mut(number).marks = marks;
            true
        } else if !was.is_lost() {
            self.lost_out += 1;
            self.get_mut(number).marks |= mark::LOST;
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

    /// Takes a packet for lost whose copy is believed to be in flight still: it is not sent again
    /// until the copy is taken for lost too.
    pub fn mark_lost_beside_copy(&mut self, number: u64) {
        let sent = self.get_mut(number);
        debug_assert!(sent.is_retransmitted() && !sent.is_lost() && !sent.is_sacked());
        sent.marks |= mark::LOST;
        self.lost_out += 1;
    }

    /// A packet is no longer looked for by time.
    pub fn forget_time(&mut self, number: u64) {
        match self.get(number).place {
            Place::InFlight => self.unlink(number),
            Place::Lost => self.get_mut(number).place = Place::LostByTime,
            _ => {}
        }
    }

    /// The packet that is to be sent again next: taken for lost, and not yet sent again.
    #[inline]
    pub fn next_lost(&self) -> Option<u64> {
        (self.lost.first != NONE).then_some(self.lost.first)
    }

    /// A packet has been sent again. With `is_counted` the copy counts in `retrans_out`.
    pub fn retransmit(&mut self, number: u64, now_us: u64, note: RateNote, is_counted: bool) {
        self.unlink(number);
        let sent = self.get_mut(number);
        sent.sent_us = now_us;
        sent.marks |= mark::EVER_RETRANSMITTED;
        sent.set_note(note);
        if is_counted && !sent.has(mark::RETRANSMITTED) {
            sent.marks |= mark::RETRANSMITTED;
            self.retrans_out += 1;
        }
        if !self.get(number).is_sacked() {
            self.append_in_flight(number);
        }
    }

    /// Takes out the packet that was sent last: it was not sent after all.
    pub fn pop_last(&mut self) -> Outstanding {
        let number = self.tail - 1;
        self.unlink(number);
        self.split(number);
        self.tail = number;
        *self.get(number)
    }

    /// A packet was not sent again after all.
    pub fn take_back(&mut self, number: u64) {
        self.unlink(number);
        self.get_mut(number).marks &= !mark::RETRANSMITTED;
        self.retrans_out -= 1;
        if self.get(number).is_lost() {
            self.insert_lost(number);
        }
    }

    /// The packet in flight that was sent last.
    pub fn newest_in_flight(&self) -> Option<u64> {
        (self.in_flight.last != NONE).then_some(self.in_flight.last)
    }

    /// The receiver has taken back what it SACKed (RFC 2018 section 8).
    pub fn forget_sacks(&mut self) {
        for number in self.head..self.tail {
            self.get_mut(number).marks &= !mark::SACKED;
        }
        self.sacked_out = 0;
    }

    /// Without SACK, duplicate acknowledgements take its place.
    pub fn set_duplicates(&mut self, duplicates: u32) {
        self.sacked_out = duplicates;
    }

    /// The packet that was sent longest ago, of those in flight.
    #[inline]
    pub fn oldest_in_flight(&self) -> Option<u64> {
        (self.in_flight.first != NONE).then_some(self.in_flight.first)
    }

    /// The packet in flight that was sent next after this one.
    #[inline]
    pub fn next_in_flight(&self, number: u64) -> Option<u64> {
        let after = self.get(number).after;
        (after != NONE).then_some(after)
    }
}
