//! `dualpi2`: two queues with coupled PI2, one for L4S (L) and one classic (C) (RFC 9332, appendix A).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9332 section 2.3 (Traffic Classification), figure 3: ECT(1) and CE to L, all others to C; one limit for both, checked first | yes; in packets and memory, as `limit` and `memlimit` of tc |
//! | RFC 9332 section 2.5.1 (Functional Requirements): coupling of marks in L to drops in C, p_C = (p_CL / k)^2 | yes |
//! | RFC 9332 appendix A.1, figure 4: marks and drops at dequeue; L by max(p'_L, p_CL), C by p_C = p'^2 | yes |
//! | figure 4: `recur`, which spaces marks evenly instead of at random | yes; with `random_marks` a number is drawn, as in Linux |
//! | figure 5: a ramp from 800 us to 1200 us marks L | no: the step of its note c, as in Linux; 1 ms |
//! | figure 6 and 8: p' is updated every `tupdate` from the delay of the oldest packet, p_CL = k p' | yes: see `pi` |
//! | figure 7: an L queue of one packet is not marked by delay (`Th_len`) | `min_qlen_step`, evaluated at enqueue, as in Linux; 0 in both |
//! | figure 7: from p_CL = 1 on, L drops with p_C, and C drops instead of marking | yes, `drop_on_overload`; `overflow` limits p' to 1/k |
//! | appendix A.1: below 2 MTU in both queues no coupled signal and no drop | yes |
//! | RFC 9332 section 4.2.2 (Avoiding Short-Term Classic Starvation: Sacrifice L4S Throughput or Delay?): a weighted scheduler | weighted round robin by bytes, `classic_protection` |
//! | appendix A.1: the scheduler's credit changes only while both queues are backlogged; L goes first after idle | yes |
//! | signals at enqueue (`drop_enqueue`) | yes |
//! | RFC 9332 section 2.5.1.1 (Requirements in Unexpected Cases): other packets in L, by filters | no filters |
//! | appendix B: Curvy RED instead of PI2 | no |
//!
//! Due updates are applied when a packet arrives or leaves, in closed form whatever their number (`pi.rs`).

mod pi;

use super::flow_queues::memory_bytes;
use super::{Build, Dequeued, Discipline, DropReason, Events, Held, Setting, Statistics};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::ring::Ring;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Dualpi2 as Config;
use pi::Pi;

const ECN_MASK: u8 = 0b11;
const PERCENT: i64 = 100;

/// The native marking threshold of L, instead of figure 5's ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Sojourn time.
    Sojourn(Time),
    /// Queue length, including the packet itself.
    Packets(usize),
}

/// Constants of a queue.
#[derive(Debug, Clone)]
struct Parameters {
    limit_packets: usize,
    memory_limit_bytes: u64,
    /// RFC 9332 k.
    coupling_factor: f64,
    step: Step,
    min_qlen_step_packets: usize,
    drops_on_overload: bool,
    signals_at_dequeue: bool,
    is_for_ect1_alone: bool,
    splits_gso: bool,
    /// Weight of C while both queues are backlogged, per cent of the bytes.
    weight_of_classic: i64,
    /// The scheduler's credit after idle.
    first_credit: i64,
    /// With fewer bytes in both queues, only the step threshold signals.
    exempt_bytes: u64,
    overhead_bytes: u32,
}

/// A queued packet.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: Packet,
    /// Whether the queue was long enough at its arrival for the step threshold to apply.
    may_be_stepped: bool,
}

/// Chooses the packets that get a signal.
#[derive(Debug, Clone)]
enum Signals {
    /// Figure 4, `recur`: evenly spaced.
    Spaced,
    /// Each by itself, as in Linux (`dualpi2_roll`).
    Random(Stream),
}

/// One of the two queues.
#[derive(Debug, Clone, Default)]
struct Queue {
    packets: Ring<Waiting>,
    backlog_bytes: u64,
    /// Figure 4's `q.count`.
    count: f64,
}

impl Queue {
    /// Returns true for this share of the calls.
    fn signals(&mut self, likelihood: f64, signals: &mut Signals) -> bool {
        if let Signals::Random(stream) = signals {
            return stream.uniform() < likelihood;
        }
        self.count += likelihood;
        let is_due = self.count > 1.0;
        if is_due {
            self.count -= 1.0;
        }
        is_due
    }

    fn pop(&mut self, overhead_bytes: u32) -> Option<Waiting> {
        let waiting = self.packets.pop_front()?;
        self.backlog_bytes -= u64::from(waiting.packet.wire_bytes(overhead_bytes));
        Some(waiting)
    }

    fn oldest_arrived(&self) -> Option<Time> {
        self.packets.front().map(|waiting| waiting.packet.arrived)
    }
}

/// The queue: L4S or classic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    L4s,
    Classic,
}

/// The state of both queues.
#[derive(Debug, Clone)]
pub struct Dualpi2 {
    l4s: Queue,
    classic: Queue,
    parameters: Parameters,
    signals: Signals,
    pi: Pi,
    tupdate: Time,
    next_update: Time,
    /// Scheduler credit: above 0 it is C's turn, if both queues are backlogged.
    credit: i64,
    memory_bytes: u64,
    held: Held,
}

impl Dualpi2 {
    fn queue(&mut self, side: Side) -> &mut Queue {
        match side {
            Side::L4s => &mut self.l4s,
            Side::Classic => &mut self.classic,
        }
    }

    fn waiting_bytes(&self) -> u64 {
        self.l4s.backlog_bytes + self.classic.backlog_bytes + self.held.bytes
    }

    /// Figure 3: classified by the last bit of the ECN field, or by both bits.
    fn side_of(&self, packet: &Packet) -> Side {
        let ecn = packet.traffic_class & ECN_MASK;
        let is_l4s = match self.parameters.is_for_ect1_alone {
            true => ecn & 1 == 1,
            false => ecn != 0,
        };
        if is_l4s { Side::L4s } else { Side::Classic }
    }

    /// Figure 8: applies the updates due before `now`.
    fn catch_up(&mut self, now: Time) {
        if self.next_update >= now {
            return;
        }
        let first = self.next_update;
        let updates = (now - first).0.div_ceil(self.tupdate.0);
        let heads = [self.l4s.oldest_arrived(), self.classic.oldest_arrived()];
        let oldest = heads.into_iter().flatten().min();
        let delay = oldest.map(|arrived| first.saturating_sub(arrived));
        self.pi.update(updates, delay);
        self.next_update = first + Time(updates * self.tupdate.0);
    }

    /// Figure 7: marks the packet if due. Returns whether it must be dropped.
    fn signal(
        &mut self,
        side: Side,
        packet: &mut Packet,
        waiting_bytes: u64,
        events: &mut Events,
    ) -> bool {
        if waiting_bytes < self.parameters.exempt_bytes {
            return false;
        }
        let base = self.pi.probability();
        let (coupled, classic) = (self.parameters.coupling_factor * base, base * base);
        let is_overload = self.parameters.drops_on_overload && (coupled >= 1.0 || base >= 1.0);
        match side {
            Side::L4s => {
                if is_overload && self.l4s.signals(classic, &mut self.signals) {
                    return true;
                }
                // Every packet in L is ECN-capable.
                if self.l4s.signals(coupled.min(1.0), &mut self.signals) {
                    let _ = events.mark(packet, DropReason::Pi2);
                }
                false
            }
            Side::Classic => {
                self.classic.signals(classic, &mut self.signals)
                    && (is_overload || !events.mark(packet, DropReason::Pi2))
            }
        }
    }

    /// Marks a packet of L that exceeds the step threshold.
    fn mark_above_step(
        &self,
        waiting: &mut Waiting,
        queued_packets: usize,
        now: Time,
        events: &mut Events,
    ) {
        let packet = &mut waiting.packet;
        let is_above = match self.parameters.step {
            Step::Sojourn(threshold) => now.saturating_sub(packet.arrived) > threshold,
            Step::Packets(threshold) => queued_packets > threshold,
        };
        if is_above && waiting.may_be_stepped && !packet.has_congestion_mark() {
            let _ = events.mark(packet, DropReason::CeThreshold);
        }
    }

    /// The queue whose turn it is, and whether both are backlogged.
    fn turn(&self) -> Option<(Side, bool)> {
        let (l4s, classic) = (
            !self.l4s.packets.is_empty(),
            !self.classic.packets.is_empty(),
        );
        let side = match (l4s, classic) {
            (false, false) => return None,
            (true, true) if self.credit > 0 => Side::Classic,
            (true, _) => Side::L4s,
            (false, true) => Side::Classic,
        };
        Some((side, l4s && classic))
    }

    fn charge(&mut self, side: Side, bytes: u32) {
        let weight = self.parameters.weight_of_classic;
        self.credit += match side {
            Side::L4s => weight * i64::from(bytes),
            Side::Classic => (weight - PERCENT) * i64::from(bytes),
        };
    }
}

impl Build<Config> for Dualpi2 {
    fn build(config: &Config, setting: &Setting) -> Dualpi2 {
        let frame_bytes = setting.device_mtu_bytes();
        let weight_of_classic = i64::from(config.classic_protection_percent);
        let step = match (config.step_thresh_packets, config.step_thresh_ns) {
            (Some(packets), _) => Step::Packets(packets as usize),
            (None, step_ns) => Step::Sojourn(Time::from_ns(step_ns.unwrap_or(0))),
        };
        // As in Linux: negative if L has more than half, so that L goes first.
        let first_credit = (2 * weight_of_classic - PERCENT) * i64::from(frame_bytes);
        Dualpi2 {
            l4s: Queue::default(),
            classic: Queue::default(),
            parameters: Parameters {
                limit_packets: config.limit_packets as usize,
                memory_limit_bytes: config.memory_limit_bytes(frame_bytes).into(),
                coupling_factor: config.coupling_factor.into(),
                step,
                min_qlen_step_packets: config.min_qlen_step_packets as usize,
                drops_on_overload: config.drop_on_overload,
                signals_at_dequeue: config.drop_dequeue,
                is_for_ect1_alone: config.l4s_ect,
                splits_gso: config.split_gso,
                weight_of_classic,
                first_credit,
                exempt_bytes: 2 * u64::from(frame_bytes),
                overhead_bytes: setting.overhead_bytes,
            },
            signals: match setting.random_marks {
                true => Signals::Random(setting.stream()),
                false => Signals::Spaced,
            },
            pi: Pi::new(config),
            tupdate: Time::from_ns(config.tupdate_ns),
            next_update: Time::from_ns(config.tupdate_ns),
            credit: first_credit,
            memory_bytes: 0,
            held: Held::NOTHING,
        }
    }
}

impl Discipline for Dualpi2 {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        self.catch_up(now);
        let waiting_pkts = self.l4s.packets.len() + self.classic.packets.len();
        let bytes = packet.wire_bytes(self.parameters.overhead_bytes);
        let memory_bytes = self.memory_bytes + memory_bytes(bytes);
        if waiting_pkts + self.held.packets as usize >= self.parameters.limit_packets
            || memory_bytes > self.parameters.memory_limit_bytes
        {
            return Err(DropReason::Overlimit);
        }
        let side = self.side_of(&packet);
        let waiting_bytes = self.waiting_bytes();
        if !self.parameters.signals_at_dequeue
            && self.signal(side, &mut packet, waiting_bytes, events)
        {
            return Err(DropReason::Pi2AtEnqueue);
        }
        if waiting_pkts == 0 {
            self.credit = self.parameters.first_credit;
        }
        self.memory_bytes = memory_bytes;
        let least = self.parameters.min_qlen_step_packets;
        let queue = self.queue(side);
        let may_be_stepped = queue.packets.len() >= least;
        queue.backlog_bytes += u64::from(bytes);
        queue.packets.push_back(Waiting {
            packet,
            may_be_stepped,
        });
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        self.catch_up(now);
        while let Some((side, is_contended)) = self.turn() {
            let waiting_bytes = self.waiting_bytes();
            let overhead_bytes = self.parameters.overhead_bytes;
            let queue = self.queue(side);
            let queued_packets = queue.packets.len();
            let Some(mut waiting) = queue.pop(overhead_bytes) else {
                break;
            };
            let bytes = waiting.packet.wire_bytes(overhead_bytes);
            self.memory_bytes -= memory_bytes(bytes);
            if self.parameters.signals_at_dequeue
                && self.signal(side, &mut waiting.packet, waiting_bytes, events)
            {
                events.drop(waiting.packet, DropReason::Pi2);
                continue;
            }
            if is_contended {
                self.charge(side, bytes);
            }
            if side == Side::L4s {
                self.mark_above_step(&mut waiting, queued_packets, now, events);
            }
            return Dequeued::Packet(waiting.packet);
        }
        Dequeued::Empty
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
    }

    fn largest_gso_bytes(&self) -> u32 {
        match self.parameters.splits_gso {
            true => 0,
            false => u32::MAX,
        }
    }

    fn backlog(&self) -> (u32, u64) {
        let packets = self.l4s.packets.len() + self.classic.packets.len();
        let bytes = self.l4s.backlog_bytes + self.classic.backlog_bytes;
        (packets as u32, bytes)
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        Some(match self.side_of(packet) {
            Side::L4s => 0,
            Side::Classic => 1,
        })
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let both = self.l4s.packets.iter().chain(self.classic.packets.iter());
        Box::new(both.map(|waiting| &waiting.packet))
    }

    /// The base probability p', from which both probabilities follow (its square for C, times
    /// `coupling_factor` for L), and the delay at its last update.
    fn statistics(&self) -> Statistics {
        Statistics {
            drop_probability: self.pi.probability(),
            delay_estimate: Some(self.pi.delay()),
        }
    }
}

#[cfg(test)]
mod tests;
