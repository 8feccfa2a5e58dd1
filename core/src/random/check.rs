//! Statistical checks that tests of random draws share.

use super::Stream;

/// Probability that a test fails by chance, for seeds that are not selected.
pub(crate) const BY_CHANCE: f64 = 1e-5;

/// Smallest p-value accepted from chi-squared and Kolmogorov-Smirnov tests.
fn accepted(p: f64) -> bool {
    p > BY_CHANCE
}

/// Two-sided p-value of a standard normal.
pub fn p_of_z(z: f64) -> f64 {
    libm::erfc(z.abs() * std::f64::consts::FRAC_1_SQRT_2)
}

/// Fails if a standard normal is unlikely to be this far from 0.
pub fn assert_z(z: f64, what: &str) {
    assert!(accepted(p_of_z(z)), "{what}: z = {z}");
}

/// Fails if independent standard normals are unlikely to have this sum or sum of squares: the first detects a
/// small common bias, the second a wrong variance.
pub fn assert_standard_normals(z: &[f64], what: &str) {
    let n = z.len() as f64;
    assert_z(
        z.iter().sum::<f64>() / n.sqrt(),
        &format!("{what}, sum of {z:?}"),
    );
    let squares: f64 = z.iter().map(|z| z * z).sum();
    assert_chi_squared(squares, n, &format!("{what}, squares of {z:?}"));
}

/// Fails if chi-squared with this number of degrees of freedom is unlikely to be this far from its mean
/// (Wilson and Hilferty 1931: its cube root is nearly normal).
pub fn assert_chi_squared(statistic: f64, degrees: f64, what: &str) {
    let spread = 2.0 / (9.0 * degrees);
    let z = (libm::cbrt(statistic / degrees) - (1.0 - spread)) / spread.sqrt();
    assert_z(z, &format!("{what}: chi-squared {statistic} of {degrees}"));
}

/// Pearson's statistic of counts that should be equal.
pub fn assert_equally_likely(counts: &[u64], what: &str) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let square = |count: &u64| (*count as f64 - expected).powi(2) / expected;
    let statistic = counts.iter().map(square).sum();
    assert_chi_squared(statistic, (counts.len() - 1) as f64, what);
}

/// Kolmogorov-Smirnov against an exact distribution function.
pub fn assert_distributed(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64, what: &str) {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let gap = |(i, x): (usize, &f64)| {
        let share = cdf(*x);
        (share - i as f64 / n).max((i + 1) as f64 / n - share)
    };
    let distance = draws.iter().enumerate().map(gap).fold(0.0, f64::max);
    // Kolmogorov's limit with Stephens's correction (1970) for a finite sample.
    let lambda = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    let term = |k: i32| libm::exp(-2.0 * f64::from(k * k) * lambda * lambda);
    let p: f64 = (1..=20)
        .map(|k| {
            if k % 2 == 1 {
                2.0 * term(k)
            } else {
                -2.0 * term(k)
            }
        })
        .sum();
    assert!(
        p.min(1.0) > BY_CHANCE,
        "{what}: distance {distance} of {n} draws"
    );
}

/// `n` draws of a sampler from a stream of its own.
pub fn draws(name: &str, n: usize, sample: impl Fn(&mut Stream) -> f64) -> Vec<f64> {
    let mut stream = Stream::new(1, 0, name);
    (0..n).map(|_| sample(&mut stream)).collect()
}
