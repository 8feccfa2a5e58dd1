//! Captures: as many packets as the queue counted, whose headers are right, and a run that does
//! not notice that it is looked at.

mod common;

use common::*;
use dumbbell_capture::decode::{Decoded, decode, flags};
use dumbbell_capture::{LinkType, Reader};
use dumbbell_engine::cca::external::NoModules;
use dumbbell_engine::net::plan::FastPaths;
use dumbbell_engine::run::{Monitor, RunOutput, run, run_captured};
use dumbbell_engine::spec::source::{Cbr, ClosedLoop, Greedy};
use dumbbell_engine::spec::{Change, Experiment, SizeAt, Source, Tcp};
use dumbbell_engine::tables::Tables;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Frame {
    interface: usize,
    at_ns: i64,
    length: u32,
    data: Vec<u8>,
}

fn captured(spec: &Experiment) -> (RunOutput, Vec<u8>) {
    let file = Memory::default();
    let output = Some(Box::new(file.clone()) as _);
    let run = run_captured(
        &checked(spec),
        0,
        &Monitor::default(),
        output,
        FastPaths::On,
        &NoModules,
    )
    .unwrap();
    let bytes = file.0.lock().unwrap().clone();
    (run, bytes)
}

fn frames(file: &[u8]) -> Vec<Frame> {
    let mut reader = Reader::new(file).unwrap();
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        frames.push(Frame {
            interface: packet.interface,
            at_ns: packet.at_ns.unwrap(),
            length: packet.original_bytes,
            data: packet.data.to_vec(),
        });
    }
    frames
}

/// Every kind of packet through a queue that drops, over a link that loses, changes and delays.
fn everything(tcp: Tcp) -> Experiment {
    let mut bottleneck = bottleneck(5_000_000, 20 * MS, pfifo(12));
    for end in [&mut bottleneck.forward, &mut bottleneck.reverse] {
        end.capture = true;
        end.capture_flows = true;
    }
    bottleneck.forward.loss = 0.01;
    bottleneck.forward.changes = vec![Change {
        at_ns: 4 * S,
        rate_bps: Some(3_000_000),
        delay_ns: Some(2 * MS),
        loss: None,
    }];
    let fragmented = Source::Cbr(Cbr {
        gap: constant(0.05),
        size: constant(4000.0),
        size_at: SizeAt::Payload,
    });
    let transfers = Source::ClosedLoop(ClosedLoop {
        size: exponential(30_000.0),
        think: exponential(0.1),
        transfers: None,
    });
    let flows = vec![
        tcp_flow(
            "bulk",
            "a",
            "b",
            Source::Greedy(Greedy::default()),
            tcp.clone(),
        ),
        tcp_flow("mice", "a", "b", transfers, tcp),
        flow("large", "a", "b", fragmented),
        flow(
            "ideal",
            "a",
            "b",
            source(exponential(0.02), exponential(300.0)),
        ),
    ];
    experiment(
        vec![bottleneck],
        flows,
        vec![ping("p", "a", "b", 100 * MS, 0)],
    )
}

fn without_capture(spec: &Experiment) -> Experiment {
    let mut spec = spec.clone();
    for end in spec
        .links
        .iter_mut()
        .flat_map(|link| [&mut link.forward, &mut link.reverse])
    {
        (end.capture, end.capture_flows) = (false, false);
    }
    spec
}

/// A checksum over what contains its own is zero (RFC 1071); what was not kept is zeros.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let words = words.map(|pair| u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
    let mut sum: u32 = words.map(u32::from).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn check_headers(frame: &Frame) -> Option<Decoded> {
    assert_eq!(sum(&frame.data[14..34]), 0);
    let ip_bytes = u16::from_be_bytes([frame.data[16], frame.data[17]]);
    assert_eq!(u32::from(ip_bytes) + 14, frame.length);
    let is_whole = frame.data[20] & 0x3f == 0 && frame.data[21] == 0;
    if is_whole {
        let mut all = frame.data[34..].to_vec();
        if frame.data[23] != 1 {
            all.extend(&frame.data[26..34]);
            all.extend([0, frame.data[23]]);
            all.extend((ip_bytes - 20).to_be_bytes());
        }
        assert_eq!(sum(&all), 0);
    }
    decode(LinkType::ETHERNET, &frame.data).ok()
}

#[test]
fn as_many_packets_as_the_queue_counted() {
    for tcp in [without_small_queues("cubic"), Tcp::rfc("reno")] {
        let (run, file) = captured(&everything(tcp));
        let found = frames(&file);
        let count = |interface| {
            found
                .iter()
                .filter(|frame| frame.interface == interface)
                .count()
        };
        for queue in 0..2 {
            let of = |column| run.tables.column_i64("queues", column)[queue] as usize;
            assert!(queue == 1 || of("dropped_overlimit_pkts") > 20);
            let (before, after, arrived) =
                (count(3 * queue), count(3 * queue + 1), count(3 * queue + 2));
            assert_eq!(before, of("arrived_pkts"));
            // A burst may be in transmission at the end, and some are on their way.
            assert!((0..=5).contains(&(after - of("departed_pkts"))));
            assert!(arrived <= of("departed_pkts") - of("lost_pkts"));
            assert!(arrived + 20 > of("departed_pkts") - of("lost_pkts"));
        }
        let times: Vec<_> = found.iter().map(|frame| frame.at_ns).collect();
        assert!(times.is_sorted());
        assert!(*times.last().unwrap() < 10 * S as i64);
        let mut reader = Reader::new(file.as_slice()).unwrap();
        while reader.next_packet().unwrap().is_some() {}
        let interfaces = reader.interfaces();
        assert_eq!(interfaces[4].name, "b->a after");
        assert_eq!(interfaces[0].received_pkts, Some(count(0) as u64));
        assert_eq!(interfaces[0].dropped_pkts, Some(0));
    }
}

#[test]
fn headers_are_right_and_connections_have_their_handshake() {
    let (_, file) = captured(&everything(without_small_queues("cubic")));
    let found = frames(&file);
    let decoded: Vec<_> = found.iter().map(check_headers).collect();
    let of_protocol = |number| {
        decoded
            .iter()
            .flatten()
            .filter(move |d| d.ends.protocol == number)
    };
    assert!(of_protocol(1).count() > 100 && of_protocol(17).count() > 100);
    let syns: Vec<_> = of_protocol(6)
        .filter_map(|d| d.tcp)
        .filter(|tcp| tcp.has(flags::SYN))
        .collect();
    assert!(syns.len() > 20);
    assert!(
        syns.iter()
            .all(|tcp| tcp.seq != 0 && tcp.payload_bytes == 0)
    );
    // A datagram of 4000 bytes is 1480, 1480 and 1048 bytes behind the IP header.
    let later = found
        .iter()
        .zip(&decoded)
        .filter(|(_, decoded)| decoded.is_none());
    let lengths: std::collections::BTreeSet<_> = later.map(|(frame, _)| frame.length).collect();
    assert_eq!(lengths, [1048 + 34, 1480 + 34].into());
}

#[test]
fn a_run_does_not_notice_that_it_is_captured() {
    let spec = everything(without_small_queues("cubic"));
    let (with, file) = captured(&spec);
    let plain = run(&checked(&without_capture(&spec)), 0, &Monitor::default()).unwrap();
    let others = with
        .tables
        .0
        .iter()
        .filter(|table| table.name != "captured_flows");
    let others = Tables(others.cloned().collect());
    assert_eq!(others.digest(), plain.digest);
    let (again, same) = captured(&spec);
    assert_eq!((again.digest, same), (with.digest, file));
}

#[test]
fn flows_are_those_that_the_file_has() {
    let (run, file) = captured(&everything(Tcp::rfc("reno")));
    let column = |name| run.tables.column_i64("captured_flows", name);
    let total = |places: [usize; 2]| -> i64 {
        let frames = frames(&file);
        let seen = frames
            .iter()
            .filter(|frame| places.contains(&frame.interface));
        seen.filter_map(check_headers).count() as i64
    };
    // At a: before and after its queue with what arrives from b, then the same at b.
    let all: i64 = column("pkts").iter().sum();
    let expected = total([0, 5]) + total([1, 5]) + total([3, 2]) + total([4, 2]);
    assert_eq!(all, expected);
    let sent_again: i64 = column("repeated_pkts")
        .iter()
        .zip(column("late_pkts"))
        .map(|(a, b)| a + b)
        .sum();
    assert!(sent_again > 50);
}

#[test]
fn a_disk_that_is_full_ends_the_run() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or_else(|| io::Error::other("no space"))?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for room in [10, 5000] {
        let output = Some(Box::new(Full(room)) as _);
        let spec = checked(&everything(without_small_queues("cubic")));
        let error = run_captured(
            &spec,
            0,
            &Monitor::default(),
            output,
            FastPaths::On,
            &NoModules,
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "writing the capture: no space");
    }
}
