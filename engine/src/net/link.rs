//! One direction of a link: a queue discipline, a transmitter and the way to the other host.
//!
//! With a finite rate the transmitter holds one packet, sends it for `bytes / rate` and then
//! asks the discipline for the next. With an infinite rate it asks until there is none, so a
//! work-conserving queue is passed at once and a shaping one (netem with a rate) paces itself.
//! After transmission a packet may be lost, by chance or by count, and otherwise arrives after the
//! delay.

use super::chains::Onward;
use super::folded::{Departed, FoldedFifo};
use super::merge::Merge;
use super::pipe::{Pipe, Taken};
use super::policer::Policer;
use super::propagation::{Propagation, Slab};
use super::turn::Turn;
use crate::qdisc::{self, Dequeued, DropReason, Events, Qdisc, Setting};
use crate::sim::link_statistics::{Level, LinkStatistics, Observation};
use crate::sim::packet::Packet;
use crate::sim::random::Stream;
use crate::sim::rate::Rate;
use crate::sim::ring::Ring;
use crate::sim::time::Time;
use crate::spec;

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
pub struct Transmitted {
    /// The packet.
    pub packet: Packet,
    /// Whether the link lost it.
    pub lost: bool,
    /// From its arrival at the queue to now.
    pub sojourn: Time,
}

/// How packets go through a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// In the instant they come: an infinite rate behind a plain queue, no loss. Most links
    /// beside the bottleneck are like that. Afterwards they may be delayed.
    AtOnce,
    /// Through a `FoldedFifo`.
    Folded,
    /// Through a `Pipe`.
    Pipe,
    /// Through a discipline and a transmitter, with an event for each departure.
    Queued,
}

/// The state of one direction of a link. What a packet needs that only passes stands first, in as few
/// lines of the cache as it can.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// Where its packets go.
    pub onward: Onward,
    /// The host it leads to.
    pub to: u32,
    /// Bytes a packet carries here besides its IP size.
    pub overhead_bytes: u32,
    forwarding: Forwarding,
    /// Of a link in a chain: whether what leaves it in the instant of an arrival has left before.
    pub departs_before_arrivals: bool,
    /// Whether senders whose first link it is keep an account of what lies in its queue.
    pub has_small_queues: bool,
    /// Whether packets are seen as they reach the other end.
    pub is_captured_arriving: bool,
    /// The link before it in its chain, if all that goes into it comes out of that.
    pub feeder: Option<u32>,
    /// What several others that lead into it hold for it.
    pub merge: Option<Box<Merge>>,
    /// Delay after the transmitter.
    pub delay: Time,
    /// Its place in the tournament, if it may be pending.
    pub departure_leaf: usize,
    /// The place of its ring, if it has one and a delay.
    pub arrival_leaf: usize,
    /// After the transmitter.
    pub propagation: Propagation,
    /// In place of `qdisc` and transmitter where all is known when a packet arrives.
    pipe: Option<Pipe>,
    /// The same where departures need no events of their own.
    folded: Option<FoldedFifo>,
    /// What was measured.
    pub statistics: LinkStatistics,
    /// Whether each packet is written to the table `packets`.
    pub record_packets: bool,
    /// Whether packets are seen before and after the queue.
    pub is_captured: bool,
    /// Whether packets that were sent arrive at once: no loss, no delay, no records, no captures,
    /// no changes.
    pub is_plain: bool,
    /// Whether it ever wants to be woken: not a plain queue of infinite rate.
    pub may_be_pending: bool,
    /// Whether `fold` may do anything: no policer, no loss, no records, no captures, no
    /// changes.
    is_foldable: bool,
    /// Whether the discipline can write to `events`: a plain queue never does.
    pub is_eventful: bool,
    in_transmission: Option<(Packet, Time)>,
    /// When the transmission ends, or the discipline is to be asked again.
    pending: Time,
    /// None for an infinite rate.
    rate: Option<Rate>,
    /// What the discipline did besides answering, since the link was last asked.
    pub events: Events,
    /// The packet whose transmission has just begun; only where somebody asks.
    pub begun: Option<Packet>,
    qdisc: Qdisc,
    /// In front of the queue.
    policer: Option<Box<Policer>>,
    loss: f64,
    loss_stream: Stream,
    loss_every_pkts: u64,
    /// Packets until the next one that is lost by count.
    until_loss_pkts: u64,
}

impl Link {
    /// An idle link end.
    ///
    /// `is_captured_arriving` says whether somebody looks at what reaches the other end.
    pub fn new(
        end: &spec::LinkEnd,
        to: u32,
        is_captured_arriving: bool,
        observation: Observation,
        loss_stream: Stream,
        setting: &Setting,
    ) -> Link {
        let is_captured = end.is_captured();
        let propagation = if end.changes.is_empty() {
            Propagation::Ring(Ring::default())
        } else {
            Propagation::Slab(Slab::default())
        };
        let is_plain_fifo = end.qdisc.is_plain_fifo();
        let is_foldable = end.loss == 0.0
            && end.loss_every_pkts == 0
            && end.changes.is_empty()
            && !end.record_packets
            && !is_captured
            && !is_captured_arriving
            && end.police.is_none();
        let is_plain = is_foldable && end.delay_ns == 0;
        let may_be_pending = end.rate_bps > 0 || !is_plain_fifo || !end.changes.is_empty();
        Link {
            to,
            is_plain,
            is_foldable,
            may_be_pending,
            forwarding: if is_plain && !may_be_pending {
                Forwarding::AtOnce
            } else {
                Forwarding::Queued
            },
            is_eventful: !is_plain_fifo,
            events: Events::default(),
            feeder: None,
            merge: None,
            onward: Onward::Out,
            departs_before_arrivals: false,
            folded: None,
            pipe: None,
            departure_leaf: usize::MAX,
            arrival_leaf: usize::MAX,
            overhead_bytes: end.overhead_bytes,
            record_packets: end.record_packets,
            is_captured,
            is_captured_arriving,
            has_small_queues: false,
            begun: None,
            statistics: LinkStatistics::new(observation),
            propagation,
            delay: Time::from_ns(end.delay_ns),
            policer: end
                .police
                .as_ref()
                .map(|police| Box::new(Policer::new(police))),
            qdisc: Qdisc::new(&end.qdisc, setting),
            rate: (end.rate_bps > 0).then(|| Rate::new(end.rate_bps)),
            in_transmission: None,
            pending: Time::NEVER,
            loss: end.loss,
            loss_stream,
            loss_every_pkts: end.loss_every_pkts,
            until_loss_pkts: end.loss_every_pkts,
        }
    }

    /// Does without an event for each departure if this link allows it: a plain FIFO, and
    /// after it a constant delay or nothing.
    pub fn fold(&mut self) {
        let Qdisc::Fifo(fifo) = &self.qdisc else {
            return;
        };
        if !self.is_foldable {
            return;
        }
        match self.rate {
            Some(rate) => {
                self.folded = Some(FoldedFifo::new(fifo.limit(), rate, self.overhead_bytes));
                self.forwarding = Forwarding::Folded;
                // Nobody waits for departures: the way to the other host takes time.
                self.may_be_pending = self.delay == Time::ZERO;
            }
            None if fifo.limit().admits_any() => self.forwarding = Forwarding::AtOnce,
            None => {}
        }
    }

    /// Puts a pipe in the place of a folded queue that nobody waits at, or that is in a chain, and
    /// of a link that only another leads into.
    pub fn lay_pipe(&mut self) {
        let is_fed = self.feeder.is_some() || self.merge.is_some();
        let is_chained = is_fed || self.onward != Onward::Out;
        let is_laid = match self.forwarding {
            Forwarding::Folded => self.has_delay() || is_chained,
            Forwarding::AtOnce => is_fed,
            Forwarding::Pipe | Forwarding::Queued => false,
        };
        let Qdisc::Fifo(fifo) = &self.qdisc else {
            return;
        };
        if is_laid {
            let is_first = self.feeder.is_none();
            self.pipe = Some(Pipe::new(fifo.limit(), self.rate, is_first));
            self.folded = None;
            self.forwarding = Forwarding::Pipe;
        }
    }

    /// Whether it takes time from the transmitter to the other host.
    #[inline(always)]
    pub fn has_delay(&self) -> bool {
        self.delay > Time::ZERO
    }

    /// Whether it may have an event for a departure.
    pub fn has_departures(&self) -> bool {
        match self.forwarding {
            Forwarding::Pipe => self.has_exits() && !self.has_delay(),
            _ => self.may_be_pending,
        }
    }

    /// Whether it may have an event for an arrival at the far end.
    pub fn has_arrivals(&self) -> bool {
        let has_ring = matches!(self.propagation, Propagation::Ring(_));
        has_ring && self.has_delay() && self.has_exits()
    }

    /// Whether packets may come out of it by an event.
    fn has_exits(&self) -> bool {
        matches!(self.onward, Onward::Out | Onward::ByRoute)
    }

    /// The place of the event by which packets come out of its ring.
    #[inline(always)]
    pub fn exit_leaf(&self) -> usize {
        if self.has_delay() {
            self.arrival_leaf
        } else {
            self.departure_leaf
        }
    }

    /// Whether it may feed another link: its packets stay in order, and none is lost on the way.
    pub fn can_feed(&self) -> bool {
        let has_ring = matches!(self.propagation, Propagation::Ring(_));
        let keeps_time = self.forwarding == Forwarding::Folded || self.has_delay();
        self.is_foldable && has_ring && keeps_time
    }

    /// Whether it may be fed: what becomes of a packet is certain when it arrives.
    pub fn can_be_fed(&self) -> bool {
        match self.forwarding {
            Forwarding::Folded => true,
            Forwarding::AtOnce => self.has_delay(),
            Forwarding::Pipe | Forwarding::Queued => false,
        }
    }

    /// Whether every packet takes time through it, however small.
    pub fn takes_time(&self) -> bool {
        self.least_time() > Time::ZERO
    }

    /// The least time that a packet takes through it.
    fn least_time(&self) -> Time {
        let bytes = self.overhead_bytes.max(1);
        // A copy: what rounding leaves over is not to be used up.
        let mut rate = self.rate;
        self.delay
            + rate
                .as_mut()
                .map_or(Time::ZERO, |rate| rate.time_for(bytes))
    }

    /// Has packets of other links, whose turns are these, put in order before it.
    pub fn merge_from(&mut self, turns: &[Turn]) {
        self.merge = Some(Box::new(Merge::new(turns, self.least_time())));
    }

    /// When something may come out at the earliest of what waits before it to be put in order.
    #[inline(always)]
    pub fn may_come_out(&self) -> Time {
        let busy_until = self.pipe.as_ref().map_or(Time::ZERO, Pipe::last_departure);
        let merge = self.merge.as_ref();
        merge.map_or(Time::NEVER, |merge| merge.may_come_out(busy_until))
    }

    /// A packet arrives at a pipe: see `Pipe::cross`. None when the queue is full.
    #[inline(always)]
    pub fn cross(&mut self, packet: &Packet, at: Time, is_last_of_instant: bool) -> Option<Taken> {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        let pipe = self.pipe.as_mut().expect("only pipes are asked");
        pipe.cross(bytes, at, is_last_of_instant)
    }

    /// Whether enough has happened in a pipe to be entered.
    #[inline(always)]
    pub fn is_to_be_entered(&self) -> bool {
        self.pipe.as_ref().is_some_and(Pipe::is_to_be_entered)
    }

    /// Enters what has happened in a pipe before `bound`. Then ask `refused_before` until it gives
    /// none.
    pub fn enter_before(&mut self, bound: Time, warm_up: Time) {
        if let Some(pipe) = &mut self.pipe {
            pipe.enter_before(bound, warm_up, &mut self.statistics);
        }
    }

    /// The next packet that found the queue of a pipe full before `bound`. It is counted here.
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        let packet = self.pipe.as_mut()?.refused_before(bound)?;
        self.count_refused(&packet);
        Some(packet)
    }

    /// Counts a packet that finds the queue full.
    #[inline(never)]
    pub fn count_refused(&mut self, packet: &Packet) {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics.total.arrived(bytes);
        self.statistics.total.refused(bytes);
    }

    /// A packet will find the queue of a pipe full at `at`.
    #[inline(never)]
    pub fn refuse_at(&mut self, packet: Packet, at: Time) {
        if let Some(pipe) = &mut self.pipe {
            pipe.refuse(packet, at);
        }
    }

    /// Takes out the first packet of a folded queue that left before `bound`, and when it did.
    /// Departures before then have been caught up with.
    #[inline(always)]
    pub fn out_before(&mut self, bound: Time) -> Option<(Time, Packet)> {
        self.folded.as_mut()?.take_out(bound)
    }

    /// Senders keep an account of what lies in its queue.
    pub fn keep_small_queues(&mut self) {
        self.has_small_queues = true;
        self.events.notes_delayed = true;
    }

    /// When the transmission of the packet that a folded queue took last begins, if it waits for
    /// another's end.
    pub fn last_begins_at(&self) -> Option<Time> {
        self.folded.as_ref()?.last_begins_at()
    }

    /// How packets go through it.
    #[inline(always)]
    pub fn forwarding(&self) -> Forwarding {
        self.forwarding
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
        self.statistics.set_level(now, || folded.level());
        true
    }

    /// The next packet to leave a folded queue before `bound`, its statistics entered. It stays
    /// on the way: `out_before`.
    #[inline(always)]
    pub fn depart_before(&mut self, bound: Time, warm_up: Time) -> Option<Departed> {
        let folded = self.folded.as_mut()?;
        let left = folded.depart_before(bound)?;
        let bytes = left.packet.wire_bytes(self.overhead_bytes);
        let (arrived, at) = (left.packet.arrived, left.departure);
        self.statistics
            .departed(bytes, arrived, left.service, at, warm_up);
        self.statistics.fall_to_level(at, || folded.level());
        Some(left)
    }

    /// Packets in the queue and in transmission, and the backlog.
    #[inline(always)]
    pub fn level(&self) -> Level {
        if let Some(folded) = &self.folded {
            return folded.level();
        }
        if self.forwarding == Forwarding::Pipe {
            return self.statistics.levels.current;
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
        if let Some(policer) = &mut self.policer
            && !policer.passes(bytes, now)
        {
            self.statistics.total.dropped(bytes, DropReason::Policed);
            return Offered::Dropped(DropReason::Policed);
        }
        let answer = self.qdisc.enqueue(packet, now, &mut self.events);
        if !self.events.for_root.is_empty() {
            self.offer_copies(now);
        }
        match answer {
            Ok(()) => Offered::Taken,
            Err(reason) => {
                self.statistics.total.dropped(bytes, reason);
                Offered::Dropped(reason)
            }
        }
    }

    /// Offers the copies that a discipline inside another made.
    #[inline(never)]
    fn offer_copies(&mut self, now: Time) {
        self.events.is_copy = true;
        while let Some(copy) = self.events.for_root.pop() {
            self.events.duplicated.push(copy);
            if let Err(reason) = self.qdisc.enqueue(copy, now, &mut self.events) {
                self.events.drop(copy, reason);
            }
        }
        self.events.is_copy = false;
    }

    /// Does what is due at `now`: ends a transmission, starts the next. Returns each packet
    /// whose transmission ends now; call again until None, then `settle`.
    #[inline(always)]
    pub fn send(&mut self, now: Time, warm_up: Time) -> Option<Transmitted> {
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
        match self.qdisc.dequeue(now, &mut self.events) {
            Dequeued::Packet(packet) => {
                if self.is_captured || self.has_small_queues {
                    self.begun = Some(packet);
                }
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

    /// Counts what the discipline did besides answering, and hands it over; give it back
    /// emptied with `return_events`.
    pub fn take_events(&mut self) -> Events {
        let events = std::mem::take(&mut self.events);
        for (packet, reason) in &events.dropped {
            let bytes = packet.wire_bytes(self.overhead_bytes);
            self.statistics.total.dropped(bytes, *reason);
        }
        for copy in &events.duplicated {
            let bytes = copy.wire_bytes(self.overhead_bytes);
            self.statistics.total.arrived(bytes);
        }
        self.statistics.total.marked_pkts += events.marked.len() as u64;
        events
    }

    /// Keeps the buffers for the next time.
    pub fn return_events(&mut self, mut events: Events) {
        events.clear();
        self.events = events;
    }

    /// The discipline's own numbers.
    pub fn discipline_statistics(&self) -> qdisc::Statistics {
        self.qdisc.statistics()
    }

    /// Whether nothing but the end of a transmission can make this link send.
    #[inline]
    pub fn is_transmitting(&self) -> bool {
        self.in_transmission.is_some()
    }

    /// Brings the integrals up to date after a change.
    #[inline(always)]
    pub fn settle(&mut self, now: Time) {
        if self.statistics.is_whole() {
            let level = self.level();
            self.statistics.levels.set(now, level);
        }
    }

    #[inline(always)]
    fn finish(&mut self, packet: Packet, service: Time, now: Time, warm_up: Time) -> Transmitted {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics
            .departed(bytes, packet.arrived, service, now, warm_up);
        let by_chance = self.loss > 0.0 && self.loss_stream.uniform() < self.loss;
        let lost = self.is_lost_by_count() || by_chance;
        self.statistics.total.lost_pkts += u64::from(lost);
        Transmitted {
            packet,
            lost,
            sojourn: now - packet.arrived,
        }
    }

    #[inline(always)]
    fn is_lost_by_count(&mut self) -> bool {
        if self.loss_every_pkts == 0 {
            return false;
        }
        self.until_loss_pkts -= 1;
        let lost = self.until_loss_pkts == 0;
        if lost {
            self.until_loss_pkts = self.loss_every_pkts;
        }
        lost
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
        let refused = self.pipe.iter().flat_map(Pipe::packets);
        let queued = self.qdisc.packets().chain(sending);
        let queued = queued.chain(folded).chain(refused);
        queued.chain(self.propagation.packets())
    }
}
