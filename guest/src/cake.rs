//! Statistics of the discipline `cake` over route netlink: the attributes `TCA_CAKE_STATS_*` and
//! `TCA_CAKE_TIN_STATS_*` of linux/pkt_sched.h, Linux 6.1.

use crate::netlink::{attribute, attributes, u32_at, u64_at};
use dumbbell_core::cake_samples::{CakeState, TinState, TinTotals};

const CAPACITY_ESTIMATE64: u16 = 2;
const MEMORY_LIMIT: u16 = 3;
const MEMORY_USED: u16 = 4;
const AVG_NETOFF: u16 = 5;
const MIN_NETLEN: u16 = 6;
const MAX_NETLEN: u16 = 7;
const MIN_ADJLEN: u16 = 8;
const MAX_ADJLEN: u16 = 9;
const TIN_STATS: u16 = 10;

const SENT_PACKETS: u16 = 2;
const SENT_BYTES64: u16 = 3;
const DROPPED_PACKETS: u16 = 4;
const ACKS_DROPPED_PACKETS: u16 = 6;
const ECN_MARKED_PACKETS: u16 = 8;
const BACKLOG_BYTES: u16 = 11;
const THRESHOLD_RATE64: u16 = 12;
const TARGET_US: u16 = 13;
const INTERVAL_US: u16 = 14;
const WAY_INDIRECT_HITS: u16 = 15;
const WAY_MISSES: u16 = 16;
const WAY_COLLISIONS: u16 = 17;
const PEAK_DELAY_US: u16 = 18;
const AVG_DELAY_US: u16 = 19;
const BASE_DELAY_US: u16 = 20;
const SPARSE_FLOWS: u16 = 21;
const BULK_FLOWS: u16 = 22;
const UNRESPONSIVE_FLOWS: u16 = 23;
const MAX_SKBLEN: u16 = 24;
const FLOW_QUANTUM: u16 = 25;

const NS_PER_US: u64 = 1000;

/// Reads the statistics; None if they are not those of Linux 6.1.
pub fn read(stats: &[u8]) -> Option<CakeState> {
    let tins = attributes(attribute(stats, TIN_STATS)?);
    let tins: Option<Vec<TinState>> = tins.map(|(_, tin)| read_tin(tin)).collect();
    Some(CakeState {
        most_memory_bytes: u32_of(stats, MEMORY_USED)?.into(),
        memory_limit_bytes: u32_of(stats, MEMORY_LIMIT)?.into(),
        capacity_bytes_per_s: u64_of(stats, CAPACITY_ESTIMATE64)?,
        network_bytes: (u32_of(stats, MIN_NETLEN)?, u32_of(stats, MAX_NETLEN)?),
        adjusted_bytes: (u32_of(stats, MIN_ADJLEN)?, u32_of(stats, MAX_ADJLEN)?),
        mean_header_bytes: u32_of(stats, AVG_NETOFF)?,
        tins: tins?,
    })
}

fn read_tin(tin: &[u8]) -> Option<TinState> {
    let count = |of| Some(u64::from(u32_of(tin, of)?));
    let ns = |of| Some(NS_PER_US * u64::from(u32_of(tin, of)?));
    Some(TinState {
        totals: TinTotals {
            arrived_pkts: count(SENT_PACKETS)?,
            arrived_bytes: u64_of(tin, SENT_BYTES64)?,
            dropped_pkts: count(DROPPED_PACKETS)?,
            marked_pkts: count(ECN_MARKED_PACKETS)?,
            ack_dropped_pkts: count(ACKS_DROPPED_PACKETS)?,
            way_indirect_hits: count(WAY_INDIRECT_HITS)?,
            way_misses: count(WAY_MISSES)?,
            way_collisions: count(WAY_COLLISIONS)?,
            largest_bytes: u32_of(tin, MAX_SKBLEN)?,
            peak_delay_ns: ns(PEAK_DELAY_US)?,
            mean_delay_ns: ns(AVG_DELAY_US)?,
            base_delay_ns: ns(BASE_DELAY_US)?,
        },
        threshold_bytes_per_s: u64_of(tin, THRESHOLD_RATE64)?,
        target_ns: ns(TARGET_US)?,
        interval_ns: ns(INTERVAL_US)?,
        backlog_bytes: count(BACKLOG_BYTES)?,
        sparse_flows: u32_of(tin, SPARSE_FLOWS)?,
        bulk_flows: u32_of(tin, BULK_FLOWS)?,
        unresponsive_flows: u32_of(tin, UNRESPONSIVE_FLOWS)?,
        quantum_bytes: u32_of(tin, FLOW_QUANTUM)?,
    })
}

fn u32_of(bytes: &[u8], wanted: u16) -> Option<u32> {
    let value = attribute(bytes, wanted).filter(|value| value.len() == 4)?;
    Some(u32_at(value, 0))
}

fn u64_of(bytes: &[u8], wanted: u16) -> Option<u64> {
    let value = attribute(bytes, wanted).filter(|value| value.len() == 8)?;
    Some(u64_at(value, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = 4 + value.len() as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn attrs(kinds: std::ops::RangeInclusive<u16>, wide: &[u16]) -> Vec<u8> {
        let one = |kind: u16| match wide.contains(&kind) {
            true => attr(kind, &u64::from(kind).to_ne_bytes()),
            false => attr(kind, &u32::from(kind).to_ne_bytes()),
        };
        kinds.flat_map(one).collect()
    }

    #[test]
    fn each_number_comes_from_its_attribute() {
        let wide = [SENT_BYTES64, THRESHOLD_RATE64, 5, 7, 9];
        let tin = attrs(2..=25, &wide);
        let tins = [attr(1, &tin), attr(2, &tin)].concat();
        let whole = [attrs(2..=9, &[2]), attr(TIN_STATS, &tins)].concat();
        let found = read(&whole).unwrap();
        assert_eq!(found.capacity_bytes_per_s, 2);
        assert_eq!(
            (found.network_bytes, found.adjusted_bytes),
            ((6, 7), (8, 9))
        );
        assert_eq!(found.tins.len(), 2);
        let tin = found.tins[1];
        assert_eq!((tin.target_ns, tin.totals.peak_delay_ns), (13_000, 18_000));
        assert_eq!((tin.totals.marked_pkts, tin.quantum_bytes), (8, 25));
        assert_eq!((tin.threshold_bytes_per_s, tin.backlog_bytes), (12, 11));
    }

    #[test]
    fn what_is_missing_is_not_invented() {
        assert_eq!(read(&attrs(2..=9, &[2])), None);
        assert_eq!(read(&attr(TIN_STATS, &[])), None);
    }
}
