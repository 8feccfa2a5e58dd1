//! Autocorking: the end of a write that does not fill a segment, or an sk_buff, is held while packets of the
//! connection are in the queue of its own host.
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | the rest of a write is not full (`tcp_should_autocork`) | shorter than a segment, or than `goal_bytes` of a burst |
//! | packets are outstanding (`tcp_rtx_queue_empty`) | the same |
//! | its host holds more than its own memory (`sk_wmem_alloc`) | the small queues account, from 1 |
//! | sent when a packet leaves the host (`TSQ_THROTTLED`), or with the next acknowledgement | the same |
//! | full segments of the same write (`tcp_push_one`, `forced_push`) | sent at once |
//!
//! Only with small queues: otherwise the sender does not know what its host's queue holds.
//!
//! Source: net/ipv4/tcp.c. The idea: E. Dumazet, "tcp: auto corking", commit f54b311142a9 (2013).

use super::Sender;
use super::cork::CorkedTail;
use crate::small_queue::truesize_bytes;

impl Sender {
    /// At the end of a write: whether it is held.
    pub(super) fn cork(&mut self) {
        let (tail_bytes, full_bytes) = match &self.bursts {
            Some(bursts) => (bursts.queue.last_bytes(self.next.max(1)), self.goal_bytes()),
            None => {
                let mss_bytes = u64::from(self.settings.mss_bytes);
                (self.written - self.segment_start(), mss_bytes)
            }
        };
        let waits = self.settings.is_linux()
            && (1..full_bytes).contains(&tail_bytes)
            && self.board.packets_out() > 0
            && self.small_queue.corks(truesize_bytes(tail_bytes as u32));
        self.corked = match (waits, self.bursts.is_some()) {
            (true, true) => CorkedTail::All,
            (true, false) => CorkedTail::End,
            (false, _) => CorkedTail::No,
        };
    }
}
