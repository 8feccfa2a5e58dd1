//! Small descriptions for behaviour tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use dumbbell_engine::qdisc::Config;
use dumbbell_engine::spec::law::Law;
use dumbbell_engine::spec::source::{Renewal, Replay};
use dumbbell_engine::spec::tcp::Tcp;
use dumbbell_engine::spec::{
    Ecn, Experiment, Flow, Host, Link, LinkEnd, Probe, ProbeKind, SizeAt, Source, Transport,
};
use dumbbell_tc::qdisc::Pfifo;

pub const S: u64 = 1_000_000_000;
pub const MS: u64 = 1_000_000;

pub fn pfifo(limit_packets: u32) -> Config {
    Config::Pfifo(Pfifo { limit_packets })
}

/// A direction of a link with an Ethernet header, no delay and a queue that never fills.
pub fn end(rate_bps: u64) -> LinkEnd {
    LinkEnd {
        rate_bps,
        delay_ns: 0,
        mtu_bytes: 1500,
        overhead_bytes: 14,
        loss: 0.0,
        loss_every_pkts: 0,
        qdisc: pfifo(1_000_000_000),
        changes: vec![],
        trace: None,
        record_packets: false,
        capture: false,
        capture_flows: false,
        tso: false,
        gro_ns: None,
        random_marks: false,
        police: None,
    }
}

pub fn link(a: &str, b: &str, forward: LinkEnd) -> Link {
    Link {
        a: a.into(),
        b: b.into(),
        forward,
        reverse: end(0),
    }
}

pub fn source(gap: Law, size: Law) -> Source {
    Source::Renewal(Renewal {
        gap,
        size,
        size_at: SizeAt::Wire,
    })
}

pub fn exponential(mean: f64) -> Law {
    Law::Exponential { mean }
}

pub fn constant(value: f64) -> Law {
    Law::Constant { value }
}

pub fn flow(name: &str, from: &str, to: &str, source: Source) -> Flow {
    Flow {
        name: name.into(),
        from: from.into(),
        to: to.into(),
        start_ns: 0,
        stop_ns: 200 * 86_400 * S,
        start_jitter_ns: 0,
        dscp: 0,
        ecn: Ecn::NotEct,
        port: None,
        transport: Transport::Udp,
        tcp: None,
        source,
    }
}

/// Packets of given sizes at given instants, sizes on the wire.
pub fn trace(name: &str, from: &str, to: &str, packets: &[(u64, u32)]) -> Flow {
    let (times_ns, sizes_bytes) = packets.iter().copied().unzip();
    let size_at = SizeAt::Wire;
    flow(
        name,
        from,
        to,
        Source::Replay(Replay {
            times_ns,
            sizes_bytes,
            size_at,
        }),
    )
}

pub fn ping(name: &str, from: &str, to: &str, interval_ns: u64, count: u64) -> Probe {
    Probe {
        name: name.into(),
        kind: ProbeKind::Ping,
        from: from.into(),
        to: to.into(),
        interval_ns,
        count,
        payload_bytes: 56,
        start_ns: 0,
        start_jitter_ns: 0,
        dscp: 0,
    }
}

pub fn experiment(links: Vec<Link>, flows: Vec<Flow>, probes: Vec<Probe>) -> Experiment {
    let mut names: Vec<&String> = links.iter().flat_map(|l| [&l.a, &l.b]).collect();
    names.sort();
    names.dedup();
    let hosts = names
        .into_iter()
        .map(|name| Host { name: name.clone() })
        .collect();
    Experiment {
        schema: 1,
        name: "test".into(),
        seed: 1,
        duration_ns: 10 * S,
        warm_up_ns: 0,
        sample_interval_ns: 0,
        timer_hz: 1000,
        observe: None,
        record_writes: false,
        guest: None,
        programs: Vec::new(),
        kernel: None,
        hosts,
        links,
        flows,
        probes,
    }
}

pub fn checked(experiment: &Experiment) -> Experiment {
    let text = serde_json::to_string(experiment).unwrap();
    Experiment::from_json(&text).unwrap()
}

/// Linux's TCP, but one that fills the queue of its own host, as if that stood on a router.
pub fn without_small_queues(controller: &str) -> Tcp {
    Tcp {
        small_queues: false,
        ..Tcp::linux(controller)
    }
}

pub fn tcp_flow(name: &str, from: &str, to: &str, source: Source, tcp: Tcp) -> Flow {
    Flow {
        transport: Transport::Tcp,
        tcp: Some(tcp),
        ..flow(name, from, to, source)
    }
}

/// A host, a bottleneck of this rate and queue, and a host; half of the round-trip time each way.
pub fn bottleneck(rate_bps: u64, rtt_ns: u64, queue: Config) -> Link {
    let forward = LinkEnd {
        delay_ns: rtt_ns / 2,
        qdisc: queue,
        ..end(rate_bps)
    };
    let reverse = LinkEnd {
        delay_ns: rtt_ns / 2,
        ..end(0)
    };
    Link {
        a: "a".into(),
        b: "b".into(),
        forward,
        reverse,
    }
}
