//! System calls that a script's application can make.

use super::messages::{self, Control, ErrorMessage, MOST_BYTES};
use super::polling::{self, Events, PollEntry, Timeout};
use super::stamping::StampFlags;
use crate::fast_open::Key;
use crate::language::script::{self, Expression};
use dumbbell_tcp::cca::Algorithm;
use dumbbell_tcp::sender::FollowedBy;

/// A system call and its expected result.
#[derive(Debug, Clone)]
pub struct Call {
    /// The operation.
    pub operation: Operation,
    /// Expected return value; None if the script accepts any.
    pub returns: Option<i64>,
    /// Name of the expected error.
    pub error: Option<String>,
    /// Name in the script, for error messages.
    pub name: String,
}

/// An operation of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `socket`
    Socket,
    /// `bind`: to any address.
    Bind(i64),
    /// `listen`
    Listen(i64),
    /// `accept`
    Accept(i64),
    /// `connect`
    Connect(i64),
    /// `read`, `recv` ...: on this socket, this number of bytes.
    Read(i64, u64, Reading),
    /// `recvmsg(MSG_ERRQUEUE)`: the expected message.
    ReadErrors(i64, Option<ErrorMessage>),
    /// `write`, `send` ...
    Write(i64, u64, Sending),
    /// `poll`
    Poll(Vec<PollEntry>, Timeout),
    /// `epoll_create`
    EpollCreate,
    /// `epoll_ctl`: on this instance, for this socket.
    EpollControl(i64, i64, polling::Control),
    /// `epoll_wait`: on this instance; the expected first event.
    EpollWait(i64, Events, Timeout),
    /// `close`
    Close(i64),
    /// `shutdown`
    Shutdown {
        /// The socket.
        fd: i64,
        /// `SHUT_RD`: the receiving direction.
        reads: bool,
        /// `SHUT_WR`: the sending direction.
        writes: bool,
    },
    /// `fcntl`: the new state of non-blocking mode, if the call sets it.
    Fcntl(i64, Option<bool>),
    /// `setsockopt`
    Set(i64, SocketOption),
    /// `getsockopt`: the expected value.
    Get(i64, SocketOption),
    /// `ioctl(SIOCINQ)`: expected number of bytes available to read.
    Readable(i64, u64),
    /// `ioctl(SIOCOUTQ)`: expected number of unacknowledged bytes.
    Unacknowledged(i64, u64),
}

/// Parameters of a read (recv(2)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// The buffer's address is `NULL`.
    pub lacks_buffer: bool,
    /// Expected control message: bytes available to read after the call (`TCP_CM_INQ`).
    pub readable_bytes: Option<u64>,
}

/// Parameters of a write (send(2)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sending {
    /// `MSG_FASTOPEN`: connects the socket first, if it is not connected.
    pub opens: bool,
    /// `MSG_DONTWAIT`
    pub does_not_wait: bool,
    /// The destination's family is `AF_UNSPEC`: no destination.
    pub is_to_nobody: bool,
    /// `MSG_ZEROCOPY`
    pub is_zero_copy: bool,
    /// What the application announces to follow the data (`MSG_MORE`, `MSG_EOR`).
    pub followed_by: FollowedBy,
    /// The buffer's address is `NULL`.
    pub lacks_buffer: bool,
}

impl Sending {
    /// Sets what follows the data; the error names an unsupported combination.
    fn say(&mut self, said: FollowedBy) -> Result<(), String> {
        match self.followed_by {
            FollowedBy::Anything => self.followed_by = said,
            other if other == said => {}
            _ => return Err("MSG_MORE with MSG_EOR".into()),
        }
        Ok(())
    }

    /// Sets the flag with this name; the error names a flag that is not simulated.
    fn set(&mut self, name: &str) -> Result<(), String> {
        match name {
            "MSG_FASTOPEN" => self.opens = true,
            "MSG_DONTWAIT" => self.does_not_wait = true,
            "MSG_MORE" => self.say(FollowedBy::More)?,
            "MSG_EOR" => self.say(FollowedBy::Record)?,
            "MSG_ZEROCOPY" => self.is_zero_copy = true,
            "MSG_NOSIGNAL" => {}
            _ => return Err(name.to_owned()),
        }
        Ok(())
    }
}

/// Numeric values of flags (`linux/socket.h`), for scripts that give numbers.
const SENDING_FLAGS: [(i64, &str); 7] = [
    (0x40, "MSG_DONTWAIT"),
    (0x80, "MSG_EOR"),
    (0x2000, "MSG_ERRQUEUE"),
    (0x4000, "MSG_NOSIGNAL"),
    (0x8000, "MSG_MORE"),
    (0x400_0000, "MSG_ZEROCOPY"),
    (0x2000_0000, "MSG_FASTOPEN"),
];

/// A socket option and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketOption {
    /// No effect here (`SO_REUSEADDR` ...).
    Neutral,
    /// `SO_SNDBUF`, bytes.
    SendBuffer(u64),
    /// `TCP_NOTSENT_LOWAT`, bytes; 0 for the host's setting.
    MostUnsent(u32),
    /// `SO_ERROR`
    Error(i64),
    /// `TCP_NODELAY`
    NoDelay(bool),
    /// `TCP_CORK`
    Cork(bool),
    /// `TCP_MAXSEG`, bytes.
    LargestSegment(u32),
    /// `TCP_CONGESTION`
    CongestionControl(Algorithm),
    /// `TCP_FASTOPEN`: maximum number of connections whose handshake is not complete.
    FastOpenQueue(u64),
    /// `TCP_FASTOPEN_CONNECT`
    FastOpenConnect(bool),
    /// `TCP_FASTOPEN_KEY`; None if the length is wrong.
    FastOpenKey(Option<Key>),
    /// `TCP_SYNCNT`
    SynRetries(u32),
    /// `SO_ZEROCOPY`
    ZeroCopy(bool),
    /// `TCP_INQ`
    TellsReadable(bool),
    /// `SO_TIMESTAMPING`
    Stamping(StampFlags),
    /// `TCP_USER_TIMEOUT`, milliseconds; 0 for none.
    UserTimeout(u32),
}

/// Maximum number of buffers of a zero-copy write in one packet (`MAX_SKB_FRAGS`).
const MOST_FRAGMENTS: usize = 17;

/// Converts a system call. The error names what is not modelled.
pub(super) fn call(call: &script::Call, waits: bool) -> Result<Call, String> {
    let operation = operation(call)?;
    let may_wait = matches!(
        operation,
        Operation::Accept(_)
            | Operation::Connect(_)
            | Operation::Read(..)
            | Operation::Write(..)
            | Operation::Close(_)
            | Operation::Poll(..)
            | Operation::EpollWait(..)
    );
    if waits && !may_wait {
        return Err(format!("{} that waits", call.name));
    }
    let returns = match &call.returns {
        Some(Expression::Number(value)) => Some(*value),
        None | Some(Expression::Whatever) => None,
        Some(_) => return Err(format!("what {} returns", call.name)),
    };
    Ok(Call {
        operation,
        returns,
        error: call.error.clone(),
        name: call.name.clone(),
    })
}

fn number(call: &script::Call, index: usize) -> Result<i64, String> {
    match call.arguments.get(index) {
        Some(Expression::Number(value)) => Ok(*value),
        _ => Err(format!("arguments of {}", call.name)),
    }
}

fn bytes(call: &script::Call, index: usize) -> Result<u64, String> {
    let bytes = u64::try_from(number(call, index)?).ok();
    let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES);
    bytes.ok_or_else(|| format!("arguments of {}", call.name))
}

fn name(call: &script::Call, index: usize) -> &str {
    match call.arguments.get(index) {
        Some(Expression::Name(name)) => name,
        _ => "",
    }
}

fn operation(call: &script::Call) -> Result<Operation, String> {
    let fd = || number(call, 0);
    Ok(match call.name.as_str() {
        "socket" => socket(call)?,
        "bind" => Operation::Bind(fd()?),
        "listen" => Operation::Listen(fd()?),
        "accept" => Operation::Accept(fd()?),
        "connect" => Operation::Connect(fd()?),
        "read" | "recv" | "recvfrom" => {
            flags(call, 3)?;
            let reading = Reading {
                lacks_buffer: lacks_buffer(call)?,
                ..Reading::default()
            };
            Operation::Read(fd()?, bytes(call, 2)?, reading)
        }
        "recvmsg" => receive_message(call, fd()?)?,
        "write" | "send" | "sendto" => {
            let sending = Sending {
                lacks_buffer: lacks_buffer(call)?,
                ..sending(call, 3)?
            };
            Operation::Write(fd()?, bytes(call, 2)?, sending)
        }
        "sendmsg" => send_message(call, fd()?)?,
        "poll" => {
            let (polled, timeout) = polling::poll(call)?;
            Operation::Poll(polled, timeout)
        }
        "epoll_create" | "epoll_create1" => Operation::EpollCreate,
        "epoll_ctl" => {
            let (socket, control) = polling::control(call)?;
            Operation::EpollControl(fd()?, socket, control)
        }
        "epoll_wait" => {
            let (told, timeout) = polling::wait(call)?;
            Operation::EpollWait(fd()?, told, timeout)
        }
        "close" => Operation::Close(fd()?),
        "shutdown" => match name(call, 1) {
            "SHUT_RD" => shutdown(fd()?, true, false),
            "SHUT_WR" => shutdown(fd()?, false, true),
            "SHUT_RDWR" => shutdown(fd()?, true, true),
            _ => return Err("arguments of shutdown".into()),
        },
        "fcntl" => Operation::Fcntl(fd()?, set_nonblocking(call)),
        "setsockopt" => Operation::Set(fd()?, socket_option(call)?),
        "getsockopt" => Operation::Get(fd()?, socket_option(call)?),
        "ioctl" => {
            let wanted = match call.arguments.get(2) {
                Some(Expression::List(inner)) => match inner.as_slice() {
                    [Expression::Number(value)] => u64::try_from(*value).ok(),
                    _ => None,
                },
                _ => None,
            };
            match (name(call, 1), wanted) {
                ("SIOCINQ", Some(wanted)) => Operation::Readable(fd()?, wanted),
                ("SIOCOUTQ", Some(wanted)) => Operation::Unacknowledged(fd()?, wanted),
                (other, _) => return Err(format!("ioctl {other}")),
            }
        }
        other => return Err(other.to_owned()),
    })
}

fn socket(call: &script::Call) -> Result<Operation, String> {
    match (call.arguments.first(), name(call, 1)) {
        (Some(Expression::Whatever), "SOCK_STREAM") => Ok(Operation::Socket),
        (Some(Expression::Name(family)), "SOCK_STREAM") if family == "AF_INET" => {
            Ok(Operation::Socket)
        }
        (Some(Expression::Name(family)), _) if family != "AF_INET" => Err(family.clone()),
        (_, kind) => Err(format!("socket {kind}")),
    }
}

fn shutdown(fd: i64, reads: bool, writes: bool) -> Operation {
    Operation::Shutdown { fd, reads, writes }
}

/// `MSG_` flags of a write.
fn sending(call: &script::Call, index: usize) -> Result<Sending, String> {
    let mut sending = Sending {
        is_to_nobody: name(call, index + 1) == "AF_UNSPEC",
        ..Sending::default()
    };
    let mut set = |flag: &Expression| match flag {
        Expression::Name(name) => sending.set(name),
        Expression::Number(bits) => {
            let mut left = *bits;
            for (bit, name) in SENDING_FLAGS {
                if left & bit != 0 {
                    left &= !bit;
                    sending.set(name)?;
                }
            }
            match left {
                0 => Ok(()),
                _ => Err(format!("flags of {}", call.name)),
            }
        }
        Expression::Whatever => Ok(()),
        _ => Err(format!("flags of {}", call.name)),
    };
    match call.arguments.get(index) {
        None => {}
        Some(Expression::Either(flags)) => flags.iter().try_for_each(&mut set)?,
        Some(flag) => set(flag)?,
    }
    Ok(sending)
}

/// Whether the buffer is `NULL`; other addresses are not distinguished.
fn lacks_buffer(call: &script::Call) -> Result<bool, String> {
    match call.arguments.get(1) {
        Some(Expression::Whatever) => Ok(false),
        Some(Expression::Name(name)) if name == "NULL" => Ok(true),
        _ => Err("the address of a buffer".into()),
    }
}

/// sendmsg(2)
fn send_message(call: &script::Call, fd: i64) -> Result<Operation, String> {
    if messages::control(call)?.is_some() {
        return Err("control messages".into());
    }
    let (buffers, sending) = (messages::buffers(call)?, sending(call, 2)?);
    // More buffers would make several packets, whatever their size (`MAX_SKB_FRAGS`).
    if sending.is_zero_copy && buffers.count > MOST_FRAGMENTS {
        return Err(format!(
            "MSG_ZEROCOPY of more than {MOST_FRAGMENTS} buffers"
        ));
    }
    Ok(Operation::Write(fd, buffers.bytes, sending))
}

/// recvmsg(2)
fn receive_message(call: &script::Call, fd: i64) -> Result<Operation, String> {
    let control = messages::control(call)?;
    if name(call, 2) == "MSG_ERRQUEUE" {
        return match control {
            // A copy of the segment's headers and payload is returned with a timestamp.
            Some(Control::Error(ErrorMessage::Stamp(_))) if messages::buffers(call)?.bytes > 0 => {
                Err("what is read with a time stamp".into())
            }
            None => Ok(Operation::ReadErrors(fd, None)),
            Some(Control::Error(message)) => Ok(Operation::ReadErrors(fd, Some(message))),
            Some(Control::Readable(_)) => Err("control messages".into()),
        };
    }
    flags(call, 2)?;
    let reading = match control {
        None => Reading::default(),
        Some(Control::Readable(bytes)) => Reading {
            readable_bytes: Some(bytes),
            ..Reading::default()
        },
        Some(Control::Error(_)) => return Err("control messages".into()),
    };
    Ok(Operation::Read(fd, messages::buffers(call)?.bytes, reading))
}

/// `MSG_` flags of a read: only those of the error queue are simulated.
fn flags(call: &script::Call, index: usize) -> Result<(), String> {
    match call.arguments.get(index) {
        None | Some(Expression::Number(0) | Expression::Whatever) => Ok(()),
        Some(Expression::Name(name)) => Err(name.clone()),
        Some(_) => Err(format!("flags of {}", call.name)),
    }
}

/// Bytes of a text, in which `\\xf7` is one byte.
fn bytes_of_text(text: &str) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            found.push(u8::try_from(letter).ok()?);
            continue;
        }
        let (mark, high, low) = (letters.next()?, letters.next()?, letters.next()?);
        let byte = (mark == 'x').then_some(high.to_digit(16)? * 16 + low.to_digit(16)?)?;
        found.push(byte as u8);
    }
    Some(found)
}

fn set_nonblocking(call: &script::Call) -> Option<bool> {
    if name(call, 1) != "F_SETFL" {
        return None;
    }
    let is_nonblocking =
        |flag: &Expression| matches!(flag, Expression::Name(name) if name == "O_NONBLOCK");
    Some(match call.arguments.get(2) {
        Some(Expression::Either(flags)) => flags.iter().any(is_nonblocking),
        Some(flag) => is_nonblocking(flag),
        None => false,
    })
}

fn socket_option(call: &script::Call) -> Result<SocketOption, String> {
    let option = name(call, 2);
    let value = match call.arguments.get(3) {
        Some(Expression::List(inner)) => match inner.as_slice() {
            [Expression::Number(value)] => Some(*value),
            _ => None,
        },
        _ => None,
    };
    let unsupported = || match value {
        Some(value) => format!("{option}={value}"),
        None => option.to_owned(),
    };
    let positive = || {
        let value = value.and_then(|value| u32::try_from(value).ok());
        value.map(u64::from).ok_or_else(unsupported)
    };
    Ok(match option {
        "SO_REUSEADDR" | "SO_REUSEPORT" | "SO_MARK" | "IP_TOS" | "IP_MTU_DISCOVER" => {
            SocketOption::Neutral
        }
        "SO_TIMESTAMPING" if call.name == "setsockopt" => {
            SocketOption::Stamping(StampFlags::parse(call.arguments.get(3))?)
        }
        "SO_ZEROCOPY" => SocketOption::ZeroCopy(positive()? != 0),
        "TCP_USER_TIMEOUT" => SocketOption::UserTimeout(positive()? as u32),
        "TCP_INQ" => SocketOption::TellsReadable(positive()? != 0),
        "SO_SNDBUF" => SocketOption::SendBuffer(positive()?),
        "TCP_NOTSENT_LOWAT" => SocketOption::MostUnsent(positive()? as u32),
        "SO_ERROR" => SocketOption::Error(value.ok_or_else(unsupported)?),
        "TCP_NODELAY" => SocketOption::NoDelay(positive()? != 0),
        "TCP_CORK" => SocketOption::Cork(positive()? != 0),
        "TCP_MAXSEG" => {
            let bytes = u32::try_from(positive()?).map_err(|_| unsupported())?;
            if !(88..=1460).contains(&bytes) {
                return Err(unsupported());
            }
            SocketOption::LargestSegment(bytes)
        }
        "TCP_CONGESTION" => match call.arguments.get(3) {
            Some(Expression::Text(name)) => {
                SocketOption::CongestionControl(Algorithm::named(name).ok_or_else(unsupported)?)
            }
            _ => return Err(unsupported()),
        },
        "TCP_FASTOPEN" => SocketOption::FastOpenQueue(positive()?),
        "TCP_FASTOPEN_CONNECT" => SocketOption::FastOpenConnect(positive()? != 0),
        "TCP_FASTOPEN_KEY" if call.name == "setsockopt" => {
            let text = match call.arguments.get(3) {
                Some(Expression::Text(text)) => bytes_of_text(text),
                _ => None,
            };
            let length = number(call, 4)?;
            let text = text.ok_or_else(unsupported)?;
            let key = <[u8; 16]>::try_from(text.as_slice());
            SocketOption::FastOpenKey(key.ok().filter(|_| length == 16).map(Key))
        }
        "TCP_SYNCNT" => match u32::try_from(positive()?) {
            Ok(times @ 1..=127) => SocketOption::SynRetries(times),
            _ => return Err(unsupported()),
        },
        "" => return Err(format!("arguments of {}", call.name)),
        _ => return Err(unsupported()),
    })
}
