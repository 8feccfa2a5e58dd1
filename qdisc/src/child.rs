//! A discipline inside another.

use super::bands::band_of_header;
use super::fifo::Limit;
use super::{
    Config, Dequeued, DropReason, Events, Held, Qdisc, Setting, Statistics, drr, hfsc, htb,
};
use dumbbell_core::own_samples::OwnState;
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Filter;
use dumbbell_tc::qdisc::filter::Header;

/// A child with a peek operation. For a FIFO the oldest packet is peeked in place (`qdisc_peek_head`), for
/// bands that of the first band with a packet. From other disciplines a packet is dequeued to learn its size,
/// and held until it may leave (`qdisc_peek_dequeued`). For a child that acts at dequeue, such as CoDel, it
/// has then left; in the backlog and in limits it still counts.
#[derive(Debug, Clone)]
pub struct Child {
    qdisc: Box<Qdisc>,
    held: Option<Packet>,
    overhead_bytes: u32,
}

impl Child {
    /// An empty child.
    pub fn new(config: &Config, setting: &Setting) -> Child {
        Child {
            qdisc: Box::new(Qdisc::new(config, setting)),
            held: None,
            overhead_bytes: setting.overhead_bytes,
        }
    }

    /// Its limit, if it is a plain FIFO.
    pub fn fifo_limit(&self) -> Option<Limit> {
        match &*self.qdisc {
            Qdisc::Fifo(fifo) => Some(fifo.limit()),
            _ => None,
        }
    }

    /// Enqueues the packet or refuses it.
    #[inline(never)]
    pub fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        self.qdisc.enqueue(packet, now, events)
    }

    /// What `dequeue` will return at this instant. A packet returned here is the next to leave.
    pub fn peek(&mut self, now: Time, events: &mut Events) -> Dequeued {
        if let Some(packet) = self.held {
            return Dequeued::Packet(packet);
        }
        if let Some(seen) = self.qdisc.peek(now, events) {
            return seen;
        }
        let next = self.take(now, events);
        if let Dequeued::Packet(packet) = next {
            self.held = Some(packet);
            self.qdisc.set_held(self.held());
        }
        next
    }

    /// Whether a peeked packet stays the next to leave whatever arrives, and there is one whenever the
    /// backlog is not empty. True for FIFOs and for disciplines from which packets are dequeued, unless they
    /// hold packets back.
    pub fn keeps_what_was_seen(&self) -> bool {
        matches!(
            *self.qdisc,
            Qdisc::Fifo(_) | Qdisc::Codel(_) | Qdisc::FqCodel(_) | Qdisc::Pie(_) | Qdisc::Red(_)
        )
    }

    /// The packet that leaves at `now`, if any.
    pub fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        match self.held.take() {
            Some(packet) => {
                self.qdisc.set_held(Held::NOTHING);
                Dequeued::Packet(packet)
            }
            None => self.take(now, events),
        }
    }

    #[inline(never)]
    fn take(&mut self, now: Time, events: &mut Events) -> Dequeued {
        self.qdisc.dequeue(now, events)
    }

    /// Its packets and bytes on the wire.
    pub fn backlog(&self) -> (u32, u64) {
        let (packets, bytes) = self.qdisc.backlog();
        let held = self.held();
        (packets + held.packets, bytes + held.bytes)
    }

    fn held(&self) -> Held {
        self.held.map_or(Held::NOTHING, |packet| Held {
            packets: 1,
            bytes: u64::from(packet.wire_bytes(self.overhead_bytes)),
        })
    }

    /// The discipline's own statistics.
    pub fn statistics(&self) -> Statistics {
        self.qdisc.statistics()
    }

    /// See [`Discipline::own_state`](super::Discipline::own_state).
    pub fn own_state(&self) -> Option<OwnState> {
        self.qdisc.own_state()
    }

    /// See [`Discipline::class_of`](super::Discipline::class_of).
    pub fn class_of(&self, packet: &Packet) -> Option<u16> {
        self.qdisc.class_of(packet)
    }

    /// Every packet it holds, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.qdisc.packets().chain(self.held.iter())
    }
}

/// The inner discipline that packets with these headers enter; `None` for the kernel's own `pfifo` and for
/// disciplines without classes.
pub fn child_for<'a>(config: &'a Config, header: &Header) -> Option<&'a Config> {
    match config {
        Config::Tbf(tbf) => tbf.child.as_deref(),
        Config::Netem(netem) => netem.child.as_deref(),
        Config::Htb(htb) => htb::leaf_of(htb, header)?.child.as_deref(),
        Config::Hfsc(hfsc) => hfsc::leaf_of(hfsc, header)?.child.as_deref(),
        Config::Drr(drr) => drr::class_of(drr, header)?.child.as_deref(),
        Config::Prio(prio) => in_band(header, &prio.filters, &prio.children, &prio.priomap),
        Config::Ets(ets) => in_band(header, &ets.filters, &ets.children, &ets.priomap),
        _ => None,
    }
}

fn in_band<'a>(
    header: &Header,
    filters: &[Filter],
    children: &'a [Option<Box<Config>>],
    of_priority: &[u8; 16],
) -> Option<&'a Config> {
    let band = band_of_header(header, filters, children.len(), of_priority);
    children.get(band)?.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;
    use dumbbell_tc::qdisc::Pfifo;

    /// In the kernel a held packet is in the child's `qlen` and `backlog`, which limits use.
    #[test]
    fn what_was_looked_at_counts_in_the_limit() {
        for (text, reason) in [
            ("pfifo limit 3", DropReason::Overlimit),
            ("codel limit 3", DropReason::Overlimit),
            ("fq limit 3", DropReason::Overlimit),
            ("fq_codel limit 3", DropReason::FattestFlow),
            ("pie limit 3", DropReason::Overlimit),
            ("netem limit 3", DropReason::Overlimit),
        ] {
            let config = dumbbell_tc::parse_qdisc(text).unwrap();
            let mut child = Child::new(&config, &Setting::for_tests());
            let events = &mut Events::default();
            let packet = |number| Packet::new(PacketKind::Udp, 0, number, 86, Time::ZERO);
            for number in 1..=3 {
                let answer = child.enqueue(packet(number), Time::ZERO, events);
                assert_eq!(answer, Ok(()), "{text}");
            }
            let seen = Dequeued::Packet(packet(1));
            assert_eq!(child.peek(Time::ZERO, events), seen, "{text}");
            // fq_codel drops from the head of its longest flow instead.
            let refused = match child.enqueue(packet(4), Time::ZERO, events) {
                Err(refused) => refused,
                Ok(()) => events.dropped.pop().unwrap().1,
            };
            assert_eq!(refused, reason, "{text}");
            assert_eq!(child.dequeue(Time::ZERO, events), seen, "{text}");
            let waiting = child.backlog().0;
            let answer = child.enqueue(packet(5), Time::ZERO, events);
            assert_eq!(answer, Ok(()), "{text}: {waiting} wait");
        }
    }

    #[test]
    fn what_was_looked_at_stays_in_the_backlog_and_leaves_first() {
        let config = Config::Pfifo(Pfifo { limit_packets: 3 });
        let mut child = Child::new(&config, &Setting::for_tests());
        let events = &mut Events::default();
        let packet = |number| Packet::new(PacketKind::Udp, 0, number, 86, Time::ZERO);
        for number in 1..=2 {
            assert_eq!(child.enqueue(packet(number), Time::ZERO, events), Ok(()));
        }
        assert_eq!(child.peek(Time::ZERO, events), Dequeued::Packet(packet(1)));
        assert_eq!(child.peek(Time::ZERO, events), Dequeued::Packet(packet(1)));
        assert_eq!(child.backlog(), (2, 200));
        assert_eq!(child.packets().count(), 2);
        for number in 1..=2 {
            let next = child.dequeue(Time::ZERO, events);
            assert_eq!(next, Dequeued::Packet(packet(number)));
        }
        assert_eq!(child.dequeue(Time::ZERO, events), Dequeued::Empty);
        assert!(events.is_empty());
    }
}
