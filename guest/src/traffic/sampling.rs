//! Samples of queues and connections: taken here, or by the kernel module.

use super::{DueEvent, Flow, Traffic};
use crate::error::GuestError;
use crate::netlink::{self, Disciplines};
use crate::samples::Sample;
use crate::sys::Done;
use crate::tcp_flow::{TcpFlow, Totals};
use crate::traffic_module::TrafficModule;
use dumbbell_core::tcp_sample::TcpSample;
use dumbbell_core::time::Time;

impl Traffic<'_> {
    pub(super) fn sample(&mut self, time: Time) -> Result<(), GuestError> {
        let by_host = self.disciplines()?;
        self.keep_sample(time, &by_host, |tcp| tcp.look())?;
        self.plan_sample_after(time);
        Ok(())
    }

    fn plan_sample_after(&mut self, time: Time) {
        let next = time + Time::from_ns(self.experiment.sample_interval_ns);
        let next = Some(next).filter(|next| *next <= self.end);
        self.at(next.unwrap_or(Time::NEVER), DueEvent::Sample);
    }

    fn keep_sample(
        &mut self,
        time: Time,
        by_host: &[Disciplines],
        look: impl Fn(&TcpFlow) -> Result<(Totals, Option<TcpSample>), GuestError>,
    ) -> Result<(), GuestError> {
        self.records.samples.push((time, self.counters_in(by_host)));
        for (queue, ((host, device, handle), _)) in self.places.iter().enumerate() {
            if let Some(state) = netlink::own_state(&by_host[*host], (*device, *handle)) {
                self.records.own.push(time, queue, state);
            }
        }
        for tcp in self.tcp_flows() {
            let seen = look(tcp)?;
            tcp.record.samples.push(seen);
        }
        Ok(())
    }

    /// The interval and the last time of samples, if the module may take them: it looks at the ends of
    /// connections in the order of flows only where each flow has one connection at a time.
    pub(super) fn samples_in_module(&self) -> Option<(Time, Time)> {
        let may_overlap = |flow: &Flow| matches!(flow, Flow::Tcp(tcp) if tcp.may_overlap());
        let step = Time::from_ns(self.experiment.sample_interval_ns);
        (!self.flows.iter().any(may_overlap)).then_some((step, self.end))
    }

    /// Takes over what the module did. Between its samples and now no connection was opened or closed.
    pub(super) fn was_done(
        &mut self,
        module: &TrafficModule,
        done: &Done,
    ) -> Result<(), GuestError> {
        self.records.latest = self.records.latest.max(Time(done.latest_ps));
        self.due.skip_captures(done.checks);
        if done.samples == 0 {
            return Ok(());
        }
        for Sample { at, by_host, ends } in module.samples(done, self.netlink.len())? {
            self.keep_sample(at, &by_host, |tcp| {
                tcp.look_by(|token, _| {
                    let missing = || GuestError::Internal(format!("no end {token} in a sample"));
                    ends.get(&token).copied().ok_or_else(missing)
                })
            })?;
            self.plan_sample_after(at);
        }
        Ok(())
    }
}
