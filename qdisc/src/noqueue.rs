//! `noqueue`: no queue (Linux net/core/dev.c, 6.1).
//!
//! | clause | here |
//! | --- | --- |
//! | a packet goes to the device, and is dropped if the device is busy | yes |
//! | no statistics of its own | yes |
//!
//! The device is the link's transmitter, which holds one packet. With a rate this is a loss system without
//! waiting room (M/M/1/1 for Poisson arrivals and exponential sizes); with an infinite rate nothing is
//! dropped. After each transmission the device dequeues, and becomes idle when the queue is empty.

use super::{Build, Dequeued, Discipline, DropReason, Events, Setting};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Noqueue as Config;

/// State of the device.
#[derive(Debug, Clone)]
enum Device {
    Idle,
    /// This packet has just arrived and is not dequeued yet.
    Offered(Packet),
    Busy,
}

/// The discipline: it keeps only the state of the device.
#[derive(Debug, Clone)]
pub struct Noqueue {
    device: Device,
    overhead_bytes: u32,
}

impl Noqueue {
    fn offered(&self) -> Option<&Packet> {
        match &self.device {
            Device::Offered(packet) => Some(packet),
            Device::Idle | Device::Busy => None,
        }
    }
}

impl Build<Config> for Noqueue {
    fn build(_: &Config, setting: &Setting) -> Noqueue {
        Noqueue {
            device: Device::Idle,
            overhead_bytes: setting.overhead_bytes,
        }
    }
}

impl Discipline for Noqueue {
    fn enqueue(&mut self, packet: Packet, _: Time, _: &mut Events) -> Result<(), DropReason> {
        match self.device {
            Device::Idle => {
                self.device = Device::Offered(packet);
                Ok(())
            }
            Device::Offered(_) | Device::Busy => Err(DropReason::Overlimit),
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Events) -> Dequeued {
        match std::mem::replace(&mut self.device, Device::Busy) {
            Device::Offered(packet) => Dequeued::Packet(packet),
            Device::Idle | Device::Busy => {
                self.device = Device::Idle;
                Dequeued::Empty
            }
        }
    }

    fn backlog(&self) -> (u32, u64) {
        let bytes = |packet: &Packet| u64::from(packet.wire_bytes(self.overhead_bytes));
        self.offered().map_or((0, 0), |packet| (1, bytes(packet)))
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.offered().into_iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;

    #[test]
    fn what_finds_the_device_busy_is_dropped() {
        let mut queue = Noqueue::build(&Config {}, &Setting::for_tests());
        let packet = |number| Packet::new(PacketKind::Udp, 0, number, 100, Time::ZERO);
        let events = &mut Events::default();
        let mut offer = |queue: &mut Noqueue, number| {
            let answer = queue.enqueue(packet(number), Time::ZERO, events);
            (answer, queue.backlog())
        };
        assert_eq!(offer(&mut queue, 1), (Ok(()), (1, 114)));
        let events = &mut Events::default();
        let first = queue.dequeue(Time::ZERO, events);
        assert_eq!(first, Dequeued::Packet(packet(1)));
        // Packet 1 is in transmission.
        let refused = queue.enqueue(packet(2), Time::ZERO, events);
        assert_eq!(refused, Err(DropReason::Overlimit));
        // Its transmission is over.
        assert_eq!(queue.dequeue(Time::ZERO, events), Dequeued::Empty);
        assert_eq!(queue.enqueue(packet(3), Time::ZERO, events), Ok(()));
        let third = queue.dequeue(Time::ZERO, events);
        assert_eq!(third, Dequeued::Packet(packet(3)));
        assert_eq!(queue.packets().count(), 0);
    }
}
