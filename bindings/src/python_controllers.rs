//! Controllers in Python: one call for each event that a class handles. Argument objects are created once per
//! connection.

use dumbbell_engine::cca::external::{Event, EventContext, ExternalCode, Module, Traits};
use dumbbell_engine::cca::{self, CaState};
use dumbbell_engine::sim::random::Stream;
use dumbbell_engine::sim::time::Time;
use dumbbell_engine::spec::tcp::Profile;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Characters of a traceback that are kept, from its end.
const LONGEST_TRACEBACK: usize = 8000;

fn ns(time: Option<Time>) -> Option<u64> {
    time.map(Time::as_ns)
}

/// The window shared by a controller and its sender.
#[pyclass(module = "dumbbell._engine", name = "Window")]
struct WindowView(cca::Window);

#[pymethods]
impl WindowView {
    #[getter]
    fn cwnd_pkts(&self) -> u32 {
        self.0.cwnd_pkts
    }

    #[setter]
    fn set_cwnd_pkts(&mut self, pkts: u32) {
        self.0.cwnd_pkts = pkts;
    }

    #[getter]
    fn ssthresh_pkts(&self) -> u32 {
        self.0.ssthresh_pkts
    }

    #[setter]
    fn set_ssthresh_pkts(&mut self, pkts: u32) {
        self.0.ssthresh_pkts = pkts;
    }

    #[getter]
    fn cwnd_clamp_pkts(&self) -> u32 {
        self.0.cwnd_clamp_pkts
    }

    #[setter]
    fn set_cwnd_clamp_pkts(&mut self, pkts: u32) {
        self.0.cwnd_clamp_pkts = pkts;
    }

    #[getter]
    fn acked_since_growth_pkts(&self) -> u32 {
        self.0.acked_since_growth_pkts
    }

    #[setter]
    fn set_acked_since_growth_pkts(&mut self, pkts: u32) {
        self.0.acked_since_growth_pkts = pkts;
    }

    #[getter]
    fn prior_cwnd_pkts(&self) -> u32 {
        self.0.prior_cwnd_pkts
    }

    #[setter]
    fn set_prior_cwnd_pkts(&mut self, pkts: u32) {
        self.0.prior_cwnd_pkts = pkts;
    }

    #[getter]
    fn pacing_rate_bytes_per_s(&self) -> u64 {
        self.0.pacing_rate_bytes_per_s
    }

    #[setter]
    fn set_pacing_rate_bytes_per_s(&mut self, bytes_per_s: u64) {
        self.0.pacing_rate_bytes_per_s = bytes_per_s;
    }

    #[getter]
    fn mss_bytes(&self) -> u32 {
        self.0.mss_bytes
    }

    #[getter]
    fn is_in_slow_start(&self) -> bool {
        self.0.is_in_slow_start()
    }

    #[pyo3(signature = (acked_pkts, /))]
    fn slow_start(&mut self, acked_pkts: u32) -> u32 {
        self.0.slow_start(acked_pkts)
    }

    #[pyo3(signature = (per_pkts, acked_pkts, /))]
    fn grow_by_one_per(&mut self, per_pkts: u32, acked_pkts: u32) {
        // The sum of two counts that Python may set.
        self.0.acked_since_growth_pkts = { self.0.acked_since_growth_pkts }.min(u32::MAX / 2);
        self.0.cwnd_pkts = self.0.cwnd_pkts.min(u32::MAX / 2);
        self.0
            .grow_by_one_per(per_pkts, acked_pkts.min(u32::MAX / 2));
    }
}

/// The sender's loss recovery state.
#[pyclass(frozen, eq, eq_int, hash, module = "dumbbell._engine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::upper_case_acronyms, reason = "constants of a Python enum")]
enum SenderState {
    OPEN,
    DISORDER,
    CWR,
    RECOVERY,
    LOSS,
}

impl From<CaState> for SenderState {
    fn from(state: CaState) -> SenderState {
        match state {
            CaState::Open => SenderState::OPEN,
            CaState::Disorder => SenderState::DISORDER,
            CaState::Cwr => SenderState::CWR,
            CaState::Recovery => SenderState::RECOVERY,
            CaState::Loss => SenderState::LOSS,
        }
    }
}

/// Declares a class with read-only attributes of an engine value.
macro_rules! view {
    ($(#[$doc:meta])* $view:ident($of:ty) = $name:literal {
        $($field:ident: $type:ty = $value:expr;)+
    }) => {
        $(#[$doc])*
        #[pyclass(module = "dumbbell._engine", name = $name)]
        struct $view(Option<$of>);

        impl $view {
            fn of(&self) -> PyResult<&$of> {
                let over = "it belongs to a call that has returned";
                self.0.as_ref().ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err(over))
            }
        }

        #[pymethods]
        impl $view {
            $(#[getter]
            fn $field(&self) -> PyResult<$type> {
                let value: fn(&$of) -> $type = $value;
                Ok(value(self.of()?))
            })+
        }
    };
}

view! {
    /// Delivery rate over the flight of one packet.
    RateSampleView(cca::RateSample) = "RateSample" {
        delivered_pkts: Option<i64> = |rate| (rate.delivered_pkts >= 0).then_some(rate.delivered_pkts);
        prior_delivered_pkts: u64 = |rate| rate.prior_delivered_pkts;
        prior_time_ns: u64 = |rate| rate.prior_time.as_ns();
        interval_ns: u64 = |rate| rate.interval.as_ns();
        rtt_ns: Option<u64> = |rate| ns(rate.rtt);
        losses_pkts: u32 = |rate| rate.losses_pkts;
        prior_in_flight_pkts: u32 = |rate| rate.prior_in_flight_pkts;
        acked_sacked_pkts: u32 = |rate| rate.acked_sacked_pkts;
        is_app_limited: bool = |rate| rate.is_app_limited;
        is_ack_delayed: bool = |rate| rate.is_ack_delayed;
    }
}

view! {
    /// A round-trip time measured by an acknowledgement.
    RttSampleView(cca::RttSample) = "RttSample" {
        now_ns: u64 = |sample| sample.now.as_ns();
        rtt_ns: u64 = |sample| sample.rtt.as_ns();
        una_pkts: u64 = |sample| sample.una_pkts;
        next_pkts: u64 = |sample| sample.next_pkts;
        is_echo: bool = |sample| sample.is_echo;
    }
}

view! {
    /// An acknowledgement.
    AckView(cca::Ack) = "Ack" {
        now_ns: u64 = |ack| ack.now.as_ns();
        rtt_ns: Option<u64> = |ack| ns(ack.rtt);
        srtt_ns: Option<u64> = |ack| ns(ack.srtt);
        min_rtt_ns: Option<u64> = |ack| ns(ack.min_rtt);
        una_pkts: u64 = |ack| ack.una_pkts;
        next_pkts: u64 = |ack| ack.next_pkts;
        delivered_pkts: u64 = |ack| ack.delivered_pkts;
        delivered_time_ns: u64 = |ack| ack.delivered_time.as_ns();
        lost_pkts: u64 = |ack| ack.lost_pkts;
        earliest_departure_ns: u64 = |ack| ack.earliest_departure.as_ns();
        acked_pkts: u32 = |ack| ack.acked_pkts;
        newly_delivered_pkts: u32 = |ack| ack.newly_delivered_pkts;
        in_flight_pkts: u32 = |ack| ack.in_flight_pkts;
        state: SenderState = |ack| ack.state.into();
        is_cwnd_limited: bool = |ack| ack.is_cwnd_limited;
        rate: RateSampleView = |ack| RateSampleView(Some(ack.rate));
    }
}

view! {
    /// State of the connection at an event other than an acknowledgement.
    SnapshotView(cca::Snapshot) = "Snapshot" {
        now_ns: u64 = |snapshot| snapshot.now.as_ns();
        srtt_ns: Option<u64> = |snapshot| ns(snapshot.srtt);
        min_rtt_ns: Option<u64> = |snapshot| ns(snapshot.min_rtt);
        delivered_pkts: u64 = |snapshot| snapshot.delivered_pkts;
        delivered_time_ns: u64 = |snapshot| snapshot.delivered_time.as_ns();
        lost_pkts: u64 = |snapshot| snapshot.lost_pkts;
        in_flight_pkts: u32 = |snapshot| snapshot.in_flight_pkts;
        flight_size_pkts: u32 = |snapshot| snapshot.flight_size_pkts;
        is_app_limited: bool = |snapshot| snapshot.is_app_limited;
    }
}

/// Properties of a connection known at its start.
#[pyclass(module = "dumbbell._engine", name = "Connection")]
struct ConnectionView {
    stream: Stream,
    #[pyo3(get)]
    timer_hz: u32,
    #[pyo3(get)]
    is_linux: bool,
    #[pyo3(get)]
    hystart: bool,
    #[pyo3(get)]
    is_paced: bool,
    #[pyo3(get)]
    parameters: Py<PyDict>,
}

#[pymethods]
impl ConnectionView {
    #[pyo3(signature = (n, /))]
    fn below(&mut self, n: u32) -> PyResult<u32> {
        match n {
            0 => {
                let text = "below(0): 1 or more is allowed";
                Err(pyo3::exceptions::PyValueError::new_err(text))
            }
            n => Ok(self.stream.below(u64::from(n)) as u32),
        }
    }
}

/// A class as passed by `dumbbell.backends.native`.
#[derive(FromPyObject)]
pub struct Class {
    /// The class, called with a connection.
    make: Py<PyAny>,
    /// Names of the methods that it defines; others have defaults.
    heeds: Vec<String>,
    wants_pacing: bool,
    owns_recovery: bool,
    send_buffer_windows: u32,
}

impl fmt::Debug for Class {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Class").field(&self.heeds).finish()
    }
}

/// The first error of a run, with its traceback.
type Failure = Arc<OnceLock<String>>;

/// A class with parameter values, in one run.
#[derive(Debug)]
struct OfRun {
    class: Arc<Class>,
    parameters: BTreeMap<String, i64>,
    failure: Failure,
}

/// A module of a class, for one run.
pub fn module(class: &Arc<Class>, parameters: &BTreeMap<String, i64>) -> Module {
    Module(Arc::new(OfRun {
        class: Arc::clone(class),
        parameters: parameters.clone(),
        failure: Failure::default(),
    }))
}

impl OfRun {
    fn connection(&self) -> OfConnection {
        OfConnection {
            class: Arc::clone(&self.class),
            parameters: self.parameters.clone(),
            failure: Arc::clone(&self.failure),
            live: OnceLock::new(),
        }
    }
}

fn traits(class: &Class) -> Traits {
    Traits {
        state_words: 0,
        owns_recovery: class.owns_recovery,
        wants_pacing: class.wants_pacing,
        send_buffer_windows: class.send_buffer_windows,
        sees_sender: false,
        needs_ecn: false,
    }
}

impl ExternalCode for OfRun {
    fn traits(&self) -> Traits {
        traits(&self.class)
    }

    fn of_connection(&self) -> Option<Module> {
        Some(Module(Arc::new(self.connection())))
    }

    /// Holds Python's GIL for a batch of events.
    fn run_locked(&self, events: &mut dyn FnMut()) {
        Python::attach(|_| events());
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    fn on(&self, _: Event<'_>, _: &mut [u64], _: &mut cca::Window, _: &mut EventContext) -> bool {
        unreachable!("each connection has a module of its own")
    }

    fn limits_itself(&self, _: &[u64]) -> bool {
        unreachable!("each connection has a module of its own")
    }

    fn least_burst_pkts(&self, _: &[u64], _: &cca::Window) -> Option<u32> {
        unreachable!("each connection has a module of its own")
    }
}

/// Its methods, and their argument objects.
struct LiveInstance {
    methods: Methods,
    window: Py<WindowView>,
    ack: Py<AckView>,
    /// Arguments window and acknowledgement, for most calls.
    on_ack: Py<PyTuple>,
    rtt: Py<RttSampleView>,
    snapshot: Py<SnapshotView>,
}

macro_rules! methods {
    ($($name:ident),+) => {
        /// Bound methods that it defines.
        struct Methods {
            $($name: Option<Py<PyAny>>,)+
        }

        impl Methods {
            fn of(controller: &Bound<'_, PyAny>, heeds: &[String]) -> PyResult<Methods> {
                let bound = |name: &str| -> PyResult<Option<Py<PyAny>>> {
                    let is_heeded = heeds.iter().any(|heeded| heeded == name);
                    is_heeded.then(|| controller.getattr(name).map(Bound::unbind)).transpose()
                };
                Ok(Methods { $($name: bound(stringify!($name))?,)+ })
            }
        }
    };
}

methods!(
    init,
    on_ack,
    on_loss,
    on_rtt,
    on_rto,
    on_enter_loss,
    on_ecn,
    on_exit_recovery,
    on_undo,
    on_transmit_start,
    on_idle_restart,
    limits_itself,
    least_burst_pkts
);

/// A controller of one connection, created at its first event.
struct OfConnection {
    class: Arc<Class>,
    parameters: BTreeMap<String, i64>,
    failure: Failure,
    live: OnceLock<LiveInstance>,
}

impl fmt::Debug for OfConnection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("OfConnection").field(&self.class).finish()
    }
}

impl OfConnection {
    fn made(
        &self,
        py: Python<'_>,
        window: &cca::Window,
        asked: &EventContext,
    ) -> PyResult<LiveInstance> {
        let parameters = PyDict::new(py);
        for (name, value) in &self.parameters {
            parameters.set_item(name, value)?;
        }
        let connection = ConnectionView {
            stream: asked.stream.clone(),
            timer_hz: asked.timer_hz,
            is_linux: asked.profile == Profile::Linux61,
            hystart: asked.hystart,
            is_paced: asked.is_paced,
            parameters: parameters.unbind(),
        };
        let controller = self.class.make.bind(py).call1((connection,))?;
        let window = Py::new(py, WindowView(*window))?;
        let ack = Py::new(py, AckView(None))?;
        Ok(LiveInstance {
            methods: Methods::of(&controller, &self.class.heeds)?,
            on_ack: (&window, &ack).into_pyobject(py)?.unbind(),
            window,
            ack,
            rtt: Py::new(py, RttSampleView(None))?,
            snapshot: Py::new(py, SnapshotView(None))?,
        })
    }

    fn live(
        &self,
        py: Python<'_>,
        window: &cca::Window,
        asked: &EventContext,
    ) -> PyResult<&LiveInstance> {
        if let Some(live) = self.live.get() {
            return Ok(live);
        }
        let made = self.made(py, window, asked)?;
        Ok(self.live.get_or_init(|| made))
    }

    fn told(
        &self,
        py: Python<'_>,
        event: Event<'_>,
        window: &mut cca::Window,
        asked: &EventContext,
    ) -> PyResult<bool> {
        let live = self.live(py, window, asked)?;
        let methods = &live.methods;
        let method = match event {
            Event::Ack(_) => &methods.on_ack,
            Event::Rtt(_) => &methods.on_rtt,
            Event::Init(_) => &methods.init,
            Event::Loss(_) => &methods.on_loss,
            Event::Rto(_) => &methods.on_rto,
            Event::EnterLoss(_) => &methods.on_enter_loss,
            Event::Ecn(_) => &methods.on_ecn,
            Event::ExitRecovery(_) => &methods.on_exit_recovery,
            Event::Undo => &methods.on_undo,
            Event::TransmitStart(..) => &methods.on_transmit_start,
            Event::IdleRestart(_) => &methods.on_idle_restart,
            // For controllers that read the sender's state.
            Event::State(_) | Event::AckBegins(_) | Event::Acked(_) => return Ok(false),
        };
        let Some(method) = method else {
            return Ok(false);
        };
        live.window.borrow_mut(py).0 = *window;
        match event {
            Event::Ack(ack) => {
                live.ack.borrow_mut(py).0 = Some(*ack);
                method.bind(py).call1(live.on_ack.bind(py))?;
                live.ack.borrow_mut(py).0 = None;
            }
            Event::Rtt(sample) => {
                live.rtt.borrow_mut(py).0 = Some(*sample);
                method.call1(py, (&live.window, &live.rtt))?;
                live.rtt.borrow_mut(py).0 = None;
            }
            Event::Undo | Event::State(_) | Event::AckBegins(_) | Event::Acked(_) => {
                method.call1(py, (&live.window,))?;
            }
            Event::TransmitStart(last_sent, snapshot) => {
                live.snapshot.borrow_mut(py).0 = Some(*snapshot);
                method.call1(py, (&live.window, &live.snapshot, ns(last_sent)))?;
                live.snapshot.borrow_mut(py).0 = None;
            }
            Event::Init(snapshot)
            | Event::Loss(snapshot)
            | Event::Rto(snapshot)
            | Event::EnterLoss(snapshot)
            | Event::Ecn(snapshot)
            | Event::ExitRecovery(snapshot)
            | Event::IdleRestart(snapshot) => {
                live.snapshot.borrow_mut(py).0 = Some(*snapshot);
                method.call1(py, (&live.window, &live.snapshot))?;
                live.snapshot.borrow_mut(py).0 = None;
            }
        }
        *window = live.window.borrow(py).0;
        Ok(true)
    }

    /// The result of a call, unless it or an earlier one failed.
    fn called<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.failure.get().is_some() {
            return None;
        }
        Python::attach(|py| match call(py) {
            Ok(value) => Some(value),
            Err(error) => {
                let _ = self.failure.set(with_traceback(py, &error));
                None
            }
        })
    }
}

impl ExternalCode for OfConnection {
    fn traits(&self) -> Traits {
        traits(&self.class)
    }

    fn on(
        &self,
        event: Event<'_>,
        _state: &mut [u64],
        window: &mut cca::Window,
        asked: &mut EventContext,
    ) -> bool {
        // After a failure nothing changes until the run ends.
        self.called(|py| self.told(py, event, window, asked))
            .unwrap_or(true)
    }

    fn limits_itself(&self, _state: &[u64]) -> bool {
        let method = self.live.get().map(|live| &live.methods.limits_itself);
        let Some(Some(method)) = method else {
            return false;
        };
        self.called(|py| method.call0(py)?.extract(py))
            .unwrap_or(false)
    }

    fn least_burst_pkts(&self, _state: &[u64], window: &cca::Window) -> Option<u32> {
        let live = self.live.get()?;
        let method = live.methods.least_burst_pkts.as_ref()?;
        self.called(|py| {
            live.window.borrow_mut(py).0 = *window;
            method.call1(py, (&live.window,))?.extract(py)
        })
    }
}

/// The exception as Python prints it; only the end if long.
fn with_traceback(py: Python<'_>, error: &PyErr) -> String {
    let lines = || -> PyResult<Vec<String>> {
        let traceback = py.import("traceback")?;
        let parts = (error.get_type(py), error.value(py), error.traceback(py));
        traceback.call_method1("format_exception", parts)?.extract()
    };
    let text = lines().map_or_else(|_| error.to_string(), |lines| lines.concat());
    let beginning = text.chars().count().saturating_sub(LONGEST_TRACEBACK);
    let end: String = text.chars().skip(beginning).collect();
    format!("a controller in Python failed:\n{}", end.trim_end())
}

/// Adds the classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<WindowView>()?;
    module.add_class::<SenderState>()?;
    module.add_class::<RateSampleView>()?;
    module.add_class::<RttSampleView>()?;
    module.add_class::<AckView>()?;
    module.add_class::<SnapshotView>()?;
    module.add_class::<ConnectionView>()
}
