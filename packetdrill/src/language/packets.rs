//! Packets.

use super::cursor::Cursor;
use super::lexer::Word;
use super::script::{
    Body, Cookie, Direction, EcnMark, Icmp, Packet, TcpFlags, TcpOption, TcpPacket, Unreachable,
};
use super::{SyntaxError, SyntaxErrorKind};

const U32: u64 = u32::MAX as u64;
const U24: u64 = (1 << 24) - 1;
const U16: u64 = u16::MAX as u64;
/// Constants that Google's runner of its suite defines (`run_all.py`): the cookie of packetdrill's
/// remote address with the key of `defaults.sh`, and the reason why a segment cannot be delivered.
const SUITE_COOKIE: &str = "3021b9d889017eeb";
const SUITE_CODE: &str = "host_unreachable";
/// Maximum length of the cookie in an option.
const MOST_COOKIE_BYTES: usize = 38;
/// First words of packet lines that are not TCP segments.
const OTHER_PACKETS: [&str; 8] = ["icmp", "udp", "ipv4", "ipv6", "gre", "GREv0", "mpls", "psp"];

pub(super) fn packet(cursor: &mut Cursor, direction: Direction) -> Result<Packet, SyntaxError> {
    let mut packet = Packet {
        direction,
        ecn: None,
        other_ip: None,
        ports: None,
        body: Body::Other(String::new()),
    };
    if let Some(body) = other_packet(cursor)? {
        packet.body = body;
        return Ok(packet);
    }
    if matches!(cursor.peek(), Some(Word::Sign('[' | '('))) {
        ip_header(cursor, &mut packet)?;
    }
    if let Some(body) = other_packet(cursor)? {
        packet.body = body;
        return Ok(packet);
    }
    // A number before the flags is a port, or the ACE field of flags such as `5.`.
    if matches!(cursor.peek(), Some(Word::Integer(_)))
        && cursor.peek_second() == Some(&Word::Sign('>'))
    {
        let from = cursor.number(U16, "a port: 0 to 65535")? as u16;
        cursor.next();
        packet.ports = Some((from, cursor.number(U16, "a port: 0 to 65535")? as u16));
    }
    packet.body = Body::Tcp(segment(cursor, direction)?);
    Ok(packet)
}

/// A packet that is neither a segment nor a supported ICMP message is skipped to the end of its
/// line.
fn other_packet(cursor: &mut Cursor) -> Result<Option<Body>, SyntaxError> {
    match cursor.peek() {
        Some(Word::Name(name)) if OTHER_PACKETS.contains(&name.as_str()) => {
            cursor.next();
            if name == "icmp"
                && let Some(icmp) = icmp(cursor)?
            {
                return Ok(Some(Body::Icmp(icmp)));
            }
            cursor.skip_line_of_last();
            Ok(Some(Body::Other(name.clone())))
        }
        _ => Ok(None),
    }
}

/// `unreachable host_unreachable [1:1001(1000)]`, `unreachable frag_needed mtu 840`; None for other
/// ICMP types and codes.
fn icmp(cursor: &mut Cursor) -> Result<Option<Icmp>, SyntaxError> {
    if !cursor.takes_name("unreachable") {
        return Ok(None);
    }
    let code = match cursor.peek() {
        // No code is given: network unreachable.
        Some(Word::Sign('[')) => Unreachable::Network,
        Some(Word::Name(name)) => {
            let name = if name == "CODE" { SUITE_CODE } else { name };
            match name {
                "net_unreachable" => Unreachable::Network,
                "host_unreachable" => Unreachable::Host,
                "frag_needed" => Unreachable::FragmentationNeeded(0),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    if !matches!(cursor.peek(), Some(Word::Sign('['))) {
        cursor.next();
    }
    let code = match code {
        Unreachable::FragmentationNeeded(_) if cursor.takes_name("mtu") => {
            Unreachable::FragmentationNeeded(cursor.number(U16, "an MTU: 0 to 65535")? as u16)
        }
        other => other,
    };
    let mut seq = None;
    if cursor.takes('[') {
        seq = Some(range(cursor)?.0);
        cursor.expect(']', "] after the segment that is quoted")?;
    }
    Ok(Some(Icmp { code, seq }))
}

/// `SEQ:END(LENGTH)`: the first sequence number and the length.
fn range(cursor: &mut Cursor) -> Result<(u64, u64), SyntaxError> {
    let at_range = cursor.place();
    let seq = cursor.number(U32, "a sequence number: 0 to 4294967295")?;
    cursor.expect(':', ": between the sequence numbers")?;
    let end = cursor.number(U32, "a sequence number: 0 to 4294967295")?;
    cursor.expect('(', "( and the bytes of payload")?;
    let payload = cursor.number(U16, "bytes of payload: 0 to 65535")?;
    cursor.expect(')', ") after the bytes of payload")?;
    if seq + payload != end {
        let start = seq;
        let mistake = SyntaxErrorKind::Inconsistent {
            start,
            end,
            payload,
        };
        return Err(SyntaxError::new(at_range, mistake));
    }
    Ok((seq, payload))
}

/// `[ect0]`, `(tos 0x10)`, `[ce,flowlabel 0x1]`
fn ip_header(cursor: &mut Cursor, packet: &mut Packet) -> Result<(), SyntaxError> {
    let end = if cursor.takes('[') {
        ']'
    } else {
        cursor.next();
        ')'
    };
    while !cursor.takes(end) {
        let Some(Word::Name(name)) = cursor.peek() else {
            return Err(cursor.unexpected("ect0, ect1, ect01, ce, noecn, tos, ttl or flowlabel"));
        };
        let mark = match name.as_str() {
            "noecn" => Some(EcnMark::None),
            "ect0" => Some(EcnMark::Ect0),
            "ect1" => Some(EcnMark::Ect1),
            "ect01" => Some(EcnMark::Ect01),
            "ce" => Some(EcnMark::Ce),
            "tos" | "ttl" | "flowlabel" => None,
            _ => {
                let expected = "ect0, ect1, ect01, ce, noecn, tos, ttl or flowlabel";
                return Err(cursor.unexpected(expected));
            }
        };
        cursor.next();
        if mark.is_some() {
            packet.ecn = mark;
        } else {
            packet.other_ip = Some(name.clone());
            cursor.number(U32, "0 to 4294967295")?;
        }
        cursor.takes(',');
    }
    Ok(())
}

fn segment(cursor: &mut Cursor, direction: Direction) -> Result<TcpPacket, SyntaxError> {
    let flags = flags(cursor)?;
    let (seq, payload_bytes) = range(cursor)?;
    let mut packet = TcpPacket {
        flags,
        seq,
        payload_bytes,
        ack: None,
        window: None,
        urgent: None,
        options: Some(Vec::new()),
    };
    if cursor.takes_name("ack") {
        packet.ack = Some(cursor.number(U32, "a sequence number: 0 to 4294967295")?);
    }
    if cursor.takes_name("win") {
        packet.window = Some(cursor.number(U16, "a window: 0 to 65535")?);
    }
    if cursor.takes_name("urg") {
        packet.urgent = Some(cursor.number(U16, "an urgent pointer: 0 to 65535")?);
    }
    if cursor.takes('<') {
        packet.options = options(cursor, direction)?;
    }
    Ok(packet)
}

/// `S.`, `.`, `-`, `FP.`, `SEWA`, `P5.`: letters, the ACE field as a digit, a point for ACK.
fn flags(cursor: &mut Cursor) -> Result<TcpFlags, SyntaxError> {
    const FLAGS: &str = "flags: of F S R P . U E W A, or -";
    if cursor.takes('-') {
        return Ok(TcpFlags::default());
    }
    let mut flags = TcpFlags::default();
    let mut is_empty = true;
    match cursor.peek() {
        Some(Word::Name(letters)) => {
            for letter in letters.chars() {
                let known = TcpFlags::LETTERS.iter().find(|(_, known)| *known == letter);
                flags = match (known, letter.to_digit(8)) {
                    (Some((flag, _)), _) => flags.with(*flag),
                    (None, Some(ace)) => flags.with(ace_flags(ace)),
                    (None, None) => return Err(cursor.unexpected(FLAGS)),
                };
            }
            cursor.next();
            is_empty = false;
        }
        Some(Word::Integer(ace @ 0..=7)) => {
            flags = ace_flags(*ace as u32);
            cursor.next();
            is_empty = false;
        }
        _ => {}
    }
    if cursor.takes('.') {
        return Ok(flags.with(TcpFlags::ACK));
    }
    match is_empty {
        true => Err(cursor.unexpected(FLAGS)),
        false => Ok(flags),
    }
}

/// AE, CWR and ECE flags of this ACE value (draft-ietf-tcpm-accurate-ecn, section 3.1).
fn ace_flags(ace: u32) -> TcpFlags {
    [(4, TcpFlags::AE), (2, TcpFlags::CWR), (1, TcpFlags::ECE)]
        .iter()
        .filter(|(bit, _)| ace & bit != 0)
        .fold(TcpFlags::default(), |flags, (_, flag)| flags.with(*flag))
}

fn options(
    cursor: &mut Cursor,
    direction: Direction,
) -> Result<Option<Vec<TcpOption>>, SyntaxError> {
    if cursor.peek() == Some(&Word::Ellipsis) {
        if direction == Direction::In {
            return Err(cursor.unexpected("options: <...> is only for packets that are sent"));
        }
        cursor.next();
        cursor.expect('>', "> after the options")?;
        return Ok(None);
    }
    let mut found = Vec::new();
    if cursor.takes('>') {
        return Ok(Some(found));
    }
    loop {
        found.push(option(cursor)?);
        if cursor.takes('>') {
            return Ok(Some(found));
        }
        cursor.expect(',', "a comma or > after an option")?;
    }
}

fn option(cursor: &mut Cursor) -> Result<TcpOption, SyntaxError> {
    let Some(Word::Name(name)) = cursor.peek() else {
        return Err(cursor.unexpected("an option: mss, wscale, sackOK, TS, sack, nop, eol ..."));
    };
    cursor.next();
    Ok(match name.as_str() {
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::End,
        "sackOK" => TcpOption::SackPermitted,
        "mss" => TcpOption::Mss(cursor.number(U16, "an MSS: 0 to 65535")? as u16),
        "wscale" => TcpOption::WindowScale(cursor.number(255, "a shift: 0 to 255")? as u8),
        "TS" => {
            if !cursor.takes_name("val") {
                return Err(cursor.unexpected("val and a timestamp"));
            }
            let value = cursor.number(U32, "a timestamp: 0 to 4294967295")? as u32;
            if !cursor.takes_name("ecr") {
                return Err(cursor.unexpected("ecr and a timestamp"));
            }
            let echo = cursor.number(U32, "a timestamp: 0 to 4294967295")? as u32;
            TcpOption::Timestamps { value, echo }
        }
        "sack" => TcpOption::Sack(sack_blocks(cursor)?),
        "FO" | "FOEXP" => TcpOption::FastOpen(Cookie {
            is_experimental: name == "FOEXP",
            bytes: cookie(cursor)?,
        }),
        "ECN" => byte_counters(cursor)?,
        "md5" | "exp" => {
            // Values of other options are hexadecimal, words, or absent.
            while !matches!(cursor.peek(), None | Some(Word::Sign(',' | '>'))) {
                cursor.next();
            }
            TcpOption::Other(name.clone())
        }
        _ => return Err(cursor.unexpected("an option: mss, wscale, sackOK, TS, sack, nop, eol")),
    })
}

/// `ECN e1b 1 ceb 0 e0b 1`: counters of bytes in one of the two orders; those at the end may be left out.
fn byte_counters(cursor: &mut Cursor) -> Result<TcpOption, SyntaxError> {
    const ORDERS: [[&str; 3]; 2] = [["e0b", "ceb", "e1b"], ["e1b", "ceb", "e0b"]];
    let is_ect0_first = matches!(cursor.peek(), Some(Word::Name(name)) if name == "e0b");
    let mut fields = Vec::new();
    for name in ORDERS[usize::from(!is_ect0_first)] {
        if matches!(cursor.peek(), None | Some(Word::Sign(',' | '>'))) {
            break;
        }
        if !cursor.takes_name(name) {
            return Err(
                cursor.unexpected("e0b, ceb and e1b, or e1b, ceb and e0b, each with a number")
            );
        }
        fields.push(cursor.number(U24, "a counter: 0 to 16777215")? as u32);
    }
    Ok(TcpOption::AccurateEcn {
        is_ect1_first: !is_ect0_first,
        fields,
    })
}

/// A cookie in hexadecimal, two digits a byte; empty, or the name that Google's suite gives its
/// cookie.
fn cookie(cursor: &mut Cursor) -> Result<Vec<u8>, SyntaxError> {
    const EXPECTED: &str = "a cookie, two hexadecimal digits a byte, or a comma or >";
    let text = match cursor.peek() {
        None | Some(Word::Sign(',' | '>')) => return Ok(Vec::new()),
        Some(Word::Name(name)) if name == "TFO_COOKIE" => SUITE_COOKIE,
        Some(Word::Name(_) | Word::Integer(_)) => cursor.source(),
        Some(_) => return Err(cursor.unexpected(EXPECTED)),
    };
    let is_hexadecimal = text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hexadecimal || !text.len().is_multiple_of(2) {
        return Err(cursor.unexpected(EXPECTED));
    }
    if text.len() > 2 * MOST_COOKIE_BYTES {
        let (what, most) = ("bytes of a cookie", MOST_COOKIE_BYTES);
        return Err(cursor.error(SyntaxErrorKind::TooMuch { what, most }));
    }
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
    let bytes = (0..text.len()).step_by(2).map(byte).collect();
    cursor.next();
    Ok(bytes)
}

fn sack_blocks(cursor: &mut Cursor) -> Result<Vec<(u64, u64)>, SyntaxError> {
    let mut blocks = Vec::new();
    while matches!(cursor.peek(), Some(Word::Integer(_))) {
        if blocks.len() == 4 {
            let (what, most) = ("SACK blocks", 4);
            return Err(cursor.error(SyntaxErrorKind::TooMuch { what, most }));
        }
        let start = cursor.number(U32, "a sequence number: 0 to 4294967295")?;
        cursor.expect(':', ": between the sequence numbers")?;
        let end = cursor.number(U32, "a sequence number: 0 to 4294967295")?;
        blocks.push((start, end));
    }
    Ok(blocks)
}
