//! The parameter table of dualpi2.

use super::super::{Bounds, Parameter, Value};

const LINUX: &str = "Linux 6.17";
const DERIVED: &str = "in place of target, tupdate, alpha and beta";

/// A choice of two keywords, the default first.
const fn choice(
    name: &'static str,
    other: &'static [&'static str],
    effect: &'static str,
) -> Parameter {
    Parameter {
        name,
        aliases: other,
        argument: "",
        key: name,
        unit: "flag",
        default: Value::Flag(true),
        default_source: LINUX,
        range: "a word without value",
        bounds: Bounds::NONE,
        effect,
    }
}

const fn time(
    name: &'static str,
    key: &'static str,
    default_ns: u64,
    default_source: &'static str,
    effect: &'static str,
) -> Parameter {
    Parameter {
        name,
        aliases: &[],
        argument: "TIME",
        key,
        unit: "ns",
        default: Value::Number(default_ns),
        default_source,
        range: "1us to 4294967295us, whole microseconds",
        bounds: Bounds::within(1_000, 4_294_967_295_000),
        effect,
    }
}

const fn gain(
    name: &'static str,
    default: u64,
    default_source: &'static str,
    effect: &'static str,
) -> Parameter {
    Parameter {
        name,
        aliases: &[],
        argument: "FLOAT",
        key: name,
        unit: "1/256 Hz",
        default: Value::Number(default),
        default_source,
        range: "0.00390625 to 65535.99 Hz, cut off to 1/256",
        bounds: Bounds::within(1, 16_777_213),
        effect,
    }
}

pub(super) const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "PACKETS",
    key: "limit_packets",
    unit: "packets",
    default: Value::Number(10_000),
    default_source: LINUX,
    range: "1 to 4294967295 packets",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Limit of both queues together; a packet that arrives when it is reached is dropped.",
};

pub(super) const MEMLIMIT: Parameter = Parameter {
    name: "memlimit",
    aliases: &[],
    argument: "BYTES",
    key: "memlimit_bytes",
    unit: "bytes",
    default: Value::Nothing,
    default_source: "Linux 6.17: two frames of the interface for each packet of limit",
    range: "1 to 4294967295 bytes, without unit",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Limit of kernel memory for packets (a packet of 1514 bytes takes 2304).",
};

pub(super) const COUPLING_FACTOR: Parameter = Parameter {
    name: "coupling_factor",
    aliases: &[],
    argument: "NUMBER",
    key: "coupling_factor",
    unit: "times",
    default: Value::Number(2),
    default_source: "Linux 6.17; RFC 9332 section 2.5.1 (k)",
    range: "0 to 255",
    bounds: Bounds::within(0, 255),
    effect: "L4S packets are marked with the base probability times this factor; classic packets are \
             dropped or marked with the square of the base probability.",
};

pub(super) const STEP_THRESH_TIME: Parameter = time(
    "step_thresh",
    "step_thresh_ns",
    1_000_000,
    LINUX,
    "An L4S packet with a longer sojourn time is marked at dequeue.",
);

pub(super) const STEP_THRESH_PACKETS: Parameter = Parameter {
    name: "step_thresh",
    aliases: &[],
    argument: "PACKETS",
    key: "step_thresh_packets",
    unit: "packets",
    default: Value::Nothing,
    default_source: "Linux 6.17: a time",
    range: "1p to 4294967295p (or pkt, pkts, packet, packets)",
    bounds: Bounds::at_least(1),
    effect: "Threshold in packets instead of a time: an L4S packet is marked at dequeue if the L4S queue, \
             including this packet, is longer.",
};

pub(super) const MIN_QLEN_STEP: Parameter = Parameter {
    name: "min_qlen_step",
    aliases: &[],
    argument: "PACKETS",
    key: "min_qlen_step_packets",
    unit: "packets",
    default: Value::Number(0),
    default_source: LINUX,
    range: "0 to 4294967295 packets",
    bounds: Bounds::within(0, 4_294_967_295),
    effect: "The threshold applies only to packets that find at least this many in the L4S queue.",
};

pub(super) const DROP_ON_OVERLOAD: Parameter = choice(
    "drop_on_overload",
    &["overflow"],
    "When the L4S marking probability reaches 100 %, packets of both queues are dropped with the \
             square of the base probability, ECN-capable or not; `overflow` lets the queues grow to the limit.",
);

pub(super) const DROP_DEQUEUE: Parameter = choice(
    "drop_dequeue",
    &["drop_enqueue"],
    "Packets are dropped and marked at dequeue; `drop_enqueue`: at enqueue. The step threshold \
             always marks at dequeue.",
);

pub(super) const L4S_ECT: Parameter = choice(
    "l4s_ect",
    &["any_ect"],
    "The L4S queue takes ECT(1) and CE; with `any_ect` also ECT(0).",
);

pub(super) const CLASSIC_PROTECTION: Parameter = Parameter {
    name: "classic_protection",
    aliases: &[],
    argument: "PERCENT",
    key: "classic_protection_percent",
    unit: "%",
    default: Value::Number(10),
    default_source: LINUX,
    range: "0% to 100%, whole per cent",
    bounds: Bounds::within(0, 100),
    effect: "Smallest share of the bytes sent by the classic queue while both queues are backlogged.",
};

pub(super) const MAX_RTT: Parameter = Parameter {
    default: Value::Nothing,
    ..time(
        "max_rtt",
        "max_rtt_ns",
        0,
        DERIVED,
        "The longest round trip for which the control is to be stable: sets `tupdate` to \
         `typical_rtt` or a third of it, `alpha` to a tenth of `tupdate` over its square, `beta` to \
         0.3 over it. 6 times `typical_rtt` where only that is given.",
    )
};

pub(super) const TYPICAL_RTT: Parameter = Parameter {
    default: Value::Nothing,
    range: "1us to 4294967295us, whole microseconds; at most max_rtt",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    ..time(
        "typical_rtt",
        "typical_rtt_ns",
        0,
        DERIVED,
        "The typical round-trip time: sets `target`. A sixth of `max_rtt` if only that is given.",
    )
};

pub(super) const TARGET: Parameter = time(
    "target",
    "target_ns",
    15_000_000,
    "Linux 6.17; RFC 9332 appendix A.1",
    "The target queueing delay of the classic queue. A bare number is microseconds.",
);

pub(super) const TUPDATE: Parameter = time(
    "tupdate",
    "tupdate_ns",
    16_000_000,
    "Linux 6.17; RFC 9332 appendix A.1",
    "The update period of the base probability.",
);

pub(super) const ALPHA: Parameter = gain(
    "alpha",
    41,
    "Linux 6.17: 0.16 Hz; RFC 9332 appendix A.1",
    "Gain for the deviation of the delay from the target.",
);

pub(super) const BETA: Parameter = gain(
    "beta",
    819,
    "Linux 6.17: 3.2 Hz; RFC 9332 appendix A.1",
    "Gain for the change of the delay since the last update.",
);

pub(super) const SPLIT_GSO: Parameter = choice(
    "split_gso",
    &["no_split_gso"],
    "Splits GSO packets into segments, which are marked individually; `no_split_gso` keeps them whole.",
);
