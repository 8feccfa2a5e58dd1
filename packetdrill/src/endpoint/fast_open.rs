//! TCP Fast Open: data in SYNs and before the handshake is complete (RFC 7413 section 4.2).

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
/// The smallest path MTU accepted from ICMP (`net.ipv4.route.min_pmtu`), bytes.
const SMALLEST_MTU_BYTES: u32 = 552;

/// The SYN of a Fast Open client.
#[derive(Debug, Clone, Default)]
pub struct SynData {
    /// The Fast Open option of the SYN.
    pub option: Option<Cookie>,
    /// Payload of the SYN, bytes.
    pub payload_bytes: u64,
}

/// The server's side (RFC 7413 section 4.2.2).
impl Endpoint {
    /// Makes an endpoint that answers a SYN with the verdict of the Fast Open server.
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

    /// Accepts the data of the SYN; from then on the endpoint may send.
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
            // The SYN-ACK, which is still to be sent, acknowledges the data.
            receiver.take_syn_data(taken.payload_bytes, syn.flags.has(TcpFlags::FIN));
        }
    }

    /// Whether data may be sent, possibly before the handshake is complete.
    pub fn can_send(&self) -> bool {
        match self.state {
            ConnectionState::Open => true,
            ConnectionState::SynReceived => self.fast_open.is_early,
            _ => false,
        }
    }

    /// Handles the acknowledgement of the SYN-ACK on a connection that Fast Open had opened
    /// already.
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
    /// Makes an endpoint that opens actively with this SYN.
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

    /// The application waits to write as soon as the connection is open.
    pub fn expect_write(&mut self) {
        self.is_write_pending = true;
    }

    /// Returns the options of the SYN-ACK, once.
    pub fn take_syn_ack_options(&mut self) -> Option<SynAckOptions> {
        self.told.take()
    }

    pub(super) fn has_tried_enough(&self) -> bool {
        self.syns.len() > self.setup.syn_retries as usize
    }

    /// Sets the maximum number of SYN retransmissions.
    pub fn set_syn_retries(&mut self, times: u32) {
        self.setup.syn_retries = times;
    }

    /// Records the Fast Open options of the SYN-ACK. They count only if the SYN carried an option.
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

    /// Settles the payload of its SYN. Payload that the SYN-ACK acknowledges is done; the rest is
    /// retransmitted at once, and these segments carry the acknowledgement that completes the
    /// handshake. False if there is nothing to send.
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
        sender.repeat_syn_data(now);
        true
    }

    /// Whether payload and FIN of a SYN-ACK are accepted: only if the SYN had an option or payload.
    pub(super) fn takes_data_of_answer(&self) -> bool {
        self.fast_open.option.is_some() || self.fast_open.syn_bytes > 0
    }
}

/// ICMP messages about its segments.
impl Endpoint {
    /// Handles an ICMP message about a segment. It counts only if the segment is in flight
    /// (RFC 5927, section 4.1; RFC 1122, section 4.2.3.9). False if it is not.
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
            // Once accepted, the connection is treated as open.
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

    /// A SYN with data exceeds the path MTU (RFC 1191 section 6.4): it is retransmitted at once
    /// without data (`tcp_simple_retransmit`).
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
