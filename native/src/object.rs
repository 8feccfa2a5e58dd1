//! A shared object loaded from a copy of its file.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An open handle; unloaded on drop.
#[derive(Debug)]
pub struct Object(*mut c_void);

// SAFETY: the handle is passed only to dlsym and dlclose, which any thread may call.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// Loads a copy. The dynamic loader loads a file only once, so all users share its static
    /// variables; it identifies files by name and inode. The copy is in the directory of the file,
    /// where execution is permitted, and is removed after loading.
    pub fn open_copy(path: &Path) -> Result<Object, String> {
        let copy = free_name(path);
        let failed = |error| {
            format!(
                "a controller that can be loaded: {}: {error}",
                copy.display()
            )
        };
        // Not `fs::copy`, which also sets the mode: a confined process may not do that
        // (`guest/src/confine`).
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
        // SAFETY: a NUL-terminated path. The object is responsible for its own initialisation code.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            let why = last_error().unwrap_or_else(|| "for no reason given".to_owned());
            return Err(format!("a controller that can be loaded: {why}"));
        }
        Ok(Object(handle))
    }

    /// Address of a symbol in the object.
    pub fn symbol(&self, name: &CStr) -> Option<*const c_void> {
        // SAFETY: the handle is open as long as `self` exists.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found.cast_const())
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: opened once and closed once; no pointers into the object remain.
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
    // SAFETY: a string of the loader that is valid until its next error, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return None;
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
