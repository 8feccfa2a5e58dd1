//! The queues that packets pass, and where the times of packets at them are known.
//!
//! A host sees only when it sends and receives. But if only one queue of a path can hold packets, there is no
//! loss and links do not change, the times at every hop follow: before that queue from the send time, after
//! it from the receive time.

use dumbbell_core::datagram;
use dumbbell_core::time::Time;
use dumbbell_spec::route::Routes;
use dumbbell_spec::{Experiment, Flow, LinkEnd, ProbeKind, SizeAt, Transport};

/// One direction of a conversation.
#[derive(Debug)]
pub struct PathLeg {
    /// Flows, then probes.
    pub conversation: usize,
    /// Whether it carries replies or acknowledgements.
    pub reply: bool,
    /// Queues in the order passed.
    pub path: Vec<usize>,
    /// The queue that may hold packets, as an index in the path.
    pub holding: Option<usize>,
    /// Whether the times at its queues can be computed.
    pub known: bool,
}

/// Whether a queue may hold packets, or a policer drop them.
pub fn holds(end: &LinkEnd) -> bool {
    end.rate_bps > 0 || end.police.is_some() || !end.qdisc.is_plain_fifo()
}

/// All directions in use.
pub fn legs(experiment: &Experiment) -> Vec<PathLeg> {
    let ends: Vec<&LinkEnd> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let hops = experiment.hops();
    let host = |name: &str| experiment.host_index(name).expect("hosts were checked");
    let flows = experiment.flows.iter();
    let over_tcp = |flow: &Flow| flow.transport == Transport::Tcp;
    let pairs = flows.map(|flow| (host(&flow.from), host(&flow.to), over_tcp(flow)));
    let probes = experiment.probes.iter();
    let pairs = pairs.chain(probes.map(|probe| (host(&probe.from), host(&probe.to), true)));
    let mut legs = Vec::new();
    for (conversation, (from, to, answered)) in pairs.enumerate() {
        for (reply, from, to) in [(false, from, to), (true, to, from)] {
            if reply && !answered {
                continue;
            }
            let routes = Routes::new(experiment.hosts.len(), &hops, [to]);
            let path = routes.path(&hops, routes.handle(to), from, to);
            let path: Vec<usize> = path
                .expect("routes were checked")
                .into_iter()
                .map(|queue| queue as usize)
                .collect();
            let mut holding = (0..path.len()).filter(|place| holds(ends[path[*place]]));
            let first = holding.next();
            let alone = holding.next().is_none();
            let constant =
                |end: &LinkEnd| end.loss == 0.0 && end.changes.is_empty() && end.police.is_none();
            let constant = path.iter().all(|queue| constant(ends[*queue]));
            legs.push(PathLeg {
                conversation,
                reply,
                holding: first,
                known: alone && constant && is_planned(experiment, conversation),
                path,
            });
        }
    }
    legs
}

/// Whether the send times of a conversation are known: those of TCP only to the kernel, those of irtt only to
/// irtt.
fn is_planned(experiment: &Experiment, conversation: usize) -> bool {
    match experiment.flows.get(conversation) {
        Some(flow) => flow.transport != Transport::Tcp,
        None => {
            let probe = &experiment.probes[conversation - experiment.flows.len()];
            probe.kind != ProbeKind::Irtt
        }
    }
}

/// Smallest MTU of a path.
pub fn mtu(experiment: &Experiment, leg: &PathLeg) -> u32 {
    let ends: Vec<&LinkEnd> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let mtus = leg.path.iter().map(|queue| ends[*queue].mtu_bytes);
    mtus.min().expect("a path has a link")
}

/// Number of IP packets of a datagram, and their total bytes. An ideal packet is one.
pub fn packets(size: u32, size_at: SizeAt, mtu: u32) -> (u64, u64) {
    match size_at {
        SizeAt::Wire => (1, u64::from(size)),
        SizeAt::Payload => {
            let packets = datagram::packets(0, 0, size, mtu, Time::ZERO);
            packets.fold((0, 0), |(count, bytes), packet| {
                (count + 1, bytes + u64::from(packet.bytes))
            })
        }
    }
}
