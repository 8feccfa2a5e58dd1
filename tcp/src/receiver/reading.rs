//! Reading by the application, and its effect on the window (`tcp_recvmsg`, `tcp_cleanup_rbuf`).
//!
//! The kernel processes all segments of an instant before the application, which it has woken, reads them at
//! once. Here reading takes place in that instant if it can cause a window update; otherwise it is postponed,
//! with that time, until the next event.

use super::Receiver;
use dumbbell_core::time::Time;

/// How much later a program that writes first reads than one that only reads. On the kernel in virtual time
/// it is less, but enough to change the microsecond of the kernel's clock.
const LATE: Time = Time::from_ns(1000);

impl Receiver {
    pub(super) fn unread_bytes(&self) -> u64 {
        self.data.next() - self.read
    }

    /// The kernel acknowledges before the application reads.
    pub(super) fn decide_window(&mut self) {
        let (next, unread_bytes) = (self.data.next(), self.unread_bytes());
        self.decided_window_bytes =
            self.window
                .offer(next, self.acknowledged, unread_bytes, &self.data) as u32;
        self.acknowledged = next;
    }

    /// Data has arrived: the application will read it after all segments of this instant. Packets merged by
    /// GRO are read individually, because each is delivered on its own.
    #[inline(always)]
    pub(super) fn wake_reader(&mut self, payload_bytes: u32, now: Time) {
        if !self.settings.is_linux() {
            return self.read_all(now);
        }
        if payload_bytes > self.settings.mss_bytes {
            return self.read_merged(now);
        }
        let (next, acknowledged) = (self.data.next(), self.acknowledged);
        if next == self.read {
            return;
        }
        self.unread_since = now;
        let left = self.window.offered(next, acknowledged);
        let acknowledges = !self.must_ack
            && self
                .acknowledging
                .waits_for_reading(&self.settings, next - acknowledged);
        self.is_reading_due = acknowledges
            || self
                .window
                .waits_for_reading(left, next, &self.data, now + LATE);
    }

    #[cold]
    #[inline(never)]
    fn read_merged(&mut self, now: Time) {
        self.unread_since = now;
        self.read_what_came();
    }

    /// The application writes before it reads the data just received. With a round-trip time of whole
    /// milliseconds this decides whether a round trip has passed when it reads again
    /// (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn read_late(&mut self) {
        self.is_reading_late = self.unread_since != Time::NEVER;
    }

    /// The application reads all data received earlier.
    #[inline(always)]
    pub(super) fn read_what_came(&mut self) {
        self.is_reading_due = false;
        let mut at = std::mem::replace(&mut self.unread_since, Time::NEVER);
        if std::mem::take(&mut self.is_reading_late) {
            at += LATE;
        }
        self.read_all(at);
    }

    /// The application reads all data.
    pub(super) fn read_all(&mut self, now: Time) {
        if self.unread_bytes() > 0 {
            self.read_to(self.data.next(), now);
        }
    }

    /// The application has read all data before `read`.
    pub(super) fn read_to(&mut self, read: u64, now: Time) {
        let before = std::mem::replace(&mut self.read, read);
        self.window.adjust(before, read, now);
        // A FIN is not data to read.
        if self.read > self.data.payload_bytes() {
            self.acknowledging
                .on_read(&self.settings, self.data.next() - self.acknowledged);
        }
        let offered = self.window.offered(self.data.next(), self.acknowledged);
        self.must_ack |= self.window.has_opened(offered, &self.data);
    }

    /// The application reads at most `bytes` bytes. Returns the number read.
    pub fn read(&mut self, bytes: u64, now: Time) -> u64 {
        let unread = (1 + self.data.payload_bytes()).saturating_sub(self.read);
        let taken = bytes.min(unread);
        if taken > 0 {
            self.read_to(self.read + taken, now);
        }
        taken
    }
}
