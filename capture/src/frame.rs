//! Builds frames: Ethernet, IPv4, and TCP, UDP or ICMP echo, with checksums. The payload of the
//! packets is all zeros.
//!
//! Sources: RFC 791 section 3.1 (IPv4), RFC 9293 section 3.1 (TCP), RFC 7323 sections 2 and 3
//! (window scale, timestamps), RFC 2018 sections 2 and 3 (SACK), RFC 9768 section 3.2.3 (AccECN), RFC 768 (UDP), RFC 792 (echo), RFC
//! 1071 (checksum). TCP options are laid out as in Linux: aligned to 32 bits with NOPs.

/// An Ethernet header: two addresses and a type.
pub const ETHERNET_BYTES: usize = 14;
/// An IPv4 header without options.
pub const IPV4_BYTES: usize = 20;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// IANA protocol numbers.
pub const ICMP: u8 = 1;
/// See `ICMP`.
pub const TCP: u8 = 6;
/// See `ICMP`.
pub const UDP: u8 = 17;
const TTL: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// Headers before the transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OuterHeaders {
    /// Source Ethernet address.
    pub source_mac: [u8; 6],
    /// Destination Ethernet address.
    pub destination_mac: [u8; 6],
    /// Source IPv4 address.
    pub source: [u8; 4],
    /// Destination IPv4 address.
    pub destination: [u8; 4],
    /// DSCP (6 bits) and ECN (2 bits).
    pub traffic_class: u8,
    /// Identification of the datagram; its fragments have the same.
    pub identification: u16,
    /// Total length of the packet, bytes.
    pub ip_bytes: u16,
}

/// A TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeader<'a> {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the highest bit to the lowest.
    pub flags: u8,
    /// AE, the bit above CWR (RFC 9768 section 3.1.1).
    pub is_accurate_ecn: bool,
    /// Window field: already scaled.
    pub window: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// Left and right edges; at most four blocks, three with timestamps.
    pub sack: &'a [(u32, u32)],
    /// Kind and fields of the option of accurate ECN.
    pub ecn_option: Option<(u8, &'a [u32])>,
    /// Options that only a SYN carries.
    pub syn: Option<SynOptions>,
}

/// Options of a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// Whether the SACK-permitted option is included.
    pub sack_permitted: bool,
    /// Window scale shift.
    pub window_scale: u8,
}

/// Builds frames in a reused buffer.
#[derive(Debug, Clone, Default)]
pub struct FrameMaker {
    bytes: Vec<u8>,
}

impl FrameMaker {
    /// Builds a TCP segment.
    pub fn tcp(&mut self, outer: &OuterHeaders, header: &TcpHeader<'_>) -> &[u8] {
        self.begin(outer, TCP, DO_NOT_FRAGMENT);
        let at = self.bytes.len();
        self.u16s(&[header.source_port, header.destination_port]);
        self.u32s(&[header.seq, header.ack]);
        self.bytes.extend([0, header.flags]);
        self.u16s(&[header.window, 0, 0]);
        match header.syn {
            Some(syn) => {
                self.syn_options(&syn, header.timestamps);
                self.ecn_option(header.ecn_option);
            }
            None => {
                self.timestamps_option(header.timestamps);
                self.ecn_option(header.ecn_option);
                self.sack_option(header.sack);
            }
        }
        let words = (self.bytes.len() - at) / 4;
        self.bytes[at + 12] = (words as u8) << 4 | u8::from(header.is_accurate_ecn);
        self.finish_transport(outer, TCP, at, at + 16);
        &self.bytes
    }

    /// Builds an unfragmented UDP datagram.
    pub fn udp(&mut self, outer: &OuterHeaders, source_port: u16, destination_port: u16) -> &[u8] {
        self.begin(outer, UDP, DO_NOT_FRAGMENT);
        let at = self.bytes.len();
        let length = transport_bytes(outer);
        self.u16s(&[source_port, destination_port, length, 0]);
        self.finish_transport(outer, UDP, at, at + 6);
        &self.bytes
    }

    /// Builds a fragment of a UDP datagram: its payload bytes, and its offset in bytes after the IP
    /// header (RFC 791 section 3.2). The first fragment carries the UDP header.
    pub fn udp_fragment(
        &mut self,
        outer: &OuterHeaders,
        ports: (u16, u16),
        payload_bytes: u16,
        offset_bytes: u16,
        is_last: bool,
    ) -> &[u8] {
        let more = if is_last { 0 } else { MORE_FRAGMENTS };
        self.begin(outer, UDP, more | (offset_bytes / 8));
        if offset_bytes == 0 {
            let at = self.bytes.len();
            let length = payload_bytes + 8;
            self.u16s(&[ports.0, ports.1, length, 0]);
            let sum = pseudo_sum(outer, UDP, length) + sum_of(&self.bytes[at..]);
            self.put_checksum(at + 6, sum, true);
        }
        &self.bytes
    }

    /// Builds an ICMP echo request or reply.
    pub fn echo(
        &mut self,
        outer: &OuterHeaders,
        is_reply: bool,
        identifier: u16,
        number: u16,
    ) -> &[u8] {
        self.begin(outer, ICMP, DO_NOT_FRAGMENT);
        let at = self.bytes.len();
        self.bytes.extend([if is_reply { 0 } else { 8 }, 0]);
        self.u16s(&[0, identifier, number]);
        let sum = sum_of(&self.bytes[at..]);
        self.put_checksum(at + 2, sum, false);
        &self.bytes
    }

    fn begin(&mut self, outer: &OuterHeaders, protocol: u8, fragment: u16) {
        self.bytes.clear();
        self.bytes.extend(outer.destination_mac);
        self.bytes.extend(outer.source_mac);
        self.bytes.extend(ETHERTYPE_IPV4);
        let at = self.bytes.len();
        self.bytes.extend([0x45, outer.traffic_class]);
        self.u16s(&[outer.ip_bytes, outer.identification, fragment]);
        self.bytes.extend([TTL, protocol, 0, 0]);
        self.bytes.extend(outer.source);
        self.bytes.extend(outer.destination);
        let sum = sum_of(&self.bytes[at..]);
        self.put_checksum(at + 10, sum, false);
    }

    fn syn_options(&mut self, syn: &SynOptions, timestamps: Option<(u32, u32)>) {
        self.bytes.extend([OPTION_MSS, 4]);
        self.u16s(&[syn.mss]);
        match syn.sack_permitted {
            true => self.bytes.extend([OPTION_SACK_PERMITTED, 2]),
            false => self.bytes.extend([OPTION_NOP; 2]),
        }
        match timestamps {
            Some(pair) => self.timestamps(pair),
            None => self.bytes.extend([OPTION_NOP; 10]),
        }
        let shift = [OPTION_NOP, OPTION_WINDOW_SCALE, 3, syn.window_scale];
        self.bytes.extend(shift);
    }

    /// RFC 9768 section 3.2.3.
    fn ecn_option(&mut self, option: Option<(u8, &[u32])>) {
        let Some((kind, fields)) = option else {
            return;
        };
        let at = self.bytes.len();
        self.bytes.extend([kind, 2 + 3 * fields.len() as u8]);
        for field in fields {
            let [_, high, middle, low] = field.to_be_bytes();
            self.bytes.extend([high, middle, low]);
        }
        let end = at + (self.bytes.len() - at).next_multiple_of(4);
        self.bytes.resize(end, OPTION_NOP);
    }

    fn timestamps_option(&mut self, timestamps: Option<(u32, u32)>) {
        if let Some(pair) = timestamps {
            self.bytes.extend([OPTION_NOP; 2]);
            self.timestamps(pair);
        }
    }

    fn sack_option(&mut self, sack: &[(u32, u32)]) {
        if !sack.is_empty() {
            let length = 2 + 8 * sack.len() as u8;
            self.bytes
                .extend([OPTION_NOP, OPTION_NOP, OPTION_SACK, length]);
            for (left, right) in sack {
                self.u32s(&[*left, *right]);
            }
        }
    }

    fn timestamps(&mut self, (value, echo): (u32, u32)) {
        self.bytes.extend([OPTION_TIMESTAMPS, 10]);
        self.u32s(&[value, echo]);
    }

    fn finish_transport(&mut self, outer: &OuterHeaders, protocol: u8, at: usize, field: usize) {
        let pseudo = pseudo_sum(outer, protocol, transport_bytes(outer));
        let sum = pseudo + sum_of(&self.bytes[at..]);
        self.put_checksum(field, sum, protocol == UDP);
    }

    /// RFC 1071; a UDP checksum of zero means that there is none, so zero is sent as all ones (RFC
    /// 768).
    fn put_checksum(&mut self, at: usize, sum: u32, is_udp: bool) {
        let mut sum = sum;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let checksum = match !(sum as u16) {
            0 if is_udp => 0xffff,
            checksum => checksum,
        };
        self.bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    fn u16s(&mut self, values: &[u16]) {
        for value in values {
            self.bytes.extend(value.to_be_bytes());
        }
    }

    fn u32s(&mut self, values: &[u32]) {
        for value in values {
            self.bytes.extend(value.to_be_bytes());
        }
    }
}

fn transport_bytes(outer: &OuterHeaders) -> u16 {
    outer.ip_bytes.saturating_sub(IPV4_BYTES as u16)
}

/// Pseudo-header: addresses, protocol and length (RFC 768, RFC 9293 section 3.1).
fn pseudo_sum(outer: &OuterHeaders, protocol: u8, length: u16) -> u32 {
    sum_of(&outer.source) + sum_of(&outer.destination) + u32::from(protocol) + u32::from(length)
}

/// Sum of 16-bit words. Headers have an even number of bytes, and the payload is zeros.
fn sum_of(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(2);
    words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum()
}
