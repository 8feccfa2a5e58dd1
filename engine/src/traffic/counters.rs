//! Counters of a conversation that lie outside its row: those of arrivals, and rare ones.

use crate::sim::datagram::Reassembly;
use crate::sim::delays::Delays;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

/// Packets and bytes (with the IP header) of one conversation over the whole run. Answers to
/// echo requests count like requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounters {
    /// Made by a host.
    pub created: PacketCount,
    /// Arrived where they were going.
    pub delivered: PacketCount,
    /// Refused by a queue or lost by a link.
    pub dropped: PacketCount,
    /// Made by the network, as copies of others.
    pub duplicated: PacketCount,
}

/// Packets, and their bytes with the IP header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCount {
    /// How many.
    pub pkts: u64,
    /// Of all of them.
    pub bytes: u64,
}

impl PacketCount {
    /// One more.
    #[inline(always)]
    pub fn add(&mut self, packet: &Packet) {
        self.pkts += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

/// What each packet touches that comes to the destination of a conversation, and what it answers.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct ArrivalCounters {
    /// One-way delay of packets made in the measured window.
    pub delay: Delays,
    /// Sum of the one-way delays of packets made before the warm-up ended, picoseconds.
    pub delay_before_warm_up: u128,
    /// Packets that came.
    pub delivered: PacketCount,
    /// What a receiver over TCP has sent.
    pub replies_created: PacketCount,
    /// Payload since the start of the run, for samples.
    pub payload_bytes: u64,
    /// Payload of the measured window.
    pub measured_payload_bytes: u64,
    /// Last of the measured window; `NEVER` before the first.
    pub last: Time,
    /// Datagrams that arrived whole in the measured window.
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

/// What is counted of what happens seldom.
#[derive(Debug, Clone, Default)]
pub struct RareCounters {
    /// Refused by a queue or lost by a link.
    pub dropped: PacketCount,
    /// Made by the network, as copies of others.
    pub duplicated: PacketCount,
    /// Of what a receiver over TCP sends.
    pub replies_dropped: PacketCount,
    /// Of that, too.
    pub replies_duplicated: PacketCount,
    /// Datagrams handed to the network in the measured window, or writes of a source over TCP.
    pub sent_datagrams: u64,
    /// Of fragments.
    pub reassembly: Reassembly,
}

/// What is counted of a conversation beside its row.
#[derive(Debug, Clone, Default)]
pub struct ConversationCounters {
    /// By each packet that comes.
    pub arrivals: ArrivalCounters,
    /// The rest.
    pub seldom: RareCounters,
}
