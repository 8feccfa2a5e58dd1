//! Transmission times by integer arithmetic, exact over a whole run.

use super::time::{PS_PER_S, Time};

/// Picoseconds per byte at 1 bit/s.
const PS_BITS_PER_BYTE: u64 = 8 * PS_PER_S;

/// A bit rate that computes transmission times and carries the rounding remainder.
///
/// A packet of `b` bytes takes `8e12 b / rate` picoseconds. Rounding each time down would make a link faster
/// than its rate by up to a picosecond per packet. Instead the remainder of each division is added to the
/// next, so the total time of packets sent back to back is exact to one picosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    bits_per_second: u64,
    /// Whole picoseconds per byte, and the remainder in units of 1/rate picoseconds.
    ps_per_byte: u64,
    ps_per_byte_remainder: u64,
    carry: u64,
}

impl Rate {
    /// A rate in bit/s, not zero.
    pub fn new(bits_per_second: u64) -> Rate {
        assert!(bits_per_second > 0, "a rate of zero never sends anything");
        Rate {
            bits_per_second,
            ps_per_byte: PS_BITS_PER_BYTE / bits_per_second,
            ps_per_byte_remainder: PS_BITS_PER_BYTE % bits_per_second,
            carry: 0,
        }
    }

    /// Bits per second.
    pub fn bits_per_second(&self) -> u64 {
        self.bits_per_second
    }

    /// Transmission time of `bytes`, carrying the remainder of the division to the next call.
    #[inline]
    pub fn time_for(&mut self, bytes: u32) -> Time {
        // Common rates (1 Mbit/s, 100 Mbit/s) divide evenly and need no division here.
        if self.ps_per_byte_remainder == 0 {
            return Time(u64::from(bytes) * self.ps_per_byte);
        }
        let rest =
            u128::from(bytes) * u128::from(self.ps_per_byte_remainder) + u128::from(self.carry);
        let whole = match u64::try_from(rest) {
            Ok(rest) => {
                self.carry = rest % self.bits_per_second;
                rest / self.bits_per_second
            }
            Err(_) => {
                let rate = u128::from(self.bits_per_second);
                self.carry = (rest % rate) as u64;
                (rest / rate) as u64
            }
        };
        Time(u64::from(bytes) * self.ps_per_byte + whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        assert_eq!(Rate::new(1_000_000).time_for(512), Time(4_096_000_000));
        assert_eq!(Rate::new(100_000_000_000).time_for(64), Time(5_120));
    }

    proptest! {
        #[test]
        fn back_to_back_packets_take_exactly_their_bits(
            rate in 1u64..=400_000_000_000,
            sizes in prop::collection::vec(1u32..=65_535, 1..50),
        ) {
            let mut link = Rate::new(rate);
            let mut total = 0u128;
            let mut bytes = 0u128;
            for size in sizes {
                total += u128::from(link.time_for(size).0);
                bytes += u128::from(size);
                prop_assert_eq!(total, bytes * u128::from(PS_BITS_PER_BYTE) / u128::from(rate));
            }
        }
    }
}
