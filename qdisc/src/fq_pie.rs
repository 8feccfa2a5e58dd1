//! `fq_pie`: flow queueing with PIE (tc-fq_pie(8); the scheduler of RFC 8290, the controller of RFC 8033), as
//! in Linux 6.1 (`net/sched/sch_fq_pie.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 8290 section 4.1 (Enqueue): a hash chooses one of `flows` queues | conversation and direction, keyed |
//! | RFC 8290 section 4.2 (Dequeue): queues in deficit round robin, `quantum` bytes per round | yes |
//! | RFC 8290 section 4.2 (Dequeue): new queues first; a queue that empties moves behind the old ones | yes |
//! | PIE in every queue, by its own backlog and delay: see `pie` | yes |
//! | RFC 8033 section 5.1 (ECN Support): marks up to a probability, with `ecn` | yes, `ecn_prob` |
//! | at `limit` the arriving packet is dropped, of any flow | yes |
//! | Linux: `memory_limit` is counted and causes no drops | yes |
//! | Linux: below htb, and on a link with a rate, it is not polled while empty, and queues keep their turns | yes |
//! | Linux: with more than 2048 queues each timer tick updates 2048 | no: all at once |
//! | filters that choose the queue | no |
//!
//! Linux hashes addresses, ports and protocol with a key drawn at boot. Here the key comes from the queue's
//! random stream, so which conversations share a queue differs between replications.

use super::flow_queues::{Classifier, Packets, QueueEnds, Turns, turn_bytes};
use super::pie::{Controller, Variables};
use super::{Above, Build, Dequeued, Discipline, DropReason, Events, Held, Setting};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{FqPie as Config, Pie};

/// One of the queues.
#[derive(Debug, Clone)]
struct Flow {
    waiting: QueueEnds,
    backlog_bytes: u64,
    /// Bytes that it may still send in this round.
    deficit_bytes: i32,
    /// Whether it is in one of the two rotations.
    is_listed: bool,
    variables: Variables,
    next_update: Time,
}

/// The state of an fq_pie queue.
#[derive(Debug, Clone)]
pub struct FqPie {
    packets: Packets,
    flows: Vec<Flow>,
    turns: Turns,
    classifier: Classifier,
    /// Works on one queue at a time.
    controller: Controller,
    quantum_bytes: i32,
    limit_packets: u32,
    ecn: bool,
    ecn_prob_percent: u64,
    is_asked_while_empty: bool,
    held: Held,
}

impl Build<Config> for FqPie {
    fn build(config: &Config, setting: &Setting) -> FqPie {
        let pie = Pie {
            limit_packets: config.limit_packets,
            target_ns: config.target_ns,
            tupdate_ns: config.tupdate_ns,
            alpha: config.alpha,
            beta: config.beta,
            ecn: config.ecn,
            bytemode: config.bytemode,
            dq_rate_estimator: config.dq_rate_estimator,
            linux_3_14: false,
        };
        let mut controller = Controller::new(&pie, setting);
        let flow = Flow {
            waiting: QueueEnds::EMPTY,
            backlog_bytes: 0,
            deficit_bytes: 0,
            is_listed: false,
            variables: controller.variables.clone(),
            next_update: controller.next_update,
        };
        FqPie {
            packets: Packets::new(setting.overhead_bytes),
            flows: vec![flow; config.flows as usize],
            turns: Turns::default(),
            classifier: Classifier::Keyed(controller.draw()),
            controller,
            quantum_bytes: turn_bytes(config.quantum_bytes, setting),
            limit_packets: config.limit_packets,
            ecn: config.ecn,
            ecn_prob_percent: config.ecn_prob_percent.into(),
            is_asked_while_empty: setting.above != Above::Shaper,
            held: Held::NOTHING,
        }
    }
}

impl FqPie {
    /// Uses another classifier.
    #[cfg(test)]
    fn with_classifier(mut self, classifier: Classifier) -> FqPie {
        self.classifier = classifier;
        self
    }

    /// Runs the controller on a queue, after applying its due updates.
    #[inline]
    fn control<Answer>(
        &mut self,
        flow: u32,
        now: Time,
        events: &mut Events,
        work: impl FnOnce(&mut Controller, &mut Events) -> Answer,
    ) -> Answer {
        let flow = &mut self.flows[flow as usize];
        let controller = &mut self.controller;
        std::mem::swap(&mut controller.variables, &mut flow.variables);
        controller.next_update = flow.next_update;
        controller.backlog_bytes = flow.backlog_bytes;
        controller.catch_up(now, events);
        let answer = work(controller, events);
        flow.next_update = controller.next_update;
        std::mem::swap(&mut controller.variables, &mut flow.variables);
        answer
    }
}

impl Discipline for FqPie {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let at = self.classifier.queue_of(&packet, self.flows.len() as u32);
        let is_full = self.packets.count + self.held.packets >= self.limit_packets;
        let (ecn, percent) = (self.ecn, self.ecn_prob_percent);
        self.control(at, now, events, |controller, events| {
            let reason = if is_full {
                DropReason::Overlimit
            } else if !controller.is_early_drop(&packet)
                || ecn
                    && controller.is_at_most_percent(percent)
                    && events.mark(&mut packet, DropReason::Pie)
            {
                return Ok(());
            } else {
                DropReason::Pie
            };
            controller.on_drop();
            Err(reason)
        })?;
        let flow = &mut self.flows[at as usize];
        flow.backlog_bytes += u64::from(self.packets.push(&mut flow.waiting, packet));
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit_bytes = self.quantum_bytes;
            self.turns.add_new(at);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        if self.packets.count == 0 && !self.is_asked_while_empty {
            return Dequeued::Empty;
        }
        while let Some((at, is_new)) = self.turns.first() {
            let flow = &mut self.flows[at as usize];
            if flow.deficit_bytes <= 0 {
                flow.deficit_bytes += self.quantum_bytes;
                self.turns.end_turn(at, is_new);
                continue;
            }
            if flow.waiting.is_empty() {
                flow.is_listed = !self.turns.on_empty(at, is_new);
                continue;
            }
            let Some((packet, bytes)) = self.packets.pop(&mut flow.waiting) else {
                continue;
            };
            flow.deficit_bytes -= bytes as i32;
            let backlog_bytes = flow.backlog_bytes - u64::from(bytes);
            self.control(at, now, events, |controller, _| {
                controller.backlog_bytes = backlog_bytes;
                controller.on_departure(&packet, now);
            });
            self.flows[at as usize].backlog_bytes = backlog_bytes;
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
        let queues = self.flows.iter().map(|flow| flow.waiting);
        Box::new(queues.flat_map(|queue| self.packets.of(queue)))
    }
}

#[cfg(test)]
mod tests;
