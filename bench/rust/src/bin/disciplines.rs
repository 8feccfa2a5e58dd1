//! Nanoseconds per packet of every discipline, compared with the ordinary path of `pfifo`.
//!
//! ```text
//! disciplines PACKETS SEED FLOWS ROUNDS
//! ```
//!
//! The same Poisson arrivals of all flows together, 0.98 of a link of 100 Mbit/s, pass one
//! discipline after the other, in as many rounds; a line of JSON each, with the least time of
//! all rounds. The link has a delay of a microsecond, so that no departure is folded into an
//! arrival and every packet takes the general path.

#[path = "../measure.rs"]
#[allow(dead_code)]
mod measure;

use std::process::ExitCode;

const USAGE: &str = "usage: disciplines PACKETS SEED FLOWS ROUNDS";
const LINK_BPS: u64 = 100_000_000;
const SIZE_BYTES: u64 = 1000;
const OVERHEAD_BYTES: u64 = 14;
const LOAD: f64 = 0.98;

const DISCIPLINES: &[&str] = &[
    "pfifo limit 10000",
    "codel limit 10000",
    "fq_codel",
    "sfq",
    "choke limit 10000 bandwidth 100mbit min 100 max 300",
    "sfb limit 10000 target 300 max 375",
    "fq_pie",
    "cake besteffort",
    "cake bandwidth 100mbit",
    "pie limit 10000",
    "red limit 10mb min 100kb max 300kb avpkt 1000 bandwidth 100mbit",
    "tbf rate 1gbit burst 100kb limit 10mb",
];

fn main() -> ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let done = match numbers.as_deref() {
        Ok(&[packets, seed, flows, rounds]) if flows > 0 && rounds > 0 => {
            run(packets, seed, flows, rounds)
        }
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn run(packets: u64, seed: u64, flows: u64, rounds: u64) -> Result<(), String> {
    let mut least = vec![(f64::INFINITY, 0); DISCIPLINES.len()];
    for _ in 0..rounds {
        for (words, least) in DISCIPLINES.iter().zip(&mut least) {
            let resolved = resolved_json(words, packets, seed, flows)?;
            let (run, cpu_s) = measure::timed(|| dumbbell_engine::run::simulate_one(&resolved, 0));
            let tables = run.map_err(|error| format!("{words}: {error}"))?.tables;
            let arrived = tables.column_i64("queues", "arrived_pkts")[0] as u64;
            if cpu_s < least.0 {
                *least = (cpu_s, arrived);
            }
        }
    }
    let ns = |(cpu_s, arrived): (f64, u64)| cpu_s * 1e9 / arrived as f64;
    let pfifo_ns = ns(least[0]);
    for (words, least) in DISCIPLINES.iter().zip(least) {
        let (packets, ns) = (least.1, ns(least));
        let ratio = ns / pfifo_ns;
        println!(
            r#"{{"discipline": "{words}", "flows": {flows}, "packets": {packets}, "ns_per_packet": {ns:.1}, "over_pfifo": {ratio:.2}}}"#
        );
    }
    Ok(())
}

/// The resolved description, as the engine takes it.
fn resolved_json(words: &str, packets: u64, seed: u64, flows: u64) -> Result<String, String> {
    let qdisc = dumbbell_tc::parse_qdisc(words).map_err(|error| error.to_string())?;
    let per_second = LOAD * LINK_BPS as f64 / (8 * SIZE_BYTES) as f64;
    let duration_ns = (packets as f64 / per_second * 1e9) as u64;
    let mean_gap_s = flows as f64 / per_second;
    let end = |rate_bps: u64, delay_ns: u64, qdisc: &str| {
        format!(
            r#"{{"rate_bps":{rate_bps},"delay_ns":{delay_ns},"mtu_bytes":1500,
            "overhead_bytes":{OVERHEAD_BYTES},"loss":0.0,"loss_every_pkts":0,"qdisc":{qdisc},"changes":[],
            "record_packets":false}}"#
        )
    };
    let forward = end(LINK_BPS, 1000, &qdisc.to_json());
    let reverse = end(0, 0, r#"{"kind":"pfifo","limit_packets":1000}"#);
    let flow = |number: u64| {
        format!(
            r#"{{"name":"flow-{number}","from":"a","to":"b","start_ns":0,"stop_ns":{duration_ns},
            "start_jitter_ns":0,"dscp":0,"ecn":"not-ect","transport":"udp","tcp":null,
            "source":{{"kind":"poisson","gap":{{"law":"exponential","mean":{mean_gap_s}}},
            "size":{{"law":"constant","value":{SIZE_BYTES}}},"size_at":"wire"}}}}"#
        )
    };
    let flows: Vec<String> = (0..flows).map(flow).collect();
    let flows = flows.join(",");
    Ok(format!(
        r#"{{"schema":1,"name":"disciplines","seed":{seed},"duration_ns":{duration_ns},
        "warm_up_ns":0,"sample_interval_ns":0,"timer_hz":1000,"hosts":[{{"name":"a"}},{{"name":"b"}}],
        "links":[{{"a":"a","b":"b","forward":{forward},"reverse":{reverse}}}],
        "flows":[{flows}],"probes":[]}}"#
    ))
}
