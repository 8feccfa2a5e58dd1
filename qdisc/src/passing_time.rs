//! Whether a discipline delays packets enough that time passes: whether an endless sequence of packets of one
//! class, offered at one instant, is interrupted.
//!
//! Most disciplines return what they have whenever they are polled (`pfifo`, `codel`, `pie`, `fq_codel`,
//! ...); with an infinite rate behind them a packet passes in the instant of its arrival. Shaping disciplines
//! do not: `netem` with a delay or a rate, `tbf`, `htb`.

use super::{Config, child::child_for, hfsc, htb, netem};
use crate::token_bucket::PschedRate;
use dumbbell_tc::qdisc::filter::Header;

/// The shortest TCP packet: IP and TCP headers without options.
pub(super) const LEAST_TCP_PACKET_BYTES: u32 = 40;

/// Whether a bucket of this rate charges every TCP packet: the kernel's clock has whole nanoseconds.
pub(super) fn bucket_takes_tokens(rate_bps: u64) -> bool {
    PschedRate::new(rate_bps).ns_of(LEAST_TCP_PACKET_BYTES) > 0
}

/// Whether TCP packets with these headers are delayed: not necessarily each, but enough that every instant
/// ends.
pub fn delays_packets(config: &Config, header: &Header) -> bool {
    let inside = || {
        let child = child_for(config, header);
        child.is_some_and(|child| delays_packets(child, header))
    };
    match config {
        Config::Netem(netem) => netem::holds_back(netem) || inside(),
        Config::Tbf(tbf) => bucket_takes_tokens(tbf.rate_bps) || inside(),
        Config::Prio(_) | Config::Ets(_) | Config::Drr(_) => inside(),
        Config::Hfsc(hfsc) => {
            let leaf = hfsc::leaf_of(hfsc, header);
            leaf.is_some_and(|leaf| hfsc::holds_back(hfsc, leaf)) || inside()
        }
        Config::Htb(htb) => {
            let leaf = htb::leaf_of(htb, header);
            leaf.is_some_and(|leaf| bucket_takes_tokens(leaf.ceil_bps)) || inside()
        }
        Config::Cake(cake) => cake.bandwidth_bps > 0 && bucket_takes_tokens(cake.bandwidth_bps),
        Config::Fq(fq) => fq.pacing && fq.maxrate_bps.is_some_and(bucket_takes_tokens),
        Config::Noqueue(_)
        | Config::Pfifo(_)
        | Config::PfifoFast(_)
        | Config::Bfifo(_)
        | Config::Codel(_)
        | Config::Dualpi2(_)
        | Config::FqCodel(_)
        | Config::FqPie(_)
        | Config::Pie(_)
        | Config::Red(_)
        | Config::Choke(_)
        | Config::Sfb(_) // its child is a FIFO
        | Config::Sfq(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tc::parse_qdisc;

    fn passes(text: &str, tos: u8) -> bool {
        let header = Header {
            tos,
            ..Header::default()
        };
        delays_packets(&parse_qdisc(text).unwrap(), &header)
    }

    #[test]
    fn what_sends_whenever_it_is_asked_lets_none_pass() {
        let at_once = [
            "pfifo limit 10",
            "bfifo limit 10kb",
            "pfifo_fast",
            "codel",
            "fq_codel",
            "pie",
            "red limit 400kb min 1kb max 10kb avpkt 100 burst 30 probability 0.5",
            "prio",
            "sfq",
            "choke limit 100 bandwidth 10mbit",
            "fq_pie",
            "sfb",
            "netem limit 1000",
            "netem loss 10%",
            "netem duplicate 10%",
            "cake",
        ];
        for text in at_once {
            assert!(!passes(text, 0), "{text}");
        }
    }

    #[test]
    fn what_shapes_lets_time_pass() {
        for text in [
            "netem delay 1us",
            "netem rate 1mbit",
            "netem delay 10ms 5ms",
            "cake bandwidth 1mbit",
            "tbf rate 1mbit burst 3000 limit 150kb",
            "tbf rate 1mbit burst 3000 limit 150kb",
        ] {
            assert!(passes(text, 0), "{text}");
        }
    }

    /// tc-netem(8) has an example like this: most packets wait.
    #[test]
    fn a_few_that_do_not_wait_come_to_an_end() {
        assert!(passes("netem delay 10ms reorder 25% 50%", 0));
        assert!(!passes("netem delay 10ms reorder 90%", 0));
        assert!(!passes("netem delay 10ms reorder 25% 99%", 0));
        // A quarter, and nearly half, of the drawn delays are negative.
        assert!(passes("netem delay 10ms 20ms", 0));
        assert!(!passes("netem delay 1ms 20ms", 0));
        assert!(passes("netem delay 10ms 20ms distribution normal", 0));
        assert!(!passes("netem delay 1ms 20ms distribution normal", 0));
    }

    #[test]
    fn a_rate_counts_only_if_the_shortest_packet_takes_a_nanosecond() {
        assert!(passes("netem rate 300gbit", 0));
        assert!(!passes("netem rate 400gbit", 0));
        assert!(!passes("netem rate 300gbit -28", 0));
        assert!(passes("tbf rate 300gbit burst 10mb limit 10mb", 0));
        assert!(!passes("tbf rate 400gbit burst 10mb limit 10mb", 0));
    }

    #[test]
    fn only_the_class_that_is_shaped_waits() {
        let prio = "root handle 1: prio; parent 1:2 netem delay 1ms";
        assert!(passes(prio, 0));
        assert!(!passes(prio, 0x10));
        let htb = "root handle 1: htb; class add parent 1: classid 1:1 htb rate 1mbit; \
                   filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:1";
        assert!(passes(htb, 0xb8));
        assert!(!passes(htb, 0), "unclassified packets are not shaped");
        let with_default =
            "root handle 1: htb default 1; class add parent 1: classid 1:1 htb rate 1mbit";
        assert!(passes(with_default, 0));
    }
}
