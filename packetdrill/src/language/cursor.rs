//! A cursor over the tokens of a script.

use super::lexer::{Token, Word};
use super::{Place, SyntaxError, SyntaxErrorKind};

/// The read position.
pub(super) struct Cursor<'a> {
    tokens: &'a [Token],
    at: usize,
    end: Place,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(tokens: &'a [Token]) -> Cursor<'a> {
        let end = tokens.last().map_or(Place { line: 1, column: 1 }, |last| {
            let width = last.source.chars().count() as u32;
            Place {
                line: last.place.line,
                column: last.place.column + width,
            }
        });
        Cursor { tokens, at: 0, end }
    }

    pub(super) fn peek(&self) -> Option<&'a Word> {
        self.tokens.get(self.at).map(|token| &token.word)
    }

    pub(super) fn peek_second(&self) -> Option<&'a Word> {
        self.tokens.get(self.at + 1).map(|token| &token.word)
    }

    pub(super) fn place(&self) -> Place {
        self.tokens
            .get(self.at)
            .map_or(self.end, |token| token.place)
    }

    /// Source text of the next token.
    pub(super) fn source(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| &token.source)
    }

    pub(super) fn next(&mut self) -> Option<&'a Word> {
        let word = self.peek();
        self.at += usize::from(word.is_some());
        word
    }

    /// Consumes this sign if it is next.
    pub(super) fn takes(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Word::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    /// Consumes this name if it is next.
    pub(super) fn takes_name(&mut self, name: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Word::Name(found)) if found == name);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, sign: char, what: &'static str) -> Result<(), SyntaxError> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(self.unexpected(what))
    }

    /// Parses a number from 0 to `most`.
    pub(super) fn number(&mut self, most: u64, allowed: &'static str) -> Result<u64, SyntaxError> {
        match self.peek() {
            Some(Word::Integer(value)) => {
                let number = u64::try_from(*value).ok().filter(|value| *value <= most);
                let Some(number) = number else {
                    let value = value.to_string();
                    return Err(self.error(SyntaxErrorKind::OutOfRange { value, allowed }));
                };
                self.at += 1;
                Ok(number)
            }
            Some(Word::Name(digits)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                let value = digits.chars().take(40).collect();
                Err(self.error(SyntaxErrorKind::OutOfRange { value, allowed }))
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    /// Skips the rest of the line that the last token is on.
    pub(super) fn skip_line_of_last(&mut self) {
        let last = self
            .at
            .checked_sub(1)
            .and_then(|last| self.tokens.get(last));
        let line = last.map_or(0, |token| token.place.line);
        while self.at < self.tokens.len() && self.place().line == line {
            self.at += 1;
        }
    }

    pub(super) fn error(&self, mistake: SyntaxErrorKind) -> SyntaxError {
        SyntaxError::new(self.place(), mistake)
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> SyntaxError {
        let found = match self.tokens.get(self.at) {
            Some(token) => token.source.chars().take(40).collect(),
            None => "the end".to_owned(),
        };
        self.error(SyntaxErrorKind::Unexpected { expected, found })
    }
}
