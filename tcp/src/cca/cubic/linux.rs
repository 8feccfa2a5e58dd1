//! CUBIC in Linux 6.1's integers (`net/ipv4/tcp_cubic.c`, version 2.3, with its default
//! parameters). Times are ticks of the host's timer; on the curve, 1/1024 s.

use super::{LEAST_SSTHRESH_PKTS, may_grow};
use crate::cca::hystart::{HyStart, Measurement};
use crate::cca::{Ack, Options, RttSample, Window};
use dumbbell_core::prefetch::prefetch;
use dumbbell_core::time::{PS_PER_S, Time};
use std::num::{NonZeroU32, NonZeroU64};

/// The window after a reduction is 717/1024 = 0.7002 of the window before (RFC 9438's 0.7).
const BETA: u64 = 717;
const BETA_UNIT: u64 = 1024;
/// C in 1/1024 packets per cubic second: 41 x 10 / 1024 = 0.4004 (RFC 9438's 0.4).
const C: u64 = 410;
/// log2 of the curve's time units per second.
const CURVE_SHIFT: u32 = 10;
/// log2 of the divisor that turns `C t^3` into packets.
const C_SHIFT: u32 = 10 + 3 * CURVE_SHIFT;
/// In the Reno-friendly region the window grows by one packet for `RENO_EIGHTHS`/8 windows of
/// acknowledgements: 8 (1 + beta) / (3 (1 - beta)) in integers.
const RENO_EIGHTHS: u64 = 8 * (BETA_UNIT + BETA) / 3 / (BETA_UNIT - BETA);
/// Before the first loss the window grows by at least one packet for this number of acknowledged packets.
const MOST_ACKS_BEFORE_FIRST_LOSS: u32 = 20;
/// The window grows by at most one packet for this number of acknowledged packets: 1.5 times per round trip
/// (RFC 9438 section 4.2).
const LEAST_ACKS: u32 = 2;
/// At or above its goal the window grows by one packet for this number of windows.
const WINDOWS_ON_PLATEAU: u32 = 100;

/// State since the last reduction: the position on the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Epoch {
    start_tick: u64,
    /// K: time from the start to the plateau, 1/1024 s.
    to_plateau: u64,
    /// Height of the plateau, packets.
    plateau_pkts: u64,
    /// W_est: the window that Reno would have, packets.
    reno_pkts: u64,
}

/// State of CUBIC.
#[derive(Debug, Clone, PartialEq)]
pub struct Cubic {
    timer_hz: u32,
    /// Boxed separately, because it is unused after the first slow start.
    hystart: Option<Box<HyStart>>,
    is_paced: bool,
    /// None from a reduction until the next growth in congestion avoidance.
    epoch: Option<Epoch>,
    /// W_max: window at the last reduction, packets, less with fast convergence; 0 for none.
    w_max_pkts: u32,
    /// Minimum round-trip time, microseconds; None before the first.
    delay_min_us: Option<NonZeroU64>,
    /// The window grows by one packet for this number of acknowledged packets.
    acks_per_growth: u32,
    /// When `acks_per_growth` was computed, and for which window.
    updated: Option<Updated>,
    /// Acknowledged and not yet counted by W_est, packets.
    reno_acked_pkts: u64,
}

/// Read by every acknowledgement.
const _: () = assert!(size_of::<Cubic>() <= 96);

/// A tick and the window at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Updated {
    tick: u64,
    cwnd_pkts: NonZeroU32,
}

impl Cubic {
    /// The state at the start of a connection.
    pub fn new(options: &Options) -> Cubic {
        Cubic {
            timer_hz: options.timer_hz.max(1),
            hystart: options
                .hystart
                .then(|| Box::new(HyStart::new(options.is_paced))),
            is_paced: options.is_paced,
            epoch: None,
            w_max_pkts: 0,
            delay_min_us: None,
            acks_per_growth: 0,
            updated: None,
            reno_acked_pkts: 0,
        }
    }

    /// Prefetches the data that slow start reads.
    #[inline]
    pub fn prefetch_beside(&self) {
        if let Some(hystart) = &self.hystart {
            prefetch(&**hystart);
        }
    }

    /// Processes a round-trip time. HyStart also runs in recovery if the window is below the threshold, which
    /// the kernel considers slow start.
    pub fn on_rtt(&mut self, window: &mut Window, sample: &RttSample) {
        // Not within a second of the start of an epoch either: the queue may not have drained.
        let now_tick = self.tick(sample.now);
        let a_second = self.timer_hz();
        let is_fresh = |epoch: Epoch| now_tick.saturating_sub(epoch.start_tick) < a_second;
        if self.epoch.is_some_and(is_fresh) {
            return;
        }
        let rtt_us = (sample.rtt.as_ns() / 1000).max(1);
        let least_us = self.delay_min_us.map_or(u64::MAX, NonZeroU64::get);
        let delay_min_us = least_us.min(rtt_us);
        self.delay_min_us = NonZeroU64::new(delay_min_us);
        let Some(hystart) = &mut self.hystart else {
            return;
        };
        let measurement = Measurement {
            now_us: sample.now.as_ns() / 1000,
            rtt_us,
            delay_min_us,
            cwnd_pkts: window.cwnd_pkts,
            una_pkts: sample.una_pkts,
            next_pkts: sample.next_pkts,
            pacing_rate_bytes_per_s: window.pacing_rate_bytes_per_s,
        };
        if window.is_in_slow_start() && hystart.on_ack(&measurement) {
            window.ssthresh_pkts = window.cwnd_pkts;
        }
    }

    /// Processes an acknowledgement that may increase the window.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !may_grow(ack) {
            return;
        }
        let mut acked_pkts = ack.newly_delivered_pkts;
        if window.is_in_slow_start() {
            acked_pkts = window.slow_start(acked_pkts);
            if acked_pkts == 0 {
                return;
            }
        }
        self.follow_curve(window.cwnd_pkts, acked_pkts, self.tick(ack.now));
        window.grow_by_one_per(self.acks_per_growth, acked_pkts);
    }

    /// RFC 9438 sections 4.6 and 4.7: stores W_max and sets the threshold.
    pub fn reduce(&mut self, window: &mut Window) {
        self.epoch = None;
        let cwnd = u64::from(window.cwnd_pkts);
        // Fast convergence: a flow whose window shrinks releases more bandwidth.
        self.w_max_pkts = if window.cwnd_pkts < self.w_max_pkts {
            (cwnd * (BETA_UNIT + BETA) / (2 * BETA_UNIT)) as u32
        } else {
            window.cwnd_pkts
        };
        let left = (cwnd * BETA / BETA_UNIT) as u32;
        window.ssthresh_pkts = left.max(LEAST_SSTHRESH_PKTS);
    }

    /// After a timeout, also in recovery, where the window is not reduced again: discards all state.
    pub fn forget(&mut self) {
        self.epoch = None;
        self.w_max_pkts = 0;
        self.delay_min_us = None;
        self.acks_per_growth = 0;
        self.updated = None;
        self.reno_acked_pkts = 0;
        if let Some(hystart) = &mut self.hystart {
            **hystart = HyStart::new(self.is_paced);
        }
    }

    /// Stops the curve while the application sends nothing.
    pub fn skip_idle_time(&mut self, last_sent: Time, now: Time) {
        let now_tick = self.tick(now);
        let idle_ticks = now_tick.saturating_sub(self.tick(last_sent));
        if let Some(epoch) = &mut self.epoch {
            epoch.start_tick = (epoch.start_tick + idle_ticks).min(now_tick);
        }
    }

    fn timer_hz(&self) -> u64 {
        u64::from(self.timer_hz)
    }

    fn tick(&self, at: Time) -> u64 {
        // Split, so that the product fits.
        let (seconds, rest) = (at.0 / PS_PER_S, at.0 % PS_PER_S);
        seconds * self.timer_hz() + rest * self.timer_hz() / PS_PER_S
    }

    /// Computes how many acknowledgements increase the window by a packet.
    fn follow_curve(&mut self, cwnd_pkts: u32, acked_pkts: u32, now_tick: u64) {
        self.reno_acked_pkts += u64::from(acked_pkts);
        if let Some(Updated {
            tick,
            cwnd_pkts: cwnd,
        }) = self.updated
        {
            // The same window as a moment ago: nothing changes.
            if cwnd.get() == cwnd_pkts && now_tick - tick <= self.timer_hz() / 32 {
                return;
            }
            // The curve is evaluated once per tick; Reno's window with every acknowledgement.
            if tick == now_tick
                && let Some(epoch) = self.epoch
            {
                self.be_friendly(epoch, cwnd_pkts);
                return;
            }
        }
        self.updated = NonZeroU32::new(cwnd_pkts).map(|cwnd_pkts| Updated {
            tick: now_tick,
            cwnd_pkts,
        });
        let epoch = self.epoch.unwrap_or_else(|| {
            self.reno_acked_pkts = u64::from(acked_pkts);
            new_epoch(cwnd_pkts, self.w_max_pkts, now_tick)
        });
        let goal_pkts = self.goal_pkts(&epoch, now_tick);
        self.acks_per_growth = match goal_pkts.saturating_sub(u64::from(cwnd_pkts)) {
            0 => cwnd_pkts.saturating_mul(WINDOWS_ON_PLATEAU),
            missing => (u64::from(cwnd_pkts) / missing) as u32,
        };
        if self.w_max_pkts == 0 {
            self.acks_per_growth = self.acks_per_growth.min(MOST_ACKS_BEFORE_FIRST_LOSS);
        }
        self.be_friendly(epoch, cwnd_pkts);
    }

    /// Height of the curve one minimum round-trip time from now, packets.
    fn goal_pkts(&self, epoch: &Epoch, now_tick: u64) -> u64 {
        let delay_us = self.delay_min_us.map_or(0, NonZeroU64::get);
        let delay_ticks = (delay_us * self.timer_hz()).div_ceil(1_000_000);
        let ticks = now_tick.saturating_sub(epoch.start_tick) + delay_ticks;
        let since_start = (ticks << CURVE_SHIFT) / self.timer_hz();
        let height = |offset: u64| {
            // The start may be days ago: more bits than the kernel's product.
            let cube = (u128::from(C) * u128::from(offset).pow(3)) >> C_SHIFT;
            u64::try_from(cube).unwrap_or(u64::MAX)
        };
        if since_start < epoch.to_plateau {
            let below = height(epoch.to_plateau - since_start);
            epoch.plateau_pkts.saturating_sub(below)
        } else {
            let above = height(since_start - epoch.to_plateau);
            epoch.plateau_pkts.saturating_add(above)
        }
    }

    /// RFC 9438 section 4.3, the Reno-friendly region: at least as fast as Reno.
    fn be_friendly(&mut self, mut epoch: Epoch, cwnd_pkts: u32) {
        let acks_per_reno_pkt = ((u64::from(cwnd_pkts) * RENO_EIGHTHS) >> 3).max(1);
        // Leaves a remainder of at least 1, as the kernel's loop does.
        if self.reno_acked_pkts > acks_per_reno_pkt {
            let grown = (self.reno_acked_pkts - 1) / acks_per_reno_pkt;
            self.reno_acked_pkts -= grown * acks_per_reno_pkt;
            epoch.reno_pkts += grown;
        }
        self.epoch = Some(epoch);
        let cwnd = u64::from(cwnd_pkts);
        if epoch.reno_pkts > cwnd {
            let acks = (cwnd / (epoch.reno_pkts - cwnd)) as u32;
            self.acks_per_growth = self.acks_per_growth.min(acks);
        }
        self.acks_per_growth = self.acks_per_growth.max(LEAST_ACKS);
    }
}

/// The curve from `cwnd_pkts` now to the plateau at `w_max_pkts`.
fn new_epoch(cwnd_pkts: u32, w_max_pkts: u32, now_tick: u64) -> Epoch {
    let missing_pkts = u64::from(w_max_pkts.saturating_sub(cwnd_pkts));
    Epoch {
        start_tick: now_tick,
        to_plateau: cube_root((1 << C_SHIFT) / C * missing_pkts),
        plateau_pkts: u64::from(w_max_pkts.max(cwnd_pkts)),
        reno_pkts: u64::from(cwnd_pkts),
    }
}

/// Integer cube root: the largest number whose cube is not above `x`, by Newton's method from above. The
/// kernel uses six leading bits and one Newton step; its estimate is within 0.16 % of this, at most 8 ms of K
/// for losses of up to 300 packets.
fn cube_root(x: u64) -> u64 {
    if x == 0 {
        return 0;
    }
    // Start at a power of two whose cube exceeds x; each step decreases until the root is reached.
    let mut root = 1u64 << (u64::BITS - x.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * root + x / (root * root)) / 3;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
