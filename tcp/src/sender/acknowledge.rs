//! Processing of an acknowledgement: scoreboard, round-trip time, window.
//!
//! The order is that of Linux (`tcp_ack`): SACK blocks, cumulative acknowledgement, round-trip time, loss
//! recovery, timer, rate sample, and last the window.

use super::Sender;
use super::recovery::GoesFirst;
use crate::cca::{Ack, CaState, RttSample};
use crate::pacing;
use crate::prr::Delivered;
use crate::rate_sample::Delivery;
use crate::rtt::{as_us, from_us};
use crate::segment::{Segment, Timestamps};
use crate::timestamp_ms;
use dumbbell_core::time::Time;

/// Summary of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AckSummary {
    /// The cumulative acknowledgement advanced.
    pub(super) advances: bool,
    /// Packets were acknowledged cumulatively.
    pub(super) data_acked: bool,
    /// Packets were newly SACKed.
    pub(super) data_sacked: bool,
    /// It was overtaken by another acknowledgement.
    pub(super) is_old: bool,
    /// The window may have changed.
    pub(super) window_updated: bool,
    /// A congestion mark is echoed.
    pub(super) is_echo: bool,
    /// How many it tells of; None where it says of all packets or none.
    pub(super) marked_pkts: Option<u32>,
    /// A retransmitted packet was acknowledged cumulatively.
    pub(super) retransmission_acked: bool,
    /// A packet sent once, before recovery began, was delivered.
    pub(super) original_delivered: bool,
    /// A DSACK was received.
    pub(super) is_duplicate_reported: bool,
    /// The DSACK was for a tail loss probe.
    pub(super) duplicate_of_probe: bool,
    /// The receiver has discarded SACKed data (reneging).
    pub(super) is_reneging: bool,
    /// Losses are detected by count, without RACK.
    pub(super) judges_by_count: bool,
    /// A retransmission was found lost.
    pub(super) retransmission_lost: bool,
    /// The retransmission timer must be set again.
    pub(super) sets_timer: bool,
    /// The receiver probably delayed it.
    pub(super) is_probably_delayed: bool,
    /// Lowest sequence number, sent once, that arrived after a higher one.
    pub(super) lowest_reordered: u64,
    /// Send times of the first and last newly SACKed packets that were sent once.
    pub(super) first_sacked_us: Option<u64>,
    pub(super) last_sacked_us: u64,
    /// Its window and options equal those of the last one (header prediction).
    pub(super) is_predicted: bool,
    /// Number of packets that it acknowledges cumulatively.
    pub(super) cleaned_pkts: u32,
    /// Round-trip time for the controller, microseconds.
    pub(super) rtt_us: Option<u64>,
    /// Input of the rate sample.
    pub(super) delivery: Delivery,
}

impl AckSummary {
    pub(super) fn new(next: u64) -> AckSummary {
        AckSummary {
            advances: false,
            data_acked: false,
            data_sacked: false,
            is_old: false,
            window_updated: false,
            is_echo: false,
            marked_pkts: None,
            retransmission_acked: false,
            original_delivered: false,
            is_duplicate_reported: false,
            duplicate_of_probe: false,
            is_reneging: false,
            judges_by_count: false,
            retransmission_lost: false,
            sets_timer: false,
            is_probably_delayed: false,
            lowest_reordered: next,
            first_sacked_us: None,
            last_sacked_us: 0,
            is_predicted: false,
            cleaned_pkts: 0,
            rtt_us: None,
            delivery: Delivery::default(),
        }
    }

    /// A duplicate acknowledgement (RFC 5681 section 2).
    pub(super) fn is_duplicate_ack(&self) -> bool {
        let is_news = self.advances || self.data_acked || self.window_updated || self.is_old;
        !is_news && !self.is_duplicate_reported
    }

    fn is_dubious(&self, state: CaState) -> bool {
        let is_new = self.data_acked || self.window_updated;
        let is_alert = self.data_sacked || self.is_echo || self.is_duplicate_reported;
        !is_new || is_alert || state != CaState::Open
    }
}

/// The effect of a cumulative acknowledgement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CumulativeAck {
    pub(super) pkts: u32,
    pub(super) first_us: Option<u64>,
    pub(super) last_us: u64,
}

impl Sender {
    pub(super) fn on_ack(&mut self, segment: &Segment, now: Time) {
        let (now_us, prior_una) = (as_us(now), self.una);
        self.recovery.goes_first = GoesFirst::Lost;
        self.echo_ms = segment.timestamps.and_then(Timestamps::echo);
        let mut summary = AckSummary::new(self.next);
        let is_same_window = segment.window_bytes == u64::from(self.window_bytes);
        summary.is_predicted = is_same_window
            && segment.sack.is_empty()
            && segment.ecn_option.is_none()
            && segment.payload_bytes == 0
            && !self.reports_marks(segment.flags);
        let (delivered, lost) = (self.rate.delivered_pkts, self.rate.lost_pkts);
        if segment.ack < prior_una {
            self.on_old_ack(segment, now, &mut summary);
            return;
        }
        summary.advances = segment.ack > prior_una;
        if summary.advances {
            self.timers.retransmits = 0;
        }
        let prior_highest = match self.is_sack() {
            true => self.board.highest_sacked_end().unwrap_or(prior_una),
            false => prior_una,
        };
        let (prior_in_flight, prior_out) = (self.board.in_flight(), self.board.packets_out());
        self.una = segment.ack;
        self.update_window(segment, prior_una, now, &mut summary);
        if self.is_sack() {
            self.enter_sack(&segment.sack, segment.ack, prior_una, now_us, &mut summary);
        }
        self.enter_marks(segment, prior_una, delivered, &mut summary);
        if prior_out == 0 {
            self.notify_ack_arrival(&summary, now);
            self.on_ack_of_nothing(now, &mut summary);
            return;
        }
        self.clean_rtx_queue(prior_una, prior_highest, now_us, &mut summary);
        if let Some(rtt_us) = summary.rtt_us {
            self.notify_rtt(rtt_us, summary.is_echo, now);
        }
        let entered = (self.rate.delivered_pkts - delivered) as u32;
        if summary.is_echo {
            self.count_echoed(summary.marked_pkts.unwrap_or(entered));
        }
        self.notify_acked(&summary, now);
        self.update_rack_window(&summary);
        self.judge_probe(segment.ack, now, &summary);
        if summary.is_dubious(self.recovery.state) {
            self.on_alert(prior_una, now, &mut summary);
        }
        if summary.sets_timer {
            self.set_timer(now);
        }
        let delivered = (self.rate.delivered_pkts - delivered) as u32;
        let lost = (self.rate.lost_pkts - lost) as u32;
        if summary.is_echo && summary.marked_pkts.is_none() {
            self.count_echoed(delivered - entered);
        }
        let ack = self.sample(&summary, now, delivered, lost, prior_in_flight);
        self.control(&ack, &summary, lost);
        self.finish_if_all_acked();
    }

    /// Passes a round-trip time to the controller.
    #[inline(always)]
    pub(super) fn notify_rtt(&mut self, rtt_us: u64, is_echo: bool, now: Time) {
        let sample = RttSample {
            now,
            rtt: from_us(rtt_us),
            una_pkts: self.board.head(),
            next_pkts: self.board.tail(),
            is_echo,
        };
        self.cca.on_rtt(&mut self.window, &sample);
    }

    /// Updates RACK's reordering window at the end of a round trip.
    #[inline(always)]
    pub(super) fn update_rack_window(&mut self, summary: &AckSummary) {
        let prior_delivered = summary.delivery.prior_delivered_pkts();
        if let Some(prior_delivered) = prior_delivered.filter(|prior| *prior > 0) {
            let delivered_pkts = self.rate.delivered_pkts;
            self.rack.update_window(prior_delivered, delivered_pkts);
        }
    }

    /// An acknowledgement that was overtaken may still carry SACK blocks.
    fn on_old_ack(&mut self, segment: &Segment, now: Time, summary: &mut AckSummary) {
        if !self.is_sack() || segment.sack.is_empty() {
            return;
        }
        summary.is_old = true;
        self.enter_sack(&segment.sack, segment.ack, self.una, as_us(now), summary);
        self.on_alert(self.una, now, summary);
    }

    /// With nothing outstanding: DSACKs may undo a reduction, an open window ends probing.
    fn on_ack_of_nothing(&mut self, now: Time, summary: &mut AckSummary) {
        if summary.is_duplicate_reported {
            self.on_alert(self.una, now, summary);
        }
        self.judge_probe(self.una, now, summary);
        self.on_window_of_idle(now);
        self.finish_if_all_acked();
    }

    fn finish_if_all_acked(&mut self) {
        if self.fin_sent && self.una == self.next {
            self.phase = super::Phase::Finished;
            self.timers.clear();
        }
    }

    /// RFC 9293 section 3.10.7.4, SND.WND: updated by a segment that acknowledges more, is newer (SND.WL1),
    /// or opens the window.
    fn update_window(
        &mut self,
        segment: &Segment,
        prior_una: u64,
        now: Time,
        summary: &mut AckSummary,
    ) {
        let is_closed = segment.window_bytes == 0 && !self.settings.is_linux();
        let opens = segment.window_bytes > u64::from(self.window_bytes) || is_closed;
        // An unchanged zero window is no update (RFC 5681 section 2: a duplicate has the same window). In
        // Linux the window of a newer segment always is (`tcp_may_update_window`).
        let changes = segment.window_bytes != u64::from(self.window_bytes);
        let is_newer = segment.seq > self.window_seq;
        let is_news = is_newer && (self.settings.is_linux() || changes);
        if segment.ack > prior_una || is_news || (opens && changes) {
            self.window_seq = segment.seq;
            summary.window_updated = true;
            if changes && self.has_data() {
                self.restart_after_idle(now);
            }
            self.set_window(segment.window_bytes);
        }
    }

    /// Removes acknowledged packets from the scoreboard (`tcp_clean_rtx_queue`).
    fn clean_rtx_queue(
        &mut self,
        prior_una: u64,
        prior_highest: u64,
        now_us: u64,
        summary: &mut AckSummary,
    ) {
        let prior_sacked = self.board.sacked_out();
        let mut lowest = self.next;
        let cleaned = self.pop_acked(now_us, &mut lowest, summary);
        if let Some(first) = self.board.first() {
            summary.is_reneging = summary.advances && first.is_sacked();
        }
        let (mut seq_rtt_us, mut rtt_us) = (None, None);
        if let Some(first_us) = cleaned.first_us.filter(|_| !summary.retransmission_acked) {
            seq_rtt_us = Some(now_us.saturating_sub(first_us));
            rtt_us = Some(now_us.saturating_sub(cleaned.last_us));
            summary.is_probably_delayed =
                self.is_lone_runt(&cleaned, prior_sacked, prior_una, summary);
        }
        let since = |sent_us| now_us.saturating_sub(sent_us);
        let sack_rtt_us = summary.first_sacked_us.map(since);
        if sack_rtt_us.is_some() {
            rtt_us = Some(since(summary.last_sacked_us));
        }
        let measured = self.measure(seq_rtt_us.or(sack_rtt_us), rtt_us, now_us, summary);
        if summary.data_acked {
            summary.sets_timer = true;
            if !self.is_sack() {
                self.on_cumulative_without_sack(cleaned.pkts);
                summary.original_delivered &= !summary.retransmission_acked;
            } else if lowest < prior_highest {
                self.check_reordering(lowest);
            }
        } else if measured && let (Some(sack_us), Some(first)) = (sack_rtt_us, self.board.first()) {
            // The timer restarts only if the head was sent after the SACKed packet.
            summary.sets_timer |= sack_us > now_us.saturating_sub(first.sent_us);
        }
        summary.cleaned_pkts = cleaned.pkts;
    }

    fn pop_acked(
        &mut self,
        now_us: u64,
        lowest: &mut u64,
        summary: &mut AckSummary,
    ) -> CumulativeAck {
        let mut cleaned = CumulativeAck::default();
        while self
            .board
            .first()
            .is_some_and(|sent| sent.end() <= self.una)
        {
            let number = self.board.head();
            let sent = self.board.pop();
            self.rare.repair.judged.on_acked(number, sent.is_sacked());
            let was_again = sent.was_ever_retransmitted();
            if was_again {
                summary.retransmission_acked = true;
            } else if !sent.is_sacked() {
                cleaned.last_us = sent.sent_us;
                cleaned.first_us.get_or_insert(sent.sent_us);
                *lowest = (*lowest).min(sent.seq);
                summary.original_delivered |= sent.end() <= self.recovery.point;
            }
            if !sent.is_sacked() && self.is_sack() {
                self.rate.delivered_pkts += 1;
                // The echoed timestamp shows that the original arrived, not this retransmission.
                let is_spurious = was_again && self.echo_is_before(sent.sent_us);
                if !is_spurious {
                    let min_rtt_us = self.rtt.min_rtt_us();
                    self.rack
                        .on_delivered(sent.sent_us, sent.end(), was_again, now_us, min_rtt_us);
                }
            }
            self.rate.on_delivered(&sent, &mut summary.delivery);
            summary.data_acked = true;
            cleaned.pkts += 1;
        }
        cleaned
    }

    /// Without SACK: one acknowledgement for the hole, the others for duplicates (`tcp_remove_reno_sacks`).
    pub(super) fn on_cumulative_without_sack(&mut self, pkts: u32) {
        let duplicates = self.board.sacked_out();
        self.rate.delivered_pkts += u64::from(pkts.saturating_sub(duplicates).max(1));
        self.board
            .set_duplicates(duplicates.saturating_sub(pkts.saturating_sub(1)));
        self.limit_duplicates(pkts);
    }

    /// Whether a single small segment is acknowledged, whose acknowledgement the receiver has probably
    /// delayed.
    pub(super) fn is_lone_runt(
        &self,
        cleaned: &CumulativeAck,
        prior_sacked: u32,
        prior_una: u64,
        summary: &AckSummary,
    ) -> bool {
        let is_small = self.una - prior_una < u64::from(self.settings.mss_bytes);
        let prior = summary.delivery.prior_delivered_pkts();
        let is_only = prior.is_some_and(|prior| prior + 1 == self.rate.delivered_pkts);
        let is_alert = summary.data_sacked || summary.is_echo || summary.is_duplicate_reported;
        cleaned.pkts == 1 && prior_sacked == 0 && is_small && is_only && !is_alert
    }

    /// Adds round-trip times. Karn's algorithm: retransmitted packets are not timed, unless timestamps show
    /// which copy is acknowledged (RFC 7323 section 4).
    pub(super) fn measure(
        &mut self,
        seq_rtt_us: Option<u64>,
        rtt_us: Option<u64>,
        now_us: u64,
        summary: &mut AckSummary,
    ) -> bool {
        let (mut seq_rtt_us, mut rtt_us) = (seq_rtt_us, rtt_us);
        if seq_rtt_us.is_none()
            && summary.data_acked
            && let Some(echo_ms) = self.echo_ms
        {
            let now_ms = timestamp_ms(from_us(now_us));
            let elapsed_us = u64::from(now_ms.saturating_sub(echo_ms.get()).max(1)) * 1000;
            seq_rtt_us = Some(elapsed_us);
            rtt_us = seq_rtt_us;
        }
        summary.rtt_us = rtt_us;
        let Some(seq_rtt_us) = seq_rtt_us else {
            return false;
        };
        let least_us = rtt_us.unwrap_or(seq_rtt_us);
        let counts = !summary.is_probably_delayed || least_us <= self.rtt.min_rtt_us();
        self.enter_rtt_of(seq_rtt_us, counts.then_some(least_us), now_us);
        true
    }

    pub(super) fn enter_rtt(&mut self, rtt_us: u64, least_us: u64, now_us: u64) {
        self.enter_rtt_of(rtt_us, Some(least_us), now_us);
    }

    fn enter_rtt_of(&mut self, rtt_us: u64, least_us: Option<u64>, now_us: u64) {
        if let Some(least_us) = least_us {
            // Zero means unknown; the kernel's clock resolves at least one tick.
            self.rtt.measure_least(least_us.max(1), now_us);
        }
        self.rtt.measure(rtt_us, self.una, self.next);
        self.timers.rto = self.rtt.rto(self.settings.clock);
        self.timers.end_backoff();
    }

    /// Whether the echoed timestamp was sent before `sent_us` (Eifel, RFC 3522 section 3.2).
    fn echo_is_before(&self, sent_us: u64) -> bool {
        let sent_ms = timestamp_ms(from_us(sent_us));
        self.echo_ms.is_some_and(|echo_ms| echo_ms.get() < sent_ms)
    }

    pub(super) fn sample(
        &mut self,
        summary: &AckSummary,
        now: Time,
        delivered_pkts: u32,
        lost_pkts: u32,
        prior_in_flight_pkts: u32,
    ) -> Ack {
        let min_rtt_us = self.rtt.min_rtt_us();
        let mut rate = self.rate.sample(
            &summary.delivery,
            as_us(now),
            delivered_pkts,
            min_rtt_us,
            !self.recovery.is_reneging,
        );
        rate.rtt = summary.rtt_us.map(from_us);
        rate.losses_pkts = lost_pkts;
        rate.prior_in_flight_pkts = prior_in_flight_pkts;
        rate.is_ack_delayed = summary.is_probably_delayed;
        let of_all_pkts = if summary.is_echo { delivered_pkts } else { 0 };
        Ack {
            now,
            marked_pkts: summary.marked_pkts.unwrap_or(of_all_pkts),
            acked_pkts: delivered_pkts,
            cleaned_pkts: summary.cleaned_pkts,
            newly_delivered_pkts: delivered_pkts,
            rtt: rate.rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            in_flight_pkts: self.board.in_flight(),
            is_cwnd_limited: self.was_window_used(),
            is_window_full: self.usage.is_limited(),
            state: self.recovery.state,
            una_pkts: self.board.head(),
            next_pkts: self.board.tail(),
            delivered_pkts: self.rate.delivered_pkts,
            delivered_time: from_us(self.rate.delivered_time_us),
            lost_pkts: self.rate.lost_pkts,
            earliest_departure: self.pacing.earliest_departure(now),
            rate,
        }
    }

    /// Updates the window: by the controller, or by rate reduction (`tcp_cong_control`).
    pub(super) fn control(&mut self, ack: &Ack, summary: &AckSummary, lost_pkts: u32) {
        if self.cca.owns_recovery() {
            self.update_view(ack.now);
            let did_limit = self.cca.limits_itself();
            self.cca.on_ack(&mut self.window, ack);
            // Packets delivered meanwhile do not measure the path.
            if did_limit || self.cca.limits_itself() {
                self.rate.set_app_limited(ack.in_flight_pkts);
            }
        } else {
            if matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
                let delivered = Delivered {
                    newly_delivered_pkts: ack.newly_delivered_pkts,
                    newly_lost_pkts: lost_pkts,
                    advances: summary.advances,
                };
                self.reduce(delivered);
            } else if self.may_grow(summary) {
                self.update_view(ack.now);
                self.cca.on_ack(&mut self.window, ack);
                self.grant_requests(ack.now);
                // The window counts as used: the acknowledgement measured the path.
                self.usage.renew(ack.now);
            }
            let packets_out = self.board.packets_out();
            let srtt_8us = self.rtt.srtt_8us();
            // HyStart allows for bursts at this rate, with or without pacing.
            let is_wanted =
                self.settings.is_linux() && self.window.is_in_slow_start() || self.bursts.is_some();
            if is_wanted || self.pacing.is_on() || self.small_queue.is_on() {
                self.window.pacing_rate_bytes_per_s =
                    pacing::rate_bytes_per_s(&self.window, packets_out, srtt_8us);
            }
        }
    }

    /// The window grows with cumulative acknowledgements, unless much reordering was seen
    /// (`tcp_may_raise_cwnd`).
    fn may_grow(&self, summary: &AckSummary) -> bool {
        let is_reordered = self.recovery.reordering_pkts > super::DUPLICATES_THRESHOLD;
        summary.data_acked || (is_reordered && summary.data_sacked)
    }

    /// One step of proportional rate reduction.
    pub(super) fn reduce(&mut self, delivered: Delivered) {
        let (ssthresh, in_flight) = (self.window.ssthresh_pkts, self.board.in_flight());
        if let Some(cwnd) = self.rare.repair.prr.window(delivered, ssthresh, in_flight) {
            self.window.set_cwnd(cwnd);
        }
    }
}
