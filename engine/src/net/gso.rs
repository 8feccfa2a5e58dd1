//! GSO packets: several TCP segments that a host's queue treats as one packet.
//!
//! Linux hands an sk_buff of several segments to the root discipline of its host, whatever the network card
//! supports. In the queue it is one packet with the bytes of all segments (`qdisc_pkt_len_init`). It is
//! dropped or marked as a whole, and segmented after it leaves (`validate_xmit_skb`). So a queue whose
//! senders use GSO stores the segments beside its discipline, which sees one packet.
//!
//! | clause of Linux 6.1 | here |
//! | --- | --- |
//! | a limit in packets counts it once, as does `tc -s qdisc` | yes |
//! | a limit in bytes counts each segment with its headers (`qdisc_pkt_len_init`) | yes; `stab overhead` is added for each segment, where Linux adds it once |
//! | a mark applies to every segment (`tcp_gso_segment`) | yes |
//! | `tbf` segments a packet longer than its bucket (`tbf_segment`) | at the root |
//! | a policer in front of the queue passes or drops the whole packet | yes |
//! | the host's queue accounting releases all segments with the last one | `tcp::sender` |
//! | with `tso on` it is transmitted whole, in the time of all its bytes, and lost whole | `leave_whole` |

use crate::qdisc::Events;
use crate::sim::packet::Packet;
use std::collections::VecDeque;
use std::slice;

/// The GSO packets of a queue.
#[derive(Debug, Default)]
pub struct Gso {
    bursts: Vec<Burst>,
    /// Free places in `bursts`.
    free: Vec<u32>,
    /// Segments in the discipline minus the GSO packets that contain them.
    hidden_pkts: u32,
    /// Segments of the packet that was dequeued last: they are sent one after the other.
    leaving: VecDeque<Packet>,
    leaving_bytes: u64,
    /// Those of them whose start of transmission has not been reported.
    begun: VecDeque<Packet>,
}

#[derive(Debug, Default)]
struct Burst {
    segments: Vec<Packet>,
    /// Number of packets that refer to these segments: a discipline may duplicate one.
    packets: u32,
}

impl Gso {
    /// A GSO packet for these segments, at least one.
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

    /// The segments of a packet; one for an ordinary packet.
    pub fn segments<'a>(&'a self, packet: &'a Packet) -> &'a [Packet] {
        if packet.is_gso() {
            &self.bursts[packet.gso_place() as usize].segments
        } else {
            slice::from_ref(packet)
        }
    }

    /// Releases the segments of a GSO packet that was dropped.
    pub fn forget(&mut self, packet: &Packet) {
        let burst = &mut self.bursts[packet.gso_place() as usize];
        burst.packets -= 1;
        if burst.packets == 0 {
            burst.segments.clear();
            self.free.push(packet.gso_place());
        }
    }

    /// A packet has entered the discipline.
    pub fn enter(&mut self, packet: &Packet) {
        self.hidden_pkts += self.segments(packet).len() as u32 - 1;
    }

    /// A packet has left the discipline: its segments are sent next (`next`).
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

    /// A packet has left the discipline and is transmitted whole (`ethtool -K DEV tso on`).
    pub fn leave_whole(&mut self, packet: &Packet) {
        let burst = &self.bursts[packet.gso_place() as usize];
        self.hidden_pkts -= burst.segments.len() as u32 - 1;
        let segments = burst.segments.iter();
        self.begun
            .extend(segments.map(|segment| with_marks_of(packet, *segment)));
    }

    /// Removes and returns the segments of a packet; one for an ordinary packet.
    pub fn take(&mut self, packet: &Packet) -> Vec<Packet> {
        let segments = self.segments_of(packet);
        if packet.is_gso() {
            self.forget(packet);
        }
        segments
    }

    /// The next segment of a dequeued packet.
    pub fn next(&mut self, overhead_bytes: u32) -> Option<Packet> {
        let segment = self.leaving.pop_front()?;
        self.leaving_bytes -= u64::from(segment.wire_bytes(overhead_bytes));
        Some(segment)
    }

    /// A segment whose transmission began since the last call.
    pub fn take_begun(&mut self) -> Option<Packet> {
        self.begun.pop_front()
    }

    /// Segments that the discipline's count does not include: those inside GSO packets and those already
    /// dequeued. Packets and bytes.
    pub fn uncounted_segments(&self) -> (u32, u64) {
        let leaving = self.leaving.len() as u32;
        (self.hidden_pkts + leaving, self.leaving_bytes)
    }

    /// Dequeued segments that wait for the transmitter.
    pub fn leaving(&self) -> impl Iterator<Item = &Packet> {
        self.leaving.iter()
    }

    /// Replaces GSO packets by their segments in the events of a discipline.
    pub fn cut_events(&mut self, events: &mut Events) {
        // Copies first: they may have been dropped too.
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

    /// The segments of a packet, with its arrival time and ECN mark.
    fn segments_of(&self, packet: &Packet) -> Vec<Packet> {
        let segments = self.segments(packet).iter();
        segments
            .map(|segment| with_marks_of(packet, *segment))
            .collect()
    }
}

/// A segment with the arrival time and ECN mark of its packet.
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
    use crate::sim::packet::PacketKind;
    use crate::sim::time::Time;

    fn segments(count: u32) -> Vec<Packet> {
        let segment = |number| Packet::new(PacketKind::Tcp, 0, number, 1500, Time(7));
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
