//! Bursts: several packets sent at one instant, repeatedly.
//!
//! The first burst is at the start. Gaps between bursts come from the flow's stream of gaps, one draw per
//! burst. Sizes are drawn for each packet, and rounded and bounded as those of a renewal source.

use super::renewal::Independent;
use super::{
    Carrier, Draws, FlowStreams, Form, Generator, Key, Parameters, Scheduled, Sends, Supply,
    Testbed, Value, Written, form,
};
use crate::law::Law;
use crate::validate::{law, positive_gap, require};
use crate::{SizeAt, SpecError};
use dumbbell_core::time::Time;
use serde::{Deserialize, Serialize};

/// Parameters of the bursts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Packets in a burst.
    pub packets: u32,
    /// Between bursts.
    pub gap: Law,
    /// Size of a packet.
    pub size: Law,
    /// What the size means.
    pub size_at: SizeAt,
}

impl Written for Bursts {
    const FORM: Form = Form {
        summary: "Bursts of packets sent at one instant.",
        carrier: Carrier::Udp,
        sends: Sends::Packets,
        keys: &[
            Key::new(
                "gap",
                Value::GapLaw,
                "Time between bursts; the first is at the start.",
            ),
            form::SIZE,
            form::SIZE_AT,
            Key::new("packets", Value::Count, "Packets per burst."),
        ],
        testbed: Testbed::Nothing("bursts; ITGSend sends one packet at a time"),
        example: r#"{ kind = "bursts", packets = 12, gap = "exponential 5pps", size = "1000B" }"#,
    };
}

impl Parameters for Bursts {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        let allowed = "1 to 100000 packets";
        let in_range = (1..=100_000).contains(&self.packets);
        require(in_range, &format!("{path}.packets"), self.packets, allowed)?;
        law(&format!("{path}.gap"), &self.gap)?;
        positive_gap(&format!("{path}.gap"), &self.gap)?;
        law(&format!("{path}.size"), &self.size)
    }

    fn size_at(&self) -> SizeAt {
        self.size_at
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        let draws = InBursts::new(self.packets, &self.gap, &self.size, self.size_at, streams);
        Supply::Schedule(Box::new(Generator::InBursts(draws)))
    }

    fn scheduled(&self, active_s: f64) -> Option<Scheduled> {
        let each = Scheduled::of_laws(&self.gap, &self.size, active_s);
        Some(Scheduled {
            count: each.count * f64::from(self.packets),
            ..each
        })
    }
}

/// The state of the source.
#[derive(Debug, Clone)]
pub struct InBursts {
    each: Independent,
    packets: u32,
    /// Packets left in the current burst.
    left: u32,
}

impl InBursts {
    /// The initial state; `packets` is at least 1.
    pub fn new(
        packets: u32,
        gap: &Law,
        size: &Law,
        size_at: SizeAt,
        streams: FlowStreams,
    ) -> InBursts {
        InBursts {
            each: Independent::new(gap, size, size_at, true, streams),
            packets,
            left: 0,
        }
    }
}

impl Draws for InBursts {
    /// Zero within a burst.
    #[inline]
    fn next_gap(&mut self) -> Option<Time> {
        if self.left > 0 {
            self.left -= 1;
            return Some(Time::ZERO);
        }
        self.left = self.packets - 1;
        self.each.next_gap()
    }

    #[inline]
    fn next_size(&mut self) -> u32 {
        self.each.next_size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(packets: u32) -> InBursts {
        let gap = Law::Exponential { mean: 0.01 };
        let size = Law::Uniform {
            low: 100.0,
            high: 1000.0,
        };
        let streams = FlowStreams::new(1, 0, "bursts");
        InBursts::new(packets, &gap, &size, SizeAt::Wire, streams)
    }

    #[test]
    fn packets_of_a_burst_share_an_instant_and_the_first_burst_is_at_the_start() {
        let mut source = bursts(3);
        let gaps: Vec<Time> = (0..9).map(|_| source.next_gap().unwrap()).collect();
        assert_eq!(gaps[..3], [Time::ZERO; 3]);
        for place in [3, 6] {
            assert!(gaps[place] > Time::ZERO);
            assert_eq!(gaps[place + 1..place + 3], [Time::ZERO; 2]);
        }
    }

    #[test]
    fn a_burst_draws_one_gap_so_bursts_of_other_sizes_come_at_the_same_instants() {
        let starts = |packets: u32| {
            let mut source = bursts(packets);
            let mut now = Time::ZERO;
            let mut starts = Vec::new();
            for index in 0..20 * packets {
                now += source.next_gap().unwrap();
                if index % packets == 0 {
                    starts.push(now);
                }
            }
            starts
        };
        assert_eq!(starts(1), starts(7));
    }

    #[test]
    fn every_packet_has_a_size_of_its_own() {
        let mut source = bursts(4);
        let sizes: Vec<u32> = (0..4).map(|_| source.next_size()).collect();
        assert!(sizes.windows(2).any(|pair| pair[0] != pair[1]), "{sizes:?}");
        assert!(sizes.iter().all(|size| (100..=1000).contains(size)));
    }
}
