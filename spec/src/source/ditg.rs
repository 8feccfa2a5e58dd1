//! The packets that ITGSend 2.8.1 really sends when asked for random gaps and sizes.
//!
//! | D-ITG | here |
//! | --- | --- |
//! | payload is the draw truncated to whole bytes, at least 20 (its own header), at most 64,000 | yes |
//! | headers and IP fragments on the wire | yes, in `datagram` |
//! | each gap is extended by the overshoot of the sleep (80 to 100 us on the machine measured) | `oversleep`, a law, off by default |
//! | `-poll` (busy waiting, less overshoot) | another `oversleep` |
//! | the signalling connection to port 9000 | no: a few packets at start and end |
//!
//! Sizes and overshoot were measured from captures of ITGSend 2.8.1 (Debian), `-E 110..2000 -e 512 -T UDP`.
//! Asked for 2000 packets/s, it sent 1655 to 1750.
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

use super::load::times;
use super::{
    Carrier, Draws, FlowStreams, Form, Generator, Key, Parameters, Presence, Scheduled, Sends,
    Supply, Testbed, Value, Written,
};
use crate::SpecError;
use crate::law::Law;
use crate::validate::{law, positive_gap};
use dumbbell_core::time::Time;
use serde::{Deserialize, Serialize};

/// The smallest payload, bytes: 16 of metadata and 4 that the option `-T` adds.
pub const LEAST_PAYLOAD_BYTES: f64 = 20.0;
/// The largest payload, bytes.
pub const LARGEST_PAYLOAD_BYTES: f64 = 64_000.0;

/// The parameters of ITGSend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ditg {
    /// Requested time between packets.
    pub gap: Law,
    /// Payload, before clipping.
    pub size: Law,
    /// Overshoot of its sleeps, added to each gap; null for none.
    pub oversleep: Option<Law>,
}

impl Written for Ditg {
    const FORM: Form = Form {
        summary: "ITGSend: payload in whole bytes from 20 to 64000, IP fragments.",
        carrier: Carrier::Udp,
        sends: Sends::Packets,
        keys: &[
            Key::new("gap", Value::GapLaw, "Requested time between packets: `-E 110` is `exponential 110pps`, `-C 110` is `constant 110pps`."),
            Key::new("size", Value::SizeLaw, "Requested payload: `-e 512` is `exponential 512B`."),
            Key::new("oversleep", Value::GapLaw, "Overshoot of each sleep, added to the gap; none by default. 80 to 100 us were measured on Linux 6.18.").or(Presence::OrNull),
        ],
        testbed: Testbed::ItgSend,
        example: r#"{ kind = "ditg", gap = "exponential 200pps", size = "exponential 512B" }"#,
    };
}

impl Parameters for Ditg {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        law(&format!("{path}.gap"), &self.gap)?;
        positive_gap(&format!("{path}.gap"), &self.gap)?;
        law(&format!("{path}.size"), &self.size)?;
        let oversleep = self.oversleep.as_ref();
        oversleep.map_or(Ok(()), |each| law(&format!("{path}.oversleep"), each))
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        let oversleep = self.oversleep.as_ref();
        let draws = ItgSend::new(&self.gap, &self.size, oversleep, streams);
        Supply::Schedule(Box::new(Generator::ItgSend(draws)))
    }

    fn scheduled(&self, active_s: f64) -> Option<Scheduled> {
        let size_bytes = self.size.mean_below(LARGEST_PAYLOAD_BYTES);
        Some(Scheduled {
            count: times(&self.gap, active_s),
            size_bytes: size_bytes.max(LEAST_PAYLOAD_BYTES),
        })
    }
}

/// The state of an ITGSend process.
#[derive(Debug, Clone)]
pub struct ItgSend {
    gap: Law,
    size: Law,
    oversleep: Option<Law>,
    streams: FlowStreams,
}

impl ItgSend {
    /// The initial state.
    pub fn new(gap: &Law, size: &Law, oversleep: Option<&Law>, streams: FlowStreams) -> ItgSend {
        ItgSend {
            gap: gap.clone(),
            size: size.clone(),
            oversleep: oversleep.cloned(),
            streams,
        }
    }
}

impl Draws for ItgSend {
    #[inline]
    fn next_gap(&mut self) -> Option<Time> {
        let asked = self.gap.draw(&mut self.streams.gap);
        let over = match &self.oversleep {
            Some(law) => law.draw(&mut self.streams.gap),
            None => 0.0,
        };
        Some(Time::from_seconds(asked + over))
    }

    #[inline]
    fn next_size(&mut self) -> u32 {
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
        let mut source = ItgSend::new(&gap, &size, None, FlowStreams::new(1, 0, "sender"));
        let sizes: Vec<u32> = (0..200_000).map(|_| source.next_size()).collect();
        assert_eq!(*sizes.iter().min().unwrap(), 20);
        // A draw below 21 gives 20: the share is 1 - exp(-21/512), 4.0 % as captured.
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
        let mut plain = ItgSend::new(&gap, &size, None, FlowStreams::new(1, 0, "x"));
        let mut late = ItgSend::new(&gap, &size, Some(&over), FlowStreams::new(1, 0, "x"));
        for _ in 0..100 {
            let difference = late.next_gap().unwrap() - plain.next_gap().unwrap();
            assert!(difference.0.abs_diff(90_000_000) <= 1);
        }
    }
}
