//! Script times and engine times.
//!
//! packetdrill starts a script a quarter of a millisecond after a kernel timer tick, so that events
//! at whole milliseconds do not coincide with a tick. In our judge that tick begins a slot of the
//! timer wheel (`virtual_time.c`). The simulator does both.

use dumbbell_core::time::Time;

/// Engine time at which a script begins.
const START_US: u64 = 250;

/// Engine time of a script time in microseconds.
pub fn instant(us: u64) -> Time {
    span(us.saturating_add(START_US))
}

/// A duration of this number of microseconds.
pub fn span(us: u64) -> Time {
    Time::from_ns(us.saturating_mul(1000))
}

/// Script time at this engine time.
pub fn since_start(at: Time) -> Time {
    at.saturating_sub(instant(0))
}
