//! What the host asks for: one replication of one experiment.

use crate::error::GuestError;
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// The job file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The resolved description, as text.
    pub resolved: String,
    /// Which replication.
    pub replication: u64,
    /// Lines of `ip` and `tc`, in order.
    pub steps: Vec<Step>,
    /// What is to be run later, in order.
    pub changes: Vec<Change>,
    /// Values for files under `/proc/sys`, in every host.
    pub sysctl: Vec<Setting>,
    /// As above, besides those, by host.
    pub host_sysctl: Vec<Vec<Setting>>,
    /// Where results go.
    pub output: PathBuf,
    /// What answers to which host: the IPv4 addresses flows and probes are sent to.
    pub flow_addresses: Vec<String>,
    /// As above, for probes.
    pub probe_addresses: Vec<String>,
    /// Where each queue's counters are.
    pub queues: Vec<QueuePlace>,
    /// Queues at which every packet is looked at.
    pub watched: Vec<Watched>,
    /// `irtt` by its path, where a probe asks for it.
    #[serde(default)]
    pub irtt: Option<String>,
    /// What makes hosts such that one logs in to them, where programs of any kind are to run.
    #[serde(default)]
    pub login: Option<crate::login::LoginSpec>,
    /// For a session of shells, which takes the place of the description's traffic.
    #[serde(default)]
    pub shell: Option<crate::shell::SessionSpec>,
    /// Programs of the description.
    #[serde(default)]
    pub programs: Option<crate::programs::ProgramsSpec>,
    /// Congestion controllers that the kernel has to load first.
    #[serde(default)]
    pub controllers: Vec<Controller>,
    /// The module that reads and writes for flows over TCP; none where process 1 does.
    #[serde(default)]
    pub traffic_module: Option<PathBuf>,
    /// Whether it is loaded and left idle. Loading one moves the kernel's random numbers, so a test that holds
    /// both ways against each other where some are drawn loads it for both.
    #[serde(default)]
    pub traffic_module_idle: bool,
}

/// A congestion controller that is a module of the kernel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// The module.
    pub module: PathBuf,
    /// What the module and `TCP_CONGESTION` call it.
    pub name: String,
    /// Indices of the flows that have it.
    pub flows: Vec<usize>,
}

/// A queue at which every packet is looked at.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    /// Which queue.
    pub queue: usize,
    /// Index of its host.
    pub host: usize,
    /// The device behind the queue.
    pub device: String,
    /// The device that gets a copy of whatever comes to the queue.
    pub copies: String,
}

/// Lines for one program in one host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Index of the host; one more than the last is a place without devices.
    pub host: usize,
    /// `ip` or `tc`, by its path.
    pub tool: String,
    /// Each what one would type after the program's name.
    pub lines: Vec<String>,
}

/// Lines to be run at an instant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at_ns: u64,
    /// What.
    pub step: Step,
}

/// A value of a file under `/proc/sys`; a file that is not there is left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Path under `/proc/sys`, or an absolute one.
    pub path: String,
    /// What is written.
    pub value: String,
}

/// Where the counters of a queue are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuePlace {
    /// Index of the host.
    pub host: usize,
    /// Its device.
    pub device: String,
    /// Handle of the discipline that queues.
    pub handle: u32,
    /// Host, device and handle of the one that delays and loses; none without one.
    pub propagation: Option<(usize, String, u32)>,
    /// Whether the device sends super-packets uncut.
    #[serde(default)]
    pub tso: bool,
    /// Whether it merges frames that it receives.
    #[serde(default)]
    pub gro: bool,
}

/// An address of the job.
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
