//! Planning: converts a script's settings, calls and packets to types, and names what the engine
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

/// Default tolerance of times (packetdrill's), unless the script sets one, microseconds.
const TOLERANCE_US: u64 = 4_000;

/// Largest tolerance that a script may set: a minute.
const LARGEST_TOLERANCE_US: u64 = 60_000_000;

/// A script that is ready to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Host settings before the first step.
    pub host: HostSettings,
    /// Tolerance of times, microseconds.
    pub tolerance_us: u64,
    /// Tolerance of packets as a percentage of the time since the previous event, if that is
    /// larger.
    pub tolerance_percent: f64,
    /// Whether a large segment of the script must be one packet, rather than several merged ones.
    pub is_strict: bool,
    /// Whether an unexpected packet makes the script fail at once.
    pub is_exact: bool,
    /// Addresses of its connections.
    pub addresses: Addresses,
    /// Tick of the timestamp clock, microseconds, if timestamp values are compared.
    pub timestamp_tick_us: Option<u64>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One event of the script.
#[derive(Debug, Clone)]
pub struct Step {
    /// Position in the script.
    pub place: Place,
    /// Time of the step.
    pub when: When,
    /// When a blocking system call returns: microseconds from the same origin as `when`.
    pub returns_us: Option<u64>,
    /// The action.
    pub act: StepAction,
}

/// The action of a step.
#[derive(Debug, Clone)]
pub enum StepAction {
    /// Settings are changed.
    Set(Vec<HostSetting>),
    /// A segment arrives.
    Inject(TcpPacket, EcnMark),
    /// An ICMP message about a segment arrives.
    InjectIcmp(Icmp),
    /// A segment is to be sent. None: any ECN mark matches.
    Expect(TcpPacket, Option<EcnMark>),
    /// Assertions, evaluated in order; all must hold.
    Assert(Vec<Statement>),
    /// The program makes a system call.
    Call(Call),
}

/// Plans a script. The error is the first unsupported feature with the number of further ones.
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
    /// Tolerance of an event due `since_last` after the previous event.
    pub fn tolerance(&self, since_last: Time) -> Time {
        let part_us = since_last.as_ns() as f64 / 1000.0 * self.tolerance_percent / 100.0;
        span(self.tolerance_us.max(part_us as u64))
    }

    /// Scripts that use both timestamps and zero-copy writes. The error queue reports them in the
    /// order in which they occurred, which is not simulated.
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

    /// `TCP_USER_TIMEOUT` or `SO_TIMESTAMPING` on a socket that has neither accepted a connection
    /// nor begun one. On a listener the option applies to all connections that it accepts. Before a
    /// connection it applies to the SYN, too.
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

    /// Applies an option line; false if the engine does not support it.
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
                // A large arriving packet is handled as it would be after reassembly.
            }
            ("ip_version", _) => return setting.value.as_deref() == Some("ipv4"),
            ("local_ip", _) => return setting.put_address(&mut self.addresses.local),
            ("remote_ip", _) => return setting.put_address(&mut self.addresses.remote),
            // Timestamps have the same spacing here with or without this option.
            ("tcp_ts_ecr_scaled", _) => {}
            // Gateways, ports and names have no effect here.
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
    /// Stores the option's value in `address` if it is an IPv4 address; returns whether it is.
    fn put_address(&self, address: &mut Ipv4Addr) -> bool {
        let parsed = self.value.as_deref().and_then(|value| value.parse().ok());
        *address = parsed.unwrap_or(*address);
        parsed.is_some()
    }
}

/// Converts the action of an event. The error names the unsupported feature.
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
