//! What is written is read again; the bytes are those of the formats' drafts.

mod common;

use common::{Kept, cases, interfaces, orders, packets, pcap, pcapng, read};
use dumbbell_capture::{
    ByteOrder, Format, Interface, InterfaceCounts, LinkType, PcapWriter, PcapngWriter, Reader,
    Resolution, WriteError,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn pcapng_in_both_byte_orders(packets in packets(), order in orders()) {
        let found = read(&pcapng(&packets, order, &[]));
        prop_assert!(found.error.is_none(), "{:?}", found.error);
        prop_assert_eq!(found.packets, packets);
        prop_assert_eq!(found.interfaces, interfaces());
    }

    #[test]
    fn pcap_in_both_byte_orders_and_units(packets in packets(), order in orders()) {
        for (resolution, unit_ns) in [(Resolution::Nanoseconds, 1), (Resolution::Microseconds, 1000)] {
            let found = read(&pcap(&packets, order, resolution));
            prop_assert!(found.error.is_none(), "{:?}", found.error);
            let expected: Vec<_> = packets
                .iter()
                .map(|packet| Kept {
                    interface: 0,
                    at_ns: packet.at_ns.map(|at| at / unit_ns * unit_ns),
                    ..packet.clone()
                })
                .collect();
            prop_assert_eq!(found.packets, expected);
        }
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    assert_eq!(bytes.len() % 4, 0, "blocks are whole numbers of 32 bits");
    let word = |four: &[u8]| u32::from_be_bytes(four.try_into().unwrap());
    bytes.chunks(4).map(word).collect()
}

/// Field by field after sections 4.1, 4.2, 4.3 and 4.6 of draft-ietf-opsawg-pcapng.
#[test]
fn the_blocks_are_the_drafts() {
    let mut writer = PcapngWriter::with_byte_order(Vec::new(), "abcd", ByteOrder::Big).unwrap();
    let interface = Interface::new("eth1", LinkType::ETHERNET, 128);
    let eth1 = writer.add_interface(&interface).unwrap();
    writer
        .write(eth1, 0x0001_0000_0002, 60, &[1, 2, 3, 4, 5])
        .unwrap();
    let counts = InterfaceCounts {
        at_ns: 0x0003_0000_0004,
        received_pkts: 7,
        dropped_pkts: 6,
    };
    let file = writer.finish(&[counts]).unwrap();
    let section = [
        0x0a0d_0d0a,
        40,
        0x1a2b_3c4d,
        0x0001_0000,
        !0,
        !0, // version 1.0, no length
        0x0004_0004,
        0x6162_6364,
        0,
        40, // shb_userappl, opt_endofopt
    ];
    let interface = [
        1,
        40,
        0x0001_0000,
        128, // LINKTYPE_ETHERNET, SnapLen
        0x0002_0004,
        0x6574_6831,
        0x0009_0001,
        0x0900_0000,
        0,
        40, // if_name, if_tsresol
    ];
    let packet = [
        6,
        40,
        0,
        1,
        2,
        5,
        60,
        0x0102_0304,
        0x0500_0000,
        40, // padded to 32 bits
    ];
    let statistics = [
        5,
        52,
        0,
        3,
        4,
        0x0004_0008,
        0,
        7,
        0x0005_0008,
        0,
        6,
        0,
        52, // isb_ifrecv, isb_ifdrop
    ];
    let expected = [&section[..], &interface, &packet, &statistics].concat();
    assert_eq!(words(&file), expected);
    let found = read(&file);
    let counted = (
        found.interfaces[0].received_pkts,
        found.interfaces[0].dropped_pkts,
    );
    assert_eq!(counted, (Some(7), Some(6)));
}

/// draft-ietf-opsawg-pcap, sections 4 and 5.
#[test]
fn the_classic_header_is_the_drafts() {
    for (resolution, magic, part) in [
        (Resolution::Nanoseconds, 0xa1b2_3c4d, 2_000_345),
        (Resolution::Microseconds, 0xa1b2_c3d4, 2_000),
    ] {
        let kept = Kept {
            interface: 0,
            at_ns: Some(3_002_000_345),
            original_bytes: 1500,
            data: vec![1, 2, 3, 4],
        };
        let file = pcap(&[kept], ByteOrder::Big, resolution);
        let expected = [
            magic,
            0x0002_0004,
            0,
            0,
            128,
            1,
            3,
            part,
            4,
            1500,
            0x0102_0304,
        ];
        assert_eq!(words(&file), expected);
    }
}

#[test]
fn what_no_reader_would_take_is_not_written() {
    let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
    let refused = writer.write(0, 0, 0, &[]);
    assert!(matches!(
        refused,
        Err(WriteError::NoInterface {
            interface: 0,
            count: 0
        })
    ));
    let name = "n".repeat(256);
    let refused = writer.add_interface(&Interface::new(&name, LinkType::RAW, 0));
    assert!(matches!(refused, Err(WriteError::LongName { bytes: 256 })));
    let mut writer =
        PcapWriter::new(Vec::new(), Resolution::Nanoseconds, LinkType::RAW, 0).unwrap();
    let refused = writer.write(4_294_967_296_000_000_000, 0, &[]);
    assert!(matches!(refused, Err(WriteError::Time { .. })));
    let refused = writer.write(0, 0, &vec![0; 262_145]);
    assert!(matches!(
        refused,
        Err(WriteError::TooLong { bytes: 262_145 })
    ));
    assert_eq!(writer.finish().unwrap().len(), 24, "nothing but the header");
}

/// if_tsresol and if_tsoffset (section 4.2), and blocks that others write.
#[test]
fn times_of_any_resolution_and_foreign_blocks_are_read() {
    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    }
    let interface = |options: &[u8]| block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0], options].concat());
    let ticks = |interface: u8, ticks: u32| {
        let mut body = vec![0; 20];
        body[0] = interface;
        body[8..12].copy_from_slice(&ticks.to_le_bytes());
        block(6, &body)
    };
    let section = &pcapng(&[], ByteOrder::Little, &[])[..40];
    let offset = [&[14, 0, 8, 0][..], &(-2i64).to_le_bytes()].concat();
    let file = [
        section,
        &block(0x0bad, &[0; 4]), // a block nobody knows
        &interface(&[]),
        &interface(&[9, 0, 1, 0, 0x80 | 10, 0, 0, 0]), // 2^-10 s
        &interface(&[9, 0, 1, 0, 12, 0, 0, 0]),        // picoseconds
        &interface(&[9, 0, 1, 0, 127, 0, 0, 0]),
        &interface(&offset),
        &ticks(0, 3),
        &ticks(1, 512),
        &ticks(2, 1999),
        &ticks(3, 7),
        &ticks(4, 1_500_000),
        &block(3, &[2, 0, 0, 0, 8, 9, 0, 0]), // Simple Packet Block
        &block(
            2,
            &[vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0], vec![0; 8]].concat(),
        ),
    ]
    .concat();
    let found = read(&file);
    assert!(found.error.is_none(), "{:?}", found.error);
    let times: Vec<_> = found.packets.iter().map(|packet| packet.at_ns).collect();
    let expected = [3000, 500_000_000, 1, 0, -500_000_000].map(Some);
    assert_eq!(
        times,
        [&expected[..], &[None, Some(1_000_000_000)]].concat()
    );
    assert_eq!(found.packets[5].data, [8, 9]);
    assert_eq!(found.packets[6].interface, 1);
}

#[test]
fn sections_one_after_the_other_have_interfaces_of_their_own() {
    let packet = |interface| Kept {
        interface,
        at_ns: Some(1),
        original_bytes: 2,
        data: vec![1, 2],
    };
    let sections =
        [ByteOrder::Little, ByteOrder::Big].map(|order| pcapng(&[packet(1)], order, &[]));
    let found = read(&sections.concat());
    assert!(found.error.is_none(), "{:?}", found.error);
    assert_eq!(found.interfaces.len(), 6);
    assert_eq!(found.packets, [packet(1), packet(4)]);
}

#[test]
fn a_reader_says_what_it_reads() {
    let file = pcap(&[], ByteOrder::Big, Resolution::Microseconds);
    let reader = Reader::new(file.as_slice()).unwrap();
    assert_eq!(reader.format(), Format::Pcap);
    assert_eq!(
        reader.interfaces(),
        [Interface::new("", LinkType::ETHERNET, 128)]
    );
    let file = pcapng(&[], ByteOrder::Big, &[]);
    assert_eq!(
        Reader::new(file.as_slice()).unwrap().format(),
        Format::Pcapng
    );
}
