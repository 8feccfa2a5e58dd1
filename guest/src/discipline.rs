//! Statistics of disciplines beyond the common counters: the `xstats` of linux/pkt_sched.h, Linux 6.1.

use dumbbell_core::cake_samples::CakeState;

/// Statistics of a discipline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct XStats {
    /// Dropped by its algorithm, not at a limit.
    pub dropped_by_algorithm: u32,
    /// Marked instead of dropped, also if dropped later.
    pub marked: u32,
    /// Whether `marked` counts packets twice, or not all.
    pub miscounts_marks: bool,
    /// Drop probability in units of 2^-64.
    pub drop_probability: Option<u64>,
    /// Its own estimate of the queueing delay.
    pub delay_ns: Option<u64>,
}

impl XStats {
    /// Reads the statistics of a discipline of this kind, which has dropped `drops` in total. None if it has
    /// none, or not those of Linux 6.1.
    pub fn read(kind: &str, drops: u32, xstats: &[u8]) -> Option<XStats> {
        let u32_at = |at: usize| {
            let bytes = xstats.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
        };
        let u64_at = |at: usize| {
            let bytes = xstats.get(at..at + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
        };
        let nanoseconds = |at: usize| Some(1000 * u64::from(u32_at(at)?));
        Some(match kind {
            // tc_pie_xstats; the delay is in microseconds, whatever its comment says (sch_pie.c).
            "pie" => XStats {
                dropped_by_algorithm: u32_at(24)?,
                marked: u32_at(36)?,
                miscounts_marks: false,
                drop_probability: Some(u64::from(u32_at(0)?) | u64::from(u32_at(4)?) << 32),
                delay_ns: nanoseconds(8),
            },
            // tc_codel_xstats
            "codel" => XStats {
                dropped_by_algorithm: drops.wrapping_sub(u32_at(20)?),
                delay_ns: nanoseconds(12),
                ..XStats::of_codel(u32_at(24)?, u32_at(32)?)
            },
            // tc_fq_codel_xstats: a type, 0 for the whole, then tc_fq_codel_qd_stats
            "fq_codel" if u32_at(0)? == 0 => XStats {
                dropped_by_algorithm: drops.wrapping_sub(u32_at(8)?),
                ..XStats::of_codel(u32_at(12)?, u32_at(28)?)
            },
            // tc_red_xstats
            "red" => XStats {
                dropped_by_algorithm: u32_at(0)?,
                marked: u32_at(12)?,
                ..XStats::default()
            },
            // tc_choke_xstats: of two packets of one flow both are dropped (sch_choke.c).
            "choke" => XStats {
                dropped_by_algorithm: u32_at(0)?.wrapping_add(u32_at(16)?.wrapping_mul(2)),
                marked: u32_at(12)?,
                ..XStats::default()
            },
            // tc_fq_qd_stats: marks above `ce_threshold`, of which 32 bits count here as of the others.
            "fq" => XStats {
                marked: u64_at(80)? as u32,
                ..XStats::default()
            },
            // tc_fq_pie_xstats
            "fq_pie" => XStats {
                // The drops include those at the limit (sch_fq_pie.c).
                dropped_by_algorithm: u32_at(4)?.wrapping_sub(u32_at(8)?),
                marked: u32_at(16)?,
                ..XStats::default()
            },
            // It marks where it would lose (`ecn`), and does not count that.
            "netem" => XStats {
                miscounts_marks: true,
                ..XStats::default()
            },
            _ => return None,
        })
    }

    /// Marks of CoDel by its law and above `ce_threshold`: a packet may be counted as both (codel_impl.h).
    fn of_codel(by_law: u32, above_threshold: u32) -> XStats {
        XStats {
            marked: by_law.wrapping_add(above_threshold),
            miscounts_marks: by_law > 0 && above_threshold > 0,
            ..XStats::default()
        }
    }

    /// Of cake, which has dropped `drops` in total. It does not count drops over its limit of memory apart: once
    /// it was over the limit, all drops count as such.
    pub fn of_cake(cake: &CakeState, drops: u32) -> XStats {
        let marked: u64 = cake.tins.iter().map(|tin| tin.totals.marked_pkts).sum();
        let is_within = cake.most_memory_bytes <= cake.memory_limit_bytes;
        XStats {
            dropped_by_algorithm: if is_within { drops } else { 0 },
            marked: marked as u32,
            ..XStats::default()
        }
    }

    /// Of dualpi2, whose algorithm has dropped `dropped`. None if it is not what Linux 6.17 says, nor what the
    /// kernels of the L4S team said before (tc_dualpi2_xstats): there the scheduler's credit comes earlier.
    pub fn of_dualpi2(dropped: u32, xstats: &[u8]) -> Option<XStats> {
        const BEFORE_BYTES: usize = 36;
        const MARKED_AT: usize = 24;
        let u32_at = |at: usize| {
            let bytes = xstats.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
        };
        let credit_bytes = if xstats.len() == BEFORE_BYTES { 4 } else { 0 };
        // The probability is of 2^32, delays are in microseconds.
        Some(XStats {
            dropped_by_algorithm: dropped,
            marked: u32_at(MARKED_AT + credit_bytes)?,
            // By p', and then by the step (sch_dualpi2.c).
            miscounts_marks: true,
            drop_probability: Some(u64::from(u32_at(0)?) << 32),
            delay_ns: Some(1000 * u64::from(u32_at(4)?.max(u32_at(8)?))),
        })
    }

    /// Sum over a discipline and its children.
    pub fn with(self, child: XStats) -> XStats {
        XStats {
            dropped_by_algorithm: self
                .dropped_by_algorithm
                .wrapping_add(child.dropped_by_algorithm),
            marked: self.marked.wrapping_add(child.marked),
            miscounts_marks: self.miscounts_marks || child.miscounts_marks,
            drop_probability: self.drop_probability.or(child.drop_probability),
            delay_ns: self.delay_ns.or(child.delay_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn pie_says_its_probability_and_its_delay() {
        let said = words(&[0, 1 << 31, 20_000, 0, 0, 900, 7, 2, 50, 3]);
        let own = XStats::read("pie", 9, &said).unwrap();
        assert_eq!(own.drop_probability, Some(1 << 63)); // one half
        assert_eq!(own.delay_ns, Some(20_000_000));
        assert_eq!((own.dropped_by_algorithm, own.marked), (7, 3));
    }

    #[test]
    fn codel_says_what_was_dropped_for_want_of_room() {
        let said = words(&[1514, 2, 1, 5100, 0, 4, 6, 0, 0]);
        let own = XStats::read("codel", 10, &said).unwrap();
        assert_eq!((own.dropped_by_algorithm, own.marked), (6, 6));
        assert_eq!(own.delay_ns, Some(5_100_000));
        assert!(!own.miscounts_marks);
    }

    /// Its law may mark a packet that `ce_threshold` then counts again.
    #[test]
    fn marks_above_the_threshold_count_too() {
        let codel = |ecn, ce| XStats::read("codel", 0, &words(&[0, 0, 0, 0, 0, 0, ecn, 0, ce]));
        let fq_codel =
            |ecn, ce| XStats::read("fq_codel", 0, &words(&[0, 0, 0, ecn, 0, 0, 0, ce, 0, 0]));
        for read in [codel, fq_codel] {
            for (ecn, ce, counts_twice) in [(6, 0, false), (0, 4, false), (6, 4, true)] {
                let own = read(ecn, ce).unwrap();
                assert_eq!((own.marked, own.miscounts_marks), (ecn + ce, counts_twice));
            }
        }
        let mut fq = words(&[9; 26]);
        fq[80..88].copy_from_slice(&7u64.to_ne_bytes());
        assert_eq!(XStats::read("fq", 0, &fq).unwrap().marked, 7);
    }

    #[test]
    fn choke_drops_two_for_each_match() {
        let own = XStats::read("choke", 40, &words(&[5, 6, 0, 7, 8])).unwrap();
        assert_eq!((own.dropped_by_algorithm, own.marked), (21, 7));
    }

    #[test]
    fn dualpi2_says_its_marks_where_its_version_has_them() {
        let of_linux = words(&[1 << 31, 15_000, 900, 10, 20, 30, 4, 3, 77, 0, 0, 0]);
        let before = words(&[1 << 31, 15_000, 900, 77, 10, 20, 30, 4, 3]);
        for said in [of_linux, before] {
            let own = XStats::of_dualpi2(6, &said).unwrap();
            assert_eq!((own.dropped_by_algorithm, own.marked), (6, 4));
            assert!(own.miscounts_marks);
            assert_eq!(own.drop_probability, Some(1 << 63)); // one half
            assert_eq!(own.delay_ns, Some(15_000_000));
        }
        assert_eq!(XStats::of_dualpi2(6, &[0; 20]), None);
    }

    #[test]
    fn drops_of_cake_are_its_algorithms_while_memory_suffices() {
        let mut cake = CakeState {
            memory_limit_bytes: 10,
            ..CakeState::default()
        };
        assert_eq!(XStats::of_cake(&cake, 7).dropped_by_algorithm, 7);
        cake.most_memory_bytes = 11;
        assert_eq!(XStats::of_cake(&cake, 7).dropped_by_algorithm, 0);
    }

    #[test]
    fn a_short_or_unknown_answer_says_nothing() {
        assert_eq!(XStats::read("pie", 0, &[0; 12]), None);
        assert_eq!(XStats::read("tbf", 0, &[]), None);
    }

    #[test]
    fn a_child_adds_what_its_parent_does_not_say() {
        let pie = XStats {
            marked: 2,
            drop_probability: Some(5),
            ..XStats::default()
        };
        assert_eq!(XStats::default().with(pie), pie);
    }
}
