//! BBR's estimate of how much more than the bandwidth explains is acknowledged at once, so that
//! the window bridges the silences between (draft-cardwell-iccrg-bbr-congestion-control-00
//! lacks it; Linux `net/ipv4/tcp_bbr.c` since 5.1).

use super::bandwidth::delivered_pkts;

/// Each of two alternating maxima covers this number of round trips.
const WINDOW_ROUNDS: u32 = 5;
/// An epoch of this number of packets is begun anew.
const LONGEST_EPOCH_PKTS: u64 = 1 << 20;
/// The excess is at most what the bandwidth delivers in 100 ms.
const LONGEST_SILENCE_US: u64 = 100_000;

/// State of the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AckAggregation {
    epoch_start_us: u64,
    epoch_acked_pkts: u64,
    /// Greatest excess in this window of rounds and in the one before.
    excess_pkts: [u32; 2],
    current: usize,
    rounds: u32,
}

impl AckAggregation {
    /// An epoch begins: nothing has been acknowledged in it.
    pub fn restart_epoch(&mut self, now_us: u64) {
        self.epoch_start_us = now_us;
        self.epoch_acked_pkts = 0;
    }

    /// An acknowledgement at `now_us` of `acked_pkts` under an estimate of the bandwidth.
    pub fn update(
        &mut self,
        now_us: u64,
        acked_pkts: u32,
        bandwidth: u64,
        is_round_start: bool,
        cwnd_pkts: u32,
    ) {
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.excess_pkts[self.current] = 0;
            }
        }
        let epoch_us = now_us.saturating_sub(self.epoch_start_us);
        let mut expected_pkts = u64::from(delivered_pkts(bandwidth, epoch_us));
        let acked_pkts = u64::from(acked_pkts);
        let is_slower = self.epoch_acked_pkts <= expected_pkts;
        if is_slower || self.epoch_acked_pkts + acked_pkts >= LONGEST_EPOCH_PKTS {
            self.restart_epoch(now_us);
            expected_pkts = 0;
        }
        self.epoch_acked_pkts = (self.epoch_acked_pkts + acked_pkts).min(LONGEST_EPOCH_PKTS - 1);
        let excess_pkts = self.epoch_acked_pkts.saturating_sub(expected_pkts);
        let excess_pkts = excess_pkts.min(u64::from(cwnd_pkts)) as u32;
        let greatest = &mut self.excess_pkts[self.current];
        *greatest = excess_pkts.max(*greatest);
    }

    /// What the window needs on top of the bandwidth-delay product, packets.
    pub fn extra_pkts(&self, bandwidth: u64) -> u32 {
        let greatest = self.excess_pkts[0].max(self.excess_pkts[1]);
        greatest.min(delivered_pkts(bandwidth, LONGEST_SILENCE_US))
    }
}

#[cfg(test)]
mod tests {
    use super::super::bandwidth::bandwidth;
    use super::*;

    #[test]
    fn a_burst_of_acknowledgements_is_remembered_for_five_to_ten_rounds() {
        let bw = bandwidth(1, 1000); // a packet a millisecond
        let mut aggregation = AckAggregation::default();
        let mut now_us = 0;
        let mut silence = |aggregation: &mut AckAggregation, acked: u32| {
            now_us += 20_000;
            aggregation.update(now_us, acked, bw, true, 100);
        };
        // Twenty at once after 20 ms: the epoch begins with them.
        silence(&mut aggregation, 20);
        assert_eq!(aggregation.extra_pkts(bw), 20);
        for _ in 0..5 {
            silence(&mut aggregation, 1);
        }
        assert_eq!(aggregation.extra_pkts(bw), 20);
        for _ in 0..5 {
            silence(&mut aggregation, 1);
        }
        assert_eq!(aggregation.extra_pkts(bw), 1);
    }

    #[test]
    fn the_excess_is_bounded_by_100_ms_and_by_the_window() {
        let bw = bandwidth(1, 10_000);
        let mut aggregation = AckAggregation::default();
        aggregation.update(1, 500, bw, false, 60);
        assert_eq!(aggregation.excess_pkts[0], 60);
        assert_eq!(aggregation.extra_pkts(bw), 9); // 9.99 in whole packets
    }

    #[test]
    fn acknowledgements_at_the_estimated_rate_have_no_excess_beyond_their_own() {
        let bw = bandwidth(1, 1000);
        let mut aggregation = AckAggregation::default();
        for n in 0..10_000 {
            aggregation.update(1000 * n, 1, bw, n % 40 == 0, 100);
        }
        assert!(aggregation.extra_pkts(bw) <= 2);
    }
}
