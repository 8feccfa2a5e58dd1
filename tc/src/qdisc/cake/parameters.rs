//! The parameter table of cake.

use super::super::{Bounds, Parameter, Value};

/// A choice of keywords, the default first.
const fn words(
    name: &'static str,
    aliases: &'static [&'static str],
    key: &'static str,
    default_source: &'static str,
    effect: &'static str,
) -> Parameter {
    Parameter {
        name,
        aliases,
        argument: "",
        key,
        unit: "word",
        default: Value::Word(name),
        default_source,
        range: "one of these words",
        bounds: Bounds::NONE,
        effect,
    }
}

pub(super) const BANDWIDTH: Parameter = Parameter {
    name: "bandwidth",
    aliases: &[],
    argument: "RATE",
    key: "bandwidth_bps",
    unit: "bit/s",
    default: Value::Number(0),
    default_source: "Linux: unlimited",
    range: "at least 8 bit/s, in whole bytes per second",
    bounds: Bounds::at_least(8),
    effect: "Packets leave at this rate, one after the other and without a burst, as `overhead`, \
             `mpu` and `atm` or `ptm` count them.",
};

pub(super) const UNLIMITED: Parameter = Parameter {
    name: "unlimited",
    aliases: &[],
    argument: "",
    key: "bandwidth_bps",
    unit: "word",
    default: Value::Number(0),
    default_source: "in place of bandwidth",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "No shaper: packets leave as fast as the link takes them.",
};

pub(super) const TINS: Parameter = words(
    "diffserv3",
    &[
        "besteffort",
        "diffserv4",
        "diffserv",
        "diffserv8",
        "precedence",
    ],
    "tins",
    "Linux",
    "Assigns packets to tins by DSCP. `diffserv3`: bulk (a sixteenth of the bandwidth), best \
             effort, voice (a quarter). `besteffort`: one tin. `diffserv4` (or `diffserv`): four. \
             `diffserv8`: eight. `precedence`: eight, by the first three bits of the DSCP. A tin that exceeds \
             its share of the bandwidth is served after the tins within theirs.",
);

pub(super) const FLOWS: Parameter = words(
    "triple-isolate",
    &[
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
    ],
    "isolation",
    "Linux",
    "What fairness applies to within a tin. `triple-isolate`: sources and destinations, then \
             flows of each. `flowblind`: none, one queue. `srchost`: sources. `dsthost`: destinations. `hosts`: \
             pairs of both. `flows`: flows. `dual-srchost`: sources, then flows of each. `dual-dsthost`: \
             destinations, then flows of each.",
);

pub(super) const NAT: Parameter = Parameter {
    name: "nat",
    aliases: &["nonat"],
    argument: "",
    key: "nat",
    unit: "word",
    default: Value::Nothing,
    default_source: "in place of nonat",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Isolates hosts behind network address translation. No address is translated here, so it has \
             no effect and is not written back.",
};

pub(super) const WASH: Parameter = Parameter::flag(
    "wash",
    "Linux",
    &["nowash"],
    "Clears the DSCP of each packet after the tin is chosen; the ECN field stays.",
);

pub(super) const INGRESS: Parameter = Parameter::flag(
    "ingress",
    "Linux",
    &["egress"],
    "For a shaper behind the bottleneck: dropped packets count in the shaper too, because they \
             have already crossed the link, and COBALT's target is \
             at least the transmission time of two packets of each backlogged flow.",
);

pub(super) const SPLIT_GSO: Parameter = Parameter {
    name: "split-gso",
    aliases: &["no-split-gso"],
    argument: "",
    key: "split_gso",
    unit: "flag",
    default: Value::Flag(true),
    default_source: "Linux",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Splits GSO packets into segments before they are enqueued.",
};

pub(super) const RTT: Parameter = Parameter {
    name: "rtt",
    aliases: &[],
    argument: "TIME",
    key: "rtt_ns",
    unit: "ns",
    default: Value::Number(100_000_000),
    default_source: "Linux",
    range: "1us to 4294967295us",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    effect: "The round-trip time that COBALT is tuned for: its interval. Its target is a twentieth of it, \
             and at least one and a half transmission times of a packet of the MTU at the bandwidth.",
};

pub(super) const RTT_WORDS: Parameter = Parameter {
    name: "internet",
    aliases: &[
        "datacentre",
        "lan",
        "metro",
        "regional",
        "oceanic",
        "satellite",
        "interplanetary",
    ],
    argument: "",
    key: "rtt_ns",
    unit: "word",
    default: Value::Number(100_000_000),
    default_source: "in place of rtt",
    range: "one of these words",
    bounds: Bounds::NONE,
    effect: "Keywords for an `rtt` of 100 ms, 100 us, 1 ms, 10 ms, 30 ms, 300 ms, 1 s and 1000 s.",
};

pub(super) const FRAMING: Parameter = Parameter {
    name: "raw",
    aliases: &[
        "conservative",
        "ethernet",
        "ether-vlan",
        "docsis",
        "pppoe-ptm",
        "bridged-ptm",
        "ipoa-vcmux",
        "ipoa-llcsnap",
        "bridged-vcmux",
        "bridged-llcsnap",
        "pppoa-vcmux",
        "pppoa-llc",
        "pppoe-vcmux",
        "pppoe-llcsnap",
        "via-ethernet",
    ],
    argument: "",
    key: "raw",
    unit: "word",
    default: Value::Flag(true),
    default_source: "Linux",
    range: "these words, in turn",
    bounds: Bounds::NONE,
    effect: "What the shaper counts for a packet: its size as the device has it, or its IP size and \
             48 bytes in ATM cells, 38 (`mpu` 84), 4 more, 18 (`mpu` 64), 30 and 22 in PTM, 8, 16, \
             24, 32, 10, 14, 32 and 40 in ATM cells. All but the first two add to what was said \
             before. The last does nothing.",
};

pub(super) const OVERHEAD: Parameter = Parameter {
    name: "overhead",
    aliases: &[],
    argument: "N",
    key: "overhead_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "Linux",
    range: "-64 to 256, bytes without unit",
    bounds: Bounds::within(-64, 256),
    effect: "Bytes that the shaper adds to the IP size of each packet.",
};

pub(super) const MPU: Parameter = Parameter {
    name: "mpu",
    aliases: &[],
    argument: "N",
    key: "mpu_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "Linux",
    range: "0 to 256, bytes without unit",
    bounds: Bounds::within(0, 256),
    effect: "Smallest size that the shaper counts for a packet, overhead included, before cell framing.",
};

pub(super) const LINK_LAYER: Parameter = words(
    "noatm",
    &["atm", "ptm"],
    "link_layer",
    "Linux",
    "Cell framing that the shaper accounts for: none, ATM (53 bytes for 48 of payload, the last \
             cell padded), or PTM (one more byte for each 64).",
);

pub(super) const MEMLIMIT: Parameter = Parameter {
    name: "memlimit",
    aliases: &[],
    argument: "SIZE",
    key: "memlimit_bytes",
    unit: "bytes",
    default: Value::Nothing,
    default_source: "Linux: 4 times rtt at the bandwidth, at least 4 MiB; at most 10240 packets of the MTU",
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Limit of kernel memory for packets (a packet of 1514 bytes takes 2304). When it is \
             exceeded, packets are dropped from the head of the longest queue of all tins.",
};

pub(super) const ACK_FILTER: Parameter = words(
    "no-ack-filter",
    &["ack-filter", "ack-filter-aggressive"],
    "ack_filter",
    "Linux",
    "Whether an acknowledgement of TCP is dropped from its queue when a newer one says the same. `ack-filter` \
             keeps two of a connection, `ack-filter-aggressive` one.",
);
