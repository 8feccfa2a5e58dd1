//! Captures as capinfos and tshark see them, where Wireshark's tools are installed.

mod common;

use common::{Kept, pcap, pcapng};
use dumbbell_capture::{ByteOrder, InterfaceCounts, Resolution};
use std::path::PathBuf;
use std::process::Command;

/// An Ethernet frame of a UDP datagram from port 40000 to 10000, checksums right.
const FRAME: [u8; 46] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, // Ethernet
    0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0x66, 0xca, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
    0x9c, 0x40, 0x27, 0x10, 0, 12, 0x28, 0x83, 0, 0, 0, 0, // UDP
];

/// What a program says of a file; none, with a line, where it is not installed.
fn said(program: &str, arguments: &[&str], file: &PathBuf) -> Option<String> {
    let ran = Command::new(program).args(arguments).arg(file).output();
    let Ok(output) = ran else {
        println!("skipped: {program} is not installed (Debian: apt-get install tshark)");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {complaint}");
    Some(text)
}

/// In a folder of the test's own: two run at a time.
fn files(test: &str) -> Vec<PathBuf> {
    let packet = |number: i64| Kept {
        interface: 0,
        at_ns: Some(1_700_000_000_000_000_000 + number * 1_000_001_000),
        original_bytes: 46,
        data: FRAME.to_vec(),
    };
    let packets = [packet(0), packet(1), packet(2)];
    let counts = InterfaceCounts {
        at_ns: 1_700_000_003_000_000_000,
        received_pkts: 3,
        dropped_pkts: 0,
    };
    let mut files = Vec::new();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        files.push(("pcapng", pcapng(&packets, order, &[counts])));
        for resolution in [Resolution::Nanoseconds, Resolution::Microseconds] {
            files.push(("pcap", pcap(&packets, order, resolution)));
        }
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("installed-tools-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |(index, (kind, bytes)): (usize, (&str, Vec<u8>))| {
        let path = folder.join(format!("{index}.{kind}"));
        std::fs::write(&path, bytes).unwrap();
        path
    };
    files.into_iter().enumerate().map(write).collect()
}

#[test]
fn capinfos_counts_the_packets() {
    for file in files("capinfos") {
        let Some(text) = said("capinfos", &["-T", "-r", "-c", "-d"], &file) else {
            return;
        };
        let numbers: Vec<_> = text.trim().split('\t').skip(1).collect();
        assert_eq!(numbers, ["3", "138"], "{}", file.display());
    }
}

#[test]
fn tshark_reads_times_and_headers() {
    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "udp.dstport",
    ];
    let checks = [
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.check_checksum:TRUE",
    ];
    for file in files("tshark") {
        let arguments = [&fields[..], &["-e", "_ws.expert"], &checks, &["-r"]].concat();
        let Some(text) = said("tshark", &arguments, &file) else {
            return;
        };
        let expected = ["0.000000000", "1.000001000", "2.000002000"]
            .map(|time| format!("170000000{time}\t10000\t\n"));
        assert_eq!(text, expected.concat(), "{}", file.display());
    }
}
