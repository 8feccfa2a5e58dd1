//! What the links on the paths of flows let through.

use super::Packets;
use crate::net::plan::{FastPaths, Role, plan};
use crate::qdisc::{Config, timer_period_ns};
use crate::spec::route::{Hop, Routes};
use crate::spec::{Experiment, LinkEnd};
use dumbbell_tc::qdisc::Loss;
use std::collections::{HashMap, HashSet};

/// One direction of a link.
#[derive(Debug)]
pub(super) struct LinkEstimate {
    /// Largest rate over the run, bit/s; infinite if nothing limits it.
    pub(super) rate_bps: f64,
    /// Smallest delay over the run.
    pub(super) delay_s: f64,
    /// Share of packets lost, without tail drops of the queue.
    pub(super) loss: f64,
    /// Events per packet: one for the departure if the queue or transmitter holds packets, one for the
    /// arrival if there is a delay.
    pub(super) events: f64,
    /// Copies per packet made by the queue.
    copies: f64,
    /// Limit of the queue, packets.
    most_pkts: f64,
    mtu_bytes: u32,
    /// Whether only timestamps of a packet are kept (fast path).
    pub(super) keeps_times: bool,
    pub(super) is_recorded: bool,
    pub(super) is_captured: bool,
    /// Period of the discipline's timer.
    pub(super) timer_period_s: Option<f64>,
    /// Sum of the demands of TCP flows through it, each as if alone, averaged over the run, bit/s.
    demanded_bps: f64,
}

/// Rate, delay, loss, copies and limit of a discipline.
struct Shaped {
    rate_bps: f64,
    delay_s: f64,
    loss: f64,
    copies: f64,
    most_pkts: f64,
    /// Whether packets may wait in it without a transmitter behind it.
    holds_back: bool,
}

fn shaped(config: &Config) -> Shaped {
    let rate_bps = match config.shaped_bps() {
        0 => f64::INFINITY,
        rate_bps => rate_bps as f64,
    };
    let plain = |most_pkts: f64| Shaped {
        rate_bps,
        delay_s: 0.0,
        loss: 0.0,
        copies: 0.0,
        most_pkts,
        holds_back: false,
    };
    let shaping = |most_pkts: f64| Shaped {
        holds_back: true,
        ..plain(most_pkts)
    };
    // A packet in a queue limited in bytes is assumed to have at least 64.
    match config {
        Config::Pfifo(fifo) => plain(f64::from(fifo.limit_packets)),
        Config::Bfifo(fifo) => plain(f64::from(fifo.limit_bytes) / 64.0),
        Config::Netem(netem) => Shaped {
            delay_s: netem.delay_ns.saturating_sub(netem.jitter_ns) as f64 * 1e-9,
            loss: match netem.loss {
                Some(Loss::Random {
                    probability_ppb, ..
                }) => f64::from(probability_ppb) * 1e-9,
                // The share of time in the chain's lossy states is not computed.
                _ => 0.0,
            },
            copies: f64::from(netem.duplicate_ppb) * 1e-9,
            ..shaping(f64::from(netem.limit_packets))
        },
        Config::Tbf(tbf) => shaping(f64::from(tbf.limit_bytes) / 64.0),
        Config::Prio(prio) => shaping(1000.0 * f64::from(prio.bands)),
        Config::Ets(ets) => shaping(1000.0 * f64::from(ets.bands)),
        Config::Drr(drr) => shaping(1000.0 * drr.classes.len() as f64),
        Config::Hfsc(hfsc) => shaping(1000.0 * hfsc.classes.len() as f64),
        Config::Htb(htb) => shaping(1000.0 * (1 + htb.classes.len()) as f64),
        // At most the packets of the MTU that fit its memory limit.
        Config::Cake(_) => shaping(10_240.0),
        Config::Fq(fq) => shaping(f64::from(fq.limit_packets)),
        Config::Dualpi2(dualpi2) => plain(f64::from(dualpi2.limit_packets)),
        Config::Choke(choke) => plain(f64::from(choke.limit_packets)),
        Config::Sfb(sfb) => plain(f64::from(sfb.limit_packets)),
        Config::Sfq(sfq) => plain(f64::from(sfq.limit_packets)),
        // For others Linux's usual limit.
        _ => Shaped {
            holds_back: rate_bps.is_finite(),
            ..plain(10_240.0)
        },
    }
}

impl LinkEstimate {
    fn new(end: &LinkEnd, role: Role) -> LinkEstimate {
        let changes = &end.changes;
        let rates = changes.iter().filter_map(|change| change.rate_bps);
        let rates = rates.chain([end.rate_bps]).map(|rate_bps| match rate_bps {
            0 => f64::INFINITY,
            rate_bps => rate_bps as f64,
        });
        let delays = changes.iter().filter_map(|change| change.delay_ns);
        let delay_ns = delays.fold(end.delay_ns, u64::min);
        let losses = changes.iter().filter_map(|change| change.loss);
        let counted = match end.loss_every_pkts {
            0 => 0.0,
            every => 1.0 / every as f64,
        };
        let shaped = shaped(&end.qdisc);
        let passed = (1.0 - losses.fold(end.loss, f64::min) - counted).max(0.0);
        let policed_bps = end
            .police
            .map_or(f64::INFINITY, |police| police.rate_bps as f64);
        let outline = end.trace.as_ref().map(|trace| trace.outline());
        let is_changed = !changes.is_empty() || outline.is_some();
        let departs = end.rate_bps > 0 || shaped.holds_back || is_changed;
        let arrives = end.delay_ns > 0 || is_changed;
        let most_bps = rates.fold(0.0, f64::max);
        let traced_bps = match outline {
            Some(outline) => outline.most_rate_bps.unwrap_or(f64::INFINITY),
            None => most_bps,
        };
        let traced_ns = match outline {
            Some(outline) if outline.has_way => Some(outline.least_delay_ns.unwrap_or(0)),
            _ => None,
        };
        LinkEstimate {
            rate_bps: traced_bps.min(shaped.rate_bps).min(policed_bps),
            delay_s: traced_ns.unwrap_or(delay_ns) as f64 * 1e-9 + shaped.delay_s,
            loss: 1.0 - passed * (1.0 - shaped.loss),
            events: f64::from(u8::from(departs) + u8::from(arrives)),
            copies: shaped.copies,
            most_pkts: shaped.most_pkts,
            mtu_bytes: end.mtu_bytes,
            keeps_times: matches!(role, Role::Pipe { .. } | Role::Shaped | Role::Folded),
            is_recorded: end.record_packets,
            is_captured: end.capture_flows,
            timer_period_s: timer_period_ns(&end.qdisc).map(|period_ns| period_ns as f64 * 1e-9),
            demanded_bps: 0.0,
        }
    }

    /// Number of arriving packets that leave it.
    pub(super) fn leaving(&self, packets: Packets) -> f64 {
        let sendable = self.rate_bps * packets.active_s / 8.0 / packets.bytes.max(1.0);
        let copied = packets.count * (1.0 + self.copies);
        // Packets queued at the end of sending still leave.
        copied.min(sendable + self.most_pkts)
    }

    /// Number of packets in its queue and in propagation at a time.
    pub(super) fn held(&self, come: f64, leaving: Packets) -> f64 {
        let waiting = match self.rate_bps.is_finite() || self.delay_s > 0.0 {
            true => come.min(self.most_pkts),
            false => 0.0,
        };
        let active_s = leaving.active_s.max(1e-9);
        let under_way = leaving.count * (self.delay_s / active_s).min(1.0);
        (waiting + under_way).min(come + leaving.count)
    }
}

/// All links, and the paths between hosts.
pub(super) struct NetworkPaths<'a> {
    hosts: HashMap<&'a str, u32>,
    hops: Vec<Hop>,
    routes: Routes,
    /// In the order of queues.
    pub(super) ends: Vec<LinkEstimate>,
    in_use: usize,
}

impl<'a> NetworkPaths<'a> {
    pub(super) fn new(experiment: &'a Experiment) -> NetworkPaths<'a> {
        let hosts = experiment.host_indices();
        let hops = experiment.hops();
        let flows = experiment.flows.iter().map(|flow| (&flow.from, &flow.to));
        let probes = { experiment.probes.iter() }.map(|probe| (&probe.from, &probe.to));
        let pairs: Vec<_> = flows.chain(probes).collect();
        let routes = experiment.routes(&hops);
        let planned = plan(experiment, &hops, &routes, FastPaths::On);
        let mut ways = NetworkPaths {
            routes,
            hosts,
            hops,
            ends: { experiment.link_ends().zip(planned) }
                .map(|((_, _, end), planned)| LinkEstimate::new(end, planned.role))
                .collect(),
            in_use: 0,
        };
        let mut in_use = HashSet::new();
        for (from, to) in pairs {
            in_use.extend(ways.between(from, to));
            in_use.extend(ways.between(to, from));
        }
        ways.in_use = in_use.len();
        ways
    }

    /// Adds a TCP flow's demand, as if alone, to each queue of a path.
    pub(super) fn demand(&mut self, way: &[u32], demanded_bps: f64) {
        for queue in way {
            self.ends[*queue as usize].demanded_bps += demanded_bps;
        }
    }

    /// Number of queues on the paths of flows and probes.
    pub(super) fn in_use(&self) -> usize {
        self.in_use
    }

    /// The queues from one host to another; empty if there is no path.
    pub(super) fn between(&self, from: &str, to: &str) -> Vec<u32> {
        let index = |name: &str| *self.hosts.get(name).expect("hosts were checked");
        let row = self.routes.handle(index(to));
        let path = self.routes.path(&self.hops, row, index(from), index(to));
        path.unwrap_or_default()
    }

    fn on<'b>(&'b self, way: &'b [u32]) -> impl Iterator<Item = &'b LinkEstimate> {
        way.iter().map(|queue| &self.ends[*queue as usize])
    }

    /// The largest packet that passes a way.
    pub(super) fn mtu_bytes(&self, way: &[u32]) -> u32 {
        let mtus = self.on(way).map(|end| end.mtu_bytes);
        mtus.min().unwrap_or(u32::from(u16::MAX))
    }

    /// Time of a packet of `bytes` bytes along an idle path.
    pub(super) fn time_s(&self, way: &[u32], bytes: f64) -> f64 {
        let times = self
            .on(way)
            .map(|end| end.delay_s + 8.0 * bytes / end.rate_bps);
        times.sum()
    }

    /// Share of packets lost along a path, without drops of queues.
    pub(super) fn loss(&self, way: &[u32]) -> f64 {
        let passing = self.on(way).map(|end| 1.0 - end.loss);
        1.0 - passing.product::<f64>()
    }

    /// The smallest rate of a path, bit/s; infinite if nothing limits it.
    pub(super) fn rate_bps(&self, way: &[u32]) -> f64 {
        let rates = self.on(way).map(|end| end.rate_bps);
        rates.fold(f64::INFINITY, f64::min)
    }

    /// Share of its demand that a TCP flow gets at its most loaded link: flows share a rate in proportion to
    /// their demands.
    pub(super) fn granted(&self, way: &[u32]) -> f64 {
        let parts = self.on(way).map(|end| end.rate_bps / end.demanded_bps);
        parts.fold(1.0, f64::min)
    }

    /// Number of points on a path at which connections are counted.
    pub(super) fn counted_at(&self, way: &[u32]) -> f64 {
        // Before and after the queue, at the queue's own end.
        let both = |queue: u32| self.ends[queue as usize].is_captured;
        let counted = way.iter().map(|queue| f64::from(u8::from(both(*queue))));
        2.0 * counted.sum::<f64>()
    }
}
