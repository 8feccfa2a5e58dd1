//! Addresses and ports of the packets of a description, as the Linux kernel's hosts have them:
//! `python/dumbbell/spec/topology.py` gives the same addresses, `guest/src/traffic.rs` and
//! `guest/src/probes.rs` the same ports. What Linux chooses freely is chosen here by a rule: a
//! sender's ports follow one another in `ip_local_port_range`.

use crate::spec::route::Routes;
use crate::spec::{Experiment, ProbeKind, Transport};

/// Probe i over UDP asks from this port and i more.
pub(super) const FIRST_PROBE_PORT: u16 = 30_000;
const ECHO_PORT: u16 = 7;
/// `net.ipv4.ip_local_port_range`.
pub(super) const FIRST_LOCAL_PORT: u16 = 32_768;
pub(super) const LOCAL_PORTS: u32 = 28_232;
/// Number of flows that have a port of their own.
pub const MOST_FLOWS: usize = 55_535;
/// Number of probes that have one.
pub const MOST_PROBES: usize = (u16::MAX - FIRST_PROBE_PORT) as usize;
const LINKS_A_NET: usize = 254;

/// Between whom a conversation is.
#[derive(Debug, Clone, Copy)]
pub struct ConversationAddresses {
    /// Of who begins.
    pub source: [u8; 4],
    /// Of who answers or receives.
    pub destination: [u8; 4],
    /// Where it is sent.
    pub destination_port: u16,
    /// What its first connection is sent from; of pings over ICMP the identifier.
    pub source_port: u16,
    /// Whether it is ICMP.
    pub is_icmp: bool,
}

impl ConversationAddresses {
    /// The port that a connection is made from.
    pub fn port_of_connection(&self, connection: u32) -> u16 {
        FIRST_LOCAL_PORT + (connection.wrapping_sub(1) % LOCAL_PORTS) as u16
    }
}

/// The address of the interface of a queue: link i is the network of 24 bits number i.
fn address(queue: u32) -> [u8; 4] {
    let link = queue as usize / 2;
    let (net, subnet) = (link / LINKS_A_NET, link % LINKS_A_NET);
    let host = if queue.is_multiple_of(2) { 1 } else { 2 };
    [10, 10 + net as u8, 1 + subnet as u8, host]
}

/// Of flows, then of probes.
pub fn of(experiment: &Experiment) -> Vec<ConversationAddresses> {
    let hops = experiment.hops();
    let host = |name: &str| experiment.host_index(name).expect("hosts were checked");
    let flows = experiment.flows.iter().map(|flow| (&flow.from, &flow.to));
    let probes = experiment.probes.iter();
    let probes = probes.map(|probe| (&probe.from, &probe.to));
    let pairs: Vec<_> = flows
        .chain(probes)
        .map(|(from, to)| (host(from), host(to)))
        .collect();
    let goals = pairs.iter().map(|(_, to)| *to);
    let routes = Routes::new(experiment.hosts.len(), &hops, goals);
    let ends = pairs.iter().map(|(from, to)| {
        let path = routes.path(&hops, routes.row(*to), *from, *to);
        let path = path.expect("ways were checked");
        let (first, last) = (path[0], path[path.len() - 1]);
        // As Linux chooses: the address of the first interface on the way out.
        (address(first), address(last ^ 1))
    });
    let count = experiment.flows.len();
    ends.enumerate()
        .map(|(index, (source, destination))| {
            let (source_port, destination_port, is_icmp) = match index.checked_sub(count) {
                None => of_flow(experiment, index),
                Some(probe) => of_probe(experiment, probe),
            };
            ConversationAddresses {
                source,
                destination,
                destination_port,
                source_port,
                is_icmp,
            }
        })
        .collect()
}

fn of_flow(experiment: &Experiment, index: usize) -> (u16, u16, bool) {
    let flow = &experiment.flows[index];
    let source_port = match flow.transport {
        Transport::Tcp => FIRST_LOCAL_PORT,
        Transport::Udp => FIRST_LOCAL_PORT + (index as u32 % LOCAL_PORTS) as u16,
    };
    (source_port, flow.port(index), false)
}

fn of_probe(experiment: &Experiment, index: usize) -> (u16, u16, bool) {
    match experiment.probes[index].kind {
        ProbeKind::Ping => (index as u16, index as u16, true),
        // irtt has a port of its own, but never runs here (`spec/simulator.rs`).
        ProbeKind::Udp | ProbeKind::Irtt => (FIRST_PROBE_PORT + index as u16, ECHO_PORT, false),
    }
}
