//! `fq_pie`: fair queueing of flows, each with PIE (tc-fq_pie(8), iproute2 `tc/q_fq_pie.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (10240), `flows NUMBER` (1024, at most 65536) | yes |
//! | `target`, `tupdate`, `alpha`, `beta`, `bytemode`, `dq_rate_estimator`: as `pie` | yes |
//! | `quantum SIZE`; below 256 the kernel uses 256 | yes, 256 to 2^20 |
//! | no `quantum`: the interface's MTU and its header | yes, null in the JSON |
//! | `memory_limit SIZE` (32 MB): Linux counts how often it is exceeded and drops nothing | yes, nothing is dropped |
//! | `ecn`, `noecn` (off); `ecn_prob PERCENT` (10), below 100 | yes |
//! | filters that choose the flow (`tc filter`) | no |

use super::codel::{self, check_time, show_time, time_text};
use super::fq_codel::{self, FLOWS, LARGEST_QUANTUM_BYTES, LEAST_QUANTUM_BYTES, MOST_FLOWS};
use super::pie::{ALPHA, BETA, BYTEMODE, LARGEST_GAIN, TARGET, TUPDATE, gain, write_flags};
use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value};
use crate::reason::Reason;
use crate::units::{format_size, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

const MOST_ECN_PERCENT: u32 = 99;

/// Deficit round robin among flows, each with PIE; new flows go first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqPie {
    /// Limit of all flows together, packets; at least 1.
    pub limit_packets: u32,
    /// Number of hash buckets, one queue each; 1 to 65536.
    pub flows: u32,
    /// See [`super::Pie`].
    pub target_ns: u64,
    /// See [`super::Pie`].
    pub tupdate_ns: u64,
    /// See [`super::Pie`].
    pub alpha: u32,
    /// See [`super::Pie`].
    pub beta: u32,
    /// Quantum, bytes; 256 to 2^20. None: the link's MTU plus 14.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub quantum_bytes: Option<u32>,
    /// Kernel memory above which arrivals are counted, bytes; at least 1.
    pub memory_limit_bytes: u32,
    /// Largest probability at which packets are marked, per cent; 1 to 99.
    pub ecn_prob_percent: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// See [`super::Pie`].
    pub bytemode: bool,
    /// See [`super::Pie`].
    pub dq_rate_estimator: bool,
}

const LIMIT: Parameter = Parameter {
    default: Value::Number(10_240),
    effect: "Limit of all flows together; a packet that arrives when it is reached is dropped.",
    ..codel::LIMIT
};

pub(super) const QUANTUM: Parameter = Parameter {
    argument: "SIZE",
    range: "256 to 1048576 bytes",
    ..fq_codel::QUANTUM
};

const MEMORY_LIMIT: Parameter = Parameter {
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "No packet is dropped for it: Linux only counts the arrivals that exceed it.",
    ..fq_codel::MEMORY_LIMIT
};

const ECN_PROB: Parameter = Parameter {
    name: "ecn_prob",
    aliases: &[],
    argument: "PERCENT",
    key: "ecn_prob_percent",
    unit: "%",
    default: Value::Number(10),
    default_source: "Linux; RFC 8033 section 5.1",
    range: "1 to 99, a whole number without unit",
    bounds: Bounds::within(1, 99),
    effect: "With `ecn`: above this probability packets are dropped instead of marked.",
};

impl Grammar for FqPie {
    const DISCIPLINE: Discipline = Discipline {
        name: "fq_pie",
        summary: "Fair queueing with PIE: round robin among flows, new flows first, with PIE in each.",
        source: "tc-fq_pie(8); RFC 8033; iproute2 tc/q_fq_pie.c; Linux net/sched/sch_fq_pie.c",
        parameters: &[
            LIMIT,
            FLOWS,
            TARGET,
            TUPDATE,
            ALPHA,
            BETA,
            QUANTUM,
            MEMORY_LIMIT,
            ECN_PROB,
            Parameter::flag(
                "ecn",
                "Linux",
                &["noecn"],
                "Marks ECN-capable packets instead of dropping them while the flow's probability is \
                 at most `ecn_prob`.",
            ),
            BYTEMODE,
            Parameter::flag(
                "dq_rate_estimator",
                "Linux",
                &["no_dq_rate_estimator"],
                "Takes as a flow's delay its backlog over an estimate of its departure rate, in place \
                 of how long the packet stayed that left last.",
            ),
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<FqPie, QdiscError> {
        let mut config = FqPie {
            limit_packets: LIMIT.default.number() as u32,
            flows: FLOWS.default.number() as u32,
            target_ns: TARGET.default.number(),
            tupdate_ns: TUPDATE.default.number(),
            alpha: ALPHA.default.number() as u32,
            beta: BETA.default.number() as u32,
            quantum_bytes: None,
            memory_limit_bytes: MEMORY_LIMIT.default.number() as u32,
            ecn_prob_percent: ECN_PROB.default.number() as u32,
            ecn: false,
            bytemode: false,
            dq_rate_estimator: false,
        };
        let ignored = Reason::Ignored;
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => config.limit_packets = words.count(parameter)?,
                "flows" => config.flows = words.count(parameter)?,
                "target" => config.target_ns = words.time_ns(parameter)?,
                "tupdate" => config.tupdate_ns = words.time_ns(parameter)?,
                "alpha" => config.alpha = gain(words, parameter, &FqPie::DISCIPLINE)?,
                "beta" => config.beta = gain(words, parameter, &FqPie::DISCIPLINE)?,
                "quantum" => config.quantum_bytes = Some(quantum_bytes(words, parameter)?),
                "memory_limit" => {
                    config.memory_limit_bytes = words.size_bytes(parameter, ignored)?;
                }
                "ecn_prob" => {
                    let percent = words.count(parameter)?;
                    // tc refuses it at this place, even if a second value follows.
                    if percent > MOST_ECN_PERCENT {
                        return Err(Self::DISCIPLINE.out_of_range(parameter, percent));
                    }
                    config.ecn_prob_percent = percent;
                }
                "ecn" => config.ecn = words.flag(parameter),
                "bytemode" => config.bytemode = words.flag(parameter),
                "dq_rate_estimator" => config.dq_rate_estimator = words.flag(parameter),
                other => return Err(words.unknown(other)),
            }
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &FqPie::DISCIPLINE;
        let quanta = LEAST_QUANTUM_BYTES..=LARGEST_QUANTUM_BYTES;
        let quantum_bytes = self.quantum_bytes.unwrap_or(LEAST_QUANTUM_BYTES);
        let gains = 1..=LARGEST_GAIN;
        discipline.require_all([
            (self.limit_packets > 0, &LIMIT, self.limit_packets),
            ((1..=MOST_FLOWS).contains(&self.flows), &FLOWS, self.flows),
            (quanta.contains(&quantum_bytes), &QUANTUM, quantum_bytes),
            (gains.contains(&self.alpha), &ALPHA, self.alpha),
            (gains.contains(&self.beta), &BETA, self.beta),
            (self.memory_limit_bytes > 0, &MEMORY_LIMIT, 0),
            (
                (1..=MOST_ECN_PERCENT).contains(&self.ecn_prob_percent),
                &ECN_PROB,
                self.ecn_prob_percent,
            ),
        ])?;
        check_time(discipline, &TARGET, self.target_ns)?;
        check_time(discipline, &TUPDATE, self.tupdate_ns)
    }

    fn options(&self, device: Device) -> Options {
        let (limit, flows) = (self.limit_packets, self.flows);
        let (alpha, beta, percent) = (self.alpha, self.beta, self.ecn_prob_percent);
        let quantum = self.quantum_bytes.unwrap_or(device.frame_bytes());
        let memory = self.memory_limit_bytes;
        let size = |bytes: u32| shown::size(bytes.into());
        let options = Options::default()
            .show("limit", limit, &format!("limit {limit}p "))
            .show("flows", flows, &format!("flows {flows} "));
        let options = show_time(options, "target", self.target_ns);
        show_time(options, "tupdate", self.tupdate_ns)
            .show("alpha", alpha, &format!("alpha {alpha} "))
            .show("beta", beta, &format!("beta {beta} "))
            .show("quantum", quantum, &format!("quantum {} ", size(quantum)))
            .show(
                "memory_limit",
                memory,
                &format!("memory_limit {} ", size(memory)),
            )
            .show("ecn_prob", percent, &format!("ecn_prob {percent} "))
            .flag("ecn", self.ecn)
            .flag("bytemode", self.bytemode)
            .flag("dq_rate_estimator", self.dq_rate_estimator)
    }
}

/// The quantum after its keyword; the kernel raises values below 256 to 256.
fn quantum_bytes(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    match words.size_bytes(parameter, Reason::Ignored)? {
        bytes @ 1..LEAST_QUANTUM_BYTES => {
            Err(FqPie::DISCIPLINE.not_taken(parameter, bytes, Reason::Replaced))
        }
        bytes => Ok(bytes),
    }
}

impl fmt::Display for FqPie {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (target, tupdate) = (time_text(self.target_ns), time_text(self.tupdate_ns));
        write!(
            f,
            "fq_pie limit {} flows {}",
            self.limit_packets, self.flows
        )?;
        write!(f, " target {target} tupdate {tupdate}")?;
        write!(f, " alpha {} beta {}", self.alpha, self.beta)?;
        if let Some(bytes) = self.quantum_bytes {
            write!(f, " quantum {}", format_size(bytes.into()))?;
        }
        let memory_limit = format_size(self.memory_limit_bytes.into());
        write!(
            f,
            " memory_limit {memory_limit} ecn_prob {}",
            self.ecn_prob_percent
        )?;
        write_flags(
            f,
            &[
                (self.ecn, "ecn"),
                (self.bytemode, "bytemode"),
                (self.dq_rate_estimator, "dq_rate_estimator"),
            ],
        )
    }
}
