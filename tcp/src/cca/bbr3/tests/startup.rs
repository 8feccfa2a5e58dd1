//! Startup, Drain, and the first pacing rate.

use super::super::*;
use super::*;

#[test]
fn the_first_pacing_rate_is_the_initial_window_in_a_round_trip() {
    let flow = Flow::new();
    let rate = flow.window.pacing_rate_bytes_per_s as f64;
    assert!((rate / (2.77 * 10.0 / 0.040 * 1448.0) - 1.0).abs() < 1e-6);
    // Without a round-trip time, a millisecond; renewed when it is known.
    let mut bbr = Bbr3::new(&options(Profile::Rfc), Time::ZERO);
    let mut window = Window::new(10, 1448);
    bbr.init(&mut window, &snapshot(Time::ZERO));
    assert_eq!(window.pacing_rate_bytes_per_s, 40_109_600);
    bbr.on_ack(&mut window, &ack(ms(40), 1, RTT));
    assert_eq!(window.pacing_rate_bytes_per_s, 1_002_740);
}

#[test]
fn startup_ends_after_three_rounds_with_less_than_a_quarter_more() {
    let mut flow = Flow::new();
    for rate in [250.0, 500.0, 1000.0, 1200.0, 1240.0] {
        flow.round(rate, 50);
        assert_eq!(flow.bbr.state, State::Startup, "{rate}");
    }
    assert!(!flow.bbr.pipe.was_reached);
    flow.round(1249.0, 60);
    assert!(flow.bbr.pipe.was_reached && flow.bbr.pipe.is_full);
    assert_eq!(flow.bbr.state, State::Drain);
    // Half of 99 % of the rate, and a window of twice the product.
    let pacing = flow.window.pacing_rate_bytes_per_s as f64;
    assert!((pacing / (0.5 * 0.99 * 1249.0 * 1448.0) - 1.0).abs() < 1e-3);
}

#[test]
fn a_quarter_more_in_a_round_begins_the_count_anew() {
    let mut flow = Flow::new();
    for rate in [1000.0, 1000.0, 1000.0, 1250.0, 1250.0, 1250.0] {
        flow.round(rate, 50);
    }
    assert_eq!(flow.bbr.state, State::Startup);
    flow.round(1250.0, 60);
    assert_eq!(flow.bbr.state, State::Drain);
}

#[test]
fn application_limited_rounds_end_neither_startup_nor_the_probe() {
    for mut flow in [Flow::new(), Flow::probing(State::ProbeBwUp)] {
        let state = flow.bbr.state;
        flow.is_app_limited = true;
        for _ in 0..20 {
            flow.round(500.0, 10);
        }
        assert_eq!(flow.bbr.state, state);
    }
}

#[test]
fn startup_ends_by_six_lost_ranges_after_a_round_in_recovery() {
    for (ranges, expected) in [(5, State::Startup), (6, State::Drain)] {
        let mut flow = Flow::new();
        flow.is_app_limited = true;
        flow.round(500.0, 20);
        flow.round(1000.0, 40);
        flow.lose(60, ranges);
        flow.enter(CaState::Recovery);
        assert_eq!(flow.bbr.state, State::Startup);
        // The acknowledgement is of a packet sent before these losses.
        let sent = flow.now.saturating_sub(flow.rtt);
        flow.acknowledge(sent, 1000.0, 40, 80);
        assert_eq!(flow.bbr.state, expected, "{ranges} ranges");
        assert_eq!(flow.bbr.pipe.was_reached, ranges == 6);
        if ranges == 6 {
            assert_eq!(flow.bbr.long_term_pkts, BDP);
        }
    }
}

#[test]
fn without_sack_any_loss_in_recovery_ends_startup() {
    let mut flow = Flow::with(&Options {
        sack: false,
        ..options(Profile::Rfc)
    });
    flow.round(1000.0, 40);
    flow.lose(60, 1);
    flow.enter(CaState::Recovery);
    flow.round(1000.0, 80);
    assert_eq!(flow.bbr.state, State::Drain);
}

#[test]
fn drain_ends_with_the_queue_or_after_three_rounds() {
    let mut flow = Flow::new();
    flow.until(State::Drain, RATE, 80);
    flow.round(RATE, BDP + 1);
    assert_eq!(flow.bbr.state, State::Drain);
    // The queue is empty, so nothing is left to do in ProbeBW_DOWN.
    flow.round(RATE, BDP);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
    let mut flow = Flow::new();
    flow.until(State::Drain, RATE, 80);
    for _ in 0..3 {
        flow.round(RATE, 80);
        assert_eq!(flow.bbr.state, State::Drain);
    }
    flow.round(RATE, 80);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
}
