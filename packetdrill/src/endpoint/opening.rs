//! The handshake: option negotiation, and creation of the halves when it is complete.

use super::{ConnectionState, Endpoint};
use crate::language::script::{EcnMark, TcpFlags, TcpOption, TcpPacket};
use crate::plan::host_settings::agreed_by_answer;
use crate::segments::{flags_of_mark, segment_of};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Ecn as Feedback;
use dumbbell_tcp::accurate_ecn::{self, handshake_flags};
use dumbbell_tcp::receiver::Receiver;
use dumbbell_tcp::segment::{Flags, Segment};
use dumbbell_tcp::sender::Sender;
use dumbbell_tcp::timestamp_ms;
use std::sync::Arc;

/// Largest segment assumed for a host that sends no MSS option (RFC 9293 section 3.7.1).
pub(super) const UNNAMED_MSS_BYTES: u32 = 536;

impl Endpoint {
    /// Negotiates options: those of the peer's SYN limit those of its own.
    pub(super) fn agree(&mut self, syn: &TcpPacket) {
        let mut mss_bytes = UNNAMED_MSS_BYTES;
        let (mut sack, mut timestamps, mut scale) = (false, None, None);
        for option in syn.options.iter().flatten() {
            match option {
                TcpOption::Mss(bytes) => mss_bytes = u32::from(*bytes),
                TcpOption::SackPermitted => sack = true,
                TcpOption::Timestamps { value, .. } => timestamps = Some(*value),
                TcpOption::WindowScale(shift) => scale = Some((*shift).min(14)),
                _ => {}
            }
        }
        let agreed = &mut self.agreed;
        agreed.sack &= sack;
        agreed.timestamps &= timestamps.is_some();
        // At least as large as the maximum space of options.
        agreed.mss_bytes = mss_bytes.clamp(64, self.setup.mss_bytes);
        agreed.is_scaled &= scale.is_some();
        if let (true, Some(scale)) = (agreed.is_scaled, scale) {
            agreed.scale_in = scale;
            agreed.scale_out = self.setup.host.window_scale.unwrap_or(0);
        }
        self.peer_timestamp_ms = timestamps.unwrap_or(0);
    }

    /// Makes the sender of an open connection, in the state in which it would be had it sent the
    /// SYN or SYN-ACK itself. `answer` is the segment that completed the handshake.
    pub(super) fn opened_sender(&self, answer: &Segment, now: Time) -> Sender {
        let first = self.syns.first().copied().unwrap_or(now);
        let sender = Sender::new(&Arc::new(self.settings()), self.stream(), first);
        let mut sender = self.with_switches(sender);
        sender.connect(first);
        for sent in &self.syns {
            sender.poll_transmit(*sent);
        }
        let mut answer = *answer;
        answer.flags = Flags::SYN | Flags::ACK;
        answer.flags |= match self.agreed.ecn {
            Feedback::Switch(false) => Flags::default(),
            Feedback::Switch(true) => Flags::ECE,
            Feedback::Word(_) => handshake_flags(Flags::default()),
        };
        (answer.seq, answer.ack, answer.payload_bytes) = (0, 1, 0);
        sender.on_segment(&answer, now);
        sender
    }

    /// Applies the options of its socket and host.
    pub(super) fn with_switches(&self, sender: Sender) -> Sender {
        let mut sender = sender.for_both_directions();
        if self.state == ConnectionState::SynReceived {
            sender = sender.answering();
        }
        if self.setup.nodelay {
            sender = sender.without_nagle();
        }
        if self.setup.corks {
            sender.set_cork(true);
        }
        if !self.setup.host.restarts_after_idle {
            sender = sender.without_idle_restart();
        }
        if !self.setup.host.probes {
            sender = sender.without_probes();
        }
        sender.limit_unsent(self.most_unsent_bytes());
        match self.setup.send_memory_bytes {
            Some(memory_bytes) => sender.fix_send_buffer(memory_bytes),
            None => sender = sender.with_send_memory(self.setup.host.send_memory_bytes),
        }
        match self.setup.host.least_burst_pkts {
            Some(pkts) => sender.with_least_burst_pkts(pkts),
            None => sender,
        }
    }

    /// Handles a segment in SYN-SENT (RFC 9293 section 3.10.7.3).
    pub(super) fn on_answer(&mut self, packet: &TcpPacket, ecn: EcnMark, now: Time) {
        let has_ack = packet.flags.has(TcpFlags::ACK);
        let acceptable = 1..=1 + self.fast_open.syn_bytes;
        if has_ack && !acceptable.contains(&packet.ack.unwrap_or(0)) {
            self.refuse(packet);
            return;
        }
        if has_ack && !self.echoes_own(packet, now) {
            self.refuse(packet);
            return;
        }
        if packet.flags.has(TcpFlags::RST) {
            if has_ack {
                self.state = ConnectionState::Refused;
            }
            return;
        }
        if !packet.flags.has(TcpFlags::SYN) {
            return;
        }
        if !has_ack {
            self.cross(packet, now);
            return;
        }
        self.agreed.ecn = agreed_by_answer(self.agreed.ecn, packet.flags);
        self.agree(packet);
        self.note_syn_ack_options(packet);
        let segment = segment_of(packet, EcnMark::None, 0);
        let mut sender = self.opened_sender(&segment, now);
        let mut syn = segment;
        (syn.flags, syn.payload_bytes) = (Flags::SYN, 0);
        syn.flags |= match self.agreed.ecn {
            Feedback::Switch(false) => Flags::default(),
            Feedback::Switch(true) => Flags::ECE | Flags::CWR,
            Feedback::Word(_) => accurate_ecn::OFFER,
        };
        let first = self.syns.last().copied().unwrap_or(now);
        let settings = Arc::new(self.receiver_settings());
        let mut receiver = Receiver::new(&settings).for_both_directions();
        receiver.on_segment(&syn, first);
        receiver.poll_transmit(first);
        let open = Segment {
            seq: 1,
            ack: 1,
            timestamps: segment.timestamps,
            flags: Flags::ACK,
            ..Segment::default()
        };
        receiver.on_segment(&open, now);
        receiver.take_syn_ack(flags_of_mark(ecn));
        let repeats = self.settle_syn_data(&mut sender, segment.ack, now);
        if self.is_write_pending && !repeats {
            // The pure ACK is dropped: the acknowledgement is sent with the data of the write.
            sender.poll_transmit(now);
            receiver.expect_own_data();
        }
        let carries = segment.payload_bytes > 0 || segment.flags.has(Flags::FIN);
        if carries && !repeats && self.takes_data_of_answer() {
            receiver.take_syn_data(segment.payload_bytes, segment.flags.has(Flags::FIN));
        }
        if self.is_closing {
            sender.close();
        }
        (self.sender, self.receiver) = (Some(sender), Some(receiver));
        self.sent_end = 1 + self.fast_open.syn_bytes;
        self.last_ack = segment.ack;
        self.last_data = now;
        self.last_window = segment.window_bytes;
        self.state = ConnectionState::Open;
    }

    /// Whether the SYN-ACK has no timestamps or echoes one that this end sent
    /// (RFC 7323 section 3.2).
    fn echoes_own(&self, packet: &TcpPacket, now: Time) -> bool {
        let sent_ms = timestamp_ms(self.syns.first().copied().unwrap_or(now));
        packet.options.iter().flatten().all(|option| match option {
            TcpOption::Timestamps { echo, .. } if self.agreed.timestamps => {
                *echo == 0 || (sent_ms..=timestamp_ms(now)).contains(echo)
            }
            _ => true,
        })
    }

    /// Handles a segment in SYN-RECEIVED (RFC 9293 section 3.10.7.4).
    pub(super) fn on_third(&mut self, packet: &TcpPacket, ecn: EcnMark, now: Time) {
        if packet.flags.has(TcpFlags::RST) {
            self.state = ConnectionState::Reset;
            return;
        }
        if self.crossed.is_some() {
            self.on_third_of_simultaneous_open(packet, ecn, now);
            return;
        }
        if packet.flags.has(TcpFlags::SYN) {
            if let Some(receiver) = &mut self.receiver {
                receiver.on_segment(&segment_of(packet, ecn, 0), now);
            }
            return;
        }
        if !packet.flags.has(TcpFlags::ACK) {
            return;
        }
        if self.fast_open.is_early {
            self.on_third_of_early(packet, ecn, now);
            return;
        }
        if packet.ack != Some(1) {
            self.refuse(packet);
            return;
        }
        let answer = segment_of(packet, EcnMark::None, self.agreed.scale_in);
        let mut sender = self.opened_sender(&answer, now);
        // The sender acts as an active opener: the ACK that would complete its handshake is dropped.
        sender.poll_transmit(now);
        let answer = sender.take_opening(answer);
        self.sender = Some(sender);
        self.last_ack = 1;
        self.last_data = now;
        self.last_window = answer.window_bytes;
        self.state = ConnectionState::Open;
        self.give(&answer, ecn, packet, now);
    }
}
