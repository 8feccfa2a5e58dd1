//! The conditions of each role on a link, in one table.
//!
//! They depend on the description only, so they are tested without a running network.

use crate::qdisc::Config;
use crate::qdisc::fifo::Limit;
use crate::sim::rate::Rate;
use crate::sim::time::Time;
use crate::spec::LinkEnd;

/// The condition that decided how packets pass a direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Infinite rate and plain FIFO: no queue can form.
    NoQueueForms,
    /// Plain FIFO, constant rate, and a propagation delay.
    DelayBehindQueue,
    /// Plain FIFO, constant rate, and known times of arrival or at the next link.
    PartOfChain,
    /// `tbf` over a plain FIFO with a propagation delay.
    TokensKnown,
    /// Plain FIFO, constant rate, no propagation delay.
    NoDelayBehindQueue,
    /// The caller asked for an event for each departure.
    FastPathsOff,
    /// A device of the network has `tso` or `gro`.
    Offloads,
    /// Rate, delay or loss change during the run.
    Changes,
    /// Rate, delay or loss follow a trace.
    Trace,
    /// Packets are lost at random or by count, or a discipline damages some (`netem corrupt`).
    Loss,
    /// Each packet is written to the table `packets`.
    Recorded,
    /// Packets are captured at its queue or at the far end.
    Captured,
    /// A policer is in front of the queue.
    Policed,
    /// Very many datagrams are expected to queue (`net/long_queues.rs`).
    LongQueue,
    /// The discipline is neither a plain FIFO nor `tbf`.
    Discipline,
    /// The child of `tbf` is not a plain FIFO.
    TbfChild,
    /// The link has a rate behind `tbf`.
    TbfTransmitter,
    /// The link has no propagation delay behind `tbf`.
    TbfWithoutDelay,
    /// Senders account for their packets in the `tbf` (TCP small queues).
    TbfSmallQueues,
    /// Senders hand down GSO packets to the `tbf`.
    TbfGso,
    /// The limit of the FIFO is smaller than some packets.
    RefusesSome,
    /// Senders hand down GSO packets to a FIFO without a propagation delay outside any chain.
    GsoWithoutDelay,
}

impl Reason {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        self.name_and_words().0
    }

    /// A short description, without a full stop.
    pub fn words(self) -> &'static str {
        self.name_and_words().1
    }

    fn name_and_words(self) -> (&'static str, &'static str) {
        match self {
            Reason::NoQueueForms => (
                "no_queue_forms",
                "infinite rate and a plain FIFO: no queue can form",
            ),
            Reason::DelayBehindQueue => (
                "delay_behind_queue",
                "plain FIFO, constant rate, and a propagation delay",
            ),
            Reason::PartOfChain => (
                "part_of_chain",
                "plain FIFO in a chain of links with known times",
            ),
            Reason::TokensKnown => (
                "tokens_known",
                "tbf over a plain FIFO with a propagation delay",
            ),
            Reason::NoDelayBehindQueue => (
                "no_delay_behind_queue",
                "plain FIFO, constant rate, no propagation delay",
            ),
            Reason::FastPathsOff => ("fast_paths_off", "fast paths are switched off"),
            Reason::Offloads => ("offloads", "a device of the network has tso or gro"),
            Reason::Changes => ("changes", "rate, delay or loss change during the run"),
            Reason::Trace => ("trace", "the link follows a trace"),
            Reason::Loss => ("loss", "packets are lost after the queue"),
            Reason::Recorded => ("recorded", "each packet is recorded"),
            Reason::Captured => ("captured", "packets are captured"),
            Reason::Policed => ("policed", "a policer is in front of the queue"),
            Reason::LongQueue => ("long_queue", "very many datagrams are expected to queue"),
            Reason::Discipline => (
                "discipline",
                "the discipline is neither a plain FIFO nor tbf",
            ),
            Reason::TbfChild => ("tbf_child", "the child of tbf is not a plain FIFO"),
            Reason::TbfTransmitter => ("tbf_transmitter", "the link has a rate behind tbf"),
            Reason::TbfWithoutDelay => (
                "tbf_without_delay",
                "the link has no propagation delay behind tbf",
            ),
            Reason::TbfSmallQueues => (
                "tbf_small_queues",
                "senders account for their packets in tbf (TCP small queues)",
            ),
            Reason::TbfGso => ("tbf_gso", "senders hand down GSO packets to tbf"),
            Reason::RefusesSome => (
                "refuses_some",
                "the limit of the FIFO is smaller than some packets",
            ),
            Reason::GsoWithoutDelay => (
                "gso_without_delay",
                "senders hand down GSO packets, and the link has no propagation delay",
            ),
        }
    }
}

/// The role of a link by itself, without its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::net) enum RoleAlone {
    PassThrough,
    Folded,
    Shaped,
    Queued,
}

/// What the rest of the description implies for a direction of a link.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkContext {
    /// A device of the network has `tso` or `gro`.
    pub has_offloads: bool,
    /// Packets are captured at the far end.
    pub is_captured_arriving: bool,
    /// Very many datagrams are expected to queue in it.
    pub is_long: bool,
    /// A sender whose first link it is uses TCP small queues.
    pub has_small_queues: bool,
    /// Such a sender hands down GSO packets.
    pub has_gso_senders: bool,
}

/// The properties of a direction of a link that decide its role.
#[derive(Debug, Clone)]
pub struct LinkFacts {
    pub(in crate::net) alone: RoleAlone,
    pub(in crate::net) reason: Reason,
    /// No loss, changes, trace, records, captures or policer, and no offloads in the network.
    pub(in crate::net) is_foldable: bool,
    pub(in crate::net) has_delay: bool,
    /// Whether every packet takes time through it, however small.
    pub(in crate::net) takes_time: bool,
    pub(in crate::net) is_plain_fifo: bool,
    /// Whether it can have pending events on the ordinary path.
    pub(in crate::net) may_be_pending: bool,
    /// Whether GSO packets arrive at a place where packets may wait.
    pub(in crate::net) takes_gso: bool,
}

impl LinkFacts {
    /// From a direction of a link. `is_fast` says whether there may be fewer events than one for each
    /// departure.
    pub fn of(end: &LinkEnd, around: LinkContext, is_fast: bool) -> LinkFacts {
        // Destructured without `..`: whoever adds a field must decide here what it means for the fast paths.
        let LinkEnd {
            rate_bps,
            delay_ns,
            mtu_bytes: _,
            overhead_bytes,
            loss,
            loss_every_pkts,
            police,
            qdisc,
            random_marks: _,
            changes,
            trace,
            record_packets,
            capture,
            capture_flows,
            // Offloads of any link count (`LinkContext::has_offloads`).
            tso: _,
            gro_ns: _,
        } = end;
        let obstacles = [
            (around.has_offloads, Reason::Offloads),
            (!changes.is_empty(), Reason::Changes),
            (trace.is_some(), Reason::Trace),
            (
                *loss != 0.0 || *loss_every_pkts != 0 || qdisc.damages(),
                Reason::Loss,
            ),
            (*record_packets, Reason::Recorded),
            (
                *capture || *capture_flows || around.is_captured_arriving,
                Reason::Captured,
            ),
            (police.is_some(), Reason::Policed),
        ];
        let obstacle = first_of(&obstacles);
        let (has_rate, has_delay) = (*rate_bps > 0, *delay_ns > 0);
        let fifo = Limit::of(qdisc);
        let may_be_pending = has_rate || fifo.is_none() || !changes.is_empty() || trace.is_some();
        let is_foldable = obstacle.is_none();
        let takes_gso = around.has_gso_senders && (may_be_pending || !is_foldable);
        let folding = [
            (!is_fast, Reason::FastPathsOff),
            (around.is_long, Reason::LongQueue),
        ];
        let (alone, reason) = if is_foldable && !has_delay && !may_be_pending {
            (RoleAlone::PassThrough, Reason::NoQueueForms)
        } else if let Some(reason) = obstacle.or(first_of(&folding)) {
            (RoleAlone::Queued, reason)
        } else {
            match (fifo, qdisc) {
                (Some(_), _) if has_rate => (RoleAlone::Folded, Reason::NoDelayBehindQueue),
                (Some(limit), _) if limit.admits_any() => {
                    (RoleAlone::PassThrough, Reason::NoQueueForms)
                }
                (Some(_), _) => (RoleAlone::Queued, Reason::RefusesSome),
                (None, Config::Tbf(tbf)) => {
                    let child = tbf.child.as_deref();
                    // Senders would be notified of departures at a turn that only events have.
                    let against = first_of(&[
                        (around.has_small_queues, Reason::TbfSmallQueues),
                        (takes_gso, Reason::TbfGso),
                        (
                            child.is_some_and(|child| Limit::of(child).is_none()),
                            Reason::TbfChild,
                        ),
                        (!has_delay, Reason::TbfWithoutDelay),
                        (has_rate, Reason::TbfTransmitter),
                    ]);
                    against.map_or((RoleAlone::Shaped, Reason::TokensKnown), |reason| {
                        (RoleAlone::Queued, reason)
                    })
                }
                (None, _) => (RoleAlone::Queued, Reason::Discipline),
            }
        };
        let least_bytes = (*overhead_bytes).max(1);
        LinkFacts {
            alone,
            reason,
            is_foldable,
            has_delay,
            takes_time: has_delay
                || has_rate && Rate::new(*rate_bps).time_for(least_bytes) > Time::ZERO,
            is_plain_fifo: fifo.is_some(),
            may_be_pending,
            takes_gso,
        }
    }

    /// Whether transmitted packets arrive at once, unobserved.
    pub(in crate::net) fn is_plain(&self) -> bool {
        self.is_foldable && !self.has_delay
    }

    /// Whether it may be the upstream of another link in a chain: its packets stay in order and none is lost
    /// in propagation.
    pub(in crate::net) fn can_be_upstream(&self) -> bool {
        self.is_foldable && (self.alone == RoleAlone::Folded || self.has_delay)
    }

    /// Whether it may have an upstream in a chain: the outcome of a packet is certain at its arrival.
    pub(in crate::net) fn can_be_downstream(&self) -> bool {
        match self.alone {
            RoleAlone::Folded | RoleAlone::Shaped => true,
            RoleAlone::PassThrough => self.has_delay,
            RoleAlone::Queued => false,
        }
    }

    /// Whether packets pass it in the instant of their arrival.
    pub(in crate::net) fn passes_at_once(&self) -> bool {
        self.alone == RoleAlone::PassThrough && self.is_plain()
    }

    /// Whether packets that arrive while it cannot send may be enqueued later, before it sends: nothing
    /// observes the queue in between.
    pub(in crate::net) fn can_defer_enqueue(&self) -> bool {
        self.alone == RoleAlone::Queued && self.is_foldable && !self.is_plain_fifo
    }
}

/// The first reason that applies.
fn first_of(reasons: &[(bool, Reason)]) -> Option<Reason> {
    let found = reasons.iter().find(|(holds, _)| *holds);
    found.map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tc::parse_qdisc;

    const MS: u64 = 1_000_000;

    fn end(rate_bps: u64, delay_ns: u64, qdisc: &str) -> LinkEnd {
        LinkEnd {
            rate_bps,
            delay_ns,
            mtu_bytes: 1500,
            overhead_bytes: 14,
            loss: 0.0,
            loss_every_pkts: 0,
            police: None,
            qdisc: parse_qdisc(qdisc).unwrap(),
            changes: vec![],
            trace: None,
            record_packets: false,
            capture: false,
            capture_flows: false,
            tso: false,
            gro_ns: None,
            random_marks: false,
        }
    }

    fn decided(end: &LinkEnd, around: LinkContext) -> (RoleAlone, Reason) {
        let facts = LinkFacts::of(end, around, true);
        (facts.alone, facts.reason)
    }

    #[test]
    fn a_link_alone_goes_by_its_discipline_rate_and_delay() {
        let tbf = "tbf rate 1mbit burst 5kb limit 30kb";
        for (rate_bps, delay_ns, qdisc, alone, reason) in [
            (0, 0, "pfifo", RoleAlone::PassThrough, Reason::NoQueueForms),
            (0, MS, "pfifo", RoleAlone::PassThrough, Reason::NoQueueForms),
            (
                0,
                MS,
                "bfifo limit 100b",
                RoleAlone::Queued,
                Reason::RefusesSome,
            ),
            (
                1_000_000,
                0,
                "pfifo",
                RoleAlone::Folded,
                Reason::NoDelayBehindQueue,
            ),
            (0, MS, tbf, RoleAlone::Shaped, Reason::TokensKnown),
            (0, 0, tbf, RoleAlone::Queued, Reason::TbfWithoutDelay),
            (
                1_000_000,
                MS,
                tbf,
                RoleAlone::Queued,
                Reason::TbfTransmitter,
            ),
            (
                1_000_000,
                MS,
                "codel",
                RoleAlone::Queued,
                Reason::Discipline,
            ),
        ] {
            let found = decided(&end(rate_bps, delay_ns, qdisc), LinkContext::default());
            assert_eq!(found, (alone, reason), "{rate_bps} {delay_ns} {qdisc}");
        }
    }

    #[test]
    fn each_obstacle_takes_the_ordinary_path() {
        let plain = end(1_000_000, MS, "pfifo limit 10");
        let ends = [
            (
                LinkEnd {
                    loss: 0.1,
                    ..plain.clone()
                },
                Reason::Loss,
            ),
            (
                LinkEnd {
                    loss_every_pkts: 3,
                    ..plain.clone()
                },
                Reason::Loss,
            ),
            (
                LinkEnd {
                    record_packets: true,
                    ..plain.clone()
                },
                Reason::Recorded,
            ),
            (
                LinkEnd {
                    capture: true,
                    ..plain.clone()
                },
                Reason::Captured,
            ),
            (
                LinkEnd {
                    capture_flows: true,
                    ..plain.clone()
                },
                Reason::Captured,
            ),
        ];
        for (end, reason) in ends {
            let found = decided(&end, LinkContext::default());
            assert_eq!(found, (RoleAlone::Queued, reason));
        }
        let none = LinkContext::default();
        let arounds = [
            (
                LinkContext {
                    has_offloads: true,
                    ..none
                },
                Reason::Offloads,
            ),
            (
                LinkContext {
                    is_captured_arriving: true,
                    ..none
                },
                Reason::Captured,
            ),
            (
                LinkContext {
                    is_long: true,
                    ..none
                },
                Reason::LongQueue,
            ),
        ];
        for (around, reason) in arounds {
            assert_eq!(decided(&plain, around), (RoleAlone::Queued, reason));
        }
    }

    #[test]
    fn senders_that_hear_of_departures_keep_tbf_on_the_ordinary_path() {
        let tbf = end(0, MS, "tbf rate 1mbit burst 5kb limit 30kb");
        let none = LinkContext::default();
        for (around, reason) in [
            (
                LinkContext {
                    has_small_queues: true,
                    ..none
                },
                Reason::TbfSmallQueues,
            ),
            (
                LinkContext {
                    has_gso_senders: true,
                    ..none
                },
                Reason::TbfGso,
            ),
        ] {
            assert_eq!(decided(&tbf, around), (RoleAlone::Queued, reason));
        }
    }
}
