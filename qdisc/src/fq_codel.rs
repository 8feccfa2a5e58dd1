//! `fq_codel`: flow queueing with CoDel (RFC 8290), by Linux's arithmetic (6.1,
//! `net/sched/sch_fq_codel.c`).
//!
//! | clause | here | test |
//! | --- | --- | --- |
//! | RFC 8290 section 4.1 (Enqueue): a hash chooses one of `flows` queues | conversation and direction, keyed | `flows_are_hashed_with_a_key` |
//! | RFC 8290 section 4.1 (Enqueue): over the limit, packets are dropped from the head of the longest queue | half of its bytes, at most `drop_batch` packets; CoDel's count grows by the same number | `the_fattest_flow_pays`, `an_arrival_can_be_the_fattest_flow_itself` |
//! | RFC 8290 section 4.2 (Dequeue): queues in deficit round robin, `quantum` bytes per round | yes | `backlogged_flows_get_the_same_bytes` |
//! | RFC 8290 section 4.2 (Dequeue): new queues first; a queue that empties moves behind the old ones | yes | `a_new_flow_goes_first_and_then_waits_its_turn`, `a_new_flow_that_empties_is_an_old_one_for_once` |
//! | Linux: `memory_limit` | by the size of the kernel's buffer for a packet of this size | `memory_is_limited` |
//! | CoDel in every queue: see `codel`. The MTU exemption uses the backlog of all queues, as in Linux | yes | `a_sparse_flow_beside_two_greedy_ones_as_text` |
//! | ECN: marks instead of CoDel's drops, never instead of drops over the limit | yes | `tests/kernel_backend/test_marks_agreement.py::test_the_same_number_is_marked_at_dequeue` |
//! | Linux: below htb, and on a link with a rate, it is not polled while empty, and queues keep their turns | yes | `tests/kernel_backend/test_qdisc_agreement.py::test_the_same_packets_leave_at_the_same_instants` |
//! | fragments and whole datagrams of one conversation in different flows | no | |
//! | `ce_threshold`, for packets that `ce_threshold_selector` selects | yes | `a_selector_says_which_packets_the_threshold_marks` |
//! | other hashes by filters | no | |
//!
//! | parameter | RFC 8290 | Linux |
//! | --- | --- | --- |
//! | limit | 10240 packets (RFC 8290 section 5.2.3) | 10240 packets |
//! | flows | 1024 (RFC 8290 section 5.2.5) | 1024 |
//! | quantum | 1514 bytes (RFC 8290 section 5.2.4) | the interface's MTU and its header |
//! | target, interval | 5 ms, 100 ms (RFC 8290 sections 5.2.2 and 5.2.1) | the same |
//! | memory_limit | - | 32 MB |
//!
//! Linux hashes addresses, ports and protocol with a key drawn at boot. Here the key comes from the queue's
//! random stream, so which conversations share a queue differs between replications.

use super::codel::{Controller, Parameters, Source};
use super::flow_queues::{Classifier, Packets, QueueEnds, Turns, turn_bytes};
use super::{Above, Build, Dequeued, Discipline, DropReason, Events, Held, Setting};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::FqCodel as Config;

/// One of the queues.
#[derive(Debug, Clone, Copy)]
struct Flow {
    ends: QueueEnds,
    /// Bytes that it may still send in this round.
    deficit: i32,
    /// Whether it is in one of the two lists.
    is_listed: bool,
    controller: Controller,
}

/// The packets and backlogs of the queues.
#[derive(Debug, Clone)]
struct Storage {
    flows: Vec<Flow>,
    /// Bytes on the wire of each queue; a separate vector because the search for the longest reads all.
    backlogs: Vec<u32>,
    packets: Packets,
}

/// CoDel's view of one queue.
struct FlowSource<'a> {
    storage: &'a mut Storage,
    flow: u32,
}

impl Source for FlowSource<'_> {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        self.storage.pop(self.flow)
    }

    /// Linux passes the backlog of all queues to CoDel, not that of this one.
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.storage.packets.backlog_bytes
    }
}

/// The state of an fq_codel queue.
#[derive(Debug, Clone)]
pub struct FqCodel {
    storage: Storage,
    turns: Turns,
    classifier: Classifier,
    parameters: Parameters,
    quantum_bytes: i32,
    limit_packets: u32,
    memory_limit_bytes: u64,
    drop_batch_packets: u32,
    /// Below htb a queue keeps its place and its deficit while all are empty, because it is not polled.
    is_asked_while_empty: bool,
    held: Held,
}

impl FqCodel {
    /// Uses another classifier.
    pub fn with_classifier(mut self, classifier: Classifier) -> FqCodel {
        self.classifier = classifier;
        self
    }

    /// Drops from the head of the longest queue until half of its bytes are gone, or `drop_batch` packets
    /// (RFC 8290 section 4.1). Returns whether the newest packet of `arriving` was dropped; it is then not in
    /// the events.
    #[cold]
    fn drop_from_the_fattest(
        &mut self,
        arriving: u32,
        reason: DropReason,
        events: &mut Events,
    ) -> bool {
        let storage = &mut self.storage;
        let (mut fattest, mut longest) = (0, 0);
        for (flow, backlog) in storage.backlogs.iter().enumerate() {
            if *backlog > longest {
                (fattest, longest) = (flow as u32, *backlog);
            }
        }
        let half = longest / 2;
        let (mut dropped, mut bytes) = (0, 0);
        let mut has_refused = false;
        while let Some(packet) = storage.pop(fattest) {
            dropped += 1;
            bytes += storage.packets.wire_bytes(&packet);
            has_refused = fattest == arriving && storage.is_empty(fattest);
            if !has_refused {
                events.drop(packet, reason);
            }
            if dropped >= self.drop_batch_packets || bytes >= half {
                break;
            }
        }
        storage.flows[fattest as usize]
            .controller
            .add_drops(dropped);
        has_refused
    }
}

impl Storage {
    fn new(flows: u32, overhead_bytes: u32) -> Storage {
        let flow = Flow {
            ends: QueueEnds::EMPTY,
            deficit: 0,
            is_listed: false,
            controller: Controller::default(),
        };
        Storage {
            flows: vec![flow; flows as usize],
            backlogs: vec![0; flows as usize],
            packets: Packets::new(overhead_bytes),
        }
    }

    #[inline]
    fn push(&mut self, flow: u32, packet: Packet) {
        let queue = &mut self.flows[flow as usize];
        self.backlogs[flow as usize] += self.packets.push(&mut queue.ends, packet);
    }

    #[inline]
    fn pop(&mut self, flow: u32) -> Option<Packet> {
        let queue = &mut self.flows[flow as usize];
        let (packet, bytes) = self.packets.pop(&mut queue.ends)?;
        self.backlogs[flow as usize] -= bytes;
        Some(packet)
    }

    fn is_empty(&self, flow: u32) -> bool {
        self.flows[flow as usize].ends.is_empty()
    }
}

impl Build<Config> for FqCodel {
    fn build(config: &Config, setting: &Setting) -> FqCodel {
        let parameters = Parameters::new(
            config.target_ns,
            config.interval_ns,
            config.ce_threshold_ns,
            config.ecn,
            setting,
        )
        .with_selector(config.ce_threshold_selector);
        FqCodel {
            storage: Storage::new(config.flows, setting.overhead_bytes),
            turns: Turns::default(),
            classifier: Classifier::Keyed(setting.stream().next_u64()),
            parameters,
            quantum_bytes: turn_bytes(config.quantum_bytes, setting),
            limit_packets: config.limit_packets,
            memory_limit_bytes: u64::from(config.memory_limit_bytes),
            drop_batch_packets: config.drop_batch_packets,
            is_asked_while_empty: setting.above != Above::Shaper,
            held: Held::NOTHING,
        }
    }
}

impl Discipline for FqCodel {
    /// RFC 8290 section 4.1.
    #[inline]
    fn enqueue(&mut self, packet: Packet, _: Time, events: &mut Events) -> Result<(), DropReason> {
        let queues = self.storage.flows.len() as u32;
        let flow = self.classifier.queue_of(&packet, queues);
        self.storage.push(flow, packet);
        let queue = &mut self.storage.flows[flow as usize];
        if !queue.is_listed {
            queue.is_listed = true;
            queue.deficit = self.quantum_bytes;
            self.turns.add_new(flow);
        }
        let reason = if self.storage.packets.memory_bytes > self.memory_limit_bytes {
            DropReason::MemoryLimit
        } else if self.storage.packets.count + self.held.packets > self.limit_packets {
            DropReason::FattestFlow
        } else {
            return Ok(());
        };
        match self.drop_from_the_fattest(flow, reason, events) {
            true => Err(reason),
            false => Ok(()),
        }
    }

    /// RFC 8290 section 4.2.
    #[inline]
    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        if self.storage.packets.count == 0 && !self.is_asked_while_empty {
            return Dequeued::Empty;
        }
        while let Some((flow, is_new)) = self.turns.first() {
            let queue = &mut self.storage.flows[flow as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum_bytes;
                self.turns.end_turn(flow, is_new);
                continue;
            }
            let mut controller = queue.controller;
            let mut source = FlowSource {
                storage: &mut self.storage,
                flow,
            };
            let leaving = controller.dequeue(&mut source, &self.parameters, now, events);
            let queue = &mut self.storage.flows[flow as usize];
            queue.controller = controller;
            if let Some(packet) = leaving {
                queue.deficit -= self.storage.packets.wire_bytes(&packet) as i32;
                return Dequeued::Packet(packet);
            }
            if self.turns.on_empty(flow, is_new) {
                self.storage.flows[flow as usize].is_listed = false;
            }
        }
        Dequeued::Empty
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        (
            self.storage.packets.count,
            self.storage.packets.backlog_bytes,
        )
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let storage = &self.storage;
        let flows = storage.flows.iter();
        Box::new(flows.flat_map(|flow| storage.packets.of(flow.ends)))
    }
}

#[cfg(test)]
mod tests;
