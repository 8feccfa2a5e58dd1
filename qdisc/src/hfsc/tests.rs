use super::*;
use crate::Qdisc;
use dumbbell_core::packet::PacketKind;
use dumbbell_tc::parse_qdisc;

/// A leaf for TOS 0x10 and one for 0x08.
const FILTERS: &str = "filter add parent 1: protocol ip prio 1 u32 match ip tos 0x10 0xff flowid 1:10; \
                       filter add parent 1: protocol ip prio 1 u32 match ip tos 0x08 0xff flowid 1:20";

fn queue(classes: &str) -> Qdisc {
    let text = format!("root handle 1: hfsc default 30; {classes}; {FILTERS}");
    let config = parse_qdisc(&text).unwrap_or_else(|error| panic!("{error}"));
    Qdisc::new(&config, &Setting::for_tests())
}

fn packet(tos: u8, wire_bytes: u32) -> Packet {
    let overhead = Setting::for_tests().overhead_bytes;
    let mut packet = Packet::new(
        PacketKind::Udp,
        0,
        1,
        (wire_bytes - overhead) as u16,
        Time::ZERO,
    );
    packet.traffic_class = tos;
    packet
}

fn add(queue: &mut Qdisc, tos: u8, wire_bytes: u32, now: Time) {
    let answer = queue.enqueue(packet(tos, wire_bytes), now, &mut Events::default());
    assert_eq!(answer, Ok(()));
}

/// Bytes that left of each TOS until an instant, over a transmitter of 10 Mbit/s; what leaves is
/// replaced at once.
fn served(queue: &mut Qdisc, from_ms: u64, until_ms: u64) -> (u64, u64) {
    let events = &mut Events::default();
    let (mut now, end) = (from_ms * 1_000_000, until_ms * 1_000_000);
    let (mut first, mut second) = (0, 0);
    while now < end {
        match queue.dequeue(Time::from_ns(now), events) {
            Dequeued::Packet(packet) => {
                let bytes = packet.wire_bytes(14);
                match packet.traffic_class {
                    0x10 => first += u64::from(bytes),
                    _ => second += u64::from(bytes),
                }
                now += u64::from(bytes) * 800;
                assert_eq!(queue.enqueue(packet, Time::from_ns(now), events), Ok(()));
            }
            Dequeued::NotBefore(later) => {
                assert!(later.as_ns() > now);
                now = later.as_ns();
            }
            Dequeued::Empty => panic!("it has packets"),
        }
    }
    (first, second)
}

fn two_leaves(first: &str, second: &str) -> Qdisc {
    let classes = format!(
        "class add parent 1: classid 1:10 hfsc {first}; class add parent 1: classid 1:20 hfsc {second}"
    );
    let mut queue = queue(&classes);
    for tos in [0x10, 0x08] {
        for _ in 0..2 {
            add(&mut queue, tos, 1000, Time::ZERO);
        }
    }
    queue
}

#[test]
fn link_sharing_goes_by_the_ratio_of_curves() {
    let (first, second) = served(&mut two_leaves("ls m2 3mbit", "ls m2 1mbit"), 0, 4000);
    let all = first + second;
    assert!(
        all.abs_diff(5_000_000) <= 1000,
        "the transmitter is never idle: {all}"
    );
    assert!((first * 4).abs_diff(all * 3) <= 8000, "{first} {second}");
}

#[test]
fn what_is_guaranteed_comes_before_what_is_shared() {
    // tc-hfsc(7), "Corner cases": 8 Mbit/s of 10 whatever link-sharing would give.
    let (first, _) = served(
        &mut two_leaves("ls m2 1mbit rt m2 8mbit", "ls m2 9mbit"),
        0,
        2000,
    );
    assert!(first.abs_diff(2_000_000) <= 4000, "{first}");
}

#[test]
fn an_upper_limit_holds_link_sharing_back() {
    let (first, second) = served(
        &mut two_leaves("ls m2 5mbit ul m2 2mbit", "ls m2 1mbit ul m2 3mbit"),
        0,
        2000,
    );
    assert!(first.abs_diff(500_000) <= 2000, "{first}");
    assert!(second.abs_diff(750_000) <= 2000, "{second}");
}

/// The example of the SIGCOMM paper, in small: a concave curve decouples delay from bandwidth.
#[test]
fn a_steep_first_segment_lets_a_rare_packet_pass_a_greedy_class() {
    for (greedy, curve, most_us) in [
        // 1000 bytes within 1 ms, then 100 kbit/s; a packet may be on its way.
        ("rt m2 2mbit", "rt m1 8mbit d 1ms m2 100kbit", 1_800),
        // At 100 kbit/s alone they are due 80 ms later.
        ("rt m2 9900kbit", "rt m2 100kbit", 81_600),
    ] {
        let mut queue = two_leaves(&format!("ls m2 9900kbit {greedy}"), curve);
        served(&mut queue, 0, 1000);
        // The second has sent what waited; now it is idle for long, and one comes.
        let events = &mut Events::default();
        let mut now = 1_000_000_000;
        let mut left_at = None;
        let mut is_sent = false;
        while now < 3_000_000_000 && left_at.is_none() {
            if now > 2_000_000_000 && !is_sent {
                add(&mut queue, 0x08, 1000, Time::from_ns(now));
                (is_sent, left_at) = (true, None);
            }
            match queue.dequeue(Time::from_ns(now), events) {
                Dequeued::Packet(packet) => {
                    now += u64::from(packet.wire_bytes(14)) * 800;
                    match (packet.traffic_class, is_sent) {
                        (0x08, true) => left_at = Some(now),
                        (0x08, false) => {}
                        _ => add(&mut queue, 0x10, 1000, Time::from_ns(now)),
                    }
                }
                Dequeued::NotBefore(later) => now = later.as_ns(),
                Dequeued::Empty => panic!("the first is greedy"),
            }
        }
        let waited_us = (left_at.expect("it leaves") - 2_000_000_000) / 1000;
        assert!(waited_us <= most_us, "{curve}: {waited_us}");
        assert!(
            most_us < 10_000 || waited_us > 10_000,
            "{curve}: {waited_us}"
        );
    }
}

#[test]
fn excess_goes_to_siblings_first() {
    let classes = "class add parent 1: classid 1:1 hfsc ls m2 5mbit; \
                   class add parent 1: classid 1:2 hfsc ls m2 5mbit; \
                   class add parent 1:1 classid 1:10 hfsc ls m2 1mbit; \
                   class add parent 1:2 classid 1:20 hfsc ls m2 4mbit; \
                   class add parent 1:2 classid 1:30 hfsc ls m2 1mbit";
    let mut queue = queue(classes);
    for tos in [0x10, 0x08, 0x00] {
        for _ in 0..2 {
            add(&mut queue, tos, 1000, Time::ZERO);
        }
    }
    let (first, _) = served(&mut queue, 0, 2000);
    assert!(
        first.abs_diff(1_250_000) <= 2000,
        "half, as its parent has: {first}"
    );
}

#[test]
fn what_no_class_takes_is_dropped() {
    let mut queue = queue("class add parent 1: classid 1:10 hfsc sc rate 1mbit");
    let answer = queue.enqueue(packet(0, 1000), Time::ZERO, &mut Events::default());
    assert_eq!(answer, Err(DropReason::NoClass));
    assert_eq!(queue.backlog(), (0, 0));
}

#[test]
fn umax_and_dmax_are_a_first_rate() {
    for (said, held) in [
        (
            "sc umax 1500 dmax 10ms rate 100kbit",
            "sc m1 1200000bit d 10000us m2 100kbit",
        ),
        (
            "rt umax 100 dmax 100ms rate 1mbit",
            "rt m1 0bit d 99200us m2 1mbit",
        ),
        ("ls rate 1mbit ul m2 2mbit", "ls m2 1mbit ul m2 2mbit"),
    ] {
        let config = |words: &str| {
            parse_qdisc(&format!(
                "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc {words}"
            ))
        };
        assert_eq!(config(said).unwrap(), config(held).unwrap(), "{said}");
    }
}

/// A class that was idle for two seconds gets its share from then on, and nothing for the time before.
#[test]
fn a_class_that_becomes_active_claims_nothing_of_the_past() {
    let classes = "class add parent 1: classid 1:10 hfsc ls m2 5mbit; \
                   class add parent 1: classid 1:20 hfsc ls m2 5mbit";
    let mut queue = queue(classes);
    for _ in 0..2 {
        add(&mut queue, 0x10, 1000, Time::ZERO);
    }
    let alone = served(&mut queue, 0, 2000);
    assert_eq!(alone, (2_500_000, 0));
    for _ in 0..2 {
        add(&mut queue, 0x08, 1000, Time::from_ns(2_000_000_000));
    }
    let (first, second) = served(&mut queue, 2000, 3000);
    assert!(first.abs_diff(625_000) <= 2000, "{first}");
    assert!(second.abs_diff(625_000) <= 2000, "{second}");
}

#[test]
fn a_guarantee_of_an_inner_class_has_no_effect() {
    let classes = "class add parent 1: classid 1:1 hfsc ls m2 5mbit rt m2 9mbit; \
                   class add parent 1:1 classid 1:10 hfsc ls m2 1mbit; \
                   class add parent 1: classid 1:20 hfsc ls m2 5mbit";
    let mut queue = queue(classes);
    for tos in [0x10, 0x08] {
        for _ in 0..2 {
            add(&mut queue, tos, 1000, Time::ZERO);
        }
    }
    let (first, second) = served(&mut queue, 0, 2000);
    assert!(first.abs_diff(second) <= 2000, "{first} {second}");
}

#[test]
fn a_leaf_without_a_discipline_holds_1000_packets() {
    let mut queue = queue("class add parent 1: classid 1:10 hfsc ls m2 5mbit");
    for _ in 0..1000 {
        add(&mut queue, 0x10, 100, Time::ZERO);
    }
    let answer = queue.enqueue(packet(0x10, 100), Time::ZERO, &mut Events::default());
    assert_eq!(answer, Err(DropReason::Overlimit));
}
