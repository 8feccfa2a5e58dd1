//! Losses, timeouts, marks, and spurious losses.

use super::super::*;
use super::*;

#[test]
fn a_probe_that_loses_more_than_two_percent_lowers_the_long_term_limit() {
    let mut flow = Flow::probing(State::ProbeBwUp);
    // Of 100 packets 2 are 2 %, and not more.
    flow.lose(100, 2);
    assert_eq!(flow.bbr.state, State::ProbeBwUp);
    assert_eq!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
    flow.lose(50, 2);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    // 49 before the packet, of which 1 was lost: (0.98 - 1) / 0.98 less.
    assert_eq!(flow.bbr.long_term_pkts, 48);
    assert!(flow.bbr.probe.was_too_high && !flow.bbr.probe.is_sample);
    // Once for each probe.
    flow.lose(40, 10);
    assert_eq!(flow.bbr.long_term_pkts, 48);
}

#[test]
fn the_long_term_limit_falls_by_three_tenths_at_most() {
    let mut flow = Flow::probing(State::ProbeBwUp);
    flow.lose(10, 3);
    // 0.7 of the product of 40.
    assert_eq!(flow.bbr.long_term_pkts, 28);
}

#[test]
fn an_application_limited_loss_ends_the_probe_and_keeps_the_limit() {
    let mut flow = Flow::probing(State::ProbeBwUp);
    flow.is_app_limited = true;
    flow.lose(20, 3);
    assert_eq!(flow.bbr.state, State::ProbeBwDown);
    assert_eq!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
}

#[test]
fn losses_between_probes_lower_the_short_term_limits_once_a_round() {
    let mut flow = Flow::cruising();
    let cwnd_pkts = flow.window.cwnd_pkts;
    // Two products, and 40 packets that are acknowledged at once.
    assert_eq!(cwnd_pkts, 120);
    // The limits begin at the maximum bandwidth and at the window. The latest bandwidth is still the maximum.
    flow.lose(BDP, 3);
    assert_eq!(flow.bbr.short_term, ShortTerm::UNLIMITED);
    flow.round(500.0, BDP);
    assert!((flow.bbr.short_term.pkts_per_s - RATE).abs() < 1e-9);
    assert_eq!(flow.bbr.short_term.in_flight_pkts, 84);
    assert_eq!(flow.window.cwnd_pkts, 84);
    // 0.7 of both, which is more than the latest deliveries.
    flow.lose(BDP, 1);
    flow.round(500.0, BDP);
    assert!((flow.bbr.short_term.pkts_per_s - 700.0).abs() < 1e-9);
    assert_eq!(flow.bbr.short_term.in_flight_pkts, 58);
    assert!((flow.bbr.pkts_per_s - 700.0).abs() < 1e-9);
    assert!((flow.bbr.max_bandwidth.get() - RATE).abs() < 1e-9);
    // Never below what is delivered.
    flow.lose(BDP, 1);
    flow.round(690.0, BDP);
    assert!((flow.bbr.short_term.pkts_per_s - 690.0).abs() < 1e-3);
    assert_eq!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
}

#[test]
fn a_round_without_losses_keeps_the_short_term_limits() {
    let mut flow = Flow::cruising();
    flow.lose(BDP, 3);
    flow.round(500.0, BDP);
    flow.round(500.0, BDP);
    let limits = flow.bbr.short_term;
    flow.round(500.0, BDP);
    flow.round(500.0, BDP);
    assert_eq!(flow.bbr.short_term, limits);
}

#[test]
fn the_window_comes_back_after_a_timeout() {
    let mut flow = Flow::cruising();
    let before = flow.window.cwnd_pkts;
    let snapshot = flow.snapshot();
    flow.bbr.on_rto(&mut flow.window, &snapshot);
    flow.window.cwnd_pkts = 1;
    flow.enter(CaState::Loss);
    flow.round(100.0, 4);
    assert_eq!(flow.window.cwnd_pkts, 5);
    flow.enter(CaState::Open);
    assert_eq!(flow.window.cwnd_pkts, before);
}

#[test]
fn a_spurious_loss_restores_the_limits_and_the_probe() {
    let mut flow = Flow::probing(State::ProbeBwUp);
    let before = flow.window.cwnd_pkts;
    flow.lose(50, 2);
    flow.enter(CaState::Recovery);
    flow.round(RATE, BDP);
    flow.window.cwnd_pkts = 10;
    assert_ne!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
    flow.bbr.on_undo(&mut flow.window);
    assert_eq!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
    assert_eq!(flow.bbr.state, State::ProbeBwRefill);
    assert!(flow.window.cwnd_pkts >= before);
}

#[test]
fn a_spurious_loss_brings_startup_back() {
    let mut flow = Flow::new();
    flow.is_app_limited = true;
    flow.round(1000.0, 40);
    flow.lose(60, 6);
    flow.enter(CaState::Recovery);
    let sent = flow.now.saturating_sub(flow.rtt);
    flow.acknowledge(sent, 1000.0, 40, 80);
    assert_eq!(flow.bbr.state, State::Drain);
    flow.bbr.on_undo(&mut flow.window);
    assert_eq!(flow.bbr.state, State::Startup);
    assert!(!flow.bbr.pipe.was_reached);
    assert_eq!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
}

#[test]
fn a_mark_ends_startup_and_the_probe_and_lowers_the_short_term_limits() {
    for state in [State::Startup, State::ProbeBwUp, State::ProbeBwCruise] {
        let mut flow = match state {
            State::Startup => Flow::new(),
            state => Flow::probing(state),
        };
        flow.round(RATE, BDP);
        let marked = Snapshot {
            in_flight_pkts: 50,
            ..flow.snapshot()
        };
        flow.bbr.on_ecn(&mut flow.window, &marked);
        flow.round_of(700.0, 50, 70);
        match state {
            State::Startup => assert_eq!(flow.bbr.state, State::Drain),
            State::ProbeBwUp => {
                assert_eq!(flow.bbr.state, State::ProbeBwDown);
                assert_eq!(flow.bbr.long_term_pkts, 50);
            }
            _ => {
                assert!(flow.bbr.short_term.pkts_per_s <= RATE);
                assert_eq!(flow.bbr.short_term.in_flight_pkts, 84);
                assert_eq!(flow.bbr.long_term_pkts, UNLIMITED_PKTS);
            }
        }
    }
}
