//! `netem` with a constant delay and a rate (tc-netem(8)), by Linux's arithmetic (6.1).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit`: refused when `limit` packets are held, the one being sent included | yes |
//! | `delay TIME`, constant | yes |
//! | `rate RATE`: length / rate in whole nanoseconds, rounded down, rate in bytes/s | yes |
//! | with a rate, the delay runs while a packet waits behind the one in front | yes |
//! | packet overhead, cell size and cell overhead of `rate` | no |
//! | jitter, distribution, correlation, loss, duplicate, corrupt, reorder, slot | no |
//!
//! A packet's time to send is `max(now + delay, time to send of the one in front) + length /
//! rate`. It stays in the queue until then, so the queue's limit, backlog and sojourn time
//! include the packet in transmission, unlike a FIFO in front of a link.

use super::{Dequeued, DropReason};
use crate::sim::packet::Packet;
use crate::sim::time::Time;
use dumbbell_tc::qdisc::Netem as Config;
use std::collections::VecDeque;

/// Nanoseconds in a second.
const NS_PER_S: u64 = 1_000_000_000;

/// The state of a netem queue.
#[derive(Debug, Clone)]
pub struct Netem {
    /// Packets with their time to send, which never decreases along the queue.
    packets: VecDeque<(Time, Packet)>,
    backlog_bytes: u64,
    limit: usize,
    delay: Time,
    /// 0 for no rate. Linux keeps bytes per second.
    bytes_per_second: u64,
    overhead_bytes: u32,
}

impl Netem {
    /// An empty queue.
    pub fn new(config: &Config, overhead_bytes: u32) -> Netem {
        Netem {
            packets: VecDeque::new(),
            backlog_bytes: 0,
            limit: config.limit_packets as usize,
            delay: Time::from_ns(config.delay_ns),
            bytes_per_second: config.rate_bps / 8,
            overhead_bytes,
        }
    }

    /// How long a packet takes at the configured rate; zero without one.
    #[inline]
    pub fn transmission_time(&self, wire_bytes: u32) -> Time {
        if self.bytes_per_second == 0 {
            return Time::ZERO;
        }
        Time::from_ns(u64::from(wire_bytes) * NS_PER_S / self.bytes_per_second)
    }

    /// Takes the packet unless the limit is reached, and fixes its time to send.
    #[inline]
    pub fn enqueue(&mut self, packet: Packet, now: Time) -> Result<(), DropReason> {
        if self.packets.len() >= self.limit {
            return Err(DropReason::Overlimit);
        }
        let bytes = packet.wire_bytes(self.overhead_bytes);
        let mut time_to_send = now + self.delay;
        if self.bytes_per_second != 0 {
            if let Some((in_front, _)) = self.packets.back() {
                time_to_send = time_to_send.max(*in_front);
            }
            time_to_send += self.transmission_time(bytes);
        }
        self.backlog_bytes += u64::from(bytes);
        self.packets.push_back((time_to_send, packet));
        Ok(())
    }

    /// The first packet once its time has come.
    #[inline]
    pub fn dequeue(&mut self, now: Time) -> Dequeued {
        match self.packets.front() {
            None => Dequeued::Empty,
            Some((time_to_send, _)) if *time_to_send > now => Dequeued::NotBefore(*time_to_send),
            Some(_) => {
                let (_, packet) = self.packets.pop_front().expect("there is a front");
                self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
                Dequeued::Packet(packet)
            }
        }
    }

    /// Packets and bytes held, the one in transmission included.
    #[inline]
    pub fn backlog(&self) -> (u32, u64) {
        (self.packets.len() as u32, self.backlog_bytes)
    }

    /// Every packet held, first to leave first.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::packet::Kind;

    fn packet(number: u32, bytes: u16) -> Packet {
        Packet::new(Kind::Udp, 0, number, bytes, Time::ZERO)
    }

    fn netem(limit_packets: u32, delay_ns: u64, rate_bps: u64) -> Netem {
        let config = Config {
            limit_packets,
            delay_ns,
            rate_bps,
        };
        Netem::new(&config, 14)
    }

    /// Departure times, in nanoseconds, of packets given as (arrival in ns, bytes).
    fn departures(mut queue: Netem, arrivals: &[(u64, u16)]) -> Vec<u64> {
        for (number, (at, bytes)) in arrivals.iter().enumerate() {
            let taken = queue.enqueue(packet(number as u32, *bytes), Time::from_ns(*at));
            assert_eq!(taken, Ok(()));
        }
        let mut out = Vec::new();
        let mut now = Time::ZERO;
        loop {
            match queue.dequeue(now) {
                Dequeued::Packet(_) => out.push(now.as_ns()),
                Dequeued::NotBefore(later) => now = later,
                Dequeued::Empty => return out,
            }
        }
    }

    #[test]
    fn rate_serves_one_packet_after_the_other() {
        // 111 + 14 bytes at 1 Mbit/s take 1 ms.
        let arrivals = [(0, 111), (0, 111), (5_000_000, 111)];
        let expected = vec![1_000_000, 2_000_000, 6_000_000];
        assert_eq!(departures(netem(1000, 0, 1_000_000), &arrivals), expected);
    }

    #[test]
    fn the_delay_runs_while_a_packet_waits() {
        // The second packet's 500 us of delay are over before the first has been sent.
        let arrivals = [(0, 111), (0, 111)];
        let expected = vec![1_500_000, 2_500_000];
        assert_eq!(
            departures(netem(1000, 500_000, 1_000_000), &arrivals),
            expected
        );
    }

    #[test]
    fn transmission_times_are_whole_nanoseconds_of_bytes_per_second() {
        // 1,000,007 bit/s are 125,000 bytes/s, as the kernel gets them from tc.
        let queue = netem(1000, 0, 1_000_007);
        assert_eq!(queue.transmission_time(1), Time::from_ns(8_000));
        let queue = netem(1000, 0, 24);
        assert_eq!(queue.transmission_time(1), Time::from_ns(333_333_333));
    }

    #[test]
    fn the_limit_counts_the_packet_in_transmission() {
        let mut queue = netem(1, 0, 1_000_000);
        assert_eq!(queue.enqueue(packet(1, 100), Time::ZERO), Ok(()));
        let second = queue.enqueue(packet(2, 100), Time::ZERO);
        assert_eq!(second, Err(DropReason::Overlimit));
    }

    #[test]
    fn without_a_rate_each_packet_has_its_own_delay() {
        let arrivals = [(0, 1500), (10, 40)];
        assert_eq!(
            departures(netem(10, 1_000, 0), &arrivals),
            vec![1_000, 1_010]
        );
    }
}
