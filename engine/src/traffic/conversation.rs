//! A flow or a probe during the run: its hosts, and what it sent and received.

use super::counters::{ConversationCounters, PacketCount, PacketCounters};
use super::ping::Ping;
use super::tcp_flow::TcpFlow;
use crate::sim::delays::Delays;
use crate::sim::packet::Packet;
use crate::sim::prefetch::prefetch;
use crate::sim::time::Time;
use crate::spec::SizeAt;
use crate::spec::route::Row;
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

impl Application {
    /// Whether a packet is counted apart: what a receiver over TCP sends is.
    #[inline(always)]
    fn is_reply_apart(&self, packet: &Packet) -> bool {
        matches!(self, Application::Tcp(_)) && packet.is_reply()
    }
}

/// Datagrams of the measured window. For sizes on the wire, the payload is the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagrams {
    /// Handed to the network.
    pub sent: u64,
    /// Arrived whole.
    pub received: u64,
    /// Of those sent.
    pub sent_payload_bytes: u64,
    /// Of those received.
    pub received_payload_bytes: u64,
}

/// What a packet of a conversation touches whichever way it goes, and what is touched when one is sent:
/// a row of the one vector of all flows and probes. A connection's ends, and what is counted elsewhere,
/// lie beside it.
#[derive(Debug, Clone)]
#[repr(align(64))]
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
    /// Datagrams sent so far.
    number: u32,
    /// What makes the packets.
    pub application: Application,
    /// Nothing is sent from here on.
    stop: Time,
    /// Made by hosts, whole run.
    created: PacketCount,
    /// What a receiver over TCP sent and its sender got, whole run.
    replies_delivered: PacketCount,
    /// Payload sent for the first time in the measured window.
    sent_payload_bytes: u64,
    /// First sent in the measured window; `NEVER` before that.
    first_sent: Time,
    counted: Box<ConversationCounters>,
}

/// Of thousands of flows rows do not stay in the cache.
const _: () = assert!(size_of::<Conversation>() <= 256);

/// Between which hosts a conversation is, and what its packets are like.
#[derive(Debug, Clone, Copy)]
pub struct ConversationPath {
    /// Asking or sending host.
    pub source: u32,
    /// Answering or receiving host.
    pub destination: u32,
    /// The link its packets take first.
    pub first_link: u32,
    /// Row of the routes to the destination.
    pub row_out: Row,
    /// Row of the routes back.
    pub row_back: Row,
    /// Smallest MTU of the way out.
    pub mtu_bytes: u32,
}

impl Conversation {
    /// One that has sent nothing. Nothing is sent from `stop` on.
    pub fn new(
        way: ConversationPath,
        traffic_class: u8,
        stop: Time,
        application: Application,
    ) -> Conversation {
        let counting_host = match &application {
            Application::Udp(_) => way.destination,
            Application::Ping(_) | Application::Tcp(_) => NO_HOST,
        };
        Conversation {
            source: way.source,
            destination: way.destination,
            counting_host,
            first_link: way.first_link,
            row_out: way.row_out,
            row_back: way.row_back,
            traffic_class,
            size_at: SizeAt::Payload,
            mtu_bytes: way.mtu_bytes,
            number: 0,
            application,
            stop,
            created: PacketCount::default(),
            replies_delivered: PacketCount::default(),
            sent_payload_bytes: 0,
            first_sent: Time::NEVER,
            counted: Box::default(),
        }
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
            self.counted.seldom.sent_datagrams += 1;
            self.count_sent_payload(u64::from(size), now);
        }
        self.number
    }

    /// A host hands a packet of it to the network: its class as in the IP header.
    #[inline(always)]
    pub fn create(&mut self, mut packet: Packet) -> Packet {
        packet.traffic_class = self.traffic_class;
        self.created.add(&packet);
        packet
    }

    /// Counts a packet of a flow that arrived at its destination, and its delay.
    #[inline(always)]
    pub fn count_delivered(&mut self, packet: &Packet, now: Time, warm_up: Time) {
        let arrivals = &mut self.counted.arrivals;
        arrivals.delivered.add(packet);
        let delay = now.saturating_sub(packet.created);
        if packet.created >= warm_up {
            arrivals.delay.push(delay);
        } else {
            arrivals.delay_before_warm_up += u128::from(delay.0);
        }
    }

    /// Counts a packet of it that was lost on its way.
    #[inline]
    pub fn count_dropped(&mut self, packet: &Packet) {
        let seldom = &mut self.counted.seldom;
        if self.application.is_reply_apart(packet) {
            seldom.replies_dropped.add(packet);
        } else {
            seldom.dropped.add(packet);
        }
        if let Application::Tcp(flow) = &mut self.application {
            flow.on_drop(packet.segment_place());
        }
    }

    /// Payload of a byte stream has come in order.
    pub fn count_payload(&mut self, payload_bytes: u64, now: Time, warm_up: Time) {
        if payload_bytes == 0 {
            return;
        }
        let arrivals = &mut self.counted.arrivals;
        arrivals.payload_bytes += payload_bytes;
        if now >= warm_up {
            arrivals.measured_payload_bytes += payload_bytes;
            arrivals.last = now;
        }
    }

    /// The network has made a copy of a packet of it.
    pub fn count_duplicated(&mut self, copy: &Packet) {
        let seldom = &mut self.counted.seldom;
        if self.application.is_reply_apart(copy) {
            seldom.replies_duplicated.add(copy);
        } else {
            seldom.duplicated.add(copy);
        }
        if let Application::Tcp(flow) = &mut self.application {
            flow.on_copy(copy.segment_place());
        }
    }

    /// Its host made a packet.
    #[inline(always)]
    pub fn count_created(&mut self, packet: &Packet) {
        self.created.add(packet);
    }

    /// A receiver over TCP made a packet.
    #[inline(always)]
    pub fn count_reply_created(&mut self, packet: &Packet) {
        self.counted.arrivals.replies_created.add(packet);
    }

    /// What a receiver over TCP sent has come to the sender.
    #[inline(always)]
    pub fn count_reply_delivered(&mut self, packet: &Packet) {
        self.replies_delivered.add(packet);
    }

    /// An echo request or an answer has come.
    pub fn count_echo(&mut self, packet: &Packet) {
        self.counted.arrivals.delivered.add(packet);
    }

    /// Payload is sent for the first time in the measured window.
    #[inline(always)]
    pub fn count_sent_payload(&mut self, payload_bytes: u64, now: Time) {
        self.sent_payload_bytes += payload_bytes;
        if self.first_sent == Time::NEVER {
            self.first_sent = now;
        }
    }

    /// A source over TCP has written `writes` times in the measured window.
    #[inline(always)]
    pub fn count_writes(&mut self, writes: u32) {
        if writes > 0 {
            self.counted.seldom.sent_datagrams += u64::from(writes);
        }
    }

    /// Packets over the whole run; of TCP what the sender sent.
    pub fn counters(&self) -> PacketCounters {
        PacketCounters {
            created: self.created,
            delivered: self.counted.arrivals.delivered,
            dropped: self.counted.seldom.dropped,
            duplicated: self.counted.seldom.duplicated,
        }
    }

    /// Packets from a receiver over TCP to its sender over the whole run.
    pub fn replies(&self) -> PacketCounters {
        PacketCounters {
            created: self.counted.arrivals.replies_created,
            delivered: self.replies_delivered,
            dropped: self.counted.seldom.replies_dropped,
            duplicated: self.counted.seldom.replies_duplicated,
        }
    }

    /// Datagrams of the measured window; of TCP what the source wrote, and payload.
    pub fn datagrams(&self) -> Datagrams {
        Datagrams {
            sent: self.counted.seldom.sent_datagrams,
            received: self.counted.arrivals.datagrams,
            sent_payload_bytes: self.sent_payload_bytes,
            received_payload_bytes: self.counted.arrivals.measured_payload_bytes,
        }
    }

    /// First sent in the measured window.
    pub fn first_sent(&self) -> Option<Time> {
        (self.first_sent != Time::NEVER).then_some(self.first_sent)
    }

    /// Last received in the measured window.
    pub fn last_received(&self) -> Option<Time> {
        let last = self.counted.arrivals.last;
        (last != Time::NEVER).then_some(last)
    }

    /// One-way delay of packets made in the measured window.
    #[inline]
    pub fn delay(&self) -> &Delays {
        &self.counted.arrivals.delay
    }

    /// Payload received since the start of the run.
    pub fn delivered_payload_bytes(&self) -> u64 {
        self.counted.arrivals.payload_bytes
    }

    /// Has fetched what a packet touches that comes to its destination.
    #[inline(always)]
    pub fn prefetch_arrivals(&self) {
        prefetch(&self.counted.arrivals);
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
            let arrivals = &mut self.counted.arrivals;
            arrivals.payload_bytes += u64::from(payload);
            if now >= warm_up {
                arrivals.datagrams += 1;
                arrivals.measured_payload_bytes += u64::from(payload);
                arrivals.last = now;
            }
        }
    }

    /// Sum of all one-way delays since the start of the run, picoseconds.
    pub fn delay_total(&self) -> u128 {
        let arrivals = &self.counted.arrivals;
        arrivals.delay_before_warm_up + arrivals.delay.moments().sum()
    }

    /// The payload of the datagram that this packet completes, if it does. An ideal packet is
    /// a datagram of its own size.
    #[inline(always)]
    fn whole_datagram(&mut self, packet: &Packet) -> Option<u32> {
        if packet.has_size_on_wire() {
            return Some(u32::from(packet.bytes));
        }
        self.counted.seldom.reassembly.arrived(packet)
    }
}
