//! Enters a host and executes a program: `dumbbell-guest enter WANTED PROGRAM ARGUMENTS`.

use crate::sys;
use rustix::process::{Resource, Rlimit, ioctl_tiocsctty, setrlimit, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// The subcommand.
pub const WORD: &str = "enter";
/// Exit status of a shell for a missing program, and for one that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;
const FAILED: u8 = 125;

/// The target and its parameters.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EnterRequest {
    /// Process whose namespaces are entered; the PID namespace was entered by the caller.
    pub first_process: u32,
    /// Controlling terminal of the program.
    pub terminal: Option<String>,
    /// Size limit of files that it writes.
    pub most_file_bytes: u64,
    /// Whether it yields to every woken process.
    pub gives_way: bool,
}

/// Executes the subcommand; returns only on failure.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let [wanted, program, rest @ ..] = arguments else {
        eprintln!("dumbbell-guest enter WANTED PROGRAM ARGUMENTS");
        return ExitCode::from(FAILED);
    };
    let wanted = wanted.to_str().map(serde_json::from_str::<EnterRequest>);
    let Some(Ok(wanted)) = wanted else {
        eprintln!("dumbbell-guest enter: no JSON that is understood");
        return ExitCode::from(FAILED);
    };
    if let Err(error) = go(&wanted) {
        eprintln!("dumbbell-guest: cannot go to the host: {error}");
        return ExitCode::from(FAILED);
    }
    let error = Command::new(program).args(rest).exec();
    let name = program.display();
    if error.kind() == io::ErrorKind::NotFound {
        eprintln!("{name}: command not found");
        return ExitCode::from(NOT_FOUND);
    }
    eprintln!("{name}: {error}");
    ExitCode::from(NOT_RUN)
}

fn go(wanted: &EnterRequest) -> io::Result<()> {
    let places = [
        ("uts", LinkNameSpaceType::HostNameAndNISDomainName),
        ("net", LinkNameSpaceType::Network),
        ("mnt", LinkNameSpaceType::Mount),
    ];
    // After the last namespace there is no `/proc` to find the others.
    let mut files = Vec::new();
    for (name, kind) in places {
        let path = format!("/proc/{}/ns/{name}", wanted.first_process);
        files.push((File::open(path)?, kind));
    }
    for (file, kind) in &files {
        move_into_link_name_space(file.as_fd(), Some(*kind))?;
    }
    setsid()?;
    if wanted.gives_way {
        sys::give_way()?;
    } else {
        // A kernel thread forwards its output to the terminal. A program that spins never ends its time
        // slice, because no time passes.
        sys::take_long_turns()?;
    }
    // Process 1 has been woken already and runs first.
    std::thread::yield_now();
    if let Some(path) = &wanted.terminal {
        let terminal = OpenOptions::new().read(true).write(true).open(path)?;
        ioctl_tiocsctty(&terminal)?;
        dup2_stdin(&terminal)?;
        dup2_stdout(&terminal)?;
        dup2_stderr(&terminal)?;
    }
    let most = Some(wanted.most_file_bytes);
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    setrlimit(Resource::Fsize, limit)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    std::env::set_current_dir(super::HOME)
}
