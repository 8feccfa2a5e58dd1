//! BBR, version 3 (draft-ietf-ccwg-bbr-06, with the editorial changes of the working group up to 2026-08-03).
//!
//! BBR paces at the bandwidth that it has measured and limits the data in flight to a small multiple of the
//! bandwidth-delay product. Unlike version 1 it also keeps two limits that follow losses: a long-term one that
//! it learns while it probes for bandwidth, and a short-term one for the time until the next probe.
//!
//! | part | file |
//! | --- | --- |
//! | states, the order of the steps of an acknowledgement | here |
//! | delivery signals, rounds, full pipe, aggregated acknowledgements | `model.rs` |
//! | maximum bandwidth of two cycles | `filter.rs` |
//! | the cycle of bandwidth probing | `probe_bw.rs` |
//! | minimum round-trip time, ProbeRTT, restart after idle | `probe_rtt.rs` |
//! | losses, marks and spurious losses | `losses.rs` |
//! | what a packet records when it is sent | `flight.rs` |
//! | pacing rate, send quantum, window | `control.rs` |
//!
//! Both profiles are the same. The table of clauses is in `docs/cca-bbr3.md`; names in backquotes are those of
//! the draft. Volumes are whole packets, rates packets per second.

mod control;
mod filter;
mod flight;
mod losses;
mod model;
mod probe_bw;
mod probe_rtt;
#[cfg(test)]
mod tests;

use super::windowed_filter::WindowedMax;
use super::{
    Ack, CaState, Controller, INFINITE_SSTHRESH, LostPacket, Options, Phase, SentPacket, Snapshot,
    Window,
};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use filter::MaxBandwidth;
use flight::Flight;
use losses::Undo;
use model::{DeliverySignals, FullPipe, Rounds};
use probe_bw::BandwidthProbe;
use probe_rtt::{MinRtt, ProbeRtt};

/// No limit on the data in flight.
const UNLIMITED_PKTS: u32 = u32::MAX;
/// `BBR.MinPipeCwnd`: two acknowledgements of two packets each.
const LEAST_CWND_PKTS: u32 = 4;
/// `BBR.Beta`: no limit falls below this part of its former value in a round trip.
const BETA: f64 = 0.7;
/// `BBR.LossThresh`: maximum tolerated part of lost packets in a round trip of bandwidth probing.
const LOSS_THRESHOLD: f64 = 0.02;

/// The state (draft section 5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Doubles the rate each round trip until the pipe is full.
    Startup,
    /// Empties the queue that startup has built.
    Drain,
    /// Sends below the bandwidth until the queue is empty and there is headroom.
    ProbeBwDown,
    /// Sends at the bandwidth.
    ProbeBwCruise,
    /// Fills the pipe for a round trip, without the short-term limits.
    ProbeBwRefill,
    /// Sends above the bandwidth.
    ProbeBwUp,
    /// Halves the data in flight to measure the minimum round-trip time.
    ProbeRtt,
}

impl State {
    /// `BBR.pacing_gain` (draft section 5.6.1).
    fn pacing_gain(self) -> f64 {
        match self {
            State::Startup => 2.77,
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwUp => 1.25,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
        }
    }

    /// `BBR.cwnd_gain` (draft section 5.6.1).
    fn cwnd_gain(self) -> f64 {
        match self {
            State::ProbeBwUp => 2.25,
            State::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    /// `IsInAProbeBWState`.
    fn is_probe_bw(self) -> bool {
        matches!(
            self,
            State::ProbeBwDown | State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeBwUp
        )
    }

    /// `IsProbingBW`: losses do not lower the short-term limits.
    fn is_accelerating(self) -> bool {
        matches!(
            self,
            State::Startup | State::ProbeBwRefill | State::ProbeBwUp
        )
    }
}

/// What an acknowledgement says (`RS`, and the state `C` of the connection after it).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    now: Time,
    rtt: Option<Time>,
    /// `RS.delivery_rate`, packets per second; 0 without a reliable sample.
    delivery_pkts_per_s: f64,
    /// `RS.delivered`: delivered since the newest acknowledged packet was sent.
    delivered_pkts: u32,
    /// `RS.prior_delivered`; None if nothing was delivered.
    prior_delivered_pkts: Option<u64>,
    /// `RS.newly_acked`.
    acked_pkts: u32,
    /// `RS.tx_in_flight`, `RS.lost` and `RS.is_app_limited` of the newest acknowledged packet.
    flight: FlightSample,
    /// `C.inflight`.
    in_flight_pkts: u32,
    /// `C.is_cwnd_limited`.
    is_cwnd_limited: bool,
    state: CaState,
}

/// The flight of one packet, which was acknowledged or lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct FlightSample {
    /// In flight when it was sent, with itself.
    in_flight_pkts: u32,
    /// Considered lost since it was sent.
    lost_pkts: u32,
    is_app_limited: bool,
}

/// Limits that follow losses while BBR does not probe for bandwidth (`BBR.bw_shortterm`,
/// `BBR.inflight_shortterm`).
#[derive(Debug, Clone, Copy, PartialEq)]
struct ShortTerm {
    pkts_per_s: f64,
    in_flight_pkts: u32,
}

impl ShortTerm {
    const UNLIMITED: ShortTerm = ShortTerm {
        pkts_per_s: f64::INFINITY,
        in_flight_pkts: UNLIMITED_PKTS,
    };
}

/// State of BBR, version 3.
#[derive(Debug, Clone, PartialEq)]
pub struct Bbr3 {
    stream: Stream,
    has_sack: bool,
    state: State,
    max_bandwidth: MaxBandwidth,
    /// `BBR.bw`.
    pkts_per_s: f64,
    short_term: ShortTerm,
    /// `BBR.inflight_longterm`.
    long_term_pkts: u32,
    rounds: Rounds,
    pipe: FullPipe,
    signals: DeliverySignals,
    /// `BBR.extra_acked` and the interval that measures it.
    extra_acked_pkts: WindowedMax,
    extra_interval_start: Time,
    extra_interval_pkts: u64,
    probe: BandwidthProbe,
    drain_start_round: u64,
    min_rtt: MinRtt,
    probe_rtt: ProbeRtt,
    flight: Flight,
    undo: Undo,
    /// `BBR.prior_cwnd`.
    prior_cwnd_pkts: u32,
    initial_cwnd_pkts: u32,
    /// The sender's recovery state, and what was delivered when fast recovery began.
    recovery: CaState,
    recovery_start_delivered_pkts: u64,
    /// `C.delivered`.
    delivered_pkts: u64,
    is_restarting: bool,
    has_seen_rtt: bool,
}

impl Bbr3 {
    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// `GenerateRateSample`.
    fn sample(&self, ack: &Ack) -> Sample {
        let rate = &ack.rate;
        let interval_s = rate.interval.as_seconds();
        let is_reliable = rate.delivered_pkts > 0 && interval_s > 0.0;
        let was_delivered = rate.newest_sent.is_some();
        let delivered_pkts = ack
            .delivered_pkts
            .saturating_sub(rate.prior_delivered_pkts)
            .min(u64::from(u32::MAX)) as u32;
        let record = rate.newest_sent.and_then(|sent| self.flight.sent_at(sent));
        Sample {
            now: ack.now,
            rtt: rate.rtt,
            delivery_pkts_per_s: match is_reliable {
                true => rate.delivered_pkts as f64 / interval_s,
                false => 0.0,
            },
            delivered_pkts: if was_delivered { delivered_pkts } else { 0 },
            prior_delivered_pkts: was_delivered.then_some(rate.prior_delivered_pkts),
            acked_pkts: rate.acked_sacked_pkts,
            flight: FlightSample {
                in_flight_pkts: record.map_or(0, |record| record.in_flight_pkts),
                lost_pkts: record.map_or(0, |record| {
                    ack.lost_pkts.saturating_sub(record.lost_pkts) as u32
                }),
                is_app_limited: rate.is_app_limited,
            },
            in_flight_pkts: ack.in_flight_pkts,
            is_cwnd_limited: ack.is_window_full,
            state: ack.state,
        }
    }

    /// `UpdateModelAndState`.
    fn update_model_and_state(&mut self, window: &mut Window, sample: &Sample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(window, sample);
        self.update_ack_aggregation(window, sample);
        self.check_full_pipe(sample);
        self.check_startup_done(sample);
        self.check_drain_done(window, sample);
        if sample.acked_pkts > 0 {
            self.update_probe_bw(window, sample);
        }
        self.update_min_rtt(sample);
        self.check_probe_rtt(window, sample);
        self.advance_latest_delivery_signals(sample);
        self.bound_bandwidth();
    }

    fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.pipe.was_reached {
            self.enter_drain();
        }
    }

    fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.rounds.count;
    }

    /// Draft section 5.3.2: until the queue is empty, or three round trips.
    fn check_drain_done(&mut self, window: &Window, sample: &Sample) {
        if self.state != State::Drain {
            return;
        }
        let is_empty = sample.in_flight_pkts <= self.inflight_pkts(window, self.pkts_per_s, 1.0);
        if is_empty || self.rounds.count > self.drain_start_round + 3 {
            self.start_down(sample.now);
        }
    }

    fn reset_short_term(&mut self) {
        self.short_term = ShortTerm::UNLIMITED;
    }

    /// `BoundBWForModel`.
    fn bound_bandwidth(&mut self) {
        self.pkts_per_s = self.max_bandwidth.get().min(self.short_term.pkts_per_s);
    }
}

impl Controller for Bbr3 {
    const WANTS_PACING: bool = true;
    const NEEDS_PACKETS: bool = true;

    fn new(options: &Options, now: Time) -> Bbr3 {
        Bbr3 {
            stream: options.stream.clone(),
            has_sack: options.sack,
            state: State::Startup,
            max_bandwidth: MaxBandwidth::default(),
            pkts_per_s: 0.0,
            short_term: ShortTerm::UNLIMITED,
            long_term_pkts: UNLIMITED_PKTS,
            rounds: Rounds::default(),
            pipe: FullPipe::default(),
            signals: DeliverySignals::default(),
            extra_acked_pkts: WindowedMax::new(model::STARTUP_EXTRA_ROUNDS, 0, 0),
            extra_interval_start: now,
            extra_interval_pkts: 0,
            probe: BandwidthProbe::default(),
            drain_start_round: 0,
            min_rtt: MinRtt::new(now),
            probe_rtt: ProbeRtt::default(),
            flight: Flight::default(),
            undo: Undo::default(),
            prior_cwnd_pkts: 0,
            initial_cwnd_pkts: 0,
            recovery: CaState::Open,
            recovery_start_delivered_pkts: 0,
            delivered_pkts: 0,
            is_restarting: false,
            has_seen_rtt: false,
        }
    }

    /// Draft section 5.2.1, `OnInit`.
    fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
        window.ssthresh_pkts = INFINITE_SSTHRESH;
        self.initial_cwnd_pkts = window.cwnd_pkts;
        self.delivered_pkts = snapshot.delivered_pkts;
        self.rounds.end_delivered_pkts = snapshot.delivered_pkts;
        self.min_rtt.begin(snapshot.srtt, snapshot.now);
        self.extra_interval_start = snapshot.now;
        self.init_pacing_rate(window, snapshot.srtt);
    }

    /// Draft section 5.2.3, `UpdateOnACK`.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.follow_recovery(window, ack.state, ack.delivered_pkts);
        self.delivered_pkts = ack.delivered_pkts;
        let sample = self.sample(ack);
        self.update_model_and_state(window, &sample);
        if !self.has_seen_rtt && ack.srtt.is_some() {
            self.init_pacing_rate(window, ack.srtt);
        }
        self.set_pacing_rate(window, self.state.pacing_gain());
        self.set_cwnd(window, &sample);
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.flight.record(packet);
    }

    fn on_packet_lost(&mut self, window: &mut Window, packet: &LostPacket) {
        self.delivered_pkts = packet.delivered_pkts;
        self.handle_lost_packet(window, packet);
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on_recovery(window, snapshot);
    }

    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on_recovery(window, snapshot);
    }

    fn on_ecn(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.delivered_pkts = snapshot.delivered_pkts;
        self.handle_mark(window, snapshot);
    }

    fn on_state(&mut self, window: &mut Window, state: CaState, snapshot: &Snapshot) {
        self.follow_recovery(window, state, snapshot.delivered_pkts);
    }

    fn on_undo(&mut self, window: &mut Window) {
        self.handle_spurious_loss(window);
    }

    fn on_transmit_start(
        &mut self,
        window: &mut Window,
        _last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        self.delivered_pkts = snapshot.delivered_pkts;
        self.restart_from_idle(window, snapshot);
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<Phase> {
        Some(match self.state {
            State::Startup => Phase::Startup,
            State::Drain => Phase::Drain,
            State::ProbeRtt => Phase::ProbeRtt,
            _ => Phase::ProbeBw,
        })
    }

    /// The time to the next bandwidth probe is drawn at the start of each cycle.
    fn has_drawn(&self) -> bool {
        self.probe.has_drawn()
    }

    /// `MarkConnectionAppLimited` in ProbeRTT.
    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }

    /// One more than others: it sends at its rate also while a hole is repaired.
    fn send_buffer_windows(&self) -> u32 {
        3
    }
}
