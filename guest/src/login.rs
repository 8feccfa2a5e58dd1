//! Hosts as one logs in to them: programs of any kind find there what they expect of a machine.
//!
//! A host of an experiment is a network ([`crate::hosts`]). Here it gets the rest: a name, a root of
//! its own, processes of its own.
//!
//! | what | how |
//! | --- | --- |
//! | host name | a UTS namespace |
//! | processes: `ps` and `killall` see those of the host | a PID namespace, whose first process is ours |
//! | `/usr`, `/bin`, `/lib`, tables of `/etc` | the host machine's, as far as the job names them; they cannot be written to, since the kernel itself cannot |
//! | `/etc/hosts`, `/etc/hostname`, `/etc/passwd`, ... | written here |
//! | `/root` (home), `/tmp`, `/var`, `/run`, `/dev/shm` | empty, in memory, bounded |
//! | `/dev`, `/dev/pts`, `/proc`, `/sys` | the guest kernel's own, of this host |
//! | `sudo` | a small script that runs its command: everybody here is root |
//!
//! ```text
//! let mut logins = Logins::new(&asked, &hosts)?;
//! let mut ping = logins.start(host, Start::new("ping-1", &words).output(file))?;
//! while ping.status()?.is_none() { ... }        // or ping.kill()
//! logins.keep_homes(now)?;                      // to the folder of the job
//! ```
//!
//! A program gets a session and process group of its own. What it leaves behind ends when `Logins` is
//! dropped, or the guest ends: the first process of each host is killed, and with it all others there.
//! What a program may write is bounded: files by `RLIMIT_FSIZE` ([`LoginSpec::most_file_bytes`]), homes by
//! the size of their file system. It is bounded in virtual time by whoever started it, in wall time by
//! whoever started the guest.

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

/// The guest's own program, under whatever name it was started.
const OURSELVES: &str = "/proc/self/exe";
/// Where a user finds himself; he is root.
pub const HOME: &str = "/root";
/// Programs of ours come first.
pub const PATH: &str =
    "/run/dumbbell/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The environment of every program; nothing of the machine's gets in.
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

/// What the job says of hosts that one logs in to.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSpec {
    /// Names, in the order of the description's hosts.
    pub names: Vec<String>,
    /// `/etc/hosts` of each.
    pub hosts_files: Vec<String>,
    /// Files and folders of the machine that are seen in every host, at their places; what is not
    /// there is left out. The kernel can read no others.
    pub shown: Vec<PathBuf>,
    /// A folder of the machine: homes are kept there, each in a folder of the host's name.
    pub homes: PathBuf,
    /// Bytes of each home at most, and of `/tmp`.
    pub home_bytes: u64,
    /// Bytes of any file that a program writes, its output included; it is ended by SIGXFSZ.
    pub most_file_bytes: u64,
    /// Whether a program may start others. A program that computes without end would stand in the way of
    /// process 1, which is to tell of it: time stands still, so Linux 6.12 takes no processor away.
    /// Where each is alone, programs give way to whoever is woken. One that looks again and again
    /// whether its child has ended would wait for ever, for its child gives way to it: so there
    /// process 1 goes first, and programs share the processor as on any machine.
    pub starts_others: bool,
}

/// The hosts, ready for programs. All that runs in them ends when it is dropped.
#[derive(Debug)]
pub struct Logins<'a> {
    asked: &'a LoginSpec,
    hosts: &'a Hosts,
    first: Vec<InitProcess>,
    own_processes: File,
    keeper: keep::Keeper,
    /// What was started; some of them have been waited for.
    started: RefCell<Vec<u32>>,
}

/// The first process of a host: it holds the namespaces and reaps orphans.
#[derive(Debug)]
struct InitProcess {
    child: Child,
    processes: File,
}

/// A program to be started.
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
    /// A program, found in [`PATH`], and its arguments; `name` is what messages call it. It reads
    /// nothing, and what it prints is lost.
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

    /// Bytes of any file that it writes, in place of [`LoginSpec::most_file_bytes`].
    pub fn most_file_bytes(mut self, most: u64) -> ProgramStart<'a> {
        self.most_file_bytes = Some(most);
        self
    }

    /// Reads from there.
    pub fn input(mut self, from: impl Into<Stdio>) -> ProgramStart<'a> {
        self.input = from.into();
        self
    }

    /// Its standard output.
    pub fn output(mut self, to: impl Into<Stdio>) -> ProgramStart<'a> {
        self.output = to.into();
        self
    }

    /// Its standard error.
    pub fn errors(mut self, to: impl Into<Stdio>) -> ProgramStart<'a> {
        self.errors = to.into();
        self
    }

    /// One more variable of its environment.
    pub fn variable(mut self, name: &'a str, value: &'a str) -> ProgramStart<'a> {
        self.environment.push((name, value));
        self
    }

    /// All three are this terminal of the host (`/dev/pts/0`), which controls it.
    pub fn terminal(mut self, path: &'a str) -> ProgramStart<'a> {
        self.terminal = Some(path);
        self
    }
}

impl<'a> Logins<'a> {
    /// Makes all hosts ready. To be called by process 1, after their networks were made.
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
            // What `ps` shows of it.
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
        // It closes its output when it is ready.
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
    /// One that is not there, or cannot be run, says so on its standard error and ends with status
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

    /// Opens a new terminal of a host: our side of it, and its path there.
    pub fn open_terminal(&self, host: usize) -> Result<(File, String), GuestError> {
        let first = self.first.get(host);
        let first = first.ok_or_else(|| GuestError::Job(format!("no host {host}")))?;
        let path = format!("/proc/{}/root/dev/pts/ptmx", first.child.id());
        sys::new_terminal(&path).context(|| format!("opening a terminal of host {host}"))
    }

    /// Where a host's files are for process 1: `/root` is its home.
    pub fn root(&self, host: usize) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root", self.first[host].child.id()))
    }

    /// Copies what is in the homes to the folder of the job: files and folders, nothing else. What
    /// was copied before and has not changed is left alone, what is gone is removed.
    ///
    /// `now` is what the wall clock shows, since 1970: looking takes time here.
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
            // All processes of the namespace are killed with its first.
            let _ = first.child.kill();
        }
        // It ends when all others have been waited for: those that came from here by us.
        for pid in self.started.borrow().iter().filter_map(|pid| process(*pid)) {
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
        for first in &mut self.first {
            let _ = first.child.wait();
        }
    }
}

/// A program that was started. It goes on when this is dropped, until its host ends.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    ended: Option<ExitStatus>,
}

impl Program {
    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number, as process 1 sees it.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; none while it runs.
    pub fn status(&mut self) -> Result<Option<ExitStatus>, GuestError> {
        if self.ended.is_none() {
            let ended = self.child.try_wait();
            self.ended = ended.context(|| format!("waiting for {}", self.name))?;
        }
        Ok(self.ended)
    }

    /// Sends a signal to it and to what it started in its group.
    pub fn signal(&self, signal: Signal) {
        if self.ended.is_some() {
            return; // Its number may be somebody else's by now.
        }
        let Some(pid) = process(self.child.id()) else {
            return;
        };
        // It may not have a group yet, or have ended.
        let _ = kill_process_group(pid, signal);
        let _ = kill_process(pid, signal);
    }

    /// Kills it and its group, and reaps it.
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

/// The end of what a program has written to a file, as text: for errors.
pub fn last_of(path: &Path, most_bytes: u64) -> String {
    use std::io::{Seek, SeekFrom};
    let mut last = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let length = file.seek(SeekFrom::End(0)).unwrap_or(0);
        // What can be read is shown.
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(most_bytes)));
        let _ = file.take(most_bytes).read_to_end(&mut last);
    }
    String::from_utf8_lossy(&last).trim().to_owned()
}
