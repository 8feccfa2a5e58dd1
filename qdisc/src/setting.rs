//! The environment of a discipline: inputs besides its own parameters.

use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::filter::Header;
use std::sync::Arc;

/// Default tick rate of the kernel.
pub const DEFAULT_TIMER_HZ: u32 = 1000;

/// Header bytes that the kernel counts on an Ethernet or veth interface.
pub const DEVICE_HEADER_BYTES: u32 = 14;

/// Whether a discipline is polled while it is empty; some depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// Polled until empty: by a device with an infinite rate, a prio (each band in order), a tbf (by
    /// peeking).
    Device,
    /// Polled only while it holds a packet: by htb, and by a link with a rate.
    Shaper,
}

/// The hosts of a conversation, by number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// The host where it starts.
    pub source: u32,
    /// The host to which it leads.
    pub destination: u32,
}

/// The environment of a discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Link overhead per packet, besides the IP size, bytes.
    pub overhead_bytes: u32,
    /// Largest IP packet of the link.
    pub mtu_bytes: u32,
    /// Ticks per second of the kernel's coarse timers (`CONFIG_HZ`): periods are rounded up to whole ticks.
    pub timer_hz: u32,
    /// How it is polled.
    pub above: Above,
    /// Seed of the experiment; together with the replication and the name it determines all random numbers.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u64,
    /// Name of its random stream: `queue/` and the queue's name; a child appends its place.
    pub name: String,
    /// Whether it is the root discipline of the link.
    pub is_root: bool,
    /// Whether `dualpi2` marks and drops at random.
    pub random_marks: bool,
    /// Hosts of each conversation; a missing one is between hosts numbered 0.
    pub ends: Arc<[Ends]>,
    /// Forward headers of each conversation, without DSCP and ECN; empty if no filter uses them.
    pub headers: Arc<[Header]>,
}

impl Setting {
    /// The environment of a child with this name, whose parent passes every poll on.
    pub fn child(&self, name: &str) -> Setting {
        Setting {
            name: format!("{}/{name}", self.name),
            is_root: false,
            above: Above::Device,
            ..self.clone()
        }
    }

    /// Longest frame of the interface (`psched_mtu`): the MTU and an Ethernet header, whatever the link
    /// overhead.
    pub fn device_mtu_bytes(&self) -> u32 {
        self.mtu_bytes + DEVICE_HEADER_BYTES
    }

    /// The discipline's random stream.
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.replication, &self.name)
    }

    /// A period in nanoseconds, rounded up to whole ticks as the kernel's coarse timers do
    /// (`usecs_to_jiffies`).
    pub fn whole_ticks_ns(&self, period_ns: u64) -> u64 {
        let tick_ns = 1_000_000_000 / u64::from(self.timer_hz);
        period_ns.div_ceil(tick_ns) * tick_ns
    }

    /// For tests: Ethernet, 1500 bytes, 1000 ticks a second.
    #[cfg(test)]
    pub fn for_tests() -> Setting {
        Setting {
            overhead_bytes: 14,
            mtu_bytes: 1500,
            timer_hz: DEFAULT_TIMER_HZ,
            above: Above::Shaper,
            seed: 1,
            replication: 0,
            name: "queue/test".to_owned(),
            is_root: true,
            random_marks: false,
            ends: Arc::default(),
            headers: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_rounded_up_to_whole_ticks() {
        let hz = |timer_hz| Setting {
            timer_hz,
            ..Setting::for_tests()
        };
        // PIE's tupdate on a kernel with 250 Hz: 1 ms becomes 4 ms, 15 ms 16, 30 ms 32.
        assert_eq!(hz(250).whole_ticks_ns(1_000_000), 4_000_000);
        assert_eq!(hz(250).whole_ticks_ns(15_000_000), 16_000_000);
        assert_eq!(hz(250).whole_ticks_ns(30_000_000), 32_000_000);
        assert_eq!(hz(100).whole_ticks_ns(15_000_000), 20_000_000);
        assert_eq!(hz(1000).whole_ticks_ns(15_000_000), 15_000_000);
    }

    #[test]
    fn children_draw_from_streams_of_their_own() {
        let setting = Setting::for_tests();
        let child = setting.child("1:10");
        assert_eq!(child.name, "queue/test/1:10");
        assert_ne!(child.stream().uniform(), setting.stream().uniform());
    }
}
