//! `sfq`: stochastic fairness queueing (McKenney, "Stochastic Fairness Queueing", IEEE INFOCOM 1990;
//! tc-sfq(8), iproute2 `tc/q_sfq.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit NUMBER` (127), 2 to `depth` times `flows` | yes |
//! | `depth NUMBER` (127), 1 to 127; `headdrop` | yes |
//! | `flows NUMBER` (128, or `divisor` or `limit` if smaller), to 65408 | yes |
//! | `divisor NUMBER` (1024), a power of two to 65536 | yes |
//! | `perturb SECS` (0: never) | yes |
//! | `quantum SIZE`; below 256 the kernel uses 256 | yes, 256 to 2^20 |
//! | no `quantum`: the interface's MTU and its header | yes, null in the JSON |
//! | RED in each flow: `redflowlimit`, `min`, `max`, `avpkt`, `burst`, `probability`, `ecn`, `harddrop` | yes: `red` |
//! | filters that choose the flow (`tc filter`) | no |

mod red;

use super::fq_codel::{LARGEST_QUANTUM_BYTES, LEAST_QUANTUM_BYTES};
use super::fq_pie;
use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value};
use crate::c_numbers::Base;
use crate::reason::Reason;
use crate::units::{format_size, shown};
pub use red::SfqRed;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `SFQ_MAX_DEPTH`, also the default limit.
const MOST_DEPTH_PACKETS: u32 = 127;
/// `SFQ_MAX_FLOWS`.
const MOST_FLOWS: u32 = 65_408;
const MOST_DIVISOR: u32 = 65_536;
const DEFAULT_LIMIT_PACKETS: u32 = 127;
const DEFAULT_FLOWS: u32 = 128;
const DEFAULT_DIVISOR: u32 = 1024;
/// `INT_MAX / HZ` of a kernel with 1000 ticks a second.
const LONGEST_PERTURB_S: u32 = i32::MAX as u32 / 1000;

/// Deficit round robin among flows; when the queue is full, a packet of the longest flow is dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sfq {
    /// Limit of all flows together, packets; 2 to `depth_packets` times `flows`, or 127.
    pub limit_packets: u32,
    /// Limit of each flow, packets; 1 to 127.
    pub depth_packets: u32,
    /// Largest number of backlogged flows; 1 to 65408.
    pub flows: u32,
    /// Number of hash values; a power of two, 1 to 65536.
    pub divisor: u32,
    /// Quantum, bytes; 256 to 2^20. None: the link's MTU plus 14.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub quantum_bytes: Option<u32>,
    /// Seconds until the hash gets a new key; 0 for never.
    pub perturb_s: u32,
    /// Whether the oldest packet of a flow is dropped instead of the newest.
    pub headdrop: bool,
    /// RED in each flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<SfqRed>,
}

const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "NUMBER",
    key: "limit_packets",
    unit: "packets",
    default: Value::Number(DEFAULT_LIMIT_PACKETS as u64),
    default_source: "Linux",
    range: "2 to depth times flows packets",
    bounds: Bounds::at_least(2),
    effect: "Limit of all flows together. When it is exceeded, the flow with the most packets loses its \
             newest packet, or its oldest with `headdrop`.",
};

const DEPTH: Parameter = Parameter {
    name: "depth",
    aliases: &[],
    argument: "NUMBER",
    key: "depth_packets",
    unit: "packets",
    default: Value::Number(MOST_DEPTH_PACKETS as u64),
    default_source: "Linux",
    range: "1 to 127 packets",
    bounds: Bounds::within(1, 127),
    effect: "Limit of each flow. A packet that arrives when its flow has reached it is dropped; with \
             `headdrop` the flow's oldest packet is dropped instead.",
};

const FLOWS: Parameter = Parameter {
    name: "flows",
    aliases: &[],
    argument: "NUMBER",
    key: "flows",
    unit: "queues",
    default: Value::Number(DEFAULT_FLOWS as u64),
    default_source: "Linux: 128, or divisor or limit if smaller",
    range: "1 to 65408, at most divisor and limit",
    bounds: Bounds::within(1, 65_408),
    effect: "Largest number of backlogged flows; packets of further flows are dropped.",
};

const DIVISOR: Parameter = Parameter {
    name: "divisor",
    aliases: &[],
    argument: "NUMBER",
    key: "divisor",
    unit: "values",
    default: Value::Number(DEFAULT_DIVISOR as u64),
    default_source: "Linux",
    range: "a power of two, 1 to 65536",
    bounds: Bounds::within(1, 65_536),
    effect: "Number of hash values; flows with the same value share a queue.",
};

const QUANTUM: Parameter = Parameter {
    effect: "Bytes that a flow may send per round.",
    ..fq_pie::QUANTUM
};

const PERTURB: Parameter = Parameter {
    name: "perturb",
    aliases: &[],
    argument: "SECS",
    key: "perturb_s",
    unit: "s",
    default: Value::Number(0),
    default_source: "tc: never",
    range: "0 to 2147483 seconds, a whole number without unit",
    bounds: Bounds::within(0, 2_147_483),
    effect: "Period after which the hash gets a new key, which separates flows that shared a queue; queued \
             packets are rehashed.",
};

impl Grammar for Sfq {
    const DISCIPLINE: Discipline = Discipline {
        name: "sfq",
        summary: "Stochastic fairness queueing: round robin among flows, which are identified by a hash.",
        source: "McKenney, IEEE INFOCOM 1990; tc-sfq(8); iproute2 tc/q_sfq.c; Linux net/sched/sch_sfq.c",
        parameters: &[
            LIMIT,
            DEPTH,
            FLOWS,
            DIVISOR,
            QUANTUM,
            PERTURB,
            Parameter::flag(
                "headdrop",
                "tc",
                &[],
                "Drops the oldest packet of a flow, so that its sender detects the loss earlier.",
            ),
            red::REDFLOWLIMIT,
            red::MIN,
            red::MAX,
            red::AVPKT,
            red::BURST,
            red::CHANCE,
            red::ECN,
            red::HARDDROP,
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Sfq, QdiscError> {
        let mut limit = None;
        let mut flows = None;
        let mut divisor = None;
        let mut sfq = Sfq {
            limit_packets: DEFAULT_LIMIT_PACKETS,
            depth_packets: MOST_DEPTH_PACKETS,
            flows: DEFAULT_FLOWS,
            divisor: DEFAULT_DIVISOR,
            quantum_bytes: None,
            perturb_s: 0,
            headdrop: false,
            red: None,
        };
        let mut red = red::Typed::new();
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => limit = Some(words.unsigned(parameter, Base::ByPrefix)?),
                "depth" => sfq.depth_packets = words.count(parameter)?,
                "flows" => flows = Some(words.count(parameter)?),
                "divisor" => divisor = Some(words.count(parameter)?),
                "quantum" => {
                    sfq.quantum_bytes = Some(words.size_bytes(parameter, Reason::Ignored)?)
                }
                "perturb" => sfq.perturb_s = perturb_s(words, parameter)?,
                "headdrop" => sfq.headdrop = true,
                other if !red.read(words, parameter)? => return Err(words.unknown(other)),
                _ => {}
            }
        }
        sfq.red = red.finish(words)?;
        sfq.divisor = divisor.unwrap_or(sfq.divisor);
        sfq.limit_packets = limit.unwrap_or(sfq.limit_packets);
        // The kernel has no more queues than the hash values and the limit in packets allow.
        let most_flows = divisor
            .unwrap_or(MOST_FLOWS)
            .min(limit.unwrap_or(MOST_FLOWS));
        sfq.flows = flows.unwrap_or(DEFAULT_FLOWS.min(most_flows));
        sfq.check_alone()?;
        let replaced = |parameter, value: u32| {
            Err(Sfq::DISCIPLINE.not_taken(parameter, value, Reason::Replaced))
        };
        let all_packets = sfq.depth_packets * sfq.flows.min(most_flows);
        match limit {
            Some(limit) if limit > all_packets => return replaced(&LIMIT, limit),
            _ if sfq.flows > most_flows => return replaced(&FLOWS, sfq.flows),
            _ => {}
        }
        sfq.check()?;
        Ok(sfq)
    }

    fn check(&self) -> Result<(), QdiscError> {
        self.check_alone()?;
        let refuse = |parameter, value: u32| Err(Sfq::DISCIPLINE.out_of_range(parameter, value));
        if self.divisor != DEFAULT_DIVISOR && self.flows > self.divisor {
            return refuse(&FLOWS, self.flows);
        }
        // A limit equal to the default is not written as a word, and does not constrain other parameters.
        if self.limit_packets == DEFAULT_LIMIT_PACKETS {
            return Ok(());
        }
        if self.limit_packets > self.depth_packets * self.flows {
            return refuse(&LIMIT, self.limit_packets);
        }
        if self.flows > self.limit_packets {
            return refuse(&FLOWS, self.flows);
        }
        Ok(())
    }

    fn options(&self, device: Device) -> Options {
        let quantum = self.quantum_bytes.unwrap_or(device.frame_bytes());
        let mut options = Options::default();
        for (word, number) in [("limit", self.limit_packets), ("quantum", quantum)] {
            let text = match word {
                "limit" => format!("limit {number}p "),
                _ => format!("quantum {} ", shown::size(number.into())),
            };
            options = options.show(word, number, &text);
        }
        let depth = self.depth_packets;
        options = options
            .show("depth", depth, &format!("depth {depth} "))
            .flag("headdrop", self.headdrop);
        for (word, number) in [("flows", self.flows), ("divisor", self.divisor)] {
            options = options.show(word, number, &format!("{word} {number} "));
        }
        if self.perturb_s > 0 {
            let seconds = self.perturb_s;
            options = options.show("perturb", seconds, &format!("perturb {seconds}sec "));
        }
        match &self.red {
            Some(red) => red.show(options),
            None => options,
        }
    }
}

impl Sfq {
    /// Checks each number by itself, independent of the others.
    fn check_alone(&self) -> Result<(), QdiscError> {
        let discipline = &Sfq::DISCIPLINE;
        let (flows, depth, divisor) = (self.flows, self.depth_packets, self.divisor);
        let quantum_bytes = self.quantum_bytes.unwrap_or(LEAST_QUANTUM_BYTES);
        for (is_replaced, parameter, value) in [
            (depth > MOST_DEPTH_PACKETS, &DEPTH, depth),
            (flows > MOST_FLOWS, &FLOWS, flows),
            (
                (1..LEAST_QUANTUM_BYTES).contains(&quantum_bytes),
                &QUANTUM,
                quantum_bytes,
            ),
        ] {
            if is_replaced {
                return Err(discipline.not_taken(parameter, value, Reason::Replaced));
            }
        }
        discipline.require_all([
            (self.limit_packets >= 2, &LIMIT, self.limit_packets),
            (depth > 0, &DEPTH, depth),
            (flows > 0, &FLOWS, flows),
            (
                divisor.is_power_of_two() && divisor <= MOST_DIVISOR,
                &DIVISOR,
                divisor,
            ),
            (
                (1..=LARGEST_QUANTUM_BYTES).contains(&quantum_bytes),
                &QUANTUM,
                quantum_bytes,
            ),
            (
                self.perturb_s <= LONGEST_PERTURB_S,
                &PERTURB,
                self.perturb_s,
            ),
        ])?;
        self.red.as_ref().map_or(Ok(()), SfqRed::check)
    }
}

/// The seconds after the keyword (`get_integer`).
fn perturb_s(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let range = 0..=i64::from(LONGEST_PERTURB_S);
    words
        .signed(parameter, range, Reason::Replaced)
        .map(i32::unsigned_abs)
}

impl fmt::Display for Sfq {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("sfq")?;
        // If written, they would limit the number of flows.
        if self.limit_packets != DEFAULT_LIMIT_PACKETS {
            write!(f, " limit {}", self.limit_packets)?;
        }
        write!(f, " depth {} flows {}", self.depth_packets, self.flows)?;
        if self.divisor != DEFAULT_DIVISOR {
            write!(f, " divisor {}", self.divisor)?;
        }
        if let Some(bytes) = self.quantum_bytes {
            write!(f, " quantum {}", format_size(bytes.into()))?;
        }
        write!(f, " perturb {}", self.perturb_s)?;
        if self.headdrop {
            f.write_str(" headdrop")?;
        }
        if let Some(red) = &self.red {
            write!(f, "{red}")?;
        }
        Ok(())
    }
}
