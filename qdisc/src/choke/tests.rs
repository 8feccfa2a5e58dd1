//! The paper by its clauses.

use super::*;
use dumbbell_core::packet::PacketKind;

fn packet(conversation: u32, number: u32) -> Packet {
    Packet::new(PacketKind::Udp, conversation, number, 986, Time::ZERO)
}

fn choke(words: &str, seed: u64) -> Choke {
    let dumbbell_tc::Qdisc::Choke(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is choke");
    };
    let setting = Setting {
        seed,
        ..Setting::for_tests()
    };
    Choke::build(&config, &setting)
}

/// The average follows at once, so that a test says what it is by how many wait.
const AT_ONCE: &str =
    "choke limit 1000 bandwidth 10mbit min 10 max 400 burst 12 probability 0.0002";

/// Fills a queue with packets of these conversations while the average says nothing.
fn filled(conversations: impl IntoIterator<Item = u32>, seed: u64) -> Choke {
    let mut queue = choke(AT_ONCE, seed);
    for (number, conversation) in (1..).zip(conversations) {
        queue.packets.push_back(Some(packet(conversation, number)));
        queue.count += 1;
        queue.backlog_bytes += 1000;
    }
    queue
}

#[test]
fn up_to_the_lower_threshold_everything_is_taken() {
    let mut queue = choke(AT_ONCE, 1);
    for number in 0..10 {
        let answer = queue.enqueue(packet(0, number), Time::ZERO, &mut Events::default());
        assert_eq!(answer, Ok(()));
    }
    assert_eq!(queue.backlog(), (10, 10_000));
}

/// With a share p of those that wait, a flow's packet meets its like with probability p.
#[test]
fn a_packet_is_dropped_with_one_of_its_flow() {
    let matches = |conversation| {
        let mut matched = 0;
        for seed in 0..400 {
            // Three in four of 100 are of the flow 0.
            let mut queue = filled((0..100).map(|each| u32::from(each % 4 == 0)), seed);
            for _ in 0..200 {
                queue.average.update(100, Time::ZERO);
            }
            assert!(queue.average.is_above_min());
            let events = &mut Events::default();
            match queue.enqueue(packet(conversation, 101), Time::ZERO, events) {
                Err(reason) => {
                    assert_eq!(reason, DropReason::ChokeMatch);
                    let [(dropped, DropReason::ChokeChosen)] = events.dropped[..] else {
                        panic!("one of those that wait: {:?}", events.dropped);
                    };
                    assert_eq!(dropped.conversation, conversation);
                    assert_eq!(queue.backlog(), (99, 99_000));
                    matched += 1;
                }
                Ok(()) => assert_eq!(queue.backlog(), (101, 101_000)),
            }
            assert_eq!(queue.packets().count() as u32, queue.count);
        }
        matched
    };
    // Of 400: four standard deviations of the binomial are 35.
    assert!((265..=335).contains(&matches(0)), "{}", matches(0));
    assert!((65..=135).contains(&matches(1)), "{}", matches(1));
    assert_eq!(matches(2), 0);
}

#[test]
fn above_the_upper_threshold_the_others_are_dropped_or_marked() {
    let arrive = |words: &str, ect: u8| {
        let mut queue = choke(&format!("{AT_ONCE} {words}"), 1);
        queue.packets.push_back(Some(packet(0, 1)));
        queue.count = 1;
        for _ in 0..400 {
            queue.average.update(900, Time::ZERO);
        }
        let mut arriving = packet(1, 2);
        arriving.traffic_class = ect;
        let events = &mut Events::default();
        let answer = queue.enqueue(arriving, Time::ZERO, events);
        (answer, events.marked.len())
    };
    assert_eq!(arrive("", 0b10), (Err(DropReason::RedForced), 0));
    assert_eq!(arrive("ecn", 0b10), (Ok(()), 1));
    assert_eq!(arrive("ecn", 0), (Err(DropReason::RedForced), 0));
}

#[test]
fn holes_are_left_out_and_the_head_stands_for_them() {
    let mut queue = filled([0, 1, 2, 3], 1);
    assert_eq!(queue.take(1), Some(packet(1, 2)));
    assert_eq!(queue.take(2), Some(packet(2, 3)));
    assert_eq!(queue.backlog(), (2, 2000));
    // Half of the places are holes: an eighth of the draws ends at the head for that.
    let draws: Vec<usize> = (0..4000).filter_map(|_| queue.draw()).collect();
    let heads = draws.iter().filter(|place| **place == 0).count();
    assert!(draws.iter().all(|place| [0, 3].contains(place)));
    let expected = 4000.0 * (1.0 / 8.0 + 7.0 / 16.0);
    assert!((heads as f64 - expected).abs() < 130.0, "{heads} of 4000");
    let mut next = || match queue.dequeue(Time::ZERO, &mut Events::default()) {
        Dequeued::Packet(packet) => packet.number,
        _ => 0,
    };
    assert_eq!([next(), next(), next()], [1, 4, 0]);
}

#[test]
fn a_full_queue_refuses() {
    let mut queue = choke("choke limit 12 min 3 max 12 burst 300 bandwidth 10mbit", 1);
    let events = &mut Events::default();
    let answers: Vec<_> = (0..13)
        .map(|flow| queue.enqueue(packet(flow, 1), Time::ZERO, events))
        .collect();
    assert_eq!(answers[12], Err(DropReason::Overlimit), "{answers:?}");
    assert!(answers[..12].iter().all(Result::is_ok), "{answers:?}");
}

/// An arrival that finds n packets moves the average q to q + (n - q) 2^-10: by tc's rule 10 is the least W with
/// (1 - (1 - 2^-W)^burst) 2^W of at least burst + 1 - min.
#[test]
fn the_average_is_of_packets_at_each_arrival() {
    let mut queue = choke(
        "choke limit 1000 bandwidth 10mbit min 50 max 400 burst 300",
        1,
    );
    let events = &mut Events::default();
    let mut arrivals = 0;
    while !queue.average.is_above_min() {
        let _ = queue.enqueue(packet(arrivals, 1), Time::ZERO, events);
        arrivals += 1;
        assert!(arrivals < 1000);
    }
    let (mut average, mut found) = (0.0, 0);
    while average < 50.0 {
        average += (f64::from(found) - average) / 1024.0;
        found += 1;
    }
    assert!(arrivals.abs_diff(found) <= 1, "{arrivals} {found}");
}
