//! The tc commands that configure a link end's queue on a router, as `dumbbell.spec.queue_lines`:
//! `htb` without burst credit for the rate, with the qdisc as its leaf, and `netem` at the far end.

use dumbbell_engine::spec::LinkEnd;
use dumbbell_tc::qdisc::Attachment;
use dumbbell_tc::{format_rate, format_time};

const QUEUE_HANDLE: u16 = 0x10;
const ETHERNET_BYTES: i64 = 14;
const LARGEST_PACKET_BYTES: u32 = 65_535;
const NEVER_DROPS: u64 = 1_000_000_000;
const NS_PER_US: u64 = 1000;

/// `tc` arguments for the queue's own interface.
pub fn at_the_queue(end: &LinkEnd, device: &str) -> Vec<String> {
    let stab = size_table(end);
    let mut lines = Vec::new();
    let attached = |parent, options| Attachment {
        device: Some(device),
        parent,
        handle: QUEUE_HANDLE,
        options,
    };
    if end.rate_bps == 0 {
        lines.extend(end.qdisc.lines(&attached(None, &stab)));
    } else {
        let root = format!("qdisc add dev {device} root handle 1:");
        lines.push(words(&[&root, &stab, "htb default 1"]));
        let rate = format_rate(end.rate_bps);
        lines.push(format!(
            "class add dev {device} parent 1: classid 1:1 htb rate {rate} ceil {rate} burst 1b \
             cburst 1b quantum {LARGEST_PACKET_BYTES}"
        ));
        lines.extend(end.qdisc.lines(&attached(Some("1:1"), "")));
    }
    if let Some(police) = &end.police {
        lines.push(format!("qdisc add dev {device} clsact"));
        let filter = format!("filter add dev {device} egress matchall");
        lines.push(format!("{filter} action {police}"));
    }
    lines
}

/// `tc` arguments for the interface at the far end; empty without delay, rate and loss.
pub fn at_the_far_end(end: &LinkEnd, device: &str) -> Vec<String> {
    let is_lost = |loss: Option<f64>| loss.is_some_and(|loss| loss > 0.0);
    let is_later = |change: &dumbbell_engine::spec::Change| {
        change.delay_ns.is_some_and(|delay| delay > 0) || is_lost(change.loss)
    };
    let is_delayed =
        end.rate_bps > 0 || end.delay_ns > 0 || end.loss > 0.0 || end.changes.iter().any(is_later);
    if !is_delayed {
        return Vec::new();
    }
    let root = format!("qdisc add dev ifb-{device} root handle 1:");
    vec![
        words(&[&root, &size_table(end), &netem(end)]),
        format!("qdisc add dev {device} clsact"),
        format!(
            "filter add dev {device} ingress matchall action mirred egress redirect dev ifb-{device}"
        ),
    ]
}

fn words(parts: &[&str]) -> String {
    let parts: Vec<_> = parts
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect();
    parts.join(" ")
}

fn size_table(end: &LinkEnd) -> String {
    match i64::from(end.overhead_bytes) - ETHERNET_BYTES {
        0 => String::new(),
        more => format!("stab overhead {more}"),
    }
}

fn netem(end: &LinkEnd) -> String {
    let mut text = format!("netem limit {NEVER_DROPS}");
    if end.delay_ns > 0 || !end.changes.is_empty() {
        let delay = format_time(end.delay_ns / NS_PER_US * NS_PER_US);
        text.push_str(&format!(" delay {delay}"));
    }
    if end.loss > 0.0 {
        let percent = (100.0 * end.loss * 1e10).round() / 1e10;
        text.push_str(&format!(" loss {percent}%"));
    }
    if end.rate_bps > 0 {
        text.push_str(&format!(" rate {}", format_rate(end.rate_bps)));
    }
    text
}
