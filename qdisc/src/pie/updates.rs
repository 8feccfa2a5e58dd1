//! The updates of the probability (RFC 8033 section 4.2), and those of a long time without packets
//! at once.
//!
//! Between packets the backlog stays, so after an update or two the delay is what it was, there is no
//! trend, and the probability alone moves: by the same step while its gains are the same
//! (`Edition::bounds`), until it comes to a bound. Those updates are one multiplication. While
//! the queue is empty the probability decays as well, by 1/64 of itself rounded down, which has no
//! closed form; it does so 2800 times at most until it stays. A probability that comes round to
//! where it was (Linux's steps wrap after very long delays, its probability does beyond 1) goes the
//! same round again, and whole rounds are left out. The numbers are those of one update after
//! another, to the bit.

use super::{Controller, HIGH_DELAY, RATE_SCALE, Ticks};
use crate::Events;
use dumbbell_core::time::Time;

/// Updates at one call, done one after the other, from which on the discipline gives up. Steps that
/// wrap can make a probability wander among the bounds for longer than anybody waits, after a delay of
/// minutes and more; nothing else comes near.
const MOST_UPDATES: u64 = 1 << 22;

impl Controller {
    /// The updates due before `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, events: &mut Events) {
        if self.next_update < now {
            self.update_until(now, events);
        }
    }

    fn update_until(&mut self, now: Time, events: &mut Events) {
        let first = self.next_update;
        // From a timer that ran out to the next it is always as long.
        let period = self.clock.expiry(first, self.parameters.tupdate) - first;
        let mut left = (now - first).0.div_ceil(period.0);
        self.next_update = first + Time(left * period.0);
        if events.timer_updates.are_too_many() {
            return;
        }
        let mut round = Some(Round::new(&self.variables));
        let mut one_by_one = 0;
        while left > 0 {
            let before = self.variables.clone();
            self.update_probability();
            left -= 1;
            one_by_one += 1;
            if self.variables == before {
                break;
            }
            let mut updates = 1;
            if self.variables.differ_by_probability(&before) {
                let glided = self.glide(left);
                left -= glided.updates;
                updates += glided.updates;
                one_by_one += glided.one_by_one;
            }
            if let Some(going) = &mut round
                && let Some(updates_a_round) = going.add(updates, &self.variables)
            {
                left %= updates_a_round;
                round = None;
            }
            if one_by_one > MOST_UPDATES {
                events.timer_updates.give_up();
                break;
            }
        }
        events.timer_updates.add(one_by_one);
    }

    /// RFC 8033 section 4.2 `calculate_drop_prob`.
    pub(super) fn update_probability(&mut self) {
        let backlog_bytes = self.kernel_backlog_bytes();
        let (parameters, edition) = (&self.parameters, self.edition);
        let variables = &mut self.variables;
        let (delay, old_delay) = if parameters.has_rate_estimator {
            variables.old_delay = variables.delay;
            let scaled = backlog_bytes.wrapping_shl(RATE_SCALE);
            let delay = scaled.checked_div(variables.departure_rate).unwrap_or(0);
            (Ticks::from(delay), variables.old_delay)
        } else {
            (variables.delay, variables.old_delay)
        };
        // A delay of zero with a backlog means that the backlog is very small.
        let mut may_decay = delay != 0 || backlog_bytes == 0;
        let before = self.variables.probability;
        let step = self.step(before, delay, old_delay);

        let (parameters, variables) = (&self.parameters, &mut self.variables);
        variables.probability = edition.add(before, step);
        if step > 0 {
            if variables.probability < before {
                variables.probability = edition.largest_probability;
                may_decay = false;
            }
        } else if variables.probability > before {
            variables.probability = 0;
        }
        if delay == 0 && old_delay == 0 && may_decay {
            variables.probability = edition.decayed(variables.probability);
        }
        variables.delay = delay;
        let is_short = |delay| delay < parameters.target / 2;
        let is_measured = !parameters.has_rate_estimator || variables.departure_rate > 0;
        if is_short(variables.delay)
            && is_short(variables.old_delay)
            && variables.probability == 0
            && is_measured
        {
            variables.restart(edition);
        }
        if !parameters.has_rate_estimator {
            variables.old_delay = delay;
        }
    }

    /// The backlog in 32 bits, as `qstats.backlog` is.
    fn kernel_backlog_bytes(&self) -> u32 {
        self.backlog_bytes as u32
    }

    /// What an update adds to a probability, before it is cut off.
    fn step(&self, probability: u64, delay: Ticks, old_delay: Ticks) -> i64 {
        let (parameters, edition) = (&self.parameters, self.edition);
        let deviation = delay.wrapping_sub(parameters.target);
        let trend = delay.wrapping_sub(old_delay);
        let scale = |gain| edition.scaled_gain(gain, probability);
        let (alpha, beta) = (scale(parameters.alpha), scale(parameters.beta));
        let sum = alpha
            .wrapping_mul(deviation)
            .wrapping_add(beta.wrapping_mul(trend));
        let mut step = edition.as_step(sum);

        // Section 4.2: from 10 % on, at most 2 % an update.
        let largest = edition.largest_probability;
        if step > (largest / 50) as i64 && probability >= largest / 10 {
            step = (largest / 100 * 2) as i64;
        }
        // Section 5.5.
        if delay > HIGH_DELAY {
            step = step.wrapping_add((largest / 50) as i64);
        }
        step
    }

    /// After an update that moved the probability alone: up to `most` further ones that find the same
    /// step and come to no bound. There may be more such.
    fn glide(&mut self, most: u64) -> Glided {
        let probability = self.variables.probability;
        let delay = self.variables.delay;
        let step = self.step(probability, delay, delay);
        let (least, largest) = self.edition.bounds(probability);
        // At 0 more may happen than that the probability moves.
        let least = least.max(1);
        if delay == 0 && self.kernel_backlog_bytes() == 0 {
            return match step {
                ..=0 => self.decay(most, step.unsigned_abs(), least),
                _ => Glided::NOT,
            };
        }
        let room = match step {
            1.. => largest - probability,
            _ => probability.saturating_sub(least),
        };
        let Some(fitting) = room.checked_div(step.unsigned_abs()) else {
            return Glided::NOT;
        };
        let updates = fitting.min(most);
        let moved = updates * step.unsigned_abs();
        self.variables.probability = match step {
            1.. => probability + moved,
            _ => probability - moved,
        };
        Glided {
            updates,
            one_by_one: 0,
        }
    }

    /// The same where each update takes `step` and then a share.
    fn decay(&mut self, most: u64, step: u64, least: u64) -> Glided {
        let mut updates = 0;
        let mut probability = self.variables.probability;
        while updates < most && probability >= step {
            let next = self.edition.decayed(probability - step);
            if next < least || next == probability {
                break;
            }
            probability = next;
            updates += 1;
        }
        self.variables.probability = probability;
        Glided {
            updates,
            one_by_one: updates,
        }
    }
}

/// Updates that were done at once.
struct Glided {
    updates: u64,
    /// Of these, those that took time each.
    one_by_one: u64,
}

impl Glided {
    const NOT: Glided = Glided {
        updates: 0,
        one_by_one: 0,
    };
}

/// Finds out whether variables come back to what they were (R. P. Brent, BIT 20, 1980: what they are
/// compared with is taken anew after 1, 2, 4, ... comparisons).
struct Round {
    from: super::Variables,
    /// Since then.
    updates: u64,
    comparisons: u64,
    most_comparisons: u64,
}

impl Round {
    fn new(from: &super::Variables) -> Round {
        Round {
            from: from.clone(),
            updates: 0,
            comparisons: 0,
            most_comparisons: 1,
        }
    }

    /// Some updates were done. Returns how many make a round, when one is full.
    fn add(&mut self, updates: u64, variables: &super::Variables) -> Option<u64> {
        self.updates += updates;
        if *variables == self.from {
            return Some(self.updates);
        }
        self.comparisons += 1;
        if self.comparisons == self.most_comparisons {
            *self = Round {
                most_comparisons: 2 * self.most_comparisons,
                ..Round::new(variables)
            };
        }
        None
    }
}

#[cfg(test)]
mod tests;
