//! The passive end of a connection: receives data, acknowledges, and advertises a window.
//!
//! It is driven like a sender: after a segment or a timer, call `poll_transmit` until it returns None, then
//! `next_timer`. The application reads everything unless told otherwise. In Linux it reads once for all
//! segments of an instant, so `next_timer` may be the same instant.
//!
//! | behaviour | file |
//! | --- | --- |
//! | opening, closing, effects of a segment | here; data of a SYN (TCP Fast Open) `fast_open` |
//! | the expected next data | `header_prediction` |
//! | received data, SACK blocks, duplicates | `reassembly` |
//! | when to acknowledge | `ack_policy` |
//! | the receive window | `window` |
//! | congestion marks | `marks` |
//! | options of its segments | `options` |
//! | reading by the application | `reading` |
//! | unacceptable segments | `unacceptable` |

mod ack_policy;
mod fast_open;
mod header_prediction;
mod marks;
mod options;
mod reading;
mod reassembly;
#[cfg(test)]
mod tests;
mod unacceptable;
mod window;

use super::paws::{LastAnswer, Recent};
use super::rtt::{INITIAL_RTO, LARGEST_RTO, RoundTrip, as_us};
use super::segment::{Flags, Header, SackBlock, Segment, Timestamps};
use super::{Settings, timestamp_ms};
use crate::accurate_ecn::MarkCounter;
use crate::ecn_option::{CountedBytes, OPTION_SPACE_BYTES};
use ack_policy::{AckPolicy, DataProgress, Duplicates};
use dumbbell_core::time::Time;
use reassembly::Reassembly;
use std::sync::Arc;
use window::ReceiveWindow;
pub use window::{initial_window_bytes, scale_of};

/// Marks that no window has been decided.
const UNDECIDED: u32 = u32::MAX;

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Waiting for a SYN.
    Listening,
    /// A SYN-ACK has been sent.
    SynReceived,
    /// Data may arrive.
    Established,
    /// All data has arrived; its own FIN has been sent.
    Closing,
    /// Its FIN has been acknowledged.
    Done,
}

/// Retransmission of a SYN-ACK or FIN until it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ControlRetransmission {
    sent: Time,
    times: u32,
    rto: Time,
}

/// A receiver: the fields used by the expected next data and an acknowledgement fit four cache lines; all
/// others are boxed.
#[derive(Debug, Clone, PartialEq)]
#[repr(align(64))]
pub struct Receiver {
    settings: Arc<Settings>,
    rare: Box<ColdState>,
    data: Reassembly,
    acknowledging: AckPolicy,
    window: ReceiveWindow,
    /// When its SYN-ACK or FIN is sent or retransmitted; `NEVER` for none.
    own_due: Time,
    /// Next sequence number of its own: SYN and FIN count.
    own_next: u8,
    /// `next` at its last acknowledgement (`rcv_wup`).
    acknowledged: u64,
    /// Bytes the application has read.
    read: u64,
    /// When unread data arrived; `NEVER` if all is read, or the application does not read.
    unread_since: Time,
    /// TS.Recent, which its next segment echoes.
    recent: Recent,
    /// The window of an acknowledgement that must be sent at once; `UNDECIDED` for none.
    decided_window_bytes: u32,
    phase: Phase,
    ecn: bool,
    /// Its marks, with accurate ECN (RFC 9768).
    counted: Option<MarkCounter>,
    /// Whether marks are echoed until the sender sets CWR (RFC 3168 section 6.1.3).
    echoes_mark: bool,
    has_seen_ect: bool,
    /// Whether this end has opened the connection and not yet acknowledged the SYN-ACK.
    has_opened: bool,
    must_ack: bool,
    /// Whether `rare` holds a duplicate or an early acknowledgement.
    has_more_to_say: bool,
    /// Whether the application reads.
    is_reading: bool,
    /// Whether reading may cause a window update, so that it is not postponed.
    is_reading_due: bool,
    /// Whether the application reads late in the instant, because it writes first.
    is_reading_late: bool,
    /// Whether it closes its own end when all data has arrived.
    closes_at_end: bool,
    /// Whether the application has closed its own end already: then the FIN is acknowledged at once.
    own_end_is_closed: bool,
}

const _: () = assert!(size_of::<Receiver>() <= 256);

/// State used when a connection opens or closes, and on losses and duplicates.
#[derive(Debug, Clone, PartialEq)]
struct ColdState {
    /// Round-trip time of its own SYN and FIN.
    rtt: RoundTrip,
    repeated: ControlRetransmission,
    duplicates: Duplicates,
    /// The last duplicate, reported once (RFC 2883).
    duplicate: Option<SackBlock>,
    /// An acknowledgement that must precede the segment just received.
    early: Option<Segment>,
    last_answer: LastAnswer,
    /// What the next acknowledgement says of the IP header of the other end's SYN or SYN-ACK, in place of
    /// a count (RFC 9768 section 3.2.2.1).
    opening: Option<Flags>,
    /// Counters of bytes, if the option of accurate ECN is sent (RFC 9768 section 3.2.3).
    bytes: Option<Box<CountedBytes>>,
}

impl Receiver {
    /// A listening receiver; without a handshake it expects data.
    pub fn new(settings: &Arc<Settings>) -> Receiver {
        let min_rto = Time::from_ns(settings.tcp.min_rto_ns);
        Receiver {
            settings: settings.clone(),
            rare: Box::new(ColdState {
                rtt: RoundTrip::new(settings.tcp.profile, min_rto),
                repeated: ControlRetransmission {
                    sent: Time::ZERO,
                    times: 0,
                    rto: INITIAL_RTO,
                },
                duplicates: Duplicates::default(),
                duplicate: None,
                early: None,
                last_answer: LastAnswer::default(),
                opening: None,
                bytes: None,
            }),
            data: Reassembly::default(),
            acknowledging: AckPolicy::new(settings),
            window: ReceiveWindow::new(settings),
            own_due: Time::NEVER,
            own_next: 0,
            acknowledged: 0,
            read: 1,
            unread_since: Time::NEVER,
            recent: Recent::default(),
            decided_window_bytes: UNDECIDED,
            phase: Phase::Listening,
            ecn: false,
            counted: None,
            echoes_mark: false,
            has_seen_ect: false,
            has_opened: false,
            must_ack: false,
            has_more_to_say: false,
            is_reading: true,
            is_reading_due: false,
            is_reading_late: false,
            closes_at_end: true,
            own_end_is_closed: false,
        }
    }

    /// Leaves reading and closing to an application with data in both directions, which sends by a `Sender`
    /// of its own.
    pub fn for_both_directions(mut self) -> Receiver {
        self.closes_at_end = false;
        self.is_reading = false;
        self
    }

    /// Processes an arriving segment. Call `poll_transmit` afterwards. SACK blocks are for the sender.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        self.on_header(&segment.header(), now);
    }

    /// As `on_segment`.
    #[inline(always)]
    pub fn on_header(&mut self, header: &Header, now: Time) {
        if self.unread_since < now {
            self.read_what_came();
        }
        if !self.expects(header) {
            return self.on_other(header, now);
        }
        #[cfg(debug_assertions)]
        let ordinary = {
            let mut ordinary = self.clone();
            ordinary.on_established(header, now);
            ordinary
        };
        self.on_expected(header, now);
        #[cfg(debug_assertions)]
        assert_eq!(*self, ordinary, "{header:?} at {now:?}");
    }

    /// Processes any segment but the expected next data.
    #[inline(never)]
    fn on_other(&mut self, segment: &Header, now: Time) {
        match self.phase {
            Phase::Listening if self.settings.tcp.handshake => self.on_syn(segment, now),
            Phase::Listening => {
                self.begin_open(now);
                self.on_established(segment, now);
            }
            Phase::SynReceived if segment.flags.has(Flags::SYN) => self.on_syn_again(segment, now),
            Phase::Done => self.must_ack |= segment.end() > segment.seq,
            _ => self.on_established(segment, now),
        }
    }

    /// Opens the connection as if after a handshake.
    fn begin_open(&mut self, now: Time) {
        self.assume_ecn();
        self.data.begin(1);
        self.acknowledged = 1;
        self.own_next = 1;
        self.window.begin(1, now);
        self.phase = Phase::Established;
    }

    fn on_syn(&mut self, segment: &Header, now: Time) {
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.agree_on_ecn(segment.flags);
        self.recent = Recent::of(segment.timestamps);
        self.data.begin(segment.end());
        self.acknowledged = segment.end();
        self.phase = Phase::SynReceived;
        self.own_due = now;
    }

    fn on_established(&mut self, segment: &Header, now: Time) {
        if self.is_of_the_unsent(segment) {
            return;
        }
        if self.closes_at_end && self.refuses_timestamp(segment) {
            self.on_old_timestamp(segment, now);
            return;
        }
        if !self.is_in_window(segment) {
            self.on_out_of_window(segment);
            return;
        }
        if segment.seq <= self.acknowledged {
            self.recent.take(segment.timestamps);
        }
        self.on_own_acknowledged(segment, now);
        self.count_mark(segment);
        if segment.end() > segment.seq {
            self.on_data(segment, now);
        }
        self.check_acknowledgement(now);
        if self.is_reading {
            self.wake_reader(segment.payload_bytes, now);
        }
    }

    /// Processes an acknowledgement of its own SYN or FIN.
    fn on_own_acknowledged(&mut self, segment: &Header, now: Time) {
        if !segment.flags.has(Flags::ACK) || segment.ack < u64::from(self.own_next) {
            return;
        }
        self.own_due = Time::NEVER;
        match self.phase {
            Phase::SynReceived => {
                if self.rare.repeated.times == 1 {
                    let rtt_us = as_us(now) - as_us(self.rare.repeated.sent);
                    self.rare.rtt.measure(rtt_us, 1, 1);
                }
                let rto = self.rare.rtt.rto(self.settings.clock);
                self.acknowledging.set_round_trip(self.rare.rtt.srtt(), rto);
                self.window.begin(self.data.next(), now);
                self.phase = Phase::Established;
            }
            Phase::Closing => self.phase = Phase::Done,
            _ => {}
        }
    }

    /// Data or FIN (`tcp_data_queue`).
    fn on_data(&mut self, segment: &Header, now: Time) {
        let next = self.data.next();
        if segment.end() <= next {
            // All of it was received before: a spurious retransmission.
            self.report_duplicate(segment.seq, segment.end());
            self.acknowledging
                .enter_quick_mode(&self.settings, &self.window);
            self.acknowledging.schedule();
            return;
        }
        let offered = self.window.offered(next, self.acknowledged);
        if segment.seq >= next + offered || (segment.seq == next && offered == 0) {
            self.acknowledging
                .enter_quick_mode(&self.settings, &self.window);
            self.acknowledging.schedule();
            return;
        }
        if segment.flags.has(Flags::FIN) {
            self.data.set_end(segment.end());
        }
        if self.acknowledging.is_holding_back() && self.data.would_move(segment.seq, segment.end())
        {
            // Sent before a block leaves the set that every acknowledgement reports
            // (`tcp_sack_compress_send_ack`).
            let early = self.acknowledgement(u64::from(self.own_next), Flags::ACK, now);
            self.rare.early = Some(early);
            self.has_more_to_say = true;
        }
        self.separate_marks(segment, now);
        let was_complete = self.data.is_complete();
        let taken = self.data.insert(segment.seq, segment.end());
        if let Some(block) = taken.duplicate {
            self.report_duplicate(block.start, block.end);
        }
        if taken.is_in_order {
            self.on_data_in_order(segment, now);
            // RFC 5681 section 4.2: at once when a gap is filled.
            self.acknowledging.is_due |= taken.has_filled_gap;
        } else {
            self.measure_round_trip(segment, now);
            self.check_mark(segment);
            self.acknowledging.schedule();
            // Without SACK, duplicate acknowledgements must differ from window updates.
            if self.settings.tcp.sack {
                self.grow_window_beyond_gap(segment, taken.begins_block);
            }
        }
        if self.data.is_complete() && !was_complete {
            self.on_fin();
        }
        if self.closes_at_end && self.data.is_complete() && self.phase == Phase::Established {
            self.phase = Phase::Closing;
            self.own_due = now;
            self.rare.repeated = ControlRetransmission {
                sent: now,
                times: 0,
                rto: self.rare.rtt.rto(self.settings.clock),
            };
        }
    }

    /// All data including the FIN has arrived.
    fn on_fin(&mut self) {
        if self.own_end_is_closed {
            self.must_ack = true;
        } else {
            self.acknowledging.on_fin(&self.settings);
        }
    }

    fn on_data_in_order(&mut self, segment: &Header, now: Time) {
        if segment.payload_bytes == 0 {
            self.acknowledging.schedule();
            return;
        }
        self.measure_round_trip(segment, now);
        self.acknowledging
            .on_data(&self.settings, segment, &self.window, now);
        self.window.measure_by_window(self.data.next(), now);
        self.check_mark(segment);
        if segment.payload_bytes >= 128 {
            let unread_bytes = self.unread_bytes();
            let window = &mut self.window;
            if window.grow(segment.payload_bytes, unread_bytes, &self.data) {
                self.acknowledging.allow_quick();
            }
        }
    }

    #[inline(always)]
    fn measure_round_trip(&mut self, segment: &Header, now: Time) {
        let echo_ms = segment.timestamps.map(|stamps| stamps.echo_ms);
        let is_full = segment.payload_bytes >= self.acknowledging.segment_bytes();
        self.window.measure_by_echo(echo_ms, is_full, now);
    }

    fn grow_window_beyond_gap(&mut self, segment: &Header, is_apart: bool) {
        let (payload, unread_bytes) = (segment.payload_bytes, self.unread_bytes());
        let window = &mut self.window;
        if window.grow_beyond_gap(payload, is_apart, unread_bytes, &self.data) {
            self.acknowledging.allow_quick();
        }
    }

    fn report_duplicate(&mut self, start: u64, end: u64) {
        if self.settings.tcp.sack {
            self.rare.duplicate = Some(SackBlock { start, end });
            self.has_more_to_say = true;
        }
    }

    fn check_acknowledgement(&mut self, now: Time) {
        let entered = DataProgress {
            pending: self.data.next() - self.acknowledged,
            next: self.data.next(),
            has_gap: self.data.has_gap(),
        };
        let rtt_8us = self.window.rtt_8us();
        let (window, data, unread_bytes) = (&self.window, &self.data, self.unread_bytes());
        let keeps_up = || window.keeps_up(unread_bytes, data);
        let (settings, duplicates) = (&*self.settings, &mut self.rare.duplicates);
        let is_decided = self
            .acknowledging
            .check(settings, entered, keeps_up, rtt_8us, duplicates, now);
        if is_decided && settings.is_linux() {
            self.decide_window();
        }
    }

    /// Schedules retransmissions of its SYN-ACK as if it had been sent at `sent` and repeated `times` times.
    pub fn repeat_as_if_sent(&mut self, sent: Time, times: u32) {
        let doubled = Time(INITIAL_RTO.0 << times.saturating_sub(1).min(7));
        self.rare.repeated.times = times;
        self.rare.repeated.rto = doubled.min(LARGEST_RTO);
        self.own_due = self.settings.clock.expiry(sent, self.rare.repeated.rto);
    }

    /// The application closes its own end.
    pub fn close_own_end(&mut self) {
        self.own_end_is_closed = true;
    }

    /// Adds the pending acknowledgement to a segment that its end sends anyway, whose payload may have
    /// `mss_bytes`.
    pub fn acknowledge_on(&mut self, segment: &mut Segment, mss_bytes: u32, now: Time) {
        if segment.payload_bytes > 0 || segment.flags.has(Flags::FIN) {
            self.acknowledging.on_own_data(&self.settings, now);
        }
        let flags = segment.flags.without(Flags::ECN_OPTION);
        let header = Header {
            payload_bytes: segment.payload_bytes,
            ..self.acknowledging_header(segment.seq, flags, now)
        };
        let room_bytes = match segment.payload_bytes {
            0 => OPTION_SPACE_BYTES,
            payload_bytes => mss_bytes.saturating_sub(payload_bytes),
        };
        self.must_ack = false;
        *segment = self.with_options(header, room_bytes, now);
    }

    /// Whether `poll_transmit` would return at most an acknowledgement without SACK blocks and counters of
    /// bytes, which `poll_plain` does at less cost.
    #[inline]
    pub fn is_plain(&self, now: Time) -> bool {
        !self.data.has_gap()
            && !self.has_more_to_say
            && self.counted.is_none()
            && self.own_due > now
    }

    /// As `poll_transmit`, while it `is_plain`.
    #[inline]
    pub fn poll_plain(&mut self, now: Time) -> Option<Header> {
        let is_due = std::mem::take(&mut self.must_ack) | self.acknowledging.take_due();
        is_due.then(|| self.acknowledging_header(u64::from(self.own_next), Flags::ACK, now))
    }

    /// The next segment to be sent now; call until None.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(early) = self.rare.early.take() {
            self.has_more_to_say = self.rare.duplicate.is_some();
            return Some(early);
        }
        let is_own_due = self.own_due <= now;
        // The kernel acknowledges before the application is told of the end of the stream.
        if is_own_due && (self.phase != Phase::Closing || !self.settings.is_linux()) {
            return Some(self.transmit_own(now));
        }
        let is_due = std::mem::take(&mut self.must_ack) | self.acknowledging.take_due();
        if is_due {
            return Some(self.acknowledgement(u64::from(self.own_next), Flags::ACK, now));
        }
        is_own_due.then(|| self.transmit_own(now))
    }

    /// Sends a SYN-ACK or FIN.
    fn transmit_own(&mut self, now: Time) -> Segment {
        if self.rare.repeated.times > 0 {
            self.rare.repeated.rto = Time(2 * self.rare.repeated.rto.0).min(LARGEST_RTO);
        }
        self.rare.repeated.times += 1;
        self.rare.repeated.sent = now;
        let clock = self.settings.clock;
        self.own_due = clock.expiry(now, self.rare.repeated.rto);
        if self.phase == Phase::SynReceived {
            self.own_next = 1;
            let mut flags = Flags::SYN | Flags::ACK;
            flags |= self.answered_ecn();
            let header = self.header(0, self.window.initial_bytes(), flags, now);
            Segment {
                sack: self.sack_blocks(),
                ecn_option: self.syn_ack_option(),
                ..Segment::from(header)
            }
        } else {
            self.own_next = 2;
            self.must_ack = false;
            self.acknowledgement(1, Flags::FIN | Flags::ACK, now)
        }
    }

    fn acknowledgement(&mut self, seq: u64, flags: Flags, now: Time) -> Segment {
        let header = self.acknowledging_header(seq, flags, now);
        self.with_options(header, OPTION_SPACE_BYTES, now)
    }

    #[inline(always)]
    fn acknowledging_header(&mut self, seq: u64, flags: Flags, now: Time) -> Header {
        if self.decided_window_bytes == UNDECIDED {
            self.decide_window();
        }
        let window_bytes = std::mem::replace(&mut self.decided_window_bytes, UNDECIDED);
        self.acknowledging.on_sent();
        let flags = self.with_counted_marks(flags);
        self.header(seq, window_bytes.into(), flags, now)
    }

    #[inline(always)]
    fn header(&self, seq: u64, window_bytes: u64, flags: Flags, now: Time) -> Header {
        let mut flags = flags;
        if self.echoes_mark {
            flags |= Flags::ECE;
        }
        Header {
            seq,
            ack: self.data.next(),
            window_bytes,
            timestamps: self.settings.tcp.timestamps.then(|| Timestamps {
                value_ms: timestamp_ms(now),
                echo_ms: self.recent.ms(),
            }),
            payload_bytes: 0,
            flags,
        }
    }

    /// Time of the next `on_timer`; `NEVER` for none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let reading = match self.is_reading_due {
            true => self.unread_since,
            false => Time::NEVER,
        };
        self.own_due.min(self.acknowledging.due()).min(reading)
    }

    /// Processes timers due at `now`. Call `poll_transmit` afterwards.
    pub fn on_timer(&mut self, now: Time) {
        if self.unread_since <= now {
            self.read_what_came();
        }
        self.acknowledging.on_timer(now);
    }

    /// Payload received in order.
    pub fn received_payload_bytes(&self) -> u64 {
        self.data.payload_bytes()
    }

    /// Whether all of the sender's data has arrived.
    pub fn is_complete(&self) -> bool {
        self.data.is_complete()
    }
}
