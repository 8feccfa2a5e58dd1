//! Frames that are made are taken apart again; flows of made segments are counted by both rules.

use dumbbell_capture::LinkType;
use dumbbell_capture::decode::{Undecoded, decode, flags};
use dumbbell_capture::flows::{FlowRow, FlowTable};
use dumbbell_capture::frame::{FrameMaker, OuterHeaders, SynOptions, TcpHeader};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

fn outer(ip_bytes: u16, is_reply: bool) -> OuterHeaders {
    let (a, b) = ([10, 10, 1, 1], [10, 10, 2, 2]);
    let (source, destination) = if is_reply { (b, a) } else { (a, b) };
    OuterHeaders {
        source_mac: [2, 0, 0, 0, 0, 2],
        destination_mac: [2, 0, 0, 0, 0, 3],
        source,
        destination,
        traffic_class: 0xb8,
        identification: 7,
        ip_bytes,
    }
}

/// A checksum over what contains its own is zero (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let words = words.map(|pair| u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn with_pseudo_header(frame: &[u8], length: u16) -> Vec<u8> {
    let mut all = frame[26..34].to_vec();
    all.extend([0, frame[23]]);
    all.extend(length.to_be_bytes());
    all.extend(&frame[34..]);
    all
}

proptest! {
    #[test]
    fn checksums_of_segments_are_right(
        ports in any::<[u16; 2]>(),
        numbers in any::<[u32; 2]>(),
        window in any::<u16>(),
        bits in 0u8..=255,
        timestamps in any::<Option<(u32, u32)>>(),
        sack in prop::collection::vec(any::<(u32, u32)>(), 0..4),
        payload in 0u16..9000,
        syn in any::<Option<(u16, bool, u8)>>(),
    ) {
        let syn = syn.map(|(mss, sack_permitted, window_scale)| SynOptions { mss, sack_permitted, window_scale });
        let options = match syn {
            Some(_) => 20,
            None => timestamps.map_or(0, |_| 12) + if sack.is_empty() { 0 } else { 4 + 8 * sack.len() as u16 },
        };
        let header = TcpHeader {
            source_port: ports[0],
            destination_port: ports[1],
            seq: numbers[0],
            ack: numbers[1],
            flags: bits,
            is_accurate_ecn: false,
            window,
            timestamps,
            sack: &sack,
            ecn_option: None,
            syn,
        };
        let mut maker = FrameMaker::default();
        let frame = maker.tcp(&outer(40 + options + payload, false), &header);
        prop_assert_eq!(frame.len(), 54 + usize::from(options));
        prop_assert_eq!(sum(&frame[14..34]), 0);
        prop_assert_eq!(sum(&with_pseudo_header(frame, 20 + options + payload)), 0);
        let found = decode(LinkType::ETHERNET, frame).unwrap();
        let tcp = found.tcp.unwrap();
        prop_assert_eq!((found.ends.source_port, found.ends.destination_port), (ports[0], ports[1]));
        prop_assert_eq!((tcp.seq, tcp.ack, tcp.flags, tcp.window), (numbers[0], numbers[1], bits, window));
        prop_assert_eq!(tcp.payload_bytes, u32::from(payload));
        // Cut anywhere within the headers, it says so.
        for cut in 0..50 {
            prop_assert_eq!(decode(LinkType::ETHERNET, &frame[..cut]), Err(Undecoded::CutShort));
        }
    }

    #[test]
    fn checksums_of_datagrams_and_echoes_are_right(
        payload in 0u16..1400,
        ports in any::<(u16, u16)>(),
        is_reply in any::<bool>(),
    ) {
        let mut maker = FrameMaker::default();
        let place = outer(28 + payload, is_reply);
        let frame = maker.udp(&place, ports.0, ports.1);
        prop_assert_eq!(sum(&frame[14..34]), 0);
        prop_assert_eq!(sum(&with_pseudo_header(frame, 8 + payload)), 0);
        prop_assert_eq!(decode(LinkType::ETHERNET, frame).unwrap().payload_bytes, u32::from(payload));
        let frame = maker.echo(&place, is_reply, ports.0, ports.1);
        prop_assert_eq!(sum(&frame[34..]), 0);
        let first = maker.udp_fragment(&outer(1500, false), ports, payload + 1472, 0, false);
        prop_assert_eq!(sum(&with_pseudo_header(first, 8 + 1472 + payload)), 0);
        let later = maker.udp_fragment(&outer(20 + payload + 1, false), ports, 0, 1480, true);
        prop_assert_eq!(decode(LinkType::ETHERNET, later), Err(Undecoded::Fragment));
    }

    /// Whatever bytes come, a packet is taken apart or refused.
    #[test]
    fn any_bytes_are_decoded_or_refused(
        link in prop_oneof![Just(1u16), Just(101), Just(0), Just(9), Just(113), Just(276), any::<u16>()],
        head in prop_oneof![Just(vec![0u8; 12]), Just(vec![])],
        kind in prop_oneof![
            Just(vec![8u8, 0, 0x45]),
            Just(vec![0x86, 0xdd, 0x60]),
            Just(vec![0x81, 0]),
            Just(vec![0x88, 0x47]),
            Just(vec![0x88, 0x64]),
        ],
        rest in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let bytes = [head, kind, rest].concat();
        if let Ok(found) = decode(LinkType(link), &bytes) {
            prop_assert!(found.payload_bytes <= 65_535);
        }
    }
}

/// Segments of one connection with 1000-byte payloads; times in milliseconds.
#[derive(Default)]
struct Script {
    table: Option<FlowTable>,
    maker: FrameMaker,
}

impl Script {
    fn segment(&mut self, at_ms: f64, bits: u8, numbers: (u32, u32), payload: u16, is_reply: bool) {
        let (source_port, destination_port) = if is_reply { (80, 4000) } else { (4000, 80) };
        let header = TcpHeader {
            source_port,
            destination_port,
            seq: numbers.0,
            ack: numbers.1,
            flags: bits,
            is_accurate_ecn: false,
            window: 500,
            timestamps: None,
            sack: &[],
            ecn_option: None,
            syn: None,
        };
        let frame = self.maker.tcp(&outer(40 + payload, is_reply), &header);
        let found = decode(LinkType::ETHERNET, frame).unwrap();
        let table = self.table.get_or_insert_with(|| FlowTable::new(2));
        table.add((at_ms * MS as f64) as i64, 54 + u32::from(payload), &found);
    }

    fn handshake(&mut self, at_ms: f64, isn: u32) {
        self.segment(at_ms, flags::SYN, (isn, 0), 0, false);
        self.segment(
            at_ms + 5.0,
            flags::SYN | flags::ACK,
            (900, isn + 1),
            0,
            true,
        );
        self.segment(at_ms + 10.0, flags::ACK, (isn + 1, 901), 0, false);
    }

    fn data(&mut self, at_ms: f64, seq: u32) {
        self.segment(at_ms, flags::ACK, (seq, 901), 1000, false);
    }

    fn ack(&mut self, at_ms: f64, ack: u32) {
        self.segment(at_ms, flags::ACK, (901, ack), 0, true);
    }

    fn rows(&self) -> Vec<FlowRow> {
        self.table.as_ref().unwrap().rows().collect()
    }
}

#[test]
fn each_of_the_flags_is_given_by_its_conditions() {
    let mut script = Script::default();
    script.handshake(0.0, 100);
    for (index, at_ms) in [20.0, 21.0, 22.0].into_iter().enumerate() {
        script.data(at_ms, 101 + 2000 * index as u32); // 101, 2101, 4101: two gaps
    }
    script.data(23.0, 1101); // late, within the 10 ms of the handshake
    script.data(50.0, 3101); // late, after more than that
    script.data(51.0, 101); // seen before, long after the highest
    for _ in 0..3 {
        script.ack(60.0, 2101);
    }
    script.data(75.0, 2101); // asked for, 15 ms ago
    script.ack(80.0, 5101);
    script.data(81.0, 3101); // everything of it is acknowledged
    script.segment(90.0, flags::ACK, (5100, 901), 0, false); // a keep-alive
    let rows = script.rows();
    let (sent, back) = (&rows[0], &rows[1]);
    let counted = sent.wireshark;
    assert_eq!(counted.out_of_order_pkts, 1);
    assert_eq!(counted.retransmission_pkts, 4);
    assert_eq!(counted.fast_retransmission_pkts, 1);
    assert_eq!(counted.spurious_retransmission_pkts, 1);
    assert_eq!(counted.lost_segment_pkts, 2);
    assert_eq!(back.wireshark.duplicate_ack_pkts, 2);
    let repeats = sent.repeats;
    assert_eq!((repeats.late_pkts, repeats.repeated_pkts), (2, 3));
    assert_eq!((counted.keep_alive_pkts, repeats.keep_alive_pkts), (1, 1));
    assert_eq!(repeats.new_bytes, 5001); // with the SYN
    assert_eq!(
        (sent.pkts, sent.data_pkts, sent.payload_bytes),
        (11, 8, 8000)
    );
    assert_eq!((sent.first_ns, sent.last_ns), (0, 90 * MS));
    assert!(!sent.is_reply && back.is_reply);
}

#[test]
fn what_ends_just_where_the_highest_did_is_sent_again_and_not_out_of_order() {
    let mut script = Script::default();
    script.handshake(0.0, 100);
    script.data(20.0, 101);
    script.data(21.0, 1101);
    script.data(22.0, 1101); // within the 10 ms of the handshake
    script.segment(23.0, flags::ACK | flags::FIN, (1101, 901), 1000, false); // a byte further
    script.segment(24.0, flags::ACK | flags::FIN, (1101, 901), 1000, false);
    script.data(25.0, 101); // ends elsewhere
    let counted = script.rows()[0].wireshark;
    assert_eq!(
        (counted.retransmission_pkts, counted.out_of_order_pkts),
        (2, 2)
    );
}

#[test]
fn a_reset_that_acknowledges_nothing_makes_nothing_spurious() {
    let mut script = Script::default();
    script.handshake(0.0, u32::MAX - 5000);
    script.data(20.0, u32::MAX - 4999);
    script.segment(40.0, flags::RST, (901, 0), 0, true);
    script.data(41.0, u32::MAX - 3999); // below 0, as far as numbers that wrap go
    let counted = script.rows()[0].wireshark;
    assert_eq!(counted.spurious_retransmission_pkts, 0);
}

#[test]
fn the_answer_to_a_keep_alive_is_no_duplicate() {
    let mut script = Script::default();
    script.handshake(0.0, 100);
    script.data(20.0, 101);
    script.ack(21.0, 1101);
    script.segment(1000.0, flags::ACK, (1100, 901), 0, false);
    script.ack(1001.0, 1101);
    script.data(2000.0, 1101);
    script.ack(2001.0, 1101);
    assert_eq!(script.rows()[1].wireshark.duplicate_ack_pkts, 1);
    assert_eq!(script.rows()[0].wireshark.keep_alive_pkts, 1);
}

/// As after a crash: no FIN and no reset, and the other one speaks first.
#[test]
fn whoever_opens_a_connection_has_spoken_first() {
    let mut script = Script::default();
    script.data(0.0, 5000); // begun before the capture
    script.ack(1.0, 6000);
    script.segment(5000.0, flags::SYN, (70_000, 0), 0, true);
    script.segment(5001.0, flags::SYN | flags::ACK, (80_000, 70_001), 0, false);
    let rows = script.rows();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.ends.source_port, row.connection, row.is_reply, row.pkts))
        .collect();
    let first = [(4000, 1, false, 1), (80, 1, true, 1)];
    let second = [(80, 2, false, 1), (4000, 2, true, 1)];
    assert_eq!(told, [first, second].concat());
    assert!(rows.iter().all(|row| row.wireshark.lost_segment_pkts == 0));
}

#[test]
fn a_new_initial_number_begins_another_connection_and_the_table_has_a_bound() {
    let mut script = Script::default();
    script.handshake(0.0, 100);
    script.segment(1000.0, flags::SYN, (100, 0), 0, false); // the same SYN again
    script.handshake(2000.0, 70_000);
    script.data(2020.0, 70_001);
    script.handshake(3000.0, 5); // one connection too many
    let rows = script.rows();
    let numbers: Vec<_> = rows
        .iter()
        .map(|row| (row.connection, row.is_reply))
        .collect();
    assert_eq!(numbers, [(1, false), (1, true), (2, false), (2, true)]);
    assert_eq!(rows[0].wireshark.retransmission_pkts, 1);
    assert_eq!(rows[2].wireshark.retransmission_pkts, 0);
    assert_eq!(script.table.as_ref().unwrap().passed_over_pkts, 1);
}

/// Numbers that wrap are no retransmissions.
#[test]
fn sequence_numbers_wrap() {
    let mut script = Script::default();
    for index in 0..5u32 {
        script.data(f64::from(index), 0xffff_f000u32.wrapping_add(1000 * index));
    }
    script.data(9.0, 0xffff_f000);
    let row = script.rows()[0];
    assert_eq!(row.wireshark.retransmission_pkts, 1);
    assert_eq!((row.repeats.repeated_pkts, row.repeats.late_pkts), (1, 0));
    assert_eq!(row.repeats.new_bytes, 5000);
}

proptest! {
    /// Held against a set of bytes: what is new, what repeats, what is late.
    #[test]
    fn what_was_seen_is_remembered_byte_by_byte(
        segments in prop::collection::vec((0u32..40, 1u16..5), 1..60),
        base in any::<u32>(),
    ) {
        let mut script = Script::default();
        let mut seen = std::collections::BTreeSet::new();
        let (mut repeated, mut late, mut highest) = (0, 0, 0);
        script.segment(0.0, flags::ACK, (base, 901), 2, false);
        seen.extend([0, 1]);
        highest = highest.max(2);
        let mut keep_alives = 0;
        for (start, length) in segments {
            script.segment(1.0, flags::ACK, (base.wrapping_add(start), 901), length, false);
            let end = start + u32::from(length);
            if length == 1 && start + 1 == highest {
                keep_alives += 1;
                continue;
            }
            if start < highest {
                match (start..end).any(|byte| seen.contains(&byte)) {
                    true => repeated += 1,
                    false => late += 1,
                }
            }
            seen.extend(start..end);
            highest = highest.max(end);
        }
        let repeats = script.rows()[0].repeats;
        prop_assert_eq!((repeats.repeated_pkts, repeats.late_pkts), (repeated, late));
        prop_assert_eq!(repeats.keep_alive_pkts, keep_alives);
        prop_assert_eq!(repeats.new_bytes, seen.len() as u64);
    }
}
