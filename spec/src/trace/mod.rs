//! Variation of a link over time beyond single changes: a recorded trace, or a law.
//!
//! | kind | meaning |
//! | --- | --- |
//! | opportunities | instants at which a number of bytes may leave, repeated (Mahimahi's traces) |
//! | steps | new rates, delays and losses at given times |
//! | on-off | a rate, interrupted by outages |
//! | markov | states with a rate, a delay and a loss, each held for a drawn time |
//! | handover | a new rate and delay at every multiple of an interval, after an outage |
//! | aggregation | bursts of service at drawn instants |
//!
//! Opportunities and steps are stored as compact readable text (`text`), because a trace may have ten million
//! lines; the text is parsed again during each run. Laws draw from a random stream of the link, so no other
//! component's draws depend on them.
//!
//! Sources: mm-link(1); R. Netravali et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX ATC
//! 2015; E. N. Gilbert, "Capacity of a burst-noise channel", Bell System Technical Journal 39(5), 1960.

pub mod capacity;
mod laws;
mod opportunities;
pub mod read;
mod steps;
mod text;

pub use opportunities::{Opportunities, Opportunity};
pub use steps::{Step, Steps};
pub use text::TraceText;

use crate::key::{Held, Key};
use crate::law::Law;
use crate::validate::{instant, law, positive_gap, require};
use crate::{LONGEST_NS, SpecError};
use serde::{Deserialize, Serialize};

/// Bytes of an opportunity of Mahimahi: an IP packet of 1500 bytes and the four bytes of a TUN device's
/// header.
pub const MAHIMAHI_BYTES: u32 = 1504;
/// Largest opportunity, bytes: an A-MPDU of 802.11ax has at most 6,500,631 (IEEE 802.11ax-2021).
const LARGEST_OPPORTUNITY: u32 = 6_500_631;
/// Highest rate of a step, bit/s: that of a link.
const FASTEST_BPS: u64 = 4_000_000_000_000;
/// Largest number of states of a Markov chain.
const MOST_STATES: usize = 64;
/// Smallest drawn time; also the smallest mean of a law of times.
const SHORTEST_NS: u64 = 1000;

type Checked = Result<(), SpecError>;

/// A trace of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trace {
    /// Instants at which a number of bytes may leave.
    Opportunities {
        /// Gaps between consecutive instants, milliseconds; the first counts from the start.
        gaps_ms: TraceText,
        /// Bytes that may leave at each.
        size_bytes: u32,
    },
    /// New values at given times.
    Steps {
        /// Each with the gap to the previous step.
        steps: TraceText,
        /// Period after which they repeat; None for never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat_ns: Option<u64>,
    },
    /// Alternately on and off, starting on.
    OnOff {
        /// Rate while on.
        rate_bps: u64,
        /// Duration of on periods, seconds.
        on: Law,
        /// Duration of off periods, seconds.
        off: Law,
    },
    /// A Markov chain that starts in the first state.
    Markov {
        /// The states.
        states: Vec<State>,
    },
    /// New rate and delay at each multiple of an interval.
    Handover {
        /// The interval.
        every_ns: u64,
        /// Duration of the outage at each multiple but the start of the run, seconds.
        outage: Law,
        /// Lowest rate drawn.
        least_rate_bps: u64,
        /// Highest rate drawn.
        most_rate_bps: u64,
        /// Smallest delay drawn.
        least_delay_ns: u64,
        /// Largest delay drawn.
        most_delay_ns: u64,
    },
    /// Bursts of service.
    Aggregation {
        /// Time between bursts, seconds.
        gap: Law,
        /// Bytes that may leave in a burst.
        size_bytes: u32,
    },
}

/// A state of a Markov chain; values not given are those of the link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Duration of the state, seconds.
    pub hold: Law,
    /// 0 for an outage.
    pub rate_bps: Option<u64>,
    /// One-way delay after the queue.
    pub delay_ns: Option<u64>,
    /// Loss probability.
    pub loss: Option<f64>,
    /// Weight of each state as the next one; empty for equal weights of all others.
    pub next: Vec<f64>,
}

/// The service of a traced link's queue.
#[derive(Debug, Clone)]
pub enum Service {
    /// A number of bytes at certain instants.
    Opportunities(Opportunities),
    /// A rate that changes.
    Steps(Box<Steps>),
}

/// Properties of a trace known before a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outline {
    /// Highest rate, bit/s; None if the link's own may apply.
    pub most_rate_bps: Option<f64>,
    /// Smallest delay; None if the link's own may apply.
    pub least_delay_ns: Option<u64>,
    /// Smallest loss probability; None if the link's own may apply.
    pub least_loss: Option<f64>,
    /// Changes or opportunities per second.
    pub steps_per_s: f64,
    /// Whether it sets the service rate from the start of the run.
    pub has_rate: bool,
    /// Whether it ever sets a delay or loss different from the link's own.
    pub has_way: bool,
}

impl Trace {
    /// Refuses invalid traces; `path` is that of the trace.
    pub fn check(&self, path: &str) -> Checked {
        let at = |key: &str| format!("{path}.{key}");
        match self {
            Trace::Opportunities {
                gaps_ms,
                size_bytes,
            } => {
                opportunities::check(&at("gaps_ms"), gaps_ms)?;
                check_size(&at("size_bytes"), *size_bytes)
            }
            Trace::Steps { steps, repeat_ns } => {
                let last_ns = steps::check(&at("steps"), steps)?;
                let Some(repeat_ns) = *repeat_ns else {
                    return Ok(());
                };
                let later = repeat_ns > last_ns && repeat_ns <= LONGEST_NS;
                let allowed =
                    format!("a time after the last step, {last_ns} ns, and below 200 days");
                require(later, &at("repeat_ns"), repeat_ns, &allowed)
            }
            Trace::OnOff { rate_bps, on, off } => {
                check_rate(&at("rate_bps"), *rate_bps, 1)?;
                check_times(&at("on"), on)?;
                check_times(&at("off"), off)
            }
            Trace::Markov { states } => check_states(&at("states"), states),
            Trace::Handover {
                every_ns,
                outage,
                least_rate_bps,
                most_rate_bps,
                least_delay_ns,
                most_delay_ns,
            } => {
                let allowed = "1 ms to 200 days, in nanoseconds";
                let in_range = (1_000_000..=LONGEST_NS).contains(every_ns);
                require(in_range, &at("every_ns"), every_ns, allowed)?;
                law(&at("outage"), outage)?;
                check_rate(&at("least_rate_bps"), *least_rate_bps, 1)?;
                check_rate(&at("most_rate_bps"), *most_rate_bps, *least_rate_bps)?;
                instant(&at("most_delay_ns"), *most_delay_ns)?;
                let allowed = "at most the longest delay";
                let is_least = least_delay_ns <= most_delay_ns;
                require(is_least, &at("least_delay_ns"), least_delay_ns, allowed)
            }
            Trace::Aggregation { gap, size_bytes } => {
                check_times(&at("gap"), gap)?;
                check_size(&at("size_bytes"), *size_bytes)
            }
        }
    }

    /// The service of a link with these own values, until the end of a run.
    pub fn service(
        &self,
        own: &Step,
        end_ns: u64,
        stream: dumbbell_core::random::Stream,
    ) -> Service {
        match self {
            Trace::Opportunities {
                gaps_ms,
                size_bytes,
            } => Service::Opportunities(Opportunities::recorded(gaps_ms, *size_bytes, end_ns)),
            Trace::Aggregation { gap, size_bytes } => {
                let drawn = laws::Bursts::new(gap.clone(), *size_bytes, stream);
                Service::Opportunities(Opportunities::drawn(drawn, end_ns))
            }
            _ => Service::Steps(Box::new(Steps::new(self, own, end_ns, stream))),
        }
    }

    /// Its properties before a run; it has been checked.
    pub fn outline(&self) -> Outline {
        match self {
            Trace::Opportunities {
                gaps_ms,
                size_bytes,
            } => opportunities::outline(gaps_ms, *size_bytes),
            Trace::Steps { steps, repeat_ns } => steps::outline(steps, *repeat_ns),
            Trace::OnOff { rate_bps, on, off } => Outline {
                steps_per_s: 2.0 / (mean_s(on) + mean_s(off)),
                ..Outline::of_rate(*rate_bps as f64)
            },
            Trace::Markov { states } => {
                let most = |value: fn(&State) -> Option<f64>| {
                    let values: Option<Vec<f64>> = states.iter().map(value).collect();
                    values
                };
                let least = |values: Vec<f64>| values.into_iter().fold(f64::INFINITY, f64::min);
                let rates = most(|state| state.rate_bps.map(|rate| rate as f64));
                let delays = most(|state| state.delay_ns.map(|delay| delay as f64));
                let holds = states.iter().map(|state| mean_s(&state.hold));
                Outline {
                    has_rate: rates.is_some(),
                    most_rate_bps: rates.map(|rates| rates.into_iter().fold(0.0, f64::max)),
                    least_delay_ns: delays.map(|delays| least(delays) as u64),
                    least_loss: most(|state| state.loss).map(least),
                    steps_per_s: 1.0 / holds.fold(f64::INFINITY, f64::min),
                    has_way: states
                        .iter()
                        .any(|state| state.delay_ns.is_some() || state.loss.is_some()),
                }
            }
            Trace::Handover {
                every_ns,
                most_rate_bps,
                least_delay_ns,
                ..
            } => Outline {
                least_delay_ns: Some(*least_delay_ns),
                steps_per_s: 2e9 / *every_ns as f64,
                has_way: true,
                ..Outline::of_rate(*most_rate_bps as f64)
            },
            Trace::Aggregation { gap, size_bytes } => {
                let per_s = 1.0 / mean_s(gap);
                Outline {
                    steps_per_s: per_s,
                    ..Outline::of_rate(8.0 * f64::from(*size_bytes) * per_s)
                }
            }
        }
    }
}

impl Outline {
    /// Properties of a trace that sets the service rate only.
    fn of_rate(most_rate_bps: f64) -> Outline {
        Outline {
            most_rate_bps: Some(most_rate_bps),
            least_delay_ns: None,
            least_loss: None,
            steps_per_s: 0.0,
            has_rate: true,
            has_way: false,
        }
    }
}

impl Held for Trace {
    fn check(&self, key: &Key, path: &str) -> Checked {
        Trace::check(self, &format!("{path}.{}", key.resolved))
    }
}

fn mean_s(law: &Law) -> f64 {
    law.mean().unwrap_or(f64::INFINITY).max(1e-6)
}

fn check_size(path: &str, size_bytes: u32) -> Checked {
    let allowed = format!("1 to {LARGEST_OPPORTUNITY} bytes");
    let in_range = (1..=LARGEST_OPPORTUNITY).contains(&size_bytes);
    require(in_range, path, size_bytes, &allowed)
}

fn check_rate(path: &str, rate_bps: u64, least_bps: u64) -> Checked {
    let allowed = format!("from {least_bps} bit/s to 4 Tbit/s");
    let in_range = (least_bps..=FASTEST_BPS).contains(&rate_bps);
    require(in_range, path, rate_bps, &allowed)
}

fn check_times(path: &str, times: &Law) -> Checked {
    law(path, times)?;
    positive_gap(path, times)?;
    let mean_s = times.mean().unwrap_or(f64::INFINITY);
    require(
        mean_s >= 1e-6,
        path,
        mean_s,
        "a law whose mean is at least 1 us",
    )
}

fn check_states(path: &str, states: &[State]) -> Checked {
    let in_range = (2..=MOST_STATES).contains(&states.len());
    let allowed = format!("2 to {MOST_STATES} states");
    require(in_range, path, states.len(), &allowed)?;
    for (index, state) in states.iter().enumerate() {
        let at = |key: &str| format!("{path}[{index}].{key}");
        check_times(&at("hold"), &state.hold)?;
        if let Some(rate_bps) = state.rate_bps {
            check_rate(&at("rate_bps"), rate_bps, 0)?;
        }
        if let Some(delay_ns) = state.delay_ns {
            instant(&at("delay_ns"), delay_ns)?;
        }
        if let Some(loss) = state.loss {
            let in_range = (0.0..=1.0).contains(&loss);
            require(in_range, &at("loss"), loss, "a probability from 0 to 1")?;
        }
        let weights = &state.next;
        let fits = weights.is_empty() || weights.len() == states.len();
        let allowed = format!(
            "one weight for each of the {} states, or none",
            states.len()
        );
        require(fits, &at("next"), weights.len(), &allowed)?;
        let are_weights = weights.iter().all(|weight| (0.0..=1e9).contains(weight));
        let sum: f64 = weights.iter().sum();
        let has_next = weights.is_empty() || sum > 0.0;
        let allowed = "numbers from 0 to 1e9, one of them above 0";
        require(are_weights && has_next, &at("next"), sum, allowed)?;
    }
    Ok(())
}
