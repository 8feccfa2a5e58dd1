//! The model of the path, without its limits after losses (draft-ietf-ccwg-bbr section 5.5): round trips, the
//! latest delivery signals, the full pipe, and aggregated acknowledgements.

use super::{BETA, Bbr3, Sample, UNLIMITED_PKTS, Window};

/// `BBR.ExtraAckedFilterLen`, round trips, once the pipe has been full.
const EXTRA_ROUNDS: u64 = 10;
/// The same before.
pub(super) const STARTUP_EXTRA_ROUNDS: u64 = 1;
/// Growth of the delivery rate in a round trip below which the pipe may be full.
const FULL_PIPE_GROWTH: f64 = 1.25;
/// Number of such round trips after which it is.
const FULL_PIPE_ROUNDS: u32 = 3;

/// Round trips counted by packets: one ends when a packet sent after its start is acknowledged (section 5.5.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rounds {
    /// `BBR.round_count`.
    pub(super) count: u64,
    /// `BBR.next_round_delivered`.
    pub(super) end_delivered_pkts: u64,
    /// `BBR.round_start`: whether the last acknowledgement began one.
    pub(super) is_start: bool,
}

impl Rounds {
    /// `StartRound`: the current one ends when a packet sent from now on is acknowledged.
    pub(super) fn start(&mut self, delivered_pkts: u64) {
        self.end_delivered_pkts = delivered_pkts;
    }
}

/// Whether faster sending has stopped to increase the delivery rate (section 5.3.1.2).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FullPipe {
    /// `BBR.full_bw_reached`: ever.
    pub(super) was_reached: bool,
    /// `BBR.full_bw_now`: since the last `reset`.
    pub(super) is_full: bool,
    /// `BBR.full_bw_count`.
    rounds: u32,
    /// `BBR.full_bw`, packets per second.
    baseline_pkts_per_s: f64,
}

impl FullPipe {
    /// `ResetFullBW`, with a new baseline.
    pub(super) fn reset(&mut self, baseline_pkts_per_s: f64) {
        *self = FullPipe {
            was_reached: self.was_reached,
            baseline_pkts_per_s,
            ..FullPipe::default()
        };
    }

    /// Losses show that the pipe is full.
    pub(super) fn fill(&mut self) {
        (self.was_reached, self.is_full) = (true, true);
    }
}

/// Deliveries of the last round trip (section 5.5.10.3).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DeliverySignals {
    /// `BBR.bw_latest`, packets per second.
    pub(super) pkts_per_s: f64,
    /// `BBR.inflight_latest`.
    pub(super) in_flight_pkts: u32,
    /// `BBR.loss_round_delivered`: its round trip ends after this was delivered.
    pub(super) end_delivered_pkts: u64,
    /// `BBR.loss_round_start`: the last acknowledgement ended it.
    pub(super) is_round_start: bool,
    /// `BBR.is_loss_in_round`.
    pub(super) has_loss: bool,
    /// Sequence ranges lost in it, and the end of the last one.
    pub(super) lost_ranges: u32,
    pub(super) last_lost_end: u64,
}

impl DeliverySignals {
    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        self.has_loss = false;
        self.pkts_per_s = 0.0;
        self.in_flight_pkts = 0;
    }
}

impl Bbr3 {
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        let signals = &mut self.signals;
        signals.is_round_start = false;
        signals.pkts_per_s = signals.pkts_per_s.max(sample.delivery_pkts_per_s);
        signals.in_flight_pkts = signals.in_flight_pkts.max(sample.delivered_pkts);
        let has_ended = |prior_pkts| prior_pkts >= signals.end_delivered_pkts;
        if sample.prior_delivered_pkts.is_some_and(has_ended) {
            signals.end_delivered_pkts = self.delivered_pkts;
            signals.is_round_start = true;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &Sample) {
        if self.signals.is_round_start {
            self.signals.pkts_per_s = sample.delivery_pkts_per_s;
            self.signals.in_flight_pkts = sample.delivered_pkts;
        }
    }

    pub(super) fn update_congestion_signals(&mut self, window: &Window, sample: &Sample) {
        self.update_max_bandwidth(sample);
        if self.signals.is_round_start {
            if self.signals.has_loss && !self.state.is_accelerating() {
                self.lower_short_term(window);
            }
            self.signals.has_loss = false;
        }
    }

    fn update_round(&mut self, sample: &Sample) {
        let end_pkts = self.rounds.end_delivered_pkts;
        self.rounds.is_start = sample
            .prior_delivered_pkts
            .is_some_and(|prior_pkts| prior_pkts >= end_pkts);
        if self.rounds.is_start {
            self.rounds.start(self.delivered_pkts);
            self.rounds.count += 1;
            self.probe.count_round();
        }
    }

    /// Section 5.5.5. What the application limited counts only if it is no slower than the maximum.
    fn update_max_bandwidth(&mut self, sample: &Sample) {
        self.update_round(sample);
        let rate = sample.delivery_pkts_per_s;
        if rate > 0.0 && (rate >= self.max_bandwidth.get() || !sample.flight.is_app_limited) {
            self.max_bandwidth.update(rate);
        }
    }

    /// `InitLowerBounds` and `LossLowerBounds`.
    fn lower_short_term(&mut self, window: &Window) {
        let limit = &mut self.short_term;
        if limit.pkts_per_s == f64::INFINITY {
            limit.pkts_per_s = self.max_bandwidth.get();
        }
        if limit.in_flight_pkts == UNLIMITED_PKTS {
            limit.in_flight_pkts = window.cwnd_pkts;
        }
        limit.pkts_per_s = self.signals.pkts_per_s.max(BETA * limit.pkts_per_s);
        let reduced_pkts = (BETA * f64::from(limit.in_flight_pkts)) as u32;
        limit.in_flight_pkts = self.signals.in_flight_pkts.max(reduced_pkts);
    }

    pub(super) fn check_full_pipe(&mut self, sample: &Sample) {
        if self.pipe.is_full || !self.rounds.is_start || sample.flight.is_app_limited {
            return;
        }
        let rate = sample.delivery_pkts_per_s;
        if rate >= self.pipe.baseline_pkts_per_s * FULL_PIPE_GROWTH {
            self.pipe.reset(rate);
            return;
        }
        self.pipe.rounds += 1;
        if self.pipe.rounds >= FULL_PIPE_ROUNDS {
            self.pipe.fill();
        }
    }

    /// Section 5.5.9.
    pub(super) fn update_ack_aggregation(&mut self, window: &Window, sample: &Sample) {
        let interval = sample.now.saturating_sub(self.extra_interval_start);
        let mut expected_pkts = self.pkts_per_s * interval.as_seconds();
        if self.extra_interval_pkts as f64 <= expected_pkts {
            self.extra_interval_pkts = 0;
            self.extra_interval_start = sample.now;
            expected_pkts = 0.0;
        }
        self.extra_interval_pkts += u64::from(sample.acked_pkts);
        let extra_pkts = (self.extra_interval_pkts as f64 - expected_pkts).max(0.0) as u64;
        self.extra_acked_pkts
            .set_window(match self.pipe.was_reached {
                true => EXTRA_ROUNDS,
                false => STARTUP_EXTRA_ROUNDS,
            });
        let extra_pkts = extra_pkts.min(u64::from(window.cwnd_pkts));
        self.extra_acked_pkts.update(self.rounds.count, extra_pkts);
    }
}
