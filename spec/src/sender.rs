//! Flows and probes.

use crate::key::{Key, Presence, Value, size, table, whole};
use crate::{Source, Tcp};
use serde::{Deserialize, Serialize};

/// Largest ICMP payload: the largest IPv4 packet less IP and ICMP headers.
pub(crate) const LARGEST_ECHO_PAYLOAD: u32 = 65_535 - 28;
/// Largest `count` of equal flows in one table.
const MOST_EQUAL_FLOWS: u64 = 10_000;
/// Default destination port of flow 0; that of flow i is the i-th after it.
const FIRST_FLOW_PORT: u16 = 10_000;
/// Ports above it are those of probes and the ephemeral range of Linux.
const LAST_PORT: u64 = 29_999;
/// Ports on which UDP probes are answered: echo (RFC 862) and irtt.
pub(crate) const PROBE_PORTS: [u16; 2] = [7, 2112];

/// ECN field of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
}

impl Ecn {
    /// The two bits (RFC 3168 section 5).
    pub fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
        }
    }
}

/// The transport of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// UDP datagrams.
    Udp,
    /// A TCP byte stream.
    Tcp,
}

/// Key of a flow's table in a file, which resolves to this number of flows.
pub const COUNT: Key = Key::new(
    "count",
    whole(1, MOST_EQUAL_FLOWS, "", 10),
    "Number of equal flows, `NAME-1`, `NAME-2` and so on, each with random numbers of its own; one \
     flow, `NAME`, when left out.",
)
.or(Presence::ByOthers);

table! {
    /// Traffic from one host to another.
    #[derive(Debug, Clone, PartialEq)]
    Flow {
        name: String;
        "name", Value::Name(&["stream-1"]), Always,
        "Unique among flows and probes; names its random numbers and its rows.";

        from: String;
        "from", Value::Name(&[]), Always,
        "Sending host.";

        to: String;
        "to", Value::Name(&["receiver-1"]), Always,
        "Receiving host.";

        start_ns: u64 = 0;
        "start", Value::Time, OrDefault,
        "When it starts.";

        stop_ns: u64;
        "stop", Value::EndTime, ByOthers,
        "Stop time; by default the end of the run.";

        start_jitter_ns: u64 = 0;
        "start_jitter", Value::Time, OrDefault,
        "The start is delayed by a time drawn uniformly from 0 to this in each replication.";

        dscp: u8 = 0;
        "dscp", Value::CodePoint, OrDefault,
        "Differentiated services code point.";

        ecn: Ecn = Ecn::NotEct;
        "ecn", Value::Words(&["not-ect", "ect0", "ect1"]), OrDefault,
        "ECN field of its datagrams (RFC 3168); for TCP see `tcp`.";

        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16> = None;
        "port", whole(1, LAST_PORT, "", 80), OrAbsent,
        "Port that it is sent to, which filters and captures see; of `count` flows the first one's, and \
         the next ports those of the others. The flow that is number i among all, from 0, has 10000 + i \
         when left out.";

        transport: Transport;
        "transport", Value::Words(&["udp", "tcp"]), ByOthers,
        "Transport. Default: `tcp` if its source or a table `tcp` requires it, else `udp`.";

        /// Null over UDP.
        tcp: Option<Tcp>;
        "tcp", Value::Own, ByOthers,
        "TCP settings; a table.";

        source: Source;
        "source", Value::Own, Always,
        "Traffic source; a table with a `kind`.";
    }
}

impl Flow {
    /// The destination port of the flow with this index among all.
    pub fn port(&self, index: usize) -> u16 {
        self.port
            .unwrap_or_else(|| FIRST_FLOW_PORT.wrapping_add(index as u16))
    }
}

/// The kind of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// ICMP echo (ping).
    Ping,
    /// Echo of a UDP datagram (RFC 862).
    Udp,
    /// Round-trip times over UDP measured by irtt, on the kernel only.
    Irtt,
}

table! {
    /// Echo requests from one host to another.
    #[derive(Debug, Clone, PartialEq, Eq)]
    Probe {
        name: String;
        "name", Value::Name(&["ping-1"]), Always,
        "Unique among flows and probes; names its random numbers and its rows.";

        kind: ProbeKind = ProbeKind::Ping;
        "kind", Value::Words(&["ping", "udp", "irtt"]), OrDefault,
        "`ping`: ICMP echo (RFC 792). `udp`: UDP echo (RFC 862). `irtt`: round trips over UDP that \
         the program irtt(1) of this machine measures, on the kernel only.";

        from: String;
        "from", Value::Name(&[]), Always,
        "Asking host.";

        to: String;
        "to", Value::Name(&["receiver-1"]), Always,
        "Answering host.";

        interval_ns: u64 = 1_000_000_000;
        "interval", Value::PositiveTime, OrDefault,
        "Interval between requests (`ping -i`).";

        /// 0 for no limit.
        count: u64 = 0;
        "count", whole(1, i64::MAX as u64, "", 1000), OrZero,
        "Number of requests (`ping -c`); by default until the end of the run.";

        payload_bytes: u32 = 56;
        "payload", size(0, LARGEST_ECHO_PAYLOAD as u64, "at most 65507 bytes", &["56B"]), OrDefault,
        "Payload of a request (`ping -s`); for irtt (`-l`) at least 60 bytes, which is the default.";

        start_ns: u64 = 0;
        "start", Value::Time, OrDefault,
        "When the first request leaves.";

        start_jitter_ns: u64 = 0;
        "start_jitter", Value::Time, OrDefault,
        "The start is delayed by a time drawn uniformly from 0 to this in each replication.";

        dscp: u8 = 0;
        "dscp", Value::CodePoint, OrDefault,
        "Differentiated services code point.";
    }
}
