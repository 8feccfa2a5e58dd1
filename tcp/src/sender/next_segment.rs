//! The next new segment, and the conditions for sending it.

use super::Sender;
use super::cork::{Cork, CorkedTail};
use super::recovery::GoesFirst;

impl Sender {
    /// Whether the next new segment is full, with more behind it: only windows and the host's queue can hold
    /// it back.
    #[inline]
    pub(super) fn is_amid_full_segments(&self) -> bool {
        let after = self.next + u64::from(self.settings.mss_bytes);
        after < self.written && !self.goes_on_with_cut()
    }

    /// Whether the congestion window allows a new segment. In Linux it does not hold back the segment with
    /// the FIN (`tcp_cwnd_test`).
    pub(super) fn has_window(&self) -> bool {
        let has_room = self.board.in_flight() < self.window.cwnd_pkts;
        has_room || (self.settings.is_linux() && self.has_unsent() && self.next_is_last())
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.has_data() || (self.is_closing && !self.fin_sent)
    }

    /// Payload of the next new segment.
    pub(super) fn next_bytes(&self) -> u32 {
        let first_end = self
            .bursts
            .as_ref()
            .and_then(|bursts| bursts.queue.first_end());
        let end = match first_end {
            Some(end) => end,
            None if self.goes_on_with_cut() => self.rare.cut,
            None => self.written,
        };
        let unsent = end.saturating_sub(self.next);
        unsent.min(u64::from(self.settings.mss_bytes)) as u32
    }

    /// Whether the next segment ends at `rare.cut`, or before a full segment.
    #[inline]
    pub(super) fn goes_on_with_cut(&self) -> bool {
        self.is_cut && self.rare.cut > self.next
    }

    /// Whether the next new segment has the FIN.
    pub(super) fn next_is_last(&self) -> bool {
        self.is_closing && self.next + u64::from(self.next_bytes()) == self.written
    }

    /// Whether the whole next new segment, FIN included, fits the receive window.
    pub(super) fn next_fits(&self) -> bool {
        let end = self.next + u64::from(self.next_bytes()) + u64::from(self.next_is_last());
        end <= self.window_end
    }

    pub(super) fn may_send_new(&self) -> bool {
        let is_corked =
            self.corked != CorkedTail::No && self.next_bytes() < self.settings.mss_bytes;
        self.has_unsent() && self.next_fits() && !is_corked && !self.waits_for_more()
    }

    /// Nagle's algorithm, for the last segment of a write. Linux's F-RTO ignores it (`tcp_xmit_recovery` with
    /// `TCP_NAGLE_OFF`).
    pub(super) fn waits_for_more(&self) -> bool {
        let is_cut = match &self.bursts {
            Some(bursts) => !bursts.queue.is_last(),
            None => self.goes_on_with_cut() && self.rare.cut < self.written,
        };
        let is_small = self.next_bytes() < self.settings.mss_bytes && !is_cut;
        let small_is_out = self.small_end > self.una;
        let is_held = self.cork == Cork::On || (self.nagle && small_is_out);
        let is_f_rto = self.recovery.goes_first == GoesFirst::New && self.settings.is_linux();
        is_small && is_held && !self.is_closing && !is_f_rto
    }
}
