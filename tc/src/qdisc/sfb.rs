//! `sfb`: Stochastic Fair Blue (W. Feng, D. Kandlur, D. Saha and K. Shin, "BLUE: A New Class of Active Queue
//! Management Algorithms", University of Michigan CSE-TR-387-99, 1999; tc-sfb(8), iproute2 `tc/q_sfb.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `rehash` (600000) and `db` (60000), in milliseconds | yes, to 2^31 - 1 |
//! | `limit PACKETS` (the interface's txqueuelen) | yes |
//! | `max PACKETS` (25, or 5/4 of `target`), `target PACKETS` (4/5 of `max`) | yes |
//! | `increment` (0.0005), `decrement` (0.00005): 0 to 1, in steps of 1/65535 | yes |
//! | a number that rounds to 0 steps and is not 0 | refused |
//! | `penalty_rate PPS` (10), `penalty_burst PACKETS` (20) | yes |
//! | a child in place of the `pfifo` of `limit` (tc-sfb(8), NOTES: it must not drop a packet that it holds) | `pfifo`, `bfifo`, `red` |
//! | filters that choose the flow (`tc filter`) | no |

use super::words::{PPB, Words};
use super::{
    Bounds, Branch, Device, Discipline, Field, Grammar, Options, Parameter, Qdisc, QdiscError,
    Value, pfifo,
};
use crate::c_numbers::{Base, general};
use crate::reason::Reason;
use crate::units::shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `SFB_MAX_PROB`: probability 1 of the kernel.
const MOST_STEPS: u32 = 0xFFFF;
const DEFAULT_MAX_PACKETS: u32 = 25;
/// Above this the kernel never rehashes or warms up (`msecs_to_jiffies`).
const LONGEST_MS: u32 = i32::MAX as u32;
/// The disciplines that may be its child: first in, first out, and only an arriving packet is dropped.
const CHILDREN: &str = "pfifo, bfifo or red; put sfb into a class of another discipline";

/// Levels of bins, each with a probability of marking that the length of its virtual queue sets; a packet is
/// marked or dropped with the least probability of its bins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sfb {
    /// Period after which flows are hashed with another key, milliseconds; 0 for never.
    pub rehash_ms: u32,
    /// Time before a change of the key from which the second set of bins learns, milliseconds; 0 for none.
    pub db_ms: u32,
    /// Limit in packets; at least 1.
    pub limit_packets: u32,
    /// Packets in each of a flow's bins from which its packets are dropped; at least 1.
    pub max_packets: u32,
    /// Packets in a bin from which its probability increases; at least 1.
    pub target_packets: u32,
    /// Increase of a bin's probability, in units of 10^-9; 0 to 10^9.
    pub increment_ppb: u32,
    /// Decrease of the probability of an empty bin, in units of 10^-9; 0 to 10^9.
    pub decrement_ppb: u32,
    /// Rate at which packets of flows with probability 1 are accepted, packets per second.
    pub penalty_rate_pps: u32,
    /// Burst of such packets.
    pub penalty_burst_packets: u32,
    /// The discipline in place of a `pfifo` of the limit.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub child: Option<Box<Qdisc>>,
}

const REHASH: Parameter = Parameter {
    name: "rehash",
    aliases: &[],
    argument: "MS",
    key: "rehash_ms",
    unit: "ms",
    default: Value::Number(600_000),
    default_source: "tc",
    range: "0 to 2147483647 milliseconds, a whole number without unit",
    bounds: Bounds::within(0, 2_147_483_647),
    effect: "Period after which flows are hashed with another key, so that none shares all its bins with an \
             unresponsive flow for long; 0 for never. Milliseconds, although tc's usage says seconds.",
};

const DB: Parameter = Parameter {
    name: "db",
    key: "db_ms",
    default: Value::Number(60_000),
    effect: "Double buffering: this long before the key changes, packets of flows with probability 1 begin to \
             set the probabilities of the bins that the next key has; 0 for none. Milliseconds.",
    ..REHASH
};

const LIMIT: Parameter = Parameter {
    effect: "A packet that arrives when this many are queued is dropped. Also the limit of the inner pfifo, if \
             it is not replaced by another discipline.",
    ..pfifo::LIMIT
};

const MAX: Parameter = Parameter {
    name: "max",
    aliases: &[],
    argument: "PACKETS",
    key: "max_packets",
    unit: "packets",
    default: Value::Number(DEFAULT_MAX_PACKETS as u64),
    default_source: "tc: 25, or 5/4 of target",
    range: "1 to 4294967295 packets",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "A packet is dropped if each of its bins has at least this many packets. tc-sfb(8): slightly above \
             `target`, at most 1.5 times as much.",
};

const TARGET: Parameter = Parameter {
    name: "target",
    key: "target_packets",
    default: Value::Number(20),
    default_source: "tc: 4/5 of max, rounded up",
    effect: "A packet that finds at least this many packets in a bin increases its probability by `increment`.",
    ..MAX
};

const INCREMENT: Parameter = Parameter {
    name: "increment",
    aliases: &[],
    argument: "P",
    key: "increment_ppb",
    unit: "1e-9",
    default: Value::Number(500_000),
    default_source: "tc: 0.0005",
    range: "0, or 0.000008 to 1",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "Increase of a bin's probability by each packet that finds it full; the kernel rounds to steps of \
             1/65535.",
};

const DECREMENT: Parameter = Parameter {
    name: "decrement",
    key: "decrement_ppb",
    default: Value::Number(50_000),
    default_source: "tc: 0.00005",
    effect: "Decrease of a bin's probability by each packet that finds it empty; in steps of 1/65535.",
    ..INCREMENT
};

const PENALTY_RATE: Parameter = Parameter {
    name: "penalty_rate",
    aliases: &[],
    argument: "PPS",
    key: "penalty_rate_pps",
    unit: "packets/s",
    default: Value::Number(10),
    default_source: "tc",
    range: "0 to 4294967295 packets per second",
    bounds: Bounds::within(0, 4_294_967_295),
    effect: "Rate at which packets are accepted whose bins all have probability 1; others of them are dropped. \
             With 0 all are.",
};

const PENALTY_BURST: Parameter = Parameter {
    name: "penalty_burst",
    argument: "PACKETS",
    key: "penalty_burst_packets",
    unit: "packets",
    default: Value::Number(20),
    range: "0 to 4294967295 packets",
    effect: "Burst of such packets that is accepted at once; with 0 none is.",
    ..PENALTY_RATE
};

impl Grammar for Sfb {
    const DISCIPLINE: Discipline = Discipline {
        name: "sfb",
        summary: "Stochastic Fair Blue: limits flows that do not respond to drops and marks, with a fixed number \
                  of bins in place of state of flows.",
        source: "Feng, Kandlur, Saha and Shin, University of Michigan CSE-TR-387-99, 1999; tc-sfb(8); iproute2 \
                 tc/q_sfb.c; Linux net/sched/sch_sfb.c",
        parameters: &[
            REHASH,
            DB,
            LIMIT,
            MAX,
            TARGET,
            INCREMENT,
            DECREMENT,
            PENALTY_RATE,
            PENALTY_BURST,
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    const SHOWN: Option<(&str, &str, &str)> = Some((
        "sfb target 50 increment 0.123456789",
        "rehash 600s db 60s limit 1000p max 62p target 50p increment 0.123461 decrement 4.57771e-05 \
         penalty_rate 10pps penalty_burst 20p ",
        r#"{"rehash":600000000,"db":60000000,"limit":1000,"max":62,"target":50,"increment":0.123461,"decrement":0.0000457771,"penalty_rate":10,"penalty_burst":20}"#,
    ));

    fn parse(words: &mut Words) -> Result<Sfb, QdiscError> {
        let default = |parameter: &Parameter| parameter.default.number() as u32;
        let mut sfb = Sfb {
            rehash_ms: default(&REHASH),
            db_ms: default(&DB),
            limit_packets: default(&LIMIT),
            max_packets: 0,
            target_packets: 0,
            increment_ppb: default(&INCREMENT),
            decrement_ppb: default(&DECREMENT),
            penalty_rate_pps: default(&PENALTY_RATE),
            penalty_burst_packets: default(&PENALTY_BURST),
            child: None,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "rehash" => sfb.rehash_ms = words.unsigned(parameter, Base::ByPrefix)?,
                "db" => sfb.db_ms = words.unsigned(parameter, Base::ByPrefix)?,
                "limit" => sfb.limit_packets = words.count(parameter)?,
                "max" => sfb.max_packets = words.count(parameter)?,
                "target" => sfb.target_packets = words.count(parameter)?,
                "increment" => sfb.increment_ppb = step_ppb(words, parameter)?,
                "decrement" => sfb.decrement_ppb = step_ppb(words, parameter)?,
                "penalty_rate" => {
                    sfb.penalty_rate_pps = words.unsigned(parameter, Base::ByPrefix)?;
                }
                "penalty_burst" => {
                    sfb.penalty_burst_packets = words.unsigned(parameter, Base::ByPrefix)?;
                }
                other => return Err(words.unknown(other)),
            }
        }
        sfb.fill_in()?;
        sfb.check()?;
        Ok(sfb)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Sfb::DISCIPLINE;
        for (parameter, ms) in [(&REHASH, self.rehash_ms), (&DB, self.db_ms)] {
            if ms > LONGEST_MS {
                return Err(discipline.not_taken(parameter, ms, Reason::Replaced));
            }
        }
        for (parameter, ppb) in [
            (&INCREMENT, self.increment_ppb),
            (&DECREMENT, self.decrement_ppb),
        ] {
            if ppb > 0 && steps(ppb) == 0 {
                let text = fraction_text(ppb);
                return Err(discipline.not_taken(parameter, text, Reason::TooFine));
            }
        }
        discipline.require_all([
            (self.limit_packets > 0, &LIMIT, self.limit_packets),
            (self.max_packets > 0, &MAX, self.max_packets),
            (self.target_packets > 0, &TARGET, self.target_packets),
            (self.increment_ppb <= PPB, &INCREMENT, self.increment_ppb),
            (self.decrement_ppb <= PPB, &DECREMENT, self.decrement_ppb),
        ])?;
        match self.child.as_deref() {
            None | Some(Qdisc::Pfifo(_) | Qdisc::Bfifo(_) | Qdisc::Red(_)) => Ok(()),
            Some(other) => Err(QdiscError::NotTaken {
                discipline: discipline.name,
                parameter: "child",
                value: other.discipline().name.to_owned(),
                reason: Reason::NotModelled,
                allowed: CHILDREN.to_owned(),
                hint: None,
            }),
        }
    }

    fn options(&self, _: Device) -> Options {
        let mut options = Options::default();
        for (word, ms) in [("rehash", self.rehash_ms), ("db", self.db_ms)] {
            // tc multiplies in 32 bits.
            let time_us = ms.wrapping_mul(1000);
            let text = format!("{word} {} ", shown::time(f64::from(time_us)));
            options = options.show(word, time_us, &text);
        }
        for (word, packets) in [
            ("limit", self.limit_packets),
            ("max", self.max_packets),
            ("target", self.target_packets),
        ] {
            options = options.show(word, packets, &format!("{word} {packets}p "));
        }
        for (word, steps) in [
            ("increment", self.increment_steps()),
            ("decrement", self.decrement_steps()),
        ] {
            let text = general(f64::from(steps) / f64::from(MOST_STEPS), 6);
            let number = Field::Real(text.parse().unwrap_or_default());
            options = options.show(word, number, &format!("{word} {text} "));
        }
        let (rate, burst) = (self.penalty_rate_pps, self.penalty_burst_packets);
        options
            .show("penalty_rate", rate, &format!("penalty_rate {rate}pps "))
            .show("penalty_burst", burst, &format!("penalty_burst {burst}p "))
    }

    fn branches(&self) -> Vec<Branch<'_>> {
        Branch::only(self.child.as_deref())
    }

    fn class(&self, _minor: u16) -> Option<u16> {
        // Linux accepts any number for the only class (`sfb_find`).
        Some(1)
    }

    fn slot(&mut self, _minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
        Some(&mut self.child)
    }
}

impl Sfb {
    /// Computes the thresholds that tc derives, in 32 bits.
    fn fill_in(&mut self) -> Result<(), QdiscError> {
        let wraps = |parameter| Sfb::DISCIPLINE.not_taken(parameter, "computed", Reason::Wraps);
        if self.max_packets == 0 {
            self.max_packets = match self.target_packets {
                0 => DEFAULT_MAX_PACKETS,
                target => {
                    let five = { target.checked_mul(5) }.and_then(|five| five.checked_add(1));
                    five.ok_or_else(|| wraps(&MAX))? / 4
                }
            };
        }
        if self.target_packets == 0 {
            let four = { self.max_packets.checked_mul(4) }.and_then(|four| four.checked_add(3));
            self.target_packets = four.ok_or_else(|| wraps(&TARGET))? / 5;
        }
        Ok(())
    }

    /// The increase of a bin's probability, in the kernel's steps of 1/65535.
    pub fn increment_steps(&self) -> u32 {
        steps(self.increment_ppb)
    }

    /// The decrease of a bin's probability, in the kernel's steps of 1/65535.
    pub fn decrement_steps(&self) -> u32 {
        steps(self.decrement_ppb)
    }
}

fn steps(ppb: u32) -> u32 {
    steps_of(f64::from(ppb) / f64::from(PPB))
}

/// As tc rounds (`get_prob`).
fn steps_of(number: f64) -> u32 {
    (number * f64::from(MOST_STEPS) + 0.5) as u32
}

/// The number after `parameter`, rounded to 10^-9 only if the kernel's steps are the same.
fn step_ppb(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let number = words.real(parameter)?;
    let refused = |reason| Err(Sfb::DISCIPLINE.not_taken(parameter, number, reason));
    if number.is_nan() {
        return refused(Reason::Wraps);
    }
    if !(0.0..=1.0).contains(&number) {
        return Err(Sfb::DISCIPLINE.out_of_range(parameter, number));
    }
    let ppb = libm::rint(number * f64::from(PPB)) as u32;
    if steps(ppb) != steps_of(number) || (ppb == 0 && number > 0.0) {
        return refused(Reason::TooFine);
    }
    Ok(ppb)
}

/// A decimal number without trailing zeros.
fn fraction_text(ppb: u32) -> String {
    match ppb {
        0 => "0".to_owned(),
        PPB => "1".to_owned(),
        _ => super::red::probability_text(ppb),
    }
}

impl fmt::Display for Sfb {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "sfb rehash {} db {}", self.rehash_ms, self.db_ms)?;
        let (limit, max, target) = (self.limit_packets, self.max_packets, self.target_packets);
        write!(f, " limit {limit} max {max} target {target}")?;
        write!(f, " increment {}", fraction_text(self.increment_ppb))?;
        write!(f, " decrement {}", fraction_text(self.decrement_ppb))?;
        write!(f, " penalty_rate {}", self.penalty_rate_pps)?;
        write!(f, " penalty_burst {}", self.penalty_burst_packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::parse;

    fn sfb(text: &str) -> Sfb {
        match parse(text) {
            Ok(Qdisc::Sfb(sfb)) => sfb,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Each is what iproute2 6.1 shows on Linux 6.1.
    #[test]
    fn thresholds_that_are_not_given_follow_the_other() {
        for (text, max, target) in [
            ("sfb", 25, 20),
            ("sfb max 7", 7, 6),
            ("sfb target 7", 9, 7),
            ("sfb target 50", 62, 50),
            ("sfb target 3 max 2", 2, 3),
        ] {
            let sfb = sfb(text);
            assert_eq!(
                (sfb.max_packets, sfb.target_packets),
                (max, target),
                "{text}"
            );
        }
        for text in ["sfb target 4294967295", "sfb max 4294967295", "sfb limit 0"] {
            assert!(parse(text).unwrap_err().reason().is_some(), "{text}");
        }
    }

    /// The kernel's steps, from what iproute2 6.1 shows: 0.000503548 is 33/65535, 0.123461 is 8091/65535.
    #[test]
    fn probabilities_are_rounded_to_the_kernels_steps() {
        let by_default = sfb("sfb");
        let steps = |sfb: &Sfb| (sfb.increment_steps(), sfb.decrement_steps());
        assert_eq!(steps(&by_default), (33, 3));
        assert_eq!(
            steps(&sfb("sfb increment 0.123456789 decrement 1")),
            (8091, 65_535)
        );
        assert_eq!(steps(&sfb("sfb increment 0 decrement 0x1p-3")), (0, 8192));
        for text in ["nan", "1e-9", "0.000003", "0.5x"] {
            let error = parse(&format!("sfb increment {text}")).unwrap_err();
            assert!(error.reason().is_some(), "{text}: {error}");
        }
        for text in ["inf", "1.0000001", "-1", "x"] {
            let error = parse(&format!("sfb decrement {text}")).unwrap_err();
            assert!(error.reason().is_none(), "{text}: {error}");
        }
    }

    /// As Linux 6.1 does (`sfb_change`).
    #[test]
    fn a_change_sets_every_parameter_and_takes_the_child_away() {
        let script = "tc qdisc add dev x root handle 1: sfb target 30 limit 100\n\
                      tc qdisc add dev x parent 1:1 handle 2: pfifo limit 7\n\
                      tc qdisc change dev x root handle 1: sfb limit 50";
        assert_eq!(sfb(script), sfb("sfb limit 50"));
    }

    #[test]
    fn a_child_that_drops_what_it_holds_is_refused_by_name() {
        let script = |child: &str| format!("root handle 1: sfb; parent 1:1 handle 2: {child}");
        for child in ["pfifo limit 30", "bfifo limit 9000"] {
            let config = parse(&script(child)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(config.children().count(), 1);
        }
        assert_eq!(
            parse(&script("fq_codel")).unwrap_err().to_string(),
            "sfb child: \"fq_codel\": tc accepts it, but it is not modelled here; allowed: pfifo, bfifo or red; \
             put sfb into a class of another discipline"
        );
    }
}
