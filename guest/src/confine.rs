//! Confines a kernel, which is an ordinary process of the host, to the files that it needs.
//!
//! A guest's files are those of the host (hostfs), and root in the guest can mount all of them again. So
//! access is restricted here, on the host, before the kernel starts: `dumbbell-guest confine WANTED PROGRAM
//! ARGUMENTS` restricts itself and executes the program. `WANTED` is JSON, see [`ConfinementRequest`].
//! `dumbbell-guest confine ask` prints what this machine supports.

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

/// The subcommand.
pub const WORD: &str = "confine";
const ASK: &str = "ask";

/// The one device that the kernel opens for its consoles.
const NULL: &str = "/dev/null";
/// The kernel tests on a new terminal whether the host signals input.
const TERMINALS: &str = "/dev/ptmx";
const TERMINALS_FOLDER: &str = "/dev/pts";
/// The memory map of the process. Process 1 of a guest reads it before it has mounted its own `/proc` (Rust's
/// runtime asks glibc for the stack). If refused, it allocates differently, and runs differ from those of an
/// unconfined guest.
const ITS_MEMORY: &str = "/proc/self/maps";
/// The kernel reads the processor's features.
const PROCESSOR: &str = "/proc/cpuinfo";

/// How a process is confined to its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementMethod {
    /// Landlock rules on the process (landlock(7)), plus refused system calls, because Landlock does not
    /// cover owners, modes and time stamps.
    Landlock,
    /// A root file system of its own with only these files (mount_namespaces(7)).
    MountNamespace,
    /// No confinement.
    Nothing,
}

/// A confinement request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfinementRequest {
    means: ConfinementMethod,
    /// Readable files and folders, recursively. Missing ones are skipped.
    readable: Vec<PathBuf>,
    /// The only writable folder.
    folder: PathBuf,
    /// A descriptor for the error message; closed when the program starts.
    #[serde(default)]
    failure_fd: Option<i32>,
    /// Limits Landlock to this version, for tests of older hosts.
    #[serde(default)]
    landlock_version: Option<u8>,
}

/// The first method that works on this machine.
#[derive(Debug, Serialize)]
struct ConfinementOffer {
    means: ConfinementMethod,
    /// Its version of Landlock.
    landlock_version: Option<u8>,
    /// Why earlier methods do not work.
    refused: Vec<MethodRefusal>,
}

#[derive(Debug, Serialize)]
struct MethodRefusal {
    means: ConfinementMethod,
    why: String,
}

/// Why a program is not confined or not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The arguments are not those that `launch` gives.
    #[error("dumbbell-guest confine ask, or: confine WANTED PROGRAM ARGUMENTS ({0})")]
    Arguments(String),
    /// The host does not support Landlock.
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
        /// The operation.
        what: String,
        /// The error of the system call.
        source: io::Error,
    },
}

/// Executes the subcommand; returns only on failure.
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
        // The reader may have gone.
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

/// Tries each method on this process. A refused method leaves the process unchanged, except for private
/// namespaces.
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
