//! `prio` and `ets`, with anything in their bands, and filters.

use dumbbell_tc::Qdisc;
use dumbbell_tc::qdisc::{Ets, Filter, Prio};
use proptest::prelude::*;

/// Filters in ascending order, each with a priority of its own.
pub fn filters() -> impl Strategy<Value = Vec<Filter>> {
    let filter = (any::<u8>(), any::<u8>(), any::<u16>());
    prop::collection::vec(filter, 0..4).prop_map(|filters| {
        let filter = |(priority, (tos, mask, minor))| Filter {
            priority,
            tos: tos & mask,
            mask,
            minor,
        };
        (1..).zip(filters).map(filter).collect()
    })
}

/// Bands by priority.
pub fn prios(children: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let child = prop::option::of(children.prop_map(Box::new));
    let bands = prop::collection::vec(child, 2..=4);
    (bands, any::<[u8; 16]>(), filters()).prop_map(|(children, priomap, filters)| {
        let bands = children.len() as u8;
        Qdisc::Prio(Prio {
            bands,
            priomap: priomap.map(|band| band % bands),
            children,
            filters,
        })
    })
}

/// Strict bands and others.
pub fn etses(children: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let child = prop::option::of(children.prop_map(Box::new));
    let strict = prop::collection::vec(child.clone(), 0..=2);
    let sharing = prop::collection::vec((child, 1..=u32::MAX), 1..=3);
    let drawn = (strict, sharing, any::<[u8; 16]>(), filters());
    drawn.prop_map(|(strict, sharing, priomap, filters)| {
        let (of_sharing, quanta_bytes): (Vec<_>, Vec<u32>) = sharing.into_iter().unzip();
        let bands = (strict.len() + quanta_bytes.len()) as u8;
        Qdisc::Ets(Ets {
            bands,
            strict: strict.len() as u8,
            quanta_bytes,
            priomap: priomap.map(|band| band % bands),
            children: [strict, of_sharing].concat(),
            filters,
        })
    })
}
