//! `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`: comparisons, which are parsed and never
//! executed.
//!
//! The parser accepts these Python statements: `assert CONDITION[, MESSAGE]`, `name = VALUE`, `name
//! += VALUE`, `name -= VALUE`, and `print(...)`, which is ignored. A condition consists of names,
//! numbers, `+ - * / // % & |`, comparisons (also chained), `and`, `or`, `not` and parentheses.
//! Anything else makes the whole snippet `Action::Python`.

use super::script::Action;
use super::{Place, SyntaxError, SyntaxErrorKind};

/// Maximum nesting depth of a condition.
const DEEPEST: usize = 16;

/// One statement of a snippet.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// `assert`
    Assert(Condition),
    /// `name = value`; from then on the name belongs to the script.
    Assign(String, Formula),
}

impl Statement {
    /// The formula that is evaluated.
    pub fn formula(&self) -> &Formula {
        match self {
            Statement::Assert(condition) => &condition.formula,
            Statement::Assign(_, formula) => formula,
        }
    }
}

/// One assertion.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Source text.
    pub source: String,
    /// The formula that must be non-zero.
    pub formula: Formula,
}

/// A value computed from fields.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// A number.
    Number(f64),
    /// A field of `tcp_info`, or a kernel constant.
    Name(String),
    /// `not`
    Not(Box<Formula>),
    /// `-`
    Minus(Box<Formula>),
    /// Arithmetic.
    Binary(Arithmetic, Box<Formula>, Box<Formula>),
    /// `a <= b < c`: the first operand, and each further operand with its comparison.
    Compared(Box<Formula>, Vec<(Comparison, Formula)>),
    /// `and`
    All(Vec<Formula>),
    /// `or`
    Any(Vec<Formula>),
}

/// Arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `//`
    OverWhole,
    /// `%`
    Rest,
    /// `&`
    And,
    /// `|`
    Or,
}

/// Comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Different,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Formula {
    /// Evaluates the formula; the error is a name without a value.
    pub fn value<'a>(&'a self, of: &impl Fn(&str) -> Option<f64>) -> Result<f64, &'a str> {
        let truth = |is_true: bool| if is_true { 1.0 } else { 0.0 };
        Ok(match self {
            Formula::Number(number) => *number,
            Formula::Name(name) => of(name).ok_or(name.as_str())?,
            Formula::Not(inner) => truth(inner.value(of)? == 0.0),
            Formula::Minus(inner) => -inner.value(of)?,
            Formula::Binary(arithmetic, left, right) => {
                arithmetic.of(left.value(of)?, right.value(of)?)
            }
            Formula::Compared(first, others) => {
                let mut left = first.value(of)?;
                let mut holds = true;
                for (comparison, right) in others {
                    let right = right.value(of)?;
                    holds &= comparison.holds(left, right);
                    left = right;
                }
                truth(holds)
            }
            Formula::All(parts) => {
                let mut all = true;
                for part in parts {
                    all &= part.value(of)? != 0.0;
                }
                truth(all)
            }
            Formula::Any(parts) => {
                let mut any = false;
                for part in parts {
                    any |= part.value(of)? != 0.0;
                }
                truth(any)
            }
        })
    }

    /// The names that it uses.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Formula::Number(_) => Vec::new(),
            Formula::Name(name) => vec![name],
            Formula::Not(inner) | Formula::Minus(inner) => inner.names(),
            Formula::Binary(_, left, right) => [left.names(), right.names()].concat(),
            Formula::Compared(first, others) => {
                let others = others.iter().flat_map(|(_, other)| other.names());
                first.names().into_iter().chain(others).collect()
            }
            Formula::All(parts) | Formula::Any(parts) => {
                parts.iter().flat_map(Formula::names).collect()
            }
        }
    }
}

impl Arithmetic {
    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Arithmetic::Plus => left + right,
            Arithmetic::Minus => left - right,
            Arithmetic::Times => left * right,
            Arithmetic::Over => left / right,
            Arithmetic::OverWhole => (left / right).floor(),
            Arithmetic::Rest => left - right * (left / right).floor(),
            Arithmetic::And => (left as i64 & right as i64) as f64,
            Arithmetic::Or => (left as i64 | right as i64) as f64,
        }
    }
}

impl Comparison {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Different => left != right,
            Comparison::Less => left < right,
            Comparison::AtMost => left <= right,
            Comparison::More => left > right,
            Comparison::AtLeast => left >= right,
        }
    }
}

/// The text after a keyword; None if the statement begins with another word, such as `printed`.
fn after_word<'a>(statement: &'a str, word: &str) -> Option<&'a str> {
    let rest = statement.strip_prefix(word)?;
    let goes_on = rest.starts_with(|each: char| each.is_alphanumeric() || each == '_');
    (!goes_on).then_some(rest)
}

/// Parses a snippet. `place` is where it begins.
pub(crate) fn read(code: &str, place: Place) -> Result<Action, SyntaxError> {
    let mut found = Vec::new();
    for statement in statements(code) {
        let statement = statement.trim();
        if statement.is_empty() || after_word(statement, "print").is_some() {
            continue;
        }
        if let Some(rest) = after_word(statement, "assert") {
            let source = before_message(rest).trim();
            let Some(formula) = formula(source, place)? else {
                return Ok(Action::Python);
            };
            let source = source.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push(Statement::Assert(Condition { source, formula }));
            continue;
        }
        match assignment(statement, place)? {
            Some(assignment) => found.push(assignment),
            None => return Ok(Action::Python),
        }
    }
    Ok(Action::Assert(found))
}

/// None: it contains an element that conditions do not have.
fn formula(source: &str, place: Place) -> Result<Option<Formula>, SyntaxError> {
    let Some(words) = words(source) else {
        return Ok(None);
    };
    let mut reader = Reader {
        words: &words,
        at: 0,
        place,
    };
    let formula = reader.any(0)?;
    if reader.at < words.len() {
        return Err(reader.unexpected("the end of an assertion, or an operator"));
    }
    Ok(Some(formula))
}

/// `cwnd = 10`, `cwnd += 1`
fn assignment(statement: &str, place: Place) -> Result<Option<Statement>, SyntaxError> {
    let Some((left, right)) = statement.split_once('=') else {
        return Ok(None);
    };
    let (name, arithmetic) = if let Some(name) = left.strip_suffix('+') {
        (name, Some(Arithmetic::Plus))
    } else if let Some(name) = left.strip_suffix('-') {
        (name, Some(Arithmetic::Minus))
    } else {
        (left, None)
    };
    let name = name.trim();
    let is_name = !name.is_empty()
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !is_name || name.starts_with("tcpi_") || right.starts_with('=') {
        return Ok(None);
    }
    let Some(mut formula) = formula(right.trim(), place)? else {
        return Ok(None);
    };
    if let Some(arithmetic) = arithmetic {
        let before = Formula::Name(name.to_owned());
        formula = Formula::Binary(arithmetic, Box::new(before), Box::new(formula));
    }
    Ok(Some(Statement::Assign(name.to_owned(), formula)))
}

/// Statements end at line ends and semicolons, except within parentheses and string literals. A
/// backslash before a line end joins the line to the next.
fn statements(code: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let (mut depth, mut quote) = (0_i64, None);
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        let current = found.last_mut().expect("one at least");
        if quote.is_some() {
            if Some(letter) == quote {
                quote = None;
            }
            current.push(letter);
            continue;
        }
        match letter {
            '\'' | '"' => quote = Some(letter),
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '#' => {
                while letters.peek().is_some_and(|next| *next != '\n') {
                    letters.next();
                }
                continue;
            }
            '\\' if letters.peek() == Some(&'\n') => {
                letters.next();
                current.push(' ');
                continue;
            }
            '\n' | ';' if depth <= 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        current.push(letter);
    }
    found
}

/// The condition of an assertion: the part before the comma that precedes its message.
fn before_message(text: &str) -> &str {
    let (mut depth, mut quote) = (0_i64, None);
    for (index, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth <= 0 => return &text[..index],
            _ => {}
        }
    }
    text
}

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Number(f64),
    Name(String),
    Sign(&'static str),
}

const SIGNS: [&str; 17] = [
    "==", "!=", "<=", ">=", "//", "<", ">", "+", "-", "*", "/", "%", "&", "|", "(", ")", "~",
];

/// None: there is an element that conditions do not have.
fn words(text: &str) -> Option<Vec<Word>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let of_number = |letter: char| of_name(letter) || letter == '.';
        let taken = if first.is_ascii_digit() {
            let end = rest.find(|letter| !of_number(letter)).unwrap_or(rest.len());
            let text = &rest[..end];
            let number = match text.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).ok()? as f64,
                None => text.parse().ok()?,
            };
            found.push(Word::Number(number));
            end
        } else if of_name(first) {
            let end = rest.find(|letter| !of_name(letter)).unwrap_or(rest.len());
            found.push(Word::Name(rest[..end].to_owned()));
            end
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            found.push(Word::Sign(sign));
            sign.len()
        };
        rest = rest[taken..].trim_start();
    }
    Some(found)
}

struct Reader<'a> {
    words: &'a [Word],
    at: usize,
    place: Place,
}

impl Reader<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.words.get(self.at), Some(Word::Sign(found)) if *found == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let is_next = matches!(self.words.get(self.at), Some(Word::Name(found)) if found == name);
        self.at += usize::from(is_next);
        is_next
    }

    fn unexpected(&self, expected: &'static str) -> SyntaxError {
        let found = match self.words.get(self.at) {
            Some(Word::Number(number)) => number.to_string(),
            Some(Word::Name(name)) => name.chars().take(40).collect(),
            Some(Word::Sign(sign)) => (*sign).to_owned(),
            None => "the end of the assertion".to_owned(),
        };
        SyntaxError::new(self.place, SyntaxErrorKind::Unexpected { expected, found })
    }

    fn any(&mut self, depth: usize) -> Result<Formula, SyntaxError> {
        let mut parts = vec![self.all(depth)?];
        while self.takes_name("or") {
            parts.push(self.all(depth)?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Formula::Any(parts),
        })
    }

    fn all(&mut self, depth: usize) -> Result<Formula, SyntaxError> {
        let mut parts = vec![self.compared(depth)?];
        while self.takes_name("and") {
            parts.push(self.compared(depth)?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Formula::All(parts),
        })
    }

    fn compared(&mut self, depth: usize) -> Result<Formula, SyntaxError> {
        if depth == DEEPEST {
            let (what, most) = ("parentheses in each other", DEEPEST);
            return Err(SyntaxError::new(
                self.place,
                SyntaxErrorKind::TooMuch { what, most },
            ));
        }
        if self.takes_name("not") {
            return Ok(Formula::Not(Box::new(self.compared(depth + 1)?)));
        }
        let first = self.sum(depth)?;
        let mut others = Vec::new();
        while let Some(comparison) = self.comparison() {
            others.push((comparison, self.sum(depth)?));
        }
        Ok(match others.is_empty() {
            true => first,
            false => Formula::Compared(Box::new(first), others),
        })
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let known = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Different),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        let found = known.into_iter().find(|(sign, _)| self.takes(sign));
        found.map(|(_, comparison)| comparison)
    }

    fn chain(
        &mut self,
        depth: usize,
        known: &[(&str, Arithmetic)],
        part: fn(&mut Self, usize) -> Result<Formula, SyntaxError>,
    ) -> Result<Formula, SyntaxError> {
        let mut left = part(self, depth)?;
        let mut terms = 0;
        while let Some((_, arithmetic)) = known.iter().find(|(sign, _)| self.takes(sign)) {
            terms += 1;
            if terms > 4 * DEEPEST {
                let (what, most) = ("terms in an assertion", 4 * DEEPEST);
                return Err(SyntaxError::new(
                    self.place,
                    SyntaxErrorKind::TooMuch { what, most },
                ));
            }
            let right = part(self, depth)?;
            left = Formula::Binary(*arithmetic, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn sum(&mut self, depth: usize) -> Result<Formula, SyntaxError> {
        self.chain(depth, &[("|", Arithmetic::Or)], |reader, depth| {
            reader.chain(depth, &[("&", Arithmetic::And)], |reader, depth| {
                let sums = [("+", Arithmetic::Plus), ("-", Arithmetic::Minus)];
                reader.chain(depth, &sums, Self::product)
            })
        })
    }

    fn product(&mut self, depth: usize) -> Result<Formula, SyntaxError> {
        let products = [
            ("*", Arithmetic::Times),
            ("//", Arithmetic::OverWhole),
            ("/", Arithmetic::Over),
            ("%", Arithmetic::Rest),
        ];
        self.chain(depth, &products, Self::atom)
    }

    fn atom(&mut self, depth: usize) -> Result<Formula, SyntaxError> {
        if depth == DEEPEST {
            let (what, most) = ("parentheses in each other", DEEPEST);
            return Err(SyntaxError::new(
                self.place,
                SyntaxErrorKind::TooMuch { what, most },
            ));
        }
        if self.takes("-") {
            return Ok(Formula::Minus(Box::new(self.atom(depth + 1)?)));
        }
        if self.takes("(") {
            let inner = self.any(depth + 1)?;
            if !self.takes(")") {
                return Err(self.unexpected(")"));
            }
            return Ok(inner);
        }
        match self.words.get(self.at) {
            Some(Word::Number(number)) => {
                self.at += 1;
                Ok(Formula::Number(*number))
            }
            Some(Word::Name(name)) => {
                self.at += 1;
                Ok(Formula::Name(name.clone()))
            }
            _ => Err(self.unexpected("a field or a number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(code: &str) -> Vec<bool> {
        let Ok(Action::Assert(statements)) = read(code, Place { line: 1, column: 1 }) else {
            panic!("{code}");
        };
        let field = |name: &str| (name == "x").then_some(10.0);
        statements
            .iter()
            .map(|statement| statement.formula().value(&field).unwrap() != 0.0)
            .collect()
    }

    #[test]
    fn conditions_are_computed() {
        assert_eq!(holds("assert x == 10, x"), [true]);
        assert_eq!(holds("assert 9 <= x < 10 or not x, 'a;b' % x"), [false]);
        assert_eq!(holds("assert x % 3 == 1 and (x - 1) / 2 == 4.5"), [true]);
        assert_eq!(
            holds("assert x & 6 == 2 # no\nassert x // 3 > 3"),
            [true, false]
        );
        assert_eq!(holds("assert x == 10; \\\n assert x > 10"), [true, false]);
        assert_eq!(holds("print(x)"), [false; 0]);
        assert_eq!(holds("printed = x; assert x"), [true, true]);
        assert_eq!(holds("asserted = x - x; assert(x)"), [false, true]);
        assert_eq!(holds("x -= 10; y = x; assert x"), [false, true, true]);
    }

    #[test]
    fn other_python_is_told() {
        let place = Place { line: 3, column: 7 };
        for code in ["import os", "assert [x]", "for i in x: pass"] {
            assert_eq!(read(code, place), Ok(Action::Python), "{code}");
        }
        let deep = format!("assert {}x", "(".repeat(100_000));
        assert_eq!(read(&deep, place).unwrap_err().place, place);
        assert!(read("assert x ==", place).is_err());
    }
}
