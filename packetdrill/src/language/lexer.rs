//! The lexer: words, numbers, quoted text; comments are dropped.

use super::{Place, SyntaxError, SyntaxErrorKind};

/// Maximum size of a script, bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// A token of the language.
#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// Letters, digits and underscores, not all digits.
    Name(String),
    /// A number without a decimal point; hexadecimal with 0x.
    Integer(i64),
    /// A number with a decimal point.
    Decimal(f64),
    /// `"..."`
    Text(String),
    /// `` `...` ``
    Shell(String),
    /// `%{ ... }%`
    Code(String),
    /// `--name` or `--name=value`
    Setting(String, Option<String>),
    /// `...`
    Ellipsis,
    /// `1.2.3.4`, or an address with colons.
    Address(String),
    /// Any other character.
    Sign(char),
}

/// A token and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Where the token begins.
    pub place: Place,
    /// The token.
    pub word: Word,
    /// Source text.
    pub source: String,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    place: Place,
}

/// Splits a text into tokens.
pub fn words(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let place = Place { line: 1, column: 1 };
    if text.len() > MOST_BYTES {
        let (what, most) = ("bytes", MOST_BYTES);
        return Err(SyntaxError::new(
            place,
            SyntaxErrorKind::TooMuch { what, most },
        ));
    }
    let mut lexer = Lexer { text, at: 0, place };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        if lexer.rest().is_empty() {
            return Ok(tokens);
        }
        let (place, start) = (lexer.place, lexer.at);
        let word = lexer.word()?;
        let source = text[start..lexer.at].to_owned();
        tokens.push(Token {
            place,
            word,
            source,
        });
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, bytes: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + bytes];
        for letter in taken.chars() {
            if letter == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        self.at += bytes;
        taken
    }

    /// Length of the run of characters of this kind, bytes.
    fn span(&self, from: usize, is_of: impl Fn(char) -> bool) -> usize {
        let rest = &self.rest()[from..];
        from + rest.find(|letter| !is_of(letter)).unwrap_or(rest.len())
    }

    fn skip_blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            let blank = self.span(0, char::is_whitespace);
            if blank > 0 {
                self.advance(blank);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                let end = self.end_of(2, "*/", "a comment")?;
                self.advance(end);
            } else {
                return Ok(());
            }
        }
    }

    /// Bytes up to and including this mark.
    fn end_of(&self, from: usize, mark: &str, what: &'static str) -> Result<usize, SyntaxError> {
        let found = self.rest()[from..].find(mark);
        found
            .map(|index| from + index + mark.len())
            .ok_or_else(|| SyntaxError::new(self.place, SyntaxErrorKind::Unended(what)))
    }

    fn word(&mut self) -> Result<Word, SyntaxError> {
        let rest = self.rest();
        if rest.starts_with("%{") {
            let end = self.end_of(2, "}%", "an assertion")?;
            return Ok(Word::Code(self.advance(end)[2..end - 2].to_owned()));
        }
        if rest.starts_with("...") {
            self.advance(3);
            return Ok(Word::Ellipsis);
        }
        let first = rest.chars().next().expect("something is left");
        match first {
            '"' => Ok(Word::Text(self.quoted('"', "a text")?)),
            '`' => Ok(Word::Shell(self.quoted('`', "a shell line")?)),
            '-' if rest[1..].starts_with('-') && self.span(2, is_of_name) > 2 => Ok(self.setting()),
            '-' | '.' | '0'..='9' => self.number(),
            _ if is_of_name(first) => {
                let end = self.span(0, is_of_name);
                Ok(Word::Name(self.advance(end).to_owned()))
            }
            _ => {
                self.advance(first.len_utf8());
                Ok(Word::Sign(first))
            }
        }
    }

    fn quoted(&mut self, quote: char, what: &'static str) -> Result<String, SyntaxError> {
        let mut is_escaped = false;
        for (index, letter) in self.rest().char_indices().skip(1) {
            if letter == quote && !is_escaped {
                let inside = &self.advance(index + 1)[1..index];
                return Ok(inside.to_owned());
            }
            is_escaped = letter == '\\' && !is_escaped;
        }
        Err(SyntaxError::new(self.place, SyntaxErrorKind::Unended(what)))
    }

    fn setting(&mut self) -> Word {
        let end = self.span(2, is_of_name);
        let name = self.advance(end)[2..].to_owned();
        if !self.rest().starts_with('=') {
            return Word::Setting(name, None);
        }
        let end = self.span(1, |letter| !letter.is_whitespace());
        let value = self.advance(end)[1..].trim_matches('"').to_owned();
        Word::Setting(name, Some(value))
    }

    /// Parses a number, an address, or a name that begins with a digit.
    fn number(&mut self) -> Result<Word, SyntaxError> {
        let digit = |letter: char| letter.is_ascii_digit();
        let sign = usize::from(self.rest().starts_with('-'));
        let whole = self.span(sign, digit);
        if sign == 0 && self.address_bytes() > 0 {
            let bytes = self.address_bytes();
            return Ok(Word::Address(self.advance(bytes).to_owned()));
        }
        if self.rest()[whole..].starts_with('.') {
            let end = self.span(whole + 1, digit);
            if end > whole + 1 {
                let place = self.place;
                let text = self.advance(end);
                return match text.parse() {
                    Ok(value) => Ok(Word::Decimal(value)),
                    Err(_) => Err(out_of_range(place, text, "a number")),
                };
            }
        }
        if whole == sign {
            let first = self.rest().chars().next().expect("a sign or a point");
            self.advance(1);
            return Ok(Word::Sign(first));
        }
        let name = self.span(sign, is_of_name);
        let place = self.place;
        let text = self.advance(name);
        if name > whole {
            let hexadecimal = text.strip_prefix("0x");
            return match hexadecimal.map(|digits| i64::from_str_radix(digits, 16)) {
                Some(Ok(value)) => Ok(Word::Integer(value)),
                _ => Ok(Word::Name(text.to_owned())),
            };
        }
        match text.parse() {
            Ok(value) => Ok(Word::Integer(value)),
            Err(_) if sign > 0 => Err(out_of_range(place, text, "64 bits")),
            // More digits than an integer can have may be a cookie.
            Err(_) => Ok(Word::Name(text.to_owned())),
        }
    }

    /// Length of an IPv4 address that begins here, bytes; 0 for none.
    fn address_bytes(&self) -> usize {
        let end = self.span(0, |letter| letter.is_ascii_digit() || letter == '.');
        let text = &self.rest()[..end];
        let is_address = text.split('.').count() == 4
            && text
                .split('.')
                .all(|part| !part.is_empty() && part.len() <= 3);
        if is_address { end } else { 0 }
    }
}

fn out_of_range(place: Place, value: &str, allowed: &'static str) -> SyntaxError {
    let value = value.chars().take(40).collect();
    SyntaxError::new(place, SyntaxErrorKind::OutOfRange { value, allowed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Word> {
        let tokens = words(text).unwrap();
        tokens.into_iter().map(|token| token.word).collect()
    }

    #[test]
    fn a_time_with_its_end_is_three_words() {
        let ranged = [Word::Decimal(0.01), Word::Ellipsis, Word::Decimal(0.2)];
        assert_eq!(read(".01...0.2"), ranged);
        let whole = [Word::Integer(0), Word::Ellipsis, Word::Decimal(0.2)];
        assert_eq!(read("0...0.2"), whole);
    }

    #[test]
    fn comments_go_and_places_stay() {
        let tokens = words("/* one\n two */ 3 // four\n  five").unwrap();
        let places: Vec<_> = tokens.iter().map(|token| token.place).collect();
        let place = |line, column| Place { line, column };
        assert_eq!(places, [place(2, 9), place(3, 3)]);
    }

    #[test]
    fn what_has_no_end_is_told_where_it_begins() {
        for text in ["  /* *", "  `ls", "  \"a\\\"", "  %{ assert"] {
            let error = words(text).unwrap_err();
            assert_eq!(error.place, Place { line: 1, column: 3 }, "{text}");
        }
    }
}
