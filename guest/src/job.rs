//! The job of the guest: one replication of one experiment.

use crate::error::GuestError;
use crate::host_links::{HostLink, VethPair};
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// The job file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The resolved description as JSON text.
    pub resolved: String,
    /// Number of the replication.
    pub replication: u64,
    /// The links between hosts.
    pub pairs: Vec<VethPair>,
    /// What else each host gets before its lines of `tc`, in order.
    pub host_links: Vec<Vec<HostLink>>,
    /// The library by which `tc` is loaded once; without it, it is started anew for each host.
    #[serde(default)]
    pub tool_library: Option<PathBuf>,
    /// Lines of `tc`, in order.
    pub steps: Vec<Step>,
    /// Changes during the run, in order.
    pub changes: Vec<Change>,
    /// Values under `/proc/sys` for every host.
    pub sysctl: Vec<Setting>,
    /// Additional values by host.
    pub host_sysctl: Vec<Vec<Setting>>,
    /// Output folder.
    pub output: PathBuf,
    /// IPv4 destination addresses of flows.
    pub flow_addresses: Vec<String>,
    /// IPv4 destination addresses of probes.
    pub probe_addresses: Vec<String>,
    /// Discipline of each queue, for its counters.
    pub queues: Vec<QueuePlace>,
    /// Queues at which every packet is observed.
    pub watched: Vec<Watched>,
    /// Path of `irtt`, if a probe uses it.
    #[serde(default)]
    pub irtt: Option<String>,
    /// Setup of hosts with a file system, for running programs.
    #[serde(default)]
    pub login: Option<crate::login::LoginSpec>,
    /// A session of shells, which replaces the description's traffic.
    #[serde(default)]
    pub shell: Option<crate::shell::SessionSpec>,
    /// Programs of the description.
    #[serde(default)]
    pub programs: Option<crate::programs::ProgramsSpec>,
    /// Congestion controllers to load.
    #[serde(default)]
    pub controllers: Vec<Controller>,
    /// Kernel module that reads and writes for flows and probes; None if process 1 does.
    #[serde(default)]
    pub traffic_module: Option<PathBuf>,
    /// Whether the run fails without that module; otherwise process 1 takes its place.
    #[serde(default)]
    pub requires_module: bool,
}

/// A congestion controller that is a kernel module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// The module.
    pub module: PathBuf,
    /// Name of the module and for `TCP_CONGESTION`.
    pub name: String,
    /// Indices of the flows that use it.
    pub flows: Vec<usize>,
}

/// A queue at which every packet is observed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// Index of the queue.
    pub queue: usize,
    /// Index of its host.
    pub host: usize,
    /// The device behind the queue.
    pub device: String,
    /// The device that receives a copy of every packet that arrives at the queue.
    pub copies: String,
}

/// Command lines for one program in one host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index of the host.
    pub host: usize,
    /// Path of `tc`.
    pub tool: String,
    /// Arguments of each command.
    pub lines: Vec<String>,
}

/// Command lines to run at an instant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The instant.
    pub at_ns: u64,
    /// The commands.
    pub step: Step,
}

/// A value of a file under `/proc/sys`; a missing file is skipped.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Path under `/proc/sys`, or an absolute one.
    pub path: String,
    /// The value.
    pub value: String,
}

/// The place of a queue's counters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuePlace {
    /// Index of the host.
    pub host: usize,
    /// Its device.
    pub device: String,
    /// Handle of the queue's discipline.
    pub handle: u32,
    /// Host, device and handle of the discipline that delays and loses packets, if any.
    pub propagation: Option<(usize, String, u32)>,
    /// The class, or `TC_H_ROOT`, below which the guest sets up the discipline by itself; None if `tc` does.
    #[serde(default)]
    pub set_up_below: Option<u32>,
    /// Whether the device sends super-packets uncut.
    #[serde(default)]
    pub tso: bool,
    /// Whether it merges received frames.
    #[serde(default)]
    pub gro: bool,
}

/// Parses an address of the job.
pub fn ipv4(text: &str) -> Result<Ipv4Addr, GuestError> {
    let parsed = text.parse();
    parsed.map_err(|_| GuestError::Job(format!("{text} is no address")))
}

impl Job {
    /// Reads a job file.
    pub fn read(path: &str) -> Result<Job, GuestError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| GuestError::Job(format!("{path}: {error}")))?;
        serde_json::from_str(&text).map_err(|error| GuestError::Job(format!("{path}: {error}")))
    }
}
