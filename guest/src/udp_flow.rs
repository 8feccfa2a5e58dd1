//! A UDP flow: numbered datagrams on a schedule.

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::messages::{self, Datagram};
use crate::records::FlowRecord;
use crate::sys::{Poll, Socket};
use dumbbell_core::time::Time;
use dumbbell_spec as spec;
use dumbbell_spec::source::{FlowStreams, Generator};
use std::net::SocketAddrV4;

/// Longest datagram.
const MOST_BYTES: usize = 1 << 16;

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
}

impl UdpFlow {
    /// Opens its sockets; `poll` waits for the receiver with `token`.
    pub fn open(
        flow: &spec::Flow,
        streams: FlowStreams,
        (from, to): (usize, (usize, SocketAddrV4)),
        (warm_up, stop): (Time, Time),
        hosts: &Hosts,
        (poll, token): (&Poll, u64),
    ) -> Result<UdpFlow, GuestError> {
        let what = || format!("opening the sockets of flow {}", flow.name);
        let (to_host, to) = to;
        hosts.enter(to_host)?;
        let receiver = Socket::udp().context(what)?;
        receiver.bind(to.port()).context(what)?;
        poll.add(&receiver, token).context(what)?;
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
        let number = record.datagrams.len() as u32;
        self.buffer[..4].copy_from_slice(&number.to_le_bytes());
        self.sender
            .send_to(&self.buffer[..payload], self.to)
            .context(|| format!("sending {payload} bytes"))?;
        record.datagrams.push(Datagram {
            size,
            created: due,
            delivered: Time::NEVER,
        });
        if due >= self.warm_up {
            record.sent_datagrams += 1;
            record.sent_bytes += u64::from(size);
        }
        let next = self.generator.next_gap().map(|gap| due.saturating_add(gap));
        Ok(next.filter(|next| *next < self.stop))
    }

    /// Receives what has arrived. Returns the number of datagrams.
    pub fn receive(&mut self, record: &mut FlowRecord, now: Time) -> Result<u64, GuestError> {
        let mut head = [0u8; 4];
        let mut count = 0;
        while let Some(length) =
            { self.receiver.receive(&mut head) }.context(|| "receiving".to_owned())?
        {
            let datagrams = &mut record.datagrams;
            let at = messages::find(datagrams, self.seen, length, &head, self.size_at);
            let at = at.ok_or_else(|| {
                GuestError::Internal(format!("a datagram of {length} bytes nobody sent"))
            })?;
            datagrams[at].delivered = now;
            self.seen = self.seen.max(at + 1);
            count += 1;
        }
        Ok(count)
    }
}
