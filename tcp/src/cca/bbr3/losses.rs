//! Losses, marks, and losses that were none (draft-ietf-ccwg-bbr sections 5.3.1.3, 5.5.10 and 5.5.11).

use super::{
    BETA, Bbr3, CaState, FlightSample, LOSS_THRESHOLD, LostPacket, Sample, ShortTerm, Snapshot,
    State, Time, UNLIMITED_PKTS, Window,
};

/// `BBRStartupFullLossCnt`: sequence ranges lost in a round trip after which startup may end.
const STARTUP_LOST_RANGES: u32 = 6;

/// What a spurious loss restores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Undo {
    /// Whether the first loss of this recovery has saved the rest.
    is_saved: bool,
    /// `BBR.undo_state`: Startup or ProbeBW_UP, if a loss has ended it.
    state: Option<State>,
    short_term: ShortTerm,
    long_term_pkts: u32,
}

impl Default for Undo {
    /// `OnInit`: nothing is restored.
    fn default() -> Undo {
        Undo {
            is_saved: false,
            state: None,
            short_term: ShortTerm {
                pkts_per_s: 0.0,
                in_flight_pkts: 0,
            },
            long_term_pkts: 0,
        }
    }
}

impl Bbr3 {
    /// Fast recovery begins, or the retransmission timer has expired.
    pub(super) fn on_recovery(&mut self, window: &Window, snapshot: &Snapshot) {
        self.delivered_pkts = snapshot.delivered_pkts;
        self.save_state(window);
    }

    /// The recovery state may have changed: the window comes back when recovery ends (section 5.6.4.4).
    pub(super) fn follow_recovery(
        &mut self,
        window: &mut Window,
        state: CaState,
        delivered_pkts: u64,
    ) {
        let before = std::mem::replace(&mut self.recovery, state);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.recovery_start_delivered_pkts = delivered_pkts;
        }
        if before >= CaState::Recovery && state < CaState::Recovery {
            self.restore_cwnd(window);
            self.undo.is_saved = false;
        }
    }

    /// `SaveStateUponLoss`, at the first loss of a recovery. In the draft every round trip with losses saves the
    /// state again, and with it the response to the losses before, which would then never be undone.
    fn save_state(&mut self, window: &Window) {
        self.save_cwnd(window);
        if self.undo.is_saved {
            return;
        }
        self.undo = Undo {
            is_saved: true,
            state: None,
            short_term: self.short_term,
            long_term_pkts: self.long_term_pkts,
        };
    }

    /// `NoteLoss`.
    fn note_loss(&mut self, window: &Window) {
        if !self.signals.has_loss {
            self.signals.end_delivered_pkts = self.delivered_pkts;
            self.save_state(window);
        }
        self.signals.has_loss = true;
    }

    /// `HandleLostPacket`.
    pub(super) fn handle_lost_packet(&mut self, window: &Window, packet: &LostPacket) {
        self.note_loss(window);
        self.count_lost_range(packet);
        if !self.probe.is_sample {
            return;
        }
        let Some(record) = self.flight.sent_at(packet.sent) else {
            return;
        };
        let flight = FlightSample {
            in_flight_pkts: record.in_flight_pkts,
            lost_pkts: packet.lost_pkts.saturating_sub(record.lost_pkts) as u32,
            is_app_limited: packet.is_app_limited,
        };
        if self.is_inflight_too_high(&flight) {
            let at_loss = FlightSample {
                in_flight_pkts: inflight_at_loss_pkts(&flight),
                ..flight
            };
            self.handle_inflight_too_high(window, &at_loss, packet.now);
        }
    }

    fn count_lost_range(&mut self, packet: &LostPacket) {
        let signals = &mut self.signals;
        let continues = signals.lost_ranges > 0 && packet.seq == signals.last_lost_end;
        signals.lost_ranges += u32::from(!continues);
        signals.last_lost_end = packet.end;
    }

    /// `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self, flight: &FlightSample) -> bool {
        let tolerated_pkts = f64::from(flight.in_flight_pkts) * LOSS_THRESHOLD;
        f64::from(flight.lost_pkts) > tolerated_pkts || (flight.lost_pkts > 0 && !self.has_sack)
    }

    /// `HandleInflightTooHigh`: once for each bandwidth probe.
    fn handle_inflight_too_high(&mut self, window: &Window, flight: &FlightSample, now: Time) {
        self.probe.was_too_high = true;
        self.probe.is_sample = false;
        if !flight.is_app_limited {
            let least_pkts = (f64::from(self.target_inflight_pkts(window)) * BETA) as u32;
            self.long_term_pkts = flight.in_flight_pkts.max(least_pkts);
        }
        if self.state == State::ProbeBwUp {
            self.undo.state = Some(State::ProbeBwUp);
            self.start_down(now);
        }
    }

    /// `CheckStartupHighLoss`.
    pub(super) fn check_startup_high_loss(&mut self, sample: &Sample) {
        let has_ended = self.signals.is_round_start;
        let is_in_recovery = sample.state == CaState::Recovery;
        let is_high = if self.has_sack {
            let start_pkts = self.recovery_start_delivered_pkts;
            let is_round_old =
                (sample.prior_delivered_pkts).is_some_and(|prior| prior >= start_pkts);
            has_ended
                && is_round_old
                && self.signals.lost_ranges >= STARTUP_LOST_RANGES
                && self.is_inflight_too_high(&sample.flight)
        } else {
            self.signals.lost_ranges > 0
        };
        if self.state == State::Startup && is_in_recovery && is_high {
            self.end_startup();
        }
        if has_ended {
            self.signals.lost_ranges = 0;
        }
    }

    /// Losses or a mark show that the pipe is full.
    fn end_startup(&mut self) {
        self.undo.state = Some(State::Startup);
        self.pipe.fill();
        let bdp_pkts = self.bdp_pkts(self.pkts_per_s, 1.0);
        self.long_term_pkts = bdp_pkts.max(self.signals.in_flight_pkts);
    }

    /// A mark, once a round trip. The draft (section 3.7) says that marks are congestion and not more; here a
    /// mark is a loss in the short term, and ends startup or a bandwidth probe.
    pub(super) fn handle_mark(&mut self, window: &Window, snapshot: &Snapshot) {
        self.note_loss(window);
        if self.state == State::Startup {
            self.end_startup();
            self.undo.state = None;
        } else if self.probe.is_sample {
            let flight = FlightSample {
                in_flight_pkts: snapshot.in_flight_pkts,
                lost_pkts: 0,
                is_app_limited: snapshot.is_app_limited,
            };
            self.handle_inflight_too_high(window, &flight, snapshot.now);
            self.undo.state = None;
        }
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss(&mut self, window: &mut Window) {
        self.restore_cwnd(window);
        self.undo.is_saved = false;
        self.signals.has_loss = false;
        self.pipe.reset(0.0);
        let undo = std::mem::take(&mut self.undo.state);
        let (now, before) = (self.short_term, self.undo.short_term);
        self.short_term = ShortTerm {
            pkts_per_s: now.pkts_per_s.max(before.pkts_per_s),
            in_flight_pkts: now.in_flight_pkts.max(before.in_flight_pkts),
        };
        self.long_term_pkts = self.long_term_pkts.max(self.undo.long_term_pkts);
        match undo {
            Some(State::Startup) if self.state != State::Startup => {
                self.pipe.was_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

/// `InflightAtLoss`: the volume in flight at which losses crossed the threshold, for a packet of one segment.
fn inflight_at_loss_pkts(flight: &FlightSample) -> u32 {
    let prior_in_flight_pkts = f64::from(flight.in_flight_pkts) - 1.0;
    let prior_lost_pkts = f64::from(flight.lost_pkts) - 1.0;
    let lost_prefix_pkts =
        (LOSS_THRESHOLD * prior_in_flight_pkts - prior_lost_pkts) / (1.0 - LOSS_THRESHOLD);
    let in_flight_pkts = prior_in_flight_pkts + lost_prefix_pkts;
    in_flight_pkts.clamp(0.0, f64::from(UNLIMITED_PKTS - 1)) as u32
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn the_threshold_is_crossed_within_the_packet_that_was_lost() {
        let at = |in_flight_pkts, lost_pkts| {
            inflight_at_loss_pkts(&FlightSample {
                in_flight_pkts,
                lost_pkts,
                is_app_limited: false,
            })
        };
        // 2 % of 99 are 1.98 of them, of which one was lost before: (1.98 - 1) / 0.98 = 1 more.
        assert_eq!(at(100, 2), 100);
        // (1.98 - 2) / 0.98 = -0.02.
        assert_eq!(at(100, 3), 98);
        assert_eq!(at(1, 1), 0);
        assert_eq!(at(10, 200), 0);
    }
}
