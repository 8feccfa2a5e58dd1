//! RFC 9332 appendix A, packet by packet.

use super::*;
use dumbbell_core::packet::PacketKind;

const MS: u64 = 1_000_000;
const NOT_ECT: u8 = 0b00;
const ECT_1: u8 = 0b01;
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;

fn dualpi2(words: &str) -> Dualpi2 {
    with(words, &Setting::for_tests())
}

fn with(words: &str, setting: &Setting) -> Dualpi2 {
    match dumbbell_tc::parse_qdisc(&format!("dualpi2 {words}")) {
        Ok(dumbbell_tc::Qdisc::Dualpi2(config)) => Dualpi2::build(&config, setting),
        other => panic!("{words}: {other:?}"),
    }
}

/// A packet of 1514 bytes on the wire, which arrived at `at_ns`.
fn packet(number: u32, ecn: u8, at_ns: u64) -> Packet {
    let mut packet = Packet::new(PacketKind::Udp, 0, number, 1500, Time::from_ns(at_ns));
    packet.traffic_class = ecn;
    packet
}

/// Puts packets in at `at_ns`; those refused are not among the events.
fn fill(queue: &mut Dualpi2, ecns: &[u8], at_ns: u64) -> usize {
    let events = &mut Events::default();
    let mut taken = 0;
    for (number, ecn) in ecns.iter().enumerate() {
        let arriving = packet(number as u32, *ecn, at_ns);
        taken += usize::from(
            queue
                .enqueue(arriving, Time::from_ns(at_ns), events)
                .is_ok(),
        );
    }
    taken
}

/// Takes packets out at an instant until none is left.
fn drain(queue: &mut Dualpi2, at_ns: u64, events: &mut Events) -> Vec<Packet> {
    let leaving = || match queue.dequeue(Time::from_ns(at_ns), events) {
        Dequeued::Packet(packet) => Some(packet),
        _ => None,
    };
    std::iter::from_fn(leaving).collect()
}

fn numbers_of_marked(packets: &[Packet]) -> Vec<u32> {
    { packets.iter() }
        .filter(|packet| packet.has_congestion_mark())
        .map(|packet| packet.number)
        .collect()
}

/// Figure 3, lines 5 to 9, and `any_ect`: who waits in L goes first.
#[test]
fn the_ecn_field_chooses_the_queue() {
    for (words, first) in [
        ("", [ECT_1, CE, NOT_ECT, ECT_0]),
        ("any_ect", [ECT_1, ECT_0, CE, NOT_ECT]),
    ] {
        let mut queue = dualpi2(words);
        fill(&mut queue, &[NOT_ECT, ECT_1, ECT_0, CE], 0);
        let left = drain(&mut queue, 0, &mut Events::default());
        let ecns: Vec<u8> = left.iter().map(|packet| packet.traffic_class).collect();
        assert_eq!(ecns, first, "{words}");
    }
}

/// Figures 4 and 6: L is marked with k p', C marked or dropped with p'^2; evenly, so that counts are
/// exact to one packet.
#[test]
fn the_two_signals_are_coupled_by_the_square() {
    for (words, k) in [
        ("", 2.0),
        ("coupling_factor 1", 1.0),
        ("coupling_factor 3", 3.0),
    ] {
        for base in [0.01, 0.1, 0.3] {
            let count = 4000;
            let signalled = |ecn| {
                let mut queue = dualpi2(words);
                fill(&mut queue, &vec![ecn; count], 0);
                queue.pi.set(base);
                let events = &mut Events::default();
                drain(&mut queue, 0, events);
                (events.marked.len() as f64, events.dropped.len() as f64)
            };
            let (l4s, classic) = (k * base * count as f64, base * base * count as f64);
            let near = |found: (f64, f64), marked: f64, dropped: f64| {
                let is_near = (found.0 - marked).abs() < 1.1 && (found.1 - dropped).abs() < 1.1;
                assert!(
                    is_near,
                    "{words} at {base}: {found:?}, not {marked} and {dropped}"
                );
            };
            near(signalled(ECT_1), l4s, 0.0);
            near(signalled(ECT_0), classic, 0.0);
            near(signalled(NOT_ECT), 0.0, classic);
        }
    }
}

/// Figure 4, `recur`: marks are evenly spaced.
#[test]
fn marks_have_equal_gaps() {
    let mut queue = dualpi2("");
    fill(&mut queue, &[ECT_1; 100], 0);
    queue.pi.set(0.125);
    let left = drain(&mut queue, 0, &mut Events::default());
    let marked = numbers_of_marked(&left);
    assert_eq!(marked[0], 4); // figure 4 asks for more than 1
    assert!(
        marked.windows(2).all(|pair| pair[1] - pair[0] == 4),
        "{marked:?}"
    );
}

/// As Linux draws them: as many of 4000 within four standard deviations, and the gap to the next is
/// geometric, so that a share p of the marked follows at once.
#[test]
fn marks_may_be_drawn() {
    let setting = Setting {
        random_marks: true,
        ..Setting::for_tests()
    };
    let mut queue = with("", &setting);
    fill(&mut queue, &[ECT_1; 4000], 0);
    queue.pi.set(0.125);
    let left = drain(&mut queue, 0, &mut Events::default());
    let marked = numbers_of_marked(&left);
    let at_once = { marked.windows(2) }.filter(|pair| pair[1] == pair[0] + 1);
    let (marks, at_once) = (marked.len() as f64, at_once.count() as f64);
    assert!(
        (marks - 1000.0).abs() < 4.0 * f64::sqrt(4000.0 * 0.25 * 0.75),
        "{marks}"
    );
    assert!(
        (at_once - 250.0).abs() < 4.0 * f64::sqrt(1000.0 * 0.25),
        "{at_once}"
    );
}

/// Figure 7, lines 8b to 8j and 12b: from p' = 1/k on, C drops all it would mark, and L drops with
/// p'^2 and marks the rest.
#[test]
fn overload_drops_in_both_queues_whatever_ecn_says() {
    let (count, base) = (1000, 0.6);
    for ecn in [ECT_1, ECT_0, NOT_ECT] {
        let mut queue = dualpi2("");
        fill(&mut queue, &vec![ecn; count], 0);
        queue.pi.set(base);
        let events = &mut Events::default();
        let left = drain(&mut queue, 0, events);
        let dropped = events.dropped.len() as f64;
        assert!(
            (dropped - base * base * count as f64).abs() <= 2.0,
            "{dropped}"
        );
        assert!(events.dropped.iter().all(|it| it.1 == DropReason::Pi2));
        let marked = left.iter().filter(|it| it.has_congestion_mark()).count();
        let expected = if ecn == ECT_1 { left.len() - 2 } else { 0 };
        assert!(
            marked >= expected && (ecn == ECT_1 || marked == 0),
            "{marked}"
        );
    }
    // One packet less than that, ECN is kept to.
    let mut queue = dualpi2("");
    fill(&mut queue, &[ECT_0; 1000], 0);
    queue.pi.set(0.499);
    let events = &mut Events::default();
    drain(&mut queue, 0, events);
    assert!(events.dropped.is_empty() && events.marked.len() > 240);
}

/// tc-dualpi2(8) `overflow`: the queues grow to the limit, and nothing that can be marked is dropped.
#[test]
fn overflow_drops_at_the_limit_only() {
    let mut queue = dualpi2("overflow limit 50");
    assert_eq!(fill(&mut queue, &[ECT_1; 80], 0), 50);
    queue.pi.update(1000, Some(Time::from_ns(500 * MS)));
    let events = &mut Events::default();
    let left = drain(&mut queue, 0, events);
    assert_eq!((left.len(), events.dropped.len()), (50, 0));
}

/// Figure 5 as a step (appendix A.1, note c), and figure 7's `Th_len`.
#[test]
fn the_step_marks_what_has_waited_longer() {
    let marks = |words: &str, count: usize, waited_ns: u64| {
        let mut queue = dualpi2(words);
        fill(&mut queue, &vec![ECT_1; count], 0);
        let events = &mut Events::default();
        drain(&mut queue, waited_ns, events);
        assert!(
            events
                .marked
                .iter()
                .all(|it| it.1 == DropReason::CeThreshold)
        );
        events.marked.len()
    };
    assert_eq!(marks("", 3, MS), 0);
    assert_eq!(marks("", 3, MS + 1), 3);
    assert_eq!(marks("step_thresh 4ms", 3, 3 * MS), 0);
    assert_eq!(marks("min_qlen_step 1", 1, 2 * MS), 0);
    assert_eq!(marks("min_qlen_step 1", 3, 2 * MS), 2);
    assert_eq!(marks("step_thresh 2p", 5, 0), 3);
    // The other queue has none.
    let mut queue = dualpi2("");
    fill(&mut queue, &[ECT_0; 3], 0);
    let events = &mut Events::default();
    drain(&mut queue, 2 * MS, events);
    assert!(events.marked.is_empty());
}

/// Appendix A.1: below 2 MTU no coupled mark and no drop; the step still marks.
#[test]
fn a_short_queue_hears_no_coupled_signal() {
    for ecn in [ECT_1, ECT_0, NOT_ECT] {
        let mut queue = dualpi2("");
        queue.pi.set(0.4);
        let events = &mut Events::default();
        for number in 0..100 {
            let at = Time::from_ns(u64::from(number));
            assert_eq!(queue.enqueue(packet(number, ecn, 0), at, events), Ok(()));
            assert!(matches!(queue.dequeue(at, events), Dequeued::Packet(_)));
        }
        assert!(events.marked.is_empty() && events.dropped.is_empty());
    }
}

/// Section 4.2.2: while both wait C has its share of the bytes and no more; alone, each has all.
#[test]
fn the_scheduler_shares_by_weight() {
    for (percent, of_hundred) in [(10, 10), (25, 25), (50, 50), (0, 0), (100, 100)] {
        let mut queue = dualpi2(&format!("classic_protection {percent}"));
        fill(&mut queue, &[[ECT_1; 400], [ECT_0; 400]].concat(), 0);
        let left = (0..300).map(
            |_| match queue.dequeue(Time::ZERO, &mut Events::default()) {
                Dequeued::Packet(packet) => usize::from(packet.traffic_class == ECT_0),
                other => panic!("{other:?}"),
            },
        );
        let classic = left.skip(100).sum::<usize>();
        assert!(
            classic.abs_diff(2 * of_hundred) <= 1,
            "{percent}: {classic} of 200"
        );
    }
}

/// Appendix A.1: packets of L that find no other queue cost it no credit.
#[test]
fn credit_moves_only_while_both_wait() {
    let mut queue = dualpi2("");
    fill(&mut queue, &[ECT_1; 200], 0);
    for _ in 0..199 {
        let left = queue.dequeue(Time::ZERO, &mut Events::default());
        assert!(matches!(left, Dequeued::Packet(_)));
    }
    fill(&mut queue, &[ECT_0, ECT_1], 0);
    let left = drain(&mut queue, 0, &mut Events::default());
    let ecns: Vec<u8> = left.iter().map(|packet| packet.traffic_class).collect();
    assert_eq!(ecns, [ECT_1, ECT_1, ECT_0]);
}

/// Figure 8, line 2a: the delay is that of the packet that has waited longest in either queue.
#[test]
fn the_greater_delay_drives_the_probability() {
    for ecn in [ECT_1, NOT_ECT] {
        let mut queue = dualpi2("target 10ms tupdate 10ms alpha 0.25 beta 3.5");
        fill(&mut queue, &[ecn; 3], 5 * MS);
        // Updates at 10, 20, 30 ms find 5, 15 and 25 ms.
        queue.catch_up(Time::from_ns(31 * MS));
        let expected = {
            let at_first = (0.25 * -0.005 + 3.5 * 0.005f64).max(0.0);
            at_first + 0.25 * 0.005 + 3.5 * 0.010 + 0.25 * 0.015 + 3.5 * 0.010
        };
        assert!((queue.statistics().drop_probability - expected).abs() < 1e-9);
        assert_eq!(
            queue.statistics().delay_estimate,
            Some(Time::from_ns(25 * MS))
        );
    }
}

/// tc-dualpi2(8) `limit` and `memlimit`: one for both queues.
#[test]
fn both_queues_share_the_limits() {
    let mixed = [ECT_1, NOT_ECT, ECT_1, ECT_0, ECT_1, CE];
    assert_eq!(fill(&mut dualpi2("limit 4"), &mixed, 0), 4);
    // 2304 bytes of memory each.
    assert_eq!(fill(&mut dualpi2("memlimit 6912"), &mixed, 0), 3);
    let mut queue = dualpi2("limit 4");
    queue.set_held(Held {
        packets: 1,
        bytes: 1514,
    });
    assert_eq!(fill(&mut queue, &mixed, 0), 3);
}

/// tc-dualpi2(8) `drop_enqueue`: the same signals as packets come, and none of them as they leave.
#[test]
fn signals_may_be_given_at_enqueue() {
    let mut queue = dualpi2("drop_enqueue");
    queue.pi.set(0.3);
    let taken = fill(&mut queue, &[NOT_ECT; 1000], 0);
    // The first two find less than two frames.
    assert!((998.0 * 0.91 + 2.0 - taken as f64).abs() <= 1.0, "{taken}");
    let events = &mut Events::default();
    assert_eq!(drain(&mut queue, 0, events).len(), taken);
    assert!(events.dropped.is_empty());
    let refused = (0..20).find_map(|_| {
        fill(&mut queue, &[NOT_ECT; 3], 0);
        queue
            .enqueue(packet(1, NOT_ECT, 0), Time::ZERO, events)
            .err()
    });
    assert_eq!(refused, Some(DropReason::Pi2AtEnqueue));
}

#[test]
fn gso_packets_come_in_segments_unless_told_otherwise() {
    assert_eq!(dualpi2("").largest_gso_bytes(), 0);
    assert_eq!(dualpi2("no_split_gso").largest_gso_bytes(), u32::MAX);
}
