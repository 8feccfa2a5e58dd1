//! Words and numbers, by the man page and by what the kernel's own tests of tc expect
//! (tools/testing/selftests/tc-testing, dualpi2).

use super::super::{Qdisc, parse};
use super::*;

fn dualpi2(words: &str) -> Dualpi2 {
    match parse(&format!("dualpi2 {words}")) {
        Ok(Qdisc::Dualpi2(config)) => config,
        other => panic!("{words}: {other:?}"),
    }
}

fn text(words: &str) -> String {
    dualpi2(words).options(Device { mtu_bytes: 1500 }).text
}

#[test]
fn round_trips_give_the_numbers_that_the_kernel_shows() {
    for (words, expected) in [
        (
            "typical_rtt 20ms max_rtt 200ms",
            "target 20ms tupdate 20ms alpha 0.042969 beta 1.496094",
        ),
        (
            "max_rtt 300ms",
            "target 50ms tupdate 50ms alpha 0.050781 beta 0.996094",
        ),
    ] {
        let shown = text(words);
        assert!(shown.contains(expected), "{words}: {shown}");
    }
    // RFC 9332 appendix A.1: 0.16 and 3.2 Hz follow from 16 ms and 100 ms.
    let config = dualpi2("typical_rtt 16ms max_rtt 100ms");
    assert_eq!((config.alpha, config.beta), (40, 768));
    assert_eq!((dualpi2("alpha 0.16").alpha, dualpi2("").alpha), (40, 41));
}

#[test]
fn words_have_the_form_of_tc() {
    for (words, expected) in [
        (
            "",
            "step_thresh 1ms min_qlen_step 0p coupling_factor 2 drop_on_overload drop_dequeue \
             classic_protection 10% l4s_ect split_gso ",
        ),
        (
            "",
            "limit 10000p memlimit 30280000B target 15ms tupdate 16ms ",
        ),
        ("memlimit 20000000", "memlimit 20000000B "),
        ("any_ect overflow drop_enqueue", "overflow drop_enqueue "),
        ("any_ect", " any_ect "),
        ("no_split_gso", " no_split_gso "),
        ("step_thresh 3p", " step_thresh 3p "),
        (
            "step_thresh 3packets step_thresh 500",
            " step_thresh 500us ",
        ),
        ("min_qlen_step 1", " min_qlen_step 1p "),
        ("classic_protection 0", " classic_protection 0% "),
    ] {
        let shown = text(words);
        assert!(shown.contains(expected), "{words}: {shown}");
    }
}

#[test]
fn what_tc_ignores_or_refuses_is_refused() {
    for words in [
        "limit 0",
        "step_thresh 0",
        "step_thresh 0p",
        "step_thresh p",
        "max_rtt 100ms alpha 0.2",
        "typical_rtt 10ms target 5ms",
        "typical_rtt 30ms max_rtt 20ms",
        "typical_rtt 1000s",
        "max_rtt 100s",
        "max_rtt 1us",
        "alpha 0",
        "alpha 65536",
        "beta nan",
        "coupling_factor 256",
        "coupling_factor -1",
        "classic_protection 101%",
        "classic_protection 10.5%",
        "memlimit 10kb",
    ] {
        assert!(parse(&format!("dualpi2 {words}")).is_err(), "{words}");
    }
}
