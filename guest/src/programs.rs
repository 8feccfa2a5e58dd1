//! Runs programs of the machine in hosts of the experiment: servers, clients, captures, and log readers
//! afterwards. The job has the command lines; here they are started, waited for, and limited.
//!
//! Every program is reaped as soon as it ends, via a pidfd in the event loop. A program that exits with an
//! unexpected status ends the run, with its name and last output; so does one that has not ended long after
//! the run. A program that spins without reading the clock stops virtual time: the caller then ends the guest
//! by its wall-time limit and finds the running programs in [`UNDER_WAY`].

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::job::Job;
use crate::login::{self, Logins, ProgramStart};
use crate::sys::{self, Poll};
use dumbbell_core::time::Time;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Bytes of a program's output quoted in an error.
const SAID_BYTES: u64 = 800;
/// File in the job's folder with the names of running programs, one per line.
const UNDER_WAY: &str = "under-way";
/// Time between SIGINT and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// Time limit of log readers.
const READING: Duration = Duration::from_secs(3600);

/// The part of the job about programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramsSpec {
    /// Command lines; those of one instant start in this order.
    pub tasks: Vec<Task>,
}

/// A command line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Name of the program in the description.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Name of the executable for messages.
    pub tool: String,
    /// Path and arguments.
    pub words: Vec<String>,
    /// Index of the host.
    pub host: usize,
    /// Output file in the job's folder.
    pub output: String,
    /// File for standard error; None for the output file.
    pub errors: Option<String>,
    /// Input file in the job's folder.
    pub input: Option<String>,
    /// When it starts.
    pub when: When,
    /// Start time.
    pub start_ns: u64,
    /// How it ends.
    pub ends: Ends,
    /// Allowed exit statuses besides 0.
    pub may_exit: Vec<i32>,
    /// Size limit of files that it writes, bytes.
    pub most_bytes: u64,
}

/// When a command line is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before time zero.
    Before,
    /// At its start time.
    AtStart,
    /// After all others have ended.
    Afterwards,
}

/// How a command line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// On its own.
    ByItself,
    /// By SIGINT after the others have ended.
    Interrupted,
}

/// Results of the programs.
#[derive(Debug)]
pub struct ProgramResults {
    /// Start and end of each command line.
    pub ended: Value,
    /// Wall clock at the run's time zero.
    pub zero_wall_ns: u64,
}

/// A running program.
#[derive(Debug)]
struct RunningProgram {
    program: login::Program,
    descriptor: OwnedFd,
    started_ns: u64,
    ended: Option<(u64, Option<i32>)>,
}

/// All of them.
pub struct Programs<'a> {
    asked: &'a ProgramsSpec,
    folder: &'a Path,
    logins: Logins<'a>,
    /// By task.
    running: BTreeMap<usize, RunningProgram>,
}

impl<'a> Programs<'a> {
    /// Prepares the hosts, and starts programs that start before time zero; None if the job has none.
    pub fn of_job(
        job: &'a Job,
        hosts: &'a Hosts,
        poll: &Poll,
        first_token: u64,
    ) -> Result<Option<Programs<'a>>, GuestError> {
        let (Some(asked), Some(login)) = (&job.programs, &job.login) else {
            return Ok(None);
        };
        let mut programs = Programs {
            asked,
            folder: &job.output,
            logins: Logins::new(login, hosts)?,
            running: BTreeMap::new(),
        };
        for (index, task) in asked.tasks.iter().enumerate() {
            if task.when == When::Before {
                programs.start(index, poll, first_token)?;
            }
        }
        Ok(Some(programs))
    }

    /// Tasks that start during the run, with their times.
    pub fn planned(&self) -> Vec<(usize, Time)> {
        let tasks = self.asked.tasks.iter().enumerate();
        let later = tasks.filter(|(_, task)| task.when == When::AtStart);
        later
            .map(|(index, task)| (index, Time::from_ns(task.start_ns)))
            .collect()
    }

    /// Starts a task; its end is reported by its token.
    pub fn start(&mut self, index: usize, poll: &Poll, first_token: u64) -> Result<(), GuestError> {
        let running = self.begin(index)?;
        poll.add(&running.descriptor, first_token + index as u64)
            .context(|| format!("waiting for {}", self.asked.tasks[index].name))?;
        self.running.insert(index, running);
        self.tell()
    }

    fn begin(&mut self, index: usize) -> Result<RunningProgram, GuestError> {
        let task = &self.asked.tasks[index];
        let what = || format!("starting {} of {}", task.words[0], task.name);
        let output = File::create(self.folder.join(&task.output)).context(what)?;
        let errors = match &task.errors {
            Some(name) => File::create(self.folder.join(name)).context(what)?,
            None => output.try_clone().context(what)?,
        };
        let mut start = ProgramStart::new(&task.name, &task.words)
            .output(output)
            .errors(errors)
            .most_file_bytes(task.most_bytes);
        if let Some(name) = &task.input {
            start = start.input(File::open(self.folder.join(name)).context(what)?);
        }
        let program = self.logins.start(task.host, start)?;
        let number = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
        let number =
            number.ok_or_else(|| GuestError::Internal(format!("{} has no number", task.name)))?;
        let descriptor = pidfd_open(number, PidfdFlags::empty());
        Ok(RunningProgram {
            program,
            descriptor: descriptor.map_err(std::io::Error::from).context(what)?,
            started_ns: sys::monotonic_ns(),
            ended: None,
        })
    }

    /// Reaps the programs with these tokens, and checks their exit statuses.
    pub fn have_ended(
        &mut self,
        ready: &[u64],
        poll: &Poll,
        first_token: u64,
    ) -> Result<(), GuestError> {
        let tasks = first_token..first_token + self.asked.tasks.len() as u64;
        let mut ended = ready.iter().filter(|token| tasks.contains(*token));
        ended.try_for_each(|token| self.has_ended((token - first_token) as usize, poll))
    }

    fn has_ended(&mut self, index: usize, poll: &Poll) -> Result<(), GuestError> {
        let Some(running) = self.running.get_mut(&index) else {
            return Ok(());
        };
        let Some(status) = running.program.status()? else {
            return Ok(());
        };
        if running.ended.is_none() {
            running.ended = Some((sys::monotonic_ns(), status.code()));
            poll.remove(&running.descriptor)
                .context(|| "leaving a program alone".to_owned())?;
            self.check(index, status)?;
            self.tell()?;
        }
        Ok(())
    }

    /// Whether a program that should end on its own is running.
    pub fn are_running(&self) -> bool {
        let ends = |index: &usize| self.asked.tasks[*index].ends == Ends::ByItself;
        let mut running = self.running.iter();
        running.any(|(index, each)| each.ended.is_none() && ends(index))
    }

    /// Interrupts the remaining programs, runs log readers, and returns start and end times from time zero.
    pub fn finish(mut self, zero_ns: u64) -> Result<ProgramResults, GuestError> {
        self.refuse_running()?;
        let left: Vec<usize> = self
            .running
            .iter()
            .filter(|(_, r)| r.ended.is_none())
            .map(|(i, _)| *i)
            .collect();
        for index in left {
            let running = self.running.get_mut(&index).expect("it is one of them");
            running.program.signal(Signal::INT);
            if running.wait(GRACE)?.is_none() {
                running.program.kill()?;
            }
            running.ended = Some((sys::monotonic_ns(), None));
        }
        for index in 0..self.asked.tasks.len() {
            if self.asked.tasks[index].when == When::Afterwards {
                let mut running = self.begin(index)?;
                let status = running.wait(READING)?;
                running.ended =
                    Some((sys::monotonic_ns(), status.and_then(|status| status.code())));
                self.running.insert(index, running);
                match status {
                    Some(status) => self.check(index, status)?,
                    None => return Err(self.failed(index, "did not end")),
                }
            }
        }
        let wall_ahead_ns = sys::wall_ahead_ns();
        let now = Duration::from_nanos(sys::monotonic_ns() + wall_ahead_ns);
        self.logins.keep_homes(now)?;
        let since = |ns: u64| ns as i64 - zero_ns as i64;
        let told = self.running.iter().map(|(index, running)| {
            let (ended_ns, status) = running.ended.expect("all have ended");
            json!({
                "task": index,
                "started_ns": since(running.started_ns),
                "ended_ns": since(ended_ns),
                "status": status,
            })
        });
        Ok(ProgramResults {
            ended: told.collect(),
            zero_wall_ns: zero_ns + wall_ahead_ns,
        })
    }

    /// Fails if a program that should have ended is still running.
    fn refuse_running(&self) -> Result<(), GuestError> {
        for (index, running) in &self.running {
            if running.ended.is_none() && self.asked.tasks[*index].ends == Ends::ByItself {
                return Err(self.failed(*index, "did not end"));
            }
        }
        Ok(())
    }

    fn check(&self, index: usize, status: ExitStatus) -> Result<(), GuestError> {
        use std::os::unix::process::ExitStatusExt;
        let task = &self.asked.tasks[index];
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(()),
            (Some(code), _) if task.may_exit.contains(&code) => Ok(()),
            (Some(127), _) => Err(self.failed(index, "is not there, or not shown to it")),
            (Some(code), _) => Err(self.failed(index, &format!("ended with status {code}"))),
            (None, Some(libc::SIGXFSZ)) => {
                let most = task.most_bytes;
                Err(self.failed(index, &format!("wrote more than {most} bytes to a file")))
            }
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                Err(self.failed(index, &format!("was ended by signal {signal}")))
            }
        }
    }

    fn failed(&self, index: usize, how: &str) -> GuestError {
        let task = &self.asked.tasks[index];
        let said = |name: &String| login::last_of(&self.folder.join(name), SAID_BYTES);
        let said = said(task.errors.as_ref().unwrap_or(&task.output));
        let said = match said.as_str() {
            "" => "it printed nothing".to_owned(),
            said => format!("it printed last: {}", printable(said)),
        };
        GuestError::Program {
            name: task.name.clone(),
            kind: task.kind.clone(),
            how: format!("{} {how}", task.tool),
            said,
        }
    }

    /// Writes the names of running programs, for whoever ends the guest by its wall-time limit.
    fn tell(&self) -> Result<(), GuestError> {
        let under_way = self.running.iter().filter(|(_, each)| each.ended.is_none());
        let lines = under_way.map(|(index, _)| {
            let task = &self.asked.tasks[*index];
            let line = json!({"name": task.name, "kind": task.kind, "output": task.output});
            format!("{line}\n")
        });
        let path: PathBuf = self.folder.join(UNDER_WAY);
        std::fs::write(path, lines.collect::<String>()).context(|| "saying who runs".to_owned())
    }
}

impl RunningProgram {
    /// Waits for its end, at most this long.
    fn wait(&mut self, most: Duration) -> Result<Option<ExitStatus>, GuestError> {
        let until = sys::monotonic_ns() + most.as_nanos() as u64;
        loop {
            if let Some(status) = self.program.status()? {
                return Ok(Some(status));
            }
            let left = until.saturating_sub(sys::monotonic_ns());
            if left == 0 {
                return Ok(None);
            }
            sys::wait_readable(&self.descriptor, Duration::from_nanos(left))
                .context(|| format!("waiting for {}", self.program.name()))?;
        }
    }
}

/// Escapes nonprintable characters for a console.
fn printable(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\n' => " | ".to_owned(),
        letter if letter.is_control() => letter.escape_default().to_string(),
        letter => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_prints_cannot_steer_a_terminal() {
        assert_eq!(printable("a\n\u{1b}[2Jb\u{7}"), "a | \\u{1b}[2Jb\\u{7}");
    }
}
