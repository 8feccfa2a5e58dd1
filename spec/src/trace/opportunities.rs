//! Delivery opportunities: instants at which a number of bytes may leave.
//!
//! In the text of a trace an entry is a gap in milliseconds, optionally followed by `*` and a repeat count:
//! `0*3 2 1*4`. A round of the trace ends with its last opportunity, where the next round starts.

use super::laws::Bursts;
use super::text::{Entries, LONGEST_TEXT, TraceText, number, write_number};
use super::{Checked, Outline};
use crate::validate::require;
use crate::{LONGEST_NS, SpecError};
use dumbbell_core::time::Time;

const NS_PER_MS: u64 = 1_000_000;

/// An opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opportunity {
    /// When.
    pub at: Time,
    /// Bytes that may leave.
    pub bytes: u64,
}

/// The opportunities of a run in order of time, merged per instant.
#[derive(Debug, Clone)]
pub struct Opportunities {
    kind: Kind,
    end: Time,
}

#[derive(Debug, Clone)]
enum Kind {
    Recorded(Recorded),
    Drawn(Bursts),
}

#[derive(Debug, Clone)]
struct Recorded {
    entries: Entries,
    /// The entry being read: its gap, and the remaining repeats.
    run: (u64, u64),
    /// Time of the last one, milliseconds.
    at_ms: u64,
    /// Bytes of each.
    size_bytes: u64,
    /// Duration of a round, milliseconds.
    period_ms: u64,
}

impl Opportunities {
    pub(super) fn recorded(gaps_ms: &TraceText, size_bytes: u32, end_ns: u64) -> Opportunities {
        let recorded = Recorded {
            entries: Entries::of(gaps_ms),
            run: (0, 0),
            at_ms: 0,
            size_bytes: u64::from(size_bytes),
            period_ms: total(gaps_ms).map_or(0, |(_, period_ms)| period_ms),
        };
        Opportunities {
            kind: Kind::Recorded(recorded),
            end: Time::from_ns(end_ns),
        }
    }

    pub(super) fn drawn(bursts: Bursts, end_ns: u64) -> Opportunities {
        Opportunities {
            kind: Kind::Drawn(bursts),
            end: Time::from_ns(end_ns),
        }
    }

    /// Skips whole rounds that end before an instant. Call it between two opportunities.
    pub fn skip_rounds_before(&mut self, instant: Time) {
        let Kind::Recorded(recorded) = &mut self.kind else {
            return;
        };
        let instant_ms = instant.0 / (1000 * NS_PER_MS);
        let gap_ms = instant_ms.saturating_sub(recorded.at_ms);
        if let Some(rounds) = gap_ms.checked_div(recorded.period_ms) {
            recorded.at_ms += rounds * recorded.period_ms;
        }
    }
}

impl Iterator for Opportunities {
    type Item = Opportunity;

    fn next(&mut self) -> Option<Opportunity> {
        let next = match &mut self.kind {
            Kind::Recorded(recorded) => recorded.next(),
            Kind::Drawn(bursts) => Some(bursts.next()),
        };
        next.filter(|opportunity| opportunity.at < self.end)
    }
}

impl Recorded {
    fn next(&mut self) -> Option<Opportunity> {
        let mut count = 0;
        loop {
            if self.run.1 == 0 {
                self.run = self.read()?;
            }
            let (gap_ms, left) = self.run;
            if gap_ms == 0 {
                count += left;
                self.run.1 = 0;
            } else if count > 0 {
                break;
            } else {
                self.at_ms = self.at_ms.saturating_add(gap_ms);
                self.run.1 -= 1;
                count = 1;
                if self.run.1 > 0 {
                    break;
                }
            }
        }
        Some(Opportunity {
            at: Time::from_ns(self.at_ms.saturating_mul(NS_PER_MS).min(LONGEST_NS)),
            bytes: count * self.size_bytes,
        })
    }

    /// The next entry; after the last, the first of the next round.
    fn read(&mut self) -> Option<(u64, u64)> {
        if self.period_ms == 0 {
            return None;
        }
        if let Some(found) = self.entries.next().and_then(entry) {
            return Some(found);
        }
        self.entries.begin_again();
        self.entries.next().and_then(entry)
    }
}

/// Parses a gap and its repeat count.
fn entry(text: &str) -> Option<(u64, u64)> {
    let (gap_ms, rest) = number(text)?;
    if rest.is_empty() {
        return Some((gap_ms, 1));
    }
    let (count, rest) = number(rest.strip_prefix('*')?)?;
    (rest.is_empty() && count > 1).then_some((gap_ms, count))
}

/// Number of opportunities of a round, and its duration in milliseconds.
fn total(gaps_ms: &TraceText) -> Option<(u64, u64)> {
    let mut entries = Entries::of(gaps_ms);
    let (mut count, mut period_ms) = (0u64, 0u64);
    while let Some(text) = entries.next() {
        let (gap_ms, times) = entry(text)?;
        count = count.checked_add(times)?;
        period_ms = period_ms.checked_add(gap_ms.checked_mul(times)?)?;
    }
    Some((count, period_ms))
}

pub(super) fn check(path: &str, gaps_ms: &TraceText) -> Checked {
    let text = gaps_ms.as_str();
    let allowed = format!("at most {} MiB of text", LONGEST_TEXT >> 20);
    require(text.len() <= LONGEST_TEXT, path, text.len(), &allowed)?;
    let allowed = "gaps in milliseconds with a space between them, such as 0*3 2 1*4";
    let mut entries = Entries::of(gaps_ms);
    while let Some(text) = entries.next() {
        if entry(text).is_none() {
            let shown: String = text.chars().take(40).collect();
            return Err(SpecError::new(path, shown, allowed));
        }
    }
    let (count, period_ms) = total(gaps_ms).unwrap_or((0, u64::MAX));
    let in_range = (1..=LONGEST_NS / NS_PER_MS).contains(&period_ms);
    let allowed = "a round of 1 ms to 200 days";
    require(in_range, path, format!("{period_ms} ms"), allowed)?;
    // This number of opportunities times their size still fits 64 bits.
    let allowed = "at most 2^40 opportunities";
    require(count <= 1 << 40, path, count, allowed)
}

pub(super) fn outline(gaps_ms: &TraceText, size_bytes: u32) -> Outline {
    let (count, period_ms) = total(gaps_ms).unwrap_or((0, 1));
    let per_s = 1e3 * count as f64 / period_ms.max(1) as f64;
    Outline {
        steps_per_s: per_s.min(1000.0),
        ..Outline::of_rate(8.0 * f64::from(size_bytes) * per_s)
    }
}

/// Writes opportunities incrementally.
#[derive(Debug, Default)]
pub(super) struct Written {
    text: String,
    last_ms: u64,
    run: (u64, u64),
}

impl Written {
    /// Appends an opportunity, not before the last one.
    pub(super) fn push(&mut self, at_ms: u64) {
        let gap_ms = at_ms - self.last_ms;
        self.last_ms = at_ms;
        if self.run.1 > 0 && self.run.0 == gap_ms {
            self.run.1 += 1;
            return;
        }
        self.write_run();
        self.run = (gap_ms, 1);
    }

    fn write_run(&mut self) {
        let (gap_ms, count) = self.run;
        if count == 0 {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        write_number(&mut self.text, gap_ms);
        if count > 1 {
            self.text.push('*');
            write_number(&mut self.text, count);
        }
    }

    /// Time of the last one.
    pub(super) fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// Bytes of text so far.
    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    pub(super) fn finish(mut self) -> TraceText {
        self.write_run();
        self.text.into()
    }
}
