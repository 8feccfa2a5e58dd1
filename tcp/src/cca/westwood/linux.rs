//! The estimate as Linux 6.1 makes it: bytes a tick, in whole numbers, by cumulative acknowledgements and
//! duplicates, as section 2 of the paper of 2001 counts them (its procedure AckedCount).
//!
//! | here | Linux 6.1 (facts of `tcp_westwood.c`, confirmed by packet scripts) |
//! | --- | --- |
//! | `LEAST_SAMPLE` | no sample over less than a twentieth of a second |
//! | `filtered` | 7 of 8 of the value are kept, twice, rounded down |
//! | `carried_pkts` | 2 before the first sample |
//! | `note_rtt` | round-trip times in ticks, rounded up; 20 s before the first |
//! | `forget_least_rtt` | after a timeout the least is measured anew |

use crate::cca::AckArrival;
use crate::cca::ticks::Ticks;
use dumbbell_core::time::Time;

/// No sample is of less than this part of a second.
const LEAST_SAMPLE_PARTS: u64 = 20;
/// Round-trip time before one was measured, seconds.
const FIRST_RTT_S: u64 = 20;

/// What it has measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinuxState {
    ticks: Ticks,
    /// When the sample that goes on began, ticks.
    start: u64,
    /// What was acknowledged since, bytes.
    counted_bytes: u64,
    /// First byte that was not acknowledged when that was last counted; None before.
    una_bytes: Option<u64>,
    /// Duplicates that were counted before what they stand for was acknowledged, bytes.
    ahead_bytes: u64,
    /// The last round-trip time and the least, ticks.
    rtt: u64,
    least_rtt: u64,
    /// The next is the least.
    measures_anew: bool,
    /// After one filter and after both, bytes a tick.
    once_bytes: u64,
    twice_bytes: u64,
}

fn filtered(kept: u64, sample: u64) -> u64 {
    (7 * kept + sample) >> 3
}

impl LinuxState {
    pub(super) fn new(timer_hz: u32, now: Time) -> LinuxState {
        let ticks = Ticks { hz: timer_hz };
        let rtt = FIRST_RTT_S * u64::from(timer_hz);
        LinuxState {
            ticks,
            start: ticks.at(now),
            counted_bytes: 0,
            una_bytes: None,
            ahead_bytes: 0,
            rtt,
            least_rtt: rtt,
            measures_anew: true,
            once_bytes: 0,
            twice_bytes: 0,
        }
    }

    /// The connection is open.
    pub(super) fn begin(&mut self, now: Time) {
        *self = LinuxState::new(self.ticks.hz, now);
    }

    pub(super) fn on_arrival(&mut self, mss_bytes: u32, arrival: &AckArrival) {
        let now = self.ticks.at(arrival.now);
        let una_bytes = self.una_bytes.replace(arrival.una_bytes);
        let acked_bytes = arrival.una_bytes - una_bytes.unwrap_or(arrival.una_bytes);
        let took = now - self.start;
        let least = u64::from(self.ticks.hz) / LEAST_SAMPLE_PARTS;
        if self.rtt > 0 && took > self.rtt.max(least) {
            self.enter(self.counted_bytes / took);
            (self.counted_bytes, self.start) = (0, now);
        }
        self.counted_bytes += match arrival.is_predicted {
            true => acked_bytes,
            false => self.counted_of(acked_bytes, u64::from(mss_bytes)),
        };
        self.least_rtt = match std::mem::take(&mut self.measures_anew) {
            true => self.rtt,
            false => self.least_rtt.min(self.rtt),
        };
    }

    /// A duplicate counts as a segment, which is taken off again when several are acknowledged at once.
    fn counted_of(&mut self, acked_bytes: u64, mss_bytes: u64) -> u64 {
        if acked_bytes == 0 {
            self.ahead_bytes += mss_bytes;
            return mss_bytes;
        }
        if acked_bytes <= mss_bytes {
            return acked_bytes;
        }
        if self.ahead_bytes >= acked_bytes {
            self.ahead_bytes -= acked_bytes;
            return mss_bytes;
        }
        acked_bytes - std::mem::take(&mut self.ahead_bytes)
    }

    fn enter(&mut self, sample_bytes: u64) {
        if (self.once_bytes, self.twice_bytes) == (0, 0) {
            (self.once_bytes, self.twice_bytes) = (sample_bytes, sample_bytes);
        } else {
            self.once_bytes = filtered(self.once_bytes, sample_bytes);
            self.twice_bytes = filtered(self.twice_bytes, self.once_bytes);
        }
    }

    pub(super) fn note_rtt(&mut self, rtt: Time) {
        if rtt.0 > 0 {
            self.rtt = self.ticks.of(rtt);
        }
    }

    pub(super) fn forget_least_rtt(&mut self) {
        self.measures_anew = true;
    }

    /// What the path carries in the least round-trip time.
    pub(super) fn carried_pkts(&self, mss_bytes: u32) -> u32 {
        let carried_bytes = self.twice_bytes * self.least_rtt;
        u32::try_from(carried_bytes / u64::from(mss_bytes.max(1))).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::ms;

    const MSS_BYTES: u32 = 1000;

    fn arrives(measured: &mut LinuxState, at_ms: u64, una_bytes: u64, is_predicted: bool) {
        let arrival = AckArrival {
            now: ms(at_ms),
            una_bytes,
            is_predicted,
        };
        measured.note_rtt(ms(100));
        measured.on_arrival(MSS_BYTES, &arrival);
    }

    /// A segment every 10 ms for so long: 100 bytes a tick.
    fn after_ms(end_ms: u64) -> LinuxState {
        let mut measured = LinuxState::new(1000, Time::ZERO);
        for at_ms in (0..end_ms).step_by(10) {
            arrives(&mut measured, at_ms, 1 + 100 * at_ms, true);
        }
        measured
    }

    #[test]
    fn what_the_path_carries_in_its_least_round_trip() {
        assert_eq!(LinuxState::new(1000, Time::ZERO).carried_pkts(MSS_BYTES), 0);
        // 10 packets, and filters that round down.
        assert_eq!(after_ms(2000).carried_pkts(MSS_BYTES), 9);
    }

    #[test]
    fn duplicates_count_once() {
        let mut measured = after_ms(2000);
        let (una, before) = (measured.una_bytes.unwrap(), measured.counted_bytes);
        for _ in 0..3 {
            arrives(&mut measured, 1990, una, false);
        }
        arrives(&mut measured, 1990, una + 5000, false);
        assert_eq!(measured.counted_bytes - before, 5000);
        assert_eq!(measured.ahead_bytes, 0);
    }

    #[test]
    fn filters_round_down() {
        let mut measured = LinuxState::new(1000, Time::ZERO);
        measured.enter(100);
        measured.enter(50);
        // (7 * 100 + 50) / 8 is 93, then (7 * 100 + 93) / 8.
        assert_eq!((measured.once_bytes, measured.twice_bytes), (93, 99));
    }
}
