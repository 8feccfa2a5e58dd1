//! From packets seen at a queue to their way through it.

use crate::capture::{Passage, Source};
use crate::probes;
use crate::replay::Crossing;
use crate::traffic;
use dumbbell_engine::qdisc;
use dumbbell_engine::sim::rate::Rate;
use dumbbell_engine::sim::time::Time;
use dumbbell_engine::spec::{Experiment, LinkEnd};
use std::collections::HashMap;

/// The packets of a queue, in the order they came.
pub fn crossings(experiment: &Experiment, end: &LinkEnd, passages: &[Passage]) -> Vec<Crossing> {
    let mut crossings: Vec<Crossing> = Vec::with_capacity(passages.len());
    let mut numbers: HashMap<Source, u32> = HashMap::new();
    for passage in passages {
        let Some(conversation) = conversation(experiment, passage.source) else {
            continue;
        };
        let number = numbers.entry(passage.source).or_default();
        *number += 1;
        let bytes = passage.bytes + end.overhead_bytes;
        crossings.push(Crossing {
            arrived: passage.arrived,
            departed: departed(end, passage.taken, bytes),
            dropped: Time::NEVER,
            bytes,
            conversation,
            number: *number,
            marked: passage.marked,
        });
    }
    if drops_what_it_holds(&end.qdisc) {
        date_drops(&mut crossings, passages);
    }
    crossings
}

/// Whether a discipline, or one within it, decides to drop when a packet would leave.
fn drops_what_it_holds(config: &qdisc::Config) -> bool {
    let text = config.to_json();
    text.contains("codel") || text.contains("cake")
}

/// Such a discipline drops a packet when the next one of its flow is to leave.
fn date_drops(crossings: &mut [Crossing], passages: &[Passage]) {
    let mut next: HashMap<Source, Time> = HashMap::new();
    for (crossing, passage) in crossings.iter_mut().zip(passages).rev() {
        if passage.taken < Time::NEVER {
            next.insert(passage.source, passage.taken);
        } else if let Some(at) = next.get(&passage.source) {
            crossing.dropped = *at;
        }
    }
}

/// When the transmission of a packet has ended that began then.
fn departed(end: &LinkEnd, taken: Time, bytes: u32) -> Time {
    if taken == Time::NEVER || end.rate_bps == 0 {
        return taken;
    }
    let mut rate_bps = end.rate_bps;
    for change in &end.changes {
        if Time::from_ns(change.at_ns) <= taken {
            rate_bps = change.rate_bps.unwrap_or(rate_bps);
        }
    }
    taken + Rate::new(rate_bps).time_for(bytes)
}

/// The flow or probe of a packet: flows first, then probes.
fn conversation(experiment: &Experiment, source: Source) -> Option<usize> {
    let flows = experiment.flows.len();
    let index = |port: u16, first: u16, count: usize| {
        let index = usize::from(port.checked_sub(first)?);
        (index < count).then_some(index)
    };
    let probe = |port| index(port, probes::FIRST_PORT, experiment.probes.len());
    match source {
        Source::Ports(from, to) if from == probes::ECHO_PORT => {
            probe(to).map(|probe| flows + probe)
        }
        Source::Ports(from, to) if to == probes::ECHO_PORT => {
            probe(from).map(|probe| flows + probe)
        }
        Source::Ports(from, to) => {
            let flow = |port| index(port, traffic::FIRST_PORT, flows);
            flow(to).or_else(|| flow(from))
        }
        Source::Echo(probe) => {
            let probe = usize::from(probe);
            (probe < experiment.probes.len()).then_some(flows + probe)
        }
        Source::Fragment(_) => None,
    }
}
