//! BBR, version 1, as Linux 6.1 has it (Cardwell et al., "BBR: congestion-based congestion
//! control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux
//! `net/ipv4/tcp_bbr.c`).
//!
//! BBR keeps a model of the path, the greatest delivery rate of ten round trips and the least
//! round-trip time of ten seconds, and sends at that rate with about two products of both in
//! flight. It probes for more of the one by pacing a quarter faster for a round trip in eight,
//! and for less of the other by emptying the pipe for 200 ms every ten seconds.
//!
//! | part | file |
//! | --- | --- |
//! | state machine, gains, window, pacing rate | here |
//! | fixed point | `bandwidth.rs` |
//! | full pipe | `full_pipe.rs` |
//! | policers | `long_term.rs` |
//! | aggregated acknowledgements | `ack_aggregation.rs` |
//! | windowed extremes | `windowed_filter.rs` |
//!
//! Both profiles are the same: there is no RFC. The table of clauses is in `docs/cca-bbr.md`.

mod ack_aggregation;
mod bandwidth;
mod full_pipe;
mod long_term;
#[cfg(test)]
mod tests;
mod window;

use super::windowed_filter::{ExpiringMin, WindowedMax};
use super::{Ack, CaState, Controller, INFINITE_SSTHRESH, Options, Phase, Snapshot, Window};
use ack_aggregation::AckAggregation;
use bandwidth::{UNIT_GAIN, bandwidth, bdp_pkts, pacing_rate_bytes_per_s};
use dumbbell_core::random::Stream;
use dumbbell_core::time::{PS_PER_S, Time};
use full_pipe::FullPipe;
use long_term::{Change, Evidence, LongTerm, Totals};

/// 2/ln 2 = 2.885: the smallest gain that doubles the delivery rate every round trip.
const HIGH_GAIN: u32 = UNIT_GAIN * 2885 / 1000 + 1;
/// Its inverse empties in a round trip what startup has queued.
const DRAIN_GAIN: u32 = UNIT_GAIN * 1000 / 2885;
/// Window in bandwidth-delay products, for delayed and aggregated acknowledgements.
const CWND_GAIN: u32 = UNIT_GAIN * 2;
/// Pacing gains of the eight phases, each of about a least round-trip time.
const CYCLE: [u32; 8] = [
    UNIT_GAIN * 5 / 4,
    UNIT_GAIN * 3 / 4,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
    UNIT_GAIN,
];
/// The first phase is any but the one that drains: one of this number.
pub const FIRST_PHASES: u64 = CYCLE.len() as u64 - 1;
/// Round trips the greatest delivery rate is remembered for.
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// Seconds the least round-trip time is believed.
const MIN_RTT_WINDOW_S: u64 = 10;
/// How long the pipe is kept empty to measure it.
const PROBE_RTT_MS: u64 = 200;
/// The least window but for recovery: two acknowledgements of two packets each.
const LEAST_CWND_PKTS: u32 = 4;
/// Linux's initial window, where nothing is known.
const INITIAL_WINDOW_PKTS: u32 = 10;
/// Round-trip time assumed before the first is measured, microseconds.
const NOMINAL_RTT_US: u64 = 1000;

/// What BBR is doing (draft section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Doubling the rate until the pipe is full.
    Startup,
    /// Emptying the queue that startup built.
    Drain,
    /// Cycling through the gains.
    ProbeBw,
    /// Keeping the pipe empty to measure the round-trip time.
    ProbeRtt,
}

/// Round trips counted by packets: one ends when what was sent at its start is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rounds {
    count: u64,
    /// Delivered in all when the current one began.
    end_delivered_pkts: u64,
    /// Whether the last acknowledgement began one.
    is_start: bool,
}

/// State of BBR.
#[derive(Debug, Clone, PartialEq)]
pub struct Bbr {
    timer_hz: u64,
    stream: Stream,
    mode: Mode,
    /// Greatest delivery rate, over rounds.
    max_bandwidth: WindowedMax,
    /// Least round-trip time, microseconds, over ticks of the timer.
    min_rtt_us: ExpiringMin,
    rounds: Rounds,
    pipe: FullPipe,
    long_term: LongTerm,
    aggregation: AckAggregation,
    /// Which of the gains of `CYCLE`, and since when.
    phase: usize,
    phase_start: Time,
    pacing_gain: u32,
    cwnd_gain: u32,
    /// While the pipe is kept empty: until which tick, and whether a round trip has passed.
    probe_rtt_done_tick: Option<u64>,
    probe_rtt_round_done: bool,
    /// Window to go back to after recovery and after an empty pipe, packets.
    prior_cwnd_pkts: u32,
    prior_state: CaState,
    /// In the first round trip of recovery: a packet leaves for each delivered.
    is_conserving: bool,
    /// Whether nothing has been delivered since the application was idle.
    is_restarting: bool,
    has_seen_rtt: bool,
    totals: Totals,
}

fn us(time: Time) -> u64 {
    time.as_ns() / 1000
}

impl Bbr {
    /// What BBR is doing.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Least round-trip time of late; none before the first.
    pub fn min_rtt(&self) -> Option<Time> {
        let us = self.min_rtt_us.value?;
        Some(Time::from_ns(us * 1000))
    }

    /// The bandwidth that is paced at, bytes of payload per second: the policer's rate where one
    /// was found, else the greatest of ten round trips.
    pub fn bandwidth_bytes_per_s(&self, mss_bytes: u32) -> u64 {
        let per_s = u128::from(self.bandwidth()) * u128::from(mss_bytes) * 1_000_000;
        (per_s >> bandwidth::BANDWIDTH_SHIFT) as u64
    }

    fn bandwidth(&self) -> u64 {
        let greatest = self.max_bandwidth.get();
        self.long_term.bandwidth().unwrap_or(greatest)
    }

    fn tick(&self, at: Time) -> u64 {
        let (seconds, rest) = (at.0 / PS_PER_S, at.0 % PS_PER_S);
        seconds * self.timer_hz + rest * self.timer_hz / PS_PER_S
    }

    fn update_model(&mut self, window: &mut Window, ack: &Ack) {
        self.update_bandwidth(window, ack);
        self.update_aggregation(window, ack);
        if self.mode == Mode::ProbeBw && self.is_phase_over(window, ack) {
            self.next_phase(ack.delivered_time);
        }
        if self.rounds.is_start && !ack.rate.is_app_limited {
            self.pipe.on_round(self.max_bandwidth.get());
        }
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.update_gains();
    }

    /// Draft section 4.1.1: rounds, policers, and the filter of the delivery rate.
    fn update_bandwidth(&mut self, window: &Window, ack: &Ack) {
        self.rounds.is_start = false;
        let rate = &ack.rate;
        let interval_us = us(rate.interval);
        let Ok(delivered_pkts) = u64::try_from(rate.delivered_pkts) else {
            return;
        };
        if interval_us == 0 {
            return;
        }
        if rate.prior_delivered_pkts >= self.rounds.end_delivered_pkts {
            self.rounds.end_delivered_pkts = ack.delivered_pkts;
            self.rounds.count += 1;
            self.rounds.is_start = true;
            self.is_conserving = false;
        }
        self.look_for_policer(
            rate.losses_pkts > 0,
            rate.is_app_limited,
            window.mss_bytes,
            ack.delivered_time,
        );
        let sample = bandwidth(delivered_pkts, interval_us);
        // What the application limited says little, unless it is faster all the same.
        if !rate.is_app_limited || sample >= self.max_bandwidth.get() {
            self.max_bandwidth.update(self.rounds.count, sample);
        }
    }

    fn look_for_policer(
        &mut self,
        has_losses: bool,
        is_app_limited: bool,
        mss_bytes: u32,
        now: Time,
    ) {
        let change = self.long_term.update(&Evidence {
            totals: self.totals,
            has_losses,
            is_app_limited,
            is_round_start: self.rounds.is_start,
            is_probing_bandwidth: self.mode == Mode::ProbeBw,
            mss_bytes,
        });
        match change {
            Change::None => {}
            // Faster would be dropped.
            Change::Found => self.pacing_gain = UNIT_GAIN,
            Change::GivenUp => self.enter_probe_bw(now),
        }
    }

    fn update_aggregation(&mut self, window: &Window, ack: &Ack) {
        let rate = &ack.rate;
        if rate.acked_sacked_pkts == 0 || rate.delivered_pkts < 0 || us(rate.interval) == 0 {
            return;
        }
        let bandwidth = self.bandwidth();
        self.aggregation.update(
            us(ack.delivered_time),
            rate.acked_sacked_pkts,
            bandwidth,
            self.rounds.is_start,
            window.cwnd_pkts,
        );
    }

    /// Draft section 4.3.4.3: a phase lasts a least round-trip time; one that probes, until its
    /// volume is in flight or something was lost; one that drains, at most until it has.
    fn is_phase_over(&self, window: &Window, ack: &Ack) -> bool {
        let elapsed_us = us(ack.delivered_time.saturating_sub(self.phase_start));
        let is_full_length = self
            .min_rtt_us
            .value
            .is_some_and(|least| elapsed_us > least);
        if self.pacing_gain == UNIT_GAIN {
            return is_full_length;
        }
        let in_network = self.in_network_pkts(window, ack, ack.rate.prior_in_flight_pkts);
        let bandwidth = self.max_bandwidth.get();
        if self.pacing_gain > UNIT_GAIN {
            let target = self.in_flight_target(window, bandwidth, self.pacing_gain);
            return is_full_length && (ack.rate.losses_pkts > 0 || in_network >= target);
        }
        is_full_length || in_network <= self.in_flight_target(window, bandwidth, UNIT_GAIN)
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = now;
    }

    /// Draft section 4.3.4.2: flows start in different phases.
    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.stream.below(FIRST_PHASES) as usize;
        self.next_phase(now);
    }

    /// Draft section 4.3.3.
    fn check_drain(&mut self, window: &mut Window, ack: &Ack) {
        let target = |bbr: &Bbr, window: &Window| {
            bbr.in_flight_target(window, bbr.max_bandwidth.get(), UNIT_GAIN)
        };
        if self.mode == Mode::Startup && self.pipe.is_full() {
            self.mode = Mode::Drain;
            // Never used; shown in statistics.
            window.ssthresh_pkts = target(self, window);
        }
        if self.mode == Mode::Drain {
            let in_network = self.in_network_pkts(window, ack, ack.in_flight_pkts);
            if in_network <= target(self, window) {
                self.enter_probe_bw(ack.delivered_time);
            }
        }
    }

    /// Draft sections 4.1.2 and 4.3.5.
    fn update_min_rtt(&mut self, window: &mut Window, ack: &Ack) {
        let tick = self.tick(ack.now);
        // Before the sample renews it.
        let is_expired = self.min_rtt_us.is_expired(tick);
        if let Some(rtt) = ack.rate.rtt {
            let may_replace = !ack.rate.is_ack_delayed;
            self.min_rtt_us.update(tick, us(rtt), may_replace);
        }
        if is_expired && !self.is_restarting && self.mode != Mode::ProbeRtt {
            // The order matters: the window is saved as one that was cut already.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_done_tick = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.keep_pipe_empty(window, ack, tick);
        }
        if ack.rate.delivered_pkts > 0 {
            self.is_restarting = false;
        }
    }

    /// At least 200 ms and a round trip with at most four packets in flight.
    fn keep_pipe_empty(&mut self, window: &mut Window, ack: &Ack, tick: u64) {
        if self.probe_rtt_done_tick.is_some() {
            self.probe_rtt_round_done |= self.rounds.is_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(window, tick, ack.delivered_time);
            }
        } else if ack.in_flight_pkts <= LEAST_CWND_PKTS {
            let ticks = (PROBE_RTT_MS * self.timer_hz).div_ceil(1000);
            self.probe_rtt_done_tick = Some(tick + ticks);
            self.probe_rtt_round_done = false;
            self.rounds.end_delivered_pkts = ack.delivered_pkts;
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, tick: u64, now: Time) {
        if self.probe_rtt_done_tick.is_none_or(|done| tick <= done) {
            return;
        }
        self.min_rtt_us.at = tick;
        window.set_cwnd(window.cwnd_pkts.max(self.prior_cwnd_pkts));
        if self.pipe.is_full() {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            // The window stays while the rate falls.
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bandwidth().is_some() => (UNIT_GAIN, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT_GAIN, UNIT_GAIN),
        };
    }

    fn note_progress(&mut self, delivered_pkts: u64, lost_pkts: u64, delivered_time: Time) {
        self.totals = Totals {
            delivered_pkts,
            lost_pkts,
            at_ms: us(delivered_time) / 1000,
        };
    }
}

impl Controller for Bbr {
    const WANTS_PACING: bool = true;
    const IS_COMPARED_WITH_LINUX: bool = true;

    fn new(options: &Options, now: Time) -> Bbr {
        let timer_hz = u64::from(options.timer_hz.max(1));
        let mut bbr = Bbr {
            timer_hz,
            stream: options.stream.clone(),
            mode: Mode::Startup,
            max_bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS, 0, 0),
            min_rtt_us: ExpiringMin::new(MIN_RTT_WINDOW_S * timer_hz, 0, None),
            rounds: Rounds {
                count: 0,
                end_delivered_pkts: 0,
                is_start: false,
            },
            pipe: FullPipe::default(),
            long_term: LongTerm::default(),
            aggregation: AckAggregation::default(),
            phase: 0,
            phase_start: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            probe_rtt_done_tick: None,
            probe_rtt_round_done: false,
            prior_cwnd_pkts: 0,
            prior_state: CaState::Open,
            is_conserving: false,
            is_restarting: false,
            has_seen_rtt: false,
            totals: Totals::default(),
        };
        bbr.min_rtt_us.at = bbr.tick(now);
        bbr
    }

    fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
        window.ssthresh_pkts = INFINITE_SSTHRESH;
        self.note_progress(
            snapshot.delivered_pkts,
            snapshot.lost_pkts,
            snapshot.delivered_time,
        );
        self.rounds.end_delivered_pkts = snapshot.delivered_pkts;
        self.min_rtt_us.value = snapshot.min_rtt.map(us);
        self.min_rtt_us.at = self.tick(snapshot.now);
        self.long_term.reset(self.totals);
        self.aggregation.restart_epoch(us(snapshot.now));
        self.init_pacing_rate(window, snapshot.srtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.note_progress(ack.delivered_pkts, ack.lost_pkts, ack.delivered_time);
        self.update_model(window, ack);
        self.set_pacing_rate(window, self.pacing_gain, ack.srtt);
        self.set_cwnd(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        self.save_cwnd(window);
    }

    fn on_rto(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        self.save_cwnd(window);
    }

    fn on_enter_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.note_progress(
            snapshot.delivered_pkts,
            snapshot.lost_pkts,
            snapshot.delivered_time,
        );
        self.prior_state = CaState::Loss;
        self.pipe.forget_bandwidth();
        // A timeout counts as the end of a round trip.
        self.rounds.is_start = true;
        self.look_for_policer(true, false, window.mss_bytes, snapshot.delivered_time);
    }

    fn on_undo(&mut self, _window: &mut Window) {
        self.pipe.restart();
        self.long_term.reset(self.totals);
    }

    fn on_transmit_start(
        &mut self,
        window: &mut Window,
        _last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        if !snapshot.is_app_limited {
            return;
        }
        self.is_restarting = true;
        self.aggregation.restart_epoch(us(snapshot.now));
        match self.mode {
            // There is no need to go faster than the estimate.
            Mode::ProbeBw => self.set_pacing_rate(window, UNIT_GAIN, snapshot.srtt),
            Mode::ProbeRtt => {
                let tick = self.tick(snapshot.now);
                self.check_probe_rtt_done(window, tick, snapshot.delivered_time);
            }
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<Phase> {
        Some(match self.mode {
            Mode::Startup => Phase::Startup,
            Mode::Drain => Phase::Drain,
            Mode::ProbeBw => Phase::ProbeBw,
            Mode::ProbeRtt => Phase::ProbeRtt,
        })
    }

    /// The first phase of its cycle is drawn.
    fn has_drawn(&self) -> bool {
        !matches!(self.mode, Mode::Startup | Mode::Drain)
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    /// One more than others: it sends at its rate also while a hole is repaired.
    fn send_buffer_windows(&self) -> u32 {
        3
    }

    fn least_burst_pkts(&self, window: &Window) -> Option<u32> {
        Some(window::least_burst_pkts(window))
    }
}
