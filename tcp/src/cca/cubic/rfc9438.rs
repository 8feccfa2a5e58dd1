//! CUBIC as specified in RFC 9438: a fractional window and exact time.

use super::{LEAST_SSTHRESH_PKTS, may_grow};
use crate::cca::hystart_plus_plus::{HyStartPlusPlus, Verdict};
use crate::cca::{Ack, Options, Window};
use dumbbell_core::time::Time;

/// C, packets per cubic second (section 5.1).
pub const C: f64 = 0.4;
/// beta_cubic: ratio of the window after a reduction to that before (section 4.6).
pub const BETA: f64 = 0.7;
/// alpha_cubic: growth of W_est per round trip that gives Reno's average window with a
/// reduction to beta_cubic (section 4.3).
pub const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Largest growth of the window per round trip (section 4.2).
const MOST_GROWTH_PER_RTT: f64 = 1.5;

/// A congestion avoidance stage (section 4.1.2).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Epoch {
    start: Time,
    /// K, seconds.
    k_s: f64,
    /// W_max of this epoch: the height of the plateau, packets.
    plateau_pkts: f64,
    /// W_est, packets.
    reno_pkts: f64,
}

/// State changed by a reduction, kept for undoing it (section 4.9).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Model {
    epoch: Option<Epoch>,
    /// W_max, packets; 0 before the first reduction and after a timeout.
    w_max_pkts: f64,
    /// cwnd_prior: the window before the last reduction, packets.
    prior_pkts: f64,
    /// Fractional part of cwnd, packets.
    fraction: f64,
}

/// State of CUBIC.
#[derive(Debug, Clone, PartialEq)]
pub struct Cubic {
    model: Model,
    before_reduction: Model,
    /// None if slow start ends only by losses.
    hystart: Option<HyStartPlusPlus>,
}

impl Cubic {
    /// The state at the start of a connection.
    pub fn new(options: &Options) -> Cubic {
        let model = Model {
            epoch: None,
            w_max_pkts: 0.0,
            prior_pkts: 0.0,
            fraction: 0.0,
        };
        Cubic {
            model,
            before_reduction: model,
            hystart: options
                .hystart
                .then(|| HyStartPlusPlus::new(options.is_paced)),
        }
    }

    /// Processes an acknowledgement that may increase the window.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !may_grow(ack) {
            return;
        }
        let mut acked_pkts = ack.newly_delivered_pkts;
        if window.is_in_slow_start() {
            acked_pkts = self.slow_start(window, ack);
        }
        if acked_pkts > 0 {
            self.avoid_congestion(window, ack, acked_pkts);
        }
    }

    /// Section 4.10. Returns the packets left over for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u32 {
        let acked_pkts = ack.newly_delivered_pkts;
        let Some(hystart) = &mut self.hystart else {
            return window.slow_start(acked_pkts);
        };
        match hystart.on_ack(acked_pkts, ack.rtt, ack.una_pkts, ack.next_pkts) {
            Verdict::Grow(growth_pkts) => {
                let growth_pkts = growth_pkts + self.model.fraction;
                self.model.fraction = growth_pkts - libm::floor(growth_pkts);
                window.slow_start(growth_pkts as u32)
            }
            Verdict::Exit => {
                window.ssthresh_pkts = window.cwnd_pkts;
                acked_pkts
            }
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, ack: &Ack, acked_pkts: u32) {
        let acked = f64::from(acked_pkts);
        let cwnd = f64::from(window.cwnd_pkts) + self.model.fraction;
        let epoch = self
            .model
            .epoch
            .get_or_insert_with(|| new_epoch(cwnd, self.model.w_max_pkts, ack.now));
        // Section 4.3: Reno's own increase once it has made up for the smaller decrease.
        let alpha = if epoch.reno_pkts >= self.model.prior_pkts {
            1.0
        } else {
            ALPHA
        };
        epoch.reno_pkts += alpha * acked / cwnd;
        let t_s = ack.now.saturating_sub(epoch.start).as_seconds();
        let grown = if epoch.cubic(t_s) < epoch.reno_pkts {
            epoch.reno_pkts.max(cwnd)
        } else {
            // Sections 4.2, 4.4 and 4.5: toward the value of the curve one round trip from now.
            let rtt_s = ack.srtt.unwrap_or(Time::ZERO).as_seconds();
            let most = MOST_GROWTH_PER_RTT * cwnd;
            let target = epoch.cubic(t_s + rtt_s).max(cwnd).min(most);
            // Per acknowledged packet: with an increment per acknowledgement, delayed acknowledgements would
            // halve the growth.
            cwnd + (target - cwnd) / cwnd * acked
        };
        let whole_pkts = (grown as u32).min(window.cwnd_clamp_pkts);
        let whole = f64::from(whole_pkts);
        window.set_cwnd(whole_pkts);
        self.model.fraction = if window.cwnd_pkts < whole_pkts {
            0.0
        } else {
            (grown - whole).clamp(0.0, 1.0)
        };
    }

    /// Sections 4.6 and 4.7. Uses cwnd instead of FlightSize, which section 4.6 allows if the window does not
    /// grow while the sender is not limited by it.
    pub fn reduce(&mut self, window: &mut Window) {
        self.before_reduction = self.model;
        let cwnd = f64::from(window.cwnd_pkts) + self.model.fraction;
        // Fast convergence.
        self.model.w_max_pkts = if cwnd < self.model.w_max_pkts {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.model.prior_pkts = cwnd;
        self.model.epoch = None;
        self.model.fraction = 0.0;
        window.ssthresh_pkts = ((cwnd * BETA) as u32).max(LEAST_SSTHRESH_PKTS);
        self.end_first_slow_start();
    }

    /// Section 4.8: the next stage starts on its plateau, K = 0.
    pub fn on_rto(&mut self, window: &mut Window) {
        self.reduce(window);
        self.model.w_max_pkts = 0.0;
    }

    /// Section 4.9: undoes a spurious reduction.
    pub fn restore(&mut self) {
        self.model = self.before_reduction;
    }

    /// Section 5.8: excludes idle time from the curve.
    pub fn skip_idle_time(&mut self, last_sent: Time, now: Time) {
        if let Some(epoch) = &mut self.model.epoch {
            let idle = now.saturating_sub(last_sent);
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }

    fn end_first_slow_start(&mut self) {
        if let Some(hystart) = &mut self.hystart {
            hystart.end();
        }
    }
}

impl Epoch {
    /// W_cubic(t) of section 4.2.
    fn cubic(&self, t_s: f64) -> f64 {
        let offset = t_s - self.k_s;
        C * offset * offset * offset + self.plateau_pkts
    }
}

/// Sections 4.2 and 4.8: from `cwnd` to the plateau at `w_max`, or starting on the plateau if `w_max` is not
/// above.
fn new_epoch(cwnd: f64, w_max: f64, now: Time) -> Epoch {
    let missing = (w_max - cwnd).max(0.0);
    Epoch {
        start: now,
        k_s: libm::cbrt(missing / C),
        plateau_pkts: w_max.max(cwnd),
        reno_pkts: cwnd,
    }
}

#[cfg(test)]
#[path = "rfc9438_tests.rs"]
mod tests;
