//! Decodes frames as far as flow analysis requires: addresses, ports, and fields of the TCP header.
//!
//! Headers before the IP header are handled by `link`. This module decodes IPv4, and IPv6 with the
//! extension headers up to a fragment header, RFC 8200 section 4. A frame may be truncated; the
//! fields that are decoded must be present.

mod link;

use crate::LinkType;
use crate::frame::{ICMP, TCP, UDP};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MOST_EXTENSIONS: usize = 8;
/// Protocol number of ICMPv6 (IANA); those of ICMP, TCP and UDP are in `frame`.
pub const ICMPV6: u8 = 58;

/// Control bits of TCP.
pub mod flags {
    /// FIN: no more data from the sender.
    pub const FIN: u8 = 0x01;
    /// SYN: opens a connection.
    pub const SYN: u8 = 0x02;
    /// RST: resets the connection.
    pub const RST: u8 = 0x04;
    /// PSH: push function.
    pub const PSH: u8 = 0x08;
    /// ACK: the acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
    /// ECE: ECN-Echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// CWR: congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// The two ends of a packet's flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoints {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port; 0 without ports; the identifier of an ICMP echo.
    pub source_port: u16,
    /// Destination port, likewise.
    pub destination_port: u16,
    /// IANA protocol number.
    pub protocol: u8,
}

impl Endpoints {
    /// The ends of the reverse direction.
    pub fn reversed(&self) -> Endpoints {
        Endpoints {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }
}

/// Fields of a TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpView {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Control bits, as in `flags`.
    pub flags: u8,
    /// Window field, not scaled.
    pub window: u16,
    /// Payload length according to the IP header.
    pub payload_bytes: u32,
    /// Window scale option of a SYN.
    pub scale: OfferedScale,
}

/// The window scale option in a SYN (RFC 7323 section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OfferedScale {
    /// Not a SYN, or its options were truncated.
    #[default]
    NotSeen,
    /// A SYN without the option.
    None,
    /// Shift count.
    Shift(u8),
}

impl TcpView {
    /// Whether all of these bits are set.
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits == bits
    }

    /// Whether one of these bits is set.
    pub fn has_any(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }
}

/// A decoded packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// The ends of its flow.
    pub ends: Endpoints,
    /// Transport payload, bytes, according to the length in the IP header.
    pub payload_bytes: u32,
    /// TCP header fields.
    pub tcp: Option<TcpView>,
    /// Fields of an echo request or reply.
    pub echo: Option<EchoView>,
}

/// Fields of an ICMP or ICMPv6 echo message; its identifier is in `Endpoints`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoView {
    /// Sequence number.
    pub sequence: u16,
    /// Whether it is a reply.
    pub is_reply: bool,
}

/// Why a packet cannot be assigned to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Undecoded {
    /// The interface's link type is not supported.
    LinkType,
    /// Not IP: ARP, LLDP and others.
    NotIp,
    /// The packet was captured or sent with fewer bytes than its headers need.
    CutShort,
    /// A header has an invalid value.
    Malformed,
    /// A later fragment: only the first has the ports.
    Fragment,
}

impl Undecoded {
    /// All reasons.
    pub const ALL: [Undecoded; 5] = [
        Undecoded::LinkType,
        Undecoded::NotIp,
        Undecoded::CutShort,
        Undecoded::Malformed,
        Undecoded::Fragment,
    ];

    /// Description.
    pub fn words(self) -> &'static str {
        match self {
            Undecoded::LinkType => "of a link type that is not read",
            Undecoded::NotIp => "that are not IP",
            Undecoded::CutShort => "cut short within their headers",
            Undecoded::Malformed => "with headers that cannot be",
            Undecoded::Fragment => "that are later fragments of a datagram",
        }
    }
}

/// Decodes the beginning of a packet.
pub fn decode(link_type: LinkType, data: &[u8]) -> Result<Decoded, Undecoded> {
    ip(link::inside(link_type, data)?)
}

fn ip(data: &[u8]) -> Result<Decoded, Undecoded> {
    match data.first().ok_or(Undecoded::CutShort)? >> 4 {
        4 => ipv4(data),
        6 => ipv6(data),
        _ => Err(Undecoded::Malformed),
    }
}

fn ipv4(data: &[u8]) -> Result<Decoded, Undecoded> {
    let header = usize::from(byte_at(data, 0)? & 0x0f) * 4;
    let total = usize::from(u16_at(data, 2)?);
    let fragment = u16_at(data, 6)? & 0x1fff;
    let protocol = byte_at(data, 9)?;
    let address = |at: usize| -> Result<IpAddr, Undecoded> {
        let four: [u8; 4] = array_at(data, at)?;
        Ok(IpAddr::V4(Ipv4Addr::from(four)))
    };
    let (source, destination) = (address(12)?, address(16)?);
    // A packet captured on its sender before TSO may have a total length of zero.
    let total = if total == 0 { data.len() } else { total };
    if header < 20 || total < header {
        return Err(Undecoded::Malformed);
    }
    if fragment != 0 {
        return Err(Undecoded::Fragment);
    }
    let rest = data.get(header..).ok_or(Undecoded::CutShort)?;
    transport(source, destination, protocol, rest, total - header)
}

fn ipv6(data: &[u8]) -> Result<Decoded, Undecoded> {
    const HEADER: usize = 40;
    let address = |at: usize| -> Result<IpAddr, Undecoded> {
        let sixteen: [u8; 16] = array_at(data, at)?;
        Ok(IpAddr::V6(Ipv6Addr::from(sixteen)))
    };
    let mut length = usize::from(u16_at(data, 4)?);
    let mut protocol = byte_at(data, 6)?;
    let (source, destination) = (address(8)?, address(24)?);
    let mut at = HEADER;
    for _ in 0..MOST_EXTENSIONS {
        let bytes = match protocol {
            // Hop-by-hop options, routing header, destination options.
            0 | 43 | 60 => (usize::from(byte_at(data, at + 1)?) + 1) * 8,
            44 if u16_at(data, at + 2)? >> 3 != 0 => return Err(Undecoded::Fragment),
            44 => 8,
            _ => break,
        };
        protocol = byte_at(data, at)?;
        at += bytes;
        length = length.checked_sub(bytes).ok_or(Undecoded::Malformed)?;
    }
    let rest = data.get(at..).ok_or(Undecoded::CutShort)?;
    transport(source, destination, protocol, rest, length)
}

/// Decodes the transport header. `length` is that of header and payload, captured or not.
fn transport(
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    data: &[u8],
    length: usize,
) -> Result<Decoded, Undecoded> {
    let mut ends = Endpoints {
        source,
        destination,
        source_port: 0,
        destination_port: 0,
        protocol,
    };
    let mut header = 0;
    let mut view = None;
    let mut echo = None;
    match protocol {
        TCP => {
            (ends.source_port, ends.destination_port) = (u16_at(data, 0)?, u16_at(data, 2)?);
            header = usize::from(byte_at(data, 12)? >> 4) * 4;
            if header < 20 || length < header {
                return Err(Undecoded::Malformed);
            }
            let flags = byte_at(data, 13)?;
            let is_syn = flags & flags::SYN != 0;
            view = Some(TcpView {
                seq: u32_at(data, 4)?,
                ack: u32_at(data, 8)?,
                flags,
                window: u16_at(data, 14)?,
                payload_bytes: (length - header) as u32,
                scale: match is_syn {
                    true => offered_scale(data, header),
                    false => OfferedScale::NotSeen,
                },
            });
        }
        UDP => {
            (ends.source_port, ends.destination_port) = (u16_at(data, 0)?, u16_at(data, 2)?);
            header = 8;
        }
        ICMP | ICMPV6 => {
            header = 8;
            // Both directions of an echo use its identifier (RFC 792, RFC 4443 section 4).
            if matches!(
                (protocol, byte_at(data, 0)?),
                (ICMP, 0 | 8) | (ICMPV6, 128 | 129)
            ) {
                let identifier = u16_at(data, 4)?;
                (ends.source_port, ends.destination_port) = (identifier, identifier);
                // A frame that was cut after the identifier still belongs to its flow.
                echo = u16_at(data, 6).ok().map(|sequence| EchoView {
                    sequence,
                    is_reply: matches!(data.first(), Some(0 | 129)),
                });
            }
        }
        _ => {}
    }
    Ok(Decoded {
        ends,
        payload_bytes: length.saturating_sub(header) as u32,
        tcp: view,
        echo,
    })
}

/// Parses the options: RFC 9293 section 3.1.
fn offered_scale(data: &[u8], header: usize) -> OfferedScale {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const SCALE: u8 = 3;
    let mut options = data.get(20..header.min(data.len())).unwrap_or_default();
    loop {
        options = match *options {
            [NOTHING, ref rest @ ..] => rest,
            [END, ..] => return OfferedScale::None,
            [SCALE, 3, shift, ..] => return OfferedScale::Shift(shift),
            [] if data.len() >= header => return OfferedScale::None,
            // A length below two is invalid; options not found may lie beyond the captured bytes.
            [_, length, ..] if length >= 2 => match options.get(usize::from(length)..) {
                Some(rest) => rest,
                None => return OfferedScale::NotSeen,
            },
            _ => return OfferedScale::NotSeen,
        };
    }
}

fn array_at<const N: usize>(data: &[u8], at: usize) -> Result<[u8; N], Undecoded> {
    let bytes = data.get(at..at + N).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or(Undecoded::CutShort)
}

fn byte_at(data: &[u8], at: usize) -> Result<u8, Undecoded> {
    data.get(at).copied().ok_or(Undecoded::CutShort)
}

fn u16_at(data: &[u8], at: usize) -> Result<u16, Undecoded> {
    Ok(u16::from_be_bytes(array_at(data, at)?))
}

fn u32_at(data: &[u8], at: usize) -> Result<u32, Undecoded> {
    Ok(u32::from_be_bytes(array_at(data, at)?))
}
