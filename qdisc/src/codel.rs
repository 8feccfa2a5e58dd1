//! `codel`: controlled delay (RFC 8289), by Linux's arithmetic (6.1, `include/net/codel_impl.h`).
//!
//! | clause | here | test |
//! | --- | --- | --- |
//! | RFC 8289 section 5.4 (Enqueue Routine): a timestamp, from which dequeue has the sojourn time | yes | `drops_follow_the_control_law` |
//! | RFC 8289 section 5.6 (Helper Routines): `first_above_time`; above target for an interval before the first drop | yes | `drops_follow_the_control_law` |
//! | RFC 8289 section 5.6 (Helper Routines): no drop if at most one MTU is queued behind | yes, MTU and 14 bytes of header | `a_queue_of_one_mtu_is_never_dropped_from` |
//! | RFC 8289 section 5.6 (Helper Routines): `control_law`, next drop after `interval / sqrt(count)` | yes, one Newton step per update | `drops_follow_the_control_law`, `newton_steps_follow_the_root` |
//! | RFC 8289 section 5.5 (Dequeue Routine): `count` resumes if dropping ended within the last 16 intervals | yes | `dropping_resumes_where_it_was` |
//! | RFC 8289 section 3.3 (Control Loop): the first two drops are one interval apart | yes | `drops_follow_the_control_law` |
//! | RFC 8289 section 5.5 (Dequeue Routine): several drops in one dequeue | yes | `a_standing_queue_as_text`, `tests/kernel_backend/test_qdisc_agreement.py::test_the_same_packets_leave_at_the_same_instants` |
//! | RFC 8289 section 4.1 (Non-starvation): a queue of its own for each flow | `fq_codel` | `qdisc/src/fq_codel/tests.rs::a_flow_of_short_packets_cannot_starve_the_others` |
//! | RFC 8289 section 4.5 (Setting Up CoDel): defaults that need no choice | yes | `tc/src/qdisc/tests/shown.rs::options_as_text_and_json` |
//! | RFC 8289 section 4.4 (Use with Multiple Queues): each queue has its own state | `fq_codel` | `qdisc/src/fq_codel/tests.rs::a_sparse_flow_beside_two_greedy_ones_as_text` |
//! | ECN: marks instead of drops (Linux `ecn`) | yes | `capable_packets_are_marked_instead` |
//! | `ce_threshold`: marks every ECN-capable packet above a sojourn time | yes | `a_threshold_marks_every_packet_that_stayed_longer` |
//! | Linux's clock of 1024 ns in 32 bits | yes | `tests/kernel_backend/test_qdisc_agreement.py::test_the_same_packets_leave_at_the_same_instants` |
//! | `tc qdisc change` while packets wait | no | |
//!
//! | parameter | RFC 8289 | Linux |
//! | --- | --- | --- |
//! | target | 5 ms (RFC 8289 section 4.3) | 5 ms |
//! | interval | 100 ms (RFC 8289 section 4.2) | 100 ms |
//! | limit | - | 1000 packets |
//!
//! Where the RFC computes a square root, Linux makes one Newton step per drop towards `1 / sqrt(count)`, with
//! 16 fractional bits. The result is exact at 1, 1/2 instead of 0.71 at 2 (the second drop is early), and,
//! while the count grows by one, within 3 % from 3, 1.3 % from 5 and 0.4 % from 10 on.

use super::{Build, Dequeued, Discipline, DropReason, Events, Held, Setting, Statistics};
use dumbbell_core::packet::Packet;
use dumbbell_core::ring::Ring;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{Codel as Config, Selector};

/// `CODEL_SHIFT`: a tick is 1024 ns.
const TICK_SHIFT: u32 = 10;
/// The reciprocal square root of 1, in units of 2^-16.
const ONE: u16 = u16::MAX;
/// Above every possible sojourn time (`CODEL_DISABLED_THRESHOLD`).
const NO_THRESHOLD: u32 = i32::MAX as u32;
/// Largest MTU of the short-queue exemption.
const LARGEST_MTU_BYTES: u32 = 1 << 20;

/// Times of CoDel's clock: 32 bits that wrap.
type Ticks = u32;

fn ticks(time: Time) -> Ticks {
    (time.as_ns() >> TICK_SHIFT) as Ticks
}

/// Whether `a` is later than `b` on a wrapping clock.
fn is_after(a: Ticks, b: Ticks) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// CoDel's parameters, validated, in units of its clock.
#[derive(Debug, Clone, Copy)]
pub struct Parameters {
    /// RFC 8289 `TARGET`.
    target: Ticks,
    /// RFC 8289 `INTERVAL`.
    interval: Ticks,
    /// Sojourn time above which every ECN-capable packet is marked.
    ce_threshold: Ticks,
    /// Packets to which the threshold applies; None for all.
    selector: Option<Selector>,
    /// RFC 8289 `maxpacket_`: no drop with at most this number of bytes queued behind a packet.
    mtu_bytes: u32,
    ecn: bool,
}

impl Parameters {
    /// From tc's parameters; times in ns.
    pub fn new(
        target_ns: u64,
        interval_ns: u64,
        ce_threshold_ns: Option<u64>,
        ecn: bool,
        setting: &Setting,
    ) -> Parameters {
        let in_ticks = |ns: u64| (ns >> TICK_SHIFT) as Ticks;
        Parameters {
            target: in_ticks(target_ns),
            interval: in_ticks(interval_ns),
            ce_threshold: ce_threshold_ns.map_or(NO_THRESHOLD, in_ticks),
            selector: None,
            mtu_bytes: setting.device_mtu_bytes().min(LARGEST_MTU_BYTES),
            ecn,
        }
    }

    /// Applies the threshold to selected packets only.
    pub fn with_selector(self, selector: Option<Selector>) -> Parameters {
        Parameters { selector, ..self }
    }

    /// Whether a packet with this sojourn time is marked regardless of the target.
    fn is_above_threshold(&self, sojourn: Ticks, packet: &Packet) -> bool {
        let is_selected = |selector: Selector| selector.selects(packet.traffic_class);
        is_after(sojourn, self.ce_threshold) && self.selector.is_none_or(is_selected)
    }
}

/// The queue that CoDel dequeues from.
pub trait Source {
    /// The packet at the head, if any.
    fn pop(&mut self) -> Option<Packet>;
    /// Bytes on the wire behind it.
    fn backlog_bytes(&self) -> u64;
}

/// CoDel's state for one queue (RFC 8289 section 5.1).
#[derive(Debug, Clone, Copy, Default)]
pub struct Controller {
    /// Drops since dropping started, `count_`.
    count: u32,
    /// `count` when dropping started, `lastcount_`.
    last_count: u32,
    /// Time of the next drop, or of the last one, `drop_next_`.
    drop_next: Ticks,
    /// When the target will have been exceeded for an interval, `first_above_time_`; 0 if it is not exceeded.
    first_above_time: Ticks,
    /// `1 / sqrt(count)` in units of 2^-16.
    reciprocal_sqrt: u16,
    /// `dropping_`.
    is_dropping: bool,
    /// Of the last packet examined.
    sojourn: Ticks,
}

impl Controller {
    /// The packet that leaves, after dropping others (RFC 8289 section 5.6).
    #[inline]
    pub fn dequeue(
        &mut self,
        source: &mut impl Source,
        parameters: &Parameters,
        now: Time,
        events: &mut Events,
    ) -> Option<Packet> {
        let now = ticks(now);
        let Some(packet) = source.pop() else {
            self.first_above_time = 0;
            self.is_dropping = false;
            return None;
        };
        let may_drop = self.may_drop(Some(&packet), source, parameters, now);
        let (packet, is_marked) = match (self.is_dropping, may_drop) {
            (false, false) => (Some(packet), false),
            (false, true) => self.begin_dropping(packet, source, parameters, now, events),
            (true, false) => {
                self.is_dropping = false;
                (Some(packet), false)
            }
            (true, true) => self.go_on_dropping(packet, source, parameters, now, events),
        };
        let mut packet = packet?;
        if !is_marked && parameters.is_above_threshold(self.sojourn, &packet) {
            // Whether it is ECN-capable makes no difference here.
            let _ = events.mark(&mut packet, DropReason::Codel);
        }
        Some(packet)
    }

    /// Adds drops to the count: fq_codel strengthens the signal after its own drops.
    pub fn add_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Sojourn time of the last packet examined.
    pub fn sojourn(&self) -> Time {
        Time::from_ns(u64::from(self.sojourn) << TICK_SHIFT)
    }

    /// Whether the sojourn time has been above target for an interval (RFC 8289 section 5.3,
    /// `ok_to_drop`).
    fn may_drop(
        &mut self,
        packet: Option<&Packet>,
        source: &impl Source,
        parameters: &Parameters,
        now: Ticks,
    ) -> bool {
        let Some(packet) = packet else {
            self.first_above_time = 0;
            return false;
        };
        self.sojourn = now.wrapping_sub(ticks(packet.arrived));
        let is_short = source.backlog_bytes() <= u64::from(parameters.mtu_bytes);
        if is_short || is_after(parameters.target, self.sojourn) {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(parameters.interval);
            return false;
        }
        is_after(now, self.first_above_time)
    }

    /// The first drop or mark (RFC 8289 section 5.6, the branch that enters dropping state).
    #[cold]
    fn begin_dropping(
        &mut self,
        packet: Packet,
        source: &mut impl Source,
        parameters: &Parameters,
        now: Ticks,
        events: &mut Events,
    ) -> (Option<Packet>, bool) {
        let (leaving, is_marked) = match mark_or_drop(packet, parameters, events) {
            Some(marked) => (Some(marked), true),
            None => {
                let next = source.pop();
                self.may_drop(next.as_ref(), source, parameters, now);
                (next, false)
            }
        };
        self.is_dropping = true;
        // RFC 8289 section 5.5: soon after the last dropping state, resume with its drop rate.
        let drops = self.count.wrapping_sub(self.last_count);
        let since = now.wrapping_sub(self.drop_next);
        if drops > 1 && is_after(parameters.interval.wrapping_mul(16), since) {
            self.count = drops;
            self.newton_step();
        } else {
            self.count = 1;
            self.reciprocal_sqrt = ONE;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now, parameters.interval);
        (leaving, is_marked)
    }

    /// Further drops or marks that are due (RFC 8289 section 5.6, the branch in dropping state).
    #[cold]
    fn go_on_dropping(
        &mut self,
        packet: Packet,
        source: &mut impl Source,
        parameters: &Parameters,
        now: Ticks,
        events: &mut Events,
    ) -> (Option<Packet>, bool) {
        let mut packet = Some(packet);
        while self.is_dropping && !is_after(self.drop_next, now) {
            let Some(this) = packet else { break };
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if let Some(marked) = mark_or_drop(this, parameters, events) {
                self.drop_next = self.control_law(self.drop_next, parameters.interval);
                return (Some(marked), true);
            }
            packet = source.pop();
            if self.may_drop(packet.as_ref(), source, parameters, now) {
                self.drop_next = self.control_law(self.drop_next, parameters.interval);
            } else {
                self.is_dropping = false;
            }
        }
        (packet, false)
    }

    /// `t + interval / sqrt(count)` (RFC 8289 section 5.4).
    fn control_law(&self, t: Ticks, interval: Ticks) -> Ticks {
        let step = (u64::from(interval) * u64::from(self.reciprocal_sqrt)) >> 16;
        t.wrapping_add(step as Ticks)
    }

    /// One step of `x <- x (3 - count x^2) / 2` towards `1 / sqrt(count)`, with the kernel's precision: x in
    /// units of 2^-32 of which 16 bits are stored.
    fn newton_step(&mut self) {
        let x = u64::from(self.reciprocal_sqrt) << 16;
        let square = (x * x) >> 32;
        let rest = (3u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        // Two bits are dropped so that the product fits 64.
        let next = (rest >> 2).wrapping_mul(x) >> 31;
        self.reciprocal_sqrt = (next >> 16) as u16;
    }
}

/// Marks the packet, if enabled and possible, and returns it; otherwise drops it.
fn mark_or_drop(
    mut packet: Packet,
    parameters: &Parameters,
    events: &mut Events,
) -> Option<Packet> {
    if parameters.ecn && events.mark(&mut packet, DropReason::Codel) {
        return Some(packet);
    }
    events.drop(packet, DropReason::Codel);
    None
}

/// A FIFO under CoDel.
#[derive(Debug, Clone)]
pub struct Codel {
    queue: Queue,
    limit_packets: usize,
    parameters: Parameters,
    controller: Controller,
    held: Held,
}

#[derive(Debug, Clone)]
struct Queue {
    packets: Ring<Packet>,
    backlog_bytes: u64,
    overhead_bytes: u32,
}

impl Source for Queue {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
        Some(packet)
    }

    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.backlog_bytes
    }
}

impl Build<Config> for Codel {
    fn build(config: &Config, setting: &Setting) -> Codel {
        let parameters = Parameters::new(
            config.target_ns,
            config.interval_ns,
            config.ce_threshold_ns,
            config.ecn,
            setting,
        );
        Codel {
            queue: Queue {
                packets: Ring::default(),
                backlog_bytes: 0,
                overhead_bytes: setting.overhead_bytes,
            },
            limit_packets: config.limit_packets as usize,
            parameters,
            controller: Controller::default(),
            held: Held::NOTHING,
        }
    }
}

impl Discipline for Codel {
    #[inline]
    fn enqueue(&mut self, packet: Packet, _: Time, _: &mut Events) -> Result<(), DropReason> {
        let waiting_pkts = self.queue.packets.len() + self.held.packets as usize;
        if waiting_pkts >= self.limit_packets {
            return Err(DropReason::Overlimit);
        }
        self.queue.backlog_bytes += u64::from(packet.wire_bytes(self.queue.overhead_bytes));
        self.queue.packets.push_back(packet);
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let controller = &mut self.controller;
        match controller.dequeue(&mut self.queue, &self.parameters, now, events) {
            Some(packet) => Dequeued::Packet(packet),
            None => Dequeued::Empty,
        }
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
    }

    fn backlog(&self) -> (u32, u64) {
        (self.queue.packets.len() as u32, self.queue.backlog_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.queue.packets.iter())
    }

    /// The delay is the sojourn time of the last packet that left (`ldelay`).
    fn statistics(&self) -> Statistics {
        Statistics {
            delay_estimate: Some(self.controller.sojourn()),
            ..Statistics::NONE
        }
    }
}

#[cfg(test)]
mod tests;
