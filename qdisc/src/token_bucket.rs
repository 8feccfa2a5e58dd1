//! Token buckets by Linux's arithmetic, shared by `tbf` and `police`.
//!
//! Tokens are time: a bucket holds nanoseconds of transmission at its rate, and a packet costs the time of
//! its bytes. Linux divides by the rate with a multiplication and a shift (`psched_ratecfg_precompute`,
//! `net/sched/sch_generic.c`), so a packet costs slightly less than bytes / rate: by less than a nanosecond
//! plus 2^-31 of it. [`PschedRate`] uses the same factors.

use dumbbell_core::time::Time;

/// Nanoseconds in a second.
const NS_PER_S: u64 = 1_000_000_000;
/// A tick of the packet scheduler's clock (`PSCHED_SHIFT`).
const TICK_NS: u64 = 64;
/// The largest shift with which a second of nanoseconds fits 64 bits.
const LARGEST_SHIFT: u32 = NS_PER_S.leading_zeros();

/// A rate as Linux's packet schedulers store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PschedRate {
    multiplier: u64,
    shift: u32,
}

impl PschedRate {
    /// From a rate in bit/s, at least 8, truncated to whole bytes per second.
    pub fn new(rate_bps: u64) -> PschedRate {
        let bytes_per_s = (rate_bps / 8).max(1);
        // As many bits as fit 32, for precision.
        let multiplier = |shift: u32| (NS_PER_S << shift) / bytes_per_s;
        let full = (0..=LARGEST_SHIFT).find(|shift| multiplier(*shift) >> 31 != 0);
        let shift = full.unwrap_or(LARGEST_SHIFT);
        PschedRate {
            multiplier: multiplier(shift),
            shift,
        }
    }

    /// Transmission time of `bytes` bytes, ns (`psched_l2t_ns`).
    #[inline]
    pub fn ns_of(self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.multiplier) >> self.shift
    }
}

/// Depth of a bucket as tc passes it to the kernel: whole microseconds, in ticks (`tc_calc_xmittime` of
/// iproute2 6.1).
pub fn tc_depth_ns(rate_bps: u64, burst_bytes: u32) -> u64 {
    let us = u128::from(burst_bytes) * 8_000_000 / u128::from(rate_bps);
    // tc and the kernel store both in 32 bits.
    let us = u64::try_from(us)
        .unwrap_or(u64::MAX)
        .min(u64::from(u32::MAX));
    let ticks = (us * 1000 / TICK_NS).min(u64::from(u32::MAX));
    ticks * TICK_NS
}

/// One bucket, or two from which each packet needs tokens.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate: PschedRate,
    /// Depth of the bucket, in nanoseconds at its rate.
    depth_ns: i64,
    /// Tokens at the checkpoint.
    tokens_ns: i64,
    peak: Option<Peak>,
    /// Time of the last update of the tokens.
    checkpoint_ns: u64,
}

/// The second bucket, which limits the rate of bursts.
#[derive(Debug, Clone)]
struct Peak {
    rate: PschedRate,
    depth_ns: i64,
    tokens_ns: i64,
}

impl TokenBucket {
    /// A full bucket at the start of the run.
    pub fn new(rate_bps: u64, depth_ns: u64) -> TokenBucket {
        TokenBucket {
            rate: PschedRate::new(rate_bps),
            depth_ns: depth_ns as i64,
            tokens_ns: depth_ns as i64,
            peak: None,
            checkpoint_ns: 0,
        }
    }

    /// Adds a second bucket of `mtu_bytes`, also full.
    pub fn with_peak(mut self, peakrate_bps: u64, mtu_bytes: u32) -> TokenBucket {
        let rate = PschedRate::new(peakrate_bps);
        let depth_ns = rate.ns_of(mtu_bytes) as i64;
        self.peak = Some(Peak {
            rate,
            depth_ns,
            tokens_ns: depth_ns,
        });
        self
    }

    /// Charges a packet.
    ///
    /// # Errors
    /// Nothing is charged; the value is the time until there are enough tokens, ns.
    #[inline]
    pub fn take(&mut self, bytes: u32, now_ns: u64) -> Result<(), u64> {
        // Both buckets gain at most the depth of the first (`tbf_dequeue`).
        let gain = ((now_ns - self.checkpoint_ns) as i64).min(self.depth_ns);
        let left = (self.tokens_ns + gain).min(self.depth_ns) - self.rate.ns_of(bytes) as i64;
        let peak_left = match &self.peak {
            Some(peak) => {
                let tokens_ns = (peak.tokens_ns + gain).min(peak.depth_ns);
                tokens_ns - peak.rate.ns_of(bytes) as i64
            }
            None => 0,
        };
        let least = left.min(peak_left);
        if least < 0 {
            return Err(least.unsigned_abs());
        }
        self.checkpoint_ns = now_ns;
        self.tokens_ns = left;
        if let Some(peak) = &mut self.peak {
            peak.tokens_ns = peak_left;
        }
        Ok(())
    }

    /// Departure of a packet that waits for its tokens from `from` on, and charges it: at that instant, or in
    /// the whole nanosecond in which there are enough tokens.
    #[inline]
    pub fn leave(&mut self, bytes: u32, from: Time) -> Time {
        let (from_ns, mut at_ns) = (from.as_ns(), from.as_ns());
        while let Err(wait_ns) = self.take(bytes, at_ns) {
            at_ns += wait_ns;
        }
        if at_ns == from_ns {
            from
        } else {
            Time::from_ns(at_ns)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_32_bits_where_they_can() {
        // 125000 bytes/s: 8000 ns a byte, times 2^19 to fill 32 bits.
        let rate = PschedRate::new(1_000_000);
        assert_eq!((rate.multiplier, rate.shift), (8000 << 19, 19));
        assert_eq!(rate.ns_of(1514), 1514 * 8000);
        // 818750 bytes/s do not divide a second.
        let rate = PschedRate::new(6_550_000);
        assert_eq!(rate.shift, 21);
        assert_eq!(rate.multiplier, (NS_PER_S << 21) / 818_750);
        assert_eq!(rate.ns_of(10_240), 12_506_870); // 12506870.2
        // Above 64 Gbit/s the shift is limited: 1 Tbit/s, 8 ps per byte.
        let rate = PschedRate::new(1_000_000_000_000);
        assert_eq!(rate.shift, 34);
        assert_eq!(rate.ns_of(1000), 7);
        // A byte per second.
        assert_eq!(PschedRate::new(8).ns_of(2), 2 * NS_PER_S);
    }

    #[test]
    fn a_packet_costs_a_nanosecond_and_two_to_the_minus_31_less_at_most() {
        for bytes_per_s in [1, 3, 12_345, 125_012, 818_750, 1_250_000_000, 7_999_999_999] {
            let rate = PschedRate::new(bytes_per_s * 8);
            for bytes in [1, 64, 1514, 65_535] {
                let exact = u64::from(bytes) * NS_PER_S / bytes_per_s;
                let ours = rate.ns_of(bytes);
                assert!(
                    ours <= exact && exact - ours <= 1 + (exact >> 31),
                    "{bytes} at {bytes_per_s}: {ours}"
                );
            }
        }
    }

    #[test]
    fn a_refusal_says_when_to_ask_again() {
        // 8000 ns a byte; room for 100 bytes.
        let mut bucket = TokenBucket::new(1_000_000, 800_000);
        assert_eq!(bucket.take(100, 0), Ok(()));
        assert_eq!(bucket.take(50, 100_000), Err(300_000));
        assert_eq!(bucket.take(50, 399_999), Err(1));
        assert_eq!(bucket.take(50, 400_000), Ok(()));
        // A long idle time fills it and no more.
        assert_eq!(bucket.take(100, 1_000_000_000), Ok(()));
        assert_eq!(bucket.take(1, 1_000_000_000), Err(8_000));
    }

    #[test]
    fn a_packet_leaves_at_once_or_in_a_whole_nanosecond() {
        let mut bucket = TokenBucket::new(1_000_000, 800_000);
        assert_eq!(bucket.leave(100, Time(1_500)), Time(1_500));
        // 8000 ns a byte, since the nanosecond in which the bucket was emptied.
        assert_eq!(bucket.leave(50, Time(7_700)), Time::from_ns(400_001));
        assert_eq!(
            bucket.leave(50, Time::from_ns(400_001)),
            Time::from_ns(800_001)
        );
    }

    #[test]
    fn both_buckets_must_have_enough() {
        // 100 bytes of depth, 50 of them at once, at twice the rate.
        let mut bucket = TokenBucket::new(1_000_000, 800_000).with_peak(2_000_000, 50);
        assert_eq!(bucket.take(50, 0), Ok(()));
        assert_eq!(bucket.take(50, 0), Err(200_000)); // the peak's: 50 x 4000 ns
        assert_eq!(bucket.take(50, 200_000), Ok(()));
        // 25 bytes came meanwhile at the rate, 50 at the peak rate.
        assert_eq!(bucket.take(50, 400_000), Ok(()));
        assert_eq!(bucket.take(50, 600_000), Err(200_000));
    }

    #[test]
    fn depths_are_those_tc_shows() {
        // `tc -r class show`: buffer [...] in ticks of 64 ns.
        assert_eq!(tc_depth_ns(1_000_000, 10_240), 81_920_000);
        assert_eq!(tc_depth_ns(6_550_000, 10_240), 195_406 * 64); // 12506 us, not 12506.87
        assert_eq!(tc_depth_ns(1_000_000, 1), 8_000);
        assert_eq!(tc_depth_ns(10_000_000, 1), 0); // 0.8 us
        assert_eq!(tc_depth_ns(1_000_000_000, 1600), 187 * 64); // 12 us of 12.8
    }
}
