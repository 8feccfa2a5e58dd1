//! packetdrill scripts.

use dumbbell_packetdrill::{Options, check};

/// The longest script: ten times the longest of ours.
const MOST_BYTES: usize = 64 * 1024;

/// A script is refused with the place of what is wrong, or runs to a verdict, in either mode.
pub(crate) fn script(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    if text.len() > MOST_BYTES {
        return;
    }
    for is_exact in [false, true] {
        let options = Options {
            is_exact,
            ..Options::default()
        };
        if let Err(error) = check(text, &options) {
            assert!(!error.to_string().is_empty());
        }
    }
}
