//! The window shared by a controller and its sender.

/// What `ssthresh_pkts` is before the first loss (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The largest pacing rate. Larger ones come from measurements over too short an interval, or over none.
pub const LARGEST_PACING_RATE_BYTES_PER_S: u64 = u64::MAX - 1;

/// The window shared by a controller and its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold; `INFINITE_SSTHRESH` before the first loss.
    pub ssthresh_pkts: u32,
    /// Upper bound of the congestion window.
    pub cwnd_clamp_pkts: u32,
    /// Packets acknowledged since the window last grew by one (`snd_cwnd_cnt`). The sender resets it when a
    /// reduction begins.
    pub acked_since_growth_pkts: u32,
    /// The congestion window before the last reduction (`prior_cwnd`), for an undo.
    pub prior_cwnd_pkts: u32,
    /// Pacing rate; 0 without pacing.
    pub pacing_rate_bytes_per_s: u64,
    /// Payload of a full segment.
    pub mss_bytes: u32,
}

impl Window {
    /// The window before anything is sent.
    pub fn new(initial_window_pkts: u32, mss_bytes: u32) -> Window {
        Window {
            cwnd_pkts: initial_window_pkts,
            ssthresh_pkts: INFINITE_SSTHRESH,
            cwnd_clamp_pkts: u32::MAX,
            acked_since_growth_pkts: 0,
            prior_cwnd_pkts: 0,
            pacing_rate_bytes_per_s: 0,
            mss_bytes,
        }
    }

    /// Whether the window is below its threshold.
    #[inline]
    pub fn is_in_slow_start(&self) -> bool {
        self.cwnd_pkts < self.ssthresh_pkts
    }

    /// Slow start: one packet more for each acknowledged, up to the threshold (RFC 5681 section 3.1; counted
    /// in packets as RFC 3465 counts bytes, without its limit L). Returns the packets left over for
    /// congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked_pkts: u32) -> u32 {
        let grown = self.cwnd_pkts.saturating_add(acked_pkts);
        let reached = grown.min(self.ssthresh_pkts);
        let left_over = grown - reached;
        self.set_cwnd(reached);
        left_over
    }

    /// Congestion avoidance: one packet more for every `per_pkts` acknowledged
    /// (`tcp_cong_avoid_ai`).
    #[inline]
    pub fn grow_by_one_per(&mut self, per_pkts: u32, acked_pkts: u32) {
        let per_pkts = per_pkts.max(1);
        // Left over from a larger `per_pkts`: grow by one.
        if self.acked_since_growth_pkts >= per_pkts {
            self.acked_since_growth_pkts = 0;
            self.cwnd_pkts += 1;
        }
        self.acked_since_growth_pkts += acked_pkts;
        if self.acked_since_growth_pkts >= per_pkts {
            let growth = self.acked_since_growth_pkts / per_pkts;
            self.acked_since_growth_pkts -= growth * per_pkts;
            self.cwnd_pkts = self.cwnd_pkts.saturating_add(growth);
        }
        self.cwnd_pkts = self.cwnd_pkts.min(self.cwnd_clamp_pkts);
    }

    /// Restores the window before the last reduction, or keeps a larger one (`tcp_reno_undo_cwnd`).
    pub fn restore(&mut self) {
        self.set_cwnd(self.cwnd_pkts.max(self.prior_cwnd_pkts));
    }

    /// The nearest rate of whole bytes per second up to the largest one; 0 if it is no number.
    pub fn bounded_rate_bytes_per_s(bytes_per_s: f64) -> u64 {
        (bytes_per_s as u64).min(LARGEST_PACING_RATE_BYTES_PER_S)
    }

    /// Sets the congestion window, between 1 packet and the clamp.
    #[inline]
    pub fn set_cwnd(&mut self, cwnd_pkts: u32) {
        self.cwnd_pkts = cwnd_pkts.min(self.cwnd_clamp_pkts).max(1);
    }
}

/// Fractional growth: the part that is not a whole packet yet.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Growth {
    part_pkts: f64,
}

impl Growth {
    /// Adds `pkts` packets to the window; a negative number shrinks it.
    pub(super) fn grow(&mut self, window: &mut Window, pkts: f64) {
        self.part_pkts += pkts;
        // n times 1/n may be a little less than 1.
        let whole_pkts = (self.part_pkts + 1e-9).floor();
        self.part_pkts -= whole_pkts;
        let cwnd_pkts = f64::from(window.cwnd_pkts) + whole_pkts;
        window.set_cwnd(cwnd_pkts as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rate_is_infinite() {
        let bounded = Window::bounded_rate_bytes_per_s;
        assert_eq!(bounded(1.25e6), 1_250_000);
        assert_eq!(bounded(f64::INFINITY), LARGEST_PACING_RATE_BYTES_PER_S);
        assert_eq!(bounded(1e30), LARGEST_PACING_RATE_BYTES_PER_S);
        assert_eq!(bounded(f64::NAN), 0);
    }

    #[test]
    fn parts_of_a_packet_add_up_both_ways() {
        let mut window = Window::new(10, 1448);
        let mut growth = Growth::default();
        for _ in 0..8 {
            growth.grow(&mut window, 0.375);
        }
        assert_eq!(window.cwnd_pkts, 13);
        for _ in 0..16 {
            growth.grow(&mut window, -0.25);
        }
        assert_eq!(window.cwnd_pkts, 9);
        growth.grow(&mut window, -100.0);
        assert_eq!(window.cwnd_pkts, 1);
        for parts in 2..200 {
            let mut window = Window::new(10, 1448);
            for _ in 0..parts {
                growth.grow(&mut window, 1.0 / f64::from(parts));
            }
            assert_eq!(window.cwnd_pkts, 11, "{parts}");
        }
    }
}
