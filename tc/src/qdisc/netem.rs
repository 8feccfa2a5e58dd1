//! `netem`: a constant delay and a rate (tc-netem(8), iproute2 `tc/q_netem.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (1000), the packet being sent included | yes |
//! | `delay TIME`, or `latency TIME` | yes |
//! | `rate RATE` | yes, in whole bytes per second as tc hands it to the kernel |
//! | jitter and correlation after `delay TIME` | no |
//! | packet overhead, cell size and cell overhead after `rate RATE` | no |
//! | `rate 5%` (of the device's speed) | no |
//! | `distribution`, `loss`, `drop`, `ecn`, `corrupt`, `duplicate`, `reorder`, `gap`, `slot`, `seed` | no |
//! | `rate 0` (tc: no rate), `limit 0` | refused: leave the word out |
//!
//! iproute2 from before March 2024 ("netem: use 64 bit value for latency and jitter") counts
//! this delay in 32 bits of 64 ns, reads it in microseconds and does not know `ns`: there, only
//! whole microseconds up to 274 s reach the kernel. The kernel has 64 bits since 4.15.

use super::words::Words;
use super::{Discipline, Grammar, Parameter, QdiscError};
use crate::units::{format_rate, format_time};
use serde::{Deserialize, Serialize};
use std::fmt;

/// tc's own default, whatever the interface (`tc/q_netem.c`).
const DEFAULT_LIMIT_PACKETS: u32 = 1000;

/// A constant delay, then transmission at a rate, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Netem {
    /// Packets that may be inside, the one being sent included; at least 1.
    pub limit_packets: u32,
    /// Delay of every packet, nanoseconds; at most `i64::MAX` as in the kernel. What tc from
    /// before 2024 can pass on is less: whole microseconds, up to 274 s.
    pub delay_ns: u64,
    /// Rate in bit/s, a multiple of 8; 0 for no rate.
    pub rate_bps: u64,
}

const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "PACKETS",
    key: "limit_packets",
    unit: "packets",
    default: DEFAULT_LIMIT_PACKETS as u64,
    default_source: "tc",
    range: "1 to 4294967295 packets",
    effect: "A packet that arrives while this many are inside, the one being sent included, is \
             dropped.",
};

const DELAY: Parameter = Parameter {
    name: "delay",
    aliases: &["latency"],
    argument: "TIME",
    key: "delay_ns",
    unit: "ns",
    default: 0,
    default_source: "tc",
    range: "0 to 9223372036854775807 ns",
    effect: "Every packet stays at least this long; a bare number is microseconds.",
};

const RATE: Parameter = Parameter {
    name: "rate",
    aliases: &[],
    argument: "RATE",
    key: "rate_bps",
    unit: "bit/s",
    default: 0,
    default_source: "tc: no rate",
    range: "at least 8 bit/s, in whole bytes per second; no rate: leave it out",
    effect: "Packets leave one after the other at this rate, link headers counted; rounded down \
             to whole bytes per second, and a bare number is bit/s.",
};

impl Grammar for Netem {
    const DISCIPLINE: Discipline = Discipline {
        name: "netem",
        summary: "Network emulator: holds every packet for a delay and sends at a rate.",
        source: "tc-netem(8); iproute2 tc/q_netem.c; Linux net/sched/sch_netem.c",
        parameters: &[LIMIT, DELAY, RATE],
        not_implemented: &[
            "jitter",
            "distribution",
            "loss",
            "drop",
            "ecn",
            "corrupt",
            "duplicate",
            "reorder",
            "gap",
            "slot",
            "seed",
        ],
    };

    fn parse(words: &mut Words) -> Result<Netem, QdiscError> {
        let mut netem = Netem {
            limit_packets: DEFAULT_LIMIT_PACKETS,
            delay_ns: 0,
            rate_bps: 0,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => netem.limit_packets = words.count(parameter)?,
                "delay" => {
                    netem.delay_ns = words.time_ns(parameter)?;
                    words.refuse_second_number("jitter")?;
                }
                "rate" => {
                    netem.rate_bps = words.rate_bps(parameter)?;
                    words.refuse_second_number("packet overhead")?;
                }
                other => return Err(words.unknown(other)),
            }
        }
        Ok(netem)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value| Err(Netem::DISCIPLINE.out_of_range(parameter, value));
        if self.limit_packets == 0 {
            return refuse(&LIMIT, 0);
        }
        if i64::try_from(self.delay_ns).is_err() {
            return refuse(&DELAY, self.delay_ns);
        }
        if !self.rate_bps.is_multiple_of(8) {
            return refuse(&RATE, self.rate_bps);
        }
        Ok(())
    }
}

impl fmt::Display for Netem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "netem limit {}", self.limit_packets)?;
        if self.delay_ns > 0 {
            write!(f, " delay {}", format_time(self.delay_ns))?;
        }
        if self.rate_bps > 0 {
            write!(f, " rate {}", format_rate(self.rate_bps))?;
        }
        Ok(())
    }
}
