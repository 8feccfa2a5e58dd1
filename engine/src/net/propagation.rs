//! Packets in propagation along a link, after the queue.
//!
//! A constant delay keeps packets in order, so a ring with one pending event suffices. On a link whose delay
//! changes, a later packet may overtake (as with a netem whose delay is changed), so its packets are in a
//! slab and each has an entry in the timing wheel.

use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::time::Time;

/// The packets in propagation on one directed link.
#[derive(Debug, Clone)]
pub enum Propagation {
    /// Constant delay: first in, first out. `arrived` of each packet is its arrival at the far end.
    Ring(Ring<Packet>),
    /// Changing delay: packets by slab index; their due times are in the wheel.
    Slab(Slab),
}

/// Packets by index, with a free list.
#[derive(Debug, Clone, Default)]
pub struct Slab {
    places: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl Slab {
    /// Keeps a packet and returns its index.
    pub fn insert(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.places[index as usize] = Some(packet);
                index
            }
            None => {
                self.places.push(Some(packet));
                (self.places.len() - 1) as u32
            }
        }
    }

    /// Takes the packet at an index out.
    pub fn remove(&mut self, index: u32) -> Option<Packet> {
        let packet = self.places.get_mut(index as usize)?.take();
        if packet.is_some() {
            self.free.push(index);
        }
        packet
    }

    fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.places.iter().flatten()
    }
}

impl Propagation {
    /// The ring of a link with a constant delay.
    #[inline(always)]
    pub fn ring(&mut self) -> &mut Ring<Packet> {
        match self {
            Propagation::Ring(ring) => ring,
            Propagation::Slab(_) => unreachable!("delays that change have a slab"),
        }
    }

    /// Removes the packet of a ring that is due, and returns the time of the next; `NEVER` for none.
    #[inline(always)]
    pub fn pop_due(&mut self) -> (Packet, Time) {
        let ring = self.ring();
        let packet = ring.pop_front().expect("the first packet is due");
        let next = ring.front().map_or(Time::NEVER, |next| next.arrived);
        (packet, next)
    }

    /// Every packet in propagation, in no particular order.
    pub fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Propagation::Ring(ring) => Box::new(ring.iter()),
            Propagation::Slab(slab) => Box::new(slab.iter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::packet::PacketKind;

    #[test]
    fn slab_places_are_used_again() {
        let packet = |n| Packet::new(PacketKind::Udp, 0, n, 100, Time::ZERO);
        let mut slab = Slab::default();
        let (first, second) = (slab.insert(packet(1)), slab.insert(packet(2)));
        assert_eq!(slab.remove(first).unwrap().number, 1);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.insert(packet(3)), first);
        assert_eq!(slab.iter().count(), 2);
        assert_eq!(slab.remove(second).unwrap().number, 2);
    }
}
