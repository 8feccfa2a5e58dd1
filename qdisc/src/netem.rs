//! `netem`: delay, loss, damage, duplication, reordering, slots and a rate, as in Linux 6.1
//! (tc-netem(8), `net/sched/sch_netem.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `delay`: each packet is sent this long after its arrival | yes |
//! | jitter, correlation, distribution (`tabledist`, `get_crandom`) | yes: `netem/chance.rs`, `netem/distribution.rs` |
//! | packets wait in order of their time to send (`tfifo_enqueue`) | yes: `netem/time_order.rs` |
//! | `loss` random, state, gemodel (`loss_event`); `ecn` | yes: `netem/loss.rs` |
//! | `duplicate`: the copy is enqueued at the root again and is not copied a second time | yes; for a child, see below |
//! | `reorder`, `gap`: the packet goes to the head of the queue without delay | yes |
//! | `rate`: packets are sent one after the other; the delay also runs while a packet waits | yes |
//! | packet overhead, cell size and cell overhead (`packet_time_ns`) | yes |
//! | `limit` counts all packets held, including the one in transmission | yes |
//! | a child discipline: a packet enters the child when its delay has expired, and still counts toward `limit` | yes |
//! | reordered packets bypass the child, because they do not wait | yes |
//! | `corrupt`: a bit of a packet is flipped; who receives it throws it away | yes, see below: `netem/corruption.rs` |
//! | `slot`: packets whose time has come wait for the next slot, each of a number of packets or bytes | yes: `netem/slots.rs` |
//!
//! With a rate, the transmission of a packet starts when the time to send of the previous packet is reached
//! and its own delay has expired. With delay 0 this is the single-server queue of queueing theory, with the
//! packet in service counted against the limit. Times are whole nanoseconds per packet, as in the kernel.
//!
//! Of a damaged packet the kernel flips one bit of the part that lies in one piece in its memory: all
//! of a datagram, of TCP the headers, the 14 bytes of Ethernet's among them. A bit of the sender's
//! Ethernet address harms nothing. All others are found by checksums or by who the packet is for: it
//! takes its time in the queue and on the link, and is lost behind it. In the kernel one that is damaged
//! behind its IP header goes on through routers and is thrown away where it is received.
//!
//! As a child of another discipline, the kernel enqueues a copy at the root before the original is in the
//! queue; here the copy follows the original. The order matters only when one place is left.

mod chance;
mod corruption;
mod distribution;
mod loss;
mod slots;
#[cfg(test)]
mod tests;
mod time_order;

use super::bands::sooner;
use super::passing_time::LEAST_TCP_PACKET_BYTES;
use super::{Build, Child, Dequeued, Discipline, DropReason, Events, Held, Setting};
use chance::{Chance, Correlated};
use corruption::Corruption;
use distribution::Jitter;
use dumbbell_core::own_samples::OwnState;
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Netem as Config;
use loss::Loss;
use slots::Slots;
use std::collections::VecDeque;
use time_order::TimeOrder;

/// Nanoseconds in a second.
const NS_PER_S: u64 = 1_000_000_000;

/// The state of a netem queue.
#[derive(Debug, Clone)]
pub struct Netem {
    /// Reordered packets, with their arrival times. They leave before all others, the last one first.
    at_head: VecDeque<(Time, Packet)>,
    /// All other packets, in order of their time to send.
    waiting: TimeOrder,
    backlog_bytes: u64,
    limit: usize,
    delay: Time,
    jitter: Jitter,
    loss: Loss,
    /// Marks ECN-capable packets instead of losing them.
    ecn: bool,
    duplicate: Chance,
    /// None where no packet is damaged.
    corruption: Option<Corruption>,
    reorder: Chance,
    /// Packets delayed since the last reordered packet (`counter`).
    delayed_pkts: u32,
    /// 0 for no reordering.
    gap_pkts: u32,
    rate: TransmissionTime,
    /// None where packets leave as soon as their time has come.
    slots: Option<Slots>,
    /// Whether there is a delay, jitter or a rate (`skb_orphan_partial` depends on it).
    takes_time: bool,
    overhead_bytes: u32,
    is_root: bool,
    held: Held,
    /// Receives packets whose delay has expired.
    child: Option<Child>,
    stream: Stream,
}

/// How long a packet takes at the rate (`packet_time_ns`).
#[derive(Debug, Clone, Copy)]
struct TransmissionTime {
    /// 0 for no rate. Linux keeps bytes per second.
    bytes_per_second: u64,
    packet_overhead_bytes: i64,
    /// 0 for no cells.
    cell_size_bytes: u64,
    /// A cell including its overhead.
    sent_cell_bytes: u64,
}

impl TransmissionTime {
    fn new(parameters: &Config) -> TransmissionTime {
        let cell_bytes =
            i64::from(parameters.cell_size_bytes) + i64::from(parameters.cell_overhead_bytes);
        TransmissionTime {
            bytes_per_second: parameters.rate_bps / 8,
            packet_overhead_bytes: i64::from(parameters.packet_overhead_bytes),
            cell_size_bytes: u64::from(parameters.cell_size_bytes),
            sent_cell_bytes: cell_bytes.max(0) as u64,
        }
    }

    fn exists(&self) -> bool {
        self.bytes_per_second > 0
    }

    /// Zero without a rate.
    #[inline]
    fn of(&self, wire_bytes: u32) -> Time {
        if !self.exists() {
            return Time::ZERO;
        }
        let mut bytes = (i64::from(wire_bytes) + self.packet_overhead_bytes).max(0) as u64;
        if self.cell_size_bytes > 0 {
            bytes = bytes.div_ceil(self.cell_size_bytes) * self.sent_cell_bytes;
        }
        Time::from_ns(bytes * NS_PER_S / self.bytes_per_second)
    }
}

/// Largest share of packets at one instant that may pass without waiting. Each arrival lets TCP send two
/// packets in slow start, so with a third or less the packets of one instant die out.
const LARGEST_SHARE_AT_ONCE: f64 = 1.0 / 3.0;
/// With a stronger correlation, such packets come in runs.
const LARGEST_CORRELATION_PPB: u32 = 500_000_000;

/// Whether TCP packets are held back: all of them, or enough that every instant ends.
pub(super) fn holds_back(parameters: &Config) -> bool {
    let share = |ppb: u32| f64::from(ppb) * 1e-9;
    let (mut at_once, mut correlation_ppb) = (0.0, 0);
    if parameters.gap_packets > 0 {
        at_once = share(parameters.reorder_ppb);
        correlation_ppb = parameters.reorder_correlation_ppb;
    }
    let sent = TransmissionTime::new(parameters).of(LEAST_TCP_PACKET_BYTES);
    let waits_ns = parameters.delay_ns.saturating_add(sent.as_ns());
    let early = distribution::share_below(
        parameters.jitter_ns,
        parameters.distribution,
        1 - i64::try_from(waits_ns).unwrap_or(i64::MAX),
    );
    // A packet whose time has come waits for its slot, which may open in the same instant.
    let early =
        { parameters.slot.as_ref() }.map_or(early, |slot| early.min(slots::share_at_once(slot)));
    if early > 0.0 {
        correlation_ppb = correlation_ppb.max(parameters.delay_correlation_ppb);
    }
    at_once + early <= LARGEST_SHARE_AT_ONCE
        && (at_once + early == 0.0 || correlation_ppb <= LARGEST_CORRELATION_PPB)
}

impl Build<Config> for Netem {
    fn build(parameters: &Config, setting: &Setting) -> Netem {
        let mut stream = setting.stream();
        // The kernel also starts each correlated sequence at random (`init_crandom`).
        let delay_correlation = Correlated::new(parameters.delay_correlation_ppb, &mut stream);
        let loss = Loss::new(parameters.loss.as_ref(), &mut stream);
        let (duplicate_ppb, reorder_ppb) = (parameters.duplicate_ppb, parameters.reorder_ppb);
        let mut chance = |ppb, correlation_ppb| Chance::new(ppb, correlation_ppb, &mut stream);
        let mut netem = Netem {
            at_head: VecDeque::new(),
            waiting: TimeOrder::default(),
            backlog_bytes: 0,
            limit: parameters.limit_packets as usize,
            delay: Time::from_ns(parameters.delay_ns),
            jitter: Jitter::new(
                parameters.jitter_ns,
                parameters.distribution,
                delay_correlation,
            ),
            loss,
            ecn: parameters.ecn,
            duplicate: chance(duplicate_ppb, parameters.duplicate_correlation_ppb),
            corruption: None,
            reorder: chance(reorder_ppb, parameters.reorder_correlation_ppb),
            delayed_pkts: 0,
            gap_pkts: parameters.gap_packets,
            rate: TransmissionTime::new(parameters),
            slots: None,
            takes_time: parameters.delay_ns > 0
                || parameters.jitter_ns > 0
                || parameters.rate_bps > 0,
            overhead_bytes: setting.overhead_bytes,
            is_root: setting.is_root,
            held: Held::NOTHING,
            child: { parameters.child.as_deref() }
                .map(|child| Child::new(child, &setting.child("1"))),
            stream,
        };
        // Last, so that the numbers of what was there before them stay the same.
        netem.corruption = Corruption::new(parameters, &mut netem.stream);
        netem.slots = { parameters.slot.as_ref() }.map(|slot| Slots::new(slot, &mut netem.stream));
        netem
    }
}

impl Netem {
    fn len(&self) -> usize {
        self.at_head.len() + self.waiting.len()
    }

    /// Enqueues a packet or a copy.
    fn take(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
        is_copy: bool,
    ) -> Result<(), DropReason> {
        let mut count = 1;
        if !is_copy && self.duplicate.strikes(&mut self.stream) {
            count += 1;
        }
        if self.loss.strikes(&mut self.stream) {
            let marked = self.ecn && events.mark(&mut packet, DropReason::NetemLoss);
            count -= i32::from(!marked);
        }
        if count == 0 {
            return Err(DropReason::NetemLoss);
        }
        let inside = self.child.as_ref().map_or(0, |child| child.backlog().0);
        if self.len() + (self.held.packets + inside) as usize >= self.limit {
            return Err(DropReason::Overlimit);
        }
        if count > 1 {
            self.copy(packet, now, events);
        }
        if let Some(corruption) = &mut self.corruption
            && corruption.strikes(&packet, &mut self.stream)
        {
            packet.damage();
        }
        self.insert(packet, now);
        if events.notes_delayed && self.takes_time {
            events.delayed.push(packet);
        }
        Ok(())
    }

    /// Enqueues a copy at the root.
    fn copy(&mut self, packet: Packet, now: Time, events: &mut Events) {
        if !self.is_root {
            events.for_root.push(packet);
            return;
        }
        events.duplicated.push(packet);
        if let Err(reason) = self.take(packet, now, events, true) {
            events.drop(packet, reason);
        }
    }

    /// Moves packets whose delay has expired to the child, then dequeues from the child.
    #[inline(never)]
    fn dequeue_from_child(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let next = loop {
            match self.pop(now) {
                Ok(packet) => {
                    self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
                    let child = self.child.as_mut();
                    let answer = child.map_or(Ok(()), |child| child.enqueue(packet, now, events));
                    if let Err(reason) = answer {
                        events.drop(packet, reason);
                    }
                }
                Err(None) => break Dequeued::Empty,
                Err(Some(time_to_send)) => break Dequeued::NotBefore(time_to_send),
            }
        };
        let Some(child) = &mut self.child else {
            return Dequeued::Empty;
        };
        match child.dequeue(now, events) {
            Dequeued::Packet(packet) => Dequeued::Packet(packet),
            later => sooner(next, later),
        }
    }

    /// The first of those that wait if its time has come, and a slot is open; otherwise when both are
    /// so, if there is one.
    #[inline]
    fn pop(&mut self, now: Time) -> Result<Packet, Option<Time>> {
        if self.slots.is_none() {
            return self.waiting.pop(now);
        }
        self.pop_in_slot(now)
    }

    #[inline(never)]
    fn pop_in_slot(&mut self, now: Time) -> Result<Packet, Option<Time>> {
        let opens = self.look_at_slots(now)?;
        if opens > now {
            return Err(self.waiting.first().map(|first| first.max(opens)));
        }
        let packet = self.waiting.pop(now)?;
        if let Some(slots) = &mut self.slots {
            slots.spend(
                packet.wire_bytes(self.overhead_bytes),
                now,
                &mut self.stream,
            );
        }
        Ok(packet)
    }

    /// When the slot opens in which the first of those that wait may leave, drawn if there is none yet;
    /// an error when nothing waits.
    fn look_at_slots(&mut self, now: Time) -> Result<Time, Option<Time>> {
        let first = self.waiting.first().ok_or(None)?;
        let slots = self.slots.as_mut().ok_or(None)?;
        Ok(slots.opens_for(first, now, &mut self.stream))
    }

    /// Puts a packet at the head of the queue, or among the delayed packets.
    fn insert(&mut self, packet: Packet, now: Time) {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.backlog_bytes += u64::from(bytes);
        let must_be_delayed = self.gap_pkts == 0 || self.delayed_pkts < self.gap_pkts - 1;
        if must_be_delayed || !self.reorder.strikes(&mut self.stream) {
            let time_to_send = self.time_to_send(now, bytes);
            self.delayed_pkts = self.delayed_pkts.wrapping_add(1);
            self.waiting.push(time_to_send, packet);
        } else {
            self.delayed_pkts = 0;
            self.at_head.push_front((now, packet));
        }
    }

    /// Time to send of a packet that arrives `now`: after its delay; with a rate, after the time to send of
    /// the last packet plus its own transmission time.
    fn time_to_send(&mut self, now: Time, wire_bytes: u32) -> Time {
        let deviation_ns = self.jitter.draw_ns(&mut self.stream);
        let ready = moved(now + self.delay, deviation_ns);
        if !self.rate.exists() {
            return ready;
        }
        let at_head = self.at_head.back().map(|(came, _)| *came);
        let last = self.waiting.last().max(at_head);
        // The delay runs while a packet waits. With no packet in front, a negative delay shortens the
        // transmission, as in the kernel.
        let start = last.map_or(ready, |last| ready.max(last));
        start + self.rate.of(wire_bytes)
    }
}

/// An instant shifted by `by_ns`, not before the start of the run.
fn moved(instant: Time, by_ns: i64) -> Time {
    let by = Time::from_ns(by_ns.unsigned_abs());
    if by_ns >= 0 {
        instant + by
    } else {
        Time(instant.0.saturating_sub(by.0))
    }
}

impl Discipline for Netem {
    /// Enqueues a packet and sets its time to send, unless the packet is lost or the limit is reached.
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let is_copy = events.is_copy;
        let answer = self.take(packet, now, events, is_copy);
        if answer.is_err() && self.slots.is_some() {
            // The kernel asks for a packet after each that it offers, refused ones too, and then may
            // draw a slot anew.
            let _ = self.look_at_slots(now);
        }
        answer
    }

    /// Dequeues reordered packets at once, others when their delay has expired.
    #[inline]
    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let packet = match self.at_head.pop_front() {
            Some((_, packet)) => packet,
            None if self.child.is_some() => return self.dequeue_from_child(now, events),
            None => match self.pop(now) {
                Ok(packet) => packet,
                Err(None) => return Dequeued::Empty,
                Err(Some(time_to_send)) => return Dequeued::NotBefore(time_to_send),
            },
        };
        self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
        Dequeued::Packet(packet)
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
    }

    /// Where packets are damaged each segment is, or is not, by itself.
    fn largest_gso_bytes(&self) -> u32 {
        match self.corruption {
            Some(_) => 0,
            None => u32::MAX,
        }
    }

    /// Includes the packet in transmission.
    #[inline]
    fn backlog(&self) -> (u32, u64) {
        let (packets, bytes) = { self.child.as_ref() }.map_or((0, 0), Child::backlog);
        (self.len() as u32 + packets, self.backlog_bytes + bytes)
    }

    fn own_state(&self) -> Option<OwnState> {
        self.child.as_ref()?.own_state()
    }

    #[inline]
    fn own_service_time(&self, wire_bytes: u32) -> Time {
        self.rate.of(wire_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let at_head = self.at_head.iter().map(|(_, packet)| packet);
        let inside = self.child.iter().flat_map(Child::packets);
        Box::new(at_head.chain(self.waiting.packets()).chain(inside))
    }
}
