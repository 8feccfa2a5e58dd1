//! McKenney's algorithm and Linux's limits, by their clauses.

use super::*;
use crate::flow_queues::testing;
use dumbbell_core::packet::PacketKind;
use proptest::prelude::*;

/// A packet of `bytes` on Ethernet.
fn packet(conversation: u32, number: u32, bytes: u16) -> Packet {
    Packet::new(
        PacketKind::Udp,
        conversation,
        number,
        bytes - 14,
        Time::ZERO,
    )
}

fn keyed(words: &str, seed: u64) -> Sfq {
    let dumbbell_tc::Qdisc::Sfq(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is sfq");
    };
    let setting = Setting {
        seed,
        ..Setting::for_tests()
    };
    Sfq::build(&config, &setting)
}

/// With conversations in queues of their own.
fn sfq(words: &str) -> Sfq {
    keyed(words, 1).with_classifier(Classifier::Given)
}

/// Brings in packets of these conversations, numbered from 1. What was refused and dropped, as conversation
/// and number.
fn enqueue_all(queue: &mut Sfq, conversations: &[u32]) -> Vec<(u32, u32, DropReason)> {
    let mut lost = Vec::new();
    for (number, conversation) in (1..).zip(conversations) {
        let events = &mut Events::default();
        let arriving = packet(*conversation, number, 1000);
        if let Err(reason) = queue.enqueue(arriving, Time::ZERO, events) {
            lost.push((*conversation, number, reason));
        }
        let dropped = events.dropped.iter();
        lost.extend(dropped.map(|(packet, why)| (packet.conversation, packet.number, *why)));
    }
    lost
}

fn dequeue_all(queue: &mut Sfq, now: Time) -> Vec<(u32, u32)> {
    let left = std::iter::from_fn(|| match queue.dequeue(now, &mut Events::default()) {
        Dequeued::Packet(packet) => Some((packet.conversation, packet.number)),
        _ => None,
    });
    left.collect()
}

use DropReason::{FattestFlow, FlowLimit, Overlimit};

#[test]
fn flows_take_turns() {
    let mut queue = sfq("sfq quantum 1000");
    assert_eq!(enqueue_all(&mut queue, &[0, 0, 0, 1, 1, 2]), []);
    let order = [(0, 1), (1, 4), (2, 6), (0, 2), (1, 5), (0, 3)];
    assert_eq!(dequeue_all(&mut queue, Time::ZERO), order);
}

#[test]
fn the_longest_queue_loses_its_newest_packet_or_its_oldest() {
    let arrivals = [0, 0, 0, 1, 1, 2];
    assert_eq!(
        enqueue_all(&mut sfq("sfq limit 5"), &arrivals),
        [(0, 3, FattestFlow)]
    );
    assert_eq!(
        enqueue_all(&mut sfq("sfq limit 5 headdrop"), &arrivals),
        [(0, 1, FattestFlow)]
    );
    // The one that arrives is of the longest queue.
    assert_eq!(
        enqueue_all(&mut sfq("sfq limit 5"), &[1, 1, 0, 0, 0, 0]),
        [(0, 6, Overlimit)]
    );
}

#[test]
fn of_equally_long_queues_the_one_that_became_so_last_loses_it() {
    let mut queue = sfq("sfq limit 4");
    assert_eq!(
        enqueue_all(&mut queue, &[0, 0, 1, 1, 2]),
        [(1, 4, FattestFlow)]
    );
}

#[test]
fn where_each_has_one_packet_the_next_to_leave_is_dropped() {
    // 128 queues, and room for 127 packets.
    let mut queue = sfq("sfq");
    let conversations: Vec<u32> = (0..128).collect();
    assert_eq!(
        enqueue_all(&mut queue, &conversations),
        [(0, 1, FattestFlow)]
    );
    let left: Vec<(u32, u32)> = (1..128).map(|each| (each, each + 1)).collect();
    assert_eq!(dequeue_all(&mut queue, Time::ZERO), left);
}

#[test]
fn a_flow_has_a_depth_and_flows_have_a_number() {
    let mut queue = sfq("sfq depth 2 flows 2");
    assert_eq!(
        enqueue_all(&mut queue, &[0, 0, 0, 1, 2]),
        [(0, 3, FlowLimit), (2, 5, Overlimit)]
    );
    let mut queue = sfq("sfq depth 2 headdrop quantum 1000");
    assert_eq!(
        enqueue_all(&mut queue, &[0, 0, 0, 1]),
        [(0, 1, FattestFlow)]
    );
    assert_eq!(
        dequeue_all(&mut queue, Time::ZERO),
        [(0, 2), (1, 4), (0, 3)]
    );
}

/// Flows that share a queue at first have queues of their own under another key, or the other way round.
#[test]
fn another_key_parts_flows_that_shared_a_queue() {
    let turns = |seed: u64, at_s: u64| {
        let mut queue = keyed("sfq divisor 2 quantum 1000 perturb 10", seed);
        assert_eq!(enqueue_all(&mut queue, &[0, 0, 0, 1, 1, 1]), []);
        let left = dequeue_all(&mut queue, Time::from_ns(at_s * 1_000_000_000));
        for conversation in [0, 1] {
            let own = left.iter().filter(|it| it.0 == conversation).map(|it| it.1);
            assert!(own.is_sorted(), "no flow is reordered: {left:?}");
        }
        assert_eq!(left.len(), 6);
        left[1].0 == 1
    };
    // Whether they are apart, by seed, before and after the tenth second.
    let apart: Vec<[bool; 2]> = (0..40)
        .map(|seed| [turns(seed, 9), turns(seed, 11)])
        .collect();
    for change in [[false, true], [true, false]] {
        let times = apart.iter().filter(|it| **it == change).count();
        assert!((2..20).contains(&times), "a quarter of them: {times} of 40");
    }
}

#[test]
fn what_finds_no_room_under_another_key_is_dropped() {
    let lost = |seed: u64| {
        let mut queue = keyed("sfq divisor 2 depth 2 limit 4 flows 2 perturb 1", seed);
        enqueue_all(&mut queue, &[0, 0, 1, 1]);
        let waiting = queue.backlog().0 as usize;
        let events = &mut Events::default();
        queue.dequeue(Time::from_ns(1_000_000_000), events);
        assert!(events.dropped.iter().all(|it| it.1 == FattestFlow));
        assert_eq!(
            queue.backlog().0 as usize + events.dropped.len() + 1,
            waiting
        );
        events.dropped.len()
    };
    assert!(
        (0..40).any(|seed| lost(seed) == 2),
        "both in a queue of two"
    );
    assert!((0..40).any(|seed| lost(seed) == 0));
}

proptest! {
    /// Deficit round robin: between any two queues that always have packets, the bytes sent differ by no
    /// more than a quantum and a packet (Shreedhar and Varghese 1995).
    #[test]
    fn backlogged_flows_get_the_same_bytes(
        sizes in prop::collection::vec(60..1514u16, 2..8),
        quantum in 300..3000u32,
    ) {
        let mut queue = sfq(&format!("sfq quantum {quantum}"));
        testing::backlogged_flows_get_the_same_bytes(&mut queue, &sizes, quantum)?;
    }

    /// What comes in, less what is dropped, comes out; limits hold.
    #[test]
    fn nothing_is_lost_and_limits_hold(
        arrivals in prop::collection::vec((0..9u32, 60..1514u16, 0..4u8, 0..1500u64), 1..400),
        limit in 2..30u32,
        depth in 8..30u32,
        headdrop in any::<bool>(),
    ) {
        let limit = limit.min(4 * depth);
        let flows = limit.min(4);
        let headdrop = if headdrop { "headdrop" } else { "" };
        let words = format!("sfq limit {limit} depth {depth} flows {flows} perturb 1 {headdrop}");
        let mut queue = keyed(&words, 3);
        let mut now = Time::ZERO;
        let (mut came, mut went) = (0, 0);
        for (number, (conversation, bytes, departures, gap_ms)) in (1..).zip(arrivals) {
            now += Time::from_ns(gap_ms * 1_000_000);
            let events = &mut Events::default();
            let refused = queue.enqueue(packet(conversation, number, bytes), now, events).is_err();
            came += 1;
            for _ in 0..departures {
                went += usize::from(matches!(queue.dequeue(now, events), Dequeued::Packet(_)));
            }
            went += usize::from(refused) + events.dropped.len();
            let waiting: Vec<&Packet> = queue.packets().collect();
            prop_assert_eq!(waiting.len(), came - went);
            prop_assert!(waiting.len() <= limit as usize);
            let bytes: u64 = waiting.iter().map(|packet| u64::from(packet.wire_bytes(14))).sum();
            prop_assert_eq!(queue.backlog(), (waiting.len() as u32, bytes));
            let longest = queue.queues.iter().map(|queue| queue.packets).max();
            prop_assert_eq!(longest, Some(queue.longest as u32));
        }
    }
}

/// With the weight 1/2 the average of packets of 1000 bytes is 0.5, 1.25, 2.1 and 3.1 kB at the second to fifth.
const RED: &str = "sfq quantum 1000 redflowlimit 9000 min 1500 max 3000 burst 2";

use DropReason::RedForced;

#[test]
fn red_drops_packets_of_the_flow_whose_average_is_at_the_maximum() {
    let arrivals = [0, 1, 0, 0, 0, 0, 0, 1];
    assert_eq!(
        enqueue_all(&mut sfq(RED), &arrivals),
        [(0, 6, RedForced), (0, 7, RedForced)]
    );
    let mut queue = sfq(&format!("{RED} headdrop"));
    assert_eq!(
        enqueue_all(&mut queue, &arrivals),
        [(0, 1, RedForced), (0, 3, RedForced)]
    );
    let left = [(0, 4), (1, 2), (0, 5), (1, 8), (0, 6), (0, 7)];
    assert_eq!(dequeue_all(&mut queue, Time::ZERO), left);
    assert_eq!(queue.backlog(), (0, 0));
    // The flow has left, and begins again.
    assert_eq!(enqueue_all(&mut queue, &[0, 0, 0, 0]), []);
}

/// Of a large average, too: its weight is small, so that it would last for some packets.
#[test]
fn a_queue_that_is_empty_forgets_its_average() {
    let mut queue = sfq("sfq depth 127 redflowlimit 90000 min 10000 max 30000 burst 20");
    let lost = enqueue_all(&mut queue, &[0; 400]);
    assert!(lost.len() > 300, "{}", lost.len());
    dequeue_all(&mut queue, Time::ZERO);
    assert_eq!(enqueue_all(&mut queue, &[0; 8]), []);
}

/// Linux counts the bytes before each packet that it puts back: 0, 1000, 2000 and 3000 make 0, 0.5, 1.25 and
/// 2.125 kB.
#[test]
fn under_another_key_the_average_is_that_of_what_waits() {
    let mut queue = sfq(&format!("{RED} probability 0.02 perturb 1"));
    assert_eq!(enqueue_all(&mut queue, &[0; 4]), []);
    queue.dequeue(Time::from_ns(1_000_000_000), &mut Events::default());
    let averages = &queue.red.as_ref().unwrap().averages;
    let probability = averages.iter().map(|each| each.drop_probability());
    let expected = 0.02 * (2125.0 - 1500.0) / (3000.0 - 1500.0);
    assert!((probability.fold(0.0, f64::max) - expected).abs() < 1e-6);
}

#[test]
fn red_marks_the_arriving_packet_or_with_headdrop_the_oldest() {
    let marked = |words: &str| {
        let mut queue = sfq(&format!("{RED} {words}"));
        let events = &mut Events::default();
        let mut refused = Vec::new();
        for number in 1..=6 {
            let mut arriving = packet(0, number, 1000);
            arriving.traffic_class = 2;
            if let Err(reason) = queue.enqueue(arriving, Time::ZERO, events) {
                refused.push((number, reason));
            }
        }
        let marked: Vec<u32> = events
            .marked
            .iter()
            .map(|(packet, _)| packet.number)
            .collect();
        let dropped: Vec<u32> = events
            .dropped
            .iter()
            .map(|(packet, _)| packet.number)
            .collect();
        (marked, refused, dropped)
    };
    assert_eq!(marked("ecn"), (vec![5, 6], vec![], vec![]));
    // The oldest is marked already when the sixth arrives.
    assert_eq!(marked("ecn headdrop"), (vec![1], vec![], vec![]));
    let refused = vec![(5, RedForced), (6, RedForced)];
    assert_eq!(marked("ecn harddrop"), (vec![], refused, vec![]));
    assert_eq!(
        marked("ecn harddrop headdrop"),
        (vec![], vec![], vec![1, 2])
    );
}

/// Floyd and Jacobson, section 7: between the thresholds drops are uniformly 1 to 1 / p packets apart, where p is
/// `probability` times the average's place between them.
#[test]
fn between_the_thresholds_drops_are_as_frequent_as_the_probability_says() {
    let mut queue =
        sfq("sfq depth 127 redflowlimit 90000 min 10000 max 30000 burst 20 probability 0.2");
    let mut lost = 0;
    const ARRIVALS: u32 = 40_000;
    // The backlog stays at 20 packets, in the middle.
    for number in 1..=ARRIVALS {
        let events = &mut Events::default();
        lost += u32::from(
            queue
                .enqueue(packet(0, number, 1000), Time::ZERO, events)
                .is_err(),
        );
        while queue.backlog().0 > 20 {
            queue.dequeue(Time::ZERO, events);
        }
    }
    // 2 p / (1 + p), with p = 0.1.
    let share = f64::from(lost) / f64::from(ARRIVALS);
    assert!((share - 0.1818).abs() < 0.01, "{share}");
}
