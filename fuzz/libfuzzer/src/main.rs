//! The search: `make fuzz TARGET=NAME SECONDS=60`. The target is named by DUMBBELL_FUZZ_TARGET.

#![no_main]

use dumbbell_fuzz::{TARGETS, Target, target};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("DUMBBELL_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let names = TARGETS.map(|target| target.name);
        eprintln!(
            "DUMBBELL_FUZZ_TARGET is {name:?}; targets: {}",
            names.join(", ")
        );
        std::process::exit(2);
    })
});

fuzz_target!(|bytes: &[u8]| (TARGET.check)(bytes));
