//! Selects the connections that are followed: those with the most bytes, in total and recently.

use super::Timeline;
use crate::decode::Decoded;
use crate::flows::FlowEntry;
use std::cmp::Reverse;

/// Maximum number of connections followed at a time.
pub const MOST_FOLLOWED: usize = 128;
/// At the limit, this number of connections with the most bytes in total are kept,
const MOST_BYTES_STAY: usize = 64;
/// and this number of the others with the most bytes since the limit was last reached: a connection
/// that began late has few bytes in total.
const MOST_BYTES_LATELY_STAY: usize = 32;

/// The followed connections of a file.
#[derive(Debug, Default)]
pub struct FollowedConnections {
    /// By view and connection; None for connections no longer followed.
    timelines: Vec<Vec<Option<Box<Timeline>>>>,
    followed: Vec<(usize, usize)>,
}

impl FollowedConnections {
    /// Enters a packet of a view, after the view's flow table has entered it.
    pub(crate) fn enter(
        &mut self,
        view: usize,
        at_ns: i64,
        frame_bytes: u32,
        packet: &Decoded,
        entered: &FlowEntry,
    ) {
        if view >= self.timelines.len() {
            self.timelines.resize_with(view + 1, Vec::new);
        }
        if entered.connection == self.timelines[view].len() {
            if self.followed.len() == MOST_FOLLOWED {
                self.give_up_the_smallest();
            }
            self.timelines[view].push(Some(Box::new(Timeline::new(at_ns))));
            self.followed.push((view, entered.connection));
        }
        let timeline = self.timelines[view].get_mut(entered.connection);
        if let Some(timeline) = timeline.and_then(Option::as_mut) {
            timeline.enter(at_ns, frame_bytes, packet, entered);
        }
    }

    /// A connection by its number in the view's flow table; None if it is no longer followed.
    pub fn timeline(&self, view: usize, connection: usize) -> Option<&Timeline> {
        self.timelines.get(view)?.get(connection)?.as_deref()
    }

    fn give_up_the_smallest(&mut self) {
        let mut followed = std::mem::take(&mut self.followed);
        followed.sort_by_key(|of| Reverse(self.bytes(*of).0));
        let mut others = followed.split_off(MOST_BYTES_STAY);
        others.sort_by_key(|of| Reverse(self.bytes(*of).1));
        let given_up = others.split_off(MOST_BYTES_LATELY_STAY);
        followed.append(&mut others);
        for (view, connection) in given_up {
            self.timelines[view][connection] = None;
        }
        for (view, connection) in &followed {
            if let Some(timeline) = &mut self.timelines[*view][*connection] {
                timeline.bytes_lately = 0;
            }
        }
        self.followed = followed;
    }

    /// Bytes in total, and recently.
    fn bytes(&self, (view, connection): (usize, usize)) -> (u64, u64) {
        let timeline = self.timeline(view, connection);
        timeline.map_or((0, 0), |timeline| (timeline.bytes, timeline.bytes_lately))
    }
}
