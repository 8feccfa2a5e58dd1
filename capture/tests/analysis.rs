//! The analysis of a file: views, series, and files that are cut, hostile or without end.
//!
//! The long run, a million files, is `cargo test --release -- --include-ignored` (`make test-long`).

mod common;

use common::{Kept, cases, pcap, pcapng};
use dumbbell_capture::analysis::{Analysis, CopyError, copy_view};
use dumbbell_capture::frame::{FrameMaker, OuterHeaders, SynOptions, TcpHeader};
use dumbbell_capture::over_time::{Interval, MOST_FOLLOWED, MOST_INTERVALS};
use dumbbell_capture::views::{Place, View};
use dumbbell_capture::{ByteOrder, Format, Interface, LinkType, PcapngWriter, Reader, Resolution};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const LONG: u32 = 1_000_000;

fn frame(number: u32) -> Vec<u8> {
    let outer = OuterHeaders {
        source_mac: [2; 6],
        destination_mac: [4; 6],
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        traffic_class: 0,
        identification: number as u16,
        ip_bytes: 1040,
    };
    let header = TcpHeader {
        source_port: 4000 + (number % 3) as u16,
        destination_port: 80,
        seq: 1 + 1000 * number,
        ack: 1,
        flags: 0x10,
        is_accurate_ecn: false,
        window: 100,
        timestamps: None,
        sack: &[],
        ecn_option: None,
        syn: None,
    };
    FrameMaker::default().tcp(&outer, &header).to_vec()
}

fn packets(count: u32) -> Vec<Kept> {
    let packet = |number| Kept {
        interface: 0,
        at_ns: Some(1_000_000 * i64::from(number)),
        original_bytes: 1054,
        data: frame(number),
    };
    (0..count).map(packet).collect()
}

fn whole(bytes: &[u8]) -> Analysis<&[u8]> {
    let mut analysis = Analysis::new(bytes).unwrap();
    while analysis.step(7) {}
    analysis
}

/// Two queues, each with its three interfaces, one packet on each.
fn queues() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), "test").unwrap();
    for queue in ["a->b#2", "b->a#2"] {
        for place in ["before", "after", "arrived"] {
            let name = format!("{queue} {place}");
            let interface = Interface::new(&name, LinkType::ETHERNET, 128);
            writer.add_interface(&interface).unwrap();
        }
    }
    for interface in 0..6 {
        let at_ns = 100 + u64::from(interface);
        writer
            .write(interface, at_ns, 1054, &frame(interface))
            .unwrap();
    }
    writer.finish(&[]).unwrap()
}

#[test]
fn what_a_host_sees_is_its_queue_and_what_arrives() {
    let file = queues();
    let analysis = whole(&file);
    let found: Vec<_> = analysis
        .views()
        .map(|(view, counted)| (view.name.as_str(), view.place, counted.unwrap().pkts))
        .collect();
    let (a, b) = ("a->b#2", "b->a#2");
    let mut found = found;
    found.sort_by_key(|(name, place, _)| (*name, place.code()));
    let expected = [
        (a, Place::Before, 2),
        (a, Place::After, 2),
        (b, Place::Before, 2),
        (b, Place::After, 2),
    ];
    assert_eq!(found, expected);
    // At a, after its queue: interface 1, and 5, which comes from b.
    let is_wanted = |view: &View| view.name == a && view.place == Place::After;
    for format in [Format::Pcap, Format::Pcapng] {
        let mut out = Vec::new();
        let mut reader = Reader::new(file.as_slice()).unwrap();
        assert_eq!(
            copy_view(&mut reader, &mut out, format, is_wanted).unwrap(),
            2
        );
        let mut copy = Reader::new(out.as_slice()).unwrap();
        assert_eq!(copy.format(), format);
        for number in [1, 5] {
            let packet = copy.next_packet().unwrap().unwrap();
            assert_eq!(packet.at_ns, Some(100 + i64::from(number)));
            assert_eq!(
                (packet.original_bytes, packet.data),
                (1054, frame(number).as_slice())
            );
        }
        assert!(copy.next_packet().unwrap().is_none());
    }
}

#[test]
fn interfaces_without_a_queue_are_views_of_their_own() {
    let packets = packets(5);
    let file = pcapng(&packets, ByteOrder::Big, &[]);
    let analysis = whole(&file);
    let views: Vec<_> = analysis.views().map(|(view, _)| view.place).collect();
    // The sample's first two interfaces are named after a queue, the third is not.
    assert_eq!(views, [Place::Before, Place::After, Place::Unknown]);
    let file = pcap(&packets, ByteOrder::Big, Resolution::Microseconds);
    let analysis = whole(&file);
    let (view, counted) = analysis.views().next().unwrap();
    assert_eq!((view.name.as_str(), view.place), ("", Place::Unknown));
    let rows: Vec<_> = counted.unwrap().rows().collect();
    assert_eq!(
        rows.iter().map(|row| row.pkts).collect::<Vec<_>>(),
        [2, 2, 1]
    );
    assert!(rows.iter().all(|row| row.bytes == 1054 * row.pkts));
}

#[test]
fn a_cut_file_gives_the_flows_before_the_cut() {
    let file = pcap(&packets(10), ByteOrder::Little, Resolution::Nanoseconds);
    let analysis = whole(&file[..file.len() - 1]);
    assert_eq!(analysis.pkts(), 9);
    assert!(
        analysis
            .error
            .as_ref()
            .unwrap()
            .to_string()
            .contains("the file ends at byte")
    );
    let (_, counted) = analysis.views().next().unwrap();
    assert_eq!(counted.unwrap().rows().map(|row| row.pkts).sum::<u64>(), 9);
    // A view is written up to there, and the error is told.
    let mut reader = Reader::new(&file[..file.len() - 1]).unwrap();
    let mut out = Vec::new();
    let copied = copy_view(&mut reader, &mut out, Format::Pcap, |_| true);
    assert!(matches!(copied, Err(CopyError::Read(_))));
    assert_eq!(whole(&out).pkts(), 9);
}

#[test]
fn a_series_of_days_has_as_many_intervals_as_one_of_seconds() {
    let mut many = packets(4000);
    for (index, packet) in (0..).zip(&mut many) {
        packet.at_ns = Some(index * 86_400_000_000_000 / 8);
    }
    let file = pcapng(&many, ByteOrder::Little, &[]);
    let analysis = whole(&file);
    let (_, counted) = analysis.views().next().unwrap();
    let series = counted.unwrap().series.as_ref().unwrap();
    assert!((1024..=2048).contains(&series.all.len()));
    assert_eq!(series.all.iter().sum::<u64>(), 4000 * 1054);
}

/// Reads whatever it is; what it says must hold together.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(mut analysis) = Analysis::new(bytes) else {
        return Ok(());
    };
    while analysis.step(1000) {}
    prop_assert!(analysis.bytes_read() <= bytes.len() as u64);
    let counted: u64 = analysis
        .views()
        .filter_map(|(_, counted)| counted)
        .flat_map(|counted| counted.rows())
        .map(|row| row.pkts)
        .sum();
    let twice = 2 * analysis.pkts();
    prop_assert!(counted <= twice);
    for (_, counted) in analysis.views() {
        for row in counted.into_iter().flat_map(|counted| counted.rows()) {
            prop_assert!(row.first_ns <= row.last_ns);
            let again = row.repeats.repeated_pkts + row.repeats.late_pkts;
            prop_assert!(again <= row.pkts && row.wireshark.retransmission_pkts <= row.pkts);
        }
    }
    check_over_time(&analysis)?;
    if let Ok(mut reader) = Reader::new(bytes) {
        // What is written may be refused, by name; it is not more than what was read.
        let mut out = Vec::new();
        if let Ok(pkts) = copy_view(&mut reader, &mut out, Format::Pcapng, |_| true) {
            prop_assert!(pkts <= analysis.pkts());
        }
    }
    Ok(())
}

/// Intervals have together what the rows have, and nothing in them is beyond what can be.
fn check_over_time(analysis: &Analysis<&[u8]>) -> Result<(), TestCaseError> {
    let mut followed = 0;
    for (view, row, timeline) in analysis.timelines() {
        followed += usize::from(!row.is_reply);
        prop_assert!(view < analysis.views().count());
        let intervals = &timeline.directions[usize::from(row.is_reply)];
        prop_assert!(intervals.width_ns > 0 && intervals.all.len() <= MOST_INTERVALS);
        let sum = |of: fn(&Interval) -> u64| intervals.all.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|each| each.pkts), row.pkts);
        prop_assert_eq!(sum(|each| each.bytes), row.bytes);
        let flagged = row.wireshark.retransmission_pkts;
        prop_assert_eq!(sum(|each| each.retransmission_pkts), flagged);
        prop_assert_eq!(sum(|each| each.repeated_pkts), row.repeats.repeated_pkts);
        prop_assert_eq!(sum(|each| each.late_pkts), row.repeats.late_pkts);
        prop_assert!(sum(|each| each.in_flight_bytes.count) <= row.data_pkts);
        for each in &intervals.all {
            for (values, most) in [
                (each.round_trip_ns, i64::MAX),
                (each.in_flight_bytes, i64::from(i32::MAX)),
                (each.window_bytes, 65_535 << 14),
            ] {
                let mean = values.mean().unwrap_or(0);
                prop_assert!(0 <= values.min && values.min <= mean);
                prop_assert!(mean <= values.max && values.max <= most);
            }
        }
    }
    prop_assert!(followed <= MOST_FOLLOWED);
    Ok(())
}

/// Both ends speak, from the handshake on: what is damaged here are their numbers and times.
fn conversation() -> Vec<Kept> {
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    let syn = Some(SynOptions {
        mss: 1460,
        sack_permitted: true,
        window_scale: 7,
    });
    let segments = [
        (false, 0, 0, SYN, 0),
        (true, 0, 1, SYN | ACK, 0),
        (false, 1, 1, ACK, 1000),
        (false, 1001, 1, ACK, 1000),
        (true, 1, 1001, ACK, 0),
        (false, 1001, 1, ACK, 1000),
        (true, 1, 2001, ACK, 500),
        (false, 2001, 501, ACK, 1000),
        (true, 501, 3001, ACK, 0),
    ];
    let packet =
        |(at_ms, (is_reply, seq, ack, flags, payload)): (i64, (bool, u32, u32, u8, u16))| {
            let mut addresses = [[10, 0, 0, 1], [10, 0, 0, 2]];
            let mut ports = [4000, 80];
            if is_reply {
                addresses.reverse();
                ports.reverse();
            }
            let is_syn = flags & SYN != 0;
            let outer = OuterHeaders {
                source_mac: [2; 6],
                destination_mac: [4; 6],
                source: addresses[0],
                destination: addresses[1],
                traffic_class: 0,
                identification: 1,
                ip_bytes: 40 + payload + if is_syn { 20 } else { 0 },
            };
            let header = TcpHeader {
                source_port: ports[0],
                destination_port: ports[1],
                seq,
                ack,
                flags,
                is_accurate_ecn: false,
                window: 500,
                timestamps: None,
                sack: &[],
                ecn_option: None,
                syn: syn.filter(|_| is_syn),
            };
            Kept {
                interface: 0,
                at_ns: Some(7_000_000 * at_ms),
                original_bytes: 14 + u32::from(outer.ip_bytes),
                data: FrameMaker::default().tcp(&outer, &header).to_vec(),
            }
        };
    (0..).zip(segments).map(packet).collect()
}

/// Good files with bytes changed, and cut.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let good = vec![
        queues(),
        pcap(&packets(6), ByteOrder::Little, Resolution::Nanoseconds),
        pcapng(&packets(6), ByteOrder::Big, &[]),
        pcap(&conversation(), ByteOrder::Little, Resolution::Nanoseconds),
    ];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12);
    let cut = any::<Option<prop::sample::Index>>();
    (prop::sample::select(good), changes, cut).prop_map(|(mut file, changes, cut)| {
        for (index, value) in changes {
            let at = index.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        file
    })
}

fn fuzz(count: u32) {
    let mut runner = TestRunner::new(cases(count));
    runner.run(&damaged(), |file| check(&file)).unwrap();
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    fuzz(3000);
}

#[test]
#[ignore = "a million files: make test-long"]
fn a_million_damaged_files_are_read_as_far_as_they_go() {
    fuzz(LONG);
}
