use super::*;
use crate::crossing::Crossing;
use proptest::prelude::*;

fn level(system_pkts: u32) -> Level {
    Level {
        system_pkts,
        backlog_pkts: system_pkts.saturating_sub(1),
        backlog_bytes: 100 * u64::from(system_pkts.saturating_sub(1)),
    }
}

#[test]
fn integrals_of_a_staircase() {
    let mut levels = LevelIntegrals::default();
    levels.set(Time(10), level(1));
    levels.set(Time(30), level(3));
    levels.set(Time(40), level(0));
    levels.advance(Time(100));
    assert_eq!(
        (levels.system, levels.backlog(), levels.backlog_bytes),
        (50, 20, 2000)
    );
    assert_eq!(levels.busy(), 30);
    assert_eq!(levels.occupancy, vec![70, 20, 0, 10]);
    assert_eq!(levels.max, level(3));
}

#[test]
fn counters_alone_are_kept_where_no_more_is_asked_for() {
    let mut statistics = LinkStatistics::new(Observation::CountersOnly);
    statistics.set_level(Time(0), || unreachable!("nobody asks for it"));
    statistics.departed(100, Time(0), Time(10), Time(10), Time(0));
    statistics.fall_to_level(Time(10), || unreachable!("nobody asks for it"));
    statistics.finish(Time(50));
    assert_eq!(statistics.measured().departed_pkts, 1);
    assert_eq!(statistics.sojourn.count(), 0);
    assert_eq!(statistics.levels.system, 0);
}

#[test]
fn the_warm_up_is_left_out_of_what_is_measured_but_not_of_the_total() {
    let mut statistics = LinkStatistics::default();
    statistics.levels.set(Time(0), level(2));
    statistics.departed(100, Time(0), Time(10), Time(10), Time(20));
    statistics.start_measuring(Time(20));
    statistics.departed(100, Time(5), Time(10), Time(30), Time(20));
    statistics.departed(100, Time(25), Time(10), Time(45), Time(20));
    assert_eq!(statistics.measured().departed_pkts, 2);
    statistics.finish(Time(50));
    assert_eq!(statistics.sojourn.count(), 1);
    assert_eq!(statistics.wait.max(), Some(Time(10)));
    assert_eq!(statistics.sojourn_total(), 10 + 25 + 20);
    assert_eq!(statistics.levels.system, 60);
    assert_eq!(statistics.system_integral(), 100);
}

/// The event by event way of what [`LinkStatistics::enter_crossings`] does at once.
struct EventByEvent {
    server: Server,
    statistics: LinkStatistics,
    /// In the system, first to arrive first.
    held: std::collections::VecDeque<Crossing>,
    latest_departed: Time,
}

impl EventByEvent {
    fn level(&self) -> Level {
        let in_service = usize::from(self.server == Server::Transmitter);
        let waiting = self.held.iter().skip(in_service);
        Level {
            system_pkts: self.held.len() as u32,
            backlog_pkts: waiting.len() as u32,
            backlog_bytes: waiting.map(|held| u64::from(held.bytes)).sum(),
        }
    }

    fn settle(&mut self, at: Time) {
        if self.statistics.is_whole() {
            self.statistics.levels.set(at, self.level());
        } else {
            self.statistics.levels.current = self.level();
        }
    }

    fn arrive(&mut self, crossing: Crossing, warm_up: Time) {
        self.statistics.total.arrived(crossing.bytes);
        self.held.push_back(crossing);
        if self.server == Server::Tokens {
            self.depart_before(crossing.arrived + Time(1), warm_up);
        }
        self.settle(crossing.arrived);
    }

    /// What leaves before `bound`.
    fn depart_before(&mut self, bound: Time, warm_up: Time) {
        while let Some(&first) = self.held.front()
            && first.departure < bound
        {
            self.held.pop_front();
            let service = match self.server {
                Server::Transmitter => first.departure - first.arrived.max(self.latest_departed),
                Server::Tokens => Time::ZERO,
            };
            self.latest_departed = first.departure;
            let (bytes, arrived, at) = (first.bytes, first.arrived, first.departure);
            self.statistics
                .departed(bytes, arrived, service, at, warm_up);
            self.settle(at);
        }
    }
}

/// Tokens that a bucket holds at most.
const DEPTH: u64 = 100;

/// Packets as they come to a server: gaps between arrivals, and bytes. A byte takes a picosecond, or a token, of
/// which one comes a picosecond.
fn crossings(server: Server, packets: &[(u64, u32)]) -> Vec<Crossing> {
    let (mut now, mut free) = (0, 0);
    // When a bucket would have been empty.
    let mut empty_since = 0u64;
    let mut row = Vec::new();
    for &(gap, bytes) in packets {
        now += gap;
        free = free.max(now);
        match server {
            Server::Transmitter => free += u64::from(bytes),
            Server::Tokens => {
                empty_since = empty_since.max(free.saturating_sub(DEPTH)) + u64::from(bytes);
                free = free.max(empty_since);
            }
        }
        row.push(Crossing {
            arrived: Time(now),
            departure: Time(free),
            bytes,
            continues: false,
        });
    }
    row
}

proptest! {
    /// In any number of steps, with a warm-up and samples between them.
    #[test]
    fn many_at_a_time_are_entered_as_event_by_event(
        packets in prop::collection::vec((0u64..60, 20u32..40), 1..60),
        mut bounds in prop::collection::vec(0u64..2500, 0..6),
        warm_up in 0u64..500,
        is_whole: bool,
        has_tokens: bool,
    ) {
        let server = if has_tokens { Server::Tokens } else { Server::Transmitter };
        let observation = if is_whole { Observation::Whole } else { Observation::CountersOnly };
        let (row, warm_up) = (crossings(server, &packets), Time(warm_up));
        let mut at_once = LinkStatistics::new(observation);
        let mut expected = EventByEvent {
            server,
            statistics: LinkStatistics::new(observation),
            held: Default::default(),
            latest_departed: Time::ZERO,
        };
        bounds.extend([warm_up.0, 10_000]);
        bounds.sort_unstable();
        let (mut gone, mut arrived, mut latest_departed) = (0, 0, Time::ZERO);
        for bound in bounds.into_iter().map(Time) {
            let arrives = row.partition_point(|crossing| crossing.arrived < bound);
            let leaves = row.partition_point(|crossing| crossing.departure < bound);
            let entering = CrossingRange {
                server,
                arrivals: arrived - gone..arrives - gone,
                departures: leaves - gone,
                latest_departed,
            };
            let bytes = at_once.enter_crossings(&row[gone..], &entering, warm_up);
            let left: u64 = row[gone..leaves].iter().map(|crossing| u64::from(crossing.bytes)).sum();
            prop_assert_eq!(bytes, left);
            for &crossing in &row[arrived..arrives] {
                expected.depart_before(crossing.departures_before(), warm_up);
                expected.arrive(crossing, warm_up);
            }
            expected.depart_before(bound, warm_up);
            (gone, arrived, latest_departed) = (leaves, arrives, expected.latest_departed);
            for statistics in [&mut at_once, &mut expected.statistics] {
                if is_whole {
                    statistics.levels.advance(bound);
                }
                if bound == warm_up && statistics.at_warm_up == LinkCounters::default() {
                    statistics.start_measuring(bound);
                }
            }
            prop_assert_eq!(at_once.levels.current, expected.statistics.levels.current);
        }
        at_once.finish(Time(10_000));
        expected.statistics.finish(Time(10_000));
        prop_assert_eq!(format!("{at_once:?}"), format!("{:?}", expected.statistics));
    }
}

#[test]
fn one_that_leaves_as_the_next_comes_was_alone() {
    for (early_ps, most_pkts) in [(0, 1), (1, 2)] {
        let server = Server::Transmitter;
        let row = crossings(server, &[(0, 20), (20 - early_ps, 20)]);
        let entering = CrossingRange {
            server,
            arrivals: 0..2,
            departures: 2,
            latest_departed: Time::ZERO,
        };
        let mut statistics = LinkStatistics::default();
        statistics.enter_crossings(&row, &entering, Time::ZERO);
        statistics.finish(Time(60));
        assert_eq!(statistics.levels.max.system_pkts, most_pkts);
        assert_eq!(statistics.levels.occupancy[..2], [20, 40 - early_ps]);
        assert_eq!(statistics.wait.max(), Some(Time(early_ps)));
    }
}

#[test]
fn what_has_tokens_when_it_comes_was_never_in_the_queue() {
    // Four bursts of what the bucket holds, and one packet more that waits.
    let mut packets = [(100, 25), (0, 25), (0, 25), (0, 25)].repeat(4);
    packets.push((0, 25));
    let row = crossings(Server::Tokens, &packets);
    let entering = CrossingRange {
        server: Server::Tokens,
        arrivals: 0..row.len(),
        departures: row.len(),
        latest_departed: Time::ZERO,
    };
    let mut statistics = LinkStatistics::default();
    statistics.enter_crossings(&row, &entering, Time::ZERO);
    statistics.finish(Time(500));
    let max = statistics.levels.max;
    assert_eq!(
        (max.system_pkts, max.backlog_pkts, max.backlog_bytes),
        (1, 1, 25)
    );
    assert_eq!(statistics.levels.occupancy[..2], [475, 25]);
    assert_eq!(statistics.levels.backlog(), 25);
    assert_eq!(
        (statistics.wait.max(), statistics.sojourn.max()),
        (Some(Time(25)), Some(Time(25)))
    );
}
