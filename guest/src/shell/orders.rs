//! What a session is told, and what it tells.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the job says of a session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSpec {
    /// Where orders come from and events go.
    pub folder: PathBuf,
    /// The shell and its arguments.
    pub shell: Vec<String>,
    /// Variables that it finds in its environment.
    pub environment: Vec<(String, String)>,
    /// Virtual nanoseconds that a wait without an end of its own may take.
    pub longest_wait_ns: u64,
    /// Bytes that one typed line may print.
    pub most_output_bytes: u64,
}

/// A terminal: of which host, and which of its terminals, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalPlace {
    /// Index of the host.
    pub host: usize,
    /// From 1.
    pub number: u32,
}

/// What is to be done.
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
        /// Once its prompt is there; otherwise at once, to whatever runs there.
        at_prompt: bool,
        /// Whether what is started serves others, so that nobody waits for its end.
        serves: bool,
    },
    /// Presses keys, such as Ctrl-C.
    Keys {
        /// Where.
        place: TerminalPlace,
        /// The characters they make.
        keys: String,
    },
    /// Waits no more for what runs there.
    Leave {
        /// Where.
        place: TerminalPlace,
    },
    /// Lets time pass.
    Wait {
        /// For what.
        until: WaitFor,
        /// So long at most.
        at_most_ns: Option<u64>,
    },
    /// Ends the session.
    End,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WaitFor {
    /// Every terminal has its prompt again, or runs what serves others.
    All,
    /// These terminals have their prompts again.
    These {
        /// Which.
        places: Vec<TerminalPlace>,
    },
    /// Nothing but the time.
    Time,
}

/// What happened. Instants are nanoseconds since the session began.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The next orders are wanted.
    Asking {
        at_ns: u64,
        /// Their number.
        number: usize,
    },
    /// A terminal was asked for.
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
    /// A line was to be typed at a prompt that does not come.
    Busy { at_ns: u64, place: TerminalPlace },
    /// A terminal printed this, one line or several; the last is not ended where `open` says so.
    Printed {
        at_ns: u64,
        place: TerminalPlace,
        text: String,
        open: bool,
    },
    /// A terminal shows its prompt; the status is that of the last command.
    Prompt {
        at_ns: u64,
        place: TerminalPlace,
        status: i32,
    },
    /// A shell wants the rest of a command.
    Continued { at_ns: u64, place: TerminalPlace },
    /// A shell has ended.
    Closed { at_ns: u64, place: TerminalPlace },
    /// What ran there was ended, since it printed too much.
    Flooded {
        at_ns: u64,
        place: TerminalPlace,
        most_bytes: u64,
    },
    /// The session ends.
    Ended { at_ns: u64 },
    /// Time passes.
    Beat { at_ns: u64 },
    /// Time is let pass.
    Waiting {
        at_ns: u64,
        until: WaitFor,
        at_most_ns: Option<u64>,
    },
    /// An order to wait has ended.
    Waited {
        at_ns: u64,
        /// Because somebody wanted time to stand still: then after how long.
        stopped_after_ns: Option<u64>,
        /// Because nothing came of it for the longest time.
        time_up: bool,
        /// What did not end.
        running: Vec<TerminalPlace>,
    },
}
