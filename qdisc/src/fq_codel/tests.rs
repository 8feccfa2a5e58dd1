//! RFC 8290 by its clauses.

use super::*;
use crate::flow_queues::{memory_bytes, testing};
use dumbbell_core::packet::PacketKind;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

/// A packet of `bytes` on Ethernet.
fn packet(conversation: u32, number: u32, bytes: u16, at: Time) -> Packet {
    Packet::new(PacketKind::Udp, conversation, number, bytes - 14, at)
}

/// With conversations in queues of their own.
fn fq_codel(words: &str) -> FqCodel {
    keyed(words, 1).with_classifier(Classifier::Given)
}

fn keyed(words: &str, seed: u64) -> FqCodel {
    let dumbbell_tc::Qdisc::FqCodel(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is fq_codel");
    };
    let setting = Setting {
        seed,
        ..Setting::for_tests()
    };
    FqCodel::build(&config, &setting)
}

fn dequeue(queue: &mut FqCodel, now: Time) -> Option<Packet> {
    match queue.dequeue(now, &mut Events::default()) {
        Dequeued::Packet(packet) => Some(packet),
        _ => None,
    }
}

proptest! {
    /// Section 4.2, deficit round robin: between any two queues that always have packets, the
    /// bytes sent differ by no more than a quantum and a packet (Shreedhar and Varghese 1995).
    #[test]
    fn backlogged_flows_get_the_same_bytes(
        sizes in prop::collection::vec(60..1514u16, 2..8),
        quantum in 300..3000u32,
    ) {
        let mut queue = fq_codel(&format!("fq_codel quantum {quantum} target 10s"));
        testing::backlogged_flows_get_the_same_bytes(&mut queue, &sizes, quantum)?;
    }

    /// What comes in, less what is dropped, comes out, in order within each flow; limits hold.
    #[test]
    fn nothing_is_lost_and_no_flow_is_reordered(
        arrivals in prop::collection::vec((0..5u32, 60..1514u16, 0..4u8, 0..3000u64), 1..400),
        limit in 1..40u32,
        memory_kb in 3..100u32,
        batch in 1..10u32,
    ) {
        let words = format!(
            "fq_codel limit {limit} memory_limit {memory_kb}kb drop_batch {batch} target 1ms \
             interval 5ms"
        );
        let mut queue = keyed(&words, 3);
        let events = &mut Events::default();
        let (mut now, mut inside, mut last) = (Time::ZERO, 0u32, [0; 5]);
        for (number, (flow, bytes, ecn, pause_us)) in arrivals.into_iter().enumerate() {
            now += Time::from_ns(pause_us * 1000);
            let mut arriving = packet(flow, number as u32 + 1, bytes, now);
            arriving.traffic_class = ecn;
            inside += u32::from(queue.enqueue(arriving, now, events).is_ok());
            if number % 3 > 0
                && let Dequeued::Packet(left) = queue.dequeue(now, events)
            {
                inside -= 1;
                let before = &mut last[left.conversation as usize];
                prop_assert!(*before < left.number);
                *before = left.number;
            }
            inside -= events.dropped.len() as u32;
            events.clear();
            let bytes: u64 = queue.packets().map(|held| u64::from(held.wire_bytes(14))).sum();
            prop_assert_eq!(queue.backlog(), (inside, bytes));
            prop_assert_eq!(queue.packets().count() as u32, inside);
            prop_assert!(inside <= limit);
            // The limit of memory is not strict: one packet may be larger than those dropped for it.
            let memory: u64 = queue.packets().map(|held| memory_bytes(held.wire_bytes(14))).sum();
            prop_assert_eq!(queue.storage.packets.memory_bytes, memory);
        }
    }
}

/// Section 4.2: a flow that has just begun goes before those that have used their quantum.
#[test]
fn a_new_flow_goes_first_and_then_waits_its_turn() {
    let mut queue = fq_codel("fq_codel quantum 1000");
    let events = &mut Events::default();
    let mut enqueue = |queue: &mut FqCodel, flow, number| {
        let arriving = packet(flow, number, 1000, Time::ZERO);
        queue.enqueue(arriving, Time::ZERO, events).unwrap();
    };
    for number in 1..=4 {
        enqueue(&mut queue, 0, number);
    }
    let next = |queue: &mut FqCodel| {
        dequeue(queue, Time::ZERO).map(|left| (left.conversation, left.number))
    };
    assert_eq!(next(&mut queue), Some((0, 1)));
    enqueue(&mut queue, 1, 1);
    assert_eq!(next(&mut queue), Some((1, 1)));
    // Its quantum is used: it is an old flow now, behind flow 0.
    enqueue(&mut queue, 1, 2);
    assert_eq!(next(&mut queue), Some((0, 2)));
    assert_eq!(next(&mut queue), Some((1, 2)));
    assert_eq!(next(&mut queue), Some((0, 3)));
    assert_eq!(next(&mut queue), Some((0, 4)));
    assert_eq!(next(&mut queue), None);
}

/// Section 4.2: a new flow that empties goes behind the old ones once, so that one that sends
/// just in time is not always new.
#[test]
fn a_new_flow_that_empties_is_an_old_one_for_once() {
    let mut queue = fq_codel("fq_codel quantum 1000");
    let enqueue = |queue: &mut FqCodel, flow, number| {
        let arriving = packet(flow, number, 250, Time::ZERO);
        let taken = queue.enqueue(arriving, Time::ZERO, &mut Events::default());
        taken.unwrap();
    };
    let next = |queue: &mut FqCodel| dequeue(queue, Time::ZERO).unwrap().conversation;
    for number in 1..=20 {
        enqueue(&mut queue, 0, number);
    }
    // Flow 0 has used its first quantum, and has begun with the next, as an old flow.
    assert_eq!([0; 5].map(|_| next(&mut queue)), [0; 5]);
    enqueue(&mut queue, 1, 1);
    assert_eq!(next(&mut queue), 1);
    // Asked again it is empty. What comes to it now waits until the quantum of flow 0 is used.
    assert_eq!(next(&mut queue), 0);
    enqueue(&mut queue, 1, 2);
    assert_eq!([0; 4].map(|_| next(&mut queue)), [0, 0, 1, 0]);
}

/// Section 4.2: one that always sends has no more than its share, however short its packets.
#[test]
fn a_flow_of_short_packets_cannot_starve_the_others() {
    let mut queue = fq_codel("fq_codel quantum 1000");
    let events = &mut Events::default();
    let mut number = 0;
    let mut enqueue = |queue: &mut FqCodel, flow, bytes| {
        number += 1;
        let arriving = packet(flow, number, bytes, Time::ZERO);
        queue.enqueue(arriving, Time::ZERO, events).unwrap();
    };
    for _ in 0..100 {
        enqueue(&mut queue, 0, 1000);
    }
    let mut sent = [0u32; 2];
    for _ in 0..50 {
        enqueue(&mut queue, 1, 500);
        let left = dequeue(&mut queue, Time::ZERO).unwrap();
        sent[left.conversation as usize] += left.wire_bytes(14);
    }
    assert!(sent[0].abs_diff(sent[1]) <= 2000, "{sent:?}");
}

/// Section 4.1: over the limit, the flow with most bytes loses half of them from its head, but
/// at most `drop_batch` packets.
#[test]
fn the_fattest_flow_pays() {
    let run = |batch: u32| {
        let mut queue = fq_codel(&format!("fq_codel limit 20 drop_batch {batch}"));
        let events = &mut Events::default();
        for number in 1..=12 {
            let arriving = packet(0, number, 1000, Time::ZERO);
            queue.enqueue(arriving, Time::ZERO, events).unwrap();
        }
        // More packets, fewer bytes.
        for number in 1..=9 {
            let arriving = packet(1, number, 100, Time::ZERO);
            queue.enqueue(arriving, Time::ZERO, events).unwrap();
        }
        let dropped = events.dropped.iter();
        let dropped = dropped.map(|(packet, reason)| (packet.conversation, packet.number, *reason));
        dropped.collect::<Vec<_>>()
    };
    let heads = |count| {
        (1..=count)
            .map(|n| (0, n, DropReason::FattestFlow))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(64), heads(6));
    assert_eq!(run(4), heads(4));
}

/// The packet that arrives may be the one that is dropped: then it is refused.
#[test]
fn an_arrival_can_be_the_fattest_flow_itself() {
    let mut queue = fq_codel("fq_codel limit 1");
    let events = &mut Events::default();
    let first = packet(0, 1, 100, Time::ZERO);
    queue.enqueue(first, Time::ZERO, events).unwrap();
    let refused = queue.enqueue(packet(1, 1, 1000, Time::ZERO), Time::ZERO, events);
    assert_eq!(refused, Err(DropReason::FattestFlow));
    assert!(events.is_empty());
    assert_eq!(dequeue(&mut queue, Time::ZERO), Some(first));
    assert_eq!(dequeue(&mut queue, Time::ZERO), None);
}

/// 2304 bytes of memory a frame of 1514: the tenth does not fit 22 kB.
#[test]
fn memory_is_limited() {
    assert_eq!(memory_bytes(1514), 2304);
    let mut queue = fq_codel("fq_codel memory_limit 22kb drop_batch 1");
    let events = &mut Events::default();
    for number in 1..=10 {
        let arriving = packet(0, number, 1514, Time::ZERO);
        queue.enqueue(arriving, Time::ZERO, events).unwrap();
    }
    let reasons: Vec<_> = events.dropped.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [DropReason::MemoryLimit]);
}

/// The quantum is the interface's MTU and header unless given; both directions of a conversation
/// are flows; the key decides who shares a queue, and is another in another replication.
#[test]
fn flows_are_hashed_with_a_key() {
    assert_eq!(fq_codel("fq_codel").quantum_bytes, 1514);
    let apart = std::cell::Cell::new(0);
    let places = |seed| {
        let queue = keyed("fq_codel", seed);
        let place = |conversation| {
            let there = packet(conversation, 1, 100, Time::ZERO);
            let of = |packet: &Packet| queue.classifier.queue_of(packet, 1024);
            apart.set(apart.get() + u32::from(of(&there) != of(&there.into_reply())));
            of(&there)
        };
        (0..300).map(place).collect::<Vec<_>>()
    };
    assert_ne!(places(1), places(2));
    assert!(
        apart.get() > 590,
        "directions are flows of their own: {}",
        apart.get()
    );
    // 300 flows among 1024 queues: 1024 (1 - (1 - 1/1024)^300) = 260 are taken, give or take 5.
    let mut taken = places(1);
    taken.sort_unstable();
    taken.dedup();
    assert!((245..=275).contains(&taken.len()), "{}", taken.len());
}

/// Two greedy flows and one that sends a packet every 10 ms, at 8 Mbit/s, for reading.
#[test]
fn a_sparse_flow_beside_two_greedy_ones_as_text() {
    let mut queue = fq_codel("fq_codel");
    let mut waits = vec![Vec::new(); 3];
    let mut dropped = [0; 3];
    for ms in 0..2000u64 {
        let now = Time::from_ns(ms * MS);
        let events = &mut Events::default();
        for flow in 0..3u32 {
            if flow < 2 || ms % 10 == 5 {
                let arriving = packet(flow, ms as u32, 1000, now);
                queue.enqueue(arriving, now, events).unwrap();
            }
        }
        if let Dequeued::Packet(left) = queue.dequeue(now, events) {
            let wait = now.saturating_sub(left.arrived);
            waits[left.conversation as usize].push(wait.as_ns() / MS);
        }
        for (packet, _) in &events.dropped {
            dropped[packet.conversation as usize] += 1;
        }
    }
    let lines: Vec<String> = { waits.iter().zip(dropped).enumerate() }
        .map(|(flow, (waits, dropped))| {
            let most = waits.iter().max().unwrap();
            format!(
                "flow {flow}: {} sent, {dropped} dropped, waited up to {most} ms",
                waits.len()
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Linux's `ce_threshold_selector`: of packets that stayed too long only those of ECT(1) are marked.
#[test]
fn a_selector_says_which_packets_the_threshold_marks() {
    let mut queue = fq_codel("fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3");
    let events = &mut Events::default();
    for (conversation, traffic_class) in [(0, 0b10), (1, 46 << 2 | 0b01), (2, 0b00)] {
        let mut arriving = packet(conversation, 1, 1000, Time::ZERO);
        arriving.traffic_class = traffic_class;
        assert_eq!(queue.enqueue(arriving, Time::ZERO, events), Ok(()));
    }
    let later = Time::from_ns(2 * MS);
    let left = [0, 1, 2].map(|_| dequeue(&mut queue, later).map(|it| it.traffic_class));
    assert_eq!(left, [Some(0b10), Some(46 << 2 | 0b11), Some(0b00)]);
}
