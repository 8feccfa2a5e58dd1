//! `prio` and `pfifo_fast`: bands by priority (tc-prio(8), tc-pfifo_fast(8)), as Linux 6.1 has
//! them (`net/sched/sch_prio.c`, `sch_generic.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | the first band that has a packet sends; a band is asked before those after it | yes |
//! | the band from the first filter that matches, else from the priority by TOS and `priomap` | yes |
//! | a filter that names no band: the band of priority 0 | yes |
//! | `pfifo_fast`: three bands of 1000 packets (txqueuelen), the map fixed | yes |
//! | priority set otherwise (`SO_PRIORITY`, iptables, a class in `skb->priority`) | no |

use super::{
    Build, Child, Config, Dequeued, Discipline, DropReason, Events, Setting, Statistics, priority,
};
use crate::sim::packet::Packet;
use crate::sim::time::Time;
use dumbbell_tc::qdisc::{Filter, PRIOMAP, Pfifo, PfifoFast, Prio as Parameters};

/// `DEFAULT_TX_QUEUE_LEN` of an Ethernet or veth device.
const TXQUEUELEN: Pfifo = Pfifo {
    limit_packets: 1000,
};

/// The state of the bands.
#[derive(Debug, Clone)]
pub struct Prio {
    bands: Vec<Child>,
    band_of_priority: [u8; 16],
    filters: Vec<Filter>,
}

impl Prio {
    /// The band a packet belongs to.
    fn classify(&self, packet: &Packet) -> usize {
        let tos = packet.traffic_class;
        let priority = match self.filters.iter().find(|filter| filter.matches(tos)) {
            Some(filter) => {
                let band = usize::from(filter.minor).wrapping_sub(1);
                if band < self.bands.len() {
                    return band;
                }
                0
            }
            None => priority::of_tos(tos),
        };
        usize::from(self.band_of_priority[usize::from(priority)])
    }
}

impl Build<Parameters> for Prio {
    fn build(parameters: &Parameters, setting: &Setting) -> Prio {
        let default = Config::Pfifo(TXQUEUELEN);
        let children = parameters.children.iter().zip(1..);
        let bands = children.map(|(child, minor)| {
            let setting = setting.band(&format!("{minor:x}"));
            Child::new(child.as_deref().unwrap_or(&default), &setting)
        });
        Prio {
            bands: bands.collect(),
            band_of_priority: parameters.priomap,
            filters: parameters.filters.clone(),
        }
    }
}

impl Build<PfifoFast> for Prio {
    fn build(_: &PfifoFast, setting: &Setting) -> Prio {
        let parameters = Parameters {
            bands: 3,
            priomap: PRIOMAP,
            children: vec![None; 3],
            filters: Vec::new(),
        };
        Prio::build(&parameters, setting)
    }
}

impl Discipline for Prio {
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let band = self.classify(&packet);
        self.bands[band].enqueue(packet, now, events)
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let mut wake = None;
        for band in &mut self.bands {
            match band.dequeue(now, events) {
                Dequeued::Packet(packet) => return Dequeued::Packet(packet),
                Dequeued::NotBefore(later) => {
                    wake = Some(wake.map_or(later, |wake: Time| wake.min(later)));
                }
                Dequeued::Empty => {}
            }
        }
        wake.map_or(Dequeued::Empty, Dequeued::NotBefore)
    }

    fn peek_in_place(&self) -> Option<Dequeued> {
        for band in &self.bands {
            let seen = band.peek_in_place()?;
            if seen != Dequeued::Empty {
                return Some(seen);
            }
        }
        Some(Dequeued::Empty)
    }

    fn backlog(&self) -> (u32, u64) {
        let bands = self.bands.iter().map(Child::backlog);
        bands.fold((0, 0), |all, band| (all.0 + band.0, all.1 + band.1))
    }

    fn statistics(&self) -> Statistics {
        Statistics::NONE
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.bands.iter().flat_map(Child::packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Qdisc;
    use crate::sim::packet::Kind;
    use dumbbell_tc::parse_qdisc;

    fn queue(text: &str) -> Qdisc {
        Qdisc::new(&parse_qdisc(text).unwrap(), &Setting::for_tests())
    }

    fn packet(tos: u8) -> Packet {
        let mut packet = Packet::new(Kind::Udp, 0, 1, 100, Time::ZERO);
        packet.traffic_class = tos;
        packet
    }

    /// The TOS bytes in the order in which packets that came at once leave.
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
        // DSCP EF (0xb8) has both bits set: best effort's band, after what came before it.
        let expected = [0x10, 0x00, 0xb8, 0x08];
        for text in ["pfifo_fast", "prio"] {
            assert_eq!(order(text, &[0x08, 0x00, 0x10, 0xb8]), expected, "{text}");
        }
    }

    #[test]
    fn filters_come_before_the_map() {
        let chain = "root handle 1: prio bands 4; \
                     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1; \
                     filter add parent 1: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 1:4";
        // EF with an ECN mark first; then the map: interactive, best effort; CS1 last.
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
        // The head of a band has no tokens yet; a packet of a higher band comes and is the head.
        let mut queue =
            queue("root handle 1: tbf rate 1mbit burst 114 limit 1; parent 1:1 handle 2: prio");
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
