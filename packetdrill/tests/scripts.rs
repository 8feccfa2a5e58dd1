//! Every script in `scripts`, and what is known to differ.

use dumbbell_packetdrill::{Options, Verdict, check};
use std::fs;
use std::path::Path;

fn scripts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pkt"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}

/// Stricter than packetdrill: packets are on time, however long the pause before them.
fn strict() -> Options {
    Options {
        tolerance_percent: 0.0,
        ..Options::default()
    }
}

/// Stricter still: nothing may be sent that the script does not expect.
fn run(text: &str) -> Verdict {
    let options = Options {
        is_exact: true,
        ..strict()
    };
    check(text, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The first lines name the source of what is required.
fn names_its_source(text: &str) -> bool {
    let comment = text.lines().take_while(|line| line.starts_with("// "));
    let comment: String = comment.collect();
    comment.contains("RFC") || comment.contains("Linux")
}

#[test]
fn every_script_passes() {
    let scripts = scripts("scripts");
    assert!(scripts.len() >= 56, "{} scripts", scripts.len());
    for (name, text) in scripts {
        assert!(names_its_source(&text), "{name}");
        assert_eq!(run(&text), Verdict::Passed, "{name}");
    }
}

/// Bursts: sk_buffs of several segments.
#[test]
fn every_script_of_bursts_passes() {
    let scripts = scripts("scripts/bursts");
    assert!(scripts.len() >= 12, "{} scripts", scripts.len());
    for (name, text) in scripts {
        assert!(names_its_source(&text), "{name}");
        assert!(text.contains("gso_max_segs 65535"), "{name}");
        assert_eq!(run(&text), Verdict::Passed, "{name}");
    }
}

/// The shortest form of what random scripts have found, and was mended since.
#[test]
fn what_was_found_by_chance_passes() {
    let scripts = scripts("scripts/found");
    assert!(scripts.len() >= 12, "{} scripts", scripts.len());
    for (name, text) in scripts {
        assert!(names_its_source(&text), "{name}");
        let lines = text.lines().count();
        assert!(lines <= 100, "{name}: {lines} lines");
        assert_eq!(check(&text, &strict()), Ok(Verdict::Passed), "{name}");
    }
}

/// When one of these begins to pass, it belongs to the others, and docs/packetdrill.md is to be
/// changed.
#[test]
fn what_is_known_to_differ_still_does() {
    let scripts = scripts("scripts/known-to-differ");
    assert_eq!(scripts.len(), 2);
    for (name, text) in scripts {
        assert!(names_its_source(&text), "{name}");
        let verdict = run(&text);
        assert!(matches!(verdict, Verdict::Failed(_)), "{name}: {verdict:?}");
    }
}

const HANDSHAKE: &str = "`sysctl -q net.ipv4.tcp_timestamps=0`\n\
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 bind(3, ..., ...) = 0\n\
    +0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n\
    +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>\n\
    +.1 < . 1:1(0) ack 1 win 511\n\
    +0 accept(3, ..., ...) = 4\n\
    +0 write(4, ..., 1000) = 1000\n";

/// A test that cannot fail is none: each of these says something that does not happen.
#[test]
fn a_wrong_script_fails() {
    let verdict = |rest: &str| run(&format!("{HANDSHAKE}{rest}"));
    assert_eq!(verdict("+0 > P. 1:1001(1000) ack 1"), Verdict::Passed);
    for wrong in [
        "",
        "+0 > . 1:1001(1000) ack 1",
        "+0 > P. 1:1000(999) ack 1",
        "+0 > P. 1:1001(1000) ack 2",
        "+0 > P. 1:1001(1000) ack 1 win 7",
        "+0 > [ect0] P. 1:1001(1000) ack 1",
        "+0 > P. 1:1001(1000) ack 1 <sack 1:2>",
        "+0 > P. 1:1001(1000) ack 1 <nop,nop,TS val 1 ecr 0>",
        "+.1 > P. 1:1001(1000) ack 1",
        "+.02~+.1 > P. 1:1001(1000) ack 1",
        "+0 > P. 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1",
        "+0 > P. 1:1001(1000) ack 1\n+0 %{ assert tcpi_snd_cwnd == 11 }%",
        "+0 > P. 1:1001(1000) ack 1\n+0 %{ assert tcpi_snd_cwnd / 0 == 1 }%",
        "+0 > P. 1:1001(1000) ack 1\n+0 read(4, ..., 1) = 0",
        "+0 > P. 1:1001(1000) ack 1\n+0...0.1 read(4, ..., 1) = 1",
        "+0 > P. 1:1001(1000) ack 1\n+0 close(5) = 0",
        "+0 > P. 1:1001(1000) ack 1\n+0 getsockopt(4, SOL_TCP, TCP_MAXSEG, [900], [4]) = 0",
        "+0 > P. 1:1001(1000) ack 1\n+0 ioctl(4, SIOCOUTQ, [9]) = 0",
        "+0 > P. 1:1001(1000) ack 1\n+0 ioctl(4, SIOCINQ, [9]) = 0",
    ] {
        let verdict = verdict(wrong);
        assert!(
            matches!(verdict, Verdict::Failed(_)),
            "{wrong}: {verdict:?}"
        );
    }
}

/// What packetdrill would not notice, this does not either unless it is told to.
#[test]
fn what_nobody_expects_is_left() {
    let verdict = check(HANDSHAKE, &Options::default()).unwrap();
    assert_eq!(verdict, Verdict::Passed);
}

#[test]
fn what_is_missing_is_named() {
    for (line, name) in [
        ("+0 write(4, ..., 9) = 9\n+0 open(...) = 5", "open"),
        (
            "+0 send(4, ..., 9, MSG_EOR|MSG_MORE) = 9",
            "MSG_MORE with MSG_EOR",
        ),
        (
            "+0 setsockopt(3, SOL_TCP, TCP_USER_TIMEOUT, [9], 4) = 0",
            "TCP_USER_TIMEOUT before a connection",
        ),
        (
            "+0 < S 0:0(0) win 1 <mss 1000,md5 abcd1234,nop,nop>",
            "TCP MD5",
        ),
        ("+0 < icmp time_exceeded [1:1461(1460)]", "icmp packets"),
        ("+0 < P. 1:2(1) ack 1 win 1 urg 1", "urgent data"),
        (
            "+0 %{ assert tcpi_rwnd_limited == 0 }%",
            "tcpi_rwnd_limited",
        ),
        ("+0 %{ import os }%", "Python other than assertions"),
        ("+0 `touch /tmp/here`", "shell line `touch /tmp/here`"),
        ("+0 `sysctl -q net.ipv4.tcp_frto=0`", "tcp_frto=0"),
    ] {
        let Verdict::Unsupported(missing) = run(&format!("{HANDSHAKE}{line}")) else {
            panic!("{line}");
        };
        assert_eq!(missing.missing, [name], "{line}");
        assert_eq!(missing.line, 10 + line.matches('\n').count() as u32);
    }
}

#[test]
fn the_first_difference_is_shown_as_tcpdump_would() {
    let wrong = format!("{HANDSHAKE}  +0 > P. 1:1001(1000) ack 1 <nop,nop,sack 3:4>");
    let Verdict::Failed(failure) = run(&wrong) else {
        panic!("it passes");
    };
    assert_eq!((failure.line, failure.column), (10, 3));
    let shown = serde_json::to_value(&failure.difference).unwrap();
    assert_eq!(
        shown["expected"],
        "0.100001 > P. 1:1001(1000) ack 1 <nop,nop,sack 3:4>"
    );
    assert_eq!(shown["found"], "0.100001 > P. 1:1001(1000) ack 1 win 502");
}
