//! The order of transmissions: forced segments, lost packets, then new data.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 5681 section 3.1, window | packets in flight below the congestion window |
//! | RFC 3042, limited transmit | follows: SACKed packets are not in flight |
//! | RFC 9293 section 3.8.6.2.1, silly window syndrome | a segment is sent when all of it fits the window |
//! | RFC 896, Nagle, with Minshall's change | a small segment waits for the previous small one |
//! | RFC 2861, idle and unused windows | `linux-6.1`: halved for each timeout; `rfc`: RFC 5681 section 4.1 |
//! | `tcp_small_queue_check` | not while the host's own queue holds enough (`tcp::small_queue`) |
//! | RFC 3168 section 6.1.2, 6.1.5 | ECT on new data only; CWR on the first after a reduction |

use super::bursts::Push;
use super::recovery::GoesFirst;
use super::{ForcedSegment, Phase, PollHint, Probe, Sender};
use crate::rtt::as_us;
use crate::segment::{Flags, Header};
use crate::timestamp_ms;
use dumbbell_core::time::Time;

/// A segment sent by a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transmission {
    /// The header.
    pub header: Header,
    /// Whether it is a retransmission.
    pub is_retransmission: bool,
    /// Payload transmitted for the first time.
    pub new_payload_bytes: u32,
}

/// The variable parts of an outgoing segment; the rest of its header is constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OutgoingSegment {
    pub(super) seq: u64,
    pub(super) payload_bytes: u32,
    pub(super) new_payload_bytes: u32,
    pub(super) flags: Flags,
    pub(super) is_retransmission: bool,
}

impl OutgoingSegment {
    /// Whether it has sequence numbers of its own.
    fn is_data(&self) -> bool {
        self.payload_bytes > 0 || self.flags.has(Flags::FIN)
    }

    pub(super) fn without_payload(seq: u64, flags: Flags) -> OutgoingSegment {
        OutgoingSegment {
            seq,
            payload_bytes: 0,
            new_payload_bytes: 0,
            flags,
            is_retransmission: false,
        }
    }
}

impl Sender {
    /// The next segment to be sent now; call until None.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmission> {
        if self.has_nothing_to_send(now) {
            return None;
        }
        let outgoing = match self.poll_after_predicted_ack(now) {
            Some(outgoing) => outgoing,
            None => self.poll_general(now)?,
        };
        Some(Transmission {
            header: Header {
                seq: outgoing.seq,
                ack: self.peer_next,
                window_bytes: u64::from(u16::MAX),
                timestamps: self.timestamps(self.stamp(now, outgoing.is_data())),
                payload_bytes: outgoing.payload_bytes,
                flags: self.with_feedback(outgoing.flags, outgoing.payload_bytes),
            },
            is_retransmission: outgoing.is_retransmission,
            new_payload_bytes: outgoing.new_payload_bytes,
        })
    }

    /// Whether `poll_transmit` returns None because no event has occurred.
    #[inline]
    pub fn has_nothing_to_send(&mut self, now: Time) -> bool {
        if self.quiet == PollHint::Limited {
            self.usage.renew(now);
        }
        !matches!(self.quiet, PollHint::No | PollHint::Going)
    }

    /// As `poll_general`, for full segments after a predicted acknowledgement; None if the general path is
    /// needed. Debug builds take both paths and compare.
    #[inline(always)]
    fn poll_after_predicted_ack(&mut self, now: Time) -> Option<OutgoingSegment> {
        if self.quiet != PollHint::Going {
            return None;
        }
        #[cfg(debug_assertions)]
        let ordinary = self.is_compared().then(|| {
            let mut ordinary = self.clone();
            (ordinary.poll_general(now), ordinary)
        });
        self.small_queue.wake(now);
        let is_full = self.is_amid_full_segments();
        let segment = is_full.then(|| self.transmit_full(now)).flatten();
        match segment {
            Some(_) => self.had_data = true,
            None => self.quiet = PollHint::No,
        }
        #[cfg(debug_assertions)]
        if let Some(ordinary) = ordinary.filter(|_| segment.is_some()) {
            assert_eq!((segment, &*self), (ordinary.0, &ordinary.1), "at {now:?}");
        }
        segment
    }

    #[inline(never)]
    fn poll_general(&mut self, now: Time) -> Option<OutgoingSegment> {
        self.small_queue.wake(now);
        match self.phase {
            Phase::Closed => None,
            Phase::SynSent => self.transmit_syn(now),
            Phase::Established | Phase::Finished => {
                // The kernel completes the handshake before the application is told.
                if std::mem::take(&mut self.must_open) {
                    return self.transmit_ack();
                }
                // Without bursts polling twice equals polling once. With deferred bursts only an event
                // releases them, and the pacing timer is one.
                let is_paced = self.pacing.has_timer() && self.bursts.is_none();
                let can_be_quiet = self.recovery.goes_first != GoesFirst::New && !is_paced;
                let segment = self.transmit_data(now);
                if segment.is_some() {
                    return segment;
                }
                if self.recovery.goes_first == GoesFirst::LostAlone {
                    self.end_timer();
                    return None;
                }
                self.end_burst(now);
                self.after_sending();
                self.timers.settle(self.settings.clock);
                let ack = self.transmit_ack();
                if can_be_quiet && ack.is_none() {
                    self.mark_idle();
                }
                ack
            }
        }
    }

    /// The retransmissions of a timer are sent; they do not count for window usage.
    fn end_timer(&mut self) {
        (self.burst_pkts, self.had_data) = (0, false);
        self.recovery.goes_first = GoesFirst::Lost;
        self.quiet = PollHint::Idle;
    }

    /// Nothing can be sent until the next event.
    fn mark_idle(&mut self) {
        let is_limited = self.is_held_by_window() && self.has_unsent();
        self.quiet = if is_limited {
            PollHint::Limited
        } else {
            PollHint::Idle
        };
    }

    fn transmit_data(&mut self, now: Time) -> Option<OutgoingSegment> {
        if self.burst_pkts == 0 {
            self.had_data = self.has_unsent();
        }
        if self.bursts.is_some()
            && let Some(segment) = self.transmit_going(now)
        {
            return Some(segment);
        }
        if let Some(forced) = self.forced.take() {
            let segment = self.transmit_forced(forced, now);
            if segment.is_some() {
                return segment;
            }
        }
        if let Some(due) = self.pacing.not_before(now) {
            // A write is copied whether or not it may be sent.
            self.copy_all();
            if self.waits_for_pacing() && self.timers.paced == Time::NEVER {
                // Once set it expires, whatever happens before (`hrtimer_is_queued`).
                self.timers.paced = due;
            }
            return None;
        }
        match self.recovery.goes_first {
            GoesFirst::Lost => {}
            GoesFirst::LostAlone => return self.transmit_lost(now),
            GoesFirst::NewAlone => return self.transmit_new(now),
            GoesFirst::NewOfWrite => {
                let segment = self.transmit_new(now);
                if segment.is_none() {
                    self.recovery.end_write();
                }
                return segment;
            }
            GoesFirst::New => {
                if let Some(segment) = self.transmit_new(now) {
                    return Some(segment);
                }
                if self.next > self.recovery.point {
                    // A preceding write also sends new data only (`tcp_write_xmit`).
                    self.recovery.goes_first = GoesFirst::NewAlone;
                    return None;
                }
                self.recovery.goes_first = GoesFirst::Lost;
                self.recovery.is_frto = false;
            }
        }
        self.transmit_lost(now).or_else(|| self.transmit_new(now))
    }

    /// Sends the rest of a burst.
    fn transmit_going(&mut self, now: Time) -> Option<OutgoingSegment> {
        if self.take_going_new() {
            self.burst_pkts += 1;
            return Some(self.send_new(now));
        }
        if self.take_going_again() {
            let number = self.board.next_lost()?;
            return Some(self.retransmit_counted(number, now));
        }
        None
    }

    /// Sends a segment regardless of the congestion window.
    fn transmit_forced(&mut self, forced: ForcedSegment, now: Time) -> Option<OutgoingSegment> {
        match forced {
            ForcedSegment::Head => {
                let head = (self.board.packets_out() > 0).then(|| self.board.head())?;
                self.board.split(head + 1);
                self.collapse(head);
                self.begin_alone(self.board.get(head).bytes(), now);
                Some(self.retransmit(head, true, now))
            }
            ForcedSegment::Probe => self.transmit_probe(now),
            ForcedSegment::WindowProbe => {
                let segment = self.transmit_window_probe(now);
                // Nothing else is sent with it (`tcp_write_wakeup`), even if the window has room for data
                // that the host's queue dropped.
                if segment.is_some() && self.settings.is_linux() {
                    self.quiet = PollHint::Idle;
                }
                segment
            }
        }
    }

    /// RFC 8985 section 7.3: new data if available, otherwise the last segment again.
    fn transmit_probe(&mut self, now: Time) -> Option<OutgoingSegment> {
        if self.board.packets_out() == 0 {
            self.forget_timer();
            return None;
        }
        let is_new = self.has_unsent() && self.next_fits();
        if is_new && !self.may_probe(now) {
            self.rearm_rto(now);
            return None;
        }
        let mut end = self.next;
        let segment = if is_new {
            let going = self.going_new_pkts().max(1);
            self.take_going_new();
            let segment = self.send_new(now);
            if self.is_reducing() {
                self.rare.repair.prr.on_send(going);
            }
            let in_flight = self.board.in_flight() + going - 1;
            self.validate_window(in_flight >= self.window.cwnd_pkts, now);
            end = self.end_of_going();
            segment
        } else {
            let last = self.board.tail() - 1;
            self.board.split(last);
            self.begin_alone(self.board.get(last).bytes(), now);
            self.retransmit(last, false, now)
        };
        self.recovery.begin_probe(Probe {
            end,
            is_retransmission: !is_new,
        });
        self.rare.statistics.probe_count += 1;
        self.forget_timer();
        self.rearm_rto(now);
        Some(segment)
    }

    /// Whether pacing and the host's queue allow a probe of new data, which may be a burst.
    fn may_probe(&mut self, now: Time) -> bool {
        // `tcp_pacing_check`: the pacing timer sends them instead.
        if self.pacing.not_before(now).is_some() {
            return false;
        }
        if self.bursts.is_some() {
            self.plan_new(Push::Probe, now)
        } else {
            self.fits_host_queue(self.next_bytes(), false)
        }
    }

    /// End of the new segments of the present burst.
    fn end_of_going(&self) -> u64 {
        let left = self.going_new_pkts();
        let first_end = self
            .bursts
            .as_ref()
            .and_then(|bursts| bursts.queue.first_end());
        match first_end.filter(|_| left > 0) {
            Some(end) => end + u64::from(self.is_closing && end == self.written),
            None => self.next,
        }
    }

    /// RFC 9293 section 3.8.6.1. With a zero window an old sequence number makes the receiver answer
    /// (`tcp_xmit_probe_skb`).
    fn transmit_window_probe(&mut self, now: Time) -> Option<OutgoingSegment> {
        if !self.has_unsent() || self.board.packets_out() > 0 {
            return None;
        }
        if self.next < self.window_end && self.next < self.written {
            return Some(self.transmit_part(now));
        }
        Some(OutgoingSegment::without_payload(self.una - 1, Flags::ACK))
    }

    /// Sends the part of a segment that fits the window. The rest stays a segment of its own if data follows
    /// it.
    fn transmit_part(&mut self, now: Time) -> OutgoingSegment {
        let segment_end = self.next + u64::from(self.next_bytes());
        let part = segment_end.min(self.window_end);
        if (part < segment_end || self.corks_small_segment()) && self.bursts.is_none() {
            self.pushes.split(self.next, part, segment_end);
            if segment_end < self.written {
                self.rare.cut = segment_end;
                self.is_cut = true;
            }
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.queue.cut_and_push(part);
        }
        self.timers.end_backoff();
        self.begin_alone((part - self.next) as u32, now);
        self.send_new_of((part - self.next) as u32, now)
    }

    fn transmit_lost(&mut self, now: Time) -> Option<OutgoingSegment> {
        let number = self.board.next_lost()?;
        if self.bursts.is_some() {
            return (self.plan_retransmission(number, now) && self.take_going_again())
                .then(|| self.retransmit_counted(number, now));
        }
        if self.board.in_flight() >= self.window.cwnd_pkts {
            return None;
        }
        let payload_bytes = self.board.get(number).bytes();
        if !self.fits_host_queue(payload_bytes, true) {
            return None;
        }
        Some(self.retransmit_counted(number, now))
    }

    fn retransmit_counted(&mut self, number: u64, now: Time) -> OutgoingSegment {
        let is_head = number == self.board.head();
        let segment = self.retransmit(number, true, now);
        if self.is_reducing() {
            self.rare.repair.prr.on_send(1);
        }
        if is_head && !self.timers.is_pending(super::timers::Purpose::Reordering) {
            self.restart_rto(now);
        }
        segment
    }

    /// Retransmits a packet. A probe does not count in `retrans_out`.
    fn retransmit(&mut self, number: u64, is_counted: bool, now: Time) -> OutgoingSegment {
        let sent = self.board.get(number);
        let payload_bytes = self.written.min(sent.end()).saturating_sub(sent.seq) as u32;
        let sent_us = self.before_send(payload_bytes, now);
        let note = self.rate.on_send(sent_us, self.board.packets_out());
        self.board.retransmit(number, sent_us, note, is_counted);
        self.notify_sent(sent_us);
        self.rare.statistics.retransmitted_pkts += 1;
        if is_counted {
            let stamp = timestamp_ms(self.stamp(now, true));
            self.rare.repair.undo.on_retransmission(stamp);
        }
        let is_pushed = self.is_pushed_in_burst(number);
        OutgoingSegment {
            is_retransmission: true,
            new_payload_bytes: 0,
            ..self.outgoing(sent.seq, sent.end(), is_pushed)
        }
    }

    fn transmit_new(&mut self, now: Time) -> Option<OutgoingSegment> {
        if self.bursts.is_some() {
            if !self.begin_new(now) || !self.take_going_new() {
                return None;
            }
            self.burst_pkts += 1;
            return Some(self.send_new(now));
        }
        if self.is_amid_full_segments() {
            return self.transmit_full(now);
        }
        if !self.has_window() || !self.may_send_new() {
            return None;
        }
        if !self.fits_host_queue(self.next_bytes(), false) {
            return None;
        }
        let segment = self.send_new(now);
        self.burst_pkts += 1;
        Some(segment)
    }

    /// As `transmit_new`, for a full segment with more behind it.
    fn transmit_full(&mut self, now: Time) -> Option<OutgoingSegment> {
        let mss_bytes = self.settings.mss_bytes;
        let has_room = self.board.in_flight() < self.window.cwnd_pkts;
        let end = self.next + u64::from(mss_bytes);
        if !has_room || end > self.window_end || !self.fits_host_queue(mss_bytes, false) {
            return None;
        }
        let segment = self.send_from_next(end, mss_bytes, now);
        self.burst_pkts += 1;
        Some(segment)
    }

    fn send_new(&mut self, now: Time) -> OutgoingSegment {
        let bytes = self.next_bytes();
        let sent = self.send_new_of(bytes, now);
        if bytes < self.settings.mss_bytes {
            self.small_end = self.next;
        }
        sent
    }

    fn send_new_of(&mut self, most_bytes: u32, now: Time) -> OutgoingSegment {
        let seq = self.next;
        let payload_bytes = self.next_bytes().min(most_bytes);
        let mut end = seq + u64::from(payload_bytes);
        if self.is_closing && end == self.written && end < self.window_end {
            self.fin_sent = true;
            end += 1;
        }
        self.send_from_next(end, payload_bytes, now)
    }

    /// Sends data up to `end` for the first time.
    fn send_from_next(&mut self, end: u64, payload_bytes: u32, now: Time) -> OutgoingSegment {
        let seq = self.next;
        let was_empty = self.board.packets_out() == 0;
        if self.board.in_flight() == 0 {
            let (last_sent, snapshot) = (self.last_sent(), self.snapshot(now));
            self.update_view(now);
            self.cca
                .on_transmit_start(&mut self.window, last_sent, &snapshot);
        }
        let sent_us = self.before_send(payload_bytes, now);
        let note = self.rate.on_send(sent_us, self.board.packets_out());
        self.board.push(seq, end, sent_us, note);
        self.notify_sent(sent_us);
        self.next = end;
        if self.is_cut {
            self.find_record_end();
        }
        if let Some(bursts) = &mut self.bursts {
            if bursts.queue.advance(end.min(self.written)) {
                self.board.push_last();
            }
            if bursts.is_inside() {
                self.board.continue_last();
            }
        }
        if !self.burst_goes_on() {
            self.check_space();
        }
        if was_empty || self.timers.is_pending(super::timers::Purpose::LossProbe) {
            self.rearm_rto(now);
        }
        let is_pushed = if self.bursts.is_some() {
            self.is_pushed_in_burst(self.board.tail() - 1)
        } else {
            let is_pushed = self.pushes.any_in_new(seq, end.min(self.written));
            if is_pushed {
                self.board.push_last();
            }
            is_pushed
        };
        let mut outgoing = self.outgoing(seq, end, is_pushed);
        if self.ecn && payload_bytes > 0 {
            outgoing.flags |= Flags::ECT;
            if std::mem::take(&mut self.cwr_due) {
                outgoing.flags |= Flags::CWR;
            }
        }
        outgoing
    }

    /// Whether a packet sent now carries PSH: marked when written, or the last of several.
    fn is_pushed_in_burst(&self, number: u64) -> bool {
        let ends_burst = self
            .bursts
            .as_ref()
            .is_some_and(|bursts| bursts.ends_burst());
        ends_burst || self.board.get(number).is_pushed()
    }

    /// This number of packets leave at once, with this payload in total. A FIN alone does not count
    /// (`data_segs_out`).
    pub(super) fn pace(&mut self, pkts: u32, payload_bytes: u32, now: Time) {
        if self.pacing.is_on() && pkts > 0 {
            self.rare.bare_pkts += u64::from(payload_bytes == 0);
            let sent_pkts = self.sent_pkts() + self.rare.statistics.retransmitted_pkts;
            let sent_pkts = sent_pkts - self.rare.bare_pkts.min(sent_pkts);
            let before_last = sent_pkts + u64::from(pkts - 1);
            let rate = self.window.pacing_rate_bytes_per_s;
            self.pacing.on_send(now, payload_bytes, rate, before_last);
        }
    }

    /// Returns the send time of the segment, in microseconds.
    fn before_send(&mut self, payload_bytes: u32, now: Time) -> u64 {
        if self.bursts.is_none() {
            self.pace(1, payload_bytes, now);
        }
        self.last_sent = now;
        self.has_transmitted = true;
        as_us(self.stamp(now, true))
    }

    /// A new segment of [seq, end).
    fn outgoing(&mut self, seq: u64, end: u64, is_pushed: bool) -> OutgoingSegment {
        let mut flags = Flags::ACK;
        let mut payload_end = end;
        if self.fin_sent && end > self.written {
            flags |= Flags::FIN;
            payload_end = self.written;
        }
        if is_pushed {
            flags |= Flags::PSH;
        }
        self.must_ack = false;
        let payload_bytes = (payload_end - seq) as u32;
        OutgoingSegment {
            seq,
            payload_bytes,
            new_payload_bytes: payload_bytes,
            flags,
            is_retransmission: false,
        }
    }

    fn transmit_ack(&mut self) -> Option<OutgoingSegment> {
        let is_due = std::mem::take(&mut self.must_ack);
        is_due.then(|| OutgoingSegment::without_payload(self.next, Flags::ACK))
    }

    pub(super) fn is_reducing(&self) -> bool {
        self.recovery.is_reducing()
    }

    /// Whether the window is full, or has less room than a deferred burst needs.
    fn is_held_by_window(&self) -> bool {
        let waits = self
            .bursts
            .as_ref()
            .is_some_and(|bursts| bursts.is_limited());
        waits || self.board.in_flight() >= self.window.cwnd_pkts
    }

    /// Nothing more can be sent now.
    pub(super) fn end_burst(&mut self, now: Time) {
        let sent = std::mem::take(&mut self.burst_pkts);
        if !std::mem::take(&mut self.had_data) {
            return;
        }
        let is_limited = self.is_held_by_window();
        if sent > 0 || is_limited {
            self.validate_window(is_limited, now);
        }
        if sent > 0 {
            if self.is_reducing() {
                self.rare.repair.prr.on_send(sent);
            }
            self.schedule_probe(false, now);
        }
        self.watch_window(now);
    }
}
