//! The sender's state as passed to controllers that read it, such as those written for the kernel
//! (`cca::external`). For others there is nothing to do.

use super::Sender;
use super::acknowledge::AckSummary;
use crate::cca::external::{AckBegins, Acked, Event, NO_TIME_NS, SenderView};
use crate::cca::{AckArrival, CaState, Cca, LostPacket, PktsAcked, SentPacket};
use crate::rtt::from_us;
use crate::scoreboard::Outstanding;
use dumbbell_core::time::Time;

impl Sender {
    /// Updates it before an event of the controller.
    #[inline(always)]
    pub(super) fn update_view(&mut self, now: Time) {
        if self.sees_sender() {
            self.update_whole_view(now);
        }
    }

    #[inline(always)]
    fn sees_sender(&self) -> bool {
        matches!(&self.cca, Cca::External(external) if external.sees_sender())
    }

    fn update_whole_view(&mut self, now: Time) {
        let u32_of = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let view = SenderView {
            now_ns: now.as_ns(),
            una_bytes: self.una,
            next_bytes: self.next,
            delivered_pkts: self.rate.delivered_pkts,
            delivered_echoed_pkts: 0,
            delivered_time_ns: 1000 * self.rate.delivered_time_us,
            lost_pkts: self.rate.lost_pkts,
            earliest_departure_ns: self.pacing.earliest_departure(now).as_ns(),
            last_sent_ns: self.last_sent().map_or(NO_TIME_NS, Time::as_ns),
            srtt_8us: u32_of(self.rtt.srtt_8us()),
            mdev_4us: self.rtt.deviation_4us(),
            min_rtt_us: u32_of(self.rtt.min_rtt_us()),
            packets_out: self.board.packets_out(),
            sacked_out: self.board.sacked_out(),
            lost_out: self.board.lost_out(),
            retrans_out: self.board.retrans_out(),
            most_packets_out: self.usage.most_packets_out(),
            echo_ms: self.echo_ms.map_or(0, |echo_ms| echo_ms.get()),
            peer_ms: self.recent.ms(),
            state: self.recovery.state as u32,
            is_window_used: self.usage.is_limited(),
            is_app_limited: self.rate.is_app_limited(),
            has_ecn: self.ecn,
        };
        if let Cca::External(external) = &mut self.cca {
            external.see(view);
        }
    }

    fn notify_view(&mut self, event: Event<'_>, now: Time) {
        self.update_whole_view(now);
        if let Cca::External(external) = &mut self.cca {
            external.tell(&mut self.window, event);
        }
    }

    /// The recovery state is about to change (`tcp_set_ca_state`).
    pub(super) fn notify_state(&mut self, state: CaState, now: Time) {
        if self.sees_sender() {
            self.notify_view(Event::State(state), now);
        } else {
            let snapshot = self.snapshot(now);
            self.cca.on_state(&mut self.window, state, &snapshot);
        }
    }

    /// The scoreboard is updated for an acknowledgement (`pkts_acked`), then the acknowledgement itself
    /// (`in_ack_event`): the order of Linux 6.1.192; older releases have the reverse order.
    #[inline(always)]
    pub(super) fn notify_acked(&mut self, summary: &AckSummary, now: Time) {
        if self.sees_sender() {
            let prior_pkts = summary.delivery.prior_delivered_pkts().unwrap_or(0);
            let since_pkts = self.rate.delivered_pkts.saturating_sub(prior_pkts);
            let acked = Acked {
                rtt_ns: summary.rtt_us.map_or(NO_TIME_NS, |rtt_us| 1000 * rtt_us),
                acked_pkts: summary.cleaned_pkts,
                delivered_since_pkts: u32::try_from(since_pkts).unwrap_or(u32::MAX),
            };
            self.notify_view(Event::Acked(&acked), now);
        } else if self.cca.needs_every_ack() {
            let cleaned = PktsAcked {
                now,
                pkts: summary.cleaned_pkts,
                rtt: summary.rtt_us.map(from_us),
                state: self.recovery.state,
            };
            self.cca.on_pkts_acked(&mut self.window, &cleaned);
        } else {
            return;
        }
        self.notify_ack_arrival(summary, now);
    }

    /// An acknowledgement has arrived, with or without packets outstanding (`tcp_in_ack_event`).
    pub(super) fn notify_ack_arrival(&mut self, summary: &AckSummary, now: Time) {
        if self.sees_sender() {
            let begins = AckBegins {
                is_unexpected: !summary.is_predicted,
                window_updated: summary.window_updated,
                is_echo: summary.is_echo,
            };
            self.notify_view(Event::AckBegins(begins), now);
            return;
        }
        let arrival = AckArrival {
            now,
            una_bytes: self.una,
            is_predicted: summary.is_predicted,
        };
        self.cca.on_arrival(&mut self.window, &arrival);
    }

    /// A data packet was sent.
    #[inline(always)]
    pub(super) fn notify_sent(&mut self, sent_us: u64) {
        if self.cca.needs_packets() {
            let oldest = self.board.oldest_in_flight();
            let oldest_us = oldest.map_or(sent_us, |number| self.board.get(number).sent_us);
            self.cca.on_sent(&SentPacket {
                at: from_us(sent_us),
                in_flight_pkts: self.board.in_flight(),
                lost_pkts: self.rate.lost_pkts,
                oldest_in_flight: from_us(oldest_us),
            });
        }
    }

    /// A packet was found lost.
    pub(super) fn notify_lost(&mut self, sent: &Outstanding, now_us: u64) {
        let packet = LostPacket {
            now: from_us(now_us),
            sent: from_us(sent.sent_us),
            seq: sent.seq,
            end: sent.end(),
            is_app_limited: sent.rate_note().is_some_and(|note| note.is_app_limited),
            delivered_pkts: self.rate.delivered_pkts,
            lost_pkts: self.rate.lost_pkts,
        };
        self.cca.on_packet_lost(&mut self.window, &packet);
    }

    /// Packets were delivered by an acknowledgement with a mark.
    #[inline(always)]
    pub(super) fn count_echoed(&mut self, pkts: u32) {
        if let Cca::External(external) = &mut self.cca {
            external.count_echoed(pkts);
        }
    }

    /// Processes requests of the controller to reduce the window.
    #[inline(always)]
    pub(super) fn grant_requests(&mut self, now: Time) {
        if matches!(&self.cca, Cca::External(external) if external.requests_reduction()) {
            self.enter_cwr(now);
        }
    }
}
