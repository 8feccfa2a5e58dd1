//! HyStart: ends slow start before losses, as in Linux 6.1's CUBIC (Ha and Rhee, "Taming the elephants: new
//! TCP slow start", Computer Networks 55(9), 2011; Linux `net/ipv4/tcp_cubic.c`).
//!
//! | part | here |
//! | --- | --- |
//! | acknowledgement train | acknowledgements at most 2 ms apart span more than half the path's minimum round-trip time (all of it with pacing), plus an allowance for bursts |
//! | delay increase | the minimum of eight round-trip times in a round exceeds the path's minimum by an eighth of it, at least 4 and at most 16 ms |
//! | low window | no decision below 16 packets |
//! | rounds | a round ends when the data sent at its start is acknowledged |
//! | after the exit was found | inactive until a timeout |
//!
//! Its successor of RFC 9406, with a second phase, is in [`super::hystart_plus_plus`].

/// No decision below this window, packets (`hystart_low_window`).
pub const LOW_WINDOW_PKTS: u32 = 16;
/// Acknowledgements further apart do not form a train, microseconds (`hystart_ack_delta_us`).
const TRAIN_GAP_US: u64 = 2000;
/// Number of round-trip times in a round before their minimum is used.
const LEAST_SAMPLES: u32 = 8;
/// Bounds of the delay increase that ends slow start, microseconds.
const INCREASE_US: (u64, u64) = (4000, 16_000);
/// Largest burst of a device: Linux's `gso_max_size`, bytes.
const BURST_BYTES: u64 = 65_536;

/// The measurements of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// Its arrival, microseconds.
    pub now_us: u64,
    /// Its round-trip time, microseconds.
    pub rtt_us: u64,
    /// Minimum round-trip time of the path, microseconds.
    pub delay_min_us: u64,
    /// Congestion window, packets.
    pub cwnd_pkts: u32,
    /// First unacknowledged packet.
    pub una_pkts: u64,
    /// Next packet to send.
    pub next_pkts: u64,
    /// Rate at which the sender would pace, bytes per second; 0 if unknown.
    pub pacing_rate_bytes_per_s: u64,
}

/// The state of HyStart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HyStart {
    is_paced: bool,
    /// Whether the exit point has been found.
    is_found: bool,
    /// Next packet at the start of the round; None before the first acknowledgement.
    round_end_pkts: Option<u64>,
    round_start_us: u64,
    /// The last acknowledgement of the train.
    train_end_us: u64,
    /// Minimum round-trip time of this round.
    round_rtt_us: u64,
    samples: u32,
}

impl HyStart {
    /// The initial state, for a sender with or without pacing.
    pub fn new(is_paced: bool) -> HyStart {
        HyStart {
            is_paced,
            is_found: false,
            round_end_pkts: None,
            round_start_us: 0,
            train_end_us: 0,
            round_rtt_us: u64::MAX,
            samples: 0,
        }
    }

    /// Processes an acknowledgement in slow start. Returns whether slow start must end at the present window.
    pub fn on_ack(&mut self, ack: &Measurement) -> bool {
        if self.is_found {
            return false;
        }
        if self.round_end_pkts.is_none_or(|end| ack.una_pkts > end) {
            self.start_round(ack);
        }
        if ack.cwnd_pkts < LOW_WINDOW_PKTS {
            return false;
        }
        // Both are always evaluated, because each keeps its own state.
        let train = self.train_is_long(ack);
        let delay = self.delay_has_grown(ack);
        self.is_found = train || delay;
        self.is_found
    }

    fn start_round(&mut self, ack: &Measurement) {
        self.round_end_pkts = Some(ack.next_pkts);
        self.round_start_us = ack.now_us;
        self.train_end_us = ack.now_us;
        self.round_rtt_us = u64::MAX;
        self.samples = 0;
    }

    fn train_is_long(&mut self, ack: &Measurement) -> bool {
        if ack.now_us - self.train_end_us > TRAIN_GAP_US {
            return false;
        }
        self.train_end_us = ack.now_us;
        let longest_us = ack.delay_min_us + burst_allowance_us(ack.pacing_rate_bytes_per_s);
        // Pacing by itself spreads the packets of a round over half a round trip.
        let threshold_us = if self.is_paced {
            longest_us
        } else {
            longest_us / 2
        };
        ack.now_us - self.round_start_us > threshold_us
    }

    fn delay_has_grown(&mut self, ack: &Measurement) -> bool {
        self.round_rtt_us = self.round_rtt_us.min(ack.rtt_us);
        if self.samples < LEAST_SAMPLES {
            self.samples += 1;
            return false;
        }
        let increase_us = (ack.delay_min_us / 8).clamp(INCREASE_US.0, INCREASE_US.1);
        self.round_rtt_us > ack.delay_min_us + increase_us
    }
}

/// Allowance for acknowledgements delayed by bursts: the time of four bursts at the sender's rate, at most 1
/// ms.
fn burst_allowance_us(rate_bytes_per_s: u64) -> u64 {
    let bursts = BURST_BYTES * 4 * 1_000_000;
    bursts.checked_div(rate_bytes_per_s).unwrap_or(0).min(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(now_us: u64, rtt_us: u64, una_pkts: u64, next_pkts: u64) -> Measurement {
        Measurement {
            now_us,
            rtt_us,
            delay_min_us: 40_000,
            cwnd_pkts: 32,
            una_pkts,
            next_pkts,
            pacing_rate_bytes_per_s: 0,
        }
    }

    /// Acknowledgements `gap_us` apart within one round; time since its start when it stopped.
    fn train(is_paced: bool, gap_us: u64, rate_bytes_per_s: u64) -> Option<u64> {
        let mut hystart = HyStart::new(is_paced);
        (0..100).find_map(|n| {
            let mut ack = ack(1_000_000 + n * gap_us, 40_000, 1 + n, 1000);
            ack.pacing_rate_bytes_per_s = rate_bytes_per_s;
            hystart.on_ack(&ack).then_some(n * gap_us)
        })
    }

    #[test]
    fn a_train_ends_slow_start_past_half_the_least_round_trip() {
        assert_eq!(train(false, 1000, 0), Some(21_000));
        assert_eq!(train(true, 1000, 0), Some(41_000));
        assert_eq!(train(false, 2000, 0), Some(22_000));
    }

    #[test]
    fn acknowledgements_more_than_two_milliseconds_apart_are_no_train() {
        assert_eq!(train(false, 2001, 0), None);
    }

    #[test]
    fn bursts_are_allowed_for() {
        // 262,144 bytes at 1 GB/s take 262 microseconds; at 10 MB/s more than the 1 ms allowed.
        assert_eq!(burst_allowance_us(1_000_000_000), 262);
        assert_eq!(burst_allowance_us(10_000_000), 1000);
        assert_eq!(burst_allowance_us(0), 0);
        assert_eq!(train(false, 100, 10_000_000), None); // too few to get there
        assert_eq!(train(false, 250, 10_000_000), Some(20_750));
    }

    /// In a round of constant delay, the sample that stops slow start.
    fn samples_until_found(rtt_us: u64, delay_min_us: u64, cwnd_pkts: u32) -> Option<u64> {
        let mut hystart = HyStart::new(false);
        (1..100).find(|n| {
            let mut ack = ack(n * 3000, rtt_us, *n, 1000);
            (ack.delay_min_us, ack.cwnd_pkts) = (delay_min_us, cwnd_pkts);
            hystart.on_ack(&ack)
        })
    }

    #[test]
    fn an_increase_of_an_eighth_between_4_and_16_ms_ends_slow_start() {
        // The ninth sample: eight are collected first.
        assert_eq!(samples_until_found(45_001, 40_000, 32), Some(9));
        assert_eq!(samples_until_found(45_000, 40_000, 32), None);
        assert_eq!(samples_until_found(14_001, 10_000, 32), Some(9));
        assert_eq!(samples_until_found(14_000, 10_000, 32), None);
        assert_eq!(samples_until_found(216_001, 200_000, 32), Some(9));
        assert_eq!(samples_until_found(216_000, 200_000, 32), None);
    }

    #[test]
    fn nothing_is_concluded_below_16_packets() {
        assert_eq!(samples_until_found(100_000, 40_000, 15), None);
        assert_eq!(samples_until_found(100_000, 40_000, 16), Some(9));
    }

    #[test]
    fn one_low_sample_in_a_round_is_enough_to_go_on() {
        let mut hystart = HyStart::new(false);
        assert!(!hystart.on_ack(&ack(0, 41_000, 1, 50)));
        for n in 2..=50 {
            assert!(!hystart.on_ack(&ack(n * 3000, 90_000, n, 50)));
        }
        // The next round forgets it.
        let mut found = (51..70).map(|n| hystart.on_ack(&ack(n * 3000, 90_000, n, 200)));
        assert_eq!(found.position(|found| found), Some(8));
    }
}
