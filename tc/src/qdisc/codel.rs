//! `codel`: controlled delay (RFC 8289; tc-codel(8), iproute2 `tc/q_codel.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (1000), `target TIME` (5 ms), `interval TIME` (100 ms) | yes |
//! | `ecn`, `noecn` (off) | yes |
//! | times: whole microseconds in 32 bits, as tc passes them | yes |
//! | `ce_threshold TIME`, 0 too; 4294967295us, which tc treats as not given, is refused | yes |
//! | `limit 0`, `target 0`, `interval 0` (tc does not pass them on) | refused |

use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value, pfifo};
use crate::reason::Reason;
use crate::units::in_tc::format_time_us;
use crate::units::shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest time that tc can pass: 32 bits of microseconds, in ns.
pub(super) const LONGEST_TIME_NS: u64 = u32::MAX as u64 * 1000;

/// A FIFO that drops at dequeue while the sojourn time stays above target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// Limit in packets; at least 1.
    pub limit_packets: u32,
    /// Target of the standing queue's sojourn time, ns: whole microseconds, 1 us to 2^32 - 1 us.
    pub target_ns: u64,
    /// How long the target may be exceeded before the first drop, ns: range as the target.
    pub interval_ns: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Sojourn time above which every ECN-capable packet is marked, ns: whole microseconds, 0 to 2^32 - 2 us;
    /// none for no threshold.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub ce_threshold_ns: Option<u64>,
}

pub(super) const LIMIT: Parameter = Parameter {
    default: Value::Number(1000),
    default_source: "Linux",
    ..pfifo::LIMIT
};

pub(super) const TARGET: Parameter = Parameter {
    name: "target",
    aliases: &[],
    argument: "TIME",
    key: "target_ns",
    unit: "ns",
    default: Value::Number(5_000_000),
    default_source: "Linux; RFC 8289 section 4.3",
    range: "1us to 4294967295us, whole microseconds",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    effect: "The acceptable sojourn time: dropping starts when the sojourn time of every packet has \
             exceeded it for an interval. A bare number is microseconds.",
};

pub(super) const INTERVAL: Parameter = Parameter {
    name: "interval",
    aliases: &[],
    argument: "TIME",
    key: "interval_ns",
    unit: "ns",
    default: Value::Number(100_000_000),
    default_source: "Linux; RFC 8289 section 4.2",
    range: "1us to 4294967295us, whole microseconds",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    effect: "How long the target may be exceeded before the first drop, about the largest expected \
             round-trip time; the n-th drop follows after interval / sqrt(n).",
};

pub(super) const CE_THRESHOLD: Parameter = Parameter {
    name: "ce_threshold",
    aliases: &[],
    argument: "TIME",
    key: "ce_threshold_ns",
    unit: "ns",
    default: Value::Nothing,
    default_source: "Linux: none",
    range: "0us to 4294967294us, whole microseconds",
    bounds: Bounds::within(0, 4_294_967_294_000),
    effect: "Every ECN-capable packet with a longer sojourn time is marked, with or without `ecn`.",
};

const ECN: Parameter = Parameter::flag(
    "ecn",
    "Linux",
    &["noecn"],
    "Marks ECN-capable packets instead of dropping them.",
);

impl Grammar for Codel {
    const DISCIPLINE: Discipline = Discipline {
        name: "codel",
        summary: "Controlled delay: drops as packets leave, ever more often, while all of them \
                  stay longer than a target.",
        source: "RFC 8289; tc-codel(8); iproute2 tc/q_codel.c; Linux net/sched/sch_codel.c",
        parameters: &[LIMIT, TARGET, INTERVAL, ECN, CE_THRESHOLD],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Codel, QdiscError> {
        let mut codel = Codel {
            limit_packets: LIMIT.default.number() as u32,
            target_ns: TARGET.default.number(),
            interval_ns: INTERVAL.default.number(),
            ecn: false,
            ce_threshold_ns: None,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => codel.limit_packets = words.count(parameter)?,
                "target" => codel.target_ns = words.time_ns(parameter)?,
                "interval" => codel.interval_ns = words.time_ns(parameter)?,
                "ecn" => codel.ecn = words.flag(parameter),
                "ce_threshold" => codel.ce_threshold_ns = Some(ce_threshold_ns(words, parameter)?),
                other => return Err(words.unknown(other)),
            }
        }
        Ok(codel)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Codel::DISCIPLINE;
        if self.limit_packets == 0 {
            return Err(discipline.out_of_range(&LIMIT, 0));
        }
        check_time(discipline, &TARGET, self.target_ns)?;
        check_time(discipline, &INTERVAL, self.interval_ns)?;
        check_ce_threshold(discipline, self.ce_threshold_ns)
    }

    fn options(&self, _: Device) -> Options {
        let limit = self.limit_packets;
        let options = Options::default().show("limit", limit, &format!("limit {limit}p "));
        let options = show_time(options, "target", self.target_ns);
        let options = show_ce_threshold(options, self.ce_threshold_ns);
        show_time(options, "interval", self.interval_ns).flag("ecn", self.ecn)
    }
}

/// The threshold after its keyword. tc encodes "not given" as the largest number.
pub(super) fn ce_threshold_ns(
    words: &mut Words,
    parameter: &'static Parameter,
) -> Result<u64, QdiscError> {
    match words.time_us(parameter)? {
        u32::MAX => Err(Codel::DISCIPLINE.not_taken(parameter, u32::MAX, Reason::Ignored)),
        time_us => Ok(u64::from(time_us) * 1000),
    }
}

/// Refuses a threshold that tc cannot pass.
pub(super) fn check_ce_threshold(
    discipline: &Discipline,
    threshold_ns: Option<u64>,
) -> Result<(), QdiscError> {
    let fits = |ns: &u64| *ns < LONGEST_TIME_NS && ns.is_multiple_of(1000);
    match threshold_ns.filter(|ns| !fits(ns)) {
        Some(ns) => Err(discipline.out_of_range(&CE_THRESHOLD, format!("{ns}ns"))),
        None => Ok(()),
    }
}

/// Refuses a time that tc cannot pass.
pub(super) fn check_time(
    discipline: &Discipline,
    parameter: &Parameter,
    time_ns: u64,
) -> Result<(), QdiscError> {
    if !(1000..=LONGEST_TIME_NS).contains(&time_ns) || !time_ns.is_multiple_of(1000) {
        return Err(discipline.out_of_range(parameter, format!("{time_ns}ns")));
    }
    Ok(())
}

/// Formats whole microseconds as tc reads them.
pub(super) fn time_text(time_ns: u64) -> String {
    format_time_us(time_ns / 1000)
}

/// Adds a time as tc shows it.
pub(super) fn show_time(options: Options, word: &'static str, time_ns: u64) -> Options {
    let text = format!("{word} {} ", shown::time_ns(time_ns));
    options.show(word, shown::whole_us(time_ns), &text)
}

/// Adds an optional threshold as tc shows it.
pub(super) fn show_ce_threshold(options: Options, threshold_ns: Option<u64>) -> Options {
    match threshold_ns {
        Some(threshold_ns) => show_time(options, "ce_threshold", threshold_ns),
        None => options,
    }
}

impl fmt::Display for Codel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (target, interval) = (time_text(self.target_ns), time_text(self.interval_ns));
        write!(f, "codel limit {}", self.limit_packets)?;
        write!(f, " target {target} interval {interval}")?;
        if self.ecn {
            f.write_str(" ecn")?;
        }
        if let Some(threshold_ns) = self.ce_threshold_ns {
            write!(f, " ce_threshold {}", time_text(threshold_ns))?;
        }
        Ok(())
    }
}
