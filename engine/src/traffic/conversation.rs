//! A flow or a probe during the run: its hosts, and what it has sent and received.

use super::counters::{ConversationCounters, PacketCount, PacketCounters};
use super::ping::Ping;
use super::tcp_flow::TcpFlow;
use crate::sim::delays::Delays;
use crate::sim::packet::Packet;
use crate::sim::prefetch::prefetch;
use crate::sim::time::Time;
use crate::spec::SizeAt;
use crate::spec::route::RouteHandle;
use crate::spec::source::Generator;

/// Placeholder for a host number.
pub const NO_HOST: u32 = u32::MAX;

/// The generator of the packets.
#[derive(Debug, Clone)]
pub enum Application {
    /// UDP from a generator.
    Udp(Box<Generator>),
    /// Echo requests.
    Ping(Ping),
    /// TCP connections.
    Tcp(TcpFlow),
}

impl Application {
    /// Whether a packet is counted separately: replies of a TCP receiver are.
    #[inline(always)]
    fn is_reply_apart(&self, packet: &Packet) -> bool {
        matches!(self, Application::Tcp(_)) && packet.is_reply()
    }
}

/// Datagrams of the measured window. For sizes on the wire, the payload is the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagrams {
    /// Sent.
    pub sent: u64,
    /// Received completely.
    pub received: u64,
    /// Payload of those sent.
    pub sent_payload_bytes: u64,
    /// Payload of those received.
    pub received_payload_bytes: u64,
}

/// The state that every packet of a conversation touches: one row of the vector of all flows and probes. The
/// ends of connections, and rarely used counters, are stored elsewhere.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Conversation {
    /// Sending or requesting host.
    pub source: u32,
    /// Receiving or answering host.
    pub destination: u32,
    /// The host where its packets are only counted: the destination of a flow. `NO_HOST` for a probe.
    pub counting_host: u32,
    /// The first link of its packets.
    pub first_link: u32,
    /// Handle of the routes to the destination.
    pub route_out: RouteHandle,
    /// Handle of the return routes.
    pub route_back: RouteHandle,
    /// DSCP and ECN of its packets.
    pub traffic_class: u8,
    /// What the sizes of its datagrams mean.
    pub size_at: SizeAt,
    /// Smallest MTU of the forward path.
    pub mtu_bytes: u32,
    /// Number of datagrams sent so far.
    number: u32,
    /// The generator of the packets.
    pub application: Application,
    /// Time from which nothing is sent.
    stop: Time,
    /// Packets sent by hosts, whole run.
    created: PacketCount,
    /// Replies of a TCP receiver that reached the sender, whole run.
    replies_delivered: PacketCount,
    /// Payload transmitted for the first time in the measured window.
    sent_payload_bytes: u64,
    /// First send time in the measured window; `NEVER` before it.
    first_sent: Time,
    counted: Box<ConversationCounters>,
}

/// With thousands of flows the rows do not fit the cache.
const _: () = assert!(size_of::<Conversation>() <= 256);

/// The hosts and the path of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct ConversationPath {
    /// Sending or requesting host.
    pub source: u32,
    /// Receiving or answering host.
    pub destination: u32,
    /// The first link of its packets.
    pub first_link: u32,
    /// Handle of the routes to the destination.
    pub route_out: RouteHandle,
    /// Handle of the return routes.
    pub route_back: RouteHandle,
    /// Smallest MTU of the forward path.
    pub mtu_bytes: u32,
}

impl Conversation {
    /// A new conversation. It sends nothing from `stop` on.
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
            route_out: way.route_out,
            route_back: way.route_back,
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

    /// Whether a packet of it that reaches this host is only counted.
    #[inline(always)]
    pub fn counts_at(&self, host: u32) -> bool {
        self.counting_host == host
    }

    /// Send time of the packet due this long after `now`, if any: nothing is sent from its stop on.
    #[inline(always)]
    pub fn due_after(&self, gap: Option<Time>, now: Time) -> Time {
        match gap.map(|gap| now.saturating_add(gap)) {
            Some(due) if due < self.stop => due,
            _ => Time::NEVER,
        }
    }

    /// Counts a datagram that is about to be sent and returns its number.
    #[inline(always)]
    pub fn number_datagram(&mut self, size: u32, now: Time, warm_up: Time) -> u32 {
        self.number = self.number.wrapping_add(1);
        if now >= warm_up {
            self.counted.seldom.sent_datagrams += 1;
            self.count_sent_payload(u64::from(size), now);
        }
        self.number
    }

    /// A host sends a packet of it: sets the traffic class.
    #[inline(always)]
    pub fn create(&mut self, mut packet: Packet) -> Packet {
        packet.traffic_class = self.traffic_class;
        self.created.add(&packet);
        packet
    }

    /// Counts a packet that arrived at its destination, and its delay.
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

    /// Counts a packet that was lost.
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

    /// Counts payload of a byte stream that is in order.
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

    /// Counts a copy of a packet made by the network.
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

    /// Counts a packet sent by its host.
    #[inline(always)]
    pub fn count_created(&mut self, packet: &Packet) {
        self.created.add(packet);
    }

    /// Counts a packet sent by a TCP receiver.
    #[inline(always)]
    pub fn count_reply_created(&mut self, packet: &Packet) {
        self.counted.arrivals.replies_created.add(packet);
    }

    /// Counts a reply of a TCP receiver that reached the sender.
    #[inline(always)]
    pub fn count_reply_delivered(&mut self, packet: &Packet) {
        self.replies_delivered.add(packet);
    }

    /// Counts an echo request or reply.
    pub fn count_echo(&mut self, packet: &Packet) {
        self.counted.arrivals.delivered.add(packet);
    }

    /// Counts payload transmitted for the first time in the measured window.
    #[inline(always)]
    pub fn count_sent_payload(&mut self, payload_bytes: u64, now: Time) {
        self.sent_payload_bytes += payload_bytes;
        if self.first_sent == Time::NEVER {
            self.first_sent = now;
        }
    }

    /// Counts `writes` writes of a TCP source in the measured window.
    #[inline(always)]
    pub fn count_writes(&mut self, writes: u32) {
        if writes > 0 {
            self.counted.seldom.sent_datagrams += u64::from(writes);
        }
    }

    /// Packets over the whole run; for TCP those of the sender.
    pub fn counters(&self) -> PacketCounters {
        PacketCounters {
            created: self.created,
            delivered: self.counted.arrivals.delivered,
            dropped: self.counted.seldom.dropped,
            duplicated: self.counted.seldom.duplicated,
        }
    }

    /// Packets from a TCP receiver to its sender over the whole run.
    pub fn replies(&self) -> PacketCounters {
        PacketCounters {
            created: self.counted.arrivals.replies_created,
            delivered: self.replies_delivered,
            dropped: self.counted.seldom.replies_dropped,
            duplicated: self.counted.seldom.replies_duplicated,
        }
    }

    /// Datagrams of the measured window; for TCP the writes of the source, and payload.
    pub fn datagrams(&self) -> Datagrams {
        Datagrams {
            sent: self.counted.seldom.sent_datagrams,
            received: self.counted.arrivals.datagrams,
            sent_payload_bytes: self.sent_payload_bytes,
            received_payload_bytes: self.counted.arrivals.measured_payload_bytes,
        }
    }

    /// First send time in the measured window.
    pub fn first_sent(&self) -> Option<Time> {
        (self.first_sent != Time::NEVER).then_some(self.first_sent)
    }

    /// Last receive time in the measured window.
    pub fn last_received(&self) -> Option<Time> {
        let last = self.counted.arrivals.last;
        (last != Time::NEVER).then_some(last)
    }

    /// One-way delay of packets created in the measured window.
    #[inline]
    pub fn delay(&self) -> &Delays {
        &self.counted.arrivals.delay
    }

    /// Payload received since the start of the run.
    pub fn delivered_payload_bytes(&self) -> u64 {
        self.counted.arrivals.payload_bytes
    }

    /// Prefetches what an arriving packet touches.
    #[inline(always)]
    pub fn prefetch_arrivals(&self) {
        prefetch(&self.counted.arrivals);
    }

    /// Its TCP flow, if it is one.
    pub fn tcp(&self) -> Option<&TcpFlow> {
        match &self.application {
            Application::Tcp(flow) => Some(flow),
            _ => None,
        }
    }

    /// Processes a packet that arrived at its destination.
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

    /// The payload of the datagram that this packet completes, if any. An ideal packet is a datagram of its
    /// own size.
    #[inline(always)]
    fn whole_datagram(&mut self, packet: &Packet) -> Option<u32> {
        if packet.has_size_on_wire() {
            return Some(u32::from(packet.bytes));
        }
        self.counted.seldom.reassembly.arrived(packet)
    }
}
