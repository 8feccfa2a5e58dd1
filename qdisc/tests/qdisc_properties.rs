//! What holds for every discipline, whatever arrives.
//!
//! - Conservation: a packet that was taken leaves, is dropped or still waits, once; nothing is
//!   made up but what `Events` says was duplicated. The backlog counts what is held.
//! - Time: `NotBefore` is later than now, so that time passes, and an empty queue says so.
//! - Limits of packets and bytes, and the token bucket's bound on what leaves in any window.
//!
//! A discipline without a line in `DISCIPLINES` is tried as its table's short example.

use dumbbell_core::packet::{Packet, PacketKind};
use dumbbell_core::time::Time;
use dumbbell_qdisc::{Above, DEFAULT_TIMER_HZ, Dequeued, Events, Qdisc, Setting};
use proptest::prelude::*;

const OVERHEAD_BYTES: u32 = 14;
const S: u64 = 1_000_000_000;

/// As typed to tc. Rates near what arrives, so that queues fill, drain and overflow.
const DISCIPLINES: &[&str] = &[
    "pfifo limit 5",
    "bfifo limit 4kb",
    "netem limit 7 rate 1mbit delay 3ms",
    "netem limit 9 delay 2ms 1ms loss 10% duplicate 10%",
    "netem limit 9 delay 1ms 1ms slot 2ms 5ms packets 2 corrupt 10%",
    "root handle 1: netem limit 9 slot distribution pareto 3ms 1ms bytes 2000; parent 1:1 pfifo limit 4",
    "codel limit 12 target 1ms interval 10ms",
    "fq limit 12 flow_limit 9 quantum 300 initial_quantum 700",
    "fq limit 12 maxrate 1mbit",
    "fq limit 12 maxrate 300kbit ce_threshold 3ms",
    "fq_codel limit 12 flows 4 quantum 300",
    "codel limit 12 target 1ms interval 10ms ecn ce_threshold 3ms",
    "fq_codel limit 12 memory_limit 9kb noecn drop_batch 2",
    "pie limit 12 target 1ms tupdate 2ms",
    "pie limit 40 target 1ms tupdate 1ms bytemode dq_rate_estimator ecn",
    "pie limit 40 linux_3_14",
    "dualpi2 limit 12 target 1ms tupdate 2ms alpha 9 beta 60 step_thresh 500us",
    "dualpi2 limit 40 memlimit 20000 target 2ms any_ect drop_enqueue overflow step_thresh 2p",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 dualpi2 limit 12 target 1ms",
    "red limit 20kb min 1kb max 4kb avpkt 500 burst 3 probability 0.5 adaptive ecn nodrop",
    "red limit 9kb min 2kb max 6kb avpkt 500 burst 6",
    "pfifo_fast",
    "choke limit 30 bandwidth 1mbit min 3 max 12 burst 6 probability 0.3 ecn",
    "sfb limit 12 max 6 target 2 increment 0.3 decrement 0.05 penalty_rate 90 penalty_burst 3 rehash 900 db 300",
    "root handle 1: sfb limit 30 target 9 increment 0.1 rehash 20 db 90; parent 1:1 bfifo limit 3kb",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 sfb limit 5 increment 0.1 target 3",
    "fq_pie limit 12 flows 4 quantum 300 target 1ms tupdate 2ms",
    "fq_pie limit 30 target 1us tupdate 1ms ecn ecn_prob 99 bytemode dq_rate_estimator",
    "sfq limit 12 flows 6 divisor 8 depth 5 quantum 300 perturb 1",
    "sfq limit 9 depth 3 headdrop",
    "sfq redflowlimit 9000 min 1500 max 6000 burst 3 probability 0.3 ecn perturb 1",
    "sfq depth 9 redflowlimit 9000 min 1500 max 6000 burst 3 probability 0.3 ecn harddrop headdrop",
    "root handle 1: prio; parent 1:1 pfifo limit 2; parent 1:2 bfifo limit 3kb",
    "root handle 1: ets strict 1 quanta 300 1514 priomap 1 1 2 1 1 1 0; parent 1:1 pfifo limit 2; \
     parent 1:2 bfifo limit 3kb; parent 1:3 codel limit 4",
    "root handle 1: hfsc default 2; class add parent 1: classid 1:1 hfsc sc umax 1500 dmax 5ms rate 400kbit; \
     class add parent 1: classid 1:2 hfsc ls m2 600kbit ul m2 900kbit; parent 1:2 pfifo limit 4; \
     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:1",
    "root handle 1: netem delay 2ms 1ms limit 20; parent 1:1 handle 2: htb default 1; \
     class add parent 2: classid 2:1 htb rate 900kbit; parent 2:1 pfifo limit 4",
    "root handle 1: netem delay 1ms reorder 20% loss 1%; parent 1:1 codel limit 6 target 1ms",
    "root handle 1: drr; class add parent 1: classid 1:1 drr quantum 300; class add parent 1: classid 1:2 drr; \
     parent 1:1 pfifo limit 2; parent 1:2 codel limit 4; \
     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:1; \
     filter add parent 1: prio 2 matchall flowid 1:2",
    "tbf rate 1mbit burst 2kb limit 6kb",
    "tbf rate 999kbit burst 700 limit 6kb",
    "tbf rate 1mbit burst 6kb limit 6kb peakrate 1.7mbit mtu 1600",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 netem limit 6 delay 2ms",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 fq limit 12",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 fq_codel limit 12 target 1ms",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 handle 2: prio; parent 2:1 pfifo limit 3",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 pie limit 12 target 1ms tupdate 2ms",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 pfifo_fast",
    "root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 handle 2: prio
     parent 2:1 codel limit 4 target 1ms interval 10ms
     parent 2:2 handle 3: tbf rate 200kbit burst 2kb limit 4kb
     parent 2:3 netem limit 5 delay 3ms",
    "cake",
    "cake bandwidth 1mbit memlimit 20kb diffserv4 atm overhead 44",
    "cake bandwidth 1mbit memlimit 9kb ingress besteffort flows wash rtt 1ms",
    "cake unlimited memlimit 30kb diffserv8 hosts",
    "root handle 1: htb default 20 direct_qlen 2
     class add parent 1: classid 1:1 htb rate 1mbit
     class add parent 1:1 classid 1:10 htb rate 300kbit ceil 1mbit prio 1
     class add parent 1:1 classid 1:20 htb rate 100kbit ceil 700kbit quantum 1514
     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10
     parent 1:10 pfifo limit 3
     parent 1:20 tbf rate 200kbit burst 2kb limit 4kb",
];

/// These, and the short example of every discipline that is in none of them.
fn every_discipline() -> Vec<String> {
    let roots = { DISCIPLINES.iter() }.map(|text| dumbbell_tc::parse_qdisc(text).unwrap());
    let names: Vec<&str> = roots.map(|root| root.discipline().name).collect();
    let others = { dumbbell_tc::disciplines().iter() }.filter(|each| !names.contains(&each.name));
    { DISCIPLINES.iter() }
        .map(|text| (*text).to_owned())
        .chain(others.map(|each| each.short_example()))
        .collect()
}

fn queue(text: &str) -> Qdisc {
    let setting = Setting {
        overhead_bytes: OVERHEAD_BYTES,
        mtu_bytes: 1500,
        timer_hz: DEFAULT_TIMER_HZ,
        is_root: true,
        random_marks: false,
        ends: Default::default(),
        headers: Default::default(),
        above: Above::Device,
        seed: 1,
        replication: 0,
        name: "queue/test".to_owned(),
    };
    Qdisc::new(&dumbbell_tc::parse_qdisc(text).unwrap(), &setting)
}

/// (gap to the one before in us, IP bytes, TOS) of packets.
type Arrivals = Vec<(u64, u16, u8)>;

/// Bursts and pauses around 1 Mbit/s.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    let gap = prop_oneof![3 => Just(0), 4 => 0..6_000u64, 1 => 0..200_000u64];
    let tos = prop::sample::select(vec![0x00, 0x08, 0x10, 0x11, 0xb8]);
    prop::collection::vec((gap, 28..=1500u16, tos), 1..150)
}

/// What happened to a discipline.
struct Course {
    /// (instant, bytes on the wire) of what left.
    departures: Vec<(u64, u64)>,
}

/// Leads packets through, asking when the discipline said, and checks at every step.
fn lead_through(text: &str, arrivals: &Arrivals) -> Result<Course, TestCaseError> {
    let mut queue = queue(text);
    let mut events = Events::default();
    let mut departures = Vec::new();
    let (mut taken, mut left, mut dropped, mut copied) = (0usize, 0usize, 0usize, 0usize);
    let mut seen = std::collections::HashMap::new();
    let mut now = Time::ZERO;
    let mut pending = arrivals.iter().enumerate();
    let mut next = pending.next();
    let mut next_at = next.map(|(_, (gap, ..))| Time::from_ns(gap * 1000));
    let mut wake = None;
    while let Some(at) = next_at.into_iter().chain(wake).min() {
        prop_assert!(at >= now);
        now = at;
        while let (Some(instant), Some((number, (_, bytes, tos)))) = (next_at, next)
            && instant <= now
        {
            let mut packet = Packet::new(PacketKind::Udp, 0, number as u32, *bytes, now);
            packet.traffic_class = *tos;
            match queue.enqueue(packet, now, &mut events) {
                Ok(()) => taken += 1,
                Err(_) => dropped += 1,
            }
            next = pending.next();
            next_at = next.map(|(_, (gap, ..))| instant + Time::from_ns(gap * 1000));
        }
        wake = loop {
            match queue.dequeue(now, &mut events) {
                Dequeued::Packet(packet) => {
                    left += 1;
                    *seen.entry(packet.number).or_insert(0) += 1;
                    let bytes = packet.wire_bytes(OVERHEAD_BYTES);
                    departures.push((now.as_ns(), u64::from(bytes)));
                }
                Dequeued::NotBefore(later) => {
                    prop_assert!(later > now, "{text}: {later:?} at {now:?}");
                    break Some(later);
                }
                Dequeued::Empty => {
                    prop_assert_eq!(queue.backlog(), (0, 0), "{}", text);
                    break None;
                }
            }
        };
        let thrown = events.dropped.len();
        copied += events.duplicated.len();
        dropped += thrown;
        taken -= thrown;
        taken += events.duplicated.len();
        events.clear();
        let held: Vec<u64> = { queue.packets() }
            .map(|packet| u64::from(packet.wire_bytes(OVERHEAD_BYTES)))
            .collect();
        prop_assert_eq!(
            queue.backlog(),
            (held.len() as u32, held.iter().sum()),
            "{}",
            text
        );
        prop_assert_eq!(taken, left + held.len(), "{}", text);
    }
    prop_assert_eq!(arrivals.len() + copied, left + dropped, "{}", text);
    prop_assert!(
        copied > 0 || seen.values().all(|times| *times == 1),
        "{}",
        text
    );
    Ok(Course { departures })
}

/// Over any window at most `rate t + bytes` leave, to a byte and the nanosecond that the kernel's
/// arithmetic gives each packet.
fn stays_below(course: &Course, bytes_per_s: u64, bytes: u64) -> Result<(), TestCaseError> {
    let departures = &course.departures;
    for (first, (begin, _)) in departures.iter().enumerate() {
        let mut sent = 0;
        for (count, (end, size)) in (1u64..).zip(&departures[first..]) {
            sent += size;
            let allowed = bytes + ((end - begin + count) * bytes_per_s).div_ceil(S) + 1;
            prop_assert!(
                sent <= allowed,
                "{sent} bytes, {allowed} allowed, {begin}..{end}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_and_time_passes(arrivals in arrivals()) {
        for text in every_discipline() {
            lead_through(&text, &arrivals)?;
        }
    }

    /// min(peakrate t + mtu, rate t + burst), both by themselves.
    #[test]
    fn a_token_bucket_bounds_what_leaves_in_any_window(
        arrivals in arrivals(),
        rate in 30_000u64..400_000,
        burst in 1514u64..9000,
        peak in prop::option::of((1u64..300_000, 1514u64..4000)),
    ) {
        let mut text = format!("tbf rate {rate}bps burst {burst} limit 20kb");
        if let Some((more, mtu)) = peak {
            text += &format!(" peakrate {}bps mtu {mtu}", rate + more);
        }
        let course = lead_through(&text, &arrivals)?;
        stays_below(&course, rate, burst)?;
        if let Some((more, mtu)) = peak {
            stays_below(&course, rate + more, mtu)?;
        }
    }

    /// A ceiling lets a class overdraw its bucket by a packet.
    #[test]
    fn a_ceiling_bounds_what_leaves_in_any_window(arrivals in arrivals()) {
        let course = lead_through(
            "root handle 1: htb default 1; \
             class add parent 1: classid 1:1 htb rate 200kbit ceil 1mbit burst 3kb cburst 3kb",
            &arrivals,
        )?;
        stays_below(&course, 25_000, 3072 + 1514)?;
    }

    #[test]
    fn limits_hold(arrivals in arrivals(), limit in 1u32..20) {
        let events = &mut Events::default();
        let mut pfifo = queue(&format!("pfifo limit {limit}"));
        let mut bfifo = queue(&format!("bfifo limit {}", limit * 500));
        for (number, (_, bytes, _)) in arrivals.iter().enumerate() {
            let packet = Packet::new(PacketKind::Udp, 0, number as u32, *bytes, Time::ZERO);
            let refused = [&mut pfifo, &mut bfifo].map(|queue| {
                queue.enqueue(packet, Time::ZERO, events).is_err()
            });
            prop_assert_eq!(refused[0], number as u32 >= limit);
            prop_assert!(pfifo.backlog().0 <= limit);
            prop_assert!(bfifo.backlog().1 <= u64::from(limit) * 500);
        }
    }
}
