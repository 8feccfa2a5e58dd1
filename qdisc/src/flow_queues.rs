//! Shared code of disciplines with a queue per flow: assignment of packets to queues, storage of packets, and
//! lists of queues.

use super::Setting;
use dumbbell_core::packet::Packet;
use std::collections::VecDeque;

/// Range of the default `quantum` derived from the interface's MTU.
const QUANTUM_BYTES: std::ops::RangeInclusive<u32> = 256..=1 << 20;

/// No packet, or no queue.
const NONE: u32 = u32::MAX;

/// How packets are assigned to queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Classifier {
    /// By a hash of conversation and direction with this key.
    Keyed(u64),
    /// One queue per conversation and direction, for tests in which no two flows may share a queue.
    Given,
}

impl Classifier {
    /// The queue of a packet, among `queues`.
    #[inline]
    pub fn queue_of(self, packet: &Packet, queues: u32) -> u32 {
        let flow = u64::from(packet.conversation) << 1 | u64::from(packet.is_reply());
        match self {
            Classifier::Keyed(key) => {
                let hash = mixed(flow ^ key) >> 32;
                // As the kernel maps 32 bits to a range (`reciprocal_scale`).
                ((hash * u64::from(queues)) >> 32) as u32
            }
            Classifier::Given => (flow % u64::from(queues)) as u32,
        }
    }
}

/// Quantum of a queue: `quantum`, or one frame of the link's MTU.
pub fn turn_bytes(quantum_bytes: Option<u32>, setting: &Setting) -> i32 {
    let bytes = quantum_bytes.unwrap_or(setting.device_mtu_bytes());
    bytes.clamp(*QUANTUM_BYTES.start(), *QUANTUM_BYTES.end()) as i32
}

/// A mixing function: every bit of the result depends on every bit of `x` (the finalizer of SplitMix64;
/// Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub fn mixed(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Memory that Linux 6.1 accounts for a packet (`skb->truesize`).
///
/// The buffer has room for the frame, its headers aligned and 15 bytes more (`__ip_append_data`), which makes 17
/// beyond the frame; it is aligned to 64 bytes, takes the 320 of `skb_shared_info` and is rounded up to a power of
/// two (`__alloc_skb`). `sk_buff` takes 256.
pub fn memory_bytes(wire_bytes: u32) -> u64 {
    let buffer_bytes = (wire_bytes + 17).next_multiple_of(64) + 320;
    u64::from(buffer_bytes.next_power_of_two()) + 256
}

/// The first and the last packet of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueEnds {
    head: u32,
    tail: u32,
}

impl QueueEnds {
    /// The ends of an empty queue.
    pub const EMPTY: QueueEnds = QueueEnds {
        head: NONE,
        tail: NONE,
    };

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.head == NONE
    }
}

/// The place of a packet in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(pub u32);

/// A packet in its queue.
#[derive(Debug, Clone, Copy)]
struct Slot {
    packet: Packet,
    next: u32,
}

/// The packets of all queues, in one vector, so an empty queue costs nothing.
#[derive(Debug, Clone)]
pub struct Packets {
    slots: Vec<Slot>,
    free: u32,
    /// Number of packets.
    pub count: u32,
    /// Their bytes on the wire.
    pub backlog_bytes: u64,
    /// Kernel memory of the packets.
    pub memory_bytes: u64,
    overhead_bytes: u32,
}

impl Packets {
    /// An empty store, on a link with this overhead.
    pub fn new(overhead_bytes: u32) -> Packets {
        Packets {
            slots: Vec::new(),
            free: NONE,
            count: 0,
            backlog_bytes: 0,
            memory_bytes: 0,
            overhead_bytes,
        }
    }

    /// Its bytes on the wire.
    #[inline]
    pub fn wire_bytes(&self, packet: &Packet) -> u32 {
        packet.wire_bytes(self.overhead_bytes)
    }

    /// Appends a packet to a queue. Returns its bytes on the wire.
    #[inline]
    pub fn push(&mut self, queue: &mut QueueEnds, packet: Packet) -> u32 {
        let slot = Slot { packet, next: NONE };
        let place = self.free;
        let place = if place == NONE {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        } else {
            self.free = self.slots[place as usize].next;
            self.slots[place as usize] = slot;
            place
        };
        let last = std::mem::replace(&mut queue.tail, place);
        if last == NONE {
            queue.head = place;
        } else {
            self.slots[last as usize].next = place;
        }
        let bytes = self.wire_bytes(&packet);
        self.backlog_bytes += u64::from(bytes);
        self.memory_bytes += memory_bytes(bytes);
        self.count += 1;
        bytes
    }

    /// Removes the oldest packet of a queue. Returns it with its bytes on the wire.
    #[inline]
    pub fn pop(&mut self, queue: &mut QueueEnds) -> Option<(Packet, u32)> {
        let place = queue.head;
        if place == NONE {
            return None;
        }
        let slot = &mut self.slots[place as usize];
        let packet = slot.packet;
        queue.head = slot.next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        Some((packet, self.forget(place)))
    }

    /// Removes the newest packet of a queue, in time linear in its length.
    pub fn pop_newest(&mut self, queue: &mut QueueEnds) -> Option<(Packet, u32)> {
        let place = queue.tail;
        if place == NONE {
            return None;
        }
        if queue.head == place {
            *queue = QueueEnds::EMPTY;
        } else {
            let mut before = queue.head;
            while self.slots[before as usize].next != place {
                before = self.slots[before as usize].next;
            }
            self.slots[before as usize].next = NONE;
            queue.tail = before;
        }
        let packet = self.slots[place as usize].packet;
        Some((packet, self.forget(place)))
    }

    /// The place of the newest packet of a queue.
    pub fn newest(&self, queue: QueueEnds) -> Option<Place> {
        (queue.tail != NONE).then_some(Place(queue.tail))
    }

    /// The packet at a place.
    pub fn packet(&self, place: Place) -> &Packet {
        &self.slots[place.0 as usize].packet
    }

    /// The oldest packet of a queue, to be marked in place.
    pub fn oldest_mut(&mut self, queue: QueueEnds) -> Option<&mut Packet> {
        let slot = self.slots.get_mut(queue.head as usize)?;
        Some(&mut slot.packet)
    }

    /// The places of the packets of a queue, oldest first.
    pub fn places(&self, queue: QueueEnds) -> impl Iterator<Item = Place> {
        let mut place = queue.head;
        std::iter::from_fn(move || {
            let slot = self.slots.get(place as usize)?;
            let found = Place(place);
            place = slot.next;
            Some(found)
        })
    }

    /// Removes the packet at a place from its queue, in time linear in the number of packets before it.
    /// Returns it with its bytes on the wire.
    pub fn take_out(&mut self, queue: &mut QueueEnds, place: Place) -> Option<(Packet, u32)> {
        if queue.head == place.0 {
            return self.pop(queue);
        }
        let mut places = self.places(*queue);
        let before = places.find(|each| self.slots[each.0 as usize].next == place.0)?;
        drop(places);
        let after = self.slots[place.0 as usize].next;
        self.slots[before.0 as usize].next = after;
        if after == NONE {
            queue.tail = before.0;
        }
        let packet = self.slots[place.0 as usize].packet;
        Some((packet, self.forget(place.0)))
    }

    /// Frees the place of a packet removed from its queue. Returns its bytes on the wire.
    #[inline]
    fn forget(&mut self, place: u32) -> u32 {
        let slot = &mut self.slots[place as usize];
        slot.next = self.free;
        let packet = slot.packet;
        self.free = place;
        let bytes = self.wire_bytes(&packet);
        self.backlog_bytes -= u64::from(bytes);
        self.memory_bytes -= memory_bytes(bytes);
        self.count -= 1;
        bytes
    }

    /// The packets of a queue, oldest first.
    pub fn of(&self, queue: QueueEnds) -> impl Iterator<Item = &Packet> {
        let mut place = queue.head;
        std::iter::from_fn(move || {
            let slot = self.slots.get(place as usize)?;
            place = slot.next;
            Some(&slot.packet)
        })
    }
}

/// The new-queues and old-queues lists of RFC 8290; new queues are served first.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Turns {
    /// Appends a queue that is in neither list to the new ones.
    #[inline]
    pub fn add_new(&mut self, queue: u32) {
        self.new.push_back(queue);
    }

    /// The queue whose turn it is, and whether it is new.
    #[inline]
    pub fn first(&self) -> Option<(u32, bool)> {
        let is_new = !self.new.is_empty();
        let list = if is_new { &self.new } else { &self.old };
        list.front().map(|queue| (*queue, is_new))
    }

    /// The queue whose turn it is has used up its deficit: it moves to the end of the old ones.
    #[inline]
    pub fn end_turn(&mut self, queue: u32, is_new: bool) {
        self.leave(is_new);
        self.old.push_back(queue);
    }

    /// The queue whose turn it is has emptied. A new queue moves to the end of the old ones, so that it
    /// cannot become new again before they had their turn. Returns whether the queue is now in neither list.
    #[inline]
    pub fn on_empty(&mut self, queue: u32, is_new: bool) -> bool {
        self.leave(is_new);
        let waits = is_new && !self.old.is_empty();
        if waits {
            self.old.push_back(queue);
        }
        !waits
    }

    #[inline]
    fn leave(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front();
        } else {
            self.old.pop_front();
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct ListLinks {
    before: u32,
    after: u32,
    /// Its list.
    list: u32,
}

/// Doubly linked lists of queues. A queue is in at most one list and can be removed from any position.
#[derive(Debug, Clone)]
pub struct Lists {
    places: Vec<ListLinks>,
    /// The first and the last queue of each list.
    ends: Vec<QueueEnds>,
}

impl Lists {
    /// This number of empty lists over this number of queues.
    pub fn new(lists: usize, queues: usize) -> Lists {
        let place = ListLinks {
            before: NONE,
            after: NONE,
            list: NONE,
        };
        Lists {
            places: vec![place; queues],
            ends: vec![QueueEnds::EMPTY; lists],
        }
    }

    /// The first queue of a list.
    #[inline]
    pub fn first(&self, list: usize) -> Option<u32> {
        let first = self.ends[list].head;
        (first != NONE).then_some(first)
    }

    /// Moves a queue to the end of a list.
    #[inline]
    pub fn move_last(&mut self, queue: u32, list: usize) {
        self.take_out(queue);
        let ends = &mut self.ends[list];
        let before = std::mem::replace(&mut ends.tail, queue);
        if before == NONE {
            ends.head = queue;
        } else {
            self.places[before as usize].after = queue;
        }
        self.places[queue as usize] = ListLinks {
            before,
            after: NONE,
            list: list as u32,
        };
    }

    /// Moves a queue to the front of a list.
    #[inline]
    pub fn move_first(&mut self, queue: u32, list: usize) {
        self.take_out(queue);
        let ends = &mut self.ends[list];
        let after = std::mem::replace(&mut ends.head, queue);
        if after == NONE {
            ends.tail = queue;
        } else {
            self.places[after as usize].before = queue;
        }
        self.places[queue as usize] = ListLinks {
            before: NONE,
            after,
            list: list as u32,
        };
    }

    /// Removes a queue from its list, if any.
    #[inline]
    pub fn take_out(&mut self, queue: u32) {
        let place = &mut self.places[queue as usize];
        let list = std::mem::replace(&mut place.list, NONE);
        if list == NONE {
            return;
        }
        let ListLinks { before, after, .. } = *place;
        let ends = &mut self.ends[list as usize];
        if before == NONE {
            ends.head = after;
        } else {
            self.places[before as usize].after = after;
        }
        if after == NONE {
            ends.tail = before;
        } else {
            self.places[after as usize].before = before;
        }
    }
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;
    use dumbbell_core::time::Time;

    /// Of datagrams queued in a guest's cake: what `most_memory_bytes` counted for each.
    #[test]
    fn memory_is_what_linux_6_1_accounts() {
        let frames = [102, 175, 176, 442, 687, 688, 1042, 1514];
        let expected = [768, 768, 1280, 1280, 1280, 2304, 2304, 2304];
        assert_eq!(frames.map(memory_bytes), expected);
    }

    #[test]
    fn a_queue_leaves_a_list_from_anywhere() {
        let (new, old) = (0, 1);
        let mut lists = Lists::new(2, 5);
        for queue in 0..4 {
            lists.move_last(queue, new);
        }
        lists.move_last(1, old);
        lists.take_out(3);
        lists.move_last(0, new);
        lists.move_first(4, new);
        let mut left = Vec::new();
        while let Some(queue) = lists.first(new) {
            left.push(queue);
            lists.take_out(queue);
        }
        assert_eq!(left, [4, 2, 0]);
        assert_eq!(lists.first(old), Some(1));
    }

    #[test]
    fn packets_leave_a_queue_at_both_ends() {
        let packet = |number| Packet::new(PacketKind::Udp, 0, number, 100, Time::ZERO);
        let mut packets = Packets::new(14);
        let mut taken = QueueEnds::EMPTY;
        for number in 1..=4 {
            packets.push(&mut taken, packet(number));
        }
        for (at, number) in [(1, 2), (2, 4), (0, 1), (0, 3)] {
            let place = packets.places(taken).nth(at).unwrap();
            let found = packets.take_out(&mut taken, place);
            assert_eq!(found, Some((packet(number), 114)));
        }
        assert!(taken.is_empty());
        let (mut one, mut other) = (QueueEnds::EMPTY, QueueEnds::EMPTY);
        for number in 1..=3 {
            assert_eq!(packets.push(&mut one, packet(number)), 114);
            packets.push(&mut other, packet(10 + number));
        }
        assert_eq!(packets.pop_newest(&mut one), Some((packet(3), 114)));
        assert_eq!(packets.pop(&mut one), Some((packet(1), 114)));
        packets.push(&mut one, packet(4));
        assert_eq!(packets.pop_newest(&mut one), Some((packet(4), 114)));
        assert_eq!(packets.pop_newest(&mut one), Some((packet(2), 114)));
        assert_eq!(packets.pop_newest(&mut one), None);
        assert!(one.is_empty());
        let left: Vec<u32> = packets.of(other).map(|packet| packet.number).collect();
        assert_eq!(left, [11, 12, 13]);
        assert_eq!((packets.count, packets.backlog_bytes), (3, 3 * 114));
        assert_eq!(packets.memory_bytes, 3 * memory_bytes(114));
    }
}
