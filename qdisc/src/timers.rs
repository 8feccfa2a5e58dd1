//! Timers of disciplines: they have no events (see `events::TimerUpdates`), but take time.

use super::Config;

/// At most this number of updates are done one after the other when a packet comes or leaves, but for delays
/// with which steps wrap (`pie/updates.rs`).
pub const MOST_UPDATES_A_PACKET: u64 = 3000;
/// This number takes about as long as an event.
pub const UPDATES_AN_EVENT: u64 = 64;

/// The shortest span between two updates by a timer of a discipline or of one in it, nanoseconds; `None`
/// where there is none. Adaptive RED is not among them: however long a time is, it brings
/// some hundred steps at most.
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
