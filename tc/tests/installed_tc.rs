//! Against the tc(8) and the kernel of this machine, in a network namespace of its own.
//!
//! Needs root, `unshare`, iproute2, and the kernel's sch_fifo and sch_tbf; netem is often
//! missing from kernels of virtual machines, so rates are read back from tbf.
//! `cargo test -p dumbbell-tc --test installed_tc -- --ignored`

use dumbbell_tc::units::{parse_rate_bps_in_tc, parse_size_bytes_in_tc};
use dumbbell_tc::{Qdisc, format_rate, format_size, parse_qdisc};
use std::process::Command;

/// The options, as JSON, that the kernel holds after `tc qdisc add dev lo root TEXT`;
/// `None` if tc refuses the text.
fn options(text: &str) -> Option<serde_json::Value> {
    let script = format!("tc qdisc add dev lo root {text} && tc -j qdisc show dev lo");
    let output = Command::new("unshare")
        .args(["-n", "sh", "-c", &script])
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(shown[0]["options"].clone())
}

#[test]
#[ignore = "needs root and tc"]
fn long_fifos_have_the_limits_tc_sets() {
    let texts = "pfifo|pfifo limit 50|pfifo limit 4294967295|bfifo limit 51200|bfifo limit 10kb|\
                 bfifo limit 10K|bfifo limit 1.1kb|bfifo limit 2mb|bfifo limit 1m|bfifo limit 1gb|\
                 bfifo limit 1kbit|bfifo limit 1mbit|bfifo limit 1gbit|bfifo limit 512B|\
                 bfifo limit .5kb|bfifo limit 5.kb|bfifo limit +5kb|bfifo limit 1e3";
    for text in texts.split('|') {
        let ours = match parse_qdisc(text).unwrap() {
            Qdisc::Pfifo(pfifo) => pfifo.limit_packets,
            Qdisc::Bfifo(bfifo) => bfifo.limit_bytes,
            other => panic!("{other}"),
        };
        assert_eq!(options(text).expect(text)["limit"], ours, "{text}");
    }
    // The loopback's own psched_mtu: 1000 packets of 65536 bytes and the header's 14.
    assert_eq!(options("bfifo").unwrap()["limit"], 1000 * (65_536 + 14));
    for text in [
        "bfifo limit 4gb",
        "bfifo limit 10xb",
        "pfifo size 5",
        "bfifo limit",
    ] {
        assert!(
            parse_qdisc(text).is_err() && options(text).is_none(),
            "{text}"
        );
    }
}

#[test]
#[ignore = "needs root and tc"]
fn long_every_unit_means_what_tc_means() {
    let bytes_per_second = |rate: &str| {
        options(&format!("tbf rate {rate} burst 100mb latency 1s")).expect(rate)["rate"].clone()
    };
    for unit in dumbbell_tc::units::RATE_UNITS {
        for number in ["1000", "33.3333"] {
            let text = format!("{number}{}", unit.name);
            let bps = parse_rate_bps_in_tc(&text).unwrap();
            assert_eq!(bytes_per_second(&text), bps / 8, "{text}");
            // And what we write for it.
            assert_eq!(
                bytes_per_second(&format_rate(bps / 8 * 8)),
                bps / 8,
                "{text}"
            );
        }
    }
    assert_eq!(
        bytes_per_second("64000"),
        parse_rate_bps_in_tc("64000").unwrap() / 8
    );
    for unit in dumbbell_tc::units::SIZE_UNITS {
        let text = format!("1.75{}", unit.name);
        let bytes = parse_size_bytes_in_tc(&text).unwrap();
        assert_eq!(
            options(&format!("bfifo limit {text}")).expect(&text)["limit"],
            bytes
        );
        let written = format_size(bytes);
        assert_eq!(
            options(&format!("bfifo limit {written}")).expect(&text)["limit"],
            bytes
        );
    }
}

/// tc reads the text; that this kernel may not have netem comes after.
#[test]
#[ignore = "needs root and tc"]
fn long_tc_reads_what_is_written_for_netem() {
    let reads = |text: &str| {
        let script = format!("tc qdisc add dev lo root {text}");
        let output = Command::new("unshare")
            .args(["-n", "sh", "-c", &script])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success() || said.contains("Specified qdisc kind is unknown")
    };
    for text in [
        "netem",
        "netem delay 10ms 2ms 25% distribution normal loss 1% 25% ecn duplicate 1% 30%",
        "netem delay 10ms 2ms distribution pareto loss state 1% 20% 5% 50% 0.1%",
        "netem delay 10ms 2ms distribution paretonormal loss gemodel 1% 10% 70% 0.1%",
        "netem delay 10ms reorder 25% 50% gap 5 rate 1mbit -14 48 5",
        "netem duplicate 1% 30% loss random 0.0000001% rate 1mbit 0 0 7",
        "netem delay 0ms 1ms",
    ] {
        assert!(reads(text), "{text}");
        let written = parse_qdisc(text).unwrap().to_string();
        assert!(reads(&written), "{written}");
    }
    for text in [
        "netem reorder 25%",
        "netem delay 1ms gap 5",
        "netem ecn",
        "netem ecn loss 0%",
        "netem delay 10ms distribution normal",
        "netem delay 1ms 1ms distribution uniform",
        "netem loss 100.1%",
        "netem loss burst 5%",
        "netem delay 1ms 1ms 5% 5%",
    ] {
        assert!(parse_qdisc(text).is_err() && !reads(text), "{text}");
    }
}
