//! The run itself: every sender and every receiver in one process that sleeps until something
//! is due. Time stands still while it computes, so it never loops on the clock.
//!
//! The instants at which sources send are those of the engine's generators and streams, and the
//! next one is counted from the one planned, as in the simulator: a wake that is late by the
//! price of a clock read does not move the packets after it. What is noted as the instant of
//! sending is the one planned too, so that a late sender shows as delay and is not hidden; how
//! late the latest was is part of the result.

use crate::error::{Doing, GuestError};
use crate::hosts::Hosts;
use crate::job::Job;
use crate::messages::{self, Datagram};
use crate::netlink::{self, Counted, Disciplines};
use crate::sys::{self, Poll, Socket, Timer};
use dumbbell_engine::sim::random::Stream;
use dumbbell_engine::sim::time::Time;
use dumbbell_engine::spec::Experiment;
use dumbbell_engine::traffic::{FlowStreams, Generator};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Seek, Write};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Flow i is received at this port and i more.
const FIRST_PORT: u16 = 10_000;
/// After the end, packets under way are waited for; looks at the queues are so far apart.
const DRAIN_STEP: Time = Time::from_ns(100_000_000);
/// The longest wait after the end, besides the run's own duration.
const DRAIN_LONGEST: Time = Time::from_ns(60_000_000_000);
/// How often the host is told how far the run is.
const REPORTS: u64 = 50;

/// An echo request and its answer; `NEVER` where something did not arrive.
#[derive(Debug, Clone, Copy)]
pub struct Echo {
    /// The request was due to be sent.
    pub sent: Time,
    /// It reached the host that answers.
    pub answered: Time,
    /// The answer was received.
    pub received: Time,
}

/// What one flow did.
#[derive(Debug, Default)]
pub struct FlowRecord {
    /// In the order sent.
    pub datagrams: Vec<Datagram>,
    /// Sent in the measured window, by the instants planned.
    pub sent_datagrams: u64,
    /// Their sizes.
    pub sent_bytes: u64,
}

/// Counters of a queue's discipline and of what delays after it.
pub type QueueCounters = (Counted, Counted);

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Records {
    /// By flow.
    pub flows: Vec<FlowRecord>,
    /// By probe.
    pub probes: Vec<Vec<Echo>>,
    /// Counters at the end of the warm-up, by queue.
    pub at_warm_up: Vec<QueueCounters>,
    /// Counters at the end.
    pub at_end: Vec<QueueCounters>,
    /// Counters at the sampling instants.
    pub samples: Vec<(Time, Vec<QueueCounters>)>,
    /// Messages sent and received.
    pub events: u64,
    /// The longest that something was done after it was due.
    pub latest: Time,
}

/// What is due, in the simulator's order at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Change(usize),
    WarmUp,
    Flow(usize),
    Probe(usize),
    Sample,
    Report,
    End,
    Drain,
}

struct Flow {
    generator: Generator,
    stop: Time,
    sender: Socket,
    receiver: Socket,
    to: SocketAddrV4,
    /// How many of the datagrams sent have been received or given up.
    seen: usize,
}

struct Probe {
    host: usize,
    to: SocketAddrV4,
    interval: Time,
    count: u64,
    payload_bytes: usize,
    class: u8,
}

/// A run under way.
pub struct Traffic<'a> {
    job: &'a Job,
    experiment: &'a Experiment,
    hosts: &'a Hosts,
    records: Records,
    flows: Vec<Flow>,
    probes: Vec<Probe>,
    /// By host, where probes start or end.
    icmp: Vec<Option<Socket>>,
    netlink: Vec<Socket>,
    /// (host, device index, handle) by queue, and of what delays after it.
    places: Vec<(Place, Option<Place>)>,
    due: BinaryHeap<Reverse<(Time, Due)>>,
    timer: Timer,
    poll: Poll,
    zero_ns: u64,
    end: Time,
    progress: File,
    buffer: Vec<u8>,
    drained: bool,
}

type Place = (usize, u32, u32);

const TOKEN_TIMER: u64 = u64::MAX;
const TOKEN_ICMP: u64 = 1 << 32;

impl<'a> Traffic<'a> {
    /// Opens every socket.
    pub fn new(
        job: &'a Job,
        experiment: &'a Experiment,
        hosts: &'a Hosts,
    ) -> Result<Traffic<'a>, GuestError> {
        let what = || "preparing the run".to_owned();
        let progress = job.output.join("progress");
        let mut traffic = Traffic {
            job,
            experiment,
            hosts,
            records: Records::default(),
            flows: Vec::new(),
            probes: Vec::new(),
            icmp: experiment.hosts.iter().map(|_| None).collect(),
            netlink: Vec::new(),
            places: Vec::new(),
            due: BinaryHeap::new(),
            timer: Timer::new().doing(what)?,
            poll: Poll::new().doing(what)?,
            zero_ns: 0,
            end: Time::from_ns(experiment.duration_ns),
            progress: File::create(&progress).doing(what)?,
            buffer: vec![0; 1 << 16],
            drained: false,
        };
        traffic.poll.add(&traffic.timer, TOKEN_TIMER).doing(what)?;
        for host in 0..experiment.hosts.len() {
            hosts.enter(host)?;
            traffic.netlink.push(Socket::netlink().doing(what)?);
        }
        for queue in &job.queues {
            let place = traffic.place(queue.host, &queue.device, queue.handle)?;
            let after = queue.propagation.as_ref();
            let after = after.map(|(host, device, handle)| traffic.place(*host, device, *handle));
            traffic.places.push((place, after.transpose()?));
        }
        for index in 0..experiment.flows.len() {
            traffic.open_flow(index)?;
        }
        for index in 0..experiment.probes.len() {
            traffic.open_probe(index)?;
        }
        traffic.plan_whole_run();
        Ok(traffic)
    }

    fn place(&self, host: usize, device: &str, handle: u32) -> Result<Place, GuestError> {
        self.hosts.enter(host)?;
        let index = sys::device_index(device).doing(|| format!("looking for {device}"))?;
        Ok((host, index, handle))
    }

    fn host(&self, name: &str) -> usize {
        let index = self.experiment.host_index(name);
        index.expect("hosts were checked") as usize
    }

    fn at(&mut self, time: Time, what: Due) {
        self.due.push(Reverse((time, what)));
    }

    /// The start with its jitter, from the simulator's stream of that name.
    fn start(&self, component: &str, start_ns: u64, jitter_ns: u64) -> Time {
        let (seed, replication) = (self.experiment.seed, self.job.replication);
        let share = Stream::new(seed, replication, &format!("{component}/start")).uniform();
        Time::from_ns(start_ns) + Time::from_seconds(share * jitter_ns as f64 * 1e-9)
    }

    fn open_flow(&mut self, index: usize) -> Result<(), GuestError> {
        let flow = &self.experiment.flows[index];
        let what = || format!("opening the sockets of flow {}", flow.name);
        let port = FIRST_PORT + index as u16;
        self.hosts.enter(self.host(&flow.to))?;
        let receiver = Socket::udp().doing(what)?;
        receiver.bind(port).doing(what)?;
        self.poll.add(&receiver, index as u64).doing(what)?;
        self.hosts.enter(self.host(&flow.from))?;
        let sender = Socket::udp().doing(what)?;
        sender
            .traffic_class(flow.dscp << 2 | flow.ecn.bits())
            .doing(what)?;
        let streams = FlowStreams::new(self.experiment.seed, self.job.replication, &flow.name);
        let mut generator = Generator::new(&flow.source, streams);
        let start = self.start(
            &format!("flow/{}", flow.name),
            flow.start_ns,
            flow.start_jitter_ns,
        );
        let first = generator.next_gap().map(|gap| start.saturating_add(gap));
        let stop = Time::from_ns(flow.stop_ns).min(self.end);
        if let Some(first) = first.filter(|first| *first < stop) {
            self.at(first, Due::Flow(index));
        }
        let to = SocketAddrV4::new(ipv4(&self.job.flow_addresses[index])?, port);
        self.records.flows.push(FlowRecord::default());
        self.flows.push(Flow {
            generator,
            stop,
            sender,
            receiver,
            to,
            seen: 0,
        });
        Ok(())
    }

    fn open_probe(&mut self, index: usize) -> Result<(), GuestError> {
        let probe = &self.experiment.probes[index];
        let (from, to) = (self.host(&probe.from), self.host(&probe.to));
        for host in [from, to] {
            if self.icmp[host].is_none() {
                let what = || "opening a socket for echo requests".to_owned();
                self.hosts.enter(host)?;
                let socket = Socket::icmp().doing(what)?;
                self.poll
                    .add(&socket, TOKEN_ICMP + host as u64)
                    .doing(what)?;
                self.icmp[host] = Some(socket);
            }
        }
        let first = self.start(
            &format!("probe/{}", probe.name),
            probe.start_ns,
            probe.start_jitter_ns,
        );
        if first < self.end {
            self.at(first, Due::Probe(index));
        }
        self.records.probes.push(Vec::new());
        self.probes.push(Probe {
            host: from,
            to: SocketAddrV4::new(ipv4(&self.job.probe_addresses[index])?, 0),
            interval: Time::from_ns(probe.interval_ns),
            count: probe.count,
            payload_bytes: probe.payload_bytes as usize,
            class: probe.dscp << 2,
        });
        Ok(())
    }

    fn plan_whole_run(&mut self) {
        for (index, change) in self.job.changes.iter().enumerate() {
            let at = Time::from_ns(change.at_ns);
            if at < self.end {
                self.at(at, Due::Change(index));
            }
        }
        self.at(Time::from_ns(self.experiment.warm_up_ns), Due::WarmUp);
        self.at(self.end, Due::End);
        if self.experiment.sample_interval_ns > 0 {
            self.at(
                Time::from_ns(self.experiment.sample_interval_ns),
                Due::Sample,
            );
        }
        self.at(Time(self.end.0 / REPORTS), Due::Report);
    }

    /// Runs to the end, and on until nothing is under way.
    pub fn run(mut self) -> Result<Records, GuestError> {
        // From a whole second on: what the set-up took cannot move the run against the clock.
        self.zero_ns = (sys::monotonic_ns() / 1_000_000_000 + 2) * 1_000_000_000;
        self.set_timer()?;
        let mut ready = Vec::new();
        while !self.drained {
            let waited = self.poll.wait().doing(|| "waiting".to_owned())?;
            ready.clear();
            ready.extend(waited);
            ready.sort_unstable();
            let Some(now_ns) = sys::monotonic_ns().checked_sub(self.zero_ns) else {
                continue;
            };
            let now = Time::from_ns(now_ns);
            for &token in ready.iter().filter(|token| **token != TOKEN_TIMER) {
                if token >= TOKEN_ICMP {
                    self.receive_echoes((token - TOKEN_ICMP) as usize, now)?;
                } else {
                    self.receive_datagrams(token as usize, now)?;
                }
            }
            if ready.contains(&TOKEN_TIMER) {
                self.do_due(now)?;
                self.set_timer()?;
            }
        }
        Ok(self.records)
    }

    fn set_timer(&self) -> Result<(), GuestError> {
        let Some(Reverse((time, _))) = self.due.peek() else {
            return Ok(());
        };
        let at_ns = self.zero_ns.saturating_add(time.0.div_ceil(1000));
        self.timer
            .set(at_ns)
            .doing(|| "setting the timer".to_owned())
    }

    fn do_due(&mut self, now: Time) -> Result<(), GuestError> {
        while let Some(&Reverse((time, what))) = self.due.peek() {
            if time > now {
                break;
            }
            self.due.pop();
            self.records.latest = self.records.latest.max(now - time);
            match what {
                Due::Change(index) => self.hosts.run(&self.job.changes[index].step)?,
                Due::WarmUp => self.records.at_warm_up = self.counters()?.0,
                Due::Flow(index) => self.send_datagram(index, time)?,
                Due::Probe(index) => self.send_echo(index, time)?,
                Due::Sample => self.sample(time)?,
                Due::Report => self.report(time)?,
                Due::End => {
                    self.records.at_end = self.counters()?.0;
                    self.at(time.saturating_add(DRAIN_STEP), Due::Drain);
                }
                Due::Drain => self.drain(time)?,
            }
        }
        Ok(())
    }

    fn send_datagram(&mut self, index: usize, due: Time) -> Result<(), GuestError> {
        let flow = &mut self.flows[index];
        let size = flow.generator.next_size();
        let payload = messages::payload_bytes(size, flow.generator.size_at());
        let record = &mut self.records.flows[index];
        let number = record.datagrams.len() as u32;
        self.buffer[..4].copy_from_slice(&number.to_le_bytes());
        flow.sender
            .send_to(&self.buffer[..payload], flow.to)
            .doing(|| format!("sending {payload} bytes"))?;
        record.datagrams.push(Datagram {
            size,
            created: due,
            delivered: Time::NEVER,
        });
        if due >= Time::from_ns(self.experiment.warm_up_ns) {
            record.sent_datagrams += 1;
            record.sent_bytes += u64::from(size);
        }
        self.records.events += 1;
        let next = flow.generator.next_gap().map(|gap| due.saturating_add(gap));
        if let Some(next) = next.filter(|next| *next < flow.stop) {
            self.at(next, Due::Flow(index));
        }
        Ok(())
    }

    fn receive_datagrams(&mut self, index: usize, now: Time) -> Result<(), GuestError> {
        let mut head = [0u8; 4];
        loop {
            let flow = &mut self.flows[index];
            let got = flow.receiver.receive(&mut head);
            let Some(length) = got.doing(|| "receiving".to_owned())? else {
                return Ok(());
            };
            let datagrams = &mut self.records.flows[index].datagrams;
            let at = messages::find(
                datagrams,
                flow.seen,
                length,
                &head,
                flow.generator.size_at(),
            );
            let at = at.ok_or_else(|| {
                GuestError::Internal(format!("a datagram of {length} bytes nobody sent"))
            })?;
            datagrams[at].delivered = now;
            flow.seen = flow.seen.max(at + 1);
            self.records.events += 1;
        }
    }

    fn send_echo(&mut self, index: usize, due: Time) -> Result<(), GuestError> {
        let probe = &self.probes[index];
        let echoes = &mut self.records.probes[index];
        let sequence = echoes.len() as u16;
        let message = messages::echo_request(index as u16, sequence, probe.payload_bytes);
        let socket = self.icmp[probe.host].as_ref();
        let socket = socket.expect("it was opened with the probe");
        let what = || "sending an echo request".to_owned();
        socket.traffic_class(probe.class).doing(what)?;
        socket.send_to(&message, probe.to).doing(what)?;
        echoes.push(Echo {
            sent: due,
            answered: Time::NEVER,
            received: Time::NEVER,
        });
        self.records.events += 1;
        let more = probe.count == 0 || (echoes.len() as u64) < probe.count;
        let next = due.saturating_add(probe.interval);
        if more && next < self.end {
            self.at(next, Due::Probe(index));
        }
        Ok(())
    }

    fn receive_echoes(&mut self, host: usize, now: Time) -> Result<(), GuestError> {
        let mut head = [0u8; 68];
        loop {
            let socket = self.icmp[host].as_ref();
            let socket = socket.expect("only open sockets are waited for");
            let got = socket.receive(&mut head);
            if got.doing(|| "receiving an echo".to_owned())?.is_none() {
                return Ok(());
            }
            let header = usize::from(head[0] & 0xf) * 4;
            let icmp = &head[header..];
            let number = |at: usize| u16::from_be_bytes([icmp[at], icmp[at + 1]]);
            let (kind, probe, sequence) = (icmp[0], usize::from(number(4)), number(6));
            let Some(echoes) = self.records.probes.get_mut(probe) else {
                continue;
            };
            // The sequence number has 16 bits: the latest request that has these.
            let last = echoes.len().wrapping_sub(1);
            let back = usize::from((last as u16).wrapping_sub(sequence));
            let Some(echo) = last
                .checked_sub(back)
                .and_then(|index| echoes.get_mut(index))
            else {
                continue;
            };
            match kind {
                8 => echo.answered = now,
                _ => echo.received = now,
            }
            self.records.events += 1;
        }
    }

    fn sample(&mut self, time: Time) -> Result<(), GuestError> {
        let counters = self.counters()?.0;
        self.records.samples.push((time, counters));
        let next = time + Time::from_ns(self.experiment.sample_interval_ns);
        if next <= self.end {
            self.at(next, Due::Sample);
        }
        Ok(())
    }

    fn report(&mut self, time: Time) -> Result<(), GuestError> {
        let share = time.0 as f64 / self.end.0 as f64;
        let what = || "reporting progress".to_owned();
        self.progress.rewind().doing(what)?;
        write!(self.progress, "{share:.4}").doing(what)?;
        let next = time + Time(self.end.0 / REPORTS);
        if next < self.end {
            self.at(next, Due::Report);
        }
        Ok(())
    }

    /// Ends when no queue holds anything, and everything had time to arrive.
    fn drain(&mut self, time: Time) -> Result<(), GuestError> {
        let (_, held) = self.counters()?;
        let longest = self.end.saturating_add(self.end) + DRAIN_LONGEST;
        if held == 0 || time >= longest {
            self.drained = true;
        } else {
            self.at(time + DRAIN_STEP, Due::Drain);
        }
        Ok(())
    }

    /// The counters of every queue, and the packets that disciplines hold.
    fn counters(&self) -> Result<(Vec<QueueCounters>, u64), GuestError> {
        let by_host: Result<Vec<Disciplines>, _> =
            self.netlink.iter().map(netlink::disciplines).collect();
        let by_host = by_host?;
        let held = by_host.iter().flat_map(|found| found.values());
        let held = held.map(|counted| u64::from(counted.backlog_pkts)).sum();
        let of = |(host, device, handle): Place| {
            by_host[host]
                .get(&(device, handle))
                .copied()
                .unwrap_or_default()
        };
        let counters = self.places.iter();
        let counters =
            counters.map(|(queue, after)| (of(*queue), after.map(of).unwrap_or_default()));
        Ok((counters.collect(), held))
    }
}

fn ipv4(text: &str) -> Result<Ipv4Addr, GuestError> {
    let parsed = text.parse();
    parsed.map_err(|_| GuestError::Job(format!("{text} is no address")))
}
