//! What packet scripts, whose endpoints have both directions, do not see. The rest of its
//! behaviour is in `packetdrill/scripts`.

use super::*;
use crate::cca::Algorithm;
use dumbbell_spec::Tcp;
use dumbbell_spec::tcp::Ecn;
use std::sync::Arc;

const START: Time = Time::from_ns(1_000_000_000);

/// A receiver whose handshake is over.
fn opened(tcp: Tcp) -> Receiver {
    opened_for(Algorithm::Reno, tcp)
}

/// The same at the other end of this controller.
fn opened_for(algorithm: Algorithm, tcp: Tcp) -> Receiver {
    let flags = match tcp.ecn {
        Ecn::Switch(false) => Flags::SYN,
        Ecn::Switch(true) => Flags::SYN | Flags::ECE | Flags::CWR,
        Ecn::Word(_) => Flags::SYN | Flags::ACE,
    };
    let settings = Arc::new(Settings::new(tcp, algorithm, 1500, 1000));
    let mut receiver = Receiver::new(&settings);
    let syn = Segment {
        flags,
        ..Segment::default()
    };
    receiver.on_segment(&syn, START);
    let answer = receiver.poll_transmit(START).unwrap();
    assert!(answer.flags.has(Flags::SYN | Flags::ACK));
    receiver.on_segment(&data(1, 0, 1), START);
    assert!(receiver.poll_transmit(START).is_none());
    receiver
}

/// A segment of so much payload that acknowledges what is before `ack`.
fn data(seq: u64, payload_bytes: u32, ack: u64) -> Segment {
    Segment {
        seq,
        payload_bytes,
        ack,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

fn fin(seq: u64) -> Segment {
    Segment {
        flags: Flags::FIN | Flags::ACK,
        ..data(seq, 0, 1)
    }
}

/// RFC 9293 section 3.10.7.4, fifth check.
#[test]
fn what_acknowledges_the_unsent_is_dropped_whole() {
    let mut receiver = opened(Tcp::linux("reno"));
    receiver.on_segment(&data(1, 1000, 2), START);
    assert_eq!(receiver.received_payload_bytes(), 0);
    assert!(receiver.poll_transmit(START).is_none());
    receiver.on_segment(&data(1, 1000, 1), START);
    assert_eq!(receiver.received_payload_bytes(), 1000);
}

/// What is acknowledged at once is, before the application hears of the end and closes.
#[test]
fn an_acknowledgement_that_is_due_goes_before_the_own_fin() {
    let mut receiver = opened(Tcp::linux("reno"));
    receiver.on_segment(&data(1001, 1000, 1), START);
    assert!(receiver.poll_transmit(START).is_some());
    receiver.on_segment(&fin(2001), START);
    assert!(receiver.poll_transmit(START).is_some());
    receiver.on_segment(&data(1, 1000, 1), START);
    let sent: Vec<Segment> = std::iter::from_fn(|| receiver.poll_transmit(START)).collect();
    let fins: Vec<bool> = sent.iter().map(|one| one.flags.has(Flags::FIN)).collect();
    assert_eq!(fins, [false, true]);
    assert!(sent.iter().all(|one| one.ack == 2002));
}

/// One that may wait goes with it.
#[test]
fn the_own_fin_takes_an_acknowledgement_along_that_may_wait() {
    let mut receiver = opened(Tcp::linux("reno"));
    receiver.on_segment(&data(1, 1000, 1), START);
    assert!(receiver.poll_transmit(START).is_some());
    receiver.on_segment(&fin(1001), START);
    let sent = receiver.poll_transmit(START).unwrap();
    assert!(sent.flags.has(Flags::FIN) && sent.ack == 1002);
    assert!(receiver.poll_transmit(START).is_none());
}

fn at(ms: u64) -> Time {
    Time(START.0 + Time::from_ns(1_000_000 * ms).0)
}

fn acknowledgements(receiver: &mut Receiver, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| receiver.poll_transmit(now))
        .map(|one| one.ack)
        .collect()
}

/// A receiver that has no quick acknowledgements left, at 100 ms, and what it expects next.
fn without_quick_acknowledgements(tcp: Tcp) -> (Receiver, u64) {
    let mut receiver = opened(tcp);
    for number in 0..40 {
        receiver.on_segment(&data(1 + 1000 * number, 1000, 1), at(number));
        acknowledgements(&mut receiver, at(number));
        receiver.on_timer(at(number));
        acknowledgements(&mut receiver, at(number));
    }
    (receiver, 40_001)
}

/// The end of a write is acknowledged when it is read, which is behind all segments of its instant.
#[test]
fn linux_reads_once_what_comes_in_an_instant() {
    let pushed = |seq| Segment {
        flags: Flags::ACK | Flags::PSH,
        ..data(seq, 100, 1)
    };
    for (tcp, expected) in [
        (Tcp::linux("reno"), vec![40_301]),
        (
            Tcp {
                delayed_ack: false,
                ..Tcp::linux("reno")
            },
            vec![40_101, 40_201, 40_301],
        ),
    ] {
        let (mut receiver, next) = without_quick_acknowledgements(tcp);
        let now = at(100);
        let mut seen = Vec::new();
        for seq in [next, next + 100, next + 200] {
            receiver.on_segment(&pushed(seq), now);
            seen.extend(acknowledgements(&mut receiver, now));
        }
        if seen.is_empty() {
            assert_eq!(receiver.next_timer(), now);
        }
        receiver.on_timer(now);
        seen.extend(acknowledgements(&mut receiver, now));
        assert_eq!(seen, expected);
        assert!(receiver.next_timer() > now);
    }
}

/// What nobody has to hear of is read before the next thing happens, as of its own instant.
#[test]
fn reading_that_tells_nobody_needs_no_timer() {
    let (mut receiver, next) = without_quick_acknowledgements(Tcp::linux("reno"));
    receiver.on_segment(&data(next, 1000, 1), at(41));
    assert!(receiver.poll_transmit(at(41)).is_none());
    assert!(receiver.next_timer() > at(41));
    assert_eq!(receiver.read, next);
    receiver.on_segment(&data(next + 1000, 1000, 1), at(42));
    assert_eq!(receiver.read, next + 1000);
}

/// RFC 7323 section 5.3, R1.
#[test]
fn data_with_an_old_timestamp_are_dropped_and_answered() {
    let stamped = |seq, value_ms| Segment {
        timestamps: Some(Timestamps {
            value_ms,
            echo_ms: 1,
        }),
        ..data(seq, 1000, 1)
    };
    // Linux lets one millisecond pass.
    for (value_ms, taken) in [(1998, false), (1999, true), (2000, true), (2001, true)] {
        let mut receiver = opened(Tcp::linux("reno"));
        receiver.on_segment(&stamped(1, 2000), START);
        assert!(receiver.poll_transmit(START).is_some());
        receiver.on_segment(&stamped(1001, value_ms), at(1));
        let bytes = if taken { 2000 } else { 1000 };
        assert_eq!(receiver.received_payload_bytes(), bytes);
        let answer = receiver.poll_transmit(at(1)).unwrap();
        assert_eq!(answer.ack, bytes + 1);
        let echo_ms = answer.timestamps.unwrap().echo_ms;
        assert_eq!(echo_ms, value_ms.max(2000));
    }
}

/// What came twice is reported (RFC 2883), also where its timestamp is old.
#[test]
fn an_old_duplicate_is_reported() {
    let mut receiver = opened(Tcp::linux("reno"));
    let stamped = |seq, value_ms| Segment {
        timestamps: Some(Timestamps {
            value_ms,
            echo_ms: 1,
        }),
        ..data(seq, 1000, 1)
    };
    receiver.on_segment(&stamped(1, 2000), START);
    receiver.poll_transmit(START);
    receiver.on_segment(&stamped(1, 1000), at(1));
    let answer = receiver.poll_transmit(at(1)).unwrap();
    let block = SackBlock {
        start: 1,
        end: 1001,
    };
    assert_eq!(answer.sack.as_slice(), [block]);
}

/// A program that writes before it reads reads late: the next time a round trip has not passed when
/// one has by the clock (`tcp_rcv_space_adjust`), a microsecond later it has.
#[test]
fn a_late_reading_moves_the_round_trip_that_is_measured() {
    for (is_late, later_ns, is_measured) in [
        (false, 0, true),
        (true, 0, false),
        (true, 999, false),
        (true, 1000, true),
    ] {
        let stamped = |seq, echo_ms| Segment {
            timestamps: Some(Timestamps {
                value_ms: 1,
                echo_ms,
            }),
            ..data(seq, 1000, 1)
        };
        let mut receiver = opened(Tcp::linux("reno"));
        // A round trip of 40 ms is known, and one has passed.
        receiver.on_segment(&stamped(1, timestamp_ms(at(60))), at(100));
        if is_late {
            receiver.read_late();
        }
        let next = Time(at(140).0 + Time::from_ns(later_ns).0);
        receiver.on_segment(&stamped(1001, timestamp_ms(at(100))), next);
        receiver.on_timer(next);
        // Of the next reading again.
        let before = receiver.window.clone();
        receiver.on_segment(&stamped(2001, timestamp_ms(at(100))), Time(next.0 + 1));
        receiver.on_timer(Time(next.0 + 1));
        assert_eq!(before.has_measured_up_to(2001), is_measured);
    }
}

/// RFC 8257 section 3.2: marks of packets one by one, although acknowledgements are delayed.
#[test]
fn dctcps_receiver_tells_which_packets_were_marked() {
    let tcp = Tcp {
        ecn: Ecn::CLASSIC,
        ..Tcp::rfc("dctcp")
    };
    let mut receiver = opened_for(Algorithm::Dctcp, tcp);
    let marked = |seq, flags| Segment {
        flags: Flags::ACK | flags,
        ..data(seq, 1000, 1)
    };
    let mut acknowledged = |segment: Segment| {
        receiver.on_segment(&segment, START);
        let acks = std::iter::from_fn(|| receiver.poll_transmit(START));
        acks.map(|ack| (ack.ack, ack.flags.has(Flags::ECE)))
            .collect::<Vec<_>>()
    };
    // Delayed; a mark comes: that one first, without, and this one at once.
    assert_eq!(acknowledged(marked(1, Flags::ECT)), []);
    assert_eq!(
        acknowledged(marked(1001, Flags::CE)),
        [(1001, false), (2001, true)]
    );
    // Every second while they are alike. CWR changes nothing: the next ones are marked, too.
    assert_eq!(acknowledged(marked(2001, Flags::CE | Flags::CWR)), []);
    assert_eq!(acknowledged(marked(3001, Flags::CE)), [(4001, true)]);
    assert_eq!(acknowledged(marked(4001, Flags::CE)), []);
    assert_eq!(
        acknowledged(marked(5001, Flags::ECT)),
        [(5001, true), (6001, false)]
    );
    // Nothing waits: this one alone.
    assert_eq!(acknowledged(marked(6001, Flags::CE)), [(7001, true)]);
}

/// RFC 9768 section 3.2.2.5.1: an acknowledgement where marks begin and for every second, with the count of
/// all of them, from 5 on; others are delayed.
#[test]
fn a_receiver_counts_marks() {
    let tcp = Tcp {
        ecn: Ecn::ACCURATE,
        ..Tcp::rfc("reno")
    };
    let mut receiver = opened(tcp);
    let mut acknowledged = |seq, mark| {
        let segment = Segment {
            flags: Flags::ACK | mark,
            ..data(seq, 1000, 1)
        };
        receiver.on_segment(&segment, START);
        let acks = std::iter::from_fn(|| receiver.poll_transmit(START));
        acks.map(|ack| (ack.ack, crate::accurate_ecn::ace_of(ack.flags)))
            .collect::<Vec<_>>()
    };
    assert_eq!(acknowledged(1, Flags::ECT), []);
    assert_eq!(acknowledged(1001, Flags::CE), [(2001, 6)]);
    assert_eq!(acknowledged(2001, Flags::CE), []);
    assert_eq!(acknowledged(3001, Flags::CE), [(4001, 0)]);
    assert_eq!(acknowledged(4001, Flags::CE), []);
    // A CWR of RFC 3168 has no meaning; two segments are acknowledged, of which one was marked.
    assert_eq!(acknowledged(5001, Flags::ECT | Flags::CWR), [(6001, 1)]);
}
