//! `ets`: strict-priority bands followed by bands that share by quanta (tc-ets(8), iproute2 `tc/q_ets.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `bands N`, 1 to 16; default: the number that `strict` and `quanta` name | yes |
//! | `strict N`: the first N bands | yes |
//! | `quanta Q1 Q2 ...` of the bands after those; 1514 bytes (Ethernet's MTU) for bands not listed | yes |
//! | `priomap P1 ... P16`; the last band for priorities not listed | yes |
//! | `tc class change ... ets quantum Q` | no, `class change` is not implemented |
//! | a discipline in class `H:N`, band N - 1 | yes; by default a pfifo of 1000 packets |
//! | filters that name the class | yes, see `Filter` |

use super::words::{Token, Words};
use super::{
    Bounds, Branch, Device, Discipline, Field, Filter, Grammar, Options, Parameter, Qdisc,
    QdiscError, Value, filter, prio,
};
use crate::c_numbers::Base;
use crate::reason::Reason;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `TCQ_ETS_MAX_BANDS`.
const MOST_BANDS: u8 = 16;
/// Ethernet's MTU and header.
const DEFAULT_QUANTUM_BYTES: u32 = 1514;
const PRIORITIES: usize = 16;

/// Strict bands, then bands that share by quanta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ets {
    /// Number of bands, 1 to 16.
    pub bands: u8,
    /// Number of strict bands, which are the first ones.
    pub strict: u8,
    /// Quantum of each band after the strict ones, bytes, at least 1.
    pub quanta_bytes: Vec<u32>,
    /// The band of each of the 16 priorities, which follow from the TOS byte.
    pub priomap: [u8; PRIORITIES],
    /// The discipline of each band; None for the `pfifo` that the kernel attaches.
    pub children: Vec<Option<Box<Qdisc>>>,
    /// In the order in which they are evaluated.
    pub filters: Vec<Filter>,
}

const BANDS: Parameter = Parameter {
    name: "bands",
    aliases: &[],
    argument: "N",
    key: "bands",
    unit: "bands",
    default: Value::Number(3),
    default_source: "required without strict and quanta",
    range: "1 to 16, at least the number that strict and quanta name",
    bounds: Bounds::within(1, MOST_BANDS as i64),
    effect: "Number of bands. Bands that are not strict share what the strict ones leave.",
};

const STRICT: Parameter = Parameter {
    name: "strict",
    aliases: &[],
    argument: "N",
    key: "strict",
    unit: "bands",
    default: Value::Number(0),
    default_source: "tc",
    range: "0 to 16",
    bounds: Bounds::within(0, MOST_BANDS as i64),
    effect: "The first N bands are strict: each sends only while those before it are empty.",
};

const QUANTA: Parameter = Parameter {
    name: "quanta",
    aliases: &[],
    argument: "BYTES [ BYTES ... ]",
    key: "quanta_bytes",
    unit: "bytes",
    default: Value::Numbers(&[1514, 1514, 1514]),
    default_source: "the interface's MTU and header",
    range: "numbers from 1 to 4294967295 without unit, at most one for each band that is not strict",
    bounds: Bounds::NONE,
    effect: "Bytes that a band may send per round (deficit round robin): bands share in proportion.",
};

const MAP: Parameter = Parameter {
    default: Value::Numbers(&[2; PRIORITIES]),
    default_source: "the last band",
    range: "up to 16 numbers below bands; priorities not listed get the last band",
    ..prio::MAP
};

/// The parameter that a bare number belongs to.
#[derive(Clone, Copy)]
enum List {
    Quanta,
    Priomap,
}

impl Grammar for Ets {
    const DISCIPLINE: Discipline = Discipline {
        name: "ets",
        summary: "Strict bands first, then bands that share by quanta (IEEE 802.1Qaz).",
        source: "tc-ets(8); iproute2 tc/q_ets.c; Linux net/sched/sch_ets.c",
        parameters: &[BANDS, STRICT, QUANTA, MAP],
        not_implemented: &[],
        once: &["quanta", "priomap"],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Ets, QdiscError> {
        let (mut bands, mut strict) = (0, 0);
        let (mut quanta, mut map) = (Vec::new(), Vec::new());
        let mut list = None;
        while let Some(token) = words.token()? {
            match (token, list) {
                (Token::Parameter(parameter), _) if parameter.name == BANDS.name => {
                    bands = number_of_bands(words, &BANDS, bands)?;
                    list = None;
                }
                (Token::Parameter(parameter), _) if parameter.name == STRICT.name => {
                    strict = number_of_bands(words, &STRICT, strict)?;
                    list = None;
                }
                (Token::Parameter(parameter), _) if parameter.name == QUANTA.name => {
                    quanta.push(quantum(words.unsigned(&QUANTA, Base::Ten)?)?);
                    list = Some(List::Quanta);
                }
                (Token::Parameter(_), _) => {
                    map.push(words.unsigned(&MAP, Base::Ten)?);
                    list = Some(List::Priomap);
                }
                (Token::Value(word), Some(List::Quanta)) => {
                    quanta.push(quantum(words.unsigned_of(&QUANTA, Base::Ten, word)?)?);
                }
                (Token::Value(word), Some(List::Priomap)) => {
                    map.push(words.unsigned_of(&MAP, Base::Ten, word)?);
                }
                (Token::Value(word), None) => return Err(words.unknown(word)),
            }
        }
        let named = usize::from(strict) + quanta.len();
        let bands = match bands {
            0 if named == 0 => {
                words.require(&BANDS, "without strict and quanta")?;
                return Err(Ets::DISCIPLINE.out_of_range(&BANDS, 0));
            }
            0 => u8::try_from(named).map_err(|_| too_many(named))?,
            bands => bands,
        };
        if named > usize::from(bands) {
            return Err(too_many(named));
        }
        quanta.resize(usize::from(bands - strict), DEFAULT_QUANTUM_BYTES);
        let ets = Ets {
            bands,
            strict,
            quanta_bytes: quanta,
            priomap: priomap_of(&map, bands)?,
            children: vec![None; usize::from(bands)],
            filters: Vec::new(),
        };
        ets.check()?;
        Ok(ets)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value| Err(Ets::DISCIPLINE.out_of_range(parameter, value));
        if !(1..=MOST_BANDS).contains(&self.bands) {
            return refuse(&BANDS, u64::from(self.bands));
        }
        let shared = self.bands.checked_sub(self.strict);
        let Some(shared) = shared else {
            return refuse(&STRICT, u64::from(self.strict));
        };
        if self.quanta_bytes.len() != usize::from(shared) {
            return refuse(&QUANTA, self.quanta_bytes.len() as u64);
        }
        if self.quanta_bytes.contains(&0) {
            return refuse(&QUANTA, 0);
        }
        if let Some(band) = self.priomap.iter().find(|band| **band >= self.bands) {
            return refuse(&MAP, u64::from(*band));
        }
        if self.children.len() != usize::from(self.bands) {
            return refuse(&BANDS, self.children.len() as u64);
        }
        filter::check("ets", &self.filters)
    }

    fn options(&self, _: Device) -> Options {
        let bands = u32::from(self.bands);
        let mut options = Options::default().show("bands", bands, &format!("bands {bands} "));
        if self.strict > 0 {
            let strict = u32::from(self.strict);
            options = options.show("strict", strict, &format!("strict {strict} "));
        }
        if !self.quanta_bytes.is_empty() {
            let quanta = Field::Numbers(self.quanta_bytes.clone());
            options = options.show("quanta", quanta, &listed("quanta", &self.quanta_bytes));
        }
        let map = self.priomap.map(u32::from);
        options.show(
            "priomap",
            Field::Numbers(map.to_vec()),
            &listed("priomap", &map),
        )
    }

    prio::of_bands!();
}

/// The number after `bands` or `strict`. tc accepts it once, and treats 0 as not given.
fn number_of_bands(
    words: &mut Words,
    parameter: &'static Parameter,
    before: u8,
) -> Result<u8, QdiscError> {
    if before > 0 {
        words.refuse_again(parameter)?;
    }
    let number = words.unsigned(parameter, Base::Ten)?;
    match u8::try_from(number) {
        Ok(bands) if bands <= MOST_BANDS => Ok(bands),
        _ => Err(Ets::DISCIPLINE.out_of_range(parameter, number)),
    }
}

fn quantum(bytes: u32) -> Result<u32, QdiscError> {
    match bytes {
        0 => Err(Ets::DISCIPLINE.out_of_range(&QUANTA, 0)),
        bytes => Ok(bytes),
    }
}

/// `strict` and `quanta` name more bands than `bands`.
fn too_many(named: usize) -> QdiscError {
    Ets::DISCIPLINE.out_of_range(&BANDS, named)
}

fn priomap_of(given: &[u32], bands: u8) -> Result<[u8; PRIORITIES], QdiscError> {
    let mut map = [bands.saturating_sub(1); PRIORITIES];
    for (index, number) in given.iter().enumerate() {
        // tc keeps only its last eight bits.
        let wraps = |_| Ets::DISCIPLINE.not_taken(&MAP, number, Reason::Wraps);
        let band = u8::try_from(*number).map_err(wraps)?;
        let place = map.get_mut(index).filter(|_| band < bands);
        *place.ok_or_else(|| Ets::DISCIPLINE.out_of_range(&MAP, number))? = band;
    }
    Ok(map)
}

/// As tc prints it: a word and its numbers.
fn listed(word: &str, numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    format!("{word} {} ", numbers.join(" "))
}

impl fmt::Display for Ets {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ets bands {}", self.bands)?;
        if self.strict > 0 {
            write!(f, " strict {}", self.strict)?;
        }
        if !self.quanta_bytes.is_empty() {
            f.write_str(" quanta")?;
            self.quanta_bytes
                .iter()
                .try_for_each(|bytes| write!(f, " {bytes}"))?;
        }
        f.write_str(" priomap")?;
        self.priomap
            .iter()
            .try_for_each(|band| write!(f, " {band}"))
    }
}
