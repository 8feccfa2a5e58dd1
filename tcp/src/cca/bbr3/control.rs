//! Pacing rate, send quantum and window (draft-ietf-ccwg-bbr section 5.6).

use super::{Bbr3, CaState, LEAST_CWND_PKTS, Sample, State, Time, UNLIMITED_PKTS, Window};

/// `BBR.PacingMarginPercent`: pacing stays 1 % below the bandwidth.
const PACING_MARGIN: f64 = 0.01;
/// Round-trip time assumed before the first is measured, seconds.
const NOMINAL_RTT_S: f64 = 0.001;
/// A send quantum is what the pacing rate sends in this time, seconds.
const QUANTUM_S: f64 = 0.001;
/// Maximum of a send quantum.
const MOST_QUANTUM_BYTES: f64 = 65_536.0;
/// Minimum of a send quantum.
const LEAST_QUANTUM_PKTS: f64 = 2.0;
/// Quanta in flight that full throughput needs: in the sender's queue, in its segmentation and at the receiver
/// (section 5.5.8.1).
const OFFLOAD_QUANTA: f64 = 3.0;
/// Packets more in ProbeBW_UP, so that a small window grows.
const UP_EXTRA_PKTS: u32 = 2;

/// Whole packets, rounded up; more than `UNLIMITED_PKTS` do not occur.
fn whole_pkts(pkts: f64) -> u32 {
    pkts.ceil() as u32
}

impl Bbr3 {
    /// `InitPacingRate`.
    pub(super) fn init_pacing_rate(&mut self, window: &mut Window, srtt: Option<Time>) {
        self.has_seen_rtt = srtt.is_some();
        let measured_s = srtt.map(Time::as_seconds).filter(|srtt_s| *srtt_s > 0.0);
        let pkts_per_s = f64::from(self.initial_cwnd_pkts) / measured_s.unwrap_or(NOMINAL_RTT_S);
        let gained = State::Startup.pacing_gain() * pkts_per_s;
        window.pacing_rate_bytes_per_s =
            Window::bounded_rate_bytes_per_s(gained * f64::from(window.mss_bytes));
    }

    /// `SetPacingRateWithGain`: until the pipe has been full, the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, window: &mut Window, gain: f64) {
        let pkts_per_s = gain * self.pkts_per_s * (1.0 - PACING_MARGIN);
        let rate = pkts_per_s * f64::from(window.mss_bytes);
        let bytes_per_s = Window::bounded_rate_bytes_per_s(rate);
        if self.pipe.was_reached || bytes_per_s > window.pacing_rate_bytes_per_s {
            window.pacing_rate_bytes_per_s = bytes_per_s;
        }
    }

    /// `BBR.offload_budget`, from `C.send_quantum`.
    fn offload_budget_pkts(&self, window: &Window) -> u32 {
        let rate = window.pacing_rate_bytes_per_s as f64;
        let quantum_bytes = (rate * QUANTUM_S).min(MOST_QUANTUM_BYTES);
        let quantum_pkts = quantum_bytes / f64::from(window.mss_bytes.max(1));
        whole_pkts(OFFLOAD_QUANTA * quantum_pkts.max(LEAST_QUANTUM_PKTS))
    }

    /// `BDPMultiple`, rounded up.
    pub(super) fn bdp_pkts(&self, pkts_per_s: f64, gain: f64) -> u32 {
        match self.min_rtt.get() {
            Some(min_rtt) => whole_pkts(gain * pkts_per_s * min_rtt.as_seconds()),
            None => self.initial_cwnd_pkts,
        }
    }

    /// `QuantizationBudget`.
    fn with_budget_pkts(&self, window: &Window, pkts: u32) -> u32 {
        let budget_pkts = self.offload_budget_pkts(window).max(LEAST_CWND_PKTS);
        let up_pkts = match self.state {
            State::ProbeBwUp => UP_EXTRA_PKTS,
            _ => 0,
        };
        pkts.max(budget_pkts).saturating_add(up_pkts)
    }

    /// `Inflight`, at a bandwidth.
    pub(super) fn inflight_pkts(&self, window: &Window, pkts_per_s: f64, gain: f64) -> u32 {
        self.with_budget_pkts(window, self.bdp_pkts(pkts_per_s, gain))
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight_pkts(&self, window: &Window) -> u32 {
        self.bdp_pkts(self.pkts_per_s, 1.0).min(window.cwnd_pkts)
    }

    /// `BBR.max_inflight`.
    fn max_inflight_pkts(&self, window: &Window) -> u32 {
        let extra_pkts = self.extra_acked_pkts.get().min(u64::from(UNLIMITED_PKTS)) as u32;
        let bdp_pkts = self.bdp_pkts(self.pkts_per_s, self.state.cwnd_gain());
        self.with_budget_pkts(window, bdp_pkts.saturating_add(extra_pkts))
    }

    /// `SaveCwnd`: remembers a window that neither recovery nor ProbeRTT has reduced.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let is_reduced = self.recovery >= CaState::Recovery || self.state == State::ProbeRtt;
        self.prior_cwnd_pkts = if is_reduced {
            self.prior_cwnd_pkts.max(window.cwnd_pkts)
        } else {
            window.cwnd_pkts
        };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&self, window: &mut Window) {
        window.set_cwnd(window.cwnd_pkts.max(self.prior_cwnd_pkts));
    }

    /// Draft section 5.6.4.6.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, sample: &Sample) {
        let most_pkts = self.max_inflight_pkts(window);
        let grown_pkts = window.cwnd_pkts.saturating_add(sample.acked_pkts);
        let is_early = self.delivered_pkts < u64::from(self.initial_cwnd_pkts);
        let cwnd_pkts = if self.pipe.was_reached {
            grown_pkts.min(most_pkts)
        } else if window.cwnd_pkts < most_pkts || is_early {
            grown_pkts
        } else {
            window.cwnd_pkts
        };
        let mut cwnd_pkts = cwnd_pkts.max(LEAST_CWND_PKTS);
        if self.state == State::ProbeRtt {
            cwnd_pkts = cwnd_pkts.min(self.probe_rtt_cwnd_pkts());
        }
        window.set_cwnd(cwnd_pkts.min(self.cap_pkts()));
    }

    /// `BoundCwndForModel`.
    fn cap_pkts(&self) -> u32 {
        let long_term_pkts = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.long_term_pkts,
            State::ProbeBwCruise | State::ProbeRtt => self.limit_with_headroom_pkts(),
            State::Startup | State::Drain => UNLIMITED_PKTS,
        };
        long_term_pkts
            .min(self.short_term.in_flight_pkts)
            .max(LEAST_CWND_PKTS)
    }
}
