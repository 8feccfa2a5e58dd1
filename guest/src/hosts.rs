//! Hosts as network namespaces.

use crate::error::{ErrorContext, GuestError};
use crate::job::{Setting, Step};
use crate::sys::{self, Socket};
use std::fs::File;
use std::path::Path;

/// `ip` finds namespaces here by name.
const NAMED: &str = "/run/netns";
/// `ETHTOOL_STSO` (linux/ethtool.h).
const TSO: u32 = 0x1f;
/// `ETHTOOL_SGSO`.
const GSO: u32 = 0x24;
/// `ETHTOOL_SGRO`.
const GRO: u32 = 0x2c;

/// The network namespaces, in the order of the description's hosts.
#[derive(Debug)]
pub struct Hosts(Vec<File>);

/// Mounts the file systems that process 1 needs. `/tmp` stays that of the host: the run's folder may be
/// there, which is the only writable one (`confine`).
pub fn mount_all() -> Result<(), GuestError> {
    for (kind, target) in [("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")] {
        sys::mount(kind, target, kind, false).context(|| format!("mounting {target}"))?;
    }
    Ok(())
}

impl Hosts {
    /// Creates `count` namespaces, named `h0`, `h1`, ...
    pub fn new(count: usize, settings: &[Setting]) -> Result<Hosts, GuestError> {
        std::fs::create_dir_all(NAMED).context(|| format!("making {NAMED}"))?;
        // Some settings are global and exist only in the first network namespace.
        for setting in settings {
            apply(setting)?;
        }
        let mut hosts = Vec::with_capacity(count);
        for index in 0..count {
            let what = || format!("making the network of host {index}");
            sys::new_network().context(what)?;
            let name = format!("{NAMED}/h{index}");
            File::create(&name).context(what)?;
            sys::mount("/proc/self/ns/net", &name, "none", true).context(what)?;
            hosts.push(File::open(&name).context(what)?);
            for setting in settings {
                apply(setting)?;
            }
        }
        Ok(Hosts(hosts))
    }

    /// Sets values of a host.
    pub fn set(&self, host: usize, settings: &[Setting]) -> Result<(), GuestError> {
        self.enter(host)?;
        settings.iter().try_for_each(apply)
    }

    /// Enters a host: sockets opened from now on belong to it.
    pub fn enter(&self, host: usize) -> Result<(), GuestError> {
        let namespace = self.0.get(host);
        let namespace = namespace.ok_or_else(|| GuestError::Job(format!("no host {host}")))?;
        sys::enter_network(namespace).context(|| format!("entering host {host}"))
    }

    /// Runs set-up lines in one process, because starting a process takes a tenth of a second here.
    pub fn run(&self, step: &Step) -> Result<(), GuestError> {
        self.enter(step.host)?;
        let what = || format!("running {}", step.tool);
        let text: String = step.lines.iter().map(|line| format!("{line}\n")).collect();
        let ran = sys::run_to_end(&step.tool, &["-batch", "-"], text.as_bytes());
        let (is_done, said) = ran.context(what)?;
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

    /// Turns TSO and GRO of a device on or off. Without both, one packet stays one packet.
    pub fn set_offloads(
        &self,
        host: usize,
        device: &str,
        tso: bool,
        gro: bool,
    ) -> Result<(), GuestError> {
        self.enter(host)?;
        let socket = Socket::udp().context(|| "opening a socket".to_owned())?;
        // TCP also builds sk_buffs of several segments without GSO (`sk_setup_caps`).
        for (command, is_on) in [(TSO, tso), (GSO, tso), (GRO, gro)] {
            let what = || format!("switching an offload of {device}");
            match sys::set_offload(&socket, device, command, is_on) {
                Err(error) if error.raw_os_error() == Some(95) => {} // not supported by the device
                other => other.context(what)?,
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

fn apply(setting: &Setting) -> Result<(), GuestError> {
    let path = Path::new("/proc/sys").join(&setting.path);
    if !path.exists() {
        return Ok(());
    }
    std::fs::write(&path, &setting.value).context(|| format!("setting {}", setting.path))
}
