//! Connections over time, by segments whose round trips, flight and windows are known.

mod common;

use common::{Kept, pcap};
use dumbbell_capture::analysis::Analysis;
use dumbbell_capture::decode::flags::{ACK, FIN, RST, SYN};
use dumbbell_capture::frame::{FrameMaker, OuterHeaders, SynOptions, TcpHeader};
use dumbbell_capture::over_time::{Interval, MOST_FOLLOWED, MOST_INTERVALS, Values, WindowScale};
use dumbbell_capture::{ByteOrder, Resolution};

const MS: i64 = 1_000_000;
/// Just below where sequence numbers begin again.
const START: u32 = u32::MAX - 1500;

/// A segment of a connection between 10.0.0.1 and 10.0.0.2, sequence numbers from 0.
#[derive(Debug, Clone, Copy)]
struct Segment {
    at_ms: i64,
    is_reply: bool,
    port: u16,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    payload: u16,
    scale: Option<u8>,
}

fn data(at_ms: i64, seq: u32, payload: u16) -> Segment {
    Segment {
        at_ms,
        is_reply: false,
        port: 4000,
        seq,
        ack: 1,
        flags: ACK,
        window: 100,
        payload,
        scale: None,
    }
}

fn ack(at_ms: i64, ack: u32, window: u16) -> Segment {
    Segment {
        is_reply: true,
        ack,
        window,
        ..data(at_ms, 1, 0)
    }
}

fn handshake(scales: [Option<u8>; 2]) -> [Segment; 3] {
    let syn = Segment {
        flags: SYN,
        ack: 0,
        window: 64_000,
        scale: scales[0],
        ..data(0, 0, 0)
    };
    let reply = Segment {
        flags: SYN | ACK,
        seq: 0,
        window: 65_000,
        scale: scales[1],
        ..ack(20, 1, 0)
    };
    [syn, reply, data(21, 1, 0)]
}

fn packet(segment: &Segment) -> Kept {
    let syn = segment.scale.map(|window_scale| SynOptions {
        mss: 1460,
        sack_permitted: true,
        window_scale,
    });
    let mut addresses = [[10, 0, 0, 1], [10, 0, 0, 2]];
    let mut ports = [segment.port, 80];
    if segment.is_reply {
        addresses.reverse();
        ports.reverse();
    }
    let options = if syn.is_some() { 20 } else { 0 };
    let outer = OuterHeaders {
        source_mac: [2; 6],
        destination_mac: [4; 6],
        source: addresses[0],
        destination: addresses[1],
        traffic_class: 0,
        identification: 1,
        ip_bytes: 40 + options + segment.payload,
    };
    let begins = |is_there: bool| if is_there { START } else { 0 };
    let header = TcpHeader {
        source_port: ports[0],
        destination_port: ports[1],
        seq: segment.seq.wrapping_add(begins(!segment.is_reply)),
        ack: segment.ack.wrapping_add(begins(segment.is_reply)),
        flags: segment.flags,
        is_accurate_ecn: false,
        window: segment.window,
        timestamps: None,
        sack: &[],
        ecn_option: None,
        syn,
    };
    Kept {
        interface: 0,
        at_ns: Some(segment.at_ms * MS),
        original_bytes: 14 + u32::from(outer.ip_bytes),
        data: FrameMaker::default().tcp(&outer, &header).to_vec(),
    }
}

fn written(segments: &[Segment]) -> Vec<u8> {
    let packets: Vec<_> = segments.iter().map(packet).collect();
    pcap(&packets, ByteOrder::Little, Resolution::Nanoseconds)
}

fn read(file: &[u8]) -> Analysis<&[u8]> {
    let mut analysis = Analysis::new(file).unwrap();
    while analysis.step(1000) {}
    assert!(analysis.error.is_none());
    analysis
}

/// What the first connection's first direction did, and how its windows are scaled.
fn followed(segments: &[Segment]) -> (Vec<Interval>, WindowScale) {
    let file = written(segments);
    let analysis = read(&file);
    let (view, row, timeline) = analysis.timelines().next().unwrap();
    assert!(view == 0 && !row.is_reply);
    let intervals = &timeline.directions[0];
    assert_eq!((intervals.width_ns, intervals.begin_ns), (MS, 0));
    (intervals.all.clone(), timeline.window_scales()[0])
}

/// (millisecond, least, mean, greatest) of those that have values.
fn told(intervals: &[Interval], of: fn(&Interval) -> Values) -> Vec<(usize, i64, i64, i64)> {
    let values = intervals.iter().map(of).enumerate();
    let some = values.filter(|(_, values)| values.count > 0);
    some.map(|(at, values)| (at, values.min, values.mean().unwrap(), values.max))
        .collect()
}

fn round_trips(segments: &[Segment]) -> Vec<(usize, i64)> {
    let (intervals, _) = followed(segments);
    let all = told(&intervals, |interval| interval.round_trip_ns);
    all.into_iter().map(|(at, _, mean, _)| (at, mean)).collect()
}

#[test]
fn a_round_trip_is_from_a_segment_to_the_acknowledgement_of_its_end() {
    let mut all = handshake([Some(7), Some(7)]).to_vec();
    all.extend([
        data(30, 1, 1000),
        data(31, 1001, 1000),
        // Of both: from the second, as the receiver waited for it.
        ack(50, 2001, 10),
        data(60, 2001, 1000),
        // Within a segment: of none.
        ack(70, 2501, 10),
        ack(75, 3001, 10),
        // Nothing new.
        ack(80, 3001, 10),
        Segment {
            flags: ACK | FIN,
            ..data(90, 3001, 0)
        },
        ack(97, 3002, 10),
    ]);
    // The SYN's is one too.
    let expected = [(20, 20 * MS), (50, 19 * MS), (75, 15 * MS), (97, 7 * MS)];
    assert_eq!(round_trips(&all), expected);
}

#[test]
fn no_round_trip_is_taken_from_what_may_answer_a_repair() {
    let mut all = handshake([None, None]).to_vec();
    let sent = (0..6).map(|n| data(30 + n, 1 + 1000 * n as u32, 1000));
    all.extend(sent);
    all.extend([
        ack(52, 1001, 10),
        data(60, 1001, 1000), // sent again
        ack(62, 1001, 10),
        // Below the repair's beginning nothing is acknowledged; these may be its answers.
        ack(70, 2001, 10),
        ack(71, 6001, 10),
        // What came after the repair is clear.
        data(80, 6001, 1000),
        ack(99, 7001, 10),
        // What was received and is sent again spoils nothing.
        data(100, 7001, 1000),
        data(101, 5001, 1000),
        ack(110, 8001, 10),
    ]);
    let expected = [(20, 20 * MS), (52, 22 * MS), (99, 19 * MS), (110, 10 * MS)];
    assert_eq!(round_trips(&all), expected);
    // Behind a queue that dropped it, a repair is the first that is seen.
    all.retain(|segment| segment.at_ms != 31);
    assert_eq!(round_trips(&all), expected);
    let (intervals, _) = followed(&all);
    assert_eq!(
        (intervals[60].late_pkts, intervals[60].repeated_pkts),
        (1, 0)
    );
    assert_eq!(intervals[101].retransmission_pkts, 1);
    let bytes: u64 = intervals.iter().map(|interval| interval.bytes).sum();
    assert_eq!(bytes, 9 * 1054 + 2 * 54);
}

#[test]
fn what_is_in_flight_is_what_was_sent_and_not_acknowledged() {
    let mut all = handshake([None, None]).to_vec();
    all.extend([
        data(30, 1, 1000),
        data(30, 1001, 1000),
        data(31, 2001, 1000),
        ack(50, 2001, 10),
        data(51, 3001, 500),
        data(52, 2001, 1000), // sent again: as much
    ]);
    let (intervals, _) = followed(&all);
    let found = told(&intervals, |interval| interval.in_flight_bytes);
    let expected = [
        (30, 1000, 1500, 2000),
        (31, 3000, 3000, 3000),
        (51, 1500, 1500, 1500),
        (52, 1500, 1500, 1500),
    ];
    assert_eq!(found, expected);
    // In one direction alone nobody knows.
    all.retain(|segment| !segment.is_reply);
    let (intervals, scale) = followed(&all);
    assert!(told(&intervals, |interval| interval.in_flight_bytes).is_empty());
    assert!(told(&intervals, |interval| interval.round_trip_ns).is_empty());
    assert_eq!(scale, WindowScale::Shift(0)); // its own SYN does not offer
}

#[test]
fn windows_are_scaled_where_both_ends_agreed_on_it() {
    let window = |scales: [Option<u8>; 2], skip: usize| {
        let mut all = handshake(scales).to_vec();
        all.extend([
            data(30, 1, 1000),
            ack(50, 1001, 500),
            Segment {
                flags: RST,
                ..ack(51, 0, 0)
            },
        ]);
        let (intervals, scale) = followed(&all[skip..]);
        let offered = told(&intervals, |interval| interval.window_bytes);
        (offered.last().unwrap().3, scale)
    };
    assert_eq!(
        window([Some(2), Some(7)], 0),
        (500 << 7, WindowScale::Shift(7))
    );
    assert_eq!(
        window([Some(2), Some(200)], 0),
        (500 << 14, WindowScale::Shift(14))
    );
    assert_eq!(window([None, Some(7)], 0), (500, WindowScale::Shift(0)));
    assert_eq!(window([Some(7), None], 0), (500, WindowScale::Shift(0)));
}

#[test]
fn the_windows_of_a_capture_that_began_later_are_as_they_stand() {
    let all = [data(0, 1, 1000), ack(50, 1001, 500)];
    let (intervals, scale) = followed(&all);
    let offered = told(&intervals, |interval| interval.window_bytes);
    assert_eq!(
        (offered, scale),
        (vec![(50, 500, 500, 500)], WindowScale::NotKnown)
    );
    // Nor do options tell that were not kept.
    let packets: Vec<_> = handshake([Some(7), Some(7)]).iter().map(packet).collect();
    let cut = packets.into_iter().map(|mut packet| {
        packet.data.truncate(54);
        packet
    });
    let cut: Vec<_> = cut.collect();
    let file = pcap(&cut, ByteOrder::Little, Resolution::Nanoseconds);
    let analysis = read(&file);
    let (_, _, timeline) = analysis.timelines().next().unwrap();
    assert_eq!(timeline.window_scales(), [WindowScale::NotKnown; 2]);
}

#[test]
fn hours_have_as_many_intervals_as_seconds() {
    let segments: Vec<_> = (0..3000)
        .map(|n| data(10_000 * n, 1 + 1000 * n as u32, 1000))
        .collect();
    let file = written(&segments);
    let analysis = read(&file);
    let (_, row, timeline) = analysis.timelines().next().unwrap();
    let intervals = &timeline.directions[0];
    assert!((MOST_INTERVALS / 2..=MOST_INTERVALS).contains(&intervals.all.len()));
    assert_eq!(
        intervals.all.iter().map(|each| each.pkts).sum::<u64>(),
        row.pkts
    );
}

#[test]
fn of_many_connections_the_largest_are_followed_however_late_they_begin() {
    let mut all = Vec::new();
    let burst = |at_ms: i64, port: u16, packets: i64| {
        (0..packets).map(move |n| Segment {
            port,
            ..data(at_ms + n, 1 + 1000 * n as u32, 1000)
        })
    };
    // Early ones of ten packets, which small ones follow for ever.
    for port in 1000..1100 {
        all.extend(burst(i64::from(port) - 1000, port, 10));
    }
    for port in 2000..6000 {
        all.extend(burst(i64::from(port), port, 1));
    }
    // One begins late, slowly at first, and is the largest in the end.
    all.extend(burst(4000, 7000, 2000));
    all.sort_by_key(|segment| segment.at_ms);
    let file = written(&all);
    let analysis = read(&file);
    let ports: Vec<_> = analysis
        .timelines()
        .map(|(_, row, _)| row.ends.source_port)
        .collect();
    assert!(ports.contains(&7000));
    assert!(ports.len() <= MOST_FOLLOWED);
    assert!(
        ports
            .iter()
            .filter(|port| (1000..1100).contains(*port))
            .count()
            >= 60
    );
    let (_, row, timeline) = analysis
        .timelines()
        .find(|(_, row, _)| row.ends.source_port == 7000)
        .unwrap();
    let pkts: u64 = timeline.directions[0]
        .all
        .iter()
        .map(|each| each.pkts)
        .sum();
    assert_eq!((pkts, row.pkts), (2000, 2000));
}

#[test]
fn a_ping_has_the_round_trips_of_its_answered_requests() {
    let echo = |at_ms: i64, is_reply: bool, number: u16| {
        let mut addresses = [[10, 0, 0, 1], [10, 0, 0, 2]];
        if is_reply {
            addresses.reverse();
        }
        let outer = OuterHeaders {
            source_mac: [2; 6],
            destination_mac: [4; 6],
            source: addresses[0],
            destination: addresses[1],
            traffic_class: 0,
            identification: 1,
            ip_bytes: 28,
        };
        Kept {
            interface: 0,
            at_ns: Some(at_ms * MS),
            original_bytes: 42,
            data: FrameMaker::default()
                .echo(&outer, is_reply, 77, number)
                .to_vec(),
        }
    };
    let packets = [
        echo(0, false, 1),
        echo(30, true, 1),
        echo(100, false, 2),
        echo(200, false, 3),
        echo(245, true, 3),
    ];
    let file = pcap(&packets, ByteOrder::Little, Resolution::Nanoseconds);
    let analysis = read(&file);
    let (_, row, timeline) = analysis.timelines().next().unwrap();
    assert!(!row.is_reply);
    let requests = &timeline.directions[0].all;
    let found = told(requests, |interval| interval.round_trip_ns);
    let means: Vec<_> = found
        .into_iter()
        .map(|(at, _, mean, _)| (at, mean))
        .collect();
    assert_eq!(means, [(30, 30 * MS), (245, 45 * MS)], "the second is lost");
    let replies = told(&timeline.directions[1].all, |interval| {
        interval.round_trip_ns
    });
    assert_eq!(replies, []);
}
