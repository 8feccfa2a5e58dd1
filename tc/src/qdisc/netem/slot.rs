//! `slot` of netem: packets leave in slots.

use super::parameters::{DISTRIBUTIONS, MOST_JITTER_NS, SLOT};
use super::{Distribution, Netem};
use crate::c_numbers::Base;
use crate::qdisc::words::Words;
use crate::qdisc::{Field, Fields, Grammar, Options, QdiscError};
use crate::reason::Reason;
use crate::units::shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest time to a slot: 200 days, the limit of all times of an experiment.
const MOST_NS: u64 = 200 * 86_400 * 1_000_000_000;
/// The kernel multiplies the difference of maximum and minimum by 32 random bits, in 63 bits.
const MOST_WIDTH_NS: u64 = i32::MAX as u64;
/// The kernel counts down in 31 bits.
const MOST_COUNT: u32 = i32::MAX as u32;

/// Slots in which packets that are due leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slot {
    /// Time until a slot opens, from the end of the last one or the next dequeue.
    pub delay: SlotDelay,
    /// Packets per slot; 0 for no limit.
    pub packets: u32,
    /// Bytes on the wire per slot, which the last packet may exceed; 0 for no limit.
    pub bytes: u32,
}

/// Time until the next slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SlotDelay {
    /// Uniform between two times.
    Uniform {
        /// The minimum, nanoseconds.
        min_ns: u64,
        /// The maximum, nanoseconds; above 0.
        max_ns: u64,
    },
    /// From a table, like netem's delay.
    Distribution {
        /// The table; not the uniform distribution.
        distribution: Distribution,
        /// The mean, nanoseconds.
        delay_ns: u64,
        /// The jitter, nanoseconds; above 0.
        jitter_ns: u64,
    },
}

impl Slot {
    /// Parses the words after `slot`.
    pub(super) fn parse(words: &mut Words) -> Result<Slot, QdiscError> {
        let delay = match words.take("distribution") {
            true => {
                let distribution = words.one_of(&SLOT, DISTRIBUTIONS)?;
                let delay_ns = words.any_long_time_ns(&SLOT)?;
                let jitter_ns = words.any_long_time_ns(&SLOT)?;
                SlotDelay::Distribution {
                    distribution,
                    delay_ns,
                    jitter_ns,
                }
            }
            false => {
                let min_ns = words.any_long_time_ns(&SLOT)?;
                let max_ns = match words.number_follows() {
                    true => words.any_long_time_ns(&SLOT)?,
                    false => min_ns,
                };
                SlotDelay::Uniform { min_ns, max_ns }
            }
        };
        let mut slot = Slot {
            delay,
            packets: 0,
            bytes: 0,
        };
        if words.take_beginning_of("packets") {
            slot.packets = words.unsigned(&SLOT, Base::ByPrefix)?;
        }
        if words.take_beginning_of("bytes") {
            slot.bytes = words.any_size_bytes(&SLOT)?;
        }
        slot.check_taken()?;
        slot.check()?;
        Ok(slot)
    }

    /// Refuses values that tc accepts but does not apply as written.
    fn check_taken(&self) -> Result<(), QdiscError> {
        let refuse = |value: String, reason| Err(Netem::DISCIPLINE.not_taken(&SLOT, value, reason));
        match self.delay {
            SlotDelay::Uniform { max_ns: 0, .. } => refuse("0".to_owned(), Reason::Ignored),
            SlotDelay::Uniform { min_ns, max_ns }
                if max_ns >= min_ns && max_ns - min_ns > MOST_WIDTH_NS =>
            {
                refuse(time_text(max_ns), Reason::Wraps)
            }
            SlotDelay::Distribution { jitter_ns, .. } if jitter_ns > MOST_JITTER_NS => {
                refuse(time_text(jitter_ns), Reason::Replaced)
            }
            _ => Ok(()),
        }
    }

    /// Checks that every value can be typed.
    pub(super) fn check(&self) -> Result<(), QdiscError> {
        let out_of_range = |value: String| Err(Netem::DISCIPLINE.out_of_range(&SLOT, value));
        match self.delay {
            SlotDelay::Uniform { min_ns, max_ns }
                if max_ns < min_ns
                    || max_ns == 0
                    || max_ns > MOST_NS
                    || max_ns - min_ns > MOST_WIDTH_NS =>
            {
                return out_of_range(time_text(max_ns));
            }
            SlotDelay::Distribution {
                distribution: Distribution::Uniform,
                ..
            } => return out_of_range("uniform".to_owned()),
            SlotDelay::Distribution { delay_ns, .. } if delay_ns > MOST_NS => {
                return out_of_range(time_text(delay_ns));
            }
            SlotDelay::Distribution { jitter_ns, .. }
                if jitter_ns == 0 || jitter_ns > MOST_JITTER_NS =>
            {
                return out_of_range(time_text(jitter_ns));
            }
            _ => {}
        }
        match [self.packets, self.bytes]
            .into_iter()
            .find(|count| *count > MOST_COUNT)
        {
            Some(count) => out_of_range(count.to_string()),
            None => Ok(()),
        }
    }

    pub(super) fn show(&self, options: Options) -> Options {
        let seconds = |time_ns: u64| Field::Real(time_ns as f64 / 1e9);
        let shown_ns = shown::long_time_ns;
        let (mut text, mut fields) = match self.delay {
            SlotDelay::Uniform { min_ns, max_ns } => (
                format!(" slot {} {}", shown_ns(min_ns), shown_ns(max_ns)),
                vec![
                    ("min-delay", seconds(min_ns)),
                    ("max-delay", seconds(max_ns)),
                ],
            ),
            SlotDelay::Distribution {
                delay_ns,
                jitter_ns,
                ..
            } => (
                format!(
                    " slot distribution {} {}",
                    shown_ns(delay_ns),
                    shown_ns(jitter_ns)
                ),
                vec![
                    ("distribution", seconds(delay_ns)),
                    ("jitter", seconds(jitter_ns)),
                ],
            ),
        };
        for (word, count) in [("packets", self.packets), ("bytes", self.bytes)] {
            if count > 0 {
                text += &format!(" {word} {count}");
            }
            fields.push((word, count.into()));
        }
        options.show("slot", Field::Fields(Fields(fields)), &text)
    }
}

/// A whole number of the largest unit that is exact in tc's doubles.
fn time_text(time_ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")];
    let exact = units.iter().find(|(ns, _)| time_ns.is_multiple_of(*ns));
    match exact {
        Some((ns, name)) => format!("{}{name}", time_ns / ns),
        None => format!("{time_ns}ns"),
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.delay {
            SlotDelay::Uniform { min_ns, max_ns } => {
                write!(f, "slot {} {}", time_text(min_ns), time_text(max_ns))?;
            }
            SlotDelay::Distribution {
                distribution,
                delay_ns,
                jitter_ns,
            } => {
                let (word, delay) = (distribution.word(), time_text(delay_ns));
                write!(
                    f,
                    "slot distribution {word} {delay} {}",
                    time_text(jitter_ns)
                )?;
            }
        }
        if self.packets > 0 {
            write!(f, " packets {}", self.packets)?;
        }
        if self.bytes > 0 {
            write!(f, " bytes {}", self.bytes)?;
        }
        Ok(())
    }
}
