//! A flow or a probe while it runs: who speaks to whom, what was sent and what arrived.

use super::ping::Ping;
use super::tcp_flow::TcpFlow;
use crate::sim::datagram::Reassembly;
use crate::sim::delays::Delays;
use crate::sim::packet::Packet;
use crate::sim::time::Time;
use crate::spec::SizeAt;
use crate::spec::route::{Hop, Routes, Row};
use crate::spec::source::Generator;

/// In place of a host's number.
pub const NO_HOST: u32 = u32::MAX;

/// What makes the packets.
#[derive(Debug, Clone)]
pub enum Application {
    /// UDP from a generator.
    Udp(Box<Generator>),
    /// Echo requests.
    Ping(Ping),
    /// Connections.
    Tcp(TcpFlow),
}

/// Packets and bytes (with the IP header) of one conversation over the whole run. Answers to
/// echo requests count like requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacketCounters {
    // Packets first and then bytes, as in the counters of a link.
    /// Made by a host.
    pub created_pkts: u64,
    /// Arrived where they were going.
    pub delivered_pkts: u64,
    /// Refused by a queue or lost by a link.
    pub dropped_pkts: u64,
    /// Made by the network, as copies of others.
    pub duplicated_pkts: u64,
    /// Made by a host.
    pub created_bytes: u64,
    /// Arrived where they were going.
    pub delivered_bytes: u64,
    /// Refused by a queue or lost by a link.
    pub dropped_bytes: u64,
    /// Made by the network, as copies of others.
    pub duplicated_bytes: u64,
}

impl PacketCounters {
    /// A host made a packet.
    #[inline]
    pub fn created(&mut self, packet: &Packet) {
        self.created_pkts += 1;
        self.created_bytes += u64::from(packet.bytes);
    }

    /// The network made a copy of a packet.
    #[inline]
    pub fn duplicated(&mut self, copy: &Packet) {
        self.duplicated_pkts += 1;
        self.duplicated_bytes += u64::from(copy.bytes);
    }

    /// A packet arrived where it was going.
    #[inline]
    pub fn delivered(&mut self, packet: &Packet) {
        self.delivered_pkts += 1;
        self.delivered_bytes += u64::from(packet.bytes);
    }

    /// A queue refused a packet, or a link lost it.
    #[inline]
    pub fn dropped(&mut self, packet: &Packet) {
        self.dropped_pkts += 1;
        self.dropped_bytes += u64::from(packet.bytes);
    }
}

/// Datagrams of the measured window. For sizes on the wire, the payload is the size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Datagrams {
    // Numbers first and then bytes, as in the counters of a link.
    /// Handed to the network.
    pub sent: u64,
    /// Arrived whole.
    pub received: u64,
    /// Of those sent.
    pub sent_payload_bytes: u64,
    /// Of those received.
    pub received_payload_bytes: u64,
}

/// The state of a conversation.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Asking or sending host.
    pub source: u32,
    /// Answering or receiving host.
    pub destination: u32,
    /// The host where its packets need nothing but counting: the destination of a flow. None,
    /// `NO_HOST`, for a probe.
    pub counting_host: u32,
    /// The link its packets take first.
    pub first_link: u32,
    /// Row of the routes to the destination.
    pub row_out: Row,
    /// Row of the routes back.
    pub row_back: Row,
    /// DSCP and ECN of its packets.
    pub traffic_class: u8,
    /// What the sizes of its datagrams mean.
    pub size_at: SizeAt,
    /// Smallest MTU of the way out.
    pub mtu_bytes: u32,
    /// What makes the packets.
    pub application: Application,
    /// Nothing is sent from here on.
    pub stop: Time,
    /// Datagrams sent so far.
    pub number: u32,
    /// Whole run.
    pub counters: PacketCounters,
    /// Sent and received in the measured window.
    pub datagrams: Datagrams,
    /// First sent in the measured window.
    pub first_sent: Option<Time>,
    /// Last received in the measured window.
    pub last_received: Option<Time>,
    /// One-way delay of packets made in the measured window.
    pub delay: Delays,
    /// Payload received since the start of the run, for samples.
    pub delivered_payload_bytes: u64,
    /// Sum of the one-way delays of packets made before the warm-up ended, picoseconds.
    pub delay_before_warm_up: u128,
    /// Of fragments.
    pub reassembly: Reassembly,
}

const _: () = assert!(size_of::<Conversation>() <= 512);

impl Conversation {
    /// The links that its packets take there, and those that what is answered takes back.
    pub fn ways(&self, routes: &Routes, hops: &[Hop]) -> Vec<Vec<u32>> {
        let mut ways = vec![(self.row_out, self.source, self.destination)];
        // Nobody answers datagrams.
        if !matches!(self.application, Application::Udp(_)) {
            ways.push((self.row_back, self.destination, self.source));
        }
        ways.into_iter()
            .filter_map(|(row, from, to)| routes.path(hops, row, from, to))
            .collect()
    }

    /// Whether a packet of it that reaches this host needs nothing but counting.
    #[inline(always)]
    pub fn counts_at(&self, host: u32) -> bool {
        self.counting_host == host
    }

    /// When it sends the packet that is due this long after `now`, if ever: nothing is sent
    /// from its stop on.
    #[inline(always)]
    pub fn due_after(&self, gap: Option<Time>, now: Time) -> Time {
        match gap.map(|gap| now.saturating_add(gap)) {
            Some(due) if due < self.stop => due,
            _ => Time::NEVER,
        }
    }

    /// Counts a datagram that is about to be sent and gives it its number.
    #[inline(always)]
    pub fn number_datagram(&mut self, size: u32, now: Time, warm_up: Time) -> u32 {
        self.number = self.number.wrapping_add(1);
        if now >= warm_up {
            self.datagrams.sent += 1;
            self.datagrams.sent_payload_bytes += u64::from(size);
            self.first_sent.get_or_insert(now);
        }
        self.number
    }

    /// A host hands a packet of it to the network: its class as in the IP header.
    #[inline(always)]
    pub fn create(&mut self, mut packet: Packet) -> Packet {
        packet.traffic_class = self.traffic_class;
        self.counters.created(&packet);
        packet
    }

    /// Counts a packet of a flow that arrived at its destination, and its delay.
    #[inline(always)]
    pub fn count_delivered(&mut self, packet: &Packet, now: Time, warm_up: Time) {
        self.counters.delivered(packet);
        let delay = now.saturating_sub(packet.created);
        if packet.created >= warm_up {
            self.delay.push(delay);
        } else {
            self.delay_before_warm_up += u128::from(delay.0);
        }
    }

    /// Counts a packet of it that was lost on its way.
    #[inline]
    pub fn count_dropped(&mut self, packet: &Packet) {
        self.counters_of(packet).dropped(packet);
        if let Application::Tcp(flow) = &mut self.application {
            flow.on_drop(packet.segment_place());
        }
    }

    /// Payload of a byte stream has come in order.
    pub fn count_payload(&mut self, payload_bytes: u64, now: Time, warm_up: Time) {
        if payload_bytes == 0 {
            return;
        }
        self.delivered_payload_bytes += payload_bytes;
        if now >= warm_up {
            self.datagrams.received_payload_bytes += payload_bytes;
            self.last_received = Some(now);
        }
    }

    /// The counters that a packet of this conversation belongs to: what a receiver sends over
    /// TCP has its own.
    #[inline]
    pub fn counters_of(&mut self, packet: &Packet) -> &mut PacketCounters {
        match &mut self.application {
            Application::Tcp(flow) if packet.is_reply() => &mut flow.replies,
            _ => &mut self.counters,
        }
    }

    /// Its flow over TCP, if it is one.
    pub fn tcp(&self) -> Option<&TcpFlow> {
        match &self.application {
            Application::Tcp(flow) => Some(flow),
            _ => None,
        }
    }

    /// A packet of a flow arrived at its destination.
    #[inline(always)]
    pub fn receive(&mut self, packet: &Packet, now: Time, warm_up: Time) {
        self.count_delivered(packet, now, warm_up);
        if let Some(payload) = self.whole_datagram(packet) {
            self.delivered_payload_bytes += u64::from(payload);
            if now >= warm_up {
                self.datagrams.received += 1;
                self.datagrams.received_payload_bytes += u64::from(payload);
                self.last_received = Some(now);
            }
        }
    }

    /// Sum of all one-way delays since the start of the run, picoseconds.
    pub fn delay_total(&self) -> u128 {
        self.delay_before_warm_up + self.delay.moments().sum()
    }

    /// The payload of the datagram that this packet completes, if it does. An ideal packet is
    /// a datagram of its own size.
    #[inline(always)]
    fn whole_datagram(&mut self, packet: &Packet) -> Option<u32> {
        if packet.has_size_on_wire() {
            return Some(u32::from(packet.bytes));
        }
        self.reassembly.arrived(packet)
    }
}
