//! Against the tc(8) and the kernel of this machine, in a network namespace of its own.
//!
//! Needs root, `unshare`, iproute2, and the kernel's sch_fifo and sch_tbf; others are often
//! missing from kernels of virtual machines, so rates are read back from tbf, and of most
//! disciplines only what tc understands is compared.
//! `cargo test -p dumbbell-tc --test installed_tc -- --ignored`. Where it cannot be asked, a line
//! says so; in continuous integration that is a failure.

use dumbbell_tc::qdisc::Attachment;
use dumbbell_tc::units::in_tc;
use dumbbell_tc::{Qdisc, format_rate, format_size, parse_police, parse_qdisc};
use std::io::Write;
use std::process::Command;

/// Whether this user may make a network namespace and run `tc` in it.
///
/// # Panics
///
/// When not, in continuous integration.
fn can_ask_tc() -> bool {
    let answer = Command::new("unshare")
        .args(["-n", "tc", "qdisc", "show"])
        .output();
    let can = answer.is_ok_and(|output| output.status.success());
    if !can {
        let why = "SKIPPED: tc cannot be asked in a namespace: it takes root and iproute2\n";
        assert!(std::env::var_os("CI").is_none(), "{why}");
        // Not by a macro, whose output the test's harness keeps to itself.
        std::io::stderr().write_all(why.as_bytes()).unwrap();
    }
    can
}

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
    if !can_ask_tc() {
        return;
    }
    let texts = "pfifo|pfifo limit 50|pfifo limit 4294967295|bfifo limit 51200|bfifo limit 10kb|\
                 bfifo limit 10K|bfifo limit 1.1kb|bfifo limit 2mb|bfifo limit 1m|bfifo limit 1gb|\
                 bfifo limit 1kbit|bfifo limit 1mbit|bfifo limit 1gbit|bfifo limit 512B|\
                 bfifo limit .5kb|bfifo limit 5.kb|bfifo limit +5kb|bfifo limit 1e3|\
                 bfifo limit 0x100b|bfifo limit 0x100kb|bfifo limit 5kb limit 6kb|\
                 pfifo limit 0100|pfifo limit 0x10|pfifo limit 1.5|pfifo limit 100kb|\
                 pfifo limit 1e3 limit +7";
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
        "bfifo limit -0.5",
        "bfifo limit nan",
        "pfifo limit 1000p",
        "pfifo li 5",
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
    if !can_ask_tc() {
        return;
    }
    let bytes_per_second = |rate: &str| {
        options(&format!("tbf rate {rate} burst 100mb latency 1s")).expect(rate)["rate"].clone()
    };
    for unit in dumbbell_tc::units::RATE_UNITS {
        for number in ["1000", "33.3333"] {
            let text = format!("{number}{}", unit.name);
            let bps = in_tc::parse_rate_bps(&text).unwrap();
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
        in_tc::parse_rate_bps("64000").unwrap() / 8
    );
    for unit in dumbbell_tc::units::SIZE_UNITS {
        let text = format!("1.75{}", unit.name);
        let bytes = in_tc::parse_size_bytes(&text).unwrap();
        assert_eq!(
            options(&format!("bfifo limit {text}")).expect(&text)["limit"],
            bytes
        );
        let written = format_size(bytes.into());
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
    if !can_ask_tc() {
        return;
    }
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
        "netem duplicate 1% 30% loss random 0.0000001% 0% rate 1mbit 0 0 7",
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

/// Whether tc makes a message to the kernel of its arguments; what the kernel answers, which may
/// lack the discipline, does not matter. tc ends with 2 when the kernel refuses, with another
/// number when it does not understand.
fn tc_reads(arguments: &str) -> bool {
    let output = Command::new("unshare")
        .args(["-n", "tc"])
        .args(arguments.split_ascii_whitespace())
        .output()
        .unwrap();
    matches!(output.status.code(), Some(0 | 2))
}

fn tc_reads_qdisc(words: &str) -> bool {
    tc_reads(&format!("qdisc add dev lo root {words}"))
}

#[test]
#[ignore = "needs root and tc"]
fn long_tc_reads_what_we_read_and_what_we_write() {
    if !can_ask_tc() {
        return;
    }
    for text in [
        "tbf rate 1mbit buffer 10kb latency 50ms peakrate 2mbit minburst 1514",
        "tbf rate 1mbit maxburst 10kb limit 10kb mtu 1514",
        "prio",
        "prio bands 4 priomap 0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3",
        "htb",
        "htb default 1f r2q 5 direct_qlen 10",
        "codel",
        "codel limit 100 target 5ms interval 100ms ecn ce_threshold 3ms",
        "codel target 5000 interval 20000 noecn",
        "fq_codel",
        "fq_codel limit 100 flows 64 quantum 300 target 1ms interval 10ms noecn ce_threshold 2ms \
         memory_limit 1mb drop_batch 8",
        "pie",
        "pie limit 100 target 20ms tupdate 30ms alpha 2 beta 20 ecn bytemode dq_rate_estimator",
        "pie noecn nobytemode no_dq_rate_estimator",
        "red limit 400000 avpkt 1000",
        "red limit 60kb min 5kb max 15kb avpkt 600 burst 15 probability 0.1 bandwidth 1mbit ecn \
         harddrop adaptive",
        "red limit 60kb min 5kb max 15kb avpkt 600 burst 15 ecn nodrop adaptative",
        "pfifo_fast",
        "codel limit 0100 limit 0x10 target 2.01ms interval 0x10ms target +5ms",
        "fq_codel flows 010 quantum 0400 drop_batch +5 noecn ecn",
        "prio priomap 2 bands 5 4",
        "prio bands 010",
        "htb def 1F r2 010 dir 0",
        "netem l 5 d 10us 0x10us r 1% g 010 ra 1mbit 010 -5 dup 1% 0% loss 0% 5% loss 2%",
        "tbf rate 1mbit bu 5kb la 0x10ms",
        "red limit 60kb avpkt 0x258 min 9000 max 9000 burst 020 limit 50kb",
    ] {
        assert!(tc_reads_qdisc(text), "{text}");
        let written = parse_qdisc(text).unwrap().to_string();
        assert!(tc_reads_qdisc(&written), "{written}");
    }
}

#[test]
#[ignore = "needs root and tc"]
fn long_tc_refuses_with_us() {
    if !can_ask_tc() {
        return;
    }
    for text in [
        "prio bands 3 priomap 0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3",
        "prio quantum 5",
        "htb default 1:20",
        "htb limit 5",
        "codel target",
        "codel quantum 5",
        "codel target 5xs",
        "codel limit 1kb",
        "codel limit 09",
        "codel limit 1e3",
        "codel lim 5",
        "codel target 5ns",
        "netem delay 5ns",
        "netem delay 275s",
        "netem loss 1% loss 2%",
        "netem loss +1%",
        "prio priomap 1 priomap 1",
        "prio priomap 0 3 bands 5",
        "fq_codel quantum 300b",
        "fq_codel memory_limit 1x",
        "fq_codel burst 5",
        "pie alpha 33",
        "pie beta 40",
        "pie tupdate",
        "red avpkt 1000",
        "red limit 400000",
        "red limit 400000 avpkt 1000 min 20kb max 10kb",
        "red limit 400000 min 50000 max 100000 avpkt 1000 burst 20",
        "red limit 400000 avpkt 1000 interval 5ms",
        "pfifo_fast limit 5",
        "tbf rate 1mbit burst 10kb",
        "tbf rate 1mbit burst 10kb limit 10kb latency 5ms",
        "tbf rate 1mbit burst 10kb limit 10kb peakrate 2mbit",
        "tbf rate 1mbit limit 10kb",
        "tbf burst 10kb limit 10kb",
    ] {
        assert!(
            parse_qdisc(text).is_err() && !tc_reads_qdisc(text),
            "{text}"
        );
    }
    // Ours alone, as its table says.
    assert!(parse_qdisc("pie linux_3_14").is_ok() && !tc_reads_qdisc("pie linux_3_14"));
}

/// Line by line: a class or a child of what this kernel lacks is read all the same.
#[test]
#[ignore = "needs root and tc"]
fn long_tc_reads_every_line_of_a_tree() {
    if !can_ask_tc() {
        return;
    }
    for text in [
        "root handle 1: tbf rate 1mbit burst 10kb limit 10kb; parent 1:1 handle 10: pie target 20ms",
        "root handle 1: prio bands 4; filter add parent 1: protocol ip prio 1 u32 match ip dsfield \
         0x10 0xfc flowid 1:4; filter add parent 1: prio 2 matchall flowid 1:2; \
         parent 1:4 red limit 400000 avpkt 1000; parent 1:1 codel",
        "root handle 1: htb default 20; class add parent 1: classid 1:1 htb rate 2mbit; \
         class add parent 1:1 classid 1:10 htb rate 1mbit ceil 2mbit burst 10kb cburst 2kb prio 1 \
         quantum 1514; class add parent 1:1 classid 1:20 htb rate 500kbit mtu 1600; \
         filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10; \
         parent 1:10 fq_codel; parent 1:20 handle 5: prio; parent 5:2 netem delay 10ms",
    ] {
        let attachment = Attachment {
            device: Some("lo"),
            ..Attachment::default()
        };
        let lines = parse_qdisc(text).unwrap().lines(&attachment);
        assert!(lines.len() > 1);
        for line in lines {
            assert!(tc_reads(&line), "{line}");
            assert!(!tc_reads(&format!("{line} no_such_word")), "{line}");
        }
    }
}

#[test]
#[ignore = "needs root and tc"]
fn long_tc_reads_our_policers() {
    if !can_ask_tc() {
        return;
    }
    let tc_reads_action = |words: &str| {
        let words = words.strip_prefix("police ").unwrap_or(words);
        tc_reads(&format!(
            "filter add dev lo egress matchall action police {words}"
        ))
    };
    for text in [
        "police rate 1mbit burst 10kb drop",
        "police rate 1mbit buffer 10kb minburst 2kb shot",
        "rate 1mbit maxburst 10kb peakrate 2mbit mtu 2kb drop",
    ] {
        assert!(tc_reads_action(text), "{text}");
        let written = parse_police(text).unwrap().to_string();
        assert!(tc_reads_action(&written), "{written}");
    }
    for text in [
        "police rate 1mbit burst 10kb peakrate 2mbit drop",
        "police rate 1mbit drop",
        "police burst 10kb drop",
        "police rate 1mbit burst 10kb dorp",
        "police rate 1xbit burst 10kb drop",
        "police rate 1mbit burst 10kb mtu 2kb minburst 2kb drop",
    ] {
        assert!(
            parse_police(text).is_err() && !tc_reads_action(text),
            "{text}"
        );
    }
    // tc's own default for what exceeds the rate is another verdict, which we have not.
    let unsaid = "police rate 1mbit burst 10kb";
    assert!(parse_police(unsaid).is_err() && tc_reads_action(unsaid));
}
