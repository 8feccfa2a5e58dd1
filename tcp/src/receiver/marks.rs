//! Congestion marks (RFC 3168).

use super::Receiver;
use crate::segment::{Flags, Header};

impl Receiver {
    /// RFC 3168 section 6.1.3.
    pub(super) fn check_mark(&mut self, segment: &Header) {
        if !self.ecn {
            return;
        }
        if segment.flags.has(Flags::CE) {
            if !self.echoes_mark {
                self.acknowledging
                    .enter_quick_mode_for(2, &self.settings, &self.window);
            }
            self.echoes_mark = true;
            self.has_seen_ect = true;
        } else if segment.flags.has(Flags::ECT) {
            self.has_seen_ect = true;
        } else if self.has_seen_ect {
            // What is sent again is not ECN-capable.
            self.acknowledging
                .enter_quick_mode_for(2, &self.settings, &self.window);
        }
    }
}
