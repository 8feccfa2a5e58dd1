//! Replay of a recorded trace.

use super::{
    Carrier, Draws, FlowStreams, Form, Generator, Key, Parameters, Scheduled, Sends, Supply,
    Testbed, Value, Written, form,
};
use crate::validate::{instant, require};
use crate::{SizeAt, SpecError};
use dumbbell_core::time::Time;
use serde::{Deserialize, Serialize};

/// A trace of packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// Times from the flow's start, nondecreasing.
    pub times_ns: Vec<u64>,
    /// One size for each time.
    pub sizes_bytes: Vec<u32>,
    /// What the size means.
    pub size_at: SizeAt,
}

impl Written for Replay {
    const FORM: Form = Form {
        summary: "A trace.",
        carrier: Carrier::Udp,
        sends: Sends::Packets,
        keys: &[
            Key::new(
                "times",
                Value::Times,
                "Times of the packets from the flow's start, nondecreasing.",
            )
            .resolved_as("times_ns"),
            Key::new(
                "sizes",
                Value::Sizes,
                "Sizes of the packets, one for each time.",
            )
            .resolved_as("sizes_bytes"),
            form::SIZE_AT,
        ],
        testbed: Testbed::Nothing("a recorded trace; no ITGSend line"),
        example: r#"{ kind = "replay", times = ["0s", "5ms", "6ms"], sizes = ["90B", "1kB", "64B"] }"#,
    };
}

impl Parameters for Replay {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        let (times_ns, sizes) = (&self.times_ns, self.sizes_bytes.len());
        let found = format!("{sizes} sizes");
        let path_sizes = format!("{path}.sizes_bytes");
        require(
            times_ns.len() == sizes,
            &path_sizes,
            found,
            "one size for each time",
        )?;
        let disorder = times_ns.windows(2).position(|pair| pair[1] < pair[0]);
        if let Some(index) = disorder {
            let path = format!("{path}.times_ns[{}]", index + 1);
            let allowed = "times that do not decrease";
            return Err(SpecError::new(path, times_ns[index + 1], allowed));
        }
        let last_ns = times_ns.last().copied().unwrap_or(0);
        instant(&format!("{path}.times_ns"), last_ns)
    }

    fn size_at(&self) -> SizeAt {
        self.size_at
    }

    fn supply(&self, _: FlowStreams) -> Supply {
        let (times_ns, sizes_bytes) = (self.times_ns.clone(), self.sizes_bytes.clone());
        let trace = Trace::new(times_ns, sizes_bytes, self.size_at);
        Supply::Schedule(Box::new(Generator::Trace(trace)))
    }

    fn scheduled(&self, _: f64) -> Option<Scheduled> {
        let count = self.times_ns.len() as f64;
        let bytes: u64 = self.sizes_bytes.iter().map(|bytes| u64::from(*bytes)).sum();
        Some(Scheduled {
            count,
            size_bytes: bytes as f64 / count.max(1.0),
        })
    }
}

/// The state of a replay.
#[derive(Debug, Clone)]
pub struct Trace {
    times_ns: Vec<u64>,
    sizes_bytes: Vec<u32>,
    size_at: SizeAt,
    next: usize,
}

impl Trace {
    /// The initial state: times from the flow's start, nondecreasing.
    pub fn new(times_ns: Vec<u64>, sizes_bytes: Vec<u32>, size_at: SizeAt) -> Trace {
        Trace {
            times_ns,
            sizes_bytes,
            size_at,
            next: 0,
        }
    }
}

impl Draws for Trace {
    fn next_gap(&mut self) -> Option<Time> {
        let due = *self.times_ns.get(self.next)?;
        let before = match self.next {
            0 => 0,
            next => self.times_ns[next - 1],
        };
        self.next += 1;
        Some(Time::from_ns(due - before))
    }

    fn next_size(&mut self) -> u32 {
        let most = match self.size_at {
            SizeAt::Wire => 65_535,
            SizeAt::Payload => 65_507,
        };
        self.sizes_bytes[self.next - 1].min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_the_trace() {
        let mut replay = Trace::new(vec![5, 5, 9], vec![100, 70_000, 3], SizeAt::Wire);
        let mut out = Vec::new();
        let mut now = Time::ZERO;
        while let Some(gap) = replay.next_gap() {
            now += gap;
            out.push((now.as_ns(), replay.next_size()));
        }
        assert_eq!(out, vec![(5, 100), (5, 65_535), (9, 3)]);
    }
}
