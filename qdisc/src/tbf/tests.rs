//! Closed forms of the token bucket.

use super::*;
use dumbbell_core::packet::PacketKind;
use dumbbell_tc::parse_qdisc;

/// A packet of the given number of bytes on an Ethernet wire.
fn packet(number: u32, wire_bytes: u16) -> Packet {
    Packet::new(PacketKind::Udp, 0, number, wire_bytes - 14, Time::ZERO)
}

fn tbf(text: &str) -> Tbf {
    match parse_qdisc(text).unwrap() {
        Config::Tbf(config) => Tbf::build(&config, &Setting::for_tests()),
        other => panic!("{other}"),
    }
}

/// What became of each packet given as (arrival in ns, bytes): its departure in ns.
fn fates(mut queue: Tbf, arrivals: &[(u64, u16)]) -> Vec<Result<u64, DropReason>> {
    let events = &mut Events::default();
    let mut fates = Vec::new();
    let mut now = Time::ZERO;
    let mut number = 0;
    loop {
        while let Some((at, bytes)) = arrivals.get(number as usize)
            && *at <= now.as_ns()
        {
            let taken = queue.enqueue(packet(number, *bytes), now, events);
            fates.push(taken.map(|()| u64::MAX));
            number += 1;
        }
        let next_arrival = arrivals
            .get(number as usize)
            .map(|(at, _)| Time::from_ns(*at));
        let wake = match queue.dequeue(now, events) {
            Dequeued::Packet(packet) => {
                fates[packet.number as usize] = Ok(now.as_ns());
                continue;
            }
            Dequeued::NotBefore(later) => Some(later),
            Dequeued::Empty => None,
        };
        let Some(next) = next_arrival.into_iter().chain(wake).min() else {
            assert!(events.is_empty());
            return fates;
        };
        now = next;
    }
}

#[test]
fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
    // 8000 ns a byte. Three packets of 500 bytes are the bucket; each further one 4 ms.
    let queue = tbf("tbf rate 1mbit burst 1500 limit 10kb");
    let at_once = [(0, 500); 6];
    let expected = [0, 0, 0, 4_000_000, 8_000_000, 12_000_000];
    assert_eq!(fates(queue, &at_once), expected.map(Ok));
}

#[test]
fn tokens_come_while_nothing_does_and_not_beyond_the_bucket() {
    let queue = tbf("tbf rate 1mbit burst 1000 limit 10kb");
    let ms = 1_000_000;
    // Empty at 0. At 2 ms 250 bytes of tokens; at 100 ms 1000.
    let arrivals = [(0, 1000), (2 * ms, 500), (100 * ms, 600), (100 * ms, 600)];
    let expected = [0, 4 * ms, 100 * ms, 100 * ms + 200 * 8_000];
    assert_eq!(fates(queue, &arrivals), expected.map(Ok));
}

#[test]
fn a_second_bucket_spreads_the_burst() {
    // 4000 ns a byte at the peak rate, one packet of 500 at once.
    let queue = tbf("tbf rate 1mbit burst 1000 limit 10kb peakrate 2mbit mtu 500");
    let expected = [0, 2_000_000, 4_000_000, 8_000_000];
    // At 4 ms 500 bytes of tokens have come, and 1000 were there: the third leaves by the peak
    // rate. From then on the rate governs.
    assert_eq!(fates(queue, &[(0, 500); 4]), expected.map(Ok));
}

#[test]
fn times_are_those_of_linux_multiplication_and_shift() {
    // 818750 bytes/s; 10240 bytes of tokens are 12506870 ns, a packet of 554 costs 676641 ns.
    let queue = tbf("tbf rate 6.55mbit burst 10kb limit 80kb");
    let fates = fates(queue, &[(0, 554); 40]);
    for (index, fate) in fates.iter().enumerate() {
        let cost = (index as u64 + 1) * 676_641;
        assert_eq!(*fate, Ok(cost.saturating_sub(12_506_870)), "{index}");
    }
}

#[test]
fn the_limit_is_that_of_what_waits_the_head_included() {
    // The head has no tokens but is in the limit: four of 500 in 2000 bytes.
    let queue = tbf("tbf rate 1mbit burst 500 limit 2000");
    let fates = fates(
        queue,
        &[(0, 500), (1, 500), (1, 500), (1, 500), (1, 500), (1, 500)],
    );
    let dropped = fates
        .iter()
        .filter(|fate| **fate == Err(DropReason::Overlimit));
    assert_eq!(dropped.count(), 1);
    assert_eq!(fates[4], Ok(16_000_000));
}

#[test]
fn longer_than_the_bucket_is_dropped() {
    let queue = tbf("tbf rate 1mbit burst 1000 limit 10kb");
    let expected = [Ok(0), Err(DropReason::TooLarge)];
    assert_eq!(fates(queue, &[(0, 1000), (0, 1001)]), expected);
    // 1500 is the MTU, an Ethernet frame is longer: every full one is dropped.
    let queue = tbf("tbf rate 1mbit burst 10kb limit 100kb peakrate 2mbit mtu 1500");
    let expected = [Err(DropReason::TooLarge), Ok(0)];
    assert_eq!(fates(queue, &[(0, 1514), (0, 1500)]), expected);
}

#[test]
fn a_child_takes_the_place_of_the_limit() {
    let chain = "root handle 1: tbf rate 1mbit burst 500 limit 1; parent 1:1 pfifo limit 2";
    let fates = fates(tbf(chain), &[(0, 500), (1, 500), (1, 500), (1, 500)]);
    let ms = 1_000_000;
    let expected = [Ok(0), Ok(4 * ms), Ok(8 * ms), Err(DropReason::Overlimit)];
    assert_eq!(fates, expected);
}

#[test]
fn a_bucket_in_a_bucket_is_asked_when_it_has_tokens() {
    // The inner one lets a packet of 500 go each 4 ms, the outer one each 2.
    let chain = "root handle 1: tbf rate 2mbit burst 500 limit 1; \
                 parent 1:1 tbf rate 1mbit burst 500 limit 10kb";
    let expected = [0, 4_000_000, 8_000_000];
    assert_eq!(fates(tbf(chain), &[(0, 500); 3]), expected.map(Ok));
}

/// The queue of the published study at its eight limits: the wait of a packet that finds the
/// queue full is (limit - tokens) / rate.
#[test]
fn the_longest_wait_is_the_limit_less_the_tokens_over_the_rate() {
    for limit_kb in [5, 10, 20, 40, 60, 80, 100, 200_u64] {
        let queue = tbf(&format!("tbf rate 6.55mbit limit {limit_kb}kb burst 10kb"));
        // 1.35 times the rate, until it is full and on.
        let gap = 500_000;
        let arrivals: Vec<(u64, u16)> = (0..8000).map(|index| (index * gap, 554)).collect();
        let fates = fates(queue, &arrivals);
        let waits = fates.iter().zip(&arrivals);
        let waits = waits.filter_map(|(fate, (at, _))| fate.ok().map(|left| left - at));
        let longest = waits.max().unwrap();
        let full = limit_kb * 1024 / 554 * 554;
        let bound = full * 1_000_000_000 / 818_750;
        assert!(
            longest <= bound && longest + 676_641 > bound,
            "{limit_kb}: {longest} {bound}"
        );
    }
}

/// A burst, a pause, an overload and a packet too long, as a table to read.
#[test]
fn snapshot_of_a_burst_a_pause_and_an_overload() {
    let ms = 1_000_000;
    let mut arrivals = vec![(0, 500); 4];
    arrivals.extend([(30 * ms, 1000), (31 * ms, 1200)]);
    arrivals.extend((0..5).map(|index| (32 * ms + index * ms / 2, 700)));
    let queue = tbf("tbf rate 1mbit burst 1000 limit 2200");
    let fates = fates(queue, &arrivals);
    let rows = { arrivals.iter().zip(&fates) }.map(|((at, bytes), fate)| {
        let fate = match fate {
            Ok(left) => format!("{:>7.3}", *left as f64 / 1e6),
            Err(reason) => format!("{reason:?}"),
        };
        format!("{:>7.3} {bytes:>6} {fate}", *at as f64 / 1e6)
    });
    let table: Vec<String> = std::iter::once("at (ms)  bytes leaves (ms)".to_owned())
        .chain(rows)
        .collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    at (ms)  bytes leaves (ms)
      0.000    500   0.000
      0.000    500   0.000
      0.000    500   4.000
      0.000    500   8.000
     30.000   1000  30.000
     31.000   1200 TooLarge
     32.000    700  35.600
     32.500    700  41.200
     33.000    700  46.800
     33.500    700 Overlimit
     34.000    700 Overlimit
    ");
}

/// Of the smaller bucket, to within a tick of 64 ns.
#[test]
fn gso_packets_come_in_segments_if_longer_than_the_bucket() {
    for (words, bytes) in [
        ("tbf rate 1mbit burst 10kb limit 100kb", 10_240),
        (
            "tbf rate 1mbit burst 10kb limit 100kb peakrate 2mbit mtu 2000",
            2000,
        ),
    ] {
        let largest = tbf(words).largest_gso_bytes();
        assert!((bytes - 1..=bytes).contains(&largest), "{words}: {largest}");
    }
}
