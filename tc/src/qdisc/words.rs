//! The words after a discipline's name: parameters and their values.

use super::{Discipline, Parameter, QdiscError};
use crate::decimal::Decimal;
use crate::nearest::nearest;
use crate::units::{self, UnitError, shortened};
use std::ops::RangeInclusive;

/// A probability of 1 in units of 10^-9.
pub(super) const PPB: u32 = 1_000_000_000;

/// A stream of words read against a discipline's table of parameters, so that a discipline's
/// own code only says which parameter goes where.
pub(super) struct Words<'a> {
    discipline: &'static Discipline,
    rest: std::str::SplitAsciiWhitespace<'a>,
    seen: Vec<&'static str>,
    /// The word by which the last parameter was given.
    last: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn new(
        discipline: &'static Discipline,
        rest: std::str::SplitAsciiWhitespace<'a>,
    ) -> Words<'a> {
        Words {
            discipline,
            rest,
            seen: Vec::new(),
            last: "",
        }
    }

    /// The next parameter; `None` at the end.
    pub(super) fn parameter(&mut self) -> Result<Option<&'static Parameter>, QdiscError> {
        let Some(word) = self.rest.next() else {
            return Ok(None);
        };
        let Some(parameter) = self.find(word) else {
            return Err(self.unknown(word));
        };
        if self.seen.contains(&parameter.name) {
            return Err(QdiscError::Repeated {
                discipline: self.discipline.name,
                value: parameter.name.to_owned(),
                allowed: format!("{} once", self.discipline.usage_of(parameter)),
                hint: None,
            });
        }
        self.seen.push(parameter.name);
        self.last = word;
        Ok(Some(parameter))
    }

    /// Whether the flag `parameter`, just read, was set (`ecn`) or switched off (`noecn`).
    pub(super) fn flag(&self, parameter: &'static Parameter) -> bool {
        parameter.is_set_by(self.last)
    }

    /// The count after `parameter`, from 1 to what the kernel's u32 holds.
    ///
    /// tc reads counts with its reader of sizes, so that `limit 100kb` is 102400 packets;
    /// here only a whole number is a count. `1000p`, as tc prints it, is one too.
    pub(super) fn count(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let digits = text.strip_suffix(['p', 'P']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.not_a_count(parameter, text));
        }
        // All digits, so what does not fit u64 is too large.
        let count = digits.parse().unwrap_or(u64::MAX);
        self.within_u32(parameter, count, text)
    }

    /// The number after `parameter`, from 0 to `most`.
    pub(super) fn number(
        &mut self,
        parameter: &'static Parameter,
        most: u32,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.not_a_count(parameter, text));
        }
        let number = text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| self.discipline.out_of_range(parameter, text))
    }

    /// The number of a class after `parameter`: hexadecimal, with or without `0x`.
    pub(super) fn class_minor(&mut self, parameter: &'static Parameter) -> Result<u16, QdiscError> {
        let text = self.value(parameter)?;
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let minor = is_hex
            .then(|| u16::from_str_radix(digits, 16).ok())
            .flatten();
        minor.ok_or_else(|| self.discipline.out_of_range(parameter, text))
    }

    /// The count after `parameter`, from 1 to `largest`.
    pub(super) fn count_up_to(
        &mut self,
        parameter: &'static Parameter,
        largest: u32,
    ) -> Result<u32, QdiscError> {
        let count = self.count(parameter)?;
        if count > largest {
            return Err(self.discipline.out_of_range(parameter, count));
        }
        Ok(count)
    }

    /// The probability after `parameter`, above 0 and at most 1, in units of 10^-9; what is left
    /// below that is cut off.
    pub(super) fn probability_ppb(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let number = Decimal::split_from(text)
            .ok()
            .filter(|(_, rest)| rest.is_empty())
            .and_then(|(number, _)| number.times(PPB.into()));
        match number {
            Some(ppb) if (1..=u64::from(PPB)).contains(&ppb.whole) => Ok(ppb.whole as u32),
            _ => Err(self.discipline.out_of_range(parameter, text)),
        }
    }

    /// The size after `parameter`, in bytes from 1 to what the kernel's u32 holds.
    pub(super) fn size_bytes(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let bytes = self.read(parameter, units::parse_size_bytes_in_tc(text))?;
        self.within_u32(parameter, bytes, text)
    }

    /// The rate after `parameter`, in bit/s: as tc hands it to the kernel, a whole number of
    /// bytes per second, and at least one.
    pub(super) fn rate_bps(&mut self, parameter: &'static Parameter) -> Result<u64, QdiscError> {
        let text = self.value(parameter)?;
        let rate_bps = self.read(parameter, units::parse_rate_bps_in_tc(text))? / 8 * 8;
        if rate_bps == 0 {
            return Err(self.discipline.out_of_range(parameter, text));
        }
        Ok(rate_bps)
    }

    /// The time after `parameter`, in ns, at most what the kernel's s64 holds.
    pub(super) fn time_ns(&mut self, parameter: &'static Parameter) -> Result<u64, QdiscError> {
        let text = self.value(parameter)?;
        let time_ns = self.read(parameter, units::parse_time_ns_in_tc(text))?;
        if i64::try_from(time_ns).is_err() {
            return Err(self.discipline.out_of_range(parameter, text));
        }
        Ok(time_ns)
    }

    /// The time after `parameter`, in ns: whole microseconds, as tc hands it to the kernel, from
    /// one to what a u32 holds.
    pub(super) fn microseconds_ns(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<u64, QdiscError> {
        let text = self.value(parameter)?;
        let time_us = self.read(parameter, units::parse_time_ns_in_tc(text))? / 1000;
        Ok(u64::from(self.within_u32(parameter, time_us, text)?) * 1000)
    }

    /// The percentage after `parameter`, in parts per billion; a bare number is per cent.
    pub(super) fn percent_ppb(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let ppb = self.read(parameter, units::parse_percent_ppb_in_tc(text))?;
        // The most is 100 %, far below what 32 bits hold.
        u32::try_from(ppb).map_err(|_| self.discipline.out_of_range(parameter, text))
    }

    /// A further percentage, `parameter`, if there is one.
    pub(super) fn further_percent_ppb(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<Option<u32>, QdiscError> {
        match self.number_follows() {
            true => self.percent_ppb(parameter).map(Some),
            false => Ok(None),
        }
    }

    /// The whole number after `parameter`.
    pub(super) fn integer(
        &mut self,
        parameter: &'static Parameter,
        range: RangeInclusive<i64>,
    ) -> Result<i32, QdiscError> {
        let text = self.value(parameter)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.not_a_count(parameter, text));
        }
        match text.parse() {
            Ok(value) if range.contains(&i64::from(value)) => Ok(value),
            _ => Err(self.discipline.out_of_range(parameter, text)),
        }
    }

    /// What the word after `parameter` means.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        parameter: &'static Parameter,
        meanings: &[(&str, T)],
    ) -> Result<T, QdiscError> {
        let text = self.value(parameter)?;
        let meant = meanings.iter().find(|(word, _)| *word == text);
        meant
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| self.discipline.out_of_range(parameter, text))
    }

    /// Which of these words follows; none where a number does.
    pub(super) fn model(
        &mut self,
        parameter: &'static Parameter,
        models: &[&'static str],
    ) -> Result<Option<&'static str>, QdiscError> {
        if self.number_follows() {
            return Ok(None);
        }
        let models: Vec<_> = models.iter().map(|word| (*word, *word)).collect();
        self.one_of(parameter, &models).map(Some)
    }

    /// Whether the next word begins as a number, by which tc knows a further argument.
    pub(super) fn number_follows(&self) -> bool {
        let next = self.rest.clone().next().unwrap_or_default();
        next.starts_with(|first: char| first.is_ascii_digit())
    }

    /// The same where a number may be below 0.
    pub(super) fn signed_number_follows(&self) -> bool {
        let next = self.rest.clone().next().unwrap_or_default();
        next.starts_with(|first: char| first.is_ascii_digit() || first == '-')
    }

    /// Refuses the end of the text while a required parameter is missing, or while both of
    /// two that exclude each other are there.
    pub(super) fn require_all(&self) -> Result<(), QdiscError> {
        for parameter in self.discipline.parameters {
            let alternative = self.discipline.alternative_to(parameter);
            let seen = |parameter: &Parameter| self.seen.contains(&parameter.name);
            match alternative {
                Some(other) if seen(parameter) && seen(other) => {
                    return Err(QdiscError::Conflict {
                        discipline: self.discipline.name,
                        value: other.name.to_owned(),
                        other: parameter.name,
                        allowed: self.discipline.usage(),
                        hint: None,
                    });
                }
                Some(other) if seen(other) => {}
                _ if parameter.is_required() => self.require(parameter, "")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses the end of the text without `parameter`, which is required `when`.
    pub(super) fn require(
        &self,
        parameter: &Parameter,
        when: &'static str,
    ) -> Result<(), QdiscError> {
        if self.seen.contains(&parameter.name) {
            return Ok(());
        }
        let or = self.discipline.alternative_to(parameter);
        let value = match or {
            Some(other) => format!("{} or {}", parameter.name, other.name),
            None => parameter.name.to_owned(),
        };
        Err(QdiscError::Missing {
            discipline: self.discipline.name,
            value,
            when,
            allowed: self.discipline.usage(),
            hint: None,
        })
    }

    /// The error for a word that is no parameter here.
    pub(super) fn unknown(&self, word: &str) -> QdiscError {
        let discipline = self.discipline.name;
        let (value, allowed) = (shortened(word), self.discipline.usage());
        if self.discipline.not_implemented.contains(&word) {
            return QdiscError::WordNotImplemented {
                discipline,
                value,
                allowed,
                hint: None,
            };
        }
        let names = self.discipline.words().map(|parameter| parameter.name);
        let hint = nearest(word, names).map(str::to_owned);
        QdiscError::UnknownWord {
            discipline,
            value,
            allowed,
            hint,
        }
    }

    fn find(&self, word: &str) -> Option<&'static Parameter> {
        let named =
            |parameter: &&Parameter| parameter.name == word || parameter.aliases.contains(&word);
        self.discipline.parameters.iter().find(named)
    }

    fn value(&mut self, parameter: &'static Parameter) -> Result<&'a str, QdiscError> {
        self.rest.next().ok_or_else(|| QdiscError::MissingValue {
            discipline: self.discipline.name,
            value: parameter.name.to_owned(),
            allowed: self.discipline.usage_of(parameter),
            hint: None,
        })
    }

    fn read(
        &self,
        parameter: &'static Parameter,
        result: Result<u64, UnitError>,
    ) -> Result<u64, QdiscError> {
        result.map_err(|source| QdiscError::BadUnit {
            discipline: self.discipline.name,
            parameter: parameter.name,
            source: Box::new(source),
        })
    }

    fn within_u32(
        &self,
        parameter: &'static Parameter,
        value: u64,
        text: &str,
    ) -> Result<u32, QdiscError> {
        match u32::try_from(value) {
            Ok(value) if value > 0 => Ok(value),
            _ => Err(self.discipline.out_of_range(parameter, text)),
        }
    }

    fn not_a_count(&self, parameter: &'static Parameter, text: &str) -> QdiscError {
        // What tc would make of "100kb" is no suggestion: offer the number without its unit.
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        QdiscError::NotACount {
            discipline: self.discipline.name,
            parameter: parameter.name,
            value: shortened(text),
            allowed: format!("{}, a whole number without unit", parameter.range),
            hint: (1..=10)
                .contains(&digits)
                .then(|| text[..digits].to_owned()),
        }
    }
}
