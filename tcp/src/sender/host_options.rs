//! Settings of a host that an experiment file does not have, and values that it does not report: packet scripts
//! use both. Also the window that a person sets during a run.

use super::{PollHint, Sender};
use crate::cca::Cca;
use dumbbell_spec::tcp::CwndChange;

impl Sender {
    /// Of a connection that the other end has opened: its SYN-ACK is none of the packets that RACK
    /// times, as Linux keeps it elsewhere until the connection is open (`request_sock`).
    pub fn answering(mut self) -> Sender {
        self.rare.is_answering = true;
        self
    }

    /// A window from a time on that has not come yet, for a controller that is given them
    /// (`manual`).
    pub fn change_cwnd(&mut self, change: CwndChange) {
        if let Cca::Manual(manual) = &mut self.cca {
            manual.add(change);
        }
    }

    /// Keeps its window through pauses (`tcp_slow_start_after_idle` = 0).
    pub fn without_idle_restart(mut self) -> Sender {
        self.restarts_after_idle = false;
        self
    }

    /// Sends no tail loss probes (`tcp_early_retrans` = 0).
    pub fn without_probes(mut self) -> Sender {
        self.probes = false;
        self
    }

    /// Sends bursts of at least `segments` segments, where it makes bursts and its controller sets no other size
    /// (`tcp_min_tso_segs`).
    pub fn with_least_burst_pkts(mut self, pkts: u32) -> Sender {
        if let Some(bursts) = &mut self.bursts {
            bursts.set_least_segments(pkts);
        }
        self
    }

    /// From now on small segments wait, or do not (`TCP_NODELAY`).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.quiet = PollHint::No;
        self.nagle = nagle;
    }

    /// Segments that must arrive after one before it is taken for lost (`reordering`).
    pub fn reordering_pkts(&self) -> u32 {
        self.recovery.reordering_pkts
    }

    /// Segments delivered, those SACKed included (`delivered`).
    pub fn delivered_pkts(&self) -> u64 {
        self.rate.delivered_pkts
    }
}
