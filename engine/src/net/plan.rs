//! The plan: how packets pass each direction of each link. It is a pure function of the description and the
//! routes, made before any link exists.
//!
//! The conditions of a role on the link itself are in `preconditions`, those on its neighbours in
//! `net/chains.rs`. Links are built from the plan and do not change it.

mod explained;
pub mod preconditions;

use super::chains::{Downstream, LinkNeighbours};
use super::long_queues::long_queues;
use super::turn::{Turn, class};
use crate::spec::route::{Hop, Routes};
use crate::spec::{Experiment, LinkEnd};
pub use explained::{PlanExplanation, explained};
use preconditions::{LinkContext, LinkFacts, Reason, RoleAlone};

/// Whether links may have fewer events than one for each departure. Results are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FastPaths {
    /// Wherever the description allows it.
    #[default]
    On,
    /// Nowhere: the ordinary path on every link, as the reference.
    Off,
}

/// How packets pass a direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// In the instant of their arrival; a propagation delay may follow.
    PassThrough,
    /// Through a `FoldedFifo`.
    Folded,
    /// Through a `Pipe`.
    Pipe {
        /// Whether GSO packets may arrive.
        takes_gso: bool,
    },
    /// Through a `Shaped`.
    Shaped,
    /// Through a discipline and a transmitter, with an event for each departure.
    Queued {
        /// The only upstream link, whose packets it enqueues just before it sends.
        lazy_upstream: Option<u32>,
        /// The pipe into which all packets go in the instant in which they are sent, if it has no other
        /// upstream.
        hands_to: Option<u32>,
    },
}

impl Role {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Role::PassThrough => "pass_through",
            Role::Folded => "folded",
            Role::Pipe { .. } => "pipe",
            Role::Shaped => "shaped",
            Role::Queued { .. } => "queued",
        }
    }

    fn is_pipe(self) -> bool {
        matches!(self, Role::Pipe { .. } | Role::Shaped)
    }
}

/// How packets enter a direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entrance {
    /// From hosts, or by an event each.
    Open,
    /// All from one upstream link, which knows their times in advance.
    Chained {
        /// That link.
        upstream: u32,
    },
    /// From several links, merged in order of arrival.
    Merged {
        /// The turns of the packets of each upstream link.
        turns: Vec<Turn>,
    },
}

/// The plan of a direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPlan {
    /// How packets pass it.
    pub role: Role,
    /// The condition that decided the role.
    pub reason: Reason,
    /// How packets enter it.
    pub entrance: Entrance,
    /// Where its packets go next.
    pub downstream: Downstream,
    /// Whether transmitted packets arrive at once, unobserved.
    pub is_plain: bool,
    /// Whether it can have pending events.
    pub may_be_pending: bool,
    /// Whether senders hand down GSO packets to a place where packets may wait.
    pub takes_gso_packets: bool,
    /// Whether senders whose first link this is account for their packets in its queue.
    pub keeps_small_queues: bool,
}

/// The plan of every direction of every link, in the order of `Experiment::link_ends`. The description has
/// been checked; `routes` lead to both ends of every flow and probe.
pub fn plan(
    experiment: &Experiment,
    hops: &[Hop],
    routes: &Routes,
    fast_paths: FastPaths,
) -> Vec<LinkPlan> {
    let is_fast = fast_paths == FastPaths::On;
    let around = surroundings(experiment, hops, routes);
    let ends = experiment.link_ends();
    let facts: Vec<LinkFacts> = ends
        .zip(&around)
        .map(|((_, _, end), around)| LinkFacts::of(end, *around, is_fast))
        .collect();
    let mut beside = vec![(Entrance::Open, Downstream::Out); facts.len()];
    let mut lazy_upstreams = vec![None; facts.len()];
    let mut sole_downstreams = vec![None; facts.len()];
    if is_fast {
        let sides = LinkNeighbours::new(&facts, ways(experiment, hops, routes));
        for fed in 0..facts.len() {
            match sides.only_before(fed) {
                Some(upstream) => {
                    let downstream = sides.chained(upstream, fed);
                    if sides.is_only_way(upstream, fed) {
                        sole_downstreams[upstream] = Some(fed as u32);
                    }
                    let Some(downstream) = downstream else {
                        continue;
                    };
                    beside[upstream].1 = downstream;
                    match downstream {
                        Downstream::IntoQueue(_) => lazy_upstreams[fed] = Some(upstream as u32),
                        _ => {
                            beside[fed].0 = Entrance::Chained {
                                upstream: upstream as u32,
                            };
                        }
                    }
                }
                None => merge(&facts, &sides, fed, &mut beside),
            }
        }
    }
    let mut planned: Vec<LinkPlan> = { facts.iter().zip(beside).zip(lazy_upstreams).zip(&around) }
        .map(
            |(((facts, (entrance, downstream)), lazy_upstream), around)| {
                let (role, reason) = role(facts, &entrance, downstream, lazy_upstream, is_fast);
                let is_short = matches!(role, Role::Folded | Role::Pipe { .. });
                LinkPlan {
                    role,
                    reason,
                    entrance,
                    downstream,
                    is_plain: facts.is_plain(),
                    // No departure needs an event where a propagation delay follows.
                    may_be_pending: facts.may_be_pending && !(is_short && facts.has_delay),
                    takes_gso_packets: facts.takes_gso,
                    // A packet that passes in an instant is never in a queue.
                    keeps_small_queues: around.has_small_queues && role != Role::PassThrough,
                }
            },
        )
        .collect();
    for (index, downstream) in sole_downstreams.into_iter().enumerate() {
        let next = downstream.filter(|&next| planned[next as usize].role.is_pipe());
        let is_plain = planned[index].is_plain;
        if let Role::Queued { hands_to, .. } = &mut planned[index].role
            && is_plain
        {
            *hands_to = next;
        }
    }
    planned
}

/// The role of a link, given its neighbours.
fn role(
    facts: &LinkFacts,
    entrance: &Entrance,
    downstream: Downstream,
    lazy_upstream: Option<u32>,
    is_fast: bool,
) -> (Role, Reason) {
    let is_fed = *entrance != Entrance::Open;
    let is_chained = is_fed || downstream != Downstream::Out;
    let takes_gso = facts.takes_gso;
    let queued = Role::Queued {
        lazy_upstream,
        hands_to: None,
    };
    match facts.alone {
        RoleAlone::Folded if facts.has_delay => {
            (Role::Pipe { takes_gso }, Reason::DelayBehindQueue)
        }
        RoleAlone::Folded if is_chained => (Role::Pipe { takes_gso }, Reason::PartOfChain),
        RoleAlone::Folded if takes_gso => (queued, Reason::GsoWithoutDelay),
        RoleAlone::Folded => (Role::Folded, facts.reason),
        RoleAlone::PassThrough if is_fed && is_fast => {
            (Role::Pipe { takes_gso }, Reason::PartOfChain)
        }
        RoleAlone::PassThrough => (Role::PassThrough, facts.reason),
        RoleAlone::Shaped => (Role::Shaped, facts.reason),
        RoleAlone::Queued => (queued, facts.reason),
    }
}

/// Merges the packets of several links, and of hosts, in front of a link that they lead into, if all of them
/// allow it.
fn merge(
    facts: &[LinkFacts],
    sides: &LinkNeighbours<'_>,
    fed: usize,
    beside: &mut [(Entrance, Downstream)],
) {
    let takes_part =
        |&&upstream: &&usize| facts[upstream].can_be_upstream() && facts[upstream].takes_time;
    let upstreams: Vec<usize> = { sides.leading_into(fed).iter() }
        .filter(takes_part)
        .copied()
        .collect();
    if upstreams.is_empty() || !facts[fed].can_be_downstream() || !facts[fed].takes_time {
        return;
    }
    let turn_of = |&upstream: &usize| {
        let class = match facts[upstream].has_delay {
            true => class::ARRIVAL,
            false => class::DEPARTURE,
        };
        Turn::new(class, upstream as u32)
    };
    let turns = upstreams.iter().map(turn_of).collect();
    beside[fed].0 = Entrance::Merged { turns };
    for (number, upstream) in (0..).zip(upstreams) {
        beside[upstream].1 = Downstream::Joins {
            link: fed as u32,
            upstream: number,
        };
    }
}

/// What the rest of a description implies for each direction of a link.
fn surroundings(experiment: &Experiment, hops: &[Hop], routes: &Routes) -> Vec<LinkContext> {
    let ends: Vec<&LinkEnd> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let long = long_queues(experiment, hops, routes);
    let has_offloads = experiment.has_offloads();
    let mut all: Vec<LinkContext> = { ends.iter().enumerate().zip(long) }
        .map(|((index, end), is_long)| LinkContext {
            has_offloads,
            is_captured_arriving: end.capture || ends[index ^ 1].capture_flows,
            is_long,
            ..LinkContext::default()
        })
        .collect();
    let hosts = experiment.host_indices();
    for flow in &experiment.flows {
        let Some(tcp) = &flow.tcp else { continue };
        let first_link = routes.next(routes.handle(hosts[&*flow.to]), hosts[&*flow.from]);
        let link = &mut all[first_link as usize];
        link.has_small_queues |= tcp.small_queues;
        link.has_gso_senders |= tcp.gso_max_segs > 1;
    }
    all
}

/// The paths of packets, and the return paths where packets are answered.
fn ways<'a>(
    experiment: &'a Experiment,
    hops: &'a [Hop],
    routes: &'a Routes,
) -> impl Iterator<Item = Vec<u32>> + 'a {
    let hosts = experiment.host_indices();
    // Datagrams are not answered.
    let flows = { experiment.flows.iter() }.map(|flow| (&flow.from, &flow.to, flow.tcp.is_some()));
    let probes = { experiment.probes.iter() }.map(|probe| (&probe.from, &probe.to, true));
    let directions = flows.chain(probes).flat_map(|(from, to, is_answered)| {
        [Some((from, to)), is_answered.then_some((to, from))]
            .into_iter()
            .flatten()
    });
    directions.filter_map(move |(from, to)| {
        let (from, to) = (hosts[from.as_str()], hosts[to.as_str()]);
        routes.path(hops, routes.handle(to), from, to)
    })
}
