//! Flows whose window or rate is set by the caller between intervals, for learning agents.
//!
//! The run advances to the end of a monitor interval. The measurements of the interval come from the sender's
//! counters and from sums over round-trip times; then the caller sets a window or a rate for the next
//! interval. There is no call per packet.

use super::{IncrementalRun, Monitor, RunOutput};
use crate::cca::external::{Event, EventContext, ExternalCode, Module, ModuleLoader, Traits};
use crate::cca::{Ack, Window};
use crate::error::EngineError;
use crate::sim::time::Time;
use crate::spec::source::Source;
use crate::spec::tcp::Controller;
use crate::spec::{Experiment, SpecError};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest window, as for the manual controller.
pub const LARGEST_CWND_PKTS: u32 = 100_000;
/// Highest pacing rate, that of the fastest link, bytes per second.
pub const FASTEST_BYTES_PER_S: u64 = 500_000_000_000;

/// Placeholder for the SHA-256 of an agent's source, which has none.
const NO_SHA256: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// The controller name of an agent's flow in the engine's own descriptions, and the parameter that holds its
/// index.
const AGENT: &str = "agent";
const FLOW: &str = "flow";
/// Words of controller state of a connection: packets of its handshake, which count as delivered and not as
/// sent; the number of the interval; and the sums of [`RttSums`].
const STATE_WORDS: usize = 7;
/// Window of a paced agent, in multiples of rate times smoothed round-trip time (as BBR's cwnd_gain,
/// draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.2).
const WINDOWS_OF_A_RATE: f64 = 2.0;
/// Smallest window of a paced agent, packets (same section).
const LEAST_WINDOW_PKTS: u32 = 4;
/// Pacing rate as a percentage of window per round-trip time (`tcp_pacing_ca_ratio`).
const PACING_PERCENT: u128 = 120;
const NS_PER_S: f64 = 1e9;

/// What an agent controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The congestion window.
    Window,
    /// The pacing rate; the window is twice the rate times the smoothed round-trip time.
    Rate,
}

/// Measurements of a flow from one call of [`AgentRun::interval`] to the next.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// Duration in virtual time.
    pub duration_ns: u64,
    /// Packets sent, retransmissions included.
    pub sent_pkts: u64,
    /// Packets delivered, according to acknowledgements.
    pub delivered_pkts: u64,
    /// Packets considered lost.
    pub lost_pkts: u64,
    /// Mean of the measured round-trip times; None without a measurement.
    pub mean_rtt_ns: Option<f64>,
    /// Slope of the least-squares line through them over time; None with fewer than two.
    pub rtt_gradient: Option<f64>,
    /// Smoothed round-trip time (RFC 6298 section 2); None before the first.
    pub srtt_ns: Option<u64>,
    /// Minimum round-trip time of the last five minutes.
    pub min_rtt_ns: Option<u64>,
    /// Packets in flight.
    pub in_flight_pkts: u32,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Pacing rate.
    pub pacing_rate_bytes_per_s: u64,
    /// Largest payload of a packet.
    pub mss_bytes: u32,
}

/// Sums for the mean and the least-squares line of the round-trip times of an interval.
#[derive(Debug, Clone, Copy, Default)]
struct RttSums {
    count: f64,
    t: f64,
    tt: f64,
    rtt: f64,
    t_rtt: f64,
}

impl RttSums {
    fn of(words: &[u64]) -> RttSums {
        let at = |place: usize| f64::from_bits(words[place]);
        RttSums {
            count: at(0),
            t: at(1),
            tt: at(2),
            rtt: at(3),
            t_rtt: at(4),
        }
    }

    fn words(&self) -> [u64; 5] {
        [self.count, self.t, self.tt, self.rtt, self.t_rtt].map(f64::to_bits)
    }

    /// Adds a round-trip time, at a time since the start of the interval.
    fn add(&mut self, t_ns: f64, rtt_ns: f64) {
        self.count += 1.0;
        self.t += t_ns;
        self.tt += t_ns * t_ns;
        self.rtt += rtt_ns;
        self.t_rtt += t_ns * rtt_ns;
    }

    fn mean_ns(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.rtt / self.count)
    }

    fn slope(&self) -> Option<f64> {
        let spread = self.count * self.tt - self.t * self.t;
        (spread > 0.0).then(|| (self.count * self.t_rtt - self.t * self.rtt) / spread)
    }
}

/// Totals over a flow's connections.
#[derive(Debug, Clone, Copy, Default)]
struct ConnectionTotals {
    delivered_pkts: u64,
    lost_pkts: u64,
}

/// State shared by an agent and its flow.
///
/// Debug builds pass each event to a copy of the connection too and compare the two. So an event must not add
/// to state here that a second call would count again: totals are those of the connection, and sums are in
/// its words of state.
#[derive(Debug, Default)]
struct AgentState {
    cwnd_pkts: Option<u32>,
    pacing_rate_bytes_per_s: Option<u64>,
    /// Number of the interval, from 0, and its start.
    interval: u64,
    began: Time,
    /// Totals of closed connections and of the present one.
    gone: ConnectionTotals,
    present: ConnectionTotals,
    rtts: RttSums,
    seen: Interval,
}

impl AgentState {
    fn count(&mut self, delivered_pkts: u64, lost_pkts: u64, state: &[u64]) {
        self.present = ConnectionTotals {
            delivered_pkts: delivered_pkts - state[0],
            lost_pkts,
        };
    }

    fn connected(&mut self) {
        let present = std::mem::take(&mut self.present);
        self.gone.delivered_pkts += present.delivered_pkts;
        self.gone.lost_pkts += present.lost_pkts;
    }

    fn acknowledged(&mut self, ack: &Ack, state: &mut [u64]) {
        self.count(ack.delivered_pkts, ack.lost_pkts, state);
        if state[1] != self.interval {
            state[1] = self.interval;
            state[2..].fill(0);
        }
        if let Some(rtt) = ack.rtt {
            let mut sums = RttSums::of(&state[2..]);
            let since = ack.now.saturating_sub(self.began);
            sums.add(since.as_ns() as f64, rtt.as_ns() as f64);
            state[2..].copy_from_slice(&sums.words());
            self.rtts = sums;
        }
        self.seen.srtt_ns = ack.srtt.map(Time::as_ns);
        self.seen.min_rtt_ns = ack.min_rtt.map(Time::as_ns);
    }

    /// Sets the window to the current setting.
    fn hold(&mut self, window: &mut Window, control: Control) {
        match control {
            Control::Window => {
                let cwnd_pkts = *self.cwnd_pkts.get_or_insert(window.cwnd_pkts);
                window.set_cwnd(cwnd_pkts);
            }
            Control::Rate => self.hold_rate(window),
        }
        self.seen.cwnd_pkts = window.cwnd_pkts;
        self.seen.pacing_rate_bytes_per_s = window.pacing_rate_bytes_per_s;
        self.seen.mss_bytes = window.mss_bytes;
    }

    fn hold_rate(&mut self, window: &mut Window) {
        let Some(srtt_ns) = self.seen.srtt_ns.filter(|srtt_ns| *srtt_ns > 0) else {
            return;
        };
        let round_trip_s = srtt_ns as f64 / NS_PER_S;
        let mss_bytes = f64::from(window.mss_bytes);
        // Before the first setting: the initial window per round-trip time.
        let first = f64::from(window.cwnd_pkts) * mss_bytes / round_trip_s;
        let rate = *self.pacing_rate_bytes_per_s.get_or_insert(first as u64);
        window.pacing_rate_bytes_per_s = rate;
        let pkts = WINDOWS_OF_A_RATE * rate as f64 * round_trip_s / mss_bytes;
        window.set_cwnd((pkts as u32).clamp(LEAST_WINDOW_PKTS, LARGEST_CWND_PKTS));
    }

    /// Sets the pacing rate from the window, as for every controller (`tcp_update_pacing_rate`).
    fn pace(&mut self, window: &mut Window) {
        if let Some(srtt_ns) = self.seen.srtt_ns.filter(|srtt_ns| *srtt_ns > 0) {
            let window_bytes = u128::from(window.cwnd_pkts) * u128::from(window.mss_bytes);
            let rate = window_bytes * PACING_PERCENT * NS_PER_S as u128 / 100 / u128::from(srtt_ns);
            window.pacing_rate_bytes_per_s = u64::try_from(rate).unwrap_or(u64::MAX);
            self.seen.pacing_rate_bytes_per_s = window.pacing_rate_bytes_per_s;
        }
    }
}

fn locked(shared: &Mutex<AgentState>) -> MutexGuard<'_, AgentState> {
    // After a panic under the lock the numbers belong to a failed run.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The controller of an agent's flow.
#[derive(Debug)]
struct AgentCode {
    shared: Arc<Mutex<AgentState>>,
    control: Control,
}

impl ExternalCode for AgentCode {
    fn traits(&self) -> Traits {
        Traits {
            state_words: STATE_WORDS,
            owns_recovery: true,
            wants_pacing: self.control == Control::Rate,
            send_buffer_windows: 2,
            sees_sender: false,
            needs_ecn: false,
        }
    }

    fn on(
        &self,
        event: Event<'_>,
        state: &mut [u64],
        window: &mut Window,
        _asked: &mut EventContext,
    ) -> bool {
        let mut shared = locked(&self.shared);
        match event {
            Event::Ack(ack) => shared.acknowledged(ack, state),
            Event::Init(snapshot) => {
                shared.connected();
                state[0] = snapshot.delivered_pkts;
                shared.count(snapshot.delivered_pkts, snapshot.lost_pkts, state);
                shared.seen.srtt_ns = snapshot.srtt.map(Time::as_ns);
                shared.seen.min_rtt_ns = snapshot.min_rtt.map(Time::as_ns);
            }
            // As with every controller, one packet is sent first after a timeout; its acknowledgement
            // restores the window.
            Event::EnterLoss(snapshot) => {
                shared.count(snapshot.delivered_pkts, snapshot.lost_pkts, state);
                return true;
            }
            Event::Loss(snapshot)
            | Event::Rto(snapshot)
            | Event::Ecn(snapshot)
            | Event::ExitRecovery(snapshot)
            | Event::TransmitStart(_, snapshot)
            | Event::IdleRestart(snapshot) => {
                shared.count(snapshot.delivered_pkts, snapshot.lost_pkts, state);
            }
            Event::Undo => {}
            Event::Rtt(_) | Event::State(_) | Event::AckBegins(_) | Event::Acked(_) => return true,
        }
        shared.hold(window, self.control);
        if self.control == Control::Window && matches!(event, Event::Ack(_)) {
            shared.pace(window);
        }
        true
    }

    fn limits_itself(&self, _state: &[u64]) -> bool {
        false
    }

    fn least_burst_pkts(&self, _state: &[u64], _window: &Window) -> Option<u32> {
        None
    }
}

/// Resolves agents by the index of their flow, and other modules that runs may name.
struct WithAgents<'a> {
    agents: &'a [Agent],
    control: Control,
    others: &'a dyn ModuleLoader,
}

impl ModuleLoader for WithAgents<'_> {
    fn load(&self, described: &Controller) -> Result<Module, String> {
        if described.sha256 != NO_SHA256 {
            return self.others.load(described);
        }
        let flow = described.parameters.get(FLOW);
        let is_of = |agent: &&Agent| flow == Some(&(agent.flow as i64));
        let agent = self.agents.iter().find(is_of);
        let agent = agent.ok_or("the flow of an agent")?;
        Ok(Module(Arc::new(AgentCode {
            shared: Arc::clone(&agent.shared),
            control: self.control,
        })))
    }
}

/// A flow whose window or rate is set by the caller.
#[derive(Debug)]
struct Agent {
    flow: usize,
    shared: Arc<Mutex<AgentState>>,
    /// Packets sent up to the end of the last interval.
    sent_pkts: u64,
    counted: ConnectionTotals,
}

/// A run in which the caller sets the windows or rates of some flows.
#[derive(Debug)]
pub struct AgentRun<M> {
    run: IncrementalRun<M>,
    agents: Vec<Agent>,
    /// End of the time that the run was allowed to advance to.
    until_ns: u64,
}

impl<M: Deref<Target = Monitor>> AgentRun<M> {
    /// Starts one replication of a checked description in which the controllers of some flows are replaced.
    ///
    /// # Arguments
    /// `flows` are indices of TCP flows in the description, each with one connection at a time; an agent is
    /// identified by its index in this list.
    ///
    /// # Errors
    /// The errors of [`IncrementalRun::with_modules`], or a flow cannot have an agent.
    pub fn new(
        experiment: &Experiment,
        replication: u64,
        monitor: M,
        modules: &dyn ModuleLoader,
        flows: &[usize],
        control: Control,
    ) -> Result<Self, EngineError> {
        let mut described = experiment.clone();
        let mut agents: Vec<Agent> = Vec::new();
        for &place in flows {
            let path = format!("flows[{place}]");
            if agents.iter().any(|agent| agent.flow == place) {
                return Err(SpecError::new(path, "named twice", "one agent for a flow").into());
            }
            let flow = described.flows.get_mut(place);
            let flow = flow.ok_or_else(|| {
                let allowed = format!("one of {} flows", experiment.flows.len());
                SpecError::new(path.clone(), place, allowed)
            })?;
            if matches!(flow.source, Source::Arrivals(_)) {
                let allowed = "a source with one connection at a time, for an agent";
                return Err(SpecError::new(format!("{path}.source"), "arrivals", allowed).into());
            }
            let tcp = flow.tcp.as_mut().ok_or_else(|| {
                SpecError::new(
                    format!("{path}.tcp"),
                    "none",
                    "a flow over TCP, for an agent",
                )
            })?;
            tcp.congestion_control = format!("class:{AGENT}");
            tcp.cwnd_changes = Vec::new();
            tcp.controller = Some(Controller {
                sha256: NO_SHA256.to_owned(),
                class_name: Some(AGENT.to_owned()),
                parameters: BTreeMap::from([(FLOW.to_owned(), place as i64)]),
            });
            agents.push(Agent {
                flow: place,
                shared: Arc::default(),
                sent_pkts: 0,
                counted: ConnectionTotals::default(),
            });
        }
        let modules = WithAgents {
            agents: &agents,
            control,
            others: modules,
        };
        let run = IncrementalRun::with_modules(&described, replication, monitor, &modules)?;
        Ok(AgentRun {
            run,
            agents,
            until_ns: 0,
        })
    }

    /// Advances to an instant; see [`IncrementalRun::advance_through`].
    ///
    /// # Errors
    /// The errors of that function.
    pub fn advance_through(&mut self, until_ns: u64, events: u64) -> Result<bool, EngineError> {
        self.until_ns = self.until_ns.max(until_ns);
        self.run.advance_through(until_ns, events)
    }

    /// Whether the run has no events left.
    pub fn is_at_end(&self) -> bool {
        self.run.is_at_end()
    }

    /// Whether an agent's flow has made its first connection.
    ///
    /// # Panics
    /// If there is no such agent; the same for the methods below.
    pub fn has_begun(&self, agent: usize) -> bool {
        locked(&self.agents[agent].shared).seen.srtt_ns.is_some()
    }

    /// Whether an agent's flow has nothing more to send and all of it has arrived.
    pub fn is_over(&self, agent: usize) -> bool {
        self.run.is_flow_over(self.agents[agent].flow)
    }

    /// Sets the window of an agent's flow from its next acknowledgement on; 1 to [`LARGEST_CWND_PKTS`].
    pub fn set_cwnd(&mut self, agent: usize, cwnd_pkts: u32) {
        let cwnd_pkts = cwnd_pkts.clamp(1, LARGEST_CWND_PKTS);
        locked(&self.agents[agent].shared).cwnd_pkts = Some(cwnd_pkts);
    }

    /// Sets the pacing rate of an agent's flow from its next acknowledgement on; 1 to
    /// [`FASTEST_BYTES_PER_S`].
    pub fn set_pacing_rate(&mut self, agent: usize, bytes_per_s: u64) {
        let bytes_per_s = bytes_per_s.clamp(1, FASTEST_BYTES_PER_S);
        locked(&self.agents[agent].shared).pacing_rate_bytes_per_s = Some(bytes_per_s);
    }

    /// Measurements of an agent's flow since the last call, or since the start.
    pub fn interval(&mut self, agent: usize) -> Interval {
        let agent = &mut self.agents[agent];
        let sent = self.run.flow_sent(agent.flow);
        let mut shared = locked(&agent.shared);
        let now = Time::from_ns(self.until_ns);
        let totals = ConnectionTotals {
            delivered_pkts: shared.gone.delivered_pkts + shared.present.delivered_pkts,
            lost_pkts: shared.gone.lost_pkts + shared.present.lost_pkts,
        };
        let rtts = std::mem::take(&mut shared.rtts);
        let before = agent.counted;
        let found = Interval {
            duration_ns: now.saturating_sub(shared.began).as_ns(),
            sent_pkts: sent.sent_pkts - agent.sent_pkts,
            delivered_pkts: totals.delivered_pkts - before.delivered_pkts,
            lost_pkts: totals.lost_pkts - before.lost_pkts,
            in_flight_pkts: sent.in_flight_pkts,
            mean_rtt_ns: rtts.mean_ns(),
            rtt_gradient: rtts.slope(),
            ..shared.seen
        };
        (agent.sent_pkts, agent.counted) = (sent.sent_pkts, totals);
        shared.interval += 1;
        shared.began = now;
        found
    }

    /// Advances by some events; see [`IncrementalRun::advance`].
    ///
    /// # Errors
    /// The errors of that function.
    pub fn advance(&mut self, events: u64) -> Result<bool, EngineError> {
        self.run.advance(events)
    }

    /// The tables of a run that has ended.
    ///
    /// # Errors
    /// The errors of [`IncrementalRun::finish`].
    pub fn finish(self) -> Result<RunOutput, EngineError> {
        self.run.finish()
    }
}
