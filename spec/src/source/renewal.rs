//! Independent gaps and independent sizes: the source of queueing theory.
//!
//! The first packet of a Poisson or renewal source is one gap after the start, as in a Poisson process; a
//! constant bit rate source sends its first packet at the start. A size is rounded to the nearest byte (for
//! an exponential law of mean m this changes the mean by a relative 1/(24 m^2); rounding up would change it
//! by 1/(2 m)). It is at least 1 byte on the wire, at most 65,535.

use super::{
    Carrier, Draws, FlowStreams, Form, Generator, Key, Parameters, Scheduled, Sends, Supply,
    Testbed, Value, Written, form,
};
use crate::law::Law;
use crate::validate::{law, positive_gap};
use crate::{SizeAt, SpecError};
use dumbbell_core::time::Time;
use serde::{Deserialize, Serialize};

/// Largest size a packet can have, bytes.
const LARGEST_BYTES: f64 = 65_535.0;
/// Largest UDP payload: the packet less IP and UDP headers.
const LARGEST_PAYLOAD_BYTES: f64 = LARGEST_BYTES - 28.0;

/// Gaps from any law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// Between packets.
    pub gap: Law,
    /// Size of a packet.
    pub size: Law,
    /// What the size means.
    pub size_at: SizeAt,
}

impl Written for Renewal {
    const FORM: Form = Form {
        summary: "Independent gaps of any law.",
        carrier: Carrier::Either,
        sends: Sends::Packets,
        keys: &[
            Key::new("gap", Value::GapLaw, "Time between packets."),
            form::SIZE,
            form::SIZE_AT,
        ],
        testbed: Testbed::ItgSend,
        example: r#"{ kind = "renewal", gap = "uniform 1ms 9ms", size = "uniform 64B 1400B" }"#,
    };
}

impl Parameters for Renewal {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        law(&format!("{path}.gap"), &self.gap)?;
        positive_gap(&format!("{path}.gap"), &self.gap)?;
        law(&format!("{path}.size"), &self.size)
    }

    fn size_at(&self) -> SizeAt {
        self.size_at
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        let draws = Independent::new(&self.gap, &self.size, self.size_at, false, streams);
        Supply::Schedule(Box::new(Generator::Independent(draws)))
    }

    fn scheduled(&self, active_s: f64) -> Option<Scheduled> {
        Some(Scheduled::of_laws(&self.gap, &self.size, active_s))
    }
}

/// The state of a source with independent gaps and sizes.
#[derive(Debug, Clone)]
pub struct Independent {
    gap: Law,
    size: Law,
    least_size: f64,
    largest_size: f64,
    starts_at_once: bool,
    streams: FlowStreams,
}

impl Independent {
    /// The initial state.
    pub fn new(
        gap: &Law,
        size: &Law,
        size_at: SizeAt,
        starts_at_once: bool,
        streams: FlowStreams,
    ) -> Independent {
        let (least_size, largest_size) = match size_at {
            SizeAt::Wire => (1.0, LARGEST_BYTES),
            SizeAt::Payload => (0.0, LARGEST_PAYLOAD_BYTES),
        };
        Independent {
            gap: gap.clone(),
            size: size.clone(),
            least_size,
            largest_size,
            starts_at_once,
            streams,
        }
    }
}

impl Draws for Independent {
    #[inline(always)]
    fn next_gap(&mut self) -> Option<Time> {
        if self.starts_at_once {
            self.starts_at_once = false;
            return Some(Time::ZERO);
        }
        Some(Time::from_seconds(self.gap.draw(&mut self.streams.gap)))
    }

    #[inline(always)]
    fn next_size(&mut self) -> u32 {
        let drawn = self.size.draw(&mut self.streams.size);
        // Adding one half and truncating rounds nonnegative values.
        (drawn.clamp(self.least_size, self.largest_size) + 0.5) as u32
    }
}
