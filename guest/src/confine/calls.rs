//! Refuses system calls (EPERM) that no file rule covers: seccomp(2).
//!
//! Landlock, "Current limitations" (Documentation/userspace-api/landlock.rst): neither owner, mode,
//! stamps nor extended attributes are covered; before version 3 nor is cutting a file off. In a
//! root of its own a link could be laid for whoever reads the folder afterwards.

use super::ConfineError;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// The x32 variants of calls have this bit.
const X32: i64 = 0x4000_0000;
/// Newer than the library's table of names.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

const REFUSED: [i64; 32] = [
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_mknod,
    libc::SYS_mknodat,
    // Its arguments are in memory, where a filter cannot inspect them.
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    // It has no network but its own.
    libc::SYS_socket,
    libc::SYS_mount,
    libc::SYS_move_mount,
];

/// Calls that truncate by name instead of by descriptor.
const CUTTING_OFF: [i64; 2] = [libc::SYS_truncate, libc::SYS_creat];

/// Refuses these calls permanently for this process and its descendants.
///
/// Programs inside the guest do not notice, because the guest kernel answers their calls itself. With
/// `cutting_off`, truncation by name is refused too: the kernel opens the file and truncates it then.
pub fn refuse(cutting_off: bool) -> Result<(), ConfineError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        rules.insert(call, Vec::new());
    }
    if cutting_off {
        for call in CUTTING_OFF {
            rules.insert(call, Vec::new());
        }
        for (call, flags) in [(libc::SYS_open, 1), (libc::SYS_openat, 2)] {
            rules.insert(call, vec![cuts_off(flags)?]);
        }
    }
    for (call, conditions) in rules.clone() {
        rules.insert(call | X32, conditions);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        TargetArch::x86_64,
    );
    let program = filter.and_then(BpfProgram::try_from);
    let program = program.map_err(seccompiler::Error::from)?;
    Ok(seccompiler::apply_filter(&program)?)
}

/// Whether the flags of an open call truncate the file.
fn cuts_off(flags: u8) -> Result<SeccompRule, ConfineError> {
    let truncate = u64::from(libc::O_TRUNC.unsigned_abs());
    let masked = SeccompCmpOp::MaskedEq(truncate);
    let condition = SeccompCondition::new(flags, SeccompCmpArgLen::Dword, masked, truncate);
    let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
    Ok(rule.map_err(seccompiler::Error::from)?)
}
