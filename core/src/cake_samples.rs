//! Samples of the discipline `cake`: what it counts by tin and as a whole, as `tc -s qdisc` prints it
//! (tc-cake(8), "EXAMPLES"). The tables are made beside those of a run, so they do not change its digest.

use crate::table::{Column, Table, Values};
use crate::time::Time;

/// Totals of a tin since the start, and means of the sojourn times of its departed packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TinTotals {
    /// Packets that arrived, dropped ones included.
    pub arrived_pkts: u64,
    /// Their bytes on the wire.
    pub arrived_bytes: u64,
    /// Dropped packets, without acknowledgements that the filter dropped.
    pub dropped_pkts: u64,
    /// Packets marked with CE.
    pub marked_pkts: u64,
    /// Acknowledgements that the filter dropped.
    pub ack_dropped_pkts: u64,
    /// Packets that found their flow's queue at another place than the first of its set.
    pub way_indirect_hits: u64,
    /// Packets that took a free queue for their flow.
    pub way_misses: u64,
    /// Packets that found all queues of their set used by other flows.
    pub way_collisions: u64,
    /// Size of the largest packet, bytes on the wire.
    pub largest_bytes: u32,
    /// Mean that follows longer delays quickly.
    pub peak_delay_ns: u64,
    /// Mean.
    pub mean_delay_ns: u64,
    /// Mean that follows shorter delays quickly.
    pub base_delay_ns: u64,
}

/// A tin at an instant: its totals and its state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TinState {
    /// Totals since the start.
    pub totals: TinTotals,
    /// Its share of the bandwidth; 0 without a shaper.
    pub threshold_bytes_per_s: u64,
    /// Target of COBALT.
    pub target_ns: u64,
    /// Interval of COBALT.
    pub interval_ns: u64,
    /// Bytes on the wire in its queues.
    pub backlog_bytes: u64,
    /// Queues within their first turn, and empty ones that are not removed yet.
    pub sparse_flows: u32,
    /// Backlogged queues.
    pub bulk_flows: u32,
    /// Queues in which BLUE drops.
    pub unresponsive_flows: u32,
    /// Quantum of its queues.
    pub quantum_bytes: u32,
}

/// Cake at an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CakeState {
    /// Most kernel memory that packets used.
    pub most_memory_bytes: u64,
    /// Limit of that memory.
    pub memory_limit_bytes: u64,
    /// Rate of the shaper; 0 without one.
    pub capacity_bytes_per_s: u64,
    /// Smallest and largest size before the overhead; 65535 and 0 before the first packet.
    pub network_bytes: (u32, u32),
    /// Smallest and largest size that the shaper counts; 65535 and 0 before the first packet.
    pub adjusted_bytes: (u32, u32),
    /// Mean offset of the network header in the frame.
    pub mean_header_bytes: u32,
    /// Tins, that of the lowest priority first.
    pub tins: Vec<TinState>,
}

/// Samples of all cakes of a run, in order of time, then queue.
#[derive(Debug, Clone, Default)]
pub struct CakeSamples {
    cakes: Vec<(i64, i32, CakeState)>,
    tins: usize,
}

impl CakeSamples {
    /// Adds the state of a queue's cake.
    pub fn push(&mut self, now: Time, queue: usize, state: CakeState) {
        self.tins += state.tins.len();
        self.cakes.push((now.as_ns() as i64, queue as i32, state));
    }

    /// Memory, including reserved capacity.
    pub fn memory_bytes(&self) -> u64 {
        let cakes = self.cakes.capacity() * size_of::<(i64, i32, CakeState)>();
        (cakes + self.tins * size_of::<TinState>()) as u64
    }

    /// The tables `cake_samples` and `tin_samples`; none if no queue is a cake.
    pub fn tables(&self) -> Vec<Table> {
        match self.cakes.is_empty() {
            true => Vec::new(),
            false => vec![self.of_cakes(), self.of_tins()],
        }
    }

    fn of_cakes(&self) -> Table {
        type Row = CakeState;
        let column = |name, value: fn(&Row) -> u64| {
            let values = self.cakes.iter().map(|(_, _, row)| value(row) as i64);
            Column {
                name,
                values: Values::I64(values.collect()),
            }
        };
        let rows = || self.cakes.iter();
        Table {
            name: "cake_samples",
            columns: vec![
                instants(rows().map(|(t_ns, _, _)| *t_ns)),
                indices("queue", rows().map(|(_, queue, _)| *queue)),
                column("most_memory_bytes", |row| row.most_memory_bytes),
                column("memory_limit_bytes", |row| row.memory_limit_bytes),
                column("capacity_bps", |row| 8 * row.capacity_bytes_per_s),
                column("network_min_bytes", |row| row.network_bytes.0.into()),
                column("network_max_bytes", |row| row.network_bytes.1.into()),
                column("adjusted_min_bytes", |row| row.adjusted_bytes.0.into()),
                column("adjusted_max_bytes", |row| row.adjusted_bytes.1.into()),
                column("header_mean_bytes", |row| row.mean_header_bytes.into()),
            ],
        }
    }

    fn of_tins(&self) -> Table {
        type Row = TinState;
        let rows = || {
            let cakes = self.cakes.iter();
            cakes.flat_map(|(t_ns, queue, cake)| {
                let numbered = (0..).zip(&cake.tins);
                numbered.map(move |(tin, state)| (*t_ns, *queue, tin, state))
            })
        };
        let column = |name, value: fn(&Row) -> u64| Column {
            name,
            values: Values::I64(rows().map(|(.., row)| value(row) as i64).collect()),
        };
        Table {
            name: "tin_samples",
            columns: vec![
                instants(rows().map(|(t_ns, ..)| t_ns)),
                indices("queue", rows().map(|(_, queue, ..)| queue)),
                indices("tin", rows().map(|(_, _, tin, _)| tin)),
                column("threshold_bps", |row| 8 * row.threshold_bytes_per_s),
                column("target_ns", |row| row.target_ns),
                column("interval_ns", |row| row.interval_ns),
                column("peak_delay_ns", |row| row.totals.peak_delay_ns),
                column("mean_delay_ns", |row| row.totals.mean_delay_ns),
                column("base_delay_ns", |row| row.totals.base_delay_ns),
                column("backlog_bytes", |row| row.backlog_bytes),
                column("arrived_pkts", |row| row.totals.arrived_pkts),
                column("arrived_bytes", |row| row.totals.arrived_bytes),
                column("way_indirect_hits", |row| row.totals.way_indirect_hits),
                column("way_misses", |row| row.totals.way_misses),
                column("way_collisions", |row| row.totals.way_collisions),
                column("dropped_pkts", |row| row.totals.dropped_pkts),
                column("marked_pkts", |row| row.totals.marked_pkts),
                column("ack_dropped_pkts", |row| row.totals.ack_dropped_pkts),
                column("sparse_flows", |row| row.sparse_flows.into()),
                column("bulk_flows", |row| row.bulk_flows.into()),
                column("unresponsive_flows", |row| row.unresponsive_flows.into()),
                column("largest_bytes", |row| row.totals.largest_bytes.into()),
                column("quantum_bytes", |row| row.quantum_bytes.into()),
            ],
        }
    }
}

fn instants(t_ns: impl Iterator<Item = i64>) -> Column {
    Column {
        name: "t_ns",
        values: Values::I64(t_ns.collect()),
    }
}

fn indices(name: &'static str, values: impl Iterator<Item = i32>) -> Column {
    Column {
        name,
        values: Values::I32(values.collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_for_each_cake_and_one_for_each_tin() {
        let mut samples = CakeSamples::default();
        assert_eq!(samples.tables(), []);
        let tin = |quantum_bytes| TinState {
            quantum_bytes,
            ..TinState::default()
        };
        let state = CakeState {
            capacity_bytes_per_s: 125_000,
            tins: vec![tin(300), tin(610)],
            ..CakeState::default()
        };
        samples.push(Time::from_ns(5), 3, state.clone());
        samples.push(Time::from_ns(9), 3, state);
        let tables = crate::table::Tables(samples.tables());
        assert_eq!(tables.column_i64("cake_samples", "t_ns"), [5, 9]);
        assert_eq!(
            tables.column_i64("cake_samples", "capacity_bps"),
            [1_000_000; 2]
        );
        assert_eq!(tables.column_i64("tin_samples", "t_ns"), [5, 5, 9, 9]);
        let quanta = tables.column_i64("tin_samples", "quantum_bytes");
        assert_eq!(quanta, [300, 610, 300, 610]);
        let tins = tables.0[1].columns[2].values.clone();
        assert_eq!(tins, Values::I32(vec![0, 1, 0, 1]));
    }
}
