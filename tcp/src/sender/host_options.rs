//! Settings of a host that an experiment file does not have, and values that it does not report; packet
//! scripts use both. Also windows set by the caller during a run.

use super::{PollHint, Sender};
use crate::cca::Cca;
use dumbbell_spec::tcp::CwndChange;

impl Sender {
    /// For a connection opened by the other end: RACK does not time its SYN-ACK, which Linux keeps in a
    /// `request_sock` until the connection is open.
    pub fn answering(mut self) -> Sender {
        self.rare.is_answering = true;
        self
    }

    /// Adds a future window change, for the controller `manual`.
    pub fn change_cwnd(&mut self, change: CwndChange) {
        if let Cca::Manual(manual) = &mut self.cca {
            manual.add(change);
        }
    }

    /// Keeps the window through idle periods (`tcp_slow_start_after_idle` = 0).
    pub fn without_idle_restart(mut self) -> Sender {
        self.restarts_after_idle = false;
        self
    }

    /// Sends no tail loss probes (`tcp_early_retrans` = 0).
    pub fn without_probes(mut self) -> Sender {
        self.probes = false;
        self
    }

    /// Sends bursts of at least `segments` segments, where it makes bursts and its controller sets no other
    /// minimum (`tcp_min_tso_segs`).
    pub fn with_least_burst_pkts(mut self, pkts: u32) -> Sender {
        if let Some(bursts) = &mut self.bursts {
            bursts.set_least_segments(pkts);
        }
        self
    }

    /// Turns Nagle's algorithm on or off (`TCP_NODELAY`).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.quiet = PollHint::No;
        self.nagle = nagle;
    }

    /// Current DupThresh (`reordering`).
    pub fn reordering_pkts(&self) -> u32 {
        self.recovery.reordering_pkts
    }

    /// Segments delivered, SACKed ones included (`delivered`).
    pub fn delivered_pkts(&self) -> u64 {
        self.rate.delivered_pkts
    }
}
