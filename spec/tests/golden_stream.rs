//! The golden stream: draws that must have the same bits wherever the engine is compiled.
//!
//! `tests/golden/stream.json` is compared here, in the Python wheel
//! (`tests/test_golden_stream.py`) and in WebAssembly (`tests/wasm`). Each entry names a
//! stream and a law and holds the bits of the first draws, to be read when they differ, and
//! the SHA-256 of many, which reach the rare paths of the samplers.
//!
//! When draws are meant to change, raise the domain in `core/src/random.rs` and write the file anew:
//! `DUMBBELL_WRITE_GOLDEN=1 cargo test -p dumbbell-spec --test golden_stream`. A variable and
//! not an ignored test: those run when somebody asks for all tests, and a file that is written
//! by the test it is for protects nothing.

use dumbbell_core::random::Stream;
use dumbbell_spec::law::Law;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::{env, fs};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/stream.json");

/// A stream, a law and what it draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    seed: u64,
    replication: u64,
    component: String,
    /// As text, so that every reader hands the engine the same characters.
    law: String,
    /// How many draws the hash covers.
    count: usize,
    /// Bits of the first draws, in hexadecimal.
    first: Vec<String>,
    /// Of the bits of all draws, each in little-endian order.
    sha256: String,
}

fn read() -> Vec<Entry> {
    let text = fs::read_to_string(PATH).expect("the golden file is there");
    serde_json::from_str(&text).expect("the golden file can be read")
}

fn law(entry: &Entry) -> Law {
    let law: Law = serde_json::from_str(&entry.law).expect("a law");
    law.validate().expect("a law within its ranges");
    law
}

fn draws(entry: &Entry) -> Vec<f64> {
    let mut stream = Stream::new(entry.seed, entry.replication, &entry.component);
    let law = law(entry);
    (0..entry.count).map(|_| law.draw(&mut stream)).collect()
}

/// The entry as this build would write it.
fn drawn(entry: &Entry) -> Entry {
    let bits: Vec<u64> = draws(entry).into_iter().map(f64::to_bits).collect();
    let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let hash = Sha256::digest(&bytes);
    Entry {
        first: bits
            .iter()
            .take(16)
            .map(|bits| format!("{bits:016x}"))
            .collect(),
        sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        ..entry.clone()
    }
}

#[test]
fn draws_are_the_golden_ones() {
    let entries = read();
    let found: Vec<Entry> = entries.iter().map(drawn).collect();
    if env::var_os("DUMBBELL_WRITE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("entries are plain");
        fs::write(PATH, text + "\n").expect("the golden file can be written");
        panic!("wrote the golden file: look at the difference, then test without the variable");
    }
    for (found, entry) in found.iter().zip(&entries) {
        assert_eq!(found, entry);
    }
}

#[test]
fn every_law_and_both_tails_are_in_the_file() {
    let entries = read();
    let of = |name: &str| {
        let tag = format!(r#"{{"law":"{name}","#);
        entries
            .iter()
            .filter(move |entry| entry.law.starts_with(&tag))
    };
    let all = "constant exponential gamma lognormal normal pareto uniform weibull";
    let found: BTreeSet<&str> = all.split(' ').filter(|name| of(name).count() > 0).collect();
    assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), all);

    // Beyond the last layer of the ziggurat, in units of the mean and of the deviation.
    let beyond_exponential = of("exponential").any(|entry| {
        let mean = law(entry).mean().expect("finite");
        draws(entry).into_iter().any(|x| x > 7.7 * mean)
    });
    let beyond_normal = of("normal").any(|entry| match law(entry) {
        Law::Normal { mean, sd } => draws(entry).into_iter().any(|x| x > mean + 3.66 * sd),
        _ => false,
    });
    assert!(beyond_exponential && beyond_normal);
}
