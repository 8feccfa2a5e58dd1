//! A segment: the header fields without the wire format. Sequence numbers have 64 bits and count from 0, the
//! SYN, so they never wrap here.

use crate::ecn_option::EcnOption;
use std::num::NonZeroU32;
use std::ops::{BitOr, BitOrAssign};

/// Bytes of a header without options (RFC 9293 section 3.1).
pub const HEADER_BYTES: u32 = 20;
/// Size of the largest possible header (RFC 9293 section 3.1, data offset).
pub const LARGEST_HEADER_BYTES: u32 = 60;
/// Bytes of the timestamps option with its padding (RFC 7323 section 3.2, appendix A).
pub const TIMESTAMPS_BYTES: u32 = 12;
/// Largest number of SACK blocks beside timestamps (RFC 2018 section 3).
pub const MOST_SACK_BLOCKS_BESIDE_TIMESTAMPS: usize = 3;
/// Largest number of SACK blocks without timestamps (RFC 2018 section 3).
pub const MOST_SACK_BLOCKS: usize = 4;

/// Control bits, and the congestion field of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// Opens a connection.
    pub const SYN: Flags = Flags(1);
    /// The sender has nothing more to send.
    pub const FIN: Flags = Flags(2);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(4);
    /// ECN echo (RFC 3168 section 6.1); on a SYN it offers ECN.
    pub const ECE: Flags = Flags(8);
    /// Congestion window reduced (RFC 3168 section 6.1); on a SYN it offers ECN.
    pub const CWR: Flags = Flags(16);
    /// Push: the end of a write of the application.
    pub const PSH: Flags = Flags(32);
    /// ECT(0) in the IP header.
    pub const ECT: Flags = Flags(64);
    /// CE in the IP header: the packet was marked.
    pub const CE: Flags = Flags(128);
    /// The third bit of accurate ECN (RFC 9768 section 3.1.1).
    pub const AE: Flags = Flags(256);
    /// Beside `ECT`: it is ECT(1).
    pub const ECT1: Flags = Flags(512);
    /// The sender's segment carries the option of an accurate ECN handshake (RFC 9768 section 3.2.3.2.1).
    pub const ECN_OPTION: Flags = Flags(1024);
    /// The three bits that count marks (RFC 9768 section 3.2.2).
    pub const ACE: Flags = Flags(256 | 16 | 8);

    /// Whether all of these are set.
    #[inline]
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The number 5 in those three.
    pub(crate) const FIVE: Flags = Flags(256 | 8);

    /// Those of the lowest eight bits, which are all but AE, ECT(1) and the mark of an option.
    #[inline]
    pub fn low_bits(self) -> u8 {
        self.0 as u8
    }

    /// With these lowest eight bits, and AE or not.
    #[inline]
    pub fn from_bits(low: u8, has_ae: bool) -> Flags {
        Flags(u16::from(low) | u16::from(has_ae) << 8)
    }

    /// The flags that are set here but not there.
    #[inline]
    pub fn without(self, flags: Flags) -> Flags {
        Flags(self.0 & !flags.0)
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// Data received out of order: bytes [start, end) (RFC 2018 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl SackBlock {
    /// Number of bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// The SACK option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; MOST_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Appends a block, if there is room for `most`.
    pub fn push(&mut self, block: SackBlock, most: usize) {
        if self.len() < most.min(MOST_SACK_BLOCKS) {
            self.blocks[self.len()] = block;
            self.count += 1;
        }
    }

    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..self.len()]
    }

    /// The blocks, to be changed in place.
    pub fn as_mut_slice(&mut self) -> &mut [SackBlock] {
        let len = self.len();
        &mut self.blocks[..len]
    }

    /// Keeps at most this number of blocks, the first ones.
    pub fn truncate(&mut self, most: usize) {
        self.count = self.count.min(most as u8);
    }

    /// Bytes of the option with its padding.
    pub fn option_bytes(&self) -> u32 {
        sack_option_bytes(self.len())
    }

    /// Removes the block at this index.
    pub fn remove(&mut self, index: usize) {
        let len = self.len();
        self.blocks.copy_within(index + 1..len, index);
        self.count -= 1;
    }

    /// Prepends a block; drops the last if there is no room.
    pub fn push_front(&mut self, block: SackBlock) {
        let kept = self.len().min(MOST_SACK_BLOCKS - 1);
        self.blocks.copy_within(..kept, 1);
        self.blocks[0] = block;
        self.count = kept as u8 + 1;
    }
}

/// Bytes of a SACK option with this number of blocks, and its padding (RFC 2018 section 3, appendix A).
pub fn sack_option_bytes(blocks: usize) -> u32 {
    match blocks as u32 {
        0 => 0,
        blocks => 4 + 8 * blocks,
    }
}

/// The timestamps option, in milliseconds (RFC 7323 section 3; Linux's `TCP_TS_HZ`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// Send time (TSval).
    pub value_ms: u32,
    /// Echoed timestamp (TSecr); 0 for none.
    pub echo_ms: u32,
}

impl Timestamps {
    /// The echoed timestamp, if any.
    #[inline]
    pub fn echo(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.echo_ms)
    }
}

/// The options that few segments have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SparseOptions {
    /// The SACK option.
    pub sack: SackBlocks,
    /// The option of accurate ECN.
    pub ecn_option: Option<EcnOption>,
}

impl SparseOptions {
    /// Whether there is neither.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.sack.is_empty() && self.ecn_option.is_none()
    }
}

/// A segment without SACK blocks and counters of bytes, like most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Sequence number of its first byte.
    pub seq: u64,
    /// Acknowledgement number.
    pub ack: u64,
    /// Receive window, after scaling.
    pub window_bytes: u64,
    /// None without the option.
    pub timestamps: Option<Timestamps>,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Control bits.
    pub flags: Flags,
}

impl Header {
    /// One past its last sequence number: SYN and FIN count.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq + u64::from(self.payload_bytes) + control
    }

    /// Bytes of the TCP header with its options. A SYN carries MSS, SACK permitted, window scale
    /// and timestamps, 20 bytes as Linux lays them out.
    #[inline(always)]
    pub fn header_bytes(&self) -> u32 {
        if self.flags.has(Flags::SYN) {
            return HEADER_BYTES + 20;
        }
        HEADER_BYTES + self.timestamps.map_or(0, |_| TIMESTAMPS_BYTES)
    }
}

impl From<Header> for Segment {
    fn from(header: Header) -> Segment {
        Segment {
            seq: header.seq,
            ack: header.ack,
            window_bytes: header.window_bytes,
            sack: SackBlocks::default(),
            ecn_option: None,
            timestamps: header.timestamps,
            payload_bytes: header.payload_bytes,
            flags: header.flags,
        }
    }
}

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number of its first byte.
    pub seq: u64,
    /// Acknowledgement number.
    pub ack: u64,
    /// Receive window, after scaling.
    pub window_bytes: u64,
    /// The SACK option.
    pub sack: SackBlocks,
    /// The option of accurate ECN (RFC 9768 section 3.2.3).
    pub ecn_option: Option<EcnOption>,
    /// None without the option.
    pub timestamps: Option<Timestamps>,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Control bits.
    pub flags: Flags,
}

impl Segment {
    /// With these options beside those of the header.
    pub fn with_options(header: Header, options: &SparseOptions) -> Segment {
        Segment {
            sack: options.sack,
            ecn_option: options.ecn_option,
            ..Segment::from(header)
        }
    }

    /// Its options beside those of the header.
    pub fn sparse_options(&self) -> SparseOptions {
        SparseOptions {
            sack: self.sack,
            ecn_option: self.ecn_option,
        }
    }

    /// The segment without SACK blocks and counters of bytes.
    #[inline(always)]
    pub fn header(&self) -> Header {
        Header {
            seq: self.seq,
            ack: self.ack,
            window_bytes: self.window_bytes,
            timestamps: self.timestamps,
            payload_bytes: self.payload_bytes,
            flags: self.flags,
        }
    }

    /// See [`Header::end`].
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.header().end()
    }

    /// Bytes of the TCP header with its options.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        let sack = match self.flags.has(Flags::SYN) {
            true => 0,
            false => self.sack.option_bytes(),
        };
        let ecn = self.ecn_option.map_or(0, |option| option.padded_bytes());
        self.header().header_bytes() + sack + ecn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_fill_the_header() {
        let mut segment = Segment {
            timestamps: Some(Timestamps::default()),
            ..Segment::default()
        };
        assert_eq!(segment.header_bytes(), 32);
        for _ in 0..5 {
            let most = MOST_SACK_BLOCKS_BESIDE_TIMESTAMPS;
            segment.sack.push(SackBlock { start: 1, end: 2 }, most);
        }
        // 20 + 12 + 4 + 24: the largest header there is.
        assert_eq!(segment.header_bytes(), 60);
        segment.flags = Flags::SYN;
        assert_eq!(segment.header_bytes(), 40);
    }

    #[test]
    fn control_bits_count_in_the_sequence() {
        let fin = Segment {
            seq: 10,
            payload_bytes: 5,
            flags: Flags::FIN | Flags::ACK,
            ..Segment::default()
        };
        assert_eq!(fin.end(), 16);
    }

    #[test]
    fn the_last_block_makes_room() {
        let mut blocks = SackBlocks::default();
        for start in 0..6 {
            blocks.push_front(SackBlock {
                start,
                end: start + 1,
            });
        }
        let starts: Vec<u64> = blocks.as_slice().iter().map(|block| block.start).collect();
        assert_eq!(starts, [5, 4, 3, 2]);
        blocks.remove(1);
        let starts: Vec<u64> = blocks.as_slice().iter().map(|block| block.start).collect();
        assert_eq!(starts, [5, 3, 2]);
    }
}
