//! The cycle of bandwidth probing: DOWN, CRUISE, REFILL and UP (draft-ietf-ccwg-bbr section 5.3.3).

use super::{Bbr3, Sample, State, Time, UNLIMITED_PKTS, Window};
use dumbbell_core::random::Stream;

/// Minimum wall clock time between bandwidth probes; up to a second more is drawn.
const PROBE_WAIT_S: f64 = 2.0;
/// Maximum of round trips between bandwidth probes; up to one less is drawn.
const PROBE_WAIT_ROUNDS: u32 = 63;
/// `BBR.Headroom`: the part of the long-term limit that is left to others.
const HEADROOM: f64 = 0.15;
/// Maximum of `BBR.bw_probe_up_rounds`.
const MOST_UP_ROUNDS: u32 = 30;

/// The meaning of acknowledgements for the bandwidth probe (`BBR.ack_phase`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Of no probe.
    #[default]
    Init,
    /// Of the round trip that fills the pipe.
    Refilling,
    /// Of packets sent before the probe, which has begun.
    ProbeStarting,
    /// Of the probe.
    ProbeFeedback,
    /// Of the probe, which is over.
    ProbeStopping,
}

/// State of the bandwidth probe.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct BandwidthProbe {
    pub(super) ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`: packets were sent by a probe to whose losses nothing has responded.
    pub(super) is_sample: bool,
    /// `BBR.prev_probe_too_high`: the last probe lost too much.
    pub(super) was_too_high: bool,
    /// `BBR.prev_probe_precautionary`: the last probe stopped at the long-term limit.
    was_precautionary: bool,
    /// `BBR.rounds_since_probe_up`.
    rounds: u64,
    /// `BBR.bw_probe_wait`, seconds; 0 before the first cycle.
    wait_s: f64,
    /// `BBR.cycle_stamp`.
    start: Time,
    /// `BBR.bw_probe_up_rounds`.
    up_rounds: u32,
    /// `BBR.bw_probe_up_acked`.
    up_acked_pkts: u32,
    /// `BBR.probe_up_acked_per_inc`; `UNLIMITED_PKTS` while the long-term limit does not grow.
    up_acked_per_increase_pkts: u32,
}

impl BandwidthProbe {
    /// A round trip has begun.
    pub(super) fn count_round(&mut self) {
        self.rounds += 1;
    }

    /// Whether a random number has been drawn.
    pub(super) fn has_drawn(&self) -> bool {
        self.wait_s > 0.0
    }

    /// What was drawn: round trips and seconds.
    #[cfg(test)]
    pub(super) fn drawn(&self) -> (u64, f64) {
        (self.rounds, self.wait_s)
    }

    /// `PickProbeWait`.
    fn pick_wait(&mut self, stream: &mut Stream) {
        self.rounds = stream.below(2);
        self.wait_s = PROBE_WAIT_S + stream.uniform();
    }

    /// `RaiseInflightLongtermSlope`: the limit grows by 1, 2, 4, ... packets in successive round trips.
    fn raise_slope(&mut self, cwnd_pkts: u32) {
        let growth_pkts = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(MOST_UP_ROUNDS);
        self.up_acked_per_increase_pkts = (cwnd_pkts / growth_pkts).max(1);
    }

    /// Counts acknowledged packets. Returns by how many the limit grows.
    fn increase_pkts(&mut self, acked_pkts: u32) -> u32 {
        self.up_acked_pkts = self.up_acked_pkts.saturating_add(acked_pkts);
        let per_increase_pkts = self.up_acked_per_increase_pkts.max(1);
        let increase_pkts = self.up_acked_pkts / per_increase_pkts;
        self.up_acked_pkts -= increase_pkts * per_increase_pkts;
        increase_pkts
    }
}

impl Bbr3 {
    pub(super) fn start_down(&mut self, now: Time) {
        self.signals.reset();
        self.probe.up_acked_per_increase_pkts = UNLIMITED_PKTS;
        self.probe.pick_wait(&mut self.stream);
        self.probe.start = now;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.rounds.start(self.delivered_pkts);
        self.state = State::ProbeBwDown;
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        self.probe.up_rounds = 0;
        self.probe.up_acked_pkts = 0;
        self.probe.was_precautionary = false;
        self.probe.ack_phase = AckPhase::Refilling;
        self.rounds.start(self.delivered_pkts);
        self.state = State::ProbeBwRefill;
    }

    fn start_up(&mut self, window: &Window, sample: &Sample) {
        self.probe.is_sample = true;
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.rounds.start(self.delivered_pkts);
        self.pipe.reset(sample.delivery_pkts_per_s);
        self.state = State::ProbeBwUp;
        self.probe.raise_slope(window.cwnd_pkts);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw(&mut self, window: &Window, sample: &Sample) {
        if !self.pipe.was_reached || self.adapt_long_term(window, sample) {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeBwDown | State::ProbeBwCruise if self.is_time_to_probe(window, sample) => {
                self.start_refill();
            }
            State::ProbeBwDown if self.is_time_to_cruise(window, sample) => {
                self.state = State::ProbeBwCruise;
            }
            State::ProbeBwRefill if self.rounds.is_start => self.start_up(window, sample),
            State::ProbeBwUp if self.is_time_to_go_down(window, sample) => {
                self.probe.was_too_high = false;
                self.start_down(sample.now);
            }
            _ => {}
        }
    }

    /// Draft section 5.3.3.5.3: two to three seconds, or as many round trips as Reno needs to grow by what is
    /// in flight.
    fn is_time_to_probe(&self, window: &Window, sample: &Sample) -> bool {
        let elapsed_s = sample.now.saturating_sub(self.probe.start).as_seconds();
        let reno_rounds = self.target_inflight_pkts(window).min(PROBE_WAIT_ROUNDS);
        elapsed_s > self.probe.wait_s || self.probe.rounds >= u64::from(reno_rounds)
    }

    fn is_time_to_cruise(&self, window: &Window, sample: &Sample) -> bool {
        let drained_pkts = self.inflight_pkts(window, self.max_bandwidth.get(), 1.0);
        sample.in_flight_pkts <= self.limit_with_headroom_pkts().min(drained_pkts)
    }

    /// Draft section 5.3.3.4.3.
    fn is_time_to_go_down(&mut self, window: &Window, sample: &Sample) -> bool {
        if self.probe.was_too_high && sample.in_flight_pkts >= self.long_term_pkts {
            self.probe.was_precautionary = true;
            return true;
        }
        if sample.is_cwnd_limited && window.cwnd_pkts >= self.long_term_pkts {
            // The limit holds the rate back, not the path.
            self.pipe.reset(sample.delivery_pkts_per_s);
            return false;
        }
        self.pipe.is_full
    }

    /// `InflightWithHeadroom`.
    pub(super) fn limit_with_headroom_pkts(&self) -> u32 {
        if self.long_term_pkts == UNLIMITED_PKTS {
            return UNLIMITED_PKTS;
        }
        let headroom_pkts = (HEADROOM * f64::from(self.long_term_pkts)).max(1.0);
        let limit_pkts = (f64::from(self.long_term_pkts) - headroom_pkts) as u32;
        limit_pkts.max(super::LEAST_CWND_PKTS)
    }

    /// `AdaptLongTermModel`. Returns whether it has changed the state.
    fn adapt_long_term(&mut self, window: &Window, sample: &Sample) -> bool {
        if self.rounds.is_start {
            let ack_phase = self.probe.ack_phase;
            match ack_phase {
                AckPhase::ProbeStarting => self.probe.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping if self.end_probe_feedback(sample) => return true,
                _ => {}
            }
        }
        if self.is_inflight_too_high(&sample.flight) || self.long_term_pkts == UNLIMITED_PKTS {
            return false;
        }
        self.long_term_pkts = self.long_term_pkts.max(sample.flight.in_flight_pkts);
        if self.state == State::ProbeBwUp {
            self.raise_long_term(window, sample);
        }
        false
    }

    /// The last acknowledgements of a probe have arrived. Returns whether the next one begins at once: the
    /// last one stopped at the long-term limit and lost little.
    fn end_probe_feedback(&mut self, sample: &Sample) -> bool {
        self.probe.is_sample = false;
        self.probe.ack_phase = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !sample.flight.is_app_limited {
            self.max_bandwidth.advance();
        }
        let is_safe = self.probe.was_precautionary && !self.probe.was_too_high;
        if is_safe {
            self.start_refill();
        }
        is_safe
    }

    /// `ProbeInflightLongtermUpward`.
    fn raise_long_term(&mut self, window: &Window, sample: &Sample) {
        if !sample.is_cwnd_limited || window.cwnd_pkts < self.long_term_pkts {
            return;
        }
        let increase_pkts = self.probe.increase_pkts(sample.acked_pkts);
        self.long_term_pkts = self.long_term_pkts.saturating_add(increase_pkts);
        if self.rounds.is_start {
            self.probe.raise_slope(window.cwnd_pkts);
        }
    }
}
