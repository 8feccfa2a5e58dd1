//! Which part of the engine imports which, in code that is not a test.
//!
//! Each part stands above what it imports. Arrows that run back up are named, so that none comes
//! and one that went is struck out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files of `sim` that know nothing of what is simulated.
const CORE: &[&str] = &[
    "delays",
    "histogram",
    "moments",
    "packet",
    "random",
    "rate",
    "ring",
    "time",
    "timer",
    "tournament",
    "wheel",
];

struct Floor {
    part: &'static str,
    /// What it imports of the floors below.
    below: &'static [&'static str],
    /// What it imports of those above, until it no longer does.
    above: &'static [&'static str],
}

const fn floor(
    part: &'static str,
    below: &'static [&'static str],
    above: &'static [&'static str],
) -> Floor {
    Floor { part, below, above }
}

/// The lowest first. `core` and `world` are the two halves of `sim`.
const FLOORS: &[Floor] = &[
    floor("core", &[], &[]),
    floor("error", &[], &[]),
    floor(
        "spec",
        &["error"],
        &["capture", "cca", "net", "qdisc", "tcp", "traffic"],
    ),
    floor("qdisc", &["core"], &[]),
    floor("cca", &["core", "spec"], &[]),
    floor("tcp", &["cca", "core", "spec"], &[]),
    floor("net", &["core", "qdisc", "spec"], &[]),
    floor(
        "traffic",
        &["cca", "core", "net", "spec", "tcp"],
        &["capture", "world"],
    ),
    floor(
        "capture",
        &["core", "error", "net", "spec", "tcp", "traffic"],
        &["tables"],
    ),
    floor(
        "world",
        &[
            "capture", "cca", "core", "net", "qdisc", "spec", "tcp", "traffic",
        ],
        &[],
    ),
    floor("tables", &["core", "net", "tcp", "traffic", "world"], &[]),
    floor(
        "run",
        &[
            "capture", "core", "error", "net", "qdisc", "spec", "tables", "tcp", "traffic", "world",
        ],
        &[],
    ),
    floor("batch", &["capture", "error", "run", "spec"], &[]),
    floor("lib", &[], &[]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap();
        if name == "tests" || name == "testing" {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The part that `sim::time::Time` or `net/link.rs` belongs to, by its first two names.
fn part(first: &str, second: &str) -> String {
    match (first, CORE.contains(&second)) {
        ("sim", true) => "core".to_owned(),
        ("sim", false) => "world".to_owned(),
        _ => first.to_owned(),
    }
}

/// The first two names of every path that begins with `root`.
fn paths<'a>(code: &'a str, root: &str) -> Vec<(&'a str, &'a str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = |text: &'a str| text.split(|c| !is_name(c)).next().unwrap_or("");
    let after_root = code.split(root).skip(1);
    let both = after_root.map(|after| {
        let first = name(after);
        let rest = after[first.len()..].strip_prefix("::").unwrap_or("");
        (first, name(rest))
    });
    both.collect()
}

fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let names: Vec<&str> = { file.strip_prefix(&root).unwrap().iter() }
            .map(|name| name.to_str().unwrap().trim_end_matches(".rs"))
            .collect();
        let own = part(names[0], names.get(1).unwrap_or(&""));
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines: Vec<&str> = { code.lines() }
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let code = lines.join("\n");
        let mut used: BTreeSet<String> = { paths(&code, "crate::").into_iter() }
            .map(|(first, second)| part(first, second))
            .collect();
        if names[0] == "sim" && names.len() == 2 {
            // What stands beside it in `sim`.
            let beside = paths(&code, "super::").into_iter();
            used.extend(beside.map(|(first, _)| part("sim", first)));
        }
        used.remove(&own);
        found.entry(own).or_default().extend(used);
    }
    found
}

#[test]
fn each_part_imports_what_the_table_says() {
    let found = imports();
    let parts: BTreeSet<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(parts, FLOORS.iter().map(|floor| floor.part).collect());
    for floor in FLOORS {
        let used: BTreeSet<&str> = found[floor.part].iter().map(String::as_str).collect();
        let named = { floor.below.iter().chain(floor.above) }.copied();
        assert_eq!(used, named.collect(), "{}", floor.part);
    }
}

#[test]
fn what_is_below_is_below() {
    let place = |part: &str| FLOORS.iter().position(|floor| floor.part == part).unwrap();
    for (own, floor) in FLOORS.iter().enumerate() {
        assert!(
            floor.below.iter().all(|part| place(part) < own),
            "{}",
            floor.part
        );
        assert!(
            floor.above.iter().all(|part| place(part) > own),
            "{}",
            floor.part
        );
    }
}
