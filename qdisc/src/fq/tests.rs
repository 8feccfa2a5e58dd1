//! Turns, times and limits, each by hand.

use super::*;
use dumbbell_tc::parse_qdisc;

const MS: u64 = 1_000_000;
const US: u64 = 1000;

fn queue(words: &str) -> Fq {
    let Config::Fq(config) = parse_qdisc(&format!("fq {words}")).unwrap() else {
        panic!("{words}");
    };
    Fq::build(&config, &Setting::for_tests())
}

fn at(ns: u64) -> Time {
    Time::from_ns(ns)
}

/// 1014 bytes on the wire, made when it comes.
fn udp(flow: u32, number: u32, now: Time) -> Packet {
    Packet::new(PacketKind::Udp, flow, number, 1000, now)
}

/// The same of TCP, which may leave at `leaves`.
fn tcp(flow: u32, number: u32, leaves: Time) -> Packet {
    Packet::new(PacketKind::Tcp, flow, number, 1000, leaves)
}

fn take(queue: &mut Fq, packet: Packet, now: Time) -> Result<(), DropReason> {
    queue.enqueue(packet, now, &mut Events::default())
}

/// (flow, number) of what leaves until it has nothing, or waits, and until when.
fn leaving(queue: &mut Fq, now: Time) -> (Vec<(u32, u32)>, Option<Time>) {
    let mut left = Vec::new();
    loop {
        match queue.dequeue(now, &mut Events::default()) {
            Dequeued::Packet(packet) => left.push((packet.conversation, packet.number)),
            Dequeued::NotBefore(later) => return (left, Some(later)),
            Dequeued::Empty => return (left, None),
        }
    }
}

#[test]
fn a_packet_waits_for_its_time_and_ten_microseconds_of_the_timer() {
    let mut queue = queue("");
    for number in 0..3 {
        let leaves = at(u64::from(number) * MS);
        assert_eq!(take(&mut queue, tcp(0, number, leaves), Time::ZERO), Ok(()));
    }
    let late = at(MS + 10 * US);
    assert_eq!(leaving(&mut queue, Time::ZERO), (vec![(0, 0)], Some(late)));
    // Asked before, as when another packet comes, it lets go what may.
    assert_eq!(leaving(&mut queue, at(MS - 1)), (vec![], Some(late)));
    let next = Some(at(2 * MS + 10 * US));
    assert_eq!(leaving(&mut queue, at(MS)), (vec![(0, 1)], next));
    assert_eq!(leaving(&mut queue, at(2 * MS)), (vec![(0, 2)], None));
}

#[test]
fn one_timer_serves_what_is_due_within_its_slack() {
    let mut queue = queue("");
    assert_eq!(take(&mut queue, tcp(0, 0, at(MS)), Time::ZERO), Ok(()));
    assert_eq!(leaving(&mut queue, Time::ZERO).1, Some(at(MS + 10 * US)));
    // Due 3 us before: the timer stays as it is set. 20 us before: it does not.
    assert_eq!(
        take(&mut queue, tcp(1, 0, at(MS - 3 * US)), Time::ZERO),
        Ok(())
    );
    assert_eq!(leaving(&mut queue, Time::ZERO).1, Some(at(MS + 10 * US)));
    assert_eq!(
        take(&mut queue, tcp(2, 0, at(MS - 20 * US)), Time::ZERO),
        Ok(())
    );
    assert_eq!(leaving(&mut queue, Time::ZERO).1, Some(at(MS - 10 * US)));
    let both = leaving(&mut queue, at(MS - 3 * US)).0;
    assert_eq!(both, [(2, 0), (1, 0)]);
}

#[test]
fn packets_of_a_flow_leave_in_the_order_of_their_times() {
    let mut queue = queue("timer_slack 0us");
    for (number, leaves) in [(0, 5), (1, 9), (2, 7), (3, 9), (4, 5)] {
        let packet = tcp(0, number, at(leaves * MS));
        assert_eq!(take(&mut queue, packet, Time::ZERO), Ok(()));
    }
    let (left, _) = leaving(&mut queue, at(10 * MS));
    let numbers: Vec<u32> = left.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [0, 4, 2, 1, 3]);
}

#[test]
fn what_was_made_before_it_came_has_no_time() {
    let mut queue = queue("");
    let now = at(5 * MS);
    assert_eq!(take(&mut queue, tcp(0, 0, at(MS)), now), Ok(()));
    assert_eq!(take(&mut queue, udp(1, 0, now), now), Ok(()));
    assert_eq!(leaving(&mut queue, now), (vec![(0, 0), (1, 0)], None));
}

#[test]
fn flows_have_turns_of_a_quantum_and_new_ones_ten_frames_first() {
    let mut queue = queue("quantum 2028 initial_quantum 4056");
    for number in 0..7 {
        for flow in 0..2 {
            assert_eq!(
                take(&mut queue, udp(flow, number, Time::ZERO), Time::ZERO),
                Ok(())
            );
        }
    }
    let (left, _) = leaving(&mut queue, Time::ZERO);
    let flows: Vec<u32> = left.iter().map(|(flow, _)| *flow).collect();
    // Four packets each of the first credit, then two in turn.
    assert_eq!(flows, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1]);
    // The one that sent last is not away yet. A third flow is new, and goes first.
    assert_eq!(take(&mut queue, udp(1, 7, Time::ZERO), Time::ZERO), Ok(()));
    assert_eq!(take(&mut queue, udp(2, 0, Time::ZERO), Time::ZERO), Ok(()));
    assert_eq!(leaving(&mut queue, Time::ZERO).0, [(2, 0), (1, 7)]);
}

#[test]
fn limits_refuse_what_comes() {
    let mut queue = queue("limit 5 flow_limit 3");
    let answers: Vec<_> = [0, 0, 0, 0, 1, 1, 1]
        .map(|flow| take(&mut queue, udp(flow, 0, Time::ZERO), Time::ZERO))
        .into();
    let (taken, flow) = (Ok(()), Err(DropReason::FlowLimit));
    let all = Err(DropReason::Overlimit);
    assert_eq!(answers, [taken, taken, taken, flow, taken, taken, all]);
    assert_eq!(queue.backlog(), (5, 5 * 1014));
}

#[test]
fn what_may_leave_only_beyond_the_horizon_is_dropped_or_leaves_there() {
    let far = tcp(0, 0, at(30 * MS));
    let refused = take(&mut queue("horizon 20ms"), far, at(MS));
    assert_eq!(refused, Err(DropReason::Overlimit));
    let mut capped = queue("horizon 20ms horizon_cap timer_slack 0us");
    assert_eq!(take(&mut capped, far, at(MS)), Ok(()));
    assert_eq!(leaving(&mut capped, at(MS)), (vec![], Some(at(21 * MS))));
}

/// 8112 bit/s: one packet a second; the largest span. Without a time the credit goes first.
#[test]
fn a_rate_spaces_a_flow() {
    let leaves = |words: &str, packet: fn(u32, u32, Time) -> Packet| {
        let mut queue = queue(&format!("timer_slack 0us initial_quantum 1014 {words}"));
        for number in 0..3 {
            let made = packet(0, number, Time::ZERO);
            assert_eq!(take(&mut queue, made, Time::ZERO), Ok(()));
        }
        leaving(&mut queue, Time::ZERO)
    };
    let (left, next) = leaves("maxrate 811200bit", tcp);
    assert_eq!((left.len(), next), (1, Some(at(10 * MS))));
    // A quantum of two frames at once, and spaced as such.
    let (left, next) = leaves("maxrate 811200bit quantum 2028", udp);
    assert_eq!((left.len(), next), (1, Some(at(20 * MS))));
    // At a low rate one by one.
    let (left, next) = leaves("maxrate 811200bit low_rate_threshold 1mbit", udp);
    assert_eq!((left.len(), next), (1, Some(at(10 * MS))));
    let (left, next) = leaves("maxrate 80bit", tcp);
    assert_eq!((left.len(), next), (1, Some(at(1000 * MS))));
    assert_eq!(
        leaves("maxrate 8112bit nopacing", tcp),
        (vec![(0, 0), (0, 1), (0, 2)], None)
    );
}

/// Half of what it is late is made up for.
#[test]
fn a_flow_that_is_late_may_catch_up_by_half_a_packet() {
    let mut queue = queue("timer_slack 0us maxrate 811200bit");
    for number in 0..4 {
        assert_eq!(
            take(&mut queue, tcp(0, number, Time::ZERO), Time::ZERO),
            Ok(())
        );
    }
    assert_eq!(leaving(&mut queue, Time::ZERO).1, Some(at(10 * MS)));
    assert_eq!(leaving(&mut queue, at(12 * MS)).1, Some(at(20 * MS)));
    assert_eq!(leaving(&mut queue, at(50 * MS)).1, Some(at(55 * MS)));
}

#[test]
fn what_leaves_much_later_than_it_might_is_marked() {
    let mut queue = queue("ce_threshold 2ms");
    let mut events = Events::default();
    for number in 0..2 {
        let mut packet = tcp(0, number, at(5 * MS));
        packet.traffic_class = 0b10;
        assert_eq!(queue.enqueue(packet, Time::ZERO, &mut events), Ok(()));
    }
    for (now_ms, is_marked) in [(7, false), (8, true)] {
        let Dequeued::Packet(packet) = queue.dequeue(at(now_ms * MS), &mut events) else {
            panic!("nothing at {now_ms} ms");
        };
        assert_eq!(packet.has_congestion_mark(), is_marked);
    }
    assert_eq!(events.marked[0].1, DropReason::CeThreshold);
}

/// 40 ms are 40 ticks, and the tick in which it became empty counts as the odd one.
#[test]
fn a_flow_that_was_away_has_its_quantum_again() {
    for (away_ms, sent) in [(41, 1), (42, 2)] {
        let mut queue = queue("quantum 2028 initial_quantum 1015");
        let mut other = 0;
        let mut both = |queue: &mut Fq, count: u32, now: Time| {
            for number in 0..count {
                assert_eq!(take(queue, udp(0, number, now), now), Ok(()));
                assert_eq!(take(queue, udp(1, other, now), now), Ok(()));
                other += 1;
            }
            let left = leaving(queue, now).0;
            let flows = left.iter().map(|(flow, _)| *flow);
            let first = flows.skip_while(|flow| *flow != 0);
            first.take_while(|flow| *flow == 0).count()
        };
        assert_eq!(both(&mut queue, 1, Time::ZERO), 1);
        // Empty, it is found away when it is asked with another's packet there: that is now.
        assert_eq!(both(&mut queue, 3, at(away_ms * MS)), sent, "{away_ms} ms");
    }
}

#[test]
fn a_sender_is_paced_where_its_packets_come_to_fq() {
    for (text, class, expected) in [
        ("fq", 0, true),
        ("fq nopacing", 0, false),
        ("pfifo", 0, false),
        (
            "root handle 1: tbf rate 1mbit burst 5kb limit 1; parent 1:1 fq",
            0,
            true,
        ),
        ("root handle 1: prio; parent 1:1 fq", 0x10, true),
        ("root handle 1: prio; parent 1:1 fq", 0, false),
    ] {
        let config = parse_qdisc(text).unwrap();
        let header = Header {
            tos: class,
            ..Header::default()
        };
        assert_eq!(paces(&config, &header), expected, "{text} {class}");
    }
}
