//! `sfq`: stochastic fairness queueing (P. E. McKenney, "Stochastic Fairness Queueing", IEEE INFOCOM 1990;
//! tc-sfq(8)), as Linux 6.1 has it (`net/sched/sch_sfq.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | paper: a keyed hash identifies flows; each value has a queue | yes, conversation and direction |
//! | paper: the key changes from time to time (`perturb`) | yes; queued packets are rehashed |
//! | paper: queues are served in round robin; empty ones are skipped | yes, deficit round robin by bytes |
//! | paper: when there is no room, the longest queue loses a packet | yes, its newest, or its oldest with `headdrop` |
//! | Linux: among equally long queues, the one that reached that length last | yes |
//! | Linux: if each has one packet, the queue whose turn is next | yes |
//! | Linux: a queue that becomes backlogged joins the end of the round | yes |
//! | Linux: `depth` packets per flow; a further one is dropped, or with `headdrop` the oldest | yes |
//! | Linux: `flows` queues at once; packets of further flows are dropped | yes |
//! | Linux: RED in each queue (`redflowlimit` and related; S. Floyd and V. Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993): average of the queue's bytes at each arrival but the first | yes |
//! | Linux: a queue that is empty forgets its average | yes |
//! | Linux: a packet that RED drops is the arriving one, with `headdrop` the oldest; with both `ecn` and `headdrop` the oldest is marked, or if it cannot be the arriving one | yes |
//! | filters that choose the queue | no |
//!
//! Linux hashes addresses, ports and protocol with a key drawn at boot. Here the key comes from the queue's
//! random stream, so which conversations share a queue differs between replications.

use super::flow_queues::{Classifier, Lists, Packets, QueueEnds, turn_bytes};
use super::red::{Average, Verdict};
use super::{Build, Dequeued, Discipline, DropReason, Events, Held, Setting};
use dumbbell_core::own_samples::{OwnState, SfqRedState};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{Sfq as Config, SfqRed};
use std::collections::VecDeque;

/// Marks a hash value without a queue.
const NONE: u32 = u32::MAX;

/// One of the queues.
#[derive(Debug, Clone, Copy)]
struct Queue {
    ends: QueueEnds,
    packets: u32,
    backlog_bytes: u32,
    /// Bytes that it may still send in this round.
    deficit_bytes: i32,
    /// Its hash value.
    hash: u32,
}

/// The state of sfq.
#[derive(Debug, Clone)]
pub struct Sfq {
    packets: Packets,
    queues: Vec<Queue>,
    /// The queue of each hash value.
    queue_of: Vec<u32>,
    /// Lists of queues by length; list 0 has the free ones.
    by_length: Lists,
    /// Packets in the longest queue.
    longest: usize,
    /// Backlogged queues in the order of their turns.
    turns: VecDeque<u32>,
    classifier: Classifier,
    limit_packets: u32,
    depth_packets: u32,
    quantum_bytes: i32,
    headdrop: bool,
    /// Time of the next key change; never without `perturb`.
    next_key: Time,
    key_period: Time,
    random: Stream,
    held: Held,
    red: Option<Box<FlowRed>>,
}

/// RED in each queue.
#[derive(Debug, Clone)]
struct FlowRed {
    /// By queue.
    averages: Vec<Average>,
    ecn: bool,
    harddrop: bool,
    counted: SfqRedState,
}

/// What RED has done with a packet.
#[derive(Debug, Clone, Copy)]
enum RedAction {
    Marked,
    MarkedOldest,
    Dropped,
}

impl FlowRed {
    fn new(config: &SfqRed, queues: usize) -> FlowRed {
        FlowRed {
            averages: vec![Average::of_flow(&config.as_red()); queues],
            ecn: config.ecn,
            harddrop: config.harddrop,
            counted: SfqRedState::default(),
        }
    }

    fn count(&mut self, reason: DropReason, action: RedAction) {
        let counted = &mut self.counted;
        *match (reason, action) {
            (DropReason::RedForced, RedAction::Marked) => &mut counted.forced_marked_pkts,
            (DropReason::RedForced, RedAction::MarkedOldest) => {
                &mut counted.forced_marked_oldest_pkts
            }
            (DropReason::RedForced, RedAction::Dropped) => &mut counted.forced_dropped_pkts,
            (_, RedAction::Marked) => &mut counted.early_marked_pkts,
            (_, RedAction::MarkedOldest) => &mut counted.early_marked_oldest_pkts,
            (_, RedAction::Dropped) => &mut counted.early_dropped_pkts,
        } += 1;
    }

    /// What RED decides of a packet that arrives at a backlogged queue.
    fn judge(&mut self, queue: u32, backlog_bytes: u32, random: &mut Stream) -> Option<DropReason> {
        let average = &mut self.averages[queue as usize];
        average.update(backlog_bytes.into(), Time::ZERO);
        match average.judge(random) {
            Verdict::Pass => None,
            Verdict::Early => Some(DropReason::RedEarly),
            Verdict::Forced => Some(DropReason::RedForced),
        }
    }

    fn may_mark(&self, reason: DropReason) -> bool {
        self.ecn && !(reason == DropReason::RedForced && self.harddrop)
    }
}

impl Build<Config> for Sfq {
    fn build(config: &Config, setting: &Setting) -> Sfq {
        let queues = config.flows as usize;
        let mut random = setting.stream();
        let mut by_length = Lists::new(config.depth_packets as usize + 1, queues);
        for queue in 0..config.flows {
            by_length.move_first(queue, 0);
        }
        let key_period = match config.perturb_s {
            0 => Time::NEVER,
            seconds => Time::from_ns(u64::from(seconds) * 1_000_000_000),
        };
        let queue = Queue {
            ends: QueueEnds::EMPTY,
            packets: 0,
            backlog_bytes: 0,
            deficit_bytes: 0,
            hash: 0,
        };
        Sfq {
            packets: Packets::new(setting.overhead_bytes),
            queues: vec![queue; queues],
            queue_of: vec![NONE; config.divisor as usize],
            by_length,
            longest: 0,
            turns: VecDeque::new(),
            classifier: Classifier::Keyed(random.next_u64()),
            limit_packets: config.limit_packets,
            depth_packets: config.depth_packets,
            quantum_bytes: turn_bytes(config.quantum_bytes, setting),
            headdrop: config.headdrop,
            next_key: key_period,
            key_period,
            random,
            held: Held::NOTHING,
            red: (config.red.as_ref()).map(|red| Box::new(FlowRed::new(red, queues))),
        }
    }
}

impl Sfq {
    /// Uses another classifier.
    #[cfg(test)]
    fn with_classifier(mut self, classifier: Classifier) -> Sfq {
        self.classifier = classifier;
        self
    }

    /// Changes the key if it is time, and rehashes queued packets.
    #[inline]
    fn catch_up(&mut self, now: Time, events: &mut Events) {
        if self.next_key <= now {
            self.perturb(now, events);
        }
    }

    #[cold]
    fn perturb(&mut self, now: Time, events: &mut Events) {
        while self.next_key <= now {
            self.next_key += self.key_period;
        }
        self.classifier = Classifier::Keyed(self.random.next_u64());
        let mut waiting = Vec::with_capacity(self.packets.count as usize);
        for queue in 0..self.queues.len() as u32 {
            while let Some(packet) = self.take(queue, false) {
                waiting.push(packet);
            }
        }
        self.turns.clear();
        for packet in waiting {
            let fits = self
                .queue_for(&packet)
                .filter(|queue| !self.is_full(*queue));
            match fits {
                Some(queue) => {
                    self.put(queue, packet);
                    // The kernel counts the packets before each that it puts back.
                    if let Some(red) = &mut self.red {
                        let Queue { backlog_bytes, .. } = self.queues[queue as usize];
                        let before = backlog_bytes - self.packets.wire_bytes(&packet);
                        red.averages[queue as usize].update(before.into(), now);
                    }
                }
                None => events.drop(packet, DropReason::FattestFlow),
            }
        }
    }

    /// The queue of a packet's flow, or a free one; None if there is none.
    #[inline]
    fn queue_for(&mut self, packet: &Packet) -> Option<u32> {
        let hash = self.classifier.queue_of(packet, self.queue_of.len() as u32);
        let own = self.queue_of[hash as usize];
        if own != NONE {
            return Some(own);
        }
        let free = self.by_length.first(0)?;
        self.queue_of[hash as usize] = free;
        self.queues[free as usize].hash = hash;
        Some(free)
    }

    fn is_full(&self, queue: u32) -> bool {
        self.queues[queue as usize].packets >= self.depth_packets
    }

    /// Enqueues a packet; an empty queue joins the end of the round.
    #[inline]
    fn put(&mut self, at: u32, packet: Packet) {
        let queue = &mut self.queues[at as usize];
        queue.backlog_bytes += self.packets.push(&mut queue.ends, packet);
        queue.packets += 1;
        if queue.packets == 1 {
            queue.deficit_bytes = self.quantum_bytes;
            self.turns.push_back(at);
            if let Some(red) = &mut self.red {
                red.averages[at as usize].reset();
            }
        }
        let length = queue.packets as usize;
        self.by_length.move_first(at, length);
        self.longest = self.longest.max(length);
    }

    /// Removes the oldest or newest packet of a queue; an emptied queue becomes free. The caller updates the
    /// round.
    #[inline]
    fn take(&mut self, at: u32, is_newest: bool) -> Option<Packet> {
        let queue = &mut self.queues[at as usize];
        let (packet, bytes) = match is_newest {
            true => self.packets.pop_newest(&mut queue.ends),
            false => self.packets.pop(&mut queue.ends),
        }?;
        queue.packets -= 1;
        queue.backlog_bytes -= bytes;
        let length = queue.packets as usize;
        if length == 0 {
            self.queue_of[queue.hash as usize] = NONE;
        }
        self.by_length.move_first(at, length);
        if length + 1 == self.longest && self.by_length.first(self.longest).is_none() {
            self.longest = length;
        }
        Some(packet)
    }

    /// Why RED drops a packet of this queue, if it does and neither the oldest nor the arriving one can be marked.
    fn red_drops(
        &mut self,
        queue: u32,
        packet: &mut Packet,
        events: &mut Events,
    ) -> Option<DropReason> {
        let red = self.red.as_deref_mut()?;
        let Queue {
            ends,
            packets,
            backlog_bytes,
            ..
        } = self.queues[queue as usize];
        if packets == 0 {
            return None;
        }
        let reason = red.judge(queue, backlog_bytes, &mut self.random)?;
        let oldest = match self.headdrop && red.may_mark(reason) {
            true => self.packets.oldest_mut(ends),
            false => None,
        };
        let marks_oldest = oldest
            .is_some_and(|oldest| oldest.has_congestion_mark() || events.mark(oldest, reason));
        let action = if marks_oldest {
            RedAction::MarkedOldest
        } else if red.may_mark(reason) && events.mark(packet, reason) {
            RedAction::Marked
        } else {
            RedAction::Dropped
        };
        red.count(reason, action);
        matches!(action, RedAction::Dropped).then_some(reason)
    }

    /// `headdrop`: the oldest packet of a queue makes room for one that arrives.
    fn replace_oldest(
        &mut self,
        queue: u32,
        packet: Packet,
        reason: DropReason,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let queue = &mut self.queues[queue as usize];
        if let Some((oldest, bytes)) = self.packets.pop(&mut queue.ends) {
            queue.backlog_bytes -= bytes;
            events.drop(oldest, reason);
        }
        queue.backlog_bytes += self.packets.push(&mut queue.ends, packet);
        Ok(())
    }

    /// Drops a packet of the longest queue. Returns whether it was the newest of the queue `arriving`; it is
    /// then not in the events.
    fn drop_from_the_longest(&mut self, arriving: u32, events: &mut Events) -> bool {
        let longest = match self.longest {
            // Each queue has one packet: the one whose turn it is loses it.
            1 => self.turns.pop_front(),
            length => self.by_length.first(length),
        };
        let Some(longest) = longest else {
            return false;
        };
        let Some(packet) = self.take(longest, !self.headdrop) else {
            return false;
        };
        let is_emptied = self.queues[longest as usize].ends.is_empty();
        if longest == arriving && (is_emptied || !self.headdrop) {
            return true;
        }
        events.drop(packet, DropReason::FattestFlow);
        false
    }
}

impl Discipline for Sfq {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        self.catch_up(now, events);
        let Some(queue) = self.queue_for(&packet) else {
            return Err(DropReason::Overlimit);
        };
        if let Some(reason) = self.red_drops(queue, &mut packet, events) {
            return match self.headdrop {
                true => self.replace_oldest(queue, packet, reason, events),
                false => Err(reason),
            };
        }
        if self.is_full(queue) {
            return match self.headdrop {
                true => self.replace_oldest(queue, packet, DropReason::FattestFlow, events),
                false => Err(DropReason::FlowLimit),
            };
        }
        self.put(queue, packet);
        if self.packets.count + self.held.packets <= self.limit_packets {
            return Ok(());
        }
        match self.drop_from_the_longest(queue, events) {
            true => Err(DropReason::Overlimit),
            false => Ok(()),
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        self.catch_up(now, events);
        while let Some(at) = self.turns.front().copied() {
            let queue = &mut self.queues[at as usize];
            if queue.deficit_bytes <= 0 {
                queue.deficit_bytes += self.quantum_bytes;
                self.turns.rotate_left(1);
                continue;
            }
            let Some(packet) = self.take(at, false) else {
                break;
            };
            let queue = &mut self.queues[at as usize];
            if queue.ends.is_empty() {
                self.turns.pop_front();
            } else {
                queue.deficit_bytes -= self.packets.wire_bytes(&packet) as i32;
            }
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
    }

    fn backlog(&self) -> (u32, u64) {
        (self.packets.count, self.packets.backlog_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let queues = self.turns.iter().map(|at| self.queues[*at as usize].ends);
        Box::new(queues.flat_map(|queue| self.packets.of(queue)))
    }

    fn own_state(&self) -> Option<OwnState> {
        let red = self.red.as_deref()?;
        Some(OwnState::SfqRed(red.counted))
    }
}

#[cfg(test)]
mod tests;
