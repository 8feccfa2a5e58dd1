//! The resolved description of an experiment, the input of the engine, and its checks.
//!
//! All defaults are filled in and all units are converted. Unknown fields are refused. Names and nesting of
//! fields are those of the experiment file, so the path in an error is familiar to its author.

use key::{Numbers, Value, table};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

mod error;
mod home;
pub mod key;
pub mod law;
pub mod link;
pub mod route;
mod sender;
pub mod source;
pub mod tcp;
pub mod trace;
mod validate;

pub use error::SpecError;
pub use link::{Change, LinkEnd};
pub use sender::{Ecn, Flow, Probe, ProbeKind, Transport};
pub use source::Source;
pub use tcp::Tcp;
pub use trace::Trace;

/// The only version of this format.
pub const SCHEMA: u32 = 1;
/// Longest run. The clock counts picoseconds in 64 bits, which is 213 days.
pub const LONGEST_NS: u64 = 200 * 86_400 * 1_000_000_000;
/// Largest text accepted, bytes; it includes replayed traces.
pub const LARGEST_TEXT: usize = 256 << 20;

table! {
    /// An experiment.
    #[derive(Debug, Clone, PartialEq)]
    Experiment {
        name: String = "experiment".to_owned();
        "name", Value::Title, OrDefault,
        "Name of the experiment.";

        seed: u64 = 1;
        "seed", Value::Seed, OrDefault,
        "All randomness follows from it, from the replication's number and from the names of flows, \
         probes and links.";

        duration_ns: u64;
        "duration", Value::PositiveTime, Always,
        "End of the run, in time from its start.";

        warm_up_ns: u64 = 0;
        "warm_up", Value::Time, OrDefault,
        "Length of the warm-up: packets that arrived at a queue or were sent earlier are excluded from statistics.";

        sample_interval_ns: u64 = 0;
        "sample_interval", Value::Time, OrDefault,
        "Sampling interval of the sampled tables; `0s` for no such tables.";

        timer_hz: u32 = 1000;
        "timer_hz", TIMER_HZ, OrDefault,
        "Timer interrupts a second: of the kernel that runs, or is modelled. What Linux times by them \
         (PIE's updates) is rounded up to whole ticks.";

        #[serde(default, skip_serializing_if = "Option::is_none")]
        kernel: Option<String> = None;
        "kernel", Value::KernelName, OrAbsent,
        "On the backend `kernel`, which one, as `dumbbell kernel build` named it: `6.1`, `6.12`, or \
         your own name. What the simulator models is Linux 6.1, whatever stands here.";

        #[serde(default, skip_serializing_if = "Option::is_none")]
        guest: Option<Guest> = None;
        "guest", Value::Words(&["process", "module"]), OrAbsent,
        "On the backend `kernel`, what reads and writes for flows and probes: a `process`, as on a real \
         machine, or a `module` inside the kernel, which gives the same packets in less CPU time. Without \
         it the module, and the process where programs or `irtt` run or the kernel has no module.";

        #[serde(default, skip_serializing_if = "Option::is_none")]
        observe: Option<Vec<String>> = None;
        "observe", Value::QueueNames, OrAbsent,
        "Queues whose times, levels and distributions are kept: `all`; `bottleneck`, the slowest on \
         the way of each flow and probe; or their names. Of the others packets and bytes are \
         counted, and what is not known is NaN, or -1.";

        #[serde(default, skip_serializing_if = "is_false")]
        record_writes: bool = false;
        "record_writes", Value::Flag, OrAbsent,
        "Whether to write the table `flow_writes`: what applications have handed to TCP by each \
         sampling instant, which is what netperf and iperf count at a sender.";
    }
    before {
        /// Version of this format: 1.
        schema: u32;
    }
    after {
        /// Hosts and routers.
        hosts: Vec<Host>;
        /// Links between them.
        links: Vec<Link>;
        /// Traffic.
        flows: Vec<Flow>;
        /// Echo requests.
        probes: Vec<Probe>;
        /// Real programs, on the kernel only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        programs: Vec<Program>;
    }
}

/// Timer frequencies of kernels with whole milliseconds between ticks.
const TIMER_HZ: Value = Value::Numbers(Numbers {
    allowed: &[100, 250, 1000],
    words: "100, 250 or 1000",
    unit: "1/s",
});

fn is_false(value: &bool) -> bool {
    !value
}

/// Where the endpoints of TCP flows run inside a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guest {
    /// In a process, as on a real machine.
    Process,
    /// In a kernel module.
    Module,
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
    /// The other host.
    pub b: String,
    /// From a to b.
    pub forward: LinkEnd,
    /// From b to a.
    pub reverse: LinkEnd,
}

/// Whether a drawn size is a payload or the size that queues count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeAt {
    /// The ideal source of queueing theory: no headers, no fragments.
    Wire,
    /// UDP payload: headers, fragments and link overhead are added.
    Payload,
}

/// A real program that runs in a host, on the kernel only. Only the backend that builds its command line
/// knows its other keys; the engine and the guest do not read them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Unique among flows, probes and programs.
    pub name: String,
    /// The program's kind.
    pub kind: String,
    /// When it is started.
    pub start_ns: u64,
    /// The host in which it runs, if it sends to another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The destination host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The host in which it runs, if there is no destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The keys of its kind.
    #[serde(flatten)]
    pub settings: BTreeMap<String, serde_json::Value>,
}

impl Experiment {
    /// Parses and checks a resolved description.
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

    /// Index of a host in the list.
    pub fn host_index(&self, name: &str) -> Option<u32> {
        let found = self.hosts.iter().position(|host| host.name == name);
        found.map(|index| index as u32)
    }

    /// Index of every host by name, for many lookups: there may be thousands of hosts and flows.
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

    /// Whether any device merges frames (GRO) or sends GSO packets unsegmented (TSO).
    pub fn has_offloads(&self) -> bool {
        self.link_ends().any(|(_, _, end)| end.has_offloads())
    }

    /// Whether times and levels of each queue are recorded, in their order.
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
