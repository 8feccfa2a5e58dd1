//! Checks of a resolved description. They repeat, at the boundary of the engine, the checks that the front
//! end makes in the user's units: a description that passes cannot make a run panic.

use super::tcp::{Controller, CwndChange, GSO_MAX_SEGS, Profile};
use super::{
    Ecn, Experiment, Flow, LONGEST_NS, LinkEnd, Probe, ProbeKind, Program, SCHEMA, SizeAt,
    SpecError, Tcp, Transport,
};
use crate::law::Law;
use crate::route::{Hop, Routes};
use crate::sender::{LARGEST_ECHO_PAYLOAD, PROBE_PORTS};
use crate::source::Carrier;
use dumbbell_tc::Qdisc;
use std::collections::{HashMap, HashSet};

/// Header of irtt's packets with both time stamps of both server clocks: irtt 0.9 extends shorter packets to
/// this.
const LEAST_IRTT_PAYLOAD: u32 = 60;
/// Largest number of route entries: hosts times destination hosts. With more than 8,000 hosts not every pair
/// can communicate.
const MOST_ROUTES: usize = 1 << 26;
/// Largest number of window changes: one per millisecond for ten seconds.
const MOST_CWND_CHANGES: usize = 10_000;
/// Largest number of parameters of a user's controller.
const MOST_PARAMETERS: usize = 64;
/// Largest window set by a description; buffers limit what is sent (`tcp_wmem[2]`).
const LARGEST_CWND_PKTS: u32 = 100_000;

/// Longest name of a kernel, which is part of a file name.
const LONGEST_KERNEL_NAME: usize = 63;
pub(crate) const KERNEL_NAME: &str =
    "letters, digits, '.', '_' and '-', 63 at most, a letter or digit first";

type Checked = Result<(), SpecError>;

pub(crate) fn require(holds: bool, path: &str, value: impl ToString, allowed: &str) -> Checked {
    if holds {
        Ok(())
    } else {
        Err(SpecError::new(path, value, allowed))
    }
}

pub(crate) fn instant(path: &str, value: u64) -> Checked {
    require(
        value <= LONGEST_NS,
        path,
        value,
        "at most 200 days, in nanoseconds",
    )
}

pub(crate) fn law(path: &str, law: &Law) -> Checked {
    law.validate().map_err(|error| {
        SpecError::new(
            format!("{path}.{}", error.field),
            error.value,
            error.allowed,
        )
    })
}

pub(crate) fn is_kernel_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphanumeric();
    let is_later = |c: char| is_first(c) || matches!(c, '.' | '_' | '-');
    name.starts_with(is_first) && name.chars().all(is_later) && name.len() <= LONGEST_KERNEL_NAME
}

impl Experiment {
    /// Checks everything that serde's types do not.
    pub(super) fn validate(&self) -> Checked {
        require(self.schema == SCHEMA, "schema", self.schema, "1")?;
        // A duration of 0 has an error of its own.
        require(
            self.duration_ns == 0 || self.warm_up_ns < self.duration_ns,
            "warm_up_ns",
            self.warm_up_ns,
            "less than the duration",
        )?;
        self.check_ranges("")?;
        self.validate_names()?;
        self.validate_links()?;
        self.validate_observed()?;
        for (index, flow) in self.flows.iter().enumerate() {
            self.validate_flow(&format!("flows[{index}]"), flow)?;
        }
        self.validate_ports()?;
        for (index, probe) in self.probes.iter().enumerate() {
            self.validate_probe(&format!("probes[{index}]"), probe)?;
        }
        for (index, program) in self.programs.iter().enumerate() {
            self.validate_program(&format!("programs[{index}]"), program)?;
        }
        self.validate_routes()
    }

    fn validate_names(&self) -> Checked {
        let mut seen = HashSet::new();
        for (index, host) in self.hosts.iter().enumerate() {
            let path = format!("hosts[{index}].name");
            require(!host.name.is_empty(), &path, "", "a name")?;
            require(
                seen.insert(&host.name),
                &path,
                &host.name,
                "a name no other host has",
            )?;
        }
        let flows = self.flows.iter().map(|flow| &flow.name).enumerate();
        let probes = self.probes.iter().map(|probe| &probe.name).enumerate();
        let named = flows.map(|(index, name)| (format!("flows[{index}].name"), name));
        let named =
            named.chain(probes.map(|(index, name)| (format!("probes[{index}].name"), name)));
        let programs = self.programs.iter().map(|program| &program.name);
        let programs = programs.enumerate();
        let named =
            named.chain(programs.map(|(index, name)| (format!("programs[{index}].name"), name)));
        let mut seen = HashSet::new();
        for (path, name) in named {
            let allowed = "a name no other flow or probe has: it names the random streams";
            require(seen.insert(name), &path, name, allowed)?;
        }
        Ok(())
    }

    /// Checks that each port of a host and transport has one flow, if any flow gives its port.
    fn validate_ports(&self) -> Checked {
        if self.flows.iter().all(|flow| flow.port.is_none()) {
            return Ok(());
        }
        let mut seen = HashMap::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let (path, port) = (format!("flows[{index}].port"), flow.port(index));
            let is_probes = flow.port.is_some() && PROBE_PORTS.contains(&port);
            let allowed = "another port than 7 and 2112, where probes are answered";
            require(!is_probes, &path, port, allowed)?;
            let is_tcp = flow.transport == Transport::Tcp;
            if let Some(other) = seen.insert((&flow.to, is_tcp, port), &flow.name) {
                let to = &flow.to;
                let allowed = format!("a port of {to} that no other flow has ({other} has it)");
                return require(false, &path, port, &allowed);
            }
        }
        Ok(())
    }

    fn validate_observed(&self) -> Checked {
        let names: HashSet<_> = self.queue_names().into_iter().collect();
        let mut seen = HashSet::new();
        for (index, name) in self.observe.iter().flatten().enumerate() {
            let path = format!("observe[{index}]");
            let allowed = "the name of a queue, such as a->b";
            require(names.contains(name), &path, name, allowed)?;
            require(seen.insert(name), &path, name, "each queue once")?;
        }
        Ok(())
    }

    fn validate_links(&self) -> Checked {
        for (index, link) in self.links.iter().enumerate() {
            let path = format!("links[{index}]");
            self.known_host(&format!("{path}.a"), &link.a)?;
            self.known_host(&format!("{path}.b"), &link.b)?;
            let allowed = "two different hosts";
            require(link.a != link.b, &format!("{path}.b"), &link.b, allowed)?;
            validate_end(&format!("{path}.forward"), &link.forward)?;
            validate_end(&format!("{path}.reverse"), &link.reverse)?;
        }
        Ok(())
    }

    fn known_host(&self, path: &str, name: &str) -> Checked {
        let known = self.host_index(name).is_some();
        require(known, path, name, "the name of a host")
    }

    fn validate_ends(&self, path: &str, from: &str, to: &str) -> Checked {
        self.known_host(&format!("{path}.from"), from)?;
        self.known_host(&format!("{path}.to"), to)?;
        require(
            from != to,
            &format!("{path}.to"),
            to,
            "another host than `from`",
        )
    }

    fn validate_flow(&self, path: &str, flow: &Flow) -> Checked {
        self.validate_ends(path, &flow.from, &flow.to)?;
        self.validate_start(path, flow.start_ns)?;
        let allowed = "later than the start";
        let is_later = flow.stop_ns > flow.start_ns;
        require(is_later, &format!("{path}.stop_ns"), flow.stop_ns, allowed)?;
        flow.check_ranges(path)?;
        validate_transport(path, flow)?;
        flow.source.parameters().check(&format!("{path}.source"))
    }

    fn validate_start(&self, path: &str, start_ns: u64) -> Checked {
        let path = format!("{path}.start_ns");
        instant(&path, start_ns)?;
        let allowed = format!("a time before the end of the run, {} ns", self.duration_ns);
        require(start_ns < self.duration_ns, &path, start_ns, &allowed)
    }

    fn validate_program(&self, path: &str, program: &Program) -> Checked {
        self.validate_start(path, program.start_ns)?;
        let hosts = [
            ("from", &program.from),
            ("to", &program.to),
            ("host", &program.host),
        ];
        for (key, host) in hosts {
            if let Some(host) = host {
                self.known_host(&format!("{path}.{key}"), host)?;
            }
        }
        Ok(())
    }

    fn validate_probe(&self, path: &str, probe: &Probe) -> Checked {
        self.validate_ends(path, &probe.from, &probe.to)?;
        self.validate_start(path, probe.start_ns)?;
        let payload = probe.payload_bytes;
        let in_range = (LEAST_IRTT_PAYLOAD..=LARGEST_ECHO_PAYLOAD).contains(&payload);
        require(
            probe.kind != ProbeKind::Irtt || in_range,
            &format!("{path}.payload_bytes"),
            payload,
            "60 to 65507 bytes, by irtt",
        )?;
        probe.check_ranges(path)
    }

    /// Checks both directions: replies to an echo request need a route back.
    fn validate_routes(&self) -> Checked {
        let hops = self.hops();
        let indices = self.host_indices();
        let index = |name: &str| *indices.get(name).expect("checked above");
        let flows = self.flows.iter().enumerate();
        let flows = flows.map(|(i, flow)| (format!("flows[{i}].to"), &flow.from, &flow.to, false));
        let probes = self.probes.iter().enumerate();
        let probes =
            probes.map(|(i, probe)| (format!("probes[{i}].to"), &probe.from, &probe.to, true));
        let pairs: Vec<_> = flows.chain(probes).collect();
        let ends = pairs
            .iter()
            .flat_map(|(_, from, to, _)| [index(from), index(to)]);
        let goals: HashSet<u32> = ends.clone().collect();
        let routes = goals.len().saturating_mul(self.hosts.len());
        let allowed = "hosts times destination hosts: at most 2^26";
        require(routes <= MOST_ROUTES, "hosts", routes, allowed)?;
        let routes = Routes::new(self.hosts.len(), &hops, ends);
        for (path, from, to, answered) in &pairs {
            let reaches = |from: &str, to: &str| {
                let row = routes.handle(index(to));
                routes.path(&hops, row, index(from), index(to)).is_some()
            };
            let routable = reaches(from, to) && (!answered || reaches(to, from));
            let allowed = format!("a host that links lead to from {from:?}");
            require(routable, path, to, &allowed)?;
        }
        Ok(())
    }

    /// Routes over `hops` to both ends of every flow and probe.
    pub fn routes(&self, hops: &[Hop]) -> Routes {
        let indices = self.host_indices();
        let index = |name: &String| *indices.get(name.as_str()).expect("hosts were checked");
        let flows = self.flows.iter().map(|flow| [&flow.from, &flow.to]);
        let probes = self.probes.iter().map(|probe| [&probe.from, &probe.to]);
        let ends = flows.chain(probes).flatten().map(index);
        Routes::new(self.hosts.len(), hops, ends)
    }

    /// The directed links as routing sees them.
    pub fn hops(&self) -> Vec<Hop> {
        let indices = self.host_indices();
        let index = |name: &str| *indices.get(name).expect("links name known hosts");
        let ends = self.link_ends();
        ends.map(|(from, to, _)| Hop {
            from: index(from),
            to: index(to),
        })
        .collect()
    }
}

/// A link varies by changes or by a trace. A trace that sets the rate excludes a rate of the link.
fn validate_trace(path: &str, end: &LinkEnd) -> Checked {
    let Some(trace) = &end.trace else {
        return Ok(());
    };
    let allowed = "no changes with a trace, which has its own steps";
    let has_changes = !end.changes.is_empty();
    require(
        !has_changes,
        &format!("{path}.changes"),
        end.changes.len(),
        allowed,
    )?;
    let is_alone = end.rate_bps == 0 || !trace.outline().has_rate;
    let allowed = "no rate with a trace that sets it: leave it out, or write inf";
    require(is_alone, &format!("{path}.rate_bps"), end.rate_bps, allowed)
}

fn validate_end(path: &str, end: &LinkEnd) -> Checked {
    end.check_ranges(path)?;
    validate_qdisc(&format!("{path}.qdisc"), &end.qdisc)?;
    if let Some(police) = &end.police {
        let path = format!("{path}.police");
        let refused = |error: dumbbell_tc::QdiscError| {
            SpecError::new(path, error.value(), error.allowed().to_owned())
        };
        police.check().map_err(refused)?;
    }
    validate_trace(path, end)?;
    let mut last = 0;
    for (index, change) in end.changes.iter().enumerate() {
        let path = format!("{path}.changes[{index}]");
        change.check_ranges(&path)?;
        let allowed = "a time at or after the change before it";
        require(
            change.at_ns >= last,
            &format!("{path}.at_ns"),
            change.at_ns,
            allowed,
        )?;
        last = change.at_ns;
    }
    Ok(())
}

fn validate_qdisc(path: &str, config: &Qdisc) -> Checked {
    let refused = |error: dumbbell_tc::QdiscError| {
        SpecError::new(path, error.value(), error.allowed().to_owned())
    };
    config.check().map_err(refused)?;
    validate_qdisc_times(path, config)
}

fn validate_qdisc_times(path: &str, config: &Qdisc) -> Checked {
    if let Qdisc::Netem(netem) = config {
        instant(&format!("{path}.delay_ns"), netem.delay_ns)?;
    }
    let mut children = config.children();
    children.try_for_each(|child| validate_qdisc_times(path, child))
}

/// Checks that transport, settings and source of a flow are consistent.
fn validate_transport(path: &str, flow: &Flow) -> Checked {
    let source = flow.source.parameters();
    let carrier = flow.source.form().carrier;
    let path_transport = format!("{path}.transport");
    match (flow.transport, &flow.tcp) {
        (Transport::Udp, None) => require(
            carrier != Carrier::Tcp,
            &path_transport,
            "udp",
            "tcp with this source",
        ),
        (Transport::Udp, Some(_)) => {
            let allowed = "null where the transport is udp";
            Err(SpecError::new(format!("{path}.tcp"), "a table", allowed))
        }
        (Transport::Tcp, None) => {
            let allowed = "settings where the transport is tcp";
            Err(SpecError::new(format!("{path}.tcp"), "null", allowed))
        }
        (Transport::Tcp, Some(tcp)) => {
            let fits = carrier != Carrier::Udp;
            require(fits, &path_transport, "tcp", "udp with this source")?;
            let allowed = "not-ect where the transport is tcp: it negotiates ECN";
            let path_ecn = format!("{path}.ecn");
            require(flow.ecn == Ecn::NotEct, &path_ecn, "ect", allowed)?;
            let allowed = "payload where the transport is tcp";
            let on_the_wire = source.size_at() == SizeAt::Wire;
            let path_size_at = format!("{path}.source.size_at");
            require(!on_the_wire, &path_size_at, "wire", allowed)?;
            validate_tcp(&format!("{path}.tcp"), tcp)
        }
    }
}

fn validate_tcp(path: &str, tcp: &Tcp) -> Checked {
    let name = &tcp.congestion_control;
    let is_word = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'+')
    };
    let named = (1..=15).contains(&name.len()) && name.bytes().all(is_word);
    let path_name = format!("{path}.congestion_control");
    match &tcp.controller {
        None => {
            let allowed = "the name of a congestion controller";
            require(named, &path_name, name, allowed)?;
        }
        Some(controller) => {
            let is_own = ["file:", "linux:", "class:"]
                .iter()
                .filter_map(|prefix| name.strip_prefix(prefix))
                .any(|rest| !rest.is_empty());
            let allowed = "file:NAME.c, file:NAME.py:CLASS, linux:NAME or class:NAME where there is \
                           a controller in a file or of a program";
            require(is_own && name.len() <= 255, &path_name, name, allowed)?;
            validate_controller(&format!("{path}.controller"), controller)?;
        }
    }
    let most = match tcp.profile {
        Profile::Linux61 => GSO_MAX_SEGS,
        Profile::Rfc => 1,
    };
    require(
        (1..=most).contains(&tcp.gso_max_segs),
        &format!("{path}.gso_max_segs"),
        tcp.gso_max_segs,
        &format!("1 to {most} segments in this profile"),
    )?;
    tcp.check_ranges(path)?;
    validate_cwnd_changes(&format!("{path}.cwnd_changes"), &tcp.cwnd_changes)
}

fn validate_controller(path: &str, controller: &Controller) -> Checked {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let sha256 = &controller.sha256;
    let is_hash = sha256.len() == 64 && sha256.bytes().all(is_digit);
    let allowed = "64 hexadecimal digits";
    require(is_hash, &format!("{path}.sha256"), sha256, allowed)?;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = |name: &str| (1..=64).contains(&name.len()) && name.bytes().all(is_word);
    if let Some(class_name) = &controller.class_name {
        let path = format!("{path}.class");
        let allowed = "1 to 64 letters, digits and _";
        require(is_name(class_name), &path, class_name, allowed)?;
    }
    let path = format!("{path}.parameters");
    let count = controller.parameters.len();
    let allowed = format!("at most {MOST_PARAMETERS} parameters");
    require(count <= MOST_PARAMETERS, &path, count, &allowed)?;
    for name in controller.parameters.keys() {
        require(is_name(name), &path, name, "1 to 64 letters, digits and _")?;
    }
    Ok(())
}

fn validate_cwnd_changes(path: &str, changes: &[CwndChange]) -> Checked {
    let allowed = format!("at most {MOST_CWND_CHANGES} changes");
    let is_short = changes.len() <= MOST_CWND_CHANGES;
    require(is_short, path, changes.len(), &allowed)?;
    let mut earliest_ns = 0;
    for (index, change) in changes.iter().enumerate() {
        let path = format!("{path}[{index}]");
        change.check(&path)?;
        let is_later = change.at_ns >= earliest_ns;
        let allowed = "a time after that of the change before it";
        require(is_later, &format!("{path}.at_ns"), change.at_ns, allowed)?;
        earliest_ns = change.at_ns + 1;
    }
    Ok(())
}

impl CwndChange {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// A value is out of range; `path` says where.
    pub fn check(&self, path: &str) -> Checked {
        instant(&format!("{path}.at_ns"), self.at_ns)?;
        let in_range = (1..=LARGEST_CWND_PKTS).contains(&self.cwnd_pkts);
        let allowed = format!("1 to {LARGEST_CWND_PKTS} packets");
        let path = format!("{path}.cwnd_pkts");
        require(in_range, &path, self.cwnd_pkts, &allowed)
    }
}

/// With gaps that are mostly zero, time would not pass.
pub(crate) fn positive_gap(path: &str, gap: &Law) -> Checked {
    let mean = gap.mean().unwrap_or(f64::INFINITY);
    let allowed = "a law whose mean is at least a nanosecond";
    require(mean >= 1e-9, path, mean, allowed)
}
