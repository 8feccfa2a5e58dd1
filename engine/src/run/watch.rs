//! The watch of a run: ends a run that takes far more events, time at one instant or memory than estimated.

use super::estimate::Estimate;
use super::{Monitor, OverBudget};
use crate::error::EngineError;
use crate::qdisc::UPDATES_AN_EVENT;
use crate::sim::time::Time;
use crate::sim::world::World;
use std::ops::Deref;
use std::sync::atomic::Ordering;

/// Largest ratio of events to estimated events.
const MOST_TIMES_THE_EVENTS: u64 = 5;
/// Number of events always allowed: a few seconds, however few were estimated.
const EVENTS_ALWAYS_DONE: u64 = 10_000_000;
/// Number of events always allowed at one instant, for a large queue that is emptied at once or bursts.
const EVENTS_AT_AN_INSTANT: u64 = 4_000_000;
/// Events between two memory counts, for each link and conversation counted. Counting takes a small part of
/// the time.
const EVENTS_A_PART: u64 = 16;

/// The bounds of a run.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    expected_events: u64,
    most_events: u64,
    most_at_an_instant: u64,
}

impl Bounds {
    /// The bounds of a run with this estimate.
    pub fn of(expected: Estimate) -> Bounds {
        let most_events = expected.events.saturating_mul(MOST_TIMES_THE_EVENTS);
        Bounds {
            expected_events: expected.events,
            most_events: most_events.max(EVENTS_ALWAYS_DONE),
            most_at_an_instant: expected.events.max(EVENTS_AT_AN_INSTANT),
        }
    }
}

/// Watches one run.
#[derive(Debug)]
pub struct Watch<M> {
    monitor: M,
    bounds: Bounds,
    /// Instant of the last check, and the events up to the first check at it.
    instant: (Time, u64),
    /// Number of events at the next memory count.
    next_count: u64,
    most_memory_bytes: u64,
}

impl<M: Deref<Target = Monitor>> Watch<M> {
    /// Over a run with these bounds.
    pub fn new(monitor: M, bounds: Bounds) -> Watch<M> {
        Watch {
            monitor,
            bounds,
            instant: (Time::ZERO, 0),
            next_count: 0,
            most_memory_bytes: 0,
        }
    }

    /// Checks a run between two events.
    ///
    /// # Errors
    /// The run must end.
    pub fn look(&mut self, world: &World) -> Result<(), EngineError> {
        self.monitor.now_ps.store(world.now.0, Ordering::Relaxed);
        self.monitor.events.store(world.events, Ordering::Relaxed);
        self.check_cancel()?;
        let (instant, events) = self.instant;
        if world.now > instant {
            self.instant = (world.now, world.events);
        } else if world.events - events > self.bounds.most_at_an_instant {
            return Err(EngineError::Standstill {
                at_ns: world.now.as_ns(),
                events: world.events - events,
            });
        }
        let updates = world.timer_updates();
        let events = world.events + updates.one_by_one() / UPDATES_AN_EVENT;
        if events > self.bounds.most_events || updates.are_too_many() {
            return Err(EngineError::TooManyEvents {
                at_ns: world.now.as_ns(),
                events,
                expected: self.bounds.expected_events,
            });
        }
        if world.events >= self.next_count {
            let parts = world.links.len() + world.conversations.len();
            self.next_count = world.events + EVENTS_A_PART * parts as u64;
            self.count_memory(world)?;
        }
        Ok(())
    }

    /// Counts the memory of a run, with the tables it will make.
    ///
    /// # Errors
    /// It exceeds the budget.
    pub fn count_memory(&mut self, world: &World) -> Result<(), EngineError> {
        let bytes = world.memory_bytes();
        self.most_memory_bytes = self.most_memory_bytes.max(bytes);
        let account = &self.monitor.memory;
        account
            .set(bytes)
            .map_err(|over: OverBudget| EngineError::OutOfMemory {
                at_ns: world.now.as_ns(),
                needed_bytes: over.needed_bytes,
                budget_bytes: over.budget_bytes,
            })
    }

    /// Checks whether the caller asked the run to stop.
    ///
    /// # Errors
    /// The caller did.
    pub fn check_cancel(&self) -> Result<(), EngineError> {
        if self.monitor.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        Ok(())
    }

    /// How the run is watched and stopped from outside.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Peak of the memory counted.
    pub fn most_memory_bytes(&self) -> u64 {
        self.most_memory_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::incremental::drive;
    use crate::spec::Experiment;
    use std::sync::atomic::AtomicBool;

    /// A host, a link without rate and delay, a host, and greedy TCP. Such a run is refused because a round
    /// trip takes no time.
    fn instant(record_packets: bool) -> Experiment {
        let end = format!(
            r#"{{"rate_bps":0,"delay_ns":0,"mtu_bytes":1500,"overhead_bytes":14,"loss":0.0,
            "loss_every_pkts":0,"qdisc":{{"kind":"pfifo","limit_packets":1000}},"changes":[],
            "record_packets":{record_packets}}}"#
        );
        let tcp = serde_json::to_string(&crate::spec::Tcp::linux("cubic")).unwrap();
        let text = format!(
            r#"{{"schema":1,"name":"instant","seed":1,"duration_ns":1000000000,"warm_up_ns":0,
            "sample_interval_ns":0,"timer_hz":1000,"hosts":[{{"name":"a"}},{{"name":"b"}}],
            "links":[{{"a":"a","b":"b","forward":{end},"reverse":{end}}}],
            "flows":[{{"name":"f","from":"a","to":"b","start_ns":0,"stop_ns":1000000000,
            "start_jitter_ns":0,"dscp":0,"ecn":"not-ect","transport":"tcp","tcp":{tcp},
            "source":{{"kind":"greedy"}}}}],"probes":[]}}"#
        );
        Experiment::from_json(&text).unwrap()
    }

    fn bounds(most_events: u64, most_at_an_instant: u64) -> Bounds {
        Bounds {
            expected_events: 1,
            most_events,
            most_at_an_instant,
        }
    }

    fn driven(experiment: &Experiment, monitor: &Monitor, bounds: Bounds) -> EngineError {
        let mut world = World::new(experiment, 0);
        let mut watch = Watch::new(monitor, bounds);
        loop {
            match drive(&mut world, &mut watch) {
                Ok(is_going) => assert!(is_going, "the run ended"),
                Err(error) => return error,
            }
        }
    }

    #[test]
    fn a_run_that_stays_in_one_instant_ends() {
        let monitor = Monitor::default();
        let error = driven(&instant(false), &monitor, bounds(u64::MAX, 10_000));
        let EngineError::Standstill { at_ns, events } = error else {
            panic!("{error}");
        };
        assert_eq!(at_ns, 0);
        assert!((10_001..20_000).contains(&events), "{events}");
    }

    #[test]
    fn a_run_of_many_more_events_than_foreseen_ends() {
        let monitor = Monitor::default();
        let error = driven(&instant(false), &monitor, bounds(5_000, u64::MAX));
        assert!(matches!(
            error,
            EngineError::TooManyEvents {
                expected: 1,
                events: 5_001..10_000,
                ..
            }
        ));
    }

    /// Timers of disciplines have no events, and take time.
    #[test]
    fn timers_are_counted() {
        let mut experiment = instant(false);
        experiment.links[0].forward.qdisc = dumbbell_tc::parse_qdisc("pie").unwrap();
        let watched = |updates: u64, are_too_many: bool| {
            let mut world = World::new(&experiment, 0);
            let counted = world.links[0].timer_updates_mut();
            counted.add(updates);
            if are_too_many {
                counted.give_up();
            }
            let monitor = Monitor::default();
            Watch::new(&monitor, bounds(1000, u64::MAX)).look(&world)
        };
        assert_eq!(watched(1000 * UPDATES_AN_EVENT, false), Ok(()));
        for ended in [watched(1001 * UPDATES_AN_EVENT, false), watched(0, true)] {
            assert!(matches!(ended, Err(EngineError::TooManyEvents { .. })));
        }
    }

    #[test]
    fn a_long_instant_is_left_when_somebody_asks() {
        let monitor = Monitor {
            cancel: AtomicBool::new(true),
            ..Monitor::default()
        };
        let error = driven(&instant(false), &monitor, bounds(u64::MAX, u64::MAX));
        assert_eq!(error, EngineError::Cancelled);
        assert!(monitor.events.load(Ordering::Relaxed) < 20_000);
    }

    #[test]
    fn a_run_that_needs_more_than_it_may_have_ends() {
        let budget = std::sync::Arc::new(crate::run::Budget::new(10_000_000, 1));
        let monitor = Monitor {
            memory: crate::run::Account::of(budget),
            ..Monitor::default()
        };
        let error = driven(&instant(true), &monitor, bounds(u64::MAX, u64::MAX));
        let EngineError::OutOfMemory {
            needed_bytes,
            budget_bytes,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(budget_bytes, 10_000_000);
        assert!(
            (budget_bytes..3 * budget_bytes).contains(&needed_bytes),
            "{needed_bytes}"
        );
    }

    #[test]
    fn few_events_foreseen_are_no_reason_to_end_soon() {
        let few = Bounds::of(Estimate {
            events: 10,
            memory_bytes: 0,
            cpu_ns: 0,
        });
        assert_eq!(few.most_events, EVENTS_ALWAYS_DONE);
        let many = Bounds::of(Estimate {
            events: 1 << 40,
            memory_bytes: 0,
            cpu_ns: 0,
        });
        assert_eq!(
            (many.most_events, many.most_at_an_instant),
            (5 << 40, 1 << 40)
        );
    }
}
