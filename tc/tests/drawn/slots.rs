//! Slots of netem.

use dumbbell_tc::qdisc::{Distribution, Slot, SlotDelay};
use proptest::prelude::*;

/// Any that can be typed, or none.
pub fn slots() -> impl Strategy<Value = Option<Slot>> {
    let tables = vec![
        Distribution::Normal,
        Distribution::Pareto,
        Distribution::Paretonormal,
    ];
    let longest_ns = 1_000_000_000_000u64;
    let uniform = (0..longest_ns, 1..=i32::MAX as u64).prop_map(|(min_ns, width_ns)| {
        let max_ns = min_ns + width_ns;
        SlotDelay::Uniform { min_ns, max_ns }
    });
    let tables = prop::sample::select(tables);
    let table = (tables, 0..longest_ns, 1..=i32::MAX as u64);
    let table = table.prop_map(
        |(distribution, delay_ns, jitter_ns)| SlotDelay::Distribution {
            distribution,
            delay_ns,
            jitter_ns,
        },
    );
    let count = || prop_oneof![Just(0), 1..=i32::MAX as u32];
    let slot = (prop_oneof![uniform, table], count(), count());
    prop::option::of(slot.prop_map(|(delay, packets, bytes)| Slot {
        delay,
        packets,
        bytes,
    }))
}
