//! What others may read of a sender.

use super::{Phase, Sender, Statistics};
use crate::cca::{CaState, Cca, Window};
use crate::rtt::RoundTrip;
use crate::scoreboard::Scoreboard;
use dumbbell_core::time::Time;

impl Sender {
    /// How far the connection is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The congestion window and what belongs to it.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// What it does about losses.
    pub fn state(&self) -> CaState {
        self.recovery.state
    }

    /// The controller.
    pub fn cca(&self) -> &Cca {
        &self.cca
    }

    /// What is out.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Round-trip times.
    pub fn round_trip(&self) -> &RoundTrip {
        &self.rtt
    }

    /// Last rate of delivery, bytes a second.
    pub fn delivery_rate_bytes_per_s(&self) -> Option<u64> {
        self.rate.bytes_per_s(self.settings.mss_bytes)
    }

    /// Before this what was sent last, at `now`, does not leave the queue of its host.
    pub fn departure(&self, now: Time, is_data: bool) -> Time {
        self.pacing.departure(now, is_data)
    }

    /// The time that what is sent now carries, and from which its round trip is reckoned.
    #[inline]
    pub(super) fn stamp(&self, now: Time, is_data: bool) -> Time {
        if self.settings.is_linux() {
            self.pacing.stamp(now, is_data)
        } else {
            self.pacing.departure(now, is_data)
        }
    }

    /// The rate segments leave at, if they are paced.
    pub fn pacing_rate_bytes_per_s(&self) -> Option<u64> {
        let rate = self.window.pacing_rate_bytes_per_s;
        (self.pacing.is_on() && rate > 0).then_some(rate)
    }

    /// The retransmission timeout, backing off included.
    pub fn rto(&self) -> Time {
        self.timers.rto
    }

    /// Whether a packet has ever arrived after a later one, as far as SACK blocks show.
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

    /// Segments sent the first time.
    pub(super) fn sent_pkts(&self) -> u64 {
        self.board.tail() + self.rare.statistics.sent_pkts
    }

    pub(super) fn sent_payload_bytes(&self) -> u64 {
        let sent = self.next.min(self.written).saturating_sub(1);
        sent + self.rare.statistics.sent_payload_bytes
    }

    /// When something was last sent.
    pub(super) fn last_sent(&self) -> Option<Time> {
        (self.last_sent != Time::NEVER).then_some(self.last_sent)
    }

    /// Payload that has been acknowledged.
    pub fn acked_payload_bytes(&self) -> u64 {
        self.una.min(self.written).saturating_sub(1)
    }

    /// Payload written and not yet sent.
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
