//! Probability laws of gaps (seconds) and sizes (bytes).
//!
//! | law | parameters | density or meaning on x > 0 |
//! | --- | --- | --- |
//! | exponential | mean | exp(-x / mean) / mean |
//! | constant | value | always `value` |
//! | uniform | low, high | flat on [low, high) |
//! | pareto | shape a, scale b | a b^a / x^(a + 1) from b on (Pareto type I) |
//! | normal | mean, sd | a draw below 0 counts as 0 |
//! | lognormal | mu, sigma | exp of a normal with mean mu and standard deviation sigma |
//! | gamma | shape k, scale s | x^(k - 1) exp(-x / s) / (Gamma(k) s^k) |
//! | weibull | shape k, scale s | 1 - exp(-(x / s)^k) is its distribution function |
//!
//! No law draws below 0: there are no negative gaps or sizes. Only the normal law could, and its draws below
//! 0 count as 0, like a sender that sleeps for a negative time. This is censoring, not truncation, so 0 has a
//! positive probability; `mean` and `second_moment` are those of the censored law, which determine the
//! offered load.

mod below;

use dumbbell_core::random::Stream;
use serde::{Deserialize, Serialize};

/// A probability law on the nonnegative numbers. Serialized as `{"law":"exponential","mean":0.01}`; unknown
/// laws and fields are refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "lowercase", deny_unknown_fields)]
pub enum Law {
    /// Memoryless.
    Exponential {
        /// Above 0.
        mean: f64,
    },
    /// Deterministic; uses no random numbers.
    Constant {
        /// At least 0.
        value: f64,
    },
    /// Uniform on [low, high).
    Uniform {
        /// At least 0.
        low: f64,
        /// Above `low`.
        high: f64,
    },
    /// Power law (type I): the mean is infinite up to shape 1, the variance up to shape 2.
    Pareto {
        /// Tail exponent, above 0.
        shape: f64,
        /// Minimum, above 0.
        scale: f64,
    },
    /// Normal; a draw below 0 counts as 0.
    Normal {
        /// Of the normal before censoring, at least 0.
        mean: f64,
        /// Of the normal before censoring, at least 0.
        sd: f64,
    },
    /// The exponential of a normal.
    Lognormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm, at least 0.
        sigma: f64,
    },
    /// Sum of `shape` exponentials of mean `scale`, if `shape` is an integer (Erlang).
    Gamma {
        /// Above 0.
        shape: f64,
        /// Above 0.
        scale: f64,
    },
    /// Stretched (shape below 1) or compressed exponential.
    Weibull {
        /// Above 0.
        shape: f64,
        /// Above 0.
        scale: f64,
    },
}

/// A parameter outside its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LawError {
    /// The parameter.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The values that are allowed.
    pub allowed: &'static str,
}

fn require(
    holds: bool,
    field: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), LawError> {
    if holds {
        return Ok(());
    }
    Err(LawError {
        field,
        value: value.to_string(),
        allowed,
    })
}

fn positive(field: &'static str, value: f64) -> Result<(), LawError> {
    require(
        value > 0.0 && value.is_finite(),
        field,
        value,
        "a finite number above 0",
    )
}

fn not_negative(field: &'static str, value: f64) -> Result<(), LawError> {
    require(
        value >= 0.0 && value.is_finite(),
        field,
        value,
        "a finite number of at least 0",
    )
}

fn if_finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Distribution function of the standard normal.
fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Density of the standard normal.
fn normal_density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt()
}

impl Law {
    /// Checks every parameter. A valid law draws nonnegative finite or infinite numbers, never NaN.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn validate(&self) -> Result<(), LawError> {
        match *self {
            Law::Exponential { mean } => positive("mean", mean),
            Law::Constant { value } => not_negative("value", value),
            Law::Uniform { low, high } => {
                not_negative("low", low)?;
                let holds = high > low && high.is_finite();
                require(holds, "high", high, "a finite number above `low`")
            }
            Law::Normal { mean, sd } => {
                not_negative("mean", mean)?;
                not_negative("sd", sd)
            }
            Law::Lognormal { mu, sigma } => {
                require(mu.is_finite(), "mu", mu, "a finite number")?;
                not_negative("sigma", sigma)
            }
            Law::Pareto { shape, scale }
            | Law::Gamma { shape, scale }
            | Law::Weibull { shape, scale } => {
                positive("shape", shape)?;
                positive("scale", scale)
            }
        }
    }

    /// A draw, at least 0.
    #[inline(always)]
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        // The most common law, drawn twice per packet, gets a path without a call.
        match *self {
            Law::Exponential { mean } => mean * stream.exponential(),
            _ => self.draw_other(stream),
        }
    }

    fn draw_other(&self, stream: &mut Stream) -> f64 {
        match *self {
            Law::Exponential { mean } => mean * stream.exponential(),
            Law::Constant { value } => value,
            Law::Uniform { low, high } => low + (high - low) * stream.uniform(),
            // By inversion, with -ln U an exponential.
            Law::Pareto { shape, scale } => scale * libm::exp(stream.exponential() / shape),
            Law::Normal { mean, sd } => {
                let drawn = mean + sd * stream.standard_normal();
                // Not `max`, which does not specify the sign of zero for -0.
                if drawn > 0.0 { drawn } else { 0.0 }
            }
            Law::Lognormal { mu, sigma } => libm::exp(mu + sigma * stream.standard_normal()),
            Law::Gamma { shape, scale } => scale * stream.standard_gamma(shape),
            Law::Weibull { shape, scale } => scale * libm::pow(stream.exponential(), 1.0 / shape),
        }
    }

    /// The mean of `draw`; None if infinite.
    pub fn mean(&self) -> Option<f64> {
        match *self {
            Law::Exponential { mean } => Some(mean),
            Law::Constant { value } => Some(value),
            Law::Uniform { low, high } => Some(low + (high - low) / 2.0),
            Law::Pareto { .. } => self.pareto_moment(1.0),
            Law::Normal { mean, sd } => {
                if sd == 0.0 {
                    return Some(mean);
                }
                let z = mean / sd;
                if_finite(mean * normal_cdf(z) + sd * normal_density(z))
            }
            Law::Lognormal { mu, sigma } => if_finite(libm::exp(mu + sigma * sigma / 2.0)),
            Law::Gamma { shape, scale } => if_finite(shape * scale),
            Law::Weibull { shape, scale } => if_finite(scale * libm::tgamma(1.0 + 1.0 / shape)),
        }
    }

    /// The mean square of `draw`; None if infinite.
    pub fn second_moment(&self) -> Option<f64> {
        match *self {
            Law::Exponential { mean } => if_finite(2.0 * mean * mean),
            Law::Constant { value } => if_finite(value * value),
            Law::Uniform { low, high } => if_finite((low * low + low * high + high * high) / 3.0),
            Law::Pareto { .. } => self.pareto_moment(2.0),
            Law::Normal { mean, sd } => {
                if sd == 0.0 {
                    return if_finite(mean * mean);
                }
                let z = mean / sd;
                let square = (mean * mean + sd * sd) * normal_cdf(z);
                if_finite(square + mean * sd * normal_density(z))
            }
            Law::Lognormal { mu, sigma } => if_finite(libm::exp(2.0 * (mu + sigma * sigma))),
            Law::Gamma { shape, scale } => if_finite(shape * (shape + 1.0) * scale * scale),
            Law::Weibull { shape, scale } => {
                if_finite(scale * scale * libm::tgamma(1.0 + 2.0 / shape))
            }
        }
    }

    /// The mean of the order-th power of a Pareto variable.
    fn pareto_moment(&self, order: f64) -> Option<f64> {
        let &Law::Pareto { shape, scale } = self else {
            return None;
        };
        if shape <= order {
            return None;
        }
        if_finite(shape / (shape - order) * libm::pow(scale, order))
    }
}

#[cfg(test)]
mod tests;
