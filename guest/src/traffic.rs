//! The run: all senders and receivers in one process, which sleeps until something is due. Virtual time
//! stands still while it computes, so it never polls the clock.
//!
//! The send times of sources come from the engine's generators and streams, and each is computed from the
//! previous planned time, as in the simulator: a wakeup delayed by the cost of a clock read does not shift
//! later packets. The recorded send time is the planned one, so a late send counts as delay; the largest
//! lateness is part of the result.

mod counters;
mod due;
mod sampling;
mod transfers;

use crate::capture::Captures;
use crate::controllers;
use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::irtt;
use crate::job::{Job, ipv4};
use crate::probes::{self, Probes};
use crate::programs::Programs;
use crate::records::{FlowRecord, Records};
use crate::sys::{self, Poll, Socket, Timer};
use crate::tcp_flow::{self, TcpFlow};
use crate::tokens::{
    ICMP, PROGRAM, TCP_LISTENER, TCP_RECEIVER, TCP_SENDER, TOKEN_CONNECTION, TOKEN_KIND,
    TOKEN_TIMER, UDP_ANSWER, UDP_RECEIVER, UDP_REQUEST, parts,
};
use crate::traffic_module::{ModuleEvent, TrafficModule};
use crate::udp_flow::UdpFlow;
use due::{CAPTURE_STEP, DueEvent, DueEvents};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::source::FlowStreams;
use dumbbell_spec::{self as spec, Experiment, Transport};
use std::fs::File;
use std::net::SocketAddrV4;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Interval of checks for packets in flight after the end.
const DRAIN_STEP: Time = Time::from_ns(100_000_000);
/// Longest wait after the end, besides the run's own duration.
const DRAIN_LONGEST: Time = Time::from_ns(60_000_000_000);
/// Number of progress reports to the host.
const REPORTS: u64 = 50;

enum Flow {
    Udp(Box<UdpFlow>),
    Tcp(Box<TcpFlow>),
}

/// A run in progress.
pub struct Traffic<'a> {
    job: &'a Job,
    experiment: &'a Experiment,
    hosts: &'a Hosts,
    records: Records,
    flows: Vec<Flow>,
    probes: Probes,
    programs: Option<Programs<'a>>,
    captures: Captures,
    netlink: Vec<Socket>,
    /// Discipline (host, device index, handle) of each queue, and of the one that delays after it.
    places: Vec<(QdiscPlace, Option<QdiscPlace>)>,
    due: DueEvents,
    timer: Timer,
    poll: Poll,
    /// The module that reads and writes for flows and probes, if used.
    module: Option<Rc<TrafficModule>>,
    /// Whether it has sources of datagrams.
    has_sources: bool,
    zero_ns: u64,
    end: Time,
    progress: File,
    drained: bool,
}

type QdiscPlace = (usize, u32, u32);

impl<'a> Traffic<'a> {
    /// Opens every socket.
    pub fn new(
        job: &'a Job,
        experiment: &'a Experiment,
        hosts: &'a Hosts,
    ) -> Result<Traffic<'a>, GuestError> {
        let what = || "preparing the run".to_owned();
        let progress = job.output.join("progress");
        let mut records = Records::default();
        let timer = Timer::new().context(what)?;
        let poll = Poll::new().context(what)?;
        poll.add(&timer, TOKEN_TIMER).context(what)?;
        let module = TrafficModule::of_job(job, &poll, &mut records.module_refused)?.map(Rc::new);
        let mut traffic = Traffic {
            job,
            experiment,
            hosts,
            records,
            flows: Vec::new(),
            probes: Probes::new(
                experiment.hosts.len(),
                probes::Tokens {
                    icmp: ICMP * TOKEN_KIND,
                    request: UDP_REQUEST * TOKEN_KIND,
                    answer: UDP_ANSWER * TOKEN_KIND,
                },
                irtt::Sessions::new(job.irtt.clone(), job.output.clone()),
            ),
            programs: None,
            captures: Captures::new(job, experiment, hosts, module.as_ref())?,
            netlink: Vec::new(),
            places: Vec::new(),
            due: DueEvents::new(),
            timer,
            poll,
            module: module.clone(),
            has_sources: false,
            zero_ns: 0,
            end: Time::from_ns(experiment.duration_ns),
            progress: File::create(&progress).context(what)?,
            drained: false,
        };
        if let Some(module) = module {
            traffic.probes.use_module(module, &experiment.probes);
        }
        for host in 0..experiment.hosts.len() {
            hosts.enter(host)?;
            traffic.netlink.push(Socket::netlink().context(what)?);
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
        traffic.programs = Programs::of_job(job, hosts, &traffic.poll, PROGRAM * TOKEN_KIND)?;
        if let Some(module) = &traffic.module {
            let to_receiver = (TCP_SENDER - TCP_RECEIVER) * TOKEN_KIND;
            module.watch(&traffic.netlink, to_receiver)?;
        }
        traffic.plan_whole_run();
        Ok(traffic)
    }

    fn place(&self, host: usize, device: &str, handle: u32) -> Result<QdiscPlace, GuestError> {
        self.hosts.enter(host)?;
        let index = sys::device_index(device).context(|| format!("looking for {device}"))?;
        Ok((host, index, handle))
    }

    fn host(&self, name: &str) -> usize {
        let index = self.experiment.host_index(name);
        index.expect("hosts were checked") as usize
    }

    fn at(&mut self, time: Time, what: DueEvent) {
        self.due.at(time, what);
    }

    /// The start time with jitter, from the simulator's stream of that name.
    fn start(&self, component: &str, start_ns: u64, jitter_ns: u64) -> Time {
        let (seed, replication) = (self.experiment.seed, self.job.replication);
        let share = Stream::new(seed, replication, &format!("{component}/start")).uniform();
        Time::from_ns(start_ns) + Time::from_seconds(share * jitter_ns as f64 * 1e-9)
    }

    fn open_flow(&mut self, index: usize) -> Result<(), GuestError> {
        let flow = &self.experiment.flows[index];
        let to = SocketAddrV4::new(ipv4(&self.job.flow_addresses[index])?, flow.port(index));
        let start = self.start(
            &format!("flow/{}", flow.name),
            flow.start_ns,
            flow.start_jitter_ns,
        );
        let stop = Time::from_ns(flow.stop_ns).min(self.end);
        let streams = FlowStreams::new(self.experiment.seed, self.job.replication, &flow.name);
        let (opened, first) = match flow.transport {
            Transport::Udp => {
                let mut udp = self.open_udp(index, streams, stop, to)?;
                let mut first = udp.first(start);
                if let (Some(module), true) = (&self.module, first < stop) {
                    udp.send_by(module, DueEvent::Flow(index).order(), first)?;
                    self.has_sources = true;
                    first = Time::NEVER;
                }
                (Flow::Udp(Box::new(udp)), first)
            }
            Transport::Tcp => {
                let mut tcp = self.open_tcp(index, streams, to)?;
                let mut first = tcp.first(start);
                if stop < self.end {
                    self.at(stop, DueEvent::Stop(index));
                }
                if tcp.is_opened_by_module() && first < stop {
                    let of_host = &self.netlink[self.host(&flow.from)];
                    let order = DueEvent::Flow(index).order();
                    tcp.open_by_module(order, (first, stop), of_host)?;
                    self.has_sources = true;
                    first = Time::NEVER;
                }
                (Flow::Tcp(Box::new(tcp)), first)
            }
        };
        if first < stop {
            self.at(first, DueEvent::Flow(index));
        }
        self.records.flows.push(FlowRecord::default());
        self.flows.push(opened);
        Ok(())
    }

    fn open_udp(
        &self,
        index: usize,
        streams: FlowStreams,
        stop: Time,
        to: SocketAddrV4,
    ) -> Result<UdpFlow, GuestError> {
        let flow = &self.experiment.flows[index];
        let ends = (self.host(&flow.from), (self.host(&flow.to), to));
        let warm_up = Time::from_ns(self.experiment.warm_up_ns);
        let token = UDP_RECEIVER * TOKEN_KIND + index as u64;
        let receiver = (&self.poll, self.module.as_deref(), token);
        UdpFlow::open(flow, streams, ends, (warm_up, stop), self.hosts, receiver)
    }

    fn open_tcp(
        &self,
        index: usize,
        streams: FlowStreams,
        to: SocketAddrV4,
    ) -> Result<TcpFlow, GuestError> {
        let flow: &spec::Flow = &self.experiment.flows[index];
        let what = || format!("opening the sockets of flow {}", flow.name);
        let token = |kind: u64| kind * TOKEN_KIND + index as u64;
        let tokens = tcp_flow::Tokens {
            listener: token(TCP_LISTENER),
            sender: token(TCP_SENDER),
            receiver: token(TCP_RECEIVER),
            connection: TOKEN_CONNECTION,
        };
        self.hosts.enter(self.host(&flow.to))?;
        let listener = Socket::tcp().context(what)?;
        let from = self.host(&flow.from);
        let tcp = TcpFlow::new(
            flow,
            streams,
            (from, to),
            listener,
            tokens,
            self.module.clone(),
        )?;
        tcp.wait_for_connections(&self.poll)?;
        Ok(tcp)
    }

    fn open_probe(&mut self, index: usize) -> Result<(), GuestError> {
        let probe = &self.experiment.probes[index];
        let ends = (self.host(&probe.from), self.host(&probe.to));
        let to = SocketAddrV4::new(ipv4(&self.job.probe_addresses[index])?, 0);
        self.probes.open(probe, ends, to, self.hosts, &self.poll)?;
        let first = self.start(
            &format!("probe/{}", probe.name),
            probe.start_ns,
            probe.start_jitter_ns,
        );
        let what = DueEvent::Probe(index);
        if first < self.end && self.module.is_some() && !self.probes.is_session(index) {
            self.has_sources = true;
            let whole = (first, self.end);
            self.probes.send_by_module(index, what.order(), whole)?;
        } else if first < self.end {
            self.at(first, what);
        }
        Ok(())
    }

    fn plan_whole_run(&mut self) {
        for (index, change) in self.job.changes.iter().enumerate() {
            let at = Time::from_ns(change.at_ns);
            if at < self.end {
                self.at(at, DueEvent::Change(index));
            }
        }
        for (task, at) in self.programs.iter().flat_map(Programs::planned) {
            self.due.at(at, DueEvent::Program(task));
        }
        self.at(Time::from_ns(self.experiment.warm_up_ns), DueEvent::WarmUp);
        self.at(self.end, DueEvent::End);
        let sampled = Time::from_ns(self.experiment.sample_interval_ns);
        if sampled > Time::ZERO {
            self.at(sampled, DueEvent::Sample);
        }
        self.at(Time(self.end.0 / REPORTS), DueEvent::Report);
        if !self.captures.is_empty() {
            self.at(CAPTURE_STEP, DueEvent::Capture);
        }
    }

    /// Runs to the end, and until no packets are in flight.
    pub fn run(mut self) -> Result<Records, GuestError> {
        // Starts at a whole second, so that the duration of the set-up does not shift the clock's phase.
        self.zero_ns = (sys::monotonic_ns() / 1_000_000_000 + 2) * 1_000_000_000;
        controllers::set_zero(&self.job.controllers, self.zero_ns)?;
        self.captures.start(self.zero_ns);
        self.probes.set_zero(self.zero_ns);
        if let Some(module) = &self.module {
            module.set_zero(self.zero_ns);
        }
        self.set_timer()?;
        let mut ready = Vec::new();
        while !self.drained {
            let (mut is_due, mut is_rest) = (false, false);
            if let Some(module) = self.module.clone() {
                let waited = module.wait()?;
                (is_due, is_rest) = (waited.is_due, waited.is_rest);
                self.was_done(&module, &waited.done)?;
                // At a time that the module has read.
                let at = match waited.event {
                    ModuleEvent::Nothing | ModuleEvent::Others => None,
                    ModuleEvent::Due { at } => Some(at),
                    ModuleEvent::Over { token, at } => {
                        self.is_over(token, at)?;
                        if is_rest {
                            self.serve_rest(at, u64::MAX)?;
                        }
                        Some(at)
                    }
                };
                if let Some(at) = at {
                    if is_due {
                        self.do_due(at)?;
                        self.set_timer()?;
                    }
                    continue;
                }
            }
            let waited = self.poll.wait().context(|| "waiting".to_owned())?;
            ready.splice(.., waited);
            ready.sort_unstable();
            let Some(now_ns) = sys::monotonic_ns().checked_sub(self.zero_ns) else {
                // Only programs run before time zero: one may have failed.
                self.programs_ended(&ready)?;
                continue;
            };
            let now = Time::from_ns(now_ns);
            self.programs_ended(&ready)?;
            // In the order of tokens.
            for &token in ready.iter().filter(|token| **token < PROGRAM * TOKEN_KIND) {
                if is_rest {
                    self.serve_rest(now, token)?;
                }
                self.is_ready(token, now)?;
            }
            if is_rest {
                self.serve_rest(now, u64::MAX)?;
            }
            if is_due || ready.contains(&TOKEN_TIMER) {
                self.do_due(now)?;
                self.set_timer()?;
            }
        }
        if let Some(module) = self.module.clone() {
            self.was_done(&module, &module.done()?)?;
        }
        if let Some(programs) = self.programs.take() {
            self.records.programs = Some(programs.finish(self.zero_ns)?);
        }
        self.records.passages = self.captures.passages()?;
        let (echoes, events) = self.probes.into_echoes(self.end)?;
        self.records.probes = echoes;
        self.records.events += events;
        for flow in self.flows {
            self.records.tcp.push(match flow {
                Flow::Tcp(tcp) => {
                    self.records.events += tcp.served()?;
                    Some(tcp.record)
                }
                Flow::Udp(_) => None,
            });
        }
        Ok(self.records)
    }

    fn programs_ended(&mut self, ready: &[u64]) -> Result<(), GuestError> {
        let mut all = self.programs.iter_mut();
        all.try_for_each(|each| each.have_ended(ready, &self.poll, PROGRAM * TOKEN_KIND))
    }

    /// Lets the module serve the remaining ready ends with smaller tokens, and handles the results.
    fn serve_rest(&mut self, now: Time, before: u64) -> Result<(), GuestError> {
        let Some(module) = self.module.clone() else {
            return Ok(());
        };
        while let ModuleEvent::Over { token, at } = module.serve_rest(now, before)? {
            self.is_over(token, at)?;
        }
        Ok(())
    }

    /// Handles a receiver of the module that has all bytes, or a sender whose connection is gone.
    fn is_over(&mut self, token: u64, now: Time) -> Result<(), GuestError> {
        let (kind, index, connection) = parts(token);
        let Flow::Tcp(tcp) = &mut self.flows[index] else {
            return Ok(());
        };
        if kind == TCP_SENDER {
            return tcp.close(connection);
        }
        if let Some(next) = tcp.complete(connection, now)? {
            self.plan_flow(index, next);
            self.set_timer()?;
        }
        Ok(())
    }

    /// Handles a ready socket.
    fn is_ready(&mut self, token: u64, now: Time) -> Result<(), GuestError> {
        let (kind, index, connection) = parts(token);
        match kind {
            ICMP => return self.probes.receive_icmp(index, now),
            UDP_REQUEST => return self.probes.answer_udp(index, now),
            UDP_ANSWER => return self.probes.receive_udp(index, now),
            _ => {}
        }
        let tcp = match &mut self.flows[index] {
            Flow::Udp(_) => return self.receive_datagrams(index, now),
            Flow::Tcp(tcp) => tcp,
        };
        self.records.events += 1;
        match kind {
            TCP_LISTENER => tcp.accept(&self.poll),
            TCP_SENDER => tcp.is_ready(&self.poll, connection),
            _ => {
                if let Some(next) = tcp.receive(connection, now)? {
                    self.plan_flow(index, next);
                    self.set_timer()?;
                }
                Ok(())
            }
        }
    }

    /// Schedules the next action of a flow's source, unless it has stopped by then.
    fn plan_flow(&mut self, index: usize, time: Time) {
        let stop = Time::from_ns(self.experiment.flows[index].stop_ns).min(self.end);
        if time < stop {
            self.at(time, DueEvent::Flow(index));
        }
    }

    fn set_timer(&self) -> Result<(), GuestError> {
        if let Some(module) = &self.module {
            return module.plan(self.due.plan(self.sampling()));
        }
        let Some((time, _)) = self.due.first() else {
            return Ok(());
        };
        let at_ns = self.zero_ns.saturating_add(time.0.div_ceil(1000));
        self.timer
            .set(at_ns)
            .context(|| "setting the timer".to_owned())
    }

    fn do_due(&mut self, now: Time) -> Result<(), GuestError> {
        loop {
            self.send_before_next(now)?;
            let Some((time, what)) = self.due.next(now) else {
                return Ok(());
            };
            self.records.latest = self.records.latest.max(now - time);
            match what {
                DueEvent::Change(index) => self.hosts.run(&self.job.changes[index].step)?,
                DueEvent::WarmUp => {
                    self.records.at_warm_up = self.counters()?.0;
                    for index in 0..self.flows.len() {
                        self.keep_totals(index, |record| &mut record.at_warm_up)?;
                    }
                }
                DueEvent::Flow(index) => self.act(index, time)?,
                DueEvent::Stop(index) => self.abort(index)?,
                DueEvent::Probe(index) if self.probes.is_session(index) => {
                    let probe = &self.experiment.probes[index];
                    let left = self.end - time;
                    self.probes.start_session(index, probe, left, self.hosts)?;
                }
                DueEvent::Probe(index) => {
                    let next = self.probes.send(index, time)?;
                    if let Some(next) = next.filter(|next| *next < self.end) {
                        self.at(next, DueEvent::Probe(index));
                    }
                }
                DueEvent::Program(task) => {
                    let programs = self.programs.as_mut().expect("they were planned");
                    programs.start(task, &self.poll, PROGRAM * TOKEN_KIND)?;
                }
                DueEvent::Capture => {
                    self.captures.drain()?;
                    self.at(time + CAPTURE_STEP, DueEvent::Capture);
                }
                DueEvent::Sample => self.sample(time)?,
                DueEvent::Report => self.report(time)?,
                DueEvent::End => {
                    self.records.at_end = self.counters()?.0;
                    for index in 0..self.flows.len() {
                        self.keep_totals(index, |record| &mut record.at_end)?;
                        self.abort(index)?;
                    }
                    self.at(time.saturating_add(DRAIN_STEP), DueEvent::Drain);
                }
                DueEvent::Drain => self.drain(time)?,
            }
        }
    }

    /// Performs the action of a flow's source: sends, writes, or opens a connection.
    fn act(&mut self, index: usize, due: Time) -> Result<(), GuestError> {
        let next = match &mut self.flows[index] {
            Flow::Udp(_) => return self.send_datagram(index, due),
            Flow::Tcp(tcp) => {
                self.hosts.enter(tcp.host())?;
                tcp.act(&self.poll, due)?
            }
        };
        self.records.events += 1;
        if let Some(next) = next {
            self.plan_flow(index, next);
        }
        Ok(())
    }

    fn send_datagram(&mut self, index: usize, due: Time) -> Result<(), GuestError> {
        let Flow::Udp(flow) = &mut self.flows[index] else {
            return Ok(());
        };
        self.records.events += 1;
        if let Some(next) = flow.send(&mut self.records.flows[index], due)? {
            self.at(next, DueEvent::Flow(index));
        }
        Ok(())
    }

    fn receive_datagrams(&mut self, index: usize, now: Time) -> Result<(), GuestError> {
        if let Flow::Udp(flow) = &mut self.flows[index] {
            self.records.events += flow.receive(&mut self.records.flows[index], now)?;
        }
        Ok(())
    }

    fn report(&mut self, time: Time) -> Result<(), GuestError> {
        let share = time.0 as f64 / self.end.0 as f64;
        // One call, because there are fifty of them in a run.
        self.progress
            .write_all_at(format!("{share:.4}").as_bytes(), 0)
            .context(|| "reporting progress".to_owned())?;
        let next = time + Time(self.end.0 / REPORTS);
        if next < self.end {
            self.at(next, DueEvent::Report);
        }
        Ok(())
    }

    /// Ends when all queues are empty and everything had time to arrive.
    fn drain(&mut self, time: Time) -> Result<(), GuestError> {
        let (_, held) = self.counters()?;
        let longest = self.end.saturating_add(self.end) + DRAIN_LONGEST;
        let is_over = held == 0
            && !self.probes.are_sessions_running()?
            && !self.programs.as_ref().is_some_and(Programs::are_running);
        if is_over || time >= longest {
            self.drained = true;
        } else {
            self.at(time + DRAIN_STEP, DueEvent::Drain);
        }
        Ok(())
    }
}
