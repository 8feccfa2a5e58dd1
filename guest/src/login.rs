//! Hosts with a file system and processes, in which ordinary programs can run.
//!
//! A host of an experiment is a network namespace ([`crate::hosts`]). Here it also gets a host name, a root
//! file system and a process namespace.
//!
//! | what | how |
//! | --- | --- |
//! | host name | a UTS namespace |
//! | processes: `ps` and `killall` see those of the host | a PID namespace with our init process |
//! | `/usr`, `/bin`, `/lib`, tables of `/etc` | the machine's, as listed in the job; read-only, because the kernel itself cannot write them |
//! | `/etc/hosts`, `/etc/hostname`, `/etc/passwd`, ... | generated |
//! | `/root` (home), `/tmp`, `/var`, `/run`, `/dev/shm` | empty, in memory, limited in size |
//! | `/dev`, `/dev/pts`, `/proc`, `/sys` | the guest kernel's own, of this host |
//! | `sudo` | a script that runs its command: every user is root |
//!
//! ```text
//! let mut logins = Logins::new(&asked, &hosts)?;
//! let mut ping = logins.start(host, Start::new("ping-1", &words).output(file))?;
//! while ping.status()?.is_none() { ... }        // or ping.kill()
//! logins.keep_homes(now)?;                      // to the folder of the job
//! ```
//!
//! A program gets its own session and process group. Processes that it leaves end when `Logins` is dropped or
//! the guest ends: the init process of each host is killed, and with it all others. Limits: files by
//! `RLIMIT_FSIZE` ([`LoginSpec::most_file_bytes`]), homes by the size of their file system, virtual time by
//! the caller, wall time by whoever started the guest.

pub mod enter;
mod keep;
pub mod place;

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::sys;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The guest's own executable.
const OURSELVES: &str = "/proc/self/exe";
/// Home directory of root.
pub const HOME: &str = "/root";
/// Our own programs come first.
pub const PATH: &str =
    "/run/dumbbell/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The environment of every program; nothing is inherited from the machine.
const ENVIRONMENT: [(&str, &str); 9] = [
    ("HOME", HOME),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("LOGNAME", "root"),
    ("PATH", PATH),
    ("SHELL", "/bin/bash"),
    ("TERM", "dumb"),
    ("TZ", "UTC0"),
    ("USER", "root"),
];

/// The part of the job about such hosts.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSpec {
    /// Names of the hosts, in the order of the description.
    pub names: Vec<String>,
    /// `/etc/hosts` of each.
    pub hosts_files: Vec<String>,
    /// Files and folders of the machine shown in every host at the same path; missing ones are skipped. The
    /// kernel can read no others.
    pub shown: Vec<PathBuf>,
    /// Folder of the machine to which homes are copied, one subfolder per host.
    pub homes: PathBuf,
    /// Size limit of each home, and of `/tmp`, bytes.
    pub home_bytes: u64,
    /// Size limit of any file written by a program, bytes; exceeding it sends SIGXFSZ.
    pub most_file_bytes: u64,
    /// Whether a program may start others. A program that spins would block process 1, because time stands
    /// still and Linux 6.12 never preempts it. If each program is alone, programs yield to every woken
    /// process. But a program that polls for the end of its child would then wait forever, because the child
    /// yields to it: so here process 1 has priority, and programs share the processor as usual.
    pub starts_others: bool,
}

/// Hosts ready for programs. All their processes end when it is dropped.
#[derive(Debug)]
pub struct Logins<'a> {
    asked: &'a LoginSpec,
    hosts: &'a Hosts,
    first: Vec<InitProcess>,
    own_processes: File,
    keeper: keep::Keeper,
    /// Process ids started; some have been waited for.
    started: RefCell<Vec<u32>>,
}

/// The init process of a host: it holds the namespaces and reaps orphans.
#[derive(Debug)]
struct InitProcess {
    child: Child,
    processes: File,
}

/// Parameters for starting a program.
#[derive(Debug)]
pub struct ProgramStart<'a> {
    name: &'a str,
    words: &'a [String],
    environment: Vec<(&'a str, &'a str)>,
    input: Stdio,
    output: Stdio,
    errors: Stdio,
    terminal: Option<&'a str>,
    most_file_bytes: Option<u64>,
}

impl<'a> ProgramStart<'a> {
    /// A program, found in [`PATH`], and its arguments; `name` is for messages. By default its input is empty
    /// and its output is discarded.
    pub fn new(name: &'a str, words: &'a [String]) -> ProgramStart<'a> {
        ProgramStart {
            name,
            words,
            environment: Vec::new(),
            input: Stdio::null(),
            output: Stdio::null(),
            errors: Stdio::null(),
            terminal: None,
            most_file_bytes: None,
        }
    }

    /// Overrides [`LoginSpec::most_file_bytes`].
    pub fn most_file_bytes(mut self, most: u64) -> ProgramStart<'a> {
        self.most_file_bytes = Some(most);
        self
    }

    /// Sets its standard input.
    pub fn input(mut self, from: impl Into<Stdio>) -> ProgramStart<'a> {
        self.input = from.into();
        self
    }

    /// Sets its standard output.
    pub fn output(mut self, to: impl Into<Stdio>) -> ProgramStart<'a> {
        self.output = to.into();
        self
    }

    /// Sets its standard error.
    pub fn errors(mut self, to: impl Into<Stdio>) -> ProgramStart<'a> {
        self.errors = to.into();
        self
    }

    /// Adds an environment variable.
    pub fn variable(mut self, name: &'a str, value: &'a str) -> ProgramStart<'a> {
        self.environment.push((name, value));
        self
    }

    /// Uses a terminal of the host (`/dev/pts/0`) for all three, as controlling terminal.
    pub fn terminal(mut self, path: &'a str) -> ProgramStart<'a> {
        self.terminal = Some(path);
        self
    }
}

impl<'a> Logins<'a> {
    /// Prepares all hosts. Call it from process 1, after their networks exist.
    pub fn new(asked: &'a LoginSpec, hosts: &'a Hosts) -> Result<Logins<'a>, GuestError> {
        if asked.starts_others {
            sys::go_first().context(|| "going before all programs".to_owned())?;
        }
        let own_processes = "/proc/self/ns/pid";
        let mut logins = Logins {
            asked,
            hosts,
            first: Vec::with_capacity(asked.names.len()),
            own_processes: File::open(own_processes)
                .context(|| format!("opening {own_processes}"))?,
            keeper: keep::Keeper::default(),
            started: RefCell::default(),
        };
        for host in 0..asked.names.len() {
            let first = logins.first_process(host)?;
            logins.first.push(first);
        }
        Ok(logins)
    }

    fn first_process(&self, host: usize) -> Result<InitProcess, GuestError> {
        let name = &self.asked.names[host];
        let what = || format!("making {name} a place to log in to");
        let wanted = place::HostRootSpec {
            name: name.clone(),
            hosts_file: self
                .asked
                .hosts_files
                .get(host)
                .cloned()
                .unwrap_or_default(),
            shown: self.asked.shown.clone(),
            home_bytes: self.asked.home_bytes,
        };
        self.hosts.enter(host)?;
        sys::loopback_up().context(what)?;
        sys::new_processes().context(what)?;
        let child = Command::new(OURSELVES)
            // Name shown by `ps`.
            .arg0("init")
            .arg(place::WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        sys::enter_processes(&self.own_processes).context(what)?;
        let mut child = child.context(what)?;
        let wanted = serde_json::to_vec(&wanted).expect("it has only texts and numbers");
        let mut input = child.stdin.take().expect("it was asked for");
        input.write_all(&wanted).context(what)?;
        drop(input);
        let mut said = String::new();
        // It closes its output when ready.
        let mut output = child.stdout.take().expect("it was asked for");
        output.read_to_string(&mut said).context(what)?;
        if said != place::READY {
            let _ = child.kill();
            let _ = child.wait();
            return Err(GuestError::Internal(format!("{}: {}", what(), said.trim())));
        }
        let path = format!("/proc/{}/ns/pid", child.id());
        let processes = File::open(&path).context(what)?;
        Ok(InitProcess { child, processes })
    }

    /// Starts a program in a host.
    ///
    /// A program that is missing or cannot be executed reports it on its standard error and exits with status
    /// 127, as in a shell.
    pub fn start(&self, host: usize, start: ProgramStart<'_>) -> Result<Program, GuestError> {
        let what = || format!("starting {}", start.name);
        let first = self.first.get(host);
        let first = first.ok_or_else(|| GuestError::Job(format!("no host {host}")))?;
        let wanted = enter::EnterRequest {
            first_process: first.child.id(),
            terminal: start.terminal.map(str::to_owned),
            most_file_bytes: start.most_file_bytes.unwrap_or(self.asked.most_file_bytes),
            gives_way: !self.asked.starts_others,
        };
        let mut command = Command::new(OURSELVES);
        command
            .arg(enter::WORD)
            .arg(serde_json::to_string(&wanted).expect("it has only texts and numbers"))
            .args(start.words)
            .env_clear()
            .envs(ENVIRONMENT)
            .envs(start.environment)
            .stdin(start.input)
            .stdout(start.output)
            .stderr(start.errors);
        sys::enter_processes(&first.processes).context(what)?;
        let child = command.spawn();
        sys::enter_processes(&self.own_processes).context(what)?;
        let child = child.context(what)?;
        self.started.borrow_mut().push(child.id());
        Ok(Program {
            name: start.name.to_owned(),
            child,
            ended: None,
        })
    }

    /// Opens a new terminal of a host. Returns our side, and its path in the host.
    pub fn open_terminal(&self, host: usize) -> Result<(File, String), GuestError> {
        let first = self.first.get(host);
        let first = first.ok_or_else(|| GuestError::Job(format!("no host {host}")))?;
        let path = format!("/proc/{}/root/dev/pts/ptmx", first.child.id());
        sys::new_terminal(&path).context(|| format!("opening a terminal of host {host}"))
    }

    /// Path of a host's root for process 1; `/root` there is its home.
    pub fn root(&self, host: usize) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.first[host].child.id()))
    }

    /// Copies the files and folders of the homes to the job's folder. Unchanged files are skipped, removed
    /// ones are deleted.
    ///
    /// `now` is the wall clock since 1970, because reading it takes virtual time.
    pub fn keep_homes(&mut self, now: Duration) -> Result<(), GuestError> {
        for (host, name) in self.asked.names.iter().enumerate() {
            let home = self.root(host).join(HOME.trim_start_matches('/'));
            let kept = self.asked.homes.join(name);
            let kept = self.keeper.mirror(&home, &kept, now);
            kept.context(|| format!("keeping the home of {name}"))?;
        }
        Ok(())
    }
}

impl Drop for Logins<'_> {
    fn drop(&mut self) {
        for first in &mut self.first {
            // Killing the init process of a PID namespace kills all its processes.
            let _ = first.child.kill();
        }
        // It ends when all others have been reaped, including those that we started.
        for pid in self.started.borrow().iter().filter_map(|pid| process(*pid)) {
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
        for first in &mut self.first {
            let _ = first.child.wait();
        }
    }
}

/// A started program. It continues when this is dropped, until its host ends.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    ended: Option<ExitStatus>,
}

impl Program {
    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Process id as seen by process 1.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Exit status; None while running.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, GuestError> {
        if self.ended.is_none() {
            let ended = self.child.try_wait();
            self.ended = ended.context(|| format!("waiting for {}", self.name))?;
        }
        Ok(self.ended)
    }

    /// Sends a signal to its process group.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_some() {
            return; // the pid may have been reused
        }
        let Some(pid) = process(self.child.id()) else {
            return;
        };
        // It may not have a group yet, or have ended.
        let _ = kill_process_group(pid, signal);
        let _ = kill_process(pid, signal);
    }

    /// Kills its process group and reaps it.
    pub fn kill(&mut self) -> Result<ExitStatus, GuestError> {
        self.signal(Signal::KILL);
        let ended = self
            .child
            .wait()
            .context(|| format!("ending {}", self.name))?;
        self.ended = Some(ended);
        Ok(ended)
    }
}

fn process(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// The last part of a file written by a program, as text for errors.
pub fn last_of(path: &Path, most_bytes: u64) -> String {
    use std::io::{Seek, SeekFrom};
    let mut last = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let length = file.seek(SeekFrom::End(0)).unwrap_or(0);
        // Errors are ignored: the readable part is returned.
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(most_bytes)));
        let _ = file.take(most_bytes).read_to_end(&mut last);
    }
    String::from_utf8_lossy(&last).trim().to_owned()
}
