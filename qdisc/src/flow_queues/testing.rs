//! Shared tests of disciplines with a queue per flow.

use crate::{Dequeued, Discipline, Events};
use dumbbell_core::packet::{Packet, PacketKind};
use dumbbell_core::time::Time;
use proptest::prelude::*;

/// Deficit round robin (RFC 8290 section 4.2): the bytes sent by any two backlogged queues differ by at most
/// a quantum and a packet (Shreedhar and Varghese 1995).
///
/// # Arguments
/// `sizes` are the Ethernet frame sizes of each flow's packets; each conversation has its own queue.
pub fn backlogged_flows_get_the_same_bytes(
    queue: &mut impl Discipline,
    sizes: &[u16],
    quantum: u32,
) -> Result<(), TestCaseError> {
    let events = &mut Events::default();
    let mut sent = vec![0i64; sizes.len()];
    let mut waiting = vec![0; sizes.len()];
    for number in 0..2000 {
        for (flow, size) in sizes.iter().enumerate() {
            while waiting[flow] < 3 {
                let arriving =
                    Packet::new(PacketKind::Udp, flow as u32, number, size - 14, Time::ZERO);
                queue.enqueue(arriving, Time::ZERO, events).unwrap();
                waiting[flow] += 1;
            }
        }
        let Dequeued::Packet(left) = queue.dequeue(Time::ZERO, events) else {
            panic!("packets wait");
        };
        let flow = left.conversation as usize;
        waiting[flow] -= 1;
        sent[flow] += i64::from(left.wire_bytes(14));
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        let bound = i64::from(quantum) + i64::from(*sizes.iter().max().unwrap());
        prop_assert!(most - least <= bound, "{sent:?}");
    }
    Ok(())
}
