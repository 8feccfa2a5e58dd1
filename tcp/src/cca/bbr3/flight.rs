//! What a packet records when it is sent: `P.tx_in_flight` and `P.lost`
//! (draft-ietf-ccwg-bbr section 4.1.2.1.2).
//!
//! The records are found by the time at which the packet was sent. Packets that were sent at one instant share
//! a record, as the draft recommends for those that leave the host together.

use crate::cca::SentPacket;
use dumbbell_core::time::Time;
use std::collections::VecDeque;

/// The record of the packets sent at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    sent: Time,
    /// Packets in flight after the last of them was sent.
    pub(super) in_flight_pkts: u32,
    /// Packets considered lost before, in total.
    pub(super) lost_pkts: u64,
}

/// The records of all packets in flight, in the order of their times.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Flight {
    records: VecDeque<Record>,
}

impl Flight {
    /// Adds the record of a packet, and forgets those that are older than all packets in flight.
    pub(super) fn record(&mut self, packet: &SentPacket) {
        while (self.records.front()).is_some_and(|first| first.sent < packet.oldest_in_flight) {
            self.records.pop_front();
        }
        let record = Record {
            sent: packet.at,
            in_flight_pkts: packet.in_flight_pkts,
            lost_pkts: packet.lost_pkts,
        };
        match self.records.back_mut() {
            Some(last) if last.sent >= packet.at => {
                last.in_flight_pkts = last.in_flight_pkts.max(packet.in_flight_pkts);
            }
            _ => self.records.push_back(record),
        }
    }

    /// The record of the packets sent at `sent`, or the last one before; None if there is none.
    pub(super) fn sent_at(&self, sent: Time) -> Option<Record> {
        let after = self.records.partition_point(|record| record.sent <= sent);
        let at = after.checked_sub(1)?;
        self.records.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::ms;

    fn packet(at_ms: u64, in_flight_pkts: u32, oldest_ms: u64) -> SentPacket {
        SentPacket {
            at: ms(at_ms),
            in_flight_pkts,
            lost_pkts: at_ms,
            oldest_in_flight: ms(oldest_ms),
        }
    }

    #[test]
    fn a_record_is_found_by_its_time_until_all_in_flight_are_newer() {
        let mut flight = Flight::default();
        for at in 1..=10 {
            flight.record(&packet(at, at as u32, 1));
        }
        assert_eq!(flight.sent_at(ms(0)), None);
        for at in 1..=10 {
            let found = flight.sent_at(ms(at)).unwrap();
            assert_eq!((found.in_flight_pkts, found.lost_pkts), (at as u32, at));
        }
        flight.record(&packet(11, 5, 7));
        assert_eq!(flight.records.len(), 5);
        assert_eq!(flight.sent_at(ms(6)), None);
        assert_eq!(flight.sent_at(ms(7)).unwrap().in_flight_pkts, 7);
    }

    #[test]
    fn packets_of_one_instant_share_a_record() {
        let mut flight = Flight::default();
        for in_flight in 1..=4 {
            flight.record(&packet(1, in_flight, 1));
        }
        assert_eq!(flight.records.len(), 1);
        assert_eq!(flight.sent_at(ms(1)).unwrap().in_flight_pkts, 4);
    }
}
