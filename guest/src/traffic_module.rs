//! The kernel module that reads and writes for flows and probes (`traffic/` of the kernel's recipe), which
//! avoids switches between the kernel and this process. Most sockets are created and configured here,
//! as without the module, and then passed to it; connections of transfers it opens itself.

use crate::controllers;
use crate::error::{ErrorContext, GuestError};
use crate::job::Job;
use crate::netlink;
use crate::samples::{self, Item, SeenEnd};
use crate::sys::{
    self, Done, Frame, InKernel, Next, Plan, PlannedDatagram, PlannedTransfer, Poll, Socket,
    SourceOfTransfers, Turn,
};
use dumbbell_core::time::Time;
use std::cell::Cell;
use std::fs::File;
use std::net::SocketAddrV4;
use std::path::Path;

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

/// Records of packets, and the numbers of their points.
#[derive(Debug)]
pub struct Records<'a>(&'a [u8]);

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
    /// Whether ends that are ready have yet to be served.
    pub is_rest: bool,
    /// What the module did meanwhile of what was planned.
    pub done: Done,
}

impl TrafficModule {
    /// Loads the job's module, if it has one. If that fails and the job does not require the module, the
    /// result is None and `refused` says why.
    pub fn of_job(
        job: &Job,
        poll: &Poll,
        refused: &mut Option<String>,
    ) -> Result<Option<TrafficModule>, GuestError> {
        let Some(module) = &job.traffic_module else {
            return Ok(None);
        };
        match TrafficModule::load(module, poll) {
            Err(error) if !job.requires_module => {
                *refused = Some(error.to_string());
                Ok(None)
            }
            loaded => loaded.map(Some),
        }
    }

    /// Loads it; `poll` has the other descriptors to wait for.
    fn load(module: &Path, poll: &Poll) -> Result<TrafficModule, GuestError> {
        let what = || format!("loading {}", module.display());
        controllers::print_faults()?;
        let file = File::open(module).context(what)?;
        sys::load_module(&file, c"start=1").context(what)?;
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

    /// Lets it write `bytes` bytes to a socket, in writes of `write_bytes` if nonzero. Returns the socket's port.
    pub fn send(
        &self,
        token: u64,
        socket: &Socket,
        bytes: u64,
        write_bytes: Option<u64>,
    ) -> Result<u16, GuestError> {
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

    /// Takes a socket back. Returns its state and counters.
    pub fn take_back(&self, token: u64) -> Result<SeenEnd, GuestError> {
        let last = self.kernel.remove(token);
        let (info, count) = last.context(|| "taking a socket back from the module".to_owned())?;
        let moved = self.as_counters(&count);
        Ok(SeenEnd { info, moved })
    }

    fn as_counters(&self, count: &sys::EndCount) -> EndCounters {
        EndCounters {
            bytes: count.bytes,
            last: (count.last_ns > 0).then(|| self.since_zero(count.last_ns)),
            served: count.served,
        }
    }

    /// Waits, and lets the module read and write, until there is something to do here.
    pub fn wait(&self) -> Result<Waited, GuestError> {
        let turn = self.kernel.wait().context(serving)?;
        Ok(Waited {
            event: self.told(&turn)?,
            is_due: turn.is_due(),
            is_rest: turn.is_rest(),
            done: turn.done(),
        })
    }

    /// Lets it record what comes to the queue of a device of the network this process is in (point `before`)
    /// and what leaves it (the next point). The device that gets copies of what comes is named first. Of each
    /// packet the headers are recorded that tell it apart, or `head_bytes` bytes if not 0.
    pub fn tap(
        &self,
        before: usize,
        devices: (u32, u32),
        head_bytes: usize,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_tap(before as u32, devices, head_bytes as u32)
            .context(|| "observing a queue inside the kernel".to_owned())
    }

    /// The oldest records of packets, with their points, in the order in which they were seen; none when all
    /// were fetched.
    pub fn records<'a>(&self, room: &'a mut Vec<u8>) -> Result<Records<'a>, GuestError> {
        let records = self.kernel.records(room);
        records
            .context(|| "fetching records of packets".to_owned())
            .map(Records)
    }

    /// Packets of a point that were not recorded.
    pub fn missed(&self, point: usize) -> Result<u32, GuestError> {
        let missed = self.kernel.missed(point as u32);
        missed.context(|| "asking what was missed".to_owned())
    }

    /// Names what it samples: sockets of route netlink, by host.
    pub fn watch(&self, hosts: &[Socket], to_receiver: u64) -> Result<(), GuestError> {
        let request = netlink::request();
        let told = self.kernel.watch(hosts, &request, to_receiver);
        told.context(|| "telling the module what to look at".to_owned())
    }

    /// Sets the timer to the first event of a plan.
    pub fn plan(&self, plan: Plan) -> Result<(), GuestError> {
        let zero_ns = self.zero_ns.get();
        let told = self.kernel.plan(Plan { zero_ns, ..plan });
        told.context(|| "setting the timer".to_owned())
    }

    /// What was done since the last wait.
    pub fn done(&self) -> Result<Done, GuestError> {
        let done = self.kernel.done();
        done.context(|| "asking the module what it did".to_owned())
    }

    /// The bytes of all items that it keeps.
    pub fn fetch(&self, done: &Done) -> Result<Vec<u8>, GuestError> {
        let bytes = self.kernel.fetch(done.kept_bytes);
        bytes.context(|| "fetching samples".to_owned())
    }

    /// The items in these bytes.
    pub fn items<'a>(&self, bytes: &'a [u8], hosts: usize) -> Result<Vec<Item<'a>>, GuestError> {
        samples::parsed(bytes, hosts, |count| self.as_counters(count))
            .ok_or_else(|| GuestError::Internal("the module's items broke off".to_owned()))
    }

    /// An instant of the monotonic clock in the time of the run.
    pub fn since_zero(&self, ns: u64) -> Time {
        Time::from_ns(ns.saturating_sub(self.zero_ns.get()))
    }

    /// Lets the module serve those of the ends that were ready at the last wait whose token is smaller.
    pub fn serve_rest(&self, now: Time, before: u64) -> Result<ModuleEvent, GuestError> {
        let turn = self.kernel.serve(self.zero_ns.get() + now.as_ns(), before);
        self.told(&turn.context(serving)?)
    }

    /// Lets it receive datagrams from a socket.
    pub fn take_datagrams(
        &self,
        token: u64,
        socket: &Socket,
        head_bytes: usize,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_inlet(token, socket, head_bytes as u32)
            .context(|| "handing the module a socket".to_owned())
    }

    /// Lets it send back datagrams to clients, of whom each has a port and a traffic class.
    pub fn echo(
        &self,
        token: u64,
        socket: &Socket,
        head_bytes: usize,
        clients: (u16, &[u8]),
    ) -> Result<(), GuestError> {
        self.kernel
            .add_echo(token, socket, head_bytes as u32, clients)
            .context(|| "handing the module a socket that echoes".to_owned())
    }

    /// Names a source of datagrams, and whether the traffic class is set before each.
    pub fn add_source(
        &self,
        order: u64,
        socket: &Socket,
        to: SocketAddrV4,
        traffic_class: Option<u8>,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_source(order, socket, to, traffic_class)
            .context(|| "handing the module a source".to_owned())
    }

    /// What a source sends next; nothing after it if that is the last.
    pub fn schedule(
        &self,
        order: u64,
        datagrams: &[PlannedDatagram],
        is_last: bool,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_schedule(order, datagrams, is_last)
            .context(|| "handing the module a schedule".to_owned())
    }

    /// Names a source of transfers, whose connections it opens, accepts and closes.
    pub fn add_transfers(&self, source: &SourceOfTransfers) -> Result<(), GuestError> {
        self.kernel
            .add_transfers(source)
            .context(|| "handing the module a source of transfers".to_owned())
    }

    /// The next transfers of a source; nothing after them if they are the last.
    pub fn schedule_transfers(
        &self,
        order: u64,
        transfers: &[PlannedTransfer],
        is_last: bool,
    ) -> Result<(), GuestError> {
        self.kernel
            .add_transfer_schedule(order, transfers, is_last)
            .context(|| "handing the module transfers".to_owned())
    }

    /// Lets it abort the connections of a source.
    pub fn abort_transfers(&self, order: u64) -> Result<(), GuestError> {
        let aborted = self.kernel.abort_transfers(order);
        aborted.context(|| "ending connections".to_owned())
    }

    /// Lets it look at the connections of a source.
    pub fn look_at_transfers(&self, order: u64) -> Result<(), GuestError> {
        let looked = self.kernel.look_at_transfers(order);
        looked.context(|| "asking TCP for its numbers".to_owned())
    }

    /// Lets it send and open what is due before an event. Returns whether a source needs its next schedule
    /// first.
    pub fn send_before(&self, now: Time, event: (Time, u64)) -> Result<bool, GuestError> {
        let at_ns = self.zero_ns.get() + now.as_ns();
        let sent = self.kernel.send_before(at_ns, (event.0.0, event.1));
        sent.context(|| "sending inside the kernel".to_owned())
    }

    fn told(&self, turn: &Turn) -> Result<ModuleEvent, GuestError> {
        let at = self.since_zero(turn.at_ns);
        let token = turn.token;
        Ok(match turn.next().context(serving)? {
            Next::Nothing => ModuleEvent::Nothing,
            Next::Others => ModuleEvent::Others,
            Next::Over => ModuleEvent::Over { token, at },
            Next::Due => ModuleEvent::Due { at },
        })
    }
}

impl Records<'_> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(usize, Frame<'a>), GuestError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let Some((record, others)) = sys::split_record(self.0) else {
            self.0 = &[];
            let error = GuestError::Internal("the module's records broke off".to_owned());
            return Some(Err(error));
        };
        self.0 = others;
        Some(Ok(record))
    }
}

fn serving() -> String {
    "connecting, reading and writing inside the kernel".to_owned()
}
