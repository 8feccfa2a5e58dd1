//! Controllers whose code is not part of this crate: modules loaded by the caller.
//!
//! Loading, and any unsafe code, is the caller's responsibility. Here a module is a safe trait with three
//! inputs: an event, the state of the connection as words that only the module interprets, and the window
//! shared with the sender. Because the state is plain words, a connection can be copied and compared.

use super::{Ack, CaState, Controller, Options, RttSample, Snapshot, Window};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::{Controller as Described, Profile};
use std::fmt;
use std::sync::Arc;

/// Placeholder for a missing time.
pub const NO_TIME_NS: u64 = u64::MAX;

/// The state of the sender, for code that reads its fields as a kernel controller reads those of `struct
/// tcp_sock`. Same layout as `struct dumbbell_cc_sender` of `dumbbell_cc.h`, which documents the fields.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
#[allow(missing_docs, reason = "the header has their documentation")]
pub struct SenderView {
    pub now_ns: u64,
    pub una_bytes: u64,
    pub next_bytes: u64,
    pub delivered_pkts: u64,
    pub delivered_echoed_pkts: u64,
    pub delivered_time_ns: u64,
    pub lost_pkts: u64,
    pub earliest_departure_ns: u64,
    pub last_sent_ns: u64,
    pub srtt_8us: u32,
    pub mdev_4us: u32,
    pub min_rtt_us: u32,
    pub packets_out: u32,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    pub most_packets_out: u32,
    pub echo_ms: u32,
    pub peer_ms: u32,
    pub state: u32,
    pub is_window_used: bool,
    pub is_app_limited: bool,
    pub has_ecn: bool,
}

/// Packets acknowledged cumulatively by an acknowledgement (`struct ack_sample`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Acked {
    /// Round-trip time that it measured; [`NO_TIME_NS`] for none.
    pub rtt_ns: u64,
    /// Number of packets.
    pub acked_pkts: u32,
    /// Packets delivered since the newest of them was sent.
    pub delivered_since_pkts: u32,
}

/// Properties of an acknowledgement (`enum tcp_ca_ack_event_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckBegins {
    /// Header prediction failed.
    pub is_unexpected: bool,
    /// The window may have changed.
    pub window_updated: bool,
    /// It echoes a congestion mark.
    pub is_echo: bool,
}

/// An event; each corresponds to a method of [`Controller`], which documents it.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// [`Controller::init`].
    Init(&'a Snapshot),
    /// [`Controller::on_rtt`].
    Rtt(&'a RttSample),
    /// [`Controller::on_ack`].
    Ack(&'a Ack),
    /// [`Controller::on_loss`].
    Loss(&'a Snapshot),
    /// [`Controller::on_rto`].
    Rto(&'a Snapshot),
    /// [`Controller::on_enter_loss`].
    EnterLoss(&'a Snapshot),
    /// [`Controller::on_ecn`].
    Ecn(&'a Snapshot),
    /// [`Controller::on_exit_recovery`].
    ExitRecovery(&'a Snapshot),
    /// [`Controller::on_undo`].
    Undo,
    /// [`Controller::on_transmit_start`].
    TransmitStart(Option<Time>, &'a Snapshot),
    /// [`Controller::on_idle_restart`].
    IdleRestart(&'a Snapshot),
    /// The recovery state is about to change.
    State(CaState),
    /// The scoreboard is updated for an acknowledgement.
    Acked(&'a Acked),
    /// An acknowledgement has arrived, with or without packets outstanding; after [`Event::Acked`], before
    /// losses are detected.
    AckBegins(AckBegins),
}

/// Static properties of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// Number of state words of a connection; initially zero.
    pub state_words: usize,
    /// See [`Controller::owns_recovery`].
    pub owns_recovery: bool,
    /// See [`Controller::wants_pacing`].
    pub wants_pacing: bool,
    /// See [`Controller::send_buffer_windows`].
    pub send_buffer_windows: u32,
    /// Whether it reads the sender's state before each event, and receives the events [`Event::State`],
    /// [`Event::AckBegins`] and [`Event::Acked`].
    pub sees_sender: bool,
    /// Whether its connections use ECN, with a receiver that echoes each mark.
    pub needs_ecn: bool,
}

/// Inputs of a module besides the event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventContext {
    /// See [`Options::profile`].
    pub profile: Profile,
    /// See [`Options::hystart`].
    pub hystart: bool,
    /// See [`Options::is_paced`].
    pub is_paced: bool,
    /// See [`Options::timer_hz`].
    pub timer_hz: u32,
    /// See [`Options::stream`].
    pub stream: Stream,
    /// The sender's state, if the module reads it.
    pub sender: SenderView,
    /// Requests of the module.
    pub requests: Requests,
}

/// Requests that a module may make during an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    /// Reduce the window as after a congestion mark (`tcp_enter_cwr`).
    pub reduction: bool,
    /// Treat packets sent now as application-limited (`tp->app_limited`).
    pub limited: bool,
}

/// The interface implemented by a module.
pub trait ExternalCode: fmt::Debug + Send + Sync {
    /// Its static properties.
    fn traits(&self) -> Traits;

    /// A module for one connection, which may keep state outside of the words; None if the words are all. It
    /// is not copied with the connection: debug builds, which copy a connection to compare it, pass the same
    /// events to both.
    fn of_connection(&self) -> Option<Module> {
        None
    }

    /// Processes some events of a run. A module whose events need a lock may hold it for all of them.
    fn run_locked(&self, events: &mut dyn FnMut()) {
        events();
    }

    /// The reason why it failed, after which the run must end; None while it works.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Processes an event. Returns whether the module handles this kind of event; if not, nothing has
    /// changed.
    fn on(
        &self,
        event: Event<'_>,
        state: &mut [u64],
        window: &mut Window,
        asked: &mut EventContext,
    ) -> bool;

    /// See [`Controller::limits_itself`].
    fn limits_itself(&self, state: &[u64]) -> bool;

    /// See [`Controller::least_burst_pkts`].
    fn least_burst_pkts(&self, state: &[u64], window: &Window) -> Option<u32>;
}

/// A module shared by the connections of one run with the same parameters.
#[derive(Debug, Clone)]
pub struct Module(pub Arc<dyn ExternalCode>);

impl PartialEq for Module {
    /// Identity, not equality of code: modules may have different private state.
    fn eq(&self, other: &Module) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Loads modules.
pub trait ModuleLoader: Send + Sync {
    /// A new module with the described code, which shares no state with others.
    ///
    /// # Errors
    /// There is no such module; the text says what is allowed instead.
    fn load(&self, described: &Described) -> Result<Module, String>;
}

/// Loads no modules.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoModules;

impl ModuleLoader for NoModules {
    fn load(&self, _described: &Described) -> Result<Module, String> {
        Err("a controller of the simulator: no other is loaded here".to_owned())
    }
}

/// The controller of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalController {
    module: Module,
    traits: Traits,
    state: Vec<u64>,
    asked: EventContext,
    /// Initial value of the peer's timestamps: random, as in RFC 7323 section 5.4 and Linux (`tp->tsoffset`).
    /// Segments carry timestamps from 0 on, because nothing else in the simulator depends on it; Linux's
    /// `tcp_lp` compares them with its own clock.
    peer_begins_ms: u32,
}

impl ExternalController {
    fn on(&mut self, window: &mut Window, event: Event<'_>) -> bool {
        let code = &self.module.0;
        let heeds = code.on(event, &mut self.state, window, &mut self.asked);
        // Enforces the invariants on which the sender relies.
        window.cwnd_clamp_pkts = window.cwnd_clamp_pkts.max(1);
        window.ssthresh_pkts = window.ssthresh_pkts.max(1);
        window.set_cwnd(window.cwnd_pkts);
        heeds
    }

    /// Whether it reads the sender's state before each event.
    #[inline]
    pub fn sees_sender(&self) -> bool {
        self.traits.sees_sender
    }

    /// Sets the sender's state. Clears earlier requests.
    pub fn see(&mut self, sender: SenderView) {
        let echoed = self.asked.sender.delivered_echoed_pkts;
        self.asked.sender = sender;
        self.asked.sender.delivered_echoed_pkts = echoed;
        if sender.peer_ms != 0 {
            self.asked.sender.peer_ms = sender.peer_ms.wrapping_add(self.peer_begins_ms);
        }
        self.asked.requests = Requests::default();
    }

    /// Packets were delivered by an acknowledgement that echoes a mark (`tp->delivered_ce`).
    pub fn count_echoed(&mut self, pkts: u32) {
        self.asked.sender.delivered_echoed_pkts += u64::from(pkts);
    }

    /// Passes an event that only controllers which read the sender's state receive.
    pub fn tell(&mut self, window: &mut Window, event: Event<'_>) {
        self.on(window, event);
    }

    /// Whether it has requested a reduction of the window.
    pub fn requests_reduction(&self) -> bool {
        self.asked.requests.reduction
    }
}

impl Controller for ExternalController {
    /// Known only after loading; before that, estimates assume pacing.
    const WANTS_PACING: bool = true;

    fn new(options: &Options, _now: Time) -> ExternalController {
        let module = options.module.clone().expect("it was loaded before");
        let module = module.0.of_connection().unwrap_or(module);
        let traits = module.0.traits();
        ExternalController {
            module,
            traits,
            state: vec![0; traits.state_words],
            asked: EventContext {
                profile: options.profile,
                hystart: options.hystart,
                is_paced: options.is_paced,
                timer_hz: options.timer_hz,
                stream: options.stream.clone(),
                sender: SenderView::default(),
                requests: Requests::default(),
            },
            // From a copy of the stream, so that the controller's own draws equal those of other controllers.
            peer_begins_ms: options.stream.clone().next_u64() as u32,
        }
    }

    fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on(window, Event::Init(snapshot));
    }

    fn on_rtt(&mut self, window: &mut Window, sample: &RttSample) {
        self.on(window, Event::Rtt(sample));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.on(window, Event::Ack(ack));
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on(window, Event::Loss(snapshot));
    }

    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        if !self.on(window, Event::Rto(snapshot)) {
            self.on_loss(window, snapshot);
        }
    }

    fn on_enter_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on(window, Event::EnterLoss(snapshot));
    }

    fn on_ecn(&mut self, window: &mut Window, snapshot: &Snapshot) {
        if !self.on(window, Event::Ecn(snapshot)) {
            self.on_loss(window, snapshot);
        }
    }

    fn on_exit_recovery(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on(window, Event::ExitRecovery(snapshot));
    }

    fn on_undo(&mut self, window: &mut Window) {
        if !self.on(window, Event::Undo) {
            window.set_cwnd(window.cwnd_pkts.max(window.prior_cwnd_pkts));
        }
    }

    fn on_transmit_start(
        &mut self,
        window: &mut Window,
        last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        self.on(window, Event::TransmitStart(last_sent, snapshot));
    }

    fn on_idle_restart(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on(window, Event::IdleRestart(snapshot));
    }

    fn owns_recovery(&self) -> bool {
        self.traits.owns_recovery
    }

    fn wants_pacing(&self) -> bool {
        self.traits.wants_pacing
    }

    fn limits_itself(&self) -> bool {
        self.asked.requests.limited || self.module.0.limits_itself(&self.state)
    }

    fn send_buffer_windows(&self) -> u32 {
        self.traits.send_buffer_windows
    }

    fn least_burst_pkts(&self, window: &Window) -> Option<u32> {
        self.module.0.least_burst_pkts(&self.state, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{fresh_window, options};
    use std::sync::Mutex;

    /// Writes down what it is shown of the other end's timestamps, and what it draws.
    #[derive(Debug, Default)]
    struct EventRecorder(Mutex<Vec<(u32, u64)>>);

    impl ExternalCode for EventRecorder {
        fn traits(&self) -> Traits {
            Traits {
                state_words: 0,
                owns_recovery: false,
                wants_pacing: false,
                send_buffer_windows: 2,
                sees_sender: true,
                needs_ecn: false,
            }
        }

        fn on(
            &self,
            _event: Event<'_>,
            _state: &mut [u64],
            _window: &mut Window,
            asked: &mut EventContext,
        ) -> bool {
            let seen = (asked.sender.peer_ms, asked.stream.next_u64());
            self.0.lock().unwrap().push(seen);
            true
        }

        fn limits_itself(&self, _state: &[u64]) -> bool {
            false
        }

        fn least_burst_pkts(&self, _state: &[u64], _window: &Window) -> Option<u32> {
            None
        }
    }

    /// Shown these timestamps by a connection of that name.
    fn seen(connection: &str, peer_ms: &[u32]) -> Vec<(u32, u64)> {
        let code = Arc::new(EventRecorder::default());
        let mut options = options(Profile::Linux61);
        options.stream = Stream::new(1, 0, connection);
        options.module = Some(Module(code.clone()));
        let mut outside = ExternalController::new(&options, Time::ZERO);
        for &peer_ms in peer_ms {
            outside.see(SenderView {
                peer_ms,
                ..SenderView::default()
            });
            outside.tell(&mut fresh_window(10), Event::State(CaState::Open));
        }
        let seen = code.0.lock().unwrap();
        seen.clone()
    }

    #[test]
    fn timestamps_of_the_other_end_begin_at_a_random_number_of_the_connection() {
        let begins = |connection: &str| {
            let shown: Vec<u32> = seen(connection, &[0, 7, 12])
                .iter()
                .map(|seen| seen.0)
                .collect();
            assert_eq!(shown[0], 0, "none is none");
            assert_eq!(shown[2].wrapping_sub(shown[1]), 5);
            shown[1].wrapping_sub(7)
        };
        assert_ne!(begins("flow/a/connection/1"), begins("flow/a/connection/2"));
        assert_eq!(begins("flow/a/connection/1"), begins("flow/a/connection/1"));
        // Spread over the whole range, as Linux's are.
        let many: Vec<u32> = (0..64)
            .map(|each| begins(&format!("flow/a/connection/{each}")))
            .collect();
        for eighth in 0..8 {
            assert!(many.iter().any(|begins| begins >> 29 == eighth), "{eighth}");
        }
    }

    #[test]
    fn what_the_controller_draws_is_as_without() {
        let mut own = Stream::new(1, 0, "flow/a/connection/1");
        let drawn: Vec<u64> = seen("flow/a/connection/1", &[1, 2])
            .iter()
            .map(|seen| seen.1)
            .collect();
        assert_eq!(drawn, [own.next_u64(), own.next_u64()]);
    }
}
