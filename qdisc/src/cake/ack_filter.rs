//! The filter of acknowledgements of cake (tc-cake(8), "ACK filter parameters"; T. Høiland-Jørgensen, D. Täht,
//! J. Morton, "Piece of CAKE", LANMAN 2018, section III.D).
//!
//! When an acknowledgement enters its queue, one that the queue already holds may become redundant: of the
//! same connection, without data, with the same ECN flags, and with nothing to say that the new one does not
//! say too (SACK blocks included). The first redundant one is dropped; without `aggressive` only if the queue
//! holds another.
//!
//! | clause | here |
//! | --- | --- |
//! | only pure acknowledgements are dropped: no data, SYN, FIN, RST | yes |
//! | duplicate acknowledgements stay, unless the new one has more SACK blocks | yes |
//! | `ack-filter` keeps two acknowledgements of a connection, `ack-filter-aggressive` one | yes |
//! | acknowledgements with an unknown option or flag stay: the kernel's filter knows no accurate ECN (RFC 9768) | yes |
//! | at most one is dropped for each that arrives | yes |
//! | segments with data make older acknowledgements redundant too | none: data and acknowledgements of a connection never travel in one direction here |

use crate::flow_queues::{Packets, Place, QueueEnds};
use dumbbell_core::acknowledgement::Acknowledgement;
use dumbbell_core::packet::Packet;

/// The filter, with the headers of the acknowledgements in the queues.
#[derive(Debug, Clone)]
pub struct AckFilter {
    is_aggressive: bool,
    /// By place of their packets; None for packets of another kind.
    headers: Vec<Option<Acknowledgement>>,
}

impl AckFilter {
    pub fn new(is_aggressive: bool) -> AckFilter {
        AckFilter {
            is_aggressive,
            headers: Vec::new(),
        }
    }

    /// The newest packet of a queue has this header, if it is an acknowledgement. Returns the place of the
    /// packet that is now redundant.
    pub fn on_arrival(
        &mut self,
        header: Option<Acknowledgement>,
        queue: QueueEnds,
        packets: &Packets,
    ) -> Option<Place> {
        let newest = packets.newest(queue)?;
        if self.headers.len() <= newest.0 as usize {
            self.headers.resize(newest.0 as usize + 1, None);
        }
        self.headers[newest.0 as usize] = header;
        let new = header?;
        let arrived = packets.packet(newest);
        let mut redundant = packets.places(queue).filter(|place| {
            let old = self.headers[place.0 as usize];
            let is_of_it = |old: &Acknowledgement| {
                is_same_direction(packets.packet(*place), arrived) && is_redundant(old, &new)
            };
            *place != newest && old.as_ref().is_some_and(is_of_it)
        });
        let first = redundant.next()?;
        match self.is_aggressive || redundant.next().is_some() {
            true => Some(first),
            false => None,
        }
    }
}

fn is_same_direction(one: &Packet, other: &Packet) -> bool {
    one.conversation == other.conversation && one.is_reply() == other.is_reply()
}

fn is_redundant(old: &Acknowledgement, new: &Acknowledgement) -> bool {
    old.connection == new.connection
        && old.ecn_flags == new.ecn_flags
        && !old.has_unknown_flag
        && new.says_more_than(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;
    use dumbbell_core::time::Time;

    fn ack(number: u64) -> Acknowledgement {
        Acknowledgement {
            connection: 1,
            number,
            sacked: [(0, 0); 4],
            ecn_flags: 0,
            has_unknown_flag: false,
        }
    }

    /// Acknowledgement numbers of the packets left in a queue in which these arrive one after the other.
    fn left(is_aggressive: bool, arriving: &[Option<Acknowledgement>]) -> Vec<u32> {
        let mut filter = AckFilter::new(is_aggressive);
        let mut packets = Packets::new(0);
        let mut queue = QueueEnds::EMPTY;
        for header in arriving {
            let number = header.map_or(0, |header| header.number) as u32;
            let packet = Packet::new(PacketKind::Tcp, 7, number, 52, Time::ZERO).into_reply();
            packets.push(&mut queue, packet);
            if let Some(place) = filter.on_arrival(*header, queue, &packets) {
                packets.take_out(&mut queue, place);
            }
        }
        packets.of(queue).map(|packet| packet.number).collect()
    }

    #[test]
    fn two_stay_or_one() {
        let all: Vec<_> = (1..=6).map(|number| Some(ack(number))).collect();
        assert_eq!(left(false, &all), [5, 6]);
        assert_eq!(left(true, &all), [6]);
    }

    #[test]
    fn others_stay() {
        let data = None;
        let of = |connection| {
            Some(Acknowledgement {
                connection,
                ..ack(9)
            })
        };
        let echo = |number| {
            Some(Acknowledgement {
                ecn_flags: 1,
                ..ack(number)
            })
        };
        let counted = Some(Acknowledgement {
            has_unknown_flag: true,
            ..ack(1)
        });
        let plain = |number| Some(ack(number));
        assert_eq!(left(true, &[plain(1), data, plain(2)]), [0, 2]);
        assert_eq!(left(true, &[plain(1), of(2)]), [1, 9]);
        assert_eq!(left(true, &[plain(3), plain(3), plain(3)]), [3, 3, 3]);
        assert_eq!(left(true, &[plain(1), echo(2), echo(3)]), [1, 3]);
        assert_eq!(left(true, &[counted, plain(2)]), [1, 2]);
    }
}
