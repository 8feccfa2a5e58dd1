//! The orders and events of a session.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The part of the job about a session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Folder of orders and events.
    pub folder: PathBuf,
    /// The shell and its arguments.
    pub shell: Vec<String>,
    /// Environment variables of the shell.
    pub environment: Vec<(String, String)>,
    /// Limit of a wait without its own limit, virtual nanoseconds.
    pub longest_wait_ns: u64,
    /// Output limit of a typed line, bytes.
    pub most_output_bytes: u64,
}

/// A terminal of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalPlace {
    /// Index of the host.
    pub host: usize,
    /// From 1.
    pub number: u32,
}

/// An order.
#[derive(Debug, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Opens a terminal.
    Open {
        /// Which.
        place: TerminalPlace,
    },
    /// Types a line into a terminal.
    Type {
        /// Which.
        place: TerminalPlace,
        /// Without its end.
        text: String,
        /// Whether to wait for the prompt; otherwise the text goes at once to the running program.
        at_prompt: bool,
        /// Whether the command is a server, whose end no wait includes.
        serves: bool,
    },
    /// Sends key presses, such as Ctrl-C.
    Keys {
        /// The terminal.
        place: TerminalPlace,
        /// The characters sent.
        keys: String,
    },
    /// Excludes the running program from waits.
    Leave {
        /// The terminal.
        place: TerminalPlace,
    },
    /// Lets time pass.
    Wait {
        /// The condition.
        until: WaitFor,
        /// The time limit.
        at_most_ns: Option<u64>,
    },
    /// Ends the session.
    End,
}

/// The condition of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WaitFor {
    /// Every terminal has its prompt again, or runs a server.
    All,
    /// These terminals have their prompts again.
    These {
        /// The terminals.
        places: Vec<TerminalPlace>,
    },
    /// None; only the time limit.
    Time,
}

/// An event. Times are nanoseconds since the start of the session.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The next orders are requested.
    Asking {
        at_ns: u64,
        /// Their number.
        number: usize,
    },
    /// A terminal was opened.
    Opened { at_ns: u64, place: TerminalPlace },
    /// A line was typed.
    Typed {
        at_ns: u64,
        place: TerminalPlace,
        text: String,
        at_prompt: bool,
    },
    /// Keys were pressed.
    Keys {
        at_ns: u64,
        place: TerminalPlace,
        keys: String,
    },
    /// A line waits for a prompt that has not appeared.
    Busy { at_ns: u64, place: TerminalPlace },
    /// Output of a terminal, one or more lines; the last is incomplete if `open`.
    Printed {
        at_ns: u64,
        place: TerminalPlace,
        text: String,
        open: bool,
    },
    /// A terminal shows its prompt, with the status of the last command.
    Prompt {
        at_ns: u64,
        place: TerminalPlace,
        status: i32,
    },
    /// A shell waits for the rest of a command.
    Continued { at_ns: u64, place: TerminalPlace },
    /// A shell has ended.
    Closed { at_ns: u64, place: TerminalPlace },
    /// A program was killed because it printed too much.
    Flooded {
        at_ns: u64,
        place: TerminalPlace,
        most_bytes: u64,
    },
    /// The session ends.
    Ended { at_ns: u64 },
    /// Progress of time.
    Beat { at_ns: u64 },
    /// A wait begins.
    Waiting {
        at_ns: u64,
        until: WaitFor,
        at_most_ns: Option<u64>,
    },
    /// A wait has ended.
    Waited {
        at_ns: u64,
        /// The user stopped time: after this duration.
        stopped_after_ns: Option<u64>,
        /// Whether the time limit was reached.
        time_up: bool,
        /// Terminals whose programs have not ended.
        running: Vec<TerminalPlace>,
    },
}
