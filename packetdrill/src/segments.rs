//! Conversion between engine segments and script packets; packets in tcpdump's format.

use crate::clock::since_start;
use crate::language::script::{EcnMark, TcpFlags, TcpOption, TcpPacket};
use dumbbell_core::time::Time;
use dumbbell_tcp::ecn_option::{EcnOption, Order};
use dumbbell_tcp::segment::{Flags, SackBlock, SackBlocks, Segment, Timestamps};

/// A sent packet.
#[derive(Debug, Clone, PartialEq)]
pub struct SentPacket {
    /// Time of sending.
    pub at: Time,
    /// The packet.
    pub packet: TcpPacket,
    /// ECN field of its IP header.
    pub ecn: EcnMark,
}

const FLAGS: [(Flags, TcpFlags); 7] = [
    (Flags::SYN, TcpFlags::SYN),
    (Flags::FIN, TcpFlags::FIN),
    (Flags::ACK, TcpFlags::ACK),
    (Flags::PSH, TcpFlags::PSH),
    (Flags::ECE, TcpFlags::ECE),
    (Flags::CWR, TcpFlags::CWR),
    (Flags::AE, TcpFlags::AE),
];

/// Converts a packet to an engine segment. `scale`: window scale shift.
pub fn segment_of(packet: &TcpPacket, ecn: EcnMark, scale: u8) -> Segment {
    let mut segment = Segment {
        seq: packet.seq,
        ack: packet.ack.unwrap_or(0),
        window_bytes: packet.window.unwrap_or(0) << scale,
        payload_bytes: packet.payload_bytes as u32,
        ..Segment::default()
    };
    segment.flags = engine_flags(packet.flags) | flags_of_mark(ecn);
    for option in packet.options.iter().flatten() {
        match option {
            TcpOption::Sack(blocks) => segment.sack = sack_blocks(blocks),
            TcpOption::AccurateEcn {
                is_ect1_first,
                fields,
            } => {
                let order = match is_ect1_first {
                    true => Order::Ect1First,
                    false => Order::Ect0First,
                };
                segment.ecn_option = Some(EcnOption::new(order, fields));
            }
            TcpOption::Timestamps { value, echo } => {
                segment.timestamps = Some(Timestamps {
                    value_ms: *value,
                    echo_ms: *echo,
                });
            }
            _ => {}
        }
    }
    segment
}

/// Converts the flags of a segment to the engine's.
pub fn engine_flags(of: TcpFlags) -> Flags {
    FLAGS
        .into_iter()
        .filter(|(_, wire)| of.has(*wire))
        .fold(Flags::default(), |flags, (flag, _)| flags | flag)
}

/// Converts the ECN field of an IP header to the engine's flags.
pub fn flags_of_mark(ecn: EcnMark) -> Flags {
    match ecn {
        EcnMark::None => Flags::default(),
        EcnMark::Ect0 | EcnMark::Ect01 => Flags::ECT,
        EcnMark::Ect1 => Flags::ECT | Flags::ECT1,
        EcnMark::Ce => Flags::CE,
    }
}

/// Converts SACK blocks; a block that ends before it begins is ignored.
fn sack_blocks(blocks: &[(u64, u64)]) -> SackBlocks {
    let mut found = SackBlocks::default();
    for (start, end) in blocks.iter().copied().filter(|(start, end)| start < end) {
        found.push(SackBlock { start, end }, usize::MAX);
    }
    found
}

/// Converts a segment to a packet as on the wire: `scale` is the shift of its window, `syn_options`
/// the options of a SYN.
pub fn packet_of(segment: &Segment, scale: u8, syn_options: &[TcpOption]) -> TcpPacket {
    let mut flags = TcpFlags::default();
    for (flag, wire) in FLAGS {
        if segment.flags.has(flag) {
            flags = flags.with(wire);
        }
    }
    let has_ack = segment.flags.has(Flags::ACK);
    TcpPacket {
        flags,
        seq: segment.seq,
        payload_bytes: u64::from(segment.payload_bytes),
        ack: has_ack.then_some(segment.ack),
        window: Some(segment.window_bytes >> scale),
        urgent: None,
        options: Some(options_of(segment, syn_options)),
    }
}

fn options_of(segment: &Segment, syn_options: &[TcpOption]) -> Vec<TcpOption> {
    let mut options = Vec::new();
    let timestamps = segment.timestamps.map(|stamps| TcpOption::Timestamps {
        value: stamps.value_ms,
        echo: stamps.echo_ms,
    });
    let counters = segment.ecn_option.map(|option| TcpOption::AccurateEcn {
        is_ect1_first: option.order() == Order::Ect1First,
        fields: option.fields().to_vec(),
    });
    if segment.flags.has(Flags::SYN) {
        let is_cookie = |option: &TcpOption| matches!(option, TcpOption::FastOpen(_));
        // Beside a cookie and timestamps there is no room (RFC 9768 section 3.2.3.2.1).
        let has_room = timestamps.is_none() || !syn_options.iter().any(is_cookie);
        let mut options = laid_out(syn_options, timestamps);
        options.extend(counters.filter(|_| has_room));
        return options;
    }
    if let Some(timestamps) = timestamps {
        options.extend([TcpOption::Nop, TcpOption::Nop, timestamps]);
    }
    options.extend(counters);
    let blocks = segment.sack.as_slice();
    if !blocks.is_empty() {
        let blocks = blocks.iter().map(|block| (block.start, block.end));
        options.extend([TcpOption::Nop, TcpOption::Nop]);
        options.push(TcpOption::Sack(blocks.collect()));
    }
    options
}

/// The options of a SYN, in Linux's order and with its padding (`tcp_options_write`).
fn laid_out(agreed: &[TcpOption], timestamps: Option<TcpOption>) -> Vec<TcpOption> {
    let of = |wanted: fn(&TcpOption) -> bool| agreed.iter().find(|option| wanted(option)).cloned();
    let sack = of(|option| *option == TcpOption::SackPermitted);
    let mut options: Vec<TcpOption> = of(|option| matches!(option, TcpOption::Mss(_)))
        .into_iter()
        .collect();
    if sack.is_none() || timestamps.is_none() {
        let is_padded = sack.is_some() || timestamps.is_some();
        let padding = if is_padded { 2 } else { 0 };
        options.extend(std::iter::repeat_n(TcpOption::Nop, padding));
    }
    options.extend(sack);
    options.extend(timestamps);
    if let Some(scale) = of(|option| matches!(option, TcpOption::WindowScale(_))) {
        options.extend([TcpOption::Nop, scale]);
    }
    options.extend(of(|option| matches!(option, TcpOption::FastOpen(_))));
    options
}

/// ECN field of the IP header of a segment of the engine. `has_ect1`: ECN-capable segments of its connection
/// are sent as ECT(1).
pub fn mark_of(segment: &Segment, has_ect1: bool) -> EcnMark {
    match (segment.flags.has(Flags::ECT), has_ect1) {
        (true, true) => EcnMark::Ect1,
        (true, false) => EcnMark::Ect0,
        (false, _) => EcnMark::None,
    }
}

/// tcpdump's format, as in a script: `0.100000 > P. 1:1001(1000) ack 1 win 257 <sack 1:2>`.
pub fn shown(at: Option<Time>, packet: &TcpPacket, ecn: Option<EcnMark>) -> String {
    let mut text = match at {
        Some(at) => format!("{:.6} > ", since_start(at).as_seconds()),
        None => "> ".to_owned(),
    };
    text += match ecn {
        None | Some(EcnMark::None) => "",
        Some(EcnMark::Ect0) => "[ect0] ",
        Some(EcnMark::Ect1) => "[ect1] ",
        Some(EcnMark::Ect01) => "[ect01] ",
        Some(EcnMark::Ce) => "[ce] ",
    };
    let letters = TcpFlags::LETTERS.iter().rev();
    let mut flags: String = letters
        .filter(|(flag, letter)| *letter != '.' && packet.flags.has(*flag))
        .map(|(_, letter)| letter)
        .collect();
    if packet.flags.has(TcpFlags::ACK) {
        flags.push('.');
    }
    if flags.is_empty() {
        flags.push('-');
    }
    let (seq, payload) = (packet.seq, packet.payload_bytes);
    text += &format!("{flags} {seq}:{}({payload})", seq + payload);
    if let Some(ack) = packet.ack {
        text += &format!(" ack {ack}");
    }
    if let Some(window) = packet.window {
        text += &format!(" win {window}");
    }
    match &packet.options {
        None => text += " <...>",
        Some(options) if options.is_empty() => {}
        Some(options) => {
            let options: Vec<String> = options.iter().map(shown_option).collect();
            text += &format!(" <{}>", options.join(","));
        }
    }
    text
}

fn shown_option(option: &TcpOption) -> String {
    match option {
        TcpOption::Nop => "nop".into(),
        TcpOption::End => "eol".into(),
        TcpOption::Mss(bytes) => format!("mss {bytes}"),
        TcpOption::WindowScale(shift) => format!("wscale {shift}"),
        TcpOption::SackPermitted => "sackOK".into(),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks
                .iter()
                .map(|(start, end)| format!("{start}:{end}"))
                .collect();
            format!("sack {}", blocks.join(" "))
        }
        TcpOption::Timestamps { value, echo } => format!("TS val {value} ecr {echo}"),
        TcpOption::AccurateEcn {
            is_ect1_first,
            fields,
        } => {
            let names = match is_ect1_first {
                true => ["e1b", "ceb", "e0b"],
                false => ["e0b", "ceb", "e1b"],
            };
            let fields = names.iter().zip(fields);
            let fields: String = fields
                .map(|(name, value)| format!(" {name} {value}"))
                .collect();
            format!("ECN{fields}")
        }
        TcpOption::FastOpen(cookie) => {
            let name = if cookie.is_experimental {
                "FOEXP"
            } else {
                "FO"
            };
            let digits: String = (cookie.bytes.iter().map(|byte| format!("{byte:02x}"))).collect();
            format!("{name} {digits}").trim_end().to_owned()
        }
        TcpOption::Other(name) => name.clone(),
    }
}
