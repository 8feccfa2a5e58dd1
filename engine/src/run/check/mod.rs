//! Checks for features that the simulator does not have. The kernel may run such a description, so these
//! checks are separate from those of the description itself.

use crate::capture::addresses;
use crate::cca;
use crate::sim::headers;
use crate::spec::route::{Hop, Routes};
use crate::spec::{Experiment, Flow, LinkEnd, ProbeKind, SpecError, Transport};
use crate::tcp::{IP_HEADER_BYTES, segment};
use std::collections::HashMap;

mod passing_time;
mod unmatched_filters;

pub use passing_time::check_passing_time;
pub use unmatched_filters::unmatched_filters;

/// Smallest MTU for TCP: the largest headers with options, and one byte of payload.
const LEAST_TCP_MTU: u32 = IP_HEADER_BYTES + segment::LARGEST_HEADER_BYTES + 1;

/// Refuses descriptions that cannot be simulated.
pub fn check_simulator(experiment: &Experiment) -> Result<(), SpecError> {
    let has_captures = experiment.link_ends().any(|(_, _, end)| end.is_captured());
    if has_captures || headers::are_looked_at(experiment) {
        let most = [
            ("flows", experiment.flows.len(), addresses::MOST_FLOWS),
            ("probes", experiment.probes.len(), addresses::MOST_PROBES),
        ];
        for (path, count, most) in most {
            if count > most {
                let allowed =
                    format!("at most {most}, where packets are captured or filters look at ports");
                return Err(SpecError::new(path, count, allowed));
            }
        }
    }
    let ways = TcpPaths::new(experiment);
    for (index, flow) in experiment.flows.iter().enumerate() {
        if flow.transport == Transport::Tcp {
            check_tcp(&format!("flows[{index}]"), flow, &ways)?;
        }
    }
    check_passing_time(experiment)?;
    for (index, probe) in experiment.probes.iter().enumerate() {
        if probe.kind == ProbeKind::Irtt {
            let allowed = "ping or udp in the simulator; irtt is a program, which runs on the \
                           kernel (backend `kernel`)";
            return Err(SpecError::new(
                format!("probes[{index}].kind"),
                "irtt",
                allowed,
            ));
        }
    }
    if let Some(program) = experiment.programs.first() {
        let allowed = "no programs in the simulator: they run on the kernel (backend `kernel`)";
        return Err(SpecError::new("programs[0].kind", &program.kind, allowed));
    }
    Ok(())
}

fn check_tcp(path: &str, flow: &Flow, ways: &TcpPaths) -> Result<(), SpecError> {
    let name = flow.tcp.as_ref().map_or("", |tcp| &tcp.congestion_control);
    let is_unknown = { flow.tcp.as_ref() }.is_some_and(|tcp| cca::Algorithm::of(tcp).is_none());
    if is_unknown {
        let path = format!("{path}.tcp.congestion_control");
        let names = cca::NAMES.join(", ");
        let allowed = format!("{names} in the simulator; others run on the kernel");
        return Err(SpecError::new(path, name, allowed));
    }
    let (out, back) = (
        ways.between(&flow.from, &flow.to),
        ways.between(&flow.to, &flow.from),
    );
    if back.is_empty() {
        let allowed = "a host that links lead back from, for acknowledgements";
        return Err(SpecError::new(format!("{path}.to"), &flow.to, allowed));
    }
    let way = out.iter().chain(&back);
    let way = way.map(|link| ways.ends[*link as usize]);
    let mtu = way.map(|end| end.mtu_bytes).min().unwrap_or(0);
    if mtu < LEAST_TCP_MTU {
        let allowed = format!("a way whose links take packets of {LEAST_TCP_MTU} bytes");
        return Err(SpecError::new(format!("{path}.to"), mtu, allowed));
    }
    Ok(())
}

/// The paths of TCP flows, computed once for all of them.
pub(super) struct TcpPaths<'a> {
    hosts: HashMap<&'a str, u32>,
    /// Directed link ends, in the order of queues.
    pub(super) ends: Vec<&'a LinkEnd>,
    hops: Vec<Hop>,
    routes: Routes,
}

impl<'a> TcpPaths<'a> {
    pub(super) fn new(experiment: &'a Experiment) -> TcpPaths<'a> {
        let hosts = experiment.host_indices();
        let hops = experiment.hops();
        let flows = experiment.flows.iter();
        let flows = flows.filter(|flow| flow.transport == Transport::Tcp);
        let ends = flows.flat_map(|flow| [&flow.from, &flow.to]);
        let ends = ends.map(|name| *hosts.get(name.as_str()).expect("hosts were checked"));
        TcpPaths {
            routes: Routes::new(experiment.hosts.len(), &hops, ends),
            ends: experiment.link_ends().map(|(_, _, end)| end).collect(),
            hosts,
            hops,
        }
    }

    /// The links from one host to another; empty if there is no path.
    pub(super) fn between(&self, from: &str, to: &str) -> Vec<u32> {
        let index = |name: &str| *self.hosts.get(name).expect("hosts were checked");
        let row = self.routes.handle(index(to));
        let path = self.routes.path(&self.hops, row, index(from), index(to));
        path.unwrap_or_default()
    }
}
