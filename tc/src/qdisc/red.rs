//! `red`: random early detection (Floyd and Jacobson 1993; tc-red(8), iproute2 `tc/q_red.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit SIZE`, `avpkt SIZE`: required | yes |
//! | no `max`: three times `min`, or a quarter of `limit`; no `min`: a third of `max` | yes |
//! | no `burst`: (2 min + max) / (3 avpkt) packets | yes |
//! | `probability P` (0.02), in units of 10^-9; `bandwidth RATE` (10mbit) | yes |
//! | `ecn`, `harddrop`, `nodrop` (only with `ecn`) | yes |
//! | `adaptive`, or `adaptative` (Floyd, Gummadi and Shenker 2001) | yes |
//! | `burst` too small or too large for a weight (Wlog), `max` of 2^30 and above | refused |
//! | `min` equal to `max` | yes |
//! | `probability 1` and above, a packet sent in less than 1 us (tc computes other numbers from them) | refused |
//! | a probability with more digits than 10^-9, if the kernel would see the difference | refused |
//! | `bandwidth 5%` (of the device's speed), `qevent` | no |
//! tc computes the averaging weight, the scale of the probability and the table of idle times from these
//! words ([`Red::weight_log2`], [`Red::idle_table`]); the kernel stores only the results.

use super::pie::write_flags;
use super::words::{PPB, Words};
use super::{
    Bounds, Device, Discipline, Field, Grammar, Options, Parameter, QdiscError, REQUIRED, Value,
};
use crate::reason::Reason;
use crate::units::in_tc::{TICK_NS, in_ticks_ns, is_rate};
use crate::units::{format_rate, format_size, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Entries of the table of idle times (`RED_STAB_SIZE`).
pub const IDLE_TABLE_SIZE: usize = 256;
/// Largest `max` that fits the kernel's 32 bits with the largest weight, 1/2.
const MOST_MAX_BYTES: u32 = (1 << 30) - 1;
/// The kernel's probability 1, which its 32 bits cannot represent.
const PROBABILITY_ONE: f64 = 4_294_967_296.0;
/// Shifts by 32 bits and more are undefined in C.
const LARGEST_SHIFT: u8 = 31;

/// A FIFO that drops arrivals with a probability that grows with the average backlog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Limit in bytes; at least 1.
    pub limit_bytes: u32,
    /// Average backlog above which packets may be dropped, bytes; at least 1, at most the maximum.
    pub min_bytes: u32,
    /// Average backlog from which every packet is dropped, bytes.
    pub max_bytes: u32,
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
    /// Whether they are dropped above the maximum.
    pub harddrop: bool,
    /// Whether the maximum probability adapts to keep the average between the thresholds.
    pub adaptive: bool,
    /// Whether packets that are not ECN-capable are kept; only with `ecn`.
    pub nodrop: bool,
}

/// Number of halvings of the average for each idle time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleTable {
    /// Logarithm of the number of microseconds per entry, a power of two.
    pub cell_log2: u8,
    /// Number of halvings for each idle time.
    pub halvings: [u8; IDLE_TABLE_SIZE],
}

const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "SIZE",
    key: "limit_bytes",
    unit: "bytes",
    default: Value::Number(400_000),
    default_source: REQUIRED,
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "A packet that would make the backlog longer is dropped. Should exceed `max` by a burst.",
};

pub(super) const MIN: Parameter = Parameter {
    name: "min",
    aliases: &[],
    argument: "SIZE",
    key: "min_bytes",
    unit: "bytes",
    default: Value::Number(33_333),
    default_source: "computed: a third of max",
    range: "1 byte to max",
    bounds: Bounds::at_least(1),
    effect: "While the average backlog is below this, nothing is dropped or marked.",
};

pub(super) const MAX: Parameter = Parameter {
    name: "max",
    aliases: &[],
    argument: "SIZE",
    key: "max_bytes",
    unit: "bytes",
    default: Value::Number(100_000),
    default_source: "computed: three times min, or a quarter of limit",
    range: "min to 1073741823 bytes",
    bounds: Bounds::within(1, 1_073_741_823),
    effect: "From this average backlog on, every packet is dropped or marked.",
};

pub(super) const AVPKT: Parameter = Parameter {
    name: "avpkt",
    aliases: &[],
    argument: "SIZE",
    key: "avpkt_bytes",
    unit: "bytes",
    default: Value::Number(1000),
    default_source: REQUIRED,
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Size of an average packet: with `burst` and `bandwidth` it sets how fast the average follows the \
             backlog.",
};

pub(super) const BURST: Parameter = Parameter {
    name: "burst",
    aliases: &[],
    argument: "PACKETS",
    key: "burst_packets",
    unit: "packets",
    default: Value::Number(55),
    default_source: "computed: (2 min + max) / (3 avpkt)",
    range: "at least min / avpkt, up to where an averaging weight exists",
    bounds: Bounds::at_least(1),
    effect: "Burst of packets that may pass without drops: sets the weight of the average.",
};

pub(super) const PROBABILITY: Parameter = Parameter {
    name: "probability",
    aliases: &[],
    argument: "PROBABILITY",
    key: "probability_ppb",
    unit: "1e-9",
    default: Value::Number(20_000_000),
    default_source: "tc: 0.02",
    range: "0.000000001 to 0.999999999",
    bounds: Bounds::within(1, 999_999_999),
    effect: "The probability of a drop or mark when the average reaches `max`.",
};

pub(super) const BANDWIDTH: Parameter = Parameter {
    name: "bandwidth",
    aliases: &[],
    argument: "RATE",
    key: "bandwidth_bps",
    unit: "bit/s",
    default: Value::Number(10_000_000),
    default_source: "tc",
    range: "at least 8 bit/s, in whole bytes per second, below 2^35 bit/s",
    bounds: Bounds::at_least(8),
    effect: "The link's rate, from which the decay of the average during idle times is computed.",
};

const NODROP: Parameter = Parameter::flag(
    "nodrop",
    "tc",
    &[],
    "Keeps packets that are not ECN-capable; only with `ecn`.",
);

impl Grammar for Red {
    const DISCIPLINE: Discipline = Discipline {
        name: "red",
        summary: "Random early detection: drops arrivals with a probability that grows with the \
                  average backlog.",
        source: "Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993; tc-red(8); iproute2 tc/q_red.c and \
                 tc/tc_red.c; Linux net/sched/sch_red.c, include/net/red.h",
        parameters: &[
            LIMIT,
            MIN,
            MAX,
            AVPKT,
            BURST,
            PROBABILITY,
            BANDWIDTH,
            Parameter::flag(
                "ecn",
                "tc",
                &[],
                "Marks ECN-capable packets instead of dropping them.",
            ),
            Parameter::flag(
                "harddrop",
                "tc",
                &[],
                "Drops packets from `max` on, even with `ecn`.",
            ),
            Parameter::flag(
                "adaptive",
                "tc",
                &["adaptative"],
                "Adapts the probability every 500 ms, so that the average stays in the middle \
                 between `min` and `max`.",
            ),
            NODROP,
        ],
        not_implemented: &["qevent"],
        once: &[],
        abbreviated: &["qevent"],
    };

    fn parse(words: &mut Words) -> Result<Red, QdiscError> {
        let mut red = Red {
            limit_bytes: 0,
            min_bytes: 0,
            max_bytes: 0,
            avpkt_bytes: 0,
            burst_packets: 0,
            probability_ppb: PROBABILITY.default.number() as u32,
            bandwidth_bps: BANDWIDTH.default.number(),
            ecn: false,
            harddrop: false,
            adaptive: false,
            nodrop: false,
        };
        let ignored = Reason::Ignored;
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => red.limit_bytes = words.size_bytes(parameter, Reason::Ignored)?,
                "min" => red.min_bytes = words.size_bytes(parameter, ignored)?,
                "max" => red.max_bytes = words.size_bytes(parameter, ignored)?,
                "avpkt" => red.avpkt_bytes = words.size_bytes(parameter, Reason::Ignored)?,
                "burst" => red.burst_packets = words.count(parameter)?,
                "probability" => {
                    red.probability_ppb = probability_ppb(words, parameter, &Red::DISCIPLINE)?
                }
                "bandwidth" => red.bandwidth_bps = words.short_rate_bps(parameter, ignored)?,
                "ecn" => red.ecn = true,
                "harddrop" => red.harddrop = true,
                "adaptive" => red.adaptive = true,
                "nodrop" => red.nodrop = true,
                other => return Err(words.unknown(other)),
            }
        }
        words.require_all()?;
        red.fill_in()?;
        red.check()?;
        Ok(red)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: u32| Err(Red::DISCIPLINE.out_of_range(parameter, value));
        if self.limit_bytes == 0 {
            return refuse(&LIMIT, 0);
        }
        if self.avpkt_bytes == 0 {
            return refuse(&AVPKT, 0);
        }
        if self.min_bytes == 0 || self.min_bytes > self.max_bytes {
            return refuse(&MIN, self.min_bytes);
        }
        if self.max_bytes > MOST_MAX_BYTES {
            return refuse(&MAX, self.max_bytes);
        }
        if !self.is_steep() {
            let probability = probability_text(self.probability_ppb);
            return Err(Red::DISCIPLINE.out_of_range(&PROBABILITY, probability));
        }
        let bytes_per_second = self.bandwidth_bps / 8;
        let is_whole = is_rate(self.bandwidth_bps);
        if !is_whole || !(1..=u64::from(u32::MAX)).contains(&bytes_per_second) {
            return Err(Red::DISCIPLINE.out_of_range(&BANDWIDTH, self.bandwidth_bps));
        }
        if !self.has_weight() {
            return Err(self.without_weight());
        }
        if self.packet_ticks().is_none() {
            return Err(self.without_time());
        }
        if self.idle_table().is_none() {
            return Err(Red::DISCIPLINE.out_of_range(&BANDWIDTH, self.bandwidth_bps));
        }
        if self.nodrop && !self.ecn {
            return Err(Red::DISCIPLINE.out_of_range(&NODROP, "without ecn"));
        }
        Ok(())
    }

    /// Omits the words that only `-d` adds.
    fn options(&self, _: Device) -> Options {
        let mut options = Options::default();
        for (word, bytes) in [
            ("limit", self.limit_bytes),
            ("min", self.min_bytes),
            ("max", self.max_bytes),
        ] {
            let text = format!("{word} {} ", shown::size(bytes.into()));
            options = options.show(word, bytes, &text);
        }
        for (word, is_on) in [
            ("ecn", self.ecn),
            ("harddrop", self.harddrop),
            ("adaptive", self.adaptive),
            ("nodrop", self.nodrop),
        ] {
            let text = if is_on {
                format!("{word} ")
            } else {
                String::new()
            };
            options = options.show(word, Field::Flag(is_on), &text);
        }
        options
    }
}

impl Red {
    /// Computes the parameters that tc derives, in 32 bits.
    fn fill_in(&mut self) -> Result<(), QdiscError> {
        let wraps =
            |parameter| move || Red::DISCIPLINE.not_taken(parameter, "computed", Reason::Wraps);
        if self.max_bytes == 0 {
            self.max_bytes = match self.min_bytes {
                0 => self.limit_bytes / 4,
                min => min.checked_mul(3).ok_or_else(wraps(&MAX))?,
            };
        }
        if self.min_bytes == 0 {
            self.min_bytes = self.max_bytes / 3;
        }
        if self.burst_packets == 0 {
            let bytes = { self.min_bytes.checked_mul(2) }
                .and_then(|bytes| bytes.checked_add(self.max_bytes))
                .ok_or_else(wraps(&BURST))?;
            let packet_bytes = self.avpkt_bytes.checked_mul(3).ok_or_else(wraps(&BURST))?;
            self.burst_packets = bytes / packet_bytes;
        }
        Ok(())
    }

    /// Whether tc finds a slope of the probability (`tc_red_eval_P`): one byte above the minimum must change
    /// it.
    pub(super) fn is_steep(&self) -> bool {
        let width_bytes = self.max_bytes - self.min_bytes;
        let slope = f64::from(self.probability_ppb) / f64::from(PPB) / f64::from(width_bytes);
        let is_steep = width_bytes == 0 || slope * f64::from(1u32 << LARGEST_SHIFT) > 1.0;
        (1..PPB).contains(&self.probability_ppb) && is_steep
    }

    /// Whether tc finds a weight of the average (`tc_red_eval_ewma`) that the kernel accepts: thresholds have
    /// -log2 W fractional bits, in 32 bits in all (`red_check_params`).
    pub(super) fn has_weight(&self) -> bool {
        { self.weight_log2() }.is_some_and(|log2| u32::from(log2) < self.max_bytes.leading_zeros())
    }

    /// Why an average packet has no transmission time in tc's ticks: too short, or too long.
    fn without_time(&self) -> QdiscError {
        let bandwidth = format_rate(self.bandwidth_bps);
        let fastest_bps = 8_000_000 * u64::from(self.avpkt_bytes);
        if self.bandwidth_bps <= fastest_bps {
            return Red::DISCIPLINE.not_taken(&BANDWIDTH, bandwidth, Reason::Wraps);
        }
        let allowed = format!(
            "at most one avpkt per microsecond, {}",
            format_rate(fastest_bps)
        );
        (Red::DISCIPLINE.not_taken(&BANDWIDTH, bandwidth, Reason::NoTime)).with_allowed(allowed)
    }

    /// Why there is no weight, with the bursts for which there is one.
    fn without_weight(&self) -> QdiscError {
        let refused = |parameter: &Parameter, value: u32, allowed| {
            let value = format!("{} {value}", parameter.name);
            (Red::DISCIPLINE.not_taken(parameter, value, Reason::NoWeight)).with_allowed(allowed)
        };
        let has_weight = |burst_packets: u32| {
            let other = Red {
                burst_packets,
                ..*self
            };
            other.has_weight()
        };
        let least = self.min_bytes.div_ceil(self.avpkt_bytes);
        if !has_weight(least) {
            let allowed = format!("more than avpkt ({} bytes)", self.avpkt_bytes);
            return refused(&MIN, self.min_bytes, allowed);
        }
        // A larger burst requires a smaller weight, so the valid bursts are contiguous.
        let (mut most, mut too_many) = (least, u32::MAX);
        while too_many - most > 1 {
            let middle = most + (too_many - most) / 2;
            match has_weight(middle) {
                true => most = middle,
                false => too_many = middle,
            }
        }
        let range = if least == most {
            format!("{least}")
        } else {
            format!("{least} to {most}")
        };
        let allowed = format!("{range} with this min, max and avpkt; a larger min allows more");
        refused(&BURST, self.burst_packets, allowed)
    }

    /// The averaging weight W as -log2 W: the largest W that lets a burst pass, which is `burst + 1 - min /
    /// avpkt <= (1 - (1 - W)^burst) / W` (the paper's inequality 3). None if there is none.
    pub fn weight_log2(&self) -> Option<u8> {
        let burst = f64::from(self.burst_packets);
        let excess = burst + 1.0 - f64::from(self.min_bytes) / f64::from(self.avpkt_bytes);
        if excess < 1.0 {
            return None;
        }
        let passes = |log2: &u8| {
            let weight = libm::exp2(-f64::from(*log2));
            excess <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
        };
        (1..=LARGEST_SHIFT).find(passes)
    }

    /// The probability at the maximum as the kernel stores it: in units of 2^-32.
    pub fn probability_q32(&self) -> u32 {
        let scaled = (u64::from(self.probability_ppb) << 32) / u64::from(PPB);
        u32::try_from(scaled).unwrap_or(u32::MAX)
    }

    /// Transmission time of an average packet in tc's ticks (`tc_calc_xmittime`). None if it is 0, by which
    /// tc would divide, or does not fit.
    fn packet_ticks(&self) -> Option<u32> {
        let seconds = f64::from(self.avpkt_bytes) / (self.bandwidth_bps / 8) as f64;
        let time_us = seconds * 1e6;
        let time_us = (1.0..=f64::from(u32::MAX)).contains(&time_us);
        let time_us = time_us.then_some((seconds * 1e6) as u32)?;
        u32::try_from(in_ticks_ns(time_us)? / TICK_NS).ok()
    }

    /// The table of idle times: after a time t the average has decayed by `(1 - W)^(t / s)`, where s is the
    /// transmission time of an average packet. None if it cannot be represented.
    pub fn idle_table(&self) -> Option<IdleTable> {
        let weight = libm::exp2(-f64::from(self.weight_log2()?));
        // tc counts transmission times in ticks (`tc_calc_xmittime`), but the kernel indexes the table in
        // microseconds, so the average decays more slowly than in the paper.
        let per_tick = -libm::log(1.0 - weight) / f64::from(self.packet_ticks()?);
        let longest = f64::from(LARGEST_SHIFT) / per_tick;
        let fits = |log2: &u8| longest / libm::exp2(f64::from(*log2)) < 512.0;
        let cell_log2 = (0..=LARGEST_SHIFT).find(fits)?;
        let mut halvings = [0; IDLE_TABLE_SIZE];
        for (index, entry) in halvings.iter_mut().enumerate().skip(1) {
            let exponent = ((index as u64) << cell_log2) as f64 * per_tick;
            *entry = (exponent as u8).min(LARGEST_SHIFT);
        }
        halvings[IDLE_TABLE_SIZE - 1] = LARGEST_SHIFT;
        Some(IdleTable {
            cell_log2,
            halvings,
        })
    }
}

impl fmt::Display for Red {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let size = |bytes: u32| format_size(bytes.into());
        write!(f, "red limit {}", size(self.limit_bytes))?;
        write!(
            f,
            " min {} max {}",
            size(self.min_bytes),
            size(self.max_bytes)
        )?;
        write!(
            f,
            " avpkt {} burst {}",
            size(self.avpkt_bytes),
            self.burst_packets
        )?;
        write!(f, " probability {}", probability_text(self.probability_ppb))?;
        write!(f, " bandwidth {}", format_rate(self.bandwidth_bps))?;
        write_flags(
            f,
            &[
                (self.ecn, "ecn"),
                (self.harddrop, "harddrop"),
                (self.adaptive, "adaptive"),
                (self.nodrop, "nodrop"),
            ],
        )
    }
}

/// The probability after its keyword, rounded only if the kernel's value in 2^-32 is the same.
pub(super) fn probability_ppb(
    words: &mut Words,
    parameter: &'static Parameter,
    discipline: &Discipline,
) -> Result<u32, QdiscError> {
    let number = words.real(parameter)?;
    let refused = |reason| Err(discipline.not_taken(parameter, number, reason));
    if number.is_nan() || number >= 1.0 {
        return refused(Reason::Wraps);
    }
    let ppb = libm::rint(number * f64::from(PPB)) as u32;
    let of_kernel = |number: f64| (number * PROBABILITY_ONE) as u64;
    if number <= 0.0 {
        return Err(discipline.out_of_range(parameter, number));
    }
    if ppb == 0 || of_kernel(f64::from(ppb) / f64::from(PPB)) != of_kernel(number) {
        return refused(Reason::TooFine);
    }
    Ok(ppb)
}

/// A decimal number without trailing zeros.
pub(super) fn probability_text(ppb: u32) -> String {
    format!("0.{}", format!("{ppb:09}").trim_end_matches('0'))
}
