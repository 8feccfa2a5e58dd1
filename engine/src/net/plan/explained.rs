//! The plan as a document for `dumbbell run --explain`: the role of each queue and the reason.

use super::{Entrance, FastPaths, LinkPlan, Role, plan};
use crate::net::chains::Downstream;
use crate::spec::Experiment;
use serde::Serialize;

/// The plan of one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanExplanation {
    /// Name of its queue.
    pub queue: String,
    /// How packets pass it.
    pub role: &'static str,
    /// The condition that decided the role.
    pub reason: &'static str,
    /// The condition in words.
    pub because: &'static str,
    /// The upstream link whose packets are known here before they arrive; null for none.
    pub chained_to: Option<String>,
    /// The links whose packets are merged before they enter.
    pub merged_from: Vec<String>,
    /// The link whose packets are enqueued just before the next transmission; null for none.
    pub deferred_from: Option<String>,
    /// The link that its packets enter without an event in between; null for none or several.
    pub leads_into: Option<String>,
}

/// The plan of a checked description at each queue, in their order.
pub fn explained(experiment: &Experiment, fast_paths: FastPaths) -> Vec<PlanExplanation> {
    let hops = experiment.hops();
    let routes = experiment.routes(&hops);
    let names = experiment.queue_names();
    let name = |link: u32| names[link as usize].clone();
    let explain = |(queue, planned): (&String, LinkPlan)| {
        let (deferred_from, hands_to) = match planned.role {
            Role::Queued {
                lazy_upstream,
                hands_to,
            } => (lazy_upstream, hands_to),
            _ => (None, None),
        };
        let (chained_to, merged_from) = match planned.entrance {
            Entrance::Open => (None, vec![]),
            Entrance::Chained { upstream, .. } => (Some(name(upstream)), vec![]),
            Entrance::Merged { turns } => {
                let upstreams = turns.iter().map(|turn| name(turn.component()));
                (None, upstreams.collect())
            }
        };
        let leads_into = match planned.downstream {
            Downstream::Out | Downstream::ByRoute => hands_to,
            Downstream::Into(link)
            | Downstream::IntoQueue(link)
            | Downstream::Joins { link, .. } => Some(link),
        };
        PlanExplanation {
            queue: queue.clone(),
            role: planned.role.name(),
            reason: planned.reason.name(),
            because: planned.reason.words(),
            chained_to,
            merged_from,
            deferred_from: deferred_from.map(name),
            leads_into: leads_into.map(name),
        }
    };
    let plan = plan(experiment, &hops, &routes, fast_paths);
    names.iter().zip(plan).map(explain).collect()
}
