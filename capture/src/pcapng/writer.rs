//! Writes pcapng: one section, times in nanoseconds.

use super::{
    BLOCK_INTERFACE, BLOCK_PACKET, BLOCK_SECTION, BLOCK_STATISTICS, OPTION_APPLICATION,
    OPTION_DROPPED, OPTION_END, OPTION_NAME, OPTION_RECEIVED, OPTION_RESOLUTION, SECTION_MAGIC,
    UNKNOWN_LENGTH, VERSION_MAJOR,
};
use crate::error::WriteError;
use crate::order::ByteOrder;
use crate::{Interface, LARGEST_PACKET_BYTES};
use std::io::Write;

/// Resolution of times: 10^-9 s.
const NANOSECONDS: u8 = 9;
const LONGEST_NAME: usize = 255;

/// Counters of an interface at the end, for its Interface Statistics Block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceCounts {
    /// Time of the counters, nanoseconds since 1970-01-01 00:00 UTC.
    pub at_ns: u64,
    /// Packets received.
    pub received_pkts: u64,
    /// Of these, packets missing from the file for lack of buffer space.
    pub dropped_pkts: u64,
}

/// Writes a pcapng file, block by block.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    order: ByteOrder,
    interfaces: usize,
    /// Buffer of the block under construction; reused.
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file in little-endian byte order; `application` is recorded in it as the writer.
    ///
    /// `out` should be buffered: each block is one write.
    ///
    /// # Errors
    /// The name has more than 255 bytes, or `out` fails.
    pub fn new(out: W, application: &str) -> Result<PcapngWriter<W>, WriteError> {
        PcapngWriter::with_byte_order(out, application, ByteOrder::Little)
    }

    /// Begins a file in the byte order of another machine.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_byte_order(
        out: W,
        application: &str,
        order: ByteOrder,
    ) -> Result<PcapngWriter<W>, WriteError> {
        let mut writer = PcapngWriter {
            out,
            order,
            interfaces: 0,
            block: Vec::new(),
        };
        check_name(application)?;
        writer.begin(BLOCK_SECTION);
        order.put_u32(&mut writer.block, SECTION_MAGIC);
        order.put_u16(&mut writer.block, VERSION_MAJOR);
        order.put_u16(&mut writer.block, 0);
        order.put_u64(&mut writer.block, UNKNOWN_LENGTH);
        writer.option(OPTION_APPLICATION, application.as_bytes());
        writer.option(OPTION_END, &[]);
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface; its counters are written by `finish`. Returns its number.
    ///
    /// # Errors
    /// The name has more than 255 bytes, or `out` fails.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<u32, WriteError> {
        check_name(&interface.name)?;
        self.begin(BLOCK_INTERFACE);
        self.order.put_u16(&mut self.block, interface.link_type.0);
        self.order.put_u16(&mut self.block, 0);
        self.order.put_u32(&mut self.block, interface.snap_bytes);
        self.option(OPTION_NAME, interface.name.as_bytes());
        self.option(OPTION_RESOLUTION, &[NANOSECONDS]);
        self.option(OPTION_END, &[]);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces as u32 - 1)
    }

    /// Writes a packet of an interface, captured at this time after 1970-01-01 00:00 UTC.
    ///
    /// # Errors
    /// There is no such interface, there are more than 262,144 bytes, or `out` fails.
    pub fn write(
        &mut self,
        interface: u32,
        at_ns: u64,
        original_bytes: u32,
        data: &[u8],
    ) -> Result<(), WriteError> {
        self.check_interface(interface)?;
        let bytes = data.len();
        if bytes > LARGEST_PACKET_BYTES as usize {
            return Err(WriteError::TooLong { bytes });
        }
        self.begin(BLOCK_PACKET);
        self.order.put_u32(&mut self.block, interface);
        self.time(at_ns);
        self.order.put_u32(&mut self.block, bytes as u32);
        let original_bytes = original_bytes.max(bytes as u32);
        self.order.put_u32(&mut self.block, original_bytes);
        self.block.extend_from_slice(data);
        self.pad();
        self.end()
    }

    /// Ends the file with the counters of the interfaces, in their order. Interfaces beyond the end
    /// of the list get no counters.
    ///
    /// # Errors
    /// There are fewer interfaces than counters, or `out` fails.
    pub fn finish(mut self, counts: &[InterfaceCounts]) -> Result<W, WriteError> {
        for (interface, counts) in (0..).zip(counts) {
            self.check_interface(interface)?;
            self.begin(BLOCK_STATISTICS);
            self.order.put_u32(&mut self.block, interface);
            self.time(counts.at_ns);
            self.count(OPTION_RECEIVED, counts.received_pkts);
            self.count(OPTION_DROPPED, counts.dropped_pkts);
            self.option(OPTION_END, &[]);
            self.end()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn check_interface(&self, interface: u32) -> Result<(), WriteError> {
        let count = self.interfaces;
        if (interface as usize) < count {
            return Ok(());
        }
        Err(WriteError::NoInterface { interface, count })
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.order.put_u32(&mut self.block, block_type);
        self.order.put_u32(&mut self.block, 0); // the length, which `end` writes
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let length = self.block.len() as u32 + 4;
        self.order.put_u32(&mut self.block, length);
        let trailer = self.block.len() - 4;
        self.block.copy_within(trailer.., 4);
        Ok(self.out.write_all(&self.block)?)
    }

    /// Upper and lower half, each in the section's byte order (section 4.3).
    fn time(&mut self, at_ns: u64) {
        self.order.put_u32(&mut self.block, (at_ns >> 32) as u32);
        self.order.put_u32(&mut self.block, at_ns as u32);
    }

    fn count(&mut self, code: u16, value: u64) {
        self.order.put_u16(&mut self.block, code);
        self.order.put_u16(&mut self.block, 8);
        self.order.put_u64(&mut self.block, value);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.order.put_u16(&mut self.block, code);
        self.order.put_u16(&mut self.block, value.len() as u16);
        self.block.extend_from_slice(value);
        self.pad();
    }

    /// Pads to 32 bits, as blocks and options require.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}

fn check_name(name: &str) -> Result<(), WriteError> {
    let bytes = name.len();
    if bytes > LONGEST_NAME {
        return Err(WriteError::LongName { bytes });
    }
    Ok(())
}
