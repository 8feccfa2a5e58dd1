//! Holds a kernel, seen from the host a process like any other, to the files that it needs.
//!
//! A guest's files are the host's (hostfs), and whoever is root inside can mount all of them again.
//! So what it may read and write is decided here, on the host, before the kernel begins:
//! `dumbbell-guest confine WANTED PROGRAM ARGUMENTS` restricts itself and becomes the program.
//! `WANTED` is JSON, see [`ConfinementRequest`]. `dumbbell-guest confine ask` says what this machine offers.

mod calls;
mod capabilities;
mod landlock;
mod namespace;

pub use landlock::Version;

use crate::sys;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The first argument that leads here.
pub const WORD: &str = "confine";
const ASK: &str = "ask";

/// The one device that the kernel opens for its consoles.
const NULL: &str = "/dev/null";
/// It tries on a new terminal whether the host tells it when there is something to read.
const TERMINALS: &str = "/dev/ptmx";
const TERMINALS_FOLDER: &str = "/dev/pts";
/// The memory of the process itself, which is the kernel's. Process 1 of a guest looks into it
/// before it has mounted a `/proc` of its own (Rust's runtime asks glibc for the stack); refused
/// this, it allocates otherwise, and runs differ from those of a guest that is not confined.
const ITS_MEMORY: &str = "/proc/self/maps";
/// It looks up what the processor can do.
const PROCESSOR: &str = "/proc/cpuinfo";

/// By what a process is held to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementMethod {
    /// Rules on the process (landlock(7)) and refused system calls, since those rules know nothing
    /// of owners, modes and stamps.
    Landlock,
    /// A root of its own in which there is nothing else (mount_namespaces(7)).
    MountNamespace,
    /// Nothing: it reads and writes whatever its user may.
    Nothing,
}

/// How a program is to be confined.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfinementRequest {
    means: ConfinementMethod,
    /// Files, and folders with all that is in them. What is not there is left out.
    readable: Vec<PathBuf>,
    /// The one folder for reading and writing.
    folder: PathBuf,
    /// A descriptor to which is written why it fails; it is closed when the program begins.
    #[serde(default)]
    failure_fd: Option<i32>,
    /// As if the host had no later version of Landlock: for tests of older hosts.
    #[serde(default)]
    landlock_version: Option<u8>,
}

/// What this machine offers, the first that works.
#[derive(Debug, Serialize)]
struct ConfinementOffer {
    means: ConfinementMethod,
    /// Which version of Landlock.
    landlock_version: Option<u8>,
    /// Why the means before it do not work.
    refused: Vec<MethodRefusal>,
}

#[derive(Debug, Serialize)]
struct MethodRefusal {
    means: ConfinementMethod,
    why: String,
}

/// Why a program is not confined, or not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The arguments are not those that `launch` gives.
    #[error("dumbbell-guest confine ask, or: confine WANTED PROGRAM ARGUMENTS ({0})")]
    Arguments(String),
    /// The host has no Landlock.
    #[error("this kernel has no Landlock, or it is not switched on (lsm=landlock)")]
    NoLandlock,
    /// Landlock refused the rules.
    #[error("Landlock: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// The filter of system calls was refused.
    #[error("seccomp: {0}")]
    Calls(#[from] seccompiler::Error),
    /// The host refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: String,
        /// What it said.
        source: io::Error,
    },
}

/// Does what the arguments after [`WORD`] ask for; returns only when there is no program to become.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match arguments {
        [word] if word == ASK => {
            let text = serde_json::to_string(&offer()).expect("it has no maps");
            println!("{text}");
            ExitCode::SUCCESS
        }
        _ => {
            let Err(error) = become_program(arguments);
            eprintln!("dumbbell-guest: cannot run confined: {error}");
            ExitCode::FAILURE
        }
    }
}

fn become_program(arguments: &[OsString]) -> Result<std::convert::Infallible, ConfineError> {
    let [wanted, program, rest @ ..] = arguments else {
        return Err(ConfineError::Arguments("too few arguments".to_owned()));
    };
    let wanted = wanted
        .to_str()
        .map(serde_json::from_str::<ConfinementRequest>);
    let wanted = wanted.ok_or_else(|| ConfineError::Arguments("not UTF-8".to_owned()))?;
    let wanted = wanted.map_err(|error| ConfineError::Arguments(error.to_string()))?;
    let failure = wanted.failure_fd.map(sys::inherited).transpose();
    let failure = failure.map_err(|error| ConfineError::Arguments(error.to_string()))?;
    let error = match restrict(&wanted) {
        Ok(()) => ConfineError::System {
            what: format!("{}: cannot be started", program.display()),
            source: Command::new(program).args(rest).exec(),
        },
        Err(error) => error,
    };
    if let Some(mut failure) = failure {
        // Nobody may be left to read it.
        let _ = write!(failure, "{error}");
    }
    Err(error)
}

fn restrict(wanted: &ConfinementRequest) -> Result<(), ConfineError> {
    let mut cuts_off = false;
    match wanted.means {
        ConfinementMethod::Nothing => return Ok(()),
        ConfinementMethod::Landlock => {
            let most = wanted
                .landlock_version
                .map_or(Version::LATEST, Version::new);
            let version = landlock::restrict(&wanted.readable, &wanted.folder, most)?;
            cuts_off = !version.forbids_cutting_off();
        }
        ConfinementMethod::MountNamespace => namespace::restrict(&wanted.readable, &wanted.folder)?,
    }
    capabilities::drop_all_but_reading()?;
    calls::refuse(cuts_off)
}

/// Tries each on this process: what is refused leaves it as it was, but for namespaces that it
/// is alone in.
fn offer() -> ConfinementOffer {
    let mut refused = Vec::new();
    let mut not = |means, error: ConfineError| {
        let why = error.to_string();
        refused.push(MethodRefusal { means, why });
    };
    let here = std::env::temp_dir();
    match landlock::restrict(&[], &here, Version::LATEST) {
        Ok(version) => {
            return ConfinementOffer {
                means: ConfinementMethod::Landlock,
                landlock_version: Some(version.number()),
                refused,
            };
        }
        Err(error) => not(ConfinementMethod::Landlock, error),
    }
    let means = match namespace::restrict(&[], &here) {
        Ok(()) => ConfinementMethod::MountNamespace,
        Err(error) => {
            not(ConfinementMethod::MountNamespace, error);
            ConfinementMethod::Nothing
        }
    };
    ConfinementOffer {
        means,
        landlock_version: None,
        refused,
    }
}
