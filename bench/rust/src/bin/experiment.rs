//! Runs any experiment on the engine and reports its results and its cost.
//!
//! ```text
//! experiment QUEUE REPLICATION < resolved.json
//! ```
//!
//! One line of JSON: packets and drops of the queue of this index, payload that flows received
//! over the run's time, CPU time of the run with its tables and digest.

#[path = "../measure.rs"]
#[allow(dead_code)]
mod measure;

use dumbbell_engine::run::{RunOutput, simulate_one};
use std::io::Read;
use std::process::ExitCode;

const USAGE: &str = "usage: experiment QUEUE REPLICATION < resolved.json";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match line(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn line(arguments: &[String]) -> Result<String, String> {
    let [queue, replication] = arguments else {
        return Err(USAGE.to_owned());
    };
    let queue: usize = queue.parse().map_err(|_| USAGE.to_owned())?;
    let replication: u64 = replication.parse().map_err(|_| USAGE.to_owned())?;
    let mut resolved = String::new();
    std::io::stdin()
        .read_to_string(&mut resolved)
        .map_err(|error| error.to_string())?;
    let (run, cpu_s) = measure::timed(|| simulate_one(&resolved, replication));
    report(&run.map_err(|error| error.to_string())?, queue, cpu_s)
}

fn report(run: &RunOutput, queue: usize, cpu_s: f64) -> Result<String, String> {
    let of_queue = |name| run.tables.column_i64("queues", name).get(queue).copied();
    let missing = || format!("there is no queue {queue}");
    let delivered = of_queue("departed_pkts").ok_or_else(missing)?;
    let dropped: i64 = ["dropped_overlimit_pkts", "dropped_aqm_pkts", "policed_pkts"]
        .into_iter()
        .filter_map(of_queue)
        .sum();
    let payload_bytes: i64 = run
        .tables
        .column_i64("flows", "received_payload_bytes")
        .iter()
        .sum();
    let measured_s = run.tables.column_f64("queues", "measured_s")[queue];
    let sojourn_s = run.tables.column_f64("queues", "sojourn_mean_s")[queue];
    let goodput_mbps = payload_bytes as f64 * 8e-6 / measured_s;
    Ok(format!(
        r#"{{"engine": "dumbbell", "delivered_pkts": {delivered}, "dropped_pkts": {dropped}, "goodput_mbps": {goodput_mbps}, "sojourn_mean_s": {sojourn_s}, "cpu_s": {cpu_s}, "peak_rss_bytes": {}, "events": {}, "digest": "{}"}}"#,
        measure::peak_rss_bytes(),
        run.events,
        run.digest,
    ))
}
