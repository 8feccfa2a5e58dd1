//! Proportional rate reduction: reduces the window to the threshold during loss recovery.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 6937 section 3, proportional part | yes |
//! | RFC 6937 section 3, CRB and SSRB | as Linux 6.1: SSRB when the acknowledgement advances and shows no new loss, CRB otherwise |
//! | RFC 6937, first retransmission | at least one packet is sent on entering recovery |
//! | RFC 9937 section 6.1, SafeACK | an acknowledgement that advances and shows no new loss |
//! | RFC 9937 section 6.2, on every acknowledgement | `rfc9937`: sndcnt = MAX(prr_delivered - prr_out, DeliveredData), plus one for a SafeACK, at most up to the threshold |
//! | RFC 9937 section 6.2, RecoverFS | FlightSize less what was SACKed before; `rfc6937` has the window before the reduction |
//! | RFC 9937 section 6.2, at the end | window = threshold |

use dumbbell_spec::tcp::Prr as Description;

/// The state of a recovery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prr {
    description: Description,
    /// Packets delivered since recovery began (`prr_delivered`).
    delivered_pkts: u32,
    /// Packets sent since recovery began (`prr_out`).
    out_pkts: u32,
    /// The flight size at the start of recovery (`RecoverFS`).
    recover_flight_pkts: u32,
}

/// The effect of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivered {
    /// Packets newly acknowledged or SACKed.
    pub newly_delivered_pkts: u32,
    /// Packets newly considered lost.
    pub newly_lost_pkts: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub advances: bool,
}

impl Prr {
    /// Not in recovery.
    pub fn new(description: Description) -> Prr {
        Prr {
            description,
            delivered_pkts: 0,
            out_pkts: 0,
            recover_flight_pkts: 1,
        }
    }

    /// A reduction begins, with this window and this number of packets outstanding that are not SACKed.
    pub fn begin(&mut self, cwnd_pkts: u32, flight_pkts: u32) {
        self.delivered_pkts = 0;
        self.out_pkts = 0;
        self.recover_flight_pkts = match self.description {
            Description::Rfc6937 => cwnd_pkts,
            Description::Rfc9937 => flight_pkts,
        }
        .max(1);
    }

    /// Packets were sent during the reduction.
    #[inline]
    pub fn on_send(&mut self, pkts: u32) {
        self.out_pkts += pkts;
    }

    /// This number of them were not sent after all.
    pub fn take_back(&mut self, pkts: u32) {
        self.out_pkts = self.out_pkts.saturating_sub(pkts);
    }

    /// The window after an acknowledgement; None if it delivers nothing.
    pub fn window(
        &mut self,
        ack: Delivered,
        ssthresh_pkts: u32,
        in_flight_pkts: u32,
    ) -> Option<u32> {
        let newly = ack.newly_delivered_pkts;
        if newly == 0 {
            return None;
        }
        self.delivered_pkts += newly;
        let (delivered, out) = (i64::from(self.delivered_pkts), i64::from(self.out_pkts));
        let room = i64::from(ssthresh_pkts) - i64::from(in_flight_pkts);
        let is_safe = ack.advances && ack.newly_lost_pkts == 0;
        let mut send = if room < 0 {
            // Proportional: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out.
            let share = u64::from(self.delivered_pkts) * u64::from(ssthresh_pkts);
            share.div_ceil(u64::from(self.recover_flight_pkts)) as i64 - out
        } else {
            // CRB: as much as was delivered; SSRB: and one more.
            let bound = (delivered - out).max(i64::from(newly));
            room.min(bound + i64::from(is_safe))
        };
        // Fast retransmit always sends one packet (RFC 6937 section 3).
        if self.out_pkts == 0 {
            send = send.max(1);
        }
        Some((i64::from(in_flight_pkts) + send.max(0)).max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUPLICATE: Delivered = Delivered {
        newly_delivered_pkts: 1,
        newly_lost_pkts: 0,
        advances: false,
    };

    /// RFC 6937 section 3.1's first example: 20 packets, the first lost, Reno. Ten are sent in
    /// the nineteen acknowledgements of recovery: every second one lets a packet go.
    #[test]
    fn half_of_the_acknowledgements_send_in_the_proportional_phase() {
        for description in [Description::Rfc6937, Description::Rfc9937] {
            let mut prr = Prr::new(description);
            prr.begin(20, 20);
            // SACKs of the first three; 1 is lost, 3 delivered.
            let (mut in_flight, mut sent) = (16, Vec::new());
            for ack in 0..16 {
                if ack > 0 {
                    in_flight -= 1;
                }
                let cwnd = prr.window(DUPLICATE, 10, in_flight).unwrap();
                let now = cwnd - in_flight.min(cwnd);
                prr.on_send(now);
                in_flight += now;
                sent.push(now);
            }
            assert_eq!(sent[0], 1, "fast retransmit");
            let total: u32 = sent.iter().sum();
            assert!((8..=9).contains(&total), "{description:?}: {sent:?}");
            assert!(sent.iter().all(|now| *now <= 1));
            assert!((9..=10).contains(&in_flight));
        }
    }

    /// Below the threshold the bound is what was delivered (CRB), and one more where the
    /// acknowledgement advances without new losses (SSRB).
    #[test]
    fn below_the_threshold_it_conserves_or_slow_starts() {
        let mut prr = Prr::new(Description::Rfc6937);
        prr.begin(20, 20);
        prr.on_send(1);
        let burst_loss = Delivered {
            newly_lost_pkts: 15,
            ..DUPLICATE
        };
        assert_eq!(prr.window(burst_loss, 10, 4), Some(5));
        prr.on_send(1);
        let safe = Delivered {
            advances: true,
            ..DUPLICATE
        };
        assert_eq!(prr.window(safe, 10, 4), Some(6));
        prr.on_send(2);
        // Never above the threshold.
        let many = Delivered {
            newly_delivered_pkts: 30,
            ..safe
        };
        assert_eq!(prr.window(many, 10, 4), Some(10));
    }

    #[test]
    fn an_acknowledgement_that_delivers_nothing_changes_nothing() {
        let mut prr = Prr::new(Description::Rfc9937);
        prr.begin(20, 20);
        let nothing = Delivered {
            newly_delivered_pkts: 0,
            ..DUPLICATE
        };
        assert_eq!(prr.window(nothing, 10, 4), None);
    }
}
