//! The size that the shaper counts for a packet, and its transmission time.

use dumbbell_core::packet::Packet;
use dumbbell_tc::qdisc::Cake as Config;
use dumbbell_tc::qdisc::cake::LinkLayer;

use super::counted::Sizes;
use crate::setting::DEVICE_HEADER_BYTES;

const NS_PER_S: u64 = 1_000_000_000;
/// Bits of the kernel's time per byte; at most this number are fractional.
const BITS: u32 = 34;
/// Slower rates are treated as this one, bytes per second.
const LEAST_BYTES_PER_S: u64 = 64;

/// How the size of a packet is counted (tc-cake(8), "Overhead compensation parameters").
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    is_raw: bool,
    overhead_bytes: i32,
    mpu_bytes: i32,
    link_layer: LinkLayer,
    /// Overhead of the link of the queue.
    device_overhead_bytes: u32,
}

impl Counted {
    pub fn new(config: &Config, device_overhead_bytes: u32) -> Counted {
        Counted {
            is_raw: config.raw,
            overhead_bytes: config.overhead_bytes,
            mpu_bytes: config.mpu_bytes as i32,
            link_layer: config.link_layer,
            device_overhead_bytes,
        }
    }

    /// Bytes that the shaper counts. For a GSO packet the sum over its segments, which are assumed equally
    /// long except for the last.
    #[inline]
    pub fn bytes(&self, packet: &Packet) -> u32 {
        let (bytes, segments, last_bytes) = self.segments(packet);
        self.of_one(bytes) * (segments - 1) + self.of_one(last_bytes)
    }

    /// Counts the sizes of the packet, before and after the overhead.
    #[inline]
    pub fn observe(&self, packet: &Packet, sizes: &mut Sizes) {
        let (bytes, segments, last_bytes) = self.segments(packet);
        for bytes in [bytes, last_bytes].iter().skip(usize::from(segments == 1)) {
            sizes.count(*bytes, self.of_one(*bytes), DEVICE_HEADER_BYTES);
        }
    }

    /// Size of its segments except the last, their number, and the size of the last.
    #[inline]
    fn segments(&self, packet: &Packet) -> (u32, u32, u32) {
        let all_bytes = if self.is_raw {
            packet.wire_bytes(self.device_overhead_bytes)
        } else if packet.has_size_on_wire() {
            { packet.wire_bytes(0) }.saturating_sub(self.device_overhead_bytes)
        } else {
            packet.wire_bytes(0)
        };
        match packet.segments() {
            0 | 1 => (all_bytes, 1, all_bytes),
            segments => {
                let bytes = all_bytes.div_ceil(segments);
                let last_bytes = all_bytes.saturating_sub(bytes * (segments - 1));
                (bytes, segments, last_bytes)
            }
        }
    }

    #[inline]
    fn of_one(&self, bytes: u32) -> u32 {
        let bytes = (bytes as i32 + self.overhead_bytes).max(self.mpu_bytes) as u32;
        match self.link_layer {
            LinkLayer::Noatm => bytes,
            LinkLayer::Atm => bytes.div_ceil(48) * 53,
            LinkLayer::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

/// Time per byte: nanoseconds, shifted left.
#[derive(Debug, Clone, Copy)]
pub struct ByteTime {
    ns: u64,
    shift: u32,
}

impl ByteTime {
    /// At a rate in bytes per second; without a rate it is 0.
    pub fn new(bytes_per_s: u64) -> ByteTime {
        if bytes_per_s == 0 {
            return ByteTime { ns: 0, shift: 0 };
        }
        let ns = (NS_PER_S << BITS) / bytes_per_s.max(LEAST_BYTES_PER_S);
        let excess = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS);
        ByteTime {
            ns: ns >> excess,
            shift: BITS - excess,
        }
    }

    /// Time of this number of bytes.
    #[inline]
    pub fn ns_of(self, bytes: u32) -> u64 {
        u64::from(bytes).wrapping_mul(self.ns) >> self.shift
    }
}

/// Size of the longest frame, from which the kernel computes targets (`psched_mtu`).
pub fn frame_bytes(mtu_bytes: u32) -> u32 {
    mtu_bytes + DEVICE_HEADER_BYTES
}
