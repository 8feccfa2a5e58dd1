//! packetdrill scripts (N. Cardwell et al., "packetdrill: Scriptable Network Stack Testing", USENIX
//! ATC 2013), run against the TCP of the crate `tcp`.
//!
//! | part | folder or file |
//! | --- | --- |
//! | the language | `language` |
//! | what a script needs, and what the engine does not model | `plan` |
//! | start time of a script | `clock` |
//! | a connection with both directions, opened from either side | `endpoint` |
//! | TCP Fast Open: cookies and the client's cache | `fast_open` |
//! | running a plan | `run` |
//! | the result of a script | `verdict` |
//! | scripts of the engine's behaviour, for the kernel to judge | `fuzz` |
//! | assertions recorded by packetdrill itself | `record` |
//!
//! Pure: no files, no commands, no clock. A script is parsed, planned and run; none of its shell
//! commands or Python code is ever executed.

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

/// Parses a script and runs it.
pub fn check(text: &str, options: &Options) -> Result<Verdict, SyntaxError> {
    let script = language::parse(text)?;
    Ok(match plan::plan(&script, options) {
        Ok(plan) => run::run(&plan),
        Err(missing) => Verdict::Unsupported(missing),
    })
}
