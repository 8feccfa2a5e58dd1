//! Every controller under random events: the window is never below its minimum nor above its
//! clamp, nothing overflows (the tests are built with checks) and nothing panics.
//!
//! `DUMBBELL_FUZZ_CASES=100000 cargo test -p dumbbell-tcp --test controller_fuzz` runs longer.

use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::{CwndChange, Profile};
use dumbbell_tcp::cca::{
    Ack, Algorithm, CaState, Cca, LostPacket, NAMES, Options, RateSample, RttSample, SentPacket,
    Snapshot, Window,
};
use proptest::prelude::*;

/// What may happen, with everything a sender may say about it.
#[derive(Debug, Clone)]
enum Event {
    Ack {
        gap_ns: u64,
        acked: u32,
        sacked: u32,
        rtt_ns: Option<u64>,
        interval_ns: u64,
        sent: u32,
        losses: u32,
        flags: u8,
    },
    Loss,
    Rto,
    Ecn,
    ExitRecovery,
    Undo,
    TransmitStart(u64),
    IdleRestart,
}

fn event() -> impl Strategy<Value = Event> {
    let span = || {
        prop_oneof![
            Just(0u64),
            1..10_000u64,
            1..1_000_000_000u64,
            1..100_000_000_000u64
        ]
    };
    let count = || prop_oneof![8 => 0..4u32, 2 => 0..200u32, 1 => 0..1_000_000u32];
    let ack = (
        span(),
        count(),
        count(),
        proptest::option::of(span()),
        span(),
        count(),
        count(),
        any::<u8>(),
    );
    let ack = ack.prop_map(
        |(gap_ns, acked, sacked, rtt_ns, interval_ns, sent, losses, flags)| Event::Ack {
            gap_ns,
            acked,
            sacked,
            rtt_ns,
            interval_ns,
            sent,
            losses,
            flags,
        },
    );
    prop_oneof![
        20 => ack,
        1 => Just(Event::Loss),
        1 => Just(Event::Rto),
        1 => Just(Event::Ecn),
        1 => Just(Event::ExitRecovery),
        1 => Just(Event::Undo),
        1 => span().prop_map(Event::TransmitStart),
        1 => Just(Event::IdleRestart),
    ]
}

/// A sender whose counters do not go back, which is all that a controller may rely on.
struct Sender {
    cca: Cca,
    window: Window,
    now: Time,
    delivered_pkts: u64,
    lost_pkts: u64,
    una_pkts: u64,
    next_pkts: u64,
    srtt: Option<Time>,
    min_rtt: Option<Time>,
    state: CaState,
}

impl Sender {
    fn new(name: &str, profile: Profile, timer_hz: u32, clamp_pkts: u32, mss_bytes: u32) -> Sender {
        let options = Options {
            profile,
            hystart: true,
            is_paced: mss_bytes.is_multiple_of(2),
            timer_hz,
            sack: mss_bytes % 4 < 2,
            stream: Stream::new(1, 0, name),
            rtt_independence: true,
            cwnd_changes: vec![
                CwndChange {
                    at_ns: 1_000_000,
                    cwnd_pkts: 1,
                },
                CwndChange {
                    at_ns: 50_000_000,
                    cwnd_pkts: 100_000,
                },
            ],
            module: None,
        };
        let algorithm = Algorithm::named(name).expect("a name of the list");
        let mut sender = Sender {
            cca: Cca::new(algorithm, &options, Time::ZERO),
            window: Window::new(10.min(clamp_pkts), mss_bytes),
            now: Time::ZERO,
            delivered_pkts: 0,
            lost_pkts: 0,
            una_pkts: 0,
            next_pkts: 0,
            srtt: None,
            min_rtt: None,
            state: CaState::Open,
        };
        sender.window.cwnd_clamp_pkts = clamp_pkts;
        let snapshot = sender.snapshot();
        sender.cca.init(&mut sender.window, &snapshot);
        sender
    }

    fn in_flight_pkts(&self) -> u32 {
        let outstanding_pkts = self.next_pkts - self.una_pkts;
        outstanding_pkts.min(u64::from(u32::MAX / 2)) as u32
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            now: self.now,
            in_flight_pkts: self.in_flight_pkts(),
            next_pkts: self.next_pkts,
            flight_size_pkts: self.in_flight_pkts(),
            is_app_limited: self.now.0.is_multiple_of(2),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            delivered_pkts: self.delivered_pkts,
            delivered_time: self.now,
            lost_pkts: self.lost_pkts,
        }
    }

    fn reduce(&mut self, state: CaState) {
        self.window.prior_cwnd_pkts = self.window.cwnd_pkts;
        self.window.acked_since_growth_pkts = 0;
        self.state = state;
    }

    fn apply(&mut self, event: &Event) {
        let snapshot = self.snapshot();
        let window = &mut self.window;
        match *event {
            Event::Ack { .. } => self.acknowledge(event),
            Event::Loss => {
                self.reduce(CaState::Recovery);
                self.cca.on_loss(&mut self.window, &snapshot);
            }
            Event::Ecn => {
                self.reduce(CaState::Cwr);
                self.cca.on_ecn(&mut self.window, &snapshot);
            }
            Event::Rto => {
                self.reduce(CaState::Loss);
                self.cca.on_rto(&mut self.window, &snapshot);
                self.window.set_cwnd(1);
            }
            Event::ExitRecovery => {
                if !self.cca.owns_recovery() && self.state >= CaState::Cwr {
                    window.set_cwnd(window.ssthresh_pkts);
                }
                self.state = CaState::Open;
                self.cca.on_exit_recovery(window, &snapshot);
            }
            Event::Undo => {
                self.state = CaState::Open;
                self.cca.on_undo(window);
            }
            Event::TransmitStart(idle_ns) => {
                let last_sent = self.now.saturating_sub(Time::from_ns(idle_ns));
                self.cca
                    .on_transmit_start(window, Some(last_sent), &snapshot);
            }
            Event::IdleRestart => {
                window.set_cwnd(window.cwnd_pkts.min(10));
                self.cca.on_idle_restart(window, &snapshot);
            }
        }
    }

    /// Of the packets sent and lost a few are told.
    fn tell_packets(&mut self, prior_in_flight_pkts: u32, losses: u32) {
        self.cca.on_sent(&SentPacket {
            at: self.now,
            in_flight_pkts: self.in_flight_pkts(),
            lost_pkts: self.lost_pkts,
            oldest_in_flight: self.now.saturating_sub(Time::from_ns(1_000_000_000)),
        });
        for number in 0..u64::from(losses.min(8)) {
            let seq = (self.lost_pkts + 2 * number) * u64::from(self.window.mss_bytes);
            let packet = LostPacket {
                now: self.now,
                sent: Time(self.now.0 - self.now.0 / 100 * u64::from(prior_in_flight_pkts % 100)),
                seq,
                end: seq + u64::from(self.window.mss_bytes),
                is_app_limited: number == 3,
                delivered_pkts: self.delivered_pkts,
                lost_pkts: self.lost_pkts,
            };
            self.cca.on_packet_lost(&mut self.window, &packet);
        }
    }

    fn acknowledge(&mut self, event: &Event) {
        let Event::Ack {
            gap_ns,
            acked,
            sacked,
            rtt_ns,
            interval_ns,
            sent,
            losses,
            flags,
        } = *event
        else {
            return;
        };
        let prior_in_flight_pkts = self.in_flight_pkts();
        let prior_delivered_pkts = self.delivered_pkts.saturating_sub(u64::from(sent));
        self.now += Time::from_ns(gap_ns);
        self.next_pkts += u64::from(sent);
        let acked_pkts = u64::from(acked).min(self.next_pkts - self.una_pkts) as u32;
        self.una_pkts += u64::from(acked_pkts);
        let newly_delivered_pkts = acked_pkts.saturating_add(sacked);
        self.delivered_pkts += u64::from(newly_delivered_pkts);
        self.lost_pkts += u64::from(losses);
        let rtt = rtt_ns.map(Time::from_ns);
        self.srtt = rtt.or(self.srtt);
        self.min_rtt = match (rtt, self.min_rtt) {
            (Some(rtt), Some(least)) => Some(rtt.min(least)),
            (rtt, least) => rtt.or(least),
        };
        self.tell_packets(prior_in_flight_pkts, losses);
        let is = |bit: u8| flags & (1 << bit) != 0;
        let delivered_pkts = if is(0) && is(1) {
            -1
        } else {
            (self.delivered_pkts - prior_delivered_pkts) as i64
        };
        let ack = Ack {
            marked_pkts: if is(6) { newly_delivered_pkts } else { 0 },
            now: self.now,
            acked_pkts,
            cleaned_pkts: acked_pkts,
            newly_delivered_pkts,
            rtt,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            in_flight_pkts: self.in_flight_pkts(),
            is_cwnd_limited: is(2) || is(3),
            is_window_full: is(3),
            state: self.state,
            una_pkts: self.una_pkts,
            next_pkts: self.next_pkts,
            delivered_pkts: self.delivered_pkts,
            delivered_time: self.now,
            lost_pkts: self.lost_pkts,
            earliest_departure: self.now + Time::from_ns(u64::from(flags) * 100_000),
            rate: RateSample {
                delivered_pkts,
                prior_delivered_pkts,
                prior_time: Time::ZERO,
                interval: Time::from_ns(interval_ns),
                is_app_limited: is(4) && is(5),
                rtt,
                losses_pkts: losses,
                prior_in_flight_pkts,
                acked_sacked_pkts: newly_delivered_pkts,
                newest_sent: is(7).then(|| self.now.saturating_sub(Time::from_ns(interval_ns))),
                is_ack_delayed: is(6),
            },
        };
        if let Some(rtt) = rtt {
            let sample = RttSample {
                now: self.now,
                rtt,
                una_pkts: self.una_pkts,
                next_pkts: self.next_pkts,
                is_echo: is(7),
            };
            self.cca.on_rtt(&mut self.window, &sample);
        }
        let is_reducing = matches!(self.state, CaState::Cwr | CaState::Recovery);
        if self.cca.owns_recovery() || !is_reducing {
            self.cca.on_ack(&mut self.window, &ack);
        }
    }

    fn check(&self, name: &str) -> Result<(), TestCaseError> {
        let window = &self.window;
        prop_assert!(window.cwnd_pkts >= 1, "{name}: {window:?}");
        prop_assert!(
            window.cwnd_pkts <= window.cwnd_clamp_pkts,
            "{name}: {window:?}"
        );
        prop_assert!(window.ssthresh_pkts >= 1, "{name}: {window:?}");
        if self.cca.wants_pacing() {
            prop_assert!(
                self.window.pacing_rate_bytes_per_s < u64::MAX,
                "{name}: {window:?}"
            );
        }
        Ok(())
    }
}

fn cases() -> u32 {
    let wanted = std::env::var("DUMBBELL_FUZZ_CASES");
    wanted.map_or(64, |count| count.parse().expect("a number of cases"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_controller_leaves_its_bounds(
        events in proptest::collection::vec(event(), 1..400),
        timer_hz in prop_oneof![Just(100u32), Just(250), Just(1000)],
        clamp_pkts in prop_oneof![Just(u32::MAX), 2..1000u32],
        mss_bytes in 1..65_000u32,
    ) {
        for name in NAMES {
            for profile in [Profile::Linux61, Profile::Rfc] {
                let mut sender = Sender::new(name, profile, timer_hz, clamp_pkts, mss_bytes);
                for event in &events {
                    sender.apply(event);
                    sender.check(name)?;
                }
            }
        }
    }
}
