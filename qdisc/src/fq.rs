//! `fq`: fair queueing of flows with pacing: each packet is held until its departure time, by Linux's
//! arithmetic (6.1, `net/sched/sch_fq.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | each socket is a flow (`fq_classify`) | each conversation and direction; parallel connections of one share its quantum |
//! | packets without a socket, from other hosts, are hashed to `orphan_mask` + 1 flows | a flow per conversation too |
//! | TCP packets carry an earliest departure time (`skb->tstamp`) | `Packet::created`, if the sender's own host has this queue |
//! | packets of a flow leave in order of departure time, then of arrival | yes |
//! | deficit round robin, `quantum` bytes per round, new flows first with `initial_quantum` | yes |
//! | a flow that empties moves behind the old ones; after `refill_delay` it gets a quantum | yes, in ticks |
//! | a flow whose first packet may not leave yet is throttled until then | yes |
//! | the timer may expire up to `timer_slack` late, and does if no other event comes | yes |
//! | `maxrate`: each packet delays the flow's next departure; half of the lateness is compensated | yes |
//! | packets without a departure time are spaced only when the flow's credit is used up, or below `low_rate_threshold` | yes |
//! | `limit`, `flow_limit`, `horizon`: the arriving packet is dropped | yes |
//! | `ce_threshold`: marks a packet that leaves later than its departure time by more | yes |
//! | flows idle for long are removed (`fq_gc`); packets of priority 7 go first | no |
//!
//! TCP's part, and which flows are paced: `tcp::pacing`. Linux keeps a packet's departure time between
//! network namespaces (`mono_delivery_time`), but not between machines: here a queue at a later hop ignores
//! it.

use super::child::child_for;
use super::{Build, Config, Dequeued, Discipline, DropReason, Events, Held, Setting};
use dumbbell_core::packet::{Packet, PacketKind};
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Fq as Parameters;
use dumbbell_tc::qdisc::filter::Header;
use std::collections::{BTreeSet, VecDeque};

const NS_PER_S: u64 = 1_000_000_000;

/// A queued packet.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: Packet,
    /// Earliest departure time.
    leaves: Time,
    /// Whether its sender set that time.
    is_timed: bool,
}

/// State of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlowState {
    /// Idle, since this tick.
    Away(u64),
    /// In the list of new or old flows.
    Listed,
    /// Throttled: its first packet may not leave yet.
    Throttled,
}

#[derive(Debug, Clone)]
struct Flow {
    waiting: VecDeque<Waiting>,
    /// Bytes that it may still send in this round.
    credit: i64,
    /// Earliest next departure; zero before any packet was delayed.
    next: Time,
    place: FlowState,
}

/// The parameters in the queue's own units.
#[derive(Debug, Clone)]
struct Limits {
    packets: u32,
    flow_packets: usize,
    quantum_bytes: i64,
    initial_quantum_bytes: i64,
    /// `maxrate`, bytes per second.
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
    /// Flows that became active when idle; served first.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    /// Throttled flows: until when, order of throttling, index.
    throttled: BTreeSet<(Time, u64, u32)>,
    throttlings: u64,
    /// Time that the timer is set to.
    watch: Time,
    packets: u32,
    backlog_bytes: u64,
    overhead_bytes: u32,
    held: Held,
}

/// Whether a sender's TCP is paced by its host's queue: packets with these headers enter an `fq` with pacing.
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
            place: FlowState::Away(tick),
        }
    }

    /// Inserts a packet behind those with the same or an earlier departure time.
    fn push(&mut self, waiting: Waiting) {
        let behind = |each: &&Waiting| each.leaves > waiting.leaves;
        let later = self.waiting.iter().rev().take_while(behind).count();
        self.waiting.insert(self.waiting.len() - later, waiting);
    }

    /// Computes the next departure after a packet of `bytes` bytes left at `now`.
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
    /// Timer ticks until now; odd, as the kernel marks idle flows.
    fn mark(&self, now: Time) -> u64 {
        self.tick(now) | 1
    }

    fn tick(&self, now: Time) -> u64 {
        now.as_ns() / self.tick_ns
    }

    /// Earliest departure of a packet that arrives now; None beyond the horizon.
    fn admit(&self, packet: &Packet, now: Time) -> Option<Waiting> {
        let is_timed = packet.kind() == PacketKind::Tcp && packet.created >= now;
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

    /// Unthrottles flows whose first packet may leave now.
    fn release(&mut self, now: Time) {
        while let Some(&(at, _, flow)) = self.throttled.first()
            && at <= now
        {
            self.throttled.pop_first();
            self.flows[flow as usize].place = FlowState::Listed;
            self.old_flows.push_back(flow);
        }
    }

    fn throttle(&mut self, flow: u32, until: Time) {
        let state = &mut self.flows[flow as usize];
        (state.next, state.place) = (until, FlowState::Throttled);
        self.throttled.insert((until, self.throttlings, flow));
        self.throttlings += 1;
    }

    /// Time of the next poll while all flows are throttled. A timer set to a slightly earlier time is kept.
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

    /// Dequeues the packet at the head of a flow; `due` is its earliest departure.
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
        if let FlowState::Away(since) = state.place {
            state.place = FlowState::Listed;
            self.new_flows.push_back(flow as u32);
            let is_long = self.limits.tick(now) > since + self.limits.refill_ticks;
            // The kernel turns a debt into a large number (`max_t(u32, ...)`), so it remains.
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
                // Once behind the old ones, so that it cannot become new again before they had their turn.
                self.old_flows.push_back(flow);
            } else {
                state.place = FlowState::Away(mark);
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
