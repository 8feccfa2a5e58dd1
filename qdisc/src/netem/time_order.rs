//! Packets in order of their time to send (`tfifo_enqueue`, `netem_peek`).
//!
//! As in the kernel there are two parts: a list and a sorted remainder. A packet whose time to send is not
//! before that of the list's tail is appended to the list. Among equal times the list goes first; within each
//! part, the earlier arrival goes first.

use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A packet whose time to send is before that of an earlier arrival.
#[derive(Debug, Clone)]
struct Overtaking {
    time_to_send: Time,
    /// Sequence number within the sorted part.
    order: u64,
    packet: Packet,
}

impl Overtaking {
    fn key(&self) -> (Time, u64) {
        (self.time_to_send, self.order)
    }
}

impl PartialEq for Overtaking {
    fn eq(&self, other: &Overtaking) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Overtaking {}

impl PartialOrd for Overtaking {
    fn partial_cmp(&self, other: &Overtaking) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Overtaking {
    fn cmp(&self, other: &Overtaking) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The two-part queue.
#[derive(Debug, Clone, Default)]
pub(super) struct TimeOrder {
    list: VecDeque<(Time, Packet)>,
    sorted: BinaryHeap<Reverse<Overtaking>>,
    /// Latest time in the sorted part since it was last empty.
    latest_sorted: Time,
    overtaken: u64,
}

impl TimeOrder {
    pub(super) fn len(&self) -> usize {
        self.list.len() + self.sorted.len()
    }

    pub(super) fn push(&mut self, time_to_send: Time, packet: Packet) {
        let is_in_order = { self.list.back() }.is_none_or(|(last, _)| time_to_send >= *last);
        if is_in_order {
            self.list.push_back((time_to_send, packet));
            return;
        }
        self.latest_sorted = if self.sorted.is_empty() {
            time_to_send
        } else {
            self.latest_sorted.max(time_to_send)
        };
        self.overtaken += 1;
        self.sorted.push(Reverse(Overtaking {
            time_to_send,
            order: self.overtaken,
            packet,
        }));
    }

    /// Latest time to send of all packets held.
    pub(super) fn last(&self) -> Option<Time> {
        let of_list = self.list.back().map(|(last, _)| *last);
        // The packet with the latest time leaves the sorted part last.
        let of_sorted = (!self.sorted.is_empty()).then_some(self.latest_sorted);
        of_list.max(of_sorted)
    }

    /// When the first packet is to be sent.
    pub(super) fn first(&self) -> Option<Time> {
        let of_list = self.list.front().map(|(first, _)| *first);
        let of_sorted = self.sorted.peek().map(|Reverse(first)| first.time_to_send);
        of_list.into_iter().chain(of_sorted).min()
    }

    /// The first packet if it is due; otherwise its time to send, if there is a packet.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Result<Packet, Option<Time>> {
        let of_list = self.list.front().map(|(first, _)| *first);
        let of_sorted = self.sorted.peek().map(|Reverse(first)| first.time_to_send);
        let (first, is_sorted) = match (of_list, of_sorted) {
            (None, None) => return Err(None),
            (Some(list), Some(sorted)) if sorted < list => (sorted, true),
            (None, Some(sorted)) => (sorted, true),
            (Some(list), _) => (list, false),
        };
        if first > now {
            return Err(Some(first));
        }
        let packet = if is_sorted {
            self.sorted
                .pop()
                .map(|Reverse(overtaking)| overtaking.packet)
        } else {
            self.list.pop_front().map(|(_, packet)| packet)
        };
        packet.ok_or(None)
    }

    /// Every packet, in no particular order.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let list = self.list.iter().map(|(_, packet)| packet);
        list.chain(
            self.sorted
                .iter()
                .map(|Reverse(overtaking)| &overtaking.packet),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;

    #[test]
    fn packets_leave_by_time_and_ties_as_in_the_kernel() {
        let mut queue = TimeOrder::default();
        // Number, time to send in ns; the fourth and sixth packets overtake.
        for (number, at) in [
            (1, 10),
            (2, 30),
            (3, 50),
            (4, 30),
            (5, 60),
            (6, 10),
            (7, 30),
        ] {
            let packet = Packet::new(PacketKind::Udp, 0, number, 100, Time::ZERO);
            queue.push(Time::from_ns(at), packet);
        }
        assert_eq!(queue.last(), Some(Time::from_ns(60)));
        assert_eq!(queue.pop(Time::from_ns(9)), Err(Some(Time::from_ns(10))));
        let mut order = Vec::new();
        while let Ok(packet) = queue.pop(Time::from_ns(60)) {
            order.push(packet.number);
            assert_eq!(queue.packets().count(), queue.len());
        }
        assert_eq!(order, [1, 6, 2, 4, 7, 3, 5]);
        assert_eq!(queue.pop(Time::from_ns(60)), Err(None));
        assert_eq!(queue.last(), None);
    }
}
