//! A session: shells in terminals of the hosts, with input from the host machine.
//!
//! It replaces the description's traffic if the job asks for it. Orders come in files `order-0`, `order-1`,
//! ..., each a JSON list of [`Order`]s. Before looking for the next one, the guest opens `gate-N`. A process
//! that holds that file back (a lease, fcntl(2)) stops the whole kernel, and with it virtual time, for as
//! long as the user thinks. Events are written to `said`, one line of JSON each ([`Event`]).
//!
//! Time passes only as follows: each line takes [`TYPING_NS`] to be typed, the next line of a terminal waits
//! for its prompt, and there are orders to wait. So the same orders give the same events.

mod orders;
mod terminal;

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::job::Job;
use crate::login::Logins;
use crate::sys::{self, Poll, Timer};
pub use orders::SessionSpec;
use orders::{Event, Order, TerminalPlace, WaitFor};
use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use terminal::{State, Terminal};

/// Time to type a line, about that of a person. Otherwise two programs that seed their random numbers by the
/// second would send the same.
const TYPING_NS: u64 = 1_000_000_000;
/// Time between two orders. Asking for orders takes some microseconds, or more when homes are copied, and a
/// typed session asks more often than a script. With this constant the pause is equal in both.
const PAUSE_NS: u64 = 10_000_000;
/// Uptime at the start of a session: `ping` treats a clock below one second as never read.
const UP_NS: u64 = 10_000_000_000;
/// Time limit for a shell's first prompt.
const STARTING_NS: u64 = 10_000_000_000;
/// Interval of progress events, and of checks for a wish to stop time.
const BEAT_NS: u64 = 250_000_000;
const TIMER: u64 = u64::MAX;
/// Events are written when this number of bytes has accumulated, or there is nothing else to do.
const WRITTEN_BYTES: usize = 1 << 16;

/// How a wait treats the user's wish to stop time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopWish {
    /// The wait ends and reports its duration, so that a replay gives the same.
    Heard,
    /// The wait continues; the following wait sees the wish.
    Left,
}

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitOutcome {
    /// The condition is met.
    Done,
    /// The time limit was reached.
    TimeUp,
    /// The user stopped time after this number of nanoseconds, a whole number of intervals.
    Stopped(u64),
}

/// Whether the session continues.
#[derive(Debug, PartialEq, Eq)]
enum SessionStep {
    Go,
    End,
}

/// Runs a session in the hosts.
pub fn run(job: &Job, hosts: &Hosts) -> Result<(), GuestError> {
    let none = |what: &str| GuestError::Job(format!("no {what} in a job for a shell"));
    let login = job.login.as_ref().ok_or_else(|| none("login"))?;
    let asked = job.shell.as_ref().ok_or_else(|| none("shell"))?;
    let mut session = Session {
        asked,
        logins: Logins::new(login, hosts)?,
        terminals: Vec::new(),
        poll: Poll::new().context(waiting)?,
        timer: Timer::new().context(waiting)?,
        said: Vec::new(),
        said_file: asked.folder.join("said"),
        zero_ns: 0,
        last_ns: Cell::new(0),
        wall_ahead_ns: UP_NS + sys::wall_ahead_ns(),
    };
    let timer = session.poll.add(&session.timer, TIMER);
    timer.context(waiting)?;
    session.pass(|_| false, 0, UP_NS, StopWish::Left)?;
    session.zero_ns = UP_NS;
    session.last_ns.set(0);
    session.said.clear();
    session.run(&login.names)
}

/// Whether a folder contains this name.
fn is_in(folder: &Path, name: &str) -> Result<bool, GuestError> {
    let what = || format!("reading {}", folder.display());
    for entry in fs::read_dir(folder).context(what)? {
        if entry.context(what)?.file_name() == name {
            return Ok(true);
        }
    }
    Ok(false)
}

fn waiting() -> String {
    "waiting for terminals".to_owned()
}

struct Session<'a> {
    asked: &'a SessionSpec,
    logins: Logins<'a>,
    terminals: Vec<Terminal>,
    poll: Poll,
    timer: Timer,
    /// Events not written yet.
    said: Vec<u8>,
    said_file: PathBuf,
    /// Start of the session, on the monotonic clock.
    zero_ns: u64,
    /// Last reading of the clock. Reading takes virtual time, so code whose repetition varies between
    /// sessions does not read it.
    last_ns: Cell<u64>,
    /// Offset of the wall clock from the session's time.
    wall_ahead_ns: u64,
}

impl Session<'_> {
    fn run(&mut self, names: &[String]) -> Result<(), GuestError> {
        for number in 0.. {
            let orders = self.orders(number)?;
            for order in orders {
                if self.obey(order, names)? == SessionStep::End {
                    self.flush_lines();
                    let at_ns = self.now_ns();
                    self.say(&Event::Ended { at_ns });
                    self.write_said()?;
                    return self.keep_homes();
                }
            }
        }
        Ok(())
    }

    /// The next orders. The kernel stands still until they exist.
    fn orders(&mut self, number: usize) -> Result<Vec<Order>, GuestError> {
        self.flush_lines();
        self.say(&Event::Asking {
            at_ns: self.last_ns.get(),
            number,
        });
        self.write_said()?;
        self.keep_homes()?;
        let gate = self.asked.folder.join(format!("gate-{number}"));
        let name = format!("order-{number}");
        let file = self.asked.folder.join(&name);
        loop {
            drop(File::open(&gate).context(|| format!("opening {}", gate.display()))?);
            // Without a gate, the host stops the kernel between polls. Opening a file that may not exist is
            // avoided, because a failing system call takes virtual time (see `Keeper`).
            if !is_in(&self.asked.folder, &name)? {
                continue;
            }
            let text = fs::read_to_string(&file);
            let text = text.context(|| format!("reading {}", file.display()))?;
            return serde_json::from_str(&text)
                .map_err(|error| GuestError::Job(format!("{}: {error}", file.display())));
        }
    }

    fn obey(&mut self, order: Order, names: &[String]) -> Result<SessionStep, GuestError> {
        self.leave_something_to_free()?;
        self.pass(|_| false, self.last_ns.get(), PAUSE_NS, StopWish::Left)?;
        match order {
            Order::Open { place } => {
                let at_ns = self.now_ns();
                self.flush_lines();
                self.say(&Event::Opened { at_ns, place });
                self.terminal(place, names)?;
            }
            Order::Type {
                place,
                text,
                at_prompt,
                serves,
            } => {
                let index = self.terminal(place, names)?;
                return self.type_line(index, &text, at_prompt, serves);
            }
            Order::Keys { place, keys } => {
                let index = self.terminal(place, names)?;
                self.say(&Event::Keys {
                    at_ns: self.now_ns(),
                    place,
                    keys: keys.clone(),
                });
                self.terminals[index].write(keys.as_bytes())?;
                self.pass(|_| false, self.now_ns(), TYPING_NS, StopWish::Left)?;
            }
            Order::Leave { place } => {
                let index = self.terminal(place, names)?;
                self.terminals[index].serves = true;
            }
            Order::Wait { until, at_most_ns } => self.wait(&until, at_most_ns, names)?,
            Order::End => return Ok(SessionStep::End),
        }
        Ok(SessionStep::Go)
    }

    /// Opens a file and closes it.
    ///
    /// Memory of a hostfs file is freed later by a thread woken for it (RCU). If nothing else runs, the
    /// wakeup starts the timer of Linux 6.12's fair server (dl_server_start in kernel/sched/deadline.c),
    /// which runs for seconds. It must be woken after each order, whether or not further orders are requested
    /// in between.
    fn leave_something_to_free(&self) -> Result<(), GuestError> {
        let said = File::open(&self.said_file);
        said.map(drop)
            .context(|| "leaving something to free".to_owned())
    }

    fn type_line(
        &mut self,
        index: usize,
        text: &str,
        at_prompt: bool,
        serves: bool,
    ) -> Result<SessionStep, GuestError> {
        let place = self.terminals[index].place;
        if at_prompt && self.terminals[index].is_busy() {
            let passed = if self.terminals[index].serves {
                WaitOutcome::TimeUp
            } else {
                let longest_ns = self.asked.longest_wait_ns;
                let is_over = |session: &Session<'_>| !session.terminals[index].is_busy();
                self.pass(is_over, self.now_ns(), longest_ns, StopWish::Heard)?
            };
            if passed != WaitOutcome::Done {
                self.say(&Event::Busy {
                    at_ns: self.now_ns(),
                    place,
                });
                return Ok(SessionStep::Go);
            }
        }
        let at_ns = self.now_ns();
        self.flush_lines();
        self.say(&Event::Typed {
            at_ns,
            place,
            text: text.to_owned(),
            at_prompt,
        });
        let terminal = &mut self.terminals[index];
        if terminal.state == State::Closed {
            return Ok(SessionStep::Go);
        }
        if at_prompt {
            terminal.begin(serves);
        }
        terminal.write(format!("{text}\n").as_bytes())?;
        self.pass(|_| false, at_ns, TYPING_NS, StopWish::Left)?;
        Ok(SessionStep::Go)
    }

    fn wait(
        &mut self,
        until: &WaitFor,
        at_most_ns: Option<u64>,
        names: &[String],
    ) -> Result<(), GuestError> {
        let began_ns = self.now_ns();
        self.flush_lines();
        self.say(&Event::Waiting {
            at_ns: began_ns,
            until: until.clone(),
            at_most_ns,
        });
        let longest_ns = at_most_ns.unwrap_or(self.asked.longest_wait_ns);
        let awaited: Option<Vec<usize>> = match until {
            WaitFor::Time => Some(Vec::new()),
            WaitFor::All => None,
            WaitFor::These { places } => {
                let indexes = places.iter().map(|place| self.terminal(*place, names));
                Some(indexes.collect::<Result<_, _>>()?)
            }
        };
        let only_time = *until == WaitFor::Time;
        let is_over = |session: &Session<'_>| match &awaited {
            None => !session
                .terminals
                .iter()
                .any(|terminal| terminal.is_busy() && !terminal.serves),
            Some(indexes) => !only_time && !indexes.iter().any(|i| session.terminals[*i].is_busy()),
        };
        let passed = self.pass(is_over, began_ns, longest_ns, StopWish::Heard)?;
        self.flush_lines();
        let busy = |terminal: &&Terminal| terminal.is_busy() && !terminal.serves;
        let running = self.terminals.iter().filter(busy);
        let running = running.map(|terminal| terminal.place).collect();
        let at_ns = self.now_ns();
        let stopped_after_ns = match passed {
            WaitOutcome::Stopped(after_ns) => Some(after_ns),
            WaitOutcome::Done | WaitOutcome::TimeUp => None,
        };
        self.say(&Event::Waited {
            at_ns,
            stopped_after_ns,
            time_up: passed == WaitOutcome::TimeUp && at_most_ns.is_none(),
            running,
        });
        self.write_said()?;
        self.keep_homes()
    }

    /// Lets time pass until a condition is met, a time limit is reached, or time must stop.
    fn pass(
        &mut self,
        is_over: impl Fn(&Session<'_>) -> bool,
        began_ns: u64,
        longest_ns: u64,
        stops: StopWish,
    ) -> Result<WaitOutcome, GuestError> {
        let end_ns = began_ns.saturating_add(longest_ns);
        let mut beats = 1;
        loop {
            if is_over(self) {
                return Ok(WaitOutcome::Done);
            }
            let now_ns = self.now_ns();
            if now_ns >= end_ns {
                return Ok(WaitOutcome::TimeUp);
            }
            if now_ns >= began_ns + beats * BEAT_NS {
                self.say(&Event::Beat { at_ns: now_ns });
                if stops == StopWish::Heard
                    && fs::remove_file(self.asked.folder.join("stop")).is_ok()
                {
                    return Ok(WaitOutcome::Stopped(beats * BEAT_NS));
                }
                beats += 1;
            }
            self.write_said()?;
            let wake_ns = end_ns.min(began_ns + beats * BEAT_NS);
            self.timer.set(self.zero_ns + wake_ns).context(waiting)?;
            let ready: Vec<u64> = self.poll.wait().context(waiting)?.collect();
            for token in ready {
                if token != TIMER {
                    self.read(token as usize)?;
                }
            }
        }
    }

    /// Reads a terminal's output.
    fn read(&mut self, index: usize) -> Result<(), GuestError> {
        let at_ns = self.now_ns();
        let most = self.asked.most_output_bytes;
        let terminal = &mut self.terminals[index];
        let mut events = Vec::new();
        terminal.read(at_ns, most, &mut events)?;
        for event in events {
            self.say(&event);
        }
        if self.said.len() > WRITTEN_BYTES {
            self.write_said()?;
        }
        Ok(())
    }

    /// The terminal at a place; opens a new one and waits for its prompt if there is none.
    fn terminal(&mut self, place: TerminalPlace, names: &[String]) -> Result<usize, GuestError> {
        let same = |terminal: &Terminal| terminal.place == place && terminal.state != State::Closed;
        if let Some(index) = self.terminals.iter().position(same) {
            return Ok(index);
        }
        let host = names.get(place.host);
        let host = host.ok_or_else(|| GuestError::Job(format!("no host {}", place.host)))?;
        let terminal = Terminal::open(place, host, self.asked, &self.logins)?;
        let index = self.terminals.len();
        self.poll
            .add(terminal.ours(), index as u64)
            .context(waiting)?;
        self.terminals.push(terminal);
        let is_over = |session: &Session<'_>| !session.terminals[index].is_busy();
        let passed = self.pass(is_over, self.now_ns(), STARTING_NS, StopWish::Left)?;
        if passed != WaitOutcome::Done {
            let shell = self.asked.shell.join(" ");
            return Err(GuestError::Internal(format!(
                "{shell} shows no prompt at {host}"
            )));
        }
        Ok(index)
    }

    fn now_ns(&self) -> u64 {
        let now_ns = sys::monotonic_ns() - self.zero_ns;
        self.last_ns.set(now_ns);
        now_ns
    }

    /// Copies the homes to the machine.
    fn keep_homes(&mut self) -> Result<(), GuestError> {
        let wall_ns = self.last_ns.get() + self.wall_ahead_ns;
        self.logins.keep_homes(Duration::from_nanos(wall_ns))
    }

    /// Reports incomplete lines.
    fn flush_lines(&mut self) {
        let at_ns = self.last_ns.get();
        let mut events = Vec::new();
        for terminal in &mut self.terminals {
            terminal.flush(at_ns, &mut events);
        }
        for event in events {
            self.say(&event);
        }
    }

    fn say(&mut self, event: &Event) {
        let text = serde_json::to_string(event).expect("it has no maps");
        self.said.extend_from_slice(text.as_bytes());
        self.said.push(b'\n');
    }

    /// Closing the file writes it.
    fn write_said(&mut self) -> Result<(), GuestError> {
        if self.said.is_empty() {
            return Ok(());
        }
        let what = || "telling what happened".to_owned();
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.said_file);
        file.context(what)?.write_all(&self.said).context(what)?;
        self.said.clear();
        Ok(())
    }
}
