//! What the departures of a folded link do, when they are caught up with.

use crate::net::link::Link;
use crate::net::propagation::Propagation;
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::time::Time;
use crate::traffic::conversation::Conversation;

/// Does what the departures of a folded link before `bound` do.
#[inline(always)]
pub(super) fn catch_up(
    link: &mut Link,
    bound: Time,
    warm_up: Time,
    conversations: &mut [Conversation],
    arriving: &mut Ring<(Packet, u32)>,
) {
    while let Some(left) = link.depart_before(bound, warm_up) {
        if link.delay > Time::ZERO
            && let Propagation::Ring(ring) = &mut link.propagation
        {
            ring.push_back((left.departure + link.delay, left.packet));
            continue;
        }
        let sink = &mut conversations[left.packet.conversation as usize];
        if sink.counts_at(link.to) {
            sink.receive(&left.packet, left.departure, warm_up);
        } else {
            // Only the event made for it can have come to an awaited departure.
            debug_assert_eq!(left.departure + Time(1), bound);
            arriving.push_back((left.packet, link.to));
        }
    }
}
