//! What packet scripts, whose endpoints have both directions, do not see. The rest of its
//! behaviour is in `packetdrill/scripts`.

use super::*;
use crate::cca::Algorithm;
use dumbbell_spec::Tcp;
use std::sync::Arc;

const START: Time = Time::from_ns(1_000_000_000);

/// A receiver whose handshake is over.
fn opened(tcp: Tcp) -> Receiver {
    let settings = Arc::new(Settings::new(tcp, Algorithm::Reno, 1500, 1000));
    let mut receiver = Receiver::new(&settings);
    let syn = Segment {
        flags: Flags::SYN,
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
