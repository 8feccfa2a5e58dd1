//! What a confined program can do, tried by a shell: no kernel in virtual time is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GUEST: &str = env!("CARGO_BIN_EXE_dumbbell-guest");
const NO_LANDLOCK: &str = "this kernel has no Landlock";

/// A folder to write and one that is none of the program's business.
struct Places(PathBuf);

impl Places {
    fn new(name: &str) -> Places {
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&base);
        for folder in ["its own", "outside"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        fs::write(base.join("outside/file"), "as it was\n").unwrap();
        Places(base)
    }

    /// Runs a line of shell, confined, in the folder to write; `$1` is outside.
    fn run(&self, means: &str, line: &str) -> Output {
        let folder = self.0.join("its own");
        let readable = r#"["/bin/sh","/usr","/lib","/lib64","/etc/ld.so.cache"]"#;
        let wanted = format!(r#"{{{means},"readable":{readable},"folder":{folder:?}}}"#);
        let line = format!("cd \"$0\" && {line}");
        Command::new(GUEST)
            .args(["confine", &wanted, "/bin/sh", "-c", &line])
            .arg(&folder)
            .arg(self.0.join("outside"))
            .output()
            .unwrap()
    }

    fn outside_is_as_it_was(&self) -> bool {
        let names = fs::read_dir(self.0.join("outside")).unwrap().count();
        let file = self.0.join("outside/file");
        let mode = fs::metadata(&file).unwrap().permissions();
        names == 1
            && fs::read_to_string(&file).is_ok_and(|text| text == "as it was\n")
            && std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777 == 0o644
    }
}

const LANDLOCK: &str = r#""means":"landlock""#;
const LANDLOCK_1: &str = r#""means":"landlock","landlock_version":1"#;
const LANDLOCK_2: &str = r#""means":"landlock","landlock_version":2"#;
const NAMESPACE: &str = r#""means":"mount-namespace""#;
const NOTHING: &str = r#""means":"nothing""#;

/// Each would change what is outside, or show it.
const ATTEMPTS: [&str; 10] = [
    "echo more >> \"$1/file\"",
    "echo > \"$1/file\"",
    "echo > \"$1/new\"",
    "rm \"$1/file\"",
    "mv \"$1/file\" here",
    "mkdir \"$1/folder\"",
    "chmod 777 \"$1/file\"",
    "truncate -s 0 \"$1/file\"",
    "cat \"$1/file\"",
    "ln \"$1/file\" here",
];

/// Whether this machine offers the means; why not, where it is not offered.
fn offered(places: &Places, means: &str) -> bool {
    let tried = places.run(means, "true");
    let said = String::from_utf8_lossy(&tried.stderr);
    if !tried.status.success() {
        let known = said.contains(NO_LANDLOCK) || said.contains("namespace");
        assert!(known, "{said}");
        eprintln!("not tried on this machine: {means}: {said}");
    }
    tried.status.success()
}

fn stays_inside(name: &str, means: &str) {
    let places = Places::new(name);
    if !offered(&places, means) {
        return;
    }
    for attempt in ATTEMPTS {
        let done = places.run(means, attempt);
        assert!(!done.status.success(), "{means}: {attempt}");
        assert!(places.outside_is_as_it_was(), "{means}: {attempt}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "", "{attempt}");
    }
    let work = "mkdir a && echo one >> a/b && mv a/b a/c && cat a/c && rm -r a";
    let done = places.run(means, work);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "one\n");
}

#[test]
fn landlock_keeps_a_program_inside() {
    stays_inside("latest", LANDLOCK);
}

#[test]
fn the_first_versions_of_landlock_do_too() {
    stays_inside("first", LANDLOCK_1);
    stays_inside("second", LANDLOCK_2);
}

#[test]
fn a_mount_namespace_keeps_a_program_inside() {
    stays_inside("namespace", NAMESPACE);
}

#[test]
fn nothing_keeps_it() {
    let places = Places::new("nothing");
    for attempt in ATTEMPTS.iter().rev() {
        assert!(places.run(NOTHING, attempt).status.success() || attempt.contains("file"));
    }
    assert!(!places.outside_is_as_it_was());
}

#[test]
fn whoever_reads_the_folder_afterwards_finds_no_trap() {
    for (name, means) in [("traps-1", LANDLOCK), ("traps-2", NAMESPACE)] {
        let places = Places::new(name);
        if !offered(&places, means) {
            continue;
        }
        for trap in ["ln -s /etc/shadow a", "mkfifo b", "mknod c b 8 0"] {
            assert!(!places.run(means, trap).status.success(), "{means}: {trap}");
        }
        assert_eq!(fs::read_dir(places.0.join("its own")).unwrap().count(), 0);
    }
}

#[test]
fn it_says_what_the_machine_offers_and_what_it_does_not_understand() {
    let said = Command::new(GUEST)
        .args(["confine", "ask"])
        .output()
        .unwrap();
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert!(["landlock", "mount-namespace", "nothing"].contains(&said["means"].as_str().unwrap()));
    let refused = said["refused"].as_array().unwrap().len();
    let place = ["landlock", "mount-namespace", "nothing"];
    assert_eq!(Some(place[refused]), said["means"].as_str());
    let wrong = Command::new(GUEST)
        .args(["confine", "{}", "/bin/true"])
        .output()
        .unwrap();
    assert!(!wrong.status.success());
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("missing field"));
}
