//! Copies homes to a folder of the machine, at times and at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Maximum depth of folders.
const MOST_DEPTH: usize = 32;
/// A file's time stamp may be a tick of the slowest kernel older than the clock.
const TICK: Duration = Duration::from_millis(10);

/// Records what was copied, so that it is not copied again.
///
/// The record is kept here instead of checking the destination, because a failing system call takes a
/// microsecond of virtual time (um_udelay in arch/um/kernel/skas/syscall.c) and lets other processes run. How
/// often homes are copied differs between a typed session and its script.
#[derive(Debug, Default)]
pub struct Keeper(BTreeMap<PathBuf, KeptEntry>);

/// A copied entry.
#[derive(Debug, PartialEq, Eq)]
enum KeptEntry {
    Folder,
    /// Without a stamp it may have changed since.
    File(Option<Stamp>),
}

/// Stamp of a file when it was copied.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Keeper {
    /// Makes the second folder equal to the first: files and folders only. Links, pipes and sockets are
    /// skipped, because they would be a risk for later readers. Nothing else may write to the second folder.
    ///
    /// `now` is the wall clock since 1970.
    pub fn mirror(&mut self, from: &Path, to: &Path, now: Duration) -> io::Result<()> {
        self.folder(from, to, now, MOST_DEPTH)
    }

    fn folder(&mut self, from: &Path, to: &Path, now: Duration, depth: usize) -> io::Result<()> {
        if self.0.get(to) != Some(&KeptEntry::Folder) {
            if self.0.contains_key(to) {
                fs::remove_file(to)?;
            }
            fs::create_dir_all(to)?;
            self.0.insert(to.to_owned(), KeptEntry::Folder);
        }
        let mut seen = BTreeSet::<OsString>::new();
        let mut entries = fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type()?;
            let target = to.join(entry.file_name());
            if kind.is_dir() && depth > 0 {
                self.folder(&entry.path(), &target, now, depth - 1)?;
            } else if kind.is_file() {
                self.file(&entry.path(), target, now)?;
            } else {
                continue;
            }
            seen.insert(entry.file_name());
        }
        self.remove_all_but(to, &seen)
    }

    fn file(&mut self, source: &Path, target: PathBuf, now: Duration) -> io::Result<()> {
        if self.0.get(&target) == Some(&KeptEntry::Folder) {
            fs::remove_dir_all(&target)?;
            self.forget(&target);
        }
        // Must not block on a pipe that replaced the file.
        let mut input = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(source)?;
        let has = input.metadata()?;
        let stamp = Stamp {
            bytes: has.len(),
            inode: has.ino(),
            changed: (has.ctime(), has.ctime_nsec()),
        };
        if let Some(KeptEntry::File(Some(kept))) = self.0.get(&target)
            && *kept == stamp
        {
            return Ok(());
        }
        // Between two files, `io::copy` would first try copy_file_range(2) and fail.
        let reader: &mut dyn Read = &mut input;
        io::copy(reader, &mut File::create(&target)?)?;
        // Time stands still while commands are typed: a file that changed just now may change again with the
        // same stamp.
        let settled = SystemTime::UNIX_EPOCH + now.saturating_sub(TICK);
        let stamp = (has.modified()? < settled).then_some(stamp);
        self.0.insert(target, KeptEntry::File(stamp));
        Ok(())
    }

    fn remove_all_but(&mut self, folder: &Path, seen: &BTreeSet<OsString>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if seen.contains(&entry.file_name()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
            self.forget(&entry.path());
        }
        Ok(())
    }

    fn forget(&mut self, path: &Path) {
        self.0.retain(|kept, _| !kept.starts_with(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
        let text = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap_or_default())
        };
        let mut texts: Vec<_> = entries.map(text).collect();
        texts.sort();
        texts
    }

    #[test]
    fn files_are_kept_changed_ones_again_and_links_and_pipes_never() {
        let base = std::env::temp_dir().join(format!("dumbbell-keep-{}", std::process::id()));
        let (home, kept) = (base.join("home"), base.join("kept"));
        fs::create_dir_all(home.join("logs")).unwrap();
        fs::write(home.join("a"), "one").unwrap();
        fs::write(home.join("logs/b"), "two").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", home.join("link")).unwrap();
        let mut keeper = Keeper::default();
        let now = || SystemTime::UNIX_EPOCH.elapsed().unwrap();
        keeper.mirror(&home, &kept, now()).unwrap();
        let found = [("a", "one"), ("logs", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(texts(&kept), found);
        // As long as before, and perhaps of the same tick.
        fs::write(home.join("a"), "six").unwrap();
        fs::remove_dir_all(home.join("logs")).unwrap();
        fs::write(home.join("logs"), "a file now").unwrap();
        keeper.mirror(&home, &kept, now()).unwrap();
        let found = [("a", "six"), ("logs", "a file now")];
        assert_eq!(
            texts(&kept),
            found.map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        // What was forgotten with its folder is copied again.
        fs::remove_file(home.join("logs")).unwrap();
        fs::create_dir(home.join("logs")).unwrap();
        fs::write(home.join("logs/b"), "two").unwrap();
        keeper.mirror(&home, &kept, now()).unwrap();
        assert_eq!(fs::read_to_string(kept.join("logs/b")).unwrap(), "two");
        fs::rename(home.join("logs"), base.join("aside")).unwrap();
        keeper.mirror(&home, &kept, now()).unwrap();
        assert!(!kept.join("logs").exists());
        fs::rename(base.join("aside"), home.join("logs")).unwrap();
        keeper.mirror(&home, &kept, now()).unwrap();
        assert_eq!(fs::read_to_string(kept.join("logs/b")).unwrap(), "two");
        fs::remove_dir_all(base).unwrap();
    }
}
