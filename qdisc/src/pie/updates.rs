//! Updates of the probability (RFC 8033 section 4.2), and the efficient computation of many updates without
//! packets in between.
//!
//! Between packets the backlog is constant, so after an update or two the delay is constant too, and only the
//! probability changes: by the same step while its gains are the same (`Edition::bounds`). These updates are
//! one multiplication. While the queue is empty the probability also decays by 1/64 of itself, rounded down,
//! which has no closed form; it becomes constant after at most 2800 updates. If the state returns to an
//! earlier value (Linux's steps wrap after very long delays, and its probability above 1), the cycle repeats,
//! and whole cycles are skipped. The results equal those of individual updates, to the bit.

use super::{Controller, HIGH_DELAY, RATE_SCALE, Ticks};
use crate::Events;
use dumbbell_core::time::Time;

/// Number of individual updates in one call from which the discipline gives up. Wrapping steps, after a delay
/// of minutes or more, can make a probability change for very long; no other case comes close.
const MOST_UPDATES: u64 = 1 << 22;

impl Controller {
    /// Applies the updates due before `now`.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, events: &mut Events) {
        if self.next_update < now {
            self.update_until(now, events);
        }
    }

    fn update_until(&mut self, now: Time, events: &mut Events) {
        let first = self.next_update;
        // The interval between timer expirations is constant.
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

    /// The backlog in 32 bits, like `qstats.backlog`.
    fn kernel_backlog_bytes(&self) -> u32 {
        self.backlog_bytes as u32
    }

    /// The step of an update, before it is limited.
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

        // Section 4.2: from 10 % on, at most 2 % per update.
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

    /// After an update that changed only the probability: applies up to `most` further updates with the same
    /// step that stay within the bounds. More may follow.
    fn glide(&mut self, most: u64) -> Glided {
        let probability = self.variables.probability;
        let delay = self.variables.delay;
        let step = self.step(probability, delay, delay);
        let (least, largest) = self.edition.bounds(probability);
        // At 0, more than the probability may change.
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

    /// The same if each update adds `step` and then decays.
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

/// Updates applied in closed form.
struct Glided {
    updates: u64,
    /// The number of them that were applied one by one.
    one_by_one: u64,
}

impl Glided {
    const NOT: Glided = Glided {
        updates: 0,
        one_by_one: 0,
    };
}

/// Detects a cycle of the variables (R. P. Brent, BIT 20, 1980: the reference is renewed after 1, 2, 4, ...
/// comparisons).
struct Round {
    from: super::Variables,
    /// Updates since then.
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

    /// Adds some updates. Returns the cycle length when one is found.
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
