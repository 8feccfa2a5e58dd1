//! CUBIC: the window as a cubic function of the time since the last reduction (RFC 9438; Ha,
//! Rhee and Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", 2008).
//!
//! | profile | file | slow start ends early by |
//! | --- | --- | --- |
//! | `linux-6.1` | `linux.rs`: integers, the clock of the host's timer | HyStart |
//! | `rfc` | `rfc9438.rs`: fractions of packets, exact time | HyStart++ (RFC 9406) |
//!
//! The table of clauses is in `docs/cca-cubic.md`.

mod linux;
mod rfc9438;

use super::{Ack, CaState, Controller, Options, RttSample, Snapshot, Window};
use dumbbell_core::prefetch::prefetch;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// The threshold never falls below this (RFC 9438 section 4.6).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Whether an acknowledgement may increase the window: it acknowledges data cumulatively, the sender is
/// limited by the window (RFC 9438 section 5.8), and the window is not being reduced.
fn may_grow(ack: &Ack) -> bool {
    let is_being_reduced = matches!(ack.state, CaState::Cwr | CaState::Recovery);
    ack.is_cwnd_limited && ack.acked_pkts > 0 && !is_being_reduced
}

/// CUBIC in one of its profiles.
#[derive(Debug, Clone, PartialEq)]
pub enum Cubic {
    /// Linux 6.1's.
    Linux(linux::Cubic),
    /// RFC 9438's.
    Rfc(Box<rfc9438::Cubic>),
}

impl Cubic {
    /// Prefetches its boxed state (`dumbbell_core::prefetch`).
    #[inline]
    pub fn prefetch_beside(&self) {
        match self {
            Cubic::Linux(cubic) => cubic.prefetch_beside(),
            Cubic::Rfc(cubic) => prefetch(&**cubic),
        }
    }
}

impl Controller for Cubic {
    const REACTS_TO_LOSSES: bool = true;
    const IS_COMPARED_WITH_LINUX: bool = true;

    fn new(options: &Options, _now: Time) -> Cubic {
        match options.profile {
            Profile::Linux61 => Cubic::Linux(linux::Cubic::new(options)),
            Profile::Rfc => Cubic::Rfc(Box::new(rfc9438::Cubic::new(options))),
        }
    }

    #[inline]
    fn on_rtt(&mut self, window: &mut Window, sample: &RttSample) {
        // HyStart++ is updated with acknowledgements; it ends with the first loss.
        if let Cubic::Linux(cubic) = self {
            cubic.on_rtt(window, sample);
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Cubic::Linux(cubic) => cubic.on_ack(window, ack),
            Cubic::Rfc(cubic) => cubic.on_ack(window, ack),
        }
    }

    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        match self {
            Cubic::Linux(cubic) => cubic.reduce(window),
            Cubic::Rfc(cubic) => cubic.reduce(window),
        }
    }

    fn on_rto(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        match self {
            Cubic::Linux(cubic) => cubic.reduce(window),
            Cubic::Rfc(cubic) => cubic.on_rto(window),
        }
    }

    fn on_enter_loss(&mut self, _window: &mut Window, _snapshot: &Snapshot) {
        if let Cubic::Linux(cubic) = self {
            cubic.forget();
        }
    }

    fn on_undo(&mut self, window: &mut Window) {
        let restored = window.cwnd_pkts.max(window.prior_cwnd_pkts);
        window.set_cwnd(restored);
        // Linux restores no other state.
        if let Cubic::Rfc(cubic) = self {
            cubic.restore();
        }
    }

    fn on_transmit_start(
        &mut self,
        _window: &mut Window,
        last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        let Some(last_sent) = last_sent else { return };
        match self {
            Cubic::Linux(cubic) => cubic.skip_idle_time(last_sent, snapshot.now),
            Cubic::Rfc(cubic) => cubic.skip_idle_time(last_sent, snapshot.now),
        }
    }
}
