//! Generic receive offload: a device merges frames of one connection that follow each other.
//!
//! | clause of Linux 6.1 (`dev_gro_receive`, `tcp_gro_receive`, `skb_gro_receive`) | here |
//! | --- | --- |
//! | what came since the last interrupt is taken in one poll, and nothing is held beyond it | `interval` after the first frame; 0: what came in the same instant |
//! | of one connection and direction, next in sequence, no longer than the first | yes |
//! | flags equal but for PSH and FIN; acknowledgement, timestamps and SACK blocks equal | yes |
//! | the ECN field equal (`inet_gro_receive`) | yes |
//! | a shorter segment, PSH or FIN ends it | yes |
//! | less than 65,536 bytes (`gro_max_size`) | yes: 45 segments of 1448 bytes |
//! | without payload nothing is merged, but what was held goes first | yes |
//! | what is a super-packet already goes on as it is | yes |
//! | eight connections a bucket, flushed bucket by bucket | any number, in the order they began |

use crate::sim::packet::{Kind, Packet};
use crate::sim::time::Time;
use crate::tcp::segment::{Flags, Segment};

/// Bytes with the IP header that a merged packet stays below (`GRO_LEGACY_MAX_SIZE`).
const MOST_BYTES: u32 = 65_536;

/// What a device has received since it was last asked.
#[derive(Debug)]
pub struct Gro {
    interval: Time,
    frames: Vec<Packet>,
}

/// What of a frame decides whether it is merged.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// Of its flow.
    pub connection: u32,
    /// Its header.
    pub segment: Segment,
}

/// Frames that are one packet so far.
struct Held {
    frames: Vec<Packet>,
    first: Header,
    bytes: u32,
}

impl Gro {
    /// A device that takes frames so many nanoseconds after the first of them.
    pub fn new(interval_ns: u64) -> Gro {
        Gro {
            interval: Time::from_ns(interval_ns),
            frames: Vec::new(),
        }
    }

    /// A frame has come. Returns when all are to be taken, if it is the first.
    pub fn gather(&mut self, frame: Packet, now: Time) -> Option<Time> {
        self.frames.push(frame);
        (self.frames.len() == 1).then(|| now.saturating_add(self.interval))
    }

    /// Takes what has come.
    pub fn take(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.frames)
    }

    /// What has come and was not taken.
    pub fn gathered(&self) -> impl Iterator<Item = &Packet> {
        self.frames.iter()
    }
}

/// Packets in the order in which the host has them, each as its frames. `header` says what a frame of
/// TCP has.
pub fn merged(frames: Vec<Packet>, header: impl Fn(&Packet) -> Header) -> Vec<Vec<Packet>> {
    let mut done = Vec::new();
    let mut held: Vec<Held> = Vec::new();
    for frame in frames {
        if frame.kind() != Kind::Tcp {
            done.push(vec![frame]);
            continue;
        }
        let header = header(&frame);
        let same = held.iter().position(|each| each.is_of(&frame, &header));
        let is_last = is_last(&header, same.map(|place| &held[place]));
        if let Some(place) = same {
            if held[place].takes(&frame, &header) {
                held[place].add(frame, &header);
                if is_last {
                    done.push(held.remove(place).frames);
                }
                continue;
            }
            done.push(held.remove(place).frames);
        }
        let ends_at_once = has_end(&header) || header.segment.payload_bytes == 0;
        if ends_at_once || frame.is_gso() {
            done.push(vec![frame]);
        } else {
            held.push(Held::new(frame, header));
        }
    }
    done.extend(held.into_iter().map(|each| each.frames));
    done
}

/// Whether nothing is merged behind it.
fn has_end(header: &Header) -> bool {
    let flags = header.segment.flags;
    flags.has(Flags::PSH) || flags.has(Flags::FIN) || flags.has(Flags::SYN)
}

fn is_last(header: &Header, held: Option<&Held>) -> bool {
    let is_short =
        held.is_some_and(|held| header.segment.payload_bytes < held.first.segment.payload_bytes);
    has_end(header) || is_short
}

impl Held {
    fn new(frame: Packet, first: Header) -> Held {
        Held {
            bytes: frame.bytes.into(),
            frames: vec![frame],
            first,
        }
    }

    fn is_of(&self, frame: &Packet, header: &Header) -> bool {
        let first = &self.frames[0];
        let key = |packet: &Packet| (packet.conversation, packet.is_reply());
        key(first) == key(frame) && self.first.connection == header.connection
    }

    fn takes(&self, frame: &Packet, header: &Header) -> bool {
        let (first, next) = (&self.first.segment, &header.segment);
        let beside = |flags: Flags| flags.without(Flags::PSH | Flags::FIN | Flags::CE);
        let has_room = self.bytes + next.payload_bytes < MOST_BYTES;
        let end = first.seq + u64::from(self.bytes - self.overhead());
        !frame.is_gso()
            && !next.flags.has(Flags::CWR)
            && beside(first.flags) == beside(next.flags)
            && (first.ack, first.timestamps) == (next.ack, next.timestamps)
            && first.sack == next.sack
            && self.frames[0].traffic_class == frame.traffic_class
            && (1..=first.payload_bytes).contains(&next.payload_bytes)
            && end == next.seq
            && has_room
    }

    /// Of the headers of the first.
    fn overhead(&self) -> u32 {
        u32::from(self.frames[0].bytes) - self.first.segment.payload_bytes
    }

    fn add(&mut self, frame: Packet, header: &Header) {
        self.frames.push(frame);
        self.bytes += header.segment.payload_bytes;
    }
}
