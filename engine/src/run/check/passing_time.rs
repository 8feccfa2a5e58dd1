//! Checks that time passes on the paths of TCP.
//!
//! A received segment is acknowledged, and the acknowledgement allows more to be sent. If a round trip takes
//! no time, a run never leaves the instant: in the simulator, and also on the kernel in virtual time, whose
//! clock stands still while it computes.

use super::TcpPaths;
use crate::cca::Algorithm;
use crate::qdisc;
use crate::qdisc::filter::Header;
use crate::qdisc::headers::reversed;
use crate::sim::headers;
use crate::spec::{Change, Experiment, Flow, LinkEnd, SpecError, Transport};
use std::collections::BTreeSet;

/// ECN codepoints of packets of a connection with ECN: not ECT, ECT(0), CE.
const WITH_ECN: &[u8] = &[0b00, 0b10, 0b11];
/// ECN codepoints of packets of a connection without ECN.
const WITHOUT_ECN: &[u8] = &[0b00];

/// Refuses a TCP flow whose round trip can take no time, at the start or after a change of a link: such a run
/// does not end on any backend.
pub fn check_passing_time(experiment: &Experiment) -> Result<(), SpecError> {
    let is_tcp = |flow: &&Flow| flow.transport == Transport::Tcp;
    let may_be_instant = { experiment.link_ends() }.any(|(_, _, end)| {
        let may_change = !end.changes.is_empty() || end.trace.is_some();
        end.delay_ns == 0 && end.rate_bps == 0 || may_change
    });
    if !may_be_instant || !experiment.flows.iter().any(|flow| is_tcp(&flow)) {
        return Ok(());
    }
    let ways = TcpPaths::new(experiment);
    let headers = headers::of(experiment);
    for (index, flow) in experiment.flows.iter().enumerate() {
        if !is_tcp(&flow) {
            continue;
        }
        let out = ways.between(&flow.from, &flow.to);
        let back = ways.between(&flow.to, &flow.from);
        let there = headers.get(index).copied().unwrap_or_default();
        let out = out.iter().map(|link| (link, there));
        let links = out.chain(back.iter().map(|link| (link, reversed(there))));
        let way: Vec<_> = { links }
            .map(|(link, header)| (ways.ends[*link as usize], header))
            .collect();
        if let Some(at_ns) = first_without_time(experiment, flow, &way) {
            let path = format!("flows[{index}].to");
            return Err(SpecError::new(path, &flow.to, allowed(at_ns)));
        }
    }
    Ok(())
}

/// The first instant of the run from which the round trip can take no time.
fn first_without_time(
    experiment: &Experiment,
    flow: &Flow,
    way: &[(&LinkEnd, Header)],
) -> Option<u64> {
    let has_ecn = flow.tcp.as_ref().is_some_and(|tcp| {
        // Whether a module needs ECN is known only when it is loaded.
        let may_need = tcp.controller.is_some();
        may_need || tcp.ecn.is_on() || Algorithm::of(tcp).is_some_and(Algorithm::needs_ecn)
    });
    let ecn = if has_ecn { WITH_ECN } else { WITHOUT_ECN };
    let classes: Vec<u8> = ecn.iter().map(|ecn| flow.dscp << 2 | ecn).collect();
    let holds_back = |(end, header): &(&LinkEnd, Header)| {
        let mut classes = classes.iter();
        classes.all(|class| {
            let header = Header {
                tos: *class,
                ..*header
            };
            qdisc::delays_packets(&end.qdisc, &header)
        })
    };
    if way.iter().any(holds_back) {
        return None;
    }
    let changes = way.iter().flat_map(|(end, _)| &end.changes);
    let instants = changes.map(|change| change.at_ns).chain([0]);
    let instants: BTreeSet<u64> = instants.filter(|at| *at < experiment.duration_ns).collect();
    let is_without = |at_ns: &u64| way.iter().all(|(end, _)| is_instant(end, *at_ns));
    instants.into_iter().find(is_without)
}

/// Whether a link has neither rate nor delay from an instant on.
fn is_instant(end: &LinkEnd, at_ns: u64) -> bool {
    let last = |value: fn(&Change) -> Option<u64>| {
        let done = { end.changes.iter().rev() }.filter(|change| change.at_ns <= at_ns);
        done.filter_map(value).next()
    };
    let rate_bps = last(|change| change.rate_bps).unwrap_or(end.rate_bps);
    let delay_ns = last(|change| change.delay_ns).unwrap_or(end.delay_ns);
    let Some(outline) = end.trace.as_ref().map(|trace| trace.outline()) else {
        return rate_bps == 0 && delay_ns == 0;
    };
    // A trace that has given a rate or a delay never takes it back, so only the start counts.
    let least_ns = if outline.has_way {
        outline.least_delay_ns.unwrap_or(0)
    } else {
        delay_ns
    };
    rate_bps == 0 && !outline.has_rate && least_ns == 0
}

fn allowed(at_ns: u64) -> String {
    let needed = "a host on whose way, there or back, a link has a rate or a delay, or a queue that \
                  holds packets back (netem with a delay or a rate, tbf, htb)";
    let when = match at_ns {
        0 => String::new(),
        at_ns => format!("; from {at_ns} ns on nothing does"),
    };
    format!(
        "{needed}{when}: else TCP would send and acknowledge for ever in one instant (queues such \
         as fq_codel, codel, pie, red and prio send whenever they are asked)"
    )
}
