//! netem as a whole: departures, duplicates, reordering and limits.

use super::*;
use dumbbell_core::packet::PacketKind;
use dumbbell_tc::parse_qdisc;

fn packet(number: u32, bytes: u16) -> Packet {
    Packet::new(PacketKind::Udp, 0, number, bytes, Time::ZERO)
}

fn netem(text: &str) -> Netem {
    match parse_qdisc(&format!("netem {text}")) {
        Ok(crate::Config::Netem(config)) => Netem::build(&config, &Setting::for_tests()),
        other => panic!("{text}: {other:?}"),
    }
}

/// What comes of packets given as (arrival in ns, bytes), numbered from 0: number and departure
/// in ns of each, and what happened besides. A packet that is refused is among the dropped.
fn run(mut queue: Netem, arrivals: &[(u64, u16)]) -> (Vec<(u32, u64)>, Events) {
    let mut events = Events::default();
    let mut out = Vec::new();
    let mut take_out = |queue: &mut Netem, from: Time, until: Time, events: &mut Events| {
        let mut now = from;
        loop {
            match queue.dequeue(now, events) {
                Dequeued::Packet(packet) => out.push((packet.number, now.as_ns())),
                Dequeued::NotBefore(later) if later < until => now = later,
                _ => return,
            }
        }
    };
    let mut before = Time::ZERO;
    for (number, (at, bytes)) in arrivals.iter().enumerate() {
        let (now, packet) = (Time::from_ns(*at), packet(number as u32, *bytes));
        take_out(&mut queue, before, now, &mut events);
        if let Err(reason) = queue.enqueue(packet, now, &mut events) {
            events.drop(packet, reason);
        }
        let held: u64 = queue
            .packets()
            .map(|each| u64::from(each.wire_bytes(14)))
            .sum();
        assert_eq!(queue.backlog(), (queue.packets().count() as u32, held));
        take_out(&mut queue, now, now, &mut events);
        before = now;
    }
    take_out(&mut queue, before, Time::NEVER, &mut events);
    assert_eq!(queue.backlog(), (0, 0));
    (out, events)
}

fn departures(queue: Netem, arrivals: &[(u64, u16)]) -> Vec<u64> {
    run(queue, arrivals)
        .0
        .into_iter()
        .map(|(_, at)| at)
        .collect()
}

#[test]
fn rate_serves_one_packet_after_the_other() {
    // 111 + 14 bytes at 1 Mbit/s take 1 ms.
    let arrivals = [(0, 111), (0, 111), (5_000_000, 111)];
    let expected = [1_000_000, 2_000_000, 6_000_000];
    assert_eq!(departures(netem("rate 1mbit"), &arrivals), expected);
}

#[test]
fn the_delay_runs_while_a_packet_waits() {
    // The second packet's 500 us of delay are over before the first has been sent.
    let arrivals = [(0, 111), (0, 111)];
    let expected = [1_499_968, 2_499_968];
    assert_eq!(
        departures(netem("delay 500us rate 1mbit"), &arrivals),
        expected
    );
}

#[test]
fn transmission_times_are_whole_nanoseconds_of_bytes_per_second() {
    // 1,000,007 bit/s are 125,000 bytes/s, as the kernel gets them from tc.
    assert_eq!(netem("rate 1000007bit").rate.of(1), Time::from_ns(8_000));
    assert_eq!(netem("rate 24bit").rate.of(1), Time::from_ns(333_333_333));
}

/// `packet_time_ns`: overhead first, then whole cells. ATM: 100 bytes and 8 of AAL5 need three
/// cells of 48, each of 53 on the wire.
#[test]
fn the_rate_counts_overhead_and_cells() {
    assert_eq!(
        netem("rate 1mbps 8 48 5").rate.of(100),
        Time::from_ns(159_000)
    );
    assert_eq!(
        netem("rate 1mbps 44 48 5").rate.of(100),
        Time::from_ns(159_000)
    );
    assert_eq!(
        netem("rate 1mbps 45 48 5").rate.of(100),
        Time::from_ns(212_000)
    );
    assert_eq!(netem("rate 1mbps -14").rate.of(100), Time::from_ns(86_000));
}

#[test]
fn the_limit_counts_the_packet_in_transmission() {
    let mut queue = netem("limit 1 rate 1mbit");
    let events = &mut Events::default();
    assert_eq!(queue.enqueue(packet(1, 100), Time::ZERO, events), Ok(()));
    let second = queue.enqueue(packet(2, 100), Time::ZERO, events);
    assert_eq!(second, Err(DropReason::Overlimit));
}

#[test]
fn without_a_rate_each_packet_has_its_own_delay() {
    let arrivals = [(0, 1500), (10, 40)];
    // 15 ticks of 64 ns, of 15.625 (seen in Linux 6.1 with iproute2 6.1).
    assert_eq!(departures(netem("delay 1us"), &arrivals), [960, 970]);
}

/// Delays of `count` packets sent a second apart, in nanoseconds.
fn delays(text: &str, count: u64) -> Vec<f64> {
    const APART_NS: u64 = 1_000_000_000;
    let arrivals: Vec<(u64, u16)> = (0..count).map(|number| (number * APART_NS, 100)).collect();
    let (out, _) = run(netem(text), &arrivals);
    let delay = |(number, at): (u32, u64)| (at - u64::from(number) * APART_NS) as f64;
    out.into_iter().map(delay).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Each with its mean and standard deviation in jitters: uniform 0 and 1/sqrt(3); normal 0 and
/// 1; Pareto of shape 3, shifted and cut off (see `distribution`), -0.033 and 0.82.
#[test]
fn delays_have_the_moments_of_their_distribution() {
    const COUNT: u64 = 100_000;
    for (distribution, expected_mean, expected_sd) in [
        ("", 0.0, 0.57735),
        ("distribution normal", 0.0, 1.0),
        ("distribution pareto", -0.03292, 0.82086),
    ] {
        let text = format!("delay 100ms 10ms {distribution}");
        let jitters: Vec<f64> = delays(&text, COUNT)
            .into_iter()
            .map(|delay| (delay - 1e8) / 1e7)
            .collect();
        let average = mean(&jitters);
        let squares: Vec<f64> = jitters
            .iter()
            .map(|x| (x - average) * (x - average))
            .collect();
        let sd = libm::sqrt(mean(&squares));
        // Five standard errors of the mean; the table's steps besides.
        let tolerance = 5.0 * expected_sd / libm::sqrt(COUNT as f64) + 0.001;
        assert!(
            (average - expected_mean).abs() < tolerance,
            "{text}: {average}"
        );
        assert!((sd / expected_sd - 1.0).abs() < 0.02, "{text}: {sd}");
    }
}

/// The remainder after division by 4096 takes the last twelve bits, which are fresh whatever
/// the correlation: the kernel's delays are not correlated.
#[test]
fn correlated_delays_are_not() {
    for text in [
        "delay 100ms 10ms 90%",
        "delay 100ms 10ms 90% distribution normal",
    ] {
        let delays = delays(text, 50_000);
        let average = mean(&delays);
        let products: Vec<f64> = { delays.windows(2) }
            .map(|pair| (pair[0] - average) * (pair[1] - average))
            .collect();
        let squares: Vec<f64> = delays
            .iter()
            .map(|x| (x - average) * (x - average))
            .collect();
        let autocorrelation = mean(&products) / mean(&squares);
        assert!(autocorrelation.abs() < 0.025, "{text}: {autocorrelation}");
    }
}

#[test]
fn jitter_lets_packets_overtake_and_a_rate_does_not() {
    let arrivals: Vec<(u64, u16)> = (0..1000).map(|number| (number * 1000, 100)).collect();
    let in_order = |text| {
        let (out, _) = run(netem(text), &arrivals);
        assert_eq!(out.len(), 1000);
        out.is_sorted()
    };
    assert!(!in_order("delay 1ms 100us"));
    assert!(in_order("delay 1ms 100us rate 1gbit"));
}

/// Of packets that come within the delay of each other, a reordered one leaves as it comes.
#[test]
fn reordered_packets_leave_at_once() {
    let arrivals: Vec<(u64, u16)> = (0..9).map(|number| (number * 1000, 100)).collect();
    let (out, _) = run(netem("delay 1ms reorder 100% gap 3"), &arrivals);
    let at_once: Vec<u32> = { out.iter() }
        .filter(|(number, at)| *at == u64::from(*number) * 1000)
        .map(|(number, _)| *number)
        .collect();
    // Two are delayed, then one goes first.
    assert_eq!(at_once, [2, 5, 8]);
    let delayed = out
        .iter()
        .filter(|(number, at)| *at == u64::from(*number) * 1000 + 1_000_000);
    assert_eq!(delayed.count(), 6);
}

#[test]
fn a_share_of_packets_is_reordered() {
    let arrivals: Vec<(u64, u16)> = (0..100_000).map(|number| (number * 1000, 100)).collect();
    let (out, _) = run(netem("delay 1ms reorder 25%"), &arrivals);
    let at_once = out
        .iter()
        .filter(|(number, at)| *at == u64::from(*number) * 1000);
    let share = at_once.count() as f64 / 100_000.0;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

#[test]
fn a_copy_goes_its_own_way_and_is_not_copied() {
    let arrivals = [(0, 100), (10_000, 100)];
    let (out, events) = run(netem("delay 1us duplicate 100%"), &arrivals);
    assert_eq!(out, [(0, 960), (0, 960), (1, 10_960), (1, 10_960)]);
    assert_eq!(events.duplicated.len(), 2);
    // The copy takes the last place; the packet was let in before.
    let (out, events) = run(netem("delay 1us duplicate 100% limit 1"), &arrivals[..1]);
    assert_eq!((out.len(), events.duplicated.len()), (2, 1));
    // Inside another discipline, the link lets it in.
    let mut inside = netem("delay 1us duplicate 100%");
    inside.is_root = false;
    let events = &mut Events::default();
    assert_eq!(inside.enqueue(packet(7, 100), Time::ZERO, events), Ok(()));
    assert_eq!((events.for_root.len(), events.duplicated.len()), (1, 0));
    events.is_copy = true;
    assert_eq!(inside.enqueue(packet(7, 100), Time::ZERO, events), Ok(()));
    assert_eq!((events.for_root.len(), inside.backlog().0), (1, 2));
}

/// What was made is delivered or dropped; and both a packet and its copy can be lost.
#[test]
fn packets_are_conserved() {
    let arrivals: Vec<(u64, u16)> = (0..20_000).map(|number| (number * 1000, 100)).collect();
    let text = "delay 20us 20us duplicate 20% loss 10% reorder 10% 50% gap 2 limit 30 rate 900mbit";
    let (out, events) = run(netem(text), &arrivals);
    assert!(!events.duplicated.is_empty());
    let lost = |wanted| {
        { events.dropped.iter() }
            .filter(|(_, reason)| *reason == wanted)
            .count()
    };
    assert!(lost(DropReason::NetemLoss) > 0);
    let made = arrivals.len() + events.duplicated.len();
    assert_eq!(made, out.len() + events.dropped.len());
}

#[test]
fn with_ecn_packets_that_can_be_are_marked() {
    let mut queue = netem("loss 100% ecn");
    let events = &mut Events::default();
    let mut capable = packet(1, 100);
    capable.traffic_class = 0b10;
    assert_eq!(queue.enqueue(capable, Time::ZERO, events), Ok(()));
    assert_eq!(events.marked.len(), 1);
    let refused = queue.enqueue(packet(2, 100), Time::ZERO, events);
    assert_eq!(refused, Err(DropReason::NetemLoss));
    let Dequeued::Packet(marked) = queue.dequeue(Time::ZERO, events) else {
        panic!("it was taken");
    };
    assert!(marked.has_congestion_mark());
}

/// As Mininet writes a host's interface: a delay, then a rate.
#[test]
fn packets_come_to_the_child_when_their_time_has_come() {
    let text = "root handle 1: netem delay 10ms limit 5; parent 1:1 handle 2: tbf rate 8mbit burst 1000 limit 2200";
    let Ok(crate::Config::Netem(config)) = parse_qdisc(text) else {
        panic!("{text}")
    };
    let queue = Netem::build(&config, &Setting::for_tests());
    // 1000 bytes on the wire take 1 ms. Five are on their way, which is netem's limit; they come to the
    // child at once, which has room for two.
    let (left, events) = run(queue, &[(0, 986); 7]);
    let ms = |number, ms: u64| (number, ms * 1_000_000);
    assert_eq!(left, [ms(0, 10), ms(1, 11)]);
    let dropped: Vec<u32> = { events.dropped.iter() }
        .map(|(packet, _)| packet.number)
        .collect();
    assert_eq!(dropped, [5, 6, 2, 3, 4]);
}

/// tc-netem(8): packets gather until a slot opens and leave in it, so many or so many bytes.
#[test]
fn packets_leave_in_slots() {
    const MS: u64 = 1_000_000;
    let arrivals = [(0, 486), (MS, 486), (2 * MS, 486), (21 * MS, 486)];
    // The first slot is drawn for the first packet, the second when a packet comes that was not there in time.
    let together = [5 * MS, 5 * MS, 5 * MS, 26 * MS];
    assert_eq!(departures(netem("slot 5ms"), &arrivals), together);
    let two_each = [5 * MS, 5 * MS, 10 * MS, 26 * MS];
    assert_eq!(departures(netem("slot 5ms packets 2"), &arrivals), two_each);
    // 500 bytes each on the wire; the one that exceeds a slot is the last in it.
    assert_eq!(departures(netem("slot 5ms bytes 501"), &arrivals), two_each);
    let one_each = [5 * MS, 10 * MS, 15 * MS, 26 * MS];
    assert_eq!(departures(netem("slot 5ms bytes 500"), &arrivals), one_each);
    // A slot is drawn as each comes, until one that opens when the first has had its delay or later.
    let delayed = [15 * MS, 15 * MS, 15 * MS, 36 * MS];
    assert_eq!(departures(netem("delay 10ms slot 5ms"), &arrivals), delayed);
}

#[test]
fn slots_open_as_far_apart_as_said() {
    const PACKETS: usize = 4000;
    let arrivals = [(0, 86); PACKETS];
    for (text, least_ns, most_ns) in [
        ("slot 1ms 3ms packets 1", 1_000_000, 3_000_000),
        (
            "slot distribution normal 2ms 100us packets 1",
            1_600_000,
            2_400_000,
        ),
    ] {
        let at = departures(netem(&format!("limit 5000 {text}")), &arrivals);
        let gaps: Vec<u64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let inside = gaps.iter().all(|gap| (least_ns..=most_ns).contains(gap));
        assert!(inside, "{text}");
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean / 2e6 - 1.0).abs() < 0.02, "{text}: {mean}");
    }
}

/// Of 486 + 14 bytes a bit of any but the 6 of the sender's Ethernet address is found; of TCP's those
/// of the headers.
#[test]
fn a_share_of_packets_is_damaged() {
    const PACKETS: u32 = 20_000;
    for (kind, found) in [
        (PacketKind::Udp, 1.0 - 6.0 / 500.0),
        (PacketKind::Tcp, 1.0 - 6.0 / 66.0),
    ] {
        let mut queue = netem("limit 30000 corrupt 20% duplicate 10%");
        let events = &mut Events::default();
        for number in 0..PACKETS {
            let packet = Packet::new(kind, 0, number, 486, Time::ZERO);
            assert_eq!(queue.enqueue(packet, Time::ZERO, events), Ok(()));
        }
        let all = queue.packets().count() as f64;
        assert_eq!(all as usize, PACKETS as usize + events.duplicated.len());
        let damaged = queue.packets().filter(|packet| packet.is_damaged()).count() as f64;
        let share = 0.2 * found;
        let error = libm::sqrt(share * (1.0 - share) / all);
        assert!(
            (damaged / all - share).abs() < 4.0 * error,
            "{damaged} of {all}"
        );
        assert!(events.duplicated.iter().all(|copy| !copy.is_damaged()));
    }
}
