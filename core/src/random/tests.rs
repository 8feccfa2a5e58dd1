//! The generator against its authors' code; the samplers against exact distributions.

use super::check::{
    assert_distributed, assert_equally_likely, assert_standard_normals, assert_z, draws,
};
use super::*;
use std::f64::consts::FRAC_1_SQRT_2;

const N: usize = 200_000;

/// Of 1 - exp(-x), accurate near 0.
fn exponential_cdf(x: f64) -> f64 {
    -libm::expm1(-x)
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

#[test]
fn known_answers_of_the_reference_implementation() {
    // xoshiro256plusplus.c of Blackman and Vigna (prng.di.unimi.it), state 1, 2, 3, 4.
    let expected = [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
        9_973_669_472_204_895_162,
        14_011_001_112_246_962_877,
        12_406_186_145_184_390_807,
        15_849_039_046_786_891_736,
        10_450_023_813_501_588_000,
    ];
    let mut stream = Stream::from_state([1, 2, 3, 4]);
    assert_eq!(expected.map(|_| stream.next_u64()), expected);
}

#[test]
fn the_state_is_the_hash_that_the_documentation_says() {
    let text = b"dumbbell stream 1\0\x07\0\0\0\0\0\0\0\x02\x01\0\0\0\0\0\0flow/a/gap";
    let bytes: [u8; 32] = Sha256::digest(text).into();
    let words = Stream::new(7, 258, "flow/a/gap").state;
    let found: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(found, bytes);
}

#[test]
fn unit_intervals_have_the_ends_they_claim() {
    assert_eq!(half_open_unit(0), 0.0);
    assert_eq!(half_open_unit(u64::MAX), 1.0 - f64::EPSILON / 2.0);
    assert_eq!(open_unit(0), f64::EPSILON / 2.0);
    assert_eq!(open_unit(u64::MAX), 1.0);
}

#[test]
fn every_bit_is_fair_and_uniforms_fill_the_interval_evenly() {
    let mut stream = Stream::new(1, 0, "bits");
    let mut ones = [0u32; 64];
    for _ in 0..N {
        let word = stream.next_u64();
        ones.iter_mut()
            .enumerate()
            .for_each(|(bit, ones)| *ones += (word >> bit & 1) as u32);
    }
    let n = N as f64;
    let z = ones.map(|ones| (f64::from(ones) - n / 2.0) / (n / 4.0).sqrt());
    assert_standard_normals(&z, "bits");

    assert_distributed(draws("uniform", N, Stream::uniform), |x| x, "uniform");
    assert_distributed(
        draws("uniform_open", N, Stream::uniform_open),
        |x| x,
        "uniform_open",
    );
    // Pairs: a square of 32 by 32 cells.
    let mut cells = [0; 1024];
    for _ in 0..N {
        let (x, y) = (stream.uniform(), stream.uniform());
        cells[(x * 32.0) as usize * 32 + (y * 32.0) as usize] += 1;
    }
    assert_equally_likely(&cells, "pairs");
}

#[test]
fn integers_below_n_are_equally_likely() {
    for n in [1, 2, 3, 10, 1000] {
        let mut stream = Stream::new(1, 0, &format!("below {n}"));
        let mut counts = vec![0; n as usize];
        (0..N).for_each(|_| counts[stream.below(n) as usize] += 1);
        if n > 1 {
            assert_equally_likely(&counts, &format!("below {n}"));
        }
    }
}

#[test]
fn integers_below_three_quarters_of_the_range_are_not_biased() {
    // Without rejection, every third value of 3 * 2^62 would be twice as likely.
    let mut stream = Stream::new(1, 0, "bias");
    let mut counts = [0; 3];
    (0..N).for_each(|_| counts[(stream.below(3 << 62) % 3) as usize] += 1);
    assert_equally_likely(&counts, "residues");
}

#[test]
#[should_panic(expected = "no integer is below 0")]
fn nothing_is_below_zero() {
    Stream::new(1, 0, "x").below(0);
}

#[test]
fn exponential_has_its_distribution() {
    let found = draws("exponential", N, Stream::exponential);
    assert!(found.iter().all(|x| *x > 0.0));
    assert_distributed(found, exponential_cdf, "exponential");
}

/// Layers near the tail, in the middle and at the top.
const LAYERS: [usize; 5] = [1, 40, 128, 250, 255];

/// z-score of how often the wedge of a layer is accepted: its share under the curve is
/// (the integral over the wedge - the rectangle below it) / the area of its box.
fn wedge_z(
    name: &str,
    (inner, outer): (f64, f64),
    (bottom, top, integral): (f64, f64, f64),
    mut accepted: impl FnMut(&mut Stream, f64) -> bool,
) -> f64 {
    let (n, width) = (N as f64, outer - inner);
    let share = (integral - width * bottom) / (width * (top - bottom));
    let mut stream = Stream::new(1, 0, name);
    let hits = (0..N).filter(|_| {
        let x = inner + width * stream.uniform();
        accepted(&mut stream, x)
    });
    (hits.count() as f64 - n * share) / (n * share * (1.0 - share)).sqrt()
}

// Wedges are so thin that a wrong one hardly moves the whole distribution.
#[test]
fn wedges_of_the_exponential_are_cut_by_its_curve() {
    let z = LAYERS.map(|layer| {
        let edge = &Tables::get().exponential.edge;
        let (inner, outer) = (edge[layer + 1], edge[layer]);
        let (bottom, top) = (libm::exp(-outer), libm::exp(-inner));
        let name = format!("exponential wedge {layer}");
        wedge_z(
            &name,
            (inner, outer),
            (bottom, top, top - bottom),
            |s, x| s.exponential_at_the_edge(layer, x).is_some(),
        )
    });
    assert_standard_normals(&z, "wedges");
}

#[test]
fn wedges_of_the_normal_are_cut_by_its_curve() {
    let z = LAYERS.map(|layer| {
        let edge = &Tables::get().normal.edge;
        let (inner, outer) = (edge[layer + 1], edge[layer]);
        let density = |x: f64| libm::exp(-0.5 * x * x);
        let area = |x: f64| (std::f64::consts::PI / 2.0).sqrt() * libm::erf(x * FRAC_1_SQRT_2);
        let curve = (density(outer), density(inner), area(outer) - area(inner));
        wedge_z(
            &format!("normal wedge {layer}"),
            (inner, outer),
            curve,
            |s, x| s.normal_at_the_edge(layer, x).is_some(),
        )
    });
    assert_standard_normals(&z, "wedges");
}

#[test]
fn exponential_has_its_tail() {
    let edge = ziggurat::EXPONENTIAL_TAIL;
    let found = draws("exponential tail", 4_000_000, Stream::exponential);
    let n = found.len() as f64;
    let beyond: Vec<f64> = found
        .into_iter()
        .filter(|x| *x > edge)
        .map(|x| x - edge)
        .collect();
    let p = libm::exp(-edge);
    assert_z(
        (beyond.len() as f64 - n * p) / (n * p).sqrt(),
        "share of the tail",
    );
    assert_distributed(beyond, exponential_cdf, "tail");
}

#[test]
fn normal_has_its_distribution() {
    let found = draws("normal", N, Stream::standard_normal);
    assert_distributed(found, normal_cdf, "normal");
}

#[test]
fn normal_has_both_its_tails() {
    let edge = ziggurat::NORMAL_TAIL;
    let found = draws("normal tail", 4_000_000, Stream::standard_normal);
    let expected = found.len() as f64 * normal_cdf(-edge);
    for sign in [-1.0, 1.0] {
        let beyond: Vec<f64> = found
            .iter()
            .map(|x| sign * x)
            .filter(|x| *x > edge)
            .collect();
        assert_z(
            (beyond.len() as f64 - expected) / expected.sqrt(),
            "share of a tail",
        );
        let cdf = |x: f64| 1.0 - normal_cdf(-x) / normal_cdf(-edge);
        assert_distributed(beyond, cdf, "tail");
    }
}

#[test]
fn normal_of_a_tail_drawn_directly() {
    // Enough draws to tell Marsaglia's tail from an exponential one.
    let found = draws("normal tail alone", N, Stream::normal_tail);
    let edge = ziggurat::NORMAL_TAIL;
    let cdf = |x: f64| 1.0 - normal_cdf(-x) / normal_cdf(-edge);
    assert_distributed(found, cdf, "tail");
}

#[test]
fn gamma_has_its_distribution() {
    let of = |shape: f64| draws(&format!("gamma {shape}"), N, |s| s.standard_gamma(shape));
    // Half of a squared normal; an exponential; the sum of three.
    assert_distributed(of(0.5), |x| libm::erf(x.sqrt()), "gamma 0.5");
    assert_distributed(of(1.0), exponential_cdf, "gamma 1");
    let erlang = |x: f64| 1.0 - libm::exp(-x) * (1.0 + x + x * x / 2.0);
    assert_distributed(of(3.0), erlang, "gamma 3");
}

#[test]
fn streams_repeat() {
    let mut first = Stream::new(1, 2, "flow/a/gap");
    let mut second = Stream::new(1, 2, "flow/a/gap");
    let mut copy = first.clone();
    for _ in 0..100 {
        let word = first.next_u64();
        assert_eq!((word, word), (second.next_u64(), copy.next_u64()));
    }
}

#[test]
fn streams_differ_by_seed_replication_and_name_and_are_not_correlated() {
    let mut streams = [
        // What sums of seed and replication confuse.
        Stream::new(1, 2, "flow/a/gap"),
        Stream::new(2, 1, "flow/a/gap"),
        Stream::new(0, 3, "flow/a/gap"),
        Stream::new(3, 0, "flow/a/gap"),
        Stream::new(1, 2, "flow/a/size"),
        Stream::new(1, 2, "flow/b/gap"),
        Stream::new(1, 2, "flow/a/gap\0"),
        Stream::new(1, 2, ""),
    ];
    let count = streams.len();
    let n = 20_000;
    let mut products = vec![0.0; count * count];
    for _ in 0..n {
        let x: Vec<f64> = streams.iter_mut().map(Stream::standard_normal).collect();
        for (i, j) in (0..count).flat_map(|i| (0..i).map(move |j| (i, j))) {
            products[i * count + j] += x[i] * x[j];
        }
    }
    let pairs = (0..count).flat_map(|i| (0..i).map(move |j| i * count + j));
    let z: Vec<f64> = pairs
        .map(|pair| products[pair] / f64::from(n).sqrt())
        .collect();
    assert_standard_normals(&z, "correlations");
}

#[test]
fn successive_draws_are_not_correlated() {
    let found = draws("serial", N, Stream::standard_normal);
    let lag = |lag: usize| {
        let products = found.iter().zip(&found[lag..]).map(|(x, y)| x * y);
        products.sum::<f64>() / ((N - lag) as f64).sqrt()
    };
    let z: Vec<f64> = (1..=20).map(lag).collect();
    assert_standard_normals(&z, "lags 1 to 20");
}
