//! TCP's state of a connection: `struct tcp_info` of linux/tcp.h, Linux 6.1.

use crate::sys::TCP_INFO_BYTES;
use dumbbell_core::tcp_sample::TcpSample;
use dumbbell_core::time::Time;

/// `TCP_INFINITE_SSTHRESH` (net/tcp.h): not set.
const NO_SSTHRESH: u32 = 0x7fff_ffff;
/// Minimum round-trip time before a measurement (`tcp_min_rtt`).
const NO_MIN_RTT: u32 = u32::MAX;
const PACING_UNLIMITED: u64 = u64::MAX;

/// The fields of a connection's `tcp_info`.
#[derive(Debug, Clone, Copy)]
pub struct TcpInfo<'a>(&'a [u8; TCP_INFO_BYTES]);

impl<'a> TcpInfo<'a> {
    /// Wraps what the kernel wrote.
    pub fn new(bytes: &'a [u8; TCP_INFO_BYTES]) -> TcpInfo<'a> {
        TcpInfo(bytes)
    }

    fn u32(self, at: usize) -> u32 {
        u32::from_ne_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn u64(self, at: usize) -> u64 {
        u64::from_ne_bytes(self.0[at..at + 8].try_into().expect("eight bytes"))
    }

    fn micros(self, at: usize) -> Time {
        Time::from_ns(u64::from(self.u32(at)) * 1000)
    }

    /// Whether the connection is closed: it was reset, or TCP gave up (`TCP_CLOSE`).
    pub fn is_closed(self) -> bool {
        self.0[0] == 7
    }

    /// Segments sent, acknowledgements included.
    pub fn segments_out(self) -> u64 {
        u64::from(self.u32(136))
    }

    /// Segments received.
    pub fn segments_in(self) -> u64 {
        u64::from(self.u32(140))
    }

    /// Segments retransmitted.
    pub fn retransmitted(self) -> u64 {
        u64::from(self.u32(100))
    }

    /// Payload sent, retransmissions included.
    pub fn payload_sent(self) -> u64 {
        self.u64(200)
    }

    /// Payload retransmitted.
    pub fn payload_retransmitted(self) -> u64 {
        self.u64(208)
    }

    /// `tcp_packets_in_flight`: sent minus SACKed and lost, plus retransmitted.
    pub fn in_flight(self) -> u32 {
        let (unacked, sacked, lost, again) =
            (self.u32(24), self.u32(28), self.u32(32), self.u32(36));
        (unacked + again).saturating_sub(sacked + lost)
    }

    /// The sampled state of the sender.
    pub fn sample(self) -> TcpSample {
        let measured = self.u32(68) > 0;
        let pacing = self.u64(104);
        let delivery = self.u64(160);
        TcpSample {
            cwnd_pkts: self.u32(80),
            ssthresh_pkts: Some(self.u32(76)).filter(|pkts| *pkts < NO_SSTHRESH),
            inflight_pkts: self.in_flight(),
            srtt: measured.then(|| self.micros(68)),
            // `tcpi_rttvar`, of `mdev_us` (`tcp_get_info`).
            mean_deviation: measured.then(|| self.micros(72)),
            min_rtt: (self.u32(148) != NO_MIN_RTT && measured).then(|| self.micros(148)),
            pacing_rate_bps: (pacing != PACING_UNLIMITED).then(|| pacing.saturating_mul(8)),
            delivery_rate_bps: (delivery > 0).then(|| delivery.saturating_mul(8)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(numbers: &[(usize, u64, usize)]) -> [u8; TCP_INFO_BYTES] {
        let mut bytes = [0u8; TCP_INFO_BYTES];
        for (at, value, length) in numbers {
            bytes[*at..at + length].copy_from_slice(&value.to_ne_bytes()[..*length]);
        }
        bytes
    }

    /// Offsets beside those that the C library declares (its structure ends earlier).
    #[test]
    fn offsets_are_those_of_the_declaration() {
        use std::mem::offset_of;
        assert_eq!(offset_of!(libc::tcp_info, tcpi_unacked), 24);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_rtt), 68);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_ssthresh), 76);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_snd_cwnd), 80);
        assert_eq!(offset_of!(libc::tcp_info, tcpi_total_retrans), 100);
    }

    #[test]
    fn in_flight_is_what_is_neither_acknowledged_nor_lost() {
        let bytes = info(&[(24, 20, 4), (28, 5, 4), (32, 3, 4), (36, 2, 4)]);
        assert_eq!(TcpInfo::new(&bytes).in_flight(), 14);
    }

    #[test]
    fn what_was_not_measured_is_none() {
        let bytes = info(&[
            (76, u64::from(NO_SSTHRESH), 4),
            (80, 10, 4),
            (104, u64::MAX, 8),
            (148, u64::from(NO_MIN_RTT), 4),
        ]);
        let sample = TcpInfo::new(&bytes).sample();
        assert_eq!(sample.cwnd_pkts, 10);
        let none = (sample.ssthresh_pkts, sample.srtt, sample.min_rtt);
        assert_eq!(none, (None, None, None));
        assert_eq!(
            (sample.pacing_rate_bps, sample.delivery_rate_bps),
            (None, None)
        );
    }

    #[test]
    fn rates_are_in_bits_and_times_in_microseconds() {
        let bytes = info(&[
            (68, 20_500, 4),
            (104, 1_250_000, 8),
            (160, 1000, 8),
            (200, 5000, 8),
            (208, 1448, 8),
        ]);
        let info = TcpInfo::new(&bytes);
        let sample = info.sample();
        assert_eq!(sample.srtt, Some(Time::from_ns(20_500_000)));
        assert_eq!(sample.pacing_rate_bps, Some(10_000_000));
        assert_eq!(sample.delivery_rate_bps, Some(8000));
        assert_eq!(
            (info.payload_sent(), info.payload_retransmitted()),
            (5000, 1448)
        );
    }
}
