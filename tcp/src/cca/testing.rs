//! Events for the tests of controllers.

use super::{Ack, CaState, INFINITE_SSTHRESH, Options, RateSample, Snapshot, Window};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// Whole milliseconds.
pub const fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

/// HyStart on, no pacing, 1000 Hz.
pub fn options(profile: Profile) -> Options {
    Options {
        profile,
        hystart: true,
        is_paced: false,
        timer_hz: 1000,
        sack: true,
        stream: Stream::new(1, 0, "controller"),
        rtt_independence: true,
        cwnd_changes: Vec::new(),
        module: None,
    }
}

/// A window of the given number of packets, in congestion avoidance.
pub fn window(cwnd_pkts: u32, mss_bytes: u32) -> Window {
    Window {
        ssthresh_pkts: 2,
        ..Window::new(cwnd_pkts, mss_bytes)
    }
}

/// The same before any loss.
pub fn fresh_window(cwnd_pkts: u32) -> Window {
    assert_eq!(
        Window::new(cwnd_pkts, 1448).ssthresh_pkts,
        INFINITE_SSTHRESH
    );
    Window::new(cwnd_pkts, 1448)
}

/// An acknowledgement of `acked_pkts` in order, `rtt` after they were sent.
pub fn ack(now: Time, acked_pkts: u32, rtt: Time) -> Ack {
    Ack {
        marked_pkts: 0,
        now,
        acked_pkts,
        cleaned_pkts: acked_pkts,
        newly_delivered_pkts: acked_pkts,
        rtt: Some(rtt),
        srtt: Some(rtt),
        min_rtt: Some(rtt),
        in_flight_pkts: 0,
        is_cwnd_limited: true,
        is_window_full: true,
        state: CaState::Open,
        una_pkts: 0,
        next_pkts: 0,
        delivered_pkts: 0,
        delivered_time: now,
        lost_pkts: 0,
        earliest_departure: now,
        rate: RateSample {
            rtt: Some(rtt),
            ..RateSample::none(acked_pkts)
        },
    }
}

/// A connection at `now` with nothing else to tell.
pub fn snapshot(now: Time) -> Snapshot {
    Snapshot {
        now,
        in_flight_pkts: 0,
        next_pkts: 0,
        flight_size_pkts: 0,
        is_app_limited: false,
        srtt: None,
        min_rtt: None,
        delivered_pkts: 0,
        delivered_time: now,
        lost_pkts: 0,
    }
}
