//! The capture file of a run: one pcapng file with two interfaces for each captured queue, before and after
//! it. Times count from the run's time zero, as in the tables.

use crate::checksum;
use crate::error::{ErrorContext, GuestError};
use crate::sys::Frame;
use dumbbell_capture::{Interface, InterfaceCounts, LinkType, PcapngWriter, WriteError};
use dumbbell_core::time::Time;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// File name, which Python expects in the output folder.
const NAME: &str = "capture.pcapng";
/// Headers with all their options: Ethernet 14, IPv4 20 (Linux sends no options), TCP at most 60.
pub const SNAP_BYTES: usize = 128;

/// A packet seen and not written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct UnwrittenPacket {
    at_ns: u64,
    interface: u32,
    /// Offset of its bytes.
    begin: usize,
    end: usize,
    original_bytes: u32,
}

/// A capture in progress.
pub struct CaptureFile {
    writer: PcapngWriter<BufWriter<File>>,
    end: Time,
    /// Packets written by interface.
    written: Vec<u64>,
    kept: Vec<UnwrittenPacket>,
    bytes: Vec<u8>,
}

impl CaptureFile {
    /// Creates the file. Packets after the end of the run are not written.
    pub fn create(folder: &Path, end: Time) -> Result<CaptureFile, GuestError> {
        let file = File::create(folder.join(NAME)).context(what)?;
        let writer = PcapngWriter::new(BufWriter::new(file), "dumbbell");
        Ok(CaptureFile {
            writer: writer.map_err(refused)?,
            end,
            written: Vec::new(),
            kept: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Adds a queue. Returns the interface before it; the one after it has the next number.
    pub fn add_queue(&mut self, name: &str) -> Result<u32, GuestError> {
        let mut add = |place: &str| {
            let name = format!("{name} {place}");
            let interface = Interface::new(&name, LinkType::ETHERNET, SNAP_BYTES as u32);
            self.writer.add_interface(&interface).map_err(refused)
        };
        let first = add("before")?;
        add("after")?;
        self.written.extend([0, 0]);
        Ok(first)
    }

    /// Stores the headers of a packet, unless it was seen before or after the run.
    pub fn keep(&mut self, interface: u32, zero_wall_ns: u64, frame: &Frame<'_>) {
        let Some(at_ns) = frame.at_ns.checked_sub(zero_wall_ns) else {
            return;
        };
        if at_ns >= self.end.as_ns() {
            return;
        }
        let begin = self.bytes.len();
        let head = &frame.head[..frame.head.len().min(SNAP_BYTES)];
        self.bytes.extend_from_slice(head);
        if frame.has_partial_checksum {
            checksum::finish(&mut self.bytes[begin..]);
        }
        self.kept.push(UnwrittenPacket {
            at_ns,
            interface,
            begin,
            end: self.bytes.len(),
            original_bytes: frame.bytes,
        });
    }

    /// Writes the stored packets in order of time; at one instant, before a queue first. Call it after
    /// draining every point, so that no earlier packet follows.
    pub fn write_kept(&mut self) -> Result<(), GuestError> {
        self.kept.sort_unstable();
        for kept in self.kept.drain(..) {
            let data = &self.bytes[kept.begin..kept.end];
            self.writer
                .write(kept.interface, kept.at_ns, kept.original_bytes, data)
                .map_err(refused)?;
            self.written[kept.interface as usize] += 1;
        }
        self.bytes.clear();
        Ok(())
    }

    /// Ends the file with the number of packets seen and missed by interface.
    pub fn finish(self, missed: &[u32]) -> Result<(), GuestError> {
        let counts = self.written.iter().zip(missed);
        let counts: Vec<_> = counts
            .map(|(written, missed)| InterfaceCounts {
                at_ns: self.end.as_ns(),
                received_pkts: written + u64::from(*missed),
                dropped_pkts: u64::from(*missed),
            })
            .collect();
        let file = self.writer.finish(&counts).map_err(refused)?;
        let file = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).context(what)
    }
}

fn what() -> String {
    "writing the capture".to_owned()
}

fn refused(error: WriteError) -> GuestError {
    match error {
        WriteError::Io(source) => GuestError::System {
            what: what(),
            source,
        },
        other => GuestError::Internal(format!("{}: {other}", what())),
    }
}
