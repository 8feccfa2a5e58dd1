//! `prio`: bands in strict priority (tc-prio(8), iproute2 `tc/q_prio.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `bands N` (3), 2 to 16 | yes |
//! | `priomap P1 ... P16` (1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1), or fewer | yes |
//! | `multiqueue` (no effect in kernels since 2.6.27) | no |
//! | a discipline in class `H:N`, band N - 1 | yes; by default a pfifo of 1000 packets |
//! | filters that name the class | yes, see `Filter` |

use super::words::{Token, Words};
use super::{
    Bounds, Branch, Device, Discipline, Field, Filter, Grammar, Options, Parameter, Qdisc,
    QdiscError, Value, filter,
};
use crate::c_numbers::Base;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kernel's map from packet priority to band (`prio2band`, `sch_generic.c`).
pub const PRIOMAP: [u8; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
pub(super) const DEFAULT_BANDS: u8 = 3;

/// Bands in strict priority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prio {
    /// Number of bands, 2 to 16.
    pub bands: u8,
    /// The band of each of the 16 priorities, which follow from the TOS byte.
    pub priomap: [u8; 16],
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
    default: Value::Number(DEFAULT_BANDS as u64),
    default_source: "tc",
    range: "2 to 16",
    bounds: Bounds::within(2, 16),
    effect: "Number of bands; a band sends only when all lower-numbered bands are empty.",
};

pub(super) const MAP: Parameter = Parameter {
    name: "priomap",
    aliases: &[],
    argument: "P1 [ P2 ... P16 ]",
    key: "priomap",
    unit: "band",
    default: Value::Numbers(&[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]),
    default_source: "tc",
    range: "up to 16 numbers below bands; priorities not listed keep the default, which needs 3 bands",
    bounds: Bounds::NONE,
    effect: "The band of each priority that Linux gives a packet by its TOS byte: 0 best effort, \
             2 bulk (TOS 0x08), 6 interactive (0x10), 4 both.",
};

/// What `prio` and `ets` have in common: each band is a class, which may have a discipline, and filters
/// choose among them.
macro_rules! of_bands {
    () => {
        fn shaped_bps(&self) -> u64 {
            $crate::qdisc::prio::shaped_together_bps(self.children.iter().map(Option::as_deref))
        }

        fn branches(&self) -> Vec<Branch<'_>> {
            $crate::qdisc::prio::branches_of(&self.children)
        }

        fn class(&self, minor: u16) -> Option<u16> {
            (1..=u16::from(self.bands))
                .contains(&minor)
                .then_some(minor)
        }

        fn slot(&mut self, minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
            self.children.get_mut(usize::from(minor).checked_sub(1)?)
        }

        fn filters(&self) -> &[Filter] {
            &self.filters
        }

        fn filters_mut(&mut self) -> Option<&mut Vec<Filter>> {
            Some(&mut self.filters)
        }
    };
}
pub(super) use of_bands;

impl Grammar for Prio {
    const DISCIPLINE: Discipline = Discipline {
        name: "prio",
        summary: "Strict priority: the first band with a packet sends.",
        source: "tc-prio(8); iproute2 tc/q_prio.c; Linux net/sched/sch_prio.c, net/ipv4/route.c",
        parameters: &[BANDS, MAP],
        not_implemented: &["multiqueue"],
        once: &["priomap"],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Prio, QdiscError> {
        let mut bands = i128::from(DEFAULT_BANDS);
        let mut map = PRIOMAP;
        // Number of values read after `priomap`; `bands` may follow among them.
        let mut given = None;
        while let Some(token) = words.token()? {
            match (token, given) {
                (Token::Parameter(parameter), _) if parameter.name == "bands" => {
                    bands = words.bands(parameter)?;
                }
                (Token::Parameter(_), _) => given = Some(0),
                (Token::Value(word), None) => return Err(words.unknown(word)),
                (Token::Value(word), Some(index)) => {
                    let band = words.unsigned_of(&MAP, Base::Ten, word)?;
                    // tc compares unsigned: with a negative number of bands every band is valid.
                    let is_band = i128::from(band) < bands || bands < 0;
                    let place = map.get_mut(index).filter(|_| is_band);
                    let place = place.ok_or_else(|| Prio::DISCIPLINE.out_of_range(&MAP, word))?;
                    *place = u8::try_from(band).unwrap_or(u8::MAX);
                    given = Some(index + 1);
                }
            }
        }
        let out_of_range = |_| Prio::DISCIPLINE.out_of_range(&BANDS, bands);
        let bands = u8::try_from(bands).map_err(out_of_range)?;
        let prio = Prio {
            bands,
            priomap: map,
            children: vec![None; usize::from(bands)],
            filters: Vec::new(),
        };
        prio.check()?;
        Ok(prio)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value| Err(Prio::DISCIPLINE.out_of_range(parameter, value));
        if !(2..=16).contains(&self.bands) {
            return refuse(&BANDS, u64::from(self.bands));
        }
        if let Some(band) = self.priomap.iter().find(|band| **band >= self.bands) {
            return refuse(&MAP, u64::from(*band));
        }
        if self.children.len() != usize::from(self.bands) {
            return refuse(&BANDS, self.children.len() as u64);
        }
        filter::check("prio", &self.filters)
    }

    fn options(&self, _: Device) -> Options {
        bands_options(self.bands, &self.priomap)
    }

    of_bands!();
}

/// Sum of the rates of all bands, or classes; 0 if one of them is not shaped.
pub(super) fn shaped_together_bps<'a>(bands: impl IntoIterator<Item = Option<&'a Qdisc>>) -> u64 {
    let bands = bands.into_iter();
    let mut bands = bands.map(|child| child.map_or(0, Qdisc::shaped_bps));
    let sum = |sum: u64, band_bps| (band_bps > 0).then(|| sum.saturating_add(band_bps));
    bands.try_fold(0, sum).unwrap_or(0)
}

/// The disciplines of the bands that have one, with the class of the band.
pub(super) fn branches_of(bands: &[Option<Box<Qdisc>>]) -> Vec<Branch<'_>> {
    let branches = (1..).zip(bands).filter_map(|(minor, child)| {
        let child = child.as_deref()?;
        Some(Branch {
            minor,
            child,
            takes_every_packet: false,
        })
    });
    branches.collect()
}

/// Options as `q_prio.c` prints them.
pub(super) fn bands_options(bands: u8, priomap: &[u8; 16]) -> Options {
    let numbers: Vec<String> = priomap.iter().map(u8::to_string).collect();
    let text = format!("priomap {}", numbers.join(" "));
    Options::default()
        .show("bands", u32::from(bands), &format!("bands {bands} "))
        .show(
            "priomap",
            Field::Numbers(priomap.map(u32::from).to_vec()),
            &text,
        )
        .show("multiqueue", Field::Flag(false), "")
}

impl fmt::Display for Prio {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "prio bands {} priomap", self.bands)?;
        self.priomap
            .iter()
            .try_for_each(|band| write!(f, " {band}"))
    }
}
