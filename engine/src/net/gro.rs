//! Generic receive offload: a device merges consecutive frames of one connection.
//!
//! | clause of Linux 6.1 (`dev_gro_receive`, `tcp_gro_receive`, `skb_gro_receive`) | here |
//! | --- | --- |
//! | frames received since the last interrupt are processed in one poll; none is held beyond it | `interval` after the first frame; 0: frames of the same instant |
//! | same connection and direction, next in sequence, not longer than the first | yes |
//! | flags equal except PSH and FIN; acknowledgement, timestamps and SACK blocks equal | yes |
//! | the ECN field equal (`inet_gro_receive`) | yes |
//! | a shorter segment, PSH or FIN ends the merge | yes |
//! | less than 65,536 bytes (`gro_max_size`) | yes: 45 segments of 1448 bytes |
//! | a segment without payload is not merged and flushes what is held | yes |
//! | a super-packet is passed on unchanged | yes |
//! | eight connections per bucket, flushed bucket by bucket | any number, in the order of their first frames |
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

use crate::sim::packet::{Packet, PacketKind};
use crate::sim::time::Time;
use crate::tcp::segment::{Flags, Segment};

/// Upper bound of a merged packet, with the IP header, exclusive (`GRO_LEGACY_MAX_SIZE`).
const MOST_BYTES: u32 = 65_536;

/// Frames received since the last poll.
#[derive(Debug)]
pub struct Gro {
    interval: Time,
    frames: Vec<Packet>,
}

/// Header fields that decide whether a frame is merged.
#[derive(Debug, Clone, Copy)]
pub struct FrameHeader {
    /// The connection, within the flow.
    pub connection: u32,
    /// The segment.
    pub segment: Segment,
}

/// Frames merged so far into one packet.
struct MergedFrames {
    frames: Vec<Packet>,
    first: FrameHeader,
    bytes: u32,
}

impl Gro {
    /// A device that polls `interval_ns` nanoseconds after the first frame.
    pub fn new(interval_ns: u64) -> Gro {
        Gro {
            interval: Time::from_ns(interval_ns),
            frames: Vec::new(),
        }
    }

    /// Adds a frame. For the first one, returns the time of the poll.
    pub fn gather(&mut self, frame: Packet, now: Time) -> Option<Time> {
        self.frames.push(frame);
        (self.frames.len() == 1).then(|| now.saturating_add(self.interval))
    }

    /// Takes all frames received.
    pub fn take(&mut self) -> Vec<Packet> {
        std::mem::take(&mut self.frames)
    }

    /// The frames not polled yet.
    pub fn gathered(&self) -> impl Iterator<Item = &Packet> {
        self.frames.iter()
    }
}

/// Packets in the order in which the host receives them, each as a list of frames. `header` returns the
/// header fields of a TCP frame.
pub fn merged(frames: Vec<Packet>, header: impl Fn(&Packet) -> FrameHeader) -> Vec<Vec<Packet>> {
    let mut done = Vec::new();
    let mut held: Vec<MergedFrames> = Vec::new();
    for frame in frames {
        if frame.kind() != PacketKind::Tcp {
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
            held.push(MergedFrames::new(frame, header));
        }
    }
    done.extend(held.into_iter().map(|each| each.frames));
    done
}

/// Whether no further frame is merged after this one.
fn has_end(header: &FrameHeader) -> bool {
    let flags = header.segment.flags;
    flags.has(Flags::PSH) || flags.has(Flags::FIN) || flags.has(Flags::SYN)
}

fn is_last(header: &FrameHeader, held: Option<&MergedFrames>) -> bool {
    let is_short =
        held.is_some_and(|held| header.segment.payload_bytes < held.first.segment.payload_bytes);
    has_end(header) || is_short
}

impl MergedFrames {
    fn new(frame: Packet, first: FrameHeader) -> MergedFrames {
        MergedFrames {
            bytes: frame.bytes.into(),
            frames: vec![frame],
            first,
        }
    }

    fn is_of(&self, frame: &Packet, header: &FrameHeader) -> bool {
        let first = &self.frames[0];
        let key = |packet: &Packet| (packet.conversation, packet.is_reply());
        key(first) == key(frame) && self.first.connection == header.connection
    }

    fn takes(&self, frame: &Packet, header: &FrameHeader) -> bool {
        let (first, next) = (&self.first.segment, &header.segment);
        let beside = |flags: Flags| flags.without(Flags::PSH | Flags::FIN | Flags::CE);
        let has_room = self.bytes + next.payload_bytes < MOST_BYTES;
        let end = first.seq + u64::from(self.bytes - self.overhead());
        !frame.is_gso()
            && !next.flags.has(Flags::CWR)
            && beside(first.flags) == beside(next.flags)
            && (first.ack, first.timestamps) == (next.ack, next.timestamps)
            && first.sparse_options() == next.sparse_options()
            && self.frames[0].traffic_class == frame.traffic_class
            && (1..=first.payload_bytes).contains(&next.payload_bytes)
            && end == next.seq
            && has_room
    }

    /// Header bytes of the first frame.
    fn overhead(&self) -> u32 {
        u32::from(self.frames[0].bytes) - self.first.segment.payload_bytes
    }

    fn add(&mut self, frame: Packet, header: &FrameHeader) {
        self.frames.push(frame);
        self.bytes += header.segment.payload_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::Timestamps;

    const FULL_BYTES: u32 = 1448;

    /// A frame, by its index among the headers of a test.
    fn frame(headers: &[FrameHeader], at: usize) -> Packet {
        let header = &headers[at];
        let bytes = header.segment.payload_bytes as u16 + 52;
        Packet::new(PacketKind::Tcp, 0, at as u32, bytes, Time::ZERO).with_segment(at as u32, false)
    }

    /// Consecutive full segments.
    fn headers(count: u32) -> Vec<FrameHeader> {
        let header = |number| FrameHeader {
            connection: 1,
            segment: Segment {
                seq: u64::from(1 + number * FULL_BYTES),
                ack: 1,
                payload_bytes: FULL_BYTES,
                flags: Flags::ACK,
                timestamps: Some(Timestamps::default()),
                ..Segment::default()
            },
        };
        (0..count).map(header).collect()
    }

    /// Number of frames in each merged packet.
    fn sizes(headers: &[FrameHeader]) -> Vec<usize> {
        sizes_of(
            headers,
            (0..headers.len()).map(|at| frame(headers, at)).collect(),
        )
    }

    fn sizes_of(headers: &[FrameHeader], frames: Vec<Packet>) -> Vec<usize> {
        let found = merged(frames, |frame| headers[frame.segment_place() as usize]);
        found.iter().map(Vec::len).collect()
    }

    #[test]
    fn what_follows_is_merged_up_to_64_kib() {
        assert_eq!(sizes(&headers(5)), [5]);
        assert_eq!(sizes(&headers(100)), [45, 45, 10]);
    }

    #[test]
    fn the_end_of_a_write_or_of_a_connection_ends_a_packet() {
        for flag in [Flags::PSH, Flags::FIN] {
            let mut six = headers(6);
            six[2].segment.flags |= flag;
            assert_eq!(sizes(&six), [3, 3]);
            // With nothing to merge with, it is passed on at once, before held frames.
            six[3].segment.flags |= flag;
            assert_eq!(sizes(&six), [3, 1, 2]);
        }
    }

    #[test]
    fn a_shorter_one_ends_a_packet_and_a_longer_one_is_not_merged() {
        let mut four = headers(4);
        four[1].segment.payload_bytes = 100;
        four[2].segment.seq = four[1].segment.end();
        four[3].segment.seq = four[2].segment.end();
        assert_eq!(sizes(&four), [2, 2]);
        assert_eq!(sizes(&four[1..]), [1, 2]);
    }

    #[test]
    fn headers_that_differ_are_not_merged() {
        let changes: [fn(&mut Segment); 6] = [
            |segment| segment.ack += 1,
            |segment| {
                segment.timestamps = Some(Timestamps {
                    value_ms: 1,
                    echo_ms: 0,
                })
            },
            |segment| segment.timestamps = None,
            |segment| segment.flags |= Flags::ECE,
            |segment| segment.flags |= Flags::CWR,
            |segment| segment.seq += 1,
        ];
        for change in changes {
            let mut two = headers(2);
            change(&mut two[1].segment);
            assert_eq!(sizes(&two), [1, 1]);
        }
        let mut two = headers(2);
        two[1].connection = 2;
        assert_eq!(sizes(&two), [1, 1]);
        let mut frames = vec![frame(&two, 0), frame(&two, 1)];
        two[1].connection = 1;
        assert_eq!(sizes_of(&two, frames.clone()), [2]);
        frames[1].traffic_class |= 0b11;
        assert_eq!(sizes_of(&two, frames), [1, 1]);
    }

    #[test]
    fn connections_are_kept_apart_and_acknowledgements_let_go_what_waits() {
        let mut six = headers(6);
        let numbers = [1, 2, 1, 2, 1, 1];
        let mut next = [0, 1, 1];
        for (header, number) in six.iter_mut().zip(numbers) {
            header.connection = number;
            header.segment.seq = next[number as usize];
            next[number as usize] += u64::from(FULL_BYTES);
        }
        assert_eq!(sizes(&six), [4, 2]);
        // A bare acknowledgement is passed on after the held frames are flushed.
        six[4].segment.payload_bytes = 0;
        six[5].segment.seq = six[4].segment.seq;
        assert_eq!(sizes(&six), [2, 1, 2, 1]);
    }

    #[test]
    fn what_is_a_super_packet_and_what_is_not_tcp_goes_on_as_it_is() {
        let four = headers(4);
        let mut frames: Vec<_> = (0..4).map(|at| frame(&four, at)).collect();
        frames[2] = frames[2].into_gso(2, 2, 3000);
        frames.push(Packet::new(PacketKind::Udp, 0, 1, 100, Time::ZERO));
        assert_eq!(sizes_of(&four, frames), [2, 1, 1, 1]);
    }

    #[test]
    fn a_device_takes_what_came_since_the_first() {
        let four = headers(4);
        let mut gro = Gro::new(50_000);
        let at = |us: u64| Time::from_ns(us * 1000);
        assert_eq!(gro.gather(frame(&four, 0), at(7)), Some(at(57)));
        assert_eq!(gro.gather(frame(&four, 1), at(50)), None);
        assert_eq!((gro.gathered().count(), gro.take().len()), (2, 2));
        assert_eq!(gro.gather(frame(&four, 2), at(58)), Some(at(108)));
    }
}
