//! What disciplines count by themselves, over route netlink: structures of linux/pkt_sched.h, Linux 6.1.

use crate::cake;
use crate::discipline::XStats;
use crate::netlink::{TCA_OPTIONS, TCA_STATS_APP, attribute, u32_at};
use dumbbell_core::own_samples::{OwnState, SfbState, SfqRedState};

/// Reads it from the attributes of a discipline of this kind, and from those of its statistics.
pub fn read(kind: &str, attributes: &[u8], stats: &[u8]) -> Option<OwnState> {
    Some(match kind {
        "cake" => OwnState::Cake(cake::read(attribute(stats, TCA_STATS_APP)?)?),
        "sfb" => OwnState::Sfb(sfb(attribute(stats, TCA_STATS_APP)?)?),
        "sfq" => OwnState::SfqRed(sfq_red(attribute(attributes, TCA_OPTIONS)?)?),
        _ => return None,
    })
}

/// What it says of a discipline that has dropped `drops` in total.
pub fn xstats(state: &OwnState, drops: u32) -> XStats {
    let (dropped, marked, miscounts_marks) = match state {
        OwnState::Cake(cake) => return XStats::of_cake(cake, drops),
        OwnState::Sfb(sfb) => (
            sfb.early_dropped_pkts + sfb.penalty_dropped_pkts,
            sfb.marked_pkts,
            false,
        ),
        OwnState::SfqRed(red) => (
            red.early_dropped_pkts + red.forced_dropped_pkts,
            red.early_marked_pkts
                + red.early_marked_oldest_pkts
                + red.forced_marked_pkts
                + red.forced_marked_oldest_pkts,
            // The oldest may have been marked before (sch_sfq.c).
            red.early_marked_oldest_pkts + red.forced_marked_oldest_pkts > 0,
        ),
    };
    XStats {
        dropped_by_algorithm: dropped as u32,
        marked: marked as u32,
        miscounts_marks,
        ..XStats::default()
    }
}

/// `tc_sfb_xstats`.
fn sfb(xstats: &[u8]) -> Option<SfbState> {
    let number = numbers(xstats, 9)?;
    let pkts = |index| u64::from(number(index));
    Some(SfbState {
        early_dropped_pkts: pkts(0),
        penalty_dropped_pkts: pkts(1),
        bin_dropped_pkts: pkts(2),
        limit_dropped_pkts: pkts(3),
        child_dropped_pkts: pkts(4),
        marked_pkts: pkts(5),
        longest_bin_pkts: number(6),
        largest_probability_steps: number(7),
        mean_probability_steps: number(8),
    })
}

/// `tc_sfq_qopt_v1`; None without RED.
fn sfq_red(options: &[u8]) -> Option<SfqRedState> {
    const QTH_MIN: usize = 8;
    const STATS: usize = 12;
    let number = numbers(options, STATS + 6)?;
    let pkts = |index| u64::from(number(STATS + index));
    (number(QTH_MIN) > 0).then(|| SfqRedState {
        early_dropped_pkts: pkts(0),
        forced_dropped_pkts: pkts(1),
        early_marked_pkts: pkts(2),
        forced_marked_pkts: pkts(3),
        early_marked_oldest_pkts: pkts(4),
        forced_marked_oldest_pkts: pkts(5),
    })
}

/// The numbers of 32 bits of a structure that has at least `count`.
fn numbers(bytes: &[u8], count: usize) -> Option<impl Fn(usize) -> u32> {
    (bytes.len() >= 4 * count).then_some(move |index: usize| u32_at(bytes, 4 * index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
        { words.into_iter() }.flat_map(u32::to_ne_bytes).collect()
    }

    #[test]
    fn sfb_says_why_it_dropped() {
        let said = words([1, 2, 4, 8, 16, 32, 25, 0xFFFF, 600]);
        let state = sfb(&said).unwrap();
        assert_eq!((state.bin_dropped_pkts, state.child_dropped_pkts), (4, 16));
        assert_eq!(
            (state.longest_bin_pkts, state.largest_probability_steps),
            (25, 0xFFFF)
        );
        let own = xstats(&OwnState::Sfb(state), 31);
        assert_eq!((own.dropped_by_algorithm, own.marked), (3, 32));
        assert_eq!(sfb(&said[..32]), None);
    }

    #[test]
    fn sfq_says_what_red_did_if_it_has_it() {
        // Wlog to flags are a word, the ninth is qth_min.
        let said = |min| {
            words(
                (0..12)
                    .map(|at| if at == 8 { min } else { 99 })
                    .chain(1..=6),
            )
        };
        let state = sfq_red(&said(6000)).unwrap();
        let dropped = (state.early_dropped_pkts, state.forced_dropped_pkts);
        let of_oldest = (
            state.early_marked_oldest_pkts,
            state.forced_marked_oldest_pkts,
        );
        assert_eq!((dropped, of_oldest), ((1, 2), (5, 6)));
        let own = xstats(&OwnState::SfqRed(state), 3);
        assert_eq!((own.dropped_by_algorithm, own.marked), (3, 18));
        assert!(own.miscounts_marks);
        assert_eq!(sfq_red(&said(0)), None);
        assert_eq!(sfq_red(&said(6000)[..60]), None);
    }
}
