//! BBR's long-term bandwidth: what a policer lets through (Flach et al., "An Internet-wide
//! analysis of traffic policing", SIGCOMM 2016; Linux `net/ipv4/tcp_bbr.c`).
//!
//! A token-bucket policer passes bursts and then drops. When two intervals in a row, each from a
//! loss to a loss, of at least four round trips and with a fifth of the packets lost, have about
//! the same delivery rate, that rate is taken for the policer's and used for 48 round trips.

use super::bandwidth::{UNIT_GAIN, bandwidth, pacing_rate_bytes_per_s};

/// Round trips an interval lasts at least; at most four times as many.
const LEAST_ROUNDS: u32 = 4;
/// Lost per delivered from which on an interval counts, in 1/256 (about 20 %).
const LOSS_THRESHOLD: u64 = 50;
/// Two rates are the same when they differ by at most an eighth, or by this number of bytes a second
/// (4 kbit/s).
const SAME_WITHIN: u64 = 8;
const SAME_WITHIN_BYTES_PER_S: u64 = 500;
/// Round trips for which the rate is used.
const USED_ROUNDS: u32 = 48;

/// How far the connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets delivered in all.
    pub delivered_pkts: u64,
    /// Packets lost in all.
    pub lost_pkts: u64,
    /// When `delivered_pkts` last grew, milliseconds.
    pub at_ms: u64,
}

/// What an acknowledgement (or a timeout) tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// How far the connection has come.
    pub totals: Totals,
    /// Whether packets were just declared lost.
    pub has_losses: bool,
    /// Whether the application limited the sender.
    pub is_app_limited: bool,
    /// Whether a round trip has just begun.
    pub is_round_start: bool,
    /// Whether BBR is probing for bandwidth.
    pub is_probing_bandwidth: bool,
    /// Payload of a packet, bytes.
    pub mss_bytes: u32,
}

/// What became of the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// A policer was found: its rate is used from now on.
    Found,
    /// The rate was used for long enough: probe again.
    GivenUp,
}

/// State of the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LongTerm {
    /// Rate of the last interval, or the policer's; 0 for none.
    bandwidth: u64,
    is_used: bool,
    is_sampling: bool,
    rounds: u32,
    start: Totals,
}

impl LongTerm {
    /// The policer's rate, when one was found.
    #[inline]
    pub fn bandwidth(&self) -> Option<u64> {
        self.is_used.then_some(self.bandwidth)
    }

    /// Forgets everything.
    pub fn reset(&mut self, totals: Totals) {
        *self = LongTerm {
            start: totals,
            ..LongTerm::default()
        };
    }

    /// Takes account of an acknowledgement or a timeout.
    pub fn update(&mut self, evidence: &Evidence) -> Change {
        if self.is_used {
            return self.count_down(evidence);
        }
        if !self.is_sampling {
            // Tokens saved up would make the first interval too fast: begin at a loss.
            if !evidence.has_losses {
                return Change::None;
            }
            self.start_interval(evidence.totals);
            self.is_sampling = true;
        }
        if evidence.is_app_limited {
            self.reset(evidence.totals);
            return Change::None;
        }
        self.rounds += u32::from(evidence.is_round_start);
        if self.rounds < LEAST_ROUNDS {
            return Change::None;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(evidence.totals);
            return Change::None;
        }
        // And end at a loss, when the tokens are used up.
        match self.interval_bandwidth(&evidence.totals) {
            Some(bandwidth) if evidence.has_losses => self.end_interval(bandwidth, evidence),
            _ => Change::None,
        }
    }

    fn count_down(&mut self, evidence: &Evidence) -> Change {
        if evidence.is_probing_bandwidth && evidence.is_round_start {
            self.rounds += 1;
            if self.rounds >= USED_ROUNDS {
                self.reset(evidence.totals);
                return Change::GivenUp;
            }
        }
        Change::None
    }

    fn start_interval(&mut self, totals: Totals) {
        self.start = totals;
        self.rounds = 0;
    }

    /// Delivery rate since the interval began, if enough was lost and a millisecond passed.
    fn interval_bandwidth(&self, totals: &Totals) -> Option<u64> {
        let lost = totals.lost_pkts.saturating_sub(self.start.lost_pkts);
        let delivered = totals
            .delivered_pkts
            .saturating_sub(self.start.delivered_pkts);
        let is_lossy = u128::from(lost) * 256 >= u128::from(delivered) * u128::from(LOSS_THRESHOLD);
        let elapsed_ms = totals.at_ms.saturating_sub(self.start.at_ms);
        (delivered > 0 && is_lossy && elapsed_ms > 0)
            .then(|| bandwidth(delivered, elapsed_ms.saturating_mul(1000)))
    }

    fn end_interval(&mut self, bandwidth: u64, evidence: &Evidence) -> Change {
        let difference = bandwidth.abs_diff(self.bandwidth);
        let difference_bytes_per_s =
            pacing_rate_bytes_per_s(difference, UNIT_GAIN, evidence.mss_bytes);
        let is_same = difference * SAME_WITHIN <= self.bandwidth
            || difference_bytes_per_s <= SAME_WITHIN_BYTES_PER_S;
        if self.bandwidth > 0 && is_same {
            self.bandwidth = bandwidth.midpoint(self.bandwidth);
            self.is_used = true;
            self.rounds = 0;
            return Change::Found;
        }
        self.bandwidth = bandwidth;
        self.start_interval(evidence.totals);
        Change::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms with the given number of packets delivered and lost in each; losses are seen at the
    /// end of the round. Returns the changes with the rounds they came in.
    fn run(long_term: &mut LongTerm, rounds: &[(u64, u64)]) -> Vec<(usize, Change)> {
        let mut totals = Totals::default();
        let mut changes = Vec::new();
        for (round, (delivered, lost)) in rounds.iter().enumerate() {
            totals.delivered_pkts += delivered;
            totals.lost_pkts += lost;
            totals.at_ms += 100;
            let change = long_term.update(&Evidence {
                totals,
                has_losses: *lost > 0,
                is_app_limited: false,
                is_round_start: true,
                is_probing_bandwidth: true,
                mss_bytes: 1448,
            });
            if change != Change::None {
                changes.push((round, change));
            }
        }
        changes
    }

    #[test]
    fn two_intervals_of_the_same_rate_and_a_fifth_lost_are_a_policer_for_48_rounds() {
        let mut long_term = LongTerm::default();
        // The first loss starts an interval and counts as its first round: done three rounds
        // later; the second interval is done four rounds after that.
        assert_eq!(run(&mut long_term, &[(40, 10); 8]), [(7, Change::Found)]);
        let policed = long_term.bandwidth().unwrap();
        assert_eq!(policed, bandwidth(400, 1_000_000));
        assert_eq!(run(&mut long_term, &[(40, 0); 48]), [(47, Change::GivenUp)]);
        assert_eq!(long_term.bandwidth(), None);
    }

    #[test]
    fn fewer_losses_or_unequal_rates_are_none() {
        let mut long_term = LongTerm::default();
        // 50/256 of what was delivered: 7 of 40 is 17.5 %.
        assert_eq!(run(&mut long_term, &[(40, 7); 40]), []);
        let mut rounds = vec![(40, 10); 4];
        rounds.extend([(46, 12); 4]); // 15 % more
        long_term = LongTerm::default();
        assert_eq!(run(&mut long_term, &rounds), []);
        rounds[4..].fill((44, 12)); // 10 % more
        long_term = LongTerm::default();
        assert_eq!(run(&mut long_term, &rounds).len(), 1);
    }

    #[test]
    fn an_interval_lasts_at_most_sixteen_rounds() {
        let mut rounds = vec![(40, 10)];
        rounds.extend([(40, 0); 16]);
        rounds.extend([(40, 10); 1]);
        let mut long_term = LongTerm::default();
        run(&mut long_term, &rounds);
        assert_eq!((long_term.bandwidth, long_term.rounds), (0, 1));
    }
}
