//! Runs a plan: advances time, delivers packets and compares sent packets.

mod application;
mod compare;
mod tcp_info;

use crate::clock::{instant, span};
use crate::endpoint::{Endpoint, MOST_SENT};
use crate::fast_open::CachedServer;
use crate::language::Place;
use crate::language::conditions::Statement;
use crate::language::script::{EcnMark, Icmp, TcpFlags, TcpOption, TcpPacket, When};
use crate::plan::host_settings::{HostSetting, HostSettings};
use crate::plan::{self, Plan, Step, StepAction};
use crate::segments::{SentPacket, shown};
use crate::verdict::{Difference, Failure, Verdict};
use application::Application;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use dumbbell_tcp::cca::bbr::FIRST_PHASES;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of timer expirations in a run; more than enough for a script of a day with a
/// timer each millisecond.
const MOST_TIMERS: u64 = 20_000_000;

/// packetdrill learns of a sent packet this long after its transmission, from the device's
/// timestamp. The next packet that it injects arrives that much later.
const HEARD_OF: Time = Time::from_ns(1_000);

/// Options for running scripts.
#[derive(Debug, Clone)]
pub struct Options {
    /// Profile of the host under test.
    pub profile: Profile,
    /// Whether an unexpected packet makes a script fail at once. packetdrill itself notices it when
    /// it compares the next expected packet, or never.
    pub is_exact: bool,
    /// Tolerance of packets as a percentage of the time since the previous event, unless the script
    /// sets it. It applies if it exceeds the script's fixed tolerance. 0: none.
    pub tolerance_percent: f64,
    /// Maximum number of segments in an sk_buff, until the script sets it.
    pub gso_max_segs: u32,
}

/// packetdrill's default.
const TOLERANCE_PERCENT: f64 = 12.5;

impl Default for Options {
    fn default() -> Options {
        Options {
            profile: Profile::Linux61,
            is_exact: false,
            tolerance_percent: TOLERANCE_PERCENT,
            gso_max_segs: 1,
        }
    }
}

/// Runs a plan. Linux draws BBR's first phase at random, so the script needs to pass with one phase
/// only.
pub fn run(plan: &Plan) -> Verdict {
    let (mut verdict, has_drawn) = run_with(plan, 0);
    if has_drawn {
        for first_phase in 1..FIRST_PHASES {
            let Verdict::Failed(failure) = &verdict else {
                break;
            };
            let (other, _) = run_with(plan, first_phase);
            let is_further = match &other {
                Verdict::Failed(of_other) => of_other.line > failure.line,
                _ => true,
            };
            if is_further {
                verdict = other;
            }
        }
    }
    verdict
}

/// The verdict with this first phase, and whether the phase was used.
fn run_with(plan: &Plan, first_phase: u64) -> (Verdict, bool) {
    let mut run = Run::new(plan, first_phase);
    let verdict = run.verdict();
    (verdict, run.connections.iter().any(Endpoint::has_drawn))
}

fn failed(place: Place, difference: Difference) -> Verdict {
    Verdict::Failed(Failure {
        line: place.line,
        column: place.column,
        difference,
    })
}

/// Sequence numbers of both SYNs in the script; all other numbers are relative to them.
#[derive(Debug, Clone, Copy, Default)]
struct FirstSequence {
    local: u64,
    remote: u64,
}

impl FirstSequence {
    /// The packet with the script's sequence numbers.
    fn in_script(self, packet: &TcpPacket) -> TcpPacket {
        let mut packet = packet.clone();
        if packet.flags.has(TcpFlags::SYN) {
            packet.seq += self.local;
            packet.ack = packet
                .ack
                .map(|ack| (ack + self.remote) & u64::from(u32::MAX));
        }
        packet
    }
}

/// Distance between two sequence numbers, modulo 2^32 (RFC 9293 section 3.4).
fn difference(seq: u64, from: u64) -> u64 {
    u64::from((seq as u32).wrapping_sub(from as u32))
}

/// A `tcp_info` field for assertions.
pub(crate) fn field(connection: &Endpoint, name: &str, now: Time) -> Option<f64> {
    tcp_info::value(Some(connection), name, now)
}

pub(crate) struct Run<'a> {
    plan: &'a Plan,
    first_phase: u64,
    host: HostSettings,
    application: Application,
    /// In the order of their start. Packets belong to the last one, as in packetdrill.
    connections: Vec<Endpoint>,
    /// Cached state of the other host, for the next connection.
    remembered: CachedServer,
    /// Sequence numbers of the SYNs in the script.
    first_sequence: FirstSequence,
    /// Number of ICMP messages about segments that were not in flight.
    icmp_out_of_window: u64,
    now: Time,
    /// Origin of relative times of the next event.
    last_event: Time,
    /// A packet has been sent, and none has arrived since.
    has_heard: bool,
    /// Difference between the timestamps of engine and script.
    timestamp_shift: Option<u32>,
    keeps_host_queue: bool,
    /// Variables that the script has assigned.
    own_values: BTreeMap<String, f64>,
    timers: u64,
    /// Position of a difference, if not in the current step.
    place: Option<Place>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, first_phase: u64) -> Run<'a> {
        Run {
            plan,
            first_phase,
            host: plan.host.clone(),
            application: Application::default(),
            connections: Vec::new(),
            remembered: CachedServer::default(),
            first_sequence: FirstSequence::default(),
            icmp_out_of_window: 0,
            now: instant(0),
            last_event: instant(0),
            has_heard: false,
            timestamp_shift: None,
            keeps_host_queue: false,
            own_values: BTreeMap::new(),
            timers: 0,
            place: None,
        }
    }

    fn verdict(&mut self) -> Verdict {
        for step in &self.plan.steps {
            if let Err(difference) = self.step(step) {
                return failed(self.place.unwrap_or(step.place), difference);
            }
            self.place = None;
        }
        let end = self
            .plan
            .steps
            .last()
            .map_or(Place::default(), |step| step.place);
        match self.finish() {
            Ok(()) => Verdict::Passed,
            Err(difference) => failed(self.place.unwrap_or(end), difference),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), Difference> {
        let arrives = matches!(
            &step.act,
            StepAction::Inject(..) | StepAction::InjectIcmp(_)
        );
        let base = match arrives && std::mem::take(&mut self.has_heard) {
            true => self.last_event + HEARD_OF,
            false => self.last_event,
        };
        let (from, to) = match step.when {
            When::At(at) => (instant(at), instant(at)),
            When::After(after) => (base + span(after), base + span(after)),
            When::AtBetween(first, last) => (instant(first), instant(last)),
            When::AfterBetween(first, last) => (base + span(first), base + span(last)),
            When::Any => (base, Time::NEVER),
        };
        if let StepAction::Expect(packet, mark) = &step.act {
            let since_last = from.saturating_sub(base);
            let at = self.expect(packet, *mark, (from, to), since_last)?;
            self.last_event = at.max(self.now);
            self.has_heard = true;
            return Ok(());
        }
        // Assertions apply to the current time, even if sent packets have not yet been compared.
        let is_idle = matches!(&step.act, StepAction::Assert(_)) && from <= self.now;
        if !is_idle {
            self.advance(from)?;
        }
        self.last_event = from;
        let returns = step.returns_us.map(|returns_us| match step.when {
            When::At(_) => instant(returns_us),
            _ => base + span(returns_us),
        });
        match &step.act {
            StepAction::Expect(..) => {}
            StepAction::Set(settings) => settings
                .iter()
                .try_for_each(|setting| self.set_host(setting))?,
            StepAction::Inject(packet, mark) => self.inject(packet, *mark),
            StepAction::InjectIcmp(icmp) => self.inject_icmp(*icmp),
            StepAction::Assert(statements) => self.assert(statements)?,
            StepAction::Call(call) => self.call(call, returns, step.place)?,
        }
        self.application_goes_on()
    }

    fn set_host(&mut self, setting: &HostSetting) -> Result<(), Difference> {
        self.host.set(setting);
        let now = self.now;
        match (setting, self.connections.last_mut()) {
            (HostSetting::HostQueueKeeps, connection) => {
                self.keeps_host_queue = true;
                if let Some(connection) = connection {
                    connection.keep_in_host_queue();
                }
            }
            (HostSetting::HostQueueLoses(pkts), connection) => {
                let has_left = connection.is_some_and(|one| one.leave_host_queue(*pkts, now));
                if !has_left {
                    return Err(Difference::Call {
                        name: "host-queue loses".into(),
                        expected: format!("{pkts} packets in the queue of the host"),
                        found: "fewer".into(),
                    });
                }
            }
            (HostSetting::ApplicationReads(on), Some(connection)) => {
                connection.set_reading(*on, now)
            }
            (HostSetting::ForgetMetrics | HostSetting::Defaults, _) => {
                self.remembered = CachedServer::default();
            }
            (HostSetting::RestartCounters, _) => self.icmp_out_of_window = 0,
            (HostSetting::ExpectIcmpOutOfWindow, _) if self.icmp_out_of_window == 0 => {
                return Err(Difference::Call {
                    name: "nstat".into(),
                    expected: "TcpExtOutOfWindowIcmps".into(),
                    found: "none".into(),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Delivers a packet, with its timestamps converted to the engine's.
    fn inject(&mut self, packet: &TcpPacket, mark: EcnMark) {
        let mut packet = packet.clone();
        if packet.flags.has(TcpFlags::SYN) {
            let begins = self.begin_if_listened_for(&packet, mark);
            self.first_sequence.remote = packet.seq;
            if begins {
                return;
            }
            packet.seq = 0;
            if let Some(ack) = &mut packet.ack {
                *ack = difference(*ack, self.first_sequence.local);
            }
        }
        let shift = self.timestamp_shift.unwrap_or(0);
        for option in packet.options.iter_mut().flatten() {
            if let TcpOption::Timestamps { echo, .. } = option
                && *echo != 0
            {
                *echo = echo.wrapping_add(shift);
            }
        }
        self.arrive(&packet, mark);
    }

    /// Delivers an ICMP message about a segment.
    fn inject_icmp(&mut self, icmp: Icmp) {
        let (now, is_accepted) = (self.now, self.application.has_accepted_last());
        if let Some(connection) = self.connections.last_mut()
            && !connection.on_icmp(icmp, is_accepted, now)
        {
            self.icmp_out_of_window += 1;
        }
    }

    fn sent(&mut self) -> Option<&mut VecDeque<SentPacket>> {
        self.connections
            .last_mut()
            .map(|connection| &mut connection.sent)
    }

    fn first_sent(&self) -> Option<&SentPacket> {
        self.connections.last().and_then(|one| one.sent.front())
    }

    fn unexpected(&self) -> Result<(), Difference> {
        match self.first_sent() {
            Some(sent) if self.plan.is_exact || self.has_too_much() => Err(Difference::Packet {
                expected: None,
                found: Some(shown(Some(sent.at), &sent.packet, Some(sent.ecn))),
            }),
            _ => Ok(()),
        }
    }

    fn has_too_much(&self) -> bool {
        let sent = self.connections.last().map_or(0, |one| one.sent.len());
        sent >= MOST_SENT
    }

    /// Runs the next timer, if one expires no later than `latest`, and then the application.
    /// Returns whether there was one.
    fn step_timer(&mut self, latest: Time) -> Result<bool, Difference> {
        let timers = self.connections.iter().map(Endpoint::next_timer);
        let timer = timers.min().unwrap_or(Time::NEVER);
        let timer = timer.min(self.application.deadline());
        if timer == Time::NEVER || timer > latest || self.timers == MOST_TIMERS {
            return Ok(false);
        }
        self.timers += 1;
        self.now = timer.max(self.now);
        let now = self.now;
        let last = self.connections.len().saturating_sub(1);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            if connection.next_timer() <= now {
                connection.on_timer(now);
            }
            if index < last {
                // Packets of earlier connections are not compared.
                connection.sent.clear();
            }
        }
        self.application_goes_on()?;
        Ok(true)
    }

    /// Advances time.
    fn advance(&mut self, to: Time) -> Result<(), Difference> {
        loop {
            self.unexpected()?;
            if !self.step_timer(to)? {
                break;
            }
        }
        self.now = to.max(self.now);
        self.check_waiting()
    }

    fn assert(&mut self, statements: &[Statement]) -> Result<(), Difference> {
        for statement in statements {
            let value_of = |name: &str| {
                let own = self.own_values.get(name).copied();
                own.or_else(|| tcp_info::value(self.connections.last(), name, self.now))
            };
            let value = statement.formula().value(&value_of).unwrap_or(f64::NAN);
            match statement {
                Statement::Assign(name, _) => {
                    self.own_values.insert(name.clone(), value);
                }
                Statement::Assert(condition) if value == 0.0 || !value.is_finite() => {
                    let names = condition.formula.names().into_iter();
                    let fields = names.filter(|name| plan::fields::constant(name).is_none());
                    let found = fields
                        .map(|name| (name.to_owned(), value_of(name).unwrap_or(f64::NAN)))
                        .collect();
                    return Err(Difference::Assertion {
                        expected: condition.source.clone(),
                        found,
                    });
                }
                Statement::Assert(_) => {}
            }
        }
        Ok(())
    }

    /// At the end no packet may be unexpected and no call blocked.
    fn finish(&mut self) -> Result<(), Difference> {
        if let Some(until) = self.application.waits_until() {
            self.advance(until.saturating_add(span(1)))?;
        }
        self.unexpected()
    }
}
