//! RACK: loss detection by time (RFC 8985 section 6).
//!
//! A packet is lost if a packet sent later has been delivered, and more than a round-trip time plus a
//! reordering window has passed since it was sent.
//!
//! | clause | here, after net/ipv4/tcp_recovery.c |
//! | --- | --- |
//! | RFC 8985 section 4 (Requirements): SACK, and when each packet was sent | without `sack` RACK is not used (`is_rack`) |
//! | RFC 8985 section 3.3.2 (Reordering Window Adaptation) | step 4 below |
//! | RFC 8985 section 6.2 (Upon Receiving an ACK) step 1: min_RTT | the windowed minimum of the sender |
//! | RFC 8985 section 6.2 (Upon Receiving an ACK) step 2: most recently sent segment delivered | `on_delivered`; a retransmission acknowledged sooner than the minimum round-trip time is ignored |
//! | RFC 8985 section 6.2 (Upon Receiving an ACK) step 3: reordering | the sender's: a hole that fills without a retransmission |
//! | RFC 8985 section 6.2 (Upon Receiving an ACK) step 4: reordering window | 0 if no reordering was seen and recovery is in progress or DupThresh reached; otherwise steps x min_RTT/4, at most SRTT |
//! | RFC 8985 section 6.2 (Upon Receiving an ACK) step 4: DSACK | one step more in a round with a DSACK, kept for 16 recoveries |
//! | RFC 8985 section 6.2 (Upon Receiving an ACK) step 5: losses | `expires_in`, called for packets in the order they were sent |
//! | RFC 8985 section 6.3 (Upon RTO Expiration) | the sender's |
//! | RFC 8985 section 7 (TLP Algorithm Details) | the sender's |
//!
//! RFC 8985 and Linux both bound the window by SRTT.

/// Recoveries for which a wider reordering window is kept (RFC 8985: 16).
pub const RECOVERIES_KEPT: u8 = 16;

/// RACK's state of a sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Rack {
    /// Send time of the most recently sent delivered packet (`RACK.xmit_ts`).
    sent_us: u64,
    /// One past its last sequence number (`RACK.end_seq`).
    end: u64,
    /// Its round-trip time (`RACK.rtt`).
    rtt_us: u64,
    /// Whether it changed since losses were last detected.
    has_advanced: bool,
    /// Reordering window in quarters of the minimum round-trip time (`RACK.reo_wnd_mult`).
    steps: u8,
    /// Recoveries until it returns to 1 (`RACK.reo_wnd_persist`).
    persist: u8,
    dsack_seen: bool,
    /// Total delivered when the window was last widened.
    widened_at_pkts: u64,
}

/// Inputs of the reordering window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reordering {
    /// Whether reordering was seen: a hole filled without a retransmission.
    pub was_seen: bool,
    /// Whether recovery is in progress, or enough packets are SACKed to start it.
    pub is_recovering: bool,
    /// Minimum round-trip time, microseconds.
    pub min_rtt_us: u64,
    /// Eight times the smoothed round-trip time.
    pub srtt_8us: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            sent_us: 0,
            end: 0,
            rtt_us: 0,
            has_advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            widened_at_pkts: 0,
        }
    }
}

impl Rack {
    /// A packet was delivered.
    pub fn on_delivered(
        &mut self,
        sent_us: u64,
        end: u64,
        was_retransmitted: bool,
        now_us: u64,
        min_rtt_us: u64,
    ) {
        // If its host still held this copy when another copy arrived, it had not left yet.
        let rtt_us = now_us.saturating_sub(sent_us);
        if was_retransmitted && rtt_us < min_rtt_us {
            return;
        }
        self.has_advanced = true;
        self.rtt_us = rtt_us;
        if (sent_us, end) > (self.sent_us, self.end) {
            (self.sent_us, self.end) = (sent_us, end);
        }
    }

    /// Whether there is a new delivery to judge by; clears the flag.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.has_advanced)
    }

    /// Requests another loss detection.
    pub fn set_advanced(&mut self) {
        self.has_advanced = true;
    }

    /// The reordering window, microseconds (RFC 8985 section 6.2 step 4).
    pub fn window_us(&self, reordering: Reordering) -> u64 {
        if !reordering.was_seen && reordering.is_recovering {
            return 0;
        }
        let quarter_us = match reordering.min_rtt_us {
            u64::MAX => u64::from(u32::MAX) >> 2,
            min_rtt_us => min_rtt_us >> 2,
        };
        (quarter_us * u64::from(self.steps)).min(reordering.srtt_8us >> 3)
    }

    /// Whether the packet was sent before the most recently sent delivered one.
    #[inline]
    pub fn was_sent_before(&self, sent_us: u64, end: u64) -> bool {
        (self.sent_us, self.end) > (sent_us, end)
    }

    /// Remaining time before the packet is considered lost, microseconds; it is lost if not positive.
    #[inline]
    pub fn expires_in_us(&self, sent_us: u64, window_us: u64, now_us: u64) -> i64 {
        (self.rtt_us + window_us) as i64 - (now_us as i64 - sent_us as i64)
    }

    /// A DSACK was received that reordering may have caused.
    pub fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// At the end of a round: widens the window if a DSACK was seen (section 6.2 step 4).
    /// `prior_delivered_pkts` is that of the acknowledgement's rate sample.
    pub fn update_window(&mut self, prior_delivered_pkts: u64, delivered_pkts: u64) {
        // A second DSACK in a round does not widen it again.
        if self.dsack_seen && prior_delivered_pkts < self.widened_at_pkts {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            // 255 at most, as in the kernel.
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.widened_at_pkts = delivered_pkts;
            self.persist = RECOVERIES_KEPT;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery has ended without an undo.
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone because of DSACKs: it does not count.
    pub fn on_undone(&mut self) {
        self.persist = (self.persist + 1).min(RECOVERIES_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REORDERING: Reordering = Reordering {
        was_seen: true,
        is_recovering: true,
        min_rtt_us: 40_000,
        srtt_8us: 8 * 50_000,
    };

    #[test]
    fn the_window_is_a_quarter_of_the_least_round_trip_time() {
        let rack = Rack::default();
        assert_eq!(rack.window_us(REORDERING), 10_000);
        let unseen = Reordering {
            was_seen: false,
            ..REORDERING
        };
        assert_eq!(rack.window_us(unseen), 0);
        let before_recovery = Reordering {
            is_recovering: false,
            ..unseen
        };
        assert_eq!(rack.window_us(before_recovery), 10_000);
    }

    #[test]
    fn duplicates_widen_it_once_a_round_up_to_the_smoothed_round_trip_time() {
        let mut rack = Rack::default();
        for round in 1..=10u64 {
            rack.on_dsack();
            rack.update_window(round * 10, round * 10 + 5);
            // In the same round nothing more happens.
            rack.on_dsack();
            rack.update_window(round * 10 + 2, round * 10 + 6);
            let expected = (10_000 * (round + 1)).min(50_000);
            assert_eq!(rack.window_us(REORDERING), expected);
        }
        for _ in 0..RECOVERIES_KEPT {
            rack.on_recovered();
        }
        rack.update_window(1000, 1000);
        assert_eq!(rack.window_us(REORDERING), 10_000);
    }

    #[test]
    fn what_was_sent_earlier_is_lost_after_a_round_trip_and_the_window() {
        let mut rack = Rack::default();
        rack.on_delivered(1_000, 2000, false, 41_000, 40_000);
        assert!(rack.was_sent_before(1_000, 1000) && !rack.was_sent_before(1_000, 3000));
        assert_eq!(rack.expires_in_us(500, 10_000, 41_000), 9_500);
        assert!(rack.expires_in_us(500, 0, 41_000) <= 0);
        // A copy acknowledged sooner than any round trip says nothing.
        rack.on_delivered(40_000, 9000, true, 41_000, 40_000);
        assert!(!rack.was_sent_before(30_000, 9000));
    }
}
