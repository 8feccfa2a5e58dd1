//! One direction of a link: a queue discipline, a transmitter, loss and a delay.
//!
//! The plan assigns each direction a path (`LinkPath`). On the fast paths the departure of a packet is known
//! at its arrival, and only the state needed for that is kept. After its transmission a packet may be lost,
//! at random or every n-th; otherwise it arrives after the delay.

mod awaiting;
mod crossing;
mod host_queue;
mod offloads;

use super::chains::Downstream;
use super::folded::{DepartedPacket, FoldedFifo};
use super::merge::Merge;
use super::pipe::Pipe;
use super::plan::{Entrance, LinkPlan, Role};
use super::propagation::{Propagation, Slab};
use super::queued::{AfterQueue, Queued, Transmission};
use super::shaped::Shaped;
use crate::qdisc::events::TimerUpdates;
use crate::qdisc::{self, DropReason, Events, Qdisc, Setting};
use crate::sim::acknowledgement::Acknowledgement;
use crate::sim::link_statistics::{Level, LinkStatistics, Observation};
use crate::sim::own_samples::OwnState;
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::time::Time;
use crate::spec;

/// Outcome of offering a packet to the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferOutcome {
    /// Enqueued; see `pending` for the next event.
    Taken,
    /// Dropped by the queue.
    Dropped(DropReason),
}

/// A packet whose transmission has just ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransmittedPacket {
    /// The packet.
    pub packet: Packet,
    /// Whether the link lost it.
    pub lost: bool,
    /// Time from its arrival at the queue to now.
    pub sojourn: Time,
}

/// How the link forwards packets: the kind of its `LinkPath`, without the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// Immediately: infinite rate, plain queue, no loss. Most links besides the bottleneck are like this. A
    /// propagation delay may follow.
    PassThrough,
    /// Through a `FoldedFifo`.
    Folded,
    /// Through a `Pipe`, or a `Shaped`.
    Pipe,
    /// Through a discipline and a transmitter, with an event for each departure.
    Queued,
}

/// How the link forwards packets, with the state for it. Most links of a network need the state of one path
/// only. `repr(u8)` gives the enum an explicit tag byte: reading a niche-encoded tag takes more instructions,
/// for every packet.
#[derive(Debug)]
#[repr(u8)]
enum LinkPath {
    PassThrough,
    Folded(FoldedFifo),
    Pipe(Pipe),
    Shaped(Box<Shaped>),
    Queued,
}

impl LinkPath {
    /// The path that the plan assigns, for the discipline and rate made for it.
    fn new(planned: &LinkPlan, queued: &Queued, overhead_bytes: u32) -> LinkPath {
        let is_first = !matches!(planned.entrance, Entrance::Chained { .. });
        match (planned.role, queued.qdisc(), queued.rate()) {
            (Role::PassThrough, ..) => LinkPath::PassThrough,
            (Role::Folded, Qdisc::Fifo(fifo), Some(rate)) => {
                LinkPath::Folded(FoldedFifo::new(fifo.limit(), rate, overhead_bytes))
            }
            (Role::Pipe { takes_gso }, Qdisc::Fifo(fifo), rate) => {
                LinkPath::Pipe(Pipe::new(fifo.limit(), rate, is_first, takes_gso))
            }
            (Role::Shaped, Qdisc::Tbf(tbf), None) => {
                let bucket = tbf.over_a_fifo().expect("it was planned over a FIFO");
                LinkPath::Shaped(Box::new(Shaped::new(bucket, is_first)))
            }
            (Role::Queued { .. }, ..) => LinkPath::Queued,
            (Role::Folded | Role::Pipe { .. } | Role::Shaped, ..) => {
                unreachable!("plans give roles to the disciplines that can have them")
            }
        }
    }
}

/// The state of one direction of a link. The fields read for every packet come first, in as few cache lines
/// as possible.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// Where its packets go next.
    pub downstream: Downstream,
    /// The host at its far end.
    pub to: u32,
    /// Link overhead per packet, besides the IP size, bytes.
    pub overhead_bytes: u32,
    /// Whether senders whose first link this is account for their packets in its queue (TCP small queues).
    pub has_small_queues: bool,
    /// Whether it holds packets of these senders until their departure time (pacing by fq).
    pub paces_senders: bool,
    /// Whether each packet is written to the table `packets`.
    pub record_packets: bool,
    /// Whether packets are captured before and after the queue.
    pub is_captured: bool,
    /// Whether they are recorded, captured, or read by the discipline (`reads_acknowledgements`).
    pub is_observed: bool,
    /// Whether packets are captured at the far end.
    pub is_captured_arriving: bool,
    /// Whether transmitted packets arrive at once: no loss, delay, records, captures or changes.
    pub is_plain: bool,
    /// Whether it may send GSO packets whole (TSO) or its far end merges frames (GRO).
    pub has_offloads: bool,
    /// Whether it can have pending events; false for a plain queue with infinite rate.
    pub may_be_pending: bool,
    /// Whether the discipline can report events (drops, marks); a plain queue never does.
    pub is_eventful: bool,
    /// Whether the discipline reads the headers of acknowledgements ([`Link::tell`]).
    pub reads_acknowledgements: bool,
    /// Its only upstream link in a chain.
    pub upstream: Option<u32>,
    /// Its leaf in the tournament for departures, if it may be pending.
    pub departure_leaf: u32,
    /// The leaf of its propagation ring, if it has one and a delay.
    pub arrival_leaf: u32,
    /// Propagation delay after the transmitter.
    pub delay: Time,
    /// The packets that several upstream links hold for it.
    pub merge: Option<Box<Merge>>,
    /// Packets in propagation.
    pub propagation: Propagation,
    kind: LinkPath,
    /// For a queue: its only upstream link, whose packets it enqueues just before it sends.
    pub lazy_upstream: Option<u32>,
    /// For that upstream link: time of its next packet that needs an arrival event; `NEVER` for none.
    pub next_upstream_event: Time,
    /// The pipe into which all packets go in the instant in which they are sent, if it has no other upstream.
    pub sole_downstream: Option<u32>,
    /// What was measured.
    pub statistics: LinkStatistics,
    /// Discipline, transmitter and loss. A pipe or folded queue uses only the settings.
    queued: Box<Queued>,
}

impl Link {
    /// Memory of an idle link, bytes.
    pub const BYTES: u64 = (size_of::<Link>() + size_of::<Queued>()) as u64;

    /// An idle link end with the path `planned`.
    ///
    /// `is_captured_arriving` says whether packets are captured at the far end.
    pub fn new(
        end: &spec::LinkEnd,
        planned: &LinkPlan,
        to: u32,
        is_captured_arriving: bool,
        observation: Observation,
        behind: AfterQueue,
        setting: &Setting,
    ) -> Link {
        let propagation = if end.changes.is_empty() && end.trace.is_none() {
            Propagation::Ring(Ring::default())
        } else {
            Propagation::Slab(Slab::default())
        };
        let qdisc = Qdisc::new(&end.qdisc, setting);
        let queued = Queued::new(end, qdisc, behind);
        let upstream = match planned.entrance {
            Entrance::Chained { upstream } => Some(upstream),
            Entrance::Open | Entrance::Merged { .. } => None,
        };
        let (lazy_upstream, sole_downstream) = match planned.role {
            Role::Queued {
                lazy_upstream,
                hands_to,
            } => (lazy_upstream, hands_to),
            _ => (None, None),
        };
        let mut link = Link {
            to,
            is_plain: planned.is_plain,
            has_offloads: end.has_offloads(),
            may_be_pending: planned.may_be_pending,
            kind: LinkPath::new(planned, &queued, end.overhead_bytes),
            is_eventful: !end.qdisc.is_plain_fifo(),
            reads_acknowledgements: qdisc::reads_acknowledgements(&end.qdisc),
            upstream,
            lazy_upstream,
            next_upstream_event: Time::NEVER,
            sole_downstream,
            merge: None,
            downstream: planned.downstream,
            departure_leaf: u32::MAX,
            arrival_leaf: u32::MAX,
            overhead_bytes: end.overhead_bytes,
            record_packets: end.record_packets,
            is_captured: end.is_captured(),
            is_observed: end.record_packets
                || end.is_captured()
                || qdisc::reads_acknowledgements(&end.qdisc),
            is_captured_arriving,
            has_small_queues: planned.keeps_small_queues,
            paces_senders: false,
            statistics: LinkStatistics::new(observation),
            propagation,
            delay: Time::from_ns(end.delay_ns),
            queued: Box::new(queued),
        };
        if let Entrance::Merged { turns } = &planned.entrance {
            link.merge = Some(Box::new(Merge::new(turns, link.least_time())));
        }
        if planned.keeps_small_queues {
            link.queued.enable_small_queues();
        }
        if planned.takes_gso_packets {
            link.queued.enable_gso();
        }
        link
    }

    /// Memory of the link, without packets and histograms; includes the timestamps of a pipe.
    pub fn memory_bytes(&self) -> u64 {
        let times = match &self.kind {
            LinkPath::Pipe(pipe) => pipe.memory_bytes(),
            LinkPath::Shaped(shaped) => shaped.memory_bytes(),
            _ => 0,
        };
        Link::BYTES + times
    }

    /// Whether it has a propagation delay.
    #[inline(always)]
    pub fn has_delay(&self) -> bool {
        self.delay > Time::ZERO
    }

    /// Whether it can have an event for a departure.
    pub fn has_departures(&self) -> bool {
        match self.kind {
            LinkPath::Pipe(_) | LinkPath::Shaped(_) => self.has_exits() && !self.has_delay(),
            _ => self.may_be_pending,
        }
    }

    /// Whether it can have an event for an arrival at the far end.
    pub fn has_arrivals(&self) -> bool {
        let has_ring = matches!(self.propagation, Propagation::Ring(_));
        has_ring && self.has_delay() && self.has_exits()
    }

    /// Whether packets can leave it by an event.
    fn has_exits(&self) -> bool {
        !matches!(
            self.downstream,
            Downstream::Into(_) | Downstream::Joins { .. }
        )
    }

    /// The leaf of the event by which packets leave its ring.
    #[inline(always)]
    pub fn exit_leaf(&self) -> usize {
        let leaf = if self.has_delay() {
            self.arrival_leaf
        } else {
            self.departure_leaf
        };
        leaf as usize
    }

    /// The minimum time of a packet through the link.
    fn least_time(&self) -> Time {
        let bytes = self.overhead_bytes.max(1);
        // A copy, so that the rounding remainder of the rate is not used up.
        let mut rate = self.queued.rate();
        self.delay
            + rate
                .as_mut()
                .map_or(Time::ZERO, |rate| rate.time_for(bytes))
    }

    /// Earliest time at which a packet still waiting in the merge can leave this link.
    #[inline(always)]
    pub fn earliest_exit(&self) -> Time {
        let busy_until = match &self.kind {
            LinkPath::Pipe(pipe) => pipe.last_departure(),
            LinkPath::Shaped(shaped) => shaped.last_departure(),
            _ => Time::ZERO,
        };
        let merge = self.merge.as_ref();
        merge.map_or(Time::NEVER, |merge| merge.earliest_exit(busy_until))
    }

    /// Removes the first packet of a folded queue that departed before `bound`, with its departure time.
    /// Departures before `bound` must have been processed.
    #[inline(always)]
    pub fn pop_departed_before(&mut self, bound: Time) -> Option<(Time, Packet)> {
        self.folded_mut()?.take_out(bound)
    }

    /// Start of transmission of the packet that a folded queue enqueued last, if it must wait.
    pub fn last_begins_at(&self) -> Option<Time> {
        self.folded()?.last_begins_at()
    }

    /// How it forwards packets.
    #[inline(always)]
    pub fn path_kind(&self) -> PathKind {
        match self.kind {
            LinkPath::PassThrough => PathKind::PassThrough,
            LinkPath::Folded(_) => PathKind::Folded,
            LinkPath::Pipe(_) | LinkPath::Shaped(_) => PathKind::Pipe,
            LinkPath::Queued => PathKind::Queued,
        }
    }

    #[inline(always)]
    fn folded(&self) -> Option<&FoldedFifo> {
        match &self.kind {
            LinkPath::Folded(folded) => Some(folded),
            _ => None,
        }
    }

    #[inline(always)]
    fn folded_mut(&mut self) -> Option<&mut FoldedFifo> {
        match &mut self.kind {
            LinkPath::Folded(folded) => Some(folded),
            _ => None,
        }
    }

    /// Time of its next event.
    #[inline]
    pub fn pending(&self) -> Time {
        match self.folded() {
            Some(folded) => folded.next_awaited(),
            None => self.queued.pending(),
        }
    }

    /// Offers a packet to a folded queue whose departures have been processed. Returns whether it was
    /// enqueued.
    #[inline(always)]
    pub fn offer_folded(&mut self, mut packet: Packet, now: Time, is_awaited: bool) -> bool {
        packet.arrived = now;
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics.total.arrived(bytes);
        let LinkPath::Folded(folded) = &mut self.kind else {
            unreachable!("only folded links take this path");
        };
        if !folded.offer(packet, bytes, now, is_awaited) {
            self.statistics.total.refused(bytes);
            return false;
        }
        self.statistics.set_level(now, || folded.level());
        true
    }

    /// Departs the next packet of a folded queue due before `bound` and records its statistics. The packet
    /// propagates until `pop_departed_before`.
    #[inline(always)]
    pub fn depart_before(&mut self, bound: Time, warm_up: Time) -> Option<DepartedPacket> {
        let LinkPath::Folded(folded) = &mut self.kind else {
            return None;
        };
        let left = folded.depart_before(bound)?;
        let bytes = left.packet.wire_bytes(self.overhead_bytes);
        let (arrived, at) = (left.packet.arrived, left.departure);
        self.statistics
            .departed(bytes, arrived, left.service, at, warm_up);
        self.statistics.fall_to_level(at, || folded.level());
        Some(left)
    }

    /// The class of its discipline that a packet goes to (`Discipline::class_of`).
    pub fn class_of(&self, packet: &Packet) -> Option<u16> {
        self.queued.qdisc().class_of(packet)
    }

    /// Packets in the queue and in transmission, and the backlog.
    #[inline(always)]
    pub fn level(&self) -> Level {
        match &self.kind {
            LinkPath::Folded(folded) => folded.level(),
            LinkPath::Pipe(_) | LinkPath::Shaped(_) => self.statistics.levels.current,
            LinkPath::PassThrough | LinkPath::Queued => self.queued.level(),
        }
    }

    /// Offers a packet to the queue. Then call `send` until it returns None.
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet, now: Time) -> OfferOutcome {
        packet.arrived = now;
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics.total.arrived(bytes);
        match self.queued.offer(packet, bytes, now) {
            Ok(()) => OfferOutcome::Taken,
            Err(reason) => {
                self.statistics.total.dropped(bytes, reason);
                OfferOutcome::Dropped(reason)
            }
        }
    }

    /// Processes what is due at `now`: ends a transmission and starts the next. Returns each packet whose
    /// transmission ends; call until None, then `settle`.
    #[inline(always)]
    pub fn send(&mut self, now: Time, warm_up: Time) -> Option<TransmittedPacket> {
        let sent = self.queued.send(now)?;
        if sent.packet.is_gso() {
            return Some(self.finish_whole(sent, now, warm_up));
        }
        Some(self.finish(sent, now, warm_up))
    }

    /// Whether the discipline has reported events.
    #[inline(always)]
    pub fn has_events(&self) -> bool {
        self.is_eventful && !self.queued.events.is_empty()
    }

    /// The packet whose transmission has just begun, if this is reported; call until None.
    #[inline(always)]
    pub fn take_begun(&mut self) -> Option<Packet> {
        self.queued.take_begun()
    }

    /// Counts and returns the events of the discipline; return the emptied buffers with `return_events`.
    pub fn take_events(&mut self) -> Events {
        let events = std::mem::take(&mut self.queued.events);
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

    /// Returns event buffers for reuse.
    pub fn return_events(&mut self, mut events: Events) {
        events.clear();
        self.queued.events = events;
    }

    /// Updates of the discipline by its own timers.
    pub fn timer_updates(&self) -> TimerUpdates {
        self.queued.events.timer_updates
    }

    /// Mutable access to the same.
    #[cfg(test)]
    pub fn timer_updates_mut(&mut self) -> &mut TimerUpdates {
        &mut self.queued.events.timer_updates
    }

    /// The discipline's own statistics.
    pub fn discipline_statistics(&self) -> qdisc::Statistics {
        self.queued.qdisc().statistics()
    }

    /// Tells the discipline the header of the packet that is offered next, if it is an acknowledgement.
    pub fn tell(&mut self, acknowledgement: Option<Acknowledgement>) {
        self.queued.events.acknowledgement = acknowledgement;
    }

    /// What its discipline counts by itself; see [`dumbbell_qdisc::Discipline::own_state`].
    pub fn own_state(&self) -> Option<OwnState> {
        self.queued.qdisc().own_state()
    }

    /// Whether only the end of a transmission can make this link send.
    #[inline]
    pub fn is_transmitting(&self) -> bool {
        self.queued.is_transmitting()
    }

    /// Updates the level integrals after a change.
    #[inline(always)]
    pub fn settle(&mut self, now: Time) {
        if self.statistics.is_whole() {
            let level = self.level();
            self.statistics.levels.set(now, level);
        }
    }

    #[inline(always)]
    fn finish(&mut self, sent: Transmission, now: Time, warm_up: Time) -> TransmittedPacket {
        let Transmission {
            packet,
            service,
            bytes,
        } = sent;
        self.statistics
            .departed(bytes, packet.arrived, service, now, warm_up);
        let lost = self.queued.loses() | packet.is_damaged();
        self.statistics.total.lost_pkts += u64::from(lost);
        TransmittedPacket {
            packet,
            lost,
            sojourn: now - packet.arrived,
        }
    }

    /// When a packet that is sent now arrives.
    #[inline]
    pub fn arrival(&mut self, now: Time) -> Time {
        let traced = self.queued.traced_arrival(now);
        traced.unwrap_or_else(|| now.saturating_add(self.delay))
    }

    /// Applies new values. They do not affect the packet in transmission or the delay of packets in
    /// propagation.
    pub fn change(&mut self, change: &spec::Change) {
        self.queued.change(change);
        if let Some(delay_ns) = change.delay_ns {
            self.delay = Time::from_ns(delay_ns);
        }
    }

    /// Every packet in the queue, in transmission and in propagation, for the conservation check.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let (mut folded, mut pipe, mut shaped) = (None, None, None);
        match &self.kind {
            LinkPath::Folded(kind) => folded = Some(kind.packets()),
            LinkPath::Pipe(kind) => pipe = Some(kind.packets()),
            LinkPath::Shaped(kind) => shaped = Some(kind.packets()),
            LinkPath::PassThrough | LinkPath::Queued => {}
        }
        let refused = pipe.into_iter().flatten();
        let refused = refused.chain(shaped.into_iter().flatten());
        let folded = folded.into_iter().flatten();
        let queued = self.queued.packets().chain(folded).chain(refused);
        queued.chain(self.under_way())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn what_every_packet_needs_is_in_few_lines_of_the_cache() {
        assert!(offset_of!(Link, kind) <= 128);
        // Statistics of a pipe are recorded in batches, so they may lie further back.
        assert!(offset_of!(Link, statistics) <= 384);
    }
}
