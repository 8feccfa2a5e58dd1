//! Builds a network at time zero from a checked description.

use crate::cca::Algorithm;
use crate::cca::external::Module;
use crate::net::link::Link;
use crate::net::plan::{FastPaths, plan};
use crate::net::queued::AfterQueue;
use crate::net::transmitter::Transmitter;
use crate::qdisc::filter::Header;
use crate::qdisc::{self, Above, Config, Ends, Setting};
use crate::sim::headers;
use crate::sim::link_statistics::Observation;
use crate::sim::random::Stream;
use crate::sim::time::Time;
use crate::spec::route::{Hop, Routes};
use crate::spec::source::{FlowStreams, Generator};
use crate::spec::tcp::{Controller, Ecn as Feedback};
use crate::spec::{Ecn, Experiment, Flow, LinkEnd, Probe, Tcp};
use crate::tcp::Settings;
use crate::traffic::conversation::{Application, Conversation, ConversationPath};
use crate::traffic::ping::Ping;
use crate::traffic::tcp_flow::{ConnectionStreams, TcpFlow};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Number of distinct settings that a new flow's are compared with, the latest first.
const MOST_COMPARED: usize = 16;

/// The parts of a network at time zero.
pub struct NetworkParts {
    /// Directed link ends.
    pub links: Vec<Link>,
    /// Flows, then probes.
    pub conversations: Vec<Conversation>,
    /// First send time of each conversation; `NEVER` for none.
    pub first_sends: Vec<Time>,
    /// Routes to every host that receives packets.
    pub routes: Routes,
}

struct Builder<'a> {
    experiment: &'a Experiment,
    replication: u64,
    hosts: HashMap<&'a str, u32>,
    hops: Vec<Hop>,
    routes: Routes,
    /// Forward packet headers of flows, then probes; empty if no filter uses them.
    headers: Arc<[Header]>,
    /// MTU of each directed link.
    mtus_bytes: Vec<u32>,
    /// Discipline of each directed link.
    qdiscs: Vec<&'a Config>,
    /// TCP settings, each distinct set once: equal flows share the memory.
    settings: RefCell<Vec<Arc<Settings>>>,
    modules: &'a HashMap<Controller, Module>,
}

impl NetworkParts {
    /// Builds the network of a checked description. `modules` has all controllers that its flows name.
    pub fn new(
        experiment: &Experiment,
        replication: u64,
        fast_paths: FastPaths,
        modules: &HashMap<Controller, Module>,
    ) -> NetworkParts {
        let hops = experiment.hops();
        let hosts = experiment.host_indices();
        let routes = experiment.routes(&hops);
        let builder = Builder {
            experiment,
            replication,
            headers: headers::of(experiment),
            hosts,
            hops,
            routes,
            mtus_bytes: experiment
                .link_ends()
                .map(|(_, _, end)| end.mtu_bytes)
                .collect(),
            qdiscs: experiment
                .link_ends()
                .map(|(_, _, end)| &end.qdisc)
                .collect(),
            settings: RefCell::default(),
            modules,
        };
        let flows = experiment.flows.iter().enumerate();
        let flows = flows.map(|(index, flow)| {
            let header = builder.headers.get(index).copied();
            builder.flow(header.unwrap_or_default(), flow)
        });
        let probes = experiment.probes.iter().map(|probe| builder.probe(probe));
        let (conversations, first_sends): (Vec<Conversation>, _) = flows.chain(probes).unzip();
        let mut links = builder.links(fast_paths);
        for conversation in &conversations {
            let is_paced =
                { conversation.tcp() }.is_some_and(|flow| flow.settings().is_paced_by_host);
            links[conversation.first_link as usize].paces_senders |= is_paced;
        }
        NetworkParts {
            links,
            conversations,
            first_sends,
            routes: builder.routes,
        }
    }
}

impl Builder<'_> {
    fn stream(&self, component: &str) -> Stream {
        Stream::new(self.experiment.seed, self.replication, component)
    }

    fn links(&self, fast_paths: FastPaths) -> Vec<Link> {
        let plan = plan(self.experiment, &self.hops, &self.routes, fast_paths);
        let names = self.experiment.queue_names();
        let conversations = self.conversations();
        let observed = self.experiment.observed_queues();
        let all: Vec<_> = self.experiment.link_ends().map(|(_, _, end)| end).collect();
        let ends = all.iter().zip(&plan).zip(&self.hops).zip(names).enumerate();
        ends.map(|(index, (((end, planned), hop), name))| {
            let setting = Setting {
                overhead_bytes: end.overhead_bytes,
                mtu_bytes: end.mtu_bytes,
                timer_hz: self.experiment.timer_hz,
                random_marks: end.random_marks,
                above: if end.has_transmitter() {
                    Above::Shaper
                } else {
                    Above::Device
                },
                seed: self.experiment.seed,
                replication: self.replication,
                name: format!("queue/{name}"),
                is_root: true,
                ends: Arc::clone(&conversations),
                headers: Arc::clone(&self.headers),
            };
            let behind = AfterQueue {
                transmitter: self.transmitter(end, &name),
                loss_stream: self.stream(&format!("link/{name}/loss")),
            };
            let is_captured_arriving = end.capture || all[index ^ 1].capture_flows;
            let observation = match observed[index] {
                true => Observation::Whole,
                false => Observation::CountersOnly,
            };
            Link::new(
                end,
                planned,
                hop.to,
                is_captured_arriving,
                observation,
                behind,
                &setting,
            )
        })
        .collect()
    }

    /// What serves the queue of a link.
    fn transmitter(&self, end: &LinkEnd, name: &str) -> Transmitter {
        let Some(trace) = end.trace.as_ref() else {
            return Transmitter::at_rate(end.rate_bps);
        };
        let own = end.own_values();
        let stream = self.stream(&format!("link/{name}/trace"));
        let service = trace.service(&own, self.experiment.duration_ns, stream);
        Transmitter::traced(service, &own)
    }

    /// The hosts of each conversation: flows, then probes.
    fn conversations(&self) -> Arc<[Ends]> {
        let flows = self
            .experiment
            .flows
            .iter()
            .map(|flow| (&flow.from, &flow.to));
        let probes = { self.experiment.probes.iter() }.map(|probe| (&probe.from, &probe.to));
        let number = |host: &str| self.hosts[host];
        let ends = flows.chain(probes).map(|(from, to)| Ends {
            source: number(from),
            destination: number(to),
        });
        ends.collect()
    }

    /// The start time with jitter. The stream is drawn from even if the jitter is 0, so that adding jitter
    /// changes nothing else.
    fn start(&self, component: &str, start_ns: u64, jitter_ns: u64) -> Time {
        let share = self.stream(&format!("{component}/start")).uniform();
        Time::from_ns(start_ns) + Time::from_seconds(share * jitter_ns as f64 * 1e-9)
    }

    fn flow(&self, header: Header, flow: &Flow) -> (Conversation, Time) {
        let streams = FlowStreams::new(self.experiment.seed, self.replication, &flow.name);
        let start = self.start(
            &format!("flow/{}", flow.name),
            flow.start_ns,
            flow.start_jitter_ns,
        );
        if let Some(tcp) = &flow.tcp {
            return self.tcp_flow(header, flow, tcp, streams, start);
        }
        let mut generator = Generator::new(&flow.source, streams);
        let gap = generator.next_gap();
        let first = gap.map_or(Time::NEVER, |gap| start.saturating_add(gap));
        let application = Application::Udp(Box::new(generator));
        let class = flow.dscp << 2 | flow.ecn.bits();
        let stop = Time::from_ns(flow.stop_ns);
        let mut conversation = self.conversation(&flow.from, &flow.to, class, stop, application);
        conversation.size_at = flow.source.parameters().size_at();
        (conversation, first)
    }

    fn tcp_flow(
        &self,
        header: Header,
        flow: &Flow,
        tcp: &Tcp,
        streams: FlowStreams,
        start: Time,
    ) -> (Conversation, Time) {
        let stop = Time::from_ns(flow.stop_ns);
        let mtu_bytes = self.mtu_bytes(&flow.from, &flow.to);
        let module = tcp.controller.as_ref();
        let module = module.map(|controller| self.modules[controller].clone());
        let needs_ecn = module
            .as_ref()
            .is_some_and(|module| module.0.traits().needs_ecn);
        let algorithm = Algorithm::of(tcp).expect("names of controllers were checked");
        let timer_hz = self.experiment.timer_hz;
        // Prague counts marks; the others that need ECN have RFC 8257's feedback.
        let feedback = match algorithm.needs_ecn() || needs_ecn {
            true if algorithm.sends_ect1() => Feedback::ACCURATE,
            true => Feedback::CLASSIC,
            false => tcp.ecn,
        };
        // The codepoint of ECN-capable packets; others have none.
        let ecn = match tcp.ect1 || algorithm.sends_ect1() {
            true => Ecn::Ect1,
            false => Ecn::Ect0,
        };
        let tcp = Tcp {
            ecn: feedback,
            ..tcp.clone()
        };
        let settings = Settings {
            is_paced_by_host: self.is_paced_by_host(header, flow),
            module,
            ..Settings::new(tcp, algorithm, mtu_bytes, timer_hz)
        };
        let settings = self.shared(settings);
        let named = ConnectionStreams {
            seed: self.experiment.seed,
            replication: self.replication,
            name: flow.name.clone(),
        };
        let tcp_flow = TcpFlow::new(&flow.source, settings, named, streams, start, stop);
        let first = tcp_flow.due();
        let application = Application::Tcp(tcp_flow);
        let class = flow.dscp << 2 | ecn.bits();
        (
            self.conversation(&flow.from, &flow.to, class, stop, application),
            first,
        )
    }

    /// Whether the queue of the sender's host holds a flow's packets until their departure time.
    fn is_paced_by_host(&self, header: Header, flow: &Flow) -> bool {
        let row = self.routes.handle(self.host(&flow.to));
        let first_link = self.routes.next(row, self.host(&flow.from));
        let header = Header {
            tos: flow.dscp << 2,
            ..header
        };
        qdisc::paces(self.qdiscs[first_link as usize], &header)
    }

    fn shared(&self, settings: Settings) -> Arc<Settings> {
        let mut known = self.settings.borrow_mut();
        let newest = known.iter().rev().take(MOST_COMPARED);
        if let Some(equal) = newest.into_iter().find(|known| ***known == settings) {
            return equal.clone();
        }
        let new = Arc::new(settings);
        known.push(new.clone());
        new
    }

    fn host(&self, name: &str) -> u32 {
        let index = self.hosts.get(name);
        *index.expect("hosts were checked")
    }

    /// Largest packet that fits all links of the path between two hosts.
    fn mtu_bytes(&self, from: &str, to: &str) -> u32 {
        let (source, destination) = (self.host(from), self.host(to));
        let row = self.routes.handle(destination);
        let path = self.routes.path(&self.hops, row, source, destination);
        let mtus = path.into_iter().flatten();
        let mtus = mtus.map(|link| self.mtus_bytes[link as usize]);
        mtus.min().expect("a path has a link")
    }

    fn probe(&self, probe: &Probe) -> (Conversation, Time) {
        let component = format!("probe/{}", probe.name);
        let first = self.start(&component, probe.start_ns, probe.start_jitter_ns);
        let application = Application::Ping(Ping::new(probe));
        let class = probe.dscp << 2;
        (
            self.conversation(&probe.from, &probe.to, class, Time::NEVER, application),
            first,
        )
    }

    fn conversation(
        &self,
        from: &str,
        to: &str,
        traffic_class: u8,
        stop: Time,
        application: Application,
    ) -> Conversation {
        let (source, destination) = (self.host(from), self.host(to));
        let route_out = self.routes.handle(destination);
        let way = ConversationPath {
            source,
            destination,
            first_link: self.routes.next(route_out, source),
            route_out,
            route_back: self.routes.handle(source),
            mtu_bytes: self.mtu_bytes(from, to),
        };
        Conversation::new(way, traffic_class, stop, application)
    }
}
