//! Scripts that nobody has to write: a random receiver plays against the engine's sender, and what
//! the engine did is written down as a script. Whoever runs it (the kernel) says whether that was
//! right.
//!
//! | part | file |
//! | --- | --- |
//! | a case, drawn from a seed | `case` |
//! | the receiver at the other end | `receiver` |
//! | playing a case, and the script of it | `play` |
//! | the cases that are a little shorter | `shorter` |

mod case;
mod play;
mod receiver;
mod shorter;

pub use case::{AckFate, Case, Controller, Fate, Write};
pub use play::PlayedScript;
