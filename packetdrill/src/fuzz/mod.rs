//! Generated scripts. A random receiver plays against the engine's sender, and the engine's
//! behaviour is recorded as a packetdrill script. Running the script on the kernel shows whether
//! that behaviour matches.
//!
//! | part | file |
//! | --- | --- |
//! | a case, drawn from a seed | `case` |
//! | the receiver at the other end | `receiver` |
//! | playing a case, and its script | `play` |
//! | slightly smaller cases | `shorter` |

mod case;
mod play;
mod receiver;
mod shorter;

pub use case::{AckFate, Case, Controller, Fate, Write};
pub use play::PlayedScript;
