//! A root file system with only the given files: mount_namespaces(7), user_namespaces(7).

use super::{ConfineError, ITS_MEMORY, NULL, PROCESSOR, TERMINALS, TERMINALS_FOLDER};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change,
    mount_remount, unmount,
};
use rustix::process::{getgid, getuid, pivot_root};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Mount point of the new root, which exists on every system; private to this process.
const NEW: &str = "/tmp";
const OLD: &str = "/before";
/// Mount points of the guest's own file systems.
const EMPTY: [&str; 6] = [TERMINALS_FOLDER, "/mnt", "/proc", "/run", "/sys", "/tmp"];
const MOST_LINKS: usize = 40;

trait ErrorContext<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, ConfineError>;
}

impl<T, E: Into<io::Error>> ErrorContext<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, ConfineError> {
        self.map_err(|error| ConfineError::System {
            what: what(),
            source: error.into(),
        })
    }
}

/// Gives this process and its descendants a root with only these files.
pub fn restrict(readable: &[PathBuf], folder: &Path) -> Result<(), ConfineError> {
    let mut view = View::default();
    for path in readable
        .iter()
        .map(PathBuf::as_path)
        .chain([PROCESSOR, ITS_MEMORY].map(Path::new))
    {
        view.add(path);
    }
    let folder = fs::canonicalize(folder).context(|| format!("finding {}", folder.display()))?;
    enter_namespace()?;
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .context(|| "keeping mounts to this process".to_owned())?;
    new_root()?;
    view.build()?;
    bind(Path::new(NULL), None)?;
    terminals()?;
    bind(&folder, Some(MountFlags::NOSUID | MountFlags::NODEV))?;
    forget_the_old_root()?;
    std::env::set_current_dir(&folder).context(|| format!("going to {}", folder.display()))
}

/// As root, creates the mount namespace directly; otherwise within a user namespace that maps the user to the
/// same id.
#[expect(unsafe_code, reason = "unshare of a process without threads")]
fn enter_namespace() -> Result<(), ConfineError> {
    // SAFETY: no descriptors are unshared.
    match unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
        Err(Errno::PERM) => {}
        result => return result.context(|| "making a mount namespace".to_owned()),
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: no descriptors are unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }
        .context(|| "making a user namespace".to_owned())?;
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        let place = format!("/proc/self/{file}");
        fs::write(&place, text).context(|| format!("writing {place}"))?;
    }
    Ok(())
}

fn new_root() -> Result<(), ConfineError> {
    let what = || "making a new root".to_owned();
    let data = CString::new("mode=0755").expect("no zero byte");
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("root", NEW, "tmpfs", flags, data.as_c_str()).context(what)?;
    let old = format!("{NEW}{OLD}");
    fs::create_dir(&old).context(what)?;
    pivot_root(NEW, old.as_str()).context(what)?;
    std::env::set_current_dir("/").context(what)?;
    for place in EMPTY {
        fs::create_dir_all(place).context(what)?;
    }
    Ok(())
}

fn forget_the_old_root() -> Result<(), ConfineError> {
    let what = || "leaving the old root".to_owned();
    unmount(OLD, UnmountFlags::DETACH).context(what)?;
    fs::remove_dir(OLD).context(what)?;
    let flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    mount_remount("/", flags, c"").context(what)
}

/// A private devpts, without the host's terminals.
fn terminals() -> Result<(), ConfineError> {
    let data = c"newinstance,ptmxmode=0666";
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("terminals", TERMINALS_FOLDER, "devpts", flags, data)
        .context(|| format!("mounting {TERMINALS_FOLDER}"))?;
    std::os::unix::fs::symlink("pts/ptmx", TERMINALS).context(|| format!("making {TERMINALS}"))
}

/// Bind-mounts a file or folder of the old root into the new one; `flags` are for the remount.
fn bind(path: &Path, flags: Option<MountFlags>) -> Result<(), ConfineError> {
    let what = || format!("showing {}", path.display());
    let source = Path::new(OLD).join(path.strip_prefix("/").unwrap_or(path));
    if fs::metadata(&source).context(what)?.is_dir() {
        fs::create_dir_all(path).context(what)?;
    } else if !path.exists() {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).context(what)?;
        File::create(path).context(what)?;
    }
    mount_bind(&source, path).context(what)?;
    let Some(flags) = flags else { return Ok(()) };
    let flags = MountFlags::BIND | flags | locked_flags(path).context(what)?;
    mount_remount(path, flags, c"").context(what)
}

/// Mount flags that a user namespace may not clear, so that they must be repeated.
fn locked_flags(path: &Path) -> io::Result<MountFlags> {
    let has = statvfs(path)?.f_flag;
    let flags = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
    ];
    let flags = flags.into_iter().filter(|(one, _)| has.contains(*one));
    Ok(flags.fold(MountFlags::empty(), |all, (_, flag)| all | flag))
}

/// Files to show, by real path, and the symbolic links leading to them.
#[derive(Debug, Default)]
struct View {
    places: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl View {
    /// Adds a path and follows links; dangling ones are skipped.
    fn add(&mut self, path: &Path) {
        let mut ahead: VecDeque<PathBuf> = parts(path).collect();
        let mut at = PathBuf::from("/");
        let mut followed = 0;
        while let Some(part) = ahead.pop_front() {
            if part == Path::new("..") {
                at.pop();
                continue;
            }
            let next = at.join(&part);
            match fs::read_link(&next) {
                Ok(target) if followed < MOST_LINKS => {
                    followed += 1;
                    for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                        ahead.push_front(part);
                    }
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    self.links.insert(next, target);
                }
                _ => at = next,
            }
        }
        if at.exists() {
            self.places.insert(at);
        }
    }

    /// Creates the mounts in the new root.
    fn build(&self) -> Result<(), ConfineError> {
        let mut last: Option<&PathBuf> = None;
        // Sorted, so that a nested mount follows the one of its parent folder.
        for place in &self.places {
            if last.is_none_or(|last| !place.starts_with(last)) {
                bind(place, Some(MountFlags::RDONLY | MountFlags::NOSUID))?;
                last = Some(place);
            }
        }
        for (link, target) in &self.links {
            let what = || format!("laying {}", link.display());
            if fs::symlink_metadata(link).is_err() {
                fs::create_dir_all(link.parent().unwrap_or(Path::new("/"))).context(what)?;
                std::os::unix::fs::symlink(target, link).context(what)?;
            }
        }
        Ok(())
    }
}

fn parts(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
