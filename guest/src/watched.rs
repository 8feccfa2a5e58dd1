//! Derives the path of packets through a queue from observations at it.

use crate::irtt;
use crate::job::Job;
use crate::pairing::{QueuedPacket, Source};
use crate::probes;
use crate::replay::Crossing;
use dumbbell_core::rate::Rate;
use dumbbell_core::time::Time;
use dumbbell_spec::{Change, Experiment, LinkEnd, Transport};
use dumbbell_tc::Qdisc;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::net::SocketAddrV4;

/// Flows by protocol and receiving socket.
pub type Receivers = HashMap<(u8, SocketAddrV4), usize>;

/// All flows, with addresses from the job.
pub fn receivers(job: &Job, experiment: &Experiment) -> Receivers {
    let flows = experiment.flows.iter().zip(&job.flow_addresses).enumerate();
    let receivers = flows.filter_map(|(index, (flow, address))| {
        let protocol = match flow.transport {
            Transport::Tcp => libc::IPPROTO_TCP,
            Transport::Udp => libc::IPPROTO_UDP,
        };
        let socket = SocketAddrV4::new(address.parse().ok()?, flow.port(index));
        Some(((protocol as u8, socket), index))
    });
    receivers.collect()
}

/// The packets of a queue, in order of arrival.
pub fn crossings(
    experiment: &Experiment,
    receivers: &Receivers,
    end: &LinkEnd,
    passages: &[QueuedPacket],
) -> Vec<Crossing> {
    let mut crossings: Vec<Crossing> = Vec::with_capacity(passages.len());
    // By source: its conversation, if any, and how many of its packets came.
    let mut sources: FxHashMap<Source, (Option<usize>, u32)> = FxHashMap::default();
    for passage in passages {
        let (known, number) = sources.entry(passage.source).or_insert_with(|| {
            let known = conversation(experiment, receivers, passage.source);
            (known.or_else(|| of_programs(experiment)), 0)
        });
        let Some(conversation) = *known else {
            continue;
        };
        *number += 1;
        let bytes = passage.bytes + end.overhead_bytes;
        crossings.push(Crossing {
            arrived: passage.arrived,
            departed: passage.taken,
            dropped: Time::NEVER,
            bytes,
            sent_with_bytes: bytes,
            conversation,
            number: *number,
            marked: passage.marked,
        });
    }
    if end.rate_bps > 0 {
        let taken: Vec<Time> = crossings.iter().map(|each| each.departed).collect();
        transmit(end.rate_bps, &end.changes, &mut crossings);
        if end.tso {
            send_together(&mut crossings, &taken);
        }
    }
    if drops_what_it_holds(&end.qdisc) {
        date_drops(&mut crossings, passages);
    }
    crossings
}

/// Whether a discipline, or one of its descendants, drops at dequeue.
fn drops_what_it_holds(config: &Qdisc) -> bool {
    let text = config.to_json();
    text.contains("codel") || text.contains("cake")
}

/// Such a discipline drops a packet when the next packet of its flow leaves.
fn date_drops(crossings: &mut [Crossing], passages: &[QueuedPacket]) {
    let mut next: FxHashMap<Source, Time> = FxHashMap::default();
    for (crossing, passage) in crossings.iter_mut().zip(passages).rev() {
        if passage.taken < Time::NEVER {
            next.insert(passage.source, passage.taken);
        } else if let Some(at) = next.get(&passage.source) {
            crossing.dropped = *at;
        }
    }
}

/// Converts dequeue times to ends of transmission. The shaper that acts as transmitter releases the second
/// packet of a busy period one byte time early, because its bucket holds one byte; `netem` at the far end
/// starts with it after the first.
fn transmit(rate_bps: u64, changes: &[Change], crossings: &mut [Crossing]) {
    let mut taken: Vec<&mut Crossing> = { crossings.iter_mut() }
        .filter(|crossing| crossing.departed < Time::NEVER)
        .collect();
    taken.sort_by_key(|crossing| crossing.departed);
    let mut changes = changes.iter().peekable();
    let mut rate = Rate::new(rate_bps);
    let mut free = Time::ZERO;
    for crossing in taken {
        while let Some(change) =
            changes.next_if(|change| Time::from_ns(change.at_ns) <= crossing.departed)
        {
            if let Some(rate_bps) = change.rate_bps {
                rate = Rate::new(rate_bps);
            }
        }
        free = crossing.departed.max(free) + rate.time_for(crossing.bytes);
        crossing.departed = free;
    }
}

/// Segments taken by the device at one instant are one packet; all have left when the last has.
fn send_together(crossings: &mut [Crossing], taken: &[Time]) {
    let mut together: FxHashMap<Time, (Time, u32)> = FxHashMap::default();
    for (crossing, at) in crossings.iter().zip(taken) {
        if *at < Time::NEVER {
            let (departed, bytes) = together.entry(*at).or_default();
            *departed = crossing.departed.max(*departed);
            *bytes += crossing.bytes;
        }
    }
    for (crossing, at) in crossings.iter_mut().zip(taken) {
        if let Some((departed, bytes)) = together.get(at) {
            (crossing.departed, crossing.sent_with_bytes) = (*departed, *bytes);
        }
    }
}

/// The conversation index of packets sent by programs: one past all flows and probes; None without programs.
fn of_programs(experiment: &Experiment) -> Option<usize> {
    let all = experiment.flows.len() + experiment.probes.len();
    (!experiment.programs.is_empty()).then_some(all)
}

/// The flow or probe of a packet: flows first, then probes.
fn conversation(experiment: &Experiment, receivers: &Receivers, source: Source) -> Option<usize> {
    let flows = experiment.flows.len();
    let probe = |socket: SocketAddrV4| {
        let index = usize::from(socket.port().checked_sub(probes::FIRST_PORT)?);
        (index < experiment.probes.len()).then_some(flows + index)
    };
    match source {
        Source::Sockets(_, from, to) if answers(from.port()) => probe(to),
        Source::Sockets(_, from, to) if answers(to.port()) => probe(from),
        Source::Sockets(protocol, from, to) => {
            let flow = |socket| receivers.get(&(protocol, socket)).copied();
            flow(to).or_else(|| flow(from))
        }
        Source::Echo(probe) => {
            let probe = usize::from(probe);
            (probe < experiment.probes.len()).then_some(flows + probe)
        }
        Source::Fragment(_) => None,
    }
}

/// Whether probes are answered at a port.
fn answers(port: u16) -> bool {
    port == probes::ECHO_PORT || port == irtt::SERVER_PORT
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;

    /// Departures in us of packets of 125 bytes taken at these instants in us, in any order.
    fn departures_us(changes: &[Change], taken_us: &[u64]) -> Vec<u64> {
        let crossing = |at: &u64| Crossing {
            arrived: Time::ZERO,
            departed: match at {
                0 => Time::NEVER,
                _ => Time::from_ns(at * US),
            },
            dropped: Time::NEVER,
            bytes: 125,
            sent_with_bytes: 125,
            conversation: 0,
            number: 1,
            marked: false,
        };
        let mut crossings: Vec<Crossing> = taken_us.iter().map(crossing).collect();
        transmit(1_000_000, changes, &mut crossings);
        let departures = crossings.iter().map(|crossing| match crossing.departed {
            Time::NEVER => 0,
            at => at.as_ns() / US,
        });
        departures.collect()
    }

    #[test]
    fn a_transmission_begins_when_the_one_before_has_ended() {
        // The second is taken 8 us before the first has left; the third finds the link idle.
        let found = departures_us(&[], &[1000, 1992, 5000]);
        assert_eq!(found, [2000, 3000, 6000]);
    }

    #[test]
    fn what_a_device_takes_in_one_instant_leaves_at_the_end_of_all() {
        let taken = [1000, 1000, 5000].map(|us| Time::from_ns(us * US));
        let mut crossings = taken.map(|departed| Crossing {
            arrived: Time::ZERO,
            departed,
            dropped: Time::NEVER,
            bytes: 125,
            sent_with_bytes: 125,
            conversation: 0,
            number: 1,
            marked: false,
        });
        transmit(1_000_000, &[], &mut crossings);
        send_together(&mut crossings, &taken);
        let found = crossings.map(|each| (each.departed.as_ns() / US, each.sent_with_bytes));
        assert_eq!(found, [(3000, 250), (3000, 250), (6000, 125)]);
    }

    #[test]
    fn packets_transmit_as_they_were_taken_and_dropped_ones_not() {
        assert_eq!(departures_us(&[], &[3000, 0, 1000]), [4000, 0, 2000]);
    }

    #[test]
    fn a_packet_keeps_the_rate_it_began_with() {
        let half = Change {
            at_ns: 1_500_000,
            rate_bps: Some(500_000),
            delay_ns: None,
            loss: None,
        };
        let found = departures_us(&[half], &[1000, 2000, 4000]);
        assert_eq!(found, [2000, 4000, 6000]);
    }
}
