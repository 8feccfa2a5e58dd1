//! The tables of the ziggurat: 256 layers of equal area under a falling density.
//!
//! Layer i covers [0, `edge[i]`) up to the height of the curve at `edge[i + 1]`. Layer 0 is the
//! base strip with the tail: `edge[0]` is the width it would have as a rectangle, `edge[1]`
//! is where the tail begins. Edges fall from there to `edge[256]` = 0.
//!
//! The tables are computed once per process instead of being written as 514 literals, which could not be
//! verified by reading.

use std::fmt;
use std::sync::LazyLock;

/// Number of layers: one byte selects a layer.
const LAYERS: usize = 256;

/// Where the tail of the exponential begins (Marsaglia and Tsang 2000, section 2).
pub(super) const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;
/// Where the tail of the normal begins (Marsaglia and Tsang 2000, section 2).
pub(super) const NORMAL_TAIL: f64 = 3.654_152_885_361_009;

/// The layers of one density.
pub(super) struct Ziggurat {
    /// Right edges.
    pub(super) edge: [f64; LAYERS + 1],
    /// The density, 1 at 0, at each edge.
    density: [f64; LAYERS + 1],
}

/// The tables of a stream.
pub(super) struct Tables {
    pub(super) exponential: Ziggurat,
    pub(super) normal: Ziggurat,
}

impl fmt::Debug for Tables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tables")
    }
}

impl Tables {
    /// The tables, built at the first call.
    pub(super) fn get() -> &'static Tables {
        static TABLES: LazyLock<Tables> = LazyLock::new(Tables::new);
        &TABLES
    }

    fn new() -> Tables {
        let normal_beyond = (std::f64::consts::PI / 2.0).sqrt()
            * libm::erfc(NORMAL_TAIL * std::f64::consts::FRAC_1_SQRT_2);
        Tables {
            exponential: Ziggurat::new(
                EXPONENTIAL_TAIL,
                libm::exp(-EXPONENTIAL_TAIL),
                |x| libm::exp(-x),
                |y| -libm::log(y),
            ),
            normal: Ziggurat::new(
                NORMAL_TAIL,
                normal_beyond,
                |x| libm::exp(-0.5 * x * x),
                |y| (-2.0 * libm::log(y)).sqrt(),
            ),
        }
    }
}

impl Ziggurat {
    /// Layers of a density with its tail from `tail` on, where `beyond` is the tail's area.
    fn new(
        tail: f64,
        beyond: f64,
        density_at: impl Fn(f64) -> f64,
        inverse: impl Fn(f64) -> f64,
    ) -> Ziggurat {
        let area = tail * density_at(tail) + beyond;
        let mut edge = [0.0; LAYERS + 1];
        edge[0] = area / density_at(tail);
        edge[1] = tail;
        for layer in 2..LAYERS {
            let below = edge[layer - 1];
            edge[layer] = inverse(density_at(below) + area / below);
        }
        let density = edge.map(&density_at);
        Ziggurat { edge, density }
    }

    /// The density at a fraction of the layer's height, from the curve at its right edge to the curve at the
    /// next edge.
    #[inline]
    pub(super) fn height(&self, layer: usize, share: f64) -> f64 {
        let (bottom, top) = (self.density[layer], self.density[layer + 1]);
        bottom + share * (top - bottom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All areas are equal and the last layer ends at the top of the curve, which makes the method exact.
    /// This verifies the two tail constants.
    fn closes(ziggurat: &Ziggurat, area: f64) {
        for layer in 1..LAYERS {
            let height = ziggurat.density[layer + 1] - ziggurat.density[layer];
            let found = ziggurat.edge[layer] * height;
            assert!(
                (found / area - 1.0).abs() < 1e-11,
                "layer {layer}: {found} {area}"
            );
            assert!(ziggurat.edge[layer] > ziggurat.edge[layer + 1]);
        }
        assert_eq!(
            (ziggurat.edge[LAYERS], ziggurat.density[LAYERS]),
            (0.0, 1.0)
        );
    }

    #[test]
    fn layers_have_equal_areas() {
        // The areas printed by Marsaglia and Tsang.
        closes(&Tables::get().exponential, 0.003_949_659_822_581_557);
        closes(&Tables::get().normal, 0.004_928_673_233_974_655);
    }
}
