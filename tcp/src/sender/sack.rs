//! SACK blocks (RFC 2018), DSACK (RFC 2883), and the detection of reordering.

use super::Sender;
use super::acknowledge::AckSummary;
use crate::cca::CaState;
use crate::segment::{SackBlock, SackBlocks};
use std::ops::Range;

/// Maximum of DupThresh, packets (`tcp_max_reordering`).
pub(super) const MOST_REORDERING_PKTS: u32 = 300;

impl Sender {
    /// Processes the SACK blocks of an acknowledgement. `prior_una` is the first unacknowledged byte before
    /// it.
    pub(super) fn enter_sack(
        &mut self,
        blocks: &SackBlocks,
        ack: u64,
        prior_una: u64,
        now_us: u64,
        summary: &mut AckSummary,
    ) {
        let blocks = blocks.as_slice();
        let Some(first) = blocks.first().copied() else {
            return;
        };
        let mut rest = blocks;
        let mut duplicate = None;
        if is_duplicate(blocks, ack) {
            rest = &blocks[1..];
            if self.enter_duplicate(first, prior_una, summary) {
                duplicate = self.is_out(first, prior_una).then_some(first);
            } else if first.start >= ack {
                // Not a plausible duplicate: an ordinary block.
                rest = blocks;
            }
        }
        if self.board.packets_out() == 0 {
            return;
        }
        let mut entered = SackBlocks::default();
        for block in rest {
            let is_valid = block.end <= self.next && block.start < block.end;
            if is_valid && block.start > self.una {
                entered.push(*block, usize::MAX);
            }
        }
        // In the order in which they were sent: packets reported together have not overtaken each other.
        entered
            .as_mut_slice()
            .sort_unstable_by_key(|block| block.start);
        // Linux sorts the duplicate among the blocks, and counts it with the one before it too.
        let is_before = |block: &&SackBlock| match duplicate {
            Some(duplicate) if self.settings.is_linux() => block.start < duplicate.start,
            _ => false,
        };
        let before = entered.as_slice().iter().filter(is_before).count();
        for (place, block) in entered.as_slice().iter().enumerate() {
            if place == before {
                self.enter_duplicate_out(duplicate, summary);
            }
            let next_duplicate = duplicate.filter(|_| place + 1 == before);
            self.enter_block(*block, next_duplicate, now_us, summary);
        }
        if before == entered.as_slice().len() {
            self.enter_duplicate_out(duplicate, summary);
        }
        self.rare.repair.sack_cache = entered;
        if self.recovery.state != CaState::Loss || self.rare.repair.undo.is_possible() {
            self.check_reordering(summary.lowest_reordered);
        }
    }

    /// Processes the part of a block that was not in the previous acknowledgement. A duplicate that follows
    /// is processed with the packets that are walked, and again for each known block that the walk passes
    /// (`tcp_sacktag_walk`, `tcp_maybe_skipping_dsack`).
    fn enter_block(
        &mut self,
        block: SackBlock,
        duplicate: Option<SackBlock>,
        now_us: u64,
        summary: &mut AckSummary,
    ) {
        let known = if self.board.sacked_out() == 0 {
            SackBlocks::default()
        } else {
            self.rare.repair.sack_cache
        };
        let mut from = block.start;
        while from < block.end {
            // The known block that contains `from`, or else the next one.
            let holding = known
                .as_slice()
                .iter()
                .find(|known| known.start <= from && from < known.end);
            if let Some(holding) = holding {
                from = holding.end;
                if from < block.end {
                    let skipped = duplicate.filter(|duplicate| duplicate.start < from);
                    self.enter_duplicate_out(skipped, summary);
                }
                continue;
            }
            let starts = known.as_slice().iter().map(|known| known.start);
            let next = starts.filter(|start| *start > from).min();
            let to = next.unwrap_or(block.end).min(block.end);
            self.enter_range(from..to, duplicate, now_us, summary);
            from = to;
        }
    }

    fn enter_range(
        &mut self,
        range: Range<u64>,
        duplicate: Option<SackBlock>,
        now_us: u64,
        summary: &mut AckSummary,
    ) {
        let mut number = self.board.first_from(range.start);
        while number < self.board.tail() && self.board.get(number).end() <= range.end {
            if let Some(duplicate) = duplicate {
                let sent = self.board.get(number);
                if duplicate.start <= sent.seq && sent.end() <= duplicate.end {
                    self.count_duplicate(number, summary);
                    self.board.forget_retransmission(number);
                }
            }
            self.sack_packet(number, now_us, summary);
            number += 1;
        }
    }

    fn sack_packet(&mut self, number: u64, now_us: u64, summary: &mut AckSummary) {
        let highest = self.board.highest_sacked_end().unwrap_or(self.una);
        let Some(was) = self.board.sack(number) else {
            self.deliver_again(number, summary);
            return;
        };
        let min_rtt_us = self.rtt.min_rtt_us();
        let was_again = was.was_ever_retransmitted();
        self.rack
            .on_delivered(was.sent_us, was.end(), was_again, now_us, min_rtt_us);
        self.rate.on_delivered(&was, &mut summary.delivery);
        self.board.count_rate(number);
        if !was_again {
            // A lower hole filled without a retransmission: reordering.
            if was.seq < highest {
                summary.lowest_reordered = summary.lowest_reordered.min(was.seq);
            }
            summary.original_delivered |= was.end() <= self.recovery.point;
            summary.first_sacked_us.get_or_insert(was.sent_us);
            summary.last_sacked_us = was.sent_us;
        }
        let joined = self.board.join_sacked(number);
        if joined.before {
            // The sk_buff that absorbs it has no rate sample left (`tcp_shifted_skb`).
            self.board.count_rate(number - 1);
        }
        if joined.behind {
            self.deliver_again(number + 1, summary);
        }
        self.rare.repair.judged.on_sacked(number);
        summary.data_sacked = true;
        self.rate.delivered_pkts += 1;
    }

    /// Processes a packet that is SACKed already. If a probe has retransmitted it since, it is a rate sample
    /// (`tcp_rate_skb_delivered`).
    fn deliver_again(&mut self, number: u64, summary: &mut AckSummary) {
        let sent = self.board.get(number);
        self.rate.on_delivered(&sent, &mut summary.delivery);
        self.board.count_rate(number);
    }

    /// Counts a DSACK (RFC 2883 section 4). Returns whether a retransmission may have caused it.
    fn enter_duplicate(
        &mut self,
        block: SackBlock,
        prior_una: u64,
        summary: &mut AckSummary,
    ) -> bool {
        let bytes = block.end.saturating_sub(block.start);
        if bytes == 0 || bytes > u64::from(self.largest_window_bytes) {
            return false;
        }
        let pkts = bytes.div_ceil(u64::from(self.settings.mss_bytes)).max(1);
        if pkts == 1
            && self
                .recovery
                .probe()
                .is_some_and(|probe| probe.end == block.end)
        {
            summary.duplicate_of_probe = true;
        }
        self.rare.repair.duplicates_reported += pkts;
        if self.rare.repair.duplicates_reported > self.rare.statistics.retransmitted_pkts {
            return false;
        }
        if self.recovery.reordering_seen && !summary.duplicate_of_probe {
            self.rack.on_dsack();
        }
        summary.is_duplicate_reported = true;
        self.rate.delivered_pkts += pkts;
        if block.end <= prior_una && self.rare.repair.undo.is_about(block.end) {
            self.rare.repair.undo.answer(pkts as u32);
        }
        true
    }

    /// A DSACK for data outstanding before this acknowledgement, which may cover it.
    fn enter_duplicate_out(&mut self, block: Option<SackBlock>, summary: &mut AckSummary) {
        let Some(block) = block else {
            return;
        };
        let mut number = self.board.first_from(block.start);
        while number < self.board.tail() && self.board.get(number).end() <= block.end {
            self.count_duplicate(number, summary);
            let sent = self.board.get(number);
            if sent.end() > self.una {
                self.board.forget_retransmission(number);
                if sent.is_sacked() {
                    self.deliver_again(number, summary);
                }
            }
            number += 1;
        }
    }

    /// A packet in a DSACK: if it was retransmitted, that was spurious (`tcp_sacktag_one`).
    fn count_duplicate(&mut self, number: u64, summary: &mut AckSummary) {
        let sent = self.board.get(number);
        let was_again = match self.settings.is_linux() {
            true => self.board.was_one_of_its_buffer_retransmitted(number),
            false => sent.was_ever_retransmitted(),
        };
        if !was_again {
            return;
        }
        if self.rare.repair.undo.is_about(sent.end()) {
            self.rare.repair.undo.answer(1);
        }
        if sent.is_sacked() {
            summary.lowest_reordered = summary.lowest_reordered.min(sent.seq);
        }
    }

    /// Whether the data of a DSACK was outstanding before this acknowledgement, and is known.
    fn is_out(&self, block: SackBlock, prior_una: u64) -> bool {
        block.end > prior_una && block.end <= self.next && self.is_known(block)
    }

    /// Whether a DSACK is above the acknowledgement, or below it but within the range of a possible undo
    /// (`tcp_is_sackblock_valid`).
    fn is_known(&self, block: SackBlock) -> bool {
        let is_undoable = self.rare.repair.undo.is_about(block.end);
        block.start > self.una || (block.end <= self.una && is_undoable)
    }

    /// Raises DupThresh to the reordering distance (`tcp_check_sack_reordering`).
    pub(super) fn check_reordering(&mut self, lowest: u64) {
        // Without SACK Linux uses the first outstanding segment.
        let sacked = self.board.highest_sacked_end().filter(|_| self.is_sack());
        let highest = sacked.unwrap_or(self.una);
        if lowest >= highest {
            return;
        }
        let mss = u64::from(self.settings.mss_bytes);
        let distance = highest - lowest;
        if distance > u64::from(self.recovery.reordering_pkts) * mss {
            let pkts = distance.div_ceil(mss).min(u64::from(MOST_REORDERING_PKTS));
            self.recovery.reordering_pkts = pkts as u32;
        }
        self.recovery.reordering_seen = true;
    }
}

/// RFC 2883 section 4: the first block reports a duplicate if it is below the acknowledgement or within the
/// second block.
fn is_duplicate(blocks: &[SackBlock], ack: u64) -> bool {
    let first = blocks[0];
    let is_within = |second: &SackBlock| first.start >= second.start && first.end <= second.end;
    first.start < ack || blocks.get(1).is_some_and(is_within)
}
