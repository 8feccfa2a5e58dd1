//! Echo requests at a constant interval, as `ping -i` sends them (RFC 792; ping(8)), or over UDP (RFC 862),
//! whose header has the same length as that of ICMP.

use crate::sim::chunked_vec::ChunkedVec;
use crate::sim::time::Time;
use crate::spec;

/// ICMP header, and UDP header, bytes.
pub const ICMP_HEADER_BYTES: u32 = 8;

/// A request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Send time.
    pub sent: Time,
    /// Arrival of the reply; None while it is missing.
    pub received: Option<Time>,
}

/// A running ping.
#[derive(Debug, Clone)]
pub struct Ping {
    interval: Time,
    /// Number of requests; None until the end of the run.
    count: Option<u64>,
    /// Size of request and reply with the IP header, bytes.
    pub packet_bytes: u16,
    /// In the order sent: sequence number 1 is at index 0.
    pub echoes: ChunkedVec<Echo>,
}

impl Ping {
    /// A ping that has sent nothing.
    pub fn new(probe: &spec::Probe) -> Ping {
        let headers = crate::sim::datagram::IP_HEADER_BYTES + ICMP_HEADER_BYTES;
        Ping {
            interval: Time::from_ns(probe.interval_ns),
            count: (probe.count > 0).then_some(probe.count),
            packet_bytes: (probe.payload_bytes + headers) as u16,
            echoes: ChunkedVec::default(),
        }
    }

    /// Sends a request now. Returns its sequence number and the time to the next, if any.
    pub fn send(&mut self, now: Time) -> (u32, Option<Time>) {
        self.echoes.push(Echo {
            sent: now,
            received: None,
        });
        let sent = self.echoes.len() as u64;
        let more = self.count.is_none_or(|count| sent < count);
        (sent as u32, more.then_some(self.interval))
    }

    /// Receives the reply to request `number`. Only the first counts; ping(8) reports further ones as
    /// duplicates.
    pub fn receive(&mut self, number: u32, now: Time) {
        if let Some(echo) = self.echoes.get_mut(number as usize - 1) {
            echo.received.get_or_insert(now);
        }
    }
}
