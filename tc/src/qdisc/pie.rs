//! `pie`: proportional integral controller enhanced (RFC 8033; tc-pie(8), iproute2
//! `tc/q_pie.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (1000), `target TIME` (15 ms), `tupdate TIME` (15 ms) | yes |
//! | `alpha NUMBER` (2), `beta NUMBER` (20): sixteenths, 1 to 32 | yes |
//! | `ecn`, `noecn` (off); `bytemode`, `nobytemode` (off) | yes |
//! | `dq_rate_estimator`, `no_dq_rate_estimator` (off) | yes |
//! | `alpha 0`, `beta 0`, other zeros (tc does not pass them) | refused |
//! | `linux_3_14`: not a word of tc; selects the pie of kernels 3.14 to 5.0 | yes |

use super::codel::{LIMIT, check_time, show_time, time_text};
use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `ALPHA_MAX` and `BETA_MAX`.
pub(super) const LARGEST_GAIN: u32 = 32;
/// Target and update period of kernels 3.14 to 5.0, in ns.
const OLD_TARGET_NS: u64 = 20_000_000;
const OLD_TUPDATE_NS: u64 = 30_000_000;

/// A FIFO that drops arrivals with a probability that a PI controller steers toward a target delay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// Limit in packets; at least 1.
    pub limit_packets: u32,
    /// Target queueing delay, ns: whole microseconds, 1 us to 2^32 - 1 us.
    pub target_ns: u64,
    /// Update period of the probability, ns: range as the target; the kernel rounds it up to whole ticks.
    pub tupdate_ns: u64,
    /// Gain for the deviation from the target, sixteenths of a hertz; 1 to 32.
    pub alpha: u32,
    /// Gain for the change of the delay, sixteenths of a hertz; 1 to 32.
    pub beta: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Whether the drop probability is scaled by packet size.
    pub bytemode: bool,
    /// Whether the delay is the backlog over an estimated departure rate, instead of measured.
    pub dq_rate_estimator: bool,
    /// Whether to behave as kernels 3.14 to 5.0.
    pub linux_3_14: bool,
}

pub(super) const TARGET: Parameter = Parameter {
    name: "target",
    aliases: &[],
    argument: "TIME",
    key: "target_ns",
    unit: "ns",
    default: Value::Number(15_000_000),
    default_source: "Linux; RFC 8033 section 4.2 (QDELAY_REF)",
    range: "1us to 4294967295us, whole microseconds",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    effect: "The target queueing delay. A bare number is microseconds.",
};

pub(super) const TUPDATE: Parameter = Parameter {
    name: "tupdate",
    aliases: &[],
    argument: "TIME",
    key: "tupdate_ns",
    unit: "ns",
    default: Value::Number(15_000_000),
    default_source: "Linux; RFC 8033 section 4.2 (T_UPDATE)",
    range: "1us to 4294967295us, whole microseconds",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    effect: "The update period of the probability; rounded up to whole ticks of the kernel's timer.",
};

pub(super) const ALPHA: Parameter = Parameter {
    name: "alpha",
    aliases: &[],
    argument: "NUMBER",
    key: "alpha",
    unit: "1/16 Hz",
    default: Value::Number(2),
    default_source: "Linux; RFC 8033 section 4.2 (1/8)",
    range: "1 to 32",
    bounds: Bounds::within(1, 32),
    effect: "Gain for the deviation of the delay from the target.",
};

pub(super) const BETA: Parameter = Parameter {
    name: "beta",
    aliases: &[],
    argument: "NUMBER",
    key: "beta",
    unit: "1/16 Hz",
    default: Value::Number(20),
    default_source: "Linux; RFC 8033 section 4.2 (1 + 1/4)",
    range: "1 to 32",
    bounds: Bounds::within(1, 32),
    effect: "Gain for the change of the delay since the last update.",
};

pub(super) const BYTEMODE: Parameter = Parameter::flag(
    "bytemode",
    "Linux",
    &["nobytemode"],
    "Scales the probability by the packet size divided by the interface's MTU and header.",
);

impl Grammar for Pie {
    const DISCIPLINE: Discipline = Discipline {
        name: "pie",
        summary: "Proportional integral controller enhanced: drops arrivals with a probability \
                  steered towards a queueing delay.",
        source: "RFC 8033; tc-pie(8); iproute2 tc/q_pie.c; Linux net/sched/sch_pie.c",
        parameters: &[
            LIMIT,
            TARGET,
            TUPDATE,
            ALPHA,
            BETA,
            Parameter::flag(
                "ecn",
                "Linux",
                &["noecn"],
                "Marks ECN-capable packets instead of dropping them while the probability is at \
                 most 10 %.",
            ),
            BYTEMODE,
            Parameter::flag(
                "dq_rate_estimator",
                "Linux",
                &["no_dq_rate_estimator"],
                "Takes as delay the backlog over an estimate of the departure rate, in place of \
                 how long the packet stayed that left last.",
            ),
            Parameter::flag(
                "linux_3_14",
                "Linux",
                &[],
                "Not a word of tc, and not for the kernel backend: does what kernels 3.14 to 5.0 \
                 did, with their target of 20 ms and tupdate of 30 ms unless others are given.",
            ),
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Pie, QdiscError> {
        let (mut target_ns, mut tupdate_ns) = (None, None);
        let mut pie = Pie {
            limit_packets: LIMIT.default.number() as u32,
            target_ns: TARGET.default.number(),
            tupdate_ns: TUPDATE.default.number(),
            alpha: ALPHA.default.number() as u32,
            beta: BETA.default.number() as u32,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
            linux_3_14: false,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => pie.limit_packets = words.count(parameter)?,
                "target" => target_ns = Some(words.time_ns(parameter)?),
                "tupdate" => tupdate_ns = Some(words.time_ns(parameter)?),
                "alpha" => pie.alpha = gain(words, parameter, &Pie::DISCIPLINE)?,
                "beta" => pie.beta = gain(words, parameter, &Pie::DISCIPLINE)?,
                "ecn" => pie.ecn = words.flag(parameter),
                "bytemode" => pie.bytemode = words.flag(parameter),
                "dq_rate_estimator" => pie.dq_rate_estimator = words.flag(parameter),
                "linux_3_14" => pie.linux_3_14 = true,
                other => return Err(words.unknown(other)),
            }
        }
        if pie.linux_3_14 {
            (pie.target_ns, pie.tupdate_ns) = (OLD_TARGET_NS, OLD_TUPDATE_NS);
        }
        pie.target_ns = target_ns.unwrap_or(pie.target_ns);
        pie.tupdate_ns = tupdate_ns.unwrap_or(pie.tupdate_ns);
        Ok(pie)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Pie::DISCIPLINE;
        if self.limit_packets == 0 {
            return Err(discipline.out_of_range(&LIMIT, 0));
        }
        for (parameter, gain) in [(&ALPHA, self.alpha), (&BETA, self.beta)] {
            if !(1..=LARGEST_GAIN).contains(&gain) {
                return Err(discipline.out_of_range(parameter, gain));
            }
        }
        check_time(discipline, &TARGET, self.target_ns)?;
        check_time(discipline, &TUPDATE, self.tupdate_ns)
    }

    fn options(&self, _: Device) -> Options {
        let (limit, alpha, beta) = (self.limit_packets, self.alpha, self.beta);
        let options = Options::default().show("limit", limit, &format!("limit {limit}p "));
        let options = show_time(options, "target", self.target_ns);
        show_time(options, "tupdate", self.tupdate_ns)
            .show("alpha", alpha, &format!("alpha {alpha} "))
            .show("beta", beta, &format!("beta {beta} "))
            .flag("ecn", self.ecn)
            .flag("bytemode", self.bytemode)
            .flag("dq_rate_estimator", self.dq_rate_estimator)
    }
}

/// Writes the words of the flags that are on.
pub(super) fn write_flags(f: &mut fmt::Formatter, flags: &[(bool, &str)]) -> fmt::Result {
    let mut on = flags.iter().filter(|(is_on, _)| *is_on);
    on.try_for_each(|(_, word)| write!(f, " {word}"))
}

/// The gain after its keyword.
pub(super) fn gain(
    words: &mut Words,
    parameter: &'static Parameter,
    discipline: &Discipline,
) -> Result<u32, QdiscError> {
    match words.count(parameter)? {
        gain if gain > LARGEST_GAIN => Err(discipline.out_of_range(parameter, gain)),
        gain => Ok(gain),
    }
}

impl fmt::Display for Pie {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (target, tupdate) = (time_text(self.target_ns), time_text(self.tupdate_ns));
        write!(f, "pie limit {} target {target}", self.limit_packets)?;
        write!(
            f,
            " tupdate {tupdate} alpha {} beta {}",
            self.alpha, self.beta
        )?;
        write_flags(
            f,
            &[
                (self.ecn, "ecn"),
                (self.bytemode, "bytemode"),
                (self.dq_rate_estimator, "dq_rate_estimator"),
                (self.linux_3_14, "linux_3_14"),
            ],
        )
    }
}
