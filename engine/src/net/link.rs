//! One direction of a link: a queue discipline, a transmitter and the way to the other host.
//!
//! With a finite rate the transmitter holds one packet, sends it for `bytes / rate` and then
//! asks the discipline for the next. With an infinite rate it asks until there is none, so a
//! work-conserving queue is passed at once and a shaping one (netem with a rate) paces itself.
//! After transmission a packet may be lost, and otherwise arrives after the delay.

use super::folded::{Departed, FoldedFifo};
use super::link_statistics::{Level, LinkStatistics};
use super::propagation::{Propagation, Slab};
use crate::qdisc::{self, Dequeued, DropReason, Qdisc};
use crate::sim::packet::Packet;
use crate::sim::random::Stream;
use crate::sim::rate::Rate;
use crate::sim::time::Time;
use crate::spec;
use std::collections::VecDeque;

/// What became of a packet that was offered to the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// It was taken; ask `pending` when something happens next.
    Taken,
    /// The queue refused it.
    Dropped(DropReason),
}

/// A packet the transmitter has just finished with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The packet.
    pub packet: Packet,
    /// Whether the link lost it.
    pub lost: bool,
    /// From its arrival at the queue to now.
    pub sojourn: Time,
}

/// How packets go through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// In the instant they come: an infinite rate behind a plain queue, no loss, no delay. Most
    /// links beside the bottleneck are like that.
    AtOnce,
    /// Through a `FoldedFifo`.
    Folded,
    /// Through a discipline and a transmitter, with an event for each departure.
    Queued,
}

/// The state of one direction of a link.
#[derive(Debug)]
pub struct Link {
    /// The host it leads to.
    pub to: u32,
    /// Bytes a packet carries here besides its IP size.
    pub overhead_bytes: u32,
    /// Whether each packet is written to the table `packets`.
    pub record_packets: bool,
    /// What was measured.
    pub statistics: LinkStatistics,
    /// After the transmitter.
    pub propagation: Propagation,
    /// Delay after the transmitter.
    pub delay: Time,
    /// Whether packets that were sent arrive at once: no loss, no delay, no records, no changes.
    pub is_plain: bool,
    /// Whether it ever wants to be woken: not a plain queue of infinite rate.
    pub may_be_pending: bool,
    passage: Passage,
    /// Its place in the tournament, if it may be pending.
    pub departure_leaf: usize,
    /// The place of its ring, if it has one and a delay.
    pub arrival_leaf: usize,
    /// In place of `qdisc` and transmitter where departures need no events of their own.
    folded: Option<FoldedFifo>,
    qdisc: Qdisc,
    /// None for an infinite rate.
    rate: Option<Rate>,
    in_transmission: Option<(Packet, Time)>,
    /// When the transmission ends, or the discipline is to be asked again.
    pending: Time,
    loss: f64,
    loss_stream: Stream,
}

impl Link {
    /// An idle link end.
    pub fn new(end: &spec::LinkEnd, to: u32, loss_stream: Stream) -> Link {
        let propagation = if end.changes.is_empty() {
            Propagation::Ring(VecDeque::new())
        } else {
            Propagation::Slab(Slab::default())
        };
        let paces_itself = !matches!(end.qdisc, qdisc::Config::Pfifo(_) | qdisc::Config::Bfifo(_));
        let is_plain =
            end.loss == 0.0 && end.delay_ns == 0 && end.changes.is_empty() && !end.record_packets;
        let may_be_pending = end.rate_bps > 0 || paces_itself || !end.changes.is_empty();
        Link {
            to,
            is_plain,
            may_be_pending,
            passage: if is_plain && !may_be_pending {
                Passage::AtOnce
            } else {
                Passage::Queued
            },
            folded: None,
            departure_leaf: usize::MAX,
            arrival_leaf: usize::MAX,
            overhead_bytes: end.overhead_bytes,
            record_packets: end.record_packets,
            statistics: LinkStatistics::default(),
            propagation,
            delay: Time::from_ns(end.delay_ns),
            qdisc: Qdisc::new(&end.qdisc, end.overhead_bytes),
            rate: (end.rate_bps > 0).then(|| Rate::new(end.rate_bps)),
            in_transmission: None,
            pending: Time::NEVER,
            loss: end.loss,
            loss_stream,
        }
    }

    /// Folds departures into arrivals if this link allows it: a plain FIFO in front of a
    /// transmitter, with nothing after it.
    pub fn fold(&mut self) {
        if let (true, Some(rate), Qdisc::Fifo(fifo)) = (self.is_plain, self.rate, &self.qdisc) {
            self.folded = Some(FoldedFifo::new(fifo.limit(), rate, self.overhead_bytes));
            self.passage = Passage::Folded;
        }
    }

    /// How packets go through it.
    #[inline(always)]
    pub fn passage(&self) -> Passage {
        self.passage
    }

    /// When this link wants to be woken.
    #[inline]
    pub fn pending(&self) -> Time {
        match &self.folded {
            Some(folded) => folded.next_awaited(),
            None => self.pending,
        }
    }

    /// Offers a packet to a folded queue whose departures have been caught up with. Returns
    /// whether it was taken.
    #[inline(always)]
    pub fn offer_folded(&mut self, mut packet: Packet, now: Time, is_awaited: bool) -> bool {
        packet.arrived = now;
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics.total.arrived(bytes);
        let folded = self.folded.as_mut().expect("only folded links are asked");
        if !folded.offer(packet, bytes, now, is_awaited) {
            self.statistics.total.refused(bytes);
            return false;
        }
        self.statistics.levels.set(now, folded.level());
        true
    }

    /// The next packet to leave a folded queue before `bound`, its statistics entered.
    #[inline(always)]
    pub fn depart_before(&mut self, bound: Time, warm_up: Time) -> Option<Departed> {
        let folded = self.folded.as_mut()?;
        let left = folded.depart_before(bound)?;
        let bytes = left.packet.wire_bytes(self.overhead_bytes);
        let (arrived, at) = (left.packet.arrived, left.departure);
        self.statistics
            .departed(bytes, arrived, left.service, at, warm_up);
        self.statistics.levels.fall(at, folded.level());
        Some(left)
    }

    /// Packets in the queue and in transmission, and the backlog.
    #[inline(always)]
    pub fn level(&self) -> Level {
        if let Some(folded) = &self.folded {
            return folded.level();
        }
        let (backlog_pkts, backlog_bytes) = self.qdisc.backlog();
        Level {
            system_pkts: backlog_pkts + u32::from(self.in_transmission.is_some()),
            backlog_pkts,
            backlog_bytes,
        }
    }

    /// Offers a packet to the queue. Afterwards call `send` until it gives none.
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet, now: Time) -> Offered {
        packet.arrived = now;
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics.total.arrived(bytes);
        match self.qdisc.enqueue(packet, now) {
            Ok(()) => Offered::Taken,
            Err(reason) => {
                self.statistics.total.refused(bytes);
                Offered::Dropped(reason)
            }
        }
    }

    /// Does what is due at `now`: ends a transmission, starts the next. Returns each packet
    /// whose transmission ends now; call again until None, then `settle`.
    #[inline(always)]
    pub fn send(&mut self, now: Time, warm_up: Time) -> Option<Sent> {
        let (packet, service) = match self.in_transmission {
            Some(_) if self.pending > now => return None,
            Some(sending) => {
                self.in_transmission = None;
                sending
            }
            None => self.take_next(now)?,
        };
        Some(self.finish(packet, service, now, warm_up))
    }

    /// Asks the discipline for a packet. With a rate its transmission starts; without one it
    /// is already over, and the packet is returned.
    #[inline(always)]
    fn take_next(&mut self, now: Time) -> Option<(Packet, Time)> {
        match self.qdisc.dequeue(now) {
            Dequeued::Packet(packet) => {
                let bytes = packet.wire_bytes(self.overhead_bytes);
                let Some(rate) = &mut self.rate else {
                    return Some((packet, self.qdisc.own_service_time(bytes)));
                };
                let service = rate.time_for(bytes);
                self.in_transmission = Some((packet, service));
                self.pending = now + service;
            }
            Dequeued::NotBefore(later) => self.pending = later,
            Dequeued::Empty => self.pending = Time::NEVER,
        }
        None
    }

    /// Whether nothing but the end of a transmission can make this link send.
    #[inline]
    pub fn is_transmitting(&self) -> bool {
        self.in_transmission.is_some()
    }

    /// Brings the integrals up to date after a change.
    #[inline(always)]
    pub fn settle(&mut self, now: Time) {
        let level = self.level();
        self.statistics.levels.set(now, level);
    }

    #[inline(always)]
    fn finish(&mut self, packet: Packet, service: Time, now: Time, warm_up: Time) -> Sent {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics
            .departed(bytes, packet.arrived, service, now, warm_up);
        let lost = self.loss > 0.0 && self.loss_stream.uniform() < self.loss;
        self.statistics.total.lost_pkts += u64::from(lost);
        Sent {
            packet,
            lost,
            sojourn: now - packet.arrived,
        }
    }

    /// Takes new values. A packet in transmission ends as it began; packets already under way
    /// keep their delay.
    pub fn change(&mut self, change: &spec::Change) {
        if let Some(rate_bps) = change.rate_bps {
            self.rate = (rate_bps > 0).then(|| Rate::new(rate_bps));
        }
        if let Some(delay_ns) = change.delay_ns {
            self.delay = Time::from_ns(delay_ns);
        }
        if let Some(loss) = change.loss {
            self.loss = loss;
        }
    }

    /// Every packet in the queue, in transmission or on its way, for checking conservation.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let sending = self.in_transmission.iter().map(|(packet, _)| packet);
        let folded = self.folded.iter().flat_map(FoldedFifo::packets);
        let queued = self.qdisc.packets().chain(sending).chain(folded);
        queued.chain(self.propagation.packets())
    }
}
