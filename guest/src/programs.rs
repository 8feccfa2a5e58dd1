//! Programs of the machine in hosts of the experiment: servers, clients, captures, and what reads
//! their logs afterwards. Which command lines there are, the job says; here they are run, waited for,
//! and held to their bounds.
//!
//! Every program is reaped the instant it ends, by a descriptor that the loop waits for with the
//! sockets. One that ends with another status than it may ends the run, with its name and what it
//! printed last; so does one that has not ended long after the run. What spins without asking for the
//! time stops the guest's clock: whoever started the guest ends it by its limit of wall time, and finds
//! in [`UNDER_WAY`] who had not ended.

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

/// So much of what a program printed goes into an error.
const SAID_BYTES: u64 = 800;
/// Names of the programs under way, a line each, in the folder of the job.
const UNDER_WAY: &str = "under-way";
/// What is interrupted has so long to write what it has, then it is killed.
const GRACE: Duration = Duration::from_secs(10);
/// What reads logs afterwards may take so long.
const READING: Duration = Duration::from_secs(3600);

/// What the job says of programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramsSpec {
    /// Command lines, in the order in which those of one instant begin.
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
    /// The program as messages call it.
    pub tool: String,
    /// Where it is, and what one would type after it.
    pub words: Vec<String>,
    /// Index of the host.
    pub host: usize,
    /// File, in the folder of the job, for what it prints.
    pub output: String,
    /// Another one for its standard error; none for the same.
    pub errors: Option<String>,
    /// File there that it reads as its standard input.
    pub input: Option<String>,
    /// When it is started.
    pub when: When,
    /// Its instant.
    pub start_ns: u64,
    /// How it ends.
    pub ends: Ends,
    /// Statuses with which it may end, besides 0.
    pub may_exit: Vec<i32>,
    /// Bytes of any file that it writes.
    pub most_bytes: u64,
}

/// When a command line is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Before time zero.
    Before,
    /// At its instant.
    AtStart,
    /// When all others have ended.
    Afterwards,
}

/// How a command line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// When it has done what it was told.
    ByItself,
    /// By SIGINT when all those have ended.
    Interrupted,
}

/// What came of them.
#[derive(Debug)]
pub struct ProgramResults {
    /// When each command line began and how it ended.
    pub ended: Value,
    /// What the wall clock showed at the run's time zero.
    pub zero_wall_ns: u64,
}

/// One that was started.
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
    /// Makes the hosts ready, and starts what is to be there before time zero; none where the job has
    /// no programs.
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

    /// Those that are started while the run goes, with their instants.
    pub fn planned(&self) -> Vec<(usize, Time)> {
        let tasks = self.asked.tasks.iter().enumerate();
        let later = tasks.filter(|(_, task)| task.when == When::AtStart);
        later
            .map(|(index, task)| (index, Time::from_ns(task.start_ns)))
            .collect()
    }

    /// Starts one; the poll tells by its token when it has ended.
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

    /// Some have ended, by their tokens: they are reaped, and their statuses looked at.
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

    /// Whether one that ends by itself has not.
    pub fn are_running(&self) -> bool {
        let ends = |index: &usize| self.asked.tasks[*index].ends == Ends::ByItself;
        let mut running = self.running.iter();
        running.any(|(index, each)| each.ended.is_none() && ends(index))
    }

    /// Interrupts what is still there, runs what reads logs, and says when each began and how it
    /// ended, from time zero.
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

    /// What should have ended by itself and has not is a fault of its own.
    fn refuse_running(&self) -> Result<(), GuestError> {
        for (index, running) in &self.running {
            if running.ended.is_none() && self.asked.tasks[*index].ends == Ends::ByItself {
                return Err(self.failed(*index, "did not end: it hangs"));
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

    /// Writes who is under way, for whoever ends the guest by its limit of wall time.
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
    /// Waits for its end, so long at most.
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

/// Text for a console: what is no printable character is written as Rust would.
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
