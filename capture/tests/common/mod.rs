//! Captures to be written and read, and how they are read whole.

#![allow(dead_code, reason = "each test file uses some of it")]

use dumbbell_capture::{
    ByteOrder, Interface, InterfaceCounts, LinkType, PcapWriter, PcapngWriter, ReadError, Reader,
    Resolution,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// How many random cases a test tries; `DUMBBELL_FUZZ_CASES` asks for more.
pub fn cases(few: u32) -> Config {
    let asked = std::env::var("DUMBBELL_FUZZ_CASES").ok();
    let cases = asked.and_then(|text| text.parse().ok()).unwrap_or(few);
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

/// A packet that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub interface: usize,
    pub at_ns: Option<i64>,
    pub original_bytes: u32,
    pub data: Vec<u8>,
}

/// What could be read, and why not more.
pub struct Read {
    pub packets: Vec<Kept>,
    pub interfaces: Vec<Interface>,
    pub error: Option<ReadError>,
}

pub fn read(file: &[u8]) -> Read {
    let mut packets = Vec::new();
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => {
            return Read {
                packets,
                interfaces: Vec::new(),
                error: Some(error),
            };
        }
    };
    let error = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push(Kept {
                interface: packet.interface,
                at_ns: packet.at_ns,
                original_bytes: packet.original_bytes,
                data: packet.data.to_vec(),
            }),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert_eq!(reader.packets_read(), packets.len() as u64);
    assert!(reader.bytes_read() <= file.len() as u64);
    assert!(matches!(reader.next_packet(), Ok(None)), "it is over");
    Read {
        packets,
        interfaces: reader.interfaces().to_vec(),
        error,
    }
}

/// Packets of up to three interfaces.
pub fn packets() -> impl Strategy<Value = Vec<Kept>> {
    let packet = (
        0usize..3,
        0i64..=4_294_967_295_999_999_999,
        0u32..2000,
        prop::collection::vec(any::<u8>(), 0..200),
    );
    let packet = packet.prop_map(|(interface, at_ns, more, data)| Kept {
        interface,
        at_ns: Some(at_ns),
        original_bytes: data.len() as u32 + more,
        data,
    });
    prop::collection::vec(packet, 0..20)
}

pub fn orders() -> impl Strategy<Value = ByteOrder> {
    prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big])
}

pub fn interfaces() -> Vec<Interface> {
    let names = ["a->b before", "a->b after", ""];
    let interface = |name| Interface::new(name, LinkType::ETHERNET, 128);
    names.into_iter().map(interface).collect()
}

pub fn pcapng(packets: &[Kept], order: ByteOrder, counts: &[InterfaceCounts]) -> Vec<u8> {
    let mut writer = PcapngWriter::with_byte_order(Vec::new(), "test", order).unwrap();
    for interface in interfaces() {
        writer.add_interface(&interface).unwrap();
    }
    for packet in packets {
        let (interface, at_ns) = (packet.interface as u32, packet.at_ns.unwrap() as u64);
        writer
            .write(interface, at_ns, packet.original_bytes, &packet.data)
            .unwrap();
    }
    writer.finish(counts).unwrap()
}

pub fn pcap(packets: &[Kept], order: ByteOrder, resolution: Resolution) -> Vec<u8> {
    let link_type = LinkType::ETHERNET;
    let mut writer =
        PcapWriter::with_byte_order(Vec::new(), resolution, link_type, 128, order).unwrap();
    for packet in packets {
        let at_ns = packet.at_ns.unwrap() as u64;
        writer
            .write(at_ns, packet.original_bytes, &packet.data)
            .unwrap();
    }
    writer.finish().unwrap()
}
