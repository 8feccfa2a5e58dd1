use super::*;
use crate::cca::RateSample;
use crate::cca::testing::{ack, fresh_window, ms, options, snapshot};
use dumbbell_spec::tcp::Profile;

const RTT: Time = ms(40);

/// An acknowledgement of a packet that was delivered at `pkts_per_s`, in a round of its own.
fn delivered(now: Time, delivered_pkts: u64, pkts_per_s: u64) -> Ack {
    let base = ack(now, 1, RTT);
    let sample_pkts = pkts_per_s * RTT.as_ns() / 1_000_000_000;
    Ack {
        delivered_pkts,
        in_flight_pkts: 40,
        rate: RateSample {
            delivered_pkts: sample_pkts as i64,
            prior_delivered_pkts: delivered_pkts - 1,
            interval: RTT,
            prior_in_flight_pkts: 40,
            ..base.rate
        },
        ..base
    }
}

fn started() -> (Bbr, Window) {
    let mut window = fresh_window(10);
    let mut bbr = Bbr::new(&options(Profile::Linux61), Time::ZERO);
    let established = Snapshot {
        srtt: Some(RTT),
        min_rtt: Some(RTT),
        ..snapshot(Time::ZERO)
    };
    bbr.init(&mut window, &established);
    (bbr, window)
}

/// Rounds of a constant delivery rate, each one acknowledgement, a round trip apart.
fn rounds(bbr: &mut Bbr, window: &mut Window, from: u64, count: u64, pkts_per_s: u64) -> u64 {
    for round in from + 1..=from + count {
        bbr.on_ack(
            window,
            &delivered(Time(RTT.0 * round), 40 * round, pkts_per_s),
        );
    }
    from + count
}

#[test]
fn gains_are_the_drafts() {
    let in_units = |gain: u32| f64::from(gain) / f64::from(UNIT_GAIN);
    assert!((in_units(HIGH_GAIN) - 2.885).abs() < 0.005);
    assert!((in_units(DRAIN_GAIN) * 2.885 - 1.0).abs() < 0.01);
    assert_eq!(in_units(CWND_GAIN), 2.0);
    assert_eq!(
        CYCLE.map(in_units),
        [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    );
    // A cycle as a whole neither builds nor drains.
    assert_eq!(CYCLE.map(in_units).iter().sum::<f64>(), 8.0);
}

#[test]
fn the_first_rate_is_the_window_in_a_round_trip_times_the_gain_of_startup() {
    let (_, window) = started();
    let exact = 10.0 * 1448.0 / 0.040 * 2.89 * 0.99;
    let off = window.pacing_rate_bytes_per_s as f64 / exact - 1.0;
    assert!(off.abs() < 0.005, "{off}");
}

#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let (mut bbr, mut window) = started();
    let mut round = 0;
    for pkts_per_s in [250, 500, 1000] {
        round = rounds(&mut bbr, &mut window, round, 1, pkts_per_s);
    }
    round = rounds(&mut bbr, &mut window, round, 2, 1000);
    assert_eq!(bbr.mode(), Mode::Startup);
    let fast = window.pacing_rate_bytes_per_s;
    // 46 in flight = 40 and three bursts of two: in the same acknowledgement drained.
    bbr.on_ack(
        &mut window,
        &Ack {
            in_flight_pkts: 60,
            ..delivered(Time(RTT.0 * 6), 240, 1000)
        },
    );
    assert_eq!(bbr.mode(), Mode::Drain);
    assert!(window.pacing_rate_bytes_per_s < fast / 8 + 1);
    bbr.on_ack(
        &mut window,
        &Ack {
            in_flight_pkts: 46,
            ..delivered(Time(RTT.0 * 7), 280, 1000)
        },
    );
    assert_eq!(bbr.mode(), Mode::ProbeBw);
    assert_eq!(round, 5);
}

/// In ProbeBw with 1000 packets a second and 40 ms: 40 packets.
fn probing() -> (Bbr, Window, u64) {
    let (mut bbr, mut window) = started();
    let round = rounds(&mut bbr, &mut window, 0, 10, 1000);
    assert_eq!(bbr.mode(), Mode::ProbeBw);
    (bbr, window, round)
}

#[test]
fn flows_start_in_any_phase_but_the_one_that_drains() {
    let mut seen = [0; 8];
    for seed in 0..300 {
        let mut options = options(Profile::Linux61);
        options.stream = Stream::new(seed, 0, "phase");
        let mut bbr = Bbr::new(&options, Time::ZERO);
        bbr.enter_probe_bw(Time::ZERO);
        seen[bbr.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    let others = [0, 2, 3, 4, 5, 6, 7].map(|phase: usize| seen[phase]);
    assert!(
        others.iter().all(|count| (20..70).contains(count)),
        "{seen:?}"
    );
}

#[test]
fn phases_cycle_and_probing_lasts_until_the_volume_is_in_flight() {
    let (mut bbr, mut window, _) = probing();
    bbr.phase = 7;
    bbr.phase_start = ms(0);
    bbr.update_gains();
    let mut now = ms(400);
    let mut delivered_pkts = 400;
    let mut step = |bbr: &mut Bbr, window: &mut Window, in_flight, losses_pkts| {
        now += ms(41);
        delivered_pkts += 41;
        let base = delivered(now, delivered_pkts, 1000);
        let rate = RateSample {
            prior_in_flight_pkts: in_flight,
            losses_pkts,
            ..base.rate
        };
        bbr.on_ack(window, &Ack { rate, ..base });
        bbr.phase
    };
    assert_eq!(step(&mut bbr, &mut window, 40, 0), 0);
    // 1.25 x 40 and room: 50 + 6 + 2 packets, less the burst about to leave.
    assert_eq!(step(&mut bbr, &mut window, 50, 0), 0);
    assert_eq!(step(&mut bbr, &mut window, 55, 0), 0);
    assert_eq!(step(&mut bbr, &mut window, 58, 0), 1);
    assert_eq!(step(&mut bbr, &mut window, 58, 0), 2);
    assert_eq!(step(&mut bbr, &mut window, 40, 0), 3);
    for phase in [4, 5, 6, 7, 0] {
        assert_eq!(step(&mut bbr, &mut window, 40, 0), phase);
    }
    // A loss ends probing at once, if a round trip has passed.
    assert_eq!(step(&mut bbr, &mut window, 50, 1), 1);
}

#[test]
fn the_window_is_two_products_with_room_for_bursts() {
    let (mut bbr, mut window, round) = probing();
    rounds(&mut bbr, &mut window, round, 100, 1000);
    // 2 x 40, an excess of acknowledgements of 1, three bursts of two, made even; two more while
    // probing.
    assert!(
        (86..=92).contains(&window.cwnd_pkts),
        "{}",
        window.cwnd_pkts
    );
}

#[test]
fn application_limited_samples_count_only_when_faster() {
    let (mut bbr, mut window, round) = probing();
    let limited = |round: u64, pkts_per_s| {
        let base = delivered(Time(RTT.0 * round), 40 * round, pkts_per_s);
        Ack {
            rate: RateSample {
                is_app_limited: true,
                ..base.rate
            },
            ..base
        }
    };
    let before = bbr.bandwidth_bytes_per_s(1448);
    for later in 1..30 {
        bbr.on_ack(&mut window, &limited(round + later, 500));
    }
    assert_eq!(bbr.bandwidth_bytes_per_s(1448), before);
    bbr.on_ack(&mut window, &limited(round + 30, 2000));
    assert!(bbr.bandwidth_bytes_per_s(1448) > 19 * before / 10);
}

#[test]
fn the_bandwidth_is_forgotten_after_ten_rounds() {
    let (mut bbr, mut window, round) = probing();
    rounds(&mut bbr, &mut window, round, 10, 500);
    assert!(bbr.bandwidth_bytes_per_s(1000) > 990_000);
    rounds(&mut bbr, &mut window, round + 10, 1, 500);
    assert!(bbr.bandwidth_bytes_per_s(1000) < 510_000);
}

#[test]
fn every_ten_seconds_the_pipe_is_emptied_for_200_ms_and_a_round_trip() {
    let (mut bbr, mut window, mut round) = probing();
    let until_probe = |bbr: &mut Bbr, window: &mut Window, round: &mut u64| {
        let slower = |round: u64| {
            let base = delivered(Time(RTT.0 * round), 40 * round, 1000);
            // Longer than the least, so that it expires.
            Ack {
                rate: RateSample {
                    rtt: Some(ms(45)),
                    ..base.rate
                },
                ..base
            }
        };
        while bbr.mode() != Mode::ProbeRtt {
            *round += 1;
            bbr.on_ack(window, &slower(*round));
        }
    };
    let before = window.cwnd_pkts;
    until_probe(&mut bbr, &mut window, &mut round);
    // The handshake's 40 ms is from the start: the first tick after 10 s.
    assert_eq!(round, 251);
    assert_eq!(bbr.min_rtt(), Some(ms(45)));
    assert_eq!(window.cwnd_pkts, 4);
    assert!(bbr.limits_itself());
    // With 40 in flight the clock does not run yet.
    round += 1;
    bbr.on_ack(
        &mut window,
        &delivered(Time(RTT.0 * round), 40 * round, 1000),
    );
    assert_eq!(bbr.probe_rtt_done_tick, None);
    let few = |round: u64| Ack {
        in_flight_pkts: 4,
        ..delivered(Time(RTT.0 * round), 40 * round, 1000)
    };
    round += 1;
    bbr.on_ack(&mut window, &few(round));
    let started = round;
    while bbr.mode() == Mode::ProbeRtt {
        round += 1;
        bbr.on_ack(&mut window, &few(round));
    }
    // More than 200 ms: the sixth round of 40 ms.
    assert_eq!(round - started, 6);
    assert_eq!(bbr.mode(), Mode::ProbeBw);
    assert!(window.cwnd_pkts >= before, "{} {before}", window.cwnd_pkts);
    assert!(!bbr.limits_itself());
}

#[test]
fn a_delayed_acknowledgement_does_not_renew_the_round_trip_time() {
    let (mut bbr, mut window, _) = probing();
    let late = delivered(ms(20_000), 20_000, 1000);
    let rate = RateSample {
        rtt: Some(ms(80)),
        is_ack_delayed: true,
        ..late.rate
    };
    bbr.on_ack(&mut window, &Ack { rate, ..late });
    assert_eq!(bbr.min_rtt(), Some(RTT));
}

#[test]
fn recovery_conserves_packets_for_a_round_trip_and_then_restores_the_window() {
    let (mut bbr, mut window, round) = probing();
    let before = window.cwnd_pkts;
    let in_state = |round: u64, state, losses_pkts, in_flight_pkts| {
        let base = delivered(Time(RTT.0 * round), 40 * round, 1000);
        // Of a round that has begun before.
        let rate = RateSample {
            losses_pkts,
            prior_delivered_pkts: 0,
            ..base.rate
        };
        Ack {
            state,
            in_flight_pkts,
            rate,
            ..base
        }
    };
    bbr.on_loss(&mut window, &snapshot(Time::ZERO));
    bbr.on_ack(&mut window, &in_state(round + 1, CaState::Recovery, 3, 50));
    assert_eq!(window.cwnd_pkts, 51); // what is in flight, and one for the one delivered
    bbr.on_ack(&mut window, &in_state(round + 2, CaState::Recovery, 2, 40));
    assert_eq!(window.cwnd_pkts, 49);
    bbr.on_ack(&mut window, &in_state(round + 3, CaState::Open, 0, 40));
    assert!(window.cwnd_pkts >= before, "{} {before}", window.cwnd_pkts);
}

#[test]
fn a_timeout_starts_from_one_packet_and_comes_back() {
    let (mut bbr, mut window, round) = probing();
    let before = window.cwnd_pkts;
    bbr.on_rto(&mut window, &snapshot(ms(500)));
    window.cwnd_pkts = 1;
    bbr.on_enter_loss(&mut window, &snapshot(ms(500)));
    let base = delivered(Time(RTT.0 * (round + 3)), 40 * (round + 3), 1000);
    bbr.on_ack(
        &mut window,
        &Ack {
            state: CaState::Loss,
            ..base
        },
    );
    assert_eq!(window.cwnd_pkts, 4);
    let base = delivered(Time(RTT.0 * (round + 4)), 40 * (round + 4), 1000);
    bbr.on_ack(&mut window, &base);
    assert!(window.cwnd_pkts >= before, "{} {before}", window.cwnd_pkts);
}

/// Also where recovery has saved the window before, and so nothing falls.
#[test]
fn a_timeout_in_recovery_makes_the_pipe_not_full_again() {
    let mut pipe = FullPipe::default();
    for bandwidth in [100, 100, 100] {
        pipe.on_round(bandwidth);
    }
    let mut bbr = Bbr::new(&options(Profile::Linux61), Time::ZERO);
    bbr.pipe = pipe;
    bbr.on_enter_loss(&mut fresh_window(10), &snapshot(ms(500)));
    pipe.forget_bandwidth();
    assert_eq!(bbr.pipe, pipe);
    assert_eq!(bbr.prior_state, CaState::Loss);
}

#[test]
fn without_a_round_trip_time_the_window_is_the_initial_one() {
    let bbr = Bbr::new(&options(Profile::Linux61), Time::ZERO);
    assert_eq!(bbr.bdp(1 << 24, UNIT_GAIN), 10);
}
