//! `pfifo_fast`: three bands in strict priority (tc-pfifo_fast(8)), as in Linux 6.1
//! (`net/sched/sch_generic.c`, `include/linux/ptr_ring.h`).
//!
//! | clause | here |
//! | --- | --- |
//! | the first band with a packet sends | yes |
//! | the band of the priority by TOS, by a fixed map | yes |
//! | a band holds 1000 packets (txqueuelen) | yes |
//! | a band is a ring whose entries are freed in batches of 16, or at its end | yes |
//! | priority set otherwise (`SO_PRIORITY`, iptables) | no |
//!
//! So a full band accepts no packet until 16 have left (two cache lines of pointers, with lines of 64 bytes),
//! and may hold up to 15 fewer than 1000.

use super::{Build, Dequeued, Discipline, DropReason, Events, Setting, priority};
use dumbbell_core::packet::Packet;
use dumbbell_core::ring::Ring;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{PRIOMAP, PfifoFast as Parameters};

/// Entries of a band: `DEFAULT_TX_QUEUE_LEN` of an Ethernet or veth device.
const PLACES: usize = 1000;
/// Number of entries freed at a time.
const BATCH: usize = 16;

/// The state of the bands.
#[derive(Debug, Clone)]
pub struct PfifoFast {
    bands: [Band; 3],
    backlog_bytes: u64,
    overhead_bytes: u32,
}

/// A ring of entries.
#[derive(Debug, Clone, Default)]
struct Band {
    packets: Ring<Packet>,
    /// The entry of the next packet.
    place: usize,
    /// Entries before it that are not freed yet.
    empty: usize,
}

impl Band {
    fn push(&mut self, packet: Packet) -> Result<(), DropReason> {
        if self.packets.len() + self.empty >= PLACES {
            return Err(DropReason::Overlimit);
        }
        self.packets.push_back(packet);
        Ok(())
    }

    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.place = (self.place + 1) % PLACES;
        self.empty += 1;
        if self.empty == BATCH || self.place == 0 {
            self.empty = 0;
        }
        Some(packet)
    }
}

impl Build<Parameters> for PfifoFast {
    fn build(_: &Parameters, setting: &Setting) -> PfifoFast {
        PfifoFast {
            bands: Default::default(),
            backlog_bytes: 0,
            overhead_bytes: setting.overhead_bytes,
        }
    }
}

impl Discipline for PfifoFast {
    fn enqueue(&mut self, packet: Packet, _: Time, _: &mut Events) -> Result<(), DropReason> {
        let priority = priority::of_tos(packet.traffic_class);
        self.bands[usize::from(PRIOMAP[usize::from(priority)])].push(packet)?;
        self.backlog_bytes += u64::from(packet.wire_bytes(self.overhead_bytes));
        Ok(())
    }

    fn dequeue(&mut self, _: Time, _: &mut Events) -> Dequeued {
        let Some(packet) = self.bands.iter_mut().find_map(Band::pop) else {
            return Dequeued::Empty;
        };
        self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
        Dequeued::Packet(packet)
    }

    fn peek(&mut self, _: Time, _: &mut Events) -> Option<Dequeued> {
        let first = self.bands.iter().find_map(|band| band.packets.front());
        Some(first.map_or(Dequeued::Empty, |packet| Dequeued::Packet(*packet)))
    }

    fn backlog(&self) -> (u32, u64) {
        let packets: usize = self.bands.iter().map(|band| band.packets.len()).sum();
        (packets as u32, self.backlog_bytes)
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        let priority = priority::of_tos(packet.traffic_class);
        Some(u16::from(PRIOMAP[usize::from(priority)]))
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.bands.iter().flat_map(|band| band.packets.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;

    fn queue() -> PfifoFast {
        PfifoFast::build(&Parameters {}, &Setting::for_tests())
    }

    fn packet(tos: u8) -> Packet {
        let mut packet = Packet::new(PacketKind::Udp, 0, 1, 100, Time::ZERO);
        packet.traffic_class = tos;
        packet
    }

    fn enqueue(queue: &mut PfifoFast, tos: u8) -> Result<(), DropReason> {
        queue.enqueue(packet(tos), Time::ZERO, &mut Events::default())
    }

    fn tos_that_leaves(queue: &mut PfifoFast) -> Option<u8> {
        let events = &mut Events::default();
        let seen = queue.peek(Time::ZERO, events);
        let leaving = queue.dequeue(Time::ZERO, events);
        assert_eq!(seen, Some(leaving));
        match leaving {
            Dequeued::Packet(packet) => Some(packet.traffic_class),
            _ => None,
        }
    }

    #[test]
    fn minimize_delay_goes_first_and_maximize_throughput_last() {
        let mut queue = queue();
        for tos in [0x08, 0x00, 0x10, 0xb8] {
            assert_eq!(enqueue(&mut queue, tos), Ok(()));
        }
        assert_eq!(queue.backlog(), (4, 456));
        let order: Vec<u8> = std::iter::from_fn(|| tos_that_leaves(&mut queue)).collect();
        // DSCP EF (0xb8) has both bits set: the band of best effort, behind the earlier packet.
        assert_eq!(order, [0x10, 0x00, 0xb8, 0x08]);
        assert_eq!(queue.backlog(), (0, 0));
    }

    #[test]
    fn a_band_takes_its_thousand_and_the_others_theirs() {
        let mut queue = queue();
        for number in 0..1001 {
            assert_eq!(enqueue(&mut queue, 0).is_ok(), number < 1000);
        }
        assert_eq!(enqueue(&mut queue, 0x10), Ok(()));
        assert_eq!(enqueue(&mut queue, 0x08), Ok(()));
        assert_eq!(queue.packets().count(), 1002);
    }

    #[test]
    fn places_are_free_again_sixteen_at_a_time() {
        let mut queue = queue();
        while enqueue(&mut queue, 0).is_ok() {}
        for left in 1..=15 {
            tos_that_leaves(&mut queue);
            let refused = enqueue(&mut queue, 0);
            assert_eq!(refused, Err(DropReason::Overlimit), "{left} have left");
        }
        tos_that_leaves(&mut queue);
        for _ in 0..16 {
            assert_eq!(enqueue(&mut queue, 0), Ok(()));
        }
        assert_eq!(enqueue(&mut queue, 0), Err(DropReason::Overlimit));
    }

    #[test]
    fn the_end_of_the_ring_gives_its_places_back_too() {
        let mut queue = queue();
        while enqueue(&mut queue, 0).is_ok() {}
        // 992 are 62 batches; the eight after them are the end of the ring.
        for _ in 0..999 {
            tos_that_leaves(&mut queue);
        }
        for _ in 0..992 {
            assert_eq!(enqueue(&mut queue, 0), Ok(()));
        }
        assert_eq!(enqueue(&mut queue, 0), Err(DropReason::Overlimit));
        tos_that_leaves(&mut queue);
        for _ in 0..8 {
            assert_eq!(enqueue(&mut queue, 0), Ok(()));
        }
        assert_eq!(enqueue(&mut queue, 0), Err(DropReason::Overlimit));
    }
}
