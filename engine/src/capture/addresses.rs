//! Addresses and ports of the packets of a description, the same as those of the Linux kernel's hosts:
//! `python/dumbbell/spec/topology.py` assigns the same addresses, `guest/src/traffic.rs` and
//! `guest/src/probes.rs` the same ports. Ports that Linux chooses freely are assigned by a rule: a sender's
//! ports are consecutive in `ip_local_port_range`.

use crate::spec::route::Routes;
use crate::spec::{Experiment, ProbeKind, Transport};

/// Source port of UDP probe 0; probe i uses the i-th port after it.
pub(super) const FIRST_PROBE_PORT: u16 = 30_000;
const ECHO_PORT: u16 = 7;
/// `net.ipv4.ip_local_port_range`.
pub(super) const FIRST_LOCAL_PORT: u16 = 32_768;
pub(super) const LOCAL_PORTS: u32 = 28_232;
/// Largest number of flows with a port of their own.
pub const MOST_FLOWS: usize = 55_535;
/// Largest number of probes with a port of their own.
pub const MOST_PROBES: usize = (u16::MAX - FIRST_PROBE_PORT) as usize;
const LINKS_A_NET: usize = 254;

/// Addresses and ports of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct ConversationAddresses {
    /// Address of the host that starts it.
    pub source: [u8; 4],
    /// Address of the host that answers or receives.
    pub destination: [u8; 4],
    /// Destination port of its packets.
    pub destination_port: u16,
    /// Source port of its first connection; for ICMP the identifier.
    pub source_port: u16,
    /// Whether it uses ICMP.
    pub is_icmp: bool,
}

impl ConversationAddresses {
    /// The source port of a connection.
    pub fn port_of_connection(&self, connection: u32) -> u16 {
        FIRST_LOCAL_PORT + (connection.wrapping_sub(1) % LOCAL_PORTS) as u16
    }
}

/// The address of a queue's interface: link i is the i-th /24 network.
fn address(queue: u32) -> [u8; 4] {
    let link = queue as usize / 2;
    let (net, subnet) = (link / LINKS_A_NET, link % LINKS_A_NET);
    let host = if queue.is_multiple_of(2) { 1 } else { 2 };
    [10, 10 + net as u8, 1 + subnet as u8, host]
}

/// Addresses of all flows, then of all probes.
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
        let path = routes.path(&hops, routes.handle(*to), *from, *to);
        let path = path.expect("ways were checked");
        let (first, last) = (path[0], path[path.len() - 1]);
        // As in Linux: the address of the outgoing interface.
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
        // irtt has a port of its own but does not run in the simulator (`spec/simulator.rs`).
        ProbeKind::Udp | ProbeKind::Irtt => (FIRST_PROBE_PORT + index as u16, ECHO_PORT, false),
    }
}
