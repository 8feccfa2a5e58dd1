//! Why a value that tc reads is refused all the same.

use std::fmt;

/// Why a value that tc reads is refused here: it would not be what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A share of the device's speed, which a description does not have.
    NeedsDevice,
    /// It does not fit the integers of tc or of the kernel, and what is left of it is another
    /// number.
    Wraps,
    /// tc takes it for not given, or the kernel does not look at it.
    Ignored,
    /// The kernel takes another value in its place.
    Replaced,
    /// It has more digits than are held here, and than show.
    TooFine,
    /// `red`, `choke`: tc finds no weight of the average for it, or one too small for the kernel.
    NoWeight,
    /// `red`, `choke`: tc divides by the microseconds that an average packet takes, which are none.
    NoTime,
    /// No packet would ever get through.
    DropsAll,
    /// The kernel can do it, this laboratory cannot.
    NotModelled,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Reason::NeedsDevice => "tc asks the device for its speed, and there is no device",
            Reason::Wraps => "tc or the kernel would make another number of it, as it does not fit",
            Reason::Ignored => "tc or the kernel ignores it, as if it were not there",
            Reason::Replaced => "the kernel takes another value in its place",
            Reason::TooFine => "it has more digits than can be held",
            Reason::NoWeight => {
                "there is no averaging weight (Wlog) that tc and the kernel can hold"
            }
            Reason::NoTime => {
                "an average packet takes less than a microsecond at it, by which tc would divide"
            }
            Reason::DropsAll => "every packet would be dropped",
            Reason::NotModelled => "tc takes it, but it is not modelled here",
        })
    }
}
