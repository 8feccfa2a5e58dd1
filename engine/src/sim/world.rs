//! The run loop: pending events, their order, and their processing.
//!
//! Events are ordered by (time, class, component, the component's own sequence). At one instant a link first
//! takes its new values, then transmissions end, then packets arrive from links, then sources send, then
//! samples are taken; within a class the component that is earlier in the description goes first. So a packet
//! that departs at the instant of another's arrival has made room for it, and adding a component does not
//! reorder the others.
//!
//! Hosts (send, count, answer) are in `world/hosts.rs`, links in `world/links.rs`.
//!
//! Transmitters, propagation rings and sources have one pending event each and are in a `Tournament`; all
//! other events are in the `Wheel`.

use crate::capture::Capture;
use crate::cca::external::Module;
use crate::net::gso::Gso;
use crate::net::link::Link;
use crate::net::plan::FastPaths;
use crate::net::turn::{Turn, class};
use crate::observe::records::Records;
use crate::observe::samples::Samples;
use crate::qdisc::events::TimerUpdates;
use crate::qdisc::{DropReason, timer_period_ns};
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::time::Time;
use crate::sim::tournament::Tournament;
use crate::sim::wheel::{Entry, Order, Wheel};
use crate::spec::route::{RouteHandle, Routes};
use crate::spec::tcp::Controller;
use crate::spec::{Change, Experiment};
use crate::traffic::conversation::{Application, Conversation};
use std::collections::HashMap;

mod accounting;
mod chained;
mod deferred_enqueue;
mod folded;
mod hosts;
mod links;
pub mod memory;
mod merged;
mod offloads;
mod prefetch;
mod tcp;

/// Arrivals processed in one step. More at one instant may mean a loop without end, so control returns to the
/// driver of the run.
const ARRIVALS_A_STEP: u64 = 4096;

/// Number of conversations from which their state does not stay in the L2 cache.
const MANY_CONVERSATIONS: usize = 128;

/// Number of conversations from which their segments are not received in memory order.
const SEVERAL_CONVERSATIONS: usize = 16;

/// Component number of events of the whole run, after every link.
const WHOLE_RUN: u32 = u32::MAX;

/// Adds a leaf to the tournament. Returns its number.
fn new_leaf(turns: &mut Vec<u64>, class: u8, component: u32) -> usize {
    turns.push(Turn::new(class, component).0);
    turns.len() - 1
}

/// An instant, and the turn of a flow that acts at it.
type FlowWakeup = (Time, u64);

const NO_TSQ_WAKEUP: FlowWakeup = (Time::NEVER, u64::MAX);

/// A network while it runs.
#[derive(Debug)]
pub struct World {
    /// The current instant.
    pub now: Time,
    /// Number of events so far.
    pub events: u64,
    /// Arrivals processed within the instants of events so far: one event may bring a whole window.
    settled: u64,
    /// End of the warm-up.
    pub warm_up: Time,
    /// End of the run.
    pub end: Time,
    /// Directed link ends, in the order of queues.
    pub links: Vec<Link>,
    /// Flows, then probes.
    pub conversations: Vec<Conversation>,
    /// Number of conversations that are flows.
    pub flows: usize,
    /// Interval samples.
    pub samples: Samples,
    /// Packet records.
    pub records: Records,
    /// Whether writes of applications are recorded.
    pub records_writes: bool,
    /// What is captured; None for nothing.
    pub capture: Option<Box<Capture>>,
    routes: Routes,
    /// Turn of the event being processed.
    current: Turn,
    /// Turn with which packets sent now over a link without delay wait to arrive.
    onward_turn: Turn,
    /// A flow whose sender was woken by its host's queue (TSQ) at this instant, outside of the tournament.
    /// Its tournament entry stays as it is.
    tsq_wakeup: FlowWakeup,
    /// Only components that can have a pending event get a leaf: most links of a network have no rate or no
    /// delay, and a smaller tree is faster.
    tournament: Tournament,
    /// The leaf of conversation 0; those of the others follow.
    first_source_leaf: usize,
    wheel: Wheel,
    /// Time of the wheel's first entry.
    wheel_due: Time,
    changes: Vec<(u32, Change)>,
    sample_interval: Time,
    wheel_sequence: u32,
    /// Links whose disciplines have timers.
    timed: Vec<u32>,
    /// The link that last dropped an offered packet, and the reason.
    refused: Option<(usize, DropReason)>,
    /// Segments of an sk_buff that is being handed down.
    segments: Vec<Packet>,
    /// Super-packets between two queues.
    super_packets: Gso,
    /// Packets that arrive at a host at this instant, over links without delay.
    arriving: Ring<HostArrival>,
    /// Whether flow state is prefetched (`world/prefetch.rs`).
    prefetches_flows: bool,
    /// Whether segments are prefetched.
    prefetches_segments: bool,
    /// Whether segments may be prefetched: with one flow the hardware prefetcher suffices.
    may_prefetch_segments: bool,
    /// The next conversation to act by its own timer.
    next_wakeup: prefetch::NextWakeup,
    /// Whether no packet in `arriving` precedes what is offered now.
    has_no_arrivals_pending: bool,
}

/// A packet that arrives at a host at this instant, and the turn of its sending link.
#[derive(Debug, Clone, Copy)]
struct HostArrival {
    packet: Packet,
    host: u32,
    turn: Turn,
}

/// After the departures of an instant, before arrivals over links with a delay.
const AFTER_DEPARTURES: Turn = Turn::first_of(class::ARRIVAL);

impl World {
    /// A network at time zero, without controller modules.
    pub fn new(experiment: &Experiment, replication: u64) -> World {
        World::planned(experiment, replication, FastPaths::On, &HashMap::new())
    }

    /// The same with fast paths on or off, which does not change results, and with controller modules.
    pub fn planned(
        experiment: &Experiment,
        replication: u64,
        fast_paths: FastPaths,
        modules: &HashMap<Controller, Module>,
    ) -> World {
        let built = super::build::NetworkParts::new(experiment, replication, fast_paths, modules);
        let (mut links, conversations) = (built.links, built.conversations);
        let mut turns = Vec::new();
        for (component, link) in (0..).zip(&mut links) {
            if let Some(merge) = &mut link.merge {
                merge.leaf = new_leaf(&mut turns, class::CHANGE, component);
            }
        }
        for (component, link) in (0..).zip(&mut links) {
            if link.has_departures() {
                link.departure_leaf = new_leaf(&mut turns, class::DEPARTURE, component) as u32;
            }
        }
        for (component, link) in (0..).zip(&mut links) {
            if link.has_arrivals() {
                link.arrival_leaf = new_leaf(&mut turns, class::ARRIVAL, component) as u32;
            }
        }
        let link_leaves = turns.len();
        for component in 0..conversations.len() as u32 {
            new_leaf(&mut turns, class::SOURCE, component);
        }
        let interval_ns = experiment.sample_interval_ns;
        let instants = experiment.duration_ns.checked_div(interval_ns);
        let flows = experiment.flows.len();
        let samples = Samples::with_room(instants.unwrap_or(0), links.len(), flows);
        let mut world = World {
            now: Time::ZERO,
            events: 0,
            settled: 0,
            warm_up: Time::from_ns(experiment.warm_up_ns),
            end: Time::from_ns(experiment.duration_ns),
            flows,
            current: Turn::FIRST,
            onward_turn: Turn::FIRST,
            tsq_wakeup: NO_TSQ_WAKEUP,
            tournament: Tournament::new(&turns, link_leaves),
            first_source_leaf: link_leaves,
            wheel: Wheel::default(),
            wheel_due: Time::NEVER,
            samples,
            records: Records::default(),
            records_writes: experiment.record_writes,
            capture: None,
            routes: built.routes,
            changes: Vec::new(),
            sample_interval: Time::from_ns(interval_ns),
            wheel_sequence: 0,
            timed: { (0..).zip(experiment.link_ends()) }
                .filter(|(_, (_, _, end))| timer_period_ns(&end.qdisc).is_some())
                .map(|(link, _)| link)
                .collect(),
            refused: None,
            segments: Vec::new(),
            super_packets: Gso::default(),
            arriving: Ring::default(),
            prefetches_flows: conversations.len() >= MANY_CONVERSATIONS,
            prefetches_segments: conversations.len() >= MANY_CONVERSATIONS,
            may_prefetch_segments: conversations.len() >= SEVERAL_CONVERSATIONS,
            next_wakeup: prefetch::NextWakeup::default(),
            has_no_arrivals_pending: true,
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

    /// Processes the next event. Returns false if none is left before the end.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        let has_no_arrivals = self.arriving.is_empty();
        if !has_no_arrivals && !self.departs_now() {
            self.process_more_arrivals();
            return true;
        }
        let (mut time, mut turn) = self.tournament.first();
        if time >= self.tsq_wakeup.0 {
            (time, turn) = self.tsq_wakeup.min((time, turn));
        }
        if time >= self.wheel_due && self.wheel_is_first(time, Turn(turn)) {
            return self.step_wheel();
        }
        if time >= self.end {
            return false;
        }
        self.now = time;
        self.events += 1;
        self.has_no_arrivals_pending = has_no_arrivals;
        self.current = Turn(turn);
        self.onward_turn = self.current;
        let component = self.current.component() as usize;
        if self.prefetches_flows {
            self.prefetch_next_wakeup();
        }
        match self.current.class() {
            class::CHANGE => self.on_merge_event(component),
            class::DEPARTURE => self.depart(component),
            class::ARRIVAL => self.arrive_from_ring(component),
            _ => {
                if turn == self.tsq_wakeup.1 {
                    self.tsq_wakeup = NO_TSQ_WAKEUP;
                }
                self.send_from(component);
            }
        }
        self.process_arrivals();
        true
    }

    /// Time of the next event; `NEVER` for none.
    pub fn next_due(&self) -> Time {
        if !self.arriving.is_empty() {
            return self.now;
        }
        let first = self.tournament.first().0.min(self.tsq_wakeup.0);
        first.min(self.wheel_due)
    }

    /// Measure of work so far: events, and arrivals within their instants.
    #[inline]
    pub fn work(&self) -> u64 {
        self.events + self.settled
    }

    /// Total timer updates of disciplines.
    pub fn timer_updates(&self) -> TimerUpdates {
        let mut all = TimerUpdates::default();
        for link in &self.timed {
            let updates = self.links[*link as usize].timer_updates();
            all.add(updates.one_by_one());
            if updates.are_too_many() {
                all.give_up();
            }
        }
        all
    }

    /// Brings every integral up to the end and takes the last sample.
    pub fn finish(&mut self) {
        self.now = self.end;
        self.catch_up_all(self.end);
        for link in &mut self.links {
            link.statistics.finish(self.end);
        }
        for conversation in &mut self.conversations {
            if let Application::Tcp(flow) = &mut conversation.application {
                flow.settle();
            }
        }
        let interval = self.sample_interval.0;
        if interval > 0 && self.end.0.is_multiple_of(interval) {
            self.samples
                .take(self.end, &self.links, &self.conversations[..self.flows]);
        }
    }

    /// Whether the wheel's first entry precedes the tournament's first.
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
        self.onward_turn = self.current;
        self.wheel_due = self.wheel.first().map_or(Time::NEVER, |entry| entry.time);
        self.now = entry.time;
        self.events += 1;
        self.has_no_arrivals_pending = self.arriving.is_empty();
        match (entry.order.class, entry.order.component) {
            (class::CHANGE, WHOLE_RUN) => self.start_measuring(),
            (class::CHANGE, link) => self.change(link as usize, entry.payload),
            (class::SAMPLE, _) => self.sample(),
            (_, link) if entry.payload == offloads::POLL => self.poll(link as usize),
            (_, link) => self.arrive_from_slab(link as usize, entry.payload),
        }
        self.process_arrivals();
        true
    }

    fn start_measuring(&mut self) {
        // Departures at this very instant follow changes.
        self.catch_up_all(self.now);
        for link in &mut self.links {
            link.statistics.start_measuring(self.now);
        }
    }

    fn change(&mut self, link: usize, index: u32) {
        let (_, change) = &self.changes[index as usize];
        self.links[link].change(change);
        if !self.links[link].is_transmitting() {
            self.send_due(link);
        }
    }

    fn sample(&mut self) {
        // Samples follow everything else at their instant.
        self.catch_up_all(self.now + Time(1));
        for link in &mut self.links {
            link.statistics.levels.advance(self.now);
        }
        self.samples
            .take(self.now, &self.links, &self.conversations[..self.flows]);
        let next = self.now.saturating_add(self.sample_interval);
        self.schedule(next, class::SAMPLE, WHOLE_RUN, 0);
    }

    /// Processes packets that crossed links without delay. They arrive at the instant in which they were
    /// sent, after all its departures: a limited number now, the rest with the next step.
    #[inline(always)]
    fn process_arrivals(&mut self) {
        for settled in 0..ARRIVALS_A_STEP {
            if self.arriving.is_empty() || self.departs_now() {
                self.settled += settled;
                return;
            }
            let next = self.arriving.pop_front();
            let HostArrival { packet, host, turn } = next.expect("something arrives");
            self.has_no_arrivals_pending = self.arriving.is_empty();
            self.current = turn;
            self.onward_turn = turn.max(AFTER_DEPARTURES);
            self.arrive(packet, host);
        }
        self.settled += ARRIVALS_A_STEP;
    }

    /// Whether a departure or a change of a link is still due at this instant.
    #[inline(always)]
    fn departs_now(&self) -> bool {
        let (time, turn) = self.tournament.first();
        (time <= self.now && Turn(turn) < AFTER_DEPARTURES)
            || (self.wheel_due <= self.now && self.wheel_is_first(self.now, AFTER_DEPARTURES))
    }

    /// Queues a packet that arrives at a host without delay until its turn within the instant.
    #[inline(always)]
    fn queue_host_arrival(&mut self, packet: Packet, host: u32) {
        let turn = self.onward_turn;
        self.arriving.push_back(HostArrival { packet, host, turn });
    }

    /// Continues the instant that the last step did not finish. The remainder counts as events, because a
    /// loop has no others.
    #[cold]
    #[inline(never)]
    fn process_more_arrivals(&mut self) {
        self.events += ARRIVALS_A_STEP;
        self.process_arrivals();
    }

    /// The destination host of a packet, and its row of the routes.
    #[inline(always)]
    fn destination_of(&self, packet: &Packet) -> (u32, RouteHandle) {
        let conversation = &self.conversations[packet.conversation as usize];
        if packet.is_reply() {
            (conversation.source, conversation.route_back)
        } else {
            (conversation.destination, conversation.route_out)
        }
    }

    #[inline]
    fn arrive(&mut self, packet: Packet, host: u32) {
        let (goal, row) = self.destination_of(&packet);
        if host == goal {
            self.deliver(&packet, host);
        } else {
            let link = self.routes.next(row, host) as usize;
            self.forward(link, packet);
        }
    }
}
