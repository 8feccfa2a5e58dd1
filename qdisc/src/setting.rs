//! Where a discipline stands: what it needs besides its own parameters.

use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::filter::Header;
use std::sync::Arc;

/// Ticks a second of the kernel that a description means unless it says otherwise.
pub const DEFAULT_TIMER_HZ: u32 = 1000;

/// Bytes of header the kernel counts on an Ethernet or veth interface.
pub const DEVICE_HEADER_BYTES: u32 = 14;

/// Whether a discipline is asked for packets while it is empty: some learn from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// A device of infinite rate, which asks until there is none; a prio, which asks each band in
    /// turn; a tbf, which looks before it asks.
    Device,
    /// htb, and a link's own rate, which stands for it: asks only while there is a packet.
    Shaper,
}

/// The hosts that a conversation is between, by their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ends {
    /// Where it begins.
    pub source: u32,
    /// Where it leads to.
    pub destination: u32,
}

/// What is around a discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Bytes a packet carries on this link besides its IP size.
    pub overhead_bytes: u32,
    /// Largest IP packet of the link.
    pub mtu_bytes: u32,
    /// Ticks a second of the kernel's coarse timers (`CONFIG_HZ`): a period is rounded up to
    /// whole ticks.
    pub timer_hz: u32,
    /// Who asks it for packets.
    pub above: Above,
    /// All randomness follows from this, the replication and the name.
    pub seed: u64,
    /// As above.
    pub replication: u64,
    /// Names its random stream: `queue/` and the queue's name; a child adds its place.
    pub name: String,
    /// Whether nothing is around it but the link.
    pub is_root: bool,
    /// Of each conversation; one that is not there is between the hosts numbered 0.
    pub ends: Arc<[Ends]>,
    /// What packets of each conversation have in their headers on the way there, but for DSCP and ECN;
    /// empty where no filter looks at that.
    pub headers: Arc<[Header]>,
}

impl Setting {
    /// The same for a child of this name, of a parent that passes every question on.
    pub fn child(&self, name: &str) -> Setting {
        Setting {
            name: format!("{}/{name}", self.name),
            is_root: false,
            above: Above::Device,
            ..self.clone()
        }
    }

    /// The longest frame of the interface (`psched_mtu`): the MTU and an Ethernet header,
    /// whatever overhead the link counts.
    pub fn device_mtu_bytes(&self) -> u32 {
        self.mtu_bytes + DEVICE_HEADER_BYTES
    }

    /// The discipline's random stream.
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.replication, &self.name)
    }

    /// A period in nanoseconds as the kernel's coarse timers keep it: whole ticks, rounded up
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
        // PIE's tupdate on a kernel of 250 Hz: 1 ms is 4 ms, 15 ms are 16, 30 are 32.
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
