//! A UDP flow: numbered datagrams on a schedule.

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::messages::{self, Datagram};
use crate::records::FlowRecord;
use crate::sys::{PlannedDatagram, Poll, Socket};
use crate::traffic_module::TrafficModule;
use dumbbell_core::time::Time;
use dumbbell_spec as spec;
use dumbbell_spec::source::{FlowStreams, Generator};
use std::collections::VecDeque;
use std::net::SocketAddrV4;

/// Longest datagram.
const MOST_BYTES: usize = 1 << 16;
/// Bytes of a datagram that hold its number.
const HEAD_BYTES: usize = 4;
/// Number of datagrams that the module gets at a time.
pub const PLANNED_AT_ONCE: usize = 1024;

/// A flow during the run.
pub struct UdpFlow {
    generator: Generator,
    size_at: spec::SizeAt,
    stop: Time,
    /// Datagrams sent earlier are excluded from statistics.
    warm_up: Time,
    sender: Socket,
    receiver: Socket,
    to: SocketAddrV4,
    /// Number of datagrams received or given up.
    seen: usize,
    buffer: Vec<u8>,
    /// Planned times and sizes that the module has and has not yet sent.
    planned: VecDeque<(Time, u32)>,
    /// Time of the datagram after those; `NEVER` for none.
    next: Time,
}

impl UdpFlow {
    /// Opens its sockets; the module, or else `poll`, waits for the receiver with `token`.
    pub fn open(
        flow: &spec::Flow,
        streams: FlowStreams,
        (from, to): (usize, (usize, SocketAddrV4)),
        (warm_up, stop): (Time, Time),
        hosts: &Hosts,
        (poll, module, token): (&Poll, Option<&TrafficModule>, u64),
    ) -> Result<UdpFlow, GuestError> {
        let what = || format!("opening the sockets of flow {}", flow.name);
        let (to_host, to) = to;
        hosts.enter(to_host)?;
        let receiver = Socket::udp().context(what)?;
        receiver.bind(to.port()).context(what)?;
        match module {
            Some(module) => module.take_datagrams(token, &receiver, HEAD_BYTES)?,
            None => poll.add(&receiver, token).context(what)?,
        }
        hosts.enter(from)?;
        let sender = Socket::udp().context(what)?;
        sender
            .traffic_class(flow.dscp << 2 | flow.ecn.bits())
            .context(what)?;
        Ok(UdpFlow {
            generator: Generator::new(&flow.source, streams),
            size_at: flow.source.parameters().size_at(),
            stop,
            warm_up,
            sender,
            receiver,
            to,
            seen: 0,
            buffer: vec![0; MOST_BYTES],
            planned: VecDeque::new(),
            next: Time::NEVER,
        })
    }

    /// Time of the first datagram, given the start of the flow.
    pub fn first(&mut self, start: Time) -> Time {
        let gap = self.generator.next_gap();
        gap.map_or(Time::NEVER, |gap| start.saturating_add(gap))
    }

    /// Sends the due datagram. Returns the time of the next.
    pub fn send(&mut self, record: &mut FlowRecord, due: Time) -> Result<Option<Time>, GuestError> {
        let size = self.generator.next_size();
        let payload = messages::payload_bytes(size, self.size_at);
        self.buffer[..HEAD_BYTES].copy_from_slice(&head(record.datagrams.len()));
        self.sender
            .send_to(&self.buffer[..payload], self.to)
            .context(|| format!("sending {payload} bytes"))?;
        self.keep(record, due, size);
        Ok(self.after(due))
    }

    fn keep(&self, record: &mut FlowRecord, due: Time, size: u32) {
        record.datagrams.push(Datagram {
            size,
            created: due,
            delivered: Time::NEVER,
        });
        if due >= self.warm_up {
            record.sent_datagrams += 1;
            record.sent_bytes += u64::from(size);
        }
    }

    fn after(&mut self, due: Time) -> Option<Time> {
        let next = self.generator.next_gap().map(|gap| due.saturating_add(gap));
        next.filter(|next| *next < self.stop)
    }

    /// Lets the module send all datagrams, the first of them at this time.
    pub fn send_by(
        &mut self,
        module: &TrafficModule,
        order: u64,
        first: Time,
    ) -> Result<(), GuestError> {
        module.add_source(order, &self.sender, self.to, None)?;
        self.next = first;
        self.plan(module, order, 0)
    }

    /// Gives the module what comes after so many datagrams.
    fn plan(&mut self, module: &TrafficModule, order: u64, sent: usize) -> Result<(), GuestError> {
        let mut datagrams = Vec::new();
        while self.next < Time::NEVER && datagrams.len() < PLANNED_AT_ONCE {
            let size = self.generator.next_size();
            self.planned.push_back((self.next, size));
            datagrams.push(PlannedDatagram::new(
                self.next,
                messages::payload_bytes(size, self.size_at),
                &head(sent + datagrams.len()),
            ));
            self.next = self.after(self.next).unwrap_or(Time::NEVER);
        }
        match datagrams.is_empty() {
            true => Ok(()),
            false => module.schedule(order, &datagrams, self.next == Time::NEVER),
        }
    }

    /// The module has sent its next datagram.
    pub fn was_sent(
        &mut self,
        record: &mut FlowRecord,
        module: &TrafficModule,
        order: u64,
    ) -> Result<(), GuestError> {
        let planned = self.planned.pop_front();
        let unplanned = || GuestError::Internal("a datagram that was not planned".to_owned());
        let (due, size) = planned.ok_or_else(unplanned)?;
        self.keep(record, due, size);
        match self.planned.is_empty() {
            true => self.plan(module, order, record.datagrams.len()),
            false => Ok(()),
        }
    }

    /// Receives what has arrived. Returns the number of datagrams.
    pub fn receive(&mut self, record: &mut FlowRecord, now: Time) -> Result<u64, GuestError> {
        let mut head = [0u8; HEAD_BYTES];
        let mut count = 0;
        while let Some(length) =
            { self.receiver.receive(&mut head) }.context(|| "receiving".to_owned())?
        {
            self.has_arrived(record, (length, &head), now)?;
            count += 1;
        }
        Ok(count)
    }

    /// A datagram of this length and with this beginning has arrived.
    pub fn has_arrived(
        &mut self,
        record: &mut FlowRecord,
        (length, beginning): (usize, &[u8]),
        now: Time,
    ) -> Result<(), GuestError> {
        let mut head = [0u8; HEAD_BYTES];
        let known = beginning.len().min(HEAD_BYTES);
        head[..known].copy_from_slice(&beginning[..known]);
        let datagrams = &mut record.datagrams;
        let at = messages::find(datagrams, self.seen, length, &head, self.size_at);
        let at = at.ok_or_else(|| {
            GuestError::Internal(format!("a datagram of {length} bytes nobody sent"))
        })?;
        datagrams[at].delivered = now;
        self.seen = self.seen.max(at + 1);
        Ok(())
    }
}

/// The beginning of a datagram.
fn head(number: usize) -> [u8; HEAD_BYTES] {
    (number as u32).to_le_bytes()
}
