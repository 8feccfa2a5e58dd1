//! `sfb`: Stochastic Fair Blue (W. Feng, D. Kandlur, D. Saha and K. Shin, "BLUE: A New Class of Active Queue
//! Management Algorithms", University of Michigan CSE-TR-387-99, 1999, section 4, and "Stochastic Fair Blue: A
//! Queue Management Algorithm for Enforcing Fairness", IEEE INFOCOM 2001; tc-sfb(8)), as Linux 6.1 has it
//! (`net/sched/sch_sfb.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | paper: L levels of N bins; a hash for each level maps a flow to one bin of it | yes, L = 8 and N = 16 as in Linux |
//! | paper: a bin whose queue exceeds its size raises its probability by d1, an empty one lowers it by d2, at each arrival | yes: `target`, `increment`, `decrement` |
//! | paper: a packet is marked with the least probability of its bins | yes; without ECN dropped |
//! | paper: a flow whose bins all have probability 1 does not respond, and its rate is limited | yes: `penalty_rate`, `penalty_burst`, one bucket for all such flows |
//! | paper: the hash moves from time to time, and a second set of bins warms up before it does | yes: `rehash`, `db` |
//! | paper: each packet warms the second set up | only those with probability 1, as in Linux |
//! | BLUE: a least time between changes of a probability (`freeze_time`) | no, nor in Linux |
//! | Linux: a packet is dropped if each of its bins has `max` packets | yes |
//! | Linux: above probability 1/2 a part is dropped even with ECN: `2 p - 1` of all packets | yes |
//! | Linux: probabilities are multiples of 1/65535; a bin counts to 65535 packets | yes |
//! | Linux: times and tokens in whole ticks; tokens are computed when none is left, of at most ten seconds | yes |
//! | Linux: bins keep their probabilities when their key changes, and a packet leaves the bins that it entered | yes |
//! | an inner discipline that drops packets that it holds, or sends them in another order | no |
//! | filters that choose the flow | no |
//!
//! Linux hashes addresses, ports and protocol with a key drawn at boot. Here the keys come from the queue's
//! random stream, so which conversations share bins differs between replications.

mod bins;

use super::{Build, Child, Config, Dequeued, Discipline, DropReason, Events, Setting, Statistics};
use bins::{Bins, Blue, Hash, MOST_STEPS};
use dumbbell_core::own_samples::{OwnState, SfbState};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::ring::Ring;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{Pfifo, Sfb as Parameters};

/// Tokens are computed of at most this time.
const LONGEST_AGE_S: u64 = 10;
const NS_PER_S: u64 = 1_000_000_000;

/// The state of a queue.
#[derive(Debug, Clone)]
pub struct Sfb {
    child: Child,
    /// The hashes of the packets in the child, oldest first.
    hashes: Ring<[Hash; 2]>,
    sets: [Bins; 2],
    /// Which set decides.
    active: usize,
    is_warming: bool,
    blue: Blue,
    limit_packets: usize,
    max_packets: u32,
    rehash: Rehash,
    penalty: Penalty,
    tick_ns: u64,
    counted: SfbState,
    stream: Stream,
}

/// When the key changes, in ticks.
#[derive(Debug, Clone, Copy)]
struct Rehash {
    /// 0 for never.
    period: i64,
    /// 0 for none.
    warm_up: i64,
    last: i64,
}

/// The bucket of packets with probability 1.
#[derive(Debug, Clone, Copy)]
struct Penalty {
    rate_pps: u32,
    burst_packets: u32,
    tokens: u32,
    /// The tick at which tokens were computed last.
    computed: u64,
    ticks_per_s: u64,
}

impl Penalty {
    /// Whether a packet that arrives at this tick finds no token.
    fn refuses(&mut self, tick: u64) -> bool {
        if self.rate_pps == 0 || self.burst_packets == 0 {
            return true;
        }
        if self.tokens == 0 {
            let age = (tick - self.computed).min(LONGEST_AGE_S * self.ticks_per_s);
            // In 32 bits, as there.
            let tokens = (age * u64::from(self.rate_pps) / self.ticks_per_s) as u32;
            self.tokens = tokens.min(self.burst_packets);
            self.computed = tick;
            if self.tokens == 0 {
                return true;
            }
        }
        self.tokens -= 1;
        false
    }
}

impl Build<Parameters> for Sfb {
    fn build(parameters: &Parameters, setting: &Setting) -> Sfb {
        let fifo = Config::Pfifo(Pfifo {
            limit_packets: parameters.limit_packets,
        });
        let inside = parameters.child.as_deref().unwrap_or(&fifo);
        let ticks_per_s = u64::from(setting.timer_hz);
        let tick_ns = NS_PER_S / ticks_per_s;
        let ticks = |ms: u32| {
            let ns = setting.whole_ticks_ns(u64::from(ms) * 1_000_000);
            (ns / tick_ns) as i64
        };
        let mut stream = setting.stream();
        Sfb {
            child: Child::new(inside, &setting.child("1")),
            hashes: Ring::default(),
            sets: [0; 2].map(|_| Bins::new(stream.next_u64())),
            active: 0,
            is_warming: false,
            blue: Blue {
                target_packets: parameters.target_packets,
                increment_steps: parameters.increment_steps(),
                decrement_steps: parameters.decrement_steps(),
            },
            limit_packets: parameters.limit_packets as usize,
            max_packets: parameters.max_packets,
            rehash: Rehash {
                period: ticks(parameters.rehash_ms),
                warm_up: ticks(parameters.db_ms),
                last: 0,
            },
            penalty: Penalty {
                rate_pps: parameters.penalty_rate_pps,
                burst_packets: parameters.penalty_burst_packets,
                tokens: parameters.penalty_burst_packets,
                computed: 0,
                ticks_per_s,
            },
            tick_ns,
            counted: SfbState::default(),
            stream,
        }
    }
}

impl Sfb {
    /// Changes the key if it is time, or begins to warm the other set up.
    #[inline]
    fn catch_up(&mut self, tick: u64) {
        let Rehash {
            period,
            warm_up,
            last,
        } = self.rehash;
        if period == 0 {
            return;
        }
        let (tick, due) = (tick as i64, last + period);
        if tick > due {
            self.sets[self.active].key = self.stream.next_u64();
            self.active ^= 1;
            self.is_warming = false;
            self.rehash.last = tick;
        } else if warm_up > 0 && tick > due - warm_up {
            self.is_warming = true;
        }
    }

    /// Decides about a packet, and counts and marks it. Returns its hashes if it is to be enqueued.
    #[inline]
    fn admit(
        &mut self,
        packet: &mut Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<[Hash; 2], DropReason> {
        if self.hashes.len() >= self.limit_packets {
            self.counted.limit_dropped_pkts += 1;
            return Err(DropReason::Overlimit);
        }
        let tick = now.as_ns() / self.tick_ns;
        self.catch_up(tick);
        let (active, other) = (self.active, self.active ^ 1);
        let mut hashes = [Hash::NONE; 2];
        hashes[active] = self.sets[active].hash_of(packet);
        let least = self.sets[active].on_arrival(hashes[active], &self.blue);
        if least.packets >= self.max_packets {
            self.counted.bin_dropped_pkts += 1;
            return Err(DropReason::SfbBinFull);
        }
        if least.steps >= MOST_STEPS {
            if self.is_warming {
                hashes[other] = self.sets[other].hash_of(packet);
                self.sets[other].on_arrival(hashes[other], &self.blue);
            }
            if self.penalty.refuses(tick) {
                self.counted.penalty_dropped_pkts += 1;
                return Err(DropReason::SfbPenalty);
            }
            return Ok(hashes);
        }
        let drawn = (self.stream.next_u64() >> 48) as u32;
        if drawn < least.steps {
            let above_half = least.steps.saturating_sub(MOST_STEPS / 2);
            if drawn < 2 * above_half || !events.mark(packet, DropReason::SfbEarly) {
                self.counted.early_dropped_pkts += 1;
                return Err(DropReason::SfbEarly);
            }
            self.counted.marked_pkts += 1;
        }
        Ok(hashes)
    }
}

impl Discipline for Sfb {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let hashes = self.admit(&mut packet, now, events)?;
        if let Err(reason) = self.child.enqueue(packet, now, events) {
            self.counted.child_dropped_pkts += 1;
            return Err(reason);
        }
        for (set, hash) in self.sets.iter_mut().zip(hashes) {
            set.add(hash);
        }
        self.hashes.push_back(hashes);
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let next = self.child.dequeue(now, events);
        if let (Dequeued::Packet(_), Some(hashes)) = (next, self.hashes.pop_front()) {
            for (set, hash) in self.sets.iter_mut().zip(hashes) {
                set.remove(hash);
            }
        }
        next
    }

    fn peek(&mut self, now: Time, events: &mut Events) -> Option<Dequeued> {
        Some(self.child.peek(now, events))
    }

    fn backlog(&self) -> (u32, u64) {
        self.child.backlog()
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.child.packets())
    }

    fn statistics(&self) -> Statistics {
        self.child.statistics()
    }

    fn own_state(&self) -> Option<OwnState> {
        let state = self.sets[self.active].describe(self.counted);
        Some(OwnState::Sfb(state))
    }
}

#[cfg(test)]
mod tests;
