//! A window set by the caller: at each time as large as the description says, independent of the network.
//!
//! It serves for controlling a flow by hand, and for studying queues with windows that do not react. It is
//! not in any RFC or in Linux.
//!
//! | event | here |
//! | --- | --- |
//! | before the first change | the initial window |
//! | a change is due | it takes effect at the next event of the sender, usually an acknowledgement |
//! | loss, ECN echo | ignored; lost packets are retransmitted within the window |
//! | retransmission timeout | as always one packet is sent first; its acknowledgement restores the window |
//! | pacing, if the description asks for it | 120 % of window over round-trip time |
//!
//! Its parameters are the changes (`cwnd_changes`).

use super::window::LARGEST_PACING_RATE_BYTES_PER_S;
use super::{Ack, Controller, Options, Phase, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::CwndChange;
use std::collections::VecDeque;

/// Pacing rate as a percentage of window per round-trip time (`tcp_pacing_ca_ratio`).
const PACING_PERCENT: u128 = 120;
const PS_PER_S: u128 = 1_000_000_000_000;

/// The current window, and future changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Manual {
    cwnd_pkts: Option<u32>,
    coming: VecDeque<CwndChange>,
}

impl Manual {
    /// Adds a change after all others; of several at one instant the last counts.
    pub fn add(&mut self, change: CwndChange) {
        self.coming.push_back(change);
    }

    /// Sets the window to the current value.
    fn hold(&mut self, window: &mut Window, now: Time) {
        while let Some(change) = self.coming.front()
            && Time::from_ns(change.at_ns) <= now
        {
            self.cwnd_pkts = Some(change.cwnd_pkts);
            self.coming.pop_front();
        }
        let cwnd_pkts = *self.cwnd_pkts.get_or_insert(window.cwnd_pkts);
        window.set_cwnd(cwnd_pkts);
    }
}

impl Controller for Manual {
    fn phase(&self) -> Option<Phase> {
        Some(Phase::ByHand)
    }

    fn new(options: &Options, _now: Time) -> Manual {
        Manual {
            cwnd_pkts: None,
            coming: options.cwnd_changes.iter().copied().collect(),
        }
    }

    fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.hold(window, snapshot.now);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.hold(window, ack.now);
        if let Some(srtt) = ack.srtt.filter(|srtt| *srtt > Time::ZERO) {
            let window_bytes = u128::from(window.cwnd_pkts) * u128::from(window.mss_bytes);
            let rate = window_bytes * PACING_PERCENT * PS_PER_S / 100 / u128::from(srtt.0);
            window.pacing_rate_bytes_per_s =
                u64::try_from(rate).unwrap_or(LARGEST_PACING_RATE_BYTES_PER_S);
        }
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.hold(window, snapshot.now);
    }

    fn on_exit_recovery(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.hold(window, snapshot.now);
    }

    /// There was no reduction to undo.
    fn on_undo(&mut self, window: &mut Window) {
        let cwnd_pkts = self.cwnd_pkts.unwrap_or(window.cwnd_pkts);
        window.set_cwnd(cwnd_pkts);
    }

    fn on_transmit_start(
        &mut self,
        window: &mut Window,
        _last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        self.hold(window, snapshot.now);
    }

    fn on_idle_restart(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.hold(window, snapshot.now);
    }

    fn owns_recovery(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::INFINITE_SSTHRESH;
    use crate::cca::testing::{ack, fresh_window, ms, options, snapshot};
    use dumbbell_spec::tcp::Profile;

    fn manual(changes: &[(u64, u32)]) -> Manual {
        let changes = changes.iter().map(|&(at_ms, cwnd_pkts)| CwndChange {
            at_ns: at_ms * 1_000_000,
            cwnd_pkts,
        });
        let options = Options {
            cwnd_changes: changes.collect(),
            ..options(Profile::Linux61)
        };
        Manual::new(&options, Time::ZERO)
    }

    #[test]
    fn the_window_is_what_the_last_change_says() {
        let mut manual = manual(&[(100, 40), (200, 7), (201, 8)]);
        let mut window = fresh_window(10);
        manual.init(&mut window, &snapshot(ms(1)));
        let seen = [99, 100, 199, 200, 300].map(|now_ms| {
            manual.on_ack(&mut window, &ack(ms(now_ms), 5, ms(50)));
            window.cwnd_pkts
        });
        assert_eq!(seen, [10, 40, 40, 7, 8]);
        // 8 packets of 1448 bytes in 50 ms, and a fifth more.
        assert_eq!(window.pacing_rate_bytes_per_s, 278_016);
        assert_eq!(window.ssthresh_pkts, INFINITE_SSTHRESH);
    }

    #[test]
    fn no_loss_moves_it() {
        let mut manual = manual(&[(0, 33)]);
        let mut window = fresh_window(10);
        manual.init(&mut window, &snapshot(ms(1)));
        for act in [
            Manual::on_loss,
            Manual::on_rto,
            Manual::on_ecn,
            Manual::on_exit_recovery,
        ] {
            window.set_cwnd(1);
            act(&mut manual, &mut window, &snapshot(ms(2)));
            assert_eq!(window.cwnd_pkts, 33);
        }
        window.set_cwnd(1);
        manual.on_undo(&mut window);
        assert_eq!(window.cwnd_pkts, 33);
    }

    #[test]
    fn changes_may_come_while_it_goes_on() {
        let mut played = manual(&[]);
        let mut told = manual(&[(5, 20), (7, 3)]);
        let (mut one, mut other) = (fresh_window(10), fresh_window(10));
        for now_ms in 0..10 {
            if let Some(cwnd_pkts) = [(4, 20), (6, 3)].iter().find(|each| each.0 == now_ms) {
                played.add(CwndChange {
                    at_ns: (now_ms + 1) * 1_000_000,
                    cwnd_pkts: cwnd_pkts.1,
                });
            }
            played.on_ack(&mut one, &ack(ms(now_ms), 1, ms(9)));
            told.on_ack(&mut other, &ack(ms(now_ms), 1, ms(9)));
            assert_eq!(one, other);
        }
        assert_eq!(one.cwnd_pkts, 3);
    }
}
