//! Taking frames apart as far as flows need it: addresses, ports, and what TCP's header says.
//!
//! What stands before the IP header is `link`'s; IPv4 and IPv6 with its extension headers in front of
//! a fragment header, RFC 8200 section 4. A frame may have been cut short; what is needed must be
//! there.

mod link;

use crate::LinkType;
use crate::frame::{ICMP, TCP, UDP};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const MOST_EXTENSIONS: usize = 8;
/// IANA's number; of IPv4's and the others `frame` has those.
pub const ICMPV6: u8 = 58;

/// TCP's control bits.
pub mod flags {
    /// Nothing more comes.
    pub const FIN: u8 = 0x01;
    /// Opens a connection.
    pub const SYN: u8 = 0x02;
    /// Ends one at once.
    pub const RST: u8 = 0x04;
    /// End of what was written.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;
    /// Congestion was seen (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// The window was reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// Between whom a packet travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoints {
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub destination: IpAddr,
    /// 0 where there are no ports; of an echo its identifier.
    pub source_port: u16,
    /// As above.
    pub destination_port: u16,
    /// IANA's number.
    pub protocol: u8,
}

impl Endpoints {
    /// The other way.
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

/// What TCP's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpView {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// `flags`.
    pub flags: u8,
    /// As it stands there.
    pub window: u16,
    /// Payload, by the length in the IP header.
    pub payload_bytes: u32,
    /// Of a SYN.
    pub scale: OfferedScale,
}

/// By how much who sends a SYN would scale its windows (RFC 7323 section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OfferedScale {
    /// There is no SYN, or its options were cut off.
    #[default]
    NotSeen,
    /// Its options have nothing about it.
    None,
    /// This number of bits to the left.
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

/// What was understood of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// Between whom.
    pub ends: Endpoints,
    /// What the transport carries, bytes, by the length in the IP header.
    pub payload_bytes: u32,
    /// Of TCP.
    pub tcp: Option<TcpView>,
}

/// Why a packet belongs to no flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Undecoded {
    /// The interface's link type is not known here.
    LinkType,
    /// Not IP: ARP, LLDP and so on.
    NotIp,
    /// Fewer bytes were kept, or there, than the headers have.
    CutShort,
    /// A header says what cannot be.
    Malformed,
    /// A later fragment: its ports are in the first.
    Fragment,
}

impl Undecoded {
    /// All of them.
    pub const ALL: [Undecoded; 5] = [
        Undecoded::LinkType,
        Undecoded::NotIp,
        Undecoded::CutShort,
        Undecoded::Malformed,
        Undecoded::Fragment,
    ];

    /// In words.
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

/// Takes the beginning of a packet apart.
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
    // A total of zero is what a card that cuts large segments itself is given.
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
            // Hop-by-hop options, routing, destination options.
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

/// `length` is the transport's, header and payload, whether it was kept or not.
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
            // An echo belongs to its identifier, both ways (RFC 792, RFC 4443 section 4).
            if matches!(
                (protocol, byte_at(data, 0)?),
                (ICMP, 0 | 8) | (ICMPV6, 128 | 129)
            ) {
                let identifier = u16_at(data, 4)?;
                (ends.source_port, ends.destination_port) = (identifier, identifier);
            }
        }
        _ => {}
    }
    Ok(Decoded {
        ends,
        payload_bytes: length.saturating_sub(header) as u32,
        tcp: view,
    })
}

/// Options: RFC 9293 section 3.1.
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
            // What a length below two says cannot be; the others are behind what was kept.
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
