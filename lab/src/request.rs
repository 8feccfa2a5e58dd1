//! What a page asks for, and what it is answered. Both are JSON.

use crate::changes::Change;
use crate::numbers::Number;
use crate::rule::{Fields, Rule};
use dumbbell_engine::spec::tcp::CwndChange;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// A resolved description to change and run; the answer is `Described`.
    Load {
        /// As `Experiment.resolved()` gives it.
        resolved: Value,
    },
    /// What was loaded, with these changes and no others; the answer is `Described`.
    Change {
        /// In their order.
        changes: Vec<Change>,
    },
    /// The description as a file in TOML: `Text`.
    Toml,
    /// Lines that follow `tc` for a queue: `Lines`.
    Tc {
        /// The number of the queue: forward is `2 i`, reverse `2 i + 1`.
        queue: usize,
    },
    /// Begins a run of the description; the one before is let go. The answer is `Begun`.
    Begin {
        /// Chooses the random numbers.
        replication: u64,
        /// The number of a queue whose packets are recorded; the description says otherwise when
        /// left out.
        #[serde(default)]
        record: Option<usize>,
        /// Whether a run with such records has the description's samples besides.
        #[serde(default)]
        keeps_samples: bool,
        /// Flows that have the page's own rule in the place of their controller.
        #[serde(default)]
        rule: Option<Rule>,
    },
    /// Says what a rule is told, and in what order: `Fields`.
    RuleFields,
    /// Goes on with the run until an instant, and what is next after it: `Reached`.
    AdvanceTo {
        /// The instant, in the run's time.
        until_ns: u64,
    },
    /// Gives equal flows a window from now on, whose controller is `manual`: `Moved`.
    ChangeCwnd {
        /// The name that they have together.
        group: String,
        /// The window.
        cwnd_pkts: u32,
    },
    /// Makes tables of what there is so far (`IncrementalRun::tables_so_far`): `Peeked`.
    Peek,
    /// Lets go of records of packets so far: `Peeked`.
    Forget,
    /// Says how far the run is, and makes no tables: `Peeked`.
    Clock,
    /// Makes the tables of a run that is at its end: `Finished`.
    Finish {
        /// The number of the queue that numbers are made of.
        queue: usize,
        /// Numbers of queues that are looked at together: of each, and over the packets of all.
        #[serde(default)]
        together: Vec<usize>,
    },
}

/// What is answered, unless there is a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// The description that is run.
    Described {
        /// As it is now.
        resolved: Value,
        /// The text of each queue's discipline.
        qdiscs: Vec<String>,
        /// That of each queue's policer, where there is one.
        polices: Vec<Option<String>>,
        /// Names of queues, in their order.
        queues: Vec<String>,
        /// For each flow the name that equal ones have together.
        groups: Vec<String>,
        /// For each flow the queues on its way.
        ways: Vec<Vec<u32>>,
        /// What surprises in tc's language (`10Mbps`).
        notices: Vec<String>,
    },
    /// A run that has begun.
    Begun {
        /// Events that are foreseen.
        expected_events: u64,
        /// Bytes that are foreseen.
        expected_memory_bytes: u64,
    },
    /// How far a run is that was to go on until an instant.
    Reached {
        /// Its virtual time.
        now_ns: u64,
        /// Whether there is more to do.
        is_going: bool,
    },
    /// A window that flows have been given.
    Moved(CwndChange),
    /// How far a run is.
    Peeked {
        /// Its virtual time.
        now_ns: u64,
    },
    /// A run whose tables are there.
    Finished {
        /// As `dumbbell run --json` has it.
        digest: String,
        /// How many there were.
        events: u64,
        /// What it is reduced to.
        numbers: Vec<Number>,
    },
    /// What a rule is told.
    Fields(Fields),
    /// A text.
    Text {
        /// Itself.
        text: String,
    },
    /// Lines for two interfaces.
    Lines {
        /// At the queue.
        queue: Vec<String>,
        /// At the far end of the link.
        far_end: Vec<String>,
    },
}
