//! What a script needs: its settings, calls and packets as types, and the names of what the engine
//! does not model.

pub mod fields;
pub mod host_settings;
pub mod messages;
pub mod operations;
pub mod polling;
mod shell;
pub mod stamping;

use crate::clock::span;
use crate::fast_open::Addresses;
use crate::language::Place;
use crate::language::conditions::Statement;
use crate::language::script::{
    Action, Body, Direction, EcnMark, Event, Icmp, Packet, Script, Setting, TcpFlags, TcpOption,
    TcpPacket, When,
};
use crate::run::Options;
use crate::verdict::Missing;
use dumbbell_core::time::Time;
use host_settings::{HostSetting, HostSettings};
use operations::{Call, Operation, SocketOption};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// How far a time may be off, unless the script says (packetdrill's default), microseconds.
const TOLERANCE_US: u64 = 4_000;

/// A minute.
const LARGEST_TOLERANCE_US: u64 = 60_000_000;

/// A script that can be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Before the first step.
    pub host: HostSettings,
    /// How far a time may be off, microseconds.
    pub tolerance_us: u64,
    /// Or so much of the time since the event before, percent, if that is more (for packets).
    pub tolerance_percent: f64,
    /// Whether a large segment of the script is one segment, not several together.
    pub is_strict: bool,
    /// Whether a packet that nobody expects makes it fail at once.
    pub is_exact: bool,
    /// Of its connections.
    pub addresses: Addresses,
    /// What timestamps count, if they are to be compared: microseconds a tick.
    pub timestamp_tick_us: Option<u64>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Something happens.
#[derive(Debug, Clone)]
pub struct Step {
    /// Where the script says so.
    pub place: Place,
    /// When.
    pub when: When,
    /// A system call that waits returns then: microseconds from where `when` counts.
    pub returns_us: Option<u64>,
    /// What.
    pub act: StepAction,
}

/// What happens.
#[derive(Debug, Clone)]
pub enum StepAction {
    /// Settings change.
    Set(Vec<HostSetting>),
    /// A segment arrives.
    Inject(TcpPacket, EcnMark),
    /// A message about a segment arrives.
    InjectIcmp(Icmp),
    /// A segment is to be sent. Without a mark, any will do.
    Expect(TcpPacket, Option<EcnMark>),
    /// All must hold, one after the other.
    Assert(Vec<Statement>),
    /// The program calls the kernel.
    Call(Call),
}

/// What a script needs, or the first thing that is missing, with the number of others.
pub fn plan(script: &Script, options: &Options) -> Result<Plan, Missing> {
    let mut plan = Plan {
        host: HostSettings::of(options.profile).with_gso_max_segs(options.gso_max_segs),
        tolerance_us: TOLERANCE_US,
        tolerance_percent: options.tolerance_percent,
        is_strict: false,
        is_exact: options.is_exact,
        addresses: Addresses::default(),
        timestamp_tick_us: None,
        steps: Vec::new(),
    };
    let mut missing: Vec<Missing> = Vec::new();
    for setting in &script.settings {
        if !plan.apply(setting) {
            let name = format!("--{}", setting.name);
            missing.push(Missing::new(setting.place, name));
        }
    }
    let mut own_names = BTreeSet::new();
    for event in &script.events {
        match act(event, &mut own_names) {
            Ok(act) => plan.steps.push(Step {
                place: event.place,
                when: event.when,
                returns_us: event.returns_us,
                act,
            }),
            Err(name) => missing.push(Missing::new(event.place, name)),
        }
    }
    missing.extend(plan.set_while_opening());
    missing.extend(plan.mixed_errors());
    match missing.into_iter().reduce(Missing::with) {
        Some(missing) => Err(missing),
        None => Ok(plan),
    }
}

impl Plan {
    /// How far something may be off that is to happen so long after the event before.
    pub fn tolerance(&self, since_last: Time) -> Time {
        let part_us = since_last.as_ns() as f64 / 1000.0 * self.tolerance_percent / 100.0;
        span(self.tolerance_us.max(part_us as u64))
    }

    /// What is told of time stamps and of writes without a copy comes in the order in which it happened, which is not
    /// simulated.
    fn mixed_errors(&self) -> Option<Missing> {
        let place_of = |wanted: fn(&SocketOption) -> bool| {
            self.steps.iter().find_map(|step| match &step.act {
                StepAction::Call(Call {
                    operation: Operation::Set(_, option),
                    ..
                }) if wanted(option) => Some(step.place),
                _ => None,
            })
        };
        let place = place_of(|option| matches!(option, SocketOption::Stamping(_)))?;
        place_of(|option| matches!(option, SocketOption::ZeroCopy(_)))?;
        Some(Missing::new(
            place,
            "SO_TIMESTAMPING with SO_ZEROCOPY".into(),
        ))
    }

    /// `TCP_USER_TIMEOUT` of a socket that has not accepted a connection or begun one: a listener's is of all that it
    /// accepts, and one set before a connection is of its SYN, too. As is `SO_TIMESTAMPING`.
    fn set_while_opening(&self) -> Option<Missing> {
        let mut open = BTreeSet::new();
        self.steps.iter().find_map(|step| {
            let StepAction::Call(call) = &step.act else {
                return None;
            };
            match &call.operation {
                Operation::Accept(_) => open.extend(call.returns),
                Operation::Connect(fd) => drop(open.insert(*fd)),
                Operation::Set(fd, option) if !open.contains(fd) => {
                    let name = match option {
                        SocketOption::UserTimeout(_) => "TCP_USER_TIMEOUT",
                        SocketOption::Stamping(_) => "SO_TIMESTAMPING",
                        _ => return None,
                    };
                    let name = format!("{name} before a connection");
                    return Some(Missing::new(step.place, name));
                }
                _ => {}
            }
            None
        })
    }

    /// Whether the engine can do as this option says.
    fn apply(&mut self, setting: &Setting) -> bool {
        let number = setting.value.as_ref().and_then(|value| value.parse().ok());
        match (setting.name.as_str(), number) {
            ("tolerance_usecs", Some(us)) if us <= LARGEST_TOLERANCE_US => self.tolerance_us = us,
            ("tcp_ts_tick_usecs", tick @ Some(_)) => self.timestamp_tick_us = tick,
            ("tolerance_percent", _) => {
                let percent = setting.value.as_ref().and_then(|value| value.parse().ok());
                let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
                self.tolerance_percent = percent.unwrap_or(self.tolerance_percent);
                return percent.is_some();
            }
            ("strict_segments", _) => self.is_strict = true,
            ("mss", Some(_)) => {
                // A large packet arrives here as it would after being put together again.
            }
            ("ip_version", _) => return setting.value.as_deref() == Some("ipv4"),
            ("local_ip", _) => return setting.put_address(&mut self.addresses.local),
            ("remote_ip", _) => return setting.put_address(&mut self.addresses.remote),
            // Timestamps are as far apart here whatever they are.
            ("tcp_ts_ecr_scaled", _) => {}
            // Networks, ports and names are nobody's concern.
            (
                "gateway_ip" | "netmask_ip" | "bind_port" | "connect_port" | "speed" | "verbose"
                | "v" | "non_fatal" | "init_scripts",
                _,
            ) => {}
            _ => return false,
        }
        true
    }
}

impl Setting {
    /// Whether its value is an address of IPv4, which goes there.
    fn put_address(&self, address: &mut Ipv4Addr) -> bool {
        let parsed = self.value.as_deref().and_then(|value| value.parse().ok());
        *address = parsed.unwrap_or(*address);
        parsed.is_some()
    }
}

/// The error names what is missing.
fn act(event: &Event, own_names: &mut BTreeSet<String>) -> Result<StepAction, String> {
    match &event.action {
        Action::Shell(line) => shell::settings(line).map(StepAction::Set),
        Action::Python => Err("Python other than assertions".into()),
        Action::Assert(statements) => {
            for statement in statements {
                let names = statement.formula().names();
                let is_known = |name: &str| fields::is_known(name) || own_names.contains(name);
                if let Some(name) = names.into_iter().find(|name| !is_known(name)) {
                    return Err(name.to_owned());
                }
                if let Statement::Assign(name, _) = statement {
                    own_names.insert(name.clone());
                }
            }
            Ok(StepAction::Assert(statements.clone()))
        }
        Action::Packet(Packet {
            body: Body::Icmp(icmp),
            direction: Direction::In,
            ..
        }) => Ok(StepAction::InjectIcmp(*icmp)),
        Action::Packet(packet) => {
            let segment = segment(packet)?;
            Ok(match packet.direction {
                Direction::In => StepAction::Inject(segment, packet.ecn.unwrap_or(EcnMark::None)),
                Direction::Out => StepAction::Expect(segment, packet.ecn),
            })
        }
        Action::Call(call) => {
            operations::call(call, event.returns_us.is_some()).map(StepAction::Call)
        }
    }
}

fn segment(packet: &Packet) -> Result<TcpPacket, String> {
    if let Some(name) = &packet.other_ip {
        return Err(format!("{name} in a packet"));
    }
    if packet.ports.is_some() {
        return Err("several connections".into());
    }
    let segment = match &packet.body {
        Body::Tcp(segment) => segment,
        Body::Icmp(_) => return Err("icmp packets".into()),
        Body::Other(name) => return Err(format!("{name} packets")),
    };
    if segment.urgent.is_some() || segment.flags.has(TcpFlags::URG) {
        return Err("urgent data".into());
    }
    for option in segment.options.iter().flatten() {
        if let TcpOption::Other(name) = option {
            return Err(match name.as_str() {
                "md5" => "TCP MD5".into(),
                "ECN" => "the option of accurate ECN".into(),
                other => format!("option {other}"),
            });
        }
    }
    Ok(segment.clone())
}
