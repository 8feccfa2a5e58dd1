//! Measures round trips: from the transmission of a packet to its acknowledgement, with the round-trip times
//! in between.

use super::Ack;
use dumbbell_core::time::Time;

/// A completed round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RoundTrip {
    /// Round-trip time of the acknowledgement that ended it.
    pub(super) last: Time,
    /// The minimum.
    pub(super) least: Time,
    /// The mean.
    pub(super) mean: Time,
    /// Number of measurements.
    pub(super) count: u64,
}

/// The current round trip.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RoundTrips {
    /// It ends when this is acknowledged; None before the first acknowledgement.
    end_pkts: Option<u64>,
    least: Option<Time>,
    sum: Time,
    count: u64,
}

impl RoundTrips {
    /// Processes an acknowledgement. Returns the round trip that it ends, if anything was measured in it.
    pub(super) fn enter(&mut self, ack: &Ack) -> Option<RoundTrip> {
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.sum = self.sum.saturating_add(rtt);
            self.count += 1;
        }
        match self.end_pkts {
            None => {
                self.end_pkts = Some(ack.next_pkts);
                None
            }
            Some(end_pkts) if ack.una_pkts >= end_pkts => {
                let before = *self;
                *self = RoundTrips {
                    end_pkts: Some(ack.next_pkts),
                    ..RoundTrips::default()
                };
                before.least.map(|least| RoundTrip {
                    last: ack.rtt.unwrap_or(least),
                    least,
                    mean: Time(before.sum.0 / before.count),
                    count: before.count,
                })
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{self, ms};

    #[test]
    fn it_ends_with_what_was_sent_when_it_began() {
        let mut round_trips = RoundTrips::default();
        let mut enter = |una_pkts, next_pkts, rtt| {
            round_trips.enter(&Ack {
                una_pkts,
                next_pkts,
                ..testing::ack(ms(0), 1, ms(rtt))
            })
        };
        assert_eq!(enter(1, 10, 40), None);
        assert_eq!(enter(9, 18, 60), None);
        let over = RoundTrip {
            last: ms(50),
            least: ms(40),
            mean: ms(50),
            count: 3,
        };
        assert_eq!(enter(10, 20, 50), Some(over));
        assert_eq!(enter(19, 30, 70), None);
        assert_eq!(enter(20, 30, 80).unwrap().least, ms(70));
    }
}
