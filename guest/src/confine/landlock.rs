//! Rules on the process itself: landlock(7).

use super::{ConfineError, ITS_MEMORY, NULL, PROCESSOR, TERMINALS, TERMINALS_FOLDER};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, make_bitflags, path_beneath_rules,
};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};

/// A version of Landlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(ABI);

impl Version {
    /// The latest version supported here.
    pub const LATEST: Version = Version(ABI::V9);

    /// This version, or the latest.
    pub fn new(number: u8) -> Version {
        Version(ABI::from(i32::from(number)))
    }

    /// Its number, from 1.
    pub fn number(self) -> u8 {
        self.0 as u8
    }

    /// Whether it covers truncation.
    pub fn forbids_cutting_off(self) -> bool {
        self.0 >= ABI::V3
    }
}

/// Operations of a guest in its folder: no links, pipes or devices, which would be a risk for later readers
/// of the folder.
const IN_FOLDER: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | MakeSock | RemoveFile | RemoveDir
});
const ON_DEVICE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});

/// Restricts this process and its descendants permanently.
///
/// Everything that this version can restrict is forbidden: all other files, TCP connections and servers,
/// signals to other processes.
pub fn restrict(
    readable: &[PathBuf],
    folder: &Path,
    most: Version,
) -> Result<Version, ConfineError> {
    let all = AccessFs::from_all(most.0);
    let mut rules = Ruleset::default().handle_access(all)?;
    let (connections, scopes) = (AccessNet::from_all(most.0), Scope::from_all(most.0));
    if !connections.is_empty() {
        rules = rules.handle_access(connections)?;
    }
    if !scopes.is_empty() {
        rules = rules.scope(scopes)?;
    }
    let devices = [NULL, TERMINALS, TERMINALS_FOLDER];
    let rules = rules
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(most.0)))?
        .add_rules(path_beneath_rules(
            [PROCESSOR, ITS_MEMORY],
            AccessFs::ReadFile,
        ))?
        .add_rules(path_beneath_rules(devices, ON_DEVICE & all))?
        .add_rules(folder_rule(folder, IN_FOLDER & all))?;
    keep_its_memory()?;
    match rules.restrict_self()?.landlock {
        LandlockStatus::Available { effective_abi, .. } => {
            let number = Version(effective_abi).number().min(most.number());
            Ok(Version::new(number))
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => {
            Err(ConfineError::NoLandlock)
        }
    }
}

/// A rule applies to an inode, and the kernel drops the inode of a `/proc` file that is not open. So this
/// file stays open in the executed program.
fn keep_its_memory() -> Result<(), ConfineError> {
    let failed = |error: Errno| ConfineError::System {
        what: format!("keeping {ITS_MEMORY} open"),
        source: error.into(),
    };
    let file = open(ITS_MEMORY, OFlags::PATH, Mode::empty()).map_err(failed)?;
    let _ = file.into_raw_fd();
    Ok(())
}

/// A missing folder is left to the program that opens it.
fn folder_rule(
    folder: &Path,
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<PathFd>, RulesetError>> {
    let place = PathFd::new(folder).ok();
    place
        .into_iter()
        .map(move |place| Ok(PathBeneath::new(place, access)))
}
