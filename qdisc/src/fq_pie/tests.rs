//! The rotation of RFC 8290 and the controller of RFC 8033, queue by queue.

use super::*;
use dumbbell_core::packet::PacketKind;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A packet of `bytes` on Ethernet.
fn packet(conversation: u32, number: u32, bytes: u16, at: Time) -> Packet {
    let mut packet = Packet::new(PacketKind::Udp, conversation, number, bytes - 14, at);
    packet.arrived = at;
    packet
}

/// With conversations in queues of their own.
fn fq_pie(words: &str) -> FqPie {
    let dumbbell_tc::Qdisc::FqPie(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is fq_pie");
    };
    FqPie::build(&config, &Setting::for_tests()).with_classifier(Classifier::Given)
}

#[test]
fn a_new_flow_comes_before_old_ones() {
    let mut queue = fq_pie("fq_pie quantum 1000");
    let events = &mut Events::default();
    let mut next = |queue: &mut FqPie| match queue.dequeue(Time::ZERO, events) {
        Dequeued::Packet(packet) => (packet.conversation, packet.number),
        other => panic!("{other:?}"),
    };
    let come = |queue: &mut FqPie, conversation, number| {
        let arriving = packet(conversation, number, 1000, Time::ZERO);
        let answer = queue.enqueue(arriving, Time::ZERO, &mut Events::default());
        assert_eq!(answer, Ok(()));
    };
    for number in 1..=4 {
        come(&mut queue, 0, number);
    }
    assert_eq!(next(&mut queue), (0, 1));
    assert_eq!(next(&mut queue), (0, 2));
    come(&mut queue, 1, 1);
    assert_eq!(next(&mut queue), (1, 1));
    assert_eq!(next(&mut queue), (0, 3));
}

#[test]
fn a_full_queue_drops_what_comes_of_whichever_flow() {
    let mut queue = fq_pie("fq_pie limit 2");
    let events = &mut Events::default();
    let mut come = |conversation| {
        queue.enqueue(
            packet(conversation, 1, 1000, Time::ZERO),
            Time::ZERO,
            events,
        )
    };
    assert_eq!(come(0), Ok(()));
    assert_eq!(come(0), Ok(()));
    assert_eq!(come(1), Err(DropReason::Overlimit));
}

/// What became of a greedy flow beside a sparse one.
struct Fates {
    /// Of the greedy flow and of the other.
    dropped: [u32; 2],
    marked: u32,
    /// The greedy flow's probability at the end, and the least at which a packet was dropped.
    probability: f64,
    least_at_drop: f64,
}

fn beside(words: &str, ect: u8) -> Fates {
    let mut queue = fq_pie(words);
    let mut fates = Fates {
        dropped: [0; 2],
        marked: 0,
        probability: 0.0,
        least_at_drop: f64::INFINITY,
    };
    for ms in 0..4000 {
        let now = Time::from_ns(ms * MS);
        let events = &mut Events::default();
        // One packet a millisecond leaves; two of the greedy flow come, and one in twenty of the other.
        let sparse = (ms % 20 == 0).then_some(1);
        for conversation in [0, 0].into_iter().chain(sparse) {
            let mut arriving = packet(conversation, ms as u32, 1000, now);
            arriving.traffic_class = ect;
            let refused = queue.enqueue(arriving, now, events).is_err();
            fates.probability = queue.flows[0].variables.share();
            fates.dropped[conversation as usize] += u32::from(refused);
            if refused {
                fates.least_at_drop = fates.least_at_drop.min(fates.probability);
            }
        }
        queue.dequeue(now, events);
        fates.marked += events.marked.len() as u32;
    }
    fates
}

#[test]
fn each_flow_has_its_own_probability() {
    let fates = beside("fq_pie", 0);
    assert!(fates.dropped[0] > 500, "{:?}", fates.dropped);
    assert!(fates.probability > 0.1, "{}", fates.probability);
    assert_eq!((fates.dropped[1], fates.marked), (0, 0));
}

#[test]
fn marks_end_where_ecn_prob_does() {
    for percent in [10, 30, 60] {
        let fates = beside(&format!("fq_pie ecn ecn_prob {percent}"), 0b10);
        let share = f64::from(percent) / 100.0;
        assert!(fates.marked > 0, "{percent}");
        // An update adds 2 per cent at most, or 4 where packets wait for long.
        let least = fates.least_at_drop;
        assert!((share..share + 0.05).contains(&least), "{percent}: {least}");
    }
    assert_eq!(beside("fq_pie ecn", 0).marked, 0);
}

proptest! {
    /// Alone in one queue, a flow fares as with pie.
    #[test]
    fn one_flow_fares_as_with_pie(
        steps in prop::collection::vec((0..40u64, 0..30u32, 0..20u32), 1..60),
    ) {
        let words = "target 2ms tupdate 4ms limit 100";
        let mut fair = fq_pie(&format!("fq_pie {words} quantum 1mb"));
        let dumbbell_tc::Qdisc::Pie(config) = dumbbell_tc::parse_qdisc(&format!("pie {words}")).unwrap()
        else {
            panic!("pie");
        };
        let mut plain = crate::pie::Pie::build(&config, &Setting::for_tests());
        // Its key is the first number of the stream.
        plain.draw_for_tests();
        let (mut now, mut number) = (Time::ZERO, 0);
        for (span_ms, come, leave) in steps {
            now += Time::from_ns(span_ms * MS + 1);
            let events = &mut Events::default();
            for _ in 0..come {
                number += 1;
                let arriving = packet(0, number, 1000, now);
                prop_assert_eq!(fair.enqueue(arriving, now, events), plain.enqueue(arriving, now, events));
            }
            for _ in 0..leave {
                prop_assert_eq!(fair.dequeue(now, events), plain.dequeue(now, events));
            }
            prop_assert_eq!(fair.backlog(), plain.backlog());
        }
    }
}

#[test]
fn over_the_limit_of_memory_nothing_is_dropped() {
    let mut queue = fq_pie("fq_pie memory_limit 3000");
    let events = &mut Events::default();
    for number in 1..=100 {
        let arriving = packet(0, number, 1000, Time::ZERO);
        assert_eq!(queue.enqueue(arriving, Time::ZERO, events), Ok(()));
    }
    assert!(events.is_empty());
    assert_eq!(queue.backlog().0, 100);
}

/// Quanta in bytes, whatever the packets' sizes.
#[test]
fn backlogged_flows_get_the_same_bytes() {
    let mut queue = fq_pie("fq_pie quantum 1514");
    let events = &mut Events::default();
    for number in 1..=1500 {
        for (conversation, bytes) in [(0, 300), (1, 1500)] {
            let arriving = packet(conversation, number, bytes, Time::ZERO);
            assert_eq!(queue.enqueue(arriving, Time::ZERO, events), Ok(()));
        }
    }
    let mut left = [0u32; 2];
    for _ in 0..900 {
        let Dequeued::Packet(packet) = queue.dequeue(Time::ZERO, events) else {
            panic!("there are more");
        };
        left[packet.conversation as usize] += packet.wire_bytes(14);
    }
    assert!(left[0].abs_diff(left[1]) <= 2 * 1514, "{left:?}");
}
