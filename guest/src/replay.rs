//! Reconstructs what happened at each queue from send and receive times.
//!
//! Where the times are known (see `paths`), the packets are fed into the engine's own statistics, so a column
//! has the same meaning as in the simulator.

use crate::messages::{Datagram, HEADERS_ON_WIRE};
use crate::paths::{self, PathLeg};
use crate::records::Records;
use dumbbell_core::datagram;
use dumbbell_core::link_statistics::{Level, LinkStatistics};
use dumbbell_core::rate::Rate;
use dumbbell_core::time::{PS_PER_S, Time};
use dumbbell_spec::{Experiment, LinkEnd, SizeAt};
use dumbbell_tc::Qdisc;
use std::collections::VecDeque;

/// A packet at a queue.
#[derive(Debug, Clone, Copy)]
pub struct Crossing {
    /// Arrival at the queue.
    pub arrived: Time,
    /// End of its transmission; `NEVER` if it was dropped.
    pub departed: Time,
    /// When the queue dropped it after accepting it; `NEVER` if it did not.
    pub dropped: Time,
    /// Bytes on this link's wire.
    pub bytes: u32,
    /// Bytes of all segments that the device sends as one packet with it.
    pub sent_with_bytes: u32,
    /// Index of its flow, then probe.
    pub conversation: usize,
    /// Number of the datagram or request, from 1.
    pub number: u32,
    /// Whether the queue marked it.
    pub marked: bool,
}

/// A row of `packets`.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Time of the event.
    pub time: Time,
    /// 0 enqueue, 1 dequeue, 2 drop.
    pub event: i8,
    /// The packet.
    pub crossing: Crossing,
    /// Packets in the system after the event.
    pub system_pkts: u32,
}

/// A row of `queue_samples`.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Levels at this instant.
    pub level: Level,
    /// Packets sent so far.
    pub departed_pkts: u64,
    /// Bytes sent so far.
    pub departed_bytes: u64,
    /// Packets dropped so far.
    pub dropped_pkts: u64,
    /// Packets sent so far that the queue was seen to mark.
    pub marked_pkts: u64,
    /// Seconds; NaN where unknown.
    pub sojourn_sum_s: f64,
    /// Packet seconds; NaN where unknown.
    pub system_integral_pkt_s: f64,
}

/// A queue whose packets are known.
#[derive(Debug, Default)]
pub struct ReplayedQueue {
    /// The simulator's statistics.
    pub statistics: LinkStatistics,
    /// Sum of all sojourn times, picoseconds.
    pub sojourn_total: u128,
    /// At the sampling instants.
    pub samples: Vec<Sample>,
    /// Rows of `packets`, if requested.
    pub rows: Vec<Row>,
}

/// A packet from end to end.
#[derive(Debug, Clone, Copy)]
pub struct Journey {
    /// Creation at its sender.
    pub created: Time,
    /// Arrival; `NEVER` if it was lost.
    pub delivered: Time,
    /// Bytes with the IP header; for an ideal source on the wire.
    pub bytes: u32,
    /// Whether the bytes include the link overhead.
    pub ideal: bool,
    /// Number of the datagram or request, from 1.
    pub number: u32,
}

/// Queues at which the times of every packet are known.
pub fn known_queues(experiment: &Experiment, records: &Records, legs: &[PathLeg]) -> Vec<bool> {
    let mut known = vec![true; experiment.links.len() * 2];
    for leg in legs {
        if !leg.known || lost_in_part(experiment, records, leg) {
            leg.path.iter().for_each(|queue| known[*queue] = false);
        }
    }
    known
}

/// Whether a fragmented datagram was lost: it is unknown which fragments were.
fn lost_in_part(experiment: &Experiment, records: &Records, leg: &PathLeg) -> bool {
    let Some(flow) = experiment.flows.get(leg.conversation) else {
        return false;
    };
    let (size_at, mtu) = (
        flow.source.parameters().size_at(),
        paths::mtu(experiment, leg),
    );
    let mut lost = records.flows[leg.conversation]
        .datagrams
        .iter()
        .filter(|sent| sent.delivered == Time::NEVER);
    size_at == SizeAt::Payload && lost.any(|sent| sent.size + 28 > mtu)
}

/// The packets of every queue, in order of arrival.
pub fn crossings(
    experiment: &Experiment,
    records: &Records,
    legs: &[PathLeg],
) -> Vec<Vec<Crossing>> {
    let ends: Vec<&LinkEnd> = experiment.link_ends().map(|(_, _, end)| end).collect();
    let mut queues = vec![Vec::new(); ends.len()];
    for leg in legs.iter().filter(|leg| leg.known) {
        let delays: Vec<Time> = leg
            .path
            .iter()
            .map(|queue| Time::from_ns(ends[*queue].delay_ns))
            .collect();
        let sum = |delays: &[Time]| delays.iter().fold(Time::ZERO, |sum, delay| sum + *delay);
        for journey in journeys(experiment, records, leg) {
            let Journey {
                created, delivered, ..
            } = journey;
            for (place, &queue) in leg.path.iter().enumerate() {
                let before = leg.holding.is_none_or(|holding| place <= holding);
                let after = leg.holding.is_none_or(|holding| place >= holding);
                let lost = delivered == Time::NEVER;
                if lost && !before {
                    break; // it never came here
                }
                let from_end = || delivered.saturating_sub(sum(&delays[place..]));
                let from_start = created + sum(&delays[..place]);
                let arrived = if before { from_start } else { from_end() };
                let departed = match (lost, leg.holding == Some(place)) {
                    (true, true) => Time::NEVER,
                    (false, true) => from_end().max(arrived),
                    _ if after || before => arrived,
                    _ => unreachable!("a place is before or after"),
                };
                let bytes = match journey.ideal {
                    true => journey.bytes,
                    false => journey.bytes + ends[queue].overhead_bytes,
                };
                queues[queue].push(Crossing {
                    arrived,
                    departed,
                    dropped: Time::NEVER,
                    bytes,
                    sent_with_bytes: bytes,
                    conversation: leg.conversation,
                    number: journey.number,
                    marked: false,
                });
            }
        }
    }
    for queue in &mut queues {
        queue.sort_by_key(|crossing| (crossing.arrived, crossing.conversation));
    }
    queues
}

/// The packets of a direction, in order of creation.
///
/// The fragments of a datagram are created at one instant, so they pass the queue back to back: the last
/// arrives with the datagram, and each of the others earlier by the transmission time of those behind it.
pub fn journeys(experiment: &Experiment, records: &Records, leg: &PathLeg) -> Vec<Journey> {
    let flows = experiment.flows.len();
    let Some(flow) = experiment.flows.get(leg.conversation) else {
        let probe = leg.conversation - flows;
        return echo_journeys(experiment, records, leg, probe);
    };
    let datagrams = (1..).zip(&records.flows[leg.conversation].datagrams);
    let journey = |number, sent: &Datagram, bytes, ideal| Journey {
        created: sent.created,
        delivered: sent.delivered,
        bytes,
        ideal,
        number,
    };
    if flow.source.parameters().size_at() == SizeAt::Wire {
        return datagrams
            .map(|(number, sent)| journey(number, sent, sent.size.max(HEADERS_ON_WIRE), true))
            .collect();
    }
    let mtu = paths::mtu(experiment, leg);
    let holding = leg.holding.map(|place| leg.path[place]);
    let end = holding.and_then(|queue| experiment.link_ends().nth(queue));
    let (rate, overhead) = end.map_or((0, 0), |(_, _, end)| (rate_bps(end), end.overhead_bytes));
    let mut all = Vec::new();
    for (number, sent) in datagrams {
        let first = all.len();
        let packets = datagram::packets(0, number, sent.size, mtu, sent.created);
        all.extend(packets.map(|packet| journey(number, sent, u32::from(packet.bytes), false)));
        let mut behind = 0u128;
        for packet in all[first..].iter_mut().rev() {
            if packet.delivered < Time::NEVER {
                packet.delivered = packet.delivered.saturating_sub(Time(behind as u64));
            }
            let bits = u128::from(packet.bytes + overhead) * 8;
            behind += (bits * u128::from(PS_PER_S))
                .checked_div(u128::from(rate))
                .unwrap_or(0);
        }
    }
    all
}

fn echo_journeys(
    experiment: &Experiment,
    records: &Records,
    leg: &PathLeg,
    probe: usize,
) -> Vec<Journey> {
    let bytes = experiment.probes[probe].payload_bytes + 28;
    let echoes = (1..).zip(&records.probes[probe]);
    let way = echoes.map(|(number, echo)| {
        let (created, delivered) = match leg.reply {
            false => (echo.sent, echo.answered),
            true => (echo.answered, echo.received),
        };
        Journey {
            created,
            delivered,
            bytes,
            ideal: false,
            number,
        }
    });
    way.filter(|journey| journey.created < Time::NEVER)
        .collect()
}

/// Rate of the transmitter, whether link or discipline; 0 for none.
fn rate_bps(end: &LinkEnd) -> u64 {
    match &end.qdisc {
        Qdisc::Netem(netem) if end.rate_bps == 0 => netem.rate_bps,
        _ => end.rate_bps,
    }
}

/// Feeds the packets of a queue into the simulator's statistics.
pub fn replay(experiment: &Experiment, end: &LinkEnd, crossings: &[Crossing]) -> ReplayedQueue {
    let warm_up = Time::from_ns(experiment.warm_up_ns);
    let over = Time::from_ns(experiment.duration_ns);
    let mut replayed = ReplayedQueue::default();
    if !paths::holds(end) {
        pass(&mut replayed, experiment, crossings, warm_up, over);
        return replayed;
    }
    let mut server = Server::new(end, crossings);
    let mut clock = Clock::new(experiment);
    for (time, step, index) in steps(crossings, over) {
        clock.advance(time, &mut replayed);
        let crossing = crossings[index];
        let event = match step {
            Step::Leaves => {
                replayed.sojourn_total += u128::from((time - crossing.arrived).0);
                server.leaves(&mut replayed.statistics, &crossing, warm_up);
                1
            }
            Step::IsDropped => {
                server.drops(&mut replayed.statistics, &crossing);
                2
            }
            Step::Comes if crossing.departed.min(crossing.dropped) == Time::NEVER => {
                server.refuses(&mut replayed.statistics, &crossing);
                2
            }
            Step::Comes => {
                server.takes(&mut replayed.statistics, &crossing);
                0
            }
        };
        if end.record_packets {
            replayed.rows.push(Row {
                time,
                event,
                crossing,
                system_pkts: server.present,
            });
        }
    }
    clock.finish(over, &mut replayed);
    replayed.statistics.finish(over);
    replayed
}

/// What happens to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Leaves,
    IsDropped,
    Comes,
}

/// Events before the end, in order.
fn steps(crossings: &[Crossing], over: Time) -> Vec<(Time, Step, usize)> {
    let mut steps = Vec::with_capacity(2 * crossings.len());
    // One kind after the other: each is nearly in order already, and such pieces are merged.
    for step in [Step::Comes, Step::Leaves, Step::IsDropped] {
        for (index, crossing) in crossings.iter().enumerate() {
            let time = match step {
                Step::Comes => crossing.arrived,
                Step::Leaves => crossing.departed,
                Step::IsDropped => crossing.dropped,
            };
            if time < over {
                steps.push((time, step, index));
            }
        }
    }
    // At one instant departures make room for arrivals; but no packet leaves before it arrived.
    steps.sort_by_key(|&(time, step, index)| {
        let at_once = crossings[index].departed == crossings[index].arrived;
        let order = match step {
            Step::Leaves | Step::IsDropped if !at_once => 0,
            Step::Comes if at_once => 1,
            Step::Comes => 2,
            _ => 1,
        };
        (time, order, index, step == Step::Leaves)
    });
    steps
}

/// A queue that never holds packets.
fn pass(
    replayed: &mut ReplayedQueue,
    experiment: &Experiment,
    crossings: &[Crossing],
    warm_up: Time,
    over: Time,
) {
    let mut clock = Clock::new(experiment);
    for crossing in crossings.iter().filter(|crossing| crossing.arrived < over) {
        clock.advance(crossing.arrived, replayed);
        replayed
            .statistics
            .passed(crossing.bytes, crossing.arrived, warm_up);
    }
    clock.finish(over, replayed);
    replayed.statistics.finish(over);
}

/// Samples and the end of the warm-up.
struct Clock {
    warm_up: Option<Time>,
    interval: Time,
    next: Time,
}

impl Clock {
    fn new(experiment: &Experiment) -> Clock {
        let interval = Time::from_ns(experiment.sample_interval_ns);
        Clock {
            warm_up: (experiment.warm_up_ns > 0).then(|| Time::from_ns(experiment.warm_up_ns)),
            interval,
            next: if interval.0 > 0 {
                interval
            } else {
                Time::NEVER
            },
        }
    }

    /// Processes what is due before `now`.
    fn advance(&mut self, now: Time, replayed: &mut ReplayedQueue) {
        loop {
            let warm_up = self.warm_up.filter(|at| *at <= now);
            let sample = (self.next < now).then_some(self.next);
            match (warm_up, sample) {
                (Some(at), other) if other.is_none_or(|sample| at <= sample) => {
                    replayed.statistics.start_measuring(at);
                    self.warm_up = None;
                }
                (_, Some(at)) => self.sample(at, replayed),
                _ => return,
            }
        }
    }

    fn finish(&mut self, over: Time, replayed: &mut ReplayedQueue) {
        self.advance(over, replayed);
        if self.next == over {
            self.sample(over, replayed);
        }
    }

    fn sample(&mut self, at: Time, replayed: &mut ReplayedQueue) {
        let statistics = &mut replayed.statistics;
        statistics.levels.advance(at);
        let seconds = |ps: u128| ps as f64 * 1e-12;
        replayed.samples.push(Sample {
            level: statistics.levels.current,
            departed_pkts: statistics.total.departed_pkts,
            departed_bytes: statistics.total.departed_bytes,
            dropped_pkts: statistics.total.dropped_overlimit_pkts,
            marked_pkts: statistics.total.marked_pkts,
            sojourn_sum_s: seconds(replayed.sojourn_total),
            system_integral_pkt_s: seconds(statistics.system_integral()),
        });
        self.next += self.interval;
    }
}

/// The packets in a queue and its transmitter.
struct Server {
    rate: Option<Rate>,
    /// Whether the packet in transmission has left the discipline.
    transmitter: bool,
    present: u32,
    bytes: u64,
    /// Bytes of packets in order of departure: the first present one is in transmission.
    leaving: VecDeque<u32>,
}

impl Server {
    fn new(end: &LinkEnd, crossings: &[Crossing]) -> Server {
        let rate_bps = rate_bps(end);
        let mut leaving: Vec<&Crossing> = crossings.iter().collect();
        leaving.retain(|crossing| crossing.departed < Time::NEVER);
        leaving.sort_by_key(|crossing| crossing.departed);
        Server {
            rate: (rate_bps > 0).then(|| Rate::new(rate_bps)),
            transmitter: end.rate_bps > 0,
            present: 0,
            bytes: 0,
            leaving: leaving.iter().map(|crossing| crossing.bytes).collect(),
        }
    }

    fn level(&self) -> Level {
        let is_sending = self.transmitter && self.present > 0;
        let sending = self.leaving.front().filter(|_| is_sending);
        Level {
            system_pkts: self.present,
            backlog_pkts: self.present - u32::from(is_sending),
            backlog_bytes: self
                .bytes
                .saturating_sub(u64::from(sending.copied().unwrap_or(0))),
        }
    }

    fn takes(&mut self, statistics: &mut LinkStatistics, crossing: &Crossing) {
        statistics.total.arrived(crossing.bytes);
        self.present += 1;
        self.bytes += u64::from(crossing.bytes);
        statistics.levels.set(crossing.arrived, self.level());
    }

    fn refuses(&mut self, statistics: &mut LinkStatistics, crossing: &Crossing) {
        statistics.total.arrived(crossing.bytes);
        statistics.total.refused(crossing.bytes);
    }

    fn drops(&mut self, statistics: &mut LinkStatistics, crossing: &Crossing) {
        statistics.total.refused(crossing.bytes);
        self.present -= 1;
        self.bytes -= u64::from(crossing.bytes);
        statistics.levels.set(crossing.dropped, self.level());
    }

    fn leaves(&mut self, statistics: &mut LinkStatistics, crossing: &Crossing, warm_up: Time) {
        self.present -= 1;
        self.bytes -= u64::from(crossing.bytes);
        self.leaving.pop_front();
        statistics.total.marked_pkts += u64::from(crossing.marked);
        let rate = self.rate.as_mut();
        let service = rate.map_or(Time::ZERO, |rate| rate.time_for(crossing.sent_with_bytes));
        let (arrived, now) = (crossing.arrived, crossing.departed);
        statistics.departed(crossing.bytes, arrived, service, now, warm_up);
        statistics.levels.set(now, self.level());
    }
}
