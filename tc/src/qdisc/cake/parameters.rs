//! The table of cake's words.

use super::super::{Bounds, Parameter, Value};

/// One of several words that stand by themselves, the default first.
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
    "How packets come to tins, by their DSCP: three (bulk a sixteenth, voice a quarter of the \
     bandwidth), one, four (`diffserv` is `diffserv4`), eight, or eight by the DSCP's first three \
     bits. A tin above its share of the bandwidth comes after those within theirs.",
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
    "Who has fair shares in a tin: sources and destinations, and flows within them; nobody; \
     sources; destinations; pairs of them; flows; sources, and flows within them; destinations, \
     and flows within them.",
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
    effect: "Looks for hosts behind a translation of addresses. There is none here, so it does \
             nothing and is written nowhere.",
};

pub(super) const WASH: Parameter = Parameter::flag(
    "wash",
    "Linux",
    &["nowash"],
    "Clears the DSCP of each packet when it has chosen the tin; ECN stays.",
);

pub(super) const INGRESS: Parameter = Parameter::flag(
    "ingress",
    "Linux",
    &["egress"],
    "Counts what is dropped in the shaper too, as it has passed the link before, and lets COBALT \
     wait for two packets of each flow with a backlog.",
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
    effect: "GSO packets come to it segment by segment.",
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
    effect: "The round trip that COBALT is set for: its interval; its target is a twentieth of it, \
             and at least one and a half times what a packet of the MTU takes at the bandwidth.",
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
    effect: "`rtt` of 100 ms, 100 us, 1 ms, 10 ms, 30 ms, 300 ms, 1 s and 1000 s.",
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
    effect: "The shaper counts this many bytes more than a packet's IP size.",
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
    effect: "The least that the shaper counts for a packet, with the overhead and before cells.",
};

pub(super) const LINK_LAYER: Parameter = words(
    "noatm",
    &["atm", "ptm"],
    "link_layer",
    "Linux",
    "The shaper counts cells: none, those of ATM (53 bytes for 48, the last one filled up), or a \
     byte more for each 64 of PTM.",
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
    effect: "When packets take more of the kernel's memory (2304 bytes for one of 1514), the \
             longest queue of all tins loses packets from its head.",
};

pub(super) const ACK_FILTER: Parameter = Parameter {
    name: "no-ack-filter",
    aliases: &[],
    argument: "",
    key: "ack_filter",
    unit: "word",
    default: Value::Nothing,
    default_source: "in place of ack-filter",
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Acknowledgements are not filtered.",
};
