//! `prio`: bands in strict priority (tc-prio(8)), as in Linux 6.1 (`net/sched/sch_prio.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | the first band with a packet sends; bands are polled in order | yes |
//! | the band of the first filter that matches, else of the priority by TOS and `priomap` | yes |
//! | a filter that names no band: the band of priority 0 | yes |
//! | a band without a discipline: a `pfifo` of 1000 packets (txqueuelen) | yes |
//! | a shaper peeks at the bands in order | yes |
//! | priority set otherwise (`SO_PRIORITY`, iptables, a class in `skb->priority`) | no |

use super::bands::{Classifier, backlog_of, bands_of, first_of};
use super::{Above, Build, Child, Dequeued, Discipline, DropReason, Events, Setting, Statistics};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Prio as Parameters;

/// The state of the bands.
#[derive(Debug, Clone)]
pub struct Prio {
    bands: Vec<Child>,
    classifier: Classifier,
    above: Above,
}

impl Build<Parameters> for Prio {
    fn build(parameters: &Parameters, setting: &Setting) -> Prio {
        let bands = bands_of(&parameters.children, setting);
        Prio {
            classifier: Classifier::new(
                &parameters.filters,
                parameters.priomap,
                bands.len(),
                setting,
            ),
            bands,
            above: setting.above,
        }
    }
}

impl Discipline for Prio {
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let band = self.classifier.band_of(&packet);
        self.bands[band].enqueue(packet, now, events)
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        if self.above == Above::Shaper && self.backlog().0 == 0 {
            return Dequeued::Empty;
        }
        first_of(&mut self.bands, |band| band.dequeue(now, events))
    }

    /// Peeks at the bands in order (`prio_peek`). A held packet stays in its band and can be overtaken by a
    /// packet of a higher band.
    fn peek(&mut self, now: Time, events: &mut Events) -> Option<Dequeued> {
        Some(first_of(&mut self.bands, |band| band.peek(now, events)))
    }

    fn backlog(&self) -> (u32, u64) {
        backlog_of(&self.bands)
    }

    fn statistics(&self) -> Statistics {
        Statistics::NONE
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

    fn queue(text: &str) -> Qdisc {
        Qdisc::new(&parse_qdisc(text).unwrap(), &Setting::for_tests())
    }

    fn packet(tos: u8) -> Packet {
        let mut packet = Packet::new(PacketKind::Udp, 0, 1, 100, Time::ZERO);
        packet.traffic_class = tos;
        packet
    }

    /// TOS bytes in order of departure of packets that arrive together.
    fn order(text: &str, tos: &[u8]) -> Vec<u8> {
        let mut queue = queue(text);
        let events = &mut Events::default();
        for tos in tos {
            assert_eq!(queue.enqueue(packet(*tos), Time::ZERO, events), Ok(()));
        }
        assert_eq!(queue.backlog().0 as usize, tos.len());
        assert_eq!(queue.packets().count(), tos.len());
        let left = std::iter::from_fn(|| match queue.dequeue(Time::ZERO, events) {
            Dequeued::Packet(packet) => Some(packet.traffic_class),
            _ => None,
        });
        left.collect()
    }

    #[test]
    fn minimize_delay_goes_first_and_maximize_throughput_last() {
        // DSCP EF (0xb8) has both bits set: the band of best effort, behind the earlier packet.
        let expected = [0x10, 0x00, 0xb8, 0x08];
        assert_eq!(order("prio", &[0x08, 0x00, 0x10, 0xb8]), expected);
    }

    #[test]
    fn filters_come_before_the_map() {
        let chain = "root handle 1: prio bands 4; \
                     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1; \
                     filter add parent 1: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 1:4";
        // EF with an ECN mark first; then by the map: interactive, best effort; CS1 last.
        let found = order(chain, &[0x20, 0x00, 0x10, 0xbb]);
        assert_eq!(found, [0x10, 0xbb, 0x00, 0x20]);
    }

    #[test]
    fn a_band_has_its_own_limit() {
        let mut queue = queue("root handle 1: prio; parent 1:2 pfifo limit 1");
        let events = &mut Events::default();
        assert_eq!(queue.enqueue(packet(0), Time::ZERO, events), Ok(()));
        let second = queue.enqueue(packet(0), Time::ZERO, events);
        assert_eq!(second, Err(DropReason::Overlimit));
        assert_eq!(queue.enqueue(packet(0x10), Time::ZERO, events), Ok(()));
    }

    #[test]
    fn what_a_shaper_sees_is_overtaken_by_a_higher_band() {
        // The head of a band has no tokens yet; a packet of a higher band arrives and becomes the head.
        overtakes("root handle 1: tbf rate 1mbit burst 114 limit 1; parent 1:1 handle 2: prio");
    }

    #[test]
    fn what_a_shaper_took_out_of_a_band_is_overtaken_too() {
        overtakes(
            "root handle 1: tbf rate 1mbit burst 114 limit 1; parent 1:1 handle 2: prio; \
             parent 2:1 codel; parent 2:2 fq_codel",
        );
    }

    /// A band that holds its packets back does not block later bands.
    #[test]
    fn a_shaper_finds_the_packet_of_a_later_band() {
        let mut queue = queue(
            "root handle 1: tbf rate 1gbit burst 10kb limit 1; parent 1:1 handle 2: prio; \
             parent 2:1 netem delay 10ms",
        );
        let events = &mut Events::default();
        for tos in [0x10, 0x00] {
            assert_eq!(queue.enqueue(packet(tos), Time::ZERO, events), Ok(()));
        }
        let mut at = |ms: u64| queue.dequeue(Time::from_ns(ms * 1_000_000), events);
        assert_eq!(at(0), Dequeued::Packet(packet(0x00)));
        assert_eq!(at(0), Dequeued::NotBefore(Time::from_ns(10_000_000)));
        assert_eq!(at(10), Dequeued::Packet(packet(0x10)));
    }

    /// Below a shaper an empty band is polled when a later band sends, and only then.
    #[test]
    fn an_empty_band_learns_of_it_when_a_later_one_sends() {
        let idle_probability = |later: bool| {
            let text = "root handle 1: prio; \
                parent 1:1 red limit 400kb min 1kb max 10kb avpkt 100 burst 30 probability 0.999999999";
            let setting = Setting {
                above: Above::Shaper,
                ..Setting::for_tests()
            };
            let mut queue = Qdisc::new(&parse_qdisc(text).unwrap(), &setting);
            let events = &mut Events::default();
            for _ in 0..300 {
                queue.enqueue(packet(0x10), Time::ZERO, events).ok();
            }
            while let Dequeued::Packet(_) = queue.dequeue(Time::ZERO, events) {}
            if later {
                assert_eq!(queue.enqueue(packet(0), Time::ZERO, events), Ok(()));
                queue.dequeue(Time::ZERO, events);
            }
            let much_later = Time::from_ns(100_000_000_000);
            queue.enqueue(packet(0x10), much_later, events).is_ok()
        };
        assert!(idle_probability(true), "the average has decayed");
        assert!(!idle_probability(false), "nobody asked");
    }

    fn overtakes(text: &str) {
        let mut queue = queue(text);
        let events = &mut Events::default();
        for tos in [0x00, 0x00] {
            assert_eq!(queue.enqueue(packet(tos), Time::ZERO, events), Ok(()));
        }
        let first = queue.dequeue(Time::ZERO, events);
        assert!(matches!(first, Dequeued::Packet(_)));
        assert!(matches!(
            queue.dequeue(Time::ZERO, events),
            Dequeued::NotBefore(_)
        ));
        assert_eq!(queue.enqueue(packet(0x10), Time::ZERO, events), Ok(()));
        assert_eq!(
            queue.dequeue(Time::from_ns(912_000), events),
            Dequeued::Packet(packet(0x10))
        );
    }
}
