//! New rates, delays and losses at given times.
//!
//! In the text of a trace an entry is a gap in nanoseconds to the previous step (the first from the start of
//! the run), followed by the new values: `r` and a rate in bit/s (0 for an outage), `d` and a delay in
//! nanoseconds, `l` and a loss in packets per billion: `0r10md20m 500mr0 100mr8m`.

use super::laws::Drawn;
use super::text::{Entries, LONGEST_TEXT, TraceText, number, write_number};
use super::{FASTEST_BPS, Outline, Trace};
use crate::validate::require;
use crate::{LONGEST_NS, SpecError};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;

const BILLION: u64 = 1_000_000_000;

/// The values of a link from an instant on; None for unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Time of the change.
    pub at: Time,
    /// bit/s; 0 for an outage.
    pub rate_bps: Option<u64>,
    /// After the queue.
    pub delay: Option<Time>,
    /// Loss probability.
    pub loss: Option<f64>,
}

/// The steps of a run, in order of time.
#[derive(Debug, Clone)]
pub struct Steps {
    kind: Kind,
    end: Time,
}

#[derive(Debug, Clone)]
enum Kind {
    Recorded(Recorded),
    Drawn(Drawn),
}

#[derive(Debug, Clone)]
struct Recorded {
    entries: Entries,
    at_ns: u64,
    /// Start of the round.
    base_ns: u64,
    repeat_ns: Option<u64>,
}

impl Steps {
    pub(super) fn new(trace: &Trace, own: &Step, end_ns: u64, stream: Stream) -> Steps {
        let kind = match trace {
            Trace::Steps { steps, repeat_ns } => Kind::Recorded(Recorded {
                entries: Entries::of(steps),
                at_ns: 0,
                base_ns: 0,
                repeat_ns: *repeat_ns,
            }),
            law => Kind::Drawn(Drawn::new(law, own, stream)),
        };
        Steps {
            kind,
            end: Time::from_ns(end_ns),
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let next = match &mut self.kind {
            Kind::Recorded(recorded) => recorded.next(),
            Kind::Drawn(drawn) => Some(drawn.next()),
        };
        next.filter(|step| step.at < self.end)
    }
}

impl Recorded {
    fn next(&mut self) -> Option<Step> {
        let text = match self.entries.next() {
            Some(text) => text,
            None => {
                self.base_ns = self.base_ns.saturating_add(self.repeat_ns?).min(LONGEST_NS);
                self.at_ns = self.base_ns;
                self.entries.begin_again();
                self.entries.next()?
            }
        };
        let (gap_ns, mut step) = entry(text)?;
        self.at_ns = self.at_ns.saturating_add(gap_ns).min(LONGEST_NS);
        step.at = Time::from_ns(self.at_ns);
        Some(step)
    }
}

/// Parses a gap and the new values.
fn entry(text: &str) -> Option<(u64, Step)> {
    let (gap_ns, mut rest) = number(text)?;
    let mut step = Step {
        at: Time::ZERO,
        rate_bps: None,
        delay: None,
        loss: None,
    };
    if let Some(value) = rest.strip_prefix('r') {
        let rate_bps;
        (rate_bps, rest) = number(value).filter(|(rate_bps, _)| *rate_bps <= FASTEST_BPS)?;
        step.rate_bps = Some(rate_bps);
    }
    if let Some(value) = rest.strip_prefix('d') {
        let delay_ns;
        (delay_ns, rest) = number(value).filter(|(delay_ns, _)| *delay_ns <= LONGEST_NS)?;
        step.delay = Some(Time::from_ns(delay_ns));
    }
    if let Some(value) = rest.strip_prefix('l') {
        let loss;
        (loss, rest) = number(value).filter(|(loss, _)| *loss <= BILLION)?;
        step.loss = Some(loss as f64 / BILLION as f64);
    }
    let says = step.rate_bps.is_some() || step.delay.is_some() || step.loss.is_some();
    (rest.is_empty() && says).then_some((gap_ns, step))
}

/// Checks the steps. Returns the time of the last one.
pub(super) fn check(path: &str, steps: &TraceText) -> Result<u64, SpecError> {
    let length = steps.as_str().len();
    let allowed = format!("at most {} MiB of text", LONGEST_TEXT >> 20);
    require(length <= LONGEST_TEXT, path, length, &allowed)?;
    let allowed = "steps with a space between them, each a gap in nanoseconds, later than the step \
                   before it, and a rate, a delay or a loss: 0r10md20m 500mr0 100mr8m";
    let mut entries = Entries::of(steps);
    let (mut at_ns, mut count) = (0u64, 0u64);
    while let Some(text) = entries.next() {
        let found = entry(text).filter(|(gap_ns, _)| *gap_ns > 0 || count == 0);
        let Some((gap_ns, _)) = found else {
            let shown: String = text.chars().take(40).collect();
            return Err(SpecError::new(path, shown, allowed));
        };
        at_ns = at_ns.saturating_add(gap_ns);
        count += 1;
    }
    require(count > 0, path, "nothing", "at least one step")?;
    require(
        at_ns <= LONGEST_NS,
        path,
        at_ns,
        "at most 200 days, in nanoseconds",
    )?;
    Ok(at_ns)
}

pub(super) fn outline(steps: &TraceText, repeat_ns: Option<u64>) -> Outline {
    let mut entries = Entries::of(steps);
    let (mut at_ns, mut count) = (0u64, 0u64);
    let (mut rate, mut delay, mut loss) = (None::<u64>, None::<u64>, None::<f64>);
    // Values that the first step does not set at time 0 are the link's own until a later step sets them.
    let mut first = None;
    while let Some((gap_ns, step)) = entries.next().and_then(entry) {
        at_ns += gap_ns;
        count += 1;
        first.get_or_insert((at_ns, step));
        rate = step
            .rate_bps
            .map_or(rate, |new| Some(rate.unwrap_or(0).max(new)));
        let ns = step.delay.map(|delay| delay.0 / 1000);
        delay = ns.map_or(delay, |new| Some(delay.unwrap_or(new).min(new)));
        loss = step
            .loss
            .map_or(loss, |new| Some(loss.unwrap_or(new).min(new)));
    }
    let first = first.filter(|(at_ns, _)| *at_ns == 0).map(|(_, step)| step);
    let from_the_start = |says: fn(&Step) -> bool| first.as_ref().is_some_and(says);
    let has_rate = from_the_start(|step| step.rate_bps.is_some());
    Outline {
        most_rate_bps: rate.filter(|_| has_rate).map(|rate| rate as f64),
        least_delay_ns: delay.filter(|_| from_the_start(|step| step.delay.is_some())),
        least_loss: loss.filter(|_| from_the_start(|step| step.loss.is_some())),
        // Without repetition, the steps of a short beginning are not those of every second.
        steps_per_s: 1e9 * count as f64
            / repeat_ns.unwrap_or(at_ns.max(1_000_000_000)).max(1) as f64,
        has_rate,
        has_way: delay.is_some() || loss.is_some(),
    }
}

/// Writes steps incrementally, without unchanged values.
#[derive(Debug, Default)]
pub(super) struct Written {
    text: String,
    last_ns: u64,
    now: Values,
}

/// Rate, delay and loss in the units of the text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) rate_bps: Option<u64>,
    pub(super) delay_ns: Option<u64>,
    pub(super) loss_ppb: Option<u64>,
}

impl Written {
    /// Appends a step, after the last one.
    pub(super) fn push(&mut self, at_ns: u64, values: Values) {
        let is_new = |old: Option<u64>, new: Option<u64>| new.filter(|_| old != new);
        let new = [
            ('r', is_new(self.now.rate_bps, values.rate_bps)),
            ('d', is_new(self.now.delay_ns, values.delay_ns)),
            ('l', is_new(self.now.loss_ppb, values.loss_ppb)),
        ];
        if new.iter().all(|(_, value)| value.is_none()) {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        write_number(&mut self.text, at_ns - self.last_ns);
        for (letter, value) in new {
            if let Some(value) = value {
                self.text.push(letter);
                write_number(&mut self.text, value);
            }
        }
        self.last_ns = at_ns;
        self.now = Values {
            rate_bps: values.rate_bps.or(self.now.rate_bps),
            delay_ns: values.delay_ns.or(self.now.delay_ns),
            loss_ppb: values.loss_ppb.or(self.now.loss_ppb),
        };
    }

    /// Bytes of text so far.
    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    pub(super) fn finish(self) -> TraceText {
        self.text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps_per_s(steps: &str, repeat_ns: Option<u64>) -> f64 {
        outline(&steps.to_owned().into(), repeat_ns).steps_per_s
    }

    #[test]
    fn steps_of_the_start_alone_are_not_repeated_each_nanosecond() {
        assert!((steps_per_s("0r10m", None) - 1.0).abs() < 1e-9);
        assert!((steps_per_s("0r10m 1r5m", None) - 2.0).abs() < 1e-9);
        assert!((steps_per_s("0r10m 4gr5m", None) - 0.5).abs() < 1e-9);
        assert!((steps_per_s("0r10m 1mr5m", Some(2_000_000)) - 1000.0).abs() < 1e-9);
    }
}
