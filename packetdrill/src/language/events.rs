//! Options, times and events.

use super::conditions;
use super::cursor::Cursor;
use super::lexer::{self, Word};
use super::script::{Action, Direction, Event, Script, Setting, When};
use super::{SyntaxError, SyntaxErrorKind};

/// Maximum number of events in a script.
const MOST_EVENTS: usize = 100_000;
/// Latest time of an event: a day.
const LONGEST_S: f64 = 86_400.0;
/// Longest script: 100 days, which fits into the engine's clock.
const LONGEST_SCRIPT_US: u64 = 100 * 86_400 * 1_000_000;
/// Maximum wait for a packet that may be sent at any time: the longest timeout with some margin.
const ANY_TIME_US: u64 = 130 * 1_000_000;

/// Parses a script.
pub fn parse(text: &str) -> Result<Script, SyntaxError> {
    let tokens = lexer::words(text)?;
    let mut cursor = Cursor::new(&tokens);
    let mut settings = Vec::new();
    while let Some(Word::Setting(name, value)) = cursor.peek() {
        settings.push(Setting {
            place: cursor.place(),
            name: name.clone(),
            value: value.clone(),
        });
        cursor.next();
    }
    let mut events = Vec::new();
    let mut latest_us = 0_u64;
    while cursor.peek().is_some() {
        if events.len() == MOST_EVENTS {
            let (what, most) = ("events", MOST_EVENTS);
            return Err(cursor.error(SyntaxErrorKind::TooMuch { what, most }));
        }
        let event = event(&mut cursor)?;
        latest_us = match event.when {
            When::At(us) | When::AtBetween(_, us) => us.max(latest_us),
            When::After(us) | When::AfterBetween(_, us) => us + latest_us,
            When::Any => ANY_TIME_US + latest_us,
        };
        if latest_us > LONGEST_SCRIPT_US {
            let value = format!("{} s", latest_us / 1_000_000);
            let allowed = "a script lasts 100 days at most";
            let mistake = SyntaxErrorKind::OutOfRange { value, allowed };
            return Err(SyntaxError::new(event.place, mistake));
        }
        events.push(event);
    }
    Ok(Script { settings, events })
}

fn event(cursor: &mut Cursor) -> Result<Event, SyntaxError> {
    let place = cursor.place();
    // A shell line may have no time, before the first event and after the last.
    let when = match cursor.peek() {
        Some(Word::Shell(_)) => When::After(0),
        _ => when(cursor)?,
    };
    let mut returns_us = None;
    if cursor.peek() == Some(&Word::Ellipsis) {
        cursor.next();
        returns_us = Some(time(cursor)?);
    }
    let at_action = cursor.place();
    let action = action(cursor)?;
    let is_sent = matches!(&action, Action::Packet(packet) if packet.direction == Direction::Out);
    if !matches!(when, When::At(_) | When::After(_)) && !is_sent {
        return Err(SyntaxError::new(place, SyntaxErrorKind::RangeOfTimes));
    }
    if returns_us.is_some() && !matches!(action, Action::Call(_)) {
        let expected = "a system call after a time with its end";
        let found = "something else".to_owned();
        let mistake = SyntaxErrorKind::Unexpected { expected, found };
        return Err(SyntaxError::new(at_action, mistake));
    }
    Ok(Event {
        place,
        when,
        returns_us,
        action,
    })
}

fn when(cursor: &mut Cursor) -> Result<When, SyntaxError> {
    if cursor.takes('*') {
        return Ok(When::Any);
    }
    let is_relative = cursor.takes('+');
    let first = time(cursor)?;
    if !cursor.takes('~') {
        return Ok(match is_relative {
            true => When::After(first),
            false => When::At(first),
        });
    }
    if is_relative {
        cursor.expect('+', "+ and the second time")?;
    }
    let last = time(cursor)?;
    if last < first {
        return Err(cursor.error(SyntaxErrorKind::BackwardRange));
    }
    Ok(match is_relative {
        true => When::AfterBetween(first, last),
        false => When::AtBetween(first, last),
    })
}

/// Parses seconds; returns microseconds.
fn time(cursor: &mut Cursor) -> Result<u64, SyntaxError> {
    let seconds = match cursor.peek() {
        Some(Word::Integer(value)) => *value as f64,
        Some(Word::Decimal(value)) => *value,
        _ => return Err(cursor.unexpected("a time, seconds")),
    };
    if !(0.0..=LONGEST_S).contains(&seconds) {
        let (value, allowed) = (seconds.to_string(), "0 to 86400 s");
        return Err(cursor.error(SyntaxErrorKind::OutOfRange { value, allowed }));
    }
    cursor.next();
    Ok((seconds * 1e6).round() as u64)
}

fn action(cursor: &mut Cursor) -> Result<Action, SyntaxError> {
    let place = cursor.place();
    match cursor.peek() {
        Some(Word::Shell(line)) => {
            cursor.next();
            Ok(Action::Shell(line.clone()))
        }
        Some(Word::Code(code)) => {
            cursor.next();
            conditions::read(code, place)
        }
        Some(Word::Sign('<')) => {
            cursor.next();
            super::packets::packet(cursor, Direction::In).map(Action::Packet)
        }
        Some(Word::Sign('>')) => {
            cursor.next();
            super::packets::packet(cursor, Direction::Out).map(Action::Packet)
        }
        Some(Word::Name(_)) => super::calls::call(cursor).map(Action::Call),
        _ => Err(cursor.unexpected("a packet, a system call, an assertion or a shell line")),
    }
}
