//! Filters that match no packet of any flow or probe.

use crate::capture::addresses;
use crate::qdisc::filter::{Header, Notice};
use crate::qdisc::headers::reversed;
use crate::sim::headers;
use crate::spec::Experiment;
use crate::spec::route::Routes;
use std::collections::HashSet;

/// ECN fields that packets may have.
const ECN: [u8; 4] = [0b00, 0b01, 0b10, 0b11];

/// Filters that match no packet at any of their queues, if all packets are known: those of programs are not.
/// Of equal filters only the first is returned, with the path of its discipline in the resolved description,
/// such as `links[0].forward.qdisc`.
pub fn unmatched_filters(experiment: &Experiment) -> Vec<(String, Notice)> {
    let ends: Vec<_> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let has_filters = ends.iter().any(|end| !end.qdisc.every_filter().is_empty());
    let flows = experiment.flows.len();
    if !has_filters
        || !experiment.programs.is_empty()
        || flows > addresses::MOST_FLOWS
        || experiment.probes.len() > addresses::MOST_PROBES
    {
        return Vec::new();
    }
    let passing = headers_at_queues(experiment);
    let mut matched = HashSet::new();
    for (end, headers) in ends.iter().zip(&passing) {
        for filter in end.qdisc.every_filter() {
            if headers.iter().any(|header| filter.matches(header)) {
                matched.insert(filter.matched_words());
            }
        }
    }
    let mut found = Vec::new();
    for (queue, end) in ends.iter().enumerate() {
        let direction = if queue % 2 == 0 { "forward" } else { "reverse" };
        for filter in end.qdisc.every_filter() {
            // Filters with a notice of their own never match.
            if !filter.is_of_marks() && matched.insert(filter.matched_words()) {
                let path = format!("links[{}].{direction}.qdisc", queue / 2);
                found.push((path, filter.matches_no_flow()));
            }
        }
    }
    found
}

/// The packet headers of the flows and probes that pass each queue.
fn headers_at_queues(experiment: &Experiment) -> Vec<Vec<Header>> {
    let hops = experiment.hops();
    let hosts = experiment.host_indices();
    let flows = experiment.flows.iter();
    let flows = flows.map(|flow| (&flow.from, &flow.to, flow.dscp));
    let probes = experiment.probes.iter();
    let probes = probes.map(|probe| (&probe.from, &probe.to, probe.dscp));
    let senders: Vec<_> = flows
        .chain(probes)
        .map(|(from, to, dscp)| (hosts[from.as_str()], hosts[to.as_str()], dscp))
        .collect();
    let goals = senders.iter().flat_map(|(from, to, _)| [*from, *to]);
    let routes = Routes::new(experiment.hosts.len(), &hops, goals);
    let mut passing = vec![Vec::new(); experiment.links.len() * 2];
    for ((from, to, dscp), there) in senders.into_iter().zip(headers::of_all(experiment)) {
        for (from, to, header) in [(from, to, there), (to, from, reversed(there))] {
            let path = routes.path(&hops, routes.handle(to), from, to);
            for queue in path.unwrap_or_default() {
                let headers = ECN.map(|ecn| Header {
                    tos: dscp << 2 | ecn,
                    ..header
                });
                passing[queue as usize].extend(headers);
            }
        }
    }
    passing
}
