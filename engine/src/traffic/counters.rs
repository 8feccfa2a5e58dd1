//! Counters of a conversation outside its row: those of arrivals, and rarely used ones.

use crate::sim::datagram::Reassembly;
use crate::sim::delays::Delays;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

/// Packets and bytes (with the IP header) of one conversation over the whole run. Echo replies count like
/// requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounters {
    /// Sent by a host.
    pub created: PacketCount,
    /// Arrived at their destination.
    pub delivered: PacketCount,
    /// Dropped by a queue or lost by a link.
    pub dropped: PacketCount,
    /// Copies made by the network.
    pub duplicated: PacketCount,
}

/// Packets, and their bytes with the IP header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCount {
    /// Number of packets.
    pub pkts: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl PacketCount {
    /// Adds a packet.
    #[inline(always)]
    pub fn add(&mut self, packet: &Packet) {
        self.pkts += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

/// The counters that each packet touches that arrives at the destination of a conversation, and its reply.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct ArrivalCounters {
    /// One-way delay of packets created in the measured window.
    pub delay: Delays,
    /// Sum of the one-way delays of packets created before the warm-up ended, picoseconds.
    pub delay_before_warm_up: u128,
    /// Packets arrived.
    pub delivered: PacketCount,
    /// Replies sent by a TCP receiver.
    pub replies_created: PacketCount,
    /// Payload since the start of the run, for samples.
    pub payload_bytes: u64,
    /// Payload of the measured window.
    pub measured_payload_bytes: u64,
    /// Last arrival in the measured window; `NEVER` before the first.
    pub last: Time,
    /// Datagrams received completely in the measured window.
    pub datagrams: u64,
}

const _: () = assert!(size_of::<ArrivalCounters>() <= 192);

impl Default for ArrivalCounters {
    fn default() -> ArrivalCounters {
        ArrivalCounters {
            delay: Delays::default(),
            delay_before_warm_up: 0,
            delivered: PacketCount::default(),
            replies_created: PacketCount::default(),
            payload_bytes: 0,
            measured_payload_bytes: 0,
            last: Time::NEVER,
            datagrams: 0,
        }
    }
}

/// Counters of rare events.
#[derive(Debug, Clone, Default)]
pub struct RareCounters {
    /// Dropped by a queue or lost by a link.
    pub dropped: PacketCount,
    /// Copies made by the network.
    pub duplicated: PacketCount,
    /// Replies of a TCP receiver that were dropped.
    pub replies_dropped: PacketCount,
    /// Copies of replies of a TCP receiver.
    pub replies_duplicated: PacketCount,
    /// Datagrams sent in the measured window, or writes of a TCP source.
    pub sent_datagrams: u64,
    /// Reassembly of fragments.
    pub reassembly: Reassembly,
}

/// The counters of a conversation outside its row.
#[derive(Debug, Clone, Default)]
pub struct ConversationCounters {
    /// Updated by each arriving packet.
    pub arrivals: ArrivalCounters,
    /// Updated rarely.
    pub seldom: RareCounters,
}
