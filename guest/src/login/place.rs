//! The init process of a host with a file system: it sets up the namespaces, and stays.
//!
//! `dumbbell-guest place` runs as the first process of a PID namespace, in the host's network. It reads its
//! parameters ([`HostRootSpec`]) as JSON. Orphans of the host become its children; it ignores SIGCHLD, so
//! they need not be waited for.

use super::HOME;
use crate::sys;
use rustix::fs::Mode;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::process::{pivot_root, umask};
use rustix::system::sethostname;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand.
pub const WORD: &str = "place";
/// Printed when the host is ready; any other text is an error.
pub const READY: &str = "ready";

/// Mount point of the new root; private to this process.
const NEW: &str = "/run/place";
const OLD: &str = "before";
const SUDO: &str = "run/dumbbell/bin/sudo";
/// Every user is root, so commands are executed as they are.
const SUDO_SCRIPT: &str = r#"#!/bin/sh
# In a host of dumbbell everybody is root: sudo runs its command.
while [ $# -gt 0 ]; do
  case "$1" in
    -u|-g|-U|-h|-p|-C|-T|-R|-D) [ $# -gt 1 ] && shift; shift ;;
    -i|-s) shift; [ $# -gt 0 ] || exec "${SHELL:-/bin/sh}" ;;
    --) shift; break ;;
    -l|-v|-k|-K) exit 0 ;;
    -*) shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || { echo "usage: sudo COMMAND" >&2; exit 1; }
exec env "$@"
"#;
const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
tcpdump:x:105:105::/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
";
const GROUP: &str = "root:x:0:
daemon:x:1:
tty:x:5:
tcpdump:x:105:
nogroup:x:65534:
";
const NAMES_FROM: &str = "passwd: files
group: files
shadow: files
hosts: files
networks: files
protocols: files
services: files
ethers: files
rpc: files
";
const NO_NAME_SERVER: &str = "# No name server: names are those of /etc/hosts.\n";

/// Parameters of the host's root.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HostRootSpec {
    /// The host's name.
    pub name: String,
    /// Its `/etc/hosts`.
    pub hosts_file: String,
    /// Files and folders of the machine to show.
    pub shown: Vec<PathBuf>,
    /// Size limit of the home, bytes.
    pub home_bytes: u64,
}

/// An operation and the error of its system call.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
struct PlaceError {
    what: String,
    source: io::Error,
}

trait ErrorContext<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, PlaceError>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, PlaceError> {
        self.map_err(|error| PlaceError {
            what: what(),
            source: error.into(),
        })
    }
}

/// Sets up the host, reports it, and stays until killed.
pub fn main() -> ExitCode {
    let Ok(wanted) = serde_json::from_reader::<_, HostRootSpec>(io::stdin()) else {
        println!("dumbbell-guest place: no JSON that is understood");
        return ExitCode::FAILURE;
    };
    if let Err(error) = make(&wanted) {
        println!("{error}");
        return ExitCode::FAILURE;
    }
    let said = write!(io::stdout(), "{READY}").and_then(|()| io::stdout().flush());
    // The caller waits for the end of the output.
    if said.and_then(|()| sys::close_output()).is_err() {
        return ExitCode::FAILURE;
    }
    loop {
        std::thread::park();
    }
}

fn make(wanted: &HostRootSpec) -> Result<(), PlaceError> {
    sys::ignore_children().context(|| "leaving children to the kernel".to_owned())?;
    sys::new_mounts_and_name().context(|| "making namespaces".to_owned())?;
    sethostname(wanted.name.as_bytes()).context(|| format!("naming the host {}", wanted.name))?;
    umask(Mode::from_raw_mode(0o022));
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).context(|| "keeping mounts to this host".to_owned())?;
    let new = Path::new(NEW);
    fs::create_dir_all(new).context(|| format!("making {NEW}"))?;
    in_memory(new, "mode=0755,size=16m")?;
    for path in &wanted.shown {
        show(path, new)?;
    }
    write_files(wanted, new)?;
    for (folder, options) in [
        ("root", format!("mode=0700,size={}", wanted.home_bytes)),
        ("tmp", format!("mode=1777,size={}", wanted.home_bytes)),
        ("var", "mode=0755,size=64m".to_owned()),
    ] {
        make_folder(&new.join(folder))?;
        in_memory(&new.join(folder), &options)?;
    }
    for folder in [
        "var/tmp",
        "var/lib",
        "var/log",
        "var/cache",
        "run/lock",
        "home",
        "mnt",
        "proc",
        "sys",
    ] {
        make_folder(&new.join(folder))?;
    }
    link("/run", &new.join("var/run"))?;
    own("proc", "proc", &new.join("proc"), "")?;
    own("sysfs", "sysfs", &new.join("sys"), "")?;
    devices(&new.join("dev"))?;
    let old = new.join(OLD);
    make_folder(&old)?;
    pivot_root(new, &old).context(|| "changing the root".to_owned())?;
    let what = || "leaving the old root".to_owned();
    std::env::set_current_dir("/").context(what)?;
    let old = Path::new("/").join(OLD);
    unmount(&old, UnmountFlags::DETACH).context(what)?;
    fs::remove_dir(&old).context(what)?;
    std::env::set_current_dir(HOME).context(what)
}

/// Shows a file or folder of the machine at its path in the new root; links are recreated.
fn show(path: &Path, new: &Path) -> Result<(), PlaceError> {
    let Ok(kind) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let place = new.join(path.strip_prefix("/").unwrap_or(path));
    if place.symlink_metadata().is_ok() {
        return Ok(());
    }
    if let Some(folder) = place.parent() {
        make_folder(folder)?;
    }
    if kind.is_symlink() {
        let what = || format!("reading the link {}", path.display());
        let target = fs::read_link(path).context(what)?;
        return link(&target, &place);
    }
    if kind.is_dir() {
        make_folder(&place)?;
    } else {
        File::create(&place).context(|| format!("making {}", place.display()))?;
    }
    mount_bind(path, &place).context(|| format!("showing {}", path.display()))
}

fn write_files(wanted: &HostRootSpec, new: &Path) -> Result<(), PlaceError> {
    let name = format!("{}\n", wanted.name);
    for (place, text) in [
        ("etc/hosts", wanted.hosts_file.as_str()),
        ("etc/hostname", &name),
        ("etc/passwd", PASSWD),
        ("etc/group", GROUP),
        ("etc/nsswitch.conf", NAMES_FROM),
        ("etc/resolv.conf", NO_NAME_SERVER),
        (SUDO, SUDO_SCRIPT),
    ] {
        let place = new.join(place);
        let what = || format!("writing {}", place.display());
        make_folder(place.parent().unwrap_or(new))?;
        fs::write(&place, text).context(what)?;
    }
    let sudo = new.join(SUDO);
    fs::set_permissions(&sudo, fs::Permissions::from_mode(0o755))
        .context(|| format!("making {} a program", sudo.display()))
}

/// Device nodes of this kernel, and the host's terminals.
fn devices(dev: &Path) -> Result<(), PlaceError> {
    make_folder(dev)?;
    in_memory(dev, "mode=0755,size=1m")?;
    // devtmpfs is shared by all hosts, so its nodes are bind-mounted individually.
    let all = Path::new("/run/devices");
    make_folder(all)?;
    own("devtmpfs", "devtmpfs", all, "")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let place = dev.join(name);
        File::create(&place).context(|| format!("making {}", place.display()))?;
        mount_bind(all.join(name), &place).context(|| format!("showing {name}"))?;
    }
    let tunnels = all.join("net/tun");
    if tunnels.exists() {
        make_folder(&dev.join("net"))?;
        File::create(dev.join("net/tun")).context(|| "making net/tun".to_owned())?;
        mount_bind(&tunnels, dev.join("net/tun")).context(|| "showing net/tun".to_owned())?;
    }
    for folder in ["pts", "shm"] {
        make_folder(&dev.join(folder))?;
    }
    let terminals = "newinstance,ptmxmode=0666,mode=0620,gid=5";
    own("devpts", "devpts", &dev.join("pts"), terminals)?;
    in_memory(&dev.join("shm"), "mode=1777,size=64m")?;
    for (target, name) in [
        ("pts/ptmx", "ptmx"),
        ("/proc/self/fd", "fd"),
        ("/proc/self/fd/0", "stdin"),
        ("/proc/self/fd/1", "stdout"),
        ("/proc/self/fd/2", "stderr"),
    ] {
        link(target, &dev.join(name))?;
    }
    Ok(())
}

fn in_memory(place: &Path, options: &str) -> Result<(), PlaceError> {
    own("tmpfs", "tmpfs", place, options)
}

fn own(source: &str, kind: &str, place: &Path, options: &str) -> Result<(), PlaceError> {
    let options = CString::new(options).expect("no zero byte");
    let flags = MountFlags::empty();
    mount(source, place, kind, flags, options.as_c_str())
        .context(|| format!("mounting {}", place.display()))
}

fn make_folder(place: &Path) -> Result<(), PlaceError> {
    fs::create_dir_all(place).context(|| format!("making {}", place.display()))
}

fn link(target: impl AsRef<Path>, place: &Path) -> Result<(), PlaceError> {
    symlink(target, place).context(|| format!("laying {}", place.display()))
}
