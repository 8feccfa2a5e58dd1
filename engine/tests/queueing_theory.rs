//! Means against queueing theory, over fixed seeds. The sharp tests, with intervals of one per
//! cent, are run by the Python suite on the optimised engine; these catch a broken queue early.

mod common;

use common::*;
use dumbbell_engine::run::{Monitor, run};
use dumbbell_engine::spec::Experiment;
use dumbbell_engine::spec::law::Law;

const MEAN_BYTES: f64 = 500.0;
/// With 1 Mbit/s: 250 packets/s.
const MU: f64 = 250.0;

fn one_queue(rho: f64, size: Law, limit: u32) -> Experiment {
    let mut forward = end(1_000_000);
    forward.qdisc = pfifo(limit);
    let source = source(exponential(1.0 / (rho * MU)), size);
    let mut spec = experiment(
        vec![link("a", "b", forward)],
        vec![flow("f", "a", "b", source)],
        vec![],
    );
    spec.duration_ns = 1_000 * S;
    spec.warm_up_ns = 50 * S;
    checked(&spec)
}

/// z-score of the mean over replications of a column of the first queue.
fn z_of(spec: &Experiment, column: &str, theory: f64) -> f64 {
    let n = 12;
    let value = |replication| {
        let output = run(spec, replication, &Monitor::default()).unwrap();
        output.tables.column_f64("queues", column)[0]
    };
    let values: Vec<f64> = (0..n).map(value).collect();
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    (mean - theory) / (variance / n as f64).sqrt()
}

#[test]
fn mm1_mean_sojourn_and_number() {
    for rho in [0.3, 0.6, 0.8] {
        let spec = one_queue(rho, exponential(MEAN_BYTES), 1_000_000_000);
        let z = z_of(&spec, "sojourn_mean_s", 1.0 / (MU - rho * MU));
        assert!(z.abs() < 4.0, "T at {rho}: z = {z}");
        let z = z_of(&spec, "system_mean_pkts", rho / (1.0 - rho));
        assert!(z.abs() < 4.0, "N at {rho}: z = {z}");
    }
}

#[test]
fn md1_mean_wait() {
    for rho in [0.3, 0.6, 0.8] {
        let spec = one_queue(rho, constant(MEAN_BYTES), 1_000_000_000);
        let theory = rho / (2.0 * MU * (1.0 - rho));
        let z = z_of(&spec, "wait_mean_s", theory);
        assert!(z.abs() < 4.0, "W at {rho}: z = {z}");
    }
}

#[test]
fn mm1k_mean_number_with_the_packet_in_service_counted() {
    let (rho, limit): (f64, u32) = (0.9, 4);
    let k = limit as i32 + 1;
    let weights: Vec<f64> = (0..=k).map(|n| rho.powi(n)).collect();
    let total: f64 = weights.iter().sum();
    let mean = weights
        .iter()
        .zip(0..)
        .map(|(w, n)| w * f64::from(n))
        .sum::<f64>()
        / total;
    let z = z_of(
        &one_queue(rho, exponential(MEAN_BYTES), limit),
        "system_mean_pkts",
        mean,
    );
    assert!(z.abs() < 4.0, "z = {z}");
}
