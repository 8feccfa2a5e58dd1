//! BBR's window and pacing rate, from its model of the path
//! (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2).

use super::bandwidth::delivered_pkts;
use super::{
    Ack, Bbr, CaState, HIGH_GAIN, INITIAL_WINDOW_PKTS, LEAST_CWND_PKTS, Mode, NOMINAL_RTT_US, Time,
    UNIT_GAIN, Window, bandwidth, bdp_pkts, pacing_rate_bytes_per_s, us,
};

/// Below this rate a burst is a single packet, bytes per second (1.2 Mbit/s).
const LEAST_BURST_RATE: u64 = 1_200_000 / 8;
/// A burst takes about a millisecond: 1/1024 s at the pacing rate (`sk_pacing_shift`).
const BURST_SHIFT: u32 = 10;
/// The most a burst may hold: 64 KiB less room for headers (`MAX_TCP_HEADER`, 320 with tunnels).
const MOST_BURST_BYTES: u64 = 65_535 - 320;
/// And in packets.
const MOST_BURST_PKTS: u64 = 127;
/// Bursts that the two hosts may hold between them.
const BURSTS_IN_HOSTS: u32 = 3;

/// Packets of a burst at least (`bbr_min_tso_segs`).
pub(super) fn least_burst_pkts(window: &Window) -> u32 {
    if window.pacing_rate_bytes_per_s < LEAST_BURST_RATE {
        1
    } else {
        2
    }
}

/// Packets of a burst at the window's pacing rate. The kernel's does not ask what the device
/// allows: with `gso_max_segs 1` packets leave one by one and the window has room for bursts all
/// the same.
fn burst_pkts(window: &Window) -> u32 {
    let rate = window.pacing_rate_bytes_per_s;
    let bytes = (rate >> BURST_SHIFT).min(MOST_BURST_BYTES);
    let pkts = bytes / u64::from(window.mss_bytes.max(1));
    pkts.clamp(u64::from(least_burst_pkts(window)), MOST_BURST_PKTS) as u32
}

impl Bbr {
    /// The least product of rate and delay that fills the pipe, times a gain, packets.
    pub(super) fn bdp(&self, bandwidth: u64, gain: u32) -> u32 {
        match self.min_rtt_us.value {
            Some(min_rtt_us) => bdp_pkts(bandwidth, min_rtt_us, gain),
            None => INITIAL_WINDOW_PKTS,
        }
    }

    /// Room for what hosts hold back: bursts at both ends, an even number of packets for
    /// delayed acknowledgements, and two more so that probing shows in small windows.
    fn with_room_for_bursts(&self, window: &Window, pkts: u32) -> u32 {
        let pkts = pkts.saturating_add(BURSTS_IN_HOSTS * burst_pkts(window));
        let even = pkts.saturating_add(1) & !1;
        let is_probing = self.mode == Mode::ProbeBw && self.phase == 0;
        even.saturating_add(if is_probing { 2 } else { 0 })
    }

    /// Packets that should be in flight at a bandwidth and a gain.
    pub(super) fn in_flight_target(&self, window: &Window, bandwidth: u64, gain: u32) -> u32 {
        self.with_room_for_bursts(window, self.bdp(bandwidth, gain))
    }

    /// Packets in the network when pacing lets the next one leave: those in flight now, less
    /// what will have been delivered by then.
    pub(super) fn in_network_pkts(&self, window: &Window, ack: &Ack, in_flight_pkts: u32) -> u32 {
        let wait = ack.earliest_departure.saturating_sub(ack.now);
        let delivered_pkts = delivered_pkts(self.bandwidth(), us(wait));
        let is_probing = self.pacing_gain > UNIT_GAIN;
        let leaving_pkts = if is_probing { burst_pkts(window) } else { 0 };
        in_flight_pkts
            .saturating_add(leaving_pkts)
            .saturating_sub(delivered_pkts)
    }

    /// Before anything is known of the path: the window in a round trip, times the gain of
    /// startup.
    pub(super) fn init_pacing_rate(&mut self, window: &mut Window, srtt: Option<Time>) {
        self.has_seen_rtt |= srtt.is_some();
        let rtt_us = srtt.map_or(NOMINAL_RTT_US, |srtt| us(srtt).max(1));
        let bandwidth = bandwidth(u64::from(window.cwnd_pkts), rtt_us);
        window.pacing_rate_bytes_per_s =
            pacing_rate_bytes_per_s(bandwidth, HIGH_GAIN, window.mss_bytes);
    }

    /// Draft section 4.2.1: in startup the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, window: &mut Window, gain: u32, srtt: Option<Time>) {
        let rate = pacing_rate_bytes_per_s(self.bandwidth(), gain, window.mss_bytes);
        if !self.has_seen_rtt && srtt.is_some() {
            self.init_pacing_rate(window, srtt);
        }
        if self.pipe.is_full() || rate > window.pacing_rate_bytes_per_s {
            window.pacing_rate_bytes_per_s = rate;
        }
    }

    /// Remembers a window that was not cut by recovery or for an empty pipe.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let is_cut = self.prior_state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd_pkts = if is_cut {
            self.prior_cwnd_pkts.max(window.cwnd_pkts)
        } else {
            window.cwnd_pkts
        };
    }

    /// Draft section 4.2.3: towards the target, by what was delivered.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, ack: &Ack) {
        let acked_pkts = ack.rate.acked_sacked_pkts;
        let mut cwnd_pkts = window.cwnd_pkts;
        if acked_pkts > 0 {
            cwnd_pkts = self.after_losses(cwnd_pkts, ack);
            if self.is_conserving {
                let conserved = ack.in_flight_pkts.saturating_add(acked_pkts);
                cwnd_pkts = cwnd_pkts.max(conserved);
            } else {
                cwnd_pkts = self.towards_target(window, cwnd_pkts, acked_pkts, ack);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd_pkts = cwnd_pkts.min(LEAST_CWND_PKTS);
        }
        window.set_cwnd(cwnd_pkts);
    }

    fn towards_target(&self, window: &Window, cwnd_pkts: u32, acked_pkts: u32, ack: &Ack) -> u32 {
        let bandwidth = self.bandwidth();
        let mut target_pkts = self.bdp(bandwidth, self.cwnd_gain);
        if self.pipe.is_full() {
            let extra_pkts = self.aggregation.extra_pkts(bandwidth);
            target_pkts = target_pkts.saturating_add(extra_pkts);
        }
        target_pkts = self.with_room_for_bursts(window, target_pkts);
        let grown_pkts = cwnd_pkts.saturating_add(acked_pkts);
        let is_early = ack.delivered_pkts < u64::from(INITIAL_WINDOW_PKTS);
        let cwnd_pkts = if self.pipe.is_full() {
            grown_pkts.min(target_pkts)
        } else if cwnd_pkts < target_pkts || is_early {
            grown_pkts
        } else {
            cwnd_pkts
        };
        cwnd_pkts.max(LEAST_CWND_PKTS)
    }

    /// Draft section 4.2.3.4: what was lost leaves the window; the first round trip of recovery
    /// conserves packets; its end brings the window back.
    fn after_losses(&mut self, cwnd_pkts: u32, ack: &Ack) -> u32 {
        let mut cwnd_pkts = cwnd_pkts.saturating_sub(ack.rate.losses_pkts).max(1);
        let was = std::mem::replace(&mut self.prior_state, ack.state);
        if ack.state == CaState::Recovery && was != CaState::Recovery {
            self.is_conserving = true;
            self.rounds.end_delivered_pkts = ack.delivered_pkts;
            cwnd_pkts = ack
                .in_flight_pkts
                .saturating_add(ack.rate.acked_sacked_pkts);
        } else if was >= CaState::Recovery && ack.state < CaState::Recovery {
            cwnd_pkts = cwnd_pkts.max(self.prior_cwnd_pkts);
            self.is_conserving = false;
        }
        cwnd_pkts
    }
}
