//! `fq_codel`: fair queueing of flows, each with CoDel (RFC 8290; tc-fq_codel(8), iproute2
//! `tc/q_fq_codel.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (10240), `flows NUMBER` (1024, at most 65536), `drop_batch PACKETS` (64) | yes |
//! | `memory_limit SIZE` (32 MB); above 2^31 bytes the kernel uses 2^31 | yes, to 2^31 |
//! | `quantum BYTES`, without unit; below 256 the kernel uses 256 | yes, 256 to 2^20 |
//! | no `quantum`: the interface's MTU and its header | yes, null in the JSON |
//! | `target`, `interval`, `ecn` (on), `noecn`, `ce_threshold`: as `codel` | yes |
//! | `ce_threshold_selector VALUE/MASK`, 8 bits each; VALUE 255, which tc treats as not given, is refused | yes |
//! | filters that choose the flow (`tc filter`) | no |

use super::codel::{
    self, CE_THRESHOLD, INTERVAL, TARGET, ce_threshold_ns, check_ce_threshold, check_time,
    show_ce_threshold, show_time, time_text,
};
use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value};
use crate::c_numbers::{Base, strtol};
use crate::reason::Reason;
use crate::units::{format_size, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

pub(super) const LEAST_QUANTUM_BYTES: u32 = 256;
/// `FQ_CODEL_QUANTUM_MAX`.
pub(super) const LARGEST_QUANTUM_BYTES: u32 = 1 << 20;
pub(super) const MOST_FLOWS: u32 = 65_536;
const MOST_MEMORY_BYTES: u32 = 1 << 31;
/// Value with which tc encodes no selector.
const NO_SELECTOR: u8 = 0xff;

/// The packets to which a marking threshold applies, selected by the TOS byte (DSCP and ECN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selector {
    /// Required value of the masked bits.
    pub value: u8,
    /// Bits that are compared; at least one.
    pub mask: u8,
}

impl Selector {
    /// Whether the threshold applies to this TOS byte.
    pub fn selects(self, traffic_class: u8) -> bool {
        traffic_class & self.mask == self.value
    }
}

/// Deficit round robin among flows, each with CoDel; new flows go first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// Limit of all flows together, packets; at least 1.
    pub limit_packets: u32,
    /// Number of hash buckets, one queue each; 1 to 65536.
    pub flows: u32,
    /// Quantum, bytes; 256 to 2^20. None: the link's MTU plus 14.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub quantum_bytes: Option<u32>,
    /// See [`super::Codel`].
    pub target_ns: u64,
    /// See [`super::Codel`].
    pub interval_ns: u64,
    /// See [`super::Codel`].
    pub ecn: bool,
    /// See [`super::Codel`].
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub ce_threshold_ns: Option<u64>,
    /// The packets to which that threshold applies; none for all.
    #[serde(default)] // missing in descriptions from before 0.9.0
    pub ce_threshold_selector: Option<Selector>,
    /// Limit of kernel memory for packets, bytes; 1 to 2^31.
    pub memory_limit_bytes: u32,
    /// Packets dropped at a time when a limit is exceeded; at least 1.
    pub drop_batch_packets: u32,
}

const LIMIT: Parameter = Parameter {
    default: Value::Number(10_240),
    effect: "Limit of all flows together. When it is exceeded, packets are dropped from the head of the \
             flow with the largest backlog: half its bytes, at most `drop_batch` packets.",
    ..codel::LIMIT
};

pub(super) const FLOWS: Parameter = Parameter {
    name: "flows",
    aliases: &[],
    argument: "NUMBER",
    key: "flows",
    unit: "queues",
    default: Value::Number(1024),
    default_source: "Linux",
    range: "1 to 65536",
    bounds: Bounds::within(1, 65_536),
    effect: "Number of queues that flows are hashed to. Flows in the same queue share its quantum.",
};

pub(super) const QUANTUM: Parameter = Parameter {
    name: "quantum",
    aliases: &[],
    argument: "BYTES",
    key: "quantum_bytes",
    unit: "bytes",
    default: Value::Nothing,
    default_source: "Linux: the interface's MTU and header, 1514",
    range: "256 to 1048576, bytes without unit",
    bounds: Bounds::within(256, 1_048_576),
    effect: "Bytes that a queue may send per round.",
};

const ECN: Parameter = Parameter {
    name: "ecn",
    aliases: &["noecn"],
    argument: "",
    key: "ecn",
    unit: "flag",
    default: Value::Flag(true),
    default_source: "Linux",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Marks ECN-capable packets instead of dropping them, unless a limit is exceeded.",
};

const SELECTOR: Parameter = Parameter {
    name: "ce_threshold_selector",
    aliases: &[],
    argument: "VALUE/MASK",
    key: "ce_threshold_selector",
    unit: "bits of DSCP and ECN",
    default: Value::Nothing,
    default_source: "Linux: every packet",
    range: "0 to 254, and 1 to 255; `0x1/0x3` for ECT(1)",
    bounds: Bounds::within(0, 254),
    effect: "`ce_threshold` marks only packets whose TOS byte (DSCP and ECN), masked, equals the value.",
};

pub(super) const MEMORY_LIMIT: Parameter = Parameter {
    name: "memory_limit",
    aliases: &[],
    argument: "SIZE",
    key: "memory_limit_bytes",
    unit: "bytes",
    default: Value::Number(32 << 20),
    default_source: "Linux",
    range: "1 to 2147483648 bytes",
    bounds: Bounds::within(1, 2_147_483_648),
    effect: "As `limit`, for the kernel memory of the packets (a packet of 1514 bytes takes 2304).",
};

const DROP_BATCH: Parameter = Parameter {
    name: "drop_batch",
    aliases: &[],
    argument: "PACKETS",
    key: "drop_batch_packets",
    unit: "packets",
    default: Value::Number(64),
    default_source: "Linux",
    range: "1 to 4294967295 packets",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Largest number of packets dropped at a time when a limit is exceeded.",
};

impl Grammar for FqCodel {
    const DISCIPLINE: Discipline = Discipline {
        name: "fq_codel",
        summary: "Fair queueing with controlled delay: round robin among flows, new ones first, \
                  and CoDel in each.",
        source: "RFC 8290; tc-fq_codel(8); iproute2 tc/q_fq_codel.c; Linux \
                 net/sched/sch_fq_codel.c",
        parameters: &[
            LIMIT,
            FLOWS,
            QUANTUM,
            TARGET,
            INTERVAL,
            ECN,
            CE_THRESHOLD,
            SELECTOR,
            MEMORY_LIMIT,
            DROP_BATCH,
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<FqCodel, QdiscError> {
        let mut config = FqCodel {
            limit_packets: LIMIT.default.number() as u32,
            flows: FLOWS.default.number() as u32,
            quantum_bytes: None,
            target_ns: TARGET.default.number(),
            interval_ns: INTERVAL.default.number(),
            ecn: true,
            ce_threshold_ns: None,
            ce_threshold_selector: None,
            memory_limit_bytes: MEMORY_LIMIT.default.number() as u32,
            drop_batch_packets: DROP_BATCH.default.number() as u32,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => config.limit_packets = words.count(parameter)?,
                "flows" => config.flows = words.count(parameter)?,
                "quantum" => config.quantum_bytes = Some(quantum_bytes(words, parameter)?),
                "target" => config.target_ns = words.time_ns(parameter)?,
                "interval" => config.interval_ns = words.time_ns(parameter)?,
                "ecn" => config.ecn = words.flag(parameter),
                "ce_threshold" => config.ce_threshold_ns = Some(ce_threshold_ns(words, parameter)?),
                "ce_threshold_selector" => {
                    config.ce_threshold_selector = Some(selector(words, parameter)?);
                }
                "memory_limit" => config.memory_limit_bytes = memory_limit_bytes(words, parameter)?,
                "drop_batch" => config.drop_batch_packets = words.count(parameter)?,
                other => return Err(words.unknown(other)),
            }
        }
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &FqCodel::DISCIPLINE;
        let quantum_range = LEAST_QUANTUM_BYTES..=LARGEST_QUANTUM_BYTES;
        let quantum_bytes = self.quantum_bytes.unwrap_or(LEAST_QUANTUM_BYTES);
        let memory_is_fine = (1..=MOST_MEMORY_BYTES).contains(&self.memory_limit_bytes);
        discipline.require_all([
            (self.limit_packets > 0, &LIMIT, self.limit_packets),
            ((1..=MOST_FLOWS).contains(&self.flows), &FLOWS, self.flows),
            (
                quantum_range.contains(&quantum_bytes),
                &QUANTUM,
                quantum_bytes,
            ),
            (memory_is_fine, &MEMORY_LIMIT, self.memory_limit_bytes),
            (
                self.drop_batch_packets > 0,
                &DROP_BATCH,
                self.drop_batch_packets,
            ),
        ])?;
        let is_fine = |each: Selector| each.value < NO_SELECTOR && each.mask > 0;
        if let Some(each) = self.ce_threshold_selector.filter(|each| !is_fine(*each)) {
            let value = format!("{}/{}", each.value, each.mask);
            return Err(discipline.out_of_range(&SELECTOR, value));
        }
        check_time(discipline, &TARGET, self.target_ns)?;
        check_time(discipline, &INTERVAL, self.interval_ns)?;
        check_ce_threshold(discipline, self.ce_threshold_ns)
    }

    fn options(&self, device: Device) -> Options {
        let (limit, flows) = (self.limit_packets, self.flows);
        let quantum = self.quantum_bytes.unwrap_or(device.frame_bytes());
        let options = Options::default()
            .show("limit", limit, &format!("limit {limit}p "))
            .show("flows", flows, &format!("flows {flows} "))
            .show("quantum", quantum, &format!("quantum {quantum} "));
        let options = show_time(options, "target", self.target_ns);
        let (memory, batch) = (self.memory_limit_bytes, self.drop_batch_packets);
        let memory_text = format!("memory_limit {} ", shown::size(memory.into()));
        let options = show_ce_threshold(options, self.ce_threshold_ns);
        let options = match self.ce_threshold_selector {
            Some(Selector { value, mask }) => options
                .show(
                    "ce_threshold_selector",
                    u32::from(value),
                    &format!("ce_threshold_selector {}", c_hex(value)),
                )
                .show(
                    "ce_threshold_mask",
                    u32::from(mask),
                    &format!("/{} ", c_hex(mask)),
                ),
            None => options,
        };
        show_time(options, "interval", self.interval_ns)
            .show("memory_limit", memory, &memory_text)
            .flag("ecn", self.ecn)
            .show("drop_batch", batch, &format!("drop_batch {batch} "))
    }
}

/// The quantum after its keyword; the kernel raises values below 256 to 256.
fn quantum_bytes(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    match words.count(parameter)? {
        bytes @ 1..LEAST_QUANTUM_BYTES => {
            Err(FqCodel::DISCIPLINE.not_taken(parameter, bytes, Reason::Replaced))
        }
        bytes => Ok(bytes),
    }
}

/// A byte as C's `%#x` prints it: 0 has no prefix.
fn c_hex(bits: u8) -> String {
    match bits {
        0 => "0".to_owned(),
        bits => format!("{bits:#x}"),
    }
}

/// `VALUE/MASK` after its keyword.
fn selector(words: &mut Words, parameter: &'static Parameter) -> Result<Selector, QdiscError> {
    let text = words.value(parameter)?;
    let out_of_range = || FqCodel::DISCIPLINE.out_of_range(parameter, text);
    let bits = |text| {
        let number = strtol(text, Base::ByPrefix)?;
        u8::try_from(number).ok()
    };
    let (value, mask) = text.split_once('/').ok_or_else(out_of_range)?;
    let value = bits(value).ok_or_else(out_of_range)?;
    let mask = bits(mask).ok_or_else(out_of_range)?;
    if value == NO_SELECTOR || mask == 0 {
        return Err(FqCodel::DISCIPLINE.not_taken(parameter, text, Reason::Ignored));
    }
    Ok(Selector { value, mask })
}

/// The limit after its keyword; the kernel lowers values above 2^31 to 2^31.
fn memory_limit_bytes(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    match words.size_bytes(parameter, Reason::DropsAll)? {
        bytes if bytes > MOST_MEMORY_BYTES => {
            Err(FqCodel::DISCIPLINE.not_taken(parameter, bytes, Reason::Replaced))
        }
        bytes => Ok(bytes),
    }
}

impl fmt::Display for FqCodel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "fq_codel limit {} flows {}",
            self.limit_packets, self.flows
        )?;
        if let Some(bytes) = self.quantum_bytes {
            write!(f, " quantum {bytes}")?;
        }
        let (target, interval) = (time_text(self.target_ns), time_text(self.interval_ns));
        let ecn = if self.ecn { "ecn" } else { "noecn" };
        write!(f, " target {target} interval {interval} {ecn}")?;
        if let Some(threshold_ns) = self.ce_threshold_ns {
            write!(f, " ce_threshold {}", time_text(threshold_ns))?;
        }
        if let Some(Selector { value, mask }) = self.ce_threshold_selector {
            write!(f, " ce_threshold_selector {value:#x}/{mask:#x}")?;
        }
        let memory_limit = format_size(self.memory_limit_bytes.into());
        write!(
            f,
            " memory_limit {memory_limit} drop_batch {}",
            self.drop_batch_packets
        )
    }
}
