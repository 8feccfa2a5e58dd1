//! Whatever the text, the answer is a value that round-trips or an error that explains, and
//! never a panic.
//!
//! The long run: `cargo test -p dumbbell-tc --release --test fuzz -- --ignored`.

use dumbbell_tc::qdisc::POLICE;
use dumbbell_tc::{
    Police, Qdisc, UnitError, disciplines, format_rate, format_size, format_time, parse_police,
    parse_qdisc, parse_qdisc_noting, parse_rate_bps, parse_size_bytes, parse_time_ns, script,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

/// The longest error message allowed: a line or three of a terminal, whatever came in.
const MAX_MESSAGE_BYTES: usize = 1500;

/// Every word of the tables of disciplines, of htb's classes and of `police`: a word that is added
/// there is fuzzed here.
fn words_of_the_tables() -> Vec<&'static str> {
    let tables = disciplines().iter().chain([&POLICE]);
    let mut words: Vec<&str> = tables
        .flat_map(|table| {
            let parameters = table.parameters.iter();
            let words = parameters.flat_map(|each| each.aliases.iter().chain([&each.name]));
            { words.chain(table.not_implemented) }.chain([&table.name])
        })
        .copied()
        .chain(["ceil", "cburst", "cbuffer", "cmaxburst"])
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Words of the grammar, words near it, and what breaks parsers.
fn tokens() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        ";",
        "parent",
        "handle",
        "1:",
        "1:1",
        "ffff:ffff",
        "filter",
        "class",
        "add",
        "classid",
        "flowid",
        "matchall",
        "u32",
        "match",
        "ip",
        "dsfield",
        "gemodel",
        "state",
        "random",
        "paretonormal",
        "25%",
        "0.1%",
        "100%",
        "100.0000001%",
        "-20",
        "48",
        "lim",
        "tc",
        "qdisc",
        "root",
        "dev",
        "0",
        "1",
        "10kb",
        "1mbit",
        "200ms",
        "5us",
        "10ns",
        "1e308",
        "1e-9",
        "-1",
        "+",
        ".",
        "nan",
        "inf",
        "0x1",
        "%",
        "4294967296",
        "0100",
        "09",
        "+5",
        "0x10us",
        "0x100b",
        "2.01ms",
        "5ns",
        "10%",
        "10kb/8",
        "nanbps",
        "10Mbps",
        "1000p",
        "-18446744073709551615",
        "18446744073709551616",
        "9223372036854775808ns",
        "1e2147483647mbit",
        "1e-2147483648s",
        "\u{b5}s",
        "\u{0}",
        "\u{202e}",
        "{",
        "\"kind\":\"pfifo\"",
        "\n",
        " ",
    ];
    let number = (any::<f64>(), "[a-z]{0,5}").prop_map(|(number, unit)| format!("{number}{unit}"));
    prop_oneof![
        5 => prop::sample::select(words_of_the_tables()).prop_map(str::to_owned),
        5 => prop::sample::select(WORDS).prop_map(str::to_owned),
        2 => number,
        1 => "\\PC{0,8}",
        1 => any::<String>(),
    ]
}

fn texts() -> impl Strategy<Value = String> {
    let separators = prop::sample::select(vec![" ", "", "\t", ","]);
    let sentences = (prop::collection::vec(tokens(), 0..8), separators)
        .prop_map(|(words, separator)| words.join(separator));
    let begun = (
        prop::sample::select(vec![
            "netem ",
            "bfifo limit ",
            "pfifo limit ",
            "netem delay ",
            "tbf rate 1mbit burst 10kb ",
            "root handle 1: tbf rate 1mbit burst 10kb limit 10kb; parent 1:1 ",
            "tc qdisc add dev eth0 root handle 1: ",
            "prio bands 3 priomap ",
            "root handle 1: htb default 1; class add parent 1: classid 1:1 htb rate 1mbit ",
            "root handle 1: prio; filter add parent 1: ",
            "qdisc add dev e ingress; filter add dev e parent ffff: matchall action mirred ",
            "ip link add i type ifb; qdisc add dev i root mq; filter add dev e ingress matchall ",
            "police rate 1mbit burst 10kb ",
            "{\"rate_bps\":8,\"burst_bytes\":1,",
        ]),
        prop::collection::vec(tokens(), 0..6),
    )
        .prop_map(|(begin, words)| format!("{begin}{}", words.join(" ")));
    // A whole discipline, as its table gives it, with more words of its own.
    let own = prop::sample::select(disciplines()).prop_flat_map(|table| {
        let parameters: Vec<&str> = table.parameters.iter().map(|each| each.name).collect();
        let word = match parameters.is_empty() {
            true => tokens().boxed(),
            false => prop::sample::select(parameters)
                .prop_map(str::to_owned)
                .boxed(),
        };
        let more = prop::collection::vec(prop_oneof![word, tokens()], 0..6);
        let example = table.example();
        more.prop_map(move |words| format!("{example} {}", words.join(" ")))
    });
    // Far beyond the longest accepted, in bytes and in one character.
    let long = ("\\PC", 1usize..6000).prop_map(|(character, times)| character.repeat(times));
    prop_oneof![6 => sentences, 6 => begun, 6 => own, 1 => long]
}

fn explains(text: &str, message: &str, value: &str, allowed: &str) -> Result<(), TestCaseError> {
    prop_assert!(!allowed.is_empty(), "{:?}", text);
    prop_assert!(
        message.len() <= MAX_MESSAGE_BYTES,
        "{:?}: {} bytes",
        text,
        message.len()
    );
    prop_assert!(value.len() <= 300, "{:?}", value);
    // Nothing that could drive a terminal.
    prop_assert!(!message.chars().any(char::is_control), "{:?}", message);
    Ok(())
}

fn unit_is_read_or_explained(
    text: &str,
    parse: fn(&str) -> Result<u64, UnitError>,
    format: fn(u64) -> String,
) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(value) => prop_assert_eq!(parse(&format(value)), Ok(value)),
        Err(error) => explains(text, &error.to_string(), error.value(), error.allowed())?,
    }
    Ok(())
}

fn qdisc_is_read_or_explained(
    text: &str,
    parse: fn(&str) -> Result<Qdisc, dumbbell_tc::QdiscError>,
) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(qdisc) => {
            // What is written means what it says, also to those who do not know tc's units.
            let written = qdisc.to_string();
            prop_assert_eq!(
                parse_qdisc_noting(&written),
                Ok((qdisc.clone(), Vec::new()))
            );
            // tc reads `ns` where a parameter has 64 bits, and nowhere else.
            let is_in_ns = |word: &str| word.ends_with("ns") && word.starts_with(char::is_numeric);
            let words: Vec<&str> = written.split(' ').collect();
            let takes_ns = |place: usize| {
                let before = &words[place.saturating_sub(4)..place];
                before.contains(&"slot") || before.last() == Some(&"timer_slack")
            };
            let mut places = (0..words.len()).filter(|place| is_in_ns(words[*place]));
            prop_assert!(places.all(takes_ns), "{}", written);
            prop_assert_eq!(Qdisc::from_json(&qdisc.to_json()), Ok(qdisc));
        }
        Err(error) => explains(text, &error.to_string(), error.value(), error.allowed())?,
    }
    Ok(())
}

fn police_is_read_or_explained(
    text: &str,
    parse: fn(&str) -> Result<Police, dumbbell_tc::QdiscError>,
) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(police) => {
            prop_assert_eq!(parse_police(&police.to_string()), Ok(police));
            prop_assert_eq!(Police::from_json(&police.to_json()), Ok(police));
        }
        Err(error) => explains(text, &error.to_string(), error.value(), error.allowed())?,
    }
    Ok(())
}

fn fuzz(cases: u32) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&texts(), |text| {
            unit_is_read_or_explained(&text, parse_size_bytes, format_size)?;
            unit_is_read_or_explained(&text, parse_rate_bps, format_rate)?;
            unit_is_read_or_explained(&text, parse_time_ns, format_time)?;
            qdisc_is_read_or_explained(&text, parse_qdisc)?;
            if let Err(error) = script::split(&text) {
                explains(&text, &error.to_string(), error.value(), error.allowed())?;
            }
            qdisc_is_read_or_explained(&text, Qdisc::from_json)?;
            police_is_read_or_explained(&text, parse_police)?;
            police_is_read_or_explained(&text, Police::from_json)
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn any_text_is_read_or_explained() {
    fuzz(10_000);
}

#[test]
#[ignore = "a million cases, minutes"]
fn long_any_text_is_read_or_explained() {
    fuzz(1_000_000);
}

/// The fuzzer reaches every discipline: each is among the texts that are read.
#[test]
fn every_discipline_is_among_what_is_read() {
    let mut runner = TestRunner::deterministic();
    let mut read = std::collections::BTreeSet::new();
    for _ in 0..4000 {
        let text = texts().new_tree(&mut runner).unwrap().current();
        if let Ok(qdisc) = parse_qdisc(&text) {
            read.insert(qdisc.discipline().name);
        }
    }
    let all = disciplines().iter().map(|table| table.name).collect();
    assert_eq!(read, all);
}
