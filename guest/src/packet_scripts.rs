//! Runs packetdrill scripts in sequence, each in a network namespace of its own.
//!
//! `dumbbell-guest packet-scripts JOB` runs as process 1 of the kernel. After each script its network is
//! removed, its processes are killed, files in `/tmp` removed, and parameters of kernel modules restored. The
//! outcome is written as a line of JSON to the job's output as soon as the script ends, so a script that
//! crashes the kernel affects no other.

use crate::error::{ErrorContext, GuestError};
use crate::{hosts, sys};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The subcommand.
pub const WORD: &str = "packet-scripts";

/// Polling interval for the end of a script, in virtual time.
const ASKED_EVERY: Duration = Duration::from_millis(20);
/// Bytes kept of a script's output.
const MOST_SAID_BYTES: u64 = 64 << 10;
/// Size limit of its assertion record; a larger one is not judged.
const MOST_RECORD_BYTES: u64 = 64 << 20;
/// Folder for the output of scripts.
const TEMPORARY: &str = "/tmp";
const SAID: &str = "/tmp/said";
/// packetdrill's record of fields and assertions.
const RECORD_PREFIX: &str = "code_";
/// Programs, and those of a system's administrator.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    /// packetdrill, built for this kernel.
    packetdrill: PathBuf,
    /// Arguments besides those of the guest.
    arguments: Vec<String>,
    /// Folders of scripts and their includes, and of the output.
    folders: Vec<PathBuf>,
    /// File that gets a line for each script; records are stored beside it.
    output: PathBuf,
    /// As of `ip link`; None for the kernel's default.
    gso_max_segs: Option<u32>,
    /// Whether the device accepts GSO packets.
    offloads: bool,
    /// Limit of virtual seconds per script.
    limit_s: u64,
    scripts: Vec<Script>,
}

/// A script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    /// Its number, for the host.
    index: usize,
    path: PathBuf,
}

/// The outcome of a script.
#[derive(Debug, Serialize)]
struct ScriptOutcome {
    index: usize,
    /// Exit status; None if a signal ended it.
    status: Option<i32>,
    signal: Option<i32>,
    /// Whether it was killed at the limit.
    timed_out: bool,
    /// Its output.
    said: String,
    /// File of its assertions, beside the output.
    record: Option<String>,
}

/// Runs the job in this file.
pub fn main(job: &OsStr) -> Result<(), GuestError> {
    let refused = |error: &dyn std::fmt::Display| GuestError::Job(format!("{job:?}: {error}"));
    let text = fs::read_to_string(job).map_err(|error| refused(&error))?;
    let job: Job = serde_json::from_str(&text).map_err(|error| refused(&error))?;
    hosts::mount_all()?;
    mount_devices()?;
    cover_temporary(&job.folders)?;
    let output = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&job.output);
    let mut output = output.context(|| format!("opening {}", job.output.display()))?;
    let parameters = Parameters::read();
    for script in &job.scripts {
        let ended = job.run(script)?;
        let line = serde_json::to_string(&ended).expect("it has only texts and numbers");
        writeln!(output, "{line}").context(|| "writing what came of a script".to_owned())?;
        parameters.write_back();
    }
    Ok(())
}

fn mount_devices() -> Result<(), GuestError> {
    sys::mount("devtmpfs", "/dev", "devtmpfs", false).context(|| "mounting /dev".to_owned())
}

/// Mounts an empty file system over `/tmp`, in which these folders stay visible.
fn cover_temporary(folders: &[PathBuf]) -> Result<(), GuestError> {
    let below = |path: &&PathBuf| path.starts_with(TEMPORARY) && *path != Path::new(TEMPORARY);
    let mut kept = Vec::new();
    for folder in folders.iter().filter(below) {
        let what = || format!("opening {}", folder.display());
        kept.push((folder, File::open(folder).context(what)?));
    }
    sys::mount("tmpfs", TEMPORARY, "tmpfs", false).context(|| "mounting /tmp".to_owned())?;
    for (folder, before) in kept {
        let what = || format!("showing {} again", folder.display());
        fs::create_dir_all(folder).context(what)?;
        let target = folder
            .to_str()
            .ok_or_else(|| GuestError::Job(format!("{} is no UTF-8", folder.display())))?;
        sys::mount(&sys::path_of(&before), target, "none", true).context(what)?;
    }
    Ok(())
}

/// Parameters of TCP modules, which are global.
struct Parameters(Vec<(PathBuf, Vec<u8>)>);

impl Parameters {
    fn read() -> Parameters {
        let mut found = Vec::new();
        for module in files_of(Path::new("/sys/module")) {
            let name = module.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with("tcp_") {
                continue;
            }
            for file in files_of(&module.join("parameters")) {
                if let Ok(value) = fs::read(&file) {
                    found.push((file, value));
                }
            }
        }
        Parameters(found)
    }

    /// Parameters that cannot be written cannot have changed.
    fn write_back(&self) {
        for (file, value) in &self.0 {
            let _ = fs::write(file, value);
        }
    }
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

impl Job {
    fn run(&self, script: &Script) -> Result<ScriptOutcome, GuestError> {
        let what = || format!("running {}", script.path.display());
        sys::new_network().context(what)?;
        sys::loopback_up().context(what)?;
        let said = File::create(SAID).context(what)?;
        let mut child = self.command(script, said).spawn().context(what)?;
        let (status, timed_out) = self.wait(&mut child).context(what)?;
        sys::kill_all_others();
        let said = read_some(Path::new(SAID), MOST_SAID_BYTES);
        let record = self.keep_record(script.index)?;
        clear_temporary(&self.folders);
        Ok(ScriptOutcome {
            index: script.index,
            status: status.code(),
            signal: status.signal(),
            timed_out,
            said: String::from_utf8_lossy(&said).into_owned(),
            record,
        })
    }

    fn command(&self, script: &Script, said: File) -> Command {
        let mut command = Command::new(&self.packetdrill);
        let folder = script.path.parent().unwrap_or(Path::new("/"));
        // The host judges the assertions.
        command.args(&self.arguments);
        command.arg("--code_command=:").arg(&script.path);
        command.current_dir(folder).env_clear().env("PATH", PATH);
        command.env(
            "DUMBBELL_OFFLOADS",
            if self.offloads { "on" } else { "off" },
        );
        if let Some(segments) = self.gso_max_segs {
            command.env("DUMBBELL_GSO_MAX_SEGS", segments.to_string());
        }
        command.stdin(Stdio::null()).process_group(0);
        if let Ok(same) = said.try_clone() {
            command.stdout(same);
        }
        command.stderr(said);
        command
    }

    /// Waits for the end. Returns the status, and whether it was killed.
    fn wait(&self, child: &mut Child) -> std::io::Result<(ExitStatus, bool)> {
        let end_ns = sys::monotonic_ns() + self.limit_s * 1_000_000_000;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((status, false));
            }
            if sys::monotonic_ns() >= end_ns {
                child.kill()?;
                return Ok((child.wait()?, true));
            }
            std::thread::sleep(ASKED_EVERY);
        }
    }

    /// Moves the assertion record next to the output. Returns its name there.
    fn keep_record(&self, index: usize) -> Result<Option<String>, GuestError> {
        let is_record = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(RECORD_PREFIX)
        };
        let Some(found) = files_of(Path::new(TEMPORARY)).into_iter().find(is_record) else {
            return Ok(None);
        };
        let name = format!("record-{index}");
        let folder = self.output.parent().unwrap_or(Path::new("/"));
        let content = read_some(&found, MOST_RECORD_BYTES);
        fs::write(folder.join(&name), content).context(|| format!("writing {name}"))?;
        Ok(Some(name))
    }
}

fn read_some(path: &Path, most_bytes: u64) -> Vec<u8> {
    let mut content = Vec::new();
    if let Ok(file) = File::open(path) {
        // Errors are ignored: the readable part is returned.
        let _ = file.take(most_bytes).read_to_end(&mut content);
    }
    content
}

/// Removes what a script has left in `/tmp`, except for visible folders.
fn clear_temporary(folders: &[PathBuf]) {
    for path in files_of(Path::new(TEMPORARY)) {
        let is_shown = folders.iter().any(|folder| folder.starts_with(&path));
        if !is_shown && fs::remove_file(&path).is_err() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
