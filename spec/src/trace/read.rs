//! Reads trace files incrementally: only the trace's own text is kept in memory.
//!
//! A file whose first line is a number is a Mahimahi trace: each line is the millisecond of an opportunity,
//! nondecreasing, the last above 0 (mm-link(1)). Any other file is a table whose first line names its
//! columns: `time`, and one or more of `rate`, `delay` and `loss`, with units after `_`. An empty cell leaves
//! a value unchanged.

use super::opportunities;
use super::steps::{self, Values};
use super::text::LONGEST_TEXT;
use super::{FASTEST_BPS, MAHIMAHI_BYTES, Trace};
use crate::{LONGEST_NS, SpecError};

/// Largest number of lines of a file.
pub const MOST_LINES: u64 = 10_000_000;
const LONGEST_LINE: usize = 1000;
const LONGEST_MS: u64 = LONGEST_NS / 1_000_000;

const COLUMNS: &[(&str, Column, u32)] = &[
    ("time", Column::Time, 9),
    ("time_s", Column::Time, 9),
    ("time_ms", Column::Time, 6),
    ("time_us", Column::Time, 3),
    ("time_ns", Column::Time, 0),
    ("rate", Column::Rate, 0),
    ("rate_bps", Column::Rate, 0),
    ("rate_kbit", Column::Rate, 3),
    ("rate_mbit", Column::Rate, 6),
    ("delay", Column::Delay, 9),
    ("delay_s", Column::Delay, 9),
    ("delay_ms", Column::Delay, 6),
    ("delay_us", Column::Delay, 3),
    ("delay_ns", Column::Delay, 0),
    ("loss", Column::Loss, 9),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Rate,
    Delay,
    Loss,
    Other,
}

/// The state of reading a file.
#[derive(Debug, Default)]
pub struct Reader {
    /// The incomplete last line.
    line: Vec<u8>,
    lines: u64,
    format: Format,
}

#[derive(Debug, Default)]
enum Format {
    #[default]
    Unknown,
    Mahimahi(opportunities::Written),
    Table(Table),
}

#[derive(Debug)]
struct Table {
    /// The columns, and the power of ten by which their numbers are multiplied.
    columns: Vec<(Column, u32)>,
    written: steps::Written,
    last_ns: Option<u64>,
}

impl Reader {
    /// Reads the next block of a file.
    pub fn push(&mut self, mut piece: &[u8]) -> Result<(), SpecError> {
        while let Some(length) = piece.iter().position(|byte| *byte == b'\n') {
            self.keep(&piece[..length])?;
            piece = &piece[length + 1..];
            self.end_line()?;
        }
        self.keep(piece)
    }

    /// The trace, at the end of the file.
    pub fn finish(mut self) -> Result<Trace, SpecError> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        match self.format {
            Format::Unknown => Err(SpecError::new(
                "",
                "no lines",
                "a trace of at least one line",
            )),
            Format::Mahimahi(written) => {
                if written.last_ms() == 0 {
                    let allowed = "an opportunity later than 0 ms: the last one ends the round";
                    return Err(SpecError::new(at_line(self.lines), "0", allowed));
                }
                Ok(Trace::Opportunities {
                    gaps_ms: written.finish(),
                    size_bytes: MAHIMAHI_BYTES,
                })
            }
            Format::Table(table) => {
                if table.last_ns.is_none() {
                    let allowed = "at least one line after the column names";
                    return Err(SpecError::new(at_line(self.lines), "nothing", allowed));
                }
                let steps = table.written.finish();
                if steps.as_str().is_empty() {
                    return Err(SpecError::new(
                        "",
                        "empty cells",
                        "a rate, a delay or a loss",
                    ));
                }
                let repeat_ns = None;
                Ok(Trace::Steps { steps, repeat_ns })
            }
        }
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), SpecError> {
        if self.line.len() + part.len() > LONGEST_LINE {
            let allowed = format!("lines of at most {LONGEST_LINE} bytes");
            return Err(SpecError::new(
                at_line(self.lines + 1),
                "a longer line",
                allowed,
            ));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), SpecError> {
        self.lines += 1;
        if self.lines > MOST_LINES + 1 {
            let allowed = format!("at most {MOST_LINES} lines");
            return Err(SpecError::new(at_line(self.lines), "one more", allowed));
        }
        let bytes = std::mem::take(&mut self.line);
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| SpecError::new(at_line(self.lines), "other bytes", "text in UTF-8"))?;
        let text = text.trim_start_matches('\u{feff}').trim();
        let result = match &mut self.format {
            _ if text.is_empty() => Ok(0),
            Format::Unknown => begin(text).map(|format| {
                self.format = format;
                0
            }),
            Format::Mahimahi(written) => read_opportunity(written, text),
            Format::Table(table) => table.read(text),
        };
        self.line = bytes;
        self.line.clear();
        let length = result.map_err(|(value, allowed)| {
            let shown: String = value.chars().take(60).collect();
            SpecError::new(at_line(self.lines), shown, allowed)
        })?;
        if length > LONGEST_TEXT {
            let allowed = format!("at most {} MiB of changes", LONGEST_TEXT >> 20);
            return Err(SpecError::new(at_line(self.lines), "more", allowed));
        }
        Ok(())
    }
}

fn at_line(line: u64) -> String {
    format!("line {line}")
}

/// A value, and what is allowed instead.
type Refused = (String, String);

fn begin(text: &str) -> Result<Format, Refused> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let mut written = opportunities::Written::default();
        read_opportunity(&mut written, text)?;
        return Ok(Format::Mahimahi(written));
    }
    let names = text.split(',').map(str::trim);
    let columns: Vec<_> = names
        .map(|name| {
            let found = COLUMNS.iter().find(|(known, ..)| *known == name);
            found.map_or((Column::Other, 0), |(_, column, power)| (*column, *power))
        })
        .collect();
    let count = |wanted: Column| {
        columns
            .iter()
            .filter(|(column, _)| *column == wanted)
            .count()
    };
    let values = [Column::Rate, Column::Delay, Column::Loss].map(count);
    let fits = count(Column::Time) == 1 && values.iter().all(|n| *n <= 1) && values.contains(&1);
    if !fits {
        let allowed = "a number (Mahimahi's milliseconds), or the names of columns: one of time \
                       (seconds), time_ms, time_us, time_ns, and rate (bit/s), rate_kbit, rate_mbit, \
                       delay (seconds), delay_ms, delay_us, delay_ns, loss (0 to 1)";
        return Err((text.to_owned(), allowed.to_owned()));
    }
    Ok(Format::Table(Table {
        columns,
        written: steps::Written::default(),
        last_ns: None,
    }))
}

fn read_opportunity(written: &mut opportunities::Written, text: &str) -> Result<usize, Refused> {
    let found = scaled(text, 0).filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let in_range = |at_ms: &u64| (written.last_ms()..=LONGEST_MS).contains(at_ms);
    let Some(at_ms) = found.filter(in_range) else {
        let allowed = format!(
            "a whole number of milliseconds from {} to {LONGEST_MS}, not before the line above",
            written.last_ms()
        );
        return Err((text.to_owned(), allowed));
    };
    written.push(at_ms);
    Ok(written.length())
}

impl Table {
    fn read(&mut self, text: &str) -> Result<usize, Refused> {
        let mut cells = text.split(',').map(str::trim);
        let (mut at_ns, mut values) = (None, Values::default());
        for (column, power) in &self.columns {
            let Some(cell) = cells.next() else {
                let allowed = "one cell for each name of the first line".to_owned();
                return Err((text.to_owned(), allowed));
            };
            let (place, most, name) = match column {
                Column::Time => (&mut at_ns, LONGEST_NS, "a time of at most 200 days"),
                Column::Rate => (
                    &mut values.rate_bps,
                    FASTEST_BPS,
                    "a rate from 0 (an outage) to 4 Tbit/s",
                ),
                Column::Delay => (
                    &mut values.delay_ns,
                    LONGEST_NS,
                    "a delay of at most 200 days",
                ),
                Column::Loss => (
                    &mut values.loss_ppb,
                    1_000_000_000,
                    "a probability from 0 to 1",
                ),
                Column::Other => continue,
            };
            if cell.is_empty() && *column != Column::Time {
                continue;
            }
            let read = scaled(cell, *power).filter(|value| *value <= most);
            let allowed = || (cell.to_owned(), format!("{name}, in plain decimals"));
            *place = Some(read.ok_or_else(allowed)?);
        }
        let at_ns = at_ns.unwrap_or(0);
        if self.last_ns.is_some_and(|last_ns| at_ns <= last_ns) {
            let allowed = "a time after that of the line above".to_owned();
            return Err((text.to_owned(), allowed));
        }
        self.last_ns = Some(at_ns);
        self.written.push(at_ns, values);
        Ok(self.written.length())
    }
}

/// A decimal number times a power of ten, rounded to an integer.
fn scaled(text: &str, power: u32) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    let fits = whole.len() <= 19 && fraction.len() <= 30;
    if !(is_digits(whole) && is_digits(fraction) && has_digits && fits) {
        return None;
    }
    let mut value: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut digits = fraction.bytes();
    for _ in 0..power {
        let digit = digits.next().map_or(0, |byte| u64::from(byte - b'0'));
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    let rounds_up = digits.next().is_some_and(|byte| byte >= b'5');
    value.checked_add(u64::from(rounds_up))
}
