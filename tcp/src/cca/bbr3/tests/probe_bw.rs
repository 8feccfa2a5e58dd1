//! The cycle of bandwidth probing, its long-term limit, and the window.

use super::super::probe_bw::AckPhase;
use super::super::*;
use super::*;

#[test]
fn down_lasts_until_the_queue_is_empty_and_there_is_headroom() {
    let mut flow = Flow::probing(State::ProbeBwDown);
    flow.round(RATE, BDP + 1);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    flow.round(RATE, BDP);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
    let mut flow = Flow::probing(State::ProbeBwDown);
    flow.bbr.long_term_pkts = 40;
    flow.round_of(RATE, 35, 35);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    flow.round_of(RATE, 34, 34);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
    // The window leaves the headroom while cruising.
    assert_eq!(flow.window.cwnd_pkts, 34);
}

#[test]
fn a_probe_begins_after_two_to_three_seconds_or_as_many_rounds_as_packets() {
    // 40 packets: 39 or 40 round trips of 40 ms.
    let mut flow = Flow::probing(State::ProbeBwDown);
    let mut rounds = 0;
    while flow.bbr.state != State::ProbeBwRefill {
        flow.round(RATE, BDP);
        rounds += 1;
    }
    assert!((39..=40).contains(&rounds), "{rounds}");
    // A product of 400 packets: at most 63, but no longer than three seconds.
    let mut flow = Flow::new();
    flow.until(State::ProbeBwCruise, 10_000.0, 400);
    let start = flow.now;
    flow.until(State::ProbeBwRefill, 10_000.0, 400);
    let elapsed_ms = (flow.now - start).as_ns() / 1_000_000;
    assert!((2000..=2520).contains(&elapsed_ms), "{elapsed_ms}");
    // Long round trips: the wall clock.
    let mut flow = Flow::new();
    flow.until(State::ProbeBwCruise, 10_000.0, 400);
    flow.rtt = ms(200);
    let start = flow.now;
    flow.until(State::ProbeBwRefill, 10_000.0, 2000);
    let elapsed_ms = (flow.now - start).as_ns() / 1_000_000;
    assert!((2000..=3200).contains(&elapsed_ms), "{elapsed_ms}");
}

#[test]
fn waits_are_drawn_evenly_from_the_stream_of_the_connection() {
    let mut waits = Vec::new();
    let mut rounds = [0; 2];
    for seed in 0..400 {
        let options = Options {
            stream: Stream::new(seed, 0, "controller"),
            ..options(Profile::Rfc)
        };
        let mut bbr = Bbr3::new(&options, Time::ZERO);
        assert!(!bbr.has_drawn());
        bbr.start_down(Time::ZERO);
        assert!(bbr.has_drawn());
        let drawn = bbr.probe.drawn();
        rounds[drawn.0 as usize] += 1;
        waits.push(drawn.1);
    }
    assert!(waits.iter().all(|wait_s| (2.0..3.0).contains(wait_s)));
    let mean_s = waits.iter().sum::<f64>() / 400.0;
    assert!((mean_s - 2.5).abs() < 0.05, "{mean_s}");
    assert!(
        rounds.iter().all(|count| (160..240).contains(count)),
        "{rounds:?}"
    );
}

#[test]
fn refill_forgets_the_short_term_and_lasts_a_round() {
    let mut flow = Flow::cruising();
    flow.bbr.short_term = ShortTerm {
        pkts_per_s: 300.0,
        in_flight_pkts: 12,
    };
    flow.until(State::ProbeBwRefill, RATE, BDP);
    assert_eq!(flow.bbr.short_term, ShortTerm::UNLIMITED);
    assert!(!flow.bbr.probe.is_sample);
    flow.round(RATE, BDP);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
    assert!(flow.bbr.probe.is_sample);
    assert_eq!(flow.bbr.probe.ack_phase, AckPhase::ProbeStarting);
    let pacing = flow.window.pacing_rate_bytes_per_s as f64;
    assert!((pacing / (1.25 * 0.99 * RATE * 1448.0) - 1.0).abs() < 1e-3);
}

#[test]
fn the_probe_ends_when_the_rate_has_stopped_to_grow_for_three_rounds() {
    let mut flow = Flow::probing(State::ProbeBwUp);
    for _ in 0..2 {
        flow.round(RATE, 55);
        assert_eq!(flow.bbr.state, State::ProbeBwUp);
    }
    // 2.25 products, two packets, and 40 that are acknowledged at once.
    assert_eq!(flow.window.cwnd_pkts, 132);
    flow.round(RATE, 55);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    assert!(!flow.bbr.probe.was_too_high);
}

#[test]
fn after_a_probe_that_was_too_high_the_next_stops_at_the_limit_and_the_one_after_goes_on() {
    let mut flow = Flow::probing(State::ProbeBwUp);
    flow.lose(50, 2);
    let limit_pkts = flow.bbr.long_term_pkts;
    flow.until(State::ProbeBwUp, RATE, BDP);
    assert!(flow.bbr.probe.was_too_high);
    flow.round(RATE, limit_pkts);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    assert!(!flow.bbr.probe.was_too_high);
    // A round of feedback without losses.
    flow.round(RATE, BDP);
    assert_eq!(flow.bbr.state, State::ProbeBwRefill);
    flow.round(RATE, BDP);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
    flow.round(RATE, limit_pkts);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
}

#[test]
fn the_long_term_limit_grows_by_1_2_4_packets_in_the_rounds_that_use_it_up() {
    let mut flow = Flow::probing(State::ProbeBwRefill);
    flow.bbr.long_term_pkts = 40;
    flow.window.cwnd_pkts = 40;
    flow.round_of(RATE, 30, 40);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
    flow.is_window_full = true;
    let mut limits = Vec::new();
    for _ in 0..5 {
        flow.round_of(RATE, 30, 40);
        flow.window.cwnd_pkts = flow.bbr.long_term_pkts;
        flow.bbr.pipe.reset(RATE);
        limits.push(flow.bbr.long_term_pkts);
    }
    // 16 of 41 packets are 20 of 47.
    assert_eq!(limits, [41, 43, 47, 55, 75]);
    // Nothing grows where the window is not used up.
    flow.is_window_full = false;
    flow.round_of(RATE, 30, 40);
    assert_eq!(flow.bbr.long_term_pkts, 75);
}

#[test]
fn the_limit_rises_to_what_was_in_flight_without_losses() {
    let mut flow = Flow::probing(State::ProbeBwDown);
    flow.bbr.long_term_pkts = 40;
    flow.round_of(RATE, 52, 30);
    assert_eq!(flow.bbr.long_term_pkts, 52);
}

#[test]
fn the_bandwidth_is_forgotten_after_two_cycles() {
    let mut flow = Flow::cruising();
    let mut cycles = 0;
    while flow.bbr.max_bandwidth.get() > 500.0 {
        flow.until(State::ProbeBwUp, 500.0, 20);
        flow.until(State::ProbeBwDown, 500.0, 20);
        flow.until(State::ProbeBwCruise, 500.0, 20);
        cycles += 1;
    }
    assert_eq!(cycles, 2);
}

#[test]
fn four_packets_are_the_least_window_and_six_the_least_that_fills_the_pipe() {
    let mut flow = Flow::new();
    flow.rtt = RTT;
    // A product of a fifth of a packet.
    flow.until(State::ProbeBwCruise, 25.0, 1);
    assert_eq!(flow.window.cwnd_pkts, 6);
    flow.bbr.long_term_pkts = 1;
    flow.round(25.0, 1);
    assert_eq!(flow.window.cwnd_pkts, 4);
}

#[test]
fn aggregated_acknowledgements_enlarge_the_window() {
    let mut flow = Flow::cruising();
    // Nothing for 80 ms, and then a burst of 80 packets at once: 40 more than a round trip explains.
    for _ in 0..3 {
        flow.rtt = ms(80);
        flow.round(RATE, BDP);
    }
    let extra_pkts = flow.bbr.extra_acked_pkts.get();
    assert_eq!(extra_pkts, 80);
    assert_eq!(flow.window.cwnd_pkts, 160);
}
