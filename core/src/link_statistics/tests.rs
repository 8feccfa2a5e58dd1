use super::*;

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
fn sums_of_times_are_the_integrals_of_the_levels() {
    let (mut by_level, mut by_time) = (LevelIntegrals::default(), LevelIntegrals::default());
    // Packets of 100 bytes: whether one comes, and when.
    let steps = [(true, 10), (true, 30), (true, 30), (false, 41), (true, 50)];
    let more = [(false, 70), (false, 90), (false, 95), (true, 99)];
    let mut pkts = 0;
    for (index, (comes, at)) in steps.into_iter().chain(more).enumerate() {
        if comes {
            pkts += 1;
            by_time.arrive(Time(at), 100);
        } else {
            pkts -= 1;
            by_time.depart(Time(at), 100);
        }
        by_level.set(Time(at), level(pkts));
        if index == 4 {
            by_level.restart(Time(at));
            by_time.advance(Time(at));
            by_time.restart(Time(at));
        }
    }
    by_level.advance(Time(120));
    by_time.advance(Time(120));
    assert_eq!(format!("{by_level:?}"), format!("{by_time:?}"));
    assert_eq!(by_time.busy(), 95 - 50 + 120 - 99);
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
    statistics.arrive(Time(60), 100);
    statistics.arrive(Time(70), 200);
    assert_eq!(statistics.levels.current.backlog_bytes, 200);
    statistics.depart(Time(80), 200);
    statistics.depart(Time(90), 0);
    assert_eq!(statistics.levels.current, level(0));
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
