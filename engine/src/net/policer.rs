//! `police`: a token bucket in front of a queue that passes a packet or drops it
//! (tc-police(8)), by Linux's arithmetic (6.1, `net/sched/act_police.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | a packet passes when the bucket of `rate` and `burst` has its tokens | yes |
//! | with `peakrate`, when the bucket of `peakrate` and `mtu` has them, too | yes |
//! | a dropped packet takes no tokens | yes |
//! | buckets are full at the start; `burst` in ticks of 64 ns from whole microseconds | yes |
//! | a packet longer than `mtu` is dropped | yes |
//! | verdicts other than `drop`, rates in packets, averages (`avrate`) | no |
//!
//! Over any time t at most min(peakrate t + mtu, rate t + burst) bytes pass.

use crate::qdisc::token_bucket::{TokenBucket, tc_depth_ns};
use crate::sim::time::Time;
use dumbbell_tc::Police;

/// The state of a policer.
#[derive(Debug, Clone)]
pub struct Policer {
    bucket: TokenBucket,
    mtu_bytes: u32,
}

impl Policer {
    /// With full buckets at the start of the run.
    pub fn new(police: &Police) -> Policer {
        let depth_ns = tc_depth_ns(police.rate_bps, police.burst_bytes);
        let mut bucket = TokenBucket::new(police.rate_bps, depth_ns);
        if police.peakrate_bps > 0 {
            bucket = bucket.with_peak(police.peakrate_bps, police.mtu_bytes);
        }
        Policer {
            bucket,
            mtu_bytes: police.mtu_bytes,
        }
    }

    /// Whether a packet of `wire_bytes` bytes on the wire passes. If it does, it takes its tokens.
    pub fn passes(&mut self, wire_bytes: u32, now: Time) -> bool {
        wire_bytes <= self.mtu_bytes && self.bucket.take(wire_bytes, now.as_ns()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 8000 ns a byte, 125 bytes per millisecond.
    fn policer(burst_bytes: u32) -> Policer {
        Policer::new(&Police {
            rate_bps: 1_000_000,
            burst_bytes,
            mtu_bytes: 2040,
            peakrate_bps: 0,
        })
    }

    #[test]
    fn a_burst_passes_and_then_one_packet_for_its_tokens() {
        let mut policer = policer(3000);
        let passed: Vec<bool> = (0..4).map(|_| policer.passes(1000, Time::ZERO)).collect();
        assert_eq!(passed, [true, true, true, false]);
        // The dropped packet took no tokens: 8 ms after the last pass there are 1000 bytes.
        assert!(!policer.passes(1000, Time::from_ns(7_999_999)));
        assert!(policer.passes(1000, Time::from_ns(8_000_000)));
        // A long idle time fills the bucket and no more.
        let late = Time::from_ns(10_000_000_000);
        let passed = (0..10).filter(|_| policer.passes(1000, late)).count();
        assert_eq!(passed, 3);
    }

    #[test]
    fn what_is_longer_than_mtu_never_passes() {
        let mut policer = policer(10_000);
        assert!(!policer.passes(2041, Time::ZERO));
        assert!(policer.passes(2040, Time::ZERO));
    }

    proptest! {
        #[test]
        fn over_any_window_no_more_than_rate_and_burst(
            packets in prop::collection::vec((0u64..3_000_000, 1u32..2040), 1..200),
            burst_bytes in 2040u32..20_000,
        ) {
            let mut policer = policer(burst_bytes);
            let (mut at_ns, mut passed) = (0, Vec::new());
            for (gap_ns, bytes) in packets {
                at_ns += gap_ns;
                if policer.passes(bytes, Time::from_ns(at_ns)) {
                    passed.push((at_ns, u64::from(bytes)));
                }
            }
            for (first, (from_ns, _)) in passed.iter().enumerate() {
                let mut bytes = 0;
                for (until_ns, more) in &passed[first..] {
                    bytes += more;
                    let allowed = u64::from(burst_bytes) + (until_ns - from_ns) / 8000 + 1;
                    prop_assert!(bytes <= allowed, "{} > {}", bytes, allowed);
                }
            }
        }
    }
}
