//! Read access to a sender.

use super::{Phase, Sender, Statistics};
use crate::cca::{CaState, Cca, Window};
use crate::rtt::RoundTrip;
use crate::scoreboard::Scoreboard;
use dumbbell_core::time::Time;

impl Sender {
    /// State of the connection.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The congestion window.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Recovery state.
    pub fn state(&self) -> CaState {
        self.recovery.state
    }

    /// The controller.
    pub fn cca(&self) -> &Cca {
        &self.cca
    }

    /// The scoreboard.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// The round-trip time estimators.
    pub fn round_trip(&self) -> &RoundTrip {
        &self.rtt
    }

    /// Last delivery rate, bytes per second.
    pub fn delivery_rate_bytes_per_s(&self) -> Option<u64> {
        self.rate.bytes_per_s(self.settings.mss_bytes)
    }

    /// Earliest departure, from the queue of its host, of what was sent last, at `now`.
    pub fn departure(&self, now: Time, is_data: bool) -> Time {
        self.pacing.departure(now, is_data)
    }

    /// Timestamp of what is sent now, from which its round-trip time is measured.
    #[inline]
    pub(super) fn stamp(&self, now: Time, is_data: bool) -> Time {
        if self.settings.is_linux() {
            self.pacing.stamp(now, is_data)
        } else {
            self.pacing.departure(now, is_data)
        }
    }

    /// The pacing rate, if segments are paced.
    pub fn pacing_rate_bytes_per_s(&self) -> Option<u64> {
        let rate = self.window.pacing_rate_bytes_per_s;
        (self.pacing.is_on() && rate > 0).then_some(rate)
    }

    /// The retransmission timeout, including backoff.
    pub fn rto(&self) -> Time {
        self.timers.rto
    }

    /// Whether SACK blocks have shown reordering.
    pub fn has_seen_reordering(&self) -> bool {
        self.recovery.reordering_seen
    }

    /// Counters.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            sent_pkts: self.sent_pkts(),
            sent_payload_bytes: self.sent_payload_bytes(),
            written_payload_bytes: self.written - 1 + self.uncopied_bytes(),
            ..self.rare.statistics
        }
    }

    /// Segments sent for the first time.
    pub(super) fn sent_pkts(&self) -> u64 {
        self.board.tail() + self.rare.statistics.sent_pkts
    }

    pub(super) fn sent_payload_bytes(&self) -> u64 {
        let sent = self.next.min(self.written).saturating_sub(1);
        sent + self.rare.statistics.sent_payload_bytes
    }

    /// Time of the last transmission.
    pub(super) fn last_sent(&self) -> Option<Time> {
        (self.last_sent != Time::NEVER).then_some(self.last_sent)
    }

    /// Payload acknowledged.
    pub fn acked_payload_bytes(&self) -> u64 {
        self.una.min(self.written).saturating_sub(1)
    }

    /// Payload written and not sent yet.
    pub fn unsent_bytes(&self) -> u64 {
        self.written.saturating_sub(self.next) + self.uncopied_bytes()
    }

    pub(super) fn uncopied_bytes(&self) -> u64 {
        self.bursts
            .as_ref()
            .map_or(0, |bursts| bursts.queue.to_copy())
    }

    /// Whether both ends have closed and both FINs are acknowledged.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Finished && self.rare.peer_has_finished
    }
}
