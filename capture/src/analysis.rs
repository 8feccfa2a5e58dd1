//! Analysis of the flows in a capture, in one pass, packet by packet, in bounded memory.

use crate::decode::{Undecoded, decode};
use crate::error::{ReadError, WriteError};
use crate::flows::{FlowRow, FlowTable};
use crate::intervals::Intervals;
use crate::over_time::{FollowedConnections, Timeline};
use crate::views::{View, Views};
use crate::{Format, Interface, LinkType, PcapWriter, PcapngWriter, Reader, Resolution};
use std::collections::HashMap;
use std::io::{Read, Write};

/// Maximum number of connections counted separately in a view; packets of further ones are counted
/// together.
pub const MOST_CONNECTIONS: usize = 200_000;
/// Maximum number of intervals of a view's bytes over time.
const MOST_INTERVALS: usize = 2048;

/// Counts of a view.
#[derive(Debug)]
pub struct ViewCounts {
    /// Packets.
    pub pkts: u64,
    /// Bytes of frames over time; None before the first packet with a timestamp.
    pub series: Option<Intervals<u64>>,
    flows: FlowTable,
}

impl ViewCounts {
    /// A row for each direction of each connection.
    pub fn rows(&self) -> impl Iterator<Item = FlowRow> {
        self.flows.rows()
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.flows.connections()
    }

    /// The rows of one connection, counted from 0.
    pub fn rows_of(&self, connection: usize) -> impl Iterator<Item = FlowRow> {
        self.flows.rows_of(connection)
    }
}

/// An analysis in progress; call `step` until it returns false.
#[derive(Debug)]
pub struct Analysis<R> {
    reader: Reader<R>,
    views: Views,
    counted: Vec<ViewCounts>,
    followed: FollowedConnections,
    connections: usize,
    /// Packets without a timestamp; they are counted in no flow.
    pub untimed_pkts: u64,
    /// Packets of interfaces beyond `views::MOST_VIEWS`.
    pub unviewed_pkts: u64,
    /// Packets that belong to no flow, by reason, as in `Undecoded::ALL`.
    pub undecoded_pkts: HashMap<Undecoded, u64>,
    /// The error that prevented reading the rest of the file.
    pub error: Option<ReadError>,
}

impl<R: Read> Analysis<R> {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// The file is empty or not a capture, or its header cannot be read.
    pub fn new(from: R) -> Result<Analysis<R>, ReadError> {
        Ok(Analysis {
            reader: Reader::new(from)?,
            views: Views::default(),
            counted: Vec::new(),
            followed: FollowedConnections::default(),
            connections: 0,
            untimed_pkts: 0,
            unviewed_pkts: 0,
            undecoded_pkts: HashMap::new(),
            error: None,
        })
    }

    /// Reads at most `pkts` packets. Returns whether there are more.
    pub fn step(&mut self, pkts: u64) -> bool {
        for _ in 0..pkts {
            match self.next() {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    self.error = Some(error);
                    return false;
                }
            }
        }
        true
    }

    fn next(&mut self) -> Result<bool, ReadError> {
        // The packet borrows the reader, so the fields needed from it are extracted at once.
        let Some(packet) = self.reader.next_packet()? else {
            self.views.update(self.reader.interfaces());
            return Ok(false);
        };
        let (interface, at_ns, bytes) = (packet.interface, packet.at_ns, packet.original_bytes);
        let mut head = [0; HEAD_BYTES];
        let kept = packet.data.len().min(HEAD_BYTES);
        head[..kept].copy_from_slice(&packet.data[..kept]);
        self.views.update(self.reader.interfaces());
        while self.counted.len() < self.views.all.len() {
            self.counted.push(ViewCounts {
                pkts: 0,
                series: None,
                flows: FlowTable::new(0),
            });
        }
        if self.views.of(interface).next().is_none() {
            self.unviewed_pkts += 1;
            return Ok(true);
        }
        let link_type = self.reader.interfaces()[interface].link_type;
        let decoded = decode(link_type, &head[..kept]);
        if let Err(reason) = decoded {
            *self.undecoded_pkts.entry(reason).or_default() += 1;
        }
        self.untimed_pkts += u64::from(at_ns.is_none());
        for view in self.views.of(interface) {
            let counted = &mut self.counted[view];
            counted.pkts += 1;
            let Some(at_ns) = at_ns else {
                continue;
            };
            let series = &mut counted.series;
            let series = series.get_or_insert_with(|| Intervals::new(at_ns, MOST_INTERVALS));
            *series.at(at_ns) += u64::from(bytes);
            if let Ok(decoded) = &decoded {
                let before = counted.flows.connections();
                let room = MOST_CONNECTIONS - self.connections;
                counted.flows.set_most(before + room);
                if let Some(entered) = counted.flows.add(at_ns, bytes, decoded) {
                    self.followed.enter(view, at_ns, bytes, decoded, &entered);
                }
                self.connections += counted.flows.connections() - before;
            }
        }
        Ok(true)
    }

    /// File format.
    pub fn format(&self) -> Format {
        self.reader.format()
    }

    /// The interfaces described in the file.
    pub fn interfaces(&self) -> &[Interface] {
        self.reader.interfaces()
    }

    /// Number of packets read.
    pub fn pkts(&self) -> u64 {
        self.reader.packets_read()
    }

    /// Number of bytes of the file read.
    pub fn bytes_read(&self) -> u64 {
        self.reader.bytes_read()
    }

    /// Packets of connections beyond `MOST_CONNECTIONS`.
    pub fn passed_over_pkts(&self) -> u64 {
        self.counted
            .iter()
            .map(|each| each.flows.passed_over_pkts)
            .sum()
    }

    /// The views with an interface of their own, and the counts of each.
    pub fn views(&self) -> impl Iterator<Item = (&View, Option<&ViewCounts>)> {
        self.indexed_views()
            .map(|(_, view, counted)| (view, counted))
    }

    /// The same views with their numbers.
    fn indexed_views(&self) -> impl Iterator<Item = (usize, &View, Option<&ViewCounts>)> {
        let views = self.views.all.iter().enumerate();
        let there = views.filter(|(_, view)| view.is_there);
        there.map(|(index, view)| (index, view, self.counted.get(index)))
    }

    /// The connections followed over time, for `views` in order: the number of the view in that
    /// order, the row of each direction, and the timeline.
    pub fn timelines(&self) -> impl Iterator<Item = (usize, FlowRow, &Timeline)> {
        let views = self.indexed_views().enumerate();
        let counted = views.filter_map(|(place, (view, _, counted))| Some((place, view, counted?)));
        counted.flat_map(move |(place, view, counted)| {
            let followed = (0..counted.connections())
                .filter_map(move |index| Some((index, self.followed.timeline(view, index)?)));
            followed.flat_map(move |(index, timeline)| {
                counted
                    .rows_of(index)
                    .map(move |row| (place, row, timeline))
            })
        })
    }
}

/// Exceeds the total length of all headers that are decoded: link 24, IPv6 with extensions, TCP 60.
const HEAD_BYTES: usize = 512;

enum Writer<W: Write> {
    Pcapng(PcapngWriter<W>, u32),
    Pcap(PcapWriter<W>),
}

/// Why a view could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The capture cannot be read to its end; packets read before the error have been written.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The output cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The output format allows one link type per file.
    #[error("the view has interfaces of different link types")]
    LinkTypes,
}

/// Writes the packets of one view (`is_wanted`) to a file with one interface, pcapng or classic
/// pcap, in nanoseconds. Returns the number of packets written; packets without a timestamp are
/// left out.
///
/// # Errors
/// The capture cannot be read, or the file cannot be written.
pub fn copy_view<R: Read, W: Write>(
    reader: &mut Reader<R>,
    out: W,
    format: Format,
    is_wanted: impl Fn(&View) -> bool,
) -> Result<u64, CopyError> {
    let (mut out, mut views, mut data) = (Some(out), Views::default(), Vec::new());
    let mut writer: Option<(Writer<W>, LinkType)> = None;
    let mut pkts = 0;
    let mut failure = None;
    loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            // Packets read before the error are written.
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        let (interface, at_ns, bytes) = (packet.interface, packet.at_ns, packet.original_bytes);
        data.clear();
        data.extend_from_slice(packet.data);
        views.update(reader.interfaces());
        let at_ns = at_ns.and_then(|at_ns| u64::try_from(at_ns).ok());
        let is_in = views.of(interface).any(|view| is_wanted(&views.all[view]));
        let (true, Some(at_ns)) = (is_in, at_ns) else {
            continue;
        };
        let described = &reader.interfaces()[interface];
        if let Some(out) = out.take() {
            writer = Some((Writer::new(out, format, described)?, described.link_type));
        }
        let Some((writer, link_type)) = &mut writer else {
            break;
        };
        if *link_type != described.link_type {
            return Err(CopyError::LinkTypes);
        }
        writer.write(at_ns, bytes, &data)?;
        pkts += 1;
    }
    if let Some((writer, _)) = writer {
        writer.finish()?;
    }
    failure.map_or(Ok(pkts), |error| Err(error.into()))
}

impl<W: Write> Writer<W> {
    fn new(out: W, format: Format, like: &Interface) -> Result<Writer<W>, WriteError> {
        let snap = match like.snap_bytes {
            0 => crate::LARGEST_PACKET_BYTES,
            snap => snap.min(crate::LARGEST_PACKET_BYTES),
        };
        Ok(match format {
            Format::Pcapng => {
                let mut writer = PcapngWriter::new(out, "dumbbell")?;
                let interface = Interface::new(&like.name, like.link_type, snap);
                let number = writer.add_interface(&interface)?;
                Writer::Pcapng(writer, number)
            }
            Format::Pcap => {
                let resolution = Resolution::Nanoseconds;
                Writer::Pcap(PcapWriter::new(out, resolution, like.link_type, snap)?)
            }
        })
    }

    fn write(&mut self, at_ns: u64, bytes: u32, data: &[u8]) -> Result<(), WriteError> {
        match self {
            Writer::Pcapng(writer, number) => writer.write(*number, at_ns, bytes, data),
            Writer::Pcap(writer) => writer.write(at_ns, bytes, data),
        }
    }

    fn finish(self) -> Result<(), WriteError> {
        match self {
            Writer::Pcapng(writer, _) => writer.finish(&[]).map(drop),
            Writer::Pcap(writer) => writer.finish().map(drop),
        }
    }
}
