//! The mean of a truncated law: of the minimum of a draw and a bound.
//!
//! A run is finite, so this determines how much it sends: a law may have no mean, or a mean dominated by
//! draws so rare that no run sees them.

use super::{Law, normal_cdf, normal_density};

/// Largest number of terms of a series, which converges within a few dozen where it is used.
const MOST_TERMS: u32 = 1000;

/// The lower incomplete gamma function of `a` > 0 at `x` >= 0 by its power series (DLMF 8.7.1),
/// good for x below a + 1.
fn lower_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for n in 1..MOST_TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * 1e-12 {
            break;
        }
    }
    libm::exp(a * libm::log(x) - x) * sum
}

/// E max(X - c, 0) of a normal.
fn normal_excess(mean: f64, sd: f64, c: f64) -> f64 {
    let z = (mean - c) / sd;
    (mean - c) * normal_cdf(z) + sd * normal_density(z)
}

impl Law {
    /// The mean of the minimum of a draw and `bound`, above 0; finite if the bound is. Exact except for
    /// rounding; for a gamma or Weibull law in the far tail the untruncated mean, at most 60 % too large.
    pub fn mean_below(&self, bound: f64) -> f64 {
        if bound == f64::INFINITY {
            return self.mean().unwrap_or(f64::INFINITY);
        }
        let mean = match *self {
            Law::Exponential { mean } => -mean * libm::expm1(-bound / mean),
            Law::Constant { value } => value,
            Law::Uniform { low, high } => {
                let cut = bound.clamp(low, high);
                let below = (cut - low) / (high - low);
                below * (low + cut) / 2.0 + (1.0 - below) * cut
            }
            Law::Pareto { shape, scale } if bound > scale => {
                // The survival function is 1 up to the scale and (b / x)^a beyond.
                let octaves = libm::log(bound / scale);
                let tail = match (1.0 - shape) * octaves {
                    0.0 => octaves,
                    exponent => libm::expm1(exponent) / (1.0 - shape),
                };
                scale + scale * tail
            }
            Law::Pareto { .. } => bound,
            Law::Normal { mean, sd: 0.0 } => mean,
            Law::Normal { mean, sd } => {
                normal_excess(mean, sd, 0.0) - normal_excess(mean, sd, bound)
            }
            Law::Lognormal { mu, sigma: 0.0 } => libm::exp(mu),
            Law::Lognormal { mu, sigma } => {
                let z = (libm::log(bound) - mu) / sigma;
                let share_below = normal_cdf(z - sigma);
                let below = match share_below > 0.0 {
                    true => libm::exp(mu + sigma * sigma / 2.0 + libm::log(share_below)),
                    // By Mills' ratio: far below the values that dominate the mean.
                    false => bound * normal_density(z) / (sigma - z),
                };
                below + bound * normal_cdf(-z)
            }
            Law::Gamma { shape, scale } => {
                let x = bound / scale;
                if x >= shape + 1.0 {
                    shape * scale
                } else {
                    let gamma = libm::tgamma(shape);
                    let share = |a: f64, whole: f64| (lower_gamma(a, x) / whole).min(1.0);
                    // The mean of the values below the bound, plus the bound times the share above.
                    shape * scale * share(shape + 1.0, shape * gamma)
                        + bound * (1.0 - share(shape, gamma))
                }
            }
            Law::Weibull { shape, scale } => {
                let (a, x) = (1.0 / shape, libm::pow(bound / scale, shape));
                match x >= a + 1.0 {
                    true => scale * libm::tgamma(1.0 + a),
                    // The integral of exp(-(x / s)^k).
                    false => scale * a * lower_gamma(a, x),
                }
            }
        };
        match mean.is_nan() {
            true => bound,
            false => mean.min(bound),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::random::Stream;

    #[test]
    fn it_is_the_mean_of_draws_that_are_cut_off() {
        let laws = [
            Law::Exponential { mean: 2.0 },
            Law::Constant { value: 3.0 },
            Law::Uniform {
                low: 1.0,
                high: 5.0,
            },
            Law::Pareto {
                shape: 0.05,
                scale: 1.0,
            },
            Law::Pareto {
                shape: 1.0,
                scale: 1.0,
            },
            Law::Pareto {
                shape: 2.5,
                scale: 1.0,
            },
            Law::Normal { mean: 1.0, sd: 4.0 },
            Law::Lognormal {
                mu: 0.0,
                sigma: 2.0,
            },
            Law::Lognormal {
                mu: 100.0,
                sigma: 30.0,
            },
            Law::Gamma {
                shape: 0.1,
                scale: 20.0,
            },
            Law::Gamma {
                shape: 5.0,
                scale: 1.0,
            },
            Law::Weibull {
                shape: 0.2,
                scale: 0.5,
            },
            Law::Weibull {
                shape: 3.0,
                scale: 2.0,
            },
        ];
        for law in laws {
            for bound in [0.5, 2.0, 100.0] {
                let mut stream = Stream::new(1, 0, "below");
                let draws = (0..100_000).map(|_| law.draw(&mut stream).min(bound));
                let found = draws.sum::<f64>() / 100_000.0;
                let mean = law.mean_below(bound);
                let ratio = mean / found;
                assert!(
                    (0.98..1.61).contains(&ratio),
                    "{law:?} below {bound}: {mean}, drawn {found}"
                );
            }
        }
    }

    #[test]
    fn rare_draws_do_not_make_up_a_finite_run() {
        let rare = Law::Gamma {
            shape: 1e-9,
            scale: 1e9,
        };
        assert_eq!(rare.mean(), Some(1.0));
        let below = rare.mean_below(1.0);
        assert!((1e-8..1e-7).contains(&below), "{below}");
        assert_eq!(rare.mean_below(f64::INFINITY), 1.0);
    }
}
