//! Requests of a page and their answers. Both are JSON.

use crate::changes::Change;
use crate::numbers::Number;
use crate::rule::{Fields, Rule};
use dumbbell_engine::spec::tcp::CwndChange;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Loads a resolved description, which can then be changed and run; the answer is `Described`.
    Load {
        /// The output of `Experiment.resolved()`.
        resolved: Value,
    },
    /// Applies these changes to the loaded description, discarding earlier ones; the answer is
    /// `Described`.
    Change {
        /// Applied in order.
        changes: Vec<Change>,
    },
    /// Returns the description as a TOML file: `Text`.
    Toml,
    /// Returns the `tc` arguments for a queue: `Lines`.
    Tc {
        /// Number of the queue: forward is `2 i`, reverse `2 i + 1`.
        queue: usize,
    },
    /// Begins a run of the description and drops the previous run. The answer is `Begun`.
    Begin {
        /// Selects the random numbers.
        replication: u64,
        /// Number of the queue whose packets are recorded; if omitted, the description decides.
        #[serde(default)]
        record: Option<usize>,
        /// Whether a run with such records also takes the samples of the description.
        #[serde(default)]
        keeps_samples: bool,
        /// Flows whose controller is replaced by the page's own rule.
        #[serde(default)]
        rule: Option<Rule>,
    },
    /// Returns the fields passed to a rule, in order: `Fields`.
    RuleFields,
    /// Advances the run to a time, up to the next event after it: `Reached`.
    AdvanceTo {
        /// The time, in virtual time of the run.
        until_ns: u64,
    },
    /// Sets the window of equal flows, whose controller is `manual`, from now on: `Moved`.
    ChangeCwnd {
        /// Common name of the flows.
        group: String,
        /// The new window.
        cwnd_pkts: u32,
    },
    /// Makes tables of the results so far (`IncrementalRun::tables_so_far`): `Peeked`.
    Peek,
    /// Discards the records of packets so far: `Peeked`.
    Forget,
    /// Returns the progress of the run without tables: `Peeked`.
    Clock,
    /// Returns what the trace of a queue's link lets pass in the run: `Traced`.
    Trace {
        /// Number of the queue.
        queue: usize,
    },
    /// Makes the tables of a run that has ended: `Finished`.
    Finish {
        /// Number of the selected queue, for which metrics are computed.
        queue: usize,
        /// Numbers of further queues: metrics for each, and over the packets of all.
        #[serde(default)]
        together: Vec<usize>,
    },
}

/// The answer to a request that succeeded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// The current description.
    Described {
        /// In its current form.
        resolved: Value,
        /// tc text of each queue's qdisc.
        qdiscs: Vec<String>,
        /// tc text of each queue's policer, if any.
        polices: Vec<Option<String>>,
        /// Names of the queues, in order.
        queues: Vec<String>,
        /// For each flow the common name of its group of equal flows.
        groups: Vec<String>,
        /// For each flow the queues on its path.
        ways: Vec<Vec<u32>>,
        /// Notices about easily misread tc text (`10Mbps`).
        notices: Vec<String>,
    },
    /// A run has begun.
    Begun {
        /// Expected number of events.
        expected_events: u64,
        /// Expected memory, bytes.
        expected_memory_bytes: u64,
    },
    /// Progress of a run that was advanced to a time.
    Reached {
        /// Virtual time of the run.
        now_ns: u64,
        /// Whether the run has not ended.
        is_going: bool,
    },
    /// The window change of flows.
    Moved(CwndChange),
    /// Progress of a run.
    Peeked {
        /// Virtual time of the run.
        now_ns: u64,
    },
    /// A finished run.
    Finished {
        /// The digest of `dumbbell run --json`.
        digest: String,
        /// Number of events.
        events: u64,
        /// Metrics of the run.
        numbers: Vec<Number>,
    },
    /// The trace of a link.
    Traced {
        /// Mean rate in each of some equal parts of the run, bit/s; None without a trace of rates.
        traced_bps: Option<Vec<f64>>,
    },
    /// The fields passed to a rule.
    Fields(Fields),
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// `tc` arguments for two interfaces.
    Lines {
        /// At the interface of the queue.
        queue: Vec<String>,
        /// At the far end of the link.
        far_end: Vec<String>,
    },
}
