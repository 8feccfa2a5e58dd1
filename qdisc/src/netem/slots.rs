//! `slot`: packets that are due wait for the next slot and leave in it together, as from a radio with
//! transmission opportunities or an interface with few interrupts (tc-netem(8)).
//!
//! A new slot is drawn when the next packet is due after the current slot opened, and when a slot is full.
//! The time until it opens is uniform, or from a table like jitter.

use super::chance::{Correlated, bits};
use super::distribution::{self, Jitter};
use super::moved;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{Slot, SlotDelay};

/// Time from the draw of a slot until it opens.
#[derive(Debug, Clone)]
enum Delay {
    Uniform { least: Time, width_ns: u64 },
    Distribution { mean: Time, jitter: Jitter },
}

/// The slots of a queue.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    delay: Delay,
    /// When the current slot opens or opened; None before the first.
    opens: Option<Time>,
    packets_left: u64,
    bytes_left: u64,
    /// Packets and bytes of a whole slot.
    packets: u64,
    bytes: u64,
}

impl Slots {
    pub(super) fn new(slot: &Slot, stream: &mut Stream) -> Slots {
        let delay = match slot.delay {
            SlotDelay::Uniform { min_ns, max_ns } => Delay::Uniform {
                least: Time::from_ns(min_ns),
                width_ns: max_ns - min_ns,
            },
            SlotDelay::Distribution {
                distribution,
                delay_ns,
                jitter_ns,
            } => Delay::Distribution {
                mean: Time::from_ns(delay_ns),
                jitter: Jitter::new(jitter_ns, distribution, Correlated::new(0, stream)),
            },
        };
        let or_any = |number: u32| {
            if number > 0 {
                u64::from(number)
            } else {
                u64::MAX
            }
        };
        let (packets, bytes) = (or_any(slot.packets), or_any(slot.bytes));
        Slots {
            delay,
            opens: None,
            packets_left: packets,
            bytes_left: bytes,
            packets,
            bytes,
        }
    }

    /// When a packet that is due at `due` may leave, asked at `now`.
    pub(super) fn opens_for(&mut self, due: Time, now: Time, stream: &mut Stream) -> Time {
        match self.opens {
            Some(opens) if opens >= due => opens,
            _ => self.draw(now, stream),
        }
    }

    /// Counts a packet of `bytes` on the wire that leaves at `now`.
    pub(super) fn spend(&mut self, bytes: u32, now: Time, stream: &mut Stream) {
        self.packets_left = self.packets_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(bytes));
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.draw(now, stream);
        }
    }

    fn draw(&mut self, now: Time, stream: &mut Stream) -> Time {
        let opens = match &mut self.delay {
            Delay::Uniform { least, width_ns } => {
                // The parser limits the width to 31 bits.
                let more_ns = (u64::from(bits(stream)) * *width_ns) >> 32;
                now + *least + Time::from_ns(more_ns)
            }
            Delay::Distribution { mean, jitter } => moved(now + *mean, jitter.draw_ns(stream)),
        };
        self.opens = Some(opens);
        (self.packets_left, self.bytes_left) = (self.packets, self.bytes);
        opens
    }
}

/// The share of slots that open in the instant in which they are drawn, or earlier.
pub(super) fn share_at_once(slot: &Slot) -> f64 {
    match slot.delay {
        SlotDelay::Uniform { min_ns: 1.., .. } => 0.0,
        SlotDelay::Uniform { max_ns, .. } => 1.0 / max_ns.max(1) as f64,
        SlotDelay::Distribution {
            distribution,
            delay_ns,
            jitter_ns,
        } => {
            let bound_ns = 1 - i64::try_from(delay_ns).unwrap_or(i64::MAX);
            distribution::share_below(jitter_ns, distribution, bound_ns)
        }
    }
}
