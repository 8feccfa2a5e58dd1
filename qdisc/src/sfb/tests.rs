//! Stochastic Fair Blue by the sections of the technical report (CSE-TR-387-99), tc-sfb(8) and Linux's arithmetic.

use super::bins::{BINS, Bin, LEVELS, Least};
use super::*;
use crate::Qdisc;
use dumbbell_core::packet::PacketKind;

const EVENTS: fn() -> Events = Events::default;

fn at_ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

fn of(flow: u32) -> Packet {
    Packet::new(PacketKind::Udp, flow, 1, 986, Time::ZERO)
}

fn capable(flow: u32) -> Packet {
    let mut packet = of(flow);
    packet.traffic_class = 0b10;
    packet
}

fn sfb_at(words: &str, timer_hz: u32) -> Sfb {
    let config = dumbbell_tc::parse_qdisc(words).unwrap_or_else(|error| panic!("{error}"));
    let dumbbell_tc::Qdisc::Sfb(config) = config else {
        panic!("{words} is sfb");
    };
    let setting = Setting {
        timer_hz,
        ..Setting::for_tests()
    };
    Sfb::build(&config, &setting)
}

fn sfb(words: &str) -> Sfb {
    sfb_at(words, 1000)
}

fn counted(sfb: &Sfb) -> SfbState {
    match sfb.own_state() {
        Some(OwnState::Sfb(state)) => state,
        other => panic!("{other:?}"),
    }
}

/// The bins of a flow in a set.
fn bins_of(sfb: &Sfb, set: usize, flow: u32) -> Vec<Bin> {
    let hash = sfb.sets[set].hash_of(&of(flow));
    let mut set = sfb.sets[set].clone();
    let before = set.levels;
    set.add(hash);
    let levels = before.iter().zip(&set.levels);
    levels
        .map(|(before, after)| {
            let changed = { before.iter().zip(after) }.find(|(before, after)| before != after);
            *changed.map(|(before, _)| before).unwrap()
        })
        .collect()
}

/// Sets the probability of a flow's bins, in steps of 1/65535.
fn set_steps(sfb: &mut Sfb, flow: u32, steps: u32) {
    let raised = Blue {
        target_packets: 0,
        increment_steps: steps,
        decrement_steps: MOST_STEPS,
    };
    let hash = sfb.sets[sfb.active].hash_of(&of(flow));
    let set = &mut sfb.sets[sfb.active];
    let is_queued = set.on_arrival(
        hash,
        &Blue {
            target_packets: u32::MAX,
            increment_steps: 0,
            decrement_steps: 0,
        },
    );
    assert_eq!(is_queued.packets, 0, "bins are empty");
    set.on_arrival(hash, &raised);
    set.add(hash);
    set.on_arrival(hash, &raised);
    set.remove(hash);
}

fn enqueue(sfb: &mut Sfb, packet: Packet, now: Time) -> Result<(), DropReason> {
    sfb.enqueue(packet, now, &mut EVENTS())
}

/// Section 4.1: L independent hash functions, each into N bins; a flow has one bin in each level.
#[test]
fn a_packet_is_counted_in_one_bin_of_each_level() {
    let mut sfb = sfb("sfb");
    for flow in [0, 1, 7, 1 << 20] {
        assert_eq!(enqueue(&mut sfb, of(flow), Time::ZERO), Ok(()));
    }
    for level in &sfb.sets[0].levels {
        assert_eq!(level.iter().map(|bin| bin.packets).sum::<u16>(), 4);
    }
    assert_eq!(sfb.sets[0].levels.len(), LEVELS);
    assert_eq!(sfb.sets[1].levels, [[Bin::default(); BINS]; LEVELS]);
    let mut left = 4;
    while let Dequeued::Packet(_) = sfb.dequeue(Time::ZERO, &mut EVENTS()) {
        left -= 1;
        for level in &sfb.sets[0].levels {
            assert_eq!(level.iter().map(|bin| bin.packets).sum::<u16>(), left);
        }
    }
    assert_eq!(left, 0);
}

/// tc-sfb(8), LIMITATIONS: a flow shares all its bins with one of M others with the chance
/// (1 - (1 - 1/16)^M)^8, which is 0.2 % for M = 10 and 2.7 % for M = 16.
#[test]
fn levels_are_independent() {
    for others in [10u32, 16] {
        let (mut shared, flows) = (0u32, 200_000u32);
        let mut at = 0;
        while at < flows {
            let mut bins = Bins::new(u64::from(at) << 32 | u64::from(others));
            for other in 0..others {
                bins.add(bins.hash_of(&of(other)));
            }
            let blue = Blue {
                target_packets: u32::MAX,
                increment_steps: 0,
                decrement_steps: 0,
            };
            for flow in 0..1000 {
                let Least { packets, .. } = bins.on_arrival(bins.hash_of(&of(1000 + flow)), &blue);
                shared += u32::from(packets > 0);
            }
            at += 1000;
        }
        let expected = (1.0 - (15.0f64 / 16.0).powi(others as i32)).powi(8);
        let found = f64::from(shared) / f64::from(flows);
        // Flows of one key share the others' bins, so the deviation is above the binomial one.
        assert!(
            (found / expected - 1.0).abs() < 0.25,
            "{others}: {found} instead of {expected}"
        );
    }
}

/// Section 4.1: a full bin raises its probability by d1 and an empty one lowers it by d2, at each arrival.
/// 0.01 is 655 steps of 1/65535, 0.002 is 131.
#[test]
fn probabilities_rise_in_full_bins_and_fall_in_empty_ones() {
    let mut sfb = sfb("sfb target 3 max 100 increment 0.01 decrement 0.002");
    let steps = |sfb: &Sfb| {
        bins_of(sfb, 0, 5)
            .iter()
            .map(|bin| bin.steps)
            .collect::<Vec<_>>()
    };
    for packets in 0..3 {
        assert_eq!(steps(&sfb), [0; LEVELS], "{packets} packets");
        assert_eq!(enqueue(&mut sfb, of(5), Time::ZERO), Ok(()));
    }
    // Three packets are in each bin. A drop raises it too.
    for times in 1..=4u16 {
        let _ = enqueue(&mut sfb, of(5), Time::ZERO);
        assert_eq!(steps(&sfb), [655 * times; LEVELS]);
    }
    while let Dequeued::Packet(_) = sfb.dequeue(Time::ZERO, &mut EVENTS()) {}
    assert_eq!(steps(&sfb), [2620; LEVELS], "not at departures");
    for times in 1..=20u16 {
        sfb.sets[0].on_arrival(sfb.sets[0].hash_of(&of(5)), &sfb.blue.clone());
        assert_eq!(steps(&sfb), [2620 - 131 * times; LEVELS]);
    }
    sfb.sets[0].on_arrival(sfb.sets[0].hash_of(&of(5)), &sfb.blue.clone());
    assert_eq!(steps(&sfb), [0; LEVELS], "not below 0");
}

/// Section 4.1: p_min, the least of a flow's bins, decides; one bin of its own spares a flow.
#[test]
fn the_least_of_the_bins_decides() {
    let mut sfb = sfb("sfb penalty_rate 0 decrement 0");
    set_steps(&mut sfb, 5, MOST_STEPS);
    assert_eq!(
        enqueue(&mut sfb, of(5), Time::ZERO),
        Err(DropReason::SfbPenalty)
    );
    let hash = sfb.sets[0].hash_of(&of(5));
    let (level, bin) = sfb.sets[0]
        .levels
        .iter_mut()
        .zip(0..)
        .flat_map(|(level, at)| level.iter_mut().map(move |bin| (at, bin)))
        .find(|(at, bin)| *at == 3 && bin.steps > 0)
        .unwrap();
    bin.steps = 0;
    assert_eq!(level, 3);
    let least = sfb.sets[0].on_arrival(hash, &sfb.blue.clone());
    assert_eq!(least.steps, 0);
    assert_eq!(enqueue(&mut sfb, of(5), Time::ZERO), Ok(()));
}

/// Section 4.2 and tc-sfb(8), NOTES: with probability p up to 1/2 packets are marked; above, 2 p - 1 of all are
/// dropped and 1 - p marked. Without ECN p are dropped.
#[test]
fn packets_are_marked_and_from_one_half_on_dropped() {
    const PACKETS: u32 = 20_000;
    for (p, is_capable) in [
        (0.1, true),
        (0.5, true),
        (0.8, true),
        (0.1, false),
        (0.8, false),
    ] {
        let mut sfb = sfb("sfb limit 100000 max 100000 target 90000 increment 0 decrement 0");
        set_steps(&mut sfb, 5, (p * f64::from(MOST_STEPS)) as u32);
        let (mut dropped, mut events) = (0, EVENTS());
        for _ in 0..PACKETS {
            let packet = if is_capable { capable(5) } else { of(5) };
            match sfb.enqueue(packet, Time::ZERO, &mut events) {
                Ok(()) => {}
                Err(reason) => {
                    assert_eq!(reason, DropReason::SfbEarly);
                    dropped += 1;
                }
            }
        }
        let drops = if is_capable {
            f64::max(2.0 * p - 1.0, 0.0)
        } else {
            p
        };
        let marks = if is_capable { p - drops } else { 0.0 };
        let state = counted(&sfb);
        assert_eq!(state.early_dropped_pkts, dropped);
        assert_eq!(state.marked_pkts, events.marked.len() as u64);
        for (found, share) in [(dropped, drops), (state.marked_pkts, marks)] {
            let expected = f64::from(PACKETS) * share;
            let deviation = (expected * (1.0 - share)).sqrt();
            let error = (found as f64 - expected).abs();
            assert!(
                error <= 5.0 * deviation + 1.0,
                "{p}: {found} instead of {expected}"
            );
        }
        assert!(events.marked.iter().all(
            |(packet, reason)| packet.has_congestion_mark() && *reason == DropReason::SfbEarly
        ));
    }
}

/// Section 4.3: packets whose bins all have probability 1 pass at the penalty rate, if there are not more of them.
/// Linux forgets the part of a token that has come by the time of a packet that is refused, so that a flow with
/// more packets gets none at all after its burst.
#[test]
fn flows_that_do_not_respond_pass_at_the_penalty_rate() {
    for (gap_ms, expected) in [(20, 50), (30, 33), (19, 3 + 2 + 1), (1, 0)] {
        let mut sfb = sfb("sfb decrement 0 penalty_rate 50 penalty_burst 4");
        set_steps(&mut sfb, 5, MOST_STEPS);
        let passed = |sfb: &mut Sfb, from_ms: u64, packets: u64| {
            let times = (0..packets).map(|number| at_ms(from_ms + number * gap_ms));
            let taken = times.filter(|now| {
                let is_taken = enqueue(sfb, of(5), *now).is_ok();
                sfb.dequeue(*now, &mut EVENTS());
                is_taken
            });
            taken.count() as u64
        };
        assert_eq!(passed(&mut sfb, 0, 4), 4, "the burst");
        assert_eq!(
            passed(&mut sfb, 4 * gap_ms, 1000 / gap_ms),
            expected,
            "{gap_ms} ms"
        );
        // After an idle time the burst again.
        sfb.penalty.tokens = 0;
        assert_eq!(passed(&mut sfb, 5000, 4), 4);
        let state = counted(&sfb);
        assert_eq!(state.penalty_dropped_pkts, 1000 / gap_ms - expected);
        assert_eq!(state.largest_probability_steps, MOST_STEPS);
        assert_eq!(
            enqueue(&mut sfb, of(6), at_ms(6000)),
            Ok(()),
            "another flow"
        );
    }
}

/// With a rate or a burst of 0 none pass (`sfb_rate_limit`).
#[test]
fn without_a_penalty_rate_or_burst_none_pass() {
    for words in ["penalty_rate 0", "penalty_burst 0"] {
        let mut sfb = sfb(&format!("sfb decrement 0 {words}"));
        set_steps(&mut sfb, 5, MOST_STEPS);
        let refused = enqueue(&mut sfb, of(5), at_ms(60_000));
        assert_eq!(refused, Err(DropReason::SfbPenalty), "{words}");
    }
}

/// Tokens are of at most ten seconds, and computed in whole ticks.
#[test]
fn tokens_are_computed_in_ticks_of_at_most_ten_seconds() {
    let mut of_ticks = Penalty {
        rate_pps: 3,
        burst_packets: 1000,
        tokens: 0,
        computed: 0,
        ticks_per_s: 250,
    };
    assert!(of_ticks.refuses(83), "83 x 3 / 250 is below 1");
    assert_eq!(of_ticks.computed, 83, "what was left of a token is lost");
    assert!(of_ticks.refuses(84 + 82));
    assert!(!of_ticks.refuses(84 + 82 + 84));
    assert!(!of_ticks.refuses(1_000_000));
    assert_eq!(of_ticks.tokens, 29, "of 30");
}

/// A packet is dropped if each of its bins has `max` packets.
#[test]
fn a_flow_has_at_most_max_packets() {
    let mut sfb = sfb("sfb max 6 target 5 increment 0");
    for _ in 0..6 {
        assert_eq!(enqueue(&mut sfb, of(5), Time::ZERO), Ok(()));
    }
    assert_eq!(
        enqueue(&mut sfb, of(5), Time::ZERO),
        Err(DropReason::SfbBinFull)
    );
    assert_eq!(enqueue(&mut sfb, of(6), Time::ZERO), Ok(()));
    let state = counted(&sfb);
    assert_eq!(
        (state.bin_dropped_pkts, state.longest_bin_pkts >= 6),
        (1, true)
    );
    assert_eq!(sfb.backlog(), (7, 7000));
}

#[test]
fn a_full_queue_takes_no_packet_and_learns_nothing() {
    let mut sfb = sfb("sfb limit 2 target 1 increment 0.5 max 50");
    for flow in [5, 6] {
        assert_eq!(enqueue(&mut sfb, of(flow), Time::ZERO), Ok(()));
    }
    let before = sfb.sets[0].levels;
    assert_eq!(
        enqueue(&mut sfb, of(5), Time::ZERO),
        Err(DropReason::Overlimit)
    );
    assert_eq!(sfb.sets[0].levels, before);
    assert_eq!(counted(&sfb).limit_dropped_pkts, 1);
}

/// Section 4.4: the hash moves; the packets that wait leave the bins that they entered.
#[test]
fn the_key_changes_after_each_period() {
    let mut sfb = sfb("sfb rehash 100 db 0 decrement 0");
    assert_eq!(enqueue(&mut sfb, of(5), Time::ZERO), Ok(()));
    let keys = [sfb.sets[0].key, sfb.sets[1].key];
    assert_eq!(enqueue(&mut sfb, of(5), at_ms(100)), Ok(()), "not yet");
    assert_eq!((sfb.active, sfb.sets[0].key), (0, keys[0]));
    assert_eq!(enqueue(&mut sfb, of(5), at_ms(101)), Ok(()));
    assert_eq!((sfb.active, sfb.sets[1].key), (1, keys[1]));
    assert_ne!(sfb.sets[0].key, keys[0], "drawn anew for the next change");
    let packets = |sfb: &Sfb| {
        [0, 1].map(|set| {
            sfb.sets[set].levels[0]
                .iter()
                .map(|bin| bin.packets)
                .sum::<u16>()
        })
    };
    assert_eq!(packets(&sfb), [2, 1]);
    for expected in [[1, 1], [0, 1], [0, 0]] {
        assert!(matches!(
            sfb.dequeue(at_ms(102), &mut EVENTS()),
            Dequeued::Packet(_)
        ));
        assert_eq!(packets(&sfb), expected);
    }
    assert_eq!(enqueue(&mut sfb, of(5), at_ms(201)), Ok(()));
    assert_eq!(sfb.active, 1, "the period counts from the change");
    assert_eq!(enqueue(&mut sfb, of(5), at_ms(202)), Ok(()));
    assert_eq!(sfb.active, 0);
}

/// Section 4.4 and tc-sfb(8), `db`: a flow that does not respond raises the next set's probabilities before
/// the change, so that it is limited right after it; others do not.
#[test]
fn the_next_bins_are_warmed_up_by_flows_that_do_not_respond() {
    for (db_ms, expected) in [(40, 30), (0, 0)] {
        let mut sfb = sfb(&format!(
            "sfb rehash 100 db {db_ms} target 20 max 900 increment 1 decrement 0 penalty_rate 1000"
        ));
        set_steps(&mut sfb, 5, MOST_STEPS);
        let other = (6..)
            .find(|flow| bins_of(&sfb, 0, *flow).iter().any(|bin| bin.steps == 0))
            .unwrap();
        for ms in 0..=60 {
            assert_eq!(enqueue(&mut sfb, of(5), at_ms(ms)), Ok(()));
        }
        assert_eq!(
            sfb.sets[1].levels,
            [[Bin::default(); BINS]; LEVELS],
            "not before"
        );
        for ms in 61..=90 {
            assert_eq!(enqueue(&mut sfb, of(5), at_ms(ms)), Ok(()));
            if ms % 3 == 0 {
                assert_eq!(enqueue(&mut sfb, of(other), at_ms(ms)), Ok(()));
            }
        }
        let warmed: u16 = sfb.sets[1].levels[0].iter().map(|bin| bin.packets).sum();
        assert_eq!(warmed, expected, "packets of flow 5 alone");
        let _ = enqueue(&mut sfb, of(5), at_ms(101));
        assert_eq!(sfb.active, 1);
        let is_limited = bins_of(&sfb, 1, 5).iter().all(|bin| bin.steps == 0xFFFF);
        assert_eq!(is_limited, db_ms > 0);
    }
}

/// A period is rounded up to whole ticks; 0 is never.
#[test]
fn periods_are_whole_ticks() {
    let coarse = sfb_at("sfb rehash 6 db 1", 250);
    assert_eq!((coarse.rehash.period, coarse.rehash.warm_up), (2, 1));
    let mut never = sfb("sfb rehash 0");
    let key = never.sets[0].key;
    assert_eq!(enqueue(&mut never, of(5), at_ms(10_000_000)), Ok(()));
    assert_eq!((never.active, never.sets[0].key), (0, key));
}

/// Section 3: BLUE finds the probability that fits the load by itself: one half where twice as many packets
/// arrive as leave. A sparse flow with bins of its own loses none.
#[test]
fn the_probability_comes_to_fit_the_load() {
    let mut sfb = sfb("sfb increment 0.002 decrement 0.002");
    let mut alone = sfb.clone();
    set_steps(&mut alone, 5, MOST_STEPS);
    let shares_few = |flow: &u32| {
        let bins = bins_of(&alone, 0, *flow);
        bins.iter().filter(|bin| bin.steps > 0).count() < 3
    };
    let sparse = (6..).find(shares_few).unwrap();
    let (mut steps, mut refused) = (0, 0);
    for ms in 0..20_000 {
        let _ = enqueue(&mut sfb, of(5), at_ms(ms));
        if ms % 50 == 0 {
            refused += u32::from(enqueue(&mut sfb, of(sparse), at_ms(ms)).is_err());
        }
        if ms % 2 == 0 {
            sfb.dequeue(at_ms(ms), &mut EVENTS());
        }
        if ms >= 10_000 {
            let least = bins_of(&sfb, 0, 5)
                .iter()
                .map(|bin| u64::from(bin.steps))
                .min();
            steps += least.unwrap();
        }
    }
    let probability = steps as f64 / 10_000.0 / f64::from(MOST_STEPS);
    assert!((probability - 0.5).abs() < 0.05, "{probability}");
    assert_eq!(refused, 0);
    assert_eq!(counted(&sfb).penalty_dropped_pkts, 0);
}

#[test]
fn the_inner_queue_may_be_another_fifo() {
    let config =
        dumbbell_tc::parse_qdisc("root handle 1: sfb; parent 1:1 bfifo limit 2500").unwrap();
    let mut queue = Qdisc::new(&config, &Setting::for_tests());
    let events = &mut EVENTS();
    for expected in [Ok(()), Ok(()), Err(DropReason::Overlimit)] {
        assert_eq!(queue.enqueue(of(5), Time::ZERO, events), expected);
    }
    let Some(OwnState::Sfb(state)) = queue.own_state() else {
        panic!("sfb counts")
    };
    assert_eq!((state.child_dropped_pkts, state.limit_dropped_pkts), (1, 0));
    assert_eq!(state.longest_bin_pkts, 2, "the refused packet is in no bin");
    assert_eq!(
        queue.peek(Time::ZERO, events),
        Some(Dequeued::Packet(of(5)))
    );
}

/// Every queue that is emptied leaves all bins empty, whatever the keys were.
#[test]
fn bins_are_empty_when_the_queue_is() {
    let mut sfb =
        sfb("sfb rehash 7 db 5 target 2 max 9 increment 0.2 decrement 0.01 penalty_rate 500");
    let mut now_ms = 0;
    for round in 0..200u32 {
        for number in 0..20 {
            let _ = enqueue(&mut sfb, of((round * number) % 11), at_ms(now_ms));
            now_ms += u64::from(number % 3 == 0);
            if number % 4 == 0 {
                sfb.dequeue(at_ms(now_ms), &mut EVENTS());
            }
        }
        while let Dequeued::Packet(_) = sfb.dequeue(at_ms(now_ms), &mut EVENTS()) {}
        for set in &sfb.sets {
            assert!(set.levels.iter().flatten().all(|bin| bin.packets == 0));
        }
        assert!(sfb.hashes.is_empty());
    }
    assert!(counted(&sfb).bin_dropped_pkts > 0);
}

/// A bin counts to 65535, as Linux's 16 bits do.
#[test]
fn a_bin_counts_sixteen_bits() {
    let mut bins = Bins::new(1);
    let hash = bins.hash_of(&of(5));
    for _ in 0..70_000 {
        bins.add(hash);
    }
    let blue = Blue {
        target_packets: 65_535,
        increment_steps: 1,
        decrement_steps: 0,
    };
    assert_eq!(
        bins.on_arrival(hash, &blue),
        Least {
            packets: 65_535,
            steps: 1
        }
    );
}
