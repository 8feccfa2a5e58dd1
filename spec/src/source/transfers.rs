//! TCP transfers: their sizes and start times.

use super::FlowStreams;
use crate::SpecError;
use crate::law::Law;
use crate::validate::require;
use dumbbell_core::time::Time;

/// Largest transfer, bytes; larger draws count as this. It equals the limit of a sized source and cannot
/// overflow sums of 63 bits.
pub const LARGEST_TRANSFER_BYTES: u64 = 1_000_000_000_000_000;

/// The bytes of a transfer with this drawn size: an integer of at least 1.
pub fn transfer_bytes(drawn: f64) -> u64 {
    (drawn + 0.5).clamp(1.0, LARGEST_TRANSFER_BYTES as f64) as u64
}

/// The size of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferSize {
    /// Endless.
    Unlimited,
    /// Fixed, bytes.
    Fixed(u64),
    /// Drawn for each transfer.
    Drawn(Law),
}

/// A write before the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstWrite {
    /// Bytes written when the connection opens.
    pub bytes: u64,
    /// Time from the connection's start to the other writes.
    pub rest_after: Time,
}

/// The transfers of a flow, each over a connection of its own.
#[derive(Debug, Clone)]
pub struct Transfers {
    /// Size of each transfer.
    pub size: TransferSize,
    /// Time between consecutive starts, and before the first.
    pub gap: Option<Law>,
    /// Time from the end of one to the start of the next, and before the first.
    pub think: Option<Law>,
    /// First write of an endless transfer; None once the others are due.
    pub first_write: Option<FirstWrite>,
    /// Size of each write, with Nagle's algorithm; None for writes as large as the buffer accepts.
    pub write_bytes: Option<u64>,
    /// Largest number of transfers.
    pub most: u32,
    /// Number of transfers started.
    pub begun: u32,
    /// Random streams of the flow.
    pub streams: FlowStreams,
}

impl Transfers {
    /// One transfer at the start of the flow.
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

    /// Time from the start of the flow to the first transfer.
    pub fn first_pause(&mut self) -> Time {
        let law = self.think.as_ref().or(self.gap.as_ref());
        law.map_or(Time::ZERO, |law| {
            Time::from_seconds(law.draw(&mut self.streams.gap))
        })
    }

    /// Starts the next transfer. Returns its bytes; None for an endless one.
    pub fn begin(&mut self) -> Option<u64> {
        self.begun += 1;
        match &self.size {
            TransferSize::Unlimited => None,
            TransferSize::Fixed(bytes) => Some(*bytes),
            TransferSize::Drawn(law) => Some(transfer_bytes(law.draw(&mut self.streams.size))),
        }
    }

    /// Whether the next action is the remaining writes of the first transfer instead of a new one.
    pub fn has_rest(&self) -> bool {
        self.begun > 0 && self.first_write.is_some()
    }

    /// Time to the next action after a start, if it does not wait for the end: a new transfer, or the
    /// remaining writes of this one.
    pub fn pause_after_start(&mut self) -> Option<Time> {
        if let Some(first_write) = &self.first_write {
            return Some(first_write.rest_after);
        }
        let gap = self.gap.as_ref().filter(|_| self.begun < self.most)?;
        Some(Time::from_seconds(gap.draw(&mut self.streams.gap)))
    }

    /// Time to the next transfer after an end, if it waits for the end.
    pub fn pause_after_end(&mut self) -> Option<Time> {
        let think = self.think.as_ref().filter(|_| self.begun < self.most)?;
        Some(Time::from_seconds(think.draw(&mut self.streams.gap)))
    }

    /// Whether transfers may overlap.
    pub fn may_overlap(&self) -> bool {
        self.gap.is_some()
    }
}

/// Checks the number of transfers of a description.
pub(super) fn check_transfers(path: &str, transfers: Option<u32>) -> Result<(), SpecError> {
    let most = transfers.unwrap_or(u32::MAX);
    let allowed = "at least 1 transfer";
    require(most > 0, &format!("{path}.transfers"), most, allowed)
}
