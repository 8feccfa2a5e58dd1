//! packetdrill's scripts (N. Cardwell et al., "packetdrill: Scriptable Network Stack Testing",
//! USENIX ATC 2013), run against the TCP of the crate `tcp`.
//!
//! | part | folder or file |
//! | --- | --- |
//! | the language | `language` |
//! | what a script needs, and what the engine does not model | `plan` |
//! | when a script begins | `clock` |
//! | a connection with both directions, opened from either side | `endpoint` |
//! | TCP Fast Open: cookies and what is remembered of them | `fast_open` |
//! | running a plan | `run` |
//! | what came of it | `verdict` |
//! | scripts of what the engine does, for the kernel to judge | `fuzz` |
//! | assertions that packetdrill itself has recorded | `record` |
//!
//! Pure: no files, no commands, no clock. A script is parsed, planned and run; no line of it is
//! ever executed.

mod clock;
mod endpoint;
mod fast_open;
pub mod fuzz;
pub mod language;
mod plan;
pub mod record;
mod run;
mod segments;
mod verdict;

pub use language::{Place, SyntaxError, SyntaxErrorKind};
pub use run::Options;
pub use verdict::{Difference, Failure, Missing, Verdict};

/// Reads a script and runs it.
pub fn check(text: &str, options: &Options) -> Result<Verdict, SyntaxError> {
    let script = language::parse(text)?;
    Ok(match plan::plan(&script, options) {
        Ok(plan) => run::run(&plan),
        Err(missing) => Verdict::Unsupported(missing),
    })
}
