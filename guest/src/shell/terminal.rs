//! A terminal of a host, with a shell in it.
//!
//! The shell's prompts are marks that no program prints by accident: between two record separators (0x1e),
//! `P` and the last command's status (`PS1`), or `C` if it waits for the rest of a command (`PS2`). So the
//! end of a command is detected in the order of the output.

use super::orders::{Event, SessionSpec, TerminalPlace};
use crate::error::{ErrorContext, GuestError};
use crate::login::{Logins, Program, ProgramStart};
use rustix::process::{Signal, kill_process_group};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, Winsize};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;

const MARK: u8 = 0x1e;
/// Longest mark: `P255`.
const LONGEST_MARK: usize = 6;
const PROMPT: &str = "\u{1e}P$?\u{1e}";
const CONTINUED: &str = "\u{1e}C\u{1e}";
const SIZE: Winsize = Winsize {
    ws_row: 24,
    ws_col: 80,
    ws_xpixel: 0,
    ws_ypixel: 0,
};
/// Longer lines are reported in pieces of this size.
const LONGEST_LINE: usize = 1 << 16;
const READ_BYTES: usize = 1 << 14;

/// State of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A shell starts, or a command runs.
    Running,
    /// The shell waits for a command, or for the rest of one.
    Prompt,
    /// The shell has ended.
    Closed,
}

/// A terminal.
#[derive(Debug)]
pub struct Terminal {
    /// Its place.
    pub place: TerminalPlace,
    /// Its state.
    pub state: State,
    /// Whether a server runs there.
    pub serves: bool,
    ours: File,
    shell: Program,
    /// Output read and not reported yet.
    pending: Vec<u8>,
    /// Bytes printed since the last line was typed.
    printed_bytes: u64,
}

impl Terminal {
    /// Opens a terminal in a host and starts a shell.
    pub fn open(
        place: TerminalPlace,
        name: &str,
        asked: &SessionSpec,
        logins: &Logins<'_>,
    ) -> Result<Terminal, GuestError> {
        let (ours, path) = logins.open_terminal(place.host)?;
        let what = || format!("setting a terminal of {name} up");
        set_up(&ours).context(what)?;
        let mut start = ProgramStart::new(name, &asked.shell)
            .terminal(&path)
            .variable("PS1", PROMPT)
            .variable("PS2", CONTINUED)
            // A history file in the home would not be the user's.
            .variable("HISTFILE", "");
        for (name, value) in &asked.environment {
            start = start.variable(name, value);
        }
        Ok(Terminal {
            place,
            state: State::Running,
            serves: false,
            ours,
            shell: logins.start(place.host, start)?,
            pending: Vec::new(),
            printed_bytes: 0,
        })
    }

    /// Our side of the terminal.
    pub fn ours(&self) -> &impl AsRawFd {
        &self.ours
    }

    /// Whether a command runs.
    pub fn is_busy(&self) -> bool {
        self.state == State::Running
    }

    /// A command begins.
    pub fn begin(&mut self, serves: bool) {
        self.state = State::Running;
        self.serves = serves;
        self.printed_bytes = 0;
    }

    /// Sends input.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), GuestError> {
        match self.ours.write_all(bytes) {
            // The input buffer is full because nothing reads it, or the shell has ended.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(()),
            other => other.context(|| "typing into a terminal".to_owned()),
        }
    }

    /// Reads all output. Kills the running program if it has printed more than `most_bytes`.
    pub fn read(
        &mut self,
        at_ns: u64,
        most_bytes: u64,
        events: &mut Vec<Event>,
    ) -> Result<(), GuestError> {
        let mut piece = vec![0; READ_BYTES];
        match self.ours.read(&mut piece) {
            Ok(0) => self.close(at_ns, events),
            Ok(count) => {
                self.pending.extend_from_slice(&piece[..count]);
                self.printed_bytes += count as u64;
                self.tell(at_ns, events);
                if self.printed_bytes > most_bytes {
                    self.printed_bytes = 0;
                    self.end_flood();
                    let place = self.place;
                    events.push(Event::Flooded {
                        at_ns,
                        place,
                        most_bytes,
                    });
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::EIO) => self.close(at_ns, events),
            Err(error) => return Err(error).context(|| "reading a terminal".to_owned()),
        }
        Ok(())
    }

    /// Reports an incomplete line.
    pub fn flush(&mut self, at_ns: u64, events: &mut Vec<Event>) {
        self.tell(at_ns, events);
        let rest = std::mem::take(&mut self.pending);
        self.print(at_ns, &rest, true, events);
    }

    fn close(&mut self, at_ns: u64, events: &mut Vec<Event>) {
        self.flush(at_ns, events);
        if self.state != State::Closed {
            self.state = State::Closed;
            events.push(Event::Closed {
                at_ns,
                place: self.place,
            });
            // Further reads would fail in the same way.
            if let Ok(nowhere) = File::open("/dev/null") {
                self.ours = nowhere;
            }
            let _ = self.shell.status();
        }
    }

    /// Kills the foreground program; the shell only if it is the foreground program.
    fn end_flood(&mut self) {
        match rustix::termios::tcgetpgrp(&self.ours) {
            Ok(group) => {
                let _ = kill_process_group(group, Signal::KILL);
            }
            Err(_) => self.shell.signal(Signal::KILL),
        }
        let _ = rustix::termios::tcflush(&self.ours, rustix::termios::QueueSelector::IOFlush);
        self.pending.clear();
    }

    /// Reports complete lines and marks.
    fn tell(&mut self, at_ns: u64, events: &mut Vec<Event>) {
        while let Some(at) = self.pending.iter().position(|byte| *byte == MARK) {
            let inside = &self.pending[at + 1..];
            let length = inside.iter().take(LONGEST_MARK).position(|b| *b == MARK);
            let Some(length) = length else {
                if inside.len() < LONGEST_MARK {
                    break; // the rest of it will come
                }
                self.pending[at] = b'?'; // none of ours
                continue;
            };
            let mark = inside[..length].to_vec();
            let before: Vec<u8> = self.pending.drain(..at + length + 2).take(at).collect();
            self.print(at_ns, &before, !before.ends_with(b"\n"), events);
            self.marked(at_ns, &mark, events);
        }
        let has_mark = self.pending.contains(&MARK);
        let end = self.pending.iter().rposition(|byte| *byte == b'\n');
        match end {
            Some(end) => {
                let lines: Vec<u8> = self.pending.drain(..=end).collect();
                self.print(at_ns, &lines, false, events);
            }
            None if self.pending.len() > LONGEST_LINE && !has_mark => {
                let piece = std::mem::take(&mut self.pending);
                self.print(at_ns, &piece, true, events);
            }
            None => {}
        }
    }

    fn marked(&mut self, at_ns: u64, mark: &[u8], events: &mut Vec<Event>) {
        let place = self.place;
        let status = std::str::from_utf8(mark).ok();
        let status = status.and_then(|mark| mark.strip_prefix('P')?.parse().ok());
        if let Some(status) = status {
            self.state = State::Prompt;
            self.serves = false;
            events.push(Event::Prompt {
                at_ns,
                place,
                status,
            });
        } else if mark == b"C" {
            self.state = State::Prompt;
            events.push(Event::Continued { at_ns, place });
        }
    }

    fn print(&self, at_ns: u64, bytes: &[u8], open: bool, events: &mut Vec<Event>) {
        if bytes.is_empty() {
            return;
        }
        events.push(Event::Printed {
            at_ns,
            place: self.place,
            text: String::from_utf8_lossy(bytes).into_owned(),
            open,
        });
    }
}

/// Turns off echo and output processing.
fn set_up(ours: &File) -> std::io::Result<()> {
    let mut modes = rustix::termios::tcgetattr(ours)?;
    modes.local_modes -= LocalModes::ECHO;
    modes.output_modes -= OutputModes::OPOST;
    rustix::termios::tcsetattr(ours, OptionalActions::Now, &modes)?;
    rustix::termios::tcsetwinsize(ours, SIZE)?;
    Ok(())
}
