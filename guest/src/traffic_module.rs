//! The kernel module that reads and writes for TCP flows (`traffic/` of the kernel's recipe), which avoids
//! switches between the kernel and this process. Sockets are created and configured here, as without the
//! module, and then passed to it.

use crate::controllers;
use crate::error::{ErrorContext, GuestError};
use crate::netlink;
use crate::samples::{self, Sample};
use crate::sys::{self, Done, InKernel, Next, Plan, Poll, RingMarks, Socket, Turn};
use dumbbell_core::time::Time;
use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;

/// The module's file.
const PLACE: &str = "/proc/dumbbell_traffic";

/// The module, loaded.
pub struct TrafficModule {
    kernel: InKernel,
    zero_ns: Cell<u64>,
}

/// Counters of the module for an end.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndCounters {
    /// Bytes accepted by TCP from a sender, or received.
    pub bytes: u64,
    /// Time of the last reception.
    pub last: Option<Time>,
    /// Number of times the end was ready.
    pub served: u64,
}

/// What to do next.
#[derive(Debug)]
pub enum ModuleEvent {
    /// Nothing: all ready ends have been served.
    Nothing,
    /// Handle the descriptors of `Poll`.
    Others,
    /// A receiver has all bytes, or the connection of a sender is gone.
    Over {
        /// Of the end.
        token: u64,
        /// When.
        at: Time,
    },
    /// Do what is due.
    Due {
        /// When.
        at: Time,
    },
}

/// How a wait ended.
#[derive(Debug)]
pub struct Waited {
    /// What to do next.
    pub event: ModuleEvent,
    /// Whether events are due afterwards.
    pub is_due: bool,
    /// What the module did meanwhile of what was planned.
    pub done: Done,
}

impl TrafficModule {
    /// Loads it; `poll` has the other descriptors to wait for.
    pub fn load(module: &Path, poll: &Poll) -> Result<TrafficModule, GuestError> {
        let what = || format!("loading {}", module.display());
        controllers::print_faults()?;
        let file = File::open(module).context(what)?;
        sys::load_module(&file).context(what)?;
        let kernel = InKernel::open(PLACE).context(what)?;
        kernel.wait_also_for(poll).context(what)?;
        Ok(TrafficModule {
            kernel,
            zero_ns: Cell::new(0),
        })
    }

    /// Sets the run's time zero, on the monotonic clock.
    pub fn set_zero(&self, zero_ns: u64) {
        self.zero_ns.set(zero_ns);
    }

    /// Lets it write `bytes` bytes to a socket, in writes of `write_bytes` if nonzero.
    pub fn send(
        &self,
        token: u64,
        socket: &Socket,
        bytes: u64,
        write_bytes: Option<u64>,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_sender(token, socket, bytes, write_bytes.unwrap_or(0))
            .context(|| "handing the module a sender".to_owned())
    }

    /// Lets it read `bytes` bytes from a socket. The window is fixed at `window_bytes` if nonzero.
    pub fn receive(
        &self,
        token: u64,
        socket: &Socket,
        bytes: u64,
        window_bytes: u64,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_receiver(token, socket, bytes, window_bytes)
            .context(|| "handing the module a receiver".to_owned())
    }

    /// Lets it write more to one of its sockets.
    pub fn send_more(&self, token: u64, bytes: u64) -> Result<(), GuestError> {
        self.kernel
            .add_bytes(token, bytes)
            .context(|| "handing the module bytes".to_owned())
    }

    /// Its counters for an end so far.
    pub fn moved(&self, token: u64) -> Result<EndCounters, GuestError> {
        let count = self.kernel.count(token);
        count
            .map(|count| self.as_counters(&count))
            .context(|| "asking the module for its numbers".to_owned())
    }

    /// Takes a socket back. Returns its counters.
    pub fn take_back(&self, token: u64) -> Result<EndCounters, GuestError> {
        let count = self.kernel.remove(token);
        count
            .map(|count| self.as_counters(&count))
            .context(|| "taking a socket back from the module".to_owned())
    }

    fn as_counters(&self, count: &sys::EndCount) -> EndCounters {
        let since_zero = |ns: u64| Time::from_ns(ns.saturating_sub(self.zero_ns.get()));
        EndCounters {
            bytes: count.bytes,
            last: (count.last_ns > 0).then(|| since_zero(count.last_ns)),
            served: count.served,
        }
    }

    /// Waits, and lets the module read and write, until there is something to do here.
    pub fn wait(&self) -> Result<Waited, GuestError> {
        let turn = self.kernel.wait().context(serving)?;
        Ok(Waited {
            event: self.told(&turn)?,
            is_due: turn.is_due(),
            done: turn.done(),
        })
    }

    /// Names what it samples and checks: sockets of route netlink, by host, and rings.
    pub fn watch(
        &self,
        marks: &Rc<RingMarks>,
        hosts: &[Socket],
        to_receiver: u64,
    ) -> Result<(), GuestError> {
        let request = netlink::request();
        let told = self.kernel.watch(marks, hosts, &request, to_receiver);
        told.context(|| "telling the module what to look at".to_owned())
    }

    /// Sets the timer to the first event of a plan.
    pub fn plan(&self, plan: Plan) -> Result<(), GuestError> {
        let zero_ns = self.zero_ns.get();
        let told = self.kernel.plan(Plan { zero_ns, ..plan });
        told.context(|| "setting the timer".to_owned())
    }

    /// The samples it has taken.
    pub fn samples(&self, done: &Done, hosts: usize) -> Result<Vec<Sample>, GuestError> {
        let bytes = self.kernel.fetch(done.sample_bytes);
        let bytes = bytes.context(|| "fetching samples".to_owned())?;
        samples::parsed(&bytes, hosts, |count| self.as_counters(count))
            .ok_or_else(|| GuestError::Internal("the module's samples broke off".to_owned()))
    }

    /// Lets the module serve the rest of the ends that were ready at the last wait.
    pub fn serve_rest(&self, now: Time) -> Result<ModuleEvent, GuestError> {
        let turn = self.kernel.serve(self.zero_ns.get() + now.as_ns());
        self.told(&turn.context(serving)?)
    }

    fn told(&self, turn: &Turn) -> Result<ModuleEvent, GuestError> {
        let at = Time::from_ns(turn.at_ns.saturating_sub(self.zero_ns.get()));
        let token = turn.token;
        Ok(match turn.next().context(serving)? {
            Next::Nothing => ModuleEvent::Nothing,
            Next::Others => ModuleEvent::Others,
            Next::Over => ModuleEvent::Over { token, at },
            Next::Due => ModuleEvent::Due { at },
        })
    }
}

fn serving() -> String {
    "reading and writing inside the kernel".to_owned()
}
