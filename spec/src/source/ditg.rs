//! What ITGSend 2.8.1 really sends when asked for random gaps and sizes.
//!
//! | of D-ITG | here |
//! | --- | --- |
//! | payload is the draw cut to whole bytes, at least 20 (its own header), at most 64,000 | yes |
//! | headers and IP fragments on the wire | yes, in `datagram` |
//! | each gap grows by what the sleep overshoots (80 to 100 us on the machine measured) | `oversleep`, a law, off unless given |
//! | `-poll` (busy waiting, less overshoot) | by another `oversleep` |
//! | the signalling connection to port 9000 | no: a few packets at start and end |
//!
//! Sizes and overshoot were read off captures of ITGSend 2.8.1 (Debian), `-E 110..2000 -e 512
//! -T UDP`; asked for 2000 packets/s it sent 1655 to 1750.

use super::FlowStreams;
use crate::law::Law;
use dumbbell_core::time::Time;

/// The least payload, bytes: 16 of metadata and 4 that the option `-T` adds.
pub const LEAST_PAYLOAD_BYTES: f64 = 20.0;
/// The largest payload, bytes.
pub const LARGEST_PAYLOAD_BYTES: f64 = 64_000.0;

/// An ITGSend process.
#[derive(Debug, Clone)]
pub struct Ditg {
    gap: Law,
    size: Law,
    oversleep: Option<Law>,
    streams: FlowStreams,
}

impl Ditg {
    /// A process at its beginning.
    pub fn new(gap: &Law, size: &Law, oversleep: Option<&Law>, streams: FlowStreams) -> Ditg {
        Ditg {
            gap: gap.clone(),
            size: size.clone(),
            oversleep: oversleep.cloned(),
            streams,
        }
    }

    /// The next gap with the overshoot of its sleep.
    #[inline]
    pub fn next_gap(&mut self) -> Time {
        let asked = self.gap.draw(&mut self.streams.gap);
        let over = match &self.oversleep {
            Some(law) => law.draw(&mut self.streams.gap),
            None => 0.0,
        };
        Time::from_seconds(asked + over)
    }

    /// The next payload, bytes.
    #[inline]
    pub fn next_size(&mut self) -> u32 {
        let drawn = self.size.draw(&mut self.streams.size);
        drawn.clamp(LEAST_PAYLOAD_BYTES, LARGEST_PAYLOAD_BYTES) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_cut_down_and_at_least_twenty() {
        let gap = Law::Exponential { mean: 1.0 / 110.0 };
        let size = Law::Exponential { mean: 512.0 };
        let mut source = Ditg::new(&gap, &size, None, FlowStreams::new(1, 0, "sender"));
        let sizes: Vec<u32> = (0..200_000).map(|_| source.next_size()).collect();
        assert_eq!(*sizes.iter().min().unwrap(), 20);
        // A draw below 21 gives 20: 1 - exp(-21/512) of them, 4.0 % as captured.
        let share = sizes.iter().filter(|s| **s == 20).count() as f64 / 2e5;
        let expected = 1.0 - libm::exp(-21.0 / 512.0);
        assert!(
            (share - expected).abs() < 4.0 * (expected / 2e5).sqrt(),
            "{share} {expected}"
        );
    }

    #[test]
    fn oversleep_lengthens_every_gap() {
        let gap = Law::Exponential { mean: 1e-3 };
        let over = Law::Constant { value: 9e-5 };
        let size = Law::Constant { value: 100.0 };
        let mut plain = Ditg::new(&gap, &size, None, FlowStreams::new(1, 0, "x"));
        let mut late = Ditg::new(&gap, &size, Some(&over), FlowStreams::new(1, 0, "x"));
        for _ in 0..100 {
            let difference = late.next_gap() - plain.next_gap();
            assert!(difference.0.abs_diff(90_000_000) <= 1);
        }
    }
}
