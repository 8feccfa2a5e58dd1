//! An ideal bottleneck that drives a controller without a TCP: one sender with a perfect
//! scoreboard, a link with a rate and a FIFO queue, and a path with a constant delay back.
//!
//! Every packet is acknowledged by itself and losses are known when the next packet that was
//! not lost is acknowledged, so what is seen is the controller and nothing else. During recovery
//! the window of a controller that does not own it is its threshold at once (an ideal
//! proportional rate reduction), and what was lost is not sent again: it counts as new data.

use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use dumbbell_tcp::cca::{
    Ack, AckArrival, Algorithm, CaState, Cca, LostPacket, Options, PktsAcked, RateSample,
    RttSample, SentPacket, Snapshot, Window,
};
use std::collections::VecDeque;

pub const MSS_BYTES: u32 = 1448;

/// The path.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Rate of the link; 0 for no limit.
    pub pkts_per_s: u64,
    /// Round-trip time without queueing.
    pub base_rtt: Time,
    /// Packets the queue holds, the one in transmission among them.
    pub buffer_pkts: u64,
    /// One packet of this number is lost; 0 for none.
    pub lose_every: u64,
}

/// A packet on its way; the sender's notes of the delivery rate.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    number: u64,
    sent_at: Time,
    /// None when it was lost.
    acked_at: Option<Time>,
    prior_delivered_pkts: u64,
    prior_delivered_time: Time,
    first_sent_at: Time,
    is_app_limited: bool,
}

/// The connection and the path.
pub struct Bottleneck {
    path: Path,
    pub cca: Cca,
    pub window: Window,
    pub now: Time,
    flight: VecDeque<InFlight>,
    next: u64,
    link_free_at: Time,
    departure: Time,
    pub delivered_pkts: u64,
    delivered_time: Time,
    first_sent_at: Time,
    pub lost_pkts: u64,
    app_limited_until_pkts: u64,
    /// The window was used up when the packet of this number was sent.
    full_at: u64,
    state: CaState,
    recovery_end: u64,
    srtt: Option<Time>,
    min_rtt: Option<Time>,
}

/// Options of a controller at 1000 Hz with a stream of its own.
pub fn options(profile: Profile) -> Options {
    Options {
        profile,
        hystart: true,
        is_paced: false,
        timer_hz: 1000,
        sack: true,
        stream: Stream::new(1, 0, "bottleneck/controller"),
        rtt_independence: true,
        cwnd_changes: Vec::new(),
        module: None,
    }
}

impl Bottleneck {
    pub fn new(name: &str, options: &Options, path: Path) -> Bottleneck {
        // The handshake has taken a round trip, and measured it.
        let now = path.base_rtt;
        let algorithm = Algorithm::named(name).expect("a controller of this name");
        let mut bottleneck = Bottleneck {
            path,
            cca: Cca::new(algorithm, options, now),
            window: Window::new(10, MSS_BYTES),
            now,
            flight: VecDeque::new(),
            next: 0,
            link_free_at: now,
            departure: now,
            delivered_pkts: 0,
            delivered_time: now,
            first_sent_at: now,
            lost_pkts: 0,
            app_limited_until_pkts: 0,
            full_at: 0,
            state: CaState::Open,
            recovery_end: 0,
            srtt: Some(path.base_rtt),
            min_rtt: Some(path.base_rtt),
        };
        let snapshot = bottleneck.snapshot();
        bottleneck.cca.init(&mut bottleneck.window, &snapshot);
        bottleneck
    }

    pub fn in_flight_pkts(&self) -> u32 {
        self.flight.len() as u32
    }

    /// Runs until `end`; `see` is called after every acknowledgement.
    pub fn run(&mut self, end: Time, mut see: impl FnMut(&Bottleneck)) {
        while self.now < end {
            self.step();
            see(self);
        }
    }

    /// Sends what may be sent, up to the next acknowledgement, and takes that.
    fn step(&mut self) {
        let paces = self.cca.wants_pacing();
        loop {
            let has_room = self.in_flight_pkts() < self.window.cwnd_pkts;
            let ack_at = self.next_ack_at();
            let send_at = if paces {
                self.departure.max(self.now)
            } else {
                self.now
            };
            match ack_at {
                Some(ack_at) if !has_room || ack_at < send_at => break,
                _ => self.send(send_at, paces),
            }
        }
        self.acknowledge();
    }

    fn next_ack_at(&self) -> Option<Time> {
        self.flight.iter().find_map(|sent| sent.acked_at)
    }

    fn send(&mut self, at: Time, paces: bool) {
        self.now = at;
        if self.flight.is_empty() {
            self.first_sent_at = at;
            self.delivered_time = at;
        }
        if paces && self.window.pacing_rate_bytes_per_s > 0 {
            let gap_s = f64::from(MSS_BYTES) / self.window.pacing_rate_bytes_per_s as f64;
            self.departure = at + Time::from_seconds(gap_s);
        }
        self.next += 1;
        let acked_at = self.through_the_link(at);
        self.flight.push_back(InFlight {
            number: self.next,
            sent_at: at,
            acked_at,
            prior_delivered_pkts: self.delivered_pkts,
            prior_delivered_time: self.delivered_time,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited_until_pkts > 0,
        });
        if self.in_flight_pkts() >= self.window.cwnd_pkts {
            self.full_at = self.next;
        }
        self.cca.on_sent(&SentPacket {
            at,
            in_flight_pkts: self.in_flight_pkts(),
            lost_pkts: self.lost_pkts,
            oldest_in_flight: self.flight.front().map_or(at, |first| first.sent_at),
        });
    }

    fn through_the_link(&mut self, at: Time) -> Option<Time> {
        if self.path.lose_every > 0 && self.next.is_multiple_of(self.path.lose_every) {
            return None;
        }
        if self.path.pkts_per_s == 0 {
            return Some(at + self.path.base_rtt);
        }
        let service = Time(1_000_000_000_000 / self.path.pkts_per_s);
        let waiting = self.link_free_at.saturating_sub(at);
        if waiting.0.div_ceil(service.0) >= self.path.buffer_pkts {
            return None;
        }
        self.link_free_at = self.link_free_at.max(at) + service;
        // The base round-trip time contains one transmission.
        Some(self.link_free_at + self.path.base_rtt - service)
    }

    fn acknowledge(&mut self) {
        let prior_in_flight_pkts = self.in_flight_pkts();
        let mut lost = Vec::new();
        let sent = loop {
            let sent = self.flight.pop_front().expect("something is in flight");
            if sent.acked_at.is_some() {
                break sent;
            }
            lost.push(sent);
        };
        self.now = sent.acked_at.expect("found above");
        self.delivered_pkts += 1;
        let losses_pkts = lost.len() as u32;
        self.tell_losses(&lost);
        self.delivered_time = self.now;
        self.first_sent_at = sent.sent_at;
        let rtt = self.now - sent.sent_at;
        self.srtt = self.srtt.map(|srtt| Time(srtt.0 - srtt.0 / 8 + rtt.0 / 8));
        self.min_rtt = self.min_rtt.map(|least| least.min(rtt));
        if self.delivered_pkts > self.app_limited_until_pkts {
            self.app_limited_until_pkts = 0;
        }
        let sample = RttSample {
            now: self.now,
            rtt,
            una_pkts: sent.number + 1,
            next_pkts: self.next,
            is_echo: false,
        };
        self.cca.on_rtt(&mut self.window, &sample);
        let cleaned = PktsAcked {
            now: self.now,
            pkts: 1,
            rtt: Some(sample.rtt),
            state: self.state,
        };
        self.cca.on_pkts_acked(&mut self.window, &cleaned);
        let arrival = AckArrival {
            now: self.now,
            una_bytes: sample.una_pkts * u64::from(MSS_BYTES),
            is_predicted: true,
        };
        self.cca.on_arrival(&mut self.window, &arrival);
        self.change_state(sent.number, losses_pkts, prior_in_flight_pkts);
        let sending = sent.sent_at - sent.first_sent_at;
        let acking = self.now - sent.prior_delivered_time;
        let rate = RateSample {
            delivered_pkts: (self.delivered_pkts - sent.prior_delivered_pkts) as i64,
            prior_delivered_pkts: sent.prior_delivered_pkts,
            prior_time: sent.prior_delivered_time,
            interval: sending.max(acking),
            is_app_limited: sent.is_app_limited,
            rtt: Some(rtt),
            losses_pkts,
            prior_in_flight_pkts,
            acked_sacked_pkts: 1,
            newest_sent: Some(sent.sent_at),
            is_ack_delayed: false,
        };
        self.tell(sent.number, rtt, rate);
    }

    fn tell_losses(&mut self, lost: &[InFlight]) {
        for packet in lost {
            self.lost_pkts += 1;
            let seq = packet.number * u64::from(MSS_BYTES);
            let packet = LostPacket {
                now: self.now,
                sent: packet.sent_at,
                seq,
                end: seq + u64::from(MSS_BYTES),
                is_app_limited: packet.is_app_limited,
                delivered_pkts: self.delivered_pkts,
                lost_pkts: self.lost_pkts,
            };
            self.cca.on_packet_lost(&mut self.window, &packet);
        }
    }

    fn change_state(&mut self, acked: u64, losses_pkts: u32, prior_in_flight_pkts: u32) {
        // Nothing behind a lost packet has been acknowledged cumulatively.
        let snapshot = Snapshot {
            flight_size_pkts: prior_in_flight_pkts,
            ..self.snapshot()
        };
        if self.state == CaState::Recovery && acked > self.recovery_end {
            self.state = CaState::Open;
            self.cca
                .on_state(&mut self.window, CaState::Open, &snapshot);
            self.cca.on_exit_recovery(&mut self.window, &snapshot);
        }
        if losses_pkts > 0 && self.state == CaState::Open {
            self.state = CaState::Recovery;
            self.recovery_end = self.next;
            self.window.prior_cwnd_pkts = self.window.cwnd_pkts;
            self.window.acked_since_growth_pkts = 0;
            self.cca.on_loss(&mut self.window, &snapshot);
            self.cca
                .on_state(&mut self.window, CaState::Recovery, &snapshot);
            if !self.cca.owns_recovery() {
                self.window.set_cwnd(self.window.ssthresh_pkts);
            }
        }
    }

    fn tell(&mut self, acked: u64, rtt: Time, rate: RateSample) {
        let ack = Ack {
            marked_pkts: 0,
            now: self.now,
            acked_pkts: 1,
            cleaned_pkts: 1,
            newly_delivered_pkts: 1,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            in_flight_pkts: self.in_flight_pkts(),
            is_cwnd_limited: true,
            is_window_full: acked <= self.full_at,
            state: self.state,
            una_pkts: acked,
            next_pkts: self.next,
            delivered_pkts: self.delivered_pkts,
            delivered_time: self.delivered_time,
            lost_pkts: self.lost_pkts,
            earliest_departure: self.departure,
            rate,
        };
        if self.cca.owns_recovery() || self.state != CaState::Recovery {
            self.cca.on_ack(&mut self.window, &ack);
        }
        if self.cca.limits_itself() {
            let pipe_pkts = self.delivered_pkts + u64::from(self.in_flight_pkts());
            self.app_limited_until_pkts = pipe_pkts.max(1);
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            now: self.now,
            in_flight_pkts: self.in_flight_pkts(),
            next_pkts: self.next,
            flight_size_pkts: self.in_flight_pkts(),
            is_app_limited: self.app_limited_until_pkts > 0,
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            delivered_pkts: self.delivered_pkts,
            delivered_time: self.delivered_time,
            lost_pkts: self.lost_pkts,
        }
    }
}
