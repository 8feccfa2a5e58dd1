//! Round-trip times of echo requests: from a request to the first reply with its sequence number.

use crate::decode::EchoView;
use std::collections::VecDeque;

/// Maximum number of unanswered requests that are remembered; the oldest is given up first.
const MOST_UNANSWERED: usize = 1024;

/// Unanswered requests of one echo identifier, oldest first.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    unanswered: VecDeque<(u16, i64)>,
}

impl Echoes {
    /// Enters a message. Returns the round-trip time of the request that it answers.
    pub fn enter(&mut self, at_ns: i64, echo: EchoView) -> Option<i64> {
        let place = self
            .unanswered
            .iter()
            .position(|(sequence, _)| *sequence == echo.sequence);
        if echo.is_reply {
            let (_, sent_ns) = self.unanswered.remove(place?)?;
            return Some(at_ns.saturating_sub(sent_ns).max(0));
        }
        if let Some(place) = place {
            // The sequence number is used again, or the interface saw the request twice.
            self.unanswered.remove(place);
        }
        if self.unanswered.len() == MOST_UNANSWERED {
            self.unanswered.pop_front();
        }
        self.unanswered.push_back((echo.sequence, at_ns));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Echoes, MOST_UNANSWERED};
    use crate::decode::EchoView;

    fn request(sequence: u16) -> EchoView {
        EchoView {
            sequence,
            is_reply: false,
        }
    }

    fn reply(sequence: u16) -> EchoView {
        EchoView {
            sequence,
            is_reply: true,
        }
    }

    #[test]
    fn a_reply_is_matched_by_its_number_once() {
        let mut echoes = Echoes::default();
        assert_eq!(echoes.enter(100, request(1)), None);
        assert_eq!(echoes.enter(200, request(2)), None);
        assert_eq!(echoes.enter(250, reply(2)), Some(50));
        assert_eq!(echoes.enter(400, reply(1)), Some(300));
        assert_eq!(echoes.enter(500, reply(1)), None, "a duplicate");
        assert_eq!(echoes.enter(600, reply(9)), None, "not requested here");
    }

    #[test]
    fn numbers_that_are_used_again_count_from_the_last_request() {
        let mut echoes = Echoes::default();
        echoes.enter(0, request(7));
        echoes.enter(1_000, request(7));
        assert_eq!(echoes.enter(1_010, reply(7)), Some(10));
    }

    #[test]
    fn unanswered_requests_are_bounded() {
        let mut echoes = Echoes::default();
        for sequence in 0..3 * MOST_UNANSWERED {
            echoes.enter(0, request(sequence as u16));
        }
        assert_eq!(echoes.unanswered.len(), MOST_UNANSWERED);
    }
}
