//! Distribution of netem's jitter: uniform, or a table of 4096 quantiles (`tabledist`).
//!
//! The tables are those of iproute2 (`netem/normal.c`, `pareto.c`, `paretonormal.c`, from NIST Net), computed
//! from the same formulas. Entry i is the quantile of i/4096 in units of 1/8192 of the jitter. Entries are
//! clipped to 16 bits, so no delay differs from the mean by more than four jitters. Clipping shifts the mean
//! of the Pareto distribution to -0.033 jitters.

use super::chance::Correlated;
use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::Distribution;
use std::sync::OnceLock;

/// Entries of a table.
const ENTRIES: usize = 4096;

/// Table value that means one jitter (`NETEM_DIST_SCALE`).
const SCALE: i64 = 8192;

/// A table of quantiles.
type Table = [i16; ENTRIES];

/// Deviation of a packet's delay from the mean.
#[derive(Debug, Clone)]
pub(super) struct Jitter {
    /// 0 for a constant delay.
    jitter_ns: u32,
    /// None for the uniform distribution.
    table: Option<&'static Table>,
    numbers: Correlated,
}

impl Jitter {
    pub(super) fn new(jitter_ns: u64, distribution: Distribution, numbers: Correlated) -> Jitter {
        Jitter {
            jitter_ns: jitter_ns as u32, // 31 bits: the grammar sees to it
            table: table(distribution),
            numbers,
        }
    }

    /// The deviation of the next packet, ns. Jitter 0 draws no random number.
    #[inline]
    pub(super) fn draw_ns(&mut self, stream: &mut Stream) -> i64 {
        if self.jitter_ns == 0 {
            return 0;
        }
        let number = self.numbers.next(stream);
        let jitter_ns = i64::from(self.jitter_ns);
        match self.table {
            None => i64::from(number % (2 * self.jitter_ns)) - jitter_ns,
            Some(table) => scaled(jitter_ns, i64::from(table[number as usize % ENTRIES])),
        }
    }
}

/// Share of packets whose deviation is below `bound_ns`.
pub(super) fn share_below(jitter_ns: u64, distribution: Distribution, bound_ns: i64) -> f64 {
    let jitter_ns = jitter_ns as i64;
    if jitter_ns == 0 {
        return f64::from(u8::from(bound_ns > 0));
    }
    match table(distribution) {
        None => {
            (bound_ns.saturating_add(jitter_ns) as f64 / (2 * jitter_ns) as f64).clamp(0.0, 1.0)
        }
        Some(table) => {
            let below = table
                .iter()
                .filter(|quantile| scaled(jitter_ns, i64::from(**quantile)) < bound_ns);
            below.count() as f64 / ENTRIES as f64
        }
    }
}

/// `jitter * quantile / 8192`, rounded by the remainder, as the kernel computes it without 64-bit overflow.
fn scaled(jitter_ns: i64, quantile: i64) -> i64 {
    let fraction = jitter_ns % SCALE * quantile;
    let rounding = if fraction >= 0 { SCALE / 2 } else { -SCALE / 2 };
    (fraction + rounding) / SCALE + jitter_ns / SCALE * quantile
}

/// The table of a distribution, computed on first use.
fn table(distribution: Distribution) -> Option<&'static Table> {
    static NORMAL: OnceLock<Table> = OnceLock::new();
    static PARETO: OnceLock<Table> = OnceLock::new();
    static PARETONORMAL: OnceLock<Table> = OnceLock::new();
    match distribution {
        Distribution::Uniform => None,
        Distribution::Normal => Some(NORMAL.get_or_init(|| std::array::from_fn(normal_entry))),
        Distribution::Pareto => Some(PARETO.get_or_init(|| std::array::from_fn(pareto_entry))),
        Distribution::Paretonormal => {
            Some(PARETONORMAL.get_or_init(|| std::array::from_fn(paretonormal_entry)))
        }
    }
}

/// Clips a value to 16 bits.
fn entry(value: i64) -> i16 {
    value.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16
}

fn normal_entry(index: usize) -> i16 {
    entry(normal_quantile(index))
}

/// The last point of a grid of step 0.00005 at which the normal distribution function, in units of 1/16384,
/// rounds to four times `index`; not yet clipped.
fn normal_quantile(index: usize) -> i64 {
    /// Number of grid points, starting at -10.
    const POINTS: i64 = 401_000;
    let abscissa = |point: i64| -10.0 + point as f64 * 0.00005;
    let probability =
        |point: i64| 0.5 + 0.5 * libm::erf(abscissa(point) / core::f64::consts::SQRT_2);
    let is_at_most = |point: i64| libm::rint(16384.0 * probability(point)) <= 4.0 * index as f64;
    let (mut within, mut beyond) = (0, POINTS);
    while beyond - within > 1 {
        let middle = within + (beyond - within) / 2;
        if is_at_most(middle) {
            within = middle;
        } else {
            beyond = middle;
        }
    }
    libm::rint(abscissa(within) * SCALE as f64) as i64
}

/// Quantile of the Pareto distribution with shape 3 and minimum 1, minus its mean 3/2, times 4/3; counted
/// from the minimum.
fn pareto_entry(index: usize) -> i16 {
    let tail = (ENTRIES - index) as f64 / ENTRIES as f64;
    let quantile = 1.0 / libm::pow(tail, 1.0 / 3.0);
    let value = (quantile - 1.5) * (4.0 / 3.0) * SCALE as f64;
    entry(libm::rint(value.min(f64::from(i16::MAX))) as i64)
}

fn paretonormal_entry(index: usize) -> i16 {
    entry((normal_quantile(index) + 3 * i64::from(pareto_entry(index))) / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(table: &Table) -> (f64, f64) {
        let of_one = |value: &i16| f64::from(*value) / SCALE as f64;
        let mean = table.iter().map(of_one).sum::<f64>() / ENTRIES as f64;
        let squares = table.iter().map(|value| {
            let deviation = of_one(value) - mean;
            deviation * deviation
        });
        (mean, squares.sum::<f64>() / ENTRIES as f64)
    }

    #[test]
    fn the_normal_table_has_mean_0_and_variance_1() {
        let (mean, variance) = moments(table(Distribution::Normal).unwrap());
        // Entry i is the upper end of its quantile, up to 1/32768 of probability.
        assert!(mean.abs() < 0.002, "{mean}");
        assert!((variance - 1.0).abs() < 0.005, "{variance}");
    }

    #[test]
    fn the_pareto_table_has_the_moments_of_the_distribution_cut_off_at_four() {
        // v(u) = min((u^(-1/3) - 3/2) 4/3, 4), clipped where u^(-1/3) = 9/2.
        let cut: f64 = 1.0 / (4.5 * 4.5 * 4.5);
        let root = 1.0 / 4.5; // cut^(1/3)
        let mean = 6.0 * cut - 2.0 * root * root;
        let second = 16.0 / 9.0
            * (3.0 * (1.0 - root) - 4.5 * (1.0 - root * root) + 2.25 * (1.0 - cut))
            + 16.0 * cut;
        let (mean_here, variance_here) = moments(table(Distribution::Pareto).unwrap());
        assert!((mean_here - mean).abs() < 0.002, "{mean_here} {mean}");
        let variance = second - mean * mean;
        assert!(
            (variance_here - variance).abs() < 0.01,
            "{variance_here} {variance}"
        );
    }

    #[test]
    fn paretonormal_is_a_quarter_of_the_one_and_three_of_the_other() {
        let [normal, pareto, both] = [
            Distribution::Normal,
            Distribution::Pareto,
            Distribution::Paretonormal,
        ]
        .map(|distribution| table(distribution).unwrap());
        // The first entry differs: its normal quantile is clipped after mixing.
        for index in 1..ENTRIES {
            let mixture = i32::from(normal[index]) + 3 * i32::from(pareto[index]);
            assert!((i32::from(both[index]) - mixture / 4).abs() <= 1, "{index}");
        }
    }

    /// Debian's package iproute2 has the tables that tc passes to the kernel.
    #[test]
    fn the_tables_are_those_of_iproute2() {
        for distribution in [
            Distribution::Normal,
            Distribution::Pareto,
            Distribution::Paretonormal,
        ] {
            let folder = "/usr/lib/x86_64-linux-gnu/tc";
            let file = format!("{folder}/{}.dist", distribution.word());
            let Ok(text) = std::fs::read_to_string(&file) else {
                eprintln!("no {file}: not compared");
                continue;
            };
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let theirs: Vec<i32> = lines
                .flat_map(str::split_ascii_whitespace)
                .map(|word| word.parse().unwrap())
                .collect();
            let ours = table(distribution).unwrap();
            assert_eq!(theirs.len(), ENTRIES);
            let differences = ours
                .iter()
                .zip(&theirs)
                .map(|(ours, theirs)| (i32::from(*ours) - theirs).abs());
            let unequal = differences.clone().filter(|difference| *difference > 0);
            // iproute2 accumulates its grid step by step, so its points differ slightly from ours.
            assert!(differences.clone().max() <= Some(1), "{distribution:?}");
            assert!(unequal.count() <= ENTRIES / 100, "{distribution:?}");
        }
    }

    #[test]
    fn a_value_of_the_table_times_the_jitter_is_rounded() {
        assert_eq!(scaled(8192, 8192), 8192);
        assert_eq!(scaled(10_000_000, -8192), -10_000_000);
        assert_eq!(scaled(1, 4095), 0);
        assert_eq!(scaled(1, 4096), 1);
        assert_eq!(scaled(1, -4096), -1);
        assert_eq!(scaled(i64::from(i32::MAX), 32_767), 8_589_672_444);
    }
}
