//! The ordinary path of a link: a queue discipline and a transmitter, with an event for each
//! departure.
//!
//! With a finite rate the transmitter holds one packet, sends it for `bytes / rate` and then
//! asks the discipline for the next. With an infinite rate it asks until there is none, so a
//! work-conserving queue is passed at once and a shaping one (netem with a rate) paces itself.

use super::policer::Policer;
use crate::qdisc::{Dequeued, DropReason, Events, Qdisc};
use crate::sim::link_statistics::Level;
use crate::sim::packet::Packet;
use crate::sim::random::Stream;
use crate::sim::rate::Rate;
use crate::sim::time::Time;
use crate::spec;

/// What packets are lost by after their transmission.
#[derive(Debug)]
struct Loss {
    probability: f64,
    stream: Stream,
    /// One of so many; 0 for none.
    every_pkts: u64,
    /// Packets until the next one that is lost by count.
    until_next_pkts: u64,
}

/// Queue and transmitter.
#[derive(Debug)]
pub struct Queued {
    qdisc: Qdisc,
    /// What the discipline did besides answering, since the link was last asked.
    pub events: Events,
    /// The packet whose transmission has just begun; only where somebody asks.
    pub begun: Option<Packet>,
    in_transmission: Option<(Packet, Time)>,
    /// When the transmission ends, or the discipline is to be asked again.
    pending: Time,
    /// None for an infinite rate.
    rate: Option<Rate>,
    overhead_bytes: u32,
    /// Whether somebody asks which transmissions begin.
    notes_begun: bool,
    /// In front of the queue.
    policer: Option<Policer>,
    loss: Loss,
}

impl Queued {
    /// An idle link end with this discipline.
    pub fn new(end: &spec::LinkEnd, qdisc: Qdisc, loss_stream: Stream) -> Queued {
        Queued {
            qdisc,
            events: Events::default(),
            begun: None,
            in_transmission: None,
            pending: Time::NEVER,
            rate: (end.rate_bps > 0).then(|| Rate::new(end.rate_bps)),
            overhead_bytes: end.overhead_bytes,
            notes_begun: end.is_captured(),
            policer: end.police.as_ref().map(Policer::new),
            loss: Loss {
                probability: end.loss,
                stream: loss_stream,
                every_pkts: end.loss_every_pkts,
                until_next_pkts: end.loss_every_pkts,
            },
        }
    }

    /// The discipline.
    pub fn qdisc(&self) -> &Qdisc {
        &self.qdisc
    }

    /// The rate; None for an infinite one.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Senders keep an account of what lies in the queue.
    pub fn keep_small_queues(&mut self) {
        self.notes_begun = true;
        self.events.notes_delayed = true;
    }

    /// When the transmission ends, or the discipline is to be asked again.
    #[inline(always)]
    pub fn pending(&self) -> Time {
        self.pending
    }

    /// Whether nothing but the end of a transmission can make it send.
    #[inline(always)]
    pub fn is_transmitting(&self) -> bool {
        self.in_transmission.is_some()
    }

    /// Packets in queue and transmission, and the backlog.
    #[inline(always)]
    pub fn level(&self) -> Level {
        let (backlog_pkts, backlog_bytes) = self.qdisc.backlog();
        Level {
            system_pkts: backlog_pkts + u32::from(self.in_transmission.is_some()),
            backlog_pkts,
            backlog_bytes,
        }
    }

    /// Offers a packet of so many bytes on the wire.
    #[inline(always)]
    pub fn offer(&mut self, packet: Packet, bytes: u32, now: Time) -> Result<(), DropReason> {
        if let Some(policer) = &mut self.policer
            && !policer.passes(bytes, now)
        {
            return Err(DropReason::Policed);
        }
        let answer = self.qdisc.enqueue(packet, now, &mut self.events);
        if !self.events.for_root.is_empty() {
            self.offer_copies(now);
        }
        answer
    }

    /// Offers the copies that a discipline inside another made.
    #[inline(never)]
    fn offer_copies(&mut self, now: Time) {
        self.events.is_copy = true;
        while let Some(copy) = self.events.for_root.pop() {
            self.events.duplicated.push(copy);
            if let Err(reason) = self.qdisc.enqueue(copy, now, &mut self.events) {
                self.events.drop(copy, reason);
            }
        }
        self.events.is_copy = false;
    }

    /// Ends a transmission that is over, starts the next. Returns each packet whose transmission
    /// ends now, and how long it took.
    #[inline(always)]
    pub fn send(&mut self, now: Time) -> Option<(Packet, Time)> {
        match self.in_transmission {
            Some(_) if self.pending > now => None,
            Some(sending) => {
                self.in_transmission = None;
                Some(sending)
            }
            None => self.take_next(now),
        }
    }

    /// Asks the discipline for a packet. With a rate its transmission starts; without one it
    /// is already over, and the packet is returned.
    #[inline(always)]
    fn take_next(&mut self, now: Time) -> Option<(Packet, Time)> {
        match self.qdisc.dequeue(now, &mut self.events) {
            Dequeued::Packet(packet) => {
                if self.notes_begun {
                    self.begun = Some(packet);
                }
                let bytes = packet.wire_bytes(self.overhead_bytes);
                let Some(rate) = &mut self.rate else {
                    return Some((packet, self.qdisc.own_service_time(bytes)));
                };
                let service = rate.time_for(bytes);
                self.in_transmission = Some((packet, service));
                self.pending = now + service;
            }
            Dequeued::NotBefore(later) => self.pending = later,
            Dequeued::Empty => self.pending = Time::NEVER,
        }
        None
    }

    /// Whether the packet that has just been sent is lost.
    #[inline(always)]
    pub fn loses(&mut self) -> bool {
        let loss = &mut self.loss;
        let by_chance = loss.probability > 0.0 && loss.stream.uniform() < loss.probability;
        loss.is_due() || by_chance
    }

    /// Takes new values. A packet in transmission ends as it began.
    pub fn change(&mut self, change: &spec::Change) {
        if let Some(rate_bps) = change.rate_bps {
            self.rate = (rate_bps > 0).then(|| Rate::new(rate_bps));
        }
        if let Some(loss) = change.loss {
            self.loss.probability = loss;
        }
    }

    /// Every packet in the queue and in transmission.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let sending = self.in_transmission.iter().map(|(packet, _)| packet);
        self.qdisc.packets().chain(sending)
    }
}

impl Loss {
    /// Whether a packet is lost by count.
    #[inline(always)]
    fn is_due(&mut self) -> bool {
        if self.every_pkts == 0 {
            return false;
        }
        self.until_next_pkts -= 1;
        let is_due = self.until_next_pkts == 0;
        if is_due {
            self.until_next_pkts = self.every_pkts;
        }
        is_due
    }
}
