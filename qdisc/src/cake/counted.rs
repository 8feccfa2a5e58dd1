//! What cake counts besides packets: means of delays by tin, and sizes.
//!
//! The manual names the delays without their weights. The weights of all means were found by measurement:
//! `tests/kernel_backend/test_cake_tins.py` compares them with the kernel's for the same arrivals.

use dumbbell_core::cake_samples::TinTotals;

/// Shifts of the exponentially weighted means: a new value has the weight 2^-8, or 2^-2.
const SLOW: u32 = 8;
const FAST: u32 = 2;
/// Fractional bits of the mean header offset.
const OFFSET_BITS: u32 = 16;

/// Moves a mean towards a value by 2^-`shift` of each.
fn moved(mean: u64, value: u64, shift: u32) -> u64 {
    mean - (mean >> shift) + (value >> shift)
}

/// A packet of this size has arrived.
#[inline]
pub fn count_arrival(totals: &mut TinTotals, wire_bytes: u32) {
    totals.arrived_pkts += 1;
    totals.arrived_bytes += u64::from(wire_bytes);
    totals.largest_bytes = totals.largest_bytes.max(wire_bytes);
}

/// A packet leaves after this time in the queue.
#[inline]
pub fn count_departure(totals: &mut TinTotals, sojourn_ns: u64) {
    let by = |is_quick: bool| if is_quick { FAST } else { SLOW };
    let (peak_ns, base_ns) = (totals.peak_delay_ns, totals.base_delay_ns);
    totals.mean_delay_ns = moved(totals.mean_delay_ns, sojourn_ns, SLOW);
    totals.peak_delay_ns = moved(peak_ns, sojourn_ns, by(sojourn_ns >= peak_ns));
    totals.base_delay_ns = moved(base_ns, sojourn_ns, by(sojourn_ns < base_ns));
}

/// Sizes that the shaper has seen, and memory.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Smallest and largest size before the overhead, bytes.
    pub network_bytes: (u32, u32),
    /// Smallest and largest size that the shaper counts, bytes.
    pub adjusted_bytes: (u32, u32),
    /// Mean offset of the network header in the frame, 2^-16 bytes.
    mean_offset: u64,
    /// Most memory used.
    pub most_memory_bytes: u64,
}

impl Sizes {
    /// Before any packet.
    pub const NONE: Sizes = Sizes {
        network_bytes: (u16::MAX as u32, 0),
        adjusted_bytes: (u16::MAX as u32, 0),
        mean_offset: 0,
        most_memory_bytes: 0,
    };

    /// A packet of `network_bytes`, counted as `adjusted_bytes`, has arrived behind a header of
    /// `header_bytes`.
    #[inline]
    pub fn count(&mut self, network_bytes: u32, adjusted_bytes: u32, header_bytes: u32) {
        let within = |(least, most): (u32, u32), bytes: u32| (least.min(bytes), most.max(bytes));
        self.network_bytes = within(self.network_bytes, network_bytes);
        self.adjusted_bytes = within(self.adjusted_bytes, adjusted_bytes);
        let offset = u64::from(header_bytes) << OFFSET_BITS;
        self.mean_offset = moved(self.mean_offset, offset, SLOW);
    }

    /// Mean offset of the network header, whole bytes.
    pub fn mean_header_bytes(&self) -> u32 {
        ((self.mean_offset + (1 << (OFFSET_BITS - 1))) >> OFFSET_BITS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A geometric series: after n equal values v, a mean of weight w is v (1 - (1 - w)^n).
    #[test]
    fn means_approach_a_constant_delay() {
        let mut totals = TinTotals::default();
        for _ in 0..100 {
            count_departure(&mut totals, 1 << 20);
        }
        let share = |mean_ns: u64| mean_ns as f64 / f64::from(1 << 20);
        let slow = 1.0 - (255.0f64 / 256.0).powi(100);
        assert!((share(totals.mean_delay_ns) - slow).abs() < 1e-3);
        assert!((share(totals.base_delay_ns) - slow).abs() < 1e-3);
        assert!((share(totals.peak_delay_ns) - 1.0).abs() < 1e-3);
        for _ in 0..20 {
            count_departure(&mut totals, 0);
        }
        assert!(share(totals.base_delay_ns) < 0.01);
        assert!(share(totals.peak_delay_ns) > 0.9);
    }

    #[test]
    fn the_header_of_ethernet_is_approached() {
        let mut sizes = Sizes::NONE;
        for _ in 0..95 {
            sizes.count(1000, 1018, 14);
        }
        sizes.count(60, 78, 14);
        // 14 (1 - (255 / 256)^96) = 4.4
        assert_eq!(sizes.mean_header_bytes(), 4);
        assert_eq!(sizes.network_bytes, (60, 1000));
        assert_eq!(sizes.adjusted_bytes, (78, 1018));
    }
}
