//! The ordinary path of a link: a queue discipline and a transmitter, with an event for each departure.
//!
//! At a finite rate the transmitter holds one packet for `bytes / rate` and then dequeues the next. At an
//! infinite rate it dequeues until the discipline has nothing to send: a work-conserving queue empties at
//! once, and a shaping discipline (netem with a rate) paces itself. GSO packets are segmented after the
//! discipline (`gso`), or sent whole.

use super::gro::Gro;
use super::gso::Gso;
use super::policer::Policer;
use super::transmitter::Transmitter;
use crate::qdisc::{Dequeued, DropReason, Events, Qdisc};
use crate::sim::link_statistics::Level;
use crate::sim::packet::Packet;
use crate::sim::random::Stream;
use crate::sim::rate::Rate;
use crate::sim::time::Time;
use crate::spec;
use std::slice;

/// The loss of packets after their transmission.
#[derive(Debug)]
struct Loss {
    probability: f64,
    stream: Stream,
    /// One of this number of packets is lost; 0 for none.
    every_pkts: u64,
    /// Packets until the next loss by count.
    until_next_pkts: u64,
}

/// The transmitter and the random stream of losses after it.
#[derive(Debug)]
pub struct AfterQueue {
    /// Serves the queue.
    pub transmitter: Transmitter,
    /// Draws losses.
    pub loss_stream: Stream,
}

/// A packet in transmission, or one whose transmission has just ended.
#[derive(Debug, Clone, Copy)]
pub struct Transmission {
    /// What is sent.
    pub packet: Packet,
    /// How long its transmission takes; of a packet that is sent at opportunities, not yet known before its end.
    pub service: Time,
    /// Its bytes on the wire.
    pub bytes: u32,
}

/// Queue and transmitter.
#[derive(Debug)]
pub struct Queued {
    qdisc: Qdisc,
    /// Events of the discipline (drops, marks, copies) since they were last taken.
    pub events: Events,
    /// The packet whose transmission has just begun; only if this is reported.
    begun: Option<Packet>,
    in_transmission: Option<Transmission>,
    /// When the transmission ends, or the discipline is to be asked again.
    pending: Time,
    transmitter: Transmitter,
    overhead_bytes: u32,
    /// Whether starts of transmission are reported.
    notes_begun: bool,
    /// The policer in front of the queue.
    policer: Option<Policer>,
    loss: Loss,
    /// Present if senders of its host hand down GSO packets.
    gso: Option<Box<Gso>>,
    /// Whether these are transmitted whole (TSO).
    sends_whole: bool,
    /// Present if frames are merged at the far end.
    pub gro: Option<Box<Gro>>,
}

impl Queued {
    /// An idle link end with this discipline.
    pub fn new(end: &spec::LinkEnd, qdisc: Qdisc, behind: AfterQueue) -> Queued {
        let AfterQueue {
            transmitter,
            loss_stream,
        } = behind;
        Queued {
            qdisc,
            events: Events::default(),
            begun: None,
            in_transmission: None,
            pending: Time::NEVER,
            transmitter,
            overhead_bytes: end.overhead_bytes,
            notes_begun: end.is_captured(),
            policer: end.police.as_ref().map(Policer::new),
            loss: Loss {
                probability: end.loss,
                stream: loss_stream,
                every_pkts: end.loss_every_pkts,
                until_next_pkts: end.loss_every_pkts,
            },
            gso: None,
            sends_whole: end.tso,
            gro: end.gro_ns.map(|gro_ns| Box::new(Gro::new(gro_ns))),
        }
    }

    /// The discipline.
    pub fn qdisc(&self) -> &Qdisc {
        &self.qdisc
    }

    /// The rate where it is constant; None for an infinite one and for a trace.
    pub fn rate(&self) -> Option<Rate> {
        match self.transmitter {
            Transmitter::Constant(rate) => Some(rate),
            _ => None,
        }
    }

    /// Turns on reports of starts of transmission, for TCP small queues.
    pub fn enable_small_queues(&mut self) {
        self.notes_begun = true;
        self.events.notes_delayed = true;
    }

    /// Turns on GSO packets of senders of its host.
    pub fn enable_gso(&mut self) {
        self.gso = Some(Box::default());
    }

    /// Whether senders of its host hand down GSO packets.
    #[inline(always)]
    pub fn takes_gso_packets(&self) -> bool {
        self.gso.is_some()
    }

    /// The packet whose transmission has just begun, if this is reported; call until None.
    #[inline(always)]
    pub fn take_begun(&mut self) -> Option<Packet> {
        let begun = self.begun.take();
        if begun.is_some() {
            return begun;
        }
        self.gso.as_mut()?.take_begun()
    }

    /// End of the transmission, or the next time to poll the discipline.
    #[inline(always)]
    pub fn pending(&self) -> Time {
        self.pending
    }

    /// Whether a packet that arrives now cannot change the time of the next transmission, while one is
    /// pending.
    #[inline(always)]
    pub fn next_send_ignores_arrivals(&self) -> bool {
        self.in_transmission.is_some() || self.qdisc.keeps_its_head()
    }

    /// Whether only the end of a transmission can make it send.
    #[inline(always)]
    pub fn is_transmitting(&self) -> bool {
        self.in_transmission.is_some()
    }

    /// Packets in queue and transmission, and the backlog.
    #[inline(always)]
    pub fn level(&self) -> Level {
        let (mut backlog_pkts, mut backlog_bytes) = self.qdisc.backlog();
        let mut sending_pkts = u32::from(self.in_transmission.is_some());
        if let Some(gso) = &self.gso {
            let (pkts, bytes) = gso.uncounted_segments();
            backlog_pkts += pkts;
            backlog_bytes += bytes;
            let sending = self.in_transmission.iter();
            sending_pkts = sending.map(|each| each.packet.segments()).sum();
        }
        Level {
            system_pkts: backlog_pkts + sending_pkts,
            backlog_pkts,
            backlog_bytes,
        }
    }

    /// Whether the discipline takes these segments as one packet.
    pub fn takes_whole(&self, segments: &[Packet]) -> bool {
        let bytes = segments
            .iter()
            .map(|each| each.wire_bytes(self.overhead_bytes));
        segments.len() > 1 && bytes.sum::<u32>() <= self.qdisc.largest_gso_bytes()
    }

    /// Offers segments as one packet.
    pub fn offer_gso(&mut self, segments: &[Packet], now: Time) -> Result<(), DropReason> {
        let packet = self.gso.get_or_insert_default().join(segments);
        self.events.acknowledgement = None;
        let answer = self.enqueue(packet, packet.wire_bytes(self.overhead_bytes), now);
        let gso = self.gso.get_or_insert_default();
        if answer.is_ok() {
            gso.enter(&packet);
            gso.cut_events(&mut self.events);
        } else {
            // A refused packet may have a copy.
            gso.cut_events(&mut self.events);
            gso.forget(&packet);
        }
        answer
    }

    /// Offers a packet of `bytes` bytes on the wire.
    #[inline(always)]
    pub fn offer(&mut self, packet: Packet, bytes: u32, now: Time) -> Result<(), DropReason> {
        let answer = self.enqueue(packet, bytes, now);
        self.cut_events();
        answer
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, bytes: u32, now: Time) -> Result<(), DropReason> {
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

    /// Enqueues the copies made by a child discipline.
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

    /// Ends a transmission that is over and starts the next. Returns each packet whose transmission ends now,
    /// with its duration.
    #[inline(always)]
    pub fn send(&mut self, now: Time) -> Option<Transmission> {
        if let Transmitter::Opportune(_) = self.transmitter {
            return self.send_at_opportunity(now);
        }
        match self.in_transmission {
            Some(_) if self.pending > now => None,
            Some(sending) => {
                self.in_transmission = None;
                Some(sending)
            }
            None => {
                let sent = self.take_next(now);
                self.cut_events();
                sent
            }
        }
    }

    /// Dequeues a packet. With a rate its transmission starts; without one the transmission is already over
    /// and the packet is returned.
    #[inline(always)]
    fn take_next(&mut self, now: Time) -> Option<Transmission> {
        let packet = self.next_packet(now)?;
        self.begin(packet, now)
    }

    /// The next packet from the discipline. If there is none, `pending` is the next time to poll it.
    #[inline(always)]
    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        if self.gso.is_some()
            && let Some(segment) = self.next_segment()
        {
            return Some(segment);
        }
        match self.qdisc.dequeue(now, &mut self.events) {
            Dequeued::Packet(packet) => {
                if packet.is_gso() {
                    if self.sends_whole {
                        self.leave_whole(&packet);
                        return Some(packet);
                    }
                    return self.cut(&packet);
                }
                if self.notes_begun {
                    self.begun = Some(packet);
                }
                return Some(packet);
            }
            Dequeued::NotBefore(later) => self.pending = later,
            Dequeued::Empty => self.pending = Time::NEVER,
        }
        None
    }

    #[inline(always)]
    fn begin(&mut self, packet: Packet, now: Time) -> Option<Transmission> {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        let Transmitter::Constant(rate) = &mut self.transmitter else {
            return self.begin_otherwise(packet, bytes, now);
        };
        let service = rate.time_for(bytes);
        self.in_transmission = Some(Transmission {
            packet,
            service,
            bytes,
        });
        self.pending = now + service;
        None
    }

    /// Begins a transmission at an infinite rate, or one whose end, delay and loss follow the steps of a trace.
    fn begin_otherwise(&mut self, packet: Packet, bytes: u32, now: Time) -> Option<Transmission> {
        let Transmitter::Stepped(stepped) = &mut self.transmitter else {
            let service = self.qdisc.own_service_time(bytes);
            return Some(Transmission {
                packet,
                service,
                bytes,
            });
        };
        let end = stepped.finish(now, bytes);
        self.loss.probability = stepped.loss;
        let Some(end) = end else {
            let service = self.qdisc.own_service_time(bytes);
            return Some(Transmission {
                packet,
                service,
                bytes,
            });
        };
        self.in_transmission = Some(Transmission {
            packet,
            service: end.saturating_sub(now),
            bytes,
        });
        self.pending = end;
        None
    }

    /// As `send`, at the opportunities of a trace.
    #[inline(never)]
    fn send_at_opportunity(&mut self, now: Time) -> Option<Transmission> {
        let sent = self.use_opportunity(now);
        self.cut_events();
        sent
    }

    fn use_opportunity(&mut self, now: Time) -> Option<Transmission> {
        if self.pending <= now {
            self.opportunity_transmitter()?.open(now);
        }
        loop {
            if let Some(mut sending) = self.in_transmission {
                let opportune = self.opportunity_transmitter()?;
                if let Some(began) = opportune.send() {
                    self.in_transmission = None;
                    sending.service = now - began;
                    return Some(sending);
                }
                self.pending = opportune.first_from(now + Time(1));
                return None;
            }
            let may_send = self.opportunity_transmitter()?.is_open();
            let next = if may_send {
                self.next_packet(now)
            } else {
                None
            };
            if let Some(packet) = next {
                let bytes = packet.wire_bytes(self.overhead_bytes);
                self.opportunity_transmitter()?.begin(bytes, now);
                self.in_transmission = Some(Transmission {
                    packet,
                    service: Time::NEVER,
                    bytes,
                });
                continue;
            }
            let is_empty = self.level().backlog_pkts == 0;
            let not_before = match may_send {
                // The discipline's own time.
                true => self.pending.max(now + Time(1)),
                false if is_empty => Time::NEVER,
                false => now + Time(1),
            };
            let opportune = self.opportunity_transmitter()?;
            opportune.close();
            self.pending = match not_before {
                Time::NEVER => Time::NEVER,
                instant => opportune.first_from(instant),
            };
            return None;
        }
    }

    fn opportunity_transmitter(&mut self) -> Option<&mut super::transmitter::Opportune> {
        match &mut self.transmitter {
            Transmitter::Opportune(opportune) => Some(opportune),
            _ => None,
        }
    }

    /// When a packet that is sent now arrives, where the steps of a trace give the delay.
    pub fn traced_arrival(&mut self, now: Time) -> Option<Time> {
        match &mut self.transmitter {
            Transmitter::Stepped(stepped) => Some(stepped.arrival(now)),
            _ => None,
        }
    }

    #[inline(never)]
    fn next_segment(&mut self) -> Option<Packet> {
        self.gso.as_mut()?.next(self.overhead_bytes)
    }

    /// Transmits a GSO packet whole after it left the discipline.
    #[inline(never)]
    fn leave_whole(&mut self, packet: &Packet) {
        if let Some(gso) = &mut self.gso {
            gso.leave_whole(packet);
        }
    }

    /// The segments of a GSO packet whose transmission is over.
    pub fn take_whole(&mut self, packet: &Packet) -> Vec<Packet> {
        self.gso.get_or_insert_default().take(packet)
    }

    /// The segments of a queued packet.
    pub fn segments<'a>(&'a self, packet: &'a Packet) -> &'a [Packet] {
        match &self.gso {
            Some(gso) => gso.segments(packet),
            None => slice::from_ref(packet),
        }
    }

    /// Segments a GSO packet after it left the discipline; returns the first segment.
    #[inline(never)]
    fn cut(&mut self, packet: &Packet) -> Option<Packet> {
        let gso = self.gso.as_mut()?;
        gso.leave(packet, self.overhead_bytes);
        gso.next(self.overhead_bytes)
    }

    /// Converts events of the discipline from GSO packets to segments.
    #[inline(always)]
    fn cut_events(&mut self) {
        if let Some(gso) = &mut self.gso
            && !self.events.is_empty()
        {
            gso.cut_events(&mut self.events);
        }
    }

    /// Whether the packet that has just been sent is lost.
    #[inline(always)]
    pub fn loses(&mut self) -> bool {
        let loss = &mut self.loss;
        let by_chance = loss.probability > 0.0 && loss.stream.uniform() < loss.probability;
        loss.is_due() || by_chance
    }

    /// Applies new values. They do not affect the packet in transmission.
    pub fn change(&mut self, change: &spec::Change) {
        if let Some(rate_bps) = change.rate_bps {
            self.transmitter = Transmitter::at_rate(rate_bps);
        }
        if let Some(loss) = change.loss {
            self.loss.probability = loss;
        }
    }

    /// Every packet in the queue and in transmission.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let sending = self.in_transmission.iter().map(|each| &each.packet);
        let leaving = self.gso.iter().flat_map(|gso| gso.leaving());
        let held = self.qdisc.packets().chain(sending);
        let held = held.flat_map(|packet| self.segments(packet));
        held.chain(leaving)
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
