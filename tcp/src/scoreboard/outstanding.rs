//! A packet sent and not acknowledged cumulatively.

/// Flags of a packet.
pub(super) mod mark {
    /// SACKed.
    pub const SACKED: u8 = 1;
    /// Considered lost.
    pub const LOST: u8 = 2;
    /// Retransmitted, and the retransmission may be in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// Sent more than once.
    pub const EVER_RETRANSMITTED: u8 = 8;
    /// The flow was application-limited when it was sent.
    pub const APP_LIMITED: u8 = 16;
    /// Counted in a rate sample.
    pub const RATE_COUNTED: u8 = 32;
    /// Continues the sk_buff of the packet before it.
    pub const CONTINUES: u8 = 64;
    /// Its last byte carries PSH.
    pub const PUSHED: u8 = 128;
}

/// The list that a packet is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketList {
    Nowhere,
    InFlight,
    Lost,
    /// Lost by its send time, and not examined again (`tcp_rack_detect_loss`).
    LostByTime,
}

/// State of the rate estimator recorded when a packet is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateNote {
    /// Send time of the first packet of the sample.
    pub first_sent_us: u64,
    /// Time of the last delivery.
    pub delivered_time_us: u64,
    /// Total packets delivered.
    pub delivered_pkts: u64,
    /// Whether the flow was application-limited.
    pub is_app_limited: bool,
}

/// A packet that was sent. The ring stores it in half the space (`packed`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outstanding {
    /// Sequence number of its first byte.
    pub seq: u64,
    /// Time of its last transmission.
    pub sent_us: u64,
    pub(super) first_sent_us: u64,
    pub(super) delivered_time_us: u64,
    pub(super) delivered_pkts: u64,
    pub(super) before: u64,
    pub(super) after: u64,
    /// Length in sequence numbers; a FIN counts.
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

    /// Length in sequence numbers; a FIN counts.
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

    /// Considered lost.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.has(mark::LOST)
    }

    /// Retransmitted, and the retransmission may be in flight.
    #[inline]
    pub fn is_retransmitted(&self) -> bool {
        self.has(mark::RETRANSMITTED)
    }

    /// Sent more than once.
    #[inline]
    pub fn was_ever_retransmitted(&self) -> bool {
        self.has(mark::EVER_RETRANSMITTED | mark::RETRANSMITTED)
    }

    /// Its last byte carries PSH.
    #[inline]
    pub fn is_pushed(&self) -> bool {
        self.has(mark::PUSHED)
    }

    /// Continues the sk_buff of the packet before it.
    #[inline]
    pub fn continues(&self) -> bool {
        self.has(mark::CONTINUES)
    }

    /// The rate estimator's record; None after it has been used.
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
