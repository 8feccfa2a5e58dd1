//! Drops capabilities of root: capabilities(7).

use super::ConfineError;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_no_new_privs};

/// Capabilities kept: to read files of others and to use a folder of another user; with
/// `kernel.yama.ptrace_scope` 2 also to trace a process.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYS_PTRACE);

/// Limits this process and its successors to these capabilities, for any user.
pub fn drop_all_but_reading() -> Result<(), ConfineError> {
    let refused = |error: Errno| ConfineError::System {
        what: "giving up capabilities".to_owned(),
        source: error.into(),
    };
    for capability in CapabilitySet::all().difference(KEPT).iter() {
        match remove_capability_from_bounding_set(capability) {
            // Older hosts do not know all of them.
            Ok(()) | Err(Errno::INVAL) => {}
            // Not root: there are none to drop, and none can be gained from now on.
            Err(Errno::PERM) => break,
            Err(error) => return Err(refused(error)),
        }
    }
    set_no_new_privs(true).map_err(refused)
}
