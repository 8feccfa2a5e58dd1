//! Steps and opportunities drawn from laws.

use super::opportunities::Opportunity;
use super::steps::Step;
use super::{SHORTEST_NS, State, Trace};
use crate::law::Law;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;

/// Draws a time of at least a microsecond.
fn draw_time(law: &Law, stream: &mut Stream) -> Time {
    Time::from_seconds(law.draw(stream)).max(Time::from_ns(SHORTEST_NS))
}

/// Bursts of service (aggregation).
#[derive(Debug, Clone)]
pub(super) struct Bursts {
    gap: Law,
    bytes: u64,
    stream: Stream,
    at: Time,
}

impl Bursts {
    pub(super) fn new(gap: Law, size_bytes: u32, stream: Stream) -> Bursts {
        Bursts {
            gap,
            bytes: u64::from(size_bytes),
            stream,
            at: Time::ZERO,
        }
    }

    pub(super) fn next(&mut self) -> Opportunity {
        let gap = draw_time(&self.gap, &mut self.stream);
        self.at = self.at.saturating_add(gap);
        Opportunity {
            at: self.at,
            bytes: self.bytes,
        }
    }
}

/// Steps drawn from laws.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    law: Trace,
    own: Step,
    stream: Stream,
    /// Time of the next step.
    at: Time,
    phase: Phase,
}

/// What the next step starts.
#[derive(Debug, Clone, Copy)]
enum Phase {
    On,
    Off,
    State(usize),
    /// The outage of the handover with this number.
    Outage(u64),
    /// The state after that outage.
    Satellite(u64),
}

impl Drawn {
    pub(super) fn new(law: &Trace, own: &Step, stream: Stream) -> Drawn {
        let phase = match law {
            Trace::Markov { .. } => Phase::State(0),
            Trace::Handover { .. } => Phase::Satellite(0),
            _ => Phase::On,
        };
        Drawn {
            law: law.clone(),
            own: *own,
            stream,
            at: Time::ZERO,
            phase,
        }
    }

    pub(super) fn next(&mut self) -> Step {
        let mut step = Step {
            at: self.at,
            rate_bps: None,
            delay: None,
            loss: None,
        };
        match (&self.law, self.phase) {
            (Trace::OnOff { on, rate_bps, .. }, Phase::On) => {
                step.rate_bps = Some(*rate_bps);
                self.at = self.at.saturating_add(draw_time(on, &mut self.stream));
                self.phase = Phase::Off;
            }
            (Trace::OnOff { off, .. }, _) => {
                step.rate_bps = Some(0);
                self.at = self.at.saturating_add(draw_time(off, &mut self.stream));
                self.phase = Phase::On;
            }
            (Trace::Markov { states }, Phase::State(index)) => {
                let state = &states[index];
                step.rate_bps = state.rate_bps.or(self.own.rate_bps);
                let delay = state.delay_ns.map(Time::from_ns);
                step.delay = delay.or(self.own.delay);
                step.loss = state.loss.or(self.own.loss);
                let held = draw_time(&state.hold, &mut self.stream);
                self.at = self.at.saturating_add(held);
                self.phase = Phase::State(next_state(states, index, &mut self.stream));
            }
            (
                Trace::Handover {
                    outage, every_ns, ..
                },
                Phase::Outage(number),
            ) => {
                step.rate_bps = Some(0);
                let drawn = Time::from_seconds(outage.draw(&mut self.stream));
                // It ends before the next one begins.
                let longest = Time::from_ns(every_ns - every_ns / 10);
                self.at = self.at.saturating_add(drawn.min(longest).max(Time(1)));
                self.phase = Phase::Satellite(number);
            }
            (
                Trace::Handover {
                    every_ns,
                    least_rate_bps,
                    most_rate_bps,
                    least_delay_ns,
                    most_delay_ns,
                    ..
                },
                Phase::Satellite(number),
            ) => {
                let between = |least: u64, most: u64, share: f64| {
                    least + (share * (most - least) as f64) as u64
                };
                let rate_share = self.stream.uniform();
                step.rate_bps = Some(between(*least_rate_bps, *most_rate_bps, rate_share));
                let delay_share = self.stream.uniform();
                let delay_ns = between(*least_delay_ns, *most_delay_ns, delay_share);
                step.delay = Some(Time::from_ns(delay_ns));
                let next = number + 1;
                self.at = Time::from_ns(next.saturating_mul(*every_ns).min(crate::LONGEST_NS));
                self.phase = Phase::Outage(next);
            }
            _ => step.at = Time::NEVER,
        }
        step
    }
}

/// The next state, by the weights of the present one.
fn next_state(states: &[State], index: usize, stream: &mut Stream) -> usize {
    let share = stream.uniform();
    let weights = &states[index].next;
    if weights.is_empty() {
        let others = states.len() - 1;
        let drawn = ((share * others as f64) as usize).min(others - 1);
        return if drawn < index { drawn } else { drawn + 1 };
    }
    let mut left = share * weights.iter().sum::<f64>();
    let mut last = index;
    for (state, weight) in weights.iter().enumerate() {
        if *weight > 0.0 {
            last = state;
            if left < *weight {
                break;
            }
            left -= weight;
        }
    }
    last
}
