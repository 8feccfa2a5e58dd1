//! Memory prefetching.
//!
//! In a run with thousands of flows the state of a flow has left the caches when its next packet arrives, and
//! an event waits for a dozen cache misses in sequence. The next flow is often known in advance, so its state
//! is fetched while other work is done.

/// Size of a cache line, bytes.
const LINE_BYTES: usize = 64;

/// Prefetches all cache lines of a value into the L1 cache. It affects only the run time.
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
    // SAFETY: the instruction exists on every processor of this architecture. It is a hint that reads nothing
    // visible to the program and never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// Other architectures have no prefetch instruction in stable Rust.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_address: *const i8) {}
