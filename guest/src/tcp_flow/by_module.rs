//! Transfers whose connections the module opens and closes: what it gets, and what it did.

use super::{ConnectionNumber, Seen, TcpFlow, Tokens};
use crate::error::GuestError;
use crate::samples::{Closed, Ends};
use crate::sys::{PlannedTransfer, Socket, SourceOfTransfers, TransferTokens};
use crate::tokens::{TCP_RECEIVER, TCP_SENDER, TOKEN_KIND, parts};
use crate::traffic_module::TrafficModule;
use dumbbell_core::time::Time;
use dumbbell_spec::source::{Supply, TransferSize, Transfers};
use std::collections::HashMap;
use std::rc::Rc;

/// Number of transfers that the module gets at a time.
const PLANNED_AT_ONCE: usize = 256;

/// The module as it opens a flow's connections.
pub(super) struct ByModule {
    module: Rc<TrafficModule>,
    order: u64,
    /// Transfers begin before that.
    stop: Time,
    /// Number of transfers that the module has and has not yet begun.
    waiting: usize,
    /// Time of the transfer after those, or its pause after the one before; None after the last.
    next: Option<Time>,
    /// What was seen last of the flow's connections.
    seen: Option<Seen>,
}

impl ByModule {
    /// Number of times connections were accepted.
    pub(super) fn accepted(&self, tokens: Tokens) -> Result<u64, GuestError> {
        Ok(self.module.moved(tokens.listener)?.served)
    }
}

impl TcpFlow {
    /// Whether the module opens its connections: those of transfers that end.
    pub fn is_opened_by_module(&self) -> bool {
        let ends = |transfers: &Transfers| transfers.size != TransferSize::Unlimited;
        self.module.is_some() && matches!(&self.supply, Supply::Transfers(each) if ends(each))
    }

    /// Lets the module open connections, the first of them at `first`, none from `stop` on. `of_host` is
    /// any socket of the sending host.
    pub fn open_by_module(
        &mut self,
        order: u64,
        (first, stop): (Time, Time),
        of_host: &Socket,
    ) -> Result<(), GuestError> {
        let Some(module) = self.module.clone() else {
            return Ok(());
        };
        module.add_transfers(&SourceOfTransfers {
            order,
            tokens: TransferTokens {
                listener: self.tokens.listener,
                receiver: self.tokens.receiver,
                sender: self.tokens.sender,
                step: self.tokens.connection,
            },
            listener: &self.listener,
            of_host,
            to: self.to,
            waits_for_end: !self.may_overlap(),
            options: &self.sender_options()?,
            write_bytes: self.write_bytes().unwrap_or(0),
            window_bytes: self.settings.receive_window_bytes,
            stop,
        })?;
        self.by_module = Some(ByModule {
            module,
            order,
            stop,
            waiting: 0,
            next: Some(first),
            seen: None,
        });
        self.plan_transfers()
    }

    /// Gives the module the next transfers.
    fn plan_transfers(&mut self) -> Result<(), GuestError> {
        let (Some(by_module), Supply::Transfers(transfers)) =
            (&mut self.by_module, &mut self.supply)
        else {
            return Ok(());
        };
        let mut planned = Vec::new();
        while let Some(at) = by_module.next
            && planned.len() < PLANNED_AT_ONCE
            && let Some(bytes) = transfers.begin()
        {
            planned.push(PlannedTransfer { at_ps: at.0, bytes });
            by_module.next = if transfers.may_overlap() {
                let pause = transfers.pause_after_start();
                let next = pause.map(|pause| at.saturating_add(pause));
                next.filter(|next| *next < by_module.stop)
            } else {
                transfers.pause_after_end()
            };
        }
        by_module.waiting = planned.len();
        if planned.is_empty() {
            return Ok(());
        }
        let is_last = by_module.next.is_none();
        let module = &by_module.module;
        module.schedule_transfers(by_module.order, &planned, is_last)
    }

    /// The module has begun the next transfer.
    pub fn was_opened(&mut self, at: Time, bytes: u64) -> Result<(), GuestError> {
        self.count_start(bytes, at)?;
        let Some(by_module) = &mut self.by_module else {
            return Ok(());
        };
        by_module.waiting = by_module.waiting.saturating_sub(1);
        match by_module.waiting {
            0 => self.plan_transfers(),
            _ => Ok(()),
        }
    }

    /// The module has closed a connection, after all had arrived at `completed`.
    pub fn was_closed(
        &mut self,
        which: ConnectionNumber,
        closed: &Closed,
        completed: Option<Time>,
    ) {
        self.add_last(&closed.sender, closed.receiver.as_ref());
        if let (Some(at), Some(transfer)) = (completed, self.transfer(which)) {
            transfer.completed = at;
        }
    }

    /// Totals with those of open connections.
    pub fn with_open(&self, open: Option<&Seen>) -> Seen {
        let (totals, sample) = open.copied().unwrap_or_default();
        (self.closed.plus(&totals), sample)
    }

    /// The module has looked at the open connections.
    pub fn was_looked_at(&mut self, open: Option<&Seen>) {
        let seen = self.with_open(open);
        if let Some(by_module) = &mut self.by_module {
            by_module.seen = Some(seen);
        }
    }

    /// The module and the source's order, if the module opens its connections.
    pub fn opener(&self) -> Option<(Rc<TrafficModule>, u64)> {
        let by_module = self.by_module.as_ref()?;
        Some((Rc::clone(&by_module.module), by_module.order))
    }

    /// What the module has seen of it when it was asked.
    pub fn take_seen(&mut self) -> Result<Seen, GuestError> {
        let seen = self.by_module.as_mut().and_then(|each| each.seen.take());
        seen.ok_or_else(|| GuestError::Internal("a flow that was not looked at".to_owned()))
    }
}

/// What was seen of the connections of each flow, by its number.
pub fn seen_by_flow(ends: &Ends) -> HashMap<usize, Seen> {
    let mut all: HashMap<usize, Seen> = HashMap::new();
    for (&of, sender) in ends {
        let (kind, index, which) = parts(of);
        if kind != TCP_SENDER {
            continue;
        }
        let receiver = ends.get(&(of - (TCP_SENDER - TCP_RECEIVER) * TOKEN_KIND));
        let (totals, sample) = all.entry(index).or_default();
        let state = totals.add(sender, receiver);
        *sample = (which == 0).then_some(state);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::SeenEnd;
    use crate::sys::TCP_INFO_BYTES;
    use crate::tokens::TOKEN_CONNECTION;
    use crate::traffic_module::EndCounters;

    fn end(bytes: u64) -> SeenEnd {
        let moved = EndCounters {
            bytes,
            ..EndCounters::default()
        };
        let info = [0; TCP_INFO_BYTES];
        SeenEnd { info, moved }
    }

    #[test]
    fn ends_belong_to_the_flow_of_their_token() {
        let sender =
            |flow: u64, which: u64| TCP_SENDER * TOKEN_KIND + which * TOKEN_CONNECTION + flow;
        let receiver = TCP_RECEIVER * TOKEN_KIND + 2 * TOKEN_CONNECTION + 5;
        let ends = [
            (sender(5, 1), end(10)),
            (sender(5, 2), end(200)),
            (receiver, end(150)),
            (sender(7, 0), end(3)),
        ];
        let seen = seen_by_flow(&ends.into_iter().collect());
        let (totals, sample) = seen[&5];
        assert_eq!(totals.written_payload_bytes, 210);
        assert_eq!(totals.received_payload_bytes, 150);
        assert!(sample.is_none() && seen[&7].1.is_some());
        assert_eq!(seen.len(), 2);
    }
}
