//! Independent gaps and independent sizes: the source of queueing theory.
//!
//! The first packet of a Poisson or renewal source comes one gap after the start, as in a
//! Poisson process; a source of constant bit rate sends its first packet at the start.
//! A size is rounded to the nearest byte (for an exponential law of mean m this moves the mean
//! by a relative 1/(24 m^2), where rounding up would move it by 1/(2 m)) and is at least
//! 1 byte on the wire, at most 65,535.

use super::FlowStreams;
use crate::SizeAt;
use crate::law::Law;
use dumbbell_core::time::Time;

/// Largest size a packet can have, bytes.
const LARGEST_BYTES: f64 = 65_535.0;
/// Largest UDP payload: the packet less IP and UDP headers.
const LARGEST_PAYLOAD_BYTES: f64 = LARGEST_BYTES - 28.0;

/// A source with independent gaps and sizes.
#[derive(Debug, Clone)]
pub struct Renewal {
    gap: Law,
    size: Law,
    size_at: SizeAt,
    least_size: f64,
    largest_size: f64,
    starts_at_once: bool,
    streams: FlowStreams,
}

impl Renewal {
    /// A source at its beginning.
    pub fn new(
        gap: &Law,
        size: &Law,
        size_at: SizeAt,
        starts_at_once: bool,
        streams: FlowStreams,
    ) -> Renewal {
        let (least_size, largest_size) = match size_at {
            SizeAt::Wire => (1.0, LARGEST_BYTES),
            SizeAt::Payload => (0.0, LARGEST_PAYLOAD_BYTES),
        };
        Renewal {
            gap: gap.clone(),
            size: size.clone(),
            size_at,
            least_size,
            largest_size,
            starts_at_once,
            streams,
        }
    }

    /// The next gap.
    #[inline(always)]
    pub fn next_gap(&mut self) -> Time {
        if self.starts_at_once {
            self.starts_at_once = false;
            return Time::ZERO;
        }
        Time::from_seconds(self.gap.draw(&mut self.streams.gap))
    }

    /// The next size, bytes.
    #[inline(always)]
    pub fn next_size(&mut self) -> u32 {
        let drawn = self.size.draw(&mut self.streams.size);
        // Adding one half and cutting off is rounding for values that are not negative.
        (drawn.clamp(self.least_size, self.largest_size) + 0.5) as u32
    }

    /// What its sizes mean.
    pub fn size_at(&self) -> SizeAt {
        self.size_at
    }
}
