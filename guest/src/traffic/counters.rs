//! The counters of the disciplines of all hosts.

use super::{QdiscPlace, Traffic};
use crate::error::GuestError;
use crate::netlink::{self, Disciplines};
use crate::records::QueueCounters;

impl Traffic<'_> {
    /// The counters of every queue, and the number of packets in disciplines.
    pub(super) fn counters(&self) -> Result<(Vec<QueueCounters>, u64), GuestError> {
        let by_host = self.disciplines()?;
        let held = by_host.iter().map(netlink::held).sum();
        Ok((self.counters_in(&by_host), held))
    }

    /// The disciplines of every host.
    pub(super) fn disciplines(&self) -> Result<Vec<Disciplines>, GuestError> {
        self.netlink.iter().map(netlink::disciplines).collect()
    }

    /// The counters of every queue among the disciplines of every host.
    pub(super) fn counters_in(&self, by_host: &[Disciplines]) -> Vec<QueueCounters> {
        let of = |(host, device, handle): QdiscPlace| netlink::of(&by_host[host], (device, handle));
        let both = |(queue, after): &(QdiscPlace, Option<QdiscPlace>)| {
            (of(*queue), after.map(of).unwrap_or_default())
        };
        self.places.iter().map(both).collect()
    }
}
