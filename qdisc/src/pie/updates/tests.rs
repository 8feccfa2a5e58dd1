//! Updates at once are those one after the other.

use super::super::{Build, Pie, Setting, TICK_SHIFT, Variables};
use super::*;
use crate::{Dequeued, Discipline};
use dumbbell_core::packet::{Packet, PacketKind};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

fn pie(words: &str) -> Pie {
    let dumbbell_tc::Qdisc::Pie(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is pie");
    };
    Pie::build(&config, &Setting::for_tests())
}

/// The same by a timer that runs out again and again.
fn tick_until(pie: &mut Pie, now: Time) {
    while pie.controller.next_update < now {
        pie.controller.update_probability();
        pie.controller.next_update = pie.controller.clock.expiry(
            pie.controller.next_update,
            pie.controller.parameters.tupdate,
        );
    }
}

const WORDS: [&str; 8] = [
    "pie",
    "pie tupdate 1ms",
    "pie target 1us tupdate 1ms alpha 1 beta 1",
    "pie target 500ms tupdate 2ms alpha 32 beta 32",
    "pie dq_rate_estimator tupdate 1ms",
    "pie linux_3_14 tupdate 1ms",
    "pie linux_3_14 target 1us tupdate 1ms",
    "pie target 4000s tupdate 1ms",
];

/// Delays from nothing to days, so that steps wrap as well.
fn delay_ns() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0..30 * MS,
        0..300 * MS,
        0..100 * S,
        0..10_000_000 * S,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Of any state, for as long as it takes, with a queue that stays.
    #[test]
    fn updates_at_once_are_those_one_by_one(
        words in 0..WORDS.len(),
        (delay_ns, old_delay_ns) in (delay_ns(), delay_ns()),
        probability in prop_oneof![Just(0u64), any::<u64>(), 0..1u64 << 56, 0..1u64 << 32, 0..5000u64],
        backlog_bytes in prop_oneof![Just(0u64), 1..1_000_000u64],
        departure_rate in prop_oneof![Just(0u32), any::<u32>(), 1..1000u32],
        spans_ms in prop::collection::vec(1..9000u64, 1..4),
    ) {
        let mut jumping = pie(WORDS[words]);
        let is_old = jumping.controller.edition.largest_probability == u64::from(u32::MAX);
        let largest = if is_old { u64::from(u32::MAX) } else { u64::MAX };
        jumping.controller.variables = Variables {
            probability: probability.min(largest),
            delay: delay_ns >> TICK_SHIFT,
            old_delay: old_delay_ns >> TICK_SHIFT,
            departure_rate,
            ..jumping.controller.variables.clone()
        };
        jumping.controller.backlog_bytes = backlog_bytes;
        let mut ticking = jumping.clone();
        let mut now = Time::ZERO;
        for span_ms in spans_ms {
            now += Time::from_ns(span_ms * MS + 1);
            jumping.controller.catch_up(now, &mut Events::default());
            tick_until(&mut ticking, now);
            prop_assert_eq!(&jumping.controller.variables, &ticking.controller.variables);
            prop_assert_eq!(jumping.controller.next_update, ticking.controller.next_update);
        }
    }

    /// A queue that packets come to and leave, with long times between.
    #[test]
    fn a_queue_that_ticks_seldom_is_the_one_that_ticks(
        words in 0..WORDS.len(),
        steps in prop::collection::vec((0..4000u64, 0..40u32, 0..40u32), 1..30),
    ) {
        let mut jumping = pie(WORDS[words]);
        let mut ticking = jumping.clone();
        let (mut now, mut number) = (Time::ZERO, 0);
        for (span_ms, come, leave) in steps {
            now += Time::from_ns(span_ms * MS + 1);
            let events = &mut Events::default();
            tick_until(&mut ticking, now);
            for _ in 0..come {
                number += 1;
                let packet = Packet::new(PacketKind::Udp, 0, number, 986, now);
                let answers = [&mut jumping, &mut ticking].map(|pie| pie.enqueue(packet, now, events));
                prop_assert_eq!(answers[0], answers[1]);
            }
            for _ in 0..leave {
                let left = [&mut jumping, &mut ticking].map(|pie| pie.dequeue(now, events));
                prop_assert_eq!(left[0], left[1]);
                if left[0] == Dequeued::Empty {
                    break;
                }
            }
            jumping.controller.catch_up(now, events);
            prop_assert_eq!(&jumping.controller.variables, &ticking.controller.variables);
        }
    }
}

/// Updates done one after the other in the given number of days without packets.
fn one_by_one(words: &str, delay_ns: u64, backlog_bytes: u64) -> u64 {
    let mut pie = pie(words);
    let events = &mut Events::default();
    pie.controller.variables.delay = delay_ns >> TICK_SHIFT;
    pie.controller.variables.departure_rate = 1000;
    pie.controller.variables.probability = pie.controller.edition.largest_probability / 3;
    pie.controller.backlog_bytes = backlog_bytes;
    pie.controller
        .catch_up(Time::from_ns(200 * 86_400 * S), events);
    assert!(!events.timer_updates.are_too_many(), "{words}");
    events.timer_updates.one_by_one()
}

/// 17 billion updates by a timer of a millisecond.
#[test]
fn a_long_time_takes_few_updates() {
    for words in WORDS {
        for (delay_ns, backlog_bytes) in [
            (0, 0),
            (1, 1500),
            (10 * MS, 15_000),
            (15 * MS + 64, 15_000),
            (260 * MS, 15_000),
            (20 * S, 150_000),
            (12_000 * S, 150_000),
        ] {
            let updates = one_by_one(words, delay_ns, backlog_bytes);
            let where_ = format!("{words}, {delay_ns} ns, {backlog_bytes} bytes");
            assert!(updates <= 3000, "{where_}: {updates}");
        }
    }
}

/// The longest decay that there is: from a probability that has wound up as far as it can.
#[test]
fn the_longest_decay_is_short() {
    let mut pie = pie("pie target 1us tupdate 1ms");
    pie.controller.parameters.alpha = 0;
    pie.controller.variables.probability = u64::MAX;
    let events = &mut Events::default();
    pie.controller.catch_up(Time::from_ns(86_400 * S), events);
    assert_eq!(pie.controller.variables.probability, 63);
    let updates = events.timer_updates.one_by_one();
    assert!((2000..=3000).contains(&updates), "{updates}");
}

/// A probability that wanders among steps that wrap: rather no end than one that nobody lives to see.
#[test]
fn too_many_updates_are_given_up() {
    let mut pie = pie("pie tupdate 1ms");
    let events = &mut Events::default();
    events.timer_updates.give_up();
    let before = pie.controller.variables.clone();
    pie.controller.variables.probability = 5;
    pie.controller.catch_up(Time::from_ns(86_400 * S), events);
    assert_eq!(
        pie.controller.variables,
        Variables {
            probability: 5,
            ..before
        }
    );
    assert!(pie.controller.next_update >= Time::from_ns(86_400 * S));
}
