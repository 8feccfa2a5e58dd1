//! The end of a connection that opens it, sends and closes.
//!
//! Drive it so: after anything that may make it send (`connect`, `write`, `close`, a segment, a
//! timer), call `poll_transmit` until it gives None; then ask `next_timer` when to come again.
//!
//! | behaviour | file |
//! | --- | --- |
//! | opening, closing, the application's side | here |
//! | what an acknowledgement changes | `acknowledge` |
//! | SACK blocks and duplicates | `sack` |
//! | states of loss recovery, undoing | `recovery` |
//! | retransmission timeout, tail loss probe, zero window probe | `timers` |
//! | what is sent when | `transmit` |
//! | whether the window was used, and what becomes of one that was not | `usage` |
//! | which segments carry PSH | `pushes` |
//! | what may be written before room is made | `send_buffer` |
//! | the queue of its own host | `host_queue` |
//! | what packet scripts set and see, and a hand sets | `switches` |
//!
//! What is not here: urgent data, Fast Open, path MTU discovery and its probes, segmentation
//! offload, resets, timing out of a connection (a segment is sent again for ever), and that Linux
//! hears at once what its own host's queue refuses (here it is lost, as elsewhere).

mod acknowledge;
mod host_queue;
mod pushes;
mod recovery;
mod sack;
mod send_buffer;
mod switches;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;
mod usage;

use super::pacing::Pacing;
use super::prr::Prr;
use super::rack::Rack;
use super::rate_sample::RateEstimator;
use super::rtt::{INITIAL_RTO, RoundTrip, as_us, from_us};
use super::scoreboard::Scoreboard;
use super::segment::{Flags, Segment, Timestamps};
use super::small_queue::SmallQueue;
use super::{Settings, timestamp_ms};
use crate::cca::{Cca, Options, Snapshot, State, Window};
use dumbbell_core::time::Time;
use pushes::{Pushes, Write};
use sack::SackCache;
use send_buffer::SendBuffer;
use timers::Timers;
use usage::Usage;

pub use transmit::Transmission;

/// DupThresh (RFC 5681 section 3.2; `tcp_reordering`).
const DUPLICATES_THRESHOLD: u32 = 3;
/// After a SYN was lost and nothing was measured (RFC 6298 section 5.7).
const FALLBACK_RTO: Time = Time::from_ns(3_000_000_000);

/// How far the connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not yet opened.
    Closed,
    /// A SYN is on its way.
    SynSent,
    /// Data may be sent.
    Established,
    /// Everything, the FIN included, has been acknowledged.
    Finished,
}

/// A duplicate of what was sent, sent to find out whether the tail was lost (RFC 8985 section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe {
    /// Everything sent when the probe was: TLP.end_seq.
    end: u64,
    /// Whether it repeated a segment: TLP.is_retrans.
    is_retransmission: bool,
}

/// What must be sent whatever the window says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forced {
    /// The first segment, after a timeout.
    Head,
    /// A tail loss probe.
    Probe,
    /// A probe of a closed window.
    WindowProbe,
}

/// What may undo a reduction of the window.
#[derive(Debug, Clone, Copy, Default)]
struct Undo {
    /// First byte that was not acknowledged when the reduction began; None when it cannot be
    /// undone (`undo_marker`).
    marker: Option<u64>,
    /// Segments sent again that no duplicate has been reported for; None before the first
    /// (`undo_retrans`).
    unanswered: Option<u32>,
    /// The threshold before the reduction; None: not to be restored (`prior_ssthresh`).
    prior_ssthresh_pkts: Option<u32>,
    /// Timestamp of the first segment sent again (`retrans_stamp`).
    first_retransmitted_ms: Option<u32>,
}

/// What polling again would do, when nothing has happened since it last gave None.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quiet {
    /// Something has happened, or time alone may let a segment go.
    No,
    /// Nothing at all.
    Idle,
    /// The window holds it back: it is in use still.
    Limited,
}

/// Counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Segments with payload or FIN that were sent again.
    pub retransmitted_pkts: u64,
    /// Retransmission timeouts, those of the SYN included.
    pub rto_count: u64,
    /// Tail loss probes.
    pub probe_count: u64,
    /// Times fast recovery began.
    pub recovery_count: u64,
    /// Reductions that were undone.
    pub undo_count: u64,
    /// Segments sent, the first time.
    pub sent_pkts: u64,
    /// Payload sent, the first time.
    pub sent_payload_bytes: u64,
}

impl Statistics {
    /// Adds those of another connection.
    pub fn add(&mut self, other: &Statistics) {
        self.retransmitted_pkts += other.retransmitted_pkts;
        self.rto_count += other.rto_count;
        self.probe_count += other.probe_count;
        self.recovery_count += other.recovery_count;
        self.undo_count += other.undo_count;
        self.sent_pkts += other.sent_pkts;
        self.sent_payload_bytes += other.sent_payload_bytes;
    }
}

/// A sender.
#[derive(Debug, Clone)]
pub struct Sender {
    settings: Settings,
    phase: Phase,
    window: Window,
    cca: Cca,
    board: Scoreboard,
    rtt: RoundTrip,
    rate: RateEstimator,
    rack: Rack,
    prr: Prr,
    pacing: Pacing,
    timers: Timers,
    statistics: Statistics,

    /// First byte that is not acknowledged.
    una: u64,
    /// Next byte to be sent.
    next: u64,
    /// One past what the application has written.
    written: u64,
    pushes: Pushes,
    /// Where a segment ends of which a probe of the window has taken the beginning, while it has
    /// not been sent and others follow it.
    cut: u64,
    is_closing: bool,
    fin_sent: bool,
    /// One past the last byte the receiver has room for.
    window_end: u64,
    window_bytes: u64,
    /// Of the segment that last told the window (SND.WL1).
    window_seq: u64,
    largest_window_bytes: u64,
    /// Of the other end: the next byte expected from it.
    peer_next: u64,
    peer_timestamp_ms: u32,
    must_ack: bool,
    /// The acknowledgement that ends the handshake is due.
    must_open: bool,
    peer_has_finished: bool,

    state: State,
    /// When this is acknowledged, recovery is over (`high_seq`, RecoveryPoint).
    recovery_point: u64,
    undo: Undo,
    /// DupThresh, raised when reordering is seen.
    reordering_pkts: u32,
    reordering_seen: bool,
    is_reneging: bool,
    is_frto: bool,
    /// New data goes before what is lost (F-RTO step 2b).
    sends_new_first: bool,
    probe: Option<Probe>,
    forced: Option<Forced>,
    sack_cache: SackCache,
    /// Without RACK: packets from here on have not been judged lost, and of those before so many
    /// are SACKed.
    judged: (u64, u32),
    duplicates_reported: u64,
    /// Timestamp echoed by the acknowledgement being processed.
    echo_ms: Option<u32>,

    ecn: bool,
    cwr_due: bool,
    /// End of the small segment that is out (`snd_sml`), for Nagle's algorithm.
    small_end: u64,
    /// Whether small segments wait (Nagle, RFC 896 with Minshall's change).
    nagle: bool,
    /// Whether the window is reduced after a pause (`tcp_slow_start_after_idle`).
    restarts_after_idle: bool,
    /// Whether tail loss probes are sent (`tcp_early_retrans`).
    probes: bool,

    quiet: Quiet,
    /// Segments sent since `poll_transmit` last gave None.
    burst_pkts: u32,
    had_data: bool,
    last_sent: Option<Time>,
    last_sent_tick: Time,
    usage: Usage,
    send_buffer: SendBuffer,
    small_queue: SmallQueue,
}

impl Sender {
    /// A sender that has not been opened.
    pub fn new(settings: &Settings, now: Time) -> Sender {
        let tcp = &*settings.tcp;
        let options = Options::from(tcp).on_host(settings.timer_hz, settings.stream.clone());
        let cca = Cca::new(settings.algorithm, &options, now);
        let pacing = Pacing::new(tcp.pacing.is_on(cca.wants_pacing()));
        let min_rto = Time::from_ns(tcp.min_rto_ns);
        Sender {
            settings: settings.clone(),
            phase: Phase::Closed,
            window: Window::new(tcp.initial_window_pkts, settings.mss_bytes),
            cca,
            board: Scoreboard::new(settings.mss_bytes),
            rtt: RoundTrip::new(tcp.profile, min_rto),
            rate: RateEstimator::default(),
            rack: Rack::default(),
            prr: Prr::new(tcp.prr),
            pacing,
            timers: Timers::new(INITIAL_RTO),
            statistics: Statistics::default(),
            una: 0,
            next: 0,
            written: 1,
            pushes: Pushes::default(),
            cut: 0,
            is_closing: false,
            fin_sent: false,
            window_end: 0,
            window_bytes: 0,
            window_seq: 0,
            largest_window_bytes: 0,
            peer_next: 0,
            peer_timestamp_ms: 0,
            must_ack: false,
            must_open: false,
            peer_has_finished: false,
            state: State::Open,
            recovery_point: 0,
            undo: Undo::default(),
            reordering_pkts: DUPLICATES_THRESHOLD,
            reordering_seen: false,
            is_reneging: false,
            is_frto: false,
            sends_new_first: false,
            probe: None,
            forced: None,
            sack_cache: SackCache::default(),
            judged: (0, 0),
            duplicates_reported: 0,
            echo_ms: None,
            ecn: false,
            cwr_due: false,
            small_end: 0,
            nagle: true,
            restarts_after_idle: true,
            probes: true,
            quiet: Quiet::No,
            burst_pkts: 0,
            had_data: false,
            last_sent: None,
            last_sent_tick: Time::ZERO,
            usage: Usage::default(),
            send_buffer: SendBuffer::new(tcp.send_buffer_bytes),
            small_queue: SmallQueue::new(tcp.small_queues),
        }
    }

    /// Sends small segments at once (`TCP_NODELAY`).
    pub fn without_nagle(mut self) -> Sender {
        self.nagle = false;
        self
    }

    /// Opens the connection.
    pub fn connect(&mut self, now: Time) {
        self.quiet = Quiet::No;
        self.phase = Phase::SynSent;
        self.timers.syn_due = now;
    }

    /// The application writes so many bytes. They are sent when the windows allow.
    pub fn write(&mut self, bytes: u64, now: Time) {
        self.quiet = Quiet::No;
        self.before_write(now);
        let mss_bytes = self.settings.mss_bytes;
        let unsent = self.written.saturating_sub(self.next.max(1));
        self.pushes.write(Write {
            una: self.una,
            segment_start: self.written - unsent % u64::from(mss_bytes),
            before: self.written,
            after: self.written + bytes,
            mss_bytes,
            largest_window_bytes: self.largest_window_bytes,
        });
        self.written += bytes;
    }

    /// The application has nothing more to write.
    pub fn close(&mut self) {
        self.quiet = Quiet::No;
        self.is_closing = true;
    }

    /// A segment arrives. Call `poll_transmit` afterwards.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        self.quiet = Quiet::No;
        let acknowledges = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::SYN);
        // RFC 9293 section 3.10.7.4, fifth check: dropped whole.
        if acknowledges && segment.ack > self.next {
            return;
        }
        if let Some(timestamps) = segment.timestamps {
            self.peer_timestamp_ms = timestamps.value_ms;
        }
        match self.phase {
            Phase::Closed => {}
            Phase::SynSent => self.on_syn_ack(segment, now),
            Phase::Established | Phase::Finished => {
                let occupies = segment.end() > segment.seq;
                if occupies && segment.seq == self.peer_next {
                    self.peer_next = segment.end();
                    self.peer_has_finished |= segment.flags.has(Flags::FIN);
                }
                // Whatever takes sequence space is acknowledged, a repeated SYN or FIN too.
                self.must_ack |= occupies;
                if acknowledges {
                    self.on_ack(segment, now);
                }
            }
        }
    }

    /// RFC 9293 section 3.10.7.3: SYN-SENT.
    fn on_syn_ack(&mut self, segment: &Segment, now: Time) {
        if !segment.flags.has(Flags::SYN | Flags::ACK) || segment.ack != 1 {
            return;
        }
        let now_us = as_us(now);
        self.ecn = self.settings.tcp.ecn
            && segment.flags.has(Flags::ECE)
            && !segment.flags.has(Flags::CWR);
        self.peer_next = segment.end();
        self.una = 1;
        self.next = 1;
        self.set_window(segment.window_bytes);
        // Karn's algorithm: only a SYN that was sent once is timed; with timestamps any.
        let sent_us = as_us(self.timers.syn_sent);
        if self.timers.retransmits == 0 {
            self.enter_rtt(now_us - sent_us, now_us - sent_us, now_us);
        } else if let Some(echo_ms) = segment.timestamps.map(|stamps| stamps.echo_ms) {
            let rtt_ms = timestamp_ms(now).saturating_sub(echo_ms).max(1);
            let rtt_us = u64::from(rtt_ms) * 1000;
            self.enter_rtt(rtt_us, rtt_us, now_us);
        } else {
            self.timers.rto = FALLBACK_RTO;
        }
        self.begin_transfer(now);
        self.timers.clear();
        self.timers.retransmits = 0;
        self.phase = Phase::Established;
        self.must_ack = true;
        self.must_open = true;
    }

    /// The initial window (RFC 6928), one segment after a SYN was lost (RFC 5681 section 3.1; in
    /// Linux after two were).
    fn begin_transfer(&mut self, now: Time) {
        let tolerated = u32::from(self.settings.is_linux());
        if self.timers.retransmits > tolerated {
            self.window.set_cwnd(1);
        }
        self.rate.delivered_pkts = 1;
        self.rate.delivered_time_us = as_us(now);
        self.judged = (self.board.head(), 0);
        self.usage.renew(now);
        self.expand_send_buffer();
        self.init_pacing_rate();
        let snapshot = self.snapshot(now);
        self.cca.init(&mut self.window, &snapshot);
    }

    fn set_window(&mut self, window_bytes: u64) {
        self.window_bytes = window_bytes;
        self.window_end = self.una + window_bytes;
        self.largest_window_bytes = self.largest_window_bytes.max(window_bytes);
    }

    /// Something is written: was the application what held the sender back? Did it pause?
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

    /// What a controller is told.
    fn snapshot(&self, now: Time) -> Snapshot {
        Snapshot {
            now,
            in_flight_pkts: self.board.in_flight(),
            flight_size_pkts: self.board.packets_out(),
            is_app_limited: self.rate.is_app_limited(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered_pkts: self.rate.delivered_pkts,
            delivered_time: from_us(self.rate.delivered_time_us),
            lost_pkts: self.rate.lost_pkts,
        }
    }

    /// The option of a segment sent now.
    fn timestamps(&self, now: Time) -> Option<Timestamps> {
        self.settings.tcp.timestamps.then(|| Timestamps {
            value_ms: timestamp_ms(now),
            echo_ms: self.peer_timestamp_ms,
        })
    }

    fn is_sack(&self) -> bool {
        self.settings.tcp.sack
    }

    fn is_rack(&self) -> bool {
        self.settings.tcp.rack && self.settings.tcp.sack
    }
}

/// What can be seen from outside.
impl Sender {
    /// How far the connection is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The congestion window and what belongs to it.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// What it does about losses.
    pub fn state(&self) -> State {
        self.state
    }

    /// The controller.
    pub fn cca(&self) -> &Cca {
        &self.cca
    }

    /// What is out.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Round-trip times.
    pub fn round_trip(&self) -> &RoundTrip {
        &self.rtt
    }

    /// Last rate of delivery, bytes a second.
    pub fn delivery_rate_bytes_per_s(&self) -> Option<u64> {
        self.rate.bytes_per_s(self.settings.mss_bytes)
    }

    /// The rate segments leave at, if they are paced.
    pub fn pacing_rate_bytes_per_s(&self) -> Option<u64> {
        let rate = self.window.pacing_rate_bytes_per_s;
        (self.pacing.is_on() && rate > 0).then_some(rate)
    }

    /// The retransmission timeout, backing off included.
    pub fn rto(&self) -> Time {
        self.timers.rto
    }

    /// Whether a packet has ever arrived after a later one, as far as SACK blocks show.
    pub fn has_seen_reordering(&self) -> bool {
        self.reordering_seen
    }

    /// Counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Payload that has been acknowledged.
    pub fn acked_payload_bytes(&self) -> u64 {
        self.una.min(self.written).saturating_sub(1)
    }

    /// Payload written and not yet sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.written.saturating_sub(self.next)
    }

    /// Whether both ends have closed and both FINs are acknowledged.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Finished && self.peer_has_finished
    }
}
