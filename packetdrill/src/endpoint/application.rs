//! The socket calls of an application, and the socket state that it can query.

use super::{ConnectionState, Endpoint};
use crate::language::script::TcpFlags;
use dumbbell_core::time::Time;
use dumbbell_tcp::receiver::Receiver;
use dumbbell_tcp::segment::TIMESTAMPS_BYTES;
use dumbbell_tcp::sender::{FollowedBy, Phase, Sender};
use std::collections::VecDeque;

/// The socket calls of the application.
impl Endpoint {
    /// Writes as many bytes as fit into the send buffer. `followed_by` says what the application
    /// announces to follow them. Returns the number of bytes accepted.
    pub fn write(&mut self, bytes: u64, followed_by: FollowedBy, now: Time) -> u64 {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.note_stamped_write(bytes.into());
        let Some(sender) = &mut self.sender else {
            return 0;
        };
        sender.write_what_fits_before(bytes, followed_by, now);
        self.poll(now);
        let sender = self.sender.as_mut();
        let taken = bytes - sender.map_or(0, Sender::take_refused);
        if taken < bytes {
            self.forget_stamped_write(bytes.into());
        }
        self.written_end += u64::from(taken);
        u64::from(taken)
    }

    /// Sets `TCP_NOTSENT_LOWAT` on an open connection.
    pub fn limit_unsent(&mut self, most_bytes: u32) {
        self.setup.most_unsent_bytes = most_bytes;
        let most_bytes = self.most_unsent_bytes();
        if let Some(sender) = &mut self.sender {
            sender.limit_unsent(most_bytes);
        }
    }

    pub(super) fn most_unsent_bytes(&self) -> u32 {
        match self.setup.most_unsent_bytes {
            0 => self.setup.host.most_unsent_bytes,
            most_bytes => most_bytes,
        }
    }

    /// Sets `SO_SNDBUF` on an open connection: memory of the send buffer, bytes.
    pub fn fix_send_buffer(&mut self, memory_bytes: u64) {
        self.setup.send_memory_bytes = Some(memory_bytes);
        if let Some(sender) = &mut self.sender {
            sender.fix_send_buffer(memory_bytes);
        }
    }

    /// A write was accepted only in part: the application waits for send buffer space.
    pub fn wait_for_space(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.wait_for_space();
        }
    }

    /// Reads at most `bytes` bytes; returns the number read.
    pub fn read(&mut self, bytes: u64, now: Time) -> u64 {
        let receiver = self.receiver.as_mut();
        let taken = receiver.map_or(0, |receiver| receiver.read(bytes, now));
        self.read_bytes += taken;
        self.poll(now);
        taken
    }

    /// Shuts the sending direction down: a FIN follows the last byte written.
    pub fn shut_down(&mut self, now: Time) {
        self.is_closing = true;
        self.is_last_to_close |= self.has_peer_finished();
        if self.can_send()
            && let Some(sender) = &mut self.sender
        {
            sender.close();
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.close_own_end();
        }
        self.poll(now);
    }

    /// Closes the socket. Unread data turn the close into a reset (RFC 2525 section 2.17).
    pub fn close(&mut self, unread_bytes: u64, now: Time) {
        self.is_orphan = true;
        match self.state {
            ConnectionState::SynSent => self.state = ConnectionState::Gone,
            // Linux 6.1 would send its FIN at once; here it is sent when the connection is open.
            ConnectionState::SynReceived if self.crossed.is_some() => self.is_closing = true,
            ConnectionState::SynReceived if !self.fast_open.is_early => {
                self.state = ConnectionState::Gone;
                self.reset_with((TcpFlags::RST, 1, None));
            }
            _ if self.can_send() && unread_bytes > 0 => {
                self.state = ConnectionState::Gone;
                let flags = TcpFlags::RST.with(TcpFlags::ACK);
                self.reset_with((flags, self.sent_end, Some(self.received_end())));
            }
            _ if self.can_send() && !self.is_closing => self.shut_down(now),
            _ => {}
        }
        self.poll(now);
    }

    /// Aborts a connection that was not and will not be accepted (`tcp_disconnect`).
    pub fn abort(&mut self, now: Time) {
        match self.can_send() {
            true => {
                self.is_orphan = true;
                self.state = ConnectionState::Gone;
                let flags = TcpFlags::RST.with(TcpFlags::ACK);
                self.reset_with((flags, self.sent_end, Some(self.received_end())));
                self.poll(now);
            }
            false => self.close(0, now),
        }
    }

    /// Sets `TCP_NODELAY` on an open connection.
    pub fn set_nodelay(&mut self, on: bool, now: Time) {
        self.setup.nodelay = on;
        let can_send = self.can_send();
        if let (true, Some(sender)) = (can_send, &mut self.sender) {
            sender.set_nagle(!on);
            if on {
                sender.release_corked();
            }
        }
        self.poll(now);
    }

    /// Sets `TCP_CORK`.
    pub fn set_cork(&mut self, on: bool, now: Time) {
        self.setup.corks = on;
        if let Some(sender) = &mut self.sender {
            sender.set_cork(on);
        }
        self.poll(now);
    }

    /// Sets `TCP_USER_TIMEOUT`, milliseconds; 0 for none.
    pub fn set_user_timeout(&mut self, limit_ms: u32) {
        if let Some(sender) = &mut self.sender {
            sender.set_user_timeout(limit_ms);
        }
    }

    /// Sets whether the application reads data as they arrive, without calls in the script.
    pub fn set_reading(&mut self, on: bool, now: Time) {
        self.setup.host.application_reads = on;
        if on {
            self.read(u64::MAX, now);
        }
    }

    /// From now on the host holds data in its transmit queue.
    pub fn keep_in_host_queue(&mut self) {
        self.host_queue = Some(VecDeque::new());
    }

    /// The first `pkts` packets leave the host's transmit queue; false if it holds fewer.
    pub fn leave_host_queue(&mut self, pkts: u64, now: Time) -> bool {
        for _ in 0..pkts {
            let first = self.host_queue.as_mut().and_then(VecDeque::pop_front);
            let (Some(payload_bytes), Some(sender)) = (first, &mut self.sender) else {
                return false;
            };
            if sender.leave_host_queue(payload_bytes, false, now) {
                self.on_timer(now);
            }
        }
        true
    }
}

/// The state that can be queried.
impl Endpoint {
    /// Connection state.
    pub fn state(&self) -> ConnectionState {
        self.state
    }

    /// Whether the application still waits for the connection to open.
    pub fn is_connecting(&self) -> bool {
        self.state == ConnectionState::SynSent
            || (self.state == ConnectionState::SynReceived && self.crossed.is_some())
    }

    /// The sending half.
    pub fn sender(&self) -> Option<&Sender> {
        self.sender.as_ref()
    }

    /// Negotiated options, as `TCPI_OPT_` bits.
    pub fn option_bits(&self) -> u8 {
        // TCPI_OPT_SYN_DATA is bit 5, the sixth bit.
        u8::from(self.agreed.timestamps)
            | u8::from(self.agreed.sack) << 1
            | u8::from(self.agreed.is_scaled) << 2
            | u8::from(self.agreed.ecn.is_on()) << 3
            | u8::from(self.fast_open.has_syn_data) << 5
    }

    /// Window scale shifts: of received windows, of its own windows.
    pub fn scales(&self) -> (u8, u8) {
        (self.agreed.scale_in, self.agreed.scale_out)
    }

    /// Largest segment that it sends, without options, bytes.
    pub fn mss_bytes(&self) -> u32 {
        let options = if self.agreed.timestamps {
            TIMESTAMPS_BYTES
        } else {
            0
        };
        self.agreed.mss_bytes - options
    }

    /// Largest segment that it announced to the peer, without options, bytes.
    pub fn told_mss_bytes(&self) -> u32 {
        self.own_payload_bytes()
    }

    /// When data last arrived; until any arrive, when the connection opened.
    pub fn last_data(&self) -> Time {
        self.last_data
    }

    /// Payload received in order.
    pub fn received_bytes(&self) -> u64 {
        let receiver = self.receiver.as_ref();
        receiver.map_or(0, Receiver::received_payload_bytes)
    }

    /// Payload available to the application to read.
    pub fn unread_bytes(&self) -> u64 {
        match self.setup.host.application_reads {
            true => 0,
            false => self.received_bytes().saturating_sub(self.read_bytes),
        }
    }

    pub(super) fn received_end(&self) -> u64 {
        1 + self.received_bytes() + u64::from(self.has_peer_finished())
    }

    /// Whether the peer's FIN has arrived.
    pub fn has_peer_finished(&self) -> bool {
        self.receiver.as_ref().is_some_and(Receiver::is_complete)
    }

    /// Whether the application has closed the sending direction.
    pub fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether its own FIN has been acknowledged.
    pub fn is_finished(&self) -> bool {
        let phase = self.sender.as_ref().map(Sender::phase);
        phase == Some(Phase::Finished)
    }

    /// Whether it sent its FIN after receiving the peer's FIN (passive close): then it has no
    /// TIME-WAIT.
    pub fn is_last_to_close(&self) -> bool {
        self.is_last_to_close
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_last_to_close && self.is_finished()
    }
}
