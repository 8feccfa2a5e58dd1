//! A plain FIFO, a transmitter of constant rate and a constant delay: whatever happens to a packet
//! here is certain when it arrives.
//!
//! When it leaves depends on packets before it alone, and so does whether the queue has room for it.
//! So nothing of a packet is kept here: only times, until the statistics have been entered that
//! they say. These are entered many at a time, in the order of events, and never beyond what has
//! happened: a packet may be told its way through several links before it has taken it
//! (`sim/world/chained.rs`).
//!
//! The ordinary path (`Link::send`) does the same with an event for each departure, and gives the same
//! digest (`tests/folding.rs`).

use crate::qdisc::fifo::Limit;
use crate::sim::link_statistics::LinkStatistics;
use crate::sim::packet::Packet;
use crate::sim::rate::Rate;
use crate::sim::ring::Ring;
use crate::sim::time::Time;

/// Packets whose statistics are entered together: few enough for their times to stay in the first
/// cache.
pub(super) const TOGETHER_PKTS: usize = 32;

/// What the times of a packet take in a ring, which is twice as large as what it holds at most.
pub const BYTES_PER_CROSSING: u64 = 2 * size_of::<Crossing>() as u64;

/// A packet that was taken, and whose statistics have not all been entered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    pub(super) arrived: Time,
    pub(super) departure: Time,
    pub(super) bytes: u32,
    /// Whether departures of the very instant of its arrival came before it.
    pub(super) is_last_of_instant: bool,
    /// Whether the queue takes it and the one before it for one packet (`gso`).
    pub(super) continues: bool,
}

impl Crossing {
    /// Departures before this came before its arrival.
    #[inline(always)]
    pub(super) fn departures_before(&self) -> Time {
        self.arrived + Time(u64::from(self.is_last_of_instant))
    }
}

/// What becomes of a packet that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// When its transmission ends.
    pub departure: Time,
    /// When its transmission begins, if it waits for another's end.
    pub begins_at: Option<Time>,
}

/// Queue, transmitter and delay in one.
#[derive(Debug, Clone)]
pub struct Pipe {
    /// First to arrive first.
    pending: Ring<Crossing>,
    /// The arrivals of so many of them have been entered.
    entered: usize,
    /// So many of them are known to have left by the latest arrival: not looked for before the queue
    /// may be full.
    left: usize,
    /// Bytes on the wire of all of them but those that have left.
    system_bytes: u64,
    /// When to enter what is pending: so many are.
    enters_at: usize,
    /// When the last of them leaves.
    last_departure: Time,
    /// None for an infinite rate: packets pass in an instant.
    rate: Option<Rate>,
    limit: Limit,
    /// Whether some of what comes is GSO packets.
    takes_gso: bool,
    /// Whether hosts or queues put packets here, and no other pipe: then all arrivals have happened.
    is_first: bool,
    /// When the last departure was that was entered.
    latest_departed: Time,
    /// Those that will find the queue full, and when.
    refused: Ring<(Time, Packet)>,
}

impl Pipe {
    /// An empty pipe. With `is_first` packets arrive at the time at which `cross` is asked.
    /// `takes_gso` says whether some of them are GSO packets.
    pub fn new(limit: Limit, rate: Option<Rate>, is_first: bool, takes_gso: bool) -> Pipe {
        Pipe {
            pending: Ring::default(),
            entered: 0,
            left: 0,
            system_bytes: 0,
            enters_at: TOGETHER_PKTS,
            last_departure: Time::ZERO,
            rate,
            limit,
            takes_gso,
            is_first,
            latest_departed: Time::ZERO,
            refused: Ring::default(),
        }
    }

    /// A packet of so many bytes on the wire arrives at `at`, no earlier than those before it, and
    /// after departures of that very instant if so said. None when the queue is full.
    #[inline(always)]
    pub fn cross(&mut self, bytes: u32, at: Time, is_last_of_instant: bool) -> Option<Taken> {
        if self.rate.is_some() && !self.admits(u64::from(bytes), at, is_last_of_instant) {
            return None;
        }
        Some(self.take(bytes, at, is_last_of_instant, false))
    }

    /// Whether the queue has room for a packet, or a GSO packet, of so many bytes.
    #[inline(always)]
    pub fn admits(&mut self, bytes: u64, at: Time, is_last_of_instant: bool) -> bool {
        let system_pkts = self.pending.len() - self.left;
        let waiting_pkts = system_pkts.saturating_sub(1);
        // Fewer wait if some have left by then, or are segments of one.
        if self.limit.admits(waiting_pkts, self.system_bytes, bytes) {
            return true;
        }
        self.admits_at_last(bytes, at + Time(u64::from(is_last_of_instant)))
    }

    /// Takes a packet that it has room for, or the next segment of a GSO packet.
    #[inline(always)]
    pub fn take(
        &mut self,
        bytes: u32,
        at: Time,
        is_last_of_instant: bool,
        continues: bool,
    ) -> Taken {
        let mut taken = Taken {
            departure: at,
            begins_at: None,
        };
        let bound = at + Time(u64::from(is_last_of_instant));
        if let Some(rate) = &mut self.rate {
            let service = rate.time_for(bytes);
            if self.last_departure >= bound && self.last_departure > Time::ZERO {
                taken.begins_at = Some(self.last_departure);
            }
            taken.departure = at.max(self.last_departure) + service;
            self.last_departure = taken.departure;
        }
        self.system_bytes += u64::from(bytes);
        self.pending.push_back(Crossing {
            arrived: at,
            departure: taken.departure,
            bytes,
            is_last_of_instant,
            continues,
        });
        taken
    }

    /// Whether a packet has room that finds the queue as it is after all departures before `bound`.
    #[inline(never)]
    fn admits_at_last(&mut self, bytes: u64, bound: Time) -> bool {
        while let Some(first) = self.pending.get(self.left)
            && first.departure < bound
        {
            self.system_bytes -= u64::from(first.bytes);
            self.left += 1;
        }
        let first = self.pending.get(self.left);
        let waiting_bytes = self.system_bytes - first.map_or(0, |first| u64::from(first.bytes));
        let waiting_pkts = (self.pending.len() - self.left).saturating_sub(1);
        if !self.takes_gso {
            return self.limit.admits(waiting_pkts, waiting_bytes, bytes);
        }
        // Segments of what is in transmission have left the queue with the first of them.
        let waiting = (self.left + 1..self.pending.len()).filter_map(|i| self.pending.get(i));
        let waiting = waiting.skip_while(|crossing| crossing.continues);
        let (mut pkts, mut waiting_bytes) = (0, 0);
        for crossing in waiting {
            pkts += usize::from(!crossing.continues);
            waiting_bytes += u64::from(crossing.bytes);
        }
        self.limit.admits(pkts, waiting_bytes, bytes)
    }

    /// When the last packet leaves.
    #[inline(always)]
    pub fn last_departure(&self) -> Time {
        self.last_departure
    }

    /// A packet finds the queue full at `at`, which may be yet to come.
    pub fn refuse(&mut self, packet: Packet, at: Time) {
        self.refused.push_back((at, packet));
    }

    /// The next packet that found the queue full before `bound`.
    #[inline]
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        self.refused.front().filter(|(at, _)| *at < bound)?;
        self.refused.pop_front().map(|(_, packet)| packet)
    }

    /// Whether it is time to enter what has happened.
    #[inline(always)]
    pub fn is_to_be_entered(&self) -> bool {
        self.pending.len() >= self.enters_at
    }

    /// Enters what has happened before `bound`, no later than the present.
    pub fn enter_before(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        if self.rate.is_some() {
            self.enter_queue(bound, warm_up, statistics);
        } else {
            while let Some(first) = self.pending.front()
                && first.arrived < bound
            {
                statistics.passed(first.bytes, first.arrived, warm_up);
                self.pop();
            }
        }
        self.enters_at = self.pending.len() + TOGETHER_PKTS;
    }

    #[inline(always)]
    fn enter_queue(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        let arrived_before = if self.is_first { Time::NEVER } else { bound };
        let mut departure = match self.pending.front() {
            Some(first) if self.entered > 0 => first.departure,
            _ => Time::NEVER,
        };
        while let Some(&next) = self.pending.get(self.entered)
            && next.arrived < arrived_before
        {
            while departure < next.departures_before() {
                departure = self.enter_departure(warm_up, statistics);
            }
            if self.entered == 0 && next.departure < self.entered_before(arrived_before, bound) {
                self.enter_alone(next, warm_up, statistics);
                continue;
            }
            statistics.total.arrived(next.bytes);
            statistics.arrive(next.arrived, next.bytes);
            departure = departure.min(next.departure);
            self.entered += 1;
        }
        while departure < bound {
            departure = self.enter_departure(warm_up, statistics);
        }
    }

    /// Of an idle pipe: departures before this are entered before anything else is.
    #[inline(always)]
    fn entered_before(&self, arrived_before: Time, bound: Time) -> Time {
        match self.pending.get(1) {
            Some(second) if second.arrived < arrived_before => second.departures_before(),
            _ => bound,
        }
    }

    /// Enters a packet that comes to an idle pipe and leaves before the next comes: nearly all of
    /// an access link.
    #[inline(always)]
    fn enter_alone(&mut self, alone: Crossing, warm_up: Time, statistics: &mut LinkStatistics) {
        self.pop();
        self.latest_departed = alone.departure;
        statistics.total.arrived(alone.bytes);
        statistics.passed_alone(alone.bytes, alone.arrived, alone.departure, warm_up);
    }

    /// Enters that the first packet leaves. Returns when the next does, if there is one.
    #[inline(always)]
    fn enter_departure(&mut self, warm_up: Time, statistics: &mut LinkStatistics) -> Time {
        let Some(gone) = self.pop() else {
            return Time::NEVER;
        };
        self.entered -= 1;
        let service = gone.departure - gone.arrived.max(self.latest_departed);
        self.latest_departed = gone.departure;
        statistics.departed(gone.bytes, gone.arrived, service, gone.departure, warm_up);
        match self.pending.front() {
            Some(next) if self.entered > 0 => {
                statistics.depart(gone.departure, next.bytes);
                next.departure
            }
            _ => {
                statistics.depart(gone.departure, 0);
                Time::NEVER
            }
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Crossing> {
        let gone = self.pending.pop_front()?;
        if self.left > 0 {
            self.left -= 1;
        } else {
            self.system_bytes -= u64::from(gone.bytes);
        }
        Some(gone)
    }

    /// What the times take that it keeps.
    pub fn memory_bytes(&self) -> u64 {
        self.pending.memory_bytes() + self.refused.memory_bytes()
    }

    /// Packets that will find the queue full, which are on their way still.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.refused.iter().map(|(_, packet)| packet)
    }
}
