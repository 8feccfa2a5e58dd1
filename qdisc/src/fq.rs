//! `fq`: fair queueing of flows that holds each packet until it may leave, by Linux's arithmetic (6.1,
//! `net/sched/sch_fq.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | each socket is a flow (`fq_classify`) | each conversation and direction; connections of one share its turn |
//! | packets without a socket, of other hosts, are hashed to `orphan_mask` + 1 flows | flows of their own too |
//! | packets of TCP have a time before which they do not leave (`skb->tstamp`) | `Packet::created`, if the sender's own host has this queue |
//! | packets of a flow leave in the order of these times, equal ones as they came | yes |
//! | deficit round robin, `quantum` bytes a turn, new flows first with `initial_quantum` | yes |
//! | one that empties goes behind the old ones; away longer than `refill_delay`, it has a quantum | yes, in ticks |
//! | a flow whose first packet may not leave yet is in no turn until then | yes |
//! | the timer may be `timer_slack` late, and is if nothing else happens | yes |
//! | `maxrate`: what is sent moves the flow's next time, half of which lateness may take back | yes |
//! | without a time in the packet only when the flow's credit is used up, or below `low_rate_threshold` | yes |
//! | `limit`, `flow_limit`, `horizon`: the packet that comes is refused | yes |
//! | `ce_threshold`: marked when it leaves so much later than it might | yes |
//! | flows that are long away are forgotten (`fq_gc`); packets of priority 7 pass all others | no |
//!
//! TCP's part, and who is paced: `tcp::pacing`. Between network namespaces Linux keeps a packet's time
//! (`mono_delivery_time`), between machines it does not: here a queue on the way does without.

use super::child::child_for;
use super::{Build, Config, Dequeued, Discipline, DropReason, Events, Held, Setting};
use dumbbell_core::packet::{Kind, Packet};
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Fq as Parameters;
use dumbbell_tc::qdisc::filter::Header;
use std::collections::{BTreeSet, VecDeque};

const NS_PER_S: u64 = 1_000_000_000;

/// A packet in its flow.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: Packet,
    /// It leaves no earlier.
    leaves: Time,
    /// Whether its sender said so.
    is_timed: bool,
}

/// Where a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Empty, since this tick.
    Away(u64),
    /// In one of the two lists.
    Listed,
    /// Its first packet may not leave yet.
    Throttled,
}

#[derive(Debug, Clone)]
struct Flow {
    waiting: VecDeque<Waiting>,
    /// Bytes it may still send in this turn.
    credit: i64,
    /// Nothing of it leaves earlier; zero before anything made it wait.
    next: Time,
    place: Place,
}

/// What the parameters are in the queue's own units.
#[derive(Debug, Clone)]
struct Limits {
    packets: u32,
    flow_packets: usize,
    quantum_bytes: i64,
    initial_quantum_bytes: i64,
    /// Of a flow, bytes per second.
    rate: Option<u64>,
    low_rate: u64,
    is_pacing: bool,
    refill_ticks: u64,
    tick_ns: u64,
    slack: Time,
    ce_threshold: Option<Time>,
    horizon: Time,
    drops_beyond_horizon: bool,
}

/// The state of an fq queue.
#[derive(Debug, Clone)]
pub struct Fq {
    limits: Limits,
    /// By conversation and direction.
    flows: Vec<Flow>,
    /// Flows that got a packet when they were away; served first.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    /// Those whose first packet may not leave yet: until when, in which order they came here, which.
    throttled: BTreeSet<(Time, u64, u32)>,
    throttlings: u64,
    /// What the timer was set for.
    watch: Time,
    packets: u32,
    backlog_bytes: u64,
    overhead_bytes: u32,
    held: Held,
}

/// Whether a sender's TCP is paced by the queue of its host: a packet with these headers comes to an
/// `fq` that paces.
pub fn paces(config: &Config, header: &Header) -> bool {
    match config {
        Config::Fq(fq) => fq.pacing,
        other => child_for(other, header).is_some_and(|child| paces(child, header)),
    }
}

impl Flow {
    fn new(limits: &Limits, tick: u64) -> Flow {
        Flow {
            waiting: VecDeque::new(),
            credit: limits.initial_quantum_bytes,
            next: Time::ZERO,
            place: Place::Away(tick),
        }
    }

    /// Behind all that leave no later.
    fn push(&mut self, waiting: Waiting) {
        let behind = |each: &&Waiting| each.leaves > waiting.leaves;
        let later = self.waiting.iter().rev().take_while(behind).count();
        self.waiting.insert(self.waiting.len() - later, waiting);
    }

    /// A packet of `bytes` bytes has left at `now`: when the next may.
    fn space_out(&mut self, limits: &Limits, bytes: u64, is_timed: bool, now: Time) {
        let Some(rate) = limits.rate else {
            return;
        };
        let mut bytes = bytes;
        if !is_timed {
            if rate <= limits.low_rate {
                self.credit = 0;
            } else {
                bytes = bytes.max(limits.quantum_bytes as u64);
                if self.credit > 0 {
                    return;
                }
            }
        }
        let mut span = Time::from_ns((bytes * NS_PER_S / rate).min(NS_PER_S));
        if self.next > Time::ZERO {
            span = span - Time(span.0 / 2).min(now - self.next);
        }
        self.next = now + span;
    }
}

impl Limits {
    /// Timer ticks until now; odd, as the kernel marks flows that are away.
    fn mark(&self, now: Time) -> u64 {
        self.tick(now) | 1
    }

    fn tick(&self, now: Time) -> u64 {
        now.as_ns() / self.tick_ns
    }

    /// When a packet that comes now leaves at the earliest; None if that is too far.
    fn admit(&self, packet: &Packet, now: Time) -> Option<Waiting> {
        let is_timed = packet.kind() == Kind::Tcp && packet.created >= now;
        let horizon = now.saturating_add(self.horizon);
        let mut leaves = if is_timed { packet.created } else { now };
        if leaves > horizon {
            if self.drops_beyond_horizon {
                return None;
            }
            leaves = horizon;
        }
        Some(Waiting {
            packet: *packet,
            leaves,
            is_timed,
        })
    }
}

impl Fq {
    /// The flow of a packet, which may be new.
    fn flow_of(&mut self, packet: &Packet, now: Time) -> usize {
        let flow = (packet.conversation as usize) << 1 | usize::from(packet.is_reply());
        if flow >= self.flows.len() {
            let unused = Flow::new(&self.limits, self.limits.mark(now));
            self.flows.resize(flow + 1, unused);
        }
        flow
    }

    /// Flows whose first packet may leave now have their turn again.
    fn release(&mut self, now: Time) {
        while let Some(&(at, _, flow)) = self.throttled.first()
            && at <= now
        {
            self.throttled.pop_first();
            self.flows[flow as usize].place = Place::Listed;
            self.old_flows.push_back(flow);
        }
    }

    fn throttle(&mut self, flow: u32, until: Time) {
        let state = &mut self.flows[flow as usize];
        (state.next, state.place) = (until, Place::Throttled);
        self.throttled.insert((until, self.throttlings, flow));
        self.throttlings += 1;
    }

    /// When it is to be asked again, all flows being throttled. A timer that is set for little later
    /// stays as it is.
    fn wake(&mut self, now: Time) -> Dequeued {
        let Some(&(until, ..)) = self.throttled.first() else {
            return Dequeued::Empty;
        };
        let slack = self.limits.slack;
        let is_set = self.watch.saturating_add(slack) > now;
        let is_near = self.watch >= until && self.watch <= until.saturating_add(slack);
        if !(is_set && is_near) {
            self.watch = until;
        }
        Dequeued::NotBefore(self.watch.saturating_add(slack))
    }

    /// The list whose turn it is, and its first flow.
    fn turn(&mut self) -> Option<(&mut VecDeque<u32>, bool, u32)> {
        let is_new = !self.new_flows.is_empty();
        let list = if is_new {
            &mut self.new_flows
        } else {
            &mut self.old_flows
        };
        let flow = *list.front()?;
        Some((list, is_new, flow))
    }

    /// The packet at the head of a flow leaves, `due` being when it might have.
    fn leave(&mut self, flow: u32, due: Time, now: Time, events: &mut Events) -> Option<Packet> {
        let (limits, state) = (&self.limits, &mut self.flows[flow as usize]);
        let mut waiting = state.waiting.pop_front()?;
        let is_late = |threshold: Time| now - due > threshold;
        if limits.ce_threshold.is_some_and(is_late) {
            let _ = events.mark(&mut waiting.packet, DropReason::CeThreshold);
        }
        let bytes = u64::from(waiting.packet.wire_bytes(self.overhead_bytes));
        self.packets -= 1;
        self.backlog_bytes -= bytes;
        state.credit -= bytes as i64;
        if limits.is_pacing {
            state.space_out(limits, bytes, waiting.is_timed, now);
        }
        Some(waiting.packet)
    }
}

impl Build<Parameters> for Fq {
    fn build(parameters: &Parameters, setting: &Setting) -> Fq {
        let frame_bytes = setting.device_mtu_bytes();
        let quantum_bytes = parameters.quantum_bytes.unwrap_or(2 * frame_bytes);
        let initial = parameters.initial_quantum_bytes;
        let tick_ns = NS_PER_S / u64::from(setting.timer_hz);
        Fq {
            limits: Limits {
                packets: parameters.limit_packets,
                flow_packets: parameters.flow_limit_packets as usize,
                quantum_bytes: i64::from(quantum_bytes),
                initial_quantum_bytes: i64::from(initial.unwrap_or(10 * frame_bytes)),
                rate: parameters.maxrate_bps.map(|bps| bps / 8),
                low_rate: parameters.low_rate_threshold_bps / 8,
                is_pacing: parameters.pacing,
                refill_ticks: setting.whole_ticks_ns(parameters.refill_delay_ns) / tick_ns,
                tick_ns,
                slack: Time::from_ns(parameters.timer_slack_ns.into()),
                ce_threshold: parameters.ce_threshold_ns.map(Time::from_ns),
                horizon: Time::from_ns(parameters.horizon_ns),
                drops_beyond_horizon: parameters.horizon_drop,
            },
            flows: Vec::new(),
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            throttled: BTreeSet::new(),
            throttlings: 0,
            watch: Time::ZERO,
            packets: 0,
            backlog_bytes: 0,
            overhead_bytes: setting.overhead_bytes,
            held: Held::NOTHING,
        }
    }
}

impl Discipline for Fq {
    fn enqueue(&mut self, packet: Packet, now: Time, _: &mut Events) -> Result<(), DropReason> {
        if self.packets + self.held.packets >= self.limits.packets {
            return Err(DropReason::Overlimit);
        }
        let waiting = self
            .limits
            .admit(&packet, now)
            .ok_or(DropReason::Overlimit)?;
        let flow = self.flow_of(&packet, now);
        let state = &mut self.flows[flow];
        if state.waiting.len() >= self.limits.flow_packets {
            return Err(DropReason::FlowLimit);
        }
        if let Place::Away(since) = state.place {
            state.place = Place::Listed;
            self.new_flows.push_back(flow as u32);
            let is_long = self.limits.tick(now) > since + self.limits.refill_ticks;
            // Of a debt the kernel makes a large number (`max_t(u32, ...)`), so it stays.
            if is_long && state.credit >= 0 {
                state.credit = state.credit.max(self.limits.quantum_bytes);
            }
        }
        state.push(waiting);
        self.packets += 1;
        self.backlog_bytes += u64::from(packet.wire_bytes(self.overhead_bytes));
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        if self.packets == 0 {
            return Dequeued::Empty;
        }
        self.release(now);
        let mark = self.limits.mark(now);
        loop {
            let Some((list, is_new, flow)) = self.turn() else {
                return self.wake(now);
            };
            let _ = list.pop_front();
            let state = &mut self.flows[flow as usize];
            if state.credit <= 0 {
                state.credit += self.limits.quantum_bytes;
                self.old_flows.push_back(flow);
                continue;
            }
            if let Some(first) = state.waiting.front() {
                let due = first.leaves.max(state.next);
                if now < due {
                    self.throttle(flow, due);
                    continue;
                }
                let list = if is_new {
                    &mut self.new_flows
                } else {
                    &mut self.old_flows
                };
                list.push_front(flow);
                if let Some(packet) = self.leave(flow, due, now, events) {
                    return Dequeued::Packet(packet);
                }
            } else if is_new && !self.old_flows.is_empty() {
                // Once behind the old ones, so that it cannot be new again before they had their
                // turn.
                self.old_flows.push_back(flow);
            } else {
                state.place = Place::Away(mark);
            }
        }
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
    }

    fn backlog(&self) -> (u32, u64) {
        (self.packets, self.backlog_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let waiting = self.flows.iter().flat_map(|flow| &flow.waiting);
        Box::new(waiting.map(|waiting| &waiting.packet))
    }
}

#[cfg(test)]
mod tests;
