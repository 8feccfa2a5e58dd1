//! The run loop: what is pending, what happens, in which order.
//!
//! Events are ordered by (time, class, component, the component's own sequence). At one
//! instant a link first takes its new values, then transmissions end, then packets arrive from
//! links, then sources send, then samples are taken; within a class the component that stands
//! earlier in the description goes first. So a packet that leaves at the very instant another
//! arrives has made room for it, and adding a component does not reorder the others.
//!
//! What hosts do (send, count, answer) is in `world/hosts.rs`.
//!
//! Transmitters, propagation rings and sources have one pending event each and live in a
//! `Tournament`; everything else is in the `Wheel`.

use super::packet::{Kind, Packet};
use super::time::Time;
use super::tournament::Tournament;
use super::wheel::{Entry, Order, Wheel};
use crate::net::chains;
use crate::net::link::{Link, Offered, Passage, Sent};
use crate::net::propagation::Propagation;
use crate::net::route::Routes;
use crate::qdisc::DropReason;
use crate::sim::records::{Event, Records};
use crate::sim::ring::Ring;
use crate::sim::samples::Samples;
use crate::spec::{Change, Experiment};
use crate::traffic::conversation::Conversation;

mod accounting;
mod chained;
mod folded;
mod hosts;
mod tcp;

/// Classes of events at one instant, in their order.
pub mod class {
    /// New values of links, the end of the warm-up.
    pub const CHANGE: u8 = 0;
    /// A transmission ends, or a discipline's next packet is due.
    pub const DEPARTURE: u8 = 1;
    /// A packet arrives at the far end of a link.
    pub const ARRIVAL: u8 = 2;
    /// A source sends.
    pub const SOURCE: u8 = 3;
    /// A sample is taken.
    pub const SAMPLE: u8 = 4;
}

/// Component numbers of what belongs to the run as a whole, after every link.
const WHOLE_RUN: u32 = u32::MAX;

/// An event's place among those of its instant: by class, then component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn(u64);

impl Turn {
    #[inline(always)]
    fn new(class: u8, component: u32) -> Turn {
        Turn(u64::from(class) << 32 | u64::from(component))
    }

    #[inline(always)]
    fn class(self) -> u8 {
        (self.0 >> 32) as u8
    }

    #[inline(always)]
    fn component(self) -> u32 {
        self.0 as u32
    }
}

/// A network while it runs.
#[derive(Debug)]
pub struct World {
    /// The current instant.
    pub now: Time,
    /// Events done so far.
    pub events: u64,
    /// When measuring starts.
    pub warm_up: Time,
    /// When the run ends.
    pub end: Time,
    /// Directed link ends, in the order of queues.
    pub links: Vec<Link>,
    /// Flows, then probes.
    pub conversations: Vec<Conversation>,
    /// How many of the conversations are flows.
    pub flows: usize,
    /// Interval samples.
    pub samples: Samples,
    /// Packet records.
    pub records: Records,
    routes: Routes,
    /// Of the event being done.
    current: Turn,
    /// Only components that can have a pending event get a leaf: most links of a network have
    /// no rate, or no delay, and a smaller tree is faster.
    tournament: Tournament,
    /// The leaf of conversation 0; the others follow.
    first_source_leaf: usize,
    wheel: Wheel,
    /// When the wheel's first entry is due.
    wheel_due: Time,
    changes: Vec<(u32, Change)>,
    sample_interval: Time,
    wheel_sequence: u32,
    /// Packets that arrive at a host in this very instant, by links without delay.
    arriving: Ring<(Packet, u32)>,
    /// Whether nothing waits in `arriving` that would go before what is offered now.
    is_alone: bool,
}

impl World {
    /// A network at time zero.
    pub fn new(experiment: &Experiment, replication: u64) -> World {
        let mut built = super::build::Built::new(experiment, replication);
        built.links.iter_mut().for_each(Link::fold);
        let hops = experiment.hops();
        chains::join(&mut built.links, &built.conversations, &built.routes, &hops);
        World::of(built, experiment)
    }

    /// The same network with the ordinary path on every link: slower, and the same results.
    pub fn with_an_event_for_every_departure(experiment: &Experiment, replication: u64) -> World {
        World::of(
            super::build::Built::new(experiment, replication),
            experiment,
        )
    }

    fn of(built: super::build::Built, experiment: &Experiment) -> World {
        let (mut links, conversations) = (built.links, built.conversations);
        let mut turns = Vec::new();
        let mut new_leaf = |class, component| {
            turns.push(Turn::new(class, component).0);
            turns.len() - 1
        };
        for (component, link) in (0..).zip(&mut links) {
            let is_pulled = link.feeds() && link.passage() == Passage::Folded;
            if link.may_be_pending && !is_pulled {
                link.departure_leaf = new_leaf(class::DEPARTURE, component);
            }
        }
        for (component, link) in (0..).zip(&mut links) {
            let has_ring = matches!(link.propagation, Propagation::Ring(_));
            if has_ring && link.delay > Time::ZERO && !link.feeds() {
                link.arrival_leaf = new_leaf(class::ARRIVAL, component);
            }
        }
        let sources = 0..conversations.len() as u32;
        let source_leaves = sources.map(|component| new_leaf(class::SOURCE, component));
        let first_source_leaf = source_leaves.min().unwrap_or(0);
        let mut world = World {
            now: Time::ZERO,
            events: 0,
            warm_up: Time::from_ns(experiment.warm_up_ns),
            end: Time::from_ns(experiment.duration_ns),
            flows: experiment.flows.len(),
            current: Turn::new(class::CHANGE, 0),
            tournament: Tournament::new(&turns),
            first_source_leaf,
            wheel: Wheel::default(),
            wheel_due: Time::NEVER,
            samples: Samples::default(),
            records: Records::default(),
            routes: built.routes,
            changes: Vec::new(),
            sample_interval: Time::from_ns(experiment.sample_interval_ns),
            wheel_sequence: 0,
            arriving: Ring::default(),
            is_alone: true,
            links,
            conversations,
        };
        for (conversation, first) in built.first_sends.into_iter().enumerate() {
            let due = world.conversations[conversation].due_after(Some(first), Time::ZERO);
            world
                .tournament
                .set(world.first_source_leaf + conversation, due);
        }
        for (link, (_, _, end)) in experiment.link_ends().enumerate() {
            for change in &end.changes {
                let index = world.changes.len() as u32;
                world.changes.push((link as u32, change.clone()));
                world.schedule(
                    Time::from_ns(change.at_ns),
                    class::CHANGE,
                    link as u32,
                    index,
                );
            }
        }
        if world.warm_up > Time::ZERO {
            world.schedule(world.warm_up, class::CHANGE, WHOLE_RUN, 0);
        }
        if world.sample_interval > Time::ZERO {
            world.schedule(world.sample_interval, class::SAMPLE, WHOLE_RUN, 0);
        }
        world
    }

    /// Does the next event. Returns false when none is left before the end.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        let (time, turn) = self.tournament.first();
        if time >= self.wheel_due && self.wheel_is_first(time, Turn(turn)) {
            return self.step_wheel();
        }
        if time >= self.end {
            return false;
        }
        self.now = time;
        self.events += 1;
        self.is_alone = true;
        self.current = Turn(turn);
        let component = self.current.component() as usize;
        match self.current.class() {
            class::DEPARTURE => self.depart(component),
            class::ARRIVAL => self.arrive_from_ring(component),
            _ => self.send_from(component),
        }
        self.settle_arrivals();
        true
    }

    /// Brings every integral up to the end and takes the last sample.
    pub fn finish(&mut self) {
        self.now = self.end;
        self.catch_up_all(self.end);
        for link in &mut self.links {
            link.statistics.finish(self.end);
        }
        let interval = self.sample_interval.0;
        if interval > 0 && self.end.0.is_multiple_of(interval) {
            self.samples
                .take(self.end, &self.links, &self.conversations[..self.flows]);
        }
        self.samples
            .take_transfers(&self.conversations[..self.flows]);
    }

    /// Whether the wheel's first entry goes before the tournament's first.
    #[cold]
    fn wheel_is_first(&self, time: Time, turn: Turn) -> bool {
        let Some(entry) = self.wheel.first() else {
            return false;
        };
        let order = entry.order;
        (entry.time, Turn::new(order.class, order.component)) < (time, turn)
    }

    fn schedule(&mut self, time: Time, class: u8, component: u32, payload: u32) {
        self.wheel_sequence = self.wheel_sequence.wrapping_add(1);
        let order = Order {
            class,
            component,
            sequence: self.wheel_sequence,
        };
        self.wheel.push(Entry {
            time,
            order,
            payload,
        });
        self.wheel_due = self.wheel_due.min(time);
    }

    fn step_wheel(&mut self) -> bool {
        if self
            .wheel
            .first()
            .is_none_or(|entry| entry.time >= self.end)
        {
            return false;
        }
        let entry = self.wheel.pop().expect("there is a first entry");
        self.current = Turn::new(entry.order.class, entry.order.component);
        self.wheel_due = self.wheel.first().map_or(Time::NEVER, |entry| entry.time);
        self.now = entry.time;
        self.events += 1;
        self.is_alone = true;
        match (entry.order.class, entry.order.component) {
            (class::CHANGE, WHOLE_RUN) => self.start_measuring(),
            (class::CHANGE, link) => self.change(link as usize, entry.payload),
            (class::SAMPLE, _) => self.sample(),
            (_, link) => self.arrive_from_slab(link as usize, entry.payload),
        }
        self.settle_arrivals();
        true
    }

    fn start_measuring(&mut self) {
        // Departures of this very instant come after changes.
        self.catch_up_all(self.now);
        for link in &mut self.links {
            link.statistics.start_measuring(self.now);
        }
    }

    fn change(&mut self, link: usize, index: u32) {
        let (_, change) = &self.changes[index as usize];
        self.links[link].change(change);
        if !self.links[link].is_transmitting() {
            self.pump(link);
        }
    }

    fn sample(&mut self) {
        // Samples come after everything else of their instant.
        self.catch_up_all(self.now + Time(1));
        for link in &mut self.links {
            link.statistics.levels.advance(self.now);
        }
        self.samples
            .take(self.now, &self.links, &self.conversations[..self.flows]);
        let next = self.now.saturating_add(self.sample_interval);
        self.schedule(next, class::SAMPLE, WHOLE_RUN, 0);
    }

    /// Packets that crossed links without delay arrive in the instant they were sent.
    #[inline(always)]
    fn settle_arrivals(&mut self) {
        while let Some((packet, host)) = self.arriving.pop_front() {
            self.is_alone = self.arriving.is_empty();
            self.arrive(packet, host);
        }
    }

    /// The host a packet is for, and the row of the routes that leads there.
    #[inline(always)]
    fn goal(&self, packet: &Packet) -> (u32, usize) {
        let conversation = &self.conversations[packet.conversation as usize];
        if packet.is_reply() {
            (conversation.source, conversation.row_back)
        } else {
            (conversation.destination, conversation.row_out)
        }
    }

    #[inline]
    fn arrive(&mut self, packet: Packet, host: u32) {
        let (goal, row) = self.goal(&packet);
        if host == goal {
            self.deliver(packet, host);
        } else {
            let link = self.routes.next(row, host) as usize;
            self.offer(link, packet);
        }
    }

    #[inline(always)]
    fn offer(&mut self, index: usize, packet: Packet) {
        match self.links[index].passage() {
            Passage::AtOnce => self.offer_at_once(index, packet),
            Passage::Folded => self.offer_folded(index, packet),
            Passage::Queued => self.offer_queued(index, packet),
        }
    }

    /// Offers a packet to a link whose departures have events.
    #[inline(never)]
    fn offer_queued(&mut self, index: usize, packet: Packet) {
        let link = &mut self.links[index];
        let offered = link.offer(packet, self.now);
        let (is_transmitting, is_eventful) = (link.is_transmitting(), link.is_eventful);
        match offered {
            Offered::Dropped(reason) => {
                self.record(index, Event::Drop, reason as i8, &packet, None);
                self.count_dropped(&packet);
            }
            Offered::Taken => self.record(index, Event::Enqueue, 0, &packet, None),
        }
        if is_eventful {
            self.settle_events(index);
        }
        if is_transmitting {
            self.links[index].settle(self.now);
        } else if offered == Offered::Taken {
            self.pump(index);
        }
    }

    /// The pending event of a link: a departure, or its discipline's next packet is due.
    #[inline(always)]
    fn depart(&mut self, index: usize) {
        if self.links[index].is_fed() {
            self.depart_from_chain(index);
        } else if self.links[index].passage() == Passage::Folded {
            self.catch_up(index, self.now + Time(1));
            let link = &self.links[index];
            self.tournament.set(link.departure_leaf, link.pending());
        } else {
            self.pump(index);
        }
    }

    /// Lets a link send what is due.
    #[inline(always)]
    fn pump(&mut self, index: usize) {
        let (now, warm_up) = (self.now, self.warm_up);
        loop {
            let link = &mut self.links[index];
            let sent = link.send(now, warm_up);
            if link.is_eventful {
                self.settle_events(index);
            }
            let Some(sent) = sent else {
                break;
            };
            let link = &mut self.links[index];
            // The way of nearly every packet of a bottleneck is short: over a link that does
            // nothing special, to the host that counts it.
            let packet = sent.packet;
            let sink = &mut self.conversations[packet.conversation as usize];
            if link.is_plain && sink.counts_at(link.to) {
                sink.receive(&packet, now, warm_up);
            } else {
                self.propagate(index, sent);
            }
        }
        let link = &mut self.links[index];
        link.settle(now);
        if link.may_be_pending {
            self.tournament.set(link.departure_leaf, link.pending());
        }
    }

    #[inline]
    fn propagate(&mut self, index: usize, sent: Sent) {
        let packet = sent.packet;
        self.record(index, Event::Dequeue, 0, &packet, Some(sent.sojourn));
        if sent.lost {
            let reason = DropReason::LinkLoss as i8;
            self.record(index, Event::Lost, reason, &packet, Some(sent.sojourn));
            self.count_dropped(&packet);
            return;
        }
        let link = &mut self.links[index];
        let due = self.now.saturating_add(link.delay);
        match &mut link.propagation {
            Propagation::Ring(_) if link.delay == Time::ZERO => {
                let host = link.to;
                self.arrive_at_once(packet, host);
            }
            Propagation::Ring(_) => self.delay(index, packet),
            Propagation::Slab(slab) => {
                let place = slab.insert(packet);
                self.schedule(due, class::ARRIVAL, index as u32, place);
            }
        }
    }

    /// A packet enters the delay of a link.
    #[inline(always)]
    fn delay(&mut self, index: usize, packet: Packet) {
        let link = &mut self.links[index];
        let Propagation::Ring(ring) = &mut link.propagation else {
            unreachable!("delays that change have a slab");
        };
        let due = self.now.saturating_add(link.delay);
        ring.push_back((due, packet));
        if ring.len() == 1 {
            match link.chain {
                Some(chain) => self.wake_chain(chain.last),
                None => self.tournament.set(link.arrival_leaf, due),
            }
        }
    }

    /// A packet that crossed a link without delay. At its goal it is delivered here and now;
    /// on the way it waits its turn within the instant, since the link is in use.
    #[inline(always)]
    fn arrive_at_once(&mut self, packet: Packet, host: u32) {
        // TCP answers what arrives: it too waits its turn.
        if host == self.goal(&packet).0 && packet.kind() != Kind::Tcp {
            self.deliver(packet, host);
        } else {
            self.arriving.push_back((packet, host));
        }
    }

    #[inline]
    fn arrive_from_ring(&mut self, index: usize) {
        if self.links[index].is_fed() {
            return self.arrive_from_chain(index);
        }
        let bound = self.now + Time(1);
        if self.links[index].passage() == Passage::Folded {
            // Of one instant, departures come before arrivals.
            self.catch_up(index, bound);
        }
        let link = &mut self.links[index];
        let (_, packet) = link.out_before(bound).expect("the first packet is due");
        let host = link.to;
        self.tournament.set(link.arrival_leaf, link.next_arrival());
        self.arrive(packet, host);
    }

    fn arrive_from_slab(&mut self, index: usize, place: u32) {
        let link = &mut self.links[index];
        let Propagation::Slab(slab) = &mut link.propagation else {
            unreachable!("only slabs have entries in the wheel");
        };
        let packet = slab
            .remove(place)
            .expect("the wheel names a packet in flight");
        let host = link.to;
        self.arrive(packet, host);
    }

    #[inline(always)]
    fn record(
        &mut self,
        link: usize,
        event: Event,
        reason: i8,
        packet: &Packet,
        sojourn: Option<Time>,
    ) {
        let link_end = &self.links[link];
        if !link_end.record_packets {
            return;
        }
        let bytes = packet.wire_bytes(link_end.overhead_bytes);
        let level = link_end.level();
        self.records
            .push(self.now, link, event, reason, packet, bytes, level, sojourn);
    }
}
