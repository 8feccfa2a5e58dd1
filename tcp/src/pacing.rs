//! Pacing: the spacing of segments, if a controller or the description requests it.
//!
//! As in Linux (net/ipv4/tcp_output.c, `tcp_update_skb_after_send`): after a packet, the next may leave when
//! this one has been sent at the pacing rate; lateness is compensated by at most half a packet. The first ten
//! packets are not paced. The rate is the controller's own (BBR), or 200 % of window over round-trip time in
//! slow start and 120 % after it (`tcp_update_pacing_rate`; `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
//!
//! | pacing by (`sk_pacing_status`) | packets are sent | packets leave |
//! | --- | --- | --- |
//! | none (`SK_PACING_NONE`) | when the windows allow | then |
//! | TCP's timer, if the controller requests pacing (`SK_PACING_NEEDED`) | when the pacing rate allows, or another timer sends them | then |
//! | `fq` at its host, with any controller (`SK_PACING_FQ`, from the first packet on) | when the windows and small queues allow | not before their departure time |
//!
//! TCP computes round-trip times and timers from the departure time of packets (`skb_mstamp_ns`): the time at
//! which the pacing rate allows them, even if a timeout or probe sends them earlier.

use crate::cca::Window;
use dumbbell_core::time::Time;

/// Number of packets at the start of a connection that are not paced.
const NOT_PACED_PKTS: u64 = 10;
/// Pacing rate as a percentage of window per round-trip time.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
const NS_PER_S: u64 = 1_000_000_000;

/// Where pacing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacedBy {
    /// Nowhere.
    Nobody,
    /// In the sender, which waits.
    Timer,
    /// In the queue of its host, which holds packets until their departure time.
    HostQueue,
}

/// The state of one sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Pacing {
    by: PacedBy,
    /// Earliest departure of the next packet, nanoseconds.
    next_ns: u64,
    /// The part of it due to the last packet.
    last_ns: u64,
}

impl Pacing {
    /// The initial state.
    pub fn new(by: PacedBy) -> Pacing {
        Pacing {
            by,
            next_ns: 0,
            last_ns: 0,
        }
    }

    /// Whether packets are paced at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.by != PacedBy::Nobody
    }

    /// Whether the sender waits itself.
    #[inline]
    pub fn has_timer(&self) -> bool {
        self.by == PacedBy::Timer
    }

    /// Whether packets carry an earliest departure time.
    #[inline]
    pub fn is_by_host_queue(&self) -> bool {
        self.by == PacedBy::HostQueue
    }

    /// When the next packet may be sent, if later than `now`.
    #[inline]
    pub fn not_before(&self, now: Time) -> Option<Time> {
        (self.has_timer() && self.next_ns > now.as_ns()).then(|| Time::from_ns(self.next_ns))
    }

    /// Earliest departure of a packet that is sent `now`; for data the one of the last `on_send`.
    #[inline]
    pub fn departure(&self, now: Time, is_data: bool) -> Time {
        if self.is_by_host_queue() {
            self.stamp(now, is_data)
        } else {
            now
        }
    }

    /// Timestamp carried by a packet that is sent `now`; for data the one of the last `on_send`.
    #[inline]
    pub fn stamp(&self, now: Time, is_data: bool) -> Time {
        if !self.is_on() {
            return now;
        }
        let spacing_ns = if is_data { self.last_ns } else { 0 };
        now.max(Time::from_ns(self.next_ns - spacing_ns))
    }

    /// Earliest departure of any packet.
    pub fn earliest_departure(&self, now: Time) -> Time {
        Time::from_ns(self.next_ns.max(now.as_ns()))
    }

    /// Departure of the last packet, or the next possible departure; `sent` is the last send time.
    pub fn last_departure(&self, sent: Option<Time>) -> Option<Time> {
        sent.map(|sent| match self.is_on() {
            true => sent.max(Time::from_ns(self.next_ns)),
            false => sent,
        })
    }

    /// The packet sent last was not sent after all.
    pub fn take_back(&mut self) {
        self.next_ns -= std::mem::take(&mut self.last_ns);
    }

    /// A packet has been sent, after `sent_before_pkts` earlier ones.
    pub fn on_send(
        &mut self,
        now: Time,
        payload_bytes: u32,
        rate_bytes_per_s: u64,
        sent_before_pkts: u64,
    ) {
        if !self.is_on() {
            return;
        }
        let previous_ns = self.next_ns;
        self.next_ns = self.next_ns.max(now.as_ns());
        self.last_ns = 0;
        if rate_bytes_per_s == 0 || sent_before_pkts + 1 < NOT_PACED_PKTS {
            return;
        }
        let length_ns = u64::from(payload_bytes) * NS_PER_S / rate_bytes_per_s;
        let credit_ns = self.next_ns - previous_ns;
        let added_ns = length_ns - (length_ns / 2).min(credit_ns);
        self.next_ns += added_ns;
        self.last_ns = added_ns;
    }
}

/// Pacing rate for a controller without its own, bytes per second; 0 before the first round-trip time.
pub fn rate_bytes_per_s(window: &Window, packets_out: u32, srtt_8us: u64) -> u64 {
    if srtt_8us == 0 {
        return 0;
    }
    let percent = if window.cwnd_pkts < window.ssthresh_pkts / 2 {
        SLOW_START_PERCENT
    } else {
        AVOIDANCE_PERCENT
    };
    let pkts = u64::from(window.cwnd_pkts.max(packets_out));
    let per_hundred = u64::from(window.mss_bytes) * (1_000_000 / 100) * 8;
    // A script may set any window: a rate above that of any link means no limit.
    (per_hundred * percent).saturating_mul(pkts) / srtt_8us
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_a_multiple_of_window_over_round_trip_time() {
        let mut window = Window::new(10, 1000);
        // 10 kB in 80 ms is 125 kB/s.
        let srtt_8us = 80_000 * 8;
        assert_eq!(rate_bytes_per_s(&window, 10, srtt_8us), 250_000);
        window.ssthresh_pkts = 12;
        assert_eq!(rate_bytes_per_s(&window, 10, srtt_8us), 150_000);
        assert_eq!(rate_bytes_per_s(&window, 10, 0), 0);
        window.cwnd_pkts = u32::MAX;
        assert_eq!(rate_bytes_per_s(&window, 10, 8), u64::MAX / 8);
    }

    #[test]
    fn packets_after_the_tenth_are_spaced() {
        let mut pacing = Pacing::new(PacedBy::Timer);
        let now = Time::from_ns(1_000_000);
        for sent in 0..9 {
            pacing.on_send(now, 1000, 1_000_000, sent);
            assert_eq!(pacing.not_before(now), None);
        }
        // 1 ms each.
        pacing.on_send(now, 1000, 1_000_000, 9);
        assert_eq!(pacing.not_before(now), Some(Time::from_ns(2_000_000)));
        // 0.2 ms late: made up for.
        pacing.on_send(Time::from_ns(2_200_000), 1000, 1_000_000, 10);
        let next = pacing.not_before(Time::from_ns(2_200_000));
        assert_eq!(next, Some(Time::from_ns(3_000_000)));
        // 2 ms late: half a packet is made up for.
        pacing.on_send(Time::from_ns(5_000_000), 1000, 1_000_000, 11);
        let next = pacing.not_before(Time::from_ns(5_000_000));
        assert_eq!(next, Some(Time::from_ns(5_500_000)));
    }

    #[test]
    fn a_host_s_queue_is_told_when_a_packet_may_leave() {
        let mut pacing = Pacing::new(PacedBy::HostQueue);
        let now = Time(1_000_000_700);
        pacing.on_send(now, 1000, 1_000_000, 8);
        pacing.on_send(now, 1000, 1_000_000, 9);
        assert_eq!(pacing.not_before(now), None);
        assert_eq!(pacing.departure(now, true), now, "not cut to nanoseconds");
        // What only acknowledges is behind it, a later one too.
        assert_eq!(pacing.departure(now, false), Time::from_ns(2_000_000));
        pacing.on_send(now, 1000, 1_000_000, 10);
        assert_eq!(pacing.departure(now, true), Time::from_ns(2_000_000));
        assert_eq!(pacing.earliest_departure(now), Time::from_ns(3_000_000));
        pacing.take_back();
        assert_eq!(pacing.earliest_departure(now), Time::from_ns(2_000_000));
        assert_eq!(Pacing::new(PacedBy::Timer).departure(now, false), now);
    }

    /// Another timer sends at once, and what it sends carries the time at which the rate lets it go.
    #[test]
    fn what_a_timeout_sends_carries_a_later_time() {
        let mut pacing = Pacing::new(PacedBy::Timer);
        let now = Time::from_ns(1_000_000);
        for sent in 8..11 {
            pacing.on_send(now, 1000, 1_000_000, sent);
        }
        assert_eq!(pacing.departure(now, true), now);
        assert_eq!(pacing.stamp(now, true), Time::from_ns(2_000_000));
        assert_eq!(pacing.stamp(now, false), Time::from_ns(3_000_000));
        let late = Time::from_ns(4_000_000);
        assert_eq!(pacing.stamp(late, false), late);
        assert_eq!(Pacing::new(PacedBy::Nobody).stamp(now, true), now);
    }
}
