//! Floyd and Jacobson's paper by its sections.

use super::*;
use dumbbell_core::packet::PacketKind;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn packet(number: u32) -> Packet {
    Packet::new(PacketKind::Udp, 0, number, 986, Time::ZERO)
}

fn red(words: &str) -> Red {
    red_at(words, Above::Shaper)
}

fn red_at(words: &str, above: Above) -> Red {
    let dumbbell_tc::Qdisc::Red(config) = dumbbell_tc::parse_qdisc(words).unwrap() else {
        panic!("{words} is red");
    };
    let setting = Setting {
        above,
        ..Setting::for_tests()
    };
    Red::build(&config, &setting)
}

const WORDS: &str = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02";

/// Sets the average, bytes.
fn set_average(red: &mut Red, bytes: u64) {
    red.average.average = bytes << red.average.weight_log2;
    red.average.idle_since = None;
}

/// Section 4, equation 1: avg <- (1 - W) avg + W q.
#[test]
fn the_average_follows_with_its_weight() {
    let mut red = red(WORDS);
    set_average(&mut red, 0);
    let weight = 2f64.powi(-(red.average.weight_log2 as i32));
    // 55 + 1 - 30 = 26 <= (1 - (1 - W)^55) / W, which is 26.4 at 1/32 and 20.9 at 1/16.
    assert_eq!(weight, 1.0 / 32.0);
    let mut expected = 0.0;
    for _ in 0..500 {
        red.average.update(50_000, Time::ZERO);
        expected += weight * (50_000.0 - expected);
        let found = red.average.average as f64 * weight;
        assert!(
            (found - expected).abs() < 70.0,
            "{found} instead of {expected}"
        );
    }
}

/// Section 7, method 2: with p_b constant the number of packets between two drops is uniform on
/// 1 ... 1 / p_b, so its mean is (1 / p_b + 1) / 2, and none is longer.
#[test]
fn drops_are_uniform_between_the_thresholds() {
    for (bytes, share) in [(36_000, 0.1), (60_000, 0.5), (84_000, 0.9)] {
        let mut red = red(WORDS);
        set_average(&mut red, bytes);
        let longest = 1.0 / (0.02 * share);
        let (mut gaps, mut since) = (Vec::new(), 0u32);
        while gaps.len() < 4000 {
            since += 1;
            if red.average.judge(&mut red.stream) == Verdict::Early {
                gaps.push(f64::from(since));
                since = 0;
            }
        }
        gaps.remove(0); // the count begins after the first packet above min
        let largest = gaps.iter().copied().fold(0.0, f64::max);
        assert!(
            largest <= longest + 1.0 && largest > 0.99 * longest,
            "{largest}"
        );
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let expected = (longest + 1.0) / 2.0;
        // Five standard errors of a uniform's mean.
        let error = 5.0 * longest / 12f64.sqrt() / 4000f64.sqrt();
        assert!(
            (mean - expected).abs() < error,
            "{mean} instead of {expected}"
        );
        let probability = red.statistics().drop_probability;
        assert!((probability - 0.02 * share).abs() < 1e-6);
    }
}

/// Figure 2: nothing below `min`, everything from `max` on.
#[test]
fn below_min_nothing_and_from_max_on_everything() {
    let mut red = red(WORDS);
    let mut verdict = |bytes| {
        set_average(&mut red, bytes);
        red.average.judge(&mut red.stream)
    };
    assert!((0..10_000).all(|_| verdict(29_999) == Verdict::Pass));
    assert!((0..100).all(|_| verdict(90_000) == Verdict::Forced));
}

/// ECN in its four kinds: what becomes of a capable and of another packet from `max` on.
#[test]
fn marks_in_place_of_drops() {
    let forced = |flags: &str, traffic_class| {
        let mut red = red(&format!("{WORDS} {flags}"));
        set_average(&mut red, 200_000);
        let mut arriving = packet(1);
        arriving.traffic_class = traffic_class;
        let events = &mut Events::default();
        let taken = red.enqueue(arriving, Time::ZERO, events);
        (taken.is_ok(), events.marked.len())
    };
    for (flags, capable, other) in [
        ("", (false, 0), (false, 0)),
        ("ecn", (true, 1), (false, 0)),
        ("ecn harddrop", (false, 0), (false, 0)),
        ("ecn nodrop", (true, 1), (true, 0)),
    ] {
        assert_eq!(forced(flags, 0b10), capable, "{flags}");
        assert_eq!(forced(flags, 0), other, "{flags}");
    }
}

/// Section 4, with tc's table: the average halves with idle time, where the discipline is asked
/// while it is empty; below a shaper it does not change.
#[test]
fn the_average_decays_while_idle() {
    let idle = |above, ms: u64| {
        let mut red = red_at(WORDS, above);
        set_average(&mut red, 60_000);
        assert_eq!(
            red.dequeue(Time::ZERO, &mut Events::default()),
            Dequeued::Empty
        );
        let now = Time::from_ns(ms * MS);
        red.enqueue(packet(1), now, &mut Events::default()).ok();
        (red.average.average >> red.average.weight_log2) as f64
    };
    // An arrival at an empty queue: one step of the average.
    assert!((idle(Above::Shaper, 10_000) - 60_000.0 * 31.0 / 32.0).abs() < 2.0);
    // Cells of 32768 us: half a cell on a straight line, then half until the first entry of 1.
    let decay = |ms: u64| idle(Above::Device, ms) / 60_000.0;
    assert_eq!(decay(0), 1.0);
    assert!(
        (decay(10) - (1.0 - 10_000.0 / 32_768.0)).abs() < 1e-3,
        "{}",
        decay(10)
    );
    assert!((decay(300) - 0.5).abs() < 1e-4);
    // tc's table is in ticks of 64 ns and read by microseconds: t / 12.5 ms packets of 0.8 ms,
    // each (1 - W), as a power of two instead of e.
    let packets = 1e6 / 12_500.0;
    let halvings = (packets * -libm::log(31.0 / 32.0)) as i32;
    assert!(
        (decay(1000) - 0.5f64.powi(halvings)).abs() < 1e-4,
        "{}",
        decay(1000)
    );
    let later: Vec<f64> = [1000, 2000, 4000, 8000].map(decay).to_vec();
    assert!(later.is_sorted_by(|a, b| a > b), "{later:?}");
    assert!(decay(60_000) < 1e-4);
}

/// Adaptive RED, section 4.1 of its paper: above the target up by min(0.01, p / 4), below it to
/// 0.9 p, each half second, between 1 % and 50 %.
#[test]
fn the_probability_adapts() {
    let mut red = red(&format!("{WORDS} adaptive"));
    let percent = |red: &Red| 100.0 * f64::from(red.average.probability) / 2f64.powi(32);
    set_average(&mut red, 80_000);
    red.catch_up(Time::from_ns(500 * MS + 1));
    assert!((percent(&red) - 2.5).abs() < 1e-4);
    for _ in 0..200 {
        red.average.adapt(red.average.side(Time::ZERO));
    }
    assert!((50.0..=51.0).contains(&percent(&red)), "{}", percent(&red));
    set_average(&mut red, 60_000);
    red.average.adapt(red.average.side(Time::ZERO));
    let kept = percent(&red);
    set_average(&mut red, 40_000);
    red.average.adapt(red.average.side(Time::ZERO));
    assert!((percent(&red) / kept - 0.9).abs() < 1e-4);
    for _ in 0..200 {
        red.average.adapt(red.average.side(Time::ZERO));
    }
    assert!((0.89..1.0).contains(&percent(&red)), "{}", percent(&red));
}

/// A burst of `burst` packets into an empty queue is not touched (tc's inequality, section 6).
#[test]
fn the_stated_burst_passes() {
    for (burst, min) in [(55, 30_000), (20, 10_000), (100, 60_000)] {
        let words = format!("red limit 1mb min {min} max 200000 avpkt 1000 burst {burst}");
        let mut red = red(&words);
        let events = &mut Events::default();
        for number in 0..burst {
            red.enqueue(packet(number), Time::ZERO, events).unwrap();
        }
        assert!(red.average.average < red.average.min, "{words}");
    }
}

/// A queue that gets 1.02 packets for each that leaves, for reading.
#[test]
fn an_overloaded_queue_as_text() {
    let mut red = red(&WORDS.replace("probability 0.02", "probability 0.1"));
    let events = &mut Events::default();
    let mut refused = std::collections::BTreeMap::new();
    let mut lines = Vec::new();
    for slot in 1..=20_000u32 {
        for _ in 0..1 + u32::from(slot % 50 == 0) {
            if let Err(reason) = red.enqueue(packet(slot), Time::ZERO, events) {
                *refused.entry(reason).or_insert(0) += 1;
            }
        }
        red.dequeue(Time::ZERO, events);
        if slot % 4000 == 0 {
            let (packets, _) = red.backlog();
            let average = red.average.average >> red.average.weight_log2;
            lines.push(format!(
                "{slot:5} packets out: {packets} wait, average {average} bytes, {refused:?}"
            ));
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// A queue whose adaptations are done one after the other.
fn adapt_one_by_one(red: &mut Red, now: Time) {
    while red.next_adaptation < now {
        let side = red.average.side(red.next_adaptation);
        red.average.adapt(side);
        red.next_adaptation += red.adaptation_period;
    }
}

proptest! {
    /// What a long time brings at once is what it brings step by step: while packets wait, and while the
    /// queue is idle and its average sinks.
    #[test]
    fn adaptations_of_a_long_time_are_those_one_by_one(
        average_bytes in 0u64..200_000,
        share in 0.0f64..0.6,
        is_idle in any::<bool>(),
        weight in 0usize..3,
        spans_ms in prop::collection::vec(1u64..400_000, 1..6),
    ) {
        let words = [
            WORDS,
            "red limit 1mb min 30000 max 90000 avpkt 1000 burst 985 probability 0.02",
            "red limit 1mb min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10kbit probability 0.02",
        ][weight];
        let mut red = red(&format!("{words} adaptive"));
        set_average(&mut red, average_bytes);
        red.average.probability = (share * 2f64.powi(32)) as u32;
        let mut now = Time::ZERO;
        for (index, span_ms) in spans_ms.into_iter().enumerate() {
            if is_idle && index == 0 {
                red.average.idle_since = Some(now);
            }
            now += Time::from_ns(span_ms * MS + 1);
            let mut ticking = red.clone();
            adapt_one_by_one(&mut ticking, now);
            red.catch_up(now);
            prop_assert_eq!(format!("{red:?}"), format!("{ticking:?}"));
        }
    }
}

/// Two hundred days of half seconds, again and again.
#[test]
fn the_probability_comes_to_its_bound_and_stays() {
    for is_idle in [false, true] {
        let mut red = red(&format!("{WORDS} adaptive"));
        set_average(&mut red, 150_000);
        red.average.idle_since = is_idle.then_some(Time::ZERO);
        for day in 1..=200 {
            red.catch_up(Time::from_ns(day * 86_400_000 * MS + 1));
        }
        let percent = 100.0 * f64::from(red.average.probability) / 2f64.powi(32);
        assert_eq!(percent > 50.0, !is_idle, "{percent}");
        assert_eq!(percent < 1.0, is_idle, "{percent}");
    }
}
