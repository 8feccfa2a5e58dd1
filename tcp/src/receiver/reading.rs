//! What the application reads, and what that opens of the window (`tcp_recvmsg`, `tcp_cleanup_rbuf`).
//!
//! The kernel enters all segments of an instant before the application, which it has woken, reads: once.
//! That is done in the instant where the other end may hear of it, and otherwise, as of that instant,
//! before anything else happens.

use super::Receiver;
use dumbbell_core::time::Time;

/// By how much a program that writes before it reads is later than one that only reads. On the kernel
/// in virtual time it is less, but enough to change the microsecond that the kernel's clocks show.
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

    /// Something has come: the application will read it when all of this instant has come. What a
    /// device has merged (GRO) it reads by itself, as each is handed up on its own.
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

    /// The application that will read what has just come does something else before: it writes.
    /// Where a round trip is a whole number of milliseconds that decides whether one has passed when
    /// it reads again (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn read_late(&mut self) {
        self.is_reading_late = self.unread_since != Time::NEVER;
    }

    /// The application reads all that came before.
    #[inline(always)]
    pub(super) fn read_what_came(&mut self) {
        self.is_reading_due = false;
        let mut at = std::mem::replace(&mut self.unread_since, Time::NEVER);
        if std::mem::take(&mut self.is_reading_late) {
            at += LATE;
        }
        self.read_all(at);
    }

    /// The application reads all there is.
    pub(super) fn read_all(&mut self, now: Time) {
        if self.unread_bytes() > 0 {
            self.read_to(self.data.next(), now);
        }
    }

    /// The application has read what is before `read`.
    pub(super) fn read_to(&mut self, read: u64, now: Time) {
        let before = std::mem::replace(&mut self.read, read);
        self.window.adjust(before, read, now);
        // Of a FIN there is nothing to be read.
        if self.read > self.data.payload_bytes() {
            self.acknowledging
                .on_read(&self.settings, self.data.next() - self.acknowledged);
        }
        let offered = self.window.offered(self.data.next(), self.acknowledged);
        self.must_ack |= self.window.has_opened(offered, &self.data);
    }

    /// The application reads `bytes` bytes at most. Returns how many there were.
    pub fn read(&mut self, bytes: u64, now: Time) -> u64 {
        let unread = (1 + self.data.payload_bytes()).saturating_sub(self.read);
        let taken = bytes.min(unread);
        if taken > 0 {
            self.read_to(self.read + taken, now);
        }
        taken
    }
}
