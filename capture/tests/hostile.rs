//! Files that end anywhere, are something else, or say what cannot be: an error that names the
//! byte, never a panic, no more memory than the file has, and what came before is kept.
//!
//! The long run: `DUMBBELL_FUZZ_CASES=1000000 cargo test -p dumbbell-capture --release --test hostile`.

mod common;

use common::{Kept, cases, orders, packets, pcap, pcapng, read};
use dumbbell_capture::{ByteOrder, ReadError, Reader, Resolution};
use proptest::prelude::*;
use std::io::{self, Read};

fn three() -> Vec<Kept> {
    let packet = |number: u8| Kept {
        interface: 0,
        at_ns: Some(i64::from(number)),
        original_bytes: 60,
        data: vec![number; 5],
    };
    vec![packet(1), packet(2), packet(3)]
}

fn files() -> [Vec<u8>; 2] {
    let order = ByteOrder::Little;
    [
        pcapng(&three(), order, &[]),
        pcap(&three(), order, Resolution::Nanoseconds),
    ]
}

#[test]
fn a_file_cut_anywhere_gives_every_packet_before_the_cut() {
    for file in files() {
        // Where the file may end without anything missing.
        let ends: Vec<usize> = (0..=file.len())
            .filter(|&n| read(&file[..n]).error.is_none())
            .collect();
        assert_eq!(read(&file).packets, three());
        for cut in 0..file.len() {
            let found = read(&file[..cut]);
            assert_eq!(found.packets, three()[..found.packets.len()]);
            match found.error {
                None => assert!(ends.contains(&cut)),
                Some(ReadError::Empty) => assert_eq!(cut, 0),
                Some(ReadError::Foreign { .. }) => assert!((1..4).contains(&cut)),
                Some(ReadError::Truncated {
                    at, wanted, found, ..
                }) => {
                    assert_eq!(at + found, cut as u64);
                    assert!(wanted > found);
                    assert!(
                        at == 0 || ends.contains(&(at as usize)),
                        "{at} begins a thing"
                    );
                }
                Some(other) => panic!("{other}"),
            }
        }
        // The header, each interface of the pcapng, and each packet.
        let things = if file[0] == 0x0a { 1 + 3 + 3 } else { 1 + 3 };
        assert_eq!(ends.len(), things);
    }
}

#[test]
fn what_is_no_capture_is_named() {
    for (file, expected) in [
        (&b""[..], "the file is empty"),
        (b"\x0a", "it begins with 0a"),
        (b"\x1f\x8b\x08\x00\x00", "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd\x00", "compressed by zstd"),
        (b"\x34\xcd\xb2\xa1\x02\x00", "Kuznetzov"),
        (b"{\"version\": 3}", r#"it begins with "{\"ve""#),
    ] {
        let error = Reader::new(file).unwrap_err();
        assert_eq!(error.at_byte(), 0);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_byte() {
    let [pcapng, pcap] = files();
    let first_packet = 40
        + [12, 12, 0]
            .map(|name| 8 + 8 + 4 + name + 8 + 4 + 4)
            .iter()
            .sum::<usize>();
    let with = |file: &[u8], at: usize, value: u32| {
        let mut file = file.to_vec();
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        read(&file)
    };
    for (found, at, words) in [
        (
            with(&pcap, 32, u32::MAX),
            32,
            "captured length is 4294967295; at most 262144",
        ),
        (with(&pcap, 4, 9), 4, "the version is 9.0; 2.4 is read"),
        (with(&pcapng, 8, 5), 8, "byte-order magic is 0x05000000"),
        (with(&pcapng, 12, 2), 12, "version is 2; 1 is read"),
        (with(&pcapng, 4, 24), 4, "a block's length is 24"),
        (
            with(&pcapng, 36, 44),
            36,
            "a block's length is 44; 40 is what its beginning",
        ),
        (
            with(&pcapng, first_packet + 4, 0),
            first_packet + 4,
            "a block's length is 0; 12 or more",
        ),
        (
            with(&pcapng, first_packet + 4, 41),
            first_packet + 4,
            "a multiple of 4",
        ),
        (
            with(&pcapng, first_packet + 4, u32::MAX - 3),
            first_packet + 4,
            "at most 16777216",
        ),
        (
            with(&pcapng, first_packet + 8, 3),
            first_packet + 8,
            "number is 3; the section has described 3",
        ),
        (
            with(&pcapng, first_packet + 20, 9),
            first_packet + 20,
            "captured length is 9; its block has room for 8",
        ),
        (
            with(&pcapng, 40 + 16, 0xffff_0002),
            40 + 18,
            "option's length is 65535",
        ),
    ] {
        let error = found.error.unwrap();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.at_byte(), at as u64, "{error}");
        assert!(found.packets.is_empty());
    }
}

/// A stream that says it has much and hands out little at a time.
#[derive(Debug)]
struct Endless {
    head: Vec<u8>,
    at: usize,
    left: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(rest) = self.head.get(self.at..).filter(|rest| !rest.is_empty()) {
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            self.at += n;
            return Ok(n);
        }
        let n = (buffer.len() as u64).min(self.left);
        self.left -= n;
        buffer[..n as usize].fill(0);
        Ok(n as usize)
    }
}

#[test]
fn an_unknown_block_of_gigabytes_is_passed_over() {
    let length: u32 = 0xffff_fff0;
    let head = [
        pcapng(&[], ByteOrder::Little, &[]),
        [0xbad, length].map(u32::to_le_bytes).concat(),
    ];
    let head = head.concat();
    let begin = head.len() as u64 - 8;
    let left = 300 << 20;
    let mut reader = Reader::new(Endless { head, at: 0, left }).unwrap();
    let error = reader.next_packet().unwrap_err();
    assert_eq!(error.at_byte(), begin);
    let text = error.to_string();
    assert!(
        text.contains(&format!("ends at byte {}", begin + 8 + left)),
        "{text}"
    );
}

#[test]
fn a_disk_that_fails_is_said() {
    #[derive(Debug)]
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    let error = Reader::new(Failing).unwrap_err();
    assert_eq!(error.to_string(), "at byte 0: the disk is on fire");
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(read(&bytes).packets.len() <= bytes.len() / 16);
    }

    /// Behind a good beginning, where readers go wrong.
    #[test]
    fn any_bytes_behind_a_header(
        tail in prop::collection::vec(prop_oneof![Just(0u32), 0u32..64, any::<u32>()], 0..60),
        order in orders(),
        is_pcap in any::<bool>(),
    ) {
        let mut file = match is_pcap {
            true => pcap(&[], order, Resolution::Microseconds),
            false => pcapng(&[], order, &[]),
        };
        file.extend(tail.iter().flat_map(|word| match order {
            ByteOrder::Little => word.to_le_bytes(),
            ByteOrder::Big => word.to_be_bytes(),
        }));
        let found = read(&file);
        if let Some(error) = found.error {
            prop_assert!(error.at_byte() <= file.len() as u64);
            prop_assert!(error.to_string().len() < 300);
        }
    }

    /// A good file with a few bytes changed: what came before them is as it was.
    #[test]
    fn a_few_bytes_changed(
        packets in packets(),
        order in orders(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_pcap in any::<bool>(),
    ) {
        let write = |packets: &[Kept]| match is_pcap {
            true => pcap(packets, order, Resolution::Nanoseconds),
            false => pcapng(packets, order, &[]),
        };
        let good = write(&packets);
        let mut file = good.clone();
        for (index, value) in &changes {
            file[index.index(good.len())] = *value;
        }
        let found = read(&file);
        let same = good.iter().zip(&file).take_while(|(a, b)| a == b).count();
        let whole = (0..=packets.len()).rev().find(|&n| write(&packets[..n]).len() <= same);
        let before = read(&good).packets;
        let whole = whole.unwrap_or(0);
        prop_assert_eq!(&found.packets[..whole], &before[..whole]);
    }
}
