//! `msghdr` and control messages (recvmsg(2), cmsg(3)) in a script's notation.

use super::stamping::{self, Stamp};
use crate::language::script::{self, Expression};

/// Maximum number of bytes that one call reads or writes.
pub(super) const MOST_BYTES: u64 = u32::MAX as u64;

/// Buffers of a `msghdr`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Buffers {
    /// Total size, bytes.
    pub bytes: u64,
    /// Number of non-empty buffers.
    pub count: usize,
}

/// A message of the error queue (recvmsg(2), `MSG_ERRQUEUE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorMessage {
    /// Completed zero-copy writes: their buffers are free.
    Completed(ZeroCopyRange),
    /// A transmit timestamp.
    Stamp(Stamp),
}

impl ErrorMessage {
    /// Text for error messages.
    pub fn shown(self) -> String {
        match self {
            ErrorMessage::Completed(one) => format!("{} to {}", one.first, one.last),
            ErrorMessage::Stamp(stamp) => stamp.shown(),
        }
    }
}

/// A control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// `TCP_CM_INQ`: bytes available to read after this call.
    Readable(u64),
    /// `SO_EE_ORIGIN_ZEROCOPY`: the buffers of these writes, counted from 0, are free. Or
    /// `SO_EE_ORIGIN_TIMESTAMPING`.
    Error(ErrorMessage),
}

/// Range of writes whose buffers are free, inclusive (`ee_info`, `ee_data`;
/// Documentation/networking/msg_zerocopy.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroCopyRange {
    /// First write.
    pub first: u32,
    /// Last write.
    pub last: u32,
}

fn unknown(call: &script::Call) -> String {
    format!("arguments of {}", call.name)
}

/// The fields of the `msghdr`.
fn fields(call: &script::Call) -> Result<&[Expression], String> {
    match call.arguments.get(1) {
        Some(Expression::Structure(parts)) => Ok(parts),
        _ => Err(unknown(call)),
    }
}

/// `msg_iov(2)=[{..., 10}, {..., 20}]`
pub(super) fn buffers(call: &script::Call) -> Result<Buffers, String> {
    let mut found = Buffers::default();
    for part in fields(call)? {
        let Expression::Field(left, right) = part else {
            continue;
        };
        if !matches!(left.as_ref(), Expression::Applied(name, _) if name == "msg_iov") {
            continue;
        }
        let Expression::List(buffers) = right.as_ref() else {
            return Err(unknown(call));
        };
        for buffer in buffers {
            let Expression::Structure(buffer) = buffer else {
                return Err(unknown(call));
            };
            let [Expression::Whatever, Expression::Number(bytes)] = buffer.as_slice() else {
                return Err(unknown(call));
            };
            let bytes = u64::try_from(*bytes).map_err(|_| unknown(call))?;
            found.bytes = found.bytes.saturating_add(bytes);
            found.count += usize::from(bytes > 0);
            if found.bytes > MOST_BYTES {
                return Err(unknown(call));
            }
        }
    }
    Ok(found)
}

/// `msg_control=[{cmsg_level=SOL_TCP, cmsg_type=TCP_CM_INQ, cmsg_data=9}]`: no message, one, or the
/// two of a timestamp.
pub(super) fn control(call: &script::Call) -> Result<Option<Control>, String> {
    let other = || "control messages".to_owned();
    let Some(value) = value_of(fields(call)?, "msg_control") else {
        return Ok(None);
    };
    let Expression::List(messages) = value else {
        return Err(other());
    };
    let message = match messages.as_slice() {
        [] => return Ok(None),
        [Expression::Structure(message)] => message,
        [Expression::Structure(time), Expression::Structure(what)] => {
            let stamp = stamp(time, what).ok_or_else(other)?;
            return Ok(Some(Control::Error(ErrorMessage::Stamp(stamp))));
        }
        _ => return Err(other()),
    };
    let is_of = |field: &str, names: &[&str]| has_name(message, field, names);
    let data = value_of(message, "cmsg_data");
    if is_of("cmsg_level", &["SOL_TCP"]) && is_of("cmsg_type", &["TCP_CM_INQ", "TCP_INQ"]) {
        return match data {
            Some(Expression::Number(bytes)) => {
                let bytes = u64::try_from(*bytes).map_err(|_| other())?;
                Ok(Some(Control::Readable(bytes)))
            }
            _ => Err(other()),
        };
    }
    let completed = extended_error(message).and_then(completed);
    let completed = completed.ok_or_else(other)?;
    Ok(Some(Control::Error(ErrorMessage::Completed(completed))))
}

/// Whether this field of a structure has one of these names as its value.
fn has_name(parts: &[Expression], field: &str, names: &[&str]) -> bool {
    matches!(value_of(parts, field), Some(Expression::Name(name)) if names.contains(&name.as_str()))
}

/// The fields of the `sock_extended_err` of a control message.
fn extended_error(message: &[Expression]) -> Option<&[Expression]> {
    // Google's runner defines CMSG_LEVEL_IP and CMSG_TYPE_RECVERR.
    let is_error = has_name(message, "cmsg_level", &["SOL_IP", "CMSG_LEVEL_IP"])
        && has_name(message, "cmsg_type", &["IP_RECVERR", "CMSG_TYPE_RECVERR"]);
    match value_of(message, "cmsg_data") {
        Some(Expression::Structure(data)) if is_error => Some(data),
        _ => None,
    }
}

/// A timestamp: the message with its time, and the message that identifies what it stamps.
fn stamp(time: &[Expression], what: &[Expression]) -> Option<Stamp> {
    let is_time = has_name(time, "cmsg_level", &["SOL_SOCKET"])
        && has_name(time, "cmsg_type", &["SCM_TIMESTAMPING", "SO_TIMESTAMPING"]);
    let at = stamping::time_of(value_of(time, "cmsg_data").filter(|_| is_time)?)?;
    let (moment, byte) = stamping::moment_of(extended_error(what)?)?;
    Some(Stamp { moment, byte, at })
}

/// The `sock_extended_err` of a zero-copy write whose data were copied, as on packetdrill's device.
fn completed(data: &[Expression]) -> Option<ZeroCopyRange> {
    let name = |field: &str| match value_of(data, field) {
        Some(Expression::Name(name)) => Some(name.as_str()),
        _ => None,
    };
    let number = |field: &str| match value_of(data, field) {
        Some(Expression::Number(value)) => u32::try_from(*value).ok(),
        _ => None,
    };
    let is_known = name("ee_origin") == Some("SO_EE_ORIGIN_ZEROCOPY")
        && name("ee_code") == Some("SO_EE_CODE_ZEROCOPY_COPIED")
        && number("ee_errno") == Some(0)
        && number("ee_type") == Some(0);
    is_known.then_some(ZeroCopyRange {
        first: number("ee_info")?,
        last: number("ee_data")?,
    })
}

/// Value of a field of a structure.
pub(super) fn value_of<'a>(parts: &'a [Expression], wanted: &str) -> Option<&'a Expression> {
    parts.iter().find_map(|part| match part {
        Expression::Field(name, value) => match name.as_ref() {
            Expression::Name(name) if name == wanted => Some(value.as_ref()),
            _ => None,
        },
        _ => None,
    })
}
