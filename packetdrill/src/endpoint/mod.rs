//! A connection with both directions, opened from either side, built from the engine's sender and
//! receiver.
//!
//! The engine's flows carry data in one direction: a `Sender` opens and a `Receiver` answers. Here
//! each connection has one of each. An arriving segment goes to both, its payload to the receiver
//! only. Segments from the sender carry the receiver's acknowledgement.
//!
//! Until the handshake has negotiated the options, only the half that opens exists. The other half
//! is made when the handshake is complete, with the same timestamps. This module implements what
//! neither half has: the check for acceptable acknowledgements (RFC 9293 section 3.10.7.4), resets,
//! and the closing of a connection.

mod application;
mod fast_open;
mod opening;
mod simultaneous_open;
mod stamps;
mod zero_copy;

pub use fast_open::SynData;

use crate::fast_open::SynAckOptions;
use crate::language::script::{Cookie, EcnMark, TcpFlags, TcpOption, TcpPacket, Unreachable};
use crate::plan::host_settings::HostSettings;
use crate::segments::{SentPacket, mark_of, packet_of, segment_of};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Ecn as Feedback;
use dumbbell_tcp::cca::bbr::FIRST_PHASES;
use dumbbell_tcp::cca::{Algorithm, Cca};
use dumbbell_tcp::receiver::Receiver;
use dumbbell_tcp::segment::{Flags, Segment, TIMESTAMPS_BYTES};
use dumbbell_tcp::sender::Sender;
use dumbbell_tcp::{Settings, timestamp_ms};
use simultaneous_open::SimultaneousOpen;
use stamps::Stamps;
use std::collections::VecDeque;
use std::sync::Arc;
use zero_copy::ZeroCopy;

const MTU_BYTES: u32 = 1500;
/// Timer interrupt frequency of the kernels that scripts are written for.
const TIMER_HZ: u32 = 1000;
/// Largest segment of this host: the MTU less the headers.
pub const OWN_MSS_BYTES: u32 = 1460;
/// Largest window without window scaling.
const UNSCALED_BYTES: u32 = 65_535;

/// Maximum number of packets that may be sent without being compared; a script that exceeds it is
/// not a useful test.
pub const MOST_SENT: usize = 100_000;

impl ConnectionState {
    /// Whether the connection is closed: it sends nothing but resets.
    pub fn is_over(self) -> bool {
        !matches!(
            self,
            ConnectionState::SynSent | ConnectionState::SynReceived | ConnectionState::Open
        )
    }

    /// Name of the error that the application is told once.
    pub fn error(self) -> Option<&'static str> {
        match self {
            ConnectionState::SynSent
            | ConnectionState::SynReceived
            | ConnectionState::Open
            | ConnectionState::Gone => None,
            ConnectionState::Reset => Some("ECONNRESET"),
            ConnectionState::Refused => Some("ECONNREFUSED"),
            ConnectionState::TimedOut => Some("ETIMEDOUT"),
            ConnectionState::Unreachable(Unreachable::Host) => Some("EHOSTUNREACH"),
            ConnectionState::Unreachable(Unreachable::Network) => Some("ENETUNREACH"),
            ConnectionState::Unreachable(Unreachable::FragmentationNeeded(_)) => Some("EMSGSIZE"),
        }
    }
}

/// Socket settings made before the connection.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Settings of the host.
    pub host: HostSettings,
    /// `TCP_NODELAY`
    pub nodelay: bool,
    /// `TCP_CORK`
    pub corks: bool,
    /// Memory of the send buffer, if set by `SO_SNDBUF` (doubled), bytes.
    pub send_memory_bytes: Option<u64>,
    /// The socket is writable while fewer unsent bytes than this wait (`TCP_NOTSENT_LOWAT`); 0 for
    /// the host's setting.
    pub most_unsent_bytes: u32,
    /// Largest segment set on the socket (`TCP_MAXSEG`), bytes.
    pub mss_bytes: u32,
    /// Maximum number of SYN retransmissions (`tcp_syn_retries`, `TCP_SYNCNT`).
    pub syn_retries: u32,
    /// First phase of BBR's gain cycle, below `FIRST_PHASES`.
    pub first_phase: u64,
}

/// State of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// Its SYN has been sent.
    SynSent,
    /// Its SYN-ACK has been sent.
    SynReceived,
    /// Established: data may flow.
    Open,
    /// The peer has reset it.
    Reset,
    /// The peer has refused it.
    Refused,
    /// The SYN retransmissions are exhausted without an answer, or `TCP_USER_TIMEOUT` has expired.
    TimedOut,
    /// An ICMP message from a host or router on the path reported the destination unreachable.
    Unreachable(Unreachable),
    /// It has reset itself, or was closed before it was open; its state has been discarded.
    Gone,
}

/// Options that both ends support.
#[derive(Debug, Clone, Copy)]
struct NegotiatedOptions {
    sack: bool,
    timestamps: bool,
    ecn: Feedback,
    /// Payload and options of a full-sized segment, bytes.
    mss_bytes: u32,
    /// Window scale shift of received windows.
    scale_in: u8,
    /// Window scale shift of its own windows.
    scale_out: u8,
    is_scaled: bool,
}

/// State before the handshake is complete (RFC 7413).
#[derive(Debug, Clone, Default)]
struct FastOpen {
    /// Fast Open option of its first SYN, or of its SYN-ACK.
    option: Option<Cookie>,
    /// Payload of its first SYN, bytes.
    syn_bytes: u64,
    /// The data of the peer's SYN were accepted, or the peer acknowledged the data of its own SYN.
    has_syn_data: bool,
    /// It has answered a SYN and may send before the SYN-ACK is acknowledged.
    is_early: bool,
}

/// A connection.
#[derive(Debug, Clone)]
pub struct Endpoint {
    setup: Setup,
    state: ConnectionState,
    agreed: NegotiatedOptions,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    /// When its SYN or SYN-ACK was sent, one entry for each transmission.
    syns: Vec<Time>,
    /// One past the last sequence number sent.
    sent_end: u64,
    /// The most recent timestamp of the peer.
    peer_timestamp_ms: u32,
    last_ack: u64,
    last_window: u64,
    /// When data last arrived; until any arrive, when the connection opened.
    last_data: Time,
    /// The application has closed the socket and reads no more.
    is_orphan: bool,
    /// It sent its FIN after the peer's FIN had arrived.
    is_last_to_close: bool,
    is_closing: bool,
    host_queue: Option<VecDeque<u32>>,
    resets: VecDeque<TcpPacket>,
    fast_open: FastOpen,
    crossed: Option<SimultaneousOpen>,
    stamps: Stamps,
    zero_copy: ZeroCopy,
    /// One past the last byte that the application has written.
    written_end: u64,
    /// Options of the SYN-ACK that it received, until they are taken.
    told: Option<SynAckOptions>,
    /// The application waits to write, so the acknowledgement of the handshake goes with its data.
    is_write_pending: bool,
    /// Payload that the application has read.
    read_bytes: u64,
    /// Packets sent and not yet compared with the script.
    pub sent: VecDeque<SentPacket>,
}

/// Send buffer memory for a packet of the peer's largest segment, bytes (`tcp_sndbuf_expand`):
/// payload, headers and trailing shared info, rounded up to a power of two, plus the sk_buff.
fn packet_memory_bytes(mss_bytes: u32) -> u64 {
    const HEADERS_BYTES: u32 = 640;
    const SK_BUFF_BYTES: u64 = 256;
    u64::from((mss_bytes + HEADERS_BYTES).next_power_of_two()) + SK_BUFF_BYTES
}

impl Endpoint {
    fn new(setup: &Setup, state: ConnectionState) -> Endpoint {
        let tcp = &setup.host.tcp;
        Endpoint {
            agreed: NegotiatedOptions {
                sack: tcp.sack,
                timestamps: tcp.timestamps,
                ecn: setup.host.ecn.offered(),
                mss_bytes: setup.mss_bytes,
                scale_in: 0,
                scale_out: 0,
                is_scaled: setup.host.window_scale.is_some(),
            },
            setup: setup.clone(),
            state,
            sender: None,
            receiver: None,
            syns: Vec::new(),
            sent_end: 0,
            peer_timestamp_ms: 0,
            last_ack: 0,
            last_window: 0,
            last_data: Time::ZERO,
            is_orphan: false,
            is_last_to_close: false,
            is_closing: false,
            host_queue: None,
            resets: VecDeque::new(),
            fast_open: FastOpen::default(),
            crossed: None,
            stamps: Stamps::default(),
            zero_copy: ZeroCopy::default(),
            written_end: 1,
            told: None,
            is_write_pending: false,
            read_bytes: 0,
            sent: VecDeque::new(),
        }
    }

    /// Makes an endpoint that opens actively.
    pub fn connect(setup: &Setup, now: Time) -> Endpoint {
        let mut endpoint = Endpoint::new(setup, ConnectionState::SynSent);
        let mut sender = Sender::new(&Arc::new(endpoint.settings()), endpoint.stream(), now);
        sender.connect(now);
        endpoint.sender = Some(sender);
        endpoint
    }

    /// Makes an endpoint that answers a SYN.
    pub fn answer(setup: &Setup, syn: &TcpPacket, ecn: EcnMark, now: Time) -> Endpoint {
        let mut endpoint = Endpoint::new(setup, ConnectionState::SynReceived);
        endpoint.agreed.ecn = setup.host.ecn.answered(syn.flags);
        endpoint.agree(syn);
        let settings = Arc::new(endpoint.receiver_settings());
        let mut receiver = Receiver::new(&settings).for_both_directions();
        receiver.on_segment(&segment_of(syn, ecn, 0), now);
        endpoint.receiver = Some(receiver);
        endpoint
    }

    fn settings(&self) -> Settings {
        let host = &self.setup.host;
        let mut tcp = host.tcp.clone();
        tcp.sack = self.agreed.sack;
        tcp.timestamps = self.agreed.timestamps;
        tcp.ecn = self.agreed.ecn;
        let algorithm = Algorithm::named(&tcp.congestion_control);
        let algorithm = algorithm.expect("settings of hosts have names of the registry");
        tcp.packet_memory_bytes = packet_memory_bytes(self.agreed.mss_bytes);
        let mut settings = Settings::new(tcp, algorithm, MTU_BYTES, TIMER_HZ);
        settings.mss_bytes = self.agreed_payload_bytes();
        settings
    }

    /// Random stream of its congestion controller.
    fn stream(&self) -> Stream {
        stream_that_draws(self.setup.first_phase)
    }

    /// Whether its behaviour may have depended on a random number.
    pub fn has_drawn(&self) -> bool {
        let controller = self.sender.as_ref().map(Sender::cca);
        controller.is_some_and(Cca::has_drawn)
    }

    /// Receiver settings: windows are a whole number of its own segments.
    fn receiver_settings(&self) -> Settings {
        let mut settings = self.settings();
        let options = if self.agreed.timestamps {
            TIMESTAMPS_BYTES
        } else {
            0
        };
        settings.mss_bytes = self.setup.mss_bytes - options;
        settings
    }

    /// Handles an arriving packet. Echoed timestamps are in the engine's units.
    pub fn on_packet(&mut self, packet: &TcpPacket, ecn: EcnMark, now: Time) {
        match self.state {
            ConnectionState::SynSent => self.on_answer(packet, ecn, now),
            ConnectionState::SynReceived => self.on_third(packet, ecn, now),
            ConnectionState::Open => self.on_open(packet, ecn, now),
            _ => self.refuse(packet),
        }
        self.stamp_acknowledged(now);
        self.poll(now);
    }

    /// Answers a packet for which no connection exists (RFC 9293 section 3.10.7.1).
    fn refuse(&mut self, packet: &TcpPacket) {
        if packet.flags.has(TcpFlags::RST) {
            return;
        }
        let reset = match packet.ack {
            Some(ack) => (TcpFlags::RST, ack, None),
            None => (TcpFlags::RST.with(TcpFlags::ACK), 0, Some(packet.end())),
        };
        self.reset_with(reset);
    }

    fn reset_with(&mut self, (flags, seq, ack): (TcpFlags, u64, Option<u64>)) {
        self.resets.push_back(TcpPacket {
            flags,
            seq,
            payload_bytes: 0,
            ack,
            window: Some(0),
            urgent: None,
            options: Some(Vec::new()),
        });
    }

    fn on_open(&mut self, packet: &TcpPacket, ecn: EcnMark, now: Time) {
        let segment = segment_of(packet, ecn, self.agreed.scale_in);
        if packet.flags.has(TcpFlags::RST) {
            if packet.seq == self.received_end() {
                self.state = ConnectionState::Reset;
            }
            return;
        }
        if packet.flags.has(TcpFlags::SYN) {
            // A challenge ACK (RFC 5961 section 4).
            if let Some(sender) = &mut self.sender {
                sender.on_segment(&segment, now);
            }
            return;
        }
        if self.is_closed() {
            self.state = ConnectionState::Gone;
            self.refuse(packet);
            return;
        }
        let is_acceptable = packet.flags.has(TcpFlags::ACK) && segment.ack <= self.sent_end;
        if !is_acceptable {
            return;
        }
        if self.is_orphan && segment.payload_bytes > 0 && segment.end() > self.received_end() {
            // No application is left to read the data (RFC 2525 section 2.17).
            self.state = ConnectionState::Gone;
            self.reset_with((TcpFlags::RST, segment.ack, None));
            return;
        }
        self.give(&segment, ecn, packet, now);
    }

    /// Whether PAWS rejects a segment (RFC 7323 section 5).
    fn refuses_timestamp(&self, segment: &Segment) -> bool {
        let Some(receiver) = &self.receiver else {
            return false;
        };
        let recent_ms = receiver.recent_timestamp_ms();
        let next = self.received_end();
        let takes_though_old = |sender: &Sender| sender.takes_though_old(segment, recent_ms, next);
        receiver.refuses_timestamp(&segment.header())
            && !self.sender.as_ref().is_some_and(takes_though_old)
    }

    /// Passes a segment to both halves: the sender processes its acknowledgement, the receiver all
    /// of it.
    fn give(&mut self, segment: &Segment, ecn: EcnMark, packet: &TcpPacket, now: Time) {
        if self.refuses_timestamp(segment) {
            if let Some(receiver) = &mut self.receiver {
                receiver.on_old_timestamp(&segment.header(), now);
            }
            return;
        }
        let carries = segment.end() > segment.seq;
        let sender = self.sender.as_ref();
        let is_news = segment.ack > self.last_ack
            || segment.window_bytes != self.last_window
            || !segment.sack.is_empty()
            || sender.is_some_and(|sender| sender.reports_marks(segment.flags));
        // A segment with data is no duplicate acknowledgement (RFC 5681 section 2).
        if let Some(sender) = &mut self.sender
            && (is_news || !carries)
        {
            let acknowledgement = Segment {
                payload_bytes: 0,
                flags: segment.flags.without(Flags::FIN),
                ..*segment
            };
            sender.on_segment(&acknowledgement, now);
        }
        self.last_ack = self.last_ack.max(segment.ack);
        self.last_window = segment.window_bytes;
        if segment.payload_bytes > 0 {
            self.last_data = now;
        }
        if let Some(stamps) = segment.timestamps {
            self.peer_timestamp_ms = stamps.value_ms;
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.on_segment(&segment_of(packet, ecn, self.agreed.scale_in), now);
            if self.setup.host.application_reads {
                receiver.read(u64::MAX, now);
            }
        }
    }

    /// Sends everything that can be sent now.
    pub fn poll(&mut self, now: Time) {
        while let Some(packet) = self.resets.pop_front() {
            let packet = self.stamped(packet, now);
            self.enter(packet, EcnMark::None, now);
        }
        if self.state.is_over() {
            return;
        }
        let mss_bytes = self.agreed_payload_bytes();
        while self.sent.len() < MOST_SENT {
            let polled = self.sender.as_mut().and_then(|one| one.poll_transmit(now));
            let Some(mut segment) = polled.map(|sent| Segment::from(sent.header)) else {
                break;
            };
            let is_syn = segment.flags.has(Flags::SYN);
            if is_syn && self.has_tried_enough() {
                self.state = ConnectionState::TimedOut;
                return;
            }
            if is_syn {
                if self.syns.is_empty() {
                    segment.payload_bytes = self.fast_open.syn_bytes as u32;
                }
                segment.window_bytes = u64::from(UNSCALED_BYTES / self.own_payload_bytes())
                    * u64::from(self.own_payload_bytes());
                self.syns.push(now);
            } else if let Some(receiver) = &mut self.receiver {
                receiver.acknowledge_on(&mut segment, mss_bytes, now);
            }
            self.hold(&segment);
            self.stamp_sent(&segment, now);
            self.sent_end = self.sent_end.max(segment.end());
            self.enter_segment(&segment, now);
        }
        while self.sent.len() < MOST_SENT {
            let polled = self
                .receiver
                .as_mut()
                .and_then(|one| one.poll_transmit(now));
            let Some(mut segment) = polled else {
                break;
            };
            if segment.flags.has(Flags::SYN) {
                if self.crossed.is_some() && self.has_tried_enough() {
                    self.state = ConnectionState::TimedOut;
                    return;
                }
                self.syns.push(now);
                self.sent_end = self.sent_end.max(1);
            } else {
                segment.seq = self.sent_end;
            }
            self.enter_segment(&segment, now);
        }
    }

    /// Payload of a full segment that it sends.
    fn agreed_payload_bytes(&self) -> u32 {
        match self.agreed.timestamps {
            true => self.agreed.mss_bytes - TIMESTAMPS_BYTES,
            false => self.agreed.mss_bytes,
        }
    }

    fn own_payload_bytes(&self) -> u32 {
        let options = if self.agreed.timestamps {
            TIMESTAMPS_BYTES
        } else {
            0
        };
        (self.setup.mss_bytes - options).max(1)
    }

    /// Holds a segment in the host's transmit queue.
    fn hold(&mut self, segment: &Segment) {
        if let (Some(sender), Some(queue)) = (&mut self.sender, &mut self.host_queue)
            && segment.payload_bytes > 0
        {
            sender.enter_host_queue(segment.payload_bytes, false);
            queue.push_back(segment.payload_bytes);
        }
    }

    fn enter_segment(&mut self, segment: &Segment, now: Time) {
        let mut segment = *segment;
        let is_syn = segment.flags.has(Flags::SYN);
        let scale = if is_syn { 0 } else { self.agreed.scale_out };
        if let (true, Some(crossed)) = (is_syn, &self.crossed) {
            crossed.stamp(&mut segment, now);
        }
        let packet = packet_of(&segment, scale, &self.syn_options());
        self.enter(packet, mark_of(&segment, self.has_ect1()), now);
    }

    fn enter(&mut self, packet: TcpPacket, ecn: EcnMark, at: Time) {
        self.sent.push_back(SentPacket { at, packet, ecn });
    }

    /// Whether its ECN-capable segments are sent as ECT(1), as L4S queues expect (RFC 9331 section 4.1).
    fn has_ect1(&self) -> bool {
        let tcp = &self.setup.host.tcp;
        tcp.ect1 || Algorithm::named(&tcp.congestion_control).is_some_and(|own| own.sends_ect1())
    }

    fn syn_options(&self) -> Vec<TcpOption> {
        if let Some(crossed) = &self.crossed {
            return crossed.options.clone();
        }
        let mut options = vec![TcpOption::Mss(self.setup.mss_bytes as u16)];
        if self.agreed.sack {
            options.push(TcpOption::SackPermitted);
        }
        if let (true, Some(scale)) = (self.agreed.is_scaled, self.setup.host.window_scale) {
            options.push(TcpOption::WindowScale(scale));
        }
        // A retransmitted SYN does not carry the option (RFC 7413 section 4.2.1).
        if let (Some(cookie), true) = (&self.fast_open.option, self.syns.len() <= 1) {
            options.push(TcpOption::FastOpen(cookie.clone()));
        }
        options
    }

    /// Adds the timestamps option if the connection uses it.
    fn stamped(&self, mut packet: TcpPacket, now: Time) -> TcpPacket {
        if self.agreed.timestamps && packet.ack.is_some() && self.state != ConnectionState::SynSent
        {
            let (value, echo) = (timestamp_ms(now), self.peer_timestamp_ms);
            let stamps = TcpOption::Timestamps { value, echo };
            packet.options = Some(vec![TcpOption::Nop, TcpOption::Nop, stamps]);
        }
        packet
    }

    /// When the next timer may expire.
    pub fn next_timer(&self) -> Time {
        if self.state.is_over() {
            return Time::NEVER;
        }
        let sender = self.sender.as_ref().map_or(Time::NEVER, Sender::next_timer);
        let receiver = self.receiver.as_ref();
        sender.min(receiver.map_or(Time::NEVER, Receiver::next_timer))
    }

    /// When the sender's retransmission, reordering or probe timer expires; pacing is not included.
    pub fn pending_timer(&self) -> Time {
        let sender = self.sender.as_ref();
        sender.map_or(Time::NEVER, Sender::pending_timer)
    }

    /// Runs the timers that have expired at `now`.
    pub fn on_timer(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.on_timer(now);
            if sender.has_given_up() && !self.state.is_over() {
                self.state = ConnectionState::TimedOut;
            }
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.on_timer(now);
        }
        self.poll(now);
    }
}

/// A random stream with which BBR starts in this phase.
fn stream_that_draws(first_phase: u64) -> Stream {
    (0..)
        .map(|number| Stream::new(0, number, "packet script"))
        .find(|stream| stream.clone().below(FIRST_PHASES) == first_phase % FIRST_PHASES)
        .expect("each is drawn sooner or later")
}
