//! `drr`: classes that share the link by quanta (tc-drr(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | `drr` without parameters: the `quantum` that tc-drr(8) shows belongs to classes; tc accepts none here | yes |
//! | class: `quantum SIZE` (the interface's MTU and header, 1514 bytes) | yes |
//! | filters that name the class; a packet that no filter matches is dropped | yes, see `Filter` |
//! | a discipline in a class | yes; by default a pfifo of 1000 packets |
//! | filter `flow`, by which packets are hashed into classes | no |

use super::classes::{self, Class};
use super::words::Words;
use super::{
    Bounds, Branch, Device, Discipline, Filter, Grammar, Options, Parameter, Qdisc, QdiscError,
    Value, filter, prio,
};
use crate::notice::Notice;
use crate::units::format_size;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Ethernet's MTU and header.
const DEFAULT_QUANTUM_BYTES: u32 = 1514;

/// Classes served by deficit round robin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drr {
    /// In the order of their lines.
    pub classes: Vec<DrrClass>,
    /// In the order in which they are evaluated.
    pub filters: Vec<Filter>,
}

/// A class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrClass {
    /// Its number, at least 1.
    pub minor: u16,
    /// Quantum in bytes, at least 1.
    pub quantum_bytes: u32,
    /// The discipline of its queue; None for the `pfifo` that the kernel attaches.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub child: Option<Box<Qdisc>>,
}

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    aliases: &[],
    argument: "SIZE",
    key: "quantum_bytes",
    unit: "bytes",
    default: Value::Number(DEFAULT_QUANTUM_BYTES as u64),
    default_source: "the interface's MTU and header",
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Bytes that a class may send per round: classes share the link in proportion to their quanta.",
};

/// The words after `class add ... classid H:C drr`.
static CLASS: Discipline = Discipline {
    name: "drr class",
    summary: "A class of a drr: `class add dev X parent H: classid H:C drr ...`.",
    source: "tc-drr(8)",
    parameters: &[QUANTUM],
    not_implemented: &[],
    once: &[],
    abbreviated: &[],
};

impl Grammar for Drr {
    const DISCIPLINE: Discipline = Discipline {
        name: "drr",
        summary: "Deficit round robin: filters assign packets to classes, which share the link by quanta.",
        source: "tc-drr(8)",
        parameters: &[],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };
    const CLASS: Option<&'static Discipline> = Some(&CLASS);

    fn parse(words: &mut Words) -> Result<Drr, QdiscError> {
        match words.parameter()? {
            Some(parameter) => Err(words.unknown(parameter.name)),
            None => Ok(Drr {
                classes: Vec::new(),
                filters: Vec::new(),
            }),
        }
    }

    fn check(&self) -> Result<(), QdiscError> {
        self.classes.iter().try_for_each(DrrClass::check)?;
        classes::check_places(&self.classes)?;
        filter::check("drr", &self.filters)
    }

    fn options(&self, _: Device) -> Options {
        Options::default()
    }

    fn shaped_bps(&self) -> u64 {
        prio::shaped_together_bps(self.classes.iter().map(DrrClass::child))
    }

    fn branches(&self) -> Vec<Branch<'_>> {
        classes::branches(&self.classes)
    }

    fn class(&self, minor: u16) -> Option<u16> {
        classes::is_leaf(&self.classes, minor).then_some(minor)
    }

    fn slot(&mut self, minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
        classes::slot(&mut self.classes, minor)
    }

    fn class_lines(&self, handle: u16) -> Vec<String> {
        classes::lines(&self.classes, handle)
    }

    fn add_class(
        &mut self,
        minor: u16,
        parent_minor: u16,
        words: &str,
    ) -> Result<Vec<Notice>, QdiscError> {
        if parent_minor != 0 {
            return Err(QdiscError::OutOfRange {
                discipline: DrrClass::NAME,
                parameter: "parent",
                value: format!("{parent_minor:x}"),
                allowed: "the discipline itself, H: (a drr in a class makes a tree)".to_owned(),
                hint: None,
            });
        }
        let mut words = Words::new(&CLASS, words.split_ascii_whitespace());
        let mut quantum_bytes = DEFAULT_QUANTUM_BYTES;
        while let Some(parameter) = words.parameter()? {
            quantum_bytes = words.any_size_bytes(parameter)?;
        }
        let class = DrrClass {
            minor,
            quantum_bytes,
            child: None,
        };
        class.check()?;
        self.classes.push(class);
        classes::check_places(&self.classes)?;
        Ok(words.into_notices())
    }

    fn filters(&self) -> &[Filter] {
        &self.filters
    }

    fn filters_mut(&mut self) -> Option<&mut Vec<Filter>> {
        Some(&mut self.filters)
    }
}

impl DrrClass {
    fn check(&self) -> Result<(), QdiscError> {
        match self.quantum_bytes {
            0 => Err(CLASS.out_of_range(&QUANTUM, 0)),
            _ => Ok(()),
        }
    }
}

impl Class for DrrClass {
    const NAME: &'static str = "drr class";

    fn minor(&self) -> u16 {
        self.minor
    }

    fn parent_minor(&self) -> u16 {
        0
    }

    fn child(&self) -> Option<&Qdisc> {
        self.child.as_deref()
    }

    fn child_mut(&mut self) -> &mut Option<Box<Qdisc>> {
        &mut self.child
    }
}

impl fmt::Display for Drr {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("drr")
    }
}

impl fmt::Display for DrrClass {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let quantum = format_size(u64::from(self.quantum_bytes));
        write!(f, "drr quantum {quantum}")
    }
}
