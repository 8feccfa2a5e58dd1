//! Prefetching. With many conversations: the state of those whose packets arrive next over a link, and of the
//! one that acts next. With many packets on a link: their segments, and the delay histograms that they enter.
//! It changes only the run time.
//!
//! The pointers of a flow form a chain: conversation, connection, scoreboard and queues. So prefetching takes
//! four steps, one arrival apart.

use super::{Turn, World};
use crate::net::propagation::Propagation;
use crate::sim::prefetch::prefetch;
use crate::traffic::conversation::{Application, Conversation};

/// Prefetch distance in packets of the propagation ring.
const AHEAD_PKTS: usize = 8;

/// The next conversation to act by its own timer, and how many of its steps were prefetched.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NextWakeup {
    conversation: u32,
    steps: u8,
}

impl World {
    /// A packet has left a link: prefetches for those behind it.
    #[inline(never)]
    pub(super) fn prefetch_arrivals(&self, index: usize) {
        let Propagation::Ring(ring) = &self.links[index].propagation else {
            return;
        };
        let conversation_of = |place: usize| {
            let packet = ring.get(place)?;
            Some((packet, &self.conversations[packet.conversation as usize]))
        };
        if let Some(packet) = ring.get(AHEAD_PKTS) {
            prefetch(packet);
        }
        if self.prefetches_flows {
            if let Some((_, conversation)) = conversation_of(4) {
                prefetch(conversation);
            }
            if let Some((packet, conversation)) = conversation_of(3) {
                prefetch_flow(conversation, packet.is_reply());
                if !packet.is_reply() {
                    conversation.prefetch_arrivals();
                }
            }
            if let Some((packet, conversation)) = conversation_of(1)
                && packet.is_reply()
                && let Application::Tcp(flow) = &conversation.application
            {
                flow.prefetch_unsent();
            }
        }
        let place = if self.prefetches_flows { 2 } else { 1 };
        if let Some((packet, conversation)) = conversation_of(place)
            && let Application::Tcp(flow) = &conversation.application
        {
            flow.prefetch_for(packet.segment_place(), packet.is_reply());
            if !packet.is_reply() {
                let delay = packet.arrived.saturating_sub(packet.created);
                conversation.delay().prefetch(delay);
            }
        }
    }

    /// Before an event: prefetches for the conversation that may act next.
    #[inline(never)]
    pub(super) fn prefetch_next_wakeup(&mut self) {
        let conversation = Turn(self.tournament.first_of_seldom()).component();
        let Some(next) = self.conversations.get(conversation as usize) else {
            return;
        };
        if self.next_wakeup.conversation != conversation {
            prefetch(next);
            self.next_wakeup = NextWakeup {
                conversation,
                steps: 1,
            };
        } else if self.next_wakeup.steps == 1 {
            prefetch_flow(next, true);
            self.next_wakeup.steps = 2;
        } else if self.next_wakeup.steps == 2
            && let Application::Tcp(flow) = &next.application
        {
            flow.prefetch_for(u32::MAX, true);
            self.next_wakeup.steps = 3;
        } else if self.next_wakeup.steps == 3
            && let Application::Tcp(flow) = &next.application
        {
            flow.prefetch_unsent();
            self.next_wakeup.steps = 4;
        }
    }
}

#[inline(always)]
fn prefetch_flow(conversation: &Conversation, is_sender: bool) {
    if let Application::Tcp(flow) = &conversation.application {
        flow.prefetch_end(is_sender);
    }
}
