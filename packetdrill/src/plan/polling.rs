//! poll(2) and epoll(7) in a script's notation.

use super::messages::value_of;
use crate::language::script::{self, Expression};

/// Events that a program can wait for (poll(2); `EPOLLIN` and the others are the same bits).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events(pub u32);

/// Names without the prefix `POLL`.
const NAMES: [(&str, Events); 11] = [
    ("IN", Events::IN),
    ("PRI", Events(0x2)),
    ("OUT", Events::OUT),
    ("ERR", Events::ERR),
    ("HUP", Events::HUP),
    ("RDNORM", Events(0x40)),
    ("WRNORM", Events(0x100)),
    ("RDHUP", Events::RDHUP),
    ("EXCLUSIVE", Events(1 << 28)),
    ("ONESHOT", Events::ONESHOT),
    ("ET", Events::EDGE),
];

impl Events {
    /// Data can be read, or a connection accepted.
    pub const IN: Events = Events(0x1);
    /// Data can be written.
    pub const OUT: Events = Events(0x4);
    /// An error is pending.
    pub const ERR: Events = Events(0x8);
    /// Both directions are shut down.
    pub const HUP: Events = Events(0x10);
    /// The peer has shut down its sending direction.
    pub const RDHUP: Events = Events(0x2000);
    /// `EPOLLONESHOT`
    pub const ONESHOT: Events = Events(1 << 30);
    /// `EPOLLET`
    pub const EDGE: Events = Events(1 << 31);
    /// Flags that select how events are reported.
    pub const HOW: Events = Events(Events::ONESHOT.0 | Events::EDGE.0);
    /// Events reported whether requested or not.
    pub const ALWAYS: Events = Events(Events::ERR.0 | Events::HUP.0);

    /// Whether it contains one of these events.
    pub fn has(self, any: Events) -> bool {
        self.0 & any.0 != 0
    }

    /// The union of both.
    pub fn with(self, others: Events) -> Events {
        Events(self.0 | others.0)
    }

    /// The events that are reported when `asked` are requested.
    pub fn told_of(self, asked: Events) -> Events {
        Events(self.0 & asked.with(Events::ALWAYS).0)
    }

    /// `IN|OUT`; None for a name that does not exist or is not simulated.
    fn parse(value: &Expression) -> Option<Events> {
        let one = |part: &Expression| match part {
            Expression::Name(name) => {
                let name = name
                    .strip_prefix('E')
                    .unwrap_or(name)
                    .strip_prefix("POLL")?;
                let (_, event) = NAMES.iter().find(|(known, _)| *known == name)?;
                (name != "PRI" && name != "EXCLUSIVE").then_some(*event)
            }
            Expression::Number(0) => Some(Events::default()),
            _ => None,
        };
        match value {
            Expression::Either(parts) => parts
                .iter()
                .try_fold(Events::default(), |sum, part| Some(sum.with(one(part)?))),
            other => one(other),
        }
    }

    /// Names as in poll(2).
    pub fn shown(self) -> String {
        let names = NAMES.iter().filter(|(_, event)| self.has(*event));
        let names: Vec<String> = names.map(|(name, _)| format!("POLL{name}")).collect();
        match names.is_empty() {
            true => "0".into(),
            false => names.join("|"),
        }
    }
}

/// A socket, the requested events, and the expected events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollEntry {
    /// File descriptor.
    pub fd: i64,
    /// Requested events.
    pub asked: Events,
    /// Expected events.
    pub told: Events,
}

/// Timeout of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// Milliseconds.
    Ms(u64),
    /// No timeout.
    Never,
}

/// An epoll_ctl(2) operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// `EPOLL_CTL_ADD`
    Add(Events),
    /// `EPOLL_CTL_MOD`
    Modify(Events),
    /// `EPOLL_CTL_DEL`
    Delete,
}

/// The longest timeout: a day.
const LONGEST_MS: i64 = 86_400_000;
/// Maximum number of sockets in a call.
const MOST_SOCKETS: usize = 64;

fn unknown(call: &script::Call) -> String {
    format!("arguments of {}", call.name)
}

fn timeout(call: &script::Call, index: usize) -> Result<Timeout, String> {
    match call.arguments.get(index) {
        Some(Expression::Number(-1)) => Ok(Timeout::Never),
        Some(Expression::Number(ms @ 0..=LONGEST_MS)) => Ok(Timeout::Ms(*ms as u64)),
        _ => Err(unknown(call)),
    }
}

fn events(call: &script::Call, parts: &[Expression], name: &str) -> Result<Events, String> {
    let value = value_of(parts, name).ok_or_else(|| unknown(call))?;
    Events::parse(value).ok_or_else(|| format!("{name} of {}", call.name))
}

fn number(call: &script::Call, value: Option<&Expression>) -> Result<i64, String> {
    match value {
        Some(Expression::Number(value)) => Ok(*value),
        _ => Err(unknown(call)),
    }
}

/// `poll([{fd=4, events=POLLIN, revents=POLLIN}], 1, 100)`
pub(super) fn poll(call: &script::Call) -> Result<(Vec<PollEntry>, Timeout), String> {
    let Some(Expression::List(all)) = call.arguments.first() else {
        return Err(unknown(call));
    };
    let polled = all.iter().map(|one| {
        let Expression::Structure(parts) = one else {
            return Err(unknown(call));
        };
        Ok(PollEntry {
            fd: number(call, value_of(parts, "fd"))?,
            asked: events(call, parts, "events")?,
            told: events(call, parts, "revents")?,
        })
    });
    let polled: Vec<PollEntry> = polled.collect::<Result<_, String>>()?;
    let count = number(call, call.arguments.get(1))?;
    if polled.len() > MOST_SOCKETS || i64::try_from(polled.len()) != Ok(count) {
        return Err(unknown(call));
    }
    Ok((polled, timeout(call, 2)?))
}

/// `epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN|EPOLLET, fd=4})`: the socket and the operation.
pub(super) fn control(call: &script::Call) -> Result<(i64, Control), String> {
    let fd = number(call, call.arguments.get(2))?;
    let asked = || match call.arguments.get(3) {
        Some(Expression::Structure(parts)) => events(call, parts, "events"),
        _ => Err(unknown(call)),
    };
    let control = match call.arguments.get(1) {
        Some(Expression::Name(name)) => match name.as_str() {
            "EPOLL_CTL_ADD" => Control::Add(asked()?),
            "EPOLL_CTL_MOD" => Control::Modify(asked()?),
            "EPOLL_CTL_DEL" => Control::Delete,
            _ => return Err(unknown(call)),
        },
        _ => return Err(unknown(call)),
    };
    Ok((fd, control))
}

/// `epoll_wait(5, {events=EPOLLIN, fd=4}, 1, 0)`: the expected first event.
pub(super) fn wait(call: &script::Call) -> Result<(Events, Timeout), String> {
    let told = match call.arguments.get(1) {
        Some(Expression::Structure(parts)) => events(call, parts, "events")?,
        _ => return Err(unknown(call)),
    };
    Ok((told, timeout(call, 3)?))
}
