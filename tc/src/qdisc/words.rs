//! Parses the words after a discipline's name: parameters and their values.

use super::{Discipline, Parameter, QdiscError};
use crate::c_numbers::{Base, strtod, strtol};
use crate::nearest::nearest;
use crate::notice::Notice;
use crate::reason::Reason;
use crate::units::{UnitError, in_tc, shortened};
use std::ops::RangeInclusive;

/// Probability 1 in units of 10^-9.
pub(super) const PPB: u32 = 1_000_000_000;

const NS_PER_US: u64 = 1_000;

/// A stream of words, read against a discipline's parameter table. The discipline's own code only stores the
/// values.
pub(super) struct Words<'a> {
    discipline: &'static Discipline,
    rest: std::str::SplitAsciiWhitespace<'a>,
    seen: Vec<&'static str>,
    /// The word by which the last parameter was given.
    last: &'a str,
    notices: Vec<Notice>,
}

/// A word where values may stand alone.
pub(super) enum Token<'a> {
    Parameter(&'static Parameter),
    Value(&'a str),
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
            notices: Vec::new(),
        }
    }

    /// Records a notice about a word.
    pub(super) fn note(&mut self, notice: Option<Notice>) {
        self.notices.extend(notice);
    }

    /// The notices about the words read.
    pub(super) fn into_notices(self) -> Vec<Notice> {
        self.notices
    }

    /// The next parameter; `None` at the end. Refuses a repeated parameter that tc accepts once; of others
    /// the last value counts.
    pub(super) fn parameter(&mut self) -> Result<Option<&'static Parameter>, QdiscError> {
        match self.token()? {
            Some(Token::Parameter(parameter)) => Ok(Some(parameter)),
            Some(Token::Value(word)) => Err(self.unknown(word)),
            None => Ok(None),
        }
    }

    /// The next word; a word that is not a parameter is a value.
    pub(super) fn token(&mut self) -> Result<Option<Token<'a>>, QdiscError> {
        let Some(word) = self.rest.next() else {
            return Ok(None);
        };
        let whole = self.whole_word(word);
        let Some(parameter) = self.find(whole) else {
            return match self.discipline.not_implemented.contains(&whole) {
                true => Err(self.unknown(whole)),
                false => Ok(Some(Token::Value(word))),
            };
        };
        if self.discipline.once.contains(&parameter.name) {
            self.refuse_again(parameter)?;
        }
        if !self.seen(parameter) {
            self.seen.push(parameter.name);
        }
        self.last = whole;
        Ok(Some(Token::Parameter(parameter)))
    }

    /// Refuses a parameter that was given before.
    pub(super) fn refuse_again(&self, parameter: &'static Parameter) -> Result<(), QdiscError> {
        if !self.seen(parameter) {
            return Ok(());
        }
        Err(QdiscError::Repeated {
            discipline: self.discipline.name,
            value: parameter.name.to_owned(),
            allowed: format!("{} once", self.discipline.usage_of(parameter)),
            hint: None,
        })
    }

    /// Whether the parameter has been given.
    pub(super) fn seen(&self, parameter: &Parameter) -> bool {
        self.seen.contains(&parameter.name)
    }

    /// The word by which the parameter just read was given.
    pub(super) fn word(&self) -> &'a str {
        self.last
    }

    /// Whether the flag just read was set (`ecn`) or cleared (`noecn`).
    pub(super) fn flag(&self, parameter: &'static Parameter) -> bool {
        parameter.is_set_by(self.last)
    }

    /// The count after `parameter`; tc treats 0 as not given (`get_unsigned`).
    pub(super) fn count(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let count = self.unsigned(parameter, Base::ByPrefix)?;
        self.above_zero(parameter, count, Reason::Ignored)
    }

    /// The number after `parameter`, in 32 bits.
    pub(super) fn unsigned(
        &mut self,
        parameter: &'static Parameter,
        base: Base,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        self.unsigned_of(parameter, base, text)
    }

    /// The number that a word stands for.
    pub(super) fn unsigned_of(
        &self,
        parameter: &'static Parameter,
        base: Base,
        text: &str,
    ) -> Result<u32, QdiscError> {
        let number = strtol(text, base).ok_or_else(|| self.not_a_count(parameter, text))?;
        u32::try_from(number).map_err(|_| {
            // strtoul returns 2^64 minus the absolute value, which may fit 32 bits again.
            match number < 0 && u32::try_from(number.saturating_add(1 << 64)).is_ok() {
                true => self.discipline.not_taken(parameter, text, Reason::Wraps),
                false => self.discipline.out_of_range(parameter, text),
            }
        })
    }

    /// The integer after `parameter`, signed. Refused outside the range; `reason` says what tc does then.
    pub(super) fn signed(
        &mut self,
        parameter: &'static Parameter,
        range: RangeInclusive<i64>,
        otherwise: Reason,
    ) -> Result<i32, QdiscError> {
        let text = self.value(parameter)?;
        let number = strtol(text, Base::ByPrefix);
        let number = number.ok_or_else(|| self.not_a_count(parameter, text))?;
        let Ok(number) = i32::try_from(number) else {
            return Err(self.discipline.out_of_range(parameter, text));
        };
        match range.contains(&number.into()) {
            true => Ok(number),
            false => Err(self.discipline.not_taken(parameter, text, otherwise)),
        }
    }

    /// The number after `parameter` as `get_integer` reads it.
    pub(super) fn bands(&mut self, parameter: &'static Parameter) -> Result<i128, QdiscError> {
        let text = self.value(parameter)?;
        strtol(text, Base::Ten).ok_or_else(|| self.not_a_count(parameter, text))
    }

    /// The class number after `parameter`: hexadecimal, with or without `0x`.
    pub(super) fn class_minor(&mut self, parameter: &'static Parameter) -> Result<u16, QdiscError> {
        let number = self.unsigned(parameter, Base::Sixteen)?;
        // The kernel stores the whole number and looks up the class by its last 16 bits.
        let wraps = |_| {
            let text = format!("{number:x}");
            self.discipline.not_taken(parameter, text, Reason::Wraps)
        };
        u16::try_from(number).map_err(wraps)
    }

    /// The number of packets after `parameter`, which tc reads as a size; 0 would drop every packet.
    pub(super) fn packets(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let packets = in_tc::parse_size_bytes(text).map_err(|error| {
            // tc prints this form but does not read it.
            match text.strip_suffix(['p', 'P']).map(in_tc::parse_size_bytes) {
                Some(Ok(_)) => self.not_a_count(parameter, text),
                _ => self.bad_unit(parameter, error),
            }
        })?;
        self.notices.extend(in_tc::packets_notice(text, packets));
        self.above_zero(parameter, packets, Reason::DropsAll)
    }

    /// The size after `parameter` in bytes, above 0.
    pub(super) fn size_bytes(
        &mut self,
        parameter: &'static Parameter,
        at_zero: Reason,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let bytes = self.read(parameter, in_tc::parse_size_bytes(text))?;
        self.above_zero(parameter, bytes, at_zero)
    }

    /// As [`Words::size_bytes`], with an optional cell size after a `/`, which kernels since 3.8 ignore.
    pub(super) fn bucket_bytes(
        &mut self,
        parameter: &'static Parameter,
        at_zero: Reason,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let (size, cell) = match text.split_once('/') {
            Some((size, cell)) => (size, Some(cell)),
            None => (text, None),
        };
        let bytes = self.read(parameter, in_tc::parse_size_bytes(size))?;
        if let Some(cell) = cell {
            let cell = strtol(cell, Base::ByPrefix);
            let is_cell =
                cell.is_some_and(|cell| (1..=1 << 30).contains(&cell) && cell.count_ones() == 1);
            return Err(match is_cell {
                true => self.discipline.not_taken(parameter, text, Reason::Ignored),
                false => self.discipline.out_of_range(parameter, text),
            });
        }
        self.above_zero(parameter, bytes, at_zero)
    }

    /// The rate after `parameter`, bit/s: a whole number of bytes per second, at least one, as tc passes it
    /// to the kernel.
    pub(super) fn rate_bps(
        &mut self,
        parameter: &'static Parameter,
        at_zero: Reason,
    ) -> Result<u64, QdiscError> {
        let text = self.value(parameter)?;
        let rate_bps = self.read(parameter, in_tc::parse_rate_bps(text))?;
        self.notices.extend(in_tc::rate_notice(text, rate_bps));
        self.above_zero(parameter, rate_bps, at_zero)
    }

    /// As [`Words::rate_bps`], of a rate for which tc has 32 bits of bytes per second (`get_rate`).
    pub(super) fn short_rate_bps(
        &mut self,
        parameter: &'static Parameter,
        at_zero: Reason,
    ) -> Result<u64, QdiscError> {
        let rate_bps = self.rate_bps(parameter, at_zero)?;
        match rate_bps / 8 <= u64::from(u32::MAX) {
            true => Ok(rate_bps),
            false => Err(self.discipline.out_of_range(parameter, rate_bps)),
        }
    }

    /// The rate that is the next word; may be 0.
    pub(super) fn any_rate_bps(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<u64, QdiscError> {
        let text = self.value(parameter)?;
        let rate_bps = self.read(parameter, in_tc::parse_rate_bps(text))?;
        self.notices.extend(in_tc::rate_notice(text, rate_bps));
        Ok(rate_bps)
    }

    /// The size that is the next word; may be 0.
    pub(super) fn any_size_bytes(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        self.read(parameter, in_tc::parse_size_bytes(text))
    }

    /// Whether the next word is this one.
    pub(super) fn next_is(&self, word: &str) -> bool {
        self.rest.clone().next() == Some(word)
    }

    /// Takes the next word if it equals this one.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is_it = self.next_is(word);
        if is_it {
            self.rest.next();
        }
        is_it
    }

    /// Takes the next word if this one begins so.
    pub(super) fn take_beginning_of(&mut self, word: &str) -> bool {
        let next = self.rest.clone().next();
        let begins_it = next.is_some_and(|next| word.starts_with(next));
        if begins_it {
            self.rest.next();
        }
        begins_it
    }

    /// Takes the next word, which must equal this one.
    pub(super) fn expect(
        &mut self,
        word: &str,
        parameter: &'static Parameter,
    ) -> Result<(), QdiscError> {
        match self.take(word) {
            true => Ok(()),
            false => {
                let found = self.rest.clone().next().unwrap_or("nothing");
                Err(self.discipline.out_of_range(parameter, found))
            }
        }
    }

    /// The time after `parameter`, ns; tc treats 0 as not given.
    pub(super) fn time_ns(&mut self, parameter: &'static Parameter) -> Result<u64, QdiscError> {
        let time_us = self.time_us(parameter)?;
        let time_us = self.above_zero(parameter, time_us, Reason::Ignored)?;
        Ok(u64::from(time_us) * NS_PER_US)
    }

    /// The time after `parameter`, in whole microseconds.
    pub(super) fn time_us(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        let time_us = self.read(parameter, in_tc::parse_time_us(text))?;
        self.notices.extend(in_tc::time_notice(text, time_us));
        Ok(time_us)
    }

    /// The time after `parameter`, which tc and the kernel store in whole nanoseconds.
    pub(super) fn long_time_ns(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        self.read(parameter, in_tc::parse_time_ns(text))
    }

    /// The next word, a time of which tc and the kernel have 64 bits of nanoseconds.
    pub(super) fn any_long_time_ns(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<u64, QdiscError> {
        let text = self.value(parameter)?;
        self.read(parameter, in_tc::parse_longest_time_ns(text))
    }

    /// The time after `parameter`, ns, as tc passes it in ticks.
    pub(super) fn ticks_ns(&mut self, parameter: &'static Parameter) -> Result<u64, QdiscError> {
        let time_us = self.time_us(parameter)?;
        let too_long = || {
            self.discipline
                .out_of_range(parameter, format!("{time_us}us"))
        };
        in_tc::in_ticks_ns(time_us).ok_or_else(too_long)
    }

    /// The number after `parameter` as C's `sscanf` reads it.
    pub(super) fn real(&mut self, parameter: &'static Parameter) -> Result<f64, QdiscError> {
        let text = self.value(parameter)?;
        match strtod(text) {
            Some((number, "")) => Ok(number),
            Some(_) => Err(self.discipline.not_taken(parameter, text, Reason::Ignored)),
            None => Err(self.discipline.out_of_range(parameter, text)),
        }
    }

    /// Refuses 0, of the first of two values at least; `reason` says how tc treats it.
    pub(super) fn above_zero<T: Default + PartialEq + ToString>(
        &self,
        parameter: &'static Parameter,
        value: T,
        at_zero: Reason,
    ) -> Result<T, QdiscError> {
        match value == T::default() {
            true => Err(self.discipline.not_taken(parameter, value, at_zero)),
            false => Ok(value),
        }
    }

    /// The percentage after `parameter`, in parts per billion; a bare number is per cent.
    pub(super) fn percent_ppb(&mut self, parameter: &'static Parameter) -> Result<u32, QdiscError> {
        let text = self.value(parameter)?;
        self.read(parameter, in_tc::parse_percent_ppb(text))
    }

    /// An optional further percentage, `parameter`.
    pub(super) fn further_percent_ppb(
        &mut self,
        parameter: &'static Parameter,
    ) -> Result<Option<u32>, QdiscError> {
        match self.number_follows() {
            true => self.percent_ppb(parameter).map(Some),
            false => Ok(None),
        }
    }

    /// The meaning of the keyword after `parameter`.
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

    /// Which of these keywords follows; None if a number does.
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

    /// Whether the next word starts with a digit, by which tc recognizes a further argument.
    pub(super) fn number_follows(&self) -> bool {
        let next = self.rest.clone().next().unwrap_or_default();
        next.starts_with(|first: char| first.is_ascii_digit())
    }

    /// Whether the next word starts with a sign or digit.
    pub(super) fn signed_number_follows(&self) -> bool {
        let next = self.rest.clone().next().unwrap_or_default();
        next.starts_with(|first: char| first.is_ascii_digit() || first == '-')
    }

    /// At the end of the text: refuses a missing required parameter, and two that exclude each other.
    pub(super) fn require_all(&self) -> Result<(), QdiscError> {
        for parameter in self.discipline.parameters {
            let alternative = self.discipline.alternative_to(parameter);
            match alternative {
                Some(other) if self.seen(parameter) && self.seen(other) => {
                    return Err(QdiscError::Conflict {
                        discipline: self.discipline.name,
                        value: other.name.to_owned(),
                        other: parameter.name,
                        allowed: self.discipline.usage(),
                        hint: None,
                    });
                }
                Some(other) if self.seen(other) => {}
                _ if parameter.is_required() => self.require(parameter, "")?,
                _ => {}
            }
        }
        Ok(())
    }

    /// At the end of the text: refuses a missing `parameter`, which is required `when`.
    pub(super) fn require(
        &self,
        parameter: &Parameter,
        when: &'static str,
    ) -> Result<(), QdiscError> {
        if self.seen(parameter) {
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

    /// The error for a word that is not a parameter here.
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

    /// Expands an abbreviation as tc does (`matches`): the first of its words with this prefix.
    fn whole_word(&self, word: &'a str) -> &'a str {
        if self.find(word).is_some() {
            return word;
        }
        let mut known = self.discipline.abbreviated.iter();
        let whole = known.find(|whole| whole.starts_with(word));
        whole.copied().unwrap_or(word)
    }

    fn find(&self, word: &str) -> Option<&'static Parameter> {
        let named =
            |parameter: &&Parameter| parameter.name == word || parameter.aliases.contains(&word);
        self.discipline.parameters.iter().find(named)
    }

    /// The word after `parameter`.
    pub(super) fn value(&mut self, parameter: &'static Parameter) -> Result<&'a str, QdiscError> {
        self.rest.next().ok_or_else(|| QdiscError::MissingValue {
            discipline: self.discipline.name,
            value: parameter.name.to_owned(),
            allowed: self.discipline.usage_of(parameter),
            hint: None,
        })
    }

    /// Parses a word, or says why it is invalid.
    pub(super) fn read<T>(
        &self,
        parameter: &'static Parameter,
        result: Result<T, UnitError>,
    ) -> Result<T, QdiscError> {
        result.map_err(|source| self.bad_unit(parameter, source))
    }

    fn bad_unit(&self, parameter: &'static Parameter, source: UnitError) -> QdiscError {
        QdiscError::BadUnit {
            discipline: self.discipline.name,
            parameter: parameter.name,
            source: Box::new(source),
        }
    }

    fn not_a_count(&self, parameter: &'static Parameter, text: &str) -> QdiscError {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number = text[..digits].trim_start_matches('0');
        QdiscError::NotACount {
            discipline: self.discipline.name,
            parameter: parameter.name,
            value: shortened(text),
            allowed: format!("{}, a whole number without unit", parameter.range),
            hint: (1..=9).contains(&number.len()).then(|| number.to_owned()),
        }
    }
}
