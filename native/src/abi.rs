//! The C interface of `dumbbell_cc.h`, field by field.
//!
//! Function pointers may be null. The fields have the names and order of the header;
//! `tests/interface.rs` checks this with a controller that echoes every field.

use dumbbell_core::time::Time;
use dumbbell_tcp::cca::external::{AckBegins, Acked, SenderView};
use dumbbell_tcp::cca::{self, CaState};
use std::ffi::{c_char, c_int, c_void};

/// `DUMBBELL_CC_VERSION`.
pub const VERSION: u32 = 2;
/// Versions that can be loaded. Version 2 appends its additional fields to the structures.
pub const LOADED_VERSIONS: std::ops::RangeInclusive<u32> = 1..=VERSION;
/// `DUMBBELL_CC_NONE`.
pub const NONE: u64 = u64::MAX;
/// `DUMBBELL_CC_MOST_STATE_BYTES`.
pub const MOST_STATE_BYTES: u32 = 65_536;
/// Maximum number of parameters of a controller.
pub const MOST_PARAMETERS: u32 = 64;

/// `struct dumbbell_cc_window`.
#[repr(C)]
pub struct Window {
    pacing_rate_bytes_per_s: u64,
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
    cwnd_clamp_pkts: u32,
    acked_since_growth_pkts: u32,
    prior_cwnd_pkts: u32,
    mss_bytes: u32,
}

/// `struct dumbbell_cc_rate_sample`.
#[repr(C)]
pub struct RateSample {
    delivered_pkts: i64,
    prior_delivered_pkts: u64,
    prior_time_ns: u64,
    interval_ns: u64,
    rtt_ns: u64,
    losses_pkts: u32,
    prior_in_flight_pkts: u32,
    acked_sacked_pkts: u32,
    is_app_limited: bool,
    is_ack_delayed: bool,
}

/// `struct dumbbell_cc_rtt_sample`.
#[repr(C)]
pub struct RttSample {
    now_ns: u64,
    rtt_ns: u64,
    una_pkts: u64,
    next_pkts: u64,
    is_echo: bool,
}

/// `struct dumbbell_cc_ack`.
#[repr(C)]
pub struct Ack {
    now_ns: u64,
    rtt_ns: u64,
    srtt_ns: u64,
    min_rtt_ns: u64,
    una_pkts: u64,
    next_pkts: u64,
    delivered_pkts: u64,
    delivered_time_ns: u64,
    lost_pkts: u64,
    earliest_departure_ns: u64,
    acked_pkts: u32,
    newly_delivered_pkts: u32,
    in_flight_pkts: u32,
    state: u32,
    is_cwnd_limited: bool,
    rate: RateSample,
}

/// `struct dumbbell_cc_snapshot`.
#[repr(C)]
pub struct Snapshot {
    now_ns: u64,
    srtt_ns: u64,
    min_rtt_ns: u64,
    delivered_pkts: u64,
    delivered_time_ns: u64,
    lost_pkts: u64,
    in_flight_pkts: u32,
    flight_size_pkts: u32,
    is_app_limited: bool,
}

/// `struct dumbbell_cc_flow`.
#[repr(C)]
pub struct Flow {
    pub state: *mut c_void,
    pub window: *mut Window,
    pub stream: *mut c_void,
    pub below: unsafe extern "C" fn(*mut c_void, u32) -> u32,
    pub timer_hz: u32,
    pub is_linux: bool,
    pub hystart: bool,
    pub is_paced: bool,
    pub sender: *const SenderView,
    pub requests_reduction: bool,
    pub requests_limited: bool,
}

/// `struct dumbbell_cc_parameter`.
#[repr(C)]
pub struct Parameter {
    pub name: *const c_char,
    pub address: *mut c_void,
    pub bytes: u32,
    pub is_signed: bool,
    pub least: i64,
    pub most: i64,
}

/// `dumbbell_cc_on`.
pub type EventFn = unsafe extern "C" fn(*mut Flow, *const Snapshot);

/// `struct dumbbell_cc_ops`.
#[repr(C)]
pub struct Ops {
    pub version: u32,
    pub state_bytes: u32,
    pub send_buffer_windows: u32,
    pub owns_recovery: bool,
    pub wants_pacing: bool,
    pub name: *const c_char,
    pub init: Option<EventFn>,
    pub on_ack: Option<unsafe extern "C" fn(*mut Flow, *const Ack)>,
    pub on_loss: Option<EventFn>,
    pub on_rtt: Option<unsafe extern "C" fn(*mut Flow, *const RttSample)>,
    pub on_rto: Option<EventFn>,
    pub on_enter_loss: Option<EventFn>,
    pub on_ecn: Option<EventFn>,
    pub on_exit_recovery: Option<EventFn>,
    pub on_undo: Option<unsafe extern "C" fn(*mut Flow)>,
    pub on_transmit_start: Option<unsafe extern "C" fn(*mut Flow, *const Snapshot, u64)>,
    pub on_idle_restart: Option<EventFn>,
    pub limits_itself: Option<unsafe extern "C" fn(*const c_void) -> bool>,
    pub least_burst_pkts: Option<unsafe extern "C" fn(*const c_void, *const Window) -> u32>,
    pub parameters: *const Parameter,
    pub parameters_count: u32,
    pub sees_sender: bool,
    pub needs_ecn: bool,
    pub configure: Option<unsafe extern "C" fn() -> c_int>,
    pub on_state: Option<unsafe extern "C" fn(*mut Flow, u32)>,
    pub on_ack_begins: Option<unsafe extern "C" fn(*mut Flow, u32)>,
    pub on_acked: Option<unsafe extern "C" fn(*mut Flow, *const Acked)>,
}

/// Size of `Ops` in version 1.
pub const OPS_BYTES_1: usize = std::mem::offset_of!(Ops, sees_sender);

/// Flags of `enum dumbbell_cc_ack_flag`, combined.
pub fn ack_flags(begins: AckBegins) -> u32 {
    u32::from(begins.is_unexpected)
        | u32::from(begins.window_updated) << 1
        | u32::from(begins.is_echo) << 2
}

/// `enum dumbbell_cc_state`.
pub fn state(state: CaState) -> u32 {
    match state {
        CaState::Open => 0,
        CaState::Disorder => 1,
        CaState::Cwr => 2,
        CaState::Recovery => 3,
        CaState::Loss => 4,
    }
}

fn ns(time: Option<Time>) -> u64 {
    time.map_or(NONE, Time::as_ns)
}

impl From<&cca::Window> for Window {
    fn from(window: &cca::Window) -> Window {
        Window {
            pacing_rate_bytes_per_s: window.pacing_rate_bytes_per_s,
            cwnd_pkts: window.cwnd_pkts,
            ssthresh_pkts: window.ssthresh_pkts,
            cwnd_clamp_pkts: window.cwnd_clamp_pkts,
            acked_since_growth_pkts: window.acked_since_growth_pkts,
            prior_cwnd_pkts: window.prior_cwnd_pkts,
            mss_bytes: window.mss_bytes,
        }
    }
}

impl Window {
    /// Copies the values set by a controller.
    pub fn enter(&self, window: &mut cca::Window) {
        window.pacing_rate_bytes_per_s = self.pacing_rate_bytes_per_s;
        window.cwnd_pkts = self.cwnd_pkts;
        window.ssthresh_pkts = self.ssthresh_pkts;
        window.cwnd_clamp_pkts = self.cwnd_clamp_pkts;
        window.acked_since_growth_pkts = self.acked_since_growth_pkts;
        window.prior_cwnd_pkts = self.prior_cwnd_pkts;
    }
}

impl From<&cca::RateSample> for RateSample {
    fn from(rate: &cca::RateSample) -> RateSample {
        RateSample {
            delivered_pkts: rate.delivered_pkts,
            prior_delivered_pkts: rate.prior_delivered_pkts,
            prior_time_ns: rate.prior_time.as_ns(),
            interval_ns: rate.interval.as_ns(),
            rtt_ns: ns(rate.rtt),
            losses_pkts: rate.losses_pkts,
            prior_in_flight_pkts: rate.prior_in_flight_pkts,
            acked_sacked_pkts: rate.acked_sacked_pkts,
            is_app_limited: rate.is_app_limited,
            is_ack_delayed: rate.is_ack_delayed,
        }
    }
}

impl From<&cca::RttSample> for RttSample {
    fn from(sample: &cca::RttSample) -> RttSample {
        RttSample {
            now_ns: sample.now.as_ns(),
            rtt_ns: sample.rtt.as_ns(),
            una_pkts: sample.una_pkts,
            next_pkts: sample.next_pkts,
            is_echo: sample.is_echo,
        }
    }
}

impl From<&cca::Ack> for Ack {
    fn from(ack: &cca::Ack) -> Ack {
        Ack {
            now_ns: ack.now.as_ns(),
            rtt_ns: ns(ack.rtt),
            srtt_ns: ns(ack.srtt),
            min_rtt_ns: ns(ack.min_rtt),
            una_pkts: ack.una_pkts,
            next_pkts: ack.next_pkts,
            delivered_pkts: ack.delivered_pkts,
            delivered_time_ns: ack.delivered_time.as_ns(),
            lost_pkts: ack.lost_pkts,
            earliest_departure_ns: ack.earliest_departure.as_ns(),
            acked_pkts: ack.acked_pkts,
            newly_delivered_pkts: ack.newly_delivered_pkts,
            in_flight_pkts: ack.in_flight_pkts,
            state: state(ack.state),
            is_cwnd_limited: ack.is_cwnd_limited,
            rate: RateSample::from(&ack.rate),
        }
    }
}

impl From<&cca::Snapshot> for Snapshot {
    fn from(snapshot: &cca::Snapshot) -> Snapshot {
        Snapshot {
            now_ns: snapshot.now.as_ns(),
            srtt_ns: ns(snapshot.srtt),
            min_rtt_ns: ns(snapshot.min_rtt),
            delivered_pkts: snapshot.delivered_pkts,
            delivered_time_ns: snapshot.delivered_time.as_ns(),
            lost_pkts: snapshot.lost_pkts,
            in_flight_pkts: snapshot.in_flight_pkts,
            flight_size_pkts: snapshot.flight_size_pkts,
            is_app_limited: snapshot.is_app_limited,
        }
    }
}
