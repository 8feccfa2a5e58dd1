//! TCP Fast Open: data in SYNs and before a handshake is over (RFC 7413 section 4.2).

use super::{ConnectionState, Endpoint, FastOpen, Setup};
use crate::fast_open::{SynAckOptions, SynVerdict};
use crate::language::script::{Cookie, EcnMark, Icmp, TcpFlags, TcpOption, TcpPacket, Unreachable};
use crate::segments::segment_of;
use dumbbell_core::time::Time;
use dumbbell_tcp::segment::{Flags, Segment};
use dumbbell_tcp::sender::Sender;
use std::sync::Arc;

/// Headers of IPv4 and TCP without options, bytes.
const HEADERS_BYTES: u32 = 40;
/// The smallest MTU that is believed (`net.ipv4.route.min_pmtu`), bytes.
const SMALLEST_MTU_BYTES: u32 = 552;

/// The SYN of a client that uses Fast Open.
#[derive(Debug, Clone, Default)]
pub struct SynData {
    /// Its option.
    pub option: Option<Cookie>,
    /// Its payload, bytes.
    pub payload_bytes: u64,
}

/// The server's side (RFC 7413 section 4.2.2).
impl Endpoint {
    /// One that answers a SYN as it was judged.
    pub fn answer_early(
        setup: &Setup,
        (syn, ecn): (&TcpPacket, EcnMark),
        judgement: SynVerdict,
        now: Time,
    ) -> Endpoint {
        let plain = TcpPacket {
            payload_bytes: 0,
            flags: syn.flags.without(TcpFlags::FIN),
            ..syn.clone()
        };
        let mut endpoint = Endpoint::answer(setup, &plain, ecn, now);
        endpoint.fast_open.option = judgement.answer;
        if judgement.is_open {
            endpoint.open_early(syn, now);
        }
        endpoint
    }

    /// Takes the data of the SYN, and may send.
    fn open_early(&mut self, syn: &TcpPacket, now: Time) {
        let mut sender = self.new_sender(now);
        let taken = Segment {
            seq: 1,
            flags: Flags::default(),
            ..segment_of(syn, EcnMark::None, 0)
        };
        sender.open_unacknowledged(taken.window_bytes, taken.end(), now);
        self.sender = Some(sender);
        self.fast_open.is_early = true;
        self.fast_open.has_syn_data = syn.payload_bytes > 0;
        self.last_window = taken.window_bytes;
        self.last_data = now;
        if let Some(receiver) = &mut self.receiver {
            // Its SYN-ACK, which is still to be sent, acknowledges them.
            receiver.take_syn_data(taken.payload_bytes, syn.flags.has(TcpFlags::FIN));
        }
    }

    /// Data may be sent, also before the handshake is over.
    pub fn can_send(&self) -> bool {
        match self.state {
            ConnectionState::Open => true,
            ConnectionState::SynReceived => self.fast_open.is_early,
            _ => false,
        }
    }

    /// The SYN-ACK of a connection that was open before is acknowledged.
    pub(super) fn on_third_of_early(&mut self, packet: &TcpPacket, ecn: EcnMark, now: Time) {
        if !(1..=self.sent_end).contains(&packet.ack.unwrap_or(0)) {
            self.refuse(packet);
            return;
        }
        self.state = ConnectionState::Open;
        let mut segment = segment_of(packet, ecn, self.agreed.scale_in);
        if let Some(sender) = &mut self.sender {
            segment = sender.take_opening(segment);
        }
        self.give(&segment, ecn, packet, now);
        let sent_once = match self.syns.as_slice() {
            [sent] => Some(*sent),
            _ => None,
        };
        if let Some(sender) = &mut self.sender {
            sender.on_syn_ack_acknowledged(sent_once, now);
        }
    }
}

/// The client's side (RFC 7413 section 4.2.1).
impl Endpoint {
    /// One that opens with this SYN.
    pub fn connect_with(setup: &Setup, syn: SynData, now: Time) -> Endpoint {
        let mut endpoint = Endpoint::connect(setup, now);
        endpoint.written_end += syn.payload_bytes;
        endpoint.fast_open = FastOpen {
            option: syn.option,
            syn_bytes: syn.payload_bytes,
            ..FastOpen::default()
        };
        endpoint
    }

    /// Somebody waits to write when it is open.
    pub fn expect_write(&mut self) {
        self.is_write_pending = true;
    }

    /// What the SYN-ACK told, once.
    pub fn take_syn_ack_options(&mut self) -> Option<SynAckOptions> {
        self.told.take()
    }

    pub(super) fn has_tried_enough(&self) -> bool {
        self.syns.len() > self.setup.syn_retries as usize
    }

    /// How often its SYN is sent again at most.
    pub fn set_syn_retries(&mut self, times: u32) {
        self.setup.syn_retries = times;
    }

    /// What the SYN-ACK tells of cookies. Only one of a SYN with an option counts.
    pub(super) fn note_syn_ack_options(&mut self, syn_ack: &TcpPacket) {
        let asked = self.fast_open.option.clone();
        if asked.is_none() && self.fast_open.syn_bytes == 0 {
            return;
        }
        let options = syn_ack.options.iter().flatten();
        let mut mss = options.filter_map(|option| match option {
            TcpOption::Mss(bytes) => Some(u32::from(*bytes)),
            _ => None,
        });
        let cookie = Cookie::of(syn_ack).filter(|_| asked.is_some()).cloned();
        let is_unanswered =
            cookie.is_none() && self.syns.len() == 1 && self.fast_open.syn_bytes == 0;
        self.told = Some(SynAckOptions {
            mss_bytes: mss.next_back().unwrap_or(super::opening::UNNAMED_MSS_BYTES),
            unanswered: asked.filter(|_| is_unanswered),
            cookie,
        });
    }

    /// The payload of its SYN: what the answer acknowledges is done, the rest is sent again at once,
    /// and takes the acknowledgement of the handshake along. False if there is nothing to be sent.
    pub(super) fn settle_syn_data(&mut self, sender: &mut Sender, ack: u64, now: Time) -> bool {
        let acknowledged = ack - 1;
        let left = self.fast_open.syn_bytes - acknowledged;
        sender.acknowledge_syn_data(acknowledged);
        self.fast_open.has_syn_data = self.fast_open.syn_bytes > 0 && left == 0;
        if left == 0 {
            return false;
        }
        while sender.poll_transmit(now).is_some() {}
        sender.write(left, now);
        while sender.poll_transmit(now).is_some() {}
        sender.repeat_syn_data();
        true
    }

    /// Payload and FIN of a SYN-ACK are taken where the SYN had an option or payload.
    pub(super) fn takes_data_of_answer(&self) -> bool {
        self.fast_open.option.is_some() || self.fast_open.syn_bytes > 0
    }
}

/// Messages about its segments.
impl Endpoint {
    /// A message about a segment has come (RFC 5927, section 4.1: only one about a segment that
    /// is out counts; RFC 1122, section 4.2.3.9). False if it is about none.
    pub fn on_icmp(&mut self, icmp: Icmp, is_accepted: bool, now: Time) -> bool {
        let una = self.sender.as_ref().map_or(0, |one| one.una());
        let first = if self.state == ConnectionState::Open {
            una
        } else {
            0
        };
        let is_out = icmp
            .seq
            .is_none_or(|seq| (first..=self.sent_end).contains(&seq));
        if !is_out || self.state.is_over() {
            return is_out;
        }
        let is_opening = match self.state {
            ConnectionState::SynSent => true,
            // Once it is accepted it is as good as open.
            ConnectionState::SynReceived => !(self.fast_open.is_early && is_accepted),
            _ => false,
        };
        match icmp.code {
            Unreachable::FragmentationNeeded(mtu_bytes)
                if self.state == ConnectionState::SynSent =>
            {
                self.lower_mtu(u32::from(mtu_bytes), now);
            }
            Unreachable::FragmentationNeeded(_) => {}
            code if is_opening && (self.fast_open.is_early || self.is_connecting()) => {
                self.state = ConnectionState::Unreachable(code);
            }
            _ if is_opening => self.state = ConnectionState::Gone,
            _ => {}
        }
        self.poll(now);
        true
    }

    /// A SYN with data is too large for the way (RFC 1191 section 6.4): it is sent again at once
    /// without them (`tcp_simple_retransmit`).
    fn lower_mtu(&mut self, mtu_bytes: u32, now: Time) {
        let mss_bytes = mtu_bytes.max(SMALLEST_MTU_BYTES) - HEADERS_BYTES;
        if mss_bytes >= self.setup.mss_bytes || self.fast_open.syn_bytes == 0 {
            return;
        }
        self.setup.mss_bytes = mss_bytes;
        self.agreed.mss_bytes = mss_bytes;
        if let Some(sender) = &mut self.sender {
            sender.repeat_syn(now);
        }
    }

    fn new_sender(&self, first: Time) -> Sender {
        let sender = Sender::new(&Arc::new(self.settings()), self.stream(), first);
        self.with_switches(sender)
    }
}
