//! Why a value that tc accepts is refused.

use std::fmt;

/// Why a value that tc accepts is refused here: tc or the kernel would use another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It is a share of the device's speed, which a description does not have.
    NeedsDevice,
    /// It does not fit the integers of tc or the kernel, and what remains is another number.
    Wraps,
    /// tc treats it as not given, or the kernel ignores it.
    Ignored,
    /// The kernel uses another value instead.
    Replaced,
    /// It has more digits than can be stored or shown.
    TooFine,
    /// `red`, `choke`: tc finds no averaging weight for it, or one too small for the kernel.
    NoWeight,
    /// `red`, `choke`: tc divides by the transmission time of an average packet in microseconds, which is 0.
    NoTime,
    /// It would drop every packet.
    DropsAll,
    /// The kernel supports it; the simulator does not.
    NotModelled,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Reason::NeedsDevice => "tc reads the device's speed, and there is no device",
            Reason::Wraps => "it does not fit, and tc or the kernel would use another number",
            Reason::Ignored => "tc or the kernel ignores it",
            Reason::Replaced => "the kernel uses another value instead",
            Reason::TooFine => "it has more digits than can be stored",
            Reason::NoWeight => "there is no averaging weight (Wlog) that tc and the kernel accept",
            Reason::NoTime => {
                "an average packet would take less than a microsecond, and tc would divide by 0"
            }
            Reason::DropsAll => "every packet would be dropped",
            Reason::NotModelled => "tc accepts it, but it is not modelled here",
        })
    }
}
