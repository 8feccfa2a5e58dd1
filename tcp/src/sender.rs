//! The active end of a connection: opens it, sends and closes.
//!
//! After anything that may make it send (`connect`, `write`, `close`, a segment, a timer), call
//! `poll_transmit` until it returns None, then `next_timer` for the time of the next call.
//!
//! | behaviour | file |
//! | --- | --- |
//! | opening | `handshake`; with data before it is over (TCP Fast Open) `fast_open` |
//! | closing, the application's side | here |
//! | effects of an acknowledgement | `acknowledge` |
//! | expected acknowledgements | `header_prediction` |
//! | SACK blocks and duplicates | `sack` |
//! | states of loss recovery, loss detection, undo | `recovery` |
//! | retransmission timeout, tail loss probe, zero window probe | `timers` |
//! | order of transmissions | `transmit` |
//! | the next new segment, and whether it may be sent | `next_segment` |
//! | congestion window validation | `cwnd_usage` |
//! | corking by the application | `cork` |
//! | which segments carry PSH | `psh` |
//! | sk_buffs of several segments | `bursts`, `write_queue` |
//! | room for writes | `send_buffer` |
//! | the queue of its own host, and its drops | `host_queue`, `local_drop` |
//! | settings and values of packet scripts, and windows set by the caller | `host_options` |
//!
//! Not implemented: urgent data, path MTU discovery, resets, and giving up a connection (segments are
//! retransmitted forever).

mod accessors;
mod acknowledge;
mod autocork;
mod bursts;
mod cork;
mod cwnd_usage;
mod ecn;
mod fast_open;
mod handshake;
mod header_prediction;
mod host_options;
mod host_queue;
mod host_queue_bursts;
mod local_drop;
mod next_segment;
mod old_timestamps;
mod prefetch;
mod psh;
mod records;
mod recovery;
mod sack;
mod send_buffer;
mod sender_view;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;
mod user_timeout;
mod write_queue;

use super::pacing::Pacing;
use super::rack::Rack;
use super::rate_sample::RateEstimator;
use super::rtt::{INITIAL_RTO, RoundTrip, from_us};
use super::scoreboard::Scoreboard;
use super::segment::{Flags, Header, Segment, Timestamps};
use super::small_queue::SmallQueue;
use super::{Settings, timestamp_ms};
use crate::cca::{Cca, Options, Snapshot, Window};
use crate::paws::{LastAnswer, Recent};
use bursts::Bursts;
use cork::{Cork, CorkedTail};
use cwnd_usage::CwndUsage;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use ecn::AccurateFeedback;
use handshake::Handshake;
use psh::{PushMarks, Write};
use recovery::{Probe, Recovery, RepairState};
use send_buffer::SendBuffer;
use std::num::NonZeroU32;
use std::sync::Arc;
use timers::Timers;
use user_timeout::UserTimeout;
use write_queue::WriteBound;

pub use transmit::Transmission;
pub use write_queue::FollowedBy;

/// DupThresh (RFC 5681 section 3.2; `tcp_reordering`).
const DUPLICATES_THRESHOLD: u32 = 3;

/// The state of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not yet opened.
    Closed,
    /// A SYN has been sent.
    SynSent,
    /// Data may be sent.
    Established,
    /// Everything, the FIN included, has been acknowledged.
    Finished,
}

/// A segment that must be sent regardless of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForcedSegment {
    /// The first outstanding segment, after a timeout.
    Head,
    /// A tail loss probe.
    Probe,
    /// A probe of a closed window.
    WindowProbe,
}

/// What the next poll will return, if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollHint {
    /// Unknown: an event has occurred, or time may allow a segment.
    No,
    /// Only the windows and the host's queue can prevent a full new segment.
    Going,
    /// Nothing: the last poll returned None, and no event has occurred since.
    Idle,
    /// Nothing, because of the congestion window, which counts as used.
    Limited,
}

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Retransmitted segments with payload or FIN.
    pub retransmitted_pkts: u64,
    /// Retransmission timeouts, including those of the SYN.
    pub rto_count: u64,
    /// Tail loss probes.
    pub probe_count: u64,
    /// Number of fast recoveries.
    pub recovery_count: u64,
    /// Number of reductions undone.
    pub undo_count: u64,
    /// Segments sent for the first time.
    pub sent_pkts: u64,
    /// Payload sent for the first time.
    pub sent_payload_bytes: u64,
    /// Payload written by the application.
    pub written_payload_bytes: u64,
}

impl Statistics {
    /// Adds the counters of another connection.
    pub fn add(&mut self, other: &Statistics) {
        self.retransmitted_pkts += other.retransmitted_pkts;
        self.rto_count += other.rto_count;
        self.probe_count += other.probe_count;
        self.recovery_count += other.recovery_count;
        self.undo_count += other.undo_count;
        self.sent_pkts += other.sent_pkts;
        self.sent_payload_bytes += other.sent_payload_bytes;
        self.written_payload_bytes += other.written_payload_bytes;
    }
}

/// A sender: the fields that an ordinary acknowledgement and an ordinary segment use; all others are boxed.
///
/// In memory order: fields used by both first, fields rarely used in congestion avoidance last.
#[derive(Debug, Clone, PartialEq)]
#[repr(C)]
pub struct Sender {
    settings: Arc<Settings>,
    /// None if each segment is sent individually.
    bursts: Option<Box<Bursts>>,
    /// First unacknowledged byte.
    una: u64,
    /// Next byte to send.
    next: u64,
    /// One past the last byte written by the application.
    written: u64,
    /// One past the last byte within the receive window.
    window_end: u64,
    /// Next byte expected from the other end.
    peer_next: u64,
    /// `NEVER` before the first.
    last_sent: Time,
    window: Window,
    timers: Timers,
    usage: CwndUsage,
    board: Scoreboard,
    small_queue: SmallQueue,
    rtt: RoundTrip,
    rate: RateEstimator,
    rack: Rack,

    /// Segments sent since `poll_transmit` last returned None.
    burst_pkts: u32,
    /// TS.Recent, which its next segment echoes.
    recent: Recent,
    /// Timestamp echoed by the acknowledgement being processed.
    echo_ms: Option<NonZeroU32>,
    /// At most 1 GiB (RFC 7323 section 2.3).
    window_bytes: u32,
    largest_window_bytes: u32,
    phase: Phase,
    quiet: PollHint,
    forced: Option<ForcedSegment>,
    is_closing: bool,
    fin_sent: bool,
    must_ack: bool,
    /// Whether the acknowledgement that completes the handshake is due.
    must_open: bool,
    ecn: bool,
    /// Whether marks are counted (RFC 9768).
    is_accurate: bool,
    cwr_due: bool,
    /// Whether `rare.cut` is set.
    is_cut: bool,
    /// The part of the last write that is held: for the host's queue, or for more data.
    corked: CorkedTail,
    /// Whether Nagle's algorithm is on (RFC 896 with Minshall's change).
    nagle: bool,
    cork: Cork,
    had_data: bool,
    /// Whether the window is reduced after idle (`tcp_slow_start_after_idle`).
    restarts_after_idle: bool,
    /// Whether tail loss probes are sent (`tcp_early_retrans`).
    probes: bool,
    /// Whether data flows one way; otherwise a `Receiver` of this end keeps TS.Recent.
    is_one_way: bool,
    /// Whether the application has written more than a segment since the last other event.
    has_written: bool,
    /// Whether anything but a SYN was ever sent.
    has_transmitted: bool,
    /// Sequence number of the last window update (SND.WL1).
    window_seq: u64,
    recovery: Recovery,
    send_buffer: SendBuffer,
    pacing: Pacing,
    cca: Cca,

    pushes: PushMarks,
    /// End of the outstanding small segment (`snd_sml`), for Nagle's algorithm.
    small_end: u64,
    rare: Box<ColdState>,
}

/// With many flows senders do not fit the cache; docs/architecture.md has the cost.
const _: () = assert!(size_of::<Sender>() <= 728);

/// State used when a connection opens, during loss recovery, or rarely.
#[derive(Debug, Clone, PartialEq)]
struct ColdState {
    handshake: Handshake,
    repair: RepairState,
    /// Counters of first transmissions: only segments dropped by the host's queue and merged segments; the
    /// rest follows from the scoreboard and sequence numbers.
    statistics: Statistics,
    /// A fixed end of the next segment, full or not: the end of a record, or of a segment whose beginning a
    /// window probe has sent.
    cut: u64,
    /// Limit of unsent data for further writes (`TCP_NOTSENT_LOWAT`), bytes.
    most_unsent_bytes: u32,
    /// Ends of records unacknowledged when the last one was written; ascending.
    record_ends: Vec<u64>,
    user_timeout: UserTimeout,
    peer_has_finished: bool,
    /// Whether the other end has opened the connection.
    is_answering: bool,
    /// Segments without payload sent while pacing is on: a FIN alone.
    bare_pkts: u64,
    last_answer: LastAnswer,
    accurate: AccurateFeedback,
}

impl Sender {
    /// A closed sender.
    ///
    /// `stream` is the random stream of its controller.
    pub fn new(settings: &Arc<Settings>, stream: Stream, now: Time) -> Sender {
        let tcp = &settings.tcp;
        let mut options = Options::from(tcp).for_host(settings.timer_hz, stream);
        options.is_paced |= settings.is_paced_by_host;
        options.module = settings.module.clone();
        let cca = Cca::new(settings.algorithm, &options, now);
        let pacing = settings.pacing(cca.wants_pacing());
        let min_rto = Time::from_ns(tcp.min_rto_ns);
        Sender {
            settings: settings.clone(),
            rare: Box::new(ColdState {
                handshake: Handshake::new(),
                repair: RepairState::new(tcp.prr),
                statistics: Statistics::default(),
                cut: 0,
                most_unsent_bytes: u32::MAX,
                record_ends: Vec::new(),
                user_timeout: UserTimeout::default(),
                peer_has_finished: false,
                is_answering: false,
                bare_pkts: 0,
                last_answer: LastAnswer::default(),
                accurate: AccurateFeedback::default(),
            }),
            phase: Phase::Closed,
            quiet: PollHint::No,
            forced: None,
            is_closing: false,
            fin_sent: false,
            must_ack: false,
            must_open: false,
            ecn: false,
            is_accurate: false,
            cwr_due: false,
            is_cut: false,
            corked: CorkedTail::No,
            nagle: true,
            cork: Cork::Off,
            had_data: false,
            restarts_after_idle: true,
            probes: true,
            is_one_way: true,
            has_written: false,
            has_transmitted: false,
            burst_pkts: 0,
            recent: Recent::default(),
            echo_ms: None,
            una: 0,
            next: 0,
            written: 1,
            small_end: 0,
            window_end: 0,
            window_bytes: 0,
            largest_window_bytes: 0,
            window_seq: 0,
            peer_next: 0,
            last_sent: Time::NEVER,
            window: Window::new(tcp.initial_window_pkts, settings.mss_bytes),
            recovery: Recovery::new(),
            board: Scoreboard::new(settings.mss_bytes),
            rtt: RoundTrip::new(tcp.profile, min_rto),
            rate: RateEstimator::default(),
            rack: Rack::default(),
            timers: Timers::new(INITIAL_RTO),
            pacing,
            usage: CwndUsage::default(),
            pushes: PushMarks::default(),
            send_buffer: SendBuffer::new(tcp.send_buffer_bytes),
            small_queue: SmallQueue::new(tcp.small_queues),
            bursts: Bursts::new(tcp.gso_max_segs, tcp.min_tso_segs),
            cca,
        }
    }

    /// Turns Nagle's algorithm off (`TCP_NODELAY`).
    pub fn without_nagle(mut self) -> Sender {
        self.nagle = false;
        self
    }

    /// Turns Nagle's algorithm on.
    pub fn with_nagle(mut self) -> Sender {
        self.nagle = true;
        self
    }

    /// The application writes `bytes` bytes, which are sent when the windows allow.
    pub fn write(&mut self, bytes: u64, now: Time) {
        self.begin_write(now);
        if self.bursts.is_some() {
            return self.write_in_bursts(bytes, WriteBound::None, FollowedBy::Anything);
        }
        self.has_written = bytes > u64::from(self.settings.mss_bytes);
        self.pushes.write(Write {
            una: self.una,
            segment_start: self.segment_start(),
            before: self.written,
            after: self.written + bytes,
            mss_bytes: self.settings.mss_bytes,
            largest_window_bytes: u64::from(self.largest_window_bytes),
        });
        self.written += bytes;
        self.cork();
    }

    /// The application closes its end.
    pub fn close(&mut self) {
        self.quiet = PollHint::No;
        self.copy_all();
        self.corked = CorkedTail::No;
        self.is_closing = true;
    }

    /// Processes an arriving segment. Call `poll_transmit` afterwards.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        if segment.sparse_options().is_empty() {
            self.on_header(&segment.header(), now);
        } else {
            self.send_buffer.is_to_check = true;
            self.on_other(segment, now);
        }
    }

    /// As `on_segment`, for a segment without SACK blocks and counters of bytes.
    #[inline(always)]
    pub fn on_header(&mut self, header: &Header, now: Time) {
        self.send_buffer.is_to_check = true;
        let pkts = self.expected_pkts(header);
        if pkts == 0 {
            return self.on_other(&Segment::from(*header), now);
        }
        #[cfg(debug_assertions)]
        let ordinary = self.is_compared().then(|| {
            let mut ordinary = self.clone();
            ordinary.on_other(&Segment::from(*header), now);
            ordinary
        });
        self.on_expected(header, pkts, now);
        #[cfg(debug_assertions)]
        if let Some(ordinary) = ordinary {
            let quiet = self.quiet;
            assert_eq!(*self, Sender { quiet, ..ordinary }, "{header:?} at {now:?}");
        }
    }

    /// Whether to compare both paths: the comparison takes time in proportion to outstanding and unsent data,
    /// so with much of it only about one in 64 is compared.
    #[cfg(debug_assertions)]
    fn is_compared(&self) -> bool {
        let waiting = (self.bursts.as_ref()).map_or(0, |bursts| bursts.queue.buffers());
        u64::from(self.board.packets_out()) + waiting < 64 || self.board.head().is_multiple_of(64)
    }

    /// Processes any segment, expected ones included.
    #[inline(never)]
    fn on_other(&mut self, segment: &Segment, now: Time) {
        self.quiet = PollHint::No;
        self.corked = CorkedTail::No;
        self.has_written = false;
        let acknowledges = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::SYN);
        // RFC 9293 section 3.10.7.4, fifth check: the segment is dropped.
        if acknowledges && segment.ack > self.next {
            return;
        }
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent => {
                self.recent = Recent::of(segment.timestamps);
                self.on_syn_ack(segment, now);
            }
            Phase::Established | Phase::Finished => {
                if self.is_one_way && self.refuses_timestamp(segment) {
                    return self.on_old_timestamp(segment, now);
                }
                if acknowledges && segment.seq <= self.peer_next {
                    self.recent.take(segment.timestamps);
                }
                let occupies = segment.end() > segment.seq;
                if occupies && segment.seq == self.peer_next {
                    self.peer_next = segment.end();
                    self.rare.peer_has_finished |= segment.flags.has(Flags::FIN);
                }
                // Everything that takes sequence space is acknowledged, repeated SYNs and FINs too.
                self.must_ack |= occupies;
                if acknowledges {
                    self.on_ack(segment, now);
                }
            }
        }
    }

    fn set_window(&mut self, window_bytes: u64) {
        self.window_end = self.una + window_bytes;
        debug_assert!(window_bytes <= u64::from(u32::MAX));
        let window_bytes = window_bytes as u32;
        if window_bytes != self.window_bytes {
            self.window_bytes = window_bytes;
            self.largest_window_bytes = self.largest_window_bytes.max(window_bytes);
        }
    }

    /// A waiting writer writes.
    fn begin_write(&mut self, now: Time) {
        self.send_buffer.is_full = false;
        self.quiet = PollHint::No;
        self.cork_again();
        self.before_write(now);
    }

    /// Before a write: was the flow application-limited, or idle?
    fn before_write(&mut self, now: Time) {
        if self.phase != Phase::Established {
            return;
        }
        let unsent = self.written - self.next.min(self.written);
        let is_open = self.board.in_flight() < self.window.cwnd_pkts;
        let repaired = self.board.lost_out() <= self.board.retrans_out();
        let is_small = unsent < u64::from(self.settings.mss_bytes);
        if is_small && is_open && repaired && self.small_queue.is_empty() {
            self.rate.set_app_limited(self.board.in_flight());
        }
        self.restart_after_idle(now);
    }

    fn has_data(&self) -> bool {
        self.next < self.written
    }

    /// The state passed to a controller.
    fn snapshot(&self, now: Time) -> Snapshot {
        Snapshot {
            now,
            in_flight_pkts: self.board.in_flight(),
            next_pkts: self.board.tail(),
            flight_size_pkts: self.board.packets_out(),
            is_app_limited: self.rate.is_app_limited(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered_pkts: self.rate.delivered_pkts,
            delivered_time: from_us(self.rate.delivered_time_us),
            lost_pkts: self.rate.lost_pkts,
        }
    }

    /// The timestamps option of a segment sent now.
    fn timestamps(&self, now: Time) -> Option<Timestamps> {
        self.settings.tcp.timestamps.then(|| Timestamps {
            value_ms: timestamp_ms(now),
            echo_ms: self.recent.ms(),
        })
    }

    fn is_sack(&self) -> bool {
        self.settings.tcp.sack
    }

    fn is_rack(&self) -> bool {
        self.settings.tcp.rack && self.settings.tcp.sack
    }
}
