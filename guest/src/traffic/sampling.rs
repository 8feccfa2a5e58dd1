//! Samples of queues and connections, taken here or by the kernel module, and what else the module did.

use super::{DueEvent, Flow, Traffic};
use crate::error::GuestError;
use crate::netlink::{self, Disciplines};
use crate::samples::{Arrival, Item, Sample};
use crate::sys::Done;
use crate::tcp_flow::{self, Seen};
use crate::tokens::{UDP_RECEIVER, parts};
use crate::traffic_module::TrafficModule;
use dumbbell_core::time::Time;

impl Traffic<'_> {
    pub(super) fn sample(&mut self, time: Time) -> Result<(), GuestError> {
        let by_host = self.disciplines()?;
        let mut seen = Vec::new();
        for index in 0..self.flows.len() {
            seen.extend(self.look_at(index)?);
        }
        self.keep_sample(time, &by_host, seen);
        self.plan_sample_after(time);
        Ok(())
    }

    fn plan_sample_after(&mut self, time: Time) {
        let next = time + Time::from_ns(self.experiment.sample_interval_ns);
        let next = Some(next).filter(|next| *next <= self.end);
        self.at(next.unwrap_or(Time::NEVER), DueEvent::Sample);
    }

    /// Keeps the disciplines of every host, and what was seen of every flow over TCP.
    fn keep_sample(&mut self, time: Time, by_host: &[Disciplines], seen: Vec<Seen>) {
        self.records.samples.push((time, self.counters_in(by_host)));
        for (queue, ((host, device, handle), _)) in self.places.iter().enumerate() {
            if let Some(state) = netlink::own_state(&by_host[*host], (*device, *handle)) {
                self.records.own.push(time, queue, state);
            }
        }
        let tcp = self.flows.iter_mut().filter_map(|flow| match flow {
            Flow::Tcp(tcp) => Some(tcp),
            Flow::Udp(_) => None,
        });
        for (tcp, seen) in tcp.zip(seen) {
            tcp.record.samples.push(seen);
        }
    }

    /// The interval and the last time of samples.
    pub(super) fn sampling(&self) -> (Time, Time) {
        let step = Time::from_ns(self.experiment.sample_interval_ns);
        (step, self.end)
    }

    /// Takes over what the module did, in the order in which it did it.
    pub(super) fn was_done(
        &mut self,
        module: &TrafficModule,
        done: &Done,
    ) -> Result<(), GuestError> {
        self.records.latest = self.records.latest.max(Time(done.latest_ps));
        self.due.skip_captures(done.checks);
        if done.kept_bytes == 0 {
            return Ok(());
        }
        let bytes = module.fetch(done)?;
        for item in module.items(&bytes, self.netlink.len())? {
            match item {
                Item::Sample(sample) => self.was_sampled(&sample),
                Item::Sent { order } => self.was_sent(module, order)?,
                Item::Arrived(arrival) => self.has_arrived(module, &arrival)?,
                Item::Opened { order, at, bytes } => self.was_opened(order, at, bytes)?,
                Item::Closed(closed) => self.was_closed(module, &closed),
                Item::Looked { order, ends } => self.was_looked_at(order, &ends),
            }
        }
        Ok(())
    }

    fn was_sampled(&mut self, Sample { at, by_host, ends }: &Sample) {
        let open = tcp_flow::seen_by_flow(ends);
        let flows = self.flows.iter().enumerate();
        let seen = flows.filter_map(|(index, flow)| match flow {
            Flow::Tcp(tcp) => Some(tcp.with_open(open.get(&index))),
            Flow::Udp(_) => None,
        });
        let seen = seen.collect();
        self.keep_sample(*at, by_host, seen);
        self.plan_sample_after(*at);
    }

    fn was_sent(&mut self, module: &TrafficModule, order: u64) -> Result<(), GuestError> {
        match DueEvent::of_source(order) {
            Some(DueEvent::Flow(index)) => {
                if let Some(Flow::Udp(flow)) = self.flows.get_mut(index) {
                    self.records.events += 1;
                    flow.was_sent(&mut self.records.flows[index], module, order)?;
                }
                Ok(())
            }
            Some(DueEvent::Probe(index)) => self.probes.was_sent(index, order, self.end),
            _ => Err(GuestError::Internal(format!("no source {order}"))),
        }
    }

    fn has_arrived(
        &mut self,
        module: &TrafficModule,
        arrival: &Arrival<'_>,
    ) -> Result<(), GuestError> {
        let now = module.since_zero(arrival.at_ns);
        let (kind, index, _) = parts(arrival.token);
        if kind != UDP_RECEIVER {
            self.probes.have_arrived(index, arrival, now);
        } else if let Some(Flow::Udp(flow)) = self.flows.get_mut(index) {
            self.records.events += 1;
            let record = &mut self.records.flows[index];
            flow.has_arrived(record, (arrival.bytes, arrival.head), now)?;
        }
        Ok(())
    }

    /// Lets the module send and open what is due before the next event of this process.
    pub(super) fn send_before_next(&mut self, now: Time) -> Result<(), GuestError> {
        let Some(module) = self.module.clone().filter(|_| self.has_sources) else {
            return Ok(());
        };
        let next = self.due.first();
        let next = next.map_or((Time::NEVER, u64::MAX), |(time, what)| (time, what.order()));
        while module.send_before(now, next)? {
            // A source has sent all of its schedule, and gets the next.
            self.was_done(&module, &module.done()?)?;
        }
        Ok(())
    }
}
