//! Moments and distributions against closed forms; reading, ranges and extremes.

use super::*;
use dumbbell_core::random::check::{assert_distributed, assert_standard_normals};
use proptest::prelude::*;

/// One of each, with finite fourth moments.
fn laws() -> Vec<Law> {
    let texts = [
        r#"{"law":"exponential","mean":512.0}"#,
        r#"{"law":"constant","value":3.5}"#,
        r#"{"law":"uniform","low":2.0,"high":5.0}"#,
        r#"{"law":"pareto","shape":9.0,"scale":0.1}"#,
        r#"{"law":"normal","mean":10.0,"sd":2.0}"#,
        // A third of its draws are below 0; half of the next one's.
        r#"{"law":"normal","mean":1.0,"sd":2.5}"#,
        r#"{"law":"normal","mean":0.0,"sd":1.0}"#,
        r#"{"law":"lognormal","mu":-1.0,"sigma":0.5}"#,
        r#"{"law":"gamma","shape":0.3,"scale":7.0}"#,
        r#"{"law":"gamma","shape":4.5,"scale":0.001}"#,
        r#"{"law":"weibull","shape":0.8,"scale":2.0}"#,
        r#"{"law":"weibull","shape":3.0,"scale":2.0}"#,
    ];
    let read = |text: &&str| {
        let law: Law = serde_json::from_str(text).unwrap();
        assert_eq!(&serde_json::to_string(&law).unwrap(), text);
        law.validate().unwrap();
        law
    };
    texts.iter().map(read).collect()
}

fn draws(law: &Law, replication: u64, n: usize) -> Vec<f64> {
    let mut stream = Stream::new(1, replication, "law");
    (0..n).map(|_| law.draw(&mut stream)).collect()
}

/// z-scores, one a replication, of the mean of a power of the draws; the spread is the
/// draws' own.
fn z_scores(law: &Law, power: i32, expected: f64) -> Vec<f64> {
    let n = 50_000;
    let score = |replication| {
        let powers = draws(law, replication, n)
            .into_iter()
            .map(|x| x.powi(power));
        let powers: Vec<f64> = powers.collect();
        let mean = powers.iter().sum::<f64>() / n as f64;
        let squares: f64 = powers.iter().map(|x| (x - mean).powi(2)).sum();
        (mean - expected) / (squares / (n * (n - 1)) as f64).sqrt()
    };
    (0..10).map(score).collect()
}

#[test]
fn first_and_second_moments_are_those_drawn() {
    for law in laws() {
        let (mean, second) = (law.mean().unwrap(), law.second_moment().unwrap());
        if let Law::Constant { value } = law {
            assert_eq!((mean, second), (value, value * value));
            assert_eq!(draws(&law, 0, 2), [value, value]);
            continue;
        }
        let what = format!("{law:?}");
        assert_standard_normals(&z_scores(&law, 1, mean), &format!("mean of {what}"));
        assert_standard_normals(&z_scores(&law, 2, second), &format!("square of {what}"));
    }
}

/// Whether a law, given as text, has the distribution function.
fn assert_law(text: &str, cdf: impl Fn(f64) -> f64) {
    let law: Law = serde_json::from_str(text).unwrap();
    assert_distributed(draws(&law, 0, 200_000), cdf, text);
}

#[test]
fn distributions_are_exact() {
    let r = std::f64::consts::FRAC_1_SQRT_2;
    let normal = |z: f64| 0.5 * libm::erfc(-z * r);
    assert_law(r#"{"law":"exponential","mean":4}"#, |x| {
        -libm::expm1(-x / 4.0)
    });
    assert_law(r#"{"law":"uniform","low":2,"high":5}"#, |x| (x - 2.0) / 3.0);
    assert_law(r#"{"law":"pareto","shape":1.2,"scale":3}"#, |x| {
        1.0 - libm::pow(3.0 / x, 1.2)
    });
    assert_law(r#"{"law":"normal","mean":10,"sd":1.5}"#, |x| {
        normal((x - 10.0) / 1.5)
    });
    assert_law(r#"{"law":"lognormal","mu":2,"sigma":0.7}"#, |x| {
        normal((libm::log(x) - 2.0) / 0.7)
    });
    assert_law(r#"{"law":"gamma","shape":2,"scale":6}"#, |x| {
        1.0 - libm::exp(-x / 6.0) * (1.0 + x / 6.0)
    });
    assert_law(r#"{"law":"weibull","shape":0.5,"scale":2}"#, |x| {
        -libm::expm1(-(x / 2.0).sqrt())
    });
}

#[test]
fn normal_draws_below_zero_are_zero_and_the_others_as_they_were() {
    let (mean, sd) = (1.0, 2.0);
    let mut stream = Stream::new(1, 0, "law");
    for drawn in draws(&Law::Normal { mean, sd }, 0, 1000) {
        let normal = mean + sd * stream.standard_normal();
        let expected = if normal < 0.0 { 0.0 } else { normal };
        assert_eq!(drawn.to_bits(), expected.to_bits());
    }
}

#[test]
fn moments_of_pareto_become_infinite_at_their_shapes() {
    let of = |shape| Law::Pareto { shape, scale: 2.0 };
    assert_eq!(of(1.0).mean(), None);
    assert_eq!(of(1.5).mean(), Some(6.0));
    assert_eq!(of(2.0).second_moment(), None);
    assert_eq!(of(3.0).second_moment(), Some(12.0));
}

#[test]
fn a_normal_without_spread_is_constant() {
    let law = Law::Normal { mean: 3.0, sd: 0.0 };
    assert_eq!((law.mean(), law.second_moment()), (Some(3.0), Some(9.0)));
    assert_eq!(draws(&law, 0, 3), [3.0; 3]);
}

#[test]
fn whole_numbers_are_numbers_and_order_is_free() {
    let law: Law = serde_json::from_str(r#"{"mean":2,"law":"exponential"}"#).unwrap();
    assert_eq!(law, Law::Exponential { mean: 2.0 });
}

#[test]
fn what_is_not_a_law_is_refused() {
    for (text, said) in [
        (
            r#"{"law":"exponential","mean":1,"sd":2}"#,
            "unknown field `sd`",
        ),
        (r#"{"law":"exponential"}"#, "missing field `mean`"),
        (r#"{"law":"exponential","mean":null}"#, "invalid type"),
        (r#"{"law":"exponential","mean":1e999}"#, "out of range"),
        (r#"{"law":"zipf","mean":1}"#, "unknown variant `zipf`"),
        (r#"{"mean":1}"#, "missing field `law`"),
    ] {
        let error = serde_json::from_str::<Law>(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
#[rustfmt::skip] // A table.
fn parameters_outside_their_range_are_named() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (law, field, value) in [
        (Law::Exponential { mean: 0.0 }, "mean", "0"),
        (Law::Exponential { mean: nan }, "mean", "NaN"),
        (Law::Constant { value: -1.0 }, "value", "-1"),
        (Law::Uniform { low: -1.0, high: 2.0 }, "low", "-1"),
        (Law::Uniform { low: 2.0, high: 2.0 }, "high", "2"),
        (Law::Uniform { low: 0.0, high: inf }, "high", "inf"),
        (Law::Pareto { shape: 0.0, scale: 1.0 }, "shape", "0"),
        (Law::Pareto { shape: 1.0, scale: inf }, "scale", "inf"),
        (Law::Normal { mean: -1.0, sd: 1.0 }, "mean", "-1"),
        (Law::Normal { mean: 1.0, sd: -1.0 }, "sd", "-1"),
        (Law::Lognormal { mu: nan, sigma: 1.0 }, "mu", "NaN"),
        (Law::Lognormal { mu: 0.0, sigma: -0.5 }, "sigma", "-0.5"),
        (Law::Gamma { shape: -2.0, scale: 1.0 }, "shape", "-2"),
        (Law::Weibull { shape: 1.0, scale: 0.0 }, "scale", "0"),
    ] {
        let error = law.validate().unwrap_err();
        assert_eq!((error.field, error.value.as_str()), (field, value), "{law:?}");
        assert!(error.allowed.contains("finite number"));
    }
}

/// Any law that passes the checks, extreme parameters included.
fn any_law() -> impl Strategy<Value = Law> {
    let number = prop_oneof![
        0.0f64..10.0,
        Just(0.0),
        Just(5e-324),
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
    ];
    let law = (0..8, number.clone(), number).prop_map(|(which, a, b)| match which {
        0 => Law::Exponential { mean: a },
        1 => Law::Constant { value: a },
        2 => Law::Uniform { low: a, high: b },
        3 => Law::Pareto { shape: a, scale: b },
        4 => Law::Normal { mean: a, sd: b },
        5 => Law::Lognormal {
            mu: a - b,
            sigma: b,
        },
        6 => Law::Gamma { shape: a, scale: b },
        _ => Law::Weibull { shape: a, scale: b },
    });
    law.prop_filter("in range", |law| law.validate().is_ok())
}

proptest! {
    #[test]
    fn no_law_draws_below_zero_or_nan(law in any_law(), seed: u64) {
        let mut stream = Stream::new(seed, 0, "any");
        for _ in 0..50 {
            let drawn = law.draw(&mut stream);
            prop_assert!(drawn >= 0.0 && drawn.is_sign_positive(), "{:?} drew {}", law, drawn);
        }
    }

    #[test]
    fn moments_are_numbers_and_obey_jensen(law in any_law()) {
        let (mean, second) = (law.mean(), law.second_moment());
        prop_assert!(mean.is_none_or(|mean| mean >= 0.0 && mean.is_finite()), "{:?}", mean);
        if let (Some(mean), Some(second)) = (mean, second) {
            // The mean of the square is at least the square of the mean.
            prop_assert!(second >= mean * mean * (1.0 - 1e-9), "{} {}", mean, second);
        }
    }
}
