//! The bins of `sfb`: one set of levels of bins for each of two keys of the hash.

use crate::flow_queues::mixed;
use dumbbell_core::own_samples::SfbState;
use dumbbell_core::packet::Packet;

/// `SFB_LEVELS`.
pub(super) const LEVELS: usize = 8;
/// `SFB_NUMBUCKETS`.
pub(super) const BINS: usize = 16;
const BITS_A_LEVEL: u32 = BINS.ilog2();

/// Probability 1 (`SFB_MAX_PROB`).
pub(super) const MOST_STEPS: u32 = SfbState::MOST_STEPS;

/// The hash of a flow under a key: four bits for each level; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash(u32);

impl Hash {
    /// In place of the hash of a set that a packet is not counted in.
    pub(super) const NONE: Hash = Hash(0);

    fn bins(self) -> impl Iterator<Item = usize> {
        (0..LEVELS as u32).map(move |level| (self.0 >> (BITS_A_LEVEL * level)) as usize % BINS)
    }
}

/// Packets in a bin, and the probability of marking that it has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bin {
    /// Stops at 65535.
    pub(super) packets: u16,
    /// In steps of 1/65535.
    pub(super) steps: u16,
}

/// When and by how much the probability of a bin changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blue {
    /// Packets in a bin that is full.
    pub(super) target_packets: u32,
    /// Increase of the probability of a full bin.
    pub(super) increment_steps: u32,
    /// Decrease of the probability of an empty bin.
    pub(super) decrement_steps: u32,
}

/// The least of a flow's bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Least {
    pub(super) packets: u32,
    pub(super) steps: u32,
}

/// A set of bins under one key.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    pub(super) key: u64,
    pub(super) levels: [[Bin; BINS]; LEVELS],
}

impl Bins {
    pub(super) fn new(key: u64) -> Bins {
        Bins {
            key,
            levels: [[Bin::default(); BINS]; LEVELS],
        }
    }

    /// The hash of a packet's flow, by conversation and direction.
    #[inline]
    pub(super) fn hash_of(&self, packet: &Packet) -> Hash {
        let flow = u64::from(packet.conversation) << 1 | u64::from(packet.is_reply());
        let hash = (mixed(flow ^ self.key) >> 32) as u32;
        Hash(hash.max(1))
    }

    /// Changes the probabilities of a flow's bins as BLUE does when a packet arrives. Returns the least of them.
    #[inline]
    pub(super) fn on_arrival(&mut self, hash: Hash, blue: &Blue) -> Least {
        let mut least = Least {
            packets: u32::MAX,
            steps: u32::MAX,
        };
        for (level, bin) in self.levels.iter_mut().zip(hash.bins()) {
            let bin = &mut level[bin];
            let (packets, steps) = (u32::from(bin.packets), u32::from(bin.steps));
            let steps = if packets == 0 {
                steps.saturating_sub(blue.decrement_steps)
            } else if packets >= blue.target_packets {
                steps.saturating_add(blue.increment_steps).min(MOST_STEPS)
            } else {
                steps
            };
            bin.steps = steps as u16;
            least.packets = least.packets.min(packets);
            least.steps = least.steps.min(steps);
        }
        least
    }

    /// Counts a packet that was enqueued.
    #[inline]
    pub(super) fn add(&mut self, hash: Hash) {
        self.each(hash, |packets| packets.saturating_add(1));
    }

    /// Counts a packet that left.
    #[inline]
    pub(super) fn remove(&mut self, hash: Hash) {
        self.each(hash, |packets| packets.saturating_sub(1));
    }

    #[inline]
    fn each(&mut self, hash: Hash, changed: impl Fn(u16) -> u16) {
        if hash == Hash::NONE {
            return;
        }
        for (level, bin) in self.levels.iter_mut().zip(hash.bins()) {
            level[bin].packets = changed(level[bin].packets);
        }
    }

    /// Adds the state of these bins to what is counted.
    pub(super) fn describe(&self, counted: SfbState) -> SfbState {
        let bins = || self.levels.iter().flatten();
        let sum: u32 = bins().map(|bin| u32::from(bin.steps)).sum();
        SfbState {
            longest_bin_pkts: bins().map(|bin| bin.packets.into()).max().unwrap_or(0),
            largest_probability_steps: bins().map(|bin| bin.steps.into()).max().unwrap_or(0),
            mean_probability_steps: sum / (LEVELS * BINS) as u32,
            ..counted
        }
    }
}
