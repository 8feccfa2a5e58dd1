//! Rates and volumes in Linux's fixed point: packets per microsecond shifted by 24 bits, gains
//! in 1/256.

/// log2 of the unit of bandwidth: one packet per microsecond is `1 << BANDWIDTH_SHIFT`.
pub const BANDWIDTH_SHIFT: u32 = 24;
/// log2 of the unit of gains.
const GAIN_SHIFT: u32 = 8;
/// A gain of 1.
pub const UNIT_GAIN: u32 = 1 << GAIN_SHIFT;
/// Pacing stays this percentage below the estimate, so that queues drain on average.
const PACING_MARGIN_PERCENT: u128 = 1;

/// Packets per microsecond, shifted: at most what 32 bits hold, as in the kernel (3 Tbit/s of
/// full packets).
pub fn bandwidth(delivered_pkts: u64, interval_us: u64) -> u64 {
    let shifted = u128::from(delivered_pkts) << BANDWIDTH_SHIFT;
    let bandwidth = shifted / u128::from(interval_us.max(1));
    bandwidth.min(u128::from(u32::MAX)) as u64
}

/// The rate to pace at, bytes per second.
pub fn pacing_rate_bytes_per_s(bandwidth: u64, gain: u32, mss_bytes: u32) -> u64 {
    let gained = (u128::from(bandwidth) * u128::from(mss_bytes) * u128::from(gain)) >> GAIN_SHIFT;
    let per_second = gained * (1_000_000 / 100 * (100 - PACING_MARGIN_PERCENT));
    u64::try_from(per_second >> BANDWIDTH_SHIFT).unwrap_or(u64::MAX)
}

/// Packets delivered at `bandwidth` in a time, rounded down.
pub fn delivered_pkts(bandwidth: u64, interval_us: u64) -> u32 {
    saturated((u128::from(bandwidth) * u128::from(interval_us)) >> BANDWIDTH_SHIFT)
}

/// Bandwidth-delay product times a gain, packets, rounded up so that a small window does not
/// shrink itself.
pub fn bdp_pkts(bandwidth: u64, min_rtt_us: u64, gain: u32) -> u32 {
    let product = u128::from(bandwidth) * u128::from(min_rtt_us);
    let gained = (product * u128::from(gain)) >> GAIN_SHIFT;
    saturated(gained.div_ceil(1 << BANDWIDTH_SHIFT))
}

fn saturated(pkts: u128) -> u32 {
    u32::try_from(pkts).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_megabits_of_1448_bytes() {
        // 863 packets in a second; a hundred milliseconds of them.
        let bw = bandwidth(863, 1_000_000);
        assert_eq!(bw, 14_478); // 863e-6 x 2^24
        assert_eq!(delivered_pkts(bw, 1_000_000), 862);
        assert_eq!(bdp_pkts(bw, 100_000, UNIT_GAIN), 87);
        assert_eq!(bdp_pkts(bw, 100_000, 2 * UNIT_GAIN), 173);
        let rate = pacing_rate_bytes_per_s(bw, UNIT_GAIN, 1448) as f64;
        assert!((rate / (863.0 * 1448.0 * 0.99) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(bandwidth(u64::MAX, 0), u64::from(u32::MAX));
        assert!(pacing_rate_bytes_per_s(u64::from(u32::MAX), 1023, u32::MAX) > 1 << 50);
        assert_eq!(bdp_pkts(u64::from(u32::MAX), u64::MAX >> 1, 1023), u32::MAX);
    }
}
