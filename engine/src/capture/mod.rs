//! Captures the packets at a queue: as a capture file, and as flow counters.
//!
//! | point | packets seen | time |
//! | --- | --- | --- |
//! | before | every packet offered to the queue, dropped ones included | its arrival |
//! | after | every packet that leaves the queue | start of its transmission |
//! | arrived | every packet that the link delivers to the far end | its arrival there |
//!
//! The file is written frame by frame to an output of the caller; nothing is buffered. Flow counters
//! (`capture_flows`) count at the sending end of a link, as `tcpdump` does there: what passes the queue,
//! before and after it, and what arrives from the far end.

pub mod addresses;
pub mod frames;
mod tables;

use crate::error::EngineError;
use crate::sim::packet::{Packet, PacketKind};
use crate::sim::time::Time;
use crate::spec::{Experiment, LinkEnd, Transport};
use crate::traffic::conversation::{Application, Conversation};
use addresses::ConversationAddresses;
use dumbbell_capture::decode::decode;
use dumbbell_capture::flows::FlowTable;
use dumbbell_capture::frame::{FrameMaker, TCP, UDP};
use dumbbell_capture::{Interface, InterfaceCounts, LinkType, PcapngWriter, WriteError};
use frames::{CarriedSegment, FrameContext};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::Write;
use tables::Receiver;

/// Bytes stored of each frame, enough for all headers with options: Ethernet 14, IPv4 20, TCP at most 60; as
/// in the guest.
pub const SNAP_BYTES: u32 = 128;
/// Largest number of connections counted at each point.
pub const MOST_CONNECTIONS: usize = 1 << 20;
/// Largest number of fragmented datagrams whose size is remembered until the first fragment is seen.
const DATAGRAMS_REMEMBERED: usize = 65_536;

/// Output of the capture file.
pub type Output = Box<dyn Write + Send>;

/// Where a packet is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePoint {
    /// At its arrival at the queue.
    Before = 0,
    /// At its departure from the queue.
    After = 1,
    /// At the far end of the link.
    Arrived = 2,
}

const CAPTURE_POINTS: [(CapturePoint, &str); 3] = [
    (CapturePoint::Before, "before"),
    (CapturePoint::After, "after"),
    (CapturePoint::Arrived, "arrived"),
];

/// Capture state of one queue.
#[derive(Debug, Default)]
struct QueueInterfaces {
    overhead_bytes: u32,
    /// Interface number in the file of the point before the queue; the other points follow.
    interface: Option<u32>,
    /// Flow counters before and after the queue.
    flows: Option<Box<[FlowTable; 2]>>,
}

/// A capture in progress.
pub struct Capture {
    addresses: Vec<ConversationAddresses>,
    /// Flow index by receiving address and port.
    receivers: HashMap<Receiver, i32>,
    points: Vec<QueueInterfaces>,
    writer: Option<PcapngWriter<Output>>,
    /// Packets written by interface.
    written: Vec<u64>,
    maker: FrameMaker,
    datagrams: HashMap<(u32, u32), u16>,
    oldest: VecDeque<(u32, u32)>,
    failure: Option<WriteError>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written: u64 = self.written.iter().sum();
        write!(f, "Capture({written} packets)")
    }
}

fn receivers(
    experiment: &Experiment,
    addresses: &[ConversationAddresses],
) -> HashMap<Receiver, i32> {
    let flows = experiment.flows.iter().zip(addresses);
    let receivers = flows.map(|(flow, addressed)| {
        let protocol = match flow.transport {
            Transport::Tcp => TCP,
            Transport::Udp => UDP,
        };
        let port = addressed.destination_port;
        (protocol, addressed.destination.into(), port)
    });
    receivers.zip(0..).collect()
}

impl Capture {
    /// Starts the capture at the queues that ask for one; None if no queue does.
    ///
    /// # Errors
    /// The header of the file cannot be written.
    pub fn new(
        experiment: &Experiment,
        output: Option<Output>,
    ) -> Result<Option<Box<Capture>>, EngineError> {
        let ends = || experiment.link_ends().map(|(_, _, end)| end);
        if !ends().any(LinkEnd::is_captured) {
            return Ok(None);
        }
        let addresses = addresses::of(experiment);
        let mut capture = Capture {
            receivers: receivers(experiment, &addresses),
            addresses,
            points: Vec::new(),
            writer: None,
            written: Vec::new(),
            maker: FrameMaker::default(),
            datagrams: HashMap::new(),
            oldest: VecDeque::new(),
            failure: None,
        };
        if let Some(output) = output {
            capture.writer = Some(PcapngWriter::new(output, "dumbbell").map_err(failed)?);
        }
        for (end, name) in ends().zip(experiment.queue_names()) {
            let point = QueueInterfaces {
                overhead_bytes: end.overhead_bytes,
                interface: capture.add_interfaces(end, &name)?,
                flows: end.capture_flows.then(|| {
                    let table = || FlowTable::new(MOST_CONNECTIONS);
                    Box::new([table(), table()])
                }),
            };
            capture.points.push(point);
        }
        Ok(Some(Box::new(capture)))
    }

    fn add_interfaces(&mut self, end: &LinkEnd, name: &str) -> Result<Option<u32>, EngineError> {
        let Some(writer) = self.writer.as_mut().filter(|_| end.capture) else {
            return Ok(None);
        };
        let mut first = None;
        for (_, place) in CAPTURE_POINTS {
            let name = format!("{name} {place}");
            let interface = Interface::new(&name, LinkType::ETHERNET, SNAP_BYTES);
            let number = writer.add_interface(&interface).map_err(failed)?;
            first.get_or_insert(number);
            self.written.push(0);
        }
        Ok(first)
    }

    /// Records the payload size of a datagram that is about to be sent in fragments.
    pub fn note_fragmented(&mut self, conversation: u32, number: u32, payload_bytes: u32) {
        let key = (conversation, number);
        self.datagrams.insert(key, payload_bytes as u16);
        self.oldest.push_back(key);
        if self.oldest.len() > DATAGRAMS_REMEMBERED
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.datagrams.remove(&oldest);
        }
    }

    /// Records a packet at a capture point.
    pub fn see(
        &mut self,
        now: Time,
        queue: usize,
        place: CapturePoint,
        packet: &Packet,
        conversation: &Conversation,
    ) {
        let carried = carried(packet, conversation);
        let number = packet.conversation;
        let point = &self.points[queue];
        let most = conversation.mtu_bytes.saturating_sub(20) / 8 * 8;
        let payload = if packet.kind() == PacketKind::Udp && packet.fragments() > 1 {
            let known = self.datagrams.get(&(number, packet.number));
            // The size of a forgotten datagram is the largest that its fragments allow.
            known
                .copied()
                .unwrap_or((most * u32::from(packet.fragments()) - 8) as u16)
        } else {
            0
        };
        let seen = FrameContext {
            queue: queue as u32,
            overhead_bytes: point.overhead_bytes,
            conversation: number,
            addressed: &self.addresses[number as usize],
            fragmented: (most as u16, payload),
        };
        let (bytes, length) = frames::frame(&mut self.maker, packet, carried.as_ref(), seen);
        if let (Some(writer), Some(first)) = (&mut self.writer, point.interface) {
            let interface = first + place as u32;
            if let Err(error) = writer.write(interface, now.as_ns(), length, bytes) {
                self.failure.get_or_insert(error);
            }
            self.written[interface as usize] += 1;
        }
        // A packet that arrives belongs to the queue of the receiving host: before and after it.
        let (owner, tables) = match place {
            CapturePoint::Before => (queue, 0..1),
            CapturePoint::After => (queue, 1..2),
            CapturePoint::Arrived => (queue ^ 1, 0..2),
        };
        if let Some(flows) = &mut self.points[owner].flows
            && let Ok(decoded) = decode(LinkType::ETHERNET, bytes)
        {
            for table in &mut flows[tables] {
                table.add(now.as_ns() as i64, length, &decoded);
            }
        }
    }

    /// Number of connections found so far at all points with flow counters.
    pub fn connections(&self) -> usize {
        let tables = self.points.iter().filter_map(|point| point.flows.as_ref());
        let tables = tables.flat_map(|both| both.iter());
        tables.map(FlowTable::connections).sum()
    }

    /// The error that ended writing, if any.
    pub fn failure(&mut self) -> Option<EngineError> {
        self.failure.take().map(failed)
    }

    /// Ends the file: writes the number of packets of each interface, with none missed.
    ///
    /// # Errors
    /// The file cannot be completed.
    pub fn finish(&mut self, end: Time) -> Result<(), EngineError> {
        if let Some(error) = self.failure() {
            return Err(error);
        }
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let counts: Vec<_> = self
            .written
            .iter()
            .map(|written| InterfaceCounts {
                at_ns: end.as_ns(),
                received_pkts: *written,
                dropped_pkts: 0,
            })
            .collect();
        writer.finish(&counts).map(drop).map_err(failed)
    }
}

fn failed(error: WriteError) -> EngineError {
    EngineError::Capture(error.to_string())
}

fn carried(packet: &Packet, conversation: &Conversation) -> Option<CarriedSegment> {
    if packet.kind() != PacketKind::Tcp {
        return None;
    }
    let Application::Tcp(flow) = &conversation.application else {
        return None;
    };
    Some(CarriedSegment::of(flow, packet.segment_place()))
}
