//! The kernel's module that reads and writes for flows over TCP (`traffic/` of the kernel's recipe), so
//! that a packet costs no turn between the kernel and this process. Sockets are made and set up here, as
//! they are for a run without it; the module is handed them.

use crate::controllers;
use crate::error::{ErrorContext, GuestError};
use crate::sys::{self, InKernel, Next, Poll, Socket, Turn};
use dumbbell_core::time::Time;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::Path;

/// Where it is asked.
const PLACE: &str = "/proc/dumbbell_traffic";

/// The module, loaded.
pub struct TrafficModule {
    kernel: InKernel,
    zero_ns: Cell<u64>,
}

/// What it did for an end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    /// That TCP took of a sender, or that were received.
    pub bytes: u64,
    /// Something was received last.
    pub last: Option<Time>,
    /// How often the end was ready.
    pub served: u64,
}

/// What is to be done here.
#[derive(Debug)]
pub enum Told {
    /// Nothing: all that were ready have been served.
    Nothing,
    /// What `Poll` says.
    Others,
    /// All bytes have come to a receiver, or the connection of a sender is no more.
    Over {
        /// Of the end.
        token: u64,
        /// When.
        at: Time,
    },
}

impl TrafficModule {
    /// Loads it; `poll` has the descriptors that are waited for besides.
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

    /// Says when the run's time zero is, on the monotonic clock.
    pub fn set_zero(&self, zero_ns: u64) {
        self.zero_ns.set(zero_ns);
    }

    /// Has it write `bytes` bytes to a socket, `write_bytes` at a time where that is said.
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

    /// Has it read from a socket, until all of `bytes` bytes have come. The window is held at
    /// `window_bytes` if that is not 0.
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

    /// Has it write more to a socket that it has.
    pub fn send_more(&self, token: u64, bytes: u64) -> Result<(), GuestError> {
        self.kernel
            .add_bytes(token, bytes)
            .context(|| "handing the module bytes".to_owned())
    }

    /// What it did for an end so far.
    pub fn moved(&self, token: u64) -> Result<Moved, GuestError> {
        let count = self.kernel.count(token);
        count
            .map(|count| self.as_moved(&count))
            .context(|| "asking the module for its numbers".to_owned())
    }

    /// Takes a socket back; what it did for it.
    pub fn take_back(&self, token: u64) -> Result<Moved, GuestError> {
        let count = self.kernel.remove(token);
        count
            .map(|count| self.as_moved(&count))
            .context(|| "taking a socket back from the module".to_owned())
    }

    fn as_moved(&self, count: &sys::EndCount) -> Moved {
        let since_zero = |ns: u64| Time::from_ns(ns.saturating_sub(self.zero_ns.get()));
        Moved {
            bytes: count.bytes,
            last: (count.last_ns > 0).then(|| since_zero(count.last_ns)),
            served: count.served,
        }
    }

    /// Waits, and has the module read and write, until there is something to do here.
    pub fn wait(&self) -> Result<Told, GuestError> {
        self.told(self.kernel.wait())
    }

    /// Has the module serve the rest of those that were ready when the last wait ended.
    pub fn serve_rest(&self, now: Time) -> Result<Told, GuestError> {
        self.told(self.kernel.serve(self.zero_ns.get() + now.as_ns()))
    }

    fn told(&self, turn: io::Result<Turn>) -> Result<Told, GuestError> {
        let what = || "reading and writing inside the kernel".to_owned();
        let turn = turn.context(what)?;
        Ok(match turn.next().context(what)? {
            Next::Nothing => Told::Nothing,
            Next::Others => Told::Others,
            Next::Over => Told::Over {
                token: turn.token,
                at: Time::from_ns(turn.at_ns.saturating_sub(self.zero_ns.get())),
            },
        })
    }
}
