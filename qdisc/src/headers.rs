//! Packet headers as filters see them, derived from the conversation.

use dumbbell_core::packet::{Packet, PacketKind};
use dumbbell_tc::qdisc::Filter;
use dumbbell_tc::qdisc::filter::{Fragment, Header};
use std::sync::Arc;

/// IP protocol number of ICMP (RFC 790, IANA).
pub const ICMP: u8 = 1;
/// IP protocol number of TCP.
pub const TCP: u8 = 6;
/// IP protocol number of UDP.
pub const UDP: u8 = 17;
/// Type 8 and code 0 of an echo request, at the place of the source port (RFC 792); the reply has type 0.
const ECHO: u16 = 8 << 8;

/// Filters, with the headers of each conversation.
#[derive(Debug, Clone)]
pub struct Filters {
    filters: Vec<Filter>,
    headers: Arc<[Header]>,
}

impl Filters {
    /// In evaluation order.
    pub fn new(filters: &[Filter], headers: &Arc<[Header]>) -> Filters {
        Filters {
            filters: filters.to_vec(),
            headers: Arc::clone(headers),
        }
    }

    /// The first filter that a packet matches.
    pub fn first(&self, packet: &Packet) -> Option<&Filter> {
        if self.filters.is_empty() {
            return None;
        }
        let there = self.headers.get(packet.conversation as usize);
        let header = header_of(packet, there.copied().unwrap_or_default());
        first(&self.filters, &header)
    }
}

/// The first filter that matches packets with these headers.
pub fn first<'a>(filters: &'a [Filter], header: &Header) -> Option<&'a Filter> {
    filters.iter().find(|filter| filter.matches(header))
}

/// The headers of a packet whose conversation has these forward headers.
fn header_of(packet: &Packet, there: Header) -> Header {
    let fragment = match (packet.kind(), packet.fragments(), packet.fragment_index()) {
        (PacketKind::Tcp, ..) | (_, 0 | 1, _) => Fragment::None,
        (_, _, 0) => Fragment::First,
        _ => Fragment::Later,
    };
    let header = match packet.is_reply() {
        false => there,
        true => reversed(there),
    };
    Header {
        tos: packet.traffic_class,
        fragment,
        ..header
    }
}

/// Forward headers of a conversation. ICMP has no ports.
pub fn there(protocol: u8, source: (u32, u16), destination: (u32, u16)) -> Header {
    let is_icmp = protocol == ICMP;
    Header {
        protocol,
        source: source.0,
        destination: destination.0,
        source_port: if is_icmp { ECHO } else { source.1 },
        destination_port: if is_icmp { 0 } else { destination.1 },
        ..Header::default()
    }
}

/// The headers of the return direction.
pub fn reversed(there: Header) -> Header {
    let (source_port, destination_port) = match there.protocol {
        ICMP => (0, 0),
        _ => (there.destination_port, there.source_port),
    };
    Header {
        source: there.destination,
        destination: there.source,
        source_port,
        destination_port,
        ..there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::time::Time;
    use dumbbell_tc::parse_qdisc;

    /// From 10.10.1.1 to 10.10.2.2.
    fn conversation(protocol: u8) -> Header {
        there(protocol, (0x0a0a_0101, 32_768), (0x0a0a_0202, 10_003))
    }

    fn matches(words: &str, packet: &Packet, protocol: u8) -> bool {
        let text = format!("root handle 1: prio; filter add parent 1: {words} flowid 1:1");
        let config = parse_qdisc(&text).unwrap_or_else(|error| panic!("{error}"));
        let dumbbell_tc::Qdisc::Prio(prio) = config else {
            panic!("{text}")
        };
        Filters::new(&prio.filters, &Arc::from([conversation(protocol)]))
            .first(packet)
            .is_some()
    }

    #[test]
    fn addresses_ports_and_protocol_of_both_directions() {
        let mut there = Packet::new(PacketKind::Udp, 0, 1, 100, Time::ZERO);
        there.traffic_class = 0xb8;
        let back = there.into_reply();
        for (words, of_there, of_back) in [
            ("u32 match ip src 10.10.1.0/24", true, false),
            ("u32 match ip dst 10.10.1.1/32", false, true),
            ("u32 match ip dport 10003 0xffff", true, false),
            ("u32 match ip sport 10003 ffff", false, true),
            ("u32 match ip protocol 17 0xff", true, true),
            ("u32 match ip protocol 6 0xff", false, false),
            (
                "u32 match ip protocol 0x11 0xff match ip tos 0xb8 0xfc",
                true,
                true,
            ),
            (
                "u32 match ip dst 10.10.2.2 match ip dport 80 0xffff",
                false,
                false,
            ),
            ("u32 match u32 0x0a0a0101 0xffffffff at 12", true, false),
            ("u32 match u16 10003 0xffff at 22", true, false),
            ("u32 match u8 0x05 0x0f at 0", true, true),
            ("u32 match u32 0 0", true, true),
            (
                "protocol ip flower ip_proto udp dst_port 10000-10010",
                true,
                false,
            ),
            (
                "protocol ip flower ip_proto udp dst_port 10004-10010",
                false,
                false,
            ),
            ("protocol ip flower ip_proto tcp", false, false),
            ("protocol ip flower src_ip 10.10.2.2", false, true),
            ("handle 1 fw", false, false),
            ("matchall", true, true),
        ] {
            assert_eq!(matches(words, &there, UDP), of_there, "{words}");
            assert_eq!(matches(words, &back, UDP), of_back, "{words}");
        }
    }

    /// u32 compares bytes, where later fragments have payload; flower's dissector stops at fragments.
    #[test]
    fn ports_of_fragments() {
        let whole = Packet::new(PacketKind::Udp, 0, 1, 1500, Time::ZERO);
        let u32_of = "u32 match ip dport 10003 0xffff";
        let flower = "protocol ip flower ip_proto udp dst_port 10003";
        for (packet, by_u32, by_flower) in [
            (whole, true, true),
            (whole.as_fragment(0, 3), true, false),
            (whole.as_fragment(1, 3), false, false),
        ] {
            assert_eq!(matches(u32_of, &packet, UDP), by_u32);
            assert_eq!(matches(flower, &packet, UDP), by_flower);
        }
    }

    #[test]
    fn pings_have_a_type_and_no_port() {
        let asked = Packet::new(PacketKind::Echo, 0, 1, 84, Time::ZERO);
        for (words, of_asked, of_answer) in [
            ("u32 match ip protocol 1 0xff", true, true),
            ("u32 match ip icmp_type 8 0xff", true, false),
            ("u32 match ip icmp_type 0 0xff", false, true),
            ("u32 match ip dport 10003 0xffff", false, false),
        ] {
            assert_eq!(matches(words, &asked, ICMP), of_asked, "{words}");
            assert_eq!(
                matches(words, &asked.into_reply(), ICMP),
                of_answer,
                "{words}"
            );
        }
    }
}
