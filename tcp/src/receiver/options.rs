//! The options of a receiver's segments: SACK blocks (RFC 2018, RFC 2883), and the counters of bytes of accurate
//! ECN (RFC 9768 section 3.2.3.3).

use super::Receiver;
use crate::ecn_option::{EcnOption, OPTION_SPACE_BYTES};
use crate::segment::{
    Header, MOST_SACK_BLOCKS, MOST_SACK_BLOCKS_BESIDE_TIMESTAMPS, SackBlocks, Segment,
    TIMESTAMPS_BYTES, sack_option_bytes,
};
use dumbbell_core::time::Time;

impl Receiver {
    /// With SACK blocks, and with counters of bytes if they fit `room_bytes`.
    pub(super) fn with_options(&mut self, header: Header, room_bytes: u32, now: Time) -> Segment {
        let mut sack = self.sack_blocks();
        let end = header.seq + u64::from(header.payload_bytes);
        let data = (header.payload_bytes > 0).then_some((header.seq, end));
        let ecn_option = self.option_beside(&mut sack, data, room_bytes, now);
        Segment {
            sack,
            ecn_option,
            ..Segment::from(header)
        }
    }

    /// A duplicate first (RFC 2883 section 4), then the most recently changed blocks (RFC 2018 section 4).
    pub(super) fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.settings.tcp.sack {
            return blocks;
        }
        let most = match self.settings.tcp.timestamps {
            true => MOST_SACK_BLOCKS_BESIDE_TIMESTAMPS,
            false => MOST_SACK_BLOCKS,
        };
        if let Some(duplicate) = self.rare.duplicate.take() {
            self.has_more_to_say = self.rare.early.is_some();
            blocks.push(duplicate, most);
        }
        for block in self.data.recent_blocks() {
            blocks.push(*block, most);
        }
        blocks
    }

    /// The option of its SYN-ACK.
    pub(super) fn syn_ack_option(&mut self) -> Option<EcnOption> {
        let times = self.rare.repeated.times;
        let bytes = self.rare.bytes.as_mut()?;
        bytes.of_syn_ack(times)
    }

    /// The option of a segment sent now, with at most `most_bytes` of options beyond the timestamps. `data`:
    /// the sequence numbers of its payload. SACK blocks beyond the second make room (RFC 9768 section
    /// 3.2.3.3).
    fn option_beside(
        &mut self,
        sack: &mut SackBlocks,
        data: Option<(u64, u64)>,
        most_bytes: u32,
        now: Time,
    ) -> Option<EcnOption> {
        const BLOCKS_BEFORE_IT: usize = 2;
        const LONGEST_ROUND_TRIP_8US: u64 = 8 * 60_000_000;
        self.rare.bytes.as_ref()?;
        let rtt = self.rare.rtt.srtt();
        let rtt_8us = self.window.rtt_8us().min(LONGEST_ROUND_TRIP_8US);
        let rtt = rtt.unwrap_or(Time::from_ns(125 * rtt_8us));
        let timestamps = match self.settings.tcp.timestamps {
            true => TIMESTAMPS_BYTES,
            false => 0,
        };
        let space = OPTION_SPACE_BYTES - timestamps;
        let before = sack_option_bytes(sack.len().min(BLOCKS_BEFORE_IT));
        let bytes = self.rare.bytes.as_mut()?;
        if let Some((seq, _)) = data {
            bytes.on_own_data(seq);
        }
        let option = bytes.take((space - before).min(most_bytes), data, rtt, now)?;
        while sack.option_bytes() + option.padded_bytes() > space {
            sack.truncate(sack.len() - 1);
        }
        Some(option)
    }
}
