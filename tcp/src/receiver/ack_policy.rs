//! When to send acknowledgements.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 5681 section 4.2, every second full segment | every `ack_every`th |
//! | RFC 5681 section 4.2, within 500 ms | `linux-6.1`: after 40 ms or more, depending on the gaps between segments; `rfc`: 200 ms |
//! | RFC 5681 section 4.2, at once when a gap appears or is filled | yes; `linux-6.1` from the fourth on at most every millisecond or twentieth of a round-trip time (`tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`) |
//! | Linux, quick acknowledgements | up to 16 at the start, after duplicates and long pauses |
//! | Linux, the end of a write (PSH) | acknowledged when the application has read it |
//! | Linux, after a FIN or own data (`pingpong`) | not at once for these reasons: a segment of this end may carry it |
//!
//! After net/ipv4/tcp_input.c (`__tcp_ack_snd_check`, `tcp_event_data_recv`,
//! `tcp_measure_rcv_mss`) and net/ipv4/tcp_output.c (`tcp_send_delayed_ack`).

use super::window::ReceiveWindow;
use crate::Settings;
use crate::rtt::INITIAL_RTO;
use crate::segment::{Flags, Header};
use dumbbell_core::time::Time;

/// Largest number of quick acknowledgements (`TCP_MAX_QUICKACKS`).
const MOST_QUICK: u8 = 16;
/// Minimum delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`).
const LEAST_DELAY: Time = Time::from_ns(40_000_000);
/// Maximum delay at the end of a write (`TCP_DELACK_MAX`), and the delay of the profile `rfc`.
const LARGEST_DELAY: Time = Time::from_ns(200_000_000);
/// Number of duplicate acknowledgements sent without compression (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES_AT_ONCE: u32 = 3;
/// Largest number of compressed duplicate acknowledgements (`tcp_comp_sack_nr`).
const MOST_HELD_BACK: u8 = 44;
/// Maximum compression delay (`tcp_comp_sack_delay_ns`), nanoseconds.
const HELD_BACK_NS: u64 = 1_000_000;
/// Slack of that timer (`tcp_comp_sack_slack_ns`).
const SLACK_NS: u64 = 100_000;
/// Assumed segment size before the first segment (`TCP_MSS_DEFAULT`).
const DEFAULT_SEGMENT_BYTES: u32 = 536;

/// State after a segment was received.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DataProgress {
    /// Bytes in order not acknowledged yet.
    pub(super) pending: u64,
    /// The next expected byte.
    pub(super) next: u64,
    /// Whether there is a gap.
    pub(super) has_gap: bool,
}

/// The state that every segment uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AckPolicy {
    /// Whether an acknowledgement is pending.
    is_scheduled: bool,
    /// Whether the protocol requires it now (`ICSK_ACK_NOW`).
    pub(super) is_due: bool,
    /// Whether it has been decided to send it now.
    send_now: bool,
    /// Whether a small or last segment of a write has arrived; and a second one.
    pushed: (bool, bool),
    /// Interactive mode (`pingpong`): acknowledgements wait for data of this end, because it answers, or the
    /// other end has sent its FIN.
    is_interactive: bool,
    /// Remaining quick acknowledgements.
    quick: u8,
    /// Largest segment received (`rcv_mss`).
    segment_bytes: u32,
    last_small_bytes: u32,
    /// Number of compressed duplicate acknowledgements, and until when.
    held_back: u8,
    held_until: Time,
    /// Delay of acknowledgements (`ato`); zero before the first data.
    delay: Time,
    last_data: Time,
    /// When the delayed acknowledgement is due; `NEVER` for none.
    timer_due: Time,
    /// Last expiry of its timer; `NEVER` before the first.
    timer_expiry: Time,
    rto: Time,
    /// Round-trip time of the handshake; `NEVER` before it.
    srtt: Time,
}

/// Duplicate acknowledgements of the same number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Duplicates {
    next: u64,
    count: u32,
}

impl AckPolicy {
    pub(super) fn new(settings: &Settings) -> AckPolicy {
        AckPolicy {
            is_scheduled: false,
            is_due: false,
            send_now: false,
            pushed: (false, false),
            is_interactive: false,
            quick: 0,
            segment_bytes: DEFAULT_SEGMENT_BYTES.min(settings.mss_bytes),
            last_small_bytes: 0,
            held_back: 0,
            held_until: Time::NEVER,
            delay: Time::ZERO,
            last_data: Time::ZERO,
            timer_due: Time::NEVER,
            timer_expiry: Time::NEVER,
            rto: INITIAL_RTO,
            srtt: Time::NEVER,
        }
    }

    pub(super) fn set_round_trip(&mut self, srtt: Option<Time>, rto: Time) {
        (self.srtt, self.rto) = (srtt.unwrap_or(Time::NEVER), rto);
    }

    /// Largest payload of a segment so far.
    pub(super) fn segment_bytes(&self) -> u32 {
        self.segment_bytes
    }

    /// Whether duplicate acknowledgements are being compressed.
    pub(super) fn is_holding_back(&self) -> bool {
        self.held_back > 0
    }

    /// Schedules an acknowledgement.
    pub(super) fn schedule(&mut self) {
        self.is_scheduled = true;
    }

    /// Data has arrived in order.
    #[inline(always)]
    pub(super) fn on_data(
        &mut self,
        settings: &Settings,
        segment: &Header,
        window: &ReceiveWindow,
        now: Time,
    ) {
        self.schedule();
        self.measure_segment(settings, segment);
        let now = settings.clock.last_tick(now);
        let gap = now.saturating_sub(self.last_data);
        self.last_data = now;
        if self.delay == Time::ZERO {
            self.add_quick(MOST_QUICK, window);
            self.delay = LEAST_DELAY;
        } else if gap.0 <= LEAST_DELAY.0 / 2 {
            self.delay = Time((self.delay.0 + LEAST_DELAY.0) / 2);
        } else if gap < self.delay {
            self.delay = (Time(self.delay.0 / 2) + gap).min(self.rto);
        } else if gap > self.rto {
            // The sender has probably restarted with a small window.
            self.add_quick(MOST_QUICK, window);
        }
    }

    /// Measures the size of a full segment, and detects the ends of writes.
    fn measure_segment(&mut self, settings: &Settings, segment: &Header) {
        let bytes = segment.payload_bytes;
        let last_small = std::mem::take(&mut self.last_small_bytes);
        if bytes >= self.segment_bytes {
            self.segment_bytes = bytes.min(settings.mss_bytes);
            self.pushed.0 |= segment.flags.has(Flags::PSH);
            return;
        }
        if bytes >= DEFAULT_SEGMENT_BYTES {
            self.last_small_bytes = bytes;
            if bytes == last_small {
                self.segment_bytes = bytes;
                return;
            }
        }
        self.pushed = (true, self.pushed.0);
    }

    fn add_quick(&mut self, most: u8, window: &ReceiveWindow) {
        let segments = window.last_offered() / (2 * u64::from(self.segment_bytes.max(1)));
        let quick = if segments == 0 { 2 } else { segments };
        self.quick = self.quick.max(quick.min(u64::from(most)) as u8);
    }

    /// Acknowledges every segment for a while: after a disturbance, or while the sender starts.
    pub(super) fn enter_quick_mode(&mut self, settings: &Settings, window: &ReceiveWindow) {
        self.enter_quick_mode_for(MOST_QUICK, settings, window);
    }

    pub(super) fn enter_quick_mode_for(
        &mut self,
        most: u8,
        settings: &Settings,
        window: &ReceiveWindow,
    ) {
        if settings.is_linux() {
            self.add_quick(most, window);
            self.is_interactive = false;
            self.delay = LEAST_DELAY;
        } else {
            self.is_due = true;
        }
    }

    /// The other end's FIN has arrived (`tcp_fin`).
    pub(super) fn on_fin(&mut self, settings: &Settings) {
        self.is_interactive = settings.is_linux();
    }

    /// This end sends data; soon after a segment they count as an answer (`tcp_event_data_sent`).
    pub(super) fn on_own_data(&mut self, settings: &Settings, now: Time) {
        let since = settings.clock.last_tick(now).saturating_sub(self.last_data);
        self.is_interactive |= settings.is_linux() && since < self.delay;
    }

    /// The window has grown: the sender should learn of it soon.
    pub(super) fn allow_quick(&mut self) {
        self.quick |= 1;
    }

    /// A segment has been received: decides whether to acknowledge now. `keeps_up` says whether an
    /// acknowledgement would offer at least as much window as the last. Returns whether it is due now.
    #[inline(always)]
    pub(super) fn check(
        &mut self,
        settings: &Settings,
        entered: DataProgress,
        keeps_up: impl FnOnce() -> bool,
        rtt_8us: u64,
        duplicates: &mut Duplicates,
        now: Time,
    ) -> bool {
        if !self.is_scheduled {
            return false;
        }
        let is_quick = settings.is_linux() && self.quick > 0 && !self.is_interactive;
        // Otherwise reading opens the window and acknowledges.
        let is_enough =
            || self.is_enough(settings, entered.pending) && (!settings.is_linux() || keeps_up());
        if !settings.tcp.delayed_ack || is_quick || self.is_due || is_enough() {
            self.send_now = true;
        } else if entered.has_gap {
            self.check_duplicate(settings, entered.next, rtt_8us, duplicates, now);
        } else {
            self.wait(settings, now);
        }
        self.send_now
    }

    /// Whether more full segments are unacknowledged than allowed.
    fn is_enough(&self, settings: &Settings, pending: u64) -> bool {
        let full = u64::from(self.segment_bytes) * u64::from(settings.tcp.ack_every - 1);
        pending > full && pending > 0
    }

    /// With a gap: acknowledges at once, with compression.
    fn check_duplicate(
        &mut self,
        settings: &Settings,
        next: u64,
        rtt_8us: u64,
        duplicates: &mut Duplicates,
        now: Time,
    ) {
        let may_hold_back = settings.is_linux() && settings.tcp.sack;
        if !may_hold_back || self.held_back >= MOST_HELD_BACK {
            self.send_now = true;
            return;
        }
        if duplicates.next != next {
            *duplicates = Duplicates { next, count: 0 };
        }
        if duplicates.count < DUPLICATES_AT_ONCE {
            duplicates.count += 1;
            self.send_now = true;
            return;
        }
        self.held_back += 1;
        if self.held_until == Time::NEVER {
            let srtt_8us = match self.srtt {
                Time::NEVER => u64::MAX,
                srtt => srtt.as_ns() / 125,
            };
            let twentieth_ns = rtt_8us.min(srtt_8us) * 125 / 20;
            self.held_until = now + Time::from_ns(twentieth_ns.min(HELD_BACK_NS) + SLACK_NS);
            // The timer of a delayed acknowledgement continues after that was sent, and also ends the
            // compression (`tcp_delack_timer_handler`).
            if self.timer_expiry > now {
                self.held_until = self.held_until.min(self.timer_expiry);
            }
        }
    }

    fn wait(&mut self, settings: &Settings, now: Time) {
        let clock = settings.clock;
        // Usually data has just arrived.
        let tick = clock.last_tick_since(self.last_data, now);
        let is_linux = settings.is_linux();
        let delay = if is_linux {
            self.linux_delay(settings)
        } else {
            LARGEST_DELAY
        };
        let is_soon = self.timer_due <= tick + Time(delay.0 / 4);
        if is_linux && is_soon {
            self.send_now = true;
            return;
        }
        self.timer_due = self.timer_due.min(tick + delay);
        let span = self.timer_due.saturating_sub(tick);
        self.timer_expiry = clock.expiry_after(tick, span);
    }

    fn linux_delay(&self, settings: &Settings) -> Time {
        let mut delay = self.delay;
        if delay > LEAST_DELAY {
            let mut most = if self.pushed.0 || self.is_interactive {
                LARGEST_DELAY
            } else {
                Time::from_ns(500_000_000)
            };
            if self.srtt != Time::NEVER {
                most = most.min(settings.clock.span(self.srtt).max(LEAST_DELAY));
            }
            delay = delay.min(most);
        }
        delay.min(LARGEST_DELAY)
    }

    /// The application has read everything.
    pub(super) fn on_read(&mut self, settings: &Settings, pending: u64) {
        self.send_now |= self.is_acknowledged_by_reading(settings, pending);
    }

    /// Whether reading causes an acknowledgement that is not due yet.
    #[inline(always)]
    pub(super) fn waits_for_reading(&self, settings: &Settings, pending: u64) -> bool {
        !self.send_now && self.is_acknowledged_by_reading(settings, pending)
    }

    #[inline(always)]
    fn is_acknowledged_by_reading(&self, settings: &Settings, pending: u64) -> bool {
        if !self.is_scheduled || !settings.is_linux() || !settings.tcp.delayed_ack {
            return false;
        }
        let is_pushed = self.pushed.1 || (self.pushed.0 && !self.is_interactive);
        is_pushed || self.is_enough(settings, pending)
    }

    /// An acknowledgement is sent.
    pub(super) fn on_sent(&mut self) {
        if self.quick > 0 && self.is_scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = LEAST_DELAY;
            }
        }
        self.is_scheduled = false;
        self.is_due = false;
        self.send_now = false;
        self.pushed = (false, false);
        self.timer_due = Time::NEVER;
        self.held_back = 0;
        self.held_until = Time::NEVER;
    }

    /// Whether one must be sent now; clears it.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.send_now)
    }

    /// When the next one is due.
    #[inline]
    pub(super) fn due(&self) -> Time {
        let is_delayed = self.timer_due != Time::NEVER;
        let timer = if is_delayed {
            self.timer_expiry
        } else {
            Time::NEVER
        };
        timer.min(self.held_until)
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if self.held_until <= now {
            self.send_now = true;
        }
        if self.timer_due != Time::NEVER && self.timer_expiry <= now {
            self.timer_due = Time::NEVER;
            if self.is_scheduled {
                // The timer expired in vain: wait longer next time, or leave interactive mode.
                self.delay = if std::mem::take(&mut self.is_interactive) {
                    LEAST_DELAY
                } else {
                    Time(2 * self.delay.0).min(self.rto)
                };
                self.send_now = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::Algorithm;
    use dumbbell_spec::Tcp;

    /// After gaps of the given ticks the delay has this length, and this number of quick acknowledgements are
    /// added (`tcp_event_data_recv`): at most 20 ms, less than the delay, more than a timeout.
    #[test]
    fn gaps_are_told_apart_in_ticks() {
        let settings = Settings::new(Tcp::linux("reno"), Algorithm::Reno, 1500, 1000);
        let window = ReceiveWindow::new(&settings);
        let segment = Header {
            payload_bytes: 1000,
            ..Header::default()
        };
        let us = |us: u64| Time::from_ns(1000 * us);
        let start = us(1_000_300);
        for (gap_us, delay_us, quick) in [
            (19_700, 50_000, 0),
            (20_699, 50_000, 0),
            (20_700, 51_000, 0),
            (59_699, 89_000, 0),
            (59_700, 60_000, 0),
            (200_699, 60_000, 0),
            (200_700, 60_000, 16),
        ] {
            let mut acknowledging = AckPolicy::new(&settings);
            acknowledging.delay = us(60_000);
            acknowledging.rto = us(200_000);
            acknowledging.last_data = settings.clock.last_tick(start);
            acknowledging.on_data(&settings, &segment, &window, start + us(gap_us));
            let found = (acknowledging.delay, acknowledging.quick);
            assert_eq!(found, (us(delay_us), quick), "{gap_us} us");
        }
    }
}
