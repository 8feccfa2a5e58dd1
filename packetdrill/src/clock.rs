//! A script's times, and the engine's.
//!
//! packetdrill begins a script a quarter of a millisecond behind a tick of the kernel's timer, so
//! that what happens in whole milliseconds is not in the instant of one. Our judge begins it where
//! the slots of the timer wheel do (`virtual_time.c`); and so do both here.

use dumbbell_core::time::Time;

/// The engine's time when a script begins.
const START_US: u64 = 250;

/// That instant of a script.
pub fn instant(us: u64) -> Time {
    span(us.saturating_add(START_US))
}

/// So long.
pub fn span(us: u64) -> Time {
    Time::from_ns(us.saturating_mul(1000))
}

/// How far the script is then.
pub fn since_start(at: Time) -> Time {
    at.saturating_sub(instant(0))
}
