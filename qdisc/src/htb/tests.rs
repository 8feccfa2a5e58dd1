//! Rates, borrowing, priorities and turns, by closed forms.

use super::*;
use crate::Qdisc;
use dumbbell_core::packet::PacketKind;
use dumbbell_tc::parse_qdisc;

const S: u64 = 1_000_000_000;

/// Two leaves of 2 and 1 Mbit/s below 4, by the first two code points.
const TREE: &str = "\
    root handle 1: htb default 20\n\
    class add parent 1: classid 1:1 htb rate 4mbit burst 2kb cburst 2kb\n\
    class add parent 1:1 classid 1:10 htb rate 2mbit ceil 4mbit burst 2kb cburst 2kb quantum 1000\n\
    class add parent 1:1 classid 1:20 htb rate 1mbit ceil 4mbit burst 2kb cburst 2kb quantum 1000\n\
    filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10\n";

fn queue(text: &str) -> Qdisc {
    Qdisc::new(&parse_qdisc(text).unwrap(), &Setting::for_tests())
}

fn packet(tos: u8, wire_bytes: u16) -> Packet {
    let mut packet = Packet::new(PacketKind::Udp, 0, 1, wire_bytes - 14, Time::ZERO);
    packet.traffic_class = tos;
    packet
}

/// Bytes by TOS that leave in the second half of two seconds, when queues of these (TOS, bytes of
/// a packet) are never empty.
fn shares(text: &str, kinds: &[(u8, u16)]) -> Vec<u64> {
    let mut queue = queue(text);
    let events = &mut Events::default();
    let mut sent = vec![0; kinds.len()];
    for (tos, bytes) in kinds {
        for _ in 0..20 {
            let taken = queue.enqueue(packet(*tos, *bytes), Time::ZERO, events);
            assert_eq!(taken, Ok(()));
        }
    }
    let mut now = Time::ZERO;
    while now < Time::from_ns(2 * S) {
        match queue.dequeue(now, events) {
            Dequeued::Packet(left) => {
                let which = { kinds.iter() }
                    .position(|(tos, _)| *tos == left.traffic_class)
                    .unwrap();
                if now >= Time::from_ns(S) {
                    sent[which] += u64::from(left.wire_bytes(14));
                }
                assert_eq!(queue.enqueue(left, now, events), Ok(()));
            }
            Dequeued::NotBefore(later) => {
                assert!(later > now);
                now = later;
            }
            Dequeued::Empty => panic!("it is never empty"),
        }
    }
    sent
}

fn near(bytes: u64, bps: u64) -> bool {
    (bytes * 8).abs_diff(bps) <= bps / 100
}

#[test]
fn each_has_its_rate_and_together_they_have_the_parents() {
    // How the rest is shared is the kernel's affair: `tests/kernel_backend` compares.
    for kinds in [[(0x10, 1000), (0x00, 1000)], [(0x10, 500), (0x00, 1500)]] {
        let found = shares(TREE, &kinds);
        assert!(near(found.iter().sum(), 4_000_000), "{found:?}");
        assert!(
            found[0] * 8 >= 2_000_000 && found[1] * 8 >= 1_000_000,
            "{found:?}"
        );
    }
}

#[test]
fn turns_are_of_quantum_bytes_not_of_packets() {
    // Without rates to speak of all is borrowed: shares are as the quanta, if those are longer
    // than a packet.
    let tree = TREE
        .replace("rate 2mbit", "rate 8kbit")
        .replace("rate 1mbit", "rate 8kbit")
        .replace("quantum 1000", "quantum 3000");
    let found = shares(&tree, &[(0x10, 500), (0x00, 1500)]);
    assert!(found[0].abs_diff(found[1]) <= 9000, "{found:?}");
    let tree = tree.replacen("quantum 3000", "quantum 9000", 1);
    let found = shares(&tree, &[(0x10, 500), (0x00, 1500)]);
    assert!(found[0].abs_diff(3 * found[1]) <= 27_000, "{found:?}");
}

#[test]
fn a_class_alone_has_its_ceiling_and_no_more() {
    assert!(near(shares(TREE, &[(0x00, 1000)])[0], 4_000_000));
    let tree = TREE.replace("rate 1mbit ceil 4mbit", "rate 1mbit ceil 3mbit");
    assert!(near(shares(&tree, &[(0x00, 1000)])[0], 3_000_000));
}

#[test]
fn a_lower_prio_borrows_first() {
    let tree = TREE.replacen("quantum 1000\nfilter", "quantum 1000 prio 1\nfilter", 1);
    let found = shares(&tree, &[(0x10, 1000), (0x00, 1000)]);
    assert!(
        near(found[0], 3_000_000) && near(found[1], 1_000_000),
        "{found:?}"
    );
}

#[test]
fn a_transmitter_is_a_burst_of_one_byte() {
    // As the shaper of a link: no credit, whatever the sizes. 8000 ns a byte, and a byte of
    // tokens at the start.
    let mut queue = queue(
        "root handle 1: htb default 1; \
         class add parent 1: classid 1:1 htb rate 1mbit burst 1b cburst 1b quantum 65535",
    );
    let events = &mut Events::default();
    let sizes = [1000, 60, 60, 500, 1514];
    for bytes in sizes {
        assert_eq!(queue.enqueue(packet(0, bytes), Time::ZERO, events), Ok(()));
    }
    let (mut now, mut departures) = (Time::ZERO, Vec::new());
    loop {
        match queue.dequeue(now, events) {
            Dequeued::Packet(_) => departures.push(now.as_ns()),
            Dequeued::NotBefore(later) => now = later,
            Dequeued::Empty => break,
        }
    }
    let mut expected = vec![0];
    for bytes in &sizes[..4] {
        expected.push(expected.last().unwrap() + u64::from(*bytes) * 8000);
    }
    expected[1..].iter_mut().for_each(|at| *at -= 8000);
    assert_eq!(departures, expected);
}

#[test]
fn without_a_class_packets_pass_unshaped_and_first() {
    let mut queue = queue(&TREE.replace("default 20", "default 99 direct_qlen 1"));
    let events = &mut Events::default();
    for tos in [0x10, 0x10, 0x00] {
        assert_eq!(queue.enqueue(packet(tos, 1000), Time::ZERO, events), Ok(()));
    }
    let second = queue.enqueue(packet(0x00, 1000), Time::ZERO, events);
    assert_eq!(second, Err(DropReason::Overlimit));
    assert_eq!(queue.backlog(), (3, 3000));
    let first = queue.dequeue(Time::ZERO, events);
    assert_eq!(first, Dequeued::Packet(packet(0x00, 1000)));
}
