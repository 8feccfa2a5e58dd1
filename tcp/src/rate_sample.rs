//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation; net/ipv4/tcp_rate.c).
//!
//! Every packet records the total delivered when it was sent. When it is delivered, the difference divided by
//! the longer of the send and acknowledgement intervals is a rate sample. Samples taken while the flow was
//! application-limited are marked.

use super::rtt::from_us;
use super::scoreboard::{Outstanding, RateNote};
use crate::cca::RateSample;

/// Packets delivered by an acknowledgement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Delivery {
    note: Option<RateNote>,
    last_end: u64,
    send_us: u64,
    /// Whether the newest of them was sent more than once.
    is_retransmission: bool,
}

impl Delivery {
    /// Total delivered when the newest of them was sent.
    pub fn prior_delivered_pkts(&self) -> Option<u64> {
        self.note.map(|note| note.delivered_pkts)
    }
}

/// The estimator of a sender.
#[derive(Debug, Clone, PartialEq)]
pub struct RateEstimator {
    /// Total packets delivered.
    pub delivered_pkts: u64,
    /// Time of the last delivery.
    pub delivered_time_us: u64,
    /// Total packets considered lost.
    pub lost_pkts: u64,
    first_sent_us: u64,
    /// Application-limited until this number of packets is delivered; `NOT_LIMITED` otherwise.
    app_limited_until_pkts: u64,
    /// The last sample that was not application-limited, or the highest that was: packets and microseconds.
    /// Both are 0 before the first.
    last: (u64, u64),
}

/// Marks that the flow is not application-limited.
const NOT_LIMITED: u64 = u64::MAX;

impl Default for RateEstimator {
    fn default() -> RateEstimator {
        RateEstimator {
            delivered_pkts: 0,
            delivered_time_us: 0,
            lost_pkts: 0,
            first_sent_us: 0,
            app_limited_until_pkts: NOT_LIMITED,
            last: (0, 0),
        }
    }
}

impl RateEstimator {
    /// What a packet that is sent now records.
    pub fn on_send(&mut self, now_us: u64, packets_out: u32) -> RateNote {
        // With nothing outstanding, a new sampling interval starts.
        if packets_out == 0 {
            self.first_sent_us = now_us;
            self.delivered_time_us = now_us;
        }
        RateNote {
            first_sent_us: self.first_sent_us,
            delivered_time_us: self.delivered_time_us,
            delivered_pkts: self.delivered_pkts,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// A packet was acknowledged or SACKed. The most recently sent one of an acknowledgement counts.
    pub fn on_delivered(&mut self, sent: &Outstanding, delivery: &mut Delivery) {
        let Some(note) = sent.rate_note() else {
            return;
        };
        let is_newer = (sent.sent_us, sent.end()) > (self.first_sent_us, delivery.last_end);
        if delivery.note.is_none() || is_newer {
            delivery.note = Some(note);
            delivery.last_end = sent.end();
            delivery.is_retransmission = sent.was_ever_retransmitted();
            self.first_sent_us = sent.sent_us;
            delivery.send_us = sent.sent_us - note.first_sent_us;
        }
    }

    /// The sample of an acknowledgement by which `newly_delivered` packets were delivered. `is_trusted` is
    /// false after SACK reneging.
    pub fn sample(
        &mut self,
        delivery: &Delivery,
        now_us: u64,
        newly_delivered_pkts: u32,
        min_rtt_us: u64,
        is_trusted: bool,
    ) -> RateSample {
        if self.delivered_pkts > self.app_limited_until_pkts {
            self.app_limited_until_pkts = NOT_LIMITED;
        }
        if newly_delivered_pkts > 0 {
            self.delivered_time_us = now_us;
        }
        let mut sample = RateSample::none(newly_delivered_pkts);
        let Some(note) = delivery.note.filter(|_| is_trusted) else {
            return sample;
        };
        let ack_us = now_us.saturating_sub(note.delivered_time_us);
        let interval_us = delivery.send_us.max(ack_us);
        sample.prior_delivered_pkts = note.delivered_pkts;
        sample.prior_time = from_us(note.delivered_time_us);
        sample.is_app_limited = note.is_app_limited;
        sample.newest_sent = Some(from_us(self.first_sent_us));
        // Shorter than any round trip: a retransmission was acknowledged by the arrival of the original.
        if min_rtt_us != u64::MAX && interval_us < min_rtt_us {
            return sample;
        }
        let delivered = self.delivered_pkts - note.delivered_pkts;
        sample.delivered_pkts = delivered as i64;
        sample.interval = from_us(interval_us);
        let (pkts, us) = self.last;
        if !note.is_app_limited || delivered * us >= pkts * interval_us {
            self.last = (delivered, interval_us);
        }
        sample
    }

    /// The application had less than a segment to send while the window was open.
    pub fn set_app_limited(&mut self, in_flight_pkts: u32) {
        self.app_limited_until_pkts = self.delivered_pkts + u64::from(in_flight_pkts);
    }

    /// Whether the flow is application-limited.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until_pkts != NOT_LIMITED
    }

    /// Last delivery rate, bytes per second; None before the first sample.
    pub fn bytes_per_s(&self, mss_bytes: u32) -> Option<u64> {
        let (pkts, us) = self.last;
        if us == 0 {
            return None;
        }
        let bytes = u128::from(pkts) * u128::from(mss_bytes) * 1_000_000;
        Some((bytes / u128::from(us)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Scoreboard;

    /// One packet every 100 us is sent, acknowledged one every 1000 us after 10 ms: the rate is
    /// that of the acknowledgements.
    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let (mut board, mut rate) = (Scoreboard::new(1000), RateEstimator::default());
        for number in 0..10u64 {
            let note = rate.on_send(number * 100, board.packets_out());
            board.push(number * 1000, number * 1000 + 1000, number * 100, note);
        }
        let mut last = None;
        for number in 0..10u64 {
            let (mut delivery, now_us) = (Delivery::default(), 10_000 + number * 1000);
            let sent = board.pop();
            rate.delivered_pkts += 1;
            rate.on_delivered(&sent, &mut delivery);
            last = Some(rate.sample(&delivery, now_us, 1, 10_000, true));
        }
        // The last packet was sent when nothing had been delivered: 10 packets in 19 ms.
        let sample = last.unwrap();
        assert_eq!(sample.delivered_pkts, 10);
        assert_eq!(sample.interval, from_us(19_000));
        assert_eq!(rate.bytes_per_s(1000), Some(10 * 1000 * 1_000_000 / 19_000));
    }

    #[test]
    fn a_bubble_is_marked_until_it_has_been_delivered() {
        let mut rate = RateEstimator::default();
        rate.set_app_limited(3);
        assert!(rate.on_send(0, 0).is_app_limited);
        for delivered in 1..=4 {
            rate.delivered_pkts = delivered;
            rate.sample(&Delivery::default(), 10, 1, u64::MAX, true);
            assert_eq!(rate.is_app_limited(), delivered <= 3);
        }
    }
}
