//! TCP, segment by segment: every script in `scripts`.

mod packetdrill;

use dumbbell_engine::spec::Tcp;
use std::fs;
use std::path::Path;

#[test]
fn every_script_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pkt"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 40, "{} scripts", paths.len());
    let mut failures = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !text.starts_with("// ") || !text.contains("section") {
            failures.push(format!(
                "{name}: the first line names its source and section"
            ));
        }
        if let Err(error) = packetdrill::run(&text, Tcp::linux("reno")) {
            failures.push(format!("{name}: {error}"));
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// A test that cannot fail is none: each of these says something that does not happen.
#[test]
fn a_wrong_script_fails() {
    let handshake = "0 connect(3, ..., ...) = -1\n+0 > S 0:0(0)\n\
        +.1 < S. 0:0(0) ack 1 win 65535 <mss 1000>\n+0 > . 1:1(0) ack 1\n\
        +0 write(3, ..., 1000) = 1000\n";
    let run = |rest: &str| {
        let text = format!("`sysctl -q net.ipv4.tcp_timestamps=0`\n{handshake}{rest}");
        packetdrill::run(&text, Tcp::linux("reno"))
    };
    assert_eq!(run("+0 > P. 1:1001(1000) ack 1"), Ok(()));
    for wrong in [
        "",
        "+0 > . 1:1001(1000) ack 1",
        "+0 > P. 1:1000(999) ack 1",
        "+0 > P. 1:1001(1000) ack 2",
        "+0 > P. 1:1001(1000) ack 1 <sack 1:2>",
        "+.1 > P. 1:1001(1000) ack 1",
        "+0 > P. 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1",
        "+0 > P. 1:1001(1000) ack 1\n+0 %{ assert tcpi_snd_cwnd == 11 }%",
    ] {
        assert!(run(wrong).is_err(), "{wrong}");
    }
}
