//! `choke`: choose and keep for responsive flows, choose and kill for unresponsive ones (R. Pan, B. Prabhakar
//! and K. Psounis, "CHOKe, A Stateless Active Queue Management Scheme for Approximating Fair Bandwidth
//! Allocation", IEEE INFOCOM 2000), by Linux's arithmetic (6.1, `net/sched/sch_choke.c`, `include/net/red.h`).
//!
//! | clause | here |
//! | --- | --- |
//! | paper: average of the backlog at each arrival, as in RED | yes, in packets |
//! | paper: up to the lower threshold every packet is enqueued | yes |
//! | paper: above it, the arrival is compared with a random queued packet; if both are of the same flow, both are dropped | yes |
//! | paper: otherwise every packet is dropped above the upper threshold, and by RED's probability between the thresholds | yes |
//! | paper: several packets compared, dropped ones replaced | no, nor in Linux |
//! | Linux: removing a packet from the middle leaves a hole; if a hole is drawn, the draw is repeated, three times in all, then the head is used | yes |
//! | ECN: marks instead of RED's drops, never instead of the drops of a match | yes, with `ecn` |
//! | average decays while the queue is idle | only if the discipline is polled while it is empty, as with `red` |
//! | filters that define flows | no |

use super::red::{Average, Verdict};
use super::{Above, Build, Dequeued, Discipline, DropReason, Events, Setting, Statistics};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Choke as Config;
use std::collections::VecDeque;

/// Largest number of draws until a packet is found.
const DRAWS: usize = 3;

/// The state of a CHOKe queue.
#[derive(Debug, Clone)]
pub struct Choke {
    /// The first entry is never a hole.
    packets: VecDeque<Option<Packet>>,
    count: u32,
    backlog_bytes: u64,
    average: Average,
    limit_packets: u32,
    ecn: bool,
    overhead_bytes: u32,
    is_asked_while_empty: bool,
    stream: Stream,
}

impl Build<Config> for Choke {
    fn build(config: &Config, setting: &Setting) -> Choke {
        Choke {
            packets: VecDeque::new(),
            count: 0,
            backlog_bytes: 0,
            average: Average::of_packets(config),
            limit_packets: config.limit_packets,
            ecn: config.ecn,
            overhead_bytes: setting.overhead_bytes,
            is_asked_while_empty: setting.above != Above::Shaper,
            stream: setting.stream(),
        }
    }
}

impl Choke {
    /// A random place with a packet; None if the queue is empty.
    fn draw(&mut self) -> Option<usize> {
        let places = self.packets.len() as u64;
        if places == 0 {
            return None;
        }
        for _ in 0..DRAWS {
            let place = ((self.stream.next_u64() >> 32) * places) >> 32;
            if self.packets[place as usize].is_some() {
                return Some(place as usize);
            }
        }
        Some(0)
    }

    /// Removes the packet at a place, and leading holes.
    fn take(&mut self, place: usize) -> Option<Packet> {
        let packet = self.packets.get_mut(place)?.take()?;
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
        }
        self.count -= 1;
        self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
        Some(packet)
    }

    /// Drops a random queued packet if it is of the same flow as the arriving one.
    fn drops_its_like(&mut self, arriving: &Packet, events: &mut Events) -> bool {
        let Some(place) = self.draw() else {
            return false;
        };
        let is_alike = self.packets[place].is_some_and(|waiting| {
            waiting.conversation == arriving.conversation
                && waiting.is_reply() == arriving.is_reply()
        });
        if let Some(packet) = is_alike.then(|| self.take(place)).flatten() {
            events.drop(packet, DropReason::ChokeChosen);
        }
        is_alike
    }
}

impl Discipline for Choke {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        self.average.update(self.count.into(), now);
        if self.average.is_above_min() {
            if self.drops_its_like(&packet, events) {
                return Err(DropReason::ChokeMatch);
            }
            let reason = match self.average.judge_above_min(&mut self.stream) {
                Verdict::Pass => None,
                Verdict::Early => Some(DropReason::RedEarly),
                Verdict::Forced => Some(DropReason::RedForced),
            };
            if let Some(reason) = reason
                && !(self.ecn && events.mark(&mut packet, reason))
            {
                return Err(reason);
            }
        }
        if self.count >= self.limit_packets {
            return Err(DropReason::Overlimit);
        }
        self.backlog_bytes += u64::from(packet.wire_bytes(self.overhead_bytes));
        self.count += 1;
        self.packets.push_back(Some(packet));
        Ok(())
    }

    fn dequeue(&mut self, now: Time, _: &mut Events) -> Dequeued {
        match self.take(0) {
            Some(packet) => Dequeued::Packet(packet),
            None => {
                if self.is_asked_while_empty {
                    self.average.become_idle(now);
                }
                Dequeued::Empty
            }
        }
    }

    fn peek(&mut self, _: Time, _: &mut Events) -> Option<Dequeued> {
        let oldest = self.packets.front().copied().flatten();
        Some(oldest.map_or(Dequeued::Empty, Dequeued::Packet))
    }

    fn backlog(&self) -> (u32, u64) {
        (self.count, self.backlog_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.packets.iter().flatten())
    }

    /// As `red`.
    fn statistics(&self) -> Statistics {
        Statistics {
            drop_probability: self.average.drop_probability(),
            ..Statistics::NONE
        }
    }
}

#[cfg(test)]
mod tests;
