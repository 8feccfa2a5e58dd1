//! Stub for platforms without such shared objects.

use std::ffi::{CStr, c_void};
use std::path::Path;

#[derive(Debug)]
pub enum Object {}

impl Object {
    pub fn open_copy(_path: &Path) -> Result<Object, String> {
        Err("a controller of the simulator: those in C run on Linux and other Unix systems".into())
    }

    pub fn symbol(&self, _name: &CStr) -> Option<*const c_void> {
        match *self {}
    }
}
