//! `drr`: deficit round robin among classes (tc-drr(8); M. Shreedhar and G. Varghese, SIGCOMM 1995).
//!
//! | clause | here |
//! | --- | --- |
//! | classes send in turn, as many bytes as their deficits allow | yes, see `rounds` |
//! | the class of the first filter that matches | yes |
//! | no filter matches, or its class does not exist: the packet is dropped | yes |
//! | a class without a discipline: a `pfifo` of 1000 packets (txqueuelen) | yes |
//! | a class by `skb->priority` (`SO_PRIORITY`, iptables) | no |

use super::bands::{TXQUEUELEN, backlog_of};
use super::headers::{self, Filters};
use super::rounds::Rounds;
use super::{Build, Child, Config, Dequeued, Discipline, DropReason, Events, Setting};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::filter::Header;
use dumbbell_tc::qdisc::{Drr as Parameters, DrrClass};

/// The state of the classes.
#[derive(Debug, Clone)]
pub struct Drr {
    minors: Vec<u16>,
    classes: Vec<Child>,
    rounds: Rounds,
    filters: Filters,
}

/// The class of packets with these headers; None if they are dropped.
pub(super) fn class_of<'a>(parameters: &'a Parameters, header: &Header) -> Option<&'a DrrClass> {
    let filter = headers::first(&parameters.filters, header)?;
    let mut classes = parameters.classes.iter();
    classes.find(|class| class.minor == filter.minor)
}

impl Build<Parameters> for Drr {
    fn build(parameters: &Parameters, setting: &Setting) -> Drr {
        let default = Config::Pfifo(TXQUEUELEN);
        let classes = || parameters.classes.iter();
        let child = |class: &DrrClass| {
            let setting = setting.child(&format!("{:x}", class.minor));
            Child::new(class.child.as_deref().unwrap_or(&default), &setting)
        };
        Drr {
            minors: classes().map(|class| class.minor).collect(),
            classes: classes().map(child).collect(),
            rounds: Rounds::new(
                classes().map(|class| class.quantum_bytes),
                setting.overhead_bytes,
            ),
            filters: Filters::new(&parameters.filters, &setting.headers),
        }
    }
}

impl Discipline for Drr {
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let minor = self.filters.first(&packet).map(|filter| filter.minor);
        let class = { self.minors.iter() }.position(|class| Some(*class) == minor);
        let class = class.ok_or(DropReason::NoClass)?;
        self.classes[class].enqueue(packet, now, events)?;
        self.rounds.filled(class);
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        self.rounds.dequeue(&mut self.classes, now, events)
    }

    fn backlog(&self) -> (u32, u64) {
        backlog_of(&self.classes)
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        // 0 for packets without a class, which are dropped.
        let minor = self.filters.first(packet).map(|filter| filter.minor);
        Some(
            minor
                .filter(|minor| self.minors.contains(minor))
                .unwrap_or(0),
        )
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.classes.iter().flat_map(Child::packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Qdisc;
    use dumbbell_core::packet::PacketKind;
    use dumbbell_tc::parse_qdisc;

    const TREE: &str = "root handle 1: drr; class add parent 1: classid 1:1 drr quantum 1000; \
                        class add parent 1: classid 1:2 drr quantum 3000; \
                        filter add parent 1: protocol ip prio 1 u32 match ip tos 0x10 0xff flowid 1:1; \
                        filter add parent 1: protocol ip prio 1 u32 match ip tos 0x08 0xff flowid 1:2";

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

    fn queue() -> Qdisc {
        Qdisc::new(&parse_qdisc(TREE).unwrap(), &Setting::for_tests())
    }

    #[test]
    fn classes_share_bytes_as_their_quanta() {
        let mut queue = queue();
        let events = &mut Events::default();
        // Packets of different sizes.
        for (tos, bytes) in [(0x10, 500), (0x08, 1250)] {
            for _ in 0..2 {
                assert_eq!(
                    queue.enqueue(packet(tos, bytes), Time::ZERO, events),
                    Ok(())
                );
            }
        }
        let mut bytes = [0, 0];
        for _ in 0..4400 {
            let Dequeued::Packet(left) = queue.dequeue(Time::ZERO, events) else {
                panic!("both have packets")
            };
            bytes[usize::from(left.traffic_class == 0x08)] += left.wire_bytes(14);
            assert_eq!(queue.enqueue(left, Time::ZERO, events), Ok(()));
        }
        assert_eq!(bytes, [1_000_000, 3_000_000]);
    }

    #[test]
    fn what_no_filter_has_is_dropped() {
        let mut queue = queue();
        let events = &mut Events::default();
        let refused = queue.enqueue(packet(0, 100), Time::ZERO, events);
        assert_eq!(refused, Err(DropReason::NoClass));
        assert_eq!(queue.backlog(), (0, 0));
        assert_eq!(queue.dequeue(Time::ZERO, events), Dequeued::Empty);
    }

    /// What left of 8 bits of class, in order.
    fn order(queue: &mut Qdisc, count: usize) -> Vec<u8> {
        let events = &mut Events::default();
        let left = (0..count).map(|_| match queue.dequeue(Time::ZERO, events) {
            Dequeued::Packet(packet) => packet.traffic_class,
            other => panic!("{other:?}"),
        });
        left.collect()
    }

    fn add(queue: &mut Qdisc, tos: u8, wire_bytes: u32) {
        let answer = queue.enqueue(packet(tos, wire_bytes), Time::ZERO, &mut Events::default());
        assert_eq!(answer, Ok(()));
    }

    /// Quanta are 1000 and 3000 bytes.
    #[test]
    fn a_class_that_comes_again_is_last_with_one_quantum() {
        let mut queue = queue();
        add(&mut queue, 0x08, 100);
        assert_eq!(order(&mut queue, 1), [0x08]);
        // It would have 2900 bytes left of its last turn, and be first.
        for _ in 0..2 {
            add(&mut queue, 0x10, 1000);
        }
        for _ in 0..5 {
            add(&mut queue, 0x08, 1000);
        }
        let expected = [0x10, 0x08, 0x08, 0x08, 0x10, 0x08, 0x08];
        assert_eq!(order(&mut queue, 7), expected);
    }

    #[test]
    fn a_class_that_shapes_holds_back_the_other() {
        let text = format!("{TREE}; parent 1:1 netem delay 10ms");
        let mut queue = Qdisc::new(&parse_qdisc(&text).unwrap(), &Setting::for_tests());
        add(&mut queue, 0x10, 500);
        add(&mut queue, 0x08, 500);
        let mut at = |ms: u64| queue.dequeue(Time::from_ns(ms * 1_000_000), &mut Events::default());
        assert_eq!(at(0), Dequeued::NotBefore(Time::from_ns(10_000_000)));
        assert_eq!(at(10), Dequeued::Packet(packet(0x10, 500)));
        assert_eq!(at(10), Dequeued::Packet(packet(0x08, 500)));
    }

    #[test]
    fn a_class_without_a_discipline_holds_1000_packets() {
        let mut queue = queue();
        for _ in 0..1000 {
            add(&mut queue, 0x10, 100);
        }
        let events = &mut Events::default();
        let refused = queue.enqueue(packet(0x10, 100), Time::ZERO, events);
        assert_eq!(refused, Err(DropReason::Overlimit));
        assert_eq!(queue.enqueue(packet(0x08, 100), Time::ZERO, events), Ok(()));
    }
}
