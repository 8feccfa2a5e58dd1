//! The minimum round-trip time, the state that measures it, and the restart after idle (draft-ietf-ccwg-bbr
//! sections 5.3.4 and 5.4).

use super::probe_bw::AckPhase;
use super::{Bbr3, LEAST_CWND_PKTS, Sample, Snapshot, State, Time, Window};

/// `BBR.MinRTTFilterLen`.
const MIN_RTT_LASTS: Time = Time::from_ns(10_000_000_000);
/// `BBR.ProbeRTTInterval`.
const PROBE_RTT_INTERVAL: Time = Time::from_ns(5_000_000_000);
/// `BBR.ProbeRTTDuration`.
const PROBE_RTT_DURATION: Time = Time::from_ns(200_000_000);

/// A round-trip time and when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Measured {
    rtt: Option<Time>,
    at: Time,
}

impl Measured {
    /// Whether it is older than `lasts`.
    fn is_expired(&self, lasts: Time, now: Time) -> bool {
        now.saturating_sub(self.at) > lasts
    }

    fn is_above(&self, rtt: Time) -> bool {
        self.rtt.is_none_or(|own| rtt < own)
    }
}

/// Minima of the round-trip time over two windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MinRtt {
    /// `BBR.min_rtt`, of ten seconds.
    long: Measured,
    /// `BBR.probe_rtt_min_delay`, of five seconds.
    short: Measured,
    /// `BBR.probe_rtt_expired`.
    is_probe_due: bool,
}

impl MinRtt {
    pub(super) fn new(now: Time) -> MinRtt {
        let unknown = Measured { rtt: None, at: now };
        MinRtt {
            long: unknown,
            short: unknown,
            is_probe_due: false,
        }
    }

    /// The handshake has measured a round-trip time, or none.
    pub(super) fn begin(&mut self, rtt: Option<Time>, now: Time) {
        let first = Measured { rtt, at: now };
        (self.long, self.short) = (first, first);
    }

    /// The minimum; None before the first sample.
    pub(super) fn get(&self) -> Option<Time> {
        self.long.rtt
    }

    fn update(&mut self, rtt: Option<Time>, now: Time) {
        self.is_probe_due = self.short.is_expired(PROBE_RTT_INTERVAL, now);
        if let Some(sample) = rtt
            && (self.short.is_above(sample) || self.is_probe_due)
        {
            self.short = Measured { rtt, at: now };
        }
        let is_lower = self.short.rtt.is_some_and(|rtt| self.long.is_above(rtt));
        if is_lower || self.long.is_expired(MIN_RTT_LASTS, now) {
            self.long = self.short;
        }
    }
}

/// Progress of ProbeRTT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProbeRtt {
    /// `BBR.probe_rtt_done_stamp`; None until little enough is in flight.
    done_at: Option<Time>,
    /// Whether a round trip has passed since.
    is_round_done: bool,
}

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        self.min_rtt.update(sample.rtt, sample.now);
    }

    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        let is_due = self.min_rtt.is_probe_due && !self.is_restarting;
        if self.state != State::ProbeRtt && is_due {
            self.state = State::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt.done_at = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.rounds.start(self.delivered_pkts);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(window, sample);
        }
        if sample.delivered_pkts > 0 {
            self.is_restarting = false;
        }
    }

    /// At least 200 ms and a round trip with half the product in flight.
    fn handle_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.is_round_done |= self.rounds.is_start;
            if self.probe_rtt.is_round_done {
                self.check_probe_rtt_done(window, sample.now);
            }
        } else if sample.in_flight_pkts <= self.probe_rtt_cwnd_pkts() {
            self.probe_rtt.done_at = Some(Time(sample.now.0 + PROBE_RTT_DURATION.0));
            self.probe_rtt.is_round_done = false;
            self.rounds.start(self.delivered_pkts);
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, now: Time) {
        if self.probe_rtt.done_at.is_some_and(|done_at| now > done_at) {
            self.min_rtt.short.at = now;
            self.restore_cwnd(window);
            self.exit_probe_rtt(now);
        }
    }

    /// Draft section 5.3.4.4.
    fn exit_probe_rtt(&mut self, now: Time) {
        self.reset_short_term();
        if self.pipe.was_reached {
            self.start_down(now);
            self.state = State::ProbeBwCruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd_pkts(&self) -> u32 {
        self.bdp_pkts(self.pkts_per_s, State::ProbeRtt.cwnd_gain())
            .max(LEAST_CWND_PKTS)
    }

    /// Draft section 5.4: before the first packet after an idle period.
    pub(super) fn restart_from_idle(&mut self, window: &mut Window, snapshot: &Snapshot) {
        if !snapshot.is_app_limited {
            return;
        }
        self.is_restarting = true;
        self.extra_interval_start = snapshot.now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(window, 1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window, snapshot.now);
        }
    }
}
