//! COBALT: CoDel and BLUE together (Høiland-Jørgensen, Täht and Morton, Piece of CAKE, LANMAN 2018).
//!
//! CoDel decides when to signal: above the target for an interval, then at decreasing intervals. Unlike in
//! RFC 8289, its count decreases step by step, by the same law, once delays are short. BLUE, a drop
//! probability, increases while a queue overflows nevertheless, and decreases when the queue is empty: it
//! controls unresponsive senders.

use crate::{DropReason, Events};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;

/// Increase of BLUE's probability at an overflow, in units of 2^-32: 1/256.
const BLUE_UP: u32 = 1 << 24;
/// Decrease of BLUE's probability when the queue is empty: 1/4096.
const BLUE_DOWN: u32 = 1 << 20;
/// Reciprocal square roots of counts below this are tabulated.
const TABLED: usize = 16;
/// Newton steps per table entry.
const STEPS: usize = 4;
const RECIPROCAL_ROOTS: [u32; TABLED] = reciprocal_roots();

/// A Newton step towards `1 / sqrt(count)`, in units of 2^-32: `x (3 - count x^2) / 2`.
const fn newton_step(x: u32, count: u32) -> u32 {
    let square = (x as u64 * x as u64) >> 32;
    let rest = (3u64 << 32).wrapping_sub(count as u64 * square);
    (((rest >> 2).wrapping_mul(x as u64)) >> 31) as u32
}

const fn reciprocal_roots() -> [u32; TABLED] {
    let mut roots = [u32::MAX; TABLED];
    let mut count = 1;
    while count < TABLED {
        let mut x = roots[count - 1];
        let mut step = 0;
        while step < STEPS {
            x = newton_step(x, count as u32);
            step += 1;
        }
        roots[count] = x;
        count += 1;
    }
    roots
}

/// Parameters of a tin; times in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// Acceptable delay.
    pub target_ns: i64,
    /// Time in which senders respond, about a round-trip time.
    pub interval_ns: i64,
    /// Transmission time of a packet of the MTU at the tin's rate.
    pub mtu_time_ns: i64,
}

impl Parameters {
    /// From the round-trip time and the transmission time of a packet of the MTU.
    pub fn new(target_ns: i64, rtt_ns: i64, mtu_time_ns: i64) -> Parameters {
        let least_ns = mtu_time_ns * 3 / 2;
        let raised_ns = least_ns.max(target_ns);
        Parameters {
            target_ns: raised_ns,
            interval_ns: (rtt_ns + raised_ns - target_ns).max(2 * raised_ns),
            mtu_time_ns,
        }
    }
}

/// The turn of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    pub now_ns: i64,
    /// Number of packets of the MTU whose transmission time is tolerated as delay; at least four.
    pub excused_pkts: i64,
    /// Whether it is the last packet of the queue, which the caller does not drop.
    pub is_last: bool,
}

/// COBALT's state for a queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cobalt {
    count: u32,
    reciprocal_root: u32,
    /// Time of the next signal, or the idle state.
    drop_next_ns: i64,
    blue_changed_ns: i64,
    /// BLUE's probability, in units of 2^-32.
    blue: u32,
    is_dropping: bool,
}

impl Cobalt {
    /// A packet of the queue was dropped because memory was full.
    pub fn on_overflow(&mut self, parameters: &Parameters, now_ns: i64) {
        if now_ns - self.blue_changed_ns > parameters.target_ns {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_changed_ns = now_ns;
        }
        self.is_dropping = true;
        self.drop_next_ns = now_ns;
        self.count = self.count.max(1);
    }

    /// The queue had its turn and was empty.
    pub fn on_empty(&mut self, parameters: &Parameters, now_ns: i64) {
        if self.blue > 0 && now_ns - self.blue_changed_ns > parameters.target_ns {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_changed_ns = now_ns;
        }
        self.is_dropping = false;
        if self.count > 0 && now_ns >= self.drop_next_ns {
            self.count_is(self.count - 1, parameters);
        }
    }

    /// Whether BLUE drops packets of a flow that does not respond.
    pub fn has_blue(&self) -> bool {
        self.blue > 0
    }

    /// Whether the state has decayed completely.
    pub fn is_at_rest(&self, now_ns: i64) -> bool {
        self.blue == 0 && self.count == 0 && now_ns >= self.drop_next_ns
    }

    /// Decides about the packet at the head: mark, drop for a reason, or neither.
    #[inline]
    pub fn judge(
        &mut self,
        packet: &mut Packet,
        parameters: &Parameters,
        turn: Turn,
        random: &mut Stream,
        events: &mut Events,
    ) -> Option<DropReason> {
        let Turn {
            now_ns,
            excused_pkts,
            is_last,
        } = turn;
        let sojourn_ns = now_ns - packet.arrived.as_ns() as i64;
        let excused_ns = parameters.mtu_time_ns * excused_pkts.max(4);
        let is_late = sojourn_ns > parameters.target_ns && sojourn_ns > excused_ns;
        let due_ns = self.drop_next_ns;
        let is_due = self.count > 0 && now_ns >= due_ns;
        self.enter_or_leave(is_late, parameters, now_ns);
        // BLUE does not mark: senders that ignore drops ignore marks too.
        let is_unlucky = self.blue > 0 && ((random.next_u64() >> 32) as u32) < self.blue;
        let mut verdict = is_unlucky.then_some(DropReason::Blue);
        match (is_due, self.is_dropping) {
            (true, true) => {
                let is_dropped = is_unlucky && !is_last;
                if is_dropped || !events.mark(packet, DropReason::Codel) {
                    verdict = verdict.or(Some(DropReason::Codel));
                }
                self.count_is(self.count.saturating_add(1), parameters);
            }
            (true, false) => self.step_back(parameters, now_ns),
            (false, _) => {}
        }
        // After a pause, signals of the past must not become due at once.
        let next_ns = if is_due { self.drop_next_ns } else { due_ns };
        if self.count == 0 {
            self.drop_next_ns = now_ns + parameters.interval_ns;
        } else if now_ns > next_ns && verdict.is_none() {
            self.drop_next_ns = now_ns;
        }
        verdict
    }

    /// Dropping starts with a late packet and ends with one that is not late.
    fn enter_or_leave(&mut self, is_late: bool, parameters: &Parameters, now_ns: i64) {
        if is_late && !self.is_dropping {
            self.drop_next_ns = now_ns + self.step_ns(parameters);
        }
        if is_late {
            self.count = self.count.max(1);
        }
        self.is_dropping = is_late;
    }

    /// Decreases the count, by the law by which it increased.
    fn step_back(&mut self, parameters: &Parameters, now_ns: i64) {
        while self.count > 0 && now_ns >= self.drop_next_ns {
            self.count_is(self.count - 1, parameters);
        }
    }

    /// Sets the count and the time of the next signal or decrease.
    fn count_is(&mut self, count: u32, parameters: &Parameters) {
        self.count = count;
        self.reciprocal_root = match RECIPROCAL_ROOTS.get(count as usize) {
            Some(root) => *root,
            None => newton_step(self.reciprocal_root, count),
        };
        self.drop_next_ns += self.step_ns(parameters);
    }

    /// `interval / sqrt(count)`; the kernel stores the interval in 32 bits.
    fn step_ns(&self, parameters: &Parameters) -> i64 {
        let interval_ns = u64::from(parameters.interval_ns as u32);
        ((interval_ns * u64::from(self.reciprocal_root)) >> 32) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_reciprocal_square_roots() {
        for (count, root) in RECIPROCAL_ROOTS.iter().enumerate().skip(1) {
            let share = f64::from(*root) / 2f64.powi(32);
            let exact = 1.0 / (count as f64).sqrt();
            assert!((share - exact).abs() < 2e-3 * exact, "{count}: {share}");
        }
    }
}
