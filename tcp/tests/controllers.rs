//! Controllers over an ideal bottleneck: response functions, what is in flight, and the window
//! round trip by round trip.

mod bottleneck;

use bottleneck::{Bottleneck, Path, options};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use std::fmt::Write as _;

const fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

/// 12.6 Mbit/s of full packets and 100 ms: 105 packets.
const LINK: Path = Path {
    pkts_per_s: 1050,
    base_rtt: ms(100),
    buffer_pkts: 105,
    lose_every: 0,
};

/// Packets delivered per round-trip time over a path that loses every so manieth packet and
/// never queues, from `from` to `to` seconds.
fn mean_window(
    name: &str,
    profile: Profile,
    rtt: Time,
    lose_every: u64,
    from: u64,
    to: u64,
) -> f64 {
    let path = Path {
        pkts_per_s: 0,
        base_rtt: rtt,
        buffer_pkts: 0,
        lose_every,
    };
    let mut bottleneck = Bottleneck::new(name, &options(profile), path);
    bottleneck.run(ms(from * 1000), |_| {});
    let before = bottleneck.delivered_pkts;
    bottleneck.run(ms(to * 1000), |_| {});
    let delivered = (bottleneck.delivered_pkts - before) as f64;
    delivered * rtt.as_seconds() / (to - from) as f64
}

/// Mean of what is in flight, packets, and of the link's rate what is delivered, from 50 to 250 s.
fn long_run(name: &str, profile: Profile, path: Path) -> (f64, f64) {
    let mut bottleneck = Bottleneck::new(name, &options(profile), path);
    bottleneck.run(ms(50_000), |_| {});
    let (before, begin) = (bottleneck.delivered_pkts, bottleneck.now);
    let (mut area, mut last) = (0.0, begin);
    bottleneck.run(ms(250_000), |bottleneck| {
        let span = (bottleneck.now - last).as_seconds();
        area += span * f64::from(bottleneck.in_flight_pkts());
        last = bottleneck.now;
    });
    let elapsed_s = (bottleneck.now - begin).as_seconds();
    let delivered = (bottleneck.delivered_pkts - before) as f64;
    let utilization = delivered / elapsed_s / path.pkts_per_s as f64;
    (area / elapsed_s, utilization)
}

fn assert_within(name: &str, got: f64, exact: f64, share: f64) {
    let off = got / exact - 1.0;
    assert!(
        off.abs() < share,
        "{name}: {got:.2} against {exact:.2}, {off:+.3}"
    );
}

#[test]
fn renos_window_is_the_root_of_three_halves_of_the_loss_interval() {
    // Mathis et al., 1997, with an acknowledgement for every packet: sqrt(1.5 / p).
    for lose_every in [300, 1000, 5000] {
        for profile in [Profile::Linux61, Profile::Rfc] {
            let got = mean_window("reno", profile, ms(50), lose_every, 50, 250);
            let exact = (1.5 * lose_every as f64).sqrt();
            assert_within(&format!("{profile:?} 1/{lose_every}"), got, exact, 0.1);
        }
    }
}

/// RFC 9438 section 5.1, figure 5, with C = 0.4.
fn cubics_response(rtt: Time, lose_every: u64) -> f64 {
    let exact = 1.054 * libm::pow(rtt.as_seconds() * lose_every as f64, 0.75);
    // CUBIC's window is the larger of this and of Reno's, which must be less here.
    assert!(exact > 1.2 * (1.5 * lose_every as f64).sqrt());
    exact
}

#[test]
fn cubics_window_is_rfc_9438s_response_function_above_the_reno_region() {
    for (rtt, lose_every) in [(ms(200), 20_000), (ms(100), 100_000), (ms(50), 400_000)] {
        for profile in [Profile::Linux61, Profile::Rfc] {
            let got = mean_window("cubic", profile, rtt, lose_every, 200, 800);
            let exact = cubics_response(rtt, lose_every);
            let name = format!("{profile:?} 1/{lose_every} {rtt:?}");
            assert_within(&name, got, exact, 0.15);
        }
    }
}

#[test]
fn in_small_windows_linuxs_plateau_begins_early() {
    // Linux rounds C (K - t)^3 down, so its goal is W_max from cbrt(1 / 0.4) = 1.36 s before K
    // on. Under periodic loss every cycle between K - 1.36 s and K + 1.36 s repeats itself; here
    // K is 4.5 s, and the window is found up to a quarter above the response function.
    let exact = cubics_response(ms(100), 5000);
    let rfc = mean_window("cubic", Profile::Rfc, ms(100), 5000, 200, 800);
    assert_within("rfc", rfc, exact, 0.15);
    let linux = mean_window("cubic", Profile::Linux61, ms(100), 5000, 200, 800);
    assert!(
        (0.85..1.3).contains(&(linux / exact)),
        "{linux} against {exact}"
    );
}

#[test]
fn cubic_is_reno_where_reno_is_faster() {
    for profile in [Profile::Linux61, Profile::Rfc] {
        let got = mean_window("cubic", profile, ms(10), 1000, 20, 80);
        assert_within(&format!("{profile:?}"), got, 1500f64.sqrt(), 0.15);
    }
}

#[test]
fn scalables_losses_are_as_far_apart_at_any_rate() {
    // Kelly, section 3: from 7/8 of the window a hundredth more each round trip, whatever the
    // window is: ln(8/7) / ln(1.01) = 13.4 round trips between two losses.
    let round_trips = libm::log(8.0 / 7.0) / libm::log(1.01);
    for lose_every in [2000, 5000, 10_000] {
        for profile in [Profile::Linux61, Profile::Rfc] {
            let got = mean_window("scalable", profile, ms(50), lose_every, 50, 250);
            let exact = lose_every as f64 / round_trips;
            assert_within(&format!("{profile:?} 1/{lose_every}"), got, exact, 0.1);
        }
    }
}

#[test]
fn highspeeds_window_is_rfc_3649s_response_function() {
    // Section 5: 0.12 / p^0.835 packets above 38, such as 263 at 10^-4 and 1795 at 10^-5.
    for (lose_every, exact) in [(10_000, 263.0), (30_000, 659.0), (100_000, 1795.0)] {
        for profile in [Profile::Linux61, Profile::Rfc] {
            let got = mean_window("highspeed", profile, ms(50), lose_every, 50, 150);
            // Linux takes a(w) up to the next whole number.
            let share = if profile == Profile::Rfc { 0.1 } else { 0.15 };
            assert_within(&format!("{profile:?} 1/{lose_every}"), got, exact, share);
        }
    }
    // And below it is Reno.
    let got = mean_window("highspeed", Profile::Rfc, ms(50), 300, 50, 250);
    let renos = mean_window("reno", Profile::Rfc, ms(50), 300, 50, 250);
    assert_within("reno", got, renos, 0.01);
}

#[test]
fn westwood_drains_the_queue_at_a_loss_and_fills_it_again() {
    // From the product of 105 packets to twice that, a packet each round trip: always busy, and
    // on the average half of the queue.
    for profile in [Profile::Linux61, Profile::Rfc] {
        let (mean_pkts, utilization) = long_run("westwood", profile, LINK);
        assert_within(&format!("{profile:?}"), mean_pkts, 1.5 * 105.0, 0.1);
        assert!(utilization > 0.99, "{profile:?} {utilization}");
    }
    // Where losses are not of the queue, a half is cut from Reno and next to nothing from Westwood.
    let lossy = Path {
        buffer_pkts: 1000,
        lose_every: 2000,
        ..LINK
    };
    for profile in [Profile::Linux61, Profile::Rfc] {
        let (_, renos) = long_run("reno", profile, lossy);
        let (_, westwoods) = long_run("westwood", profile, lossy);
        assert!(renos < 0.6, "{profile:?} {renos}");
        assert!(westwoods > 0.95, "{profile:?} {westwoods}");
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_packets_in_the_queue() {
    let deep = Path {
        buffer_pkts: 1000,
        ..LINK
    };
    // Linux's integers call up to 5 packets 4.
    for (profile, alpha, beta) in [(Profile::Rfc, 1.0, 3.0), (Profile::Linux61, 2.0, 5.0)] {
        let (mean_pkts, utilization) = long_run("vegas", profile, deep);
        let queued_pkts = mean_pkts - 105.0;
        assert!(
            (alpha - 1.0..=beta + 1.0).contains(&queued_pkts),
            "{profile:?} {queued_pkts}"
        );
        assert!(utilization > 0.99, "{profile:?} {utilization}");
    }
}

#[test]
fn ledbat_plus_plus_keeps_its_queue_below_the_target() {
    // 60 ms are 63 packets. A slowdown costs at most a tenth of the time: it comes again after nine
    // times as long.
    let deep = Path {
        buffer_pkts: 1000,
        ..LINK
    };
    for profile in [Profile::Rfc, Profile::Linux61] {
        let (mean_pkts, utilization) = long_run("ledbat++", profile, deep);
        assert!(
            (105.0 * 0.9..=105.0 + 63.0).contains(&mean_pkts),
            "{profile:?} {mean_pkts}"
        );
        assert!(
            (0.9..1.0).contains(&utilization),
            "{profile:?} {utilization}"
        );
    }
}

#[test]
fn htcp_takes_as_much_as_empties_the_queue() {
    // Half a product of queue: RTTmin / RTTmax = 2/3, so the link is busy all the time, where
    // Reno, which halves, leaves it idle.
    let path = Path {
        buffer_pkts: 53,
        ..LINK
    };
    for profile in [Profile::Linux61, Profile::Rfc] {
        let (_, utilization) = long_run("htcp", profile, path);
        assert!(utilization > 0.99, "{profile:?} {utilization}");
        let (_, renos) = long_run("reno", profile, path);
        assert!(renos < utilization, "{profile:?} {renos}");
    }
}

#[test]
fn illinois_slows_down_as_its_queue_grows() {
    // The time at small queues is short and that at large ones long: the window is larger than
    // Reno's, which grows evenly.
    for profile in [Profile::Linux61, Profile::Rfc] {
        let (mean_pkts, utilization) = long_run("illinois", profile, LINK);
        let (renos_pkts, _) = long_run("reno", profile, LINK);
        assert!(mean_pkts > 1.05 * renos_pkts, "{mean_pkts} {renos_pkts}");
        assert!(utilization > 0.99, "{profile:?} {utilization}");
    }
}

#[test]
fn bbr_alone_keeps_1_to_1_3_products_in_flight_outside_probe_rtt() {
    let bdp = 105.0;
    let deep = Path {
        buffer_pkts: 1000,
        ..LINK
    };
    let mut bottleneck = Bottleneck::new("bbr", &options(Profile::Linux61), deep);
    bottleneck.run(ms(5000), |_| {});
    let (mut area, mut last, mut time) = (0.0, bottleneck.now, 0.0);
    let before = (bottleneck.delivered_pkts, bottleneck.now);
    let mut most = 0;
    let mut emptied = 0;
    bottleneck.run(ms(60_000), |bottleneck| {
        let span = (bottleneck.now - last).as_seconds();
        last = bottleneck.now;
        if bottleneck.cca.limits_itself() {
            emptied += 1;
            return;
        }
        area += span * f64::from(bottleneck.in_flight_pkts());
        time += span;
        most = most.max(bottleneck.in_flight_pkts());
    });
    let mean = area / time / bdp;
    assert!((1.0..=1.3).contains(&mean), "{mean}");
    assert!(f64::from(most) <= 1.35 * bdp, "{most}");
    assert!(emptied > 0);
    let elapsed_s = (bottleneck.now - before.1).as_seconds();
    let utilization = (bottleneck.delivered_pkts - before.0) as f64 / elapsed_s / 1050.0;
    assert!((0.95..=1.0).contains(&utilization), "{utilization}");
    assert_eq!(bottleneck.lost_pkts, 0);
}

/// Mean packets in flight outside ProbeRTT in products of rate and delay, utilization, and the share of packets
/// lost, from the 5th to the 60th second.
fn model_based_run(name: &str, buffer_pkts: u64) -> (f64, f64, f64) {
    let path = Path {
        buffer_pkts,
        ..LINK
    };
    let mut bottleneck = Bottleneck::new(name, &options(Profile::Linux61), path);
    bottleneck.run(ms(5000), |_| {});
    let (mut area, mut last, mut time) = (0.0, bottleneck.now, 0.0);
    let before = (
        bottleneck.delivered_pkts,
        bottleneck.lost_pkts,
        bottleneck.now,
    );
    bottleneck.run(ms(60_000), |bottleneck| {
        let span = (bottleneck.now - last).as_seconds();
        last = bottleneck.now;
        if !bottleneck.cca.limits_itself() {
            area += span * f64::from(bottleneck.in_flight_pkts());
            time += span;
        }
    });
    let elapsed_s = (bottleneck.now - before.2).as_seconds();
    let delivered_pkts = (bottleneck.delivered_pkts - before.0) as f64;
    let lost_pkts = (bottleneck.lost_pkts - before.1) as f64;
    let bdp_pkts = 105.0;
    let utilization = delivered_pkts / elapsed_s / 1050.0;
    let share_lost = lost_pkts / (delivered_pkts + lost_pkts);
    (area / time / bdp_pkts, utilization, share_lost)
}

/// A quarter of the product, one and ten of them.
#[test]
fn bbr3_loses_little_in_small_buffers_and_queues_little_in_large_ones() {
    for (buffer_pkts, most_lost) in [(26, 0.01), (105, 0.0), (1050, 0.0)] {
        let (products, utilization, lost) = model_based_run("bbr3", buffer_pkts);
        assert!(
            (0.95..=1.1).contains(&products),
            "{buffer_pkts}: {products}"
        );
        assert!(
            (0.95..=1.0).contains(&utilization),
            "{buffer_pkts}: {utilization}"
        );
        assert!(lost <= most_lost, "{buffer_pkts}: {lost}");
    }
}

/// The window at the end of every round trip without queueing (100 ms), for ten seconds.
fn windows(name: &str, profile: Profile) -> String {
    let mut bottleneck = Bottleneck::new(name, &options(profile), LINK);
    let mut text = format!("{name}, {profile:?}: window and packets in flight, every 500 ms\n");
    for half_seconds in 1..=40 {
        bottleneck.run(ms(500 * half_seconds), |_| {});
        let (cwnd, in_flight) = (bottleneck.window.cwnd_pkts, bottleneck.in_flight_pkts());
        let _ = writeln!(
            text,
            "{:>5} ms {cwnd:>5} {in_flight:>5} lost {}",
            500 * half_seconds,
            bottleneck.lost_pkts
        );
    }
    text
}

#[test]
fn the_windows_of_twenty_seconds() {
    for (name, profile) in [
        ("reno", Profile::Linux61),
        ("cubic", Profile::Linux61),
        ("cubic", Profile::Rfc),
        ("bbr", Profile::Linux61),
    ] {
        insta::assert_snapshot!(format!("{name}_{profile:?}"), windows(name, profile));
    }
}
