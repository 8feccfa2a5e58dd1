//! Timers of disciplines: they have no events (see `events::TimerUpdates`), but take run time.

use super::Config;

/// Largest number of updates applied one by one per packet, except for delays at which steps wrap
/// (`pie/updates.rs`).
pub const MOST_UPDATES_A_PACKET: u64 = 3000;
/// Number of updates that take about as long as an event.
pub const UPDATES_AN_EVENT: u64 = 64;

/// The shortest timer period of a discipline and its descendants, nanoseconds; `None` without timers.
/// Adaptive RED does not count: it takes at most some hundred steps for any time.
pub fn timer_period_ns(config: &Config) -> Option<u64> {
    let own = match config {
        Config::Pie(pie) => Some(pie.tupdate_ns),
        Config::FqPie(fq_pie) => Some(fq_pie.tupdate_ns),
        _ => None,
    };
    let of_children = config.children().filter_map(timer_period_ns);
    of_children.chain(own).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tc::parse_qdisc;

    #[test]
    fn a_timer_is_found_wherever_it_is() {
        let in_classes = "root handle 1: prio; parent 1:1 pie; parent 1:2 pie tupdate 5ms";
        for (text, period_ms) in [
            ("pie", Some(15)),
            ("pie tupdate 1ms", Some(1)),
            ("fq_pie tupdate 2ms", Some(2)),
            (in_classes, Some(5)),
            ("tbf rate 1mbit burst 2kb limit 10kb", None),
            (
                "red limit 400kb min 30kb max 90kb avpkt 1000 adaptive",
                None,
            ),
            ("fq_codel", None),
        ] {
            let found = timer_period_ns(&parse_qdisc(text).unwrap());
            assert_eq!(found, period_ms.map(|ms| ms * 1_000_000), "{text}");
        }
    }
}
