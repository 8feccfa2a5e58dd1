//! The floors of the engine: which part imports which, in code that is not a test.
//!
//! Below all of them are the crates `dumbbell_core`, `dumbbell_spec`, `dumbbell_qdisc` and
//! `dumbbell_tcp`, which cannot import the engine. Each part of the engine stands above what it imports; what runs back up is named with
//! its reason, and the names of what is mended are to be struck out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The lowest first; those of one line may not import each other. A name is that of a folder or
/// file of `src`, or the first two.
const FLOORS: &[&[&str]] = &[
    &["error", "net"],
    &["traffic"],
    &["capture", "observe"],
    &["sim/headers"],
    &["sim/build", "sim/world"],
    &["tables"],
    &["run"],
    &["batch"],
];

/// Not of a floor: the crate's root, and the names under which `sim` has the parts of
/// `dumbbell_core`.
const BESIDE: &[&str] = &["lib", "sim/mod"];

/// Imports of the same floor or one above: the file, what it imports, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "sim/world.rs",
    "sim/build",
    "the world's own constructor, apart for its length",
)];

/// Crates that know of no simulator, with the crates of ours that they may import.
const CRATES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("tc", &[]),
    ("capture", &[]),
    ("spec", &["core", "tc"]),
    ("qdisc", &["core", "tc"]),
    ("tcp", &["core", "spec"]),
    ("packetdrill", &["core", "spec", "tcp"]),
    // Its tests run what it loads in the simulator.
    ("native", &["core", "engine", "spec", "tcp"]),
    ("lab", &["engine", "tc"]),
    ("fuzz", &["capture", "packetdrill", "spec", "tc"]),
    ("guest", &["capture", "core", "spec", "tc"]),
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

/// The part of the list that a path belongs to.
fn part(path: &str) -> Option<&'static str> {
    let parts = FLOORS.iter().flat_map(|parts| parts.iter()).copied();
    let is_in = |part: &&str| {
        let rest = path.strip_prefix(part);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    parts.into_iter().find(is_in)
}

/// The floor that `net/link`, as a path or as names of modules, belongs to.
fn floor(path: &str) -> Option<usize> {
    let part = part(path)?;
    FLOORS.iter().position(|parts| parts.contains(&part))
}

/// The first two names of every path that begins with `root`, as `net/link`; each of those in
/// braces.
fn paths(code: &str, root: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = |text: &str| text.split(|c| !is_name(c)).next().unwrap_or("").to_owned();
    let mut found = BTreeSet::new();
    for after in code.split(root).skip(1) {
        if let Some(inside) = after.strip_prefix('{') {
            let all = inside.split('}').next().unwrap_or("");
            found.extend(all.split(',').map(|each| name(each.trim())));
            continue;
        }
        let first = name(after);
        let rest = after[first.len()..].strip_prefix("::").unwrap_or("");
        found.insert(match name(rest) {
            second if second.is_empty() => first,
            second => format!("{first}/{second}"),
        });
    }
    found
}

/// The code of a file without its comments and its tests.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code.lines();
    let lines: Vec<&str> = { lines }
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    lines.join("\n")
}

/// Every file of `src` by its path, with what it imports of the engine.
fn imports() -> Vec<(String, BTreeSet<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut found: Vec<_> = { files.iter() }
        .map(|file| {
            let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
            let code = code(file);
            let mut used = paths(&code, "crate::");
            // What stands beside it in the same folder.
            if let Some(rest) = path.strip_prefix("sim/")
                && !rest.contains('/')
            {
                let beside = paths(&code, "super::").into_iter();
                used.extend(beside.map(|name| format!("sim/{name}")));
            }
            (path.replace('\\', "/"), used)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn nothing_imports_what_is_above_it() {
    let mut upward = BTreeSet::new();
    for (file, used) in imports() {
        let own = file.trim_end_matches(".rs");
        if BESIDE.contains(&own) {
            continue;
        }
        let own_floor = floor(own).unwrap_or_else(|| panic!("{file} is on no floor"));
        for name in used {
            if part(&name) != part(own) && floor(&name).is_some_and(|floor| floor >= own_floor) {
                upward.insert((file.clone(), part(&name).unwrap()));
            }
        }
    }
    let named: BTreeSet<_> = { EXCEPTIONS.iter() }
        .map(|(file, part, _)| ((*file).to_owned(), *part))
        .collect();
    assert_eq!(upward, named);
}

#[test]
fn every_part_is_there() {
    let files = imports();
    for name in FLOORS.iter().flat_map(|parts| parts.iter()) {
        let is_in = |file: &str| part(file.trim_end_matches(".rs")) == Some(*name);
        assert!(files.iter().any(|(file, _)| is_in(file)), "{name}");
    }
}

#[test]
fn an_import_upward_is_seen() {
    let code = "use crate::net::{self, link::Link};\nuse crate::{spec, run::Monitor};";
    let found = paths(code, "crate::");
    assert_eq!(found, ["net", "run", "spec"].map(str::to_owned).into());
    assert_eq!((floor("net/link"), floor("sim/time")), (Some(0), None));
    assert!(floor("run/check") > floor("traffic/ping"));
}

/// What the others of our crates import, the simulator too, the compiler sees to.
#[test]
fn crates_below_and_beside_know_no_simulator() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, allowed) in CRATES {
        let manifest = std::fs::read_to_string(root.join(name).join("Cargo.toml")).unwrap();
        let lines = manifest.lines().filter(|line| line.contains("path ="));
        let found: BTreeSet<&str> = lines
            .map(|line| line.split([' ', '.']).next().unwrap())
            .collect();
        let allowed: BTreeSet<String> = { allowed.iter() }
            .map(|name| format!("dumbbell-{name}"))
            .collect();
        let allowed = allowed.iter().map(String::as_str).collect();
        assert_eq!(found, allowed, "{name}");
    }
}
