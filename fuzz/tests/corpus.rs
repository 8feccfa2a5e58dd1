//! Every file that is kept is looked at by the function that the search calls.

use dumbbell_fuzz::{TARGETS, target};
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn what_must_hold_holds_of_every_file_that_is_kept() {
    for target in TARGETS {
        let paths = files(&folder(target.name));
        assert!(
            paths.len() >= 3,
            "{}: a search begins with some",
            target.name
        );
        for path in paths {
            println!("{}", path.display());
            (target.check)(&fs::read(path).unwrap());
        }
    }
}

#[test]
fn every_folder_is_of_a_target() {
    for path in files(&folder("")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(target(name).is_some(), "{name}");
    }
}

/// Of our own files some are right: a search that begins with none gets nowhere.
#[test]
fn some_of_each_are_accepted() {
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
    let accepted = |name: &str, is_right: &dyn Fn(&PathBuf) -> bool| {
        let paths = files(&folder(name));
        assert!(paths.iter().any(is_right), "{name}: none is right");
    };
    accepted("description", &|path| {
        dumbbell_spec::Experiment::from_json(&text(path)).is_ok()
    });
    accepted("tc", &|path| dumbbell_tc::parse_qdisc(&text(path)).is_ok());
    accepted("packetdrill", &|path| {
        let options = dumbbell_packetdrill::Options::default();
        let verdict = dumbbell_packetdrill::check(&text(path), &options);
        matches!(verdict, Ok(dumbbell_packetdrill::Verdict::Passed))
    });
    for name in ["pcap", "pcapng"] {
        accepted(name, &|path| {
            let bytes = fs::read(path).unwrap();
            let mut reader = dumbbell_capture::Reader::new(bytes.as_slice()).unwrap();
            let mut pkts = 0;
            while let Ok(Some(_)) = reader.next_packet() {
                pkts += 1;
            }
            pkts > 0
        });
    }
}
