//! What is due, and when.

use crate::sys::Plan;
use dumbbell_core::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Interval of reading what was seen at watched queues; a ring holds 8192 packets.
pub const CAPTURE_STEP: Time = Time::from_ns(20_000_000);

/// Events in the simulator's order at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DueEvent {
    Change(usize),
    WarmUp,
    Flow(usize),
    Stop(usize),
    Probe(usize),
    Program(usize),
    Capture,
    Sample,
    Report,
    End,
    Drain,
}

impl DueEvent {
    /// Where it comes among events at one instant; sources of the module have that of their events.
    pub fn order(self) -> u64 {
        let (kind, index) = match self {
            DueEvent::Change(index) => (0, index),
            DueEvent::WarmUp => (1, 0),
            DueEvent::Flow(index) => (2, index),
            DueEvent::Stop(index) => (3, index),
            DueEvent::Probe(index) => (4, index),
            DueEvent::Program(index) => (5, index),
            DueEvent::Capture => (6, 0),
            DueEvent::Sample => (7, 0),
            DueEvent::Report => (8, 0),
            DueEvent::End => (9, 0),
            DueEvent::Drain => (10, 0),
        };
        kind << 32 | index as u64
    }

    /// The event of a source of the module.
    pub fn of_source(order: u64) -> Option<DueEvent> {
        let index = usize::try_from(order & u64::from(u32::MAX)).ok()?;
        [DueEvent::Flow(index), DueEvent::Probe(index)]
            .into_iter()
            .find(|event| event.order() == order)
    }
}

/// All events. Readings of packets seen and samples recur, and there is one of each at a time.
#[derive(Debug)]
pub struct DueEvents {
    others: BinaryHeap<Reverse<(Time, DueEvent)>>,
    capture: Time,
    sample: Time,
}

impl DueEvents {
    /// None yet.
    pub fn new() -> DueEvents {
        DueEvents {
            others: BinaryHeap::new(),
            capture: Time::NEVER,
            sample: Time::NEVER,
        }
    }

    /// Adds an event.
    pub fn at(&mut self, time: Time, what: DueEvent) {
        match what {
            DueEvent::Capture => self.capture = time,
            DueEvent::Sample => self.sample = time,
            other => self.others.push(Reverse((time, other))),
        }
    }

    /// The first event.
    pub fn first(&self) -> Option<(Time, DueEvent)> {
        let other = self.others.peek().map(|Reverse(other)| *other);
        let recurring = [
            (self.capture, DueEvent::Capture),
            (self.sample, DueEvent::Sample),
        ];
        let recurring = recurring
            .into_iter()
            .filter(|(time, _)| *time < Time::NEVER);
        recurring.chain(other).min()
    }

    /// Takes the first event away if it is due.
    pub fn next(&mut self, now: Time) -> Option<(Time, DueEvent)> {
        let first = self.first().filter(|(time, _)| *time <= now)?;
        match first.1 {
            DueEvent::Capture => self.capture = Time::NEVER,
            DueEvent::Sample => self.sample = Time::NEVER,
            _ => drop(self.others.pop()),
        }
        Some(first)
    }

    /// So many readings of packets seen were not needed.
    pub fn skip_captures(&mut self, count: u64) {
        if count > 0 {
            self.capture.0 += count * CAPTURE_STEP.0;
        }
    }

    /// As the module gets them, with the interval and the last time of samples.
    pub fn plan(&self, (sample_step, last_sample): (Time, Time)) -> Plan {
        let other = self.others.peek().map_or(Time::NEVER, |other| other.0.0);
        Plan {
            zero_ns: 0,
            other_ps: other.0,
            check_ps: self.capture.0,
            check_step_ps: CAPTURE_STEP.0,
            sample_ps: self.sample.0,
            sample_step_ps: sample_step.0,
            last_sample_ps: last_sample.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events() -> DueEvents {
        let mut due = DueEvents::new();
        due.at(Time(20), DueEvent::Sample);
        due.at(Time(20), DueEvent::Report);
        due.at(Time(20), DueEvent::Capture);
        due.at(Time(20), DueEvent::Probe(0));
        due
    }

    #[test]
    fn at_one_instant_events_come_in_their_order() {
        let mut due = events();
        assert_eq!(due.next(Time(19)), None);
        let order: Vec<_> = std::iter::from_fn(|| due.next(Time(20))).collect();
        let what = [
            DueEvent::Probe(0),
            DueEvent::Capture,
            DueEvent::Sample,
            DueEvent::Report,
        ];
        assert_eq!(order, what.map(|what| (Time(20), what)));
        assert_eq!(due.first(), None);
    }

    #[test]
    fn orders_are_those_of_events() {
        let events = [
            DueEvent::Change(9),
            DueEvent::WarmUp,
            DueEvent::Flow(1),
            DueEvent::Flow(2),
            DueEvent::Stop(0),
            DueEvent::Probe(0),
            DueEvent::Program(0),
            DueEvent::Capture,
            DueEvent::Sample,
            DueEvent::Report,
            DueEvent::End,
            DueEvent::Drain,
        ];
        assert!(events.is_sorted());
        assert!(events.is_sorted_by_key(|event| event.order()));
        let sources = events.map(|event| DueEvent::of_source(event.order()));
        let sources: Vec<_> = sources.into_iter().flatten().collect();
        assert_eq!(sources, [events[2], events[3], events[5]]);
    }

    #[test]
    fn the_module_gets_the_first_event_beside_those_that_recur() {
        let mut due = events();
        while due
            .next(Time(20))
            .is_some_and(|(_, what)| what != DueEvent::Capture)
        {}
        due.at(Time(40), DueEvent::Capture);
        due.next(Time(20));
        due.at(Time(25), DueEvent::Sample);
        let plan = due.plan((Time(5), Time(90)));
        assert_eq!((plan.other_ps, plan.check_ps, plan.sample_ps), (20, 40, 25));
        assert_eq!((plan.sample_step_ps, plan.last_sample_ps), (5, 90));
        due.next(Time(20));
        due.skip_captures(2);
        let plan = due.plan((Time(5), Time(90)));
        assert_eq!(
            (plan.other_ps, plan.check_ps),
            (u64::MAX, 40 + 2 * CAPTURE_STEP.0)
        );
    }
}
