//! Acknowledgements as a queue that filters them sees them.

use super::TcpFlow;
use crate::sim::acknowledgement::Acknowledgement;
use crate::tcp::segment::Flags;

impl TcpFlow {
    /// The segment at this place, if it is a pure acknowledgement.
    pub fn acknowledgement(&self, place: u32) -> Option<Acknowledgement> {
        let (segment, connection) = self.segment(place);
        let flags = segment.flags;
        let opens_or_ends = flags.has(Flags::SYN) || flags.has(Flags::FIN);
        if segment.payload_bytes > 0 || !flags.has(Flags::ACK) || opens_or_ends {
            return None;
        }
        let mut sacked = [(0, 0); 4];
        for (range, block) in sacked.iter_mut().zip(segment.sack.as_slice()) {
            *range = (block.start, block.end);
        }
        Some(Acknowledgement {
            connection,
            number: segment.ack,
            sacked,
            ecn_flags: u8::from(flags.has(Flags::ECE)) | u8::from(flags.has(Flags::CWR)) << 1,
            has_unknown_flag: flags.has(Flags::AE) || segment.ecn_option.is_some(),
        })
    }
}
