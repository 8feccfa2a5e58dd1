//! Reads pcapng.

use super::{
    BLOCK_INTERFACE, BLOCK_OLD_PACKET, BLOCK_PACKET, BLOCK_SECTION, BLOCK_SIMPLE_PACKET,
    BLOCK_STATISTICS, FRAME_BYTES, OPTION_DROPPED, OPTION_END, OPTION_NAME, OPTION_OFFSET,
    OPTION_RECEIVED, OPTION_RESOLUTION, SECTION_MAGIC, VERSION_MAJOR,
};
use crate::error::ReadError;
use crate::input::{Extent, Input};
use crate::order::ByteOrder;
use crate::{Interface, LARGEST_PACKET_BYTES, LinkType, Packet};
use std::io::Read;

/// Maximum length of a block that is read: Wireshark's limit. Block types that are not read are
/// skipped whatever their length.
const LARGEST_BLOCK_BYTES: u32 = 16 << 20;
const MOST_INTERFACES: usize = 65_536;
const LONGEST_NAME: usize = 255;
/// Section 4.2: microseconds by default.
const DEFAULT_RESOLUTION: u8 = 6;
const POWER_OF_TWO: u8 = 0x80;
const NS_PER_S: i128 = 1_000_000_000;

/// Timestamp resolution and offset of an interface.
#[derive(Debug, Clone, Copy)]
struct Clock {
    resolution: u8,
    offset_s: i64,
}

/// The current section.
#[derive(Debug)]
pub(crate) struct PcapngReader {
    order: ByteOrder,
    /// Index of the section's first interface.
    first: usize,
    /// Clocks of the interfaces of the section.
    clocks: Vec<Clock>,
}

/// The body of a block, without type and lengths.
#[derive(Debug, Clone, Copy)]
struct Block<'a> {
    order: ByteOrder,
    /// Offset of its body in the file.
    at: u64,
    body: &'a [u8],
}

/// Fields of a packet block before its data.
struct Head {
    interface: u32,
    ticks: Option<u64>,
    kept: u32,
    original: u32,
    data_at: usize,
}

impl PcapngReader {
    /// Reads the rest of the first section header, after its type.
    pub(crate) fn begin<R: Read>(
        input: &mut Input<R>,
        buffer: &mut Vec<u8>,
    ) -> Result<PcapngReader, ReadError> {
        let mut reader = PcapngReader {
            order: ByteOrder::Little,
            first: 0,
            clocks: Vec::new(),
        };
        reader.section(input, buffer, 0, 0)?;
        Ok(reader)
    }

    /// Reads blocks up to the next packet; None at the end.
    pub(crate) fn next<'a, R: Read>(
        &mut self,
        input: &mut Input<R>,
        buffer: &'a mut Vec<u8>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<Option<Packet<'a>>, ReadError> {
        loop {
            let begin = input.at();
            input.read_up_to(buffer, 4)?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let Some(block_type) = self.order.u32_at(buffer, 0) else {
                return Err(ReadError::Truncated {
                    at: begin,
                    what: "a block",
                    wanted: u64::from(FRAME_BYTES),
                    found: buffer.len() as u64,
                });
            };
            if block_type == BLOCK_SECTION {
                self.section(input, buffer, begin, interfaces.len())?;
                continue;
            }
            let is_packet = match block_type {
                BLOCK_PACKET | BLOCK_SIMPLE_PACKET | BLOCK_OLD_PACKET => true,
                BLOCK_INTERFACE | BLOCK_STATISTICS => false,
                _ => {
                    self.pass_over(input, buffer, begin)?;
                    continue;
                }
            };
            self.read_body(input, buffer, begin)?;
            let block = Block {
                order: self.order,
                at: begin + 8,
                body: buffer,
            };
            if is_packet {
                let head = self.head(&block, block_type, interfaces)?;
                let clock = self.clocks[head.interface as usize];
                let at_ns = head.ticks.map(|ticks| clock.ns(ticks, begin + 12));
                let end = head.data_at + head.kept as usize;
                return Ok(Some(Packet {
                    interface: self.first + head.interface as usize,
                    at_ns: at_ns.transpose()?,
                    original_bytes: head.original.max(head.kept),
                    data: &buffer[head.data_at..end],
                }));
            }
            if block_type == BLOCK_INTERFACE {
                self.interface(&block, interfaces)?;
            } else {
                self.statistics(&block, interfaces)?;
            }
        }
    }

    /// Reads the length of a block, which follows its type; it must be a valid block length.
    fn read_length<R: Read>(
        &self,
        input: &mut Input<R>,
        buffer: &mut Vec<u8>,
        begin: u64,
    ) -> Result<u32, ReadError> {
        let block = thing(begin, FRAME_BYTES);
        input.read_exactly(buffer, 4, block)?;
        let length = self.order.u32_at(buffer, 0).expect("four bytes were read");
        check_length(length, begin)?;
        Ok(length)
    }

    fn pass_over<R: Read>(
        &self,
        input: &mut Input<R>,
        buffer: &mut Vec<u8>,
        begin: u64,
    ) -> Result<(), ReadError> {
        let length = self.read_length(input, buffer, begin)?;
        let block = thing(begin, length);
        input.skip(u64::from(length - FRAME_BYTES), block)?;
        input.read_exactly(buffer, 4, block)?;
        self.check_trailer(buffer, length, begin)
    }

    /// Reads the body of a block into the buffer.
    fn read_body<R: Read>(
        &self,
        input: &mut Input<R>,
        buffer: &mut Vec<u8>,
        begin: u64,
    ) -> Result<(), ReadError> {
        let length = self.read_length(input, buffer, begin)?;
        check_is_held(length, begin)?;
        input.read_exactly(buffer, u64::from(length - 8), thing(begin, length))?;
        let body = buffer.len() - 4;
        self.check_trailer(&buffer[body..], length, begin)?;
        buffer.truncate(body);
        Ok(())
    }

    fn check_trailer(&self, trailer: &[u8], length: u32, begin: u64) -> Result<(), ReadError> {
        let again = self.order.u32_at(trailer, 0).expect("four bytes were read");
        if again == length {
            return Ok(());
        }
        let at = begin + u64::from(length) - 4;
        let allowed = format!("{length} is what its beginning at byte {begin} says");
        Err(ReadError::invalid(at, "a block's length", again, allowed))
    }

    /// Section Header Block: byte order, version.
    fn section<R: Read>(
        &mut self,
        input: &mut Input<R>,
        buffer: &mut Vec<u8>,
        begin: u64,
        interfaces: usize,
    ) -> Result<(), ReadError> {
        const FIXED_BYTES: u32 = 28;
        input.read_exactly(buffer, 8, thing(begin, FIXED_BYTES))?;
        let magic = buffer[4..8].try_into().expect("eight bytes were read");
        self.order = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (SECTION_MAGIC, _) => ByteOrder::Little,
            (_, SECTION_MAGIC) => ByteOrder::Big,
            (_, found) => {
                let allowed = "0x1a2b3c4d in one of both byte orders";
                let found = format!("{found:#010x}");
                return Err(ReadError::invalid(
                    begin + 8,
                    "a section's byte-order magic",
                    found,
                    allowed,
                ));
            }
        };
        let length = self.order.u32_at(buffer, 0).expect("eight bytes were read");
        check_length(length, begin)?;
        if length < FIXED_BYTES {
            let allowed = format!("a section header has {FIXED_BYTES} bytes or more");
            return Err(ReadError::invalid(
                begin + 4,
                "a block's length",
                length,
                allowed,
            ));
        }
        check_is_held(length, begin)?;
        input.read_exactly(buffer, u64::from(length - 12), thing(begin, length))?;
        self.check_trailer(&buffer[buffer.len() - 4..], length, begin)?;
        let major = self.order.u16_at(buffer, 0).expect("16 bytes or more");
        if major != VERSION_MAJOR {
            let what = "a section's version";
            return Err(ReadError::invalid(begin + 12, what, major, "1 is read"));
        }
        self.first = interfaces;
        self.clocks.clear();
        Ok(())
    }

    /// Interface Description Block.
    fn interface(
        &mut self,
        block: &Block<'_>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<(), ReadError> {
        if interfaces.len() >= MOST_INTERFACES {
            let allowed = format!("at most {MOST_INTERFACES} are read");
            let found = "one more";
            return Err(ReadError::invalid(
                block.at - 8,
                "an interface",
                found,
                allowed,
            ));
        }
        let link_type = LinkType(block.u16(0)?);
        let mut interface = Interface::new("", link_type, block.u32(4)?);
        let mut clock = Clock {
            resolution: DEFAULT_RESOLUTION,
            offset_s: 0,
        };
        block.options(8, |code, value| match (code, value) {
            (OPTION_NAME, name) => interface.name = shortened(name),
            (OPTION_RESOLUTION, [resolution]) => clock.resolution = *resolution,
            (OPTION_OFFSET, value) => {
                let offset_s = block.order.u64_at(value, 0).unwrap_or(0);
                clock.offset_s = offset_s as i64;
            }
            _ => {}
        })?;
        interfaces.push(interface);
        self.clocks.push(clock);
        Ok(())
    }

    /// Interface Statistics Block.
    fn statistics(&self, block: &Block<'_>, interfaces: &mut [Interface]) -> Result<(), ReadError> {
        let id = block.u32(0)?;
        self.check_interface(id, block.at)?;
        let interface = &mut interfaces[self.first + id as usize];
        block.options(12, |code, value| {
            let count = block.order.u64_at(value, 0);
            match code {
                OPTION_RECEIVED => interface.received_pkts = count,
                OPTION_DROPPED => interface.dropped_pkts = count,
                _ => {}
            }
        })
    }

    /// Parses the fields before the data of a packet.
    fn head(
        &self,
        block: &Block<'_>,
        block_type: u32,
        interfaces: &[Interface],
    ) -> Result<Head, ReadError> {
        let ticks = |at| Ok(u64::from(block.u32(at)?) << 32 | u64::from(block.u32(at + 4)?));
        let head = match block_type {
            BLOCK_SIMPLE_PACKET => {
                self.check_interface(0, block.at)?;
                let original = block.u32(0)?;
                let kept = match interfaces[self.first].snap_bytes {
                    0 => original,
                    snap => original.min(snap),
                };
                Head {
                    interface: 0,
                    ticks: None,
                    kept,
                    original,
                    data_at: 4,
                }
            }
            _ => Head {
                interface: match block_type {
                    BLOCK_OLD_PACKET => u32::from(block.u16(0)?),
                    _ => block.u32(0)?,
                },
                ticks: Some(ticks(4)?),
                kept: block.u32(12)?,
                original: block.u32(16)?,
                data_at: 20,
            },
        };
        self.check_interface(head.interface, block.at)?;
        let room = block.body.len() - head.data_at;
        let room = room.min(LARGEST_PACKET_BYTES as usize);
        if head.kept as usize > room {
            let at = block.at + head.data_at as u64 - 8;
            let allowed = format!("its block has room for {room} bytes");
            let what = "a packet's captured length";
            return Err(ReadError::invalid(at, what, head.kept, allowed));
        }
        Ok(head)
    }

    fn check_interface(&self, interface: u32, at: u64) -> Result<(), ReadError> {
        let count = self.clocks.len();
        if (interface as usize) < count {
            return Ok(());
        }
        let allowed = format!("the section has described {count}");
        Err(ReadError::invalid(
            at,
            "an interface's number",
            interface,
            allowed,
        ))
    }
}

impl Block<'_> {
    fn u16(&self, at: usize) -> Result<u16, ReadError> {
        let value = self.order.u16_at(self.body, at);
        value.ok_or_else(|| self.too_short())
    }

    fn u32(&self, at: usize) -> Result<u32, ReadError> {
        let value = self.order.u32_at(self.body, at);
        value.ok_or_else(|| self.too_short())
    }

    fn too_short(&self) -> ReadError {
        let length = self.body.len() as u64 + u64::from(FRAME_BYTES);
        let allowed = "more, for the fields of its type";
        ReadError::invalid(self.at - 4, "a block's length", length, allowed)
    }

    /// Calls `take` with code and value of each option from an offset on (section 3.5).
    fn options(&self, from: usize, mut take: impl FnMut(u16, &[u8])) -> Result<(), ReadError> {
        let mut at = from;
        if self.body.len() < from {
            return Err(self.too_short());
        }
        // The end-of-options option may be missing at the end of the block.
        while let (Some(code), Some(length)) = (
            self.order.u16_at(self.body, at),
            self.order.u16_at(self.body, at + 2),
        ) {
            if code == OPTION_END {
                return Ok(());
            }
            let length = usize::from(length);
            let Some(value) = self.body.get(at + 4..at + 4 + length) else {
                let room = self.body.len() - at - 4;
                let allowed = format!("its block has room for {room} bytes");
                let what = "an option's length";
                let at = self.at + at as u64 + 2;
                return Err(ReadError::invalid(at, what, length, allowed));
            };
            take(code, value);
            at += 4 + length.next_multiple_of(4);
        }
        Ok(())
    }
}

impl Clock {
    /// Converts ticks to nanoseconds (section 4.2, if_tsresol and if_tsoffset).
    fn ns(self, ticks: u64, at: u64) -> Result<i64, ReadError> {
        let power = u32::from(self.resolution & !POWER_OF_TWO);
        let ns = if self.resolution & POWER_OF_TWO != 0 {
            (i128::from(ticks) * NS_PER_S) >> power
        } else if power <= 9 {
            i128::from(ticks) * 10i128.pow(9 - power)
        } else {
            // 2^64 ticks of less than 10^-38 s are less than a nanosecond.
            let divisor = 10i128.checked_pow(power - 9);
            divisor.map_or(0, |divisor| i128::from(ticks) / divisor)
        };
        let ns = ns + i128::from(self.offset_s) * NS_PER_S;
        i64::try_from(ns).map_err(|_| {
            let allowed = "within 292 years of 1970";
            ReadError::invalid(at, "a packet's time", format!("{ns} ns"), allowed)
        })
    }
}

fn thing(begin: u64, bytes: u32) -> Extent {
    Extent {
        what: "a block",
        begin,
        bytes: u64::from(bytes),
    }
}

fn check_length(length: u32, begin: u64) -> Result<(), ReadError> {
    if length >= FRAME_BYTES && length.is_multiple_of(4) {
        return Ok(());
    }
    let allowed = "12 or more, and a multiple of 4";
    Err(ReadError::invalid(
        begin + 4,
        "a block's length",
        length,
        allowed,
    ))
}

fn check_is_held(length: u32, begin: u64) -> Result<(), ReadError> {
    if length <= LARGEST_BLOCK_BYTES {
        return Ok(());
    }
    let allowed = format!("at most {LARGEST_BLOCK_BYTES} bytes are read");
    Err(ReadError::invalid(
        begin + 4,
        "a block's length",
        length,
        allowed,
    ))
}

/// The first bytes of a name.
fn shortened(name: &[u8]) -> String {
    let name = &name[..name.len().min(LONGEST_NAME)];
    let name = String::from_utf8_lossy(name);
    name.trim_end_matches(char::from(0)).to_owned()
}
