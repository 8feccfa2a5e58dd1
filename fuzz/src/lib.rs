//! Properties that must hold for any external input: a function for each parser and reader, which panics on a
//! violation.
//!
//! libFuzzer calls them with inputs guided by code coverage (`fuzz/libfuzzer`, `make fuzz`), and `cargo test`
//! with the files in `fuzz/corpus`.

mod captures;
mod packetdrill;
mod texts;

/// A parser or reader of external input.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, also that of its folder in `corpus` and of its program.
    pub name: &'static str,
    /// Panics if a property is violated.
    pub check: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 5] = [
    Target {
        name: "description",
        check: texts::description,
    },
    Target {
        name: "tc",
        check: texts::tc,
    },
    Target {
        name: "packetdrill",
        check: packetdrill::script,
    },
    Target {
        name: "pcap",
        check: captures::pcap,
    },
    Target {
        name: "pcapng",
        check: captures::pcapng,
    },
];

/// The target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
