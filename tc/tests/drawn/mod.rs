//! Strategies of disciplines whose numbers hold each other.

pub mod bands;
pub mod losses;
pub mod slots;

use dumbbell_tc::Qdisc;
use dumbbell_tc::qdisc::{Choke, Dualpi2, Sfb, Sfq, SfqRed};
use proptest::prelude::*;

/// Of `choke`, those with a weight for the average.
pub fn chokes() -> impl Strategy<Value = Qdisc> {
    let packets = (1..131_072u32, 1..2000u32, 1..2000u32, 1..3000u32, 2..100u32);
    let red = (1_000_000..1_000_000_000u32, 1..1_000u64, any::<bool>());
    (packets, red).prop_filter_map("a weight", |((limit, min, more, avpkt, burst), red)| {
        let choke = Qdisc::Choke(Choke {
            limit_packets: limit,
            min_packets: min,
            max_packets: min + more,
            avpkt_bytes: avpkt,
            burst_packets: min + burst,
            probability_ppb: red.0,
            bandwidth_bps: red.1 * u64::from(avpkt) * 8000,
            ecn: red.2,
        });
        choke.check().is_ok().then_some(choke)
    })
}

/// Of `sfb`, those whose probabilities are whole steps or none.
pub fn sfbs() -> impl Strategy<Value = Qdisc> {
    let ms = || 0..=i32::MAX as u32;
    let packets = || 1..=u32::MAX;
    let steps = || prop_oneof![Just(0u32), 10_000..=1_000_000_000u32];
    let times = (ms(), ms());
    let limits = (packets(), packets(), packets());
    let penalty = (any::<u32>(), any::<u32>());
    (times, limits, (steps(), steps()), penalty).prop_map(|(times, limits, steps, penalty)| {
        Qdisc::Sfb(Sfb {
            rehash_ms: times.0,
            db_ms: times.1,
            limit_packets: limits.0,
            max_packets: limits.1,
            target_packets: limits.2,
            increment_ppb: steps.0,
            decrement_ppb: steps.1,
            penalty_rate_pps: penalty.0,
            penalty_burst_packets: penalty.1,
            child: None,
        })
    })
}

/// Of `sfq`, those whose flows and limit fit each other.
pub fn sfqs() -> impl Strategy<Value = Qdisc> {
    let numbers = (2..=65_408u32, 1..=127u32, 1..=65_408u32, 0..=16u32);
    let words = (
        0..=2_147_483u32,
        any::<bool>(),
        prop::option::of(sfq_reds()),
    );
    let quanta = prop::option::of(256..=1u32 << 20);
    (numbers, quanta, words).prop_filter_map(
        "numbers that hold each other",
        |(
            (limit_packets, depth_packets, flows, log2),
            quantum_bytes,
            (perturb_s, headdrop, red),
        )| {
            let sfq = Qdisc::Sfq(Sfq {
                limit_packets,
                depth_packets,
                flows: flows.min(limit_packets).min(1 << log2),
                divisor: 1 << log2,
                quantum_bytes,
                perturb_s,
                headdrop,
                red,
            });
            sfq.check().is_ok().then_some(sfq)
        },
    )
}

/// RED in the flows of sfq, mostly with numbers that it takes.
fn sfq_reds() -> impl Strategy<Value = SfqRed> {
    let thresholds = (1..=1_000_000u32, 1..=1_000_000u32, 0..=1_000_000u32);
    let average = (1..=9000u32, 1..=3000u32, 1..1_000_000_000u32);
    (thresholds, average, any::<(bool, bool)>()).prop_map(
        |((min_bytes, width, beyond), (avpkt_bytes, excess, probability_ppb), (ecn, harddrop))| {
            let max_bytes = min_bytes + width;
            SfqRed {
                limit_bytes: max_bytes + beyond,
                min_bytes,
                max_bytes,
                avpkt_bytes,
                burst_packets: min_bytes.div_ceil(avpkt_bytes) + excess,
                probability_ppb,
                ecn,
                harddrop,
            }
        },
    )
}

/// DualPI2 with any numbers that it takes.
pub fn dualpi2s() -> impl Strategy<Value = Qdisc> {
    let times = || (1..=u64::from(u32::MAX)).prop_map(|us| us * 1000);
    let gains = || prop_oneof![1..1u32 << 24, 1..2000u32];
    let steps = prop_oneof![
        times().prop_map(|ns| (Some(ns), None)),
        (1..=u32::MAX).prop_map(|packets| (None, Some(packets))),
    ];
    let limits = (1..=u32::MAX, prop::option::of(1..=u32::MAX));
    let control = (times(), times(), gains(), gains(), any::<u8>());
    let l4s = (steps, any::<u32>(), 0..=100u8);
    (limits, control, l4s, any::<[bool; 4]>()).prop_map(|(limits, control, l4s, words)| {
        let (limit_packets, memlimit_bytes) = limits;
        let (target_ns, tupdate_ns, alpha, beta, coupling_factor) = control;
        let ((step_thresh_ns, step_thresh_packets), min_qlen_step_packets, percent) = l4s;
        let [drop_on_overload, drop_dequeue, l4s_ect, split_gso] = words;
        Qdisc::Dualpi2(Dualpi2 {
            limit_packets,
            memlimit_bytes,
            target_ns,
            tupdate_ns,
            alpha,
            beta,
            coupling_factor,
            step_thresh_ns,
            step_thresh_packets,
            min_qlen_step_packets,
            drop_on_overload,
            drop_dequeue,
            classic_protection_percent: percent,
            l4s_ect,
            split_gso,
        })
    })
}
