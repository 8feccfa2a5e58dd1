//! The words after a discipline's name: parameters and their values.

use super::{Discipline, Parameter, QdiscError};
use crate::nearest::nearest;
use crate::units::{self, UnitError, shortened};

/// A stream of words read against a discipline's table of parameters, so that a discipline's
/// own code only says which parameter goes where.
pub(super) struct Words<'a> {
    discipline: &'static Discipline,
    rest: std::str::SplitAsciiWhitespace<'a>,
    seen: Vec<&'static str>,
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
                allowed: format!("{} once", parameter.usage()),
                hint: None,
            });
        }
        self.seen.push(parameter.name);
        Ok(Some(parameter))
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

    /// Refuses a further number after a value, which tc would take for `meaning`.
    pub(super) fn refuse_second_number(&mut self, meaning: &str) -> Result<(), QdiscError> {
        // tc looks for a digit or, for overheads, a minus sign.
        let number =
            |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || "-.+".contains(c));
        match self.rest.clone().next().filter(number) {
            Some(word) => Err(QdiscError::WordNotImplemented {
                discipline: self.discipline.name,
                value: format!("{meaning} {}", shortened(word)),
                allowed: self.discipline.usage(),
                hint: None,
            }),
            None => Ok(()),
        }
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
        let names = self
            .discipline
            .parameters
            .iter()
            .map(|parameter| parameter.name);
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
            allowed: parameter.usage(),
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
