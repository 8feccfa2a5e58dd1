//! The resolved description of an experiment: what crosses into the engine, and its checks.
//!
//! Every default has been filled in and every unit converted by who wrote it. Unknown fields
//! are refused. Names of fields and their nesting are those of the description a person
//! writes, so that the path in an error is one they recognise.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

mod error;
pub mod key;
pub mod law;
pub mod link;
pub mod route;
pub mod source;
pub mod tcp;
pub mod trace;
mod validate;

pub use error::SpecError;
pub use link::{Change, LinkEnd};
pub use source::Source;
pub use tcp::Tcp;
pub use trace::Trace;

/// The only version of this format.
pub const SCHEMA: u32 = 1;
/// Longest run: the clock counts picoseconds in 64 bits and holds 213 days.
pub const LONGEST_NS: u64 = 200 * 86_400 * 1_000_000_000;
/// Largest text accepted, bytes: traces to replay are part of it.
pub const LARGEST_TEXT: usize = 256 << 20;

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Version of this format: 1.
    pub schema: u32,
    /// What to call it.
    pub name: String,
    /// All randomness follows from this, the replication and the components' names.
    pub seed: u64,
    /// The run covers [0, duration).
    pub duration_ns: u64,
    /// Statistics of the measured window start here.
    pub warm_up_ns: u64,
    /// Between samples; 0 for none.
    pub sample_interval_ns: u64,
    /// Timer interrupts a second of the kernel that runs, or is modelled: 100, 250 or 1000.
    pub timer_hz: u32,
    /// Name of the kernel that runs it; None for the usual one, Linux 6.1, which is also what is
    /// modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Names of the queues whose times and levels are kept; of the others packets and bytes are
    /// counted. None for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe: Option<Vec<String>>,
    /// Whether to write the table `flow_writes`: what applications have handed to TCP.
    #[serde(default, skip_serializing_if = "is_false")]
    pub record_writes: bool,
    /// Hosts and routers.
    pub hosts: Vec<Host>,
    /// Links between them.
    pub links: Vec<Link>,
    /// Traffic.
    pub flows: Vec<Flow>,
    /// Echo requests.
    pub probes: Vec<Probe>,
    /// Programs of the machine, on the kernel only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A host or router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Unique.
    pub name: String,
}

/// A link with both its directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One host.
    pub a: String,
    /// The other.
    pub b: String,
    /// From a to b.
    pub forward: LinkEnd,
    /// From b to a.
    pub reverse: LinkEnd,
}

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

/// What carries a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A byte stream.
    Tcp,
}

/// Traffic from one host to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique among flows and probes; names its random streams.
    pub name: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// First instant of sending.
    pub start_ns: u64,
    /// Nothing is sent from here on.
    pub stop_ns: u64,
    /// The start is later by a uniform draw from [0, jitter).
    pub start_jitter_ns: u64,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field of datagrams; TCP negotiates its own.
    pub ecn: Ecn,
    /// What carries it.
    pub transport: Transport,
    /// Settings of TCP; null for UDP.
    pub tcp: Option<Tcp>,
    /// What it sends.
    pub source: Source,
}

/// Whether a drawn size is a payload or already what queues count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeAt {
    /// The ideal source of queueing theory: no headers, no fragments.
    Wire,
    /// UDP payload: headers, fragments and link overhead are added.
    Payload,
}

/// What a probe sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProbeKind {
    /// ICMP echo (ping).
    Ping,
    /// Echo of a UDP datagram (RFC 862).
    Udp,
    /// Round trips over UDP that the program irtt measures, on the kernel only.
    Irtt,
}

/// Echo requests from one host to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Unique among flows and probes.
    pub name: String,
    /// What is sent.
    pub kind: ProbeKind,
    /// Asking host.
    pub from: String,
    /// Answering host.
    pub to: String,
    /// Between requests.
    pub interval_ns: u64,
    /// How many; 0 until the end.
    pub count: u64,
    /// ICMP or UDP payload (ping: 56).
    pub payload_bytes: u32,
    /// First request.
    pub start_ns: u64,
    /// The start is later by a uniform draw from [0, jitter).
    pub start_jitter_ns: u64,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
}

/// A program of the machine that runs in a host, on the kernel only. What it is to do is known to who
/// makes command lines of it: neither the engine nor the guest reads its other keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Unique among flows, probes and programs.
    pub name: String,
    /// Which program.
    pub kind: String,
    /// When it is started.
    pub start_ns: u64,
    /// The host in which it runs, where it sends to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The host in which it runs, where there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The keys of its kind.
    #[serde(flatten)]
    pub settings: BTreeMap<String, serde_json::Value>,
}

impl Experiment {
    /// Reads and checks a resolved description.
    pub fn from_json(text: &str) -> Result<Experiment, SpecError> {
        if text.len() > LARGEST_TEXT {
            let allowed = format!("at most {LARGEST_TEXT} bytes of description");
            return Err(SpecError::new("", format!("{} bytes", text.len()), allowed));
        }
        let experiment: Experiment = serde_json::from_str(text).map_err(|error| {
            SpecError::new("", error.to_string(), "a resolved description, schema 1")
        })?;
        experiment.validate()?;
        Ok(experiment)
    }

    /// Where a host stands in the list.
    pub fn host_index(&self, name: &str) -> Option<u32> {
        let found = self.hosts.iter().position(|host| host.name == name);
        found.map(|index| index as u32)
    }

    /// The index of every host, for looking up many: there may be thousands of hosts and flows.
    pub fn host_indices(&self) -> HashMap<&str, u32> {
        let names = self.hosts.iter().map(|host| host.name.as_str());
        names.zip(0..).collect()
    }

    /// The directed link ends in the order of queues: forward is `2 i`, reverse `2 i + 1`.
    pub fn link_ends(&self) -> impl Iterator<Item = (&str, &str, &LinkEnd)> {
        self.links.iter().flat_map(|link| {
            let (a, b) = (link.a.as_str(), link.b.as_str());
            [(a, b, &link.forward), (b, a, &link.reverse)]
        })
    }

    /// Whether any device merges frames, or sends what TCP hands down at once uncut.
    pub fn has_offloads(&self) -> bool {
        self.link_ends().any(|(_, _, end)| end.has_offloads())
    }

    /// Whether times and levels of each queue are kept, in their order.
    pub fn observed_queues(&self) -> Vec<bool> {
        let names = self.queue_names();
        match &self.observe {
            None => vec![true; names.len()],
            Some(observed) => {
                let observed: HashSet<_> = observed.iter().collect();
                names.iter().map(|name| observed.contains(name)).collect()
            }
        }
    }

    /// Names of the queues, in their order: `a->b`, and `a->b#2` for a parallel link.
    pub fn queue_names(&self) -> Vec<String> {
        let mut seen = HashMap::new();
        let names = self.link_ends().map(|(from, to, _)| {
            let base = format!("{from}->{to}");
            let times = seen
                .entry(base.clone())
                .and_modify(|n| *n += 1)
                .or_insert(1);
            if *times == 1 {
                base
            } else {
                format!("{base}#{times}")
            }
        });
        names.collect()
    }
}
