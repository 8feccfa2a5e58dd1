use super::super::Cubic as AnyCubic;
use super::*;
use crate::cca::Controller;
use crate::cca::testing::{ack, fresh_window, ms, options, snapshot, window};
use dumbbell_spec::tcp::Profile;

const RTT: Time = ms(100);

fn cubic() -> AnyCubic {
    AnyCubic::new(&options(Profile::Rfc), Time::ZERO)
}

fn round_trips(cubic: &mut AnyCubic, window: &mut Window, rtt: Time, count: u64) -> Vec<u32> {
    let mut windows = vec![window.cwnd_pkts];
    for round in 1..=count {
        let in_flight = u64::from(window.cwnd_pkts);
        for n in 0..in_flight {
            let at = Time(rtt.0 * round + rtt.0 * n / in_flight);
            cubic.on_ack(window, &ack(at, 1, rtt));
        }
        windows.push(window.cwnd_pkts);
    }
    windows
}

fn cut(cubic: &mut AnyCubic, window: &mut Window) {
    window.prior_cwnd_pkts = window.cwnd_pkts;
    cubic.on_loss(window, &snapshot(Time::ZERO));
    window.cwnd_pkts = window.ssthresh_pkts;
}

#[test]
fn alpha_is_nine_seventeenths() {
    assert!((ALPHA - 9.0 / 17.0).abs() < 1e-15);
}

#[test]
fn k_is_the_time_to_the_plateau() {
    // Figure 2 of section 4.2: K = cbrt((W_max - cwnd_epoch) / C).
    let epoch = new_epoch(700.0, 1000.0, Time::ZERO);
    assert!((epoch.k_s - 9.0856).abs() < 1e-4);
    assert!((epoch.cubic(0.0) - 700.0).abs() < 1e-9);
    assert!((epoch.cubic(epoch.k_s) - 1000.0).abs() < 1e-9);
    assert!((epoch.cubic(2.0 * epoch.k_s) - 1300.0).abs() < 1e-9);
}

#[test]
fn the_window_follows_the_curve_within_a_packet_of_a_round_trip() {
    let (mut cubic, mut window) = (cubic(), window(1000, 1448));
    cut(&mut cubic, &mut window);
    assert_eq!(window.cwnd_pkts, 700);
    let windows = round_trips(&mut cubic, &mut window, RTT, 130);
    let curve = new_epoch(700.0, 1000.0, Time::ZERO);
    for (round, cwnd) in windows.iter().enumerate().skip(1) {
        let t_s = round as f64 * 0.1;
        let (low, high) = (curve.cubic(t_s - 0.15) - 1.0, curve.cubic(t_s + 0.1) + 1.0);
        let cwnd = f64::from(*cwnd);
        assert!(
            (low..=high).contains(&cwnd),
            "round {round}: {cwnd} not in {low}..{high}"
        );
    }
}

#[test]
fn in_the_friendly_region_growth_is_alpha_and_one_beyond_the_old_window() {
    let (mut cubic, mut window) = (cubic(), window(20, 1448));
    cut(&mut cubic, &mut window);
    let windows = round_trips(&mut cubic, &mut window, ms(5), 40);
    // 6 packets at 9/17 take 11.3 round trips; then one packet each.
    assert!((19..=20).contains(&windows[11]), "{windows:?}");
    let later = windows[40] - windows[15];
    assert!((24..=26).contains(&later), "{windows:?}");
}

#[test]
fn fast_convergence_lowers_the_plateau() {
    let mut cubic = Cubic::new(&options(Profile::Rfc));
    let mut window = window(1000, 1448);
    cubic.reduce(&mut window);
    window.cwnd_pkts = 900;
    cubic.reduce(&mut window);
    assert!((cubic.model.w_max_pkts - 765.0).abs() < 1e-9);
    assert_eq!(window.ssthresh_pkts, 630);
}

#[test]
fn after_a_timeout_the_stage_begins_on_its_plateau() {
    let mut cubic = Cubic::new(&options(Profile::Rfc));
    let mut window = window(100, 1448);
    cubic.on_rto(&mut window);
    assert_eq!(window.ssthresh_pkts, 70);
    window.cwnd_pkts = 70;
    cubic.on_ack(&mut window, &ack(ms(500), 1, RTT));
    let epoch = cubic.model.epoch.unwrap();
    assert_eq!((epoch.k_s, epoch.plateau_pkts), (0.0, 70.0));
}

#[test]
fn an_undo_restores_the_curve() {
    let (mut cubic, mut window) = (Cubic::new(&options(Profile::Rfc)), window(1000, 1448));
    cubic.reduce(&mut window);
    window.cwnd_pkts = 700;
    cubic.on_ack(&mut window, &ack(ms(100), 1, RTT));
    let before = cubic.model;
    cubic.reduce(&mut window);
    assert_ne!(cubic.model, before);
    cubic.restore();
    assert_eq!(cubic.model, before);
}

#[test]
fn growth_per_round_trip_is_at_most_half_the_window() {
    let (mut cubic, mut window) = (cubic(), window(100, 1448));
    cubic.on_ack(&mut window, &ack(ms(1), 1, RTT));
    // A minute later the curve is 86,000 packets above: per packet half a packet more.
    let start = window.cwnd_pkts;
    for n in 0..u64::from(start) {
        cubic.on_ack(&mut window, &ack(ms(60_000 + n), 1, RTT));
    }
    assert!(
        (149..=150).contains(&window.cwnd_pkts),
        "{}",
        window.cwnd_pkts
    );
}

#[test]
fn slow_start_ends_by_hystart_plus_plus() {
    let (mut cubic, mut window) = (cubic(), fresh_window(16));
    let mut una = 0;
    let mut conservative = Vec::new();
    for round in 0..12u64 {
        let rtt = if round < 2 { ms(100) } else { ms(120) };
        let next = una + u64::from(window.cwnd_pkts);
        let before = window.cwnd_pkts;
        while una < next {
            una += 1;
            let at = ms(200 * round) + Time(una);
            cubic.on_ack(
                &mut window,
                &Ack {
                    una_pkts: una,
                    next_pkts: next,
                    ..ack(at, 1, rtt)
                },
            );
        }
        conservative.push(f64::from(window.cwnd_pkts) / f64::from(before));
    }
    // Doubles twice, then by a quarter, then ends.
    assert_eq!(conservative[..2], [2.0, 2.0]);
    for round in 3..6 {
        assert!(
            (conservative[round] - 1.25).abs() < 0.02,
            "{conservative:?}"
        );
    }
    assert!(!window.is_in_slow_start());
}
