//! Samples of what a discipline counts by itself, as `tc -s qdisc` prints it. The tables are made beside those
//! of a run, so they do not change its digest.

use crate::cake_samples::{CakeSamples, CakeState};
use crate::table::{Column, Table, Values};
use crate::time::Time;

/// What `sfb` counts (tc-sfb(8), STATISTICS): totals since the start, and its bins at the instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SfbState {
    /// Packets dropped by the probability of their bins.
    pub early_dropped_pkts: u64,
    /// Packets with probability 1 for which the penalty rate had no token.
    pub penalty_dropped_pkts: u64,
    /// Packets whose bins were all full.
    pub bin_dropped_pkts: u64,
    /// Packets that found the limit reached.
    pub limit_dropped_pkts: u64,
    /// Packets that the inner discipline refused.
    pub child_dropped_pkts: u64,
    /// Packets marked with CE.
    pub marked_pkts: u64,
    /// Packets in the longest bin.
    pub longest_bin_pkts: u32,
    /// The largest probability of a bin, in steps of 1/65535.
    pub largest_probability_steps: u32,
    /// Mean probability of all bins, rounded down, in steps of 1/65535.
    pub mean_probability_steps: u32,
}

impl SfbState {
    /// Steps of probability 1.
    pub const MOST_STEPS: u32 = 0xFFFF;
}

/// What the RED of `sfq` has counted in all flows: "early" with RED's probability, "forced" from `max` on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SfqRedState {
    /// Arriving packets marked early.
    pub early_marked_pkts: u64,
    /// Oldest packets of a flow marked early.
    pub early_marked_oldest_pkts: u64,
    /// Packets dropped early.
    pub early_dropped_pkts: u64,
    /// Arriving packets marked from `max` on.
    pub forced_marked_pkts: u64,
    /// Oldest packets of a flow marked from `max` on.
    pub forced_marked_oldest_pkts: u64,
    /// Packets dropped from `max` on.
    pub forced_dropped_pkts: u64,
}

/// What a discipline counts by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnState {
    /// Of `cake`.
    Cake(CakeState),
    /// Of `sfb`.
    Sfb(SfbState),
    /// Of `sfq` with RED.
    SfqRed(SfqRedState),
}

/// Samples of all such disciplines of a run, in order of time, then queue.
#[derive(Debug, Clone, Default)]
pub struct OwnSamples {
    cakes: CakeSamples,
    sfbs: Vec<Row<SfbState>>,
    sfq_reds: Vec<Row<SfqRedState>>,
}

/// A state with its time in nanoseconds and the index of its queue.
type Row<State> = (i64, i32, State);

impl OwnSamples {
    /// Adds the state of a queue's discipline.
    pub fn push(&mut self, now: Time, queue: usize, state: OwnState) {
        let (t_ns, index) = (now.as_ns() as i64, queue as i32);
        match state {
            OwnState::Cake(cake) => self.cakes.push(now, queue, cake),
            OwnState::Sfb(sfb) => self.sfbs.push((t_ns, index, sfb)),
            OwnState::SfqRed(red) => self.sfq_reds.push((t_ns, index, red)),
        }
    }

    /// Memory, including reserved capacity.
    pub fn memory_bytes(&self) -> u64 {
        let sfbs = self.sfbs.capacity() * size_of::<Row<SfbState>>();
        let reds = self.sfq_reds.capacity() * size_of::<Row<SfqRedState>>();
        self.cakes.memory_bytes() + (sfbs + reds) as u64
    }

    /// The tables of those disciplines that a queue has.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.cakes.tables();
        if !self.sfbs.is_empty() {
            tables.push(table(
                "sfb_samples",
                &self.sfbs,
                SFB_COUNTS,
                SFB_PROBABILITIES,
            ));
        }
        if !self.sfq_reds.is_empty() {
            tables.push(table(
                "sfq_red_samples",
                &self.sfq_reds,
                SFQ_RED_COUNTS,
                &[],
            ));
        }
        tables
    }
}

/// Name of a column, and its value.
type Of<State, Value> = (&'static str, fn(&State) -> Value);

const SFB_COUNTS: &[Of<SfbState, u64>] = &[
    ("early_dropped_pkts", |sfb| sfb.early_dropped_pkts),
    ("penalty_dropped_pkts", |sfb| sfb.penalty_dropped_pkts),
    ("bin_dropped_pkts", |sfb| sfb.bin_dropped_pkts),
    ("limit_dropped_pkts", |sfb| sfb.limit_dropped_pkts),
    ("child_dropped_pkts", |sfb| sfb.child_dropped_pkts),
    ("marked_pkts", |sfb| sfb.marked_pkts),
    ("longest_bin_pkts", |sfb| sfb.longest_bin_pkts.into()),
];

const SFB_PROBABILITIES: &[Of<SfbState, f64>] = &[
    ("largest_probability", |sfb| {
        share(sfb.largest_probability_steps)
    }),
    ("mean_probability", |sfb| share(sfb.mean_probability_steps)),
];

const SFQ_RED_COUNTS: &[Of<SfqRedState, u64>] = &[
    ("early_marked_pkts", |red| red.early_marked_pkts),
    ("early_marked_oldest_pkts", |red| {
        red.early_marked_oldest_pkts
    }),
    ("early_dropped_pkts", |red| red.early_dropped_pkts),
    ("forced_marked_pkts", |red| red.forced_marked_pkts),
    ("forced_marked_oldest_pkts", |red| {
        red.forced_marked_oldest_pkts
    }),
    ("forced_dropped_pkts", |red| red.forced_dropped_pkts),
];

fn share(steps: u32) -> f64 {
    f64::from(steps) / f64::from(SfbState::MOST_STEPS)
}

fn table<State>(
    name: &'static str,
    rows: &[Row<State>],
    counts: &[Of<State, u64>],
    numbers: &[Of<State, f64>],
) -> Table {
    let column = |name, values| Column { name, values };
    let instants = rows.iter().map(|(t_ns, ..)| *t_ns).collect();
    let queues = rows.iter().map(|(_, queue, _)| *queue).collect();
    let mut columns = vec![
        column("t_ns", Values::I64(instants)),
        column("queue", Values::I32(queues)),
    ];
    columns.extend(counts.iter().map(|(name, value)| {
        let values = rows.iter().map(|(.., state)| value(state) as i64);
        column(name, Values::I64(values.collect()))
    }));
    columns.extend(numbers.iter().map(|(name, value)| {
        let values = rows.iter().map(|(.., state)| value(state));
        column(name, Values::F64(values.collect()))
    }));
    Table { name, columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Tables;

    #[test]
    fn each_discipline_has_its_tables() {
        let mut samples = OwnSamples::default();
        assert_eq!(samples.tables(), []);
        let sfb = SfbState {
            bin_dropped_pkts: 3,
            largest_probability_steps: 0xFFFF,
            ..SfbState::default()
        };
        samples.push(Time::from_ns(5), 2, OwnState::Sfb(sfb));
        let red = SfqRedState {
            forced_dropped_pkts: 4,
            ..SfqRedState::default()
        };
        samples.push(Time::from_ns(5), 3, OwnState::SfqRed(red));
        samples.push(Time::from_ns(5), 4, OwnState::Cake(CakeState::default()));
        let tables = Tables(samples.tables());
        let names: Vec<&str> = tables.0.iter().map(|table| table.name).collect();
        let expected = [
            "cake_samples",
            "tin_samples",
            "sfb_samples",
            "sfq_red_samples",
        ];
        assert_eq!(names, expected);
        assert_eq!(tables.column_i64("sfb_samples", "bin_dropped_pkts"), [3]);
        assert_eq!(
            tables.column_i64("sfq_red_samples", "forced_dropped_pkts"),
            [4]
        );
        let largest = &tables.0[2].columns[9];
        assert_eq!(largest.name, "largest_probability");
        assert_eq!(largest.values, Values::F64(vec![1.0]));
        assert!(samples.memory_bytes() > 0);
    }
}
