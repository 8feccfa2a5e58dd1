//! A packet that has been sent and is not acknowledged cumulatively.

/// What is known of a packet.
pub(super) mod mark {
    /// SACKed.
    pub const SACKED: u8 = 1;
    /// Taken for lost.
    pub const LOST: u8 = 2;
    /// Sent again, and that copy may be in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// Sent more than once.
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// The application had nothing more to send when it was sent.
    pub const APP_LIMITED: u8 = 16;
    /// It has been counted in a rate sample.
    pub const RATE_COUNTED: u8 = 32;
    /// Part of the sk_buff of the packet before it.
    pub const CONTINUES: u8 = 64;
    /// Its last byte is pushed.
    pub const PUSHED: u8 = 128;
}

/// Where a packet lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketList {
    Nowhere,
    InFlight,
    Lost,
    /// Lost by its time, which is looked at no more (`tcp_rack_detect_loss`).
    LostByTime,
}

/// What the rate estimator notes with a packet when it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateNote {
    /// When the first packet of the sample was sent.
    pub first_sent_us: u64,
    /// When a packet was last delivered.
    pub delivered_time_us: u64,
    /// Delivered in total.
    pub delivered_pkts: u64,
    /// Whether the application had nothing more to send.
    pub is_app_limited: bool,
}

/// A packet that was sent. The ring has it in half as much (`packed`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outstanding {
    /// Sequence number of its first byte.
    pub seq: u64,
    /// When it was last sent.
    pub sent_us: u64,
    pub(super) first_sent_us: u64,
    pub(super) delivered_time_us: u64,
    pub(super) delivered_pkts: u64,
    pub(super) before: u64,
    pub(super) after: u64,
    /// Sequence numbers it takes; a FIN counts.
    pub(super) bytes: u32,
    pub(super) marks: u8,
    pub(super) place: PacketList,
}

impl Outstanding {
    /// One past its last sequence number.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.bytes)
    }

    /// Sequence numbers it takes; a FIN counts.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    pub(super) fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// SACKed.
    #[inline]
    pub fn is_sacked(&self) -> bool {
        self.has(mark::SACKED)
    }

    /// Taken for lost.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.has(mark::LOST)
    }

    /// Sent again, and that copy may be in flight.
    #[inline]
    pub fn is_retransmitted(&self) -> bool {
        self.has(mark::RETRANSMITTED)
    }

    /// Sent more than once.
    #[inline]
    pub fn was_ever_retransmitted(&self) -> bool {
        self.has(mark::EVER_RETRANSMITTED | mark::RETRANSMITTED)
    }

    /// Its last byte is pushed.
    #[inline]
    pub fn is_pushed(&self) -> bool {
        self.has(mark::PUSHED)
    }

    /// Part of the sk_buff of the packet before it.
    #[inline]
    pub fn continues(&self) -> bool {
        self.has(mark::CONTINUES)
    }

    /// What the rate estimator noted; None once it has been used.
    #[inline]
    pub fn rate_note(&self) -> Option<RateNote> {
        (!self.has(mark::RATE_COUNTED)).then_some(RateNote {
            first_sent_us: self.first_sent_us,
            delivered_time_us: self.delivered_time_us,
            delivered_pkts: self.delivered_pkts,
            is_app_limited: self.has(mark::APP_LIMITED),
        })
    }
}
