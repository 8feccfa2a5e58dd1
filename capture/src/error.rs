//! Errors of capture files.

use std::io;

/// Why the rest of a file cannot be read. Packets before the error have been returned.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file is empty.
    #[error("the file is empty: a capture begins with a header of 24 bytes (pcap) or 28 (pcapng)")]
    Empty,
    /// The file has another format.
    #[error("not a capture: {what}; pcapng (0x0a0d0d0a) or pcap (0xa1b2c3d4, 0xa1b23c4d) expected")]
    Foreign {
        /// The format that it appears to have.
        what: String,
    },
    /// The file is truncated.
    #[error("the file ends at byte {}, within {what} that begins at byte {at} and has {wanted} bytes", at + found)]
    Truncated {
        /// Offset at which the truncated element begins.
        at: u64,
        /// The element.
        what: &'static str,
        /// Its length according to the file.
        wanted: u64,
        /// Number of bytes present.
        found: u64,
    },
    /// A field has an invalid value.
    #[error("at byte {at}: {what} is {found}; {allowed}")]
    Invalid {
        /// Offset of the field.
        at: u64,
        /// The field.
        what: &'static str,
        /// Its value.
        found: String,
        /// The permitted values.
        allowed: String,
    },
    /// The file could not be read from the disk.
    #[error("at byte {at}: {source}")]
    Io {
        /// Offset at which reading failed.
        at: u64,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl ReadError {
    /// Offset in the file at which the error begins.
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

/// Why a packet could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The interface has not been added.
    #[error("interface {interface} was not added; there are {count}")]
    NoInterface {
        /// Number of the interface.
        interface: u32,
        /// Number of interfaces added.
        count: usize,
    },
    /// The packet exceeds the limit of readers.
    #[error("{bytes} bytes of a packet; at most 262144 are kept")]
    TooLong {
        /// Size of the packet.
        bytes: usize,
    },
    /// A name is too long.
    #[error("a name of {bytes} bytes; at most 255")]
    LongName {
        /// Length of the name.
        bytes: usize,
    },
    /// The format cannot represent the time.
    #[error("{at_ns} ns since 1970: pcap ends in 2106")]
    Time {
        /// The time.
        at_ns: u64,
    },
    /// Error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
}
