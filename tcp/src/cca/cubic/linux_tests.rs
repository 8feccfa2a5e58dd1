use super::super::Cubic as AnyCubic;
use super::*;
use crate::cca::testing::{ack, fresh_window, ms, options, snapshot, window};
use crate::cca::{CaState, Controller};
use dumbbell_spec::tcp::Profile;

const RTT: Time = ms(100);

/// What a sender does with an acknowledgement in order: the round-trip time, then growth.
trait Acknowledge {
    fn acknowledge(&mut self, window: &mut Window, ack: &Ack);
}

fn sample(ack: &Ack) -> RttSample {
    RttSample {
        now: ack.now,
        rtt: ack.rtt.expect("these are timed"),
        una_pkts: ack.una_pkts,
        next_pkts: ack.next_pkts,
        is_echo: false,
    }
}

impl Acknowledge for AnyCubic {
    fn acknowledge(&mut self, window: &mut Window, ack: &Ack) {
        self.on_rtt(window, &sample(ack));
        self.on_ack(window, ack);
    }
}

impl Acknowledge for Cubic {
    fn acknowledge(&mut self, window: &mut Window, ack: &Ack) {
        self.on_rtt(window, &sample(ack));
        self.on_ack(window, ack);
    }
}

fn cubic() -> AnyCubic {
    AnyCubic::new(&options(Profile::Linux61), Time::ZERO)
}

/// After a loss at `w_max` packets: the window every round trip, acknowledged packet by packet.
fn after_loss(cubic: &mut AnyCubic, window: &mut Window, rtt: Time, round_trips: u64) -> Vec<u32> {
    cubic.on_loss(window, &snapshot(Time::ZERO));
    window.cwnd_pkts = window.ssthresh_pkts;
    let mut windows = vec![window.cwnd_pkts];
    for round in 1..=round_trips {
        let in_flight = u64::from(window.cwnd_pkts);
        for n in 0..in_flight {
            let at = Time(rtt.0 * round + rtt.0 * n / in_flight);
            cubic.acknowledge(window, &ack(at, 1, rtt));
        }
        windows.push(window.cwnd_pkts);
    }
    windows
}

#[test]
fn the_constants_are_rfc_9438s() {
    assert!((BETA as f64 / BETA_UNIT as f64 - 0.7).abs() < 2e-4);
    assert!((C as f64 / 1024.0 - 0.4).abs() < 5e-4);
    // 8 (1 + 0.7) / (3 (1 - 0.7)) = 15.1: one packet for 1.9 windows, alpha = 0.53.
    assert_eq!(RENO_EIGHTHS, 15);
}

#[test]
fn the_cube_root_is_the_largest_whose_cube_fits() {
    assert_eq!(cube_root(0), 0);
    let cube = |root: u64| u128::from(root).pow(3);
    let check = |x: u64| {
        let root = cube_root(x);
        let fits = cube(root) <= u128::from(x) && cube(root + 1) > u128::from(x);
        assert!(fits, "{x}: {root}");
    };
    (1..100_000).for_each(check);
    // On both sides of every kind of cube, up to the largest number there is.
    let roots = (1..2_642_245).step_by(61);
    roots.for_each(|root: u64| (root.pow(3) - 1..=root.pow(3) + 1).for_each(check));
    let largest = [u64::MAX, u64::MAX - 1, 1 << 63, 2_642_245u64.pow(3)];
    largest.into_iter().for_each(check);
}

#[test]
fn k_is_rfc_9438s() {
    // K = cbrt((W_max - cwnd) / C); 100 packets missing and C = 0.4: 6.2996 s.
    let step = (1u64 << C_SHIFT) / C;
    for missing_pkts in (1..2000).chain((1..1000).map(|n| n * 997)) {
        let k_s = cube_root(step * missing_pkts) as f64 / 1024.0;
        let exact_s = libm::cbrt(missing_pkts as f64 / 0.4);
        // C is 0.4004 there, and K a whole number of 1/1024 s.
        let off_s = (k_s - exact_s).abs();
        assert!(
            off_s < 4e-4 * exact_s + 1.0 / 1024.0,
            "{missing_pkts}: {k_s}"
        );
    }
}

#[test]
fn a_loss_leaves_seven_tenths_of_the_window() {
    for (before, after) in [(100, 70), (1000, 700), (10, 7), (3, 2), (2, 2), (1, 2)] {
        let mut window = window(before, 1448);
        cubic().on_loss(&mut window, &snapshot(Time::ZERO));
        assert_eq!(window.ssthresh_pkts, after, "{before}");
    }
}

#[test]
fn the_window_follows_the_curve() {
    // W_max = 1000: K = cbrt(300 / 0.4) = 9.086 s, past Reno's reach (0.53 packets a round).
    let mut window = window(1000, 1448);
    let windows = after_loss(&mut cubic(), &mut window, RTT, 130);
    let k_s = libm::cbrt(300.0 / 0.4);
    for (round, cwnd) in windows.iter().enumerate().skip(1) {
        // The epoch starts with the first acknowledgement, at 0.1 s; the aim is a round trip
        // ahead, and reached a round trip later.
        let t_s = round as f64 * 0.1;
        let exact = 1000.0 + 0.4 * (t_s - k_s) * (t_s - k_s) * (t_s - k_s);
        let off = f64::from(*cwnd) / exact - 1.0;
        assert!(off.abs() < 0.02, "round {round}: {cwnd} against {exact}");
    }
}

#[test]
fn in_the_friendly_region_growth_is_renos() {
    // 20 packets and 10 ms: the curve needs 2.5 s for 6 packets, Reno 0.11 s.
    let mut window = window(20, 1448);
    let windows = after_loss(&mut cubic(), &mut window, ms(10), 60);
    // alpha = 8/15 packets a round trip.
    let grown = f64::from(windows[60] - windows[0]);
    assert!((grown - 60.0 * 8.0 / 15.0).abs() < 3.0, "{windows:?}");
}

#[test]
fn fast_convergence_lowers_the_plateau_of_a_shrinking_flow() {
    let mut cubic = Cubic::new(&options(Profile::Linux61));
    let mut window = window(1000, 1448);
    cubic.reduce(&mut window);
    assert_eq!(cubic.w_max_pkts, 1000);
    window.cwnd_pkts = 900;
    cubic.reduce(&mut window);
    assert_eq!(cubic.w_max_pkts, 765); // 900 x (1 + 0.7) / 2
    window.cwnd_pkts = 765;
    cubic.reduce(&mut window);
    assert_eq!(cubic.w_max_pkts, 765);
}

#[test]
fn before_the_first_loss_growth_is_at_least_a_twentieth() {
    let mut window = window(400, 1448);
    let mut cubic = Cubic::new(&options(Profile::Linux61));
    for n in 0..400 {
        cubic.acknowledge(&mut window, &ack(ms(1000) + Time(n), 1, RTT));
    }
    assert_eq!(window.cwnd_pkts, 420);
}

#[test]
fn growth_is_at_most_one_packet_for_two() {
    let mut window = window(100, 1448);
    let mut cubic = Cubic::new(&options(Profile::Linux61));
    cubic.acknowledge(&mut window, &ack(ms(1000), 1, RTT));
    // A minute later the curve is thousands of packets above.
    window.cwnd_pkts = 100;
    for n in 0..100 {
        cubic.acknowledge(&mut window, &ack(ms(61_000 + n), 1, RTT));
    }
    assert!(
        (149..=150).contains(&window.cwnd_pkts),
        "{}",
        window.cwnd_pkts
    );
}

#[test]
fn idle_time_is_no_time_on_the_curve() {
    let grow = |is_told: bool| {
        let mut cubic = cubic();
        let mut window = window(1000, 1448);
        let before = *after_loss(&mut cubic, &mut window, RTT, 40).last().unwrap();
        let (last_sent, now) = (ms(4100), ms(64_100));
        if is_told {
            cubic.on_transmit_start(&mut window, Some(last_sent), &snapshot(now));
        }
        for n in 0..1000 {
            let at = now + Time(RTT.0 * n / 1000);
            cubic.acknowledge(&mut window, &ack(at, 1, RTT));
        }
        window.cwnd_pkts - before
    };
    assert!(grow(true) < 15, "{}", grow(true));
    assert!(grow(false) > 100, "{}", grow(false));
}

#[test]
fn a_timeout_forgets_the_plateau_and_the_delay() {
    let mut cubic = Cubic::new(&options(Profile::Linux61));
    let mut window = window(100, 1448);
    cubic.acknowledge(&mut window, &ack(ms(1), 1, RTT));
    cubic.forget();
    assert_eq!((cubic.w_max_pkts, cubic.delay_min_us), (0, None));
}

#[test]
fn round_trips_within_a_second_of_a_loss_are_not_believed() {
    let mut cubic = Cubic::new(&options(Profile::Linux61));
    let mut window = window(100, 1448);
    cubic.acknowledge(&mut window, &ack(ms(1000), 1, ms(50)));
    cubic.acknowledge(&mut window, &ack(ms(1999), 1, ms(40)));
    assert_eq!(cubic.delay_min_us, NonZeroU64::new(50_000));
    cubic.acknowledge(&mut window, &ack(ms(2000), 1, ms(40)));
    assert_eq!(cubic.delay_min_us, NonZeroU64::new(40_000));
}

#[test]
fn nothing_grows_in_recovery_or_when_the_application_limits() {
    let mut window = fresh_window(10);
    let mut cubic = cubic();
    let open = ack(ms(1000), 2, RTT);
    for held in [
        Ack {
            state: CaState::Recovery,
            ..open
        },
        Ack {
            state: CaState::Cwr,
            ..open
        },
        Ack {
            is_cwnd_limited: false,
            ..open
        },
        Ack {
            acked_pkts: 0,
            ..open
        },
    ] {
        cubic.acknowledge(&mut window, &held);
        assert_eq!(window.cwnd_pkts, 10);
    }
    cubic.acknowledge(
        &mut window,
        &Ack {
            state: CaState::Loss,
            ..open
        },
    );
    assert_eq!(window.cwnd_pkts, 12);
}

#[test]
fn hystart_ends_slow_start_when_the_delay_grows() {
    let mut window = fresh_window(20);
    let mut cubic = cubic();
    cubic.acknowledge(
        &mut window,
        &Ack {
            una_pkts: 1,
            next_pkts: 20,
            ..ack(ms(0), 1, RTT)
        },
    );
    for n in 1..30 {
        let ack = Ack {
            una_pkts: 20 + n,
            next_pkts: 60,
            ..ack(ms(3 * n), 1, ms(120))
        };
        cubic.acknowledge(&mut window, &ack);
    }
    // At the ninth sample of the second round, after one packet in the first round and eight.
    assert_eq!(window.ssthresh_pkts, 29);
}

#[test]
fn an_undo_gives_back_the_window() {
    let mut window = window(100, 1448);
    let mut cubic = cubic();
    window.prior_cwnd_pkts = 100;
    cubic.on_loss(&mut window, &snapshot(Time::ZERO));
    window.cwnd_pkts = 70;
    cubic.on_undo(&mut window);
    assert_eq!(window.cwnd_pkts, 100);
}

#[test]
fn hystart_looks_at_round_trips_in_recovery() {
    // Rate reduction keeps the window below the threshold, which is slow start to HyStart.
    let mut cubic = cubic();
    let mut window = fresh_window(100);
    cubic.acknowledge(&mut window, &ack(ms(1), 1, RTT));
    window.ssthresh_pkts = 70;
    window.cwnd_pkts = 30;
    for n in 1..=9 {
        assert_eq!(window.ssthresh_pkts, 70);
        let late = RttSample {
            now: ms(200 + 3 * n),
            rtt: ms(113),
            una_pkts: 20,
            next_pkts: 60,
            is_echo: false,
        };
        cubic.on_rtt(&mut window, &late);
    }
    assert_eq!(window.ssthresh_pkts, 30);
}
