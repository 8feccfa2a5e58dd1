//! What must hold of any bytes that come from others: a function for each parser and reader, which
//! panics where it does not.
//!
//! libFuzzer calls them with inputs that it makes by what the code does with them
//! (`fuzz/libfuzzer`, `make fuzz`), and `cargo test` with the files that are kept in `fuzz/corpus`.

mod captures;
mod packetdrill;
mod texts;

/// A parser or reader of what others wrote.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: of its folder in `corpus` and of its program.
    pub name: &'static str,
    /// Panics where what must hold does not.
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

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
