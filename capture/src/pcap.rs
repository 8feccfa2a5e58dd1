//! Classic pcap (draft-ietf-opsawg-pcap): a header, followed by packets of one interface.

use crate::error::{ReadError, WriteError};
use crate::input::{Extent, Input};
use crate::order::ByteOrder;
use crate::{Interface, LARGEST_PACKET_BYTES, LinkType, Packet};
use std::io::{Read, Write};

pub(crate) const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION: (u16, u16) = (2, 4);
const HEADER_BYTES: u64 = 24;
const RECORD_BYTES: u64 = 16;
const NS_PER_S: u64 = 1_000_000_000;

/// Timestamp unit of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// 10^-6 s; supported by every reader.
    Microseconds,
    /// 10^-9 s; supported by libpcap 1.5, Wireshark and tcpdump.
    Nanoseconds,
}

impl Resolution {
    fn unit_ns(self) -> u64 {
        match self {
            Resolution::Microseconds => 1000,
            Resolution::Nanoseconds => 1,
        }
    }

    fn magic(self) -> u32 {
        match self {
            Resolution::Microseconds => MAGIC_MICROSECONDS,
            Resolution::Nanoseconds => MAGIC_NANOSECONDS,
        }
    }
}

/// Writes a pcap file, packet by packet.
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
    order: ByteOrder,
    resolution: Resolution,
    record: Vec<u8>,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file in little-endian byte order.
    ///
    /// `out` should be buffered: each packet is one write.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(
        out: W,
        resolution: Resolution,
        link_type: LinkType,
        snap_bytes: u32,
    ) -> Result<PcapWriter<W>, WriteError> {
        PcapWriter::with_byte_order(out, resolution, link_type, snap_bytes, ByteOrder::Little)
    }

    /// Begins a file in the byte order of another machine.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn with_byte_order(
        mut out: W,
        resolution: Resolution,
        link_type: LinkType,
        snap_bytes: u32,
        order: ByteOrder,
    ) -> Result<PcapWriter<W>, WriteError> {
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        order.put_u32(&mut header, resolution.magic());
        order.put_u16(&mut header, VERSION.0);
        order.put_u16(&mut header, VERSION.1);
        order.put_u64(&mut header, 0); // two reserved fields, once zone and accuracy
        order.put_u32(&mut header, snap_bytes);
        order.put_u32(&mut header, u32::from(link_type.0));
        out.write_all(&header)?;
        Ok(PcapWriter {
            out,
            order,
            resolution,
            record: header,
        })
    }

    /// Writes a packet. Its time is rounded down to the unit of the file.
    ///
    /// # Errors
    /// The time is after 2106, there are more than 262,144 bytes, or `out` fails.
    pub fn write(
        &mut self,
        at_ns: u64,
        original_bytes: u32,
        data: &[u8],
    ) -> Result<(), WriteError> {
        let bytes = data.len();
        if bytes > LARGEST_PACKET_BYTES as usize {
            return Err(WriteError::TooLong { bytes });
        }
        let seconds = u32::try_from(at_ns / NS_PER_S).map_err(|_| WriteError::Time { at_ns })?;
        let parts = (at_ns % NS_PER_S / self.resolution.unit_ns()) as u32;
        self.record.clear();
        for field in [
            seconds,
            parts,
            bytes as u32,
            original_bytes.max(bytes as u32),
        ] {
            self.order.put_u32(&mut self.record, field);
        }
        self.record.extend_from_slice(data);
        Ok(self.out.write_all(&self.record)?)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// `out` fails when it is flushed.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Fields of the file header.
#[derive(Debug)]
pub(crate) struct PcapReader {
    order: ByteOrder,
    resolution: Resolution,
}

impl PcapReader {
    /// The pcap variant with this magic number.
    pub(crate) fn recognised(magic: [u8; 4]) -> Option<PcapReader> {
        let kind = |order, magic| match magic {
            MAGIC_MICROSECONDS => Some((order, Resolution::Microseconds)),
            MAGIC_NANOSECONDS => Some((order, Resolution::Nanoseconds)),
            _ => None,
        };
        kind(ByteOrder::Little, u32::from_le_bytes(magic))
            .or_else(|| kind(ByteOrder::Big, u32::from_be_bytes(magic)))
            .map(|(order, resolution)| PcapReader { order, resolution })
    }

    /// Reads the header after the magic number.
    pub(crate) fn read_header<R: Read>(
        &self,
        input: &mut Input<R>,
        buffer: &mut Vec<u8>,
    ) -> Result<Interface, ReadError> {
        let header = Extent {
            what: "the file's header",
            begin: 0,
            bytes: HEADER_BYTES,
        };
        input.read_exactly(buffer, HEADER_BYTES - 4, header)?;
        let u16_at = |at| self.order.u16_at(buffer, at).expect("20 bytes were read");
        let u32_at = |at| self.order.u32_at(buffer, at).expect("20 bytes were read");
        let (major, minor) = (u16_at(0), u16_at(2));
        if (major, minor) != VERSION {
            let found = format!("{major}.{minor}");
            return Err(ReadError::invalid(4, "the version", found, "2.4 is read"));
        }
        // The upper half of the last field states whether frames end with a frame check sequence.
        let link_type = LinkType(u32_at(16) as u16);
        Ok(Interface::new("", link_type, u32_at(12)))
    }

    /// Reads the next packet into the buffer; None at the end.
    pub(crate) fn next<'a, R: Read>(
        &self,
        input: &mut Input<R>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<Packet<'a>>, ReadError> {
        let mut record = Extent {
            what: "a packet",
            begin: input.at(),
            bytes: RECORD_BYTES,
        };
        input.read_up_to(buffer, RECORD_BYTES)?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let field = |index: usize| self.order.u32_at(buffer, 4 * index);
        let fields = (field(0), field(1), field(2), field(3));
        let (Some(seconds), Some(parts), Some(kept), Some(original)) = fields else {
            return Err(ReadError::Truncated {
                at: record.begin,
                what: "the header of a packet",
                wanted: RECORD_BYTES,
                found: buffer.len() as u64,
            });
        };
        if kept > LARGEST_PACKET_BYTES {
            let allowed = format!("at most {LARGEST_PACKET_BYTES} bytes");
            return Err(ReadError::invalid(
                record.begin + 8,
                "a packet's captured length",
                kept,
                allowed,
            ));
        }
        record.bytes += u64::from(kept);
        input.read_exactly(buffer, u64::from(kept), record)?;
        let ns = u64::from(seconds) * NS_PER_S + u64::from(parts) * self.resolution.unit_ns();
        Ok(Some(Packet {
            interface: 0,
            at_ns: Some(ns as i64), // below 2^63: 32 bits of seconds and of microseconds
            original_bytes: original.max(kept),
            data: buffer,
        }))
    }
}
