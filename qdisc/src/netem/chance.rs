//! netem's 32-bit random numbers, optionally correlated with the previous number (`get_crandom`).

use dumbbell_core::random::Stream;

/// Converts parts per billion to the kernel's 32-bit fraction.
pub(super) use dumbbell_tc::units::in_tc::fraction_of_ppb as fraction_of;

/// 32 random bits.
#[inline]
pub(super) fn bits(stream: &mut Stream) -> u32 {
    (stream.next_u64() >> 32) as u32
}

/// A sequence of random numbers: each is a weighted mean of a fresh number and the previous one. The sequence
/// is stationary with mean 1/2, variance (1 - rho) / (1 + rho) / 12 and autocorrelation rho^n. It is not
/// uniform.
#[derive(Debug, Clone)]
pub(super) struct Correlated {
    last: u32,
    rho: u32,
}

impl Correlated {
    /// Starts the sequence at a random value.
    pub(super) fn new(correlation_ppb: u32, stream: &mut Stream) -> Correlated {
        Correlated {
            last: bits(stream),
            rho: fraction_of(correlation_ppb),
        }
    }

    /// The next number; uniform if the correlation is 0.
    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream) -> u32 {
        let fresh = bits(stream);
        if self.rho == 0 {
            return fresh;
        }
        // Fixed point; the two weights add up to 2^32.
        let weight_of_last = u64::from(self.rho) + 1;
        let weight_of_fresh = (1 << 32) - weight_of_last;
        let sum = u64::from(fresh) * weight_of_fresh + u64::from(self.last) * weight_of_last;
        self.last = (sum >> 32) as u32;
        self.last
    }
}

/// An event that happens to a given share of packets.
#[derive(Debug, Clone)]
pub(super) struct Chance {
    probability: u32,
    numbers: Correlated,
}

impl Chance {
    pub(super) fn new(ppb: u32, correlation_ppb: u32, stream: &mut Stream) -> Chance {
        Chance {
            probability: fraction_of(ppb),
            numbers: Correlated::new(correlation_ppb, stream),
        }
    }

    /// Whether the event happens to this packet. A share of 0 draws no random number.
    #[inline]
    pub(super) fn strikes(&mut self, stream: &mut Stream) -> bool {
        self.probability > 0 && self.probability >= self.numbers.next(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tc::qdisc::ALL_PPB;

    #[test]
    fn shares_are_rounded_as_tc_does() {
        for (ppb, fraction) in [
            (0, 0),
            (1, 4),                       // 4.29
            (500_000_000, 1 << 31),       // 2147483647.5, to even and up
            (300_000_000, 1_288_490_188), // 1288490188.5, to even and down
            (10_000_000, 42_949_673),
            (ALL_PPB, u32::MAX),
        ] {
            assert_eq!(fraction_of(ppb), fraction, "{ppb}");
        }
    }

    #[test]
    fn a_correlated_sequence_has_its_moments() {
        const NUMBERS: usize = 400_000;
        for correlation in [0.25, 0.5, 0.9] {
            let mut stream = Stream::new(1, 0, "test");
            let mut sequence = Correlated::new((correlation * 1e9) as u32, &mut stream);
            let numbers: Vec<f64> = (0..NUMBERS)
                .map(|_| f64::from(sequence.next(&mut stream)) / 4_294_967_296.0)
                .collect();
            let n = NUMBERS as f64;
            let mean = numbers.iter().sum::<f64>() / n;
            let centred: Vec<f64> = numbers.iter().map(|x| x - mean).collect();
            let variance = centred.iter().map(|x| x * x).sum::<f64>() / n;
            let products = centred.windows(2).map(|pair| pair[0] * pair[1]);
            let autocorrelation = products.sum::<f64>() / n / variance;
            let expected = (1.0 - correlation) / (1.0 + correlation) / 12.0;
            // Five standard errors; the mean of a correlated sequence has a larger one.
            let of_mean = libm::sqrt(expected / n * (1.0 + correlation) / (1.0 - correlation));
            assert!((mean - 0.5).abs() < 5.0 * of_mean, "{mean}");
            assert!(
                (variance / expected - 1.0).abs() < 0.03,
                "{variance} {expected}"
            );
            let of_correlation = libm::sqrt((1.0 - correlation * correlation) / n);
            assert!(
                (autocorrelation - correlation).abs() < 5.0 * of_correlation,
                "{autocorrelation}"
            );
        }
    }
}
