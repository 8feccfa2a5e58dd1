//! The states, one after the other, driven by an acknowledgement for each round trip.

mod losses;
mod probe_bw;
mod probe_rtt;
mod startup;

use super::*;
use crate::cca::testing::{ack, ms, options, snapshot};
use crate::cca::{RateSample, Window};
use dumbbell_spec::tcp::Profile;

const RTT: Time = ms(40);
/// 40 packets in a round trip.
const RATE: f64 = 1000.0;
const BDP: u32 = 40;

/// A connection whose packets of a round trip are acknowledged at once.
struct Flow {
    bbr: Bbr3,
    window: Window,
    now: Time,
    delivered_pkts: u64,
    lost_pkts: u64,
    rtt: Time,
    is_app_limited: bool,
    is_window_full: bool,
    state: CaState,
}

impl Flow {
    fn with(options: &Options) -> Flow {
        let mut flow = Flow {
            bbr: Bbr3::new(options, Time::ZERO),
            window: Window::new(10, 1448),
            now: Time::ZERO,
            delivered_pkts: 0,
            lost_pkts: 0,
            rtt: RTT,
            is_app_limited: false,
            is_window_full: false,
            state: CaState::Open,
        };
        let begin = Snapshot {
            srtt: Some(RTT),
            ..snapshot(Time::ZERO)
        };
        flow.bbr.init(&mut flow.window, &begin);
        flow
    }

    fn new() -> Flow {
        Flow::with(&options(Profile::Rfc))
    }

    /// A flow in ProbeBW_CRUISE.
    fn cruising() -> Flow {
        let mut flow = Flow::new();
        flow.until(State::ProbeBwCruise, RATE, BDP);
        flow
    }

    /// A flow in `state`, one of the cycle.
    fn probing(state: State) -> Flow {
        let mut flow = Flow::cruising();
        flow.until(state, RATE, BDP);
        flow
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            delivered_pkts: self.delivered_pkts,
            lost_pkts: self.lost_pkts,
            is_app_limited: self.is_app_limited,
            ..snapshot(self.now)
        }
    }

    /// Sends with `sent_pkts` in flight then. After a round trip all packets of it are acknowledged at
    /// `pkts_per_s`, with `left_pkts` in flight.
    fn round_of(&mut self, pkts_per_s: f64, sent_pkts: u32, left_pkts: u32) {
        let sent = self.now;
        self.bbr.on_sent(&SentPacket {
            at: sent,
            in_flight_pkts: sent_pkts,
            lost_pkts: self.lost_pkts,
            oldest_in_flight: sent,
        });
        self.now += self.rtt;
        let pkts = (pkts_per_s * self.rtt.as_seconds()) as u32;
        self.acknowledge(sent, pkts_per_s, pkts, left_pkts);
    }

    fn acknowledge(&mut self, sent: Time, pkts_per_s: f64, pkts: u32, left_pkts: u32) {
        let prior_delivered_pkts = self.delivered_pkts;
        self.delivered_pkts += u64::from(pkts);
        let base = ack(self.now, pkts, self.rtt);
        let sample = Ack {
            in_flight_pkts: left_pkts,
            delivered_pkts: self.delivered_pkts,
            lost_pkts: self.lost_pkts,
            state: self.state,
            is_window_full: self.is_window_full,
            rate: RateSample {
                delivered_pkts: i64::from(pkts),
                prior_delivered_pkts,
                interval: Time::from_seconds(f64::from(pkts) / pkts_per_s),
                is_app_limited: self.is_app_limited,
                newest_sent: Some(sent),
                ..base.rate
            },
            ..base
        };
        self.bbr.on_ack(&mut self.window, &sample);
    }

    fn round(&mut self, pkts_per_s: f64, in_flight_pkts: u32) {
        self.round_of(pkts_per_s, in_flight_pkts, in_flight_pkts);
    }

    /// Round trips until the state is reached.
    fn until(&mut self, state: State, pkts_per_s: f64, in_flight_pkts: u32) {
        for _ in 0..400 {
            if self.bbr.state == state {
                return;
            }
            self.round(pkts_per_s, in_flight_pkts);
        }
        panic!("{state:?} is never reached: {:?}", self.bbr.state);
    }

    /// Of packets sent now, with `in_flight_pkts` in flight, some are lost a round trip later; each is a
    /// sequence range of its own.
    fn lose(&mut self, in_flight_pkts: u32, pkts: u32) {
        let sent = self.now;
        self.bbr.on_sent(&SentPacket {
            at: sent,
            in_flight_pkts,
            lost_pkts: self.lost_pkts,
            oldest_in_flight: sent,
        });
        self.now += self.rtt;
        for number in 0..u64::from(pkts) {
            self.lost_pkts += 1;
            let seq = 10_000 * (self.lost_pkts + number);
            let packet = LostPacket {
                now: self.now,
                sent,
                seq,
                end: seq + 1448,
                is_app_limited: self.is_app_limited,
                delivered_pkts: self.delivered_pkts,
                lost_pkts: self.lost_pkts,
            };
            self.bbr.on_packet_lost(&mut self.window, &packet);
        }
    }

    fn enter(&mut self, state: CaState) {
        let snapshot = self.snapshot();
        if state == CaState::Recovery {
            self.bbr.on_loss(&mut self.window, &snapshot);
        }
        self.bbr.on_state(&mut self.window, state, &snapshot);
        self.state = state;
    }
}
