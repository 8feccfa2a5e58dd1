//! The engine on an M/M/1 queue, compared with the arithmetic lower bound, in one process.
//!
//! ```text
//! mm1 engine PACKETS SEED          one run of the general engine, one line of JSON
//! mm1 pairs PACKETS SEED PAIRS     engine and Lindley loop alternating, a line each
//! ```
//!
//! Both make the same draws from the same streams, so they see the same arrivals and sizes and
//! must report the same packets and the same mean, up to the engine's whole bytes.

mod floor;
mod measure;
mod workload;

use measure::Measured;
use std::process::ExitCode;
use workload::Workload;

const USAGE: &str = "usage: mm1 engine PACKETS SEED | mm1 pairs PACKETS SEED PAIRS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["engine", packets, seed] => workload(packets, seed).and_then(|work| one(&work)),
        ["pairs", packets, seed, pairs] => workload(packets, seed)
            .and_then(|work| number(pairs).and_then(|pairs| alternate(&work, pairs))),
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

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{text}: not a whole number\n{USAGE}"))
}

fn workload(packets: &str, seed: &str) -> Result<Workload, String> {
    Ok(Workload {
        packets: number(packets)?,
        seed: number(seed)?,
    })
}

fn one(work: &Workload) -> Result<(), String> {
    println!("{}", engine(work)?.to_json());
    Ok(())
}

/// Pairs in the order A B, B A, A B, ..., so that a drift of the machine's speed cancels.
fn alternate(work: &Workload, pairs: u64) -> Result<(), String> {
    for pair in 0..pairs {
        let work = Workload {
            seed: work.seed + pair,
            ..*work
        };
        let (ours, lindley) = if pair % 2 == 0 {
            let ours = engine(&work)?;
            (ours, lindley(&work))
        } else {
            let lindley = lindley(&work);
            (engine(&work)?, lindley)
        };
        println!("{}\n{}", ours.to_json(), lindley.to_json());
    }
    Ok(())
}

/// The general engine: description read and checked, run, tables made, digest taken.
fn engine(work: &Workload) -> Result<Measured, String> {
    let resolved = work.resolved_json();
    let (run, cpu_s) = measure::timed(|| dumbbell_engine::run::simulate_one(&resolved, 0));
    let run = run.map_err(|error| error.to_string())?;
    let (tables, forward) = (run.tables, 0);
    Ok(Measured {
        engine: "dumbbell",
        packets: tables.column_i64("queues", "sojourn_count")[forward] as u64,
        mean_sojourn_s: tables.column_f64("queues", "sojourn_mean_s")[forward],
        cpu_s,
    })
}

fn lindley(work: &Workload) -> Measured {
    let (sojourns, cpu_s) = measure::timed(|| floor::lindley(work));
    Measured {
        engine: "Lindley loop",
        packets: sojourns.packets,
        mean_sojourn_s: sojourns.mean_s(),
        cpu_s,
    }
}
