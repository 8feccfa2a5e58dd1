//! Keys of `[home]`, a home access line. It is no part of the resolved description: the front end replaces
//! it by links, flows and probes.

use crate::key::{Key, Listed, Presence, Value, Within, listed};
use serde_json::{Value as Json, json};

/// Kinds of lines; the front end knows their overheads.
const TECHNOLOGIES: &[&str] = &[
    "adsl-pppoe",
    "adsl-pppoa",
    "adsl-bridged",
    "vdsl-pppoe",
    "vdsl-bridged",
    "cable",
    "ethernet",
];
const USES: &[&str] = &["call", "game", "download", "backup"];
const USUAL_USES: &[&str] = &["call", "download", "backup"];

const RATE: Value = Value::RateWithin(Within {
    least: 8_000,
    most: 1_000_000_000,
    range: "8kbit to 1gbit",
    examples: &["50mbit"],
});
const ROUND_TRIP: Value = Value::TimeWithin(Within {
    least: 100_000,
    most: 10_000_000_000,
    range: "100us to 10s",
    examples: &["20ms"],
});
/// At least two full packets.
const BUFFER: Value = Value::Bytes(Within {
    least: 3000,
    most: 1 << 30,
    range: "3000 bytes to 1 GiB",
    examples: &["256kb"],
});
/// One of the most common sizes found by Netalyzr (C. Kreibich et al., "Netalyzr: illuminating the edge
/// network", IMC 2010).
const BUFFER_BYTES: u64 = 256 * 1024;

const fn key(name: &'static str, value: Value, presence: Presence, meaning: &'static str) -> Key {
    Key::new(name, value, meaning).or(presence)
}

/// The keys, in the order of a file, with their resolved defaults.
pub(crate) fn keys() -> Vec<Listed<Key>> {
    use Presence::{Always, OrDefault, OrNull};
    let pairs: [(Key, Json); 11] = [
        (
            key(
                "down",
                RATE,
                Always,
                "Rate to the home, as the modem shows it.",
            ),
            Json::Null,
        ),
        (key("up", RATE, Always, "Rate from the home."), Json::Null),
        (
            key(
                "rtt",
                ROUND_TRIP,
                OrDefault,
                "Round-trip time to the server while the line is idle.",
            ),
            json!(20_000_000_u64),
        ),
        (
            key(
                "technology",
                Value::Words(TECHNOLOGIES),
                OrDefault,
                "Kind of line, which determines the [bytes of a packet on the \
                 line](home-lines.md#bytes-of-a-packet-on-the-line).",
            ),
            json!("ethernet"),
        ),
        (
            key(
                "provider",
                Value::Words(&["shaper", "policer"]),
                OrDefault,
                "Treatment of packets above the rate `down`. `shaper`: they wait. `policer`: they are \
                 dropped, with a bucket of one round trip.",
            ),
            json!("shaper"),
        ),
        (
            key(
                "down_buffer",
                BUFFER,
                OrDefault,
                "Queue limit at the provider; without effect for a policer.",
            ),
            json!(BUFFER_BYTES),
        ),
        (
            key("up_buffer", BUFFER, OrDefault, "Queue limit in the modem."),
            json!(BUFFER_BYTES),
        ),
        (
            key(
                "uses",
                Value::WordList(USES),
                OrDefault,
                "Simultaneous applications: `call`, a probe of 172 bytes every 20 ms; `game`, one of 60 \
                 bytes every 33 ms; `download`, four flows; `backup`, an upload.",
            ),
            json!(USUAL_USES),
        ),
        (
            key(
                "cake",
                Value::Share,
                OrNull,
                "Share of both rates to which `cake` at the router shapes, with the overhead of the line.",
            ),
            Json::Null,
        ),
        (
            key(
                "router_up",
                Value::Qdisc,
                OrNull,
                "Queue discipline of the router towards the modem; `fq_codel` when left out without `cake`.",
            ),
            Json::Null,
        ),
        (
            key(
                "router_down",
                Value::Qdisc,
                OrNull,
                "Queue discipline of the router towards the laptop; `fq_codel` when left out without `cake`.",
            ),
            Json::Null,
        ),
    ];
    let (keys, defaults): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    listed(&keys, defaults)
}
