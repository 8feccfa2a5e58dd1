//! A controller from a shared object, with the sender's interface for controllers.

use crate::abi::{
    self, EventFn, Flow, LOADED_VERSIONS, MOST_PARAMETERS, MOST_STATE_BYTES, NONE, Ops, VERSION,
};
use crate::object::Object;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use dumbbell_tcp::cca::external::{Event, EventContext, ExternalCode, Requests, Traits};
use dumbbell_tcp::cca::{Snapshot, Window};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;

/// Maximum displayed length of the name of a controller or parameter.
const LONGEST_NAME: usize = 64;

/// Facts that a controller declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// Whether it asks for pacing.
    pub wants_pacing: bool,
    /// Whether it sets the window during recovery as well.
    pub owns_recovery: bool,
    /// Whether it uses inputs that only the simulator provides: the sender's fields, individual ECN
    /// marks.
    pub needs_simulator: bool,
    /// Its parameters.
    pub parameters: Vec<ParameterFacts>,
}

/// A numeric parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterFacts {
    /// Its name in the source.
    pub name: String,
    /// Smallest value.
    pub least: i64,
    /// Largest value.
    pub most: i64,
    /// Default value.
    pub value: i64,
}

/// A loaded copy of a shared object.
pub struct Loaded {
    /// Points into `_object`. Fields that an older version of the interface lacks are zero.
    ops: Ops,
    _object: Object,
}

// SAFETY: the pointers in `ops` refer to the object; only a run calls it, and a run is on one
// thread at a time.
unsafe impl Send for Loaded {}
// SAFETY: as above; the connections of one run share a module.
unsafe impl Sync for Loaded {}

impl fmt::Debug for Loaded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Loaded")
            .field(&self.ops().version)
            .finish()
    }
}

impl Loaded {
    /// Loads a copy of a shared object and checks its contents.
    pub fn open(path: &Path) -> Result<Loaded, String> {
        let object = Object::open_copy(path)?;
        let ops = object.symbol(c"dumbbell_cc");
        let ops = ops.ok_or("a controller, which defines `dumbbell_cc` (dumbbell_cc.h)")?;
        // SAFETY: the symbol of this name begins with its version in every version of the
        // interface.
        let version = unsafe { ptr::read(ops.cast::<u32>()) };
        if !LOADED_VERSIONS.contains(&version) {
            return Err(format!(
                "a controller for version {VERSION} of dumbbell_cc.h: this one says {version}"
            ));
        }
        let bytes = if version == 1 {
            abi::OPS_BYTES_1
        } else {
            size_of::<Ops>()
        };
        let mut read = MaybeUninit::<Ops>::zeroed();
        // SAFETY: a structure of this version has this size; all-zero bits are valid numbers, false
        // and null.
        let ops = unsafe {
            ptr::copy_nonoverlapping(ops.cast::<u8>(), read.as_mut_ptr().cast::<u8>(), bytes);
            read.assume_init()
        };
        let loaded = Loaded {
            ops,
            _object: object,
        };
        loaded.check()?;
        Ok(loaded)
    }

    fn ops(&self) -> &Ops {
        &self.ops
    }

    fn check(&self) -> Result<(), String> {
        let ops = self.ops();
        if ops.on_ack.is_none() || ops.on_loss.is_none() {
            return Err("a controller that has on_ack and on_loss".to_owned());
        }
        if ops.state_bytes > MOST_STATE_BYTES {
            let bytes = ops.state_bytes;
            return Err(format!(
                "at most {MOST_STATE_BYTES} bytes of state, not {bytes}"
            ));
        }
        if ops.parameters_count > MOST_PARAMETERS {
            let count = ops.parameters_count;
            return Err(format!("at most {MOST_PARAMETERS} parameters, not {count}"));
        }
        let sizes = [1, 2, 4, 8];
        let bad = self.parameters().iter().find(|each| {
            !sizes.contains(&each.bytes) || each.address.is_null() || each.name.is_null()
        });
        match bad {
            Some(_) => Err("parameters with a name, an address and 1, 2, 4 or 8 bytes".to_owned()),
            None => Ok(()),
        }
    }

    fn parameters(&self) -> &[abi::Parameter] {
        let ops = self.ops();
        if ops.parameters.is_null() || ops.parameters_count == 0 {
            return &[];
        }
        // SAFETY: the controller declares this number of elements.
        unsafe { std::slice::from_raw_parts(ops.parameters, ops.parameters_count as usize) }
    }

    /// The facts that it declares.
    pub fn facts(&self) -> Facts {
        let ops = self.ops();
        Facts {
            name: name(ops.name),
            wants_pacing: ops.wants_pacing,
            owns_recovery: ops.owns_recovery,
            needs_simulator: ops.sees_sender || ops.needs_ecn,
            parameters: { self.parameters().iter() }
                .map(|each| ParameterFacts {
                    name: name(each.name),
                    least: each.least,
                    most: each.most,
                    value: value(each),
                })
                .collect(),
        }
    }

    /// Sets its parameters, before any other call.
    pub fn set(&self, values: &BTreeMap<String, i64>) -> Result<(), String> {
        let parameters = self.parameters();
        for (wanted, value) in values {
            let Some(found) = parameters.iter().find(|each| name(each.name) == *wanted) else {
                let names: Vec<_> = parameters.iter().map(|each| name(each.name)).collect();
                let has = if names.is_empty() {
                    "none".to_owned()
                } else {
                    names.join(", ")
                };
                return Err(format!("parameters that it has ({has}): not {wanted}"));
            };
            let (least, most) = (found.least, found.most);
            if !(least..=most).contains(value) {
                return Err(format!("{wanted} from {least} to {most}: not {value}"));
            }
            let bytes = value.to_le_bytes();
            let at_end = if cfg!(target_endian = "big") {
                value.to_be_bytes()
            } else {
                bytes
            };
            let skipped = if cfg!(target_endian = "big") {
                8 - found.bytes as usize
            } else {
                0
            };
            // SAFETY: the object exports a variable of this size, and nothing reads it
            // concurrently.
            unsafe {
                ptr::copy_nonoverlapping(
                    at_end.as_ptr().add(skipped),
                    found.address.cast::<u8>(),
                    found.bytes as usize,
                );
            }
        }
        // SAFETY: a function of the object with the type declared in the header.
        let refused = { self.ops().configure }.map_or(0, |configure| unsafe { configure() });
        match refused {
            0 => Ok(()),
            error => Err(format!(
                "parameters that its own start takes: it refuses them with error {error}"
            )),
        }
    }
}

fn value(parameter: &abi::Parameter) -> i64 {
    let at = parameter.address;
    // SAFETY: a variable of the object with the type that it declares.
    unsafe {
        match (parameter.bytes, parameter.is_signed) {
            (1, true) => i64::from(ptr::read_unaligned(at.cast::<i8>())),
            (1, false) => i64::from(ptr::read_unaligned(at.cast::<u8>())),
            (2, true) => i64::from(ptr::read_unaligned(at.cast::<i16>())),
            (2, false) => i64::from(ptr::read_unaligned(at.cast::<u16>())),
            (4, true) => i64::from(ptr::read_unaligned(at.cast::<i32>())),
            (4, false) => i64::from(ptr::read_unaligned(at.cast::<u32>())),
            _ => ptr::read_unaligned(at.cast::<i64>()),
        }
    }
}

fn name(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a NUL-terminated string of the object, as the interface requires.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().chars().take(LONGEST_NAME).collect()
}

unsafe extern "C" fn below(stream: *mut c_void, n: u32) -> u32 {
    // SAFETY: the pointer passed in `Flow`, valid for the duration of the call.
    let stream = unsafe { &mut *stream.cast::<Stream>() };
    stream.below(u64::from(n.max(1))) as u32
}

impl ExternalCode for Loaded {
    fn traits(&self) -> Traits {
        let ops = self.ops();
        Traits {
            state_words: (ops.state_bytes as usize).div_ceil(8),
            owns_recovery: ops.owns_recovery,
            wants_pacing: ops.wants_pacing,
            send_buffer_windows: match ops.send_buffer_windows {
                0 => 2,
                windows => windows,
            },
            sees_sender: ops.sees_sender,
            needs_ecn: ops.needs_ecn,
        }
    }

    fn on(
        &self,
        event: Event<'_>,
        state: &mut [u64],
        window: &mut Window,
        asked: &mut EventContext,
    ) -> bool {
        let ops = self.ops();
        let mut shared = abi::Window::from(&*window);
        let mut flow = Flow {
            state: state.as_mut_ptr().cast(),
            window: &raw mut shared,
            stream: (&raw mut asked.stream).cast(),
            below,
            timer_hz: asked.timer_hz,
            is_linux: asked.profile == Profile::Linux61,
            hystart: asked.hystart,
            is_paced: asked.is_paced,
            sender: &raw const asked.sender,
            requests_reduction: false,
            requests_limited: false,
        };
        let flow = &raw mut flow;
        let plain = |on: Option<EventFn>, snapshot: &Snapshot| {
            // SAFETY: a function of the object with the type declared in the header; its arguments
            // live until it returns.
            on.map(|on| unsafe { on(flow, &abi::Snapshot::from(snapshot)) })
        };
        let heeded = match event {
            Event::Init(snapshot) => plain(ops.init, snapshot),
            Event::Loss(snapshot) => plain(ops.on_loss, snapshot),
            Event::Rto(snapshot) => plain(ops.on_rto, snapshot),
            Event::EnterLoss(snapshot) => plain(ops.on_enter_loss, snapshot),
            Event::Ecn(snapshot) => plain(ops.on_ecn, snapshot),
            Event::ExitRecovery(snapshot) => plain(ops.on_exit_recovery, snapshot),
            Event::IdleRestart(snapshot) => plain(ops.on_idle_restart, snapshot),
            Event::Rtt(sample) => { ops.on_rtt }.map(|on| {
                // SAFETY: as above.
                unsafe { on(flow, &abi::RttSample::from(sample)) }
            }),
            Event::Ack(ack) => { ops.on_ack }.map(|on| {
                // SAFETY: as above.
                unsafe { on(flow, &abi::Ack::from(ack)) }
            }),
            Event::Undo => { ops.on_undo }.map(|on| {
                // SAFETY: as above.
                unsafe { on(flow) }
            }),
            Event::TransmitStart(last_sent, snapshot) => { ops.on_transmit_start }.map(|on| {
                let last_sent = last_sent.map_or(NONE, Time::as_ns);
                // SAFETY: as above.
                unsafe { on(flow, &abi::Snapshot::from(snapshot), last_sent) }
            }),
            Event::State(state) => { ops.on_state }.map(|on| {
                // SAFETY: as above.
                unsafe { on(flow, abi::state(state)) }
            }),
            Event::AckBegins(begins) => { ops.on_ack_begins }.map(|on| {
                // SAFETY: as above.
                unsafe { on(flow, abi::ack_flags(begins)) }
            }),
            Event::Acked(acked) => { ops.on_acked }.map(|on| {
                // SAFETY: as above.
                unsafe { on(flow, &raw const *acked) }
            }),
        };
        if heeded.is_some() {
            shared.enter(window);
            // SAFETY: `flow` is a local variable, and the call has returned.
            let flow = unsafe { &*flow };
            let (reduction, limited) = (flow.requests_reduction, flow.requests_limited);
            asked.requests = Requests { reduction, limited };
        }
        heeded.is_some()
    }

    fn limits_itself(&self, state: &[u64]) -> bool {
        let asked = self.ops().limits_itself;
        // SAFETY: a function of the object, which only reads the state.
        asked.is_some_and(|asked| unsafe { asked(state.as_ptr().cast()) })
    }

    fn least_burst_pkts(&self, state: &[u64], window: &Window) -> Option<u32> {
        let asked = self.ops().least_burst_pkts;
        let window = abi::Window::from(window);
        // SAFETY: as above; it only reads the window as well.
        asked.map(|asked| unsafe { asked(state.as_ptr().cast(), &raw const window) })
    }
}
