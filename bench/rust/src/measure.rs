//! CPU time, memory, and the line of JSON a run reports.

use rustix::time::{ClockId, clock_gettime};

/// What a run delivered and what it cost.
pub struct Measured {
    /// Who ran.
    pub engine: &'static str,
    /// Packets that left the queue.
    pub packets: u64,
    /// Their mean time in the system, seconds.
    pub mean_sojourn_s: f64,
    /// CPU time of the process, user and system, seconds.
    pub cpu_s: f64,
}

impl Measured {
    /// One line.
    pub fn to_json(&self) -> String {
        format!(
            r#"{{"engine": "{}", "packets": {}, "mean_sojourn_s": {}, "cpu_s": {}, "peak_rss_bytes": {}}}"#,
            self.engine,
            self.packets,
            self.mean_sojourn_s,
            self.cpu_s,
            peak_rss_bytes()
        )
    }
}

/// The result of a job and its CPU time, seconds.
pub fn timed<T>(job: impl FnOnce() -> T) -> (T, f64) {
    let started_s = cpu_s();
    let result = job();
    (result, cpu_s() - started_s)
}

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// The peak resident size of this process; 0 where there is no /proc.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = kib.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
