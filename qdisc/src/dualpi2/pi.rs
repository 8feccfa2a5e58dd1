//! The base probability p' (RFC 9332 appendix A, figure 8).
//!
//! Between packets the oldest packet stays, so the delay grows by `tupdate` per update, or is 0. The
//! increments form an arithmetic progression, and p' first falls, to 0 at the lowest, and then rises. So any
//! number of updates is computed from two sums in integers, with the same result as one update after the
//! other.

use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Dualpi2 as Config;
use dumbbell_tc::qdisc::dualpi2::GAINS_PER_HZ;

/// Probability 1: nanoseconds per second times the unit of gains.
const ONE: i128 = 1_000_000_000 * GAINS_PER_HZ as i128;

/// The controller.
#[derive(Debug, Clone)]
pub(super) struct Pi {
    /// p', in units of 1 / `ONE`.
    probability: i128,
    most: i128,
    target_ns: i128,
    tupdate_ns: i128,
    /// 1/256 Hz.
    alpha: i128,
    beta: i128,
    /// `prevq`.
    delay_ns: i128,
}

impl Pi {
    pub(super) fn new(config: &Config) -> Pi {
        // Without overload drops, p' stays at or below the value at which all of L is marked.
        let most = match (config.drop_on_overload, config.coupling_factor) {
            (false, factor @ 1..) => ONE / i128::from(factor),
            _ => ONE,
        };
        Pi {
            probability: 0,
            most,
            target_ns: config.target_ns.into(),
            tupdate_ns: config.tupdate_ns.into(),
            alpha: config.alpha.into(),
            beta: config.beta.into(),
            delay_ns: 0,
        }
    }

    /// p'.
    pub(super) fn probability(&self) -> f64 {
        self.probability as f64 / ONE as f64
    }

    /// The delay at the last update.
    pub(super) fn delay(&self) -> Time {
        Time::from_ns(u64::try_from(self.delay_ns).unwrap_or(u64::MAX))
    }

    /// Applies this number of updates, at least one; the first sees this delay; None if the queues are empty.
    pub(super) fn update(&mut self, updates: u64, delay: Option<Time>) {
        let first_ns = delay.map_or(0, |delay| i128::from(delay.as_ns()));
        self.add(self.step(first_ns, self.delay_ns));
        let growth_ns = if delay.is_some() { self.tupdate_ns } else { 0 };
        let rest = i128::from(updates) - 1;
        self.delay_ns = first_ns + growth_ns * rest;
        if rest == 0 {
            return;
        }
        let first = self.step(first_ns + growth_ns, first_ns);
        let slope = self.alpha * growth_ns;
        let falling = match first {
            0.. => 0,
            _ if slope == 0 => rest,
            _ => rest.min((-first + slope - 1) / slope),
        };
        self.add(sum(first, slope, falling));
        self.add(sum(first + falling * slope, slope, rest - falling));
    }

    /// The increment of an update.
    fn step(&self, delay_ns: i128, last_ns: i128) -> i128 {
        self.alpha * (delay_ns - self.target_ns) + self.beta * (delay_ns - last_ns)
    }

    fn add(&mut self, step: i128) {
        self.probability = (self.probability + step).clamp(0, self.most);
    }
}

/// Sum of an arithmetic progression: `count` terms with difference `slope`.
fn sum(first: i128, slope: i128, count: i128) -> i128 {
    count * first + slope * (count * (count - 1) / 2)
}

#[cfg(test)]
impl Pi {
    /// Sets p'.
    pub(super) fn set(&mut self, probability: f64) {
        self.probability = (probability * ONE as f64) as i128;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pi(words: &str) -> Pi {
        match dumbbell_tc::parse_qdisc(&format!("dualpi2 {words}")) {
            Ok(dumbbell_tc::Qdisc::Dualpi2(config)) => Pi::new(&config),
            other => panic!("{words}: {other:?}"),
        }
    }

    /// Figure 8, line 3, by hand: alpha 0.25 Hz and beta 3.5 Hz.
    #[test]
    fn an_update_follows_deviation_and_trend() {
        let mut pi = pi("target 15ms alpha 0.25 beta 3.5");
        let ms = |ms: u64| Some(Time::from_ns(ms * 1_000_000));
        pi.update(1, ms(25));
        assert!((pi.probability() - (0.25 * 0.010 + 3.5 * 0.025)).abs() < 1e-12);
        pi.update(1, ms(21));
        assert!((pi.probability() - (0.09 + 0.25 * 0.006 - 3.5 * 0.004)).abs() < 1e-12);
        assert_eq!(pi.delay(), Time::from_ns(21_000_000));
        pi.update(1, None);
        assert!((pi.probability() - 0.00025).abs() < 1e-12);
        pi.update(1, None);
        assert_eq!(pi.probability(), 0.0);
    }

    /// `overflow`: p' never passes 1/k, where every packet of L is marked.
    #[test]
    fn the_probability_has_its_bound() {
        for (words, most) in [
            ("", 1.0),
            ("overflow", 0.5),
            ("overflow coupling_factor 0", 1.0),
        ] {
            let mut pi = pi(words);
            pi.update(1_000_000, Some(Time::ZERO));
            assert_eq!(pi.probability(), most, "{words}");
        }
    }

    proptest! {
        #[test]
        fn any_number_of_updates_is_one_after_the_other(
            start in 0.0..1.0f64,
            last_ms in 0..400u64,
            delay_us in prop::option::of(0..300_000u64),
            updates in 1..400u64,
            (alpha, beta) in (1..5000u32, 1..5000u32),
            (target_us, tupdate_us) in (1..200_000u64, 1..40_000u64),
        ) {
            let mut at_once = pi("");
            at_once.set(start);
            at_once.delay_ns = i128::from(last_ms) * 1_000_000;
            (at_once.alpha, at_once.beta) = (alpha.into(), beta.into());
            at_once.target_ns = i128::from(target_us) * 1000;
            at_once.tupdate_ns = i128::from(tupdate_us) * 1000;
            let mut one_by_one = at_once.clone();
            at_once.update(updates, delay_us.map(|us| Time::from_ns(us * 1000)));
            for n in 0..updates {
                let delay = delay_us.map(|us| Time::from_ns((us + n * tupdate_us) * 1000));
                one_by_one.update(1, delay);
            }
            prop_assert_eq!(at_once.probability, one_by_one.probability);
            prop_assert_eq!(at_once.delay_ns, one_by_one.delay_ns);
        }
    }
}
