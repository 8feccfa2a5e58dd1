//! Simultaneous open: the SYNs of both ends cross (RFC 9293 section 3.5).
//!
//! | what happens | here, after Linux 6.1 |
//! | --- | --- |
//! | a SYN arrives in SYN-SENT | a SYN-ACK is sent with the options of its own SYN; the timer of its SYN keeps running (`tcp_send_synack`) |
//! | payload of the SYN that arrives | is not accepted; the peer has to retransmit it |
//! | payload of its own SYN (RFC 7413) | stays in flight until acknowledged, as other payload |
//! | the peer's SYN-ACK, which repeats the known SYN and acknowledges all that was sent | opens the connection; its SYN has been received before and counts as a duplicate (`tcp_validate_incoming`) |
//! | any other SYN | a challenge ACK is sent (RFC 5961 section 4) |

use super::{ConnectionState, Endpoint};
use crate::language::script::{EcnMark, TcpFlags, TcpOption, TcpPacket};
use crate::segments::segment_of;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Ecn as Feedback;
use dumbbell_tcp::receiver::Receiver;
use dumbbell_tcp::segment::{Flags, Segment, Timestamps};
use dumbbell_tcp::sender::Sender;
use dumbbell_tcp::timestamp_ms;
use std::sync::Arc;

/// The SYN-ACK of a connection in simultaneous open.
#[derive(Debug, Clone)]
pub(super) struct SimultaneousOpen {
    /// Its options except timestamps: those that this end supports, whatever the peer's SYN
    /// offered.
    pub(super) options: Vec<TcpOption>,
    has_timestamps: bool,
}

impl SimultaneousOpen {
    /// Adds the timestamps that this end's SYNs carry.
    pub(super) fn stamp(&self, syn_ack: &mut Segment, now: Time) {
        if self.has_timestamps {
            syn_ack.timestamps.get_or_insert(Timestamps {
                value_ms: timestamp_ms(now),
                echo_ms: 0,
            });
        }
    }
}

impl Endpoint {
    /// A SYN has arrived in SYN-SENT.
    pub(super) fn cross(&mut self, syn: &TcpPacket, now: Time) {
        self.fast_open.option = None;
        self.crossed = Some(SimultaneousOpen {
            options: self.syn_options(),
            has_timestamps: self.agreed.timestamps,
        });
        // As for a passive open, but limited to what its own SYN offered.
        self.agreed.ecn = match self.agreed.ecn {
            Feedback::Switch(false) => Feedback::OFF,
            _ => self.setup.host.ecn.answered(syn.flags),
        };
        self.agree(syn);
        let without_payload = Segment {
            payload_bytes: 0,
            flags: segment_of(syn, EcnMark::None, 0).flags.without(Flags::FIN),
            ..segment_of(syn, EcnMark::None, 0)
        };
        let settings = Arc::new(self.receiver_settings());
        let mut receiver = Receiver::new(&settings).for_both_directions();
        receiver.on_segment(&without_payload, now);
        self.sender = None;
        self.state = ConnectionState::SynReceived;
        self.sent_end = 1 + self.fast_open.syn_bytes;
        if let Some(syn_ack) = receiver.poll_transmit(now) {
            self.enter_segment(&syn_ack, now);
        }
        let times = self.syns.len() as u32;
        if let Some(last) = self.syns.last_mut() {
            receiver.repeat_as_if_sent(*last, times);
            // The round-trip time sample of its acknowledgement starts at the SYN-ACK.
            *last = now;
        }
        self.receiver = Some(receiver);
    }

    /// Handles a segment in SYN-RECEIVED after the SYNs have crossed (RFC 9293 section 3.10.7.4).
    pub(super) fn on_third_of_simultaneous_open(
        &mut self,
        packet: &TcpPacket,
        ecn: EcnMark,
        now: Time,
    ) {
        let has_syn = packet.flags.has(TcpFlags::SYN);
        let opens = packet.ack == Some(self.sent_end)
            && packet.seq == 0
            && packet.payload_bytes == 0
            && !packet.flags.has(TcpFlags::FIN);
        if has_syn && !opens {
            self.challenge(now);
            return;
        }
        let Some(ack) = packet.ack.filter(|_| packet.flags.has(TcpFlags::ACK)) else {
            return;
        };
        if !(1..=self.sent_end).contains(&ack) {
            self.refuse(packet);
            return;
        }
        // The window is scaled, even in a SYN-ACK (`tcp_rcv_state_process`).
        let answer = segment_of(packet, EcnMark::None, self.agreed.scale_in);
        let mut sender = self.opened_sender(&answer, now);
        sender.poll_transmit(now);
        let answer = sender.take_opening(answer);
        self.wait_for_syn_data(&mut sender, ack, now);
        // Its SYN and its SYN-ACK both count as delivered (`tcp_rcv_state_process`).
        sender.on_syn_ack_acknowledged(None, now);
        if self.is_closing {
            sender.close();
        }
        self.sender = Some(sender);
        (self.last_ack, self.last_window) = (ack, answer.window_bytes);
        self.last_data = now;
        self.state = ConnectionState::Open;
        if !has_syn {
            self.give(&answer, ecn, packet, now);
            return;
        }
        let opening = Segment {
            seq: 1,
            flags: Flags::ACK,
            ..answer
        };
        let known_syn = Segment {
            seq: 0,
            payload_bytes: 1,
            ..opening
        };
        if let Some(receiver) = &mut self.receiver {
            receiver.on_segment(&opening, now);
            receiver.on_segment(&known_syn, now);
        }
    }

    /// Counts unacknowledged payload of its SYN as in flight; nothing indicates that it is lost.
    fn wait_for_syn_data(&mut self, sender: &mut Sender, ack: u64, now: Time) {
        let acknowledged = ack - 1;
        sender.acknowledge_syn_data(acknowledged);
        let left = self.fast_open.syn_bytes - acknowledged;
        if left > 0 {
            sender.write(left, now);
            while sender.poll_transmit(now).is_some() {}
        }
    }

    /// Acknowledges the data received, in answer to a SYN that opens no connection (challenge ACK).
    fn challenge(&mut self, now: Time) {
        let mut challenge = Segment {
            seq: self.sent_end,
            flags: Flags::ACK,
            ..Segment::default()
        };
        if let Some(receiver) = &mut self.receiver {
            receiver.acknowledge_on(&mut challenge, 0, now);
            self.enter_segment(&challenge, now);
        }
    }
}
