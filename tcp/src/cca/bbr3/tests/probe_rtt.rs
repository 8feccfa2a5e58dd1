//! The minimum round-trip time, ProbeRTT, and idle periods.

use super::super::*;
use super::*;

#[test]
fn probe_rtt_comes_after_five_seconds_without_a_lower_round_trip_time() {
    let mut flow = Flow::cruising();
    flow.rtt = ms(45);
    flow.until(State::ProbeRtt, RATE, BDP);
    let entered_ms = flow.now.as_ns() / 1_000_000;
    assert!((5000..5100).contains(&entered_ms), "{entered_ms}");
    assert!(flow.bbr.limits_itself());
    // Half the product, of the 40 ms that ten seconds remember.
    assert_eq!(flow.window.cwnd_pkts, 20);
    assert_eq!(flow.bbr.min_rtt.get(), Some(RTT));
    // With more in flight the time does not begin.
    for _ in 0..20 {
        flow.round(500.0, 21);
    }
    assert_eq!(flow.bbr.state, State::ProbeRtt);
    flow.rtt = RTT;
    let began = flow.now;
    flow.until(State::ProbeBwCruise, 500.0, 20);
    let elapsed_ms = (flow.now - began).as_ns() / 1_000_000;
    // More than 200 ms, in round trips of 40.
    assert_eq!(elapsed_ms, 7 * 40);
    assert!(!flow.bbr.limits_itself());
    assert!(flow.window.cwnd_pkts >= 80, "{}", flow.window.cwnd_pkts);
}

#[test]
fn probe_rtt_in_startup_goes_back_to_startup() {
    let mut flow = Flow::new();
    flow.is_app_limited = true;
    flow.rtt = ms(50);
    flow.until(State::ProbeRtt, 200.0, 8);
    flow.until(State::Startup, 200.0, 4);
    assert!(!flow.bbr.has_drawn());
}

#[test]
fn the_minimum_of_ten_seconds_follows_a_longer_path() {
    let mut flow = Flow::cruising();
    flow.rtt = ms(60);
    while flow.now < ms(11_000) {
        flow.round(RATE, 20);
    }
    assert_eq!(flow.bbr.min_rtt.get(), Some(ms(60)));
}

#[test]
fn an_idle_period_takes_the_place_of_probe_rtt() {
    let mut flow = Flow::cruising();
    flow.now = ms(9000);
    flow.is_app_limited = true;
    flow.rtt = ms(41);
    flow.window.pacing_rate_bytes_per_s = 77;
    let idle = flow.snapshot();
    flow.bbr.on_transmit_start(&mut flow.window, None, &idle);
    // Paced at the bandwidth.
    let pacing = flow.window.pacing_rate_bytes_per_s as f64;
    assert!((pacing / (0.99 * RATE * 1448.0) - 1.0).abs() < 1e-3);
    flow.round(500.0, 20);
    assert_ne!(flow.bbr.state, State::ProbeRtt);
    // The round trip of the restart has renewed the minimum.
    for _ in 0..100 {
        flow.round(500.0, 20);
        assert_ne!(flow.bbr.state, State::ProbeRtt);
    }
}

#[test]
fn without_data_of_its_own_to_send_a_flow_does_not_restart() {
    let mut flow = Flow::cruising();
    flow.window.pacing_rate_bytes_per_s = 77;
    let busy = flow.snapshot();
    flow.bbr.on_transmit_start(&mut flow.window, None, &busy);
    assert_eq!(flow.window.pacing_rate_bytes_per_s, 77);
}

#[test]
fn an_idle_period_ends_a_probe_rtt_that_has_lasted_long_enough() {
    let mut flow = Flow::cruising();
    flow.rtt = ms(45);
    flow.until(State::ProbeRtt, RATE, BDP);
    flow.round(500.0, 20);
    flow.is_app_limited = true;
    flow.now += ms(190);
    let early = flow.snapshot();
    flow.bbr.on_transmit_start(&mut flow.window, None, &early);
    assert_eq!(flow.bbr.state, State::ProbeRtt);
    flow.now += ms(11);
    let late = flow.snapshot();
    flow.bbr.on_transmit_start(&mut flow.window, None, &late);
    assert_eq!(flow.bbr.state, State::ProbeBwCruise);
}
