//! The timer of a sender: retransmission timeout, tail loss probe, reordering, zero window probe.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 6298 section 5.1 to 5.3, starting and stopping | yes; the timer starts again on every acknowledgement of new data |
//! | RFC 6298 section 5.4 to 5.6, first packet again, backing off | `on_rto` |
//! | RFC 5682 section 2.1 and 3.1 step 1, F-RTO | `on_rto` |
//! | RFC 8985 section 7.2, probe timeout | 2 SRTT + 2 ms; with one packet out, + `min_rto` for its receiver's delay |
//! | RFC 8985 section 8 (Managing RACK-TLP Timers) | one timer, and its purpose |
//! | RFC 9293 section 3.8.6.1, probing a closed window | from RTO on, doubled |
//!
//! As in Linux only one purpose is pending at a time (`icsk_pending`).

use super::recovery::GoesFirst;
use super::{ForcedSegment, Phase, PollHint, Sender};
use crate::cca::CaState;
use crate::rtt::{INITIAL_RTO, LARGEST_RTO, as_us, from_us};
use dumbbell_core::time::Time;
use dumbbell_core::timer::{Clock, Slot};

/// Minimum time to a timeout (`TCP_TIMEOUT_MIN_US`), microseconds.
const LEAST_TIMEOUT_US: u64 = 2_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Purpose of the pending timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Retransmit,
    Reordering,
    LossProbe,
    WindowProbe,
}

/// State of the timer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Timers {
    /// Slot of the kernel's timer, before later changes; at first `NEVER`.
    slot: Slot,
    /// When it was last set, `NEVER` for not at all, and for how long: one acknowledgement sets it up to
    /// three times at its instant, and only the last counts.
    set_at: Time,
    set_span: Time,
    /// The retransmission timeout, with backoff.
    pub(super) rto: Time,
    /// When pacing allows the next packet; `NEVER` if none waits for it.
    pub(super) paced: Time,
    /// Consecutive doublings, or window probes.
    backoff: u16,
    /// Consecutive timeouts without progress (`icsk_retransmits`).
    pub(super) retransmits: u16,
    /// Purpose of the timer, if pending.
    pending: Option<Purpose>,
    /// Whether it was set to different ticks at that instant, so that it leaves its old slot.
    has_moved: bool,
}

const _: () = assert!(size_of::<Timers>() <= 56);

impl Timers {
    pub(super) fn new(rto: Time) -> Timers {
        Timers {
            pending: None,
            slot: Slot {
                due: Time::NEVER,
                expiry: Time::NEVER,
            },
            set_at: Time::NEVER,
            set_span: Time::ZERO,
            has_moved: false,
            rto,
            backoff: 0,
            retransmits: 0,
            paced: Time::NEVER,
        }
    }

    pub(super) fn clear(&mut self) {
        self.pending = None;
    }

    pub(super) fn is_pending(&self, purpose: Purpose) -> bool {
        self.pending == Some(purpose)
    }

    /// When the pending timer is due; `NEVER` for none.
    #[inline]
    fn due(&self, clock: Clock) -> Time {
        match self.pending {
            None => Time::NEVER,
            Some(_) if self.set_at == Time::NEVER => self.slot.expiry,
            Some(_) => self.settled(clock).expiry,
        }
    }

    /// The slot of the timer as set. Set again for the same tick, it keeps its slot, which may be coarser
    /// (`__mod_timer`).
    #[inline(never)]
    fn settled(&self, clock: Clock) -> Slot {
        let set = clock.set(self.set_at, self.set_span);
        let stays = !self.has_moved && self.slot.due == set.due && self.slot.expiry > self.set_at;
        if stays { self.slot } else { set }
    }

    /// The timer is not set again at this instant.
    #[inline]
    pub(super) fn settle(&mut self, clock: Clock) {
        if self.set_at != Time::NEVER {
            self.slot = self.settled(clock);
            self.set_at = Time::NEVER;
        }
    }

    /// A timeout or window probe: increases the backoff.
    fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// There is progress: resets the backoff.
    pub(super) fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Counts a retransmission after a timeout.
    pub(super) fn count_timeout(&mut self) {
        self.retransmits = self.retransmits.saturating_add(1);
    }

    fn set(&mut self, purpose: Purpose, clock: Clock, now: Time, span: Time) {
        let span = span.min(LARGEST_RTO);
        self.pending = Some(purpose);
        if self.set_at == now && clock.tells_apart(span, self.set_span) {
            self.has_moved = true;
        } else if self.set_at != now || span != self.set_span {
            self.settle(clock);
            (self.set_at, self.has_moved) = (now, false);
        }
        self.set_span = span;
    }

    pub(super) fn set_retransmit(&mut self, clock: Clock, now: Time, span: Time) {
        self.set(Purpose::Retransmit, clock, now, span);
    }

    pub(super) fn set_reordering(&mut self, clock: Clock, now: Time, wait_us: u64) {
        let span = from_us(wait_us + LEAST_TIMEOUT_US);
        self.set(Purpose::Reordering, clock, now, span);
    }
}

impl Sender {
    /// Time of the next `on_timer`; `NEVER` for none.
    #[inline]
    pub fn next_timer(&self) -> Time {
        let woken = self.small_queue.wake_due();
        let due = self
            .timers
            .due(self.settings.clock)
            .min(self.timers.paced)
            .min(woken);
        if self.phase == Phase::SynSent {
            return due.min(self.rare.handshake.syn_due());
        }
        due
    }

    /// When a retransmission, a reordering timeout or a probe is due, excluding pacing.
    pub fn pending_timer(&self) -> Time {
        self.timers.due(self.settings.clock)
    }

    /// Processes what is due at `now`, if anything; call `poll_transmit` afterwards.
    pub fn on_timer(&mut self, now: Time) {
        // The call may be early, or for something reported since.
        if self.next_timer() > now {
            return;
        }
        self.quiet = PollHint::No;
        self.has_written = false;
        self.small_queue.wake(now);
        if self.timers.paced <= now {
            self.timers.paced = Time::NEVER;
            // When pacing allows, lost packets go first again, also after F-RTO's new data (`tcp_tsq_write`).
            self.recovery.goes_first = GoesFirst::Lost;
        }
        self.timers.settle(self.settings.clock);
        if self.timers.slot.expiry > now {
            return;
        }
        let Some(purpose) = self.timers.pending else {
            return;
        };
        match purpose {
            Purpose::Retransmit => self.on_rto(now),
            Purpose::Reordering => self.on_reordering_timeout(now),
            Purpose::LossProbe => self.on_probe_timeout(now),
            Purpose::WindowProbe => self.on_window_probe_timeout(now),
        }
    }

    /// RFC 6298 section 5.4 to 5.6.
    fn on_rto(&mut self, now: Time) {
        self.timers.pending = None;
        if self.board.packets_out() == 0 || self.gives_up(now) {
            return;
        }
        self.rare.statistics.rto_count += 1;
        self.enter_loss(now);
        self.timers.count_timeout();
        self.timers.back_off();
        self.forced = Some(ForcedSegment::Head);
        self.timers.rto = Time(2 * self.timers.rto.0).min(LARGEST_RTO);
        let span = self.clamped_rto(self.timers.rto, now);
        self.timers.set_retransmit(self.settings.clock, now, span);
        self.retransmits_only();
    }

    /// Linux's timers send retransmissions only.
    pub(super) fn retransmits_only(&mut self) {
        if self.settings.is_linux() {
            self.recovery.goes_first = GoesFirst::LostAlone;
        }
    }

    /// Enters loss state (`tcp_enter_loss`).
    fn enter_loss(&mut self, now: Time) {
        let begins = self.recovery.state < CaState::Recovery;
        let snapshot = self.snapshot(now);
        self.lose_all(as_us(now));
        // RFC 5681 section 3.1: the threshold is reduced at the first timeout of a segment. In Linux it is
        // not reduced again if recovery has done so for that window.
        let is_first = self.timers.retransmits == 0;
        let falls_in_recovery = self.recovery.state == CaState::Loss || !self.settings.is_linux();
        if self.recovery.state <= CaState::Disorder
            || self.recovery.point <= self.una
            || (is_first && falls_in_recovery)
        {
            let prior_ssthresh = self.current_ssthresh();
            self.window.prior_cwnd_pkts = self.window.cwnd_pkts;
            self.update_view(now);
            self.cca.on_rto(&mut self.window, &snapshot);
            self.reset_undo(prior_ssthresh);
        }
        let in_flight = self.board.in_flight();
        self.window.set_cwnd(in_flight + 1);
        self.window.acked_since_growth_pkts = 0;
        self.usage.renew(now);
        if self.recovery.state <= CaState::Disorder
            && self.board.sacked_out() >= super::DUPLICATES_THRESHOLD
        {
            self.recovery.reordering_pkts = self
                .recovery
                .reordering_pkts
                .min(super::DUPLICATES_THRESHOLD);
        }
        let snapshot = self.snapshot(now);
        self.cca.on_enter_loss(&mut self.window, &snapshot);
        self.notify_state(CaState::Loss, now);
        self.recovery.enter(CaState::Loss, self.next);
        self.recovery.end_probe();
        self.cwr_due = self.ecn && !self.is_accurate;
        // RFC 5682 section 3.1 step 1, in Linux also section 2.1. Without SACK the profile `rfc` is plain
        // NewReno (RFC 6582).
        let has_frto = self.is_sack() || self.settings.is_linux();
        self.recovery.is_frto = has_frto && (begins || self.timers.retransmits > 0);
    }

    /// RFC 8985 section 7.3: one probe at a time. Its timer counts as pending until another is set, which
    /// then runs from the first packet's send time.
    fn on_probe_timeout(&mut self, now: Time) {
        if self.recovery.has_probe() || self.board.packets_out() == 0 {
            self.rearm_rto(now);
        } else {
            self.forced = Some(ForcedSegment::Probe);
        }
    }

    fn on_window_probe_timeout(&mut self, now: Time) {
        self.timers.pending = None;
        if self.board.packets_out() > 0 || !self.has_unsent() {
            self.end_probing();
        } else if !self.gives_up_probing(now) {
            self.forced = Some(ForcedSegment::WindowProbe);
            self.timers.back_off();
            self.set_window_probe(now);
        }
    }

    /// RFC 9293 section 3.8.6.1.
    pub(super) fn set_window_probe(&mut self, now: Time) {
        let base = self
            .timers
            .rto
            .max(Time::from_ns(self.settings.tcp.min_rto_ns));
        let span = Time(base.0 << self.timers.backoff.min(10)).min(LARGEST_RTO);
        let (clock, held) = (self.settings.clock, self.held_by_pacing(now));
        let span = self.clamped_probe(span, now);
        self.timers
            .set(Purpose::WindowProbe, clock, now, span + held);
    }

    /// Whole ticks until the pacing rate allows the next packet, by TCP's timer or the host's queue. All
    /// timers except timeouts and reordering are extended by them (`tcp_pacing_delay`).
    fn held_by_pacing(&self, now: Time) -> Time {
        let is_timed = self.pacing.has_timer() && self.settings.is_linux();
        if !is_timed && !self.pacing.is_by_host_queue() {
            return Time::ZERO;
        }
        let tick_ns = NS_PER_S / u64::from(self.settings.timer_hz);
        let held = self.pacing.earliest_departure(now).saturating_sub(now);
        Time::from_ns(held.as_ns() / tick_ns * tick_ns)
    }

    /// An acknowledgement has arrived with nothing outstanding: checks whether the window is open.
    pub(super) fn on_window_of_idle(&mut self, now: Time) {
        if !self.has_unsent() {
            return;
        }
        if self.first_fits() {
            self.timers.end_backoff();
            self.end_probing();
            if self.timers.is_pending(Purpose::WindowProbe) {
                self.timers.pending = None;
            }
        } else {
            self.set_window_probe(now);
        }
    }

    /// With nothing outstanding, and the window closed or the rest corked: starts probing.
    pub(super) fn watch_window(&mut self, now: Time) {
        let is_stuck = self.board.packets_out() == 0
            && self.has_unsent()
            && (!self.next_fits() || self.corks_next());
        if is_stuck && self.timers.pending.is_none() {
            self.set_window_probe(now);
        }
    }

    /// Restarts the retransmission timer (RFC 6298 section 5.3). After another timer it runs from the first
    /// packet's send time.
    pub(super) fn rearm_rto(&mut self, now: Time) {
        let Some(head) = self.board.first() else {
            self.timers.pending = None;
            return;
        };
        let mut span = self.timers.rto;
        if self.timers.is_pending(Purpose::Reordering) || self.timers.is_pending(Purpose::LossProbe)
        {
            let due_us = head.sent_us + as_us(span);
            span = from_us(due_us.saturating_sub(as_us(now)).max(1));
        }
        let (clock, held) = (self.settings.clock, self.held_by_pacing(now));
        self.timers.set_retransmit(clock, now, span + held);
    }

    /// As `rearm_rto`, from now.
    pub(super) fn restart_rto(&mut self, now: Time) {
        let (clock, held) = (self.settings.clock, self.held_by_pacing(now));
        self.timers
            .set_retransmit(clock, now, self.timers.rto + held);
    }

    pub(super) fn forget_timer(&mut self) {
        self.timers.pending = None;
    }

    /// After progress: sets a loss probe, or the retransmission timeout.
    pub(super) fn set_timer(&mut self, now: Time) {
        if !self.schedule_probe(true, now) {
            self.rearm_rto(now);
        }
    }

    /// RFC 8985 section 7 requires RACK, Linux only SACK (`tcp_schedule_loss_probe`).
    fn probes_tail(&self) -> bool {
        let can = if self.settings.is_linux() {
            self.is_sack()
        } else {
            self.is_rack()
        };
        self.probes && can
    }

    /// RFC 8985 section 7.2. Returns whether a probe is scheduled. With `advances` the retransmission timeout
    /// would start now.
    pub(super) fn schedule_probe(&mut self, advances: bool, now: Time) -> bool {
        let is_calm = matches!(self.recovery.state, CaState::Open | CaState::Cwr);
        if !self.probes_tail() || self.board.packets_out() == 0 || !is_calm {
            return false;
        }
        let srtt_8us = self.rtt.srtt_8us();
        let mut span = if srtt_8us == 0 {
            INITIAL_RTO
        } else {
            let delay_us = if self.board.packets_out() == 1 {
                self.settings.tcp.min_rto_ns / 1000
            } else {
                LEAST_TIMEOUT_US
            };
            from_us((srtt_8us >> 2) + delay_us)
        };
        let rto = self.timers.rto;
        let left = if advances {
            rto
        } else {
            let head_us = self.board.first().map_or(0, |head| head.sent_us);
            from_us((head_us + as_us(rto)).saturating_sub(as_us(now)))
        };
        if left > Time::ZERO {
            span = span.min(left);
        }
        let (clock, held) = (self.settings.clock, self.held_by_pacing(now));
        self.timers.set(Purpose::LossProbe, clock, now, span + held);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the kernel has it: each time it is set, at once (`__mod_timer`).
    struct SetAtOnce(Slot);

    impl SetAtOnce {
        fn set(&mut self, clock: Clock, now: Time, span: Time) {
            let set = clock.set(now, span.min(LARGEST_RTO));
            if self.0.due != set.due || self.0.expiry <= now {
                self.0 = set;
            }
        }
    }

    proptest! {
        /// Often for the same ticks, which slots of eight ticks hold when they are far and slots of one when
        /// they are near.
        #[test]
        fn what_is_set_several_times_in_an_instant_lies_where_the_kernel_has_it(
            clock in prop::sample::select(vec![Clock::wheel(1000), Clock::wheel(250), Clock::Exact]),
            instants in prop::collection::vec(
                (0u64..30_000_000, prop::collection::vec((1u64..4, 0u64..3), 1..4)),
                1..40,
            ),
            is_settled: bool,
        ) {
            let mut timers = Timers::new(INITIAL_RTO);
            let mut kernel = SetAtOnce(timers.slot);
            let mut now = Time::ZERO;
            for (gap_ns, spans) in instants {
                now += Time::from_ns(gap_ns);
                for (later, apart) in spans {
                    let hundred_ms = now.as_ns() / 100_000_000 + later;
                    let due = Time::from_ns(100_000_000 * hundred_ms + 700_000 * apart);
                    let span = due - now;
                    timers.set(Purpose::LossProbe, clock, now, span);
                    kernel.set(clock, now, span);
                }
                prop_assert_eq!(timers.due(clock), kernel.0.expiry);
                if is_settled {
                    timers.settle(clock);
                    prop_assert_eq!(timers.slot, kernel.0);
                }
            }
        }
    }
}
