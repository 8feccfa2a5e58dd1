//! Capture files, streamed in and out: pcapng and classic pcap.
//!
//! Sources: the pcapng format, draft-ietf-opsawg-pcapng, and the pcap format,
//! draft-ietf-opsawg-pcap; link types as registered with the latter.
//!
//! | | written | read |
//! | --- | --- | --- |
//! | pcapng | one section; Interface Description, Enhanced Packet and Interface Statistics Blocks; nanoseconds | any byte order and resolution, several sections, Simple Packet and the obsolete Packet Blocks; blocks of other types are skipped |
//! | pcap | nanoseconds (magic 0xa1b23c4d) or microseconds (0xa1b2c3d4) | both, in any byte order |
//!
//! Not supported: options of packets, name resolution and decryption blocks, pcap as modified by
//! Kuznetzov (magic 0xa1b2cd34), and compressed files; the last two are identified in the error.
//!
//! `frame` builds the frames of simulated packets, `decode` decodes frames, `flows` counts the
//! flows of a capture by two rules, `over_time` follows the largest of them in `intervals`, `views`
//! groups the interfaces whose packets are seen at one place, and `analysis` applies these to a
//! file.
//!
//! A reader holds one packet at a time, whatever the size and contents of the file. Packets read
//! before an error remain valid; the error gives its byte offset.
//!
//! ```
//! use dumbbell_capture::{Interface, LinkType, PcapngWriter, Reader};
//!
//! let mut writer = PcapngWriter::new(Vec::new(), "an example")?;
//! let eth1 = writer.add_interface(&Interface::new("eth1", LinkType::ETHERNET, 128))?;
//! writer.write(eth1, 1_500_000_000, 60, &[0; 14])?;
//! let file = writer.finish(&[])?;
//!
//! let mut reader = Reader::new(file.as_slice())?;
//! let packet = reader.next_packet()?.expect("one was written");
//! assert_eq!((packet.at_ns, packet.original_bytes), (Some(1_500_000_000), 60));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analysis;
pub mod decode;
mod error;
pub mod flows;
pub mod frame;
mod input;
pub mod intervals;
mod order;
pub mod over_time;
mod pcap;
mod pcapng;
mod reader;
pub mod views;

pub use error::{ReadError, WriteError};
pub use order::ByteOrder;
pub use pcap::{PcapWriter, Resolution};
pub use pcapng::writer::{InterfaceCounts, PcapngWriter};
pub use reader::{Format, Reader};

/// Maximum number of bytes kept of a packet; the limit of libpcap (MAXIMUM_SNAPLEN) and Wireshark.
pub const LARGEST_PACKET_BYTES: u32 = 262_144;

/// Type of the link-layer header: LINKTYPE_ values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: four bytes of address family.
    pub const NULL: LinkType = LinkType(0);
    /// An Ethernet header.
    pub const ETHERNET: LinkType = LinkType(1);
    /// PPP, with or without HDLC-like framing.
    pub const PPP: LinkType = LinkType(9);
    /// An IP header; DLT_RAW on most systems.
    pub const RAW_BSD: LinkType = LinkType(12);
    /// An IP header; DLT_RAW on OpenBSD.
    pub const RAW_OPENBSD: LinkType = LinkType(14);
    /// An IPv4 or IPv6 header.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: as `NULL`, in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// The pseudo header of Linux's "any" device.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// An IPv4 header.
    pub const IPV4: LinkType = LinkType(228);
    /// An IPv6 header.
    pub const IPV6: LinkType = LinkType(229);
    /// The pseudo header of Linux's "any" device, version 2: written by tcpdump since 4.99.
    pub const LINUX_SLL2: LinkType = LinkType(276);
}

/// A capture interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name; empty if the file gives none. At most 255 bytes of it are read.
    pub name: String,
    /// Link type of its packets.
    pub link_type: LinkType,
    /// Maximum number of bytes kept of each packet (snapshot length); 0 for no limit.
    pub snap_bytes: u32,
    /// Packets received by the interface, as counted at the end of a capture.
    pub received_pkts: Option<u64>,
    /// Packets dropped by the interface for lack of buffer space.
    pub dropped_pkts: Option<u64>,
}

impl Interface {
    /// An interface without counts.
    pub fn new(name: &str, link_type: LinkType, snap_bytes: u32) -> Interface {
        Interface {
            name: name.to_owned(),
            link_type,
            snap_bytes,
            received_pkts: None,
            dropped_pkts: None,
        }
    }
}

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Index into the interfaces of the reader.
    pub interface: usize,
    /// Nanoseconds since 1970-01-01 00:00 UTC; None in a Simple Packet Block.
    pub at_ns: Option<i64>,
    /// Original length of the packet, at least that of `data`.
    pub original_bytes: u32,
    /// The captured bytes.
    pub data: &'a [u8],
}
