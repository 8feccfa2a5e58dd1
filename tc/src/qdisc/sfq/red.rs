//! RED in each flow of `sfq` (tc-sfq(8), iproute2 `tc/q_sfq.c` and `tc/tc_red.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | any of its words needs `redflowlimit BYTES` | yes |
//! | no `max`: a quarter of `redflowlimit`; no `min`: a third of `max`; `min` below `max`, `max` at most `redflowlimit` | yes |
//! | no `burst`: (2 min + max) / (3 avpkt) packets; `avpkt SIZE` (1000); `probability P` (0.02) | yes |
//! | `ecn`, `harddrop` | yes |
//! | `burst` too small or too large for a weight (Wlog), a probability without a slope | refused |
//! | the counters of marks and drops that `-s` adds | by `python/dumbbell/formats/tc_own.py`, from the table `sfq_red_samples` |

use super::{Sfq, Words};
use crate::c_numbers::Base;
use crate::qdisc::red::{self, PROBABILITY, probability_ppb, probability_text};
use crate::qdisc::{Bounds, Field, Grammar, Options, Parameter, QdiscError, Red, Value};
use crate::reason::Reason;
use crate::units::{format_size, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

/// RED in each flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SfqRed {
    /// Bound of the thresholds, bytes; tc computes the other defaults from it, and the kernel ignores it.
    pub limit_bytes: u32,
    /// Average backlog of a flow from which packets may be dropped, bytes; at least 1, below the maximum.
    pub min_bytes: u32,
    /// Average backlog from which every packet is dropped, bytes; at most the limit.
    pub max_bytes: u32,
    /// Size of an average packet, bytes; at least 1.
    pub avpkt_bytes: u32,
    /// Burst that may pass without drops, packets; sets the weight of the average.
    pub burst_packets: u32,
    /// Drop probability at the maximum, in units of 10^-9; 1 to 10^9 - 1.
    pub probability_ppb: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Whether they are dropped from the maximum on.
    pub harddrop: bool,
}

pub(super) const REDFLOWLIMIT: Parameter = Parameter {
    name: "redflowlimit",
    aliases: &[],
    argument: "BYTES",
    key: "red.limit_bytes",
    unit: "bytes",
    default: Value::Nothing,
    default_source: "tc: no RED",
    range: "1 to 4294967295 bytes, without unit",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Switches RED on in each flow, and bounds its `max`. The kernel has no limit of this kind.",
};

pub(super) const MIN: Parameter = Parameter {
    argument: "BYTES",
    key: "red.min_bytes",
    default: Value::Nothing,
    default_source: "a third of max",
    range: "1 byte to below max, without unit",
    effect: "While the average backlog of a flow is below this, RED drops or marks none of its packets.",
    ..red::MIN
};

pub(super) const MAX: Parameter = Parameter {
    argument: "BYTES",
    key: "red.max_bytes",
    default: Value::Nothing,
    default_source: "a quarter of redflowlimit",
    range: "above min, to redflowlimit, without unit",
    effect: "From this average backlog of a flow on, every packet of it is dropped or marked.",
    ..red::MAX
};

pub(super) const AVPKT: Parameter = Parameter {
    key: "red.avpkt_bytes",
    default: Value::Nothing,
    default_source: "tc: 1000 bytes",
    effect: "Size of an average packet: with `burst` it sets how fast the average follows the backlog.",
    ..red::AVPKT
};

pub(super) const BURST: Parameter = Parameter {
    key: "red.burst_packets",
    default: Value::Nothing,
    default_source: "(2 min + max) / (3 avpkt)",
    ..red::BURST
};

pub(super) const CHANCE: Parameter = Parameter {
    key: "red.probability_ppb",
    default: Value::Nothing,
    ..PROBABILITY
};

pub(super) const ECN: Parameter = Parameter {
    key: "red.ecn",
    default: Value::Nothing,
    ..Parameter::flag(
        "ecn",
        "tc",
        &[],
        "RED marks ECN-capable packets instead of dropping them; with `headdrop` the oldest of the flow, \
         so that its sender learns of it earlier.",
    )
};

pub(super) const HARDDROP: Parameter = Parameter {
    key: "red.harddrop",
    default: Value::Nothing,
    ..Parameter::flag(
        "harddrop",
        "tc",
        &[],
        "RED drops packets from `max` on, even with `ecn`.",
    )
};

/// The words of RED as far as they have been read.
#[derive(Debug)]
pub(super) struct Typed {
    red: SfqRed,
    is_any: bool,
}

impl Typed {
    pub(super) fn new() -> Typed {
        Typed {
            red: SfqRed {
                limit_bytes: 0,
                min_bytes: 0,
                max_bytes: 0,
                avpkt_bytes: 1000,
                burst_packets: 0,
                probability_ppb: PROBABILITY.default.number() as u32,
                ecn: false,
                harddrop: false,
            },
            is_any: false,
        }
    }

    /// Reads the value of a word of RED. Returns whether it is one.
    pub(super) fn read(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<bool, QdiscError> {
        let red = &mut self.red;
        match parameter.name {
            "redflowlimit" => red.limit_bytes = words.unsigned(parameter, Base::ByPrefix)?,
            "min" => red.min_bytes = words.unsigned(parameter, Base::ByPrefix)?,
            "max" => red.max_bytes = words.unsigned(parameter, Base::ByPrefix)?,
            "avpkt" => red.avpkt_bytes = words.size_bytes(parameter, Reason::Ignored)?,
            "burst" => red.burst_packets = words.count(parameter)?,
            "probability" => {
                red.probability_ppb = probability_ppb(words, parameter, &Sfq::DISCIPLINE)?;
            }
            "ecn" => red.ecn = true,
            "harddrop" => red.harddrop = true,
            _ => return Ok(false),
        }
        self.is_any = true;
        Ok(true)
    }

    /// RED with the parameters that tc derives, in 32 bits; None if no word of it was there.
    pub(super) fn finish(self, words: &Words) -> Result<Option<SfqRed>, QdiscError> {
        let mut red = self.red;
        if !self.is_any {
            return Ok(None);
        }
        words.require(&REDFLOWLIMIT, " with the words of RED")?;
        if red.max_bytes == 0 {
            red.max_bytes = red.limit_bytes / 4;
        }
        if red.min_bytes == 0 {
            red.min_bytes = red.max_bytes / 3;
        }
        if red.avpkt_bytes == 0 {
            return Err(Sfq::DISCIPLINE.out_of_range(&AVPKT, 0));
        }
        if red.burst_packets == 0 {
            let bytes =
                { red.min_bytes.checked_mul(2) }.and_then(|bytes| bytes.checked_add(red.max_bytes));
            let packet_bytes = red.avpkt_bytes.checked_mul(3);
            let (Some(bytes), Some(packet_bytes)) = (bytes, packet_bytes) else {
                let wraps = Reason::Wraps;
                return Err(Sfq::DISCIPLINE.not_taken(&BURST, "computed", wraps));
            };
            red.burst_packets = bytes / packet_bytes;
        }
        Ok(Some(red))
    }
}

impl SfqRed {
    pub(super) fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Sfq::DISCIPLINE;
        let (min, max) = (self.min_bytes, self.max_bytes);
        discipline.require_all([
            (self.limit_bytes > 0, &REDFLOWLIMIT, self.limit_bytes),
            (self.avpkt_bytes > 0, &AVPKT, self.avpkt_bytes),
            ((1..max).contains(&min), &MIN, min),
            (max <= self.limit_bytes, &MAX, max),
        ])?;
        let red = self.as_red();
        if !red.is_steep() {
            let probability = probability_text(self.probability_ppb);
            return Err(discipline.out_of_range(&CHANCE, probability));
        }
        if !red.has_weight() {
            return Err(discipline.not_taken(&BURST, self.burst_packets, Reason::NoWeight));
        }
        Ok(())
    }

    /// The RED with the same average and probability. The average does not decay while a flow is idle, because
    /// an idle flow has none, so the bandwidth means nothing.
    pub fn as_red(&self) -> Red {
        Red {
            limit_bytes: self.limit_bytes,
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes,
            avpkt_bytes: self.avpkt_bytes,
            burst_packets: self.burst_packets,
            probability_ppb: self.probability_ppb,
            bandwidth_bps: red::BANDWIDTH.default.number(),
            ecn: self.ecn,
            harddrop: self.harddrop,
            adaptive: false,
            nodrop: false,
        }
    }

    pub(super) fn show(&self, options: Options) -> Options {
        let red = self.as_red();
        let weight = u32::from(red.weight_log2().unwrap_or(0));
        let probability = f64::from(red.probability_q32()) / 4_294_967_296.0;
        let (number, text) = six_digits(probability);
        let size = |bytes: u32| shown::size(bytes.into());
        let (min, max) = (self.min_bytes, self.max_bytes);
        let options = options
            .show("ewma", weight, &format!("ewma {weight} "))
            .show("min", min, &format!("min {} ", size(min)))
            .show("max", max, &format!("max {} ", size(max)))
            .show(
                "probability",
                Field::Real(number),
                &format!("probability {text} "),
            );
        let flags = [
            ("ecn", self.ecn),
            ("harddrop", self.harddrop),
            ("adaptive", false),
            ("nodrop", false),
        ];
        flags.into_iter().fold(options, |options, (word, is_on)| {
            let text = if is_on {
                format!("{word} ")
            } else {
                String::new()
            };
            options.show(word, Field::Flag(is_on), &text)
        })
    }
}

/// A number from 0 to 1 as C's `%g` prints it, with six significant digits.
fn six_digits(number: f64) -> (f64, String) {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    if rounded == 0.0 || rounded >= 1e-4 {
        return (rounded, rounded.to_string());
    }
    let text = format!("{rounded:e}");
    let (digits, exponent) = text.split_once("e-").unwrap_or((&text, "0"));
    (rounded, format!("{digits}e-{exponent:0>2}"))
}

impl fmt::Display for SfqRed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (limit, min, max) = (self.limit_bytes, self.min_bytes, self.max_bytes);
        write!(f, " redflowlimit {limit} min {min} max {max}")?;
        let avpkt = format_size(self.avpkt_bytes.into());
        write!(f, " avpkt {avpkt} burst {}", self.burst_packets)?;
        write!(f, " probability {}", probability_text(self.probability_ppb))?;
        crate::qdisc::pie::write_flags(f, &[(self.ecn, "ecn"), (self.harddrop, "harddrop")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::{Qdisc, parse};

    fn red(text: &str) -> SfqRed {
        match parse(text) {
            Ok(Qdisc::Sfq(sfq)) => sfq.red.unwrap_or_else(|| panic!("{text}: no RED")),
            other => panic!("{text}: {other:?}"),
        }
    }

    /// tc computes what is not given as for `red` (tc-sfq(8)).
    #[test]
    fn what_is_not_given_is_computed() {
        let found = red("sfq redflowlimit 100000");
        assert_eq!((found.max_bytes, found.min_bytes), (25_000, 8333));
        assert_eq!((found.burst_packets, found.avpkt_bytes), (13, 1000));
        let found = red("sfq depth 20 redflowlimit 60000 max 24000 ecn harddrop probability 0.1");
        assert_eq!((found.max_bytes, found.min_bytes), (24_000, 8000));
        assert!(found.ecn && found.harddrop);
        assert_eq!(found.probability_ppb, 100_000_000);
    }

    #[test]
    fn what_tc_or_the_kernel_refuses_is_refused_by_name() {
        for (text, name) in [
            ("sfq ecn", "redflowlimit"),
            ("sfq min 3000 max 9000", "redflowlimit"),
            ("sfq redflowlimit 1000 max 2000", "max"),
            ("sfq redflowlimit 9000 min 3000 max 3000", "min"),
            (
                "sfq redflowlimit 90000 min 10000 max 30000 burst 5",
                "burst",
            ),
            ("sfq redflowlimit 90kb", "redflowlimit"),
            ("sfq redflowlimit 90000 avpkt 0", "avpkt"),
            ("sfq redflowlimit 90000 probability 1.5", "probability"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(name), "{text}: {error}");
        }
    }

    #[test]
    fn a_probability_has_six_digits() {
        for (ppb, text) in [
            (20_000_000u32, "0.02"),
            (123_456_789, "0.123457"),
            (1000, "1e-06"),
            (12_345, "1.2345e-05"),
        ] {
            let q32 = (u64::from(ppb) << 32) / 1_000_000_000;
            let found = six_digits(q32 as f64 / 4_294_967_296.0).1;
            // Small ones have few digits in the kernel's 32 bits.
            assert!(
                found == text || ppb < 100_000 && found.contains("e-"),
                "{ppb}: {found}"
            );
        }
    }
}
