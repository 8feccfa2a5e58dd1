//! Writes without a copy, and the queue of errors that tells of them
//! (Documentation/networking/msg_zerocopy.rst).

use super::{Outcome, Run};
use crate::endpoint::Endpoint;
use crate::plan::messages::Completed;

impl Run<'_> {
    /// Without SO_ZEROCOPY the flag says nothing.
    pub(super) fn note_zero_copy(&mut self, fd: i64) {
        let is_zero_copy = self
            .application
            .socket(fd)
            .is_some_and(|one| one.is_zero_copy);
        if let (true, Some(connection)) = (is_zero_copy, self.connection_of(fd)) {
            connection.note_zero_copy();
        }
    }

    /// The queue of errors: it never waits.
    pub(super) fn read_errors(&mut self, fd: i64, wanted: Option<Completed>) -> Outcome {
        let connection = self.connection_of(fd);
        match connection.and_then(Endpoint::take_completed_zero_copies) {
            None => Outcome::Fails("EAGAIN"),
            found if found == wanted => Outcome::Returns(0),
            Some(found) => Outcome::Completes(found, wanted),
        }
    }
}
