//! Reads a capture of either format, packet by packet.

use crate::error::ReadError;
use crate::input::Input;
use crate::pcap::PcapReader;
use crate::pcapng::BLOCK_SECTION;
use crate::pcapng::reader::PcapngReader;
use crate::{Interface, Packet};
use std::io::Read;

/// File format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// pcapng: blocks.
    Pcapng,
    /// Classic pcap: a header and packets.
    Pcap,
}

#[derive(Debug)]
enum FormatReader {
    Pcapng(PcapngReader),
    Pcap(PcapReader),
}

/// Reads a capture of either format in bounded memory.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<R>,
    kind: FormatReader,
    interfaces: Vec<Interface>,
    buffer: Vec<u8>,
    packets: u64,
    is_over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header. `from` should be buffered.
    ///
    /// # Errors
    /// The file is empty or not a capture, or its header cannot be read.
    pub fn new(from: R) -> Result<Reader<R>, ReadError> {
        let mut input = Input::new(from);
        let mut buffer = Vec::new();
        input.read_up_to(&mut buffer, 4)?;
        if buffer.is_empty() {
            return Err(ReadError::Empty);
        }
        let Ok(magic) = <[u8; 4]>::try_from(buffer.as_slice()) else {
            return Err(foreign(&buffer));
        };
        let mut interfaces = Vec::new();
        let kind = if u32::from_be_bytes(magic) == BLOCK_SECTION {
            let pcapng = PcapngReader::begin(&mut input, &mut buffer)?;
            FormatReader::Pcapng(pcapng)
        } else if let Some(pcap) = PcapReader::recognised(magic) {
            interfaces.push(pcap.read_header(&mut input, &mut buffer)?);
            FormatReader::Pcap(pcap)
        } else {
            return Err(foreign(&buffer));
        };
        Ok(Reader {
            input,
            kind,
            interfaces,
            buffer,
            packets: 0,
            is_over: false,
        })
    }

    /// Format of the file.
    pub fn format(&self) -> Format {
        match self.kind {
            FormatReader::Pcapng(_) => Format::Pcapng,
            FormatReader::Pcap(_) => Format::Pcap,
        }
    }

    /// The interfaces found so far, of all sections; for pcap, one interface without a name.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Number of packets returned so far.
    pub fn packets_read(&self) -> u64 {
        self.packets
    }

    /// Number of bytes of the file read so far.
    pub fn bytes_read(&self) -> u64 {
        self.input.at()
    }

    /// The next packet; None at the end and after an error.
    ///
    /// # Errors
    /// The rest of the file cannot be read.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        if self.is_over {
            return Ok(None);
        }
        let (input, buffer) = (&mut self.input, &mut self.buffer);
        let next = match &mut self.kind {
            FormatReader::Pcap(pcap) => pcap.next(input, buffer),
            FormatReader::Pcapng(pcapng) => pcapng.next(input, buffer, &mut self.interfaces),
        };
        match &next {
            Ok(Some(_)) => self.packets += 1,
            Ok(None) | Err(_) => self.is_over = true,
        }
        next
    }
}

/// Identifies formats that are often mistaken for captures.
fn foreign(head: &[u8]) -> ReadError {
    let what = match head {
        [0x1f, 0x8b, ..] => "compressed by gzip, unpack it first".to_owned(),
        [0x28, 0xb5, 0x2f, 0xfd] => "compressed by zstd, unpack it first".to_owned(),
        [0x04, 0x22, 0x4d, 0x18] => "compressed by lz4, unpack it first".to_owned(),
        [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => {
            "pcap as modified by Kuznetzov, which `editcap` converts".to_owned()
        }
        b"snoo" => "snoop of Solaris, which `editcap` converts".to_owned(),
        text if text.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
            format!("it begins with {:?}", String::from_utf8_lossy(text))
        }
        _ => {
            let bytes: Vec<_> = head.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("it begins with {}", bytes.join(" "))
        }
    };
    ReadError::Foreign { what }
}
