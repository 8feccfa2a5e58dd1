//! TCP Fast Open (RFC 7413): data carried by a SYN or SYN-ACK.

use super::Receiver;

impl Receiver {
    /// Accepts the payload of a SYN or SYN-ACK. Only the segment that opens the connection acknowledges it.
    /// It does not affect the acknowledgement policy or the window's growth (`tcp_fastopen_add_skb`).
    ///
    /// Call it after the SYN, before other segments.
    pub fn take_syn_data(&mut self, payload_bytes: u32, has_fin: bool) {
        let next = self.data.next() + u64::from(payload_bytes) + u64::from(has_fin);
        if next > self.data.next() {
            self.data.go_on_to(next);
        }
        if has_fin {
            self.data.set_end(next);
        }
        self.acknowledged = next;
    }

    /// A program of this end will write as soon as the connection is open: acknowledgements wait for its data
    /// (`sk_write_pending`, `inet_csk_enter_pingpong_mode`).
    pub fn expect_own_data(&mut self) {
        self.acknowledging.on_fin(&self.settings);
    }
}
