//! Queues that are expected to hold very many packets.
//!
//! On the fast paths (`net/pipe.rs`, `net/shaped.rs`) the timestamps of a waiting packet are kept at its
//! queue and at every later link of the chain. With millions of queued packets this takes more memory than
//! the packets. So a queue that is expected to be that long, from the rates of its senders, takes the
//! ordinary path, with an event for each departure. Results are the same; docs/architecture.md has the cost.

use crate::qdisc::Config;
use crate::spec::route::{Hop, Routes};
use crate::spec::{Experiment, Flow, LinkEnd, Transport};

/// Expected length from which a queue is long, packets. The timestamps of shorter ones take a megabyte or
/// two.
const LONG_PKTS: f64 = 20_000.0;

/// The load of datagrams offered to a queue.
#[derive(Debug, Clone, Copy, Default)]
struct OfferedLoad {
    pkts: f64,
    bits: f64,
    /// Duration of sending, seconds.
    active_s: f64,
}

/// What a queue can send and hold.
struct QueueCapacity {
    rate_bps: f64,
    most_pkts: f64,
}

impl QueueCapacity {
    fn of(end: &LinkEnd, packet_bytes: f64) -> QueueCapacity {
        let in_packets = |limit_bytes: u32| f64::from(limit_bytes) / packet_bytes.max(1.0);
        let rate = |rate_bps: u64| match rate_bps {
            0 => f64::INFINITY,
            rate_bps => rate_bps as f64,
        };
        let (shaped_bps, most_pkts) = match &end.qdisc {
            Config::Pfifo(fifo) => (f64::INFINITY, f64::from(fifo.limit_packets)),
            Config::Bfifo(fifo) => (f64::INFINITY, in_packets(fifo.limit_bytes)),
            Config::Tbf(tbf) => (rate(tbf.rate_bps), in_packets(tbf.limit_bytes)),
            // These take an event for each departure anyway.
            _ => (f64::INFINITY, 0.0),
        };
        QueueCapacity {
            rate_bps: rate(end.rate_bps).min(shaped_bps),
            most_pkts,
        }
    }
}

/// For each directed link, in the order of `Experiment::link_ends`: whether very many packets are expected to
/// wait at once. Uses mean sizes and gaps, and the initial rates. TCP is not considered.
pub fn long_queues(experiment: &Experiment, hops: &[Hop], routes: &Routes) -> Vec<bool> {
    let ends: Vec<&LinkEnd> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let hosts = experiment.host_indices();
    let host = |name: &str| *hosts.get(name).expect("hosts were checked");
    let mut offered = vec![OfferedLoad::default(); ends.len()];
    for flow in &experiment.flows {
        let Some(mut sent) = sent_by(flow, experiment.duration_ns) else {
            continue;
        };
        let (from, to) = (host(&flow.from), host(&flow.to));
        let way = routes.path(hops, routes.handle(to), from, to);
        for link in way.into_iter().flatten() {
            let sum = &mut offered[link as usize];
            sum.pkts += sent.pkts;
            sum.bits += sent.bits;
            sum.active_s = sum.active_s.max(sent.active_s);
            let capacity = QueueCapacity::of(ends[link as usize], sent.bits / 8.0 / sent.pkts);
            let passes = (capacity.rate_bps * sent.active_s / sent.bits).min(1.0);
            sent.pkts *= passes;
            sent.bits *= passes;
        }
    }
    let is_long = |(end, offered): (&&LinkEnd, &OfferedLoad)| {
        let capacity = QueueCapacity::of(end, offered.bits / 8.0 / offered.pkts);
        let excess = 1.0 - capacity.rate_bps * offered.active_s / offered.bits;
        offered.pkts > 0.0 && (offered.pkts * excess).min(capacity.most_pkts) >= LONG_PKTS
    };
    ends.iter().zip(&offered).map(is_long).collect()
}

/// Mean load of a sender of datagrams over the run; None for other senders, and for one that sends nothing.
fn sent_by(flow: &Flow, duration_ns: u64) -> Option<OfferedLoad> {
    if flow.transport == Transport::Tcp {
        return None;
    }
    let active_s = duration_ns.min(flow.stop_ns).saturating_sub(flow.start_ns) as f64 * 1e-9;
    let scheduled = flow.source.parameters().scheduled(active_s)?;
    let bits = 8.0 * scheduled.count * scheduled.size_bytes;
    (bits > 0.0).then_some(OfferedLoad {
        pkts: scheduled.count,
        bits,
        active_s,
    })
}
