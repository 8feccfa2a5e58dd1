//! The error queue of a socket: it reports zero-copy completions
//! (Documentation/networking/msg_zerocopy.rst) and timestamps
//! (Documentation/networking/timestamping.rst).

use super::{Outcome, Run};
use crate::plan::messages::ErrorMessage;
use dumbbell_core::time::Time;

impl Run<'_> {
    /// Without SO_ZEROCOPY the flag is ignored.
    pub(super) fn note_zero_copy(&mut self, fd: i64) {
        let is_zero_copy = self
            .application
            .socket(fd)
            .is_some_and(|one| one.is_zero_copy);
        if let (true, Some(connection)) = (is_zero_copy, self.connection_of(fd)) {
            connection.note_zero_copy();
        }
    }

    /// Reads the error queue; this never blocks.
    pub(super) fn read_errors(&mut self, fd: i64, wanted: Option<ErrorMessage>) -> Outcome {
        let tolerance = self.plan.tolerance(Time::ZERO);
        let Some(connection) = self.connection_of(fd) else {
            return Outcome::Fails("EAGAIN");
        };
        let stamp = connection.take_stamp().map(ErrorMessage::Stamp);
        let mut completed = || connection.take_completed_zero_copies();
        let Some(found) = stamp.or_else(|| completed().map(ErrorMessage::Completed)) else {
            return Outcome::Fails("EAGAIN");
        };
        let is_wanted = match (found, wanted) {
            (ErrorMessage::Stamp(found), Some(ErrorMessage::Stamp(wanted))) => {
                found.is(wanted, tolerance)
            }
            (found, wanted) => Some(found) == wanted,
        };
        match is_wanted {
            true => Outcome::Returns(0),
            false => Outcome::Queued(found, wanted),
        }
    }
}
