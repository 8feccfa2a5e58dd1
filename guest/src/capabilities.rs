//! What this kernel has that others have not: found by trying, whatever its version says.
//!
//! `dumbbell-guest what-is-there FILE` runs as process 1 and writes the answer as JSON.

use crate::dualpi2::{self, Numbering};
use crate::error::{ErrorContext, GuestError};
use crate::hosts;
use crate::netlink::Place;
use crate::sys::Socket;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs;

/// The subcommand.
pub const WORD: &str = "what-is-there";

const CONTROLLERS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";
/// Of `tcp_ecn`: accurate ECN is asked for and accepted (ip-sysctl of Linux 6.18).
const ACCURATE: &str = "3";
/// The loopback device, which every network has.
const LOOPBACK: u32 = 1;
const TC_H_ROOT: u32 = 0xffff_ffff;

/// The answer.
#[derive(Debug, Serialize)]
struct Capabilities {
    controllers: Vec<String>,
    accurate_ecn: bool,
    dualpi2: Option<Numbering>,
}

/// Writes to this file what the kernel has.
pub fn main(output: &OsStr) -> Result<(), GuestError> {
    hosts::mount_all()?;
    let controllers =
        fs::read_to_string(CONTROLLERS).context(|| format!("reading {CONTROLLERS}"))?;
    let socket = Socket::netlink().context(|| "opening a socket".to_owned())?;
    let place = Place {
        device: LOOPBACK,
        handle: 1 << 16,
        parent: TC_H_ROOT,
    };
    let found = Capabilities {
        controllers: controllers.split_whitespace().map(str::to_owned).collect(),
        accurate_ecn: fs::write(ECN, ACCURATE).is_ok(),
        dualpi2: dualpi2::try_out(&socket, place)?,
    };
    let text = serde_json::to_string(&found).expect("it has only texts");
    fs::write(output, text).context(|| "writing what is there".to_owned())
}
