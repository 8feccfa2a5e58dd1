//! The table of netem's parameters.

use super::Distribution;
use crate::qdisc::{Bounds, Parameter, Value};
use std::ops::RangeInclusive;

/// tc's default limit, for every interface (`tc/q_netem.c`).
pub(super) const DEFAULT_LIMIT_PACKETS: u32 = 1000;

/// Distributions with a keyword. tc does not accept `uniform`: it looks for a table of that name, which does
/// not exist.
pub(super) const DISTRIBUTIONS: &[(&str, Distribution)] = &[
    ("normal", Distribution::Normal),
    ("pareto", Distribution::Pareto),
    ("paretonormal", Distribution::Paretonormal),
];

/// The kernel truncates larger values (`netem_change`).
pub(super) const MOST_JITTER_NS: u64 = i32::MAX as u64;

/// Down to the size of the shortest IP packet with a port; below it the kernel's unsigned length would wrap.
pub(super) const PACKET_OVERHEAD_BYTES: RangeInclusive<i64> = -28..=65_535;

/// The kernel multiplies in 32 bits.
pub(super) const CELL_SIZE_BYTES: RangeInclusive<i64> = 0..=65_535;

/// The kernel multiplies in 32 bits.
pub(super) const CELL_OVERHEAD_BYTES: RangeInclusive<i64> = -65_535..=65_535;

pub(super) const PARAMETERS: &[Parameter] = &[
    LIMIT,
    DELAY,
    JITTER,
    DELAY_CORRELATION,
    DISTRIBUTION,
    LOSS,
    ECN,
    DUPLICATE,
    DUPLICATE_CORRELATION,
    CORRUPT,
    CORRUPT_CORRELATION,
    REORDER,
    REORDER_CORRELATION,
    GAP,
    RATE,
    PACKET_OVERHEAD,
    CELL_SIZE,
    CELL_OVERHEAD,
    SLOT,
];

pub(super) const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "PACKETS",
    key: "limit_packets",
    unit: "packets",
    default: Value::Number(DEFAULT_LIMIT_PACKETS as u64),
    default_source: "tc",
    range: "1 to 4294967295 packets",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Limit in packets, including the packet in transmission; a packet that arrives when it is \
             reached is dropped.",
};

pub(super) const DELAY: Parameter = Parameter {
    name: "delay",
    aliases: &["latency"],
    argument: "TIME",
    key: "delay_ns",
    unit: "ns",
    default: Value::Number(0),
    default_source: "tc",
    range: "0 to 274877906us; above 0 with distribution or reorder",
    bounds: Bounds::within(0, 274_877_906_000),
    effect: "The mean delay, in whole microseconds, of which tc makes ticks of 64 ns, cut off; a \
             bare number is microseconds. Packets whose time comes earlier \
             leave earlier. With rate the delay also runs while others are sent.",
};

pub(super) const JITTER: Parameter = Parameter {
    name: "delay TIME",
    aliases: &[],
    argument: "JITTER",
    key: "jitter_ns",
    unit: "ns",
    default: Value::Number(0),
    default_source: "tc: constant delay",
    range: "0 to 2147483us; above 0 with distribution",
    bounds: Bounds::within(0, 2_147_483_000),
    effect: "Jitter: the delay varies uniformly within this on either side, or by `distribution`. Packets \
             are reordered if the jitter exceeds their spacing.",
};

pub(super) const DELAY_CORRELATION: Parameter = Parameter {
    name: "delay TIME JITTER",
    aliases: &[],
    argument: "CORRELATION",
    key: "delay_correlation_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc: independent",
    range: "0% to 100%",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "How much of each random number is the one before it. Next to no effect, as in the \
             kernel: it takes the remainder of the number after division by 4096, or by twice the \
             jitter, and the last digits are not correlated.",
};

pub(super) const DISTRIBUTION: Parameter = Parameter {
    name: "distribution",
    aliases: &[],
    argument: "{ normal | pareto | paretonormal }",
    key: "distribution",
    unit: "word",
    default: Value::Word("uniform"),
    default_source: "tc, if not given",
    range: "normal, pareto or paretonormal; uniform if not given",
    bounds: Bounds::NONE,
    effect: "How the delay varies, in units of the jitter: iproute2's tables of 4096 values, \
             made here from the same formulas.",
};

pub(super) const LOSS: Parameter = Parameter {
    name: "loss",
    aliases: &["drop"],
    argument: "{ [ random ] PERCENT [ CORRELATION ] | state P13 [ P31 [ P32 [ P23 [ P14 ] ] ] ] \
               | gemodel P [ R [ 1-H [ 1-K ] ] ] }",
    key: "loss",
    unit: "parts per billion",
    default: Value::Nothing,
    default_source: "tc",
    range: "0% to 100% each; above 0% with ecn",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "Which packets are lost as they arrive: by chance; by a Markov chain of gaps and \
             bursts, with P31 = 100% - P13, P32 = 0%, P23 = 100% and P14 = 0% unless said; or by \
             Gilbert and Elliott's of a good and a bad state, with R = 100% - P, 1-H = 100% and \
             1-K = 0%. CORRELATION is how much of each random number is the one before it: \
             they are then no longer uniform but near the middle, so that rare events become \
             rarer, as in the kernel.",
};

pub(super) const ECN: Parameter = Parameter {
    name: "ecn",
    aliases: &[],
    argument: "",
    key: "ecn",
    unit: "flag",
    default: Value::Flag(false),
    default_source: "tc",
    range: "only with loss",
    bounds: Bounds::NONE,
    effect: "ECN-capable packets are marked instead of lost.",
};

pub(super) const DUPLICATE: Parameter = Parameter {
    name: "duplicate",
    aliases: &[],
    argument: "PERCENT",
    key: "duplicate_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc",
    range: "0% to 100%",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "This share of packets is duplicated: the copy is enqueued at the root discipline again and is \
             not duplicated a second time.",
};

pub(super) const DUPLICATE_CORRELATION: Parameter = Parameter {
    name: "duplicate PERCENT",
    aliases: &[],
    argument: "CORRELATION",
    key: "duplicate_correlation_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc: independent",
    range: "0% to 100%, with another correlation",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "Correlation, as for loss. tc passes it to the kernel only if another correlation is given too, \
             such as `delay 0ms 0ms 0%`; otherwise it is refused.",
};

pub(super) const CORRUPT: Parameter = Parameter {
    name: "corrupt",
    aliases: &[],
    argument: "PERCENT",
    key: "corrupt_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc",
    range: "0% to 100%",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "A random bit of this share of packets is flipped: who receives them throws them away, \
             behind the queue and the link.",
};

pub(super) const CORRUPT_CORRELATION: Parameter = Parameter {
    name: "corrupt PERCENT",
    aliases: &[],
    argument: "CORRELATION",
    key: "corrupt_correlation_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc: independent",
    range: "0% to 100%",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "As for loss.",
};

pub(super) const REORDER: Parameter = Parameter {
    name: "reorder",
    aliases: &[],
    argument: "PERCENT",
    key: "reorder_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc",
    range: "0% to 100%; needs delay",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "This share of packets is not delayed and leaves at once, before all others.",
};

pub(super) const REORDER_CORRELATION: Parameter = Parameter {
    name: "reorder PERCENT",
    aliases: &[],
    argument: "CORRELATION",
    key: "reorder_correlation_ppb",
    unit: "parts per billion",
    default: Value::Number(0),
    default_source: "tc: independent",
    range: "0% to 100%",
    bounds: Bounds::within(0, 1_000_000_000),
    effect: "Correlation, as for loss.",
};

pub(super) const GAP: Parameter = Parameter {
    name: "gap",
    aliases: &[],
    argument: "DISTANCE",
    key: "gap_packets",
    unit: "packets",
    default: Value::Number(0),
    default_source: "tc: 1 with reorder",
    range: "1 to 4294967295 packets; needs reorder",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Of every this many packets one may be reordered; the others are always delayed.",
};

pub(super) const RATE: Parameter = Parameter {
    name: "rate",
    aliases: &[],
    argument: "RATE",
    key: "rate_bps",
    unit: "bit/s",
    default: Value::Number(0),
    default_source: "tc: no rate",
    range: "at least 8 bit/s, in whole bytes per second; no rate: leave it out",
    bounds: Bounds::at_least(8),
    effect: "Packets leave one after the other at this rate, link headers counted; rounded down to whole \
             bytes per second. A bare number is bit/s.",
};

pub(super) const PACKET_OVERHEAD: Parameter = Parameter {
    name: "rate RATE",
    aliases: &[],
    argument: "PACKETOVERHEAD",
    key: "packet_overhead_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "tc",
    range: "-28 to 65535 bytes",
    bounds: Bounds::within(-28, 65_535),
    effect: "Bytes that the rate adds to (or subtracts from) each packet.",
};

pub(super) const CELL_SIZE: Parameter = Parameter {
    name: "rate RATE PACKETOVERHEAD",
    aliases: &[],
    argument: "CELLSIZE",
    key: "cell_size_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "tc: no cells",
    range: "0 to 65535 bytes",
    bounds: Bounds::within(0, 65_535),
    effect: "The rate counts whole cells of this size, bytes (ATM: 48).",
};

pub(super) const CELL_OVERHEAD: Parameter = Parameter {
    name: "rate RATE PACKETOVERHEAD CELLSIZE",
    aliases: &[],
    argument: "CELLOVERHEAD",
    key: "cell_overhead_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "tc",
    range: "-65535 to 65535 bytes, and a cell longer than 0",
    bounds: Bounds::within(-65_535, 65_535),
    effect: "Bytes that the rate adds to (or subtracts from) each cell (ATM: 5).",
};

pub(super) const SLOT: Parameter = Parameter {
    name: "slot",
    aliases: &[],
    argument: "{ MIN [ MAX ] | distribution { normal | pareto | paretonormal } DELAY JITTER } \
               [ packets PACKETS ] [ bytes SIZE ]",
    key: "slot",
    unit: "ns",
    default: Value::Nothing,
    default_source: "tc: packets leave when their time has come",
    range: "up to 200 days, MAX at most 2147483647ns above MIN and more than 0; JITTER from 1ns to \
            2147483647ns; PACKETS and SIZE up to 2147483647, 0 for any number",
    bounds: Bounds::NONE,
    effect: "Packets whose time has come wait for the next slot and leave in it together, up to so \
             many packets or bytes. How long it is to the next slot is uniform from MIN to MAX, or as \
             the distribution says; a bare number is nanoseconds.",
};
