//! Which queues packets pass, and where their instants there are known.
//!
//! A host sees when it sends and when it receives, not what happens between. But where only one
//! queue of a way holds packets back, nothing is lost on purpose and links do not change, the instants at every hop
//! follow: those before that queue from the sending, those after it from the receiving.

use dumbbell_core::datagram;
use dumbbell_core::time::Time;
use dumbbell_spec::route::Routes;
use dumbbell_spec::{Experiment, Flow, LinkEnd, ProbeKind, SizeAt, Transport};

/// One way of one conversation.
#[derive(Debug)]
pub struct PathLeg {
    /// Flows, then probes.
    pub conversation: usize,
    /// Answers to echo requests, acknowledgements.
    pub reply: bool,
    /// Queues in the order passed.
    pub path: Vec<usize>,
    /// The queue of it that may hold packets back, as a place in the path.
    pub holding: Option<usize>,
    /// Whether the instants at its queues can be known.
    pub known: bool,
}

/// Whether a queue may hold packets back, or a policer keep them.
pub fn holds(end: &LinkEnd) -> bool {
    end.rate_bps > 0 || end.police.is_some() || !end.qdisc.is_plain_fifo()
}

/// Every way in use.
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
            let path = routes.path(&hops, routes.row(to), from, to);
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

/// Whether it is known when a conversation sends: of TCP only the kernel knows, of irtt only irtt.
fn is_planned(experiment: &Experiment, conversation: usize) -> bool {
    match experiment.flows.get(conversation) {
        Some(flow) => flow.transport != Transport::Tcp,
        None => {
            let probe = &experiment.probes[conversation - experiment.flows.len()];
            probe.kind != ProbeKind::Irtt
        }
    }
}

/// Smallest MTU of a way.
pub fn mtu(experiment: &Experiment, leg: &PathLeg) -> u32 {
    let ends: Vec<&LinkEnd> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let mtus = leg.path.iter().map(|queue| ends[*queue].mtu_bytes);
    mtus.min().expect("a path has a link")
}

/// IP packets of a datagram: how many, and their bytes together. An ideal packet is one.
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
