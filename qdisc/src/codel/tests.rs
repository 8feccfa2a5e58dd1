//! RFC 8289 by its clauses.

use super::*;
use dumbbell_core::packet::PacketKind;

const MS: u64 = 1_000_000;

/// A packet of 1000 bytes on Ethernet, which arrived at `at_ns`.
fn packet(number: u32, at_ns: u64) -> Packet {
    let mut packet = Packet::new(PacketKind::Udp, 0, number, 986, Time::from_ns(at_ns));
    packet.arrived = Time::from_ns(at_ns);
    packet
}

fn codel(words: &str) -> Codel {
    let dumbbell_tc::Qdisc::Codel(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is codel");
    };
    Codel::build(&config, &Setting::for_tests())
}

/// What a server that takes a packet each `service_ns` sees of a queue that never empties:
/// packets arrive `lead_ns` before they would be served. Returns the instants of drops and of
/// marks, ns.
fn standing_queue(
    queue: &mut Codel,
    service_ns: u64,
    until_ns: u64,
    traffic_class: u8,
) -> (Vec<u64>, Vec<u64>) {
    let (mut dropped, mut marked) = (Vec::new(), Vec::new());
    let events = &mut Events::default();
    let mut number = 0;
    for now_ns in (0..until_ns).step_by(service_ns as usize) {
        // As many come as left and were dropped: 20 packets stand.
        while queue.backlog().0 < 20 {
            number += 1;
            let mut arriving = packet(number, now_ns);
            arriving.traffic_class = traffic_class;
            let taken = queue.enqueue(arriving, Time::from_ns(now_ns), events);
            assert_eq!(taken, Ok(()));
        }
        let left = queue.dequeue(Time::from_ns(now_ns), events);
        assert!(matches!(left, Dequeued::Packet(_)));
        dropped.extend(events.dropped.iter().map(|_| now_ns));
        marked.extend(events.marked.iter().map(|_| now_ns));
        events.clear();
    }
    (dropped, marked)
}

/// Section 5.4: gaps between drops are interval / sqrt(count), count = 1, 2, 3, ...; section
/// 5.3: the first drop comes an interval after the sojourn time first exceeded the target.
#[test]
fn drops_follow_the_control_law() {
    let service_ns = 10_000;
    // 20 packets and 1 ms each would be slow; a short target instead.
    let mut queue = codel("codel target 100us interval 100ms");
    let (dropped, _) = standing_queue(&mut queue, service_ns, 2_000 * MS, 0);
    assert!(dropped.len() > 90, "{}", dropped.len());
    // The target is first exceeded when the queue of 20 packets has been waited for.
    let first_ms = dropped[0] as f64 / MS as f64;
    assert!((100.1..100.5).contains(&first_ms), "{first_ms}");
    for (index, gap) in dropped.windows(2).map(|pair| pair[1] - pair[0]).enumerate() {
        let count = (index + 1) as f64;
        let law_ns = 100.0 * MS as f64 / count.sqrt();
        let error = (gap as f64 - law_ns).abs();
        // A Newton step a drop is behind at first, at 2 by much: see `newton_steps_follow_the_root`.
        let behind = match index + 1 {
            2 => 0.293,
            3..5 => 0.026,
            _ => 0.013,
        };
        // Drops happen when a packet leaves, by a clock of 1024 ns.
        assert!(
            error <= behind * law_ns + 2.0 * service_ns as f64,
            "count {count}: {gap} instead of {law_ns}"
        );
    }
    // Over all, time is the sum of interval / sqrt(k).
    let sum: f64 = (1..dropped.len()).map(|k| 1.0 / (k as f64).sqrt()).sum();
    let span = (dropped[dropped.len() - 1] - dropped[0]) as f64 / (100.0 * MS as f64);
    assert!((span / sum - 1.0).abs() < 0.02, "{span} instead of {sum}");
}

/// The kernel's fixed point beside the exact root. Worst at 2, where the step from 1 gives
/// (3 - 2) / 2 = 1/2 and not 0.707.
#[test]
fn newton_steps_follow_the_root() {
    let mut controller = Controller {
        reciprocal_sqrt: ONE,
        count: 1,
        ..Controller::default()
    };
    let mut found = vec![f64::from(controller.reciprocal_sqrt) / 65536.0];
    while controller.count < 1000 {
        controller.count += 1;
        controller.newton_step();
        found.push(f64::from(controller.reciprocal_sqrt) / 65536.0);
    }
    let exact = |count: usize| 1.0 / (count as f64).sqrt();
    let error = |count: usize| (found[count - 1] / exact(count) - 1.0).abs();
    let worst: Vec<f64> = (1..=1000).map(error).collect();
    insta::assert_debug_snapshot!(
        [1, 2, 3, 4, 5, 10, 100, 1000].map(|count| format!("{count}: {:.4}", worst[count - 1]))
    );
    // By hand: x = 65535/65536; (3 - 2 x^2) x / 2 = 0.500015, 32769 in units of 2^-16.
    assert_eq!(found[1], 32769.0 / 65536.0);
}

/// Section 5.3: with no more than an MTU behind a packet none is dropped, however long it stayed.
#[test]
fn a_queue_of_one_mtu_is_never_dropped_from() {
    for (bytes, is_dropped_from) in [(1500, false), (1501, true)] {
        let mut queue = codel("codel target 1us interval 10us");
        let events = &mut Events::default();
        for number in 0..1000 {
            let now = Time::from_ns(u64::from(number) * MS);
            let mut arriving = packet(number, now.as_ns());
            arriving.bytes = bytes;
            queue.enqueue(arriving, now, events).unwrap();
            // Another waits behind each that leaves, after a millisecond: 1514 bytes, the MTU and
            // its header, exactly; or a byte more.
            if queue.backlog().0 == 2 {
                let left = queue.dequeue(now, events);
                assert!(matches!(left, Dequeued::Packet(_)));
            }
        }
        assert_eq!(!events.is_empty(), is_dropped_from);
    }
}

/// Section 5.5 and 5.6: begun again soon, dropping resumes at the rate it had reached.
#[test]
fn dropping_resumes_where_it_was() {
    let mut queue = codel("codel target 100us interval 10ms");
    let (dropped, _) = standing_queue(&mut queue, 10_000, 500 * MS, 0);
    let reached = queue.controller.count;
    assert_eq!(reached as usize, dropped.len());
    // Empty for a moment: out of dropping state.
    let events = &mut Events::default();
    let now = Time::from_ns(500 * MS);
    while matches!(queue.dequeue(now, events), Dequeued::Packet(_)) {}
    assert!(!queue.controller.is_dropping);
    let last_count = queue.controller.last_count;
    let mut number = 0;
    while !queue.controller.is_dropping {
        number += 1;
        let at_ns = 500 * MS + u64::from(number) * 10_000;
        while queue.backlog().0 < 20 {
            let arriving = packet(number, at_ns);
            queue
                .enqueue(arriving, Time::from_ns(at_ns), events)
                .unwrap();
        }
        queue.dequeue(Time::from_ns(at_ns), events);
    }
    let count = queue.controller.count;
    assert!(count > 1 && last_count > 0);
    assert_eq!(count, reached - last_count, "drops of the last time");
}

/// Section 5.4 with ECN: marked instead of dropped, at the same instants; not capable ones are
/// dropped.
#[test]
fn capable_packets_are_marked_instead() {
    let run = |words: &str, traffic_class| {
        standing_queue(&mut codel(words), 10_000, 1_000 * MS, traffic_class)
    };
    let (dropped, none) = run("codel target 100us ecn", 0);
    assert!(none.is_empty() && dropped.len() > 20);
    let (none, marked) = run("codel target 100us ecn", 0b10);
    assert!(none.is_empty());
    assert_eq!(marked.len(), dropped.len());
    let (dropped_all_the_same, none) = run("codel target 100us noecn", 0b10);
    assert!(none.is_empty());
    assert_eq!(dropped_all_the_same, dropped);
}

/// Linux's `ce_threshold`: by sojourn time alone, with or without `ecn`.
#[test]
fn a_threshold_marks_every_packet_that_stayed_longer() {
    let mut queue = codel("codel ce_threshold 1ms");
    let events = &mut Events::default();
    for (number, stayed_ns) in [MS - 3000, MS + 3000].into_iter().enumerate() {
        let mut arriving = packet(number as u32, 0);
        arriving.traffic_class = 1;
        queue.enqueue(arriving, Time::ZERO, events).unwrap();
        let left = queue.dequeue(Time::from_ns(stayed_ns), events);
        let Dequeued::Packet(left) = left else {
            panic!("a packet leaves");
        };
        assert_eq!(left.has_congestion_mark(), stayed_ns > MS);
    }
    assert_eq!(events.marked.len(), 1);
}

#[test]
fn the_limit_is_in_packets() {
    let mut queue = codel("codel limit 2");
    let events = &mut Events::default();
    let mut enqueue = || queue.enqueue(packet(1, 0), Time::ZERO, events);
    assert_eq!([enqueue(), enqueue()], [Ok(()), Ok(())]);
    assert_eq!(enqueue(), Err(DropReason::Overlimit));
}

/// A queue of 20 packets that stands for half a second, for reading.
#[test]
fn a_standing_queue_as_text() {
    let mut queue = codel("codel target 5ms interval 100ms");
    let (dropped, _) = standing_queue(&mut queue, MS, 800 * MS, 0);
    let lines: Vec<String> = { dropped.iter().enumerate() }
        .map(|(index, at)| format!("drop {:2} at {} ms", index + 1, at / MS))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}
