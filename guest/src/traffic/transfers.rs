//! Flows over TCP whose connections this process or the module opens.

use super::{DueEvent, Flow, Traffic};
use crate::error::GuestError;
use crate::samples::{Closed, Ends};
use crate::tcp_flow::{self, Seen, TcpFlow, TcpRecord, Totals};
use crate::tokens::parts;
use crate::traffic_module::TrafficModule;
use dumbbell_core::time::Time;

impl Traffic<'_> {
    fn tcp_flow(&mut self, index: usize) -> Option<&mut TcpFlow> {
        match self.flows.get_mut(index)? {
            Flow::Tcp(tcp) => Some(tcp),
            Flow::Udp(_) => None,
        }
    }

    /// Totals so far of a flow over TCP, and its sender's state; None of another flow.
    pub(super) fn look_at(&mut self, index: usize) -> Result<Option<Seen>, GuestError> {
        let Some(tcp) = self.tcp_flow(index) else {
            return Ok(None);
        };
        let Some((module, order)) = tcp.opener() else {
            return tcp.look().map(Some);
        };
        module.look_at_transfers(order)?;
        self.was_done(&module, &module.done()?)?;
        let tcp = self.tcp_flow(index);
        tcp.map(TcpFlow::take_seen).transpose()
    }

    /// Keeps the totals so far of a flow over TCP.
    pub(super) fn keep_totals(
        &mut self,
        index: usize,
        place: impl FnOnce(&mut TcpRecord) -> &mut Totals,
    ) -> Result<(), GuestError> {
        let seen = self.look_at(index)?;
        if let (Some(tcp), Some((totals, _))) = (self.tcp_flow(index), seen) {
            *place(&mut tcp.record) = totals;
        }
        Ok(())
    }

    /// Ends all connections of a flow over TCP: nothing more is sent.
    pub(super) fn abort(&mut self, index: usize) -> Result<(), GuestError> {
        let Some(tcp) = self.tcp_flow(index) else {
            return Ok(());
        };
        let Some((module, order)) = tcp.opener() else {
            return tcp.abort();
        };
        module.abort_transfers(order)?;
        self.was_done(&module, &module.done()?)
    }

    /// The module has begun the next transfer of a source.
    pub(super) fn was_opened(
        &mut self,
        order: u64,
        at: Time,
        bytes: u64,
    ) -> Result<(), GuestError> {
        self.records.events += 1;
        let Some(DueEvent::Flow(index)) = DueEvent::of_source(order) else {
            return Err(GuestError::Internal(format!("no source {order}")));
        };
        let tcp = self.tcp_flow(index);
        tcp.map_or(Ok(()), |tcp| tcp.was_opened(at, bytes))
    }

    /// The module has closed the connection of a transfer.
    pub(super) fn was_closed(&mut self, module: &TrafficModule, closed: &Closed) {
        let (_, index, connection) = parts(closed.token);
        let completed = closed.completed_ns.map(|at| module.since_zero(at));
        if let Some(tcp) = self.tcp_flow(index) {
            tcp.was_closed(connection, closed, completed);
        }
    }

    /// The module has looked at the open connections of a source.
    pub(super) fn was_looked_at(&mut self, order: u64, ends: &Ends) {
        if let Some(DueEvent::Flow(index)) = DueEvent::of_source(order)
            && let Some(tcp) = self.tcp_flow(index)
        {
            tcp.was_looked_at(tcp_flow::seen_by_flow(ends).get(&index));
        }
    }
}
