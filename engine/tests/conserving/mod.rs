//! Runs an experiment and holds it to the conservation of packets, at every instant and every link.

use crate::common::checked;
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::Experiment;
use proptest::prelude::*;

/// Whether bytes created are those delivered, dropped, queued and in flight, and what arrived at each
/// link has left it, was dropped or is inside.
pub fn conserves(spec: &Experiment) -> Result<(), TestCaseError> {
    let mut world = World::new(&checked(spec), 0);
    let mut last = world.now;
    loop {
        let more = world.step();
        prop_assert!(world.now >= last, "time went backwards");
        last = world.now;
        prop_assert_eq!(world.check_conservation(), Ok(()));
        for link in &world.links {
            prop_assert_eq!(link.level(), link.statistics.levels.current);
        }
        if !more {
            break;
        }
    }
    world.finish();
    for link in &world.links {
        let level = link.level();
        prop_assert_eq!(level, link.statistics.levels.current);
        let counted = link.statistics.total;
        let inside = u64::from(level.system_pkts);
        prop_assert_eq!(
            counted.arrived_pkts,
            counted.departed_pkts + counted.dropped_pkts() + inside
        );
    }
    Ok(())
}
