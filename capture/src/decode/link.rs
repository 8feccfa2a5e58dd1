//! Headers before the IP header, by the link type of the interface.
//!
//! | link type | headers |
//! | --- | --- |
//! | 1 | Ethernet, with up to four of: VLAN tag (IEEE 802.1Q), MPLS label (RFC 3032), PPPoE session (RFC 2516) |
//! | 9 | PPP in HDLC-like framing (RFC 1662) |
//! | 12, 14, 101, 228, 229 | none: an IP header |
//! | 0, 108 | four bytes of BSD loopback, in either byte order |
//! | 113, 276 | Linux's "any" device, version 1 and 2 |
//!
//! Source: link types as registered with draft-ietf-opsawg-pcaplinktype.

use super::{Undecoded, byte_at, u16_at};
use crate::LinkType;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN_TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
/// PPP protocol numbers of IPv4 and IPv6.
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Maximum number of tags, labels and PPPoE sessions around a packet.
const MOST_SHELLS: usize = 4;

/// The packet inside a frame, starting at its IP header.
pub(super) fn inside(link_type: LinkType, data: &[u8]) -> Result<&[u8], Undecoded> {
    match link_type {
        LinkType::ETHERNET => by_type(u16_at(data, 12)?, &data[14..]),
        LinkType::PPP => ppp(data),
        LinkType::RAW_BSD
        | LinkType::RAW_OPENBSD
        | LinkType::RAW
        | LinkType::IPV4
        | LinkType::IPV6 => Ok(data),
        LinkType::NULL | LinkType::LOOP => from(data, 4),
        LinkType::LINUX_SLL => by_type(u16_at(data, 14)?, from(data, 16)?),
        LinkType::LINUX_SLL2 => by_type(u16_at(data, 0)?, from(data, 20)?),
        _ => Err(Undecoded::LinkType),
    }
}

/// The packet that follows this EtherType.
fn by_type(mut kind: u16, mut data: &[u8]) -> Result<&[u8], Undecoded> {
    for _ in 0..=MOST_SHELLS {
        match kind {
            IPV4 | IPV6 => return Ok(data),
            PPPOE_SESSION => return ppp(from(data, 6)?),
            _ if VLAN_TAGS.contains(&kind) => {
                kind = u16_at(data, 2)?;
                data = from(data, 4)?;
            }
            _ if MPLS.contains(&kind) => {
                let is_last = byte_at(data, 2)? & 1 == 1;
                data = from(data, 4)?;
                if is_last {
                    return labelled(data);
                }
            }
            _ => return Err(Undecoded::NotIp),
        }
    }
    Err(Undecoded::NotIp)
}

/// No field identifies the protocol after the last MPLS label: IP is recognised by its version, and
/// anything else is not IP.
fn labelled(data: &[u8]) -> Result<&[u8], Undecoded> {
    match byte_at(data, 0)? >> 4 {
        4 | 6 => Ok(data),
        _ => Err(Undecoded::NotIp),
    }
}

/// RFC 1662 section 3.1; address and control may be omitted, and so may the first byte of the
/// protocol.
fn ppp(data: &[u8]) -> Result<&[u8], Undecoded> {
    let data = data.strip_prefix(&[0xff, 0x03]).unwrap_or(data);
    let (protocol, rest) = match byte_at(data, 0)? {
        short if short & 1 == 1 => (u16::from(short), &data[1..]),
        _ => (u16_at(data, 0)?, &data[2..]),
    };
    match protocol {
        PPP_IPV4 | PPP_IPV6 => Ok(rest),
        _ => Err(Undecoded::NotIp),
    }
}

fn from(data: &[u8], at: usize) -> Result<&[u8], Undecoded> {
    data.get(at..).ok_or(Undecoded::CutShort)
}
