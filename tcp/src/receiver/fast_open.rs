//! TCP Fast Open (RFC 7413): data that come with a SYN or its answer.

use super::Receiver;

impl Receiver {
    /// The payload of the SYN, or of the answer to its end's own, is taken: what opens the connection
    /// acknowledges it, and nothing else does. It says nothing of when to acknowledge, nor of how large a
    /// window is needed (`tcp_fastopen_add_skb`).
    ///
    /// To be called after the SYN, before anything else comes.
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

    /// A program of its end waits to write as soon as the connection is open: acknowledgements wait for
    /// what it sends (`sk_write_pending`, `inet_csk_enter_pingpong_mode`).
    pub fn expect_own_data(&mut self) {
        self.acknowledging.on_fin(&self.settings);
    }
}
