//! Echo requests and replies: over ICMP, answered by the kernel; over UDP, answered by this program; or
//! measured by `irtt`.

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::irtt;
use crate::messages;
use crate::samples::Arrival;
use crate::sys::{PlannedDatagram, Poll, Socket};
use crate::traffic_module::TrafficModule;
use crate::udp_flow::PLANNED_AT_ONCE;
use dumbbell_core::time::Time;
use dumbbell_spec::{self as spec, ProbeKind};
use std::collections::VecDeque;
use std::net::SocketAddrV4;
use std::rc::Rc;

/// Port of the UDP echo service (RFC 862).
pub const ECHO_PORT: u16 = 7;
/// Source port of probe 0; probe i uses the i-th port after it.
pub const FIRST_PORT: u16 = 30_000;

/// Longest IPv4 header, and that of ICMP.
const ICMP_HEAD_BYTES: usize = 60 + ICMP_BYTES;
const ICMP_BYTES: usize = 8;
/// Bytes of a datagram that hold its number.
const UDP_HEAD_BYTES: usize = 4;

/// An echo request and its reply; `NEVER` for a missing arrival.
#[derive(Debug, Clone, Copy)]
pub struct Echo {
    /// Planned send time of the request.
    pub sent: Time,
    /// Arrival at the answering host.
    pub answered: Time,
    /// Arrival of the reply.
    pub received: Time,
}

struct Probe {
    kind: ProbeKind,
    from: usize,
    to: SocketAddrV4,
    interval: Time,
    count: u64,
    payload_bytes: usize,
    class: u8,
    /// UDP probes only.
    socket: Option<Socket>,
    echoes: Vec<Echo>,
    /// Times of requests that the module has and has not yet sent.
    planned: VecDeque<Time>,
    /// Time of the request after those; `NEVER` for none.
    next: Time,
}

/// Token bases of its sockets; the index of the host or probe is added.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    /// ICMP echo traffic at a host.
    pub icmp: u64,
    /// A UDP request at a host.
    pub request: u64,
    /// A UDP reply at a probe.
    pub answer: u64,
}

/// All probes.
pub struct Probes {
    probes: Vec<Probe>,
    /// ICMP sockets by host.
    icmp: Vec<Option<Socket>>,
    /// UDP echo sockets by host.
    echoing: Vec<Option<Socket>>,
    tokens: Tokens,
    sessions: irtt::Sessions,
    /// The module that sends, receives and answers, and the traffic classes of all probes; None if this
    /// process does.
    module: Option<(Rc<TrafficModule>, Vec<u8>)>,
    /// Number of messages sent and received.
    pub events: u64,
}

impl Probes {
    /// No probes yet.
    pub fn new(hosts: usize, tokens: Tokens, sessions: irtt::Sessions) -> Probes {
        Probes {
            probes: Vec::new(),
            icmp: (0..hosts).map(|_| None).collect(),
            echoing: (0..hosts).map(|_| None).collect(),
            tokens,
            sessions,
            module: None,
            events: 0,
        }
    }

    /// From now on the module sends, receives and answers for all probes but those of irtt.
    pub fn use_module(&mut self, module: Rc<TrafficModule>, all: &[spec::Probe]) {
        let classes = all.iter().map(class).collect();
        self.module = Some((module, classes));
    }

    fn wait_for(
        &self,
        poll: &Poll,
        socket: &Socket,
        token: u64,
        head_bytes: usize,
    ) -> Result<(), GuestError> {
        match &self.module {
            Some((module, _)) => module.take_datagrams(token, socket, head_bytes),
            None => { poll.add(socket, token) }.context(|| "waiting for echoes".to_owned()),
        }
    }

    /// Opens the sockets of the next probe.
    pub fn open(
        &mut self,
        probe: &spec::Probe,
        (from, to): (usize, usize),
        address: SocketAddrV4,
        hosts: &Hosts,
        poll: &Poll,
    ) -> Result<(), GuestError> {
        let socket = match probe.kind {
            ProbeKind::Ping => {
                self.open_icmp(from, hosts, poll)?;
                self.open_icmp(to, hosts, poll)?;
                None
            }
            ProbeKind::Udp => {
                self.open_echo(to, hosts, poll)?;
                Some(self.open_asking(from, hosts, poll)?)
            }
            ProbeKind::Irtt => {
                self.sessions.serve(to, *address.ip(), hosts)?;
                None
            }
        };
        self.probes.push(Probe {
            kind: probe.kind,
            from,
            to: SocketAddrV4::new(*address.ip(), ECHO_PORT),
            interval: Time::from_ns(probe.interval_ns),
            count: probe.count,
            payload_bytes: probe.payload_bytes as usize,
            class: class(probe),
            socket,
            echoes: Vec::new(),
            planned: VecDeque::new(),
            next: Time::NEVER,
        });
        Ok(())
    }

    fn open_icmp(&mut self, host: usize, hosts: &Hosts, poll: &Poll) -> Result<(), GuestError> {
        let what = || "opening a socket for echo requests".to_owned();
        if self.icmp[host].is_none() {
            hosts.enter(host)?;
            let socket = Socket::icmp().context(what)?;
            self.wait_for(
                poll,
                &socket,
                self.tokens.icmp + host as u64,
                ICMP_HEAD_BYTES,
            )?;
            self.icmp[host] = Some(socket);
        }
        Ok(())
    }

    fn open_echo(&mut self, host: usize, hosts: &Hosts, poll: &Poll) -> Result<(), GuestError> {
        let what = || "opening a socket that echoes".to_owned();
        if self.echoing[host].is_none() {
            hosts.enter(host)?;
            let socket = Socket::udp().context(what)?;
            socket.bind(ECHO_PORT).context(what)?;
            let token = self.tokens.request + host as u64;
            match &self.module {
                Some((module, classes)) => {
                    module.echo(token, &socket, UDP_HEAD_BYTES, (FIRST_PORT, classes))?;
                }
                None => poll.add(&socket, token).context(what)?,
            }
            self.echoing[host] = Some(socket);
        }
        Ok(())
    }

    fn open_asking(&self, host: usize, hosts: &Hosts, poll: &Poll) -> Result<Socket, GuestError> {
        let what = || "opening a socket for UDP echoes".to_owned();
        let index = self.probes.len();
        hosts.enter(host)?;
        let socket = Socket::udp().context(what)?;
        socket.bind(FIRST_PORT + index as u16).context(what)?;
        let token = self.tokens.answer + index as u64;
        self.wait_for(poll, &socket, token, UDP_HEAD_BYTES)?;
        Ok(socket)
    }

    /// Sets the run's time zero, on the monotonic clock.
    pub fn set_zero(&mut self, zero_ns: u64) {
        self.sessions.set_zero(zero_ns);
    }

    /// Whether irtt sends the requests.
    pub fn is_session(&self, index: usize) -> bool {
        self.probes[index].kind == ProbeKind::Irtt
    }

    /// Starts irtt, with a duration if the probe has no count.
    pub fn start_session(
        &mut self,
        index: usize,
        probe: &spec::Probe,
        until_end: Time,
        hosts: &Hosts,
    ) -> Result<(), GuestError> {
        let own = &self.probes[index];
        let asked = irtt::ClientRequest {
            index,
            probe,
            from: own.from,
            port: FIRST_PORT + index as u16,
            to: *own.to.ip(),
            length: match own.count {
                0 => until_end,
                count => Time(own.interval.0.saturating_mul(count)).min(until_end),
            },
        };
        self.sessions.start(&asked, hosts)
    }

    /// Whether an irtt client is still running.
    pub fn are_sessions_running(&mut self) -> Result<bool, GuestError> {
        self.sessions.are_running()
    }

    /// Sends the due request. Returns the time of the next.
    pub fn send(&mut self, index: usize, due: Time) -> Result<Option<Time>, GuestError> {
        let what = || "sending an echo request".to_owned();
        let probe = &mut self.probes[index];
        let (head, bytes) = probe.request(index, probe.echoes.len());
        let mut message = vec![0u8; bytes];
        let room = bytes.min(head.len());
        message[..room].copy_from_slice(&head[..room]);
        let socket = socket(&self.icmp, probe);
        socket.traffic_class(probe.class).context(what)?;
        socket.send_to(&message, probe.to).context(what)?;
        self.events += 1;
        probe.keep(due);
        Ok(probe.after(due, probe.echoes.len()))
    }

    /// Lets the module send all requests before the end, the first at this time.
    pub fn send_by_module(
        &mut self,
        index: usize,
        order: u64,
        (first, end): (Time, Time),
    ) -> Result<(), GuestError> {
        let probe = &mut self.probes[index];
        if let Some((module, _)) = &self.module {
            let socket = socket(&self.icmp, probe);
            module.add_source(order, socket, probe.to, Some(probe.class))?;
            probe.next = first;
            probe.plan(module, index, order, end)?;
        }
        Ok(())
    }

    /// The module has sent the next request.
    pub fn was_sent(&mut self, index: usize, order: u64, end: Time) -> Result<(), GuestError> {
        let unplanned = || GuestError::Internal("a request that was not planned".to_owned());
        let probe = self.probes.get_mut(index).ok_or_else(unplanned)?;
        let due = probe.planned.pop_front().ok_or_else(unplanned)?;
        self.events += 1;
        probe.keep(due);
        match &self.module {
            Some((module, _)) if probe.planned.is_empty() => probe.plan(module, index, order, end),
            _ => Ok(()),
        }
    }

    /// Receives from a host's ICMP socket.
    pub fn receive_icmp(&mut self, host: usize, now: Time) -> Result<(), GuestError> {
        let mut head = [0u8; ICMP_HEAD_BYTES];
        loop {
            let socket = self.icmp[host].as_ref();
            let socket = socket.expect("only open sockets are waited for");
            let got = socket.receive(&mut head);
            if got.context(|| "receiving an echo".to_owned())?.is_none() {
                return Ok(());
            }
            self.icmp_has_arrived(&head, now);
        }
    }

    /// ICMP with this beginning has arrived.
    fn icmp_has_arrived(&mut self, head: &[u8], now: Time) {
        let header = head.first().map_or(0, |first| usize::from(first & 0xf) * 4);
        let Some(icmp) = head.get(header..header + ICMP_BYTES) else {
            return;
        };
        let number = |at: usize| u16::from_be_bytes([icmp[at], icmp[at + 1]]);
        let (kind, probe, sequence) = (icmp[0], usize::from(number(4)), number(6));
        let Some(probe) = self.probes.get_mut(probe) else {
            return;
        };
        if let Some(echo) = asked(&mut probe.echoes, &sequence.to_le_bytes(), kind != 8) {
            match kind {
                8 => echo.answered = now,
                _ => echo.received = now,
            }
            self.events += 1;
        }
    }

    /// Echoes UDP requests that arrived at a host.
    pub fn answer_udp(&mut self, host: usize, now: Time) -> Result<(), GuestError> {
        let what = || "echoing a datagram".to_owned();
        let mut message = vec![0u8; 1 << 16];
        loop {
            let socket = self.echoing[host].as_ref();
            let socket = socket.expect("only open sockets are waited for");
            let Some((length, from)) = socket.receive_from(&mut message).context(what)? else {
                return Ok(());
            };
            let index = usize::from(from.port().wrapping_sub(FIRST_PORT));
            let Some(probe) = self.probes.get(index) else {
                continue;
            };
            socket.traffic_class(probe.class).context(what)?;
            socket.send_to(&message[..length], from).context(what)?;
            self.udp_was_answered(index, &message[..length.min(UDP_HEAD_BYTES)], now);
        }
    }

    /// A UDP request of a probe with this beginning was echoed.
    fn udp_was_answered(&mut self, index: usize, head: &[u8], now: Time) {
        if let Some(echo) = asked(&mut self.probes[index].echoes, head, false) {
            echo.answered = now;
        }
        self.events += 1;
    }

    /// Receives UDP replies of a probe.
    pub fn receive_udp(&mut self, index: usize, now: Time) -> Result<(), GuestError> {
        let mut head = [0u8; UDP_HEAD_BYTES];
        loop {
            let socket = self.probes[index].socket.as_ref();
            let socket = socket.expect("only open sockets are waited for");
            let got = socket.receive(&mut head);
            let Some(length) = got.context(|| "receiving an echo".to_owned())? else {
                return Ok(());
            };
            self.udp_has_arrived(index, &head[..length.min(UDP_HEAD_BYTES)], now);
        }
    }

    /// A UDP reply with this beginning has arrived at a probe.
    fn udp_has_arrived(&mut self, index: usize, head: &[u8], now: Time) {
        if let Some(echo) = asked(&mut self.probes[index].echoes, head, true) {
            echo.received = now;
        }
        self.events += 1;
    }

    /// The module has received, or received and sent back.
    pub fn have_arrived(&mut self, index: usize, arrival: &Arrival<'_>, now: Time) {
        let kind = arrival.token - index as u64;
        match kind {
            kind if kind == self.tokens.icmp => self.icmp_has_arrived(arrival.head, now),
            kind if kind == self.tokens.request => {
                self.udp_was_answered(arrival.client, arrival.head, now);
            }
            _ => self.udp_has_arrived(index, arrival.head, now),
        }
    }

    /// Echoes by probe, and the number of messages of irtt. For irtt only round trips that began before the
    /// end count, because it starts later than asked.
    pub fn into_echoes(self, end: Time) -> Result<(Vec<Vec<Echo>>, u64), GuestError> {
        let mut echoes: Vec<_> = self.probes.into_iter().map(|probe| probe.echoes).collect();
        let mut events = self.events;
        for (probe, mut found) in self.sessions.into_echoes()? {
            found.retain(|echo| echo.sent < end);
            events += 2 * found.len() as u64;
            echoes[probe] = found;
        }
        Ok((echoes, events))
    }
}

impl Probe {
    /// The beginning of a request, and the length of its message. The beginning may be longer.
    fn request(&self, index: usize, number: usize) -> (Vec<u8>, usize) {
        match self.kind {
            ProbeKind::Irtt => unreachable!("irtt sends its own"),
            ProbeKind::Ping => {
                let head = messages::echo_request(index as u16, number as u16);
                (head.to_vec(), ICMP_BYTES + self.payload_bytes)
            }
            ProbeKind::Udp => {
                let head = (number as u32).to_le_bytes();
                (head.to_vec(), self.payload_bytes)
            }
        }
    }

    fn keep(&mut self, sent: Time) {
        self.echoes.push(Echo {
            sent,
            answered: Time::NEVER,
            received: Time::NEVER,
        });
    }

    /// Time of the request after one that was the last of so many.
    fn after(&self, due: Time, count: usize) -> Option<Time> {
        let more = self.count == 0 || (count as u64) < self.count;
        more.then(|| due.saturating_add(self.interval))
    }

    /// Gives the module the next requests.
    fn plan(
        &mut self,
        module: &TrafficModule,
        index: usize,
        order: u64,
        end: Time,
    ) -> Result<(), GuestError> {
        let mut requests = Vec::new();
        while self.next < end && requests.len() < PLANNED_AT_ONCE {
            let number = self.echoes.len() + requests.len();
            let (head, bytes) = self.request(index, number);
            self.planned.push_back(self.next);
            requests.push(PlannedDatagram::new(self.next, bytes, &head));
            self.next = self.after(self.next, number + 1).unwrap_or(Time::NEVER);
        }
        match requests.is_empty() {
            true => Ok(()),
            false => module.schedule(order, &requests, self.next >= end),
        }
    }
}

/// The socket over which a probe sends.
fn socket<'a>(icmp: &'a [Option<Socket>], probe: &'a Probe) -> &'a Socket {
    let socket = match probe.kind {
        ProbeKind::Ping => icmp[probe.from].as_ref(),
        _ => probe.socket.as_ref(),
    };
    socket.expect("it was opened with the probe")
}

fn class(probe: &spec::Probe) -> u8 {
    probe.dscp << 2
}

/// The latest request whose number matches as far as the payload holds it; without a number the earliest one
/// waiting.
fn asked<'a>(echoes: &'a mut [Echo], sequence: &[u8], is_answer: bool) -> Option<&'a mut Echo> {
    if sequence.is_empty() {
        let waits = |echo: &&mut Echo| match is_answer {
            true => echo.received == Time::NEVER && echo.answered < Time::NEVER,
            false => echo.answered == Time::NEVER,
        };
        return echoes.iter_mut().find(waits);
    }
    let mut number = [0u8; 4];
    number[..sequence.len()].copy_from_slice(sequence);
    let bits = 8 * sequence.len() as u64;
    let last = echoes.len().checked_sub(1)? as u64;
    let back = last.wrapping_sub(u64::from(u32::from_le_bytes(number))) & ((1 << bits) - 1);
    let index = last.checked_sub(back)?;
    echoes.get_mut(index as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echoes(count: u64) -> Vec<Echo> {
        let sent = |number| Echo {
            sent: Time::from_ns(number),
            answered: Time::NEVER,
            received: Time::NEVER,
        };
        (0..count).map(sent).collect()
    }

    #[test]
    fn a_number_that_has_wrapped_means_the_latest_request_with_it() {
        let mut sent = echoes(300);
        let found = asked(&mut sent, &[5], true).unwrap();
        assert_eq!(found.sent.as_ns(), 261);
        let found = asked(&mut sent, &[43], true).unwrap();
        assert_eq!(found.sent.as_ns(), 299);
        let found = asked(&mut sent, &[1, 1], true).unwrap();
        assert_eq!(found.sent.as_ns(), 257);
        assert!(asked(&mut sent, &[44, 1], true).is_none());
    }

    #[test]
    fn without_a_number_the_earliest_that_waits_is_answered() {
        let mut sent = echoes(3);
        sent[0].answered = Time::from_ns(9);
        assert_eq!(asked(&mut sent, &[], false).unwrap().sent.as_ns(), 1);
        assert_eq!(asked(&mut sent, &[], true).unwrap().sent.as_ns(), 0);
    }
}
