//! Distributions of gaps and sizes in the form used in experiment files: `exponential 512B`.

use dumbbell_engine::spec::law::Law;

/// The quantity that a distribution describes.
#[derive(Debug, Clone, Copy)]
pub enum LawQuantity {
    /// A time in seconds.
    Gap,
    /// A size in bytes.
    Size,
}

impl LawQuantity {
    /// A value with its unit: the shortest decimal that parses to the same number.
    pub fn quantity(self, value: f64) -> String {
        match self {
            LawQuantity::Gap => format!("{value}s"),
            LawQuantity::Size => format!("{value}B"),
        }
    }

    /// The short form of a distribution.
    pub fn text(self, law: &Law) -> String {
        let quantity = |value: &f64| self.quantity(*value);
        match law {
            Law::Exponential { mean } => format!("exponential {}", quantity(mean)),
            Law::Constant { value } => format!("constant {}", quantity(value)),
            Law::Uniform { low, high } => format!("uniform {} {}", quantity(low), quantity(high)),
            Law::Pareto { shape, scale } => format!("pareto {shape} {}", quantity(scale)),
            Law::Normal { mean, sd } => format!("normal {} {}", quantity(mean), quantity(sd)),
            Law::Lognormal { mu, sigma } => format!("lognormal {mu} {sigma}"),
            Law::Gamma { shape, scale } => format!("gamma {shape} {}", quantity(scale)),
            Law::Weibull { shape, scale } => format!("weibull {shape} {}", quantity(scale)),
        }
    }
}
