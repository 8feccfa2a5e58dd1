//! Malformed and hostile scripts: an error with its place, never a panic.

use dumbbell_packetdrill::{Options, Place, check};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

static SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pkt"))
        .collect();
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    // Long ones say the same thing often.
    texts.filter(|text| text.len() < 3000).collect()
});

/// One change of a text.
#[derive(Debug, Clone)]
enum Change {
    Delete(usize, usize),
    Repeat(usize, usize),
    Insert(usize, String),
    /// The nth number becomes this one.
    Number(usize, u64),
}

fn change() -> impl Strategy<Value = Change> {
    let odd = prop_oneof![
        Just("%{".to_owned()),
        Just("`".to_owned()),
        Just("\"".to_owned()),
        Just("...".to_owned()),
        Just("+0...9 read(4, ..., 10) = 10\n".to_owned()),
        Just("+0 < R. 1:1(0) ack 1\n".to_owned()),
        Just("+0 < S 0:0(0) win 1 <mss 1>\n".to_owned()),
        Just("+.1 close(4) = 0\n".to_owned()),
        Just("+0 %{ assert ((((1)))) / 0 == -x }%\n".to_owned()),
        "[ -~\n]{1,8}",
    ];
    prop_oneof![
        (any::<usize>(), 1..40usize).prop_map(|(at, bytes)| Change::Delete(at, bytes)),
        (any::<usize>(), 1..200usize).prop_map(|(at, bytes)| Change::Repeat(at, bytes)),
        (any::<usize>(), odd).prop_map(|(at, text)| Change::Insert(at, text)),
        (
            any::<usize>(),
            prop_oneof![0..70_000u64, Just(u64::MAX), Just(4_294_967_295)]
        )
            .prop_map(|(nth, number)| Change::Number(nth, number)),
    ]
}

fn changed(text: &str, change: &Change) -> String {
    match change {
        Change::Delete(at, bytes) => {
            let start = at % (text.len() + 1);
            let end = (start + bytes).min(text.len());
            [&text[..start], &text[end..]].concat()
        }
        Change::Repeat(at, bytes) => {
            let start = at % (text.len() + 1);
            let end = (start + bytes).min(text.len());
            [&text[..end], &text[start..]].concat()
        }
        Change::Insert(at, inserted) => {
            let at = at % (text.len() + 1);
            [&text[..at], inserted, &text[at..]].concat()
        }
        Change::Number(nth, number) => {
            let digits = |letter: char| letter.is_ascii_digit();
            let starts: Vec<usize> = text
                .match_indices(digits)
                .map(|(index, _)| index)
                .filter(|index| *index == 0 || !text[index - 1..].starts_with(digits))
                .collect();
            let Some(start) = starts.get(nth % starts.len().max(1)) else {
                return text.to_owned();
            };
            let rest = &text[*start..];
            let end = rest.find(|letter| !digits(letter)).unwrap_or(rest.len());
            [&text[..*start], &number.to_string(), &rest[end..]].concat()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn changed_scripts_end(
        seed in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 1..6),
        is_exact in any::<bool>(),
    ) {
        let mut text = SEEDS[seed.index(SEEDS.len())].clone();
        for change in &changes {
            text = changed(&text, change);
        }
        let options = Options { is_exact, ..Options::default() };
        if let Err(error) = check(&text, &options) {
            let lines = text.lines().count() as u32 + 1;
            prop_assert!(error.place.line >= 1 && error.place.line <= lines, "{error}");
            prop_assert!(error.place.column >= 1, "{error}");
        }
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,200}") {
        let _ = check(&text, &Options::default());
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, line, column, message) in [
        ("0 socket(... = 3", 1, 14, "a comma or the end of a list"),
        ("\n +0 > Q 1:1(0)", 2, 7, "flags"),
        ("+0 > . 1:5(3) ack 1", 1, 8, "does not fit"),
        ("+0 > . 1:1(0) ack 5000000000", 1, 19, "out of range"),
        ("* < . 1:1(0) ack 1", 1, 1, "only for packets that are sent"),
        ("+2~+1 > . 1:1(0) ack 1", 1, 7, "ends before it begins"),
        ("+0 > . 1:1(0) <mss x>", 1, 20, "a number"),
        (
            "+0 < . 1:1(0) ack 1 <...>",
            1,
            22,
            "only for packets that are sent",
        ),
        ("+90000 > . 1:1(0)", 1, 2, "0 to 86400 s"),
        ("0 `abc", 1, 3, "has no end"),
        ("hello", 1, 1, "a time, seconds"),
        ("+0 %{ assert tcpi_rtt == }%", 1, 4, "a field or a number"),
    ] {
        let error = check(text, &Options::default()).unwrap_err();
        assert_eq!(error.place, Place { line, column }, "{text}: {error}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    let brackets = format!("0 f({}", "[".repeat(200_000));
    assert!(check(&brackets, &Options::default()).is_err());
    let long = " ".repeat((1 << 20) + 1);
    assert!(check(&long, &Options::default()).is_err());
    let days = "+86400 `true`\n".repeat(101);
    let error = check(&days, &Options::default()).unwrap_err();
    assert_eq!(error.place.line, 101);
}
