//! Asking for memory some time before it is read.
//!
//! Where a run has thousands of flows, what it knows of one of them has left the caches when the next
//! packet of it comes, and an event waits for memory a dozen times in turn. Who comes next is often
//! known: then all of that is fetched at once, while something else is done.

/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;

/// Has all lines of a value fetched into the first cache. It changes nothing but time.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<i8>();
    for line in 0..size_of::<T>().div_ceil(LINE_BYTES) {
        fetch_line(first.wrapping_add(line * LINE_BYTES));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn fetch_line(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction belongs to every processor of this architecture; it is a hint, which
    // reads nothing that the program could see and never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// Elsewhere there is no such instruction that a stable compiler has a name for.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_address: *const i8) {}
