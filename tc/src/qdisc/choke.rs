//! `choke`: random early detection that compares each arrival with a randomly chosen queued packet (Pan,
//! Prabhakar and Psounis, IEEE INFOCOM 2000; tc-choke(8), iproute2 `tc/q_choke.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS`, to 131071, and `bandwidth RATE`: required | yes |
//! | no `max`: a quarter of `limit`; no `min`: a third of `max`; `min` below `max` | yes |
//! | no `burst`: (2 min + max) / 3 packets | yes |
//! | `avpkt SIZE` (1000), `probability P` (0.02) | yes |
//! | `ecn` | yes |
//! | `burst` too small or too large for a weight (Wlog) | refused |
//! | `bandwidth 5%` (of the device's speed) | no |

use super::red::{self, IdleTable, PROBABILITY, probability_ppb, probability_text};
use super::words::{PPB, Words};
use super::{
    Bounds, Device, Discipline, Field, Grammar, Options, Parameter, QdiscError, REQUIRED, Red,
    Value, pfifo,
};
use crate::reason::Reason;
use crate::units::in_tc::is_rate;
use crate::units::{format_rate, format_size};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `CHOKE_MAX_QUEUE`.
const MOST_PACKETS: u32 = (128 << 10) - 1;

/// A FIFO that, while its average length is high, compares each arrival with a random queued packet: if both
/// belong to the same flow, both are dropped. Otherwise as RED.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choke {
    /// Limit in packets; 1 to 131071.
    pub limit_packets: u32,
    /// Average queue length up to which nothing is dropped, packets; at least 1, below the maximum.
    pub min_packets: u32,
    /// Average queue length above which every packet is dropped, packets; at most the limit.
    pub max_packets: u32,
    /// Size of an average packet, bytes; at least 1.
    pub avpkt_bytes: u32,
    /// Burst that may pass without drops, packets; sets the weight of the average.
    pub burst_packets: u32,
    /// Drop probability at the maximum, in units of 10^-9; 1 to 10^9 - 1.
    pub probability_ppb: u32,
    /// Rate of the link in bit/s, a multiple of 8; used for idle times.
    pub bandwidth_bps: u64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

const LIMIT: Parameter = Parameter {
    default: Value::Number(1000),
    default_source: REQUIRED,
    range: "1 to 131071 packets",
    bounds: Bounds::within(1, 131_071),
    ..pfifo::LIMIT
};

const MIN: Parameter = Parameter {
    name: "min",
    aliases: &[],
    argument: "PACKETS",
    key: "min_packets",
    unit: "packets",
    default: Value::Number(83),
    default_source: "computed: a third of max",
    range: "1 packet to below max",
    bounds: Bounds::at_least(1),
    effect: "While the average queue length is at most this, nothing is dropped or marked. Above it, each \
             arrival is compared with a random queued packet; if both are of the same flow, both are dropped.",
};

const MAX: Parameter = Parameter {
    name: "max",
    aliases: &[],
    argument: "PACKETS",
    key: "max_packets",
    unit: "packets",
    default: Value::Number(250),
    default_source: "computed: a quarter of limit",
    range: "above min, to limit",
    bounds: Bounds::at_least(1),
    effect: "Above this average queue length, every packet is dropped or marked.",
};

const AVPKT: Parameter = Parameter {
    default_source: "tc",
    effect: "Size of an average packet: with `bandwidth` it sets how fast the average decays while the \
             queue is idle.",
    ..red::AVPKT
};

const BURST: Parameter = Parameter {
    name: "burst",
    aliases: &[],
    argument: "PACKETS",
    key: "burst_packets",
    unit: "packets",
    default: Value::Number(138),
    default_source: "computed: (2 min + max) / 3",
    range: "at least min, up to where an averaging weight exists",
    bounds: Bounds::at_least(1),
    effect: "Burst of packets that may pass without drops: sets the weight of the average.",
};

const BANDWIDTH: Parameter = Parameter {
    default: Value::Number(0),
    default_source: REQUIRED,
    ..red::BANDWIDTH
};

impl Grammar for Choke {
    const DISCIPLINE: Discipline = Discipline {
        name: "choke",
        summary: "RED without state of flows that still takes most from those who send most: a packet is \
                  dropped with a waiting one of its flow.",
        source: "Pan, Prabhakar and Psounis, IEEE INFOCOM 2000; tc-choke(8); iproute2 tc/q_choke.c and \
                 tc/tc_red.c; Linux net/sched/sch_choke.c, include/net/red.h",
        parameters: &[
            LIMIT,
            BANDWIDTH,
            MIN,
            MAX,
            AVPKT,
            BURST,
            PROBABILITY,
            Parameter::flag(
                "ecn",
                "tc",
                &[],
                "Marks ECN-capable packets instead of dropping them, except after a match with a queued packet.",
            ),
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Choke, QdiscError> {
        let mut choke = Choke {
            limit_packets: 0,
            min_packets: 0,
            max_packets: 0,
            avpkt_bytes: AVPKT.default.number() as u32,
            burst_packets: 0,
            probability_ppb: PROBABILITY.default.number() as u32,
            bandwidth_bps: 0,
            ecn: false,
        };
        let ignored = Reason::Ignored;
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => choke.limit_packets = words.count(parameter)?,
                "min" => choke.min_packets = words.count(parameter)?,
                "max" => choke.max_packets = words.count(parameter)?,
                "avpkt" => choke.avpkt_bytes = words.size_bytes(parameter, ignored)?,
                "burst" => choke.burst_packets = words.count(parameter)?,
                "probability" => {
                    choke.probability_ppb = probability_ppb(words, parameter, &Choke::DISCIPLINE)?;
                }
                "bandwidth" => choke.bandwidth_bps = words.short_rate_bps(parameter, ignored)?,
                "ecn" => choke.ecn = true,
                other => return Err(words.unknown(other)),
            }
        }
        words.require_all()?;
        choke.fill_in()?;
        choke.check()?;
        Ok(choke)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Choke::DISCIPLINE;
        discipline.require_all([
            (
                (1..=MOST_PACKETS).contains(&self.limit_packets),
                &LIMIT,
                self.limit_packets,
            ),
            (self.avpkt_bytes > 0, &AVPKT, 0),
            (
                (1..self.max_packets).contains(&self.min_packets),
                &MIN,
                self.min_packets,
            ),
            (
                self.max_packets <= self.limit_packets,
                &MAX,
                self.max_packets,
            ),
        ])?;
        let bandwidth = || format_rate(self.bandwidth_bps);
        let bytes_per_s = self.bandwidth_bps / 8;
        if !is_rate(self.bandwidth_bps) || !(1..=u64::from(u32::MAX)).contains(&bytes_per_s) {
            return Err(discipline.out_of_range(&BANDWIDTH, self.bandwidth_bps));
        }
        let Some(red) = self.in_bytes() else {
            return Err(discipline.not_taken(&AVPKT, self.avpkt_bytes, Reason::Wraps));
        };
        if !red.is_steep() {
            let probability = probability_text(self.probability_ppb);
            return Err(discipline.out_of_range(&PROBABILITY, probability));
        }
        let log2 = red.weight_log2().map(u32::from);
        if log2.is_none_or(|log2| log2 >= self.max_packets.leading_zeros()) {
            return Err(discipline.not_taken(&BURST, self.burst_packets, Reason::NoWeight));
        }
        if self.bandwidth_bps > 8_000_000 * u64::from(self.avpkt_bytes) {
            return Err(discipline.not_taken(&BANDWIDTH, bandwidth(), Reason::NoTime));
        }
        if red.idle_table().is_none() {
            return Err(discipline.not_taken(&BANDWIDTH, bandwidth(), Reason::Wraps));
        }
        Ok(())
    }

    /// Omits the words that only `-d` adds.
    fn options(&self, _: Device) -> Options {
        let mut options = Options::default();
        for (word, packets) in [
            ("limit", self.limit_packets),
            ("min", self.min_packets),
            ("max", self.max_packets),
        ] {
            options = options.show(word, packets, &format!("{word} {packets}p "));
        }
        let ecn = if self.ecn { "ecn " } else { "" };
        let options = options.show("ecn", Field::Flag(self.ecn), ecn);
        let flags = ["harddrop", "adaptive", "nodrop"].into_iter();
        flags.fold(options, |options, word| {
            options.show(word, Field::Flag(false), "")
        })
    }
}

impl Choke {
    /// Computes the parameters that tc derives, in 32 bits.
    fn fill_in(&mut self) -> Result<(), QdiscError> {
        if self.max_packets == 0 {
            self.max_packets = self.limit_packets / 4;
        }
        if self.min_packets == 0 {
            self.min_packets = self.max_packets / 3;
        }
        if self.burst_packets == 0 {
            let packets = { self.min_packets.checked_mul(2) }
                .and_then(|packets| packets.checked_add(self.max_packets));
            let wraps = || Choke::DISCIPLINE.not_taken(&BURST, "computed", Reason::Wraps);
            self.burst_packets = packets.ok_or_else(wraps)? / 3;
        }
        Ok(())
    }

    /// The RED from which tc derives the weight and the table of idle times: thresholds in bytes of average
    /// packets. None if they do not fit 32 bits.
    fn in_bytes(&self) -> Option<Red> {
        let bytes = |packets: u32| packets.checked_mul(self.avpkt_bytes);
        Some(Red {
            limit_bytes: u32::MAX,
            min_bytes: bytes(self.min_packets)?,
            max_bytes: bytes(self.max_packets)?,
            avpkt_bytes: self.avpkt_bytes,
            burst_packets: self.burst_packets,
            probability_ppb: self.probability_ppb,
            bandwidth_bps: self.bandwidth_bps,
            ecn: self.ecn,
            harddrop: false,
            adaptive: false,
            nodrop: false,
        })
    }

    /// See [`Red::weight_log2`].
    pub fn weight_log2(&self) -> Option<u8> {
        self.in_bytes()?.weight_log2()
    }

    /// See [`Red::idle_table`].
    pub fn idle_table(&self) -> Option<IdleTable> {
        self.in_bytes()?.idle_table()
    }

    /// See [`Red::probability_q32`].
    pub fn probability_q32(&self) -> u32 {
        (((u64::from(self.probability_ppb) << 32) / u64::from(PPB)).min(u32::MAX.into())) as u32
    }
}

impl fmt::Display for Choke {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let bandwidth = format_rate(self.bandwidth_bps);
        write!(
            f,
            "choke limit {} bandwidth {bandwidth}",
            self.limit_packets
        )?;
        write!(f, " min {} max {}", self.min_packets, self.max_packets)?;
        let avpkt = format_size(self.avpkt_bytes.into());
        write!(f, " avpkt {avpkt} burst {}", self.burst_packets)?;
        write!(f, " probability {}", probability_text(self.probability_ppb))?;
        if self.ecn {
            f.write_str(" ecn")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::qdisc::parse;

    /// tc reads each of several, and 32 bits of bytes per second.
    #[test]
    fn a_bandwidth_that_does_not_fit_is_refused_though_another_follows() {
        for text in [
            "choke limit 100 bandwidth 100gbit bandwidth 1mbit",
            "red limit 400kb avpkt 1000 burst 30 bandwidth 100gbit bandwidth 1mbit",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(
                error.contains("bandwidth: \"100000000000\" is out of range"),
                "{error}"
            );
        }
    }
}
