//! cake by example. `tests/kernel_backend/test_qdisc_agreement.py` and
//! `test_queue_networks.py` hold it against the kernel's.

use super::*;
use dumbbell_core::packet::PacketKind;
use std::collections::HashMap;

/// A queue on Ethernet; conversations have these ends.
fn cake(words: &str, ends: &[(u32, u32)]) -> Cake {
    let text = format!("cake {words}");
    let config = match dumbbell_tc::parse_qdisc(&text) {
        Ok(crate::Config::Cake(config)) => config,
        other => panic!("{text}: {other:?}"),
    };
    let of = |(source, destination): &(u32, u32)| Ends {
        source: *source,
        destination: *destination,
    };
    let setting = Setting {
        ends: ends.iter().map(of).collect(),
        ..Setting::for_tests()
    };
    Cake::build(&config, &setting)
}

fn packet(conversation: u32, bytes: u16, now: Time) -> Packet {
    Packet::new(PacketKind::Udp, conversation, 1, bytes, now)
}

fn with_dscp(mut packet: Packet, dscp: u8) -> Packet {
    packet.traffic_class = dscp << 2;
    packet
}

/// Takes packets until `end`, each replaced by another of its conversation and size; what left, by
/// conversation.
fn kept_full(cake: &mut Cake, waiting: &[Packet], end: Time) -> HashMap<u32, u64> {
    let events = &mut Events::default();
    let mut sent = HashMap::new();
    let mut now = Time::ZERO;
    for each in waiting {
        let _ = cake.enqueue(*each, now, events);
    }
    while now < end {
        match cake.dequeue(now, events) {
            Dequeued::Packet(left) => {
                *sent.entry(left.conversation).or_default() += u64::from(left.bytes);
                let mut next = left;
                next.arrived = now;
                let _ = cake.enqueue(next, now, events);
            }
            Dequeued::NotBefore(at) => now = at,
            Dequeued::Empty => break,
        }
        // Those that COBALT dropped come again, too.
        for (dropped, _) in std::mem::take(&mut events.dropped) {
            let mut next = dropped;
            next.arrived = now;
            let _ = cake.enqueue(next, now, events);
        }
    }
    sent
}

/// The time of a million packets of any size is that of their bytes with the overhead, to the byte: at 80
/// Mbit/s a byte takes 100 ns.
#[test]
fn a_million_packets_take_the_time_of_their_bytes() {
    let with = |bytes: u64, overhead: i64| (bytes as i64 + overhead) as u64;
    type Size = fn(u64) -> u64;
    let cases: [(&str, Size); 6] = [
        ("", |bytes| bytes + 14),
        ("overhead 0", |bytes| bytes),
        ("overhead -4 mpu 84", |bytes| (bytes - 4).max(84)),
        ("ethernet", |bytes| (bytes + 38).max(84)),
        ("pppoe-vcmux", |bytes| (bytes + 32).div_ceil(48) * 53),
        ("pppoe-ptm", |bytes| bytes + 30 + (bytes + 30).div_ceil(64)),
    ];
    assert_eq!(with(10, -4), 6);
    let mut random = Stream::new(1, 0, "sizes");
    let sizes: Vec<u16> = (0..1_000_000)
        .map(|_| 28 + (random.next_u64() % 1473) as u16)
        .collect();
    for (words, counted) in cases {
        let mut cake = cake(
            &format!("bandwidth 80mbit besteffort rtt 1000s {words}"),
            &[],
        );
        let events = &mut Events::default();
        let (mut expected, mut now) = (0, Time::ZERO);
        for bytes in &sizes {
            // The next one waits already when one leaves.
            cake.enqueue(packet(0, *bytes, now), now, events).unwrap();
            expected += counted(u64::from(*bytes));
            if cake.backlog().0 < 2 {
                continue;
            }
            if let Dequeued::NotBefore(at) = cake.dequeue(now, events) {
                now = at;
                assert!(matches!(cake.dequeue(now, events), Dequeued::Packet(_)));
            }
        }
        while let Dequeued::NotBefore(at) = cake.dequeue(now, events) {
            now = at;
            let _ = cake.dequeue(now, events);
        }
        assert!(events.is_empty(), "{words}");
        assert_eq!(cake.next_ns as u64, 100 * expected, "{words}");
    }
}

/// One host with a flow and one with nine, to and from others: equal shares, within a hundredth.
#[test]
fn hosts_have_equal_shares_whatever_flows_they_have() {
    let to_one: Vec<(u32, u32)> = (0..10).map(|flow| (u32::from(flow > 0), 2)).collect();
    let from_one: Vec<(u32, u32)> = to_one
        .iter()
        .map(|(source, other)| (*other, *source))
        .collect();
    let to_own: Vec<(u32, u32)> = (0..10)
        .map(|flow| (u32::from(flow > 0), 2 + flow))
        .collect();
    for (words, ends, first_share) in [
        ("dual-srchost", &to_one, 0.5),
        ("dual-dsthost", &from_one, 0.5),
        ("triple-isolate", &to_own, 0.5),
        ("srchost", &to_one, 0.5),
        ("dsthost", &from_one, 0.5),
        ("flows", &to_one, 0.1),
        ("dual-dsthost", &to_one, 0.1),
    ] {
        let mut cake = cake(&format!("bandwidth 20mbit {words}"), ends);
        let waiting: Vec<Packet> = (0..10 * 40)
            .map(|index| packet(index % 10, 1500, Time::ZERO))
            .collect();
        let sent = kept_full(&mut cake, &waiting, Time::from_ns(20_000_000_000));
        let share = sent[&0] as f64 / sent.values().sum::<u64>() as f64;
        assert!((share / first_share - 1.0).abs() < 0.01, "{words}: {share}");
    }
}

/// A hash alone would put about 40 of 300 flows together with another.
#[test]
fn eight_places_keep_flows_apart() {
    let mut cake = cake("flows besteffort", &[]);
    let events = &mut Events::default();
    for conversation in 0..300 {
        let arriving = packet(conversation, 100, Time::ZERO);
        cake.enqueue(arriving, Time::ZERO, events).unwrap();
    }
    let queues = &cake.tins[0].queues;
    let used = queues
        .iter()
        .filter(|queue| !queue.waiting.is_empty())
        .count();
    assert_eq!(used, 300);
}

#[test]
fn one_queue_holds_all_where_nobody_is_told_apart() {
    for (words, expected) in [
        ("flowblind", 1),
        ("srchost", 2),
        ("dsthost", 3),
        ("hosts", 6),
    ] {
        let ends: Vec<(u32, u32)> = (0..12).map(|flow| (flow % 2, 2 + flow % 3)).collect();
        let mut cake = cake(&format!("besteffort {words}"), &ends);
        let events = &mut Events::default();
        for conversation in 0..12 {
            let arriving = packet(conversation, 100, Time::ZERO);
            cake.enqueue(arriving, Time::ZERO, events).unwrap();
        }
        let queues = &cake.tins[0].queues;
        let used = queues
            .iter()
            .filter(|queue| !queue.waiting.is_empty())
            .count();
        assert_eq!(used, expected, "{words}");
    }
}

/// Voice has a quarter of diffserv3's bandwidth before the others, bulk a sixteenth that nobody takes.
#[test]
fn tins_have_their_shares_when_all_are_full() {
    let mut cake = cake("bandwidth 16mbit diffserv3 rtt 1000s memlimit 100mb", &[]);
    let dscps = [0, 8, 46];
    let waiting: Vec<Packet> = (0..3 * 200)
        .map(|index| {
            with_dscp(
                packet(index % 3, 1486, Time::ZERO),
                dscps[index as usize % 3],
            )
        })
        .collect();
    let sent = kept_full(&mut cake, &waiting, Time::from_ns(10_000_000_000));
    let all: u64 = sent.values().sum();
    let share = |conversation| sent[&conversation] as f64 / all as f64;
    assert!((share(1) - 0.0625).abs() < 0.005, "bulk {}", share(1));
    assert!((share(2) - 0.25).abs() < 0.01, "voice {}", share(2));
}

#[test]
fn without_a_shaper_tins_take_turns_by_their_quanta() {
    let mut cake = cake("unlimited diffserv4 memlimit 100mb rtt 1000s", &[]);
    let events = &mut Events::default();
    let mut sent = [0u32; 4];
    let dscps = [0, 8, 26, 46];
    for conversation in 0..4 {
        for _ in 0..1000 {
            let arriving = packet(conversation, 986, Time::ZERO);
            let arriving = with_dscp(arriving, dscps[conversation as usize]);
            cake.enqueue(arriving, Time::ZERO, events).unwrap();
        }
    }
    for _ in 0..1000 {
        let Dequeued::Packet(left) = cake.dequeue(Time::ZERO, events) else {
            panic!("there are more");
        };
        sent[left.conversation as usize] += 1;
    }
    // 1024, 64, 512 and 256 bytes a round.
    for (sent, quantum) in sent.iter().zip([1024.0, 64.0, 512.0, 256.0]) {
        assert!((f64::from(*sent) - 1000.0 * quantum / 1856.0).abs() < 5.0);
    }
}

#[test]
fn memory_is_taken_from_the_longest_queue() {
    let mut cake = cake("bandwidth 1mbit besteffort flows memlimit 20000", &[]);
    let events = &mut Events::default();
    for number in 1..=20 {
        let mut arriving = packet(0, 1000, Time::ZERO);
        arriving.number = number;
        cake.enqueue(arriving, Time::ZERO, events).unwrap();
    }
    cake.enqueue(packet(1, 100, Time::ZERO), Time::ZERO, events)
        .unwrap();
    assert!(cake.packets.memory_bytes <= 20_000);
    let dropped = &events.dropped;
    assert!(
        dropped
            .iter()
            .all(|(packet, reason)| packet.conversation == 0 && *reason == DropReason::MemoryLimit)
    );
    let numbers: Vec<u32> = dropped.iter().map(|(packet, _)| packet.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    assert_eq!(cake.backlog().0, 21 - numbers.len() as u32);
}

#[test]
fn a_washed_packet_keeps_its_tin_and_its_ecn() {
    let mut cake = cake("wash diffserv3", &[]);
    let mut arriving = packet(0, 100, Time::ZERO);
    arriving.traffic_class = 46 << 2 | 0b10;
    let events = &mut Events::default();
    cake.enqueue(arriving, Time::ZERO, events).unwrap();
    assert!(cake.tins[2].backlog_bytes > 0);
    let Dequeued::Packet(left) = cake.dequeue(Time::ZERO, events) else {
        panic!("it is there");
    };
    assert_eq!(left.traffic_class, 0b10);
}

/// A sender that answers to nothing: BLUE comes in once memory has overflown for longer than the target, and
/// drops what can be marked, too.
#[test]
fn overflows_raise_a_probability_of_drops() {
    let mut cake = cake("bandwidth 1mbit besteffort memlimit 100000", &[]);
    let events = &mut Events::default();
    let mut now = Time::ZERO;
    let mut by_blue = 0;
    for _ in 0..20_000 {
        now += Time::from_ns(1_000_000);
        let mut arriving = packet(0, 1000, now);
        arriving.traffic_class = 0b10;
        let _ = cake.enqueue(arriving, now, events);
        let _ = cake.dequeue(now, events);
        by_blue += events
            .dropped
            .iter()
            .filter(|it| it.1 == DropReason::Blue)
            .count();
        events.clear();
    }
    assert!(by_blue > 50, "{by_blue}");
}

/// What ingress drops has passed the link: less leaves than the bandwidth.
#[test]
fn drops_count_in_the_shaper_of_ingress() {
    let sent = |words: &str| -> u64 {
        let mut cake = cake(&format!("bandwidth 4mbit besteffort rtt 5ms {words}"), &[]);
        let waiting: Vec<Packet> = (0..60).map(|_| packet(0, 1486, Time::ZERO)).collect();
        let sent = kept_full(&mut cake, &waiting, Time::from_ns(20_000_000_000));
        sent.values().sum()
    };
    let (egress, ingress) = (sent("egress"), sent("ingress"));
    assert!(egress > 9_700_000, "{egress}");
    assert!(
        ingress < egress * 97 / 100 && ingress > egress * 64 / 100,
        "{ingress}"
    );
}

/// DRR++: a queue that becomes backlogged sends before those that have been for longer.
#[test]
fn a_new_queue_comes_before_old_ones() {
    let mut cake = cake(
        "bandwidth 100mbit besteffort flows",
        &[(1, 9), (2, 9), (3, 9)],
    );
    let events = &mut Events::default();
    for _ in 0..20 {
        for conversation in [0, 1] {
            let arriving = packet(conversation, 1486, Time::ZERO);
            cake.enqueue(arriving, Time::ZERO, events).unwrap();
        }
    }
    let mut now = Time::ZERO;
    let mut next = |cake: &mut Cake| loop {
        match cake.dequeue(now, &mut Events::default()) {
            Dequeued::Packet(left) => break left.conversation,
            Dequeued::NotBefore(at) => now = at,
            Dequeued::Empty => panic!("there are more"),
        }
    };
    let old: Vec<u32> = (0..6).map(|_| next(&mut cake)).collect();
    assert!(old.contains(&0) && old.contains(&1));
    cake.enqueue(packet(2, 200, Time::ZERO), Time::ZERO, events)
        .unwrap();
    assert_eq!(next(&mut cake), 2);
}

/// A 4096th of the bytes of a second, within its range.
#[test]
fn the_quantum_goes_by_the_rate() {
    for (bandwidth, quantum_bytes) in [
        ("1mbit", 300),
        ("16384kbit", 500),
        ("100mbit", 1514),
        ("unlimited", 1514),
    ] {
        let rate = match bandwidth {
            "unlimited" => "unlimited".to_owned(),
            limited => format!("bandwidth {limited}"),
        };
        let cake = cake(&format!("{rate} besteffort"), &[]);
        let Some(OwnState::Cake(state)) = cake.own_state() else {
            panic!("it says so");
        };
        assert_eq!(state.tins[0].quantum_bytes, quantum_bytes, "{bandwidth}");
    }
}

#[test]
fn gso_packets_come_in_segments_unless_told_otherwise() {
    assert_eq!(cake("", &[]).largest_gso_bytes(), 0);
    assert_eq!(cake("no-split-gso", &[]).largest_gso_bytes(), u32::MAX);
}
