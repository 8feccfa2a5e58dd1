//! `ets`: strict bands, then bands that share by deficit round robin (tc-ets(8); Linux 6.1,
//! `net/sched/sch_ets.c`; IEEE 802.1Qaz, enhanced transmission selection).
//!
//! | clause | here |
//! | --- | --- |
//! | a strict band sends when all bands before it are empty | yes |
//! | then the other bands by deficit round robin | yes, see `rounds` |
//! | the band of the first filter that matches, else of the priority by TOS and `priomap` | yes |
//! | a band without a discipline: a `pfifo` of 1000 packets (txqueuelen) | yes |
//! | priority set otherwise (`SO_PRIORITY`, iptables, a class in `skb->priority`) | no |

use super::bands::{Classifier, backlog_of, bands_of, first_of, sooner};
use super::rounds::Rounds;
use super::{Build, Child, Dequeued, Discipline, DropReason, Events, Setting};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Ets as Parameters;

/// The state of the bands.
#[derive(Debug, Clone)]
pub struct Ets {
    bands: Vec<Child>,
    strict: usize,
    /// Deficit round robin of the bands after the strict ones.
    rounds: Rounds,
    classifier: Classifier,
}

impl Build<Parameters> for Ets {
    fn build(parameters: &Parameters, setting: &Setting) -> Ets {
        let bands = bands_of(&parameters.children, setting);
        Ets {
            classifier: Classifier::new(
                &parameters.filters,
                parameters.priomap,
                bands.len(),
                setting,
            ),
            bands,
            strict: usize::from(parameters.strict),
            rounds: Rounds::new(
                parameters.quanta_bytes.iter().copied(),
                setting.overhead_bytes,
            ),
        }
    }
}

impl Discipline for Ets {
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let band = self.classifier.band_of(&packet);
        self.bands[band].enqueue(packet, now, events)?;
        if let Some(sharing) = band.checked_sub(self.strict) {
            self.rounds.filled(sharing);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let (strict, sharing) = self.bands.split_at_mut(self.strict);
        match first_of(strict, |band| band.dequeue(now, events)) {
            Dequeued::Packet(packet) => Dequeued::Packet(packet),
            later => sooner(later, self.rounds.dequeue(sharing, now, events)),
        }
    }

    fn backlog(&self) -> (u32, u64) {
        backlog_of(&self.bands)
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        Some(self.classifier.band_of(packet) as u16)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.bands.iter().flat_map(Child::packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Qdisc;
    use dumbbell_core::packet::PacketKind;
    use dumbbell_tc::parse_qdisc;
    use std::collections::VecDeque;

    fn queue(text: &str) -> Qdisc {
        Qdisc::new(&parse_qdisc(text).unwrap(), &Setting::for_tests())
    }

    /// A packet of this number of bytes on the wire.
    fn packet(tos: u8, wire_bytes: u32) -> Packet {
        let overhead = Setting::for_tests().overhead_bytes;
        let mut packet = Packet::new(
            PacketKind::Udp,
            0,
            1,
            (wire_bytes - overhead) as u16,
            Time::ZERO,
        );
        packet.traffic_class = tos;
        packet
    }

    /// TOS bytes in order of departure while each band is backlogged with packets of this size.
    fn leaving(text: &str, lengths: &[(u8, u32)], count: usize) -> Vec<u8> {
        let mut queue = queue(text);
        let events = &mut Events::default();
        for (tos, bytes) in lengths {
            for _ in 0..2 {
                let taken = queue.enqueue(packet(*tos, *bytes), Time::ZERO, events);
                assert_eq!(taken, Ok(()));
            }
        }
        let left = std::iter::from_fn(|| match queue.dequeue(Time::ZERO, events) {
            Dequeued::Packet(packet) => {
                // Replaces the packet that left.
                let taken = queue.enqueue(packet, Time::ZERO, events);
                assert_eq!(taken, Ok(()));
                Some(packet.traffic_class)
            }
            _ => None,
        });
        left.take(count).collect()
    }

    // Priority 6, 0 and 2: TOS 0x10, 0x00, 0x08.
    const MAP: &str = "priomap 1 1 2 1 1 1 0";

    #[test]
    fn strict_bands_go_first() {
        let left = leaving(
            &format!("ets bands 3 strict 2 {MAP}"),
            &[(0x08, 100), (0x00, 100), (0x10, 100)],
            3,
        );
        assert_eq!(left, [0x10; 3]);
    }

    #[test]
    fn bands_share_by_their_quanta() {
        let text = format!("ets quanta 1000 3000 6000 {MAP}");
        // Packets of different sizes: bands share bytes.
        let lengths = [(0x10, 500), (0x00, 1000), (0x08, 250)];
        let left = leaving(&text, &lengths, 2900);
        let bytes_of = |(tos, bytes): (u8, u32)| {
            bytes * left.iter().filter(|each| **each == tos).count() as u32
        };
        assert_eq!(lengths.map(bytes_of), [100_000, 300_000, 600_000]);
    }

    /// Quanta of one byte give the same shares as any equal quanta, without iterating over empty rounds.
    #[test]
    fn a_small_quantum_costs_no_more() {
        let lengths = [(0x10, 1514), (0x00, 1514)];
        let left = leaving(&format!("ets quanta 1 1 1 {MAP}"), &lengths, 10);
        assert_eq!(left.iter().filter(|tos| **tos == 0x10).count(), 5);
    }

    #[test]
    fn rounds_that_are_skipped_are_those_walked_through() {
        let mut walked: Vec<(u64, u64, u64)> = vec![(1, 1514, 0), (7, 300, 0), (2, 999, 0)];
        let mut order = VecDeque::from([0, 1, 2]);
        for each in &mut walked {
            each.2 = each.0;
        }
        let mut expected = Vec::new();
        while expected.len() < 100 {
            let band = order[0];
            let (quantum, bytes, deficit) = &mut walked[band];
            if *bytes <= *deficit {
                *deficit -= *bytes;
                expected.push(band as u8);
            } else {
                *deficit += *quantum;
                order.rotate_left(1);
            }
        }
        let left = leaving(
            &format!("ets quanta 1 7 2 {MAP}"),
            &[(0x10, 1514), (0x00, 300), (0x08, 999)],
            100,
        );
        let bands = left.iter().map(|tos| match tos {
            0x10 => 0,
            0x00 => 1,
            _ => 2,
        });
        assert_eq!(bands.collect::<Vec<u8>>(), expected);
    }

    #[test]
    fn a_band_that_comes_again_has_one_quantum() {
        let mut queue = queue(&format!("ets quanta 1000 1000 1000 {MAP}"));
        let events = &mut Events::default();
        let mut send = |queue: &mut Qdisc| match queue.dequeue(Time::ZERO, events) {
            Dequeued::Packet(packet) => packet.traffic_class,
            other => panic!("{other:?}"),
        };
        let add = |queue: &mut Qdisc, tos, bytes| {
            let taken = queue.enqueue(packet(tos, bytes), Time::ZERO, &mut Events::default());
            assert_eq!(taken, Ok(()));
        };
        add(&mut queue, 0x10, 100);
        assert_eq!(send(&mut queue), 0x10);
        // It would have 900 bytes left of its last turn; now the other comes first, both with 1000.
        add(&mut queue, 0x00, 600);
        add(&mut queue, 0x00, 600);
        for _ in 0..3 {
            add(&mut queue, 0x10, 600);
        }
        let order: Vec<u8> = (0..5).map(|_| send(&mut queue)).collect();
        assert_eq!(order, [0x00, 0x10, 0x00, 0x10, 0x10]);
    }

    #[test]
    fn a_strict_band_that_shapes_holds_back_no_other() {
        let mut queue = queue(&format!(
            "root handle 1: ets bands 3 strict 1 {MAP}; parent 1:1 netem delay 10ms"
        ));
        let events = &mut Events::default();
        for tos in [0x10, 0x00] {
            assert_eq!(queue.enqueue(packet(tos, 100), Time::ZERO, events), Ok(()));
        }
        let mut at = |ms: u64| queue.dequeue(Time::from_ns(ms * 1_000_000), events);
        assert_eq!(at(0), Dequeued::Packet(packet(0x00, 100)));
        assert_eq!(at(0), Dequeued::NotBefore(Time::from_ns(10_000_000)));
        assert_eq!(at(10), Dequeued::Packet(packet(0x10, 100)));
        assert_eq!(at(10), Dequeued::Empty);
    }

    #[test]
    fn a_band_that_shapes_holds_back_those_behind_it() {
        let mut queue = queue(&format!(
            "root handle 1: ets bands 3 strict 1 {MAP}; parent 1:2 netem delay 10ms"
        ));
        let events = &mut Events::default();
        for tos in [0x00, 0x08, 0x10] {
            assert_eq!(queue.enqueue(packet(tos, 100), Time::ZERO, events), Ok(()));
        }
        let mut at = |ms: u64| queue.dequeue(Time::from_ns(ms * 1_000_000), events);
        assert_eq!(at(0), Dequeued::Packet(packet(0x10, 100)));
        assert_eq!(at(0), Dequeued::NotBefore(Time::from_ns(10_000_000)));
        assert_eq!(at(10), Dequeued::Packet(packet(0x00, 100)));
        assert_eq!(at(10), Dequeued::Packet(packet(0x08, 100)));
    }

    #[test]
    fn a_band_without_a_discipline_holds_1000_packets() {
        let mut queue = queue(&format!("ets bands 3 strict 1 {MAP}"));
        let events = &mut Events::default();
        for _ in 0..1000 {
            assert_eq!(queue.enqueue(packet(0x00, 100), Time::ZERO, events), Ok(()));
        }
        let refused = queue.enqueue(packet(0x00, 100), Time::ZERO, events);
        assert_eq!(refused, Err(DropReason::Overlimit));
        assert_eq!(queue.enqueue(packet(0x10, 100), Time::ZERO, events), Ok(()));
    }
}
