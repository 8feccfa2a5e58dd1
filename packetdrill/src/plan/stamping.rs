//! Transmit timestamps (`SO_TIMESTAMPING`, Documentation/networking/timestamping.rst) in a script's
//! notation.

use super::messages::value_of;
use crate::clock::since_start;
use crate::language::script::Expression;
use dumbbell_core::time::Time;

/// Timestamps generated for a write when a program requests them with `SOF_TIMESTAMPING_SOFTWARE`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StampFlags {
    /// When its last byte enters the qdisc (`SOF_TIMESTAMPING_TX_SCHED`).
    pub scheduled: bool,
    /// When its last byte is passed to the device (`SOF_TIMESTAMPING_TX_SOFTWARE`).
    pub sent: bool,
    /// When its last byte is acknowledged (`SOF_TIMESTAMPING_TX_ACK`).
    pub acknowledged: bool,
    /// The timestamp includes the number of the byte (`SOF_TIMESTAMPING_OPT_ID`).
    pub tells_byte: bool,
}

/// The point at which a timestamp is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampPoint {
    /// `SCM_TSTAMP_SCHED`
    Scheduled,
    /// `SCM_TSTAMP_SND`
    Sent,
    /// `SCM_TSTAMP_ACK`
    Acknowledged,
}

/// A timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The point at which it was taken.
    pub moment: StampPoint,
    /// The last byte of the write, counted from 0 where `StampFlags::tells_byte` was set.
    pub byte: u32,
    /// Time.
    pub at: Time,
}

impl StampPoint {
    const ALL: [StampPoint; 3] = [
        StampPoint::Scheduled,
        StampPoint::Sent,
        StampPoint::Acknowledged,
    ];

    /// Name in the kernel header.
    fn name(self) -> &'static str {
        match self {
            StampPoint::Scheduled => "SCM_TSTAMP_SCHED",
            StampPoint::Sent => "SCM_TSTAMP_SND",
            StampPoint::Acknowledged => "SCM_TSTAMP_ACK",
        }
    }
}

impl Stamp {
    /// Whether it equals the expected timestamp within `tolerance`. An expected time of zero
    /// matches any.
    pub fn is(self, wanted: Stamp, tolerance: Time) -> bool {
        let is_timely = since_start(wanted.at) == Time::ZERO
            || self.at.max(wanted.at) - self.at.min(wanted.at) <= tolerance;
        (self.moment, self.byte) == (wanted.moment, wanted.byte) && is_timely
    }

    /// Text for error messages.
    pub fn shown(self) -> String {
        let at = since_start(self.at).as_seconds();
        format!("{} of byte {} at {at:.6} s", self.moment.name(), self.byte)
    }
}

impl StampFlags {
    /// `[SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_SOFTWARE]`, or 0; the error names a flag that
    /// is not simulated.
    pub(super) fn parse(value: Option<&Expression>) -> Result<StampFlags, String> {
        let option = || "arguments of SO_TIMESTAMPING".to_owned();
        let Some(Expression::List(inner)) = value else {
            return Err(option());
        };
        let flags = match inner.as_slice() {
            [Expression::Number(0)] => return Ok(StampFlags::default()),
            [Expression::Either(flags)] => flags.as_slice(),
            [_] => inner.as_slice(),
            _ => return Err(option()),
        };
        let (mut stamping, mut is_reported) = (StampFlags::default(), false);
        for flag in flags {
            let Expression::Name(name) = flag else {
                return Err(option());
            };
            match name.as_str() {
                "SOF_TIMESTAMPING_TX_SCHED" => stamping.scheduled = true,
                "SOF_TIMESTAMPING_TX_SOFTWARE" => stamping.sent = true,
                "SOF_TIMESTAMPING_TX_ACK" => stamping.acknowledged = true,
                "SOF_TIMESTAMPING_OPT_ID" => stamping.tells_byte = true,
                "SOF_TIMESTAMPING_SOFTWARE" => is_reported = true,
                other => return Err(other.to_owned()),
            }
        }
        match is_reported {
            true => Ok(stamping),
            false => Err("SO_TIMESTAMPING without SOF_TIMESTAMPING_SOFTWARE".into()),
        }
    }
}

/// `SCM_TIMESTAMPING` of a control message: seconds and nanoseconds of script time.
pub(super) fn time_of(data: &Expression) -> Option<Time> {
    const NS_PER_S: u64 = 1_000_000_000;
    let Expression::Structure(parts) = data else {
        return None;
    };
    let part = |name: &str| match value_of(parts, name) {
        Some(Expression::Number(value)) => u64::try_from(*value).ok(),
        _ => None,
    };
    let ns = part("scm_nsec").filter(|ns| *ns < NS_PER_S)?;
    let ns = part("scm_sec")?.checked_mul(NS_PER_S)?.checked_add(ns)?;
    Some(crate::clock::instant(ns / 1000))
}

/// The accompanying `sock_extended_err`: which point, and which byte.
pub(super) fn moment_of(data: &[Expression]) -> Option<(StampPoint, u32)> {
    let name = |field: &str| match value_of(data, field) {
        Some(Expression::Name(name)) => Some(name.as_str()),
        _ => None,
    };
    let number = |field: &str| match value_of(data, field) {
        Some(Expression::Number(value)) => u32::try_from(*value).ok(),
        _ => None,
    };
    let is_known = name("ee_origin") == Some("SO_EE_ORIGIN_TIMESTAMPING")
        && name("ee_errno") == Some("ENOMSG")
        && number("ee_code") == Some(0)
        && number("ee_type") == Some(0);
    let info = name("ee_info").filter(|_| is_known)?;
    let moment = StampPoint::ALL.into_iter().find(|one| one.name() == info)?;
    Some((moment, number("ee_data")?))
}
