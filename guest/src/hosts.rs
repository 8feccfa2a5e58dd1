//! Hosts as network namespaces.

use crate::error::{ErrorContext, GuestError};
use crate::host_links::{Devices, HostLink, VethPair, host_requests, pair_requests};
use crate::job::{Setting, Step};
use crate::sys::{self, LoadedProgram, Socket};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The network namespace of this thread.
const NAMESPACE: &str = "/proc/self/ns/net";
/// `ETHTOOL_STSO` (linux/ethtool.h).
const TSO: u32 = 0x1f;
/// `ETHTOOL_SGSO`.
const GSO: u32 = 0x24;
/// `ETHTOOL_SGRO`.
const GRO: u32 = 0x2c;

/// The network namespaces, in the order of the description's hosts.
#[derive(Debug)]
pub struct Hosts {
    namespaces: Vec<File>,
    /// Route netlink in one more namespace, which has no devices but `lo`.
    elsewhere: Socket,
    devices: Devices,
    tools: RefCell<Tools>,
}

/// Programs that take lines, `tc` in effect.
#[derive(Debug)]
struct Tools {
    /// By which a program is loaded once; without it each start is a program of its own.
    library: Option<PathBuf>,
    /// By path: loaded, or None where that is not possible.
    loaded: HashMap<String, Option<LoadedProgram>>,
}

/// Arguments of `tc` for lines on its input.
const BATCH: [&str; 2] = ["-batch", "-"];

impl Tools {
    /// Runs lines in the network of this process. Returns whether they were all taken, and what was printed.
    fn run(&mut self, tool: &str, lines: &[u8]) -> io::Result<(bool, Vec<u8>)> {
        let loaded = match (self.loaded.get_mut(tool), &self.library) {
            (Some(known), _) => known,
            (None, Some(library)) => {
                let loaded = LoadedProgram::new(tool, &BATCH, library)?;
                self.loaded.entry(tool.to_owned()).or_insert(loaded)
            }
            (None, None) => &mut None,
        };
        match loaded {
            Some(loaded) => loaded.run(lines),
            None => sys::run_to_end(tool, &BATCH, lines),
        }
    }
}

/// Whether a device sends super-packets uncut, and merges what it receives.
#[derive(Debug, Clone, Copy)]
pub struct Offloads<'a> {
    /// Index of the host.
    pub host: usize,
    /// The device.
    pub device: &'a str,
    /// TSO and GSO. Without them and `gro` one packet stays one packet.
    pub tso: bool,
    /// GRO.
    pub gro: bool,
}

/// Mounts the file systems that process 1 needs. `/tmp` stays that of the host: the run's folder may be
/// there, which is the only writable one (`confine`).
pub fn mount_all() -> Result<(), GuestError> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")] {
        sys::mount(kind, target, kind, false).context(|| format!("mounting {target}"))?;
    }
    Ok(())
}

impl Hosts {
    /// Creates `count` namespaces with these values, and with those of each host.
    pub fn new(
        count: usize,
        settings: &[Setting],
        of_hosts: &[Vec<Setting>],
        tool_library: Option<&Path>,
    ) -> Result<Hosts, GuestError> {
        // Some settings are global and exist only in the first network namespace.
        for setting in settings {
            apply(setting)?;
        }
        // The first namespace has devices of its own (`ifb0`, `dummy0`).
        sys::new_network().context(|| "making a network".to_owned())?;
        let elsewhere = Socket::netlink().context(|| "opening a socket".to_owned())?;
        let mut namespaces = Vec::with_capacity(count);
        let mut fresh = FreshValues::default();
        for index in 0..count {
            let what = || format!("making the network of host {index}");
            sys::new_network().context(what)?;
            namespaces.push(File::open(NAMESPACE).context(what)?);
            let own = of_hosts.get(index).map_or(&[][..], Vec::as_slice);
            let is_common = |each: &&Setting| own.iter().all(|other| other.path != each.path);
            for setting in settings.iter().filter(is_common).chain(own) {
                fresh.apply(setting)?;
            }
        }
        Ok(Hosts {
            devices: Devices::new(count),
            namespaces,
            elsewhere,
            tools: RefCell::new(Tools {
                library: tool_library.map(Path::to_owned),
                loaded: HashMap::new(),
            }),
        })
    }

    /// Makes links, and then the other devices, addresses, neighbours and routes of each host.
    pub fn link(
        &mut self,
        pairs: &[VethPair],
        host_links: &[Vec<HostLink>],
    ) -> Result<(), GuestError> {
        let requests = pair_requests(pairs, &self.namespaces, &mut self.devices)?;
        requests.send(&self.elsewhere)?;
        for (host, links) in host_links.iter().enumerate() {
            let requests = host_requests(host, links, &mut self.devices)?;
            if !requests.is_empty() {
                self.enter(host)?;
                let socket = Socket::netlink().context(|| "opening a socket".to_owned())?;
                requests.send(&socket)?;
            }
        }
        Ok(())
    }

    /// The number of a device.
    pub fn device_number(&self, host: usize, name: &str) -> Result<u32, GuestError> {
        self.devices.number(host, name)
    }

    /// Enters a host: sockets opened from now on belong to it.
    pub fn enter(&self, host: usize) -> Result<(), GuestError> {
        let namespace = self.namespaces.get(host);
        let namespace = namespace.ok_or_else(|| GuestError::Job(format!("no host {host}")))?;
        sys::enter_network(namespace).context(|| format!("entering host {host}"))
    }

    /// Runs set-up lines in one process.
    pub fn run(&self, step: &Step) -> Result<(), GuestError> {
        self.enter(step.host)?;
        let text: String = step.lines.iter().map(|line| format!("{line}\n")).collect();
        let ran = self.tools.borrow_mut().run(&step.tool, text.as_bytes());
        let (is_done, said) = ran.context(|| format!("running {}", step.tool))?;
        if is_done {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        Err(GuestError::SetUp {
            tool: step.tool.clone(),
            host: step.host,
            line: refused_line(&said, &step.lines).to_owned(),
            said,
        })
    }

    /// Turns offloads of devices on or off.
    pub fn set_offloads(&self, offloads: &[Offloads<'_>]) -> Result<(), GuestError> {
        for host in 0..self.namespaces.len() {
            let of_host: Vec<_> = offloads.iter().filter(|each| each.host == host).collect();
            if of_host.is_empty() {
                continue;
            }
            self.enter(host)?;
            let socket = Socket::netlink().context(|| "opening a socket".to_owned())?;
            for Offloads {
                device, tso, gro, ..
            } in of_host
            {
                // TCP also builds sk_buffs of several segments without GSO (`sk_setup_caps`).
                for (command, is_on) in [(TSO, *tso), (GSO, *tso), (GRO, *gro)] {
                    match sys::set_offload(&socket, device, command, is_on) {
                        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                        other => other.context(|| format!("switching an offload of {device}"))?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// The line at which a batch stopped: `Command failed -:3` means the third.
fn refused_line<'a>(said: &str, lines: &'a [String]) -> &'a str {
    let number = said.rsplit_once("-:").map(|(_, after)| after.trim());
    let number: Option<usize> = number.and_then(|number| number.parse().ok());
    let line = number.and_then(|number| lines.get(number.checked_sub(1)?));
    line.map_or("", String::as_str)
}

/// Sets a value, unless its file is missing. Returns whether it is there.
fn apply(setting: &Setting) -> Result<bool, GuestError> {
    let what = || format!("setting {}", setting.path);
    match File::options().write(true).open(path(setting)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).context(what),
        Ok(mut file) => {
            file.write_all(setting.value.as_bytes()).context(what)?;
            Ok(true)
        }
    }
}

fn path(setting: &Setting) -> PathBuf {
    Path::new("/proc/sys").join(&setting.path)
}

/// The values of a new network namespace, from the first host on: those that another host would set to what
/// they are need no call.
#[derive(Debug, Default)]
struct FreshValues(HashMap<String, Option<String>>);

impl FreshValues {
    /// Sets a value of a host whose namespace is new.
    fn apply(&mut self, setting: &Setting) -> Result<(), GuestError> {
        let value = match self.0.get(&setting.path) {
            Some(value) => value,
            None => {
                let what = || format!("reading {}", setting.path);
                let value = read_value(&path(setting)).context(what)?;
                self.0.entry(setting.path.clone()).or_insert(value)
            }
        };
        match value {
            None => Ok(()),
            Some(value)
                if value
                    .split_whitespace()
                    .eq(setting.value.split_whitespace()) =>
            {
                Ok(())
            }
            Some(_) => apply(setting).map(drop),
        }
    }
}

/// The text of a file under `/proc/sys`, at most a page; None if it is missing.
fn read_value(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut bytes = [0; 1 << 12];
    let length = file.read(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes[..length]).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &Path, value: &str) -> Setting {
        Setting {
            path: path.to_str().unwrap().to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn only_values_that_differ_from_those_of_a_new_namespace_are_set() {
        let folder = std::env::temp_dir().join(format!("fresh-values-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (same, other, missing) = (folder.join("a"), folder.join("b"), folder.join("c"));
        std::fs::write(&same, "4096\t131072\n").unwrap();
        std::fs::write(&other, "0\n").unwrap();
        let mut fresh = FreshValues::default();
        fresh.apply(&set(&same, "4096 131072")).unwrap();
        fresh.apply(&set(&other, "1")).unwrap();
        fresh.apply(&set(&missing, "1")).unwrap();
        assert_eq!(std::fs::read_to_string(&same).unwrap(), "4096\t131072\n");
        assert!(std::fs::read_to_string(&other).unwrap().starts_with('1'));
        assert!(!missing.exists());
        // The next host's has the value of a new namespace again, which is not read.
        std::fs::remove_file(&same).unwrap();
        fresh.apply(&set(&same, "4096 131072")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_refused_line_is_found_by_its_number() {
        let lines = ["qdisc add".to_owned(), "qdisc del".to_owned()];
        assert_eq!(
            refused_line("Error.\nCommand failed -:2", &lines),
            "qdisc del"
        );
        assert_eq!(refused_line("Command failed -:3", &lines), "");
    }
}
