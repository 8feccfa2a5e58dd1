//! Capture files.

use dumbbell_capture::analysis::Analysis;
use dumbbell_capture::{Format, LARGEST_PACKET_BYTES, Reader};

/// A capture of either format that claims to be a pcap file.
pub(crate) fn pcap(bytes: &[u8]) {
    capture(bytes, Format::Pcap);
}

/// The same for pcapng.
pub(crate) fn pcapng(bytes: &[u8]) {
    capture(bytes, Format::Pcapng);
}

/// A file is refused, or read to its end or to an error: it cannot contain more packets than its size allows,
/// and the result does not depend on how it is read.
fn capture(bytes: &[u8], format: Format) {
    let Ok(mut reader) = Reader::new(bytes) else {
        assert!(Analysis::new(bytes).is_err());
        return;
    };
    if reader.format() != format {
        return;
    }
    let mut pkts = 0u64;
    let mut captured_bytes = 0u64;
    while let Ok(Some(packet)) = reader.next_packet() {
        pkts += 1;
        captured_bytes += packet.data.len() as u64;
        assert!(packet.data.len() <= LARGEST_PACKET_BYTES as usize);
    }
    assert!(captured_bytes <= bytes.len() as u64);
    assert!(pkts <= bytes.len() as u64);
    let mut analysis = Analysis::new(bytes).expect("it could be read before");
    while analysis.step(64) {}
    assert_eq!(analysis.pkts(), pkts);
    assert!(analysis.bytes_read() <= bytes.len() as u64);
    assert!(analysis.timelines().count() as u64 <= 2 * pkts);
}
