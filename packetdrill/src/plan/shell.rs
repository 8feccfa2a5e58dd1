//! Shell lines, which are never run. Known commands become settings; the others are reported by
//! name.

use super::host_settings::{Ecn, HostSetting};
use crate::fast_open::{Flags, Key};
use dumbbell_spec::tcp::EcnOptionUse;
use dumbbell_tcp::cca::Algorithm;

/// Settings that the engine supports only at their default, with the values accepted.
const FIXED: [(&str, &[&str]); 6] = [
    ("tcp_reordering", &["3"]),
    ("tcp_frto", &["1", "2"]),
    ("tcp_dsack", &["1"]),
    ("tcp_pacing_ss_ratio", &["200"]),
    ("tcp_pacing_ca_ratio", &["120"]),
    ("tcp_mtu_probing", &["0"]),
];
/// Settings that have no effect here: sizes of TSO packets (segments are compared separately or
/// merged, as the script has them), the time for which Linux disables Fast Open behind a firewall
/// that drops it (Linux 6.1 does not), limits on retries that are not given up here.
const WITHOUT_EFFECT: [&str; 12] = [
    "tcp_fack",
    "tcp_tso_win_divisor",
    "tcp_tso_rtt_log",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_syncookies",
    "tcp_synack_retries",
    "tcp_retries1",
    "tcp_retries2",
    "tcp_no_metrics_save",
    "tcp_autocorking",
    "tcp_mem",
    "enabled",
];

/// Parameter that selects how HyStart makes CUBIC leave slow start.
const HYSTART_DETECT: &str = "/sys/module/tcp_cubic/parameters/hystart_detect";

/// Settings made by the lines. The error names an unknown command.
pub(super) fn settings(text: &str) -> Result<Vec<HostSetting>, String> {
    let joined = text.replace("\\\n", " ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let line = line.split('#').next().unwrap_or("");
        for command in line.split([';']).flat_map(|part| part.split("&&")) {
            // The command after || runs only if the first fails; known commands do not fail.
            let command = command.split("||").next().unwrap_or("");
            let words = command_words(command);
            if !words.is_empty() {
                found.extend(command_knobs(&words)?);
            }
        }
    }
    Ok(found)
}

/// Splits a command into words, without redirections. A quoted text remains one word.
fn command_words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in command.chars() {
        match letter {
            '"' | '\'' => is_quoted = !is_quoted,
            _ if letter.is_whitespace() && !is_quoted => words.push(String::new()),
            _ => words.last_mut().expect("one at least").push(letter),
        }
    }
    let mut kept = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word.as_str() {
            ">" | "&>" | "2>" | ">>" => match words.next() {
                Some(file) if file == HYSTART_DETECT => kept.push(file),
                _ => {}
            },
            _ if word.starts_with("2>") || word.starts_with(">/") || word.starts_with("&>/") => {}
            _ => kept.push(word),
        }
    }
    kept
}

fn command_knobs(words: &[String]) -> Result<Vec<HostSetting>, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let unknown = || {
        let line: String = words.join(" ").chars().take(60).collect();
        Err(format!("shell line `{line}`"))
    };
    let program = words[0].rsplit('/').next().unwrap_or("");
    match (program, &words[1..]) {
        ("defaults.sh", []) => Ok(vec![HostSetting::Defaults]),
        ("sysctl" | "set_sysctls.py", arguments) => {
            let mut found = Vec::new();
            for argument in arguments.iter().filter(|word| !word.starts_with('-')) {
                let Some((name, value)) = argument.split_once('=') else {
                    return unknown();
                };
                let name = name.rsplit(['.', '/']).next().unwrap_or("");
                found.extend(sysctl(name, value.trim())?);
            }
            Ok(found)
        }
        ("ip", ["tcp_metrics", "flush", ..]) => Ok(vec![HostSetting::ForgetMetrics]),
        ("ethtool", ["-K", ..]) | ("true", _) => Ok(Vec::new()),
        ("nstat", []) => Ok(vec![HostSetting::RestartCounters]),
        ("nstat", ["|", "grep", "TcpExtOutOfWindowIcmps"]) => {
            Ok(vec![HostSetting::ExpectIcmpOutOfWindow])
        }
        ("ip", ["link", "set", "dev", _, "gso_max_segs", segments]) => {
            match segments.parse().ok().filter(|n| (1..=65535).contains(n)) {
                Some(segments) => Ok(vec![HostSetting::GsoMaxSegs(segments)]),
                None => unknown(),
            }
        }
        ("ip", ["route", "add" | "change" | "replace", route @ ..]) => match route_knobs(route) {
            Some(found) => Ok(found),
            None => unknown(),
        },
        (
            "tc",
            [
                "qdisc",
                "add" | "change" | "replace",
                "dev",
                _,
                "root",
                "pfifo",
            ],
        ) => Ok(Vec::new()),
        ("dumbbell", own) => match own_knob(own) {
            Some(setting) => Ok(vec![setting]),
            None => unknown(),
        },
        // Packet train and delay, the default.
        ("echo", ["3", HYSTART_DETECT]) => Ok(Vec::new()),
        (name, []) if name.starts_with("sysctl_restore_") => Ok(Vec::new()),
        _ => unknown(),
    }
}

/// `initcwnd N` of a route; words that only select the route have no effect.
fn route_knobs(words: &[&str]) -> Option<Vec<HostSetting>> {
    let at = words.iter().position(|word| *word == "initcwnd");
    let known = |word: &&str| !matches!(*word, "mtu" | "ssthresh" | "rto_min" | "quickack");
    if !words.iter().all(known) {
        return None;
    }
    match at {
        Some(at) => {
            let pkts = words.get(at + 1)?.parse().ok().filter(|pkts| *pkts > 0)?;
            Some(vec![HostSetting::InitialWindow(pkts)])
        }
        None => None,
    }
}

/// Commands of this project, for settings that packetdrill cannot express.
fn own_knob(words: &[&str]) -> Option<HostSetting> {
    Some(match words {
        ["profile", "rfc"] => HostSetting::ProfileRfc,
        ["host-queue", "keeps"] => HostSetting::HostQueueKeeps,
        ["host-queue", "loses", pkts] => HostSetting::HostQueueLoses(pkts.parse().ok()?),
        ["application", "reads"] => HostSetting::ApplicationReads(true),
        ["application", "rests"] => HostSetting::ApplicationReads(false),
        _ => return None,
    })
}

fn sysctl(name: &str, value: &str) -> Result<Option<HostSetting>, String> {
    let unsupported = || Err(format!("{name}={value}"));
    if WITHOUT_EFFECT.contains(&name) {
        return Ok(None);
    }
    if let Some((_, allowed)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
        return match allowed.contains(&value) {
            true => Ok(None),
            false => unsupported(),
        };
    }
    let on = value != "0";
    Ok(Some(match (name, value) {
        ("tcp_sack", _) => HostSetting::Sack(on),
        ("tcp_recovery", "0" | "1") => HostSetting::Rack(on),
        ("tcp_early_retrans", "0" | "3" | "4") => HostSetting::Probes(on),
        ("tcp_timestamps", "0" | "1" | "2") => HostSetting::Timestamps(on),
        ("tcp_ecn", "0") => HostSetting::Ecn(Ecn::Off),
        ("tcp_ecn", "1") => HostSetting::Ecn(Ecn::On),
        ("tcp_ecn", "2") => HostSetting::Ecn(Ecn::Passive),
        ("tcp_ecn", "3") => HostSetting::Ecn(Ecn::Accurate),
        ("tcp_ecn_option", value) => {
            let number = number(value).and_then(|number| usize::try_from(number).ok());
            match number.and_then(|number| EcnOptionUse::ALL.get(number)) {
                Some(used) => HostSetting::EcnOption(*used),
                None => return unsupported(),
            }
        }
        ("tcp_ecn_option_beacon", times) => match number(times).filter(|times| *times <= 3) {
            Some(times) => HostSetting::EcnOptionBeacon(times),
            None => return unsupported(),
        },
        ("tcp_slow_start_after_idle", _) => HostSetting::RestartsAfterIdle(on),
        ("tcp_window_scaling", _) => HostSetting::WindowScaling(on),
        ("tcp_congestion_control", name) => match Algorithm::named(name) {
            Some(algorithm) => HostSetting::CongestionControl(algorithm),
            None => return unsupported(),
        },
        ("tcp_fastopen", bits) => match number(bits) {
            Some(bits) => HostSetting::FastOpen(Flags(bits)),
            None => return unsupported(),
        },
        ("tcp_fastopen_key", text) => match Key::parse(text) {
            Some(key) => HostSetting::FastOpenKey(key),
            None => return unsupported(),
        },
        // Older kernels store cookies separately from other metrics; here none are kept.
        ("tcp_fastopen_cookies", _) => HostSetting::ForgetMetrics,
        ("tcp_syn_retries", times) => match number(times).filter(|times| *times <= 127) {
            Some(times) => HostSetting::SynRetries(times),
            None => return unsupported(),
        },
        ("tcp_notsent_lowat", "-1") => HostSetting::MostUnsent(u32::MAX),
        ("tcp_notsent_lowat", bytes) => match number(bytes) {
            Some(bytes) => HostSetting::MostUnsent(bytes),
            None => return unsupported(),
        },
        ("tcp_min_tso_segs", pkts) => match number(pkts).filter(|pkts| *pkts > 0) {
            Some(pkts) => HostSetting::LeastBurst(pkts),
            None => return unsupported(),
        },
        ("tcp_rmem", sizes) => match size(sizes, 2) {
            Some(bytes) => HostSetting::ReceiveMemory(bytes),
            None => return unsupported(),
        },
        ("tcp_wmem", sizes) => match size(sizes, 1) {
            Some(bytes) => HostSetting::SendMemory(bytes),
            None => return unsupported(),
        },
        _ => return unsupported(),
    }))
}

/// A decimal number, or hexadecimal with 0x.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// One of the three values of a buffer setting.
fn size(sizes: &str, index: usize) -> Option<u64> {
    sizes.split_whitespace().nth(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_sets_something() {
        let text = "../common/defaults.sh\n../common/set_sysctls.py \\\n \
            /proc/sys/net/ipv4/tcp_timestamps=0 /proc/sys/net/ipv4/tcp_wmem=\"4096 50000 4194304\"";
        let expected = [
            HostSetting::Defaults,
            HostSetting::Timestamps(false),
            HostSetting::SendMemory(50_000),
        ];
        assert_eq!(settings(text).unwrap(), expected);
        assert_eq!(
            settings("ip tcp_metrics flush all > /dev/null 2>&1"),
            Ok(vec![HostSetting::ForgetMetrics])
        );
    }

    #[test]
    fn what_is_not_is_named() {
        assert_eq!(settings("rm -rf /"), Err("shell line `rm -rf /`".into()));
        assert_eq!(
            settings("sysctl -q net.ipv4.tcp_frto=0"),
            Err("tcp_frto=0".into())
        );
        let limited = "tc qdisc add dev tun0 root pfifo limit 0";
        assert_eq!(settings(limited), Err(format!("shell line `{limited}`")));
    }
}
