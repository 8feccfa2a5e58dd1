//! `fq`: fair queueing of flows with pacing: TCP packets are held until their departure time (tc-fq(8),
//! iproute2 `tc/q_fq.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (10000), `flow_limit PACKETS` (100); the kernel also accepts 0, which drops all | yes, from 1 |
//! | `quantum BYTES` (two frames), `initial_quantum BYTES` (ten), without unit | yes; null in the JSON where not given |
//! | `pacing` (on), `nopacing`; `maxrate RATE` | yes; null in the JSON where not given |
//! | `refill_delay TIME` (40 ms), `low_rate_threshold RATE` (550 kbit/s) | yes |
//! | `timer_slack TIME` (10 us); tc reads whole nanoseconds, also without unit | yes |
//! | `ce_threshold TIME` | yes; null in the JSON where not given |
//! | `horizon TIME` (10 s), `horizon_drop` (on), `horizon_cap` | yes |
//! | `buckets`, `orphan_mask`: how flows are hashed | no |
//! | `defrate`: kernels since 3.13 ignore it | no |

use super::codel::{
    CE_THRESHOLD, ce_threshold_ns, check_ce_threshold, show_ce_threshold, time_text,
};
use super::words::Words;
use super::{Bounds, Device, Discipline, Field, Grammar, Options, Parameter, QdiscError, Value};
use crate::c_numbers::Base;
use crate::reason::Reason;
use crate::units::in_tc::is_rate;
use crate::units::{format_rate, format_time, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest quantum that the kernel accepts.
const LARGEST_QUANTUM_BYTES: u32 = 1 << 20;
/// Largest initial quantum that the kernel accepts.
const LARGEST_INITIAL_QUANTUM_BYTES: u32 = i32::MAX as u32;
/// tc passes rates as 32 bits of bytes per second; the largest value means none.
const LARGEST_RATE_BPS: u64 = 8 * (u32::MAX as u64 - 1);
/// Hash buckets of the kernel, and its mask for flows without a socket, when tc gives neither.
const BUCKETS: u32 = 1024;
/// See `BUCKETS`.
const ORPHAN_MASK: u32 = 1023;

/// Deficit round robin among flows; TCP packets leave at their departure times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fq {
    /// Limit of all flows together, packets; at least 1.
    pub limit_packets: u32,
    /// Limit of each flow, packets; at least 1.
    pub flow_limit_packets: u32,
    /// Quantum, bytes; 1 to 2^20. None: two frames of the link's MTU.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub quantum_bytes: Option<u32>,
    /// Credit of a new flow, bytes. None: ten frames.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub initial_quantum_bytes: Option<u32>,
    /// Largest rate of each flow, bit/s, whole bytes per second; none for no limit.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub maxrate_bps: Option<u64>,
    /// Whether TCP packets are held until their departure time.
    pub pacing: bool,
    /// A flow that was idle for longer gets a new quantum, ns: whole microseconds.
    pub refill_delay_ns: u64,
    /// If `maxrate` is at most this, each packet uses up a flow's credit, bit/s.
    pub low_rate_threshold_bps: u64,
    /// Slack of its timer, ns.
    pub timer_slack_ns: u32,
    /// See [`super::Codel`].
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub ce_threshold_ns: Option<u64>,
    /// Largest distance of a departure time from now, ns: whole microseconds.
    pub horizon_ns: u64,
    /// Whether packets beyond the horizon are dropped instead of sent at the horizon.
    pub horizon_drop: bool,
}

const fn packets(
    name: &'static str,
    key: &'static str,
    default: u64,
    effect: &'static str,
) -> Parameter {
    Parameter {
        name,
        aliases: &[],
        argument: "PACKETS",
        key,
        unit: "packets",
        default: Value::Number(default),
        default_source: "Linux",
        range: "1 to 4294967295 packets",
        bounds: Bounds::within(1, 4_294_967_295),
        effect,
    }
}

const LIMIT: Parameter = packets(
    "limit",
    "limit_packets",
    10_000,
    "Limit of all flows together; a packet that arrives when it is reached is dropped.",
);

const FLOW_LIMIT: Parameter = packets(
    "flow_limit",
    "flow_limit_packets",
    100,
    "Limit of each flow; a packet that arrives when its flow has reached it is dropped.",
);

const QUANTUM: Parameter = Parameter {
    name: "quantum",
    aliases: &[],
    argument: "BYTES",
    key: "quantum_bytes",
    unit: "bytes",
    default: Value::Nothing,
    default_source: "Linux: twice the interface's MTU and header, 3028",
    range: "1 to 1048576, bytes without unit",
    bounds: Bounds::within(1, 1_048_576),
    effect: "Bytes that a flow may send per round.",
};

const INITIAL_QUANTUM: Parameter = Parameter {
    name: "initial_quantum",
    aliases: &[],
    argument: "BYTES",
    key: "initial_quantum_bytes",
    unit: "bytes",
    default: Value::Nothing,
    default_source: "Linux: ten times the interface's MTU and header, 15140",
    range: "0 to 2147483647, bytes without unit",
    bounds: Bounds::within(0, 2_147_483_647),
    effect: "Bytes that a new flow may send in its first round.",
};

const MAXRATE: Parameter = Parameter {
    name: "maxrate",
    aliases: &[],
    argument: "RATE",
    key: "maxrate_bps",
    unit: "bit/s",
    default: Value::Nothing,
    default_source: "Linux: none",
    range: "8bit to 34359738352bit",
    bounds: Bounds::within(8, 34_359_738_352),
    effect: "Largest rate of each flow, TCP or not; only with `pacing`.",
};

const PACING: Parameter = Parameter {
    name: "pacing",
    aliases: &["nopacing"],
    argument: "",
    key: "pacing",
    unit: "flag",
    default: Value::Flag(true),
    default_source: "Linux",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Every TCP sender of this host, with any controller, stamps each packet with its earliest \
             departure time, from its pacing rate; the packet is held until then.",
};

const fn time(
    name: &'static str,
    key: &'static str,
    default_ns: u64,
    effect: &'static str,
) -> Parameter {
    Parameter {
        name,
        aliases: &[],
        argument: "TIME",
        key,
        unit: "ns",
        default: Value::Number(default_ns),
        default_source: "Linux",
        range: "0us to 4294967295us, whole microseconds",
        bounds: Bounds::within(0, 4_294_967_295_000),
        effect,
    }
}

const REFILL_DELAY: Parameter = time(
    "refill_delay",
    "refill_delay_ns",
    40_000_000,
    "A flow that comes again after longer has a whole quantum, if it has less; rounded up to whole \
     ticks of the kernel's timer.",
);

const LOW_RATE_THRESHOLD: Parameter = Parameter {
    name: "low_rate_threshold",
    aliases: &[],
    argument: "RATE",
    key: "low_rate_threshold_bps",
    unit: "bit/s",
    default: Value::Number(550_000),
    default_source: "Linux",
    range: "8bit to 34359738352bit",
    bounds: Bounds::within(8, 34_359_738_352),
    effect: "If `maxrate` is at most this, traffic other than TCP of this host is paced packet by packet \
             instead of quantum by quantum.",
};

const TIMER_SLACK: Parameter = Parameter {
    range: "0ns to 4294967295ns",
    bounds: Bounds::within(0, 4_294_967_295),
    ..time(
        "timer_slack",
        "timer_slack_ns",
        10_000,
        "How much later than its time a packet may leave, so that one interrupt serves several: so \
         late it is when nothing else happens before. A bare number is nanoseconds.",
    )
};

const HORIZON: Parameter = time(
    "horizon",
    "horizon_ns",
    10_000_000_000,
    "A packet that may leave only after this time from now is dropped, or with `horizon_cap` let go \
     then.",
);

const HORIZON_DROP: Parameter = Parameter {
    name: "horizon_drop",
    aliases: &["horizon_cap"],
    argument: "",
    key: "horizon_drop",
    unit: "flag",
    default: Value::Flag(true),
    default_source: "Linux",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Drops packets whose departure time is beyond `horizon`.",
};

/// Times that tc passes in 32 bits of microseconds.
const TIMES: [&Parameter; 2] = [&REFILL_DELAY, &HORIZON];

impl Grammar for Fq {
    const DISCIPLINE: Discipline = Discipline {
        name: "fq",
        summary: "Fair queueing with pacing: round robin among flows, new ones first, and packets of \
                  TCP leave when its pacing rate lets them.",
        source: "tc-fq(8); iproute2 tc/q_fq.c; Linux net/sched/sch_fq.c, net/ipv4/tcp_output.c",
        parameters: &[
            LIMIT,
            FLOW_LIMIT,
            QUANTUM,
            INITIAL_QUANTUM,
            MAXRATE,
            PACING,
            REFILL_DELAY,
            LOW_RATE_THRESHOLD,
            TIMER_SLACK,
            CE_THRESHOLD,
            HORIZON,
            HORIZON_DROP,
        ],
        not_implemented: &["buckets", "orphan_mask", "defrate"],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Fq, QdiscError> {
        let mut fq = Fq {
            limit_packets: LIMIT.default.number() as u32,
            flow_limit_packets: FLOW_LIMIT.default.number() as u32,
            quantum_bytes: None,
            initial_quantum_bytes: None,
            maxrate_bps: None,
            pacing: true,
            refill_delay_ns: REFILL_DELAY.default.number(),
            low_rate_threshold_bps: LOW_RATE_THRESHOLD.default.number(),
            timer_slack_ns: TIMER_SLACK.default.number() as u32,
            ce_threshold_ns: None,
            horizon_ns: HORIZON.default.number(),
            horizon_drop: true,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => fq.limit_packets = words.count(parameter)?,
                "flow_limit" => fq.flow_limit_packets = words.count(parameter)?,
                "quantum" => fq.quantum_bytes = Some(words.count(parameter)?),
                "initial_quantum" => {
                    let bytes = words.unsigned(parameter, Base::ByPrefix)?;
                    fq.initial_quantum_bytes = Some(bytes);
                }
                "maxrate" => fq.maxrate_bps = Some(words.rate_bps(parameter, Reason::Ignored)?),
                "pacing" => fq.pacing = words.flag(parameter),
                "refill_delay" => fq.refill_delay_ns = refill_delay_ns(words, parameter)?,
                "low_rate_threshold" => {
                    fq.low_rate_threshold_bps = words.rate_bps(parameter, Reason::Ignored)?;
                }
                "timer_slack" => fq.timer_slack_ns = words.long_time_ns(parameter)?,
                "ce_threshold" => fq.ce_threshold_ns = Some(ce_threshold_ns(words, parameter)?),
                "horizon" => fq.horizon_ns = time_ns(words, parameter)?,
                "horizon_drop" => fq.horizon_drop = words.flag(parameter),
                other => return Err(words.unknown(other)),
            }
        }
        fq.check()?;
        Ok(fq)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Fq::DISCIPLINE;
        let quantum = self.quantum_bytes.unwrap_or(1);
        let initial = self.initial_quantum_bytes.unwrap_or(0);
        discipline.require_all([
            (self.limit_packets > 0, &LIMIT, self.limit_packets),
            (
                self.flow_limit_packets > 0,
                &FLOW_LIMIT,
                self.flow_limit_packets,
            ),
            (
                (1..=LARGEST_QUANTUM_BYTES).contains(&quantum),
                &QUANTUM,
                quantum,
            ),
            (
                initial <= LARGEST_INITIAL_QUANTUM_BYTES,
                &INITIAL_QUANTUM,
                initial,
            ),
        ])?;
        let maxrate_bps = self.maxrate_bps.unwrap_or(8);
        let low_rate_bps = self.low_rate_threshold_bps;
        for (is_fine, parameter, value) in [
            (maxrate_bps > 0 && fits(maxrate_bps), &MAXRATE, maxrate_bps),
            (
                low_rate_bps > 0 && fits(low_rate_bps),
                &LOW_RATE_THRESHOLD,
                low_rate_bps,
            ),
        ] {
            if !is_fine {
                return Err(discipline.out_of_range(parameter, format!("{value}bit")));
            }
        }
        let times_ns = [self.refill_delay_ns, self.horizon_ns];
        for (parameter, time_ns) in TIMES.into_iter().zip(times_ns) {
            if time_ns / 1000 > u64::from(u32::MAX) || !time_ns.is_multiple_of(1000) {
                return Err(discipline.out_of_range(parameter, format!("{time_ns}ns")));
            }
        }
        check_ce_threshold(discipline, self.ce_threshold_ns)
    }

    fn options(&self, device: Device) -> Options {
        let (limit, flow_limit) = (self.limit_packets, self.flow_limit_packets);
        let quantum = self.quantum_bytes.unwrap_or(2 * device.frame_bytes());
        let initial = self
            .initial_quantum_bytes
            .unwrap_or(10 * device.frame_bytes());
        let mut options = Options::default()
            .show("limit", limit, &format!("limit {limit}p "))
            .show(
                "flow_limit",
                flow_limit,
                &format!("flow_limit {flow_limit}p "),
            )
            .show("buckets", BUCKETS, &format!("buckets {BUCKETS} "))
            .show(
                "orphan_mask",
                ORPHAN_MASK,
                &format!("orphan_mask {ORPHAN_MASK} "),
            );
        if !self.pacing {
            options = options.show("pacing", Field::Flag(false), "nopacing ");
        }
        options = show_size(options, "quantum", quantum);
        options = show_size(options, "initial_quantum", initial);
        if let Some(maxrate_bps) = self.maxrate_bps {
            options = show_rate(options, "maxrate", maxrate_bps);
        }
        options = show_rate(options, "low_rate_threshold", self.low_rate_threshold_bps);
        options = show_time(options, "refill_delay", self.refill_delay_ns);
        options = show_ce_threshold(options, self.ce_threshold_ns);
        let slack = self.timer_slack_ns;
        let slack_text = format!("timer_slack {} ", shown::long_time_ns(slack.into()));
        options = options.show("timer_slack", slack, &slack_text);
        options = show_time(options, "horizon", self.horizon_ns);
        let word = horizon_word(self.horizon_drop);
        options.show(word, Field::Nothing, &format!("{word} "))
    }
}

/// Whether tc can pass the rate to the kernel: 32 bits of bytes per second.
fn fits(rate_bps: u64) -> bool {
    is_rate(rate_bps) && rate_bps <= LARGEST_RATE_BPS
}

/// The time after its keyword; 0 is accepted.
fn time_ns(words: &mut Words, parameter: &'static Parameter) -> Result<u64, QdiscError> {
    Ok(u64::from(words.time_us(parameter)?) * 1000)
}

/// Above this the kernel uses its longest timer.
const LONGEST_REFILL_DELAY_US: u64 = 4_294_965_296;

fn refill_delay_ns(words: &mut Words, parameter: &'static Parameter) -> Result<u64, QdiscError> {
    let delay_ns = time_ns(words, parameter)?;
    match delay_ns / 1000 > LONGEST_REFILL_DELAY_US {
        true => Err(Fq::DISCIPLINE.not_taken(parameter, format!("{delay_ns}ns"), Reason::Replaced)),
        false => Ok(delay_ns),
    }
}

fn horizon_word(drops: bool) -> &'static str {
    if drops { "horizon_drop" } else { "horizon_cap" }
}

fn show_size(options: Options, word: &'static str, bytes: u32) -> Options {
    let text = format!("{word} {} ", shown::size(bytes.into()));
    options.show(word, bytes, &text)
}

fn show_rate(options: Options, word: &'static str, rate_bps: u64) -> Options {
    let text = format!("{word} {} ", shown::rate(rate_bps / 8));
    options.show(word, rate_bps / 8, &text)
}

fn show_time(options: Options, word: &'static str, time_ns: u64) -> Options {
    let text = format!("{word} {} ", shown::time_ns(time_ns));
    options.show(word, shown::whole_us(time_ns), &text)
}

impl fmt::Display for Fq {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (limit, flow_limit) = (self.limit_packets, self.flow_limit_packets);
        write!(f, "fq limit {limit} flow_limit {flow_limit}")?;
        if let Some(bytes) = self.quantum_bytes {
            write!(f, " quantum {bytes}")?;
        }
        if let Some(bytes) = self.initial_quantum_bytes {
            write!(f, " initial_quantum {bytes}")?;
        }
        if let Some(maxrate_bps) = self.maxrate_bps {
            write!(f, " maxrate {}", format_rate(maxrate_bps))?;
        }
        let pacing = if self.pacing { "pacing" } else { "nopacing" };
        let refill_delay = time_text(self.refill_delay_ns);
        write!(f, " {pacing} refill_delay {refill_delay}")?;
        let low_rate_threshold = format_rate(self.low_rate_threshold_bps);
        write!(f, " low_rate_threshold {low_rate_threshold}")?;
        write!(
            f,
            " timer_slack {}",
            format_time(self.timer_slack_ns.into())
        )?;
        if let Some(threshold_ns) = self.ce_threshold_ns {
            write!(f, " ce_threshold {}", time_text(threshold_ns))?;
        }
        let horizon = time_text(self.horizon_ns);
        write!(f, " horizon {horizon} {}", horizon_word(self.horizon_drop))
    }
}
