//! Packets whose departures are known at their arrival: of pipes (`net/pipe.rs`) and token buckets
//! (`net/shaped.rs`).
//! Only timestamps of a packet are kept, until its statistics are recorded. A packet that will find the queue
//! full is kept until its arrival, because a packet that enters a chain is recorded at later links before it
//! reaches them (`sim/world/chained.rs`).

use crate::sim::crossing::Crossing;
use crate::sim::link_statistics::{CrossingRange, LinkStatistics, Server};
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::slice_queue::SliceQueue;
use crate::sim::time::Time;

/// Number of packets whose statistics are recorded together: few enough for their timestamps to stay in the
/// L1 cache.
const TOGETHER_PKTS: usize = 64;

/// Memory of a packet's timestamps: the buffer has twice the size of its contents at most.
pub const BYTES_PER_CROSSING: u64 = 2 * size_of::<Crossing>() as u64;

/// Length of the leading part of the row for which `is_true` holds. It is usually short, and the row may be
/// long.
#[inline(always)]
fn leading(row: &[Crossing], is_true: impl Fn(&Crossing) -> bool) -> usize {
    let mut bound = TOGETHER_PKTS;
    while row.get(bound).is_some_and(&is_true) {
        bound *= 2;
    }
    row.get(..bound).unwrap_or(row).partition_point(is_true)
}

/// Packets of a queue whose statistics have not been recorded.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// In order of arrival.
    crossings: SliceQueue<Crossing>,
    /// Number of packets whose arrivals have been recorded.
    entered: usize,
    /// Number of packets that had left by the latest arrival; updated only when the queue may be full.
    left: usize,
    /// Bytes on the wire of all packets that have not left.
    system_bytes: u64,
    /// Number of packets scanned for GSO packets; none before the queue may be full.
    looked_at: usize,
    /// Continuation segments of GSO packets among them that have not left.
    continuing: usize,
    /// Number of pending packets at which statistics are recorded.
    enters_at: usize,
    /// Whether packets come from hosts or queues only, not from another link of a chain. Then all arrivals
    /// recorded here are in the past.
    is_first: bool,
    /// The last recorded departure.
    latest_departed: Time,
    /// Packets that will find the queue full, with their arrival times.
    refused: Ring<(Time, Packet)>,
}

impl Pending {
    /// An empty record; with `is_first`, packets are recorded at their arrival.
    pub fn new(is_first: bool) -> Pending {
        Pending {
            crossings: SliceQueue::default(),
            entered: 0,
            left: 0,
            system_bytes: 0,
            looked_at: 0,
            continuing: 0,
            enters_at: TOGETHER_PKTS,
            is_first,
            latest_departed: Time::ZERO,
            refused: Ring::default(),
        }
    }

    /// Number and bytes of packets in the system, as far as updated.
    #[inline(always)]
    pub fn system(&self) -> (usize, u64) {
        (self.crossings.len() - self.left, self.system_bytes)
    }

    /// Continuation segments of GSO packets in the system. Each packet is scanned once.
    pub fn continuing(&mut self) -> usize {
        let row = self.crossings.values();
        let new = { row.iter() }.skip(self.looked_at.max(self.left));
        self.continuing += new.filter(|each| each.continues).count();
        self.looked_at = row.len();
        self.continuing
    }

    /// Packets in the system after all departures before `bound`, in order of arrival.
    #[inline(always)]
    pub fn system_at(&mut self, bound: Time) -> &[Crossing] {
        let system = self.crossings.values().get(self.left..);
        let system = system.unwrap_or_default();
        let gone = system.iter().take_while(|first| first.departure < bound);
        for first in gone {
            self.system_bytes -= u64::from(first.bytes);
            self.continuing -= usize::from(first.continues && self.left < self.looked_at);
            self.left += 1;
        }
        let system = self.crossings.values().get(self.left..);
        system.unwrap_or_default()
    }

    /// Adds an accepted packet. Returns whether enough are pending to be recorded.
    #[inline(always)]
    pub fn push(&mut self, crossing: Crossing) -> bool {
        self.system_bytes += u64::from(crossing.bytes);
        self.crossings.push_back(crossing);
        self.crossings.len() >= self.enters_at
    }

    /// Adds a packet that finds the queue full at `at`, which may be in the future.
    pub fn refuse(&mut self, packet: Packet, at: Time) {
        self.refused.push_back((at, packet));
    }

    /// The next packet that found the queue full before `bound`.
    #[inline]
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        self.refused.front().filter(|(at, _)| *at < bound)?;
        self.refused.pop_front().map(|(_, packet)| packet)
    }

    /// Records everything before `bound`, which is not later than the present.
    #[inline(always)]
    pub fn enter_before(
        &mut self,
        bound: Time,
        server: Server,
        warm_up: Time,
        statistics: &mut LinkStatistics,
    ) {
        let row = self.crossings.values();
        let (mut arrived, mut left_before) = (row.len(), bound);
        if !self.is_first {
            let new = row.get(self.entered..).unwrap_or_default();
            arrived = self.entered + leading(new, |crossing| crossing.arrived < bound);
        } else if arrived > self.entered
            && let Some(last) = row.last()
        {
            // A departure at the instant of an arrival may precede it or coincide with it.
            left_before = bound.max(match server {
                Server::Transmitter => last.departures_before(),
                Server::Tokens => last.arrived + Time(1),
            });
        }
        let departures = leading(row, |crossing| crossing.departure < left_before);
        let entering = CrossingRange {
            server,
            arrivals: self.entered..arrived,
            departures,
            latest_departed: self.latest_departed,
        };
        let bytes = statistics.enter_crossings(row, &entering, warm_up);
        if let Some(last) = row.iter().take(departures).next_back() {
            self.latest_departed = last.departure;
        }
        self.entered = arrived - departures;
        self.discard(departures, bytes);
    }

    /// Records packets that passed in an instant before `bound`.
    pub fn enter_passed(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        let row = self.crossings.values();
        let passed = leading(row, |crossing| crossing.arrived < bound);
        let mut bytes = 0;
        for crossing in row.iter().take(passed) {
            statistics.passed(crossing.bytes, crossing.arrived, warm_up);
            bytes += u64::from(crossing.bytes);
        }
        self.discard(passed, bytes);
    }

    /// Discards the first packets, which are completely recorded: `bytes` bytes.
    #[inline(always)]
    fn discard(&mut self, pkts: usize, bytes: u64) {
        let known = pkts.min(self.left);
        let known_bytes = { self.crossings.values().iter().take(known) }
            .map(|gone| u64::from(gone.bytes))
            .sum::<u64>();
        self.system_bytes -= bytes - known_bytes;
        if self.continuing > 0 {
            let row = self.crossings.values().iter();
            let gone = row.take(pkts.min(self.looked_at)).skip(known);
            self.continuing -= gone.filter(|each| each.continues).count();
        }
        self.looked_at = self.looked_at.saturating_sub(pkts);
        self.left -= known;
        self.crossings.discard_front(pkts);
        self.enters_at = self.crossings.len() + TOGETHER_PKTS;
    }

    /// Memory of the timestamps.
    pub fn memory_bytes(&self) -> u64 {
        self.crossings.memory_bytes() + self.refused.memory_bytes()
    }

    /// Packets still propagating that will find the queue full.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.refused.iter().map(|(_, packet)| packet)
    }
}
