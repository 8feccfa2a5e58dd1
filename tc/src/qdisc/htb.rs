//! `htb`: classes with an own rate that borrow from their parents (tc-htb(8), iproute2 `tc/q_htb.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `default C` (hexadecimal), `r2q N` (10), `direct_qlen P` (1000, txqueuelen) | yes |
//! | class: `rate` (required), `ceil` (the rate), `prio` (0), `quantum` (rate / r2q, 1000 to 200000) | yes |
//! | class: `burst`, `cburst`; default rate / HZ of the clock (10^9) + `mtu` (1600) | yes |
//! | a discipline in a leaf | yes; by default a pfifo of 1000 packets |
//! | filters at the root of the tree | yes, see `Filter` |
//! | `mpu`, `overhead`, `linklayer`, `offload`, `BURST/CELL` | no |
//! | a class whose parent does not exist (the kernel silently makes it a root) | refused |

use super::classes::{self, Class};
use super::words::Words;
use super::{
    Bounds, Branch, Device, Discipline, Filter, Grammar, Options, Parameter, Qdisc, QdiscError,
    Value, filter, tbf,
};
use crate::c_numbers::Base;
use crate::notice::Notice;
use crate::reason::Reason;
use crate::units::in_tc::{fits_ticks, is_rate};
use crate::units::{format_rate, format_size};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `get_hz` of tc with high-resolution timers.
const CLOCK_HZ: u64 = 1_000_000_000;
const DEFAULT_MTU_BYTES: u32 = 1600;
const LARGEST_R2Q: u32 = i32::MAX as u32;
/// Priorities of leaves (`TC_HTB_NUMPRIO`).
const PRIORITIES: u8 = 8;

/// A tree of token buckets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Htb {
    /// The class of unmatched packets; 0 for none: they pass unshaped.
    pub default_minor: u16,
    /// A leaf's quantum is its rate in bytes per second over this; at least 1.
    pub r2q: u32,
    /// Limit of the queue of unshaped packets.
    pub direct_qlen_packets: u32,
    /// Parents before their children.
    pub classes: Vec<HtbClass>,
    /// In the order in which they are evaluated.
    pub filters: Vec<Filter>,
}

/// A class of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbClass {
    /// Its number in the tree, at least 1.
    pub minor: u16,
    /// The class it borrows from; 0 at the root.
    pub parent_minor: u16,
    /// Guaranteed rate, bit/s, a multiple of 8, at least 8.
    pub rate_bps: u64,
    /// Largest rate with borrowing, bit/s, a multiple of 8, at least 8.
    pub ceil_bps: u64,
    /// Bucket of the rate, bytes, at least 1.
    pub burst_bytes: u32,
    /// Bucket of the ceiling, bytes, at least 1.
    pub cburst_bytes: u32,
    /// Priority, 0 to 7: leaves with a lower number borrow first.
    pub prio: u8,
    /// Quantum of a leaf among those of its priority, bytes; 0 for rate / r2q.
    pub quantum_bytes: u32,
    /// The discipline of a leaf; None for the `pfifo` that the kernel attaches.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub child: Option<Box<Qdisc>>,
}

const DEFAULT: Parameter = Parameter {
    name: "default",
    aliases: &[],
    argument: "C",
    key: "default_minor",
    unit: "class",
    default: Value::Number(0),
    default_source: "tc: none",
    range: "0 to ffff, hexadecimal",
    bounds: Bounds::NONE,
    effect: "The leaf of packets that no filter matches. Without it they pass unshaped, before all others.",
};

const R2Q: Parameter = Parameter {
    name: "r2q",
    aliases: &[],
    argument: "N",
    key: "r2q",
    unit: "1/s",
    default: Value::Number(10),
    default_source: "tc",
    range: "1 to 2147483647",
    bounds: Bounds::within(1, 2_147_483_647),
    effect: "Default quantum of a leaf: its rate in bytes per second divided by this, from 1000 to 200000 \
             bytes.",
};

const DIRECT_QLEN: Parameter = Parameter {
    name: "direct_qlen",
    aliases: &[],
    argument: "PACKETS",
    key: "direct_qlen_packets",
    unit: "packets",
    default: Value::Number(1000),
    default_source: "the interface's txqueuelen, 1000 for Ethernet and veth",
    range: "0 to 4294967294 packets",
    bounds: Bounds::within(0, 4_294_967_294),
    effect: "Limit of the queue of unshaped packets.",
};

const RATE: Parameter = Parameter {
    effect: "Guaranteed rate of the class, link headers counted.",
    ..tbf::RATE
};

const CEIL: Parameter = Parameter {
    name: "ceil",
    key: "ceil_bps",
    default_source: "the rate",
    effect: "Largest rate, reached by borrowing from the parent.",
    ..RATE
};

const BURST: Parameter = Parameter {
    default_source: "rate / 10^9 s + mtu",
    effect: "Bucket of the rate. A class may send while it has any tokens, so one packet can overdraw it.",
    ..tbf::BURST
};

const CBURST: Parameter = Parameter {
    name: "cburst",
    aliases: &["cbuffer", "cmaxburst"],
    key: "cburst_bytes",
    default_source: "ceil / 10^9 s + mtu",
    effect: "Bucket of the ceiling.",
    ..BURST
};

const PRIO: Parameter = Parameter {
    name: "prio",
    aliases: &[],
    argument: "P",
    key: "prio",
    unit: "",
    default: Value::Number(0),
    default_source: "tc",
    range: "0 to 7",
    bounds: Bounds::within(0, 7),
    effect: "Leaves with a lower number are served first and borrow first.",
};

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    aliases: &[],
    argument: "BYTES",
    key: "quantum_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "tc: rate / r2q",
    range: "1 to 4294967295, a number",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Bytes that a leaf may send per round among leaves of its priority.",
};

const MTU: Parameter = Parameter {
    name: "mtu",
    aliases: &[],
    argument: "BYTES",
    key: "burst_bytes",
    unit: "bytes",
    default: Value::Number(DEFAULT_MTU_BYTES as u64),
    default_source: "tc",
    range: "1 to 4294967295, a number",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Added to the default of burst and cburst.",
};

/// The words after `class add ... classid H:C htb`.
static CLASS: Discipline = Discipline {
    name: "htb class",
    summary: "A class of an htb: `class add dev X parent H:[C] classid H:C htb ...`.",
    source: "tc-htb(8); iproute2 tc/q_htb.c; Linux net/sched/sch_htb.c",
    parameters: &[RATE, CEIL, BURST, CBURST, PRIO, QUANTUM, MTU],
    not_implemented: &["mpu", "overhead", "linklayer"],
    once: &["rate", "ceil"],
    abbreviated: &[
        "prio",
        "mtu",
        "mpu",
        "overhead",
        "linklayer",
        "quantum",
        "burst",
        "cburst",
    ],
};

impl Grammar for Htb {
    const DISCIPLINE: Discipline = Discipline {
        name: "htb",
        summary: "Hierarchical token bucket: classes with guaranteed rates that borrow unused bandwidth.",
        source: "tc-htb(8); iproute2 tc/q_htb.c; Linux net/sched/sch_htb.c",
        parameters: &[DEFAULT, R2Q, DIRECT_QLEN],
        not_implemented: &["debug", "offload"],
        once: &[],
        abbreviated: &["r2q", "default", "debug", "direct_qlen", "offload"],
    };
    const CLASS: Option<&'static Discipline> = Some(&CLASS);

    fn parse(words: &mut Words) -> Result<Htb, QdiscError> {
        let mut htb = Htb {
            default_minor: 0,
            r2q: 10,
            direct_qlen_packets: 1000,
            classes: Vec::new(),
            filters: Vec::new(),
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "default" => htb.default_minor = words.class_minor(parameter)?,
                "r2q" => htb.r2q = r2q(words, parameter)?,
                "direct_qlen" => htb.direct_qlen_packets = direct_qlen(words, parameter)?,
                other => return Err(words.unknown(other)),
            }
        }
        Ok(htb)
    }

    fn check(&self) -> Result<(), QdiscError> {
        if !(1..=LARGEST_R2Q).contains(&self.r2q) {
            return Err(Htb::DISCIPLINE.out_of_range(&R2Q, self.r2q));
        }
        if self.direct_qlen_packets == u32::MAX {
            return Err(Htb::DISCIPLINE.out_of_range(&DIRECT_QLEN, u32::MAX));
        }
        self.classes.iter().try_for_each(HtbClass::check)?;
        classes::check_places(&self.classes)?;
        filter::check("htb", &self.filters)
    }

    fn options(&self, _: Device) -> Options {
        let default = format!("{:#x}", self.default_minor);
        let (r2q, length) = (self.r2q, self.direct_qlen_packets);
        let mut options = Options::default()
            .show("r2q", r2q, &format!("r2q {r2q} "))
            .show("default", default.clone(), &format!("default {default} "));
        // The number of unshaped packets is known here only if there can be none.
        if !self.may_pass_unshaped() {
            options = options.show("direct_packets_stat", 0u32, "direct_packets_stat 0 ");
        }
        options.show("ver", "3.17".to_owned(), "ver 3.17 ").show(
            "direct_qlen",
            length,
            &format!("direct_qlen {length}"),
        )
    }

    fn shaped_bps(&self) -> u64 {
        if self.may_pass_unshaped() {
            return 0;
        }
        let roots = self.classes.iter().filter(|class| class.parent_minor == 0);
        roots.fold(0, |sum: u64, class| {
            sum.saturating_add(class.ceil_bps.max(class.rate_bps))
        })
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

    fn filters(&self) -> &[Filter] {
        &self.filters
    }

    fn filters_mut(&mut self) -> Option<&mut Vec<Filter>> {
        Some(&mut self.filters)
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
        let mut words = Words::new(&CLASS, words.split_ascii_whitespace());
        let class = HtbClass::parse(minor, parent_minor, &mut words)?;
        self.classes.push(class);
        classes::check_places(&self.classes)?;
        Ok(words.into_notices())
    }
}

impl Htb {
    /// Whether a packet can miss every leaf (`htb_classify`): by default, or by a filter to the root.
    fn may_pass_unshaped(&self) -> bool {
        let mut filters = self.filters.iter();
        let has_default = classes::is_leaf(&self.classes, self.default_minor);
        !has_default || filters.any(|filter| filter.minor == 0)
    }
}

impl Class for HtbClass {
    const NAME: &'static str = "htb class";

    fn minor(&self) -> u16 {
        self.minor
    }

    fn parent_minor(&self) -> u16 {
        self.parent_minor
    }

    fn child(&self) -> Option<&Qdisc> {
        self.child.as_deref()
    }

    fn child_mut(&mut self) -> &mut Option<Box<Qdisc>> {
        &mut self.child
    }
}

impl HtbClass {
    fn parse(minor: u16, parent_minor: u16, words: &mut Words) -> Result<HtbClass, QdiscError> {
        let ignored = Reason::Ignored;
        let mut mtu_bytes = DEFAULT_MTU_BYTES;
        let mut class = HtbClass {
            minor,
            parent_minor,
            rate_bps: 0,
            ceil_bps: 0,
            burst_bytes: 0,
            cburst_bytes: 0,
            prio: 0,
            quantum_bytes: 0,
            child: None,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "rate" => class.rate_bps = words.rate_bps(parameter, Reason::Ignored)?,
                "ceil" => class.ceil_bps = words.rate_bps(parameter, ignored)?,
                "burst" => class.burst_bytes = words.bucket_bytes(parameter, ignored)?,
                "cburst" => class.cburst_bytes = words.bucket_bytes(parameter, ignored)?,
                "prio" => class.prio = priority(words, parameter)?,
                "quantum" => class.quantum_bytes = decimal(words, parameter)?,
                "mtu" => mtu_bytes = decimal(words, parameter)?,
                other => return Err(words.unknown(other)),
            }
        }
        words.require_all()?;
        if class.ceil_bps == 0 {
            class.ceil_bps = class.rate_bps;
        }
        let burst = |rate_bps: u64, parameter| {
            let bytes = rate_bps / 8 / CLOCK_HZ + u64::from(mtu_bytes);
            u32::try_from(bytes).map_err(|_| CLASS.out_of_range(parameter, bytes))
        };
        if class.burst_bytes == 0 {
            class.burst_bytes = burst(class.rate_bps, &BURST)?;
        }
        if class.cburst_bytes == 0 {
            class.cburst_bytes = burst(class.ceil_bps, &CBURST)?;
        }
        class.check()?;
        Ok(class)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: u64| Err(CLASS.out_of_range(parameter, value));
        for (parameter, rate_bps) in [(&RATE, self.rate_bps), (&CEIL, self.ceil_bps)] {
            if rate_bps == 0 || !is_rate(rate_bps) {
                return refuse(parameter, rate_bps);
            }
        }
        for (parameter, bytes, rate_bps) in [
            (&BURST, self.burst_bytes, self.rate_bps),
            (&CBURST, self.cburst_bytes, self.ceil_bps),
        ] {
            if bytes == 0 {
                return refuse(parameter, 0);
            }
            if !fits_ticks(rate_bps, bytes) {
                return Err(CLASS.not_taken(parameter, bytes, Reason::Wraps));
            }
        }
        if self.prio >= PRIORITIES {
            return refuse(&PRIO, u64::from(self.prio));
        }
        Ok(())
    }
}

/// The divisor after its keyword. The kernel uses 1 for 0 and for values negative in 32 bits.
fn r2q(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    match words.unsigned(parameter, Base::Ten)? {
        number @ 1..=LARGEST_R2Q => Ok(number),
        number => Err(Htb::DISCIPLINE.not_taken(parameter, number, Reason::Replaced)),
    }
}

/// The length after its keyword. tc encodes "not given" as the largest number.
fn direct_qlen(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    match words.unsigned(parameter, Base::Ten)? {
        u32::MAX => Err(Htb::DISCIPLINE.not_taken(parameter, u32::MAX, Reason::Ignored)),
        packets => Ok(packets),
    }
}

/// The priority after its keyword; the kernel lowers values above 7 to 7.
fn priority(words: &mut Words, parameter: &'static Parameter) -> Result<u8, QdiscError> {
    let number = words.unsigned(parameter, Base::Ten)?;
    match u8::try_from(number) {
        Ok(priority) if priority < PRIORITIES => Ok(priority),
        _ => Err(CLASS.not_taken(parameter, number, Reason::Replaced)),
    }
}

/// A decimal number after its keyword; without it a value is computed.
fn decimal(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let number = words.unsigned(parameter, Base::Ten)?;
    words.above_zero(parameter, number, Reason::Ignored)
}

impl fmt::Display for Htb {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "htb default {:x} r2q {}", self.default_minor, self.r2q)?;
        write!(f, " direct_qlen {}", self.direct_qlen_packets)
    }
}

impl fmt::Display for HtbClass {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "htb rate {}", format_rate(self.rate_bps))?;
        write!(f, " ceil {}", format_rate(self.ceil_bps))?;
        write!(f, " burst {}", format_size(u64::from(self.burst_bytes)))?;
        write!(f, " cburst {}", format_size(u64::from(self.cburst_bytes)))?;
        write!(f, " prio {}", self.prio)?;
        if self.quantum_bytes > 0 {
            write!(f, " quantum {}", self.quantum_bytes)?;
        }
        Ok(())
    }
}
