//! Writes a description as a TOML file that resolves to the same description. Keys with their
//! default values are omitted; equal flows are written once, with a `count`.

use crate::changes::number_of;
use crate::laws::LawQuantity;
use crate::numbers::is_equal_but_for_name;
use dumbbell_engine::spec::key::{Key, Value};
use dumbbell_engine::spec::law::Law;
use dumbbell_engine::spec::source::Carrier;
use dumbbell_engine::spec::tcp::{CwndChange, Profile, SETTINGS, Setting};
use dumbbell_engine::spec::{
    Change, Experiment, Flow, Host, Link, LinkEnd, Probe, ProbeKind, SizeAt, Source, Tcp, Transport,
};
use dumbbell_tc as tc;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Keys with their TOML values.
#[derive(Debug, Default, PartialEq)]
struct Table(Vec<(&'static str, String)>);

impl Table {
    fn add(&mut self, key: &'static str, value: String) {
        self.0.push((key, value));
    }

    fn text(&mut self, key: &'static str, value: &str) {
        self.add(key, quoted(value));
    }

    /// Adds the keys that are present and differ from their defaults.
    fn keys<'a>(
        &mut self,
        keys: impl Iterator<Item = (&'a Key, serde_json::Value)>,
        resolved: &serde_json::Value,
    ) {
        keys.for_each(|(key, default)| self.key(key, &default, resolved));
    }

    /// Adds a key if it is present and differs from its default.
    fn key(&mut self, key: &Key, default: &serde_json::Value, resolved: &serde_json::Value) {
        let value = resolved.get(key.resolved);
        if let Some(value) = value.filter(|value| *value != default) {
            self.add(key.name, value_of(key.value, value));
        }
    }

    fn inline(&self) -> String {
        if self.0.is_empty() {
            return "{}".to_owned();
        }
        let pairs = self.0.iter().map(|(key, value)| format!("{key} = {value}"));
        format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
    }

    fn lines(&self, to: &mut String) {
        for (key, value) in &self.0 {
            let _ = writeln!(to, "{key} = {value}");
        }
    }
}

/// A basic string (TOML 1.0, "String"): escapes as in JSON, plus DEL.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007f")
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<_> = items.into_iter().collect();
    format!("[{}]", items.join(", "))
}

fn time(ns: &u64) -> String {
    quoted(&tc::format_time(*ns))
}

fn rate(bps: u64) -> String {
    match bps {
        0 => quoted("inf"),
        bps => quoted(&tc::format_rate(bps)),
    }
}

fn size(bytes: u64) -> String {
    quoted(&tc::format_size(bytes))
}

/// A number or word, which has the same form in TOML and JSON.
fn plain<T: Serialize>(value: &T) -> String {
    serde_json::json!(value).to_string()
}

/// Writes the file.
pub fn toml(experiment: &Experiment) -> String {
    let mut text = String::new();
    head(experiment).lines(&mut text);
    for each in &experiment.links {
        text.push_str("\n[[links]]\n");
        link(each).lines(&mut text);
    }
    for (name, count, each) in groups(&experiment.flows) {
        text.push_str("\n[[flows]]\n");
        flow(name, count, each, experiment.duration_ns).lines(&mut text);
    }
    for each in &experiment.probes {
        text.push_str("\n[[probes]]\n");
        probe(each).lines(&mut text);
    }
    text
}

fn head(experiment: &Experiment) -> Table {
    let mut table = Table::default();
    let keys = but(Experiment::KEYS, Experiment::defaults(), &["name"]);
    table.keys(keys, &serde_json::json!(experiment));
    if host_names(&experiment.hosts) != hosts_of(&experiment.links) {
        let names = host_names(&experiment.hosts).into_iter().map(quoted);
        table.add("hosts", list(names));
    }
    table
}

/// Keys with their defaults; keys in `always` get no default and are therefore always written.
fn but<'a>(
    keys: &'a [Key],
    defaults: Vec<serde_json::Value>,
    always: &'a [&str],
) -> impl Iterator<Item = (&'a Key, serde_json::Value)> {
    keys.iter().zip(defaults).map(|(key, default)| {
        let is_always = always.contains(&key.name);
        (
            key,
            if is_always {
                serde_json::Value::Null
            } else {
                default
            },
        )
    })
}

fn host_names(hosts: &[Host]) -> Vec<&str> {
    hosts.iter().map(|host| host.name.as_str()).collect()
}

/// Hosts in the order in which the links name them: the hosts of a file without `hosts`.
fn hosts_of(links: &[Link]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let ends = links.iter().flat_map(|link| [&link.a, &link.b]);
    ends.map(String::as_str)
        .filter(|name| seen.insert(*name))
        .collect()
}

fn link(link: &Link) -> Table {
    let mut table = Table::default();
    table.text("a", &link.a);
    table.text("b", &link.b);
    let (forward, reverse) = (end(&link.forward), end(&link.reverse));
    let both = Table(
        (forward.0.iter())
            .filter(|pair| reverse.0.contains(pair))
            .cloned()
            .collect(),
    );
    let own = |end: Table| {
        Table(
            (end.0.into_iter())
                .filter(|pair| !both.0.contains(pair))
                .collect(),
        )
    };
    // A key that differs from its default in only one direction cannot be written on the link
    // itself.
    for (key, direction) in [("forward", own(forward)), ("reverse", own(reverse))] {
        if !direction.0.is_empty() {
            table.add(key, direction.inline());
        }
    }
    table.0.splice(2..2, both.0);
    table
}

fn end(end: &LinkEnd) -> Table {
    let mut table = Table::default();
    let keys = LinkEnd::KEYS.iter().zip(LinkEnd::defaults());
    table.keys(keys, &serde_json::json!(end));
    table
}

fn change(change: &Change) -> String {
    let mut table = Table::default();
    let keys = Change::KEYS.iter().zip(Change::defaults());
    table.keys(keys, &serde_json::json!(change));
    table.inline()
}

/// Flows with runs of equal ones merged as `count` would name them: name, count and the first flow.
fn groups(flows: &[Flow]) -> Vec<(&str, Option<usize>, &Flow)> {
    let mut found = Vec::new();
    let mut rest = flows;
    while let Some(first) = rest.first() {
        let members = members_from(rest);
        match first.name.strip_suffix("-1") {
            Some(base) if members > 1 => found.push((base, Some(members), first)),
            _ => found.push((first.name.as_str(), None, first)),
        }
        rest = &rest[members..];
    }
    found
}

/// Number of leading flows that are named NAME-1, NAME-2 and so on and are otherwise equal; at
/// least 1.
fn members_from(flows: &[Flow]) -> usize {
    let first = &flows[0];
    let Some(base) = first
        .name
        .strip_suffix("-1")
        .filter(|base| !base.is_empty())
    else {
        return 1;
    };
    let is_next = |(number, flow): &(u64, &Flow)| {
        let has_next_port = match (first.port, flow.port) {
            (Some(first), Some(port)) => u64::from(port) + 1 == u64::from(first) + number,
            (first, port) => first == port,
        };
        number_of(&flow.name, base) == Some(*number)
            && has_next_port
            && is_equal_but_for_name(flow, first)
    };
    (1..).zip(flows).take_while(is_next).count().max(1)
}

fn flow(name: &str, count: Option<usize>, flow: &Flow, duration_ns: u64) -> Table {
    let mut table = Table::default();
    let resolved = serde_json::json!(flow);
    for (key, default) in Flow::KEYS.iter().zip(Flow::defaults()) {
        match key.name {
            "name" => {
                table.text("name", name);
                if let Some(count) = count {
                    table.add("count", count.to_string());
                }
            }
            "stop" => table.key(key, &duration_ns.into(), &resolved),
            "transport" => {
                let may_be_udp = flow.source.form().carrier == Carrier::Either;
                if flow.transport == Transport::Tcp && may_be_udp {
                    table.key(key, &default, &resolved);
                }
            }
            "tcp" => {
                let settings = flow.tcp.as_ref().map(tcp).unwrap_or_default();
                if !settings.0.is_empty() {
                    table.add("tcp", settings.inline());
                }
            }
            "source" => table.add("source", source(&flow.source, flow.transport).inline()),
            _ => table.key(key, &default, &resolved),
        }
    }
    table
}

/// TCP settings that differ from the profile and from the defaults of a description.
fn tcp(tcp: &Tcp) -> Table {
    let defaults = match tcp.profile {
        Profile::Linux61 => Tcp::linux("cubic"),
        Profile::Rfc => Tcp::rfc("cubic"),
    };
    let mut table = Table::default();
    let mut defaults = serde_json::json!(defaults);
    defaults["profile"] = serde_json::json!(Profile::Linux61);
    let keys = SETTINGS.iter().map(|Setting { key, .. }| {
        let default = defaults.get(key.resolved).cloned();
        (key, default.unwrap_or_default())
    });
    table.keys(keys, &serde_json::json!(tcp));
    table
}

fn cwnd_change(change: &CwndChange) -> String {
    let mut table = Table::default();
    table.add("at", time(&change.at_ns));
    table.add("cwnd", change.cwnd_pkts.to_string());
    table.inline()
}

/// A source, by its own table of keys.
fn source(source: &Source, transport: Transport) -> Table {
    let mut table = Table::default();
    table.text("kind", source.kind());
    let resolved = serde_json::json!(source);
    // Over TCP the size is always that of the payload.
    let size_at = serde_json::json!(match transport {
        Transport::Udp => SizeAt::Wire,
        Transport::Tcp => SizeAt::Payload,
    });
    for key in source.form().keys {
        let value = &resolved[key.resolved];
        if !value.is_null() && (key.value, value) != (Value::SizeAt, &size_at) {
            table.add(key.name, value_of(key.value, value));
        }
    }
    table
}

/// A value in the notation of files, from its resolved form.
fn value_of(kind: Value, value: &serde_json::Value) -> String {
    let number = value.as_u64().unwrap_or_default();
    let listed = |written: fn(u64) -> String| {
        let numbers = value.as_array().into_iter().flatten();
        list(numbers.filter_map(serde_json::Value::as_u64).map(written))
    };
    match kind {
        Value::GapLaw => quoted(&LawQuantity::Gap.text(&typed(value))),
        Value::SizeLaw => quoted(&LawQuantity::Size.text(&typed(value))),
        Value::ExponentialGap | Value::ConstantGap => mean_gap(&typed(value)),
        Value::Size | Value::Bytes(_) | Value::Overhead => size(number),
        Value::Time | Value::PositiveTime | Value::EndTime | Value::TimeWithin(_) | Value::Gro => {
            time(&number)
        }
        Value::Rate | Value::RateWithin(_) => rate(number),
        Value::Times => listed(|ns| time(&ns)),
        Value::Sizes => listed(size),
        Value::Police => quoted(&typed::<tc::Police>(value).to_string()),
        Value::Qdisc => quoted(&typed::<tc::Qdisc>(value).to_string()),
        Value::Trace => trace(value),
        Value::Changes => list(typed::<Vec<_>>(value).iter().map(change)),
        Value::CwndChanges => list(typed::<Vec<_>>(value).iter().map(cwnd_change)),
        Value::Name(_) | Value::Title | Value::KernelName => {
            quoted(value.as_str().unwrap_or_default())
        }
        Value::QueueNames | Value::WordList(_) => {
            list(typed::<Vec<String>>(value).iter().map(|name| quoted(name)))
        }
        Value::Probability
        | Value::Share
        | Value::Seed
        | Value::CodePoint
        | Value::Numbers(_)
        | Value::SizeAt
        | Value::Count
        | Value::Flag
        | Value::FlagOr(_)
        | Value::Words(_)
        | Value::Whole(_)
        | Value::Own => plain(value),
    }
}

/// A link trace or one of its states: the suffix of a key is the unit of its number.
fn trace(value: &serde_json::Value) -> String {
    let mut pairs = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        let number = value.as_u64().unwrap_or_default();
        let (name, unit) = key.rsplit_once('_').unwrap_or((key, ""));
        let has_states = |list: &Vec<_>| list.iter().any(serde_json::Value::is_object);
        let (name, written) = match (value, unit) {
            (serde_json::Value::Null, _) => continue,
            (serde_json::Value::Array(each), _) if has_states(each) => {
                (key.as_str(), list(each.iter().map(trace)))
            }
            (serde_json::Value::Object(_), _) => {
                (key.as_str(), quoted(&LawQuantity::Gap.text(&typed(value))))
            }
            (serde_json::Value::Number(_), "ns") => (name, time(&number)),
            (serde_json::Value::Number(_), "bytes") => (name, size(number)),
            (serde_json::Value::Number(_), "bps") if number == 0 => (name, quoted("0bit")),
            (serde_json::Value::Number(_), "bps") => (name, rate(number)),
            (serde_json::Value::String(text), "ms") => (name, quoted(text)),
            _ => (key.as_str(), plain(value)),
        };
        pairs.push(format!("{name} = {written}"));
    }
    format!("{{ {} }}", pairs.join(", "))
}

/// A typed part of a validated description.
fn typed<T: DeserializeOwned>(value: &serde_json::Value) -> T {
    T::deserialize(value).expect("a description that was checked")
}

/// The only parameter of the gap distribution of a Poisson or constant-rate source.
fn mean_gap(gap: &Law) -> String {
    match gap {
        Law::Exponential { mean: value } | Law::Constant { value } => {
            quoted(&LawQuantity::Gap.quantity(*value))
        }
        other => quoted(&LawQuantity::Gap.text(other)),
    }
}

fn probe(probe: &Probe) -> Table {
    let mut table = Table::default();
    // If omitted, the payload is that of irtt, 60 bytes.
    let always: &[&str] = match probe.kind {
        ProbeKind::Irtt => &["interval", "payload"],
        ProbeKind::Ping | ProbeKind::Udp => &["interval"],
    };
    let keys = but(Probe::KEYS, Probe::defaults(), always);
    table.keys(keys, &serde_json::json!(probe));
    table
}
