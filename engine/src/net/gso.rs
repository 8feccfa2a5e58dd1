//! GSO packets: several segments of TCP that a host's own queue takes for one packet.
//!
//! Linux hands an sk_buff of several segments to the root discipline of its own host whatever the
//! network card can do: there it is one packet with the bytes of all (`qdisc_pkt_len_init`), is dropped
//! or marked as one, and is cut into segments when it has left (`validate_xmit_skb`). So a queue
//! whose senders do so keeps the segments beside its discipline, which sees one packet.
//!
//! | clause of Linux 6.1 | here |
//! | --- | --- |
//! | a limit in packets counts one, `tc -s qdisc` too | yes |
//! | one of bytes counts each segment with its headers (`qdisc_pkt_len_init`) | yes; with `stab overhead` for each segment, where Linux adds it once |
//! | a mark is on every segment (`tcp_gso_segment`) | yes |
//! | `tbf` cuts one that is longer than its bucket (`tbf_segment`) | at the root |
//! | a policer before the queue takes or drops all of it | yes |
//! | segments leave the host's account with the last of them | `tcp::sender` |
//! | with `tso on` it is sent as it is, in the time of all its bytes, and lost as one | `leave_whole` |

use crate::qdisc::Events;
use crate::sim::packet::Packet;
use std::collections::VecDeque;
use std::slice;

/// What a queue keeps of GSO packets.
#[derive(Debug, Default)]
pub struct Gso {
    bursts: Vec<Burst>,
    /// Places of `bursts` that are in no use.
    free: Vec<u32>,
    /// Segments that the discipline holds, less the packets that stand for them.
    hidden_pkts: u32,
    /// Segments of the packet that left last: they are sent one after the other.
    leaving: VecDeque<Packet>,
    leaving_bytes: u64,
    /// Those of them whose beginning nobody has been told.
    begun: VecDeque<Packet>,
}

#[derive(Debug, Default)]
struct Burst {
    segments: Vec<Packet>,
    /// How many packets stand for them: a discipline may copy one.
    packets: u32,
}

impl Gso {
    /// A packet that stands for these segments, of which there is one at least.
    pub fn join(&mut self, segments: &[Packet]) -> Packet {
        let place = self.free.pop().unwrap_or_else(|| {
            self.bursts.push(Burst::default());
            self.bursts.len() as u32 - 1
        });
        let burst = &mut self.bursts[place as usize];
        burst.segments.extend_from_slice(segments);
        burst.packets = 1;
        let bytes = segments.iter().map(|each| u32::from(each.bytes)).sum();
        segments[0].into_gso(place, segments.len() as u16, bytes)
    }

    /// The segments of a packet, which may be one.
    pub fn segments<'a>(&'a self, packet: &'a Packet) -> &'a [Packet] {
        if packet.is_gso() {
            &self.bursts[packet.gso_place() as usize].segments
        } else {
            slice::from_ref(packet)
        }
    }

    /// A packet that stands for several is gone.
    pub fn forget(&mut self, packet: &Packet) {
        let burst = &mut self.bursts[packet.gso_place() as usize];
        burst.packets -= 1;
        if burst.packets == 0 {
            burst.segments.clear();
            self.free.push(packet.gso_place());
        }
    }

    /// The discipline holds a packet more.
    pub fn enter(&mut self, packet: &Packet) {
        self.hidden_pkts += self.segments(packet).len() as u32 - 1;
    }

    /// A packet has left the discipline: its segments are sent from now on, as `next` has them.
    pub fn leave(&mut self, packet: &Packet, overhead_bytes: u32) {
        let burst = &self.bursts[packet.gso_place() as usize];
        for segment in &burst.segments {
            let segment = with_marks_of(packet, *segment);
            self.leaving_bytes += u64::from(segment.wire_bytes(overhead_bytes));
            self.leaving.push_back(segment);
            self.begun.push_back(segment);
        }
        self.hidden_pkts -= burst.segments.len() as u32 - 1;
        self.forget(packet);
    }

    /// A packet has left the discipline, and is sent as it is (`ethtool -K DEV tso on`).
    pub fn leave_whole(&mut self, packet: &Packet) {
        let burst = &self.bursts[packet.gso_place() as usize];
        self.hidden_pkts -= burst.segments.len() as u32 - 1;
        let segments = burst.segments.iter();
        self.begun
            .extend(segments.map(|segment| with_marks_of(packet, *segment)));
    }

    /// Takes out the segments of a packet, which may be one.
    pub fn take(&mut self, packet: &Packet) -> Vec<Packet> {
        let segments = self.segments_of(packet);
        if packet.is_gso() {
            self.forget(packet);
        }
        segments
    }

    /// The next segment of a packet that has left.
    pub fn next(&mut self, overhead_bytes: u32) -> Option<Packet> {
        let segment = self.leaving.pop_front()?;
        self.leaving_bytes -= u64::from(segment.wire_bytes(overhead_bytes));
        Some(segment)
    }

    /// A segment of a packet that has left since the last time.
    pub fn take_begun(&mut self) -> Option<Packet> {
        self.begun.pop_front()
    }

    /// Segments behind the packets that the discipline counts, and those that have left it: packets
    /// and bytes.
    pub fn uncounted_segments(&self) -> (u32, u64) {
        let leaving = self.leaving.len() as u32;
        (self.hidden_pkts + leaving, self.leaving_bytes)
    }

    /// Segments that have left the discipline and wait for the one before them.
    pub fn leaving(&self) -> impl Iterator<Item = &Packet> {
        self.leaving.iter()
    }

    /// Puts segments in the place of packets in what a discipline has done.
    pub fn cut_events(&mut self, events: &mut Events) {
        // Copies first: they may be dropped.
        for copy in events.duplicated.iter().filter(|copy| copy.is_gso()) {
            self.bursts[copy.gso_place() as usize].packets += 1;
            self.enter(copy);
        }
        cut(&mut events.duplicated, |copy| self.segments_of(copy));
        cut(&mut events.delayed, |packet| self.segments_of(packet));
        cut(&mut events.marked, |(packet, reason)| {
            let segments = self.segments_of(packet).into_iter();
            segments.map(|segment| (segment, *reason)).collect()
        });
        cut(&mut events.dropped, |(packet, reason)| {
            let segments = self.segments_of(packet);
            if packet.is_gso() {
                self.hidden_pkts -= segments.len() as u32 - 1;
                self.forget(packet);
            }
            let segments = segments.into_iter();
            segments.map(|segment| (segment, *reason)).collect()
        });
    }

    /// The segments of a packet, as old and marked as that is.
    fn segments_of(&self, packet: &Packet) -> Vec<Packet> {
        let segments = self.segments(packet).iter();
        segments
            .map(|segment| with_marks_of(packet, *segment))
            .collect()
    }
}

/// A segment with what happened to its packet in a queue.
fn with_marks_of(packet: &Packet, mut segment: Packet) -> Packet {
    segment.arrived = packet.arrived;
    segment.traffic_class = packet.traffic_class;
    segment
}

fn cut<T>(all: &mut Vec<T>, mut segments: impl FnMut(&T) -> Vec<T>) {
    if !all.is_empty() {
        *all = all.iter().flat_map(&mut segments).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::DropReason;
    use crate::sim::packet::Kind;
    use crate::sim::time::Time;

    fn segments(count: u32) -> Vec<Packet> {
        let segment = |number| Packet::new(Kind::Tcp, 0, number, 1500, Time(7));
        (0..count).map(segment).collect()
    }

    #[test]
    fn what_is_joined_is_cut_again() {
        let mut gso = Gso::default();
        let three = segments(3);
        let mut packet = gso.join(&three);
        packet.arrived = Time(9);
        gso.enter(&packet);
        assert_eq!(gso.uncounted_segments(), (2, 0));
        gso.leave(&packet, 14);
        assert_eq!(gso.uncounted_segments(), (3, 3 * 1514));
        for expected in &three {
            assert_eq!(gso.take_begun().unwrap().number, expected.number);
            let segment = gso.next(14).unwrap();
            assert_eq!(
                (segment.number, segment.arrived),
                (expected.number, Time(9))
            );
        }
        assert_eq!((gso.next(14), gso.uncounted_segments()), (None, (0, 0)));
        assert_eq!(gso.join(&segments(2)).gso_place(), packet.gso_place());
    }

    #[test]
    fn what_is_sent_whole_is_taken_out_at_its_end() {
        let mut gso = Gso::default();
        let mut packet = gso.join(&segments(3));
        packet.arrived = Time(9);
        gso.enter(&packet);
        gso.leave_whole(&packet);
        assert_eq!(gso.uncounted_segments(), (0, 0));
        assert_eq!((0..4).filter_map(|_| gso.take_begun()).count(), 3);
        let taken = gso.take(&packet);
        assert_eq!((taken.len(), taken[2].arrived), (3, Time(9)));
        assert_eq!(gso.take(&taken[0]), taken[..1]);
        assert_eq!(gso.join(&segments(2)).gso_place(), packet.gso_place());
    }

    #[test]
    fn a_copy_that_is_dropped_leaves_the_others() {
        let mut gso = Gso::default();
        let packet = gso.join(&segments(2));
        gso.enter(&packet);
        let mut events = Events::default();
        events.duplicated.push(packet);
        events.drop(packet, DropReason::Overlimit);
        gso.cut_events(&mut events);
        assert_eq!((events.duplicated.len(), events.dropped.len()), (2, 2));
        assert_eq!(
            (gso.segments(&packet).len(), gso.uncounted_segments()),
            (2, (1, 0))
        );
    }

    #[test]
    fn a_mark_is_on_every_segment() {
        let mut gso = Gso::default();
        let capable: Vec<Packet> = { segments(2).into_iter() }
            .map(|mut segment| {
                segment.traffic_class = 0b10;
                segment
            })
            .collect();
        let mut packet = gso.join(&capable);
        gso.enter(&packet);
        let mut events = Events::default();
        assert!(events.mark(&mut packet, DropReason::Overlimit));
        gso.cut_events(&mut events);
        gso.leave(&packet, 14);
        let both = [gso.next(14), gso.next(14)];
        assert!(both.iter().flatten().all(Packet::has_congestion_mark));
        assert_eq!(events.marked.len(), 2);
    }
}
