//! System calls and their arguments.

use super::cursor::Cursor;
use super::lexer::Word;
use super::script::{Call, Expression};
use super::{SyntaxError, SyntaxErrorKind};

/// Maximum nesting depth of lists and structures.
const DEEPEST: usize = 16;

pub(super) fn call(cursor: &mut Cursor) -> Result<Call, SyntaxError> {
    let Some(Word::Name(name)) = cursor.next() else {
        return Err(cursor.unexpected("a system call"));
    };
    cursor.expect('(', "( after the name of a system call")?;
    let arguments = list(cursor, ')', 0)?;
    cursor.expect('=', "= and what the call returns")?;
    let returns = match cursor.takes('?') {
        true => None,
        false => Some(expression(cursor, 0)?),
    };
    // A result may be followed by the name of an error and a note in parentheses.
    let error = match cursor.peek() {
        Some(Word::Name(name)) => {
            cursor.next();
            Some(name.clone())
        }
        _ => None,
    };
    if cursor.takes('(') {
        while !cursor.takes(')') {
            if cursor.next().is_none() {
                return Err(cursor.unexpected(") after a note"));
            }
        }
    }
    Ok(Call {
        name: name.clone(),
        arguments,
        returns,
        error,
    })
}

/// Expressions separated by commas, up to the sign `end`.
fn list(cursor: &mut Cursor, end: char, depth: usize) -> Result<Vec<Expression>, SyntaxError> {
    let mut found = Vec::new();
    if cursor.takes(end) {
        return Ok(found);
    }
    loop {
        found.push(expression(cursor, depth)?);
        if cursor.takes(end) {
            return Ok(found);
        }
        cursor.expect(',', "a comma or the end of a list")?;
        // A list may end with a comma.
        if cursor.takes(end) {
            return Ok(found);
        }
    }
}

fn expression(cursor: &mut Cursor, depth: usize) -> Result<Expression, SyntaxError> {
    if depth == DEEPEST {
        let (what, most) = ("lists in each other", DEEPEST);
        return Err(cursor.error(SyntaxErrorKind::TooMuch { what, most }));
    }
    let first = term(cursor, depth)?;
    if depth > 0 && cursor.takes('=') {
        let value = expression(cursor, depth + 1)?;
        return Ok(Expression::Field(Box::new(first), Box::new(value)));
    }
    if cursor.peek() != Some(&Word::Sign('|')) {
        return Ok(first);
    }
    let mut either = vec![first];
    while cursor.takes('|') {
        either.push(term(cursor, depth)?);
    }
    Ok(Expression::Either(either))
}

fn term(cursor: &mut Cursor, depth: usize) -> Result<Expression, SyntaxError> {
    let found = match cursor.peek() {
        Some(Word::Ellipsis) => Expression::Whatever,
        Some(Word::Integer(value)) => Expression::Number(*value),
        Some(Word::Decimal(value)) => Expression::Decimal(*value),
        Some(Word::Text(text)) | Some(Word::Address(text)) => Expression::Text(text.clone()),
        Some(Word::Sign('[')) => {
            cursor.next();
            return Ok(Expression::List(list(cursor, ']', depth + 1)?));
        }
        Some(Word::Sign('{')) => {
            cursor.next();
            return Ok(Expression::Structure(list(cursor, '}', depth + 1)?));
        }
        Some(Word::Name(name)) => {
            cursor.next();
            if cursor.takes('(') {
                return Ok(Expression::Applied(
                    name.clone(),
                    list(cursor, ')', depth + 1)?,
                ));
            }
            return Ok(Expression::Name(name.clone()));
        }
        _ => return Err(cursor.unexpected("an argument")),
    };
    cursor.next();
    Ok(found)
}
