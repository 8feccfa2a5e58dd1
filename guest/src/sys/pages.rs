//! Large pieces of memory whose pages are there at once. Under User-Mode Linux a page that is touched for
//! the first time costs three turns between the guest's kernel and its process, and what a run records has
//! thousands of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// From here on a piece has pages of its own.
const LARGE_BYTES: usize = 1 << 18;
const PAGE_BYTES: usize = 1 << 12;

/// The allocator.
#[derive(Debug)]
pub struct PagesAtOnce;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES && layout.align() <= PAGE_BYTES
}

/// Memory of a size, all zeros; null where there is none.
fn mapped(bytes: usize) -> *mut u8 {
    let all = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping, which nothing else knows of; what is protected is that mapping, unused yet.
    unsafe {
        let memory = libc::mmap(null_mut(), bytes, all, flags, -1, 0);
        if memory == libc::MAP_FAILED {
            return null_mut();
        }
        put_into_host_tables(memory, bytes);
        memory.cast()
    }
}

/// Puts the pages of a mapping, which are in the guest's tables already, into the host's: a change of the
/// protection has User-Mode Linux do so, many at a time (`flush_tlb_range`). If it fails they come one by one.
///
/// # Safety
///
/// The mapping is whole, may be read and written, and nothing uses it meanwhile.
pub(super) unsafe fn put_into_host_tables(memory: *mut libc::c_void, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        libc::mprotect(memory, bytes, libc::PROT_READ);
        libc::mprotect(memory, bytes, libc::PROT_READ | libc::PROT_WRITE);
    }
}

// SAFETY: a large piece is a mapping of its own, aligned to a page and of the layout's size, and is taken
// back as one; whether a piece is large follows from its layout. All others are the system's.
unsafe impl GlobalAlloc for PagesAtOnce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return mapped(layout.size());
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return mapped(layout.size());
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is one of a layout.
        let new = unsafe { Layout::from_size_align_unchecked(new_bytes, layout.align()) };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: it came from there, with this layout.
            return unsafe { System.realloc(memory, layout, new_bytes) };
        }
        // SAFETY: both layouts are not empty, and what is copied is as long as the shorter one.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(memory, layout.size().min(new_bytes));
                self.dealloc(memory, layout);
            }
            moved
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: it came from `alloc` with this layout.
        unsafe {
            if is_large(layout) {
                libc::munmap(memory.cast(), layout.size());
            } else {
                System.dealloc(memory, layout);
            }
        }
    }
}
