//! A run in pieces of any size, driven by its caller. The result does not depend on the sizes.

use super::watch::{Bounds, Watch};
use super::{Estimate, Monitor, RunOutput, check_simulator};
use crate::capture::{Capture, Output};
use crate::cca::external::{Module, ModuleLoader, NoModules};
use crate::error::EngineError;
use crate::net::plan::FastPaths;
use crate::observe::records::Records;
use crate::sim::time::Time;
use crate::sim::world::World;
use crate::spec::Experiment;
use crate::spec::SpecError;
use crate::spec::tcp::{Controller, CwndChange};
use crate::tables::{self, Table, Tables};
use crate::traffic::conversation::Application;
use crate::traffic::tcp_flow::TcpFlow;
use std::collections::HashMap;
use std::ops::Deref;

/// Events between two checks of the watch, about a tenth of a millisecond.
const EVENTS_BETWEEN_LOOKS: u64 = 4096;

/// What a flow's senders have sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowSent {
    pub sent_pkts: u64,
    pub in_flight_pkts: u32,
}

/// A run that has started and whose tables have not been made.
#[derive(Debug)]
pub struct IncrementalRun<M> {
    world: World,
    watch: Watch<M>,
    expected: Estimate,
    /// Loaded modules of controllers.
    modules: Vec<Module>,
}

impl<M: Deref<Target = Monitor>> IncrementalRun<M> {
    /// Starts one replication of a checked description, without its capture.
    ///
    /// # Errors
    /// It cannot be simulated, or it was stopped before.
    pub fn new(experiment: &Experiment, replication: u64, monitor: M) -> Result<Self, EngineError> {
        IncrementalRun::with_modules(experiment, replication, monitor, &NoModules)
    }

    /// As `new`, with modules of controllers that the simulator does not have.
    ///
    /// # Errors
    /// The errors of `new`, or a controller has no module.
    pub fn with_modules(
        experiment: &Experiment,
        replication: u64,
        monitor: M,
        modules: &dyn ModuleLoader,
    ) -> Result<Self, EngineError> {
        IncrementalRun::captured(
            experiment,
            replication,
            monitor,
            None,
            FastPaths::On,
            modules,
        )
    }

    /// As `new`, with an output for the capture, with fast paths on or off, and with modules of controllers.
    pub(super) fn captured(
        experiment: &Experiment,
        replication: u64,
        monitor: M,
        output: Option<Output>,
        fast_paths: FastPaths,
        modules: &dyn ModuleLoader,
    ) -> Result<Self, EngineError> {
        check_simulator(experiment)?;
        let expected = Estimate::of(experiment);
        let watch = Watch::new(monitor, Bounds::of(expected));
        watch.check_cancel()?;
        let modules = loaded(experiment, modules)?;
        let mut world = World::planned(experiment, replication, fast_paths, &modules);
        world.capture = Capture::new(experiment, output)?;
        Ok(IncrementalRun {
            world,
            watch,
            expected,
            modules: modules.into_values().collect(),
        })
    }

    /// Time of the last event, nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.world.now.as_ns()
    }

    /// Processes `events` events, or a few thousand more; `u64::MAX` for all. Returns whether events are
    /// left.
    ///
    /// # Errors
    /// The run was stopped, or exceeds its bounds.
    pub fn advance(&mut self, events: u64) -> Result<bool, EngineError> {
        let until = self.world.events.saturating_add(events);
        while self.world.events < until {
            let IncrementalRun { world, watch, .. } = self;
            let mut is_going = Ok(false);
            run_locked(&self.modules, &mut || is_going = drive(world, watch));
            self.check_modules()?;
            if !is_going? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Processes events up to an instant, and the next one after it. Returns whether events are left.
    ///
    /// # Errors
    /// The run was stopped, or exceeds its bounds.
    pub fn advance_to(&mut self, until_ns: u64) -> Result<bool, EngineError> {
        while self.now_ns() < until_ns {
            if !steps(&mut self.world, 1) {
                return Ok(false);
            }
            if self.world.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                self.watch.look(&self.world)?;
            }
        }
        Ok(true)
    }

    /// Processes events up to and including an instant: `events` events, or a few thousand more. Returns
    /// whether all of them are done.
    ///
    /// # Errors
    /// The run was stopped, exceeds its bounds, or a controller failed.
    pub fn advance_through(&mut self, until_ns: u64, events: u64) -> Result<bool, EngineError> {
        let IncrementalRun { world, watch, .. } = self;
        let until = Time::from_ns(until_ns);
        let mut is_done = Ok(false);
        run_locked(&self.modules, &mut || {
            is_done = drive_through(world, watch, until, events);
        });
        self.check_modules()?;
        is_done
    }

    /// Whether no event is left before the end.
    pub fn is_at_end(&self) -> bool {
        self.world.next_due() >= self.world.end
    }

    fn tcp_flow(&self, flow: usize) -> Option<&TcpFlow> {
        match &self.world.conversations.get(flow)?.application {
            Application::Tcp(flow) => Some(flow),
            _ => None,
        }
    }

    /// What a TCP flow, by its index, has sent, retransmissions included, and has in flight.
    pub(super) fn flow_sent(&self, flow: usize) -> FlowSent {
        let Some(flow) = self.tcp_flow(flow) else {
            return FlowSent::default();
        };
        let statistics = flow.statistics();
        let sample = flow.sample();
        FlowSent {
            sent_pkts: statistics.sent_pkts + statistics.retransmitted_pkts,
            in_flight_pkts: sample.map_or(0, |sample| sample.inflight_pkts),
        }
    }

    /// Whether a TCP flow, by its index, has nothing more to send.
    pub(super) fn is_flow_over(&self, flow: usize) -> bool {
        self.tcp_flow(flow).is_some_and(TcpFlow::is_over)
    }

    fn check_modules(&self) -> Result<(), EngineError> {
        let failure = self.modules.iter().find_map(|module| module.0.failure());
        failure.map_or(Ok(()), |why| Err(EngineError::Controller(why)))
    }

    /// Sets the window of flows whose controller is `manual`. The change takes effect at the next nanosecond,
    /// as if the description had it (`cwnd_changes`).
    ///
    /// # Arguments
    /// `flows` are indices in the description's list; `cwnd_pkts` is 1 to 100,000.
    ///
    /// # Errors
    /// A flow has another controller or is not TCP, or the window is out of range.
    pub fn change_cwnd(
        &mut self,
        flows: &[usize],
        cwnd_pkts: u32,
    ) -> Result<CwndChange, EngineError> {
        let at_ns = self.now_ns() + 1;
        let change = CwndChange { at_ns, cwnd_pkts };
        change.check("cwnd_changes")?;
        for flow in flows {
            let found = self.world.conversations.get_mut(*flow);
            let is_given = found.is_some_and(|conversation| match &mut conversation.application {
                Application::Tcp(flow) => flow.change_cwnd(change),
                _ => false,
            });
            if !is_given {
                let path = format!("flows[{flow}].tcp.congestion_control");
                let allowed = "manual, for a window set by the caller";
                return Err(SpecError::new(path, "another", allowed).into());
            }
        }
        Ok(change)
    }

    /// Samples, histograms, transfers, probes and records so far. On links without departure events,
    /// departures after the last sample are not in the histograms yet.
    pub fn tables_so_far(&self) -> Tables {
        tables::so_far(&self.world)
    }

    /// Activity of TCP senders at each sample so far.
    pub fn activities(&self) -> Table {
        tables::activities(&self.world)
    }

    /// Class of each packet of the table `packets` so far, one row for each of its rows; -1 if the discipline
    /// has no classes.
    pub fn packet_classes(&self) -> Table {
        tables::packet_classes(&self.world)
    }

    /// Discards the packet records so far, for a caller that needs a later window only.
    pub fn forget_records(&mut self) {
        self.world.records = Records::default();
    }

    /// The tables of a run that has ended.
    ///
    /// # Errors
    /// The run was stopped, or there is a bug in the simulator.
    pub fn finish(self) -> Result<RunOutput, EngineError> {
        let IncrementalRun {
            mut world,
            mut watch,
            expected,
            modules: _,
        } = self;
        world.finish();
        watch.count_memory(&world)?;
        world.check_conservation().map_err(EngineError::Internal)?;
        let writes = world.records_writes.then(|| tables::writes(&world));
        let own_samples = world.samples.own.tables();
        let mut tables = tables::until(&mut world, &watch.monitor().cancel);
        if let Some(capture) = &mut world.capture {
            capture.finish(world.end)?;
            tables.0.extend(capture.table());
        }
        let events = world.events;
        drop(world);
        // From here on only the tables take memory, until the caller takes them.
        let _ = watch.monitor().memory.set(tables.memory_bytes());
        let digest = tables.digest_until(&watch.monitor().cancel);
        watch.check_cancel()?;
        tables.0.extend(writes);
        tables.0.extend(own_samples);
        Ok(RunOutput {
            digest,
            tables,
            events,
            memory_bytes: watch.most_memory_bytes(),
            expected,
        })
    }
}

/// Loads a module for each controller and set of parameters that the simulator does not have.
fn loaded(
    experiment: &Experiment,
    modules: &dyn ModuleLoader,
) -> Result<HashMap<Controller, Module>, SpecError> {
    let mut found = HashMap::new();
    for (index, flow) in experiment.flows.iter().enumerate() {
        let Some(tcp) = &flow.tcp else { continue };
        let Some(controller) = &tcp.controller else {
            continue;
        };
        if !found.contains_key(controller) {
            let path = format!("flows[{index}].tcp.congestion_control");
            let refused = |allowed| SpecError::new(path, &tcp.congestion_control, allowed);
            let module = modules.load(controller).map_err(refused)?;
            found.insert(controller.clone(), module);
        }
    }
    Ok(found)
}

/// Processes events while the locks of all modules are held.
fn run_locked(modules: &[Module], events: &mut dyn FnMut()) {
    match modules.split_first() {
        None => events(),
        Some((first, others)) => first.0.run_locked(&mut || run_locked(others, events)),
    }
}

/// Processes events up to and including an instant. Returns whether all of them are done.
fn drive_through<M>(
    world: &mut World,
    watch: &mut Watch<M>,
    until: Time,
    events: u64,
) -> Result<bool, EngineError>
where
    M: Deref<Target = Monitor>,
{
    let enough = world.work().saturating_add(events);
    let mut next_look = world.work() + EVENTS_BETWEEN_LOOKS;
    while world.next_due() <= until && world.step() {
        let work = world.work();
        if work >= next_look {
            watch.look(world)?;
            if work >= enough {
                return Ok(false);
            }
            next_look = work + EVENTS_BETWEEN_LOOKS;
        }
    }
    watch.look(world)?;
    Ok(true)
}

/// Processes some events, then checks the watch. Returns whether events are left.
pub(super) fn drive<M>(world: &mut World, watch: &mut Watch<M>) -> Result<bool, EngineError>
where
    M: Deref<Target = Monitor>,
{
    let is_going = steps(world, EVENTS_BETWEEN_LOOKS);
    watch.look(world)?;
    if let Some(error) = { world.capture.as_mut() }.and_then(|capture| capture.failure()) {
        return Err(error);
    }
    Ok(is_going)
}

/// Processes `count` events, fewer if packets arrive within their instants. Returns whether events are left.
fn steps(world: &mut World, count: u64) -> bool {
    let until = world.work() + count;
    while world.work() < until {
        if !world.step() {
            return false;
        }
    }
    true
}
