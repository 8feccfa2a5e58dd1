//! What can be wrong with a capture file.

use std::io;

/// Why the rest of a file cannot be read. What came before it has been handed over.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is not a byte.
    #[error("the file is empty: a capture begins with a header of 24 bytes (pcap) or 28 (pcapng)")]
    Empty,
    /// It is something else.
    #[error("not a capture: {what}; pcapng (0x0a0d0d0a) or pcap (0xa1b2c3d4, 0xa1b23c4d) expected")]
    Foreign {
        /// What it seems to be.
        what: String,
    },
    /// It ends too early.
    #[error("the file ends at byte {}, within {what} that begins at byte {at} and has {wanted} bytes", at + found)]
    Truncated {
        /// Where the thing begins.
        at: u64,
        /// Which thing.
        what: &'static str,
        /// How long it says it is.
        wanted: u64,
        /// How much of it there is.
        found: u64,
    },
    /// Something in it cannot be.
    #[error("at byte {at}: {what} is {found}; {allowed}")]
    Invalid {
        /// Where.
        at: u64,
        /// Which field.
        what: &'static str,
        /// What it says.
        found: String,
        /// What it may say.
        allowed: String,
    },
    /// It could not be read from the disk.
    #[error("at byte {at}: {source}")]
    Io {
        /// Where.
        at: u64,
        /// What the system said.
        source: io::Error,
    },
}

impl ReadError {
    /// The byte of the file at which what is wrong begins.
    pub fn at_byte(&self) -> u64 {
        match self {
            ReadError::Empty | ReadError::Foreign { .. } => 0,
            ReadError::Truncated { at, .. }
            | ReadError::Invalid { at, .. }
            | ReadError::Io { at, .. } => *at,
        }
    }

    pub(crate) fn invalid(
        at: u64,
        what: &'static str,
        found: impl ToString,
        allowed: impl Into<String>,
    ) -> ReadError {
        ReadError::Invalid {
            at,
            what,
            found: found.to_string(),
            allowed: allowed.into(),
        }
    }
}

/// Why a packet was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No such interface was added.
    #[error("interface {interface} was not added; there are {count}")]
    NoInterface {
        /// Which one was asked for.
        interface: u32,
        /// How many there are.
        count: usize,
    },
    /// More than any reader takes.
    #[error("{bytes} bytes of a packet; at most 262144 are kept")]
    TooLong {
        /// How many.
        bytes: usize,
    },
    /// A name does not fit.
    #[error("a name of {bytes} bytes; at most 255")]
    LongName {
        /// How many.
        bytes: usize,
    },
    /// The format has no such time.
    #[error("{at_ns} ns since 1970: pcap ends in 2106")]
    Time {
        /// Which one.
        at_ns: u64,
    },
    /// The system refused it.
    #[error(transparent)]
    Io(#[from] io::Error),
}
