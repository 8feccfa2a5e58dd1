//! `prio`, `ets`, `drr` and `hfsc`, with anything in their bands and classes, and filters.

use dumbbell_tc::Qdisc;
use dumbbell_tc::qdisc::filter::{Condition, Field, Kind, Protocol, Wanted};
use dumbbell_tc::qdisc::{Drr, DrrClass, Ets, Filter, Hfsc, HfscClass, Prio, ServiceCurve};
use proptest::prelude::*;

/// Filters in ascending order, each with a priority of its own.
pub fn filters() -> impl Strategy<Value = Vec<Filter>> {
    let filter = (kinds(), any::<u16>());
    prop::collection::vec(filter, 0..4).prop_map(|filters| {
        let filter = |(priority, ((kind, conditions), minor))| Filter {
            priority,
            protocol: Protocol::Ip,
            kind,
            conditions,
            minor,
        };
        (1..).zip(filters).map(filter).collect()
    })
}

fn kinds() -> impl Strategy<Value = (Kind, Vec<Condition>)> {
    let any_of = |field, bits| {
        (1..=bits, any::<u32>())
            .prop_map(move |(mask, value)| masked(field, value & mask, mask))
            .boxed()
    };
    let port = |field| {
        let one = (1..32_768u32)
            .prop_map(move |port| masked(field, port, 0xffff))
            .boxed();
        let several = (1..1000u32, 1..1000u32)
            .prop_map(move |(first, more)| {
                let last = first + more;
                Condition {
                    field,
                    wanted: Wanted::Range { first, last },
                }
            })
            .boxed();
        (one, several)
    };
    let prefix = |field| {
        (any::<u32>(), 1..=32u32)
            .prop_map(move |(value, length)| {
                let mask = u32::MAX << (32 - length);
                masked(field, value & mask, mask)
            })
            .boxed()
    };
    fn some(of: BoxedStrategy<Condition>) -> BoxedStrategy<Option<Condition>> {
        prop::option::of(of).boxed()
    }
    let u32_of = (
        some(any_of(Field::VersionAndLength, 0xff)),
        some(any_of(Field::Tos, 0xff)),
        some(any_of(Field::Protocol, 0xff)),
        some(any_of(Field::Source, u32::MAX)),
        some(prefix(Field::Destination)),
        some(port(Field::SourcePort).0),
        some(port(Field::DestinationPort).0),
    );
    let u32_of = u32_of.prop_map(|(first, tos, protocol, from, to, sport, dport)| {
        let all = [first, tos, protocol, from, to, sport, dport];
        (Kind::U32, all.into_iter().flatten().collect())
    });
    let flower = (
        some(any_of(Field::Tos, 0xff)),
        prop_oneof![Just(6), Just(17)].prop_map(|number| masked(Field::Protocol, number, 0xff)),
        some(prefix(Field::Source)),
        some(prefix(Field::Destination)),
        some(port(Field::SourcePort).1),
        some(port(Field::DestinationPort).0),
    );
    let flower = flower.prop_map(|(tos, protocol, from, to, sport, dport)| {
        let all = [tos, Some(protocol), from, to, sport, dport];
        (Kind::Flower, all.into_iter().flatten().collect())
    });
    let fw = any_of(Field::Mark, u32::MAX).prop_filter("a mark", |mark| {
        !matches!(mark.wanted, Wanted::Masked { value: 0, .. })
    });
    prop_oneof![
        Just((Kind::Matchall, Vec::new())),
        u32_of,
        flower,
        fw.prop_map(|mark| (Kind::Fw, vec![mark])),
    ]
}

fn masked(field: Field, value: u32, mask: u32) -> Condition {
    Condition {
        field,
        wanted: Wanted::Masked { value, mask },
    }
}

fn child(children: BoxedStrategy<Qdisc>) -> BoxedStrategy<Option<Box<Qdisc>>> {
    prop::option::of(children.prop_map(Box::new)).boxed()
}

/// Classes that share by quanta.
pub fn drrs(children: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let classes = prop::collection::vec((child(children), 1..=u32::MAX), 0..=3);
    (classes, filters()).prop_map(|(classes, filters)| {
        let class = |(minor, (child, quantum_bytes))| DrrClass {
            minor,
            quantum_bytes,
            child,
        };
        let classes = (1..).zip(classes).map(class).collect();
        Qdisc::Drr(Drr { classes, filters })
    })
}

fn curves() -> impl Strategy<Value = ServiceCurve> {
    // Nothing, or a rate that is written with a unit.
    let rate_bps = prop_oneof![Just(0), 1..=u64::from(u32::MAX)];
    let drawn = (rate_bps, any::<u32>(), 1..=u64::from(u32::MAX));
    drawn.prop_map(|(m1, d_us, m2)| ServiceCurve {
        m1_bps: 8 * m1,
        d_us,
        m2_bps: 8 * m2,
    })
}

/// A class, and leaves below it and beside it.
pub fn hfscs(children: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let leaf = (
        child(children),
        prop::option::of(curves()),
        curves(),
        prop::option::of(curves()),
        any::<bool>(),
    );
    let leaves = prop::collection::vec(leaf, 1..=3);
    let drawn = (leaves, curves(), 0..=0xffffu16, filters());
    drawn.prop_map(|(leaves, above, default_minor, filters)| {
        let mut classes = vec![HfscClass {
            minor: 1,
            parent_minor: 0,
            rt: None,
            ls: Some(above),
            ul: Some(above),
            child: None,
        }];
        for (minor, (child, rt, ls, ul, is_below)) in (2..).zip(leaves) {
            classes.push(HfscClass {
                minor,
                parent_minor: u16::from(is_below || minor == 2),
                rt,
                ls: Some(ls),
                ul,
                child,
            });
        }
        Qdisc::Hfsc(Hfsc {
            default_minor,
            classes,
            filters,
        })
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
