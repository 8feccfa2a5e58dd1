//! Bursts: several packets handed to the network at one instant, again and again.
//!
//! The first burst comes at the start. Gaps run from one burst to the next and come from the
//! flow's stream of gaps, one draw a burst; sizes are drawn for each packet, and rounded and
//! bounded as those of a renewal source.

use super::FlowStreams;
use super::renewal::Renewal;
use crate::SizeAt;
use crate::law::Law;
use dumbbell_core::time::Time;

/// A source at its next packet.
#[derive(Debug, Clone)]
pub struct Bursts {
    each: Renewal,
    packets: u32,
    /// Packets of the current burst that are still to come.
    left: u32,
}

impl Bursts {
    /// A source at its beginning; `packets` is at least 1.
    pub fn new(
        packets: u32,
        gap: &Law,
        size: &Law,
        size_at: SizeAt,
        streams: FlowStreams,
    ) -> Bursts {
        Bursts {
            each: Renewal::new(gap, size, size_at, true, streams),
            packets,
            left: 0,
        }
    }

    /// To the next packet: nothing within a burst.
    #[inline]
    pub fn next_gap(&mut self) -> Time {
        if self.left > 0 {
            self.left -= 1;
            return Time::ZERO;
        }
        self.left = self.packets - 1;
        self.each.next_gap()
    }

    /// The next size, bytes.
    #[inline]
    pub fn next_size(&mut self) -> u32 {
        self.each.next_size()
    }

    /// What its sizes mean.
    pub fn size_at(&self) -> SizeAt {
        self.each.size_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(packets: u32) -> Bursts {
        let gap = Law::Exponential { mean: 0.01 };
        let size = Law::Uniform {
            low: 100.0,
            high: 1000.0,
        };
        let streams = FlowStreams::new(1, 0, "bursts");
        Bursts::new(packets, &gap, &size, SizeAt::Wire, streams)
    }

    #[test]
    fn packets_of_a_burst_share_an_instant_and_the_first_burst_is_at_the_start() {
        let mut source = bursts(3);
        let gaps: Vec<Time> = (0..9).map(|_| source.next_gap()).collect();
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
                now += source.next_gap();
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
