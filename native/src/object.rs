//! A shared object in memory, from a copy of its file.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Goes out of memory when it is dropped.
#[derive(Debug)]
pub struct Object(*mut c_void);

// SAFETY: the handle is only given to dlsym and dlclose, which any thread may call.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// Loads a copy: the loader gives one file to all that ask for it, static variables and all,
    /// and knows files by name and inode. The copy lies beside the file, where programs may be run,
    /// and only for as long as it is being loaded.
    pub fn open_copy(path: &Path) -> Result<Object, String> {
        let copy = free_name(path);
        let failed = |error| {
            format!(
                "a controller that can be loaded: {}: {error}",
                copy.display()
            )
        };
        // Not `fs::copy`, which sets the mode too: a confined process may not (`guest/src/confine`).
        let content = std::fs::read(path);
        let copied = content
            .and_then(|bytes| std::fs::write(&copy, bytes))
            .map_err(failed);
        let object = copied.and_then(|_| Object::open(&copy));
        let _ = std::fs::remove_file(&copy);
        object
    }

    fn open(path: &Path) -> Result<Object, String> {
        let name = CString::new(path.as_os_str().as_bytes());
        let name = name.map_err(|error| error.to_string())?;
        // SAFETY: a path that ends in zero. What the object does when it is loaded is its own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            let why = last_error().unwrap_or_else(|| "for no reason given".to_owned());
            return Err(format!("a controller that can be loaded: {why}"));
        }
        Ok(Object(handle))
    }

    /// Where something of this name lies in it.
    pub fn symbol(&self, name: &CStr) -> Option<*const c_void> {
        // SAFETY: the handle is open for as long as this is there.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found.cast_const())
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: opened once and closed once; nothing points into it any more.
        unsafe { libc::dlclose(self.0) };
    }
}

fn free_name(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{count}", std::process::id()));
    PathBuf::from(name)
}

fn last_error() -> Option<String> {
    // SAFETY: a text of the loader's that lasts until its next error, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return None;
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
