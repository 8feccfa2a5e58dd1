//! What root keeps of its powers: capabilities(7).

use super::ConfineError;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set, set_no_new_privs};

/// Files of others are read and its own folder may be somebody else's; where
/// `kernel.yama.ptrace_scope` is 2, a process is traced with this power only.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYS_PTRACE);

/// What this process becomes has no power but these, whoever its user is.
pub fn drop_all_but_reading() -> Result<(), ConfineError> {
    let refused = |error: Errno| ConfineError::System {
        what: "giving up capabilities".to_owned(),
        source: error.into(),
    };
    for capability in CapabilitySet::all().difference(KEPT).iter() {
        match remove_capability_from_bounding_set(capability) {
            // Older hosts do not know all of them.
            Ok(()) | Err(Errno::INVAL) => {}
            // Not root: there is nothing to give up, and nothing to be had from now on.
            Err(Errno::PERM) => break,
            Err(error) => return Err(refused(error)),
        }
    }
    set_no_new_privs(true).map_err(refused)
}
