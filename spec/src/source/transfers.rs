//! Transfers over TCP: how large they are, and when each begins.

use super::FlowStreams;
use crate::SpecError;
use crate::law::Law;
use crate::validate::require;
use dumbbell_core::time::Time;

/// The largest transfer, bytes: a draw beyond counts as this. It is the largest that a source of
/// one transfer may ask for, and far from where sums overflow 63 bits.
pub const LARGEST_TRANSFER_BYTES: u64 = 1_000_000_000_000_000;

/// The bytes of a transfer whose size was drawn: a whole number, at least 1.
pub fn transfer_bytes(drawn: f64) -> u64 {
    (drawn + 0.5).clamp(1.0, LARGEST_TRANSFER_BYTES as f64) as u64
}

/// How large a transfer is.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferSize {
    /// Without an end.
    Unlimited,
    /// Bytes.
    Fixed(u64),
    /// Drawn for each.
    Drawn(Law),
}

/// What is written before the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstWrite {
    /// When the connection is made.
    pub bytes: u64,
    /// From the beginning of the connection to the rest.
    pub rest_after: Time,
}

/// The transfers of a flow, each over a connection of its own.
#[derive(Debug, Clone)]
pub struct Transfers {
    /// Of each.
    pub size: TransferSize,
    /// From the start of one to that of the next, and before the first.
    pub gap: Option<Law>,
    /// From the end of one to the start of the next, and before the first.
    pub think: Option<Law>,
    /// Of one without an end, what is to be written by itself; None once the rest is asked for.
    pub first_write: Option<FirstWrite>,
    /// What each write has, with Nagle's algorithm; None for writes of what there is room for.
    pub write_bytes: Option<u64>,
    /// How many are begun at most.
    pub most: u32,
    /// How many have begun.
    pub begun: u32,
    /// Of the flow.
    pub streams: FlowStreams,
}

impl Transfers {
    /// One, at the start of the flow.
    pub(super) fn one(size: TransferSize, streams: FlowStreams) -> Transfers {
        Transfers {
            size,
            gap: None,
            think: None,
            first_write: None,
            write_bytes: None,
            most: 1,
            begun: 0,
            streams,
        }
    }

    /// From the start of the flow to the first.
    pub fn first_pause(&mut self) -> Time {
        let law = self.think.as_ref().or(self.gap.as_ref());
        law.map_or(Time::ZERO, |law| {
            Time::from_seconds(law.draw(&mut self.streams.gap))
        })
    }

    /// Begins the next. Returns its bytes; None for one without an end.
    pub fn begin(&mut self) -> Option<u64> {
        self.begun += 1;
        match &self.size {
            TransferSize::Unlimited => None,
            TransferSize::Fixed(bytes) => Some(*bytes),
            TransferSize::Drawn(law) => Some(transfer_bytes(law.draw(&mut self.streams.size))),
        }
    }

    /// Whether it is not a transfer that is to begin, but the rest of the first that is to be
    /// written.
    pub fn has_rest(&self) -> bool {
        self.begun > 0 && self.first_write.is_some()
    }

    /// One has begun: when the source acts next, if that does not wait for its end. That is to
    /// begin another, or to write the rest of this.
    pub fn pause_after_start(&mut self) -> Option<Time> {
        if let Some(first_write) = &self.first_write {
            return Some(first_write.rest_after);
        }
        let gap = self.gap.as_ref().filter(|_| self.begun < self.most)?;
        Some(Time::from_seconds(gap.draw(&mut self.streams.gap)))
    }

    /// One is over: when the next begins, if that has waited for it.
    pub fn pause_after_end(&mut self) -> Option<Time> {
        let think = self.think.as_ref().filter(|_| self.begun < self.most)?;
        Some(Time::from_seconds(think.draw(&mut self.streams.gap)))
    }

    /// Whether one may begin before another is over.
    pub fn may_overlap(&self) -> bool {
        self.gap.is_some()
    }
}

/// How many transfers a description may ask for.
pub(super) fn check_transfers(path: &str, transfers: Option<u32>) -> Result<(), SpecError> {
    let most = transfers.unwrap_or(u32::MAX);
    let allowed = "at least 1 transfer";
    require(most > 0, &format!("{path}.transfers"), most, allowed)
}
