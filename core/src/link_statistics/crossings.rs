//! Records many packets of a queue at a time, whose arrivals and departures are known.
//!
//! One loop over the arrivals, which keeps the order of events, and one over the departures. The result is
//! the same as with [`LevelIntegrals::set`] and [`LinkStatistics::departed`] event by event (`tests`).
//!
//! The integral of the number of packets is the sum of the departure times minus the sum of the arrival times
//! (Little's identity, with packets still present counted to the end). The integrals of waiting and
//! transmitted packets follow likewise, from the times at which transmissions begin. All sums wrap below zero
//! until `advance` turns them into integrals.

use super::{Level, LevelIntegrals, LinkStatistics};
use crate::crossing::Crossing;
use crate::time::Time;
use std::ops::Range;

/// The server of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// A transmitter, which holds one packet at a time while it sends it.
    Transmitter,
    /// A token bucket: a packet waits until it leaves. A packet that finds its tokens on arrival leaves in
    /// that instant and never counts as queued.
    Tokens,
}

/// The arrivals and departures to record, as ranges of a row of packets.
#[derive(Debug, Clone)]
pub struct CrossingRange {
    /// The server.
    pub server: Server,
    /// Packets that arrive; those before them have arrived already.
    pub arrivals: Range<usize>,
    /// Number of packets that leave, from the first on.
    pub departures: usize,
    /// Departure of the packet before the first of the row.
    pub latest_departed: Time,
}

/// Sums of times over packets: arrivals, starts of transmission, or departures.
#[derive(Default)]
struct TimeSums {
    pkts: u64,
    bytes: u64,
    times: u128,
    /// Sum of the products of these times with the bytes; wraps.
    areas: u128,
}

impl TimeSums {
    #[inline(always)]
    fn add(&mut self, bytes: u32, at: Time) {
        self.pkts += 1;
        self.bytes += u64::from(bytes);
        self.times += u128::from(at.0);
        let area = u128::from(bytes) * u128::from(at.0);
        self.areas = self.areas.wrapping_add(area);
    }

    fn take_off(&mut self, bytes: u32, at: Time) {
        self.pkts -= 1;
        self.bytes -= u64::from(bytes);
        self.times -= u128::from(at.0);
        let area = u128::from(bytes) * u128::from(at.0);
        self.areas = self.areas.wrapping_sub(area);
    }

    /// Adds the start of transmission of the packet behind the departing ones, and excludes that of the first
    /// if it was already in transmission.
    #[inline(always)]
    fn add_head(&mut self, row: &[Crossing], entering: &CrossingRange) {
        let server = entering.server;
        if entering.departures < entering.arrivals.end
            && let Some(head) = row.get(entering.departures)
        {
            let last = row.iter().take(entering.departures).next_back();
            let latest = last.map_or(entering.latest_departed, |last| last.departure);
            self.add(head.bytes, server.begins(head, latest));
        }
        if entering.arrivals.start > 0
            && let Some(first) = row.first()
        {
            self.take_off(first.bytes, server.begins(first, entering.latest_departed));
        }
    }

    /// The sum of the times relative to `base`; wraps.
    fn times_since(&self, base: Time) -> u128 {
        self.times
            .wrapping_sub(u128::from(base.0) * u128::from(self.pkts))
    }

    fn areas_since(&self, base: Time) -> u128 {
        self.areas
            .wrapping_sub(u128::from(base.0) * u128::from(self.bytes))
    }
}

/// Packets that were in the system one at a time.
#[derive(Default)]
struct LonePackets {
    pkts: usize,
    bytes: u64,
    latest_departed: Time,
}

impl Server {
    /// When service of a packet begins.
    #[inline(always)]
    fn begins(self, crossing: &Crossing, latest_departed: Time) -> Time {
        match self {
            Server::Transmitter => crossing.arrived.max(latest_departed),
            Server::Tokens => crossing.departure,
        }
    }

    /// Number of waiting packets among those in the system.
    #[inline(always)]
    fn waiting(self, system_pkts: u32) -> u32 {
        match self {
            Server::Transmitter => system_pkts.saturating_sub(1),
            Server::Tokens => system_pkts,
        }
    }
}

impl LinkStatistics {
    /// Records arrivals and departures by the times of a row of packets. [`Crossing::departures_before`]
    /// decides the order of an arrival and a departure. Returns the number of bytes that left.
    #[inline(always)]
    pub fn enter_crossings(
        &mut self,
        row: &[Crossing],
        entering: &CrossingRange,
        warm_up: Time,
    ) -> u64 {
        let mut alone = LonePackets::default();
        let may_be_alone = entering.server == Server::Transmitter && self.is_whole();
        if entering.arrivals.start == 0 && may_be_alone {
            alone = self.enter_alone(row, entering, warm_up);
            if alone.pkts == entering.arrivals.end {
                return alone.bytes;
            }
        }
        let rest = CrossingRange {
            server: entering.server,
            arrivals: entering.arrivals.start.max(alone.pkts) - alone.pkts
                ..entering.arrivals.end - alone.pkts,
            departures: entering.departures - alone.pkts,
            latest_departed: alone.latest_departed.max(entering.latest_departed),
        };
        let row = row.get(alone.pkts..).unwrap_or_default();
        alone.bytes + self.enter_any(row, &rest, warm_up)
    }

    /// Records leading packets that find the queue idle and leave before the next arrival: nearly all on an
    /// access link.
    #[inline(always)]
    fn enter_alone(
        &mut self,
        row: &[Crossing],
        entering: &CrossingRange,
        warm_up: Time,
    ) -> LonePackets {
        let mut alone = LonePackets::default();
        let (mut busy, mut as_before_pkts) = (0, 0);
        let mut as_before = self.repeated.sojourn_without_wait();
        for (index, crossing) in row.iter().enumerate().take(entering.departures) {
            let gone_before = match row.get(index + 1) {
                Some(next) if index + 1 < entering.arrivals.end => next.departures_before(),
                _ => Time::NEVER,
            };
            if crossing.departure >= gone_before {
                break;
            }
            let sojourn = crossing.departure - crossing.arrived;
            if sojourn == as_before && crossing.arrived >= warm_up {
                as_before_pkts += 1;
            } else {
                self.repeated.pkts += std::mem::take(&mut as_before_pkts);
                self.measure(crossing.arrived, sojourn, Time::ZERO, warm_up);
                as_before = self.repeated.sojourn_without_wait();
            }
            busy += sojourn.0;
            alone.pkts += 1;
            alone.bytes += u64::from(crossing.bytes);
            alone.latest_departed = crossing.departure;
        }
        self.repeated.pkts += as_before_pkts;
        if alone.pkts > 0 {
            self.levels.pass_alone(alone.latest_departed, busy);
            let pkts = alone.pkts as u64;
            self.total.arrived_pkts += pkts;
            self.total.arrived_bytes += alone.bytes;
            self.total.departed_pkts += pkts;
            self.total.departed_bytes += alone.bytes;
        }
        alone
    }

    #[inline(always)]
    fn enter_any(&mut self, row: &[Crossing], entering: &CrossingRange, warm_up: Time) -> u64 {
        let arrivals = row.get(entering.arrivals.clone()).unwrap_or_default();
        let departures = row.get(..entering.departures).unwrap_or_default();
        let mut arrived = TimeSums::default();
        if self.is_whole() {
            self.levels
                .enter_order(row, arrivals, entering, &mut arrived);
        } else {
            for crossing in arrivals {
                arrived.add(crossing.bytes, crossing.arrived);
            }
        }
        let (left, mut begun) = self.enter_departures(departures, entering, warm_up);
        if entering.server == Server::Transmitter {
            begun.add_head(row, entering);
        }
        self.total.arrived_pkts += arrived.pkts;
        self.total.arrived_bytes += arrived.bytes;
        self.total.departed_pkts += left.pkts;
        self.total.departed_bytes += left.bytes;
        if self.is_whole() {
            self.levels.enter_sums(&arrived, &begun, &left);
        } else {
            self.levels.count(entering.server, &arrived, &begun, &left);
        }
        left.bytes
    }

    /// Records departures. Returns sums over them, and over the starts of their transmissions.
    #[inline(always)]
    fn enter_departures(
        &mut self,
        departures: &[Crossing],
        entering: &CrossingRange,
        warm_up: Time,
    ) -> (TimeSums, TimeSums) {
        let (mut left, mut begun) = (TimeSums::default(), TimeSums::default());
        let mut latest_departed = entering.latest_departed;
        let is_whole = self.is_whole();
        for crossing in departures {
            let at = entering.server.begins(crossing, latest_departed);
            latest_departed = crossing.departure;
            begun.add(crossing.bytes, at);
            left.bytes += u64::from(crossing.bytes);
            left.times += u128::from(crossing.departure.0);
            if is_whole {
                let sojourn = crossing.departure - crossing.arrived;
                self.measure(crossing.arrived, sojourn, at - crossing.arrived, warm_up);
            }
        }
        left.pkts = departures.len() as u64;
        (left, begun)
    }
}

impl LevelIntegrals {
    /// Packets were in the system one at a time, for `busy` picoseconds in total, and the last has left.
    fn pass_alone(&mut self, latest_departed: Time, busy: u64) {
        debug_assert_eq!(self.current, Level::default());
        let idle = (latest_departed - self.since).0 - busy;
        self.since = latest_departed;
        self.add_time(0, idle);
        self.add_time(1, busy);
        self.system = self.system.wrapping_add(u128::from(busy));
        self.in_transmission = self.in_transmission.wrapping_add(busy);
        self.max.system_pkts = self.max.system_pkts.max(1);
    }

    /// Adds the sums of arrivals, starts of transmission and departures to the integrals.
    fn enter_sums(&mut self, arrived: &TimeSums, begun: &TimeSums, left: &TimeSums) {
        let base = self.base;
        let [came, began, went] = [arrived, begun, left].map(|sums| sums.times_since(base));
        self.system = self.system.wrapping_add(went).wrapping_sub(came);
        self.in_transmission = (self.in_transmission)
            .wrapping_add(went as u64)
            .wrapping_sub(began as u64);
        self.backlog_bytes = (self.backlog_bytes)
            .wrapping_add(begun.areas_since(base))
            .wrapping_sub(arrived.areas_since(base));
    }

    /// Updates the level only.
    fn count(&mut self, server: Server, arrived: &TimeSums, begun: &TimeSums, left: &TimeSums) {
        self.current.system_pkts += arrived.pkts as u32;
        self.current.system_pkts -= left.pkts as u32;
        self.current.backlog_pkts = server.waiting(self.current.system_pkts);
        self.current.backlog_bytes += arrived.bytes;
        self.current.backlog_bytes -= begun.bytes;
    }

    /// Processes arrivals and departures in order, for the duration of each level and the maximum. Adds to
    /// the sums of arrivals.
    #[inline(always)]
    fn enter_order(
        &mut self,
        row: &[Crossing],
        arrivals: &[Crossing],
        entering: &CrossingRange,
        arrived: &mut TimeSums,
    ) {
        let mut order = OrderCursor {
            server: entering.server,
            departure: match row.first() {
                Some(first) if entering.arrivals.start > 0 => first.departure,
                _ => Time::NEVER,
            },
            left: 0,
            system_pkts: self.current.system_pkts,
            backlog_bytes: self.current.backlog_bytes,
        };
        let mut most_pkts = self.max.system_pkts;
        for crossing in arrivals {
            while order.departure < crossing.departures_before() {
                order.depart(self, row);
            }
            self.occupy(order.system_pkts, crossing.arrived);
            order.arrive(crossing);
            arrived.add(crossing.bytes, crossing.arrived);
            while entering.server == Server::Tokens && order.departure <= crossing.arrived {
                order.depart(self, row);
            }
            most_pkts = most_pkts.max(order.system_pkts);
            if order.backlog_bytes > self.max.backlog_bytes {
                self.max.backlog_bytes = order.backlog_bytes;
            }
        }
        while order.left < entering.departures {
            order.depart(self, row);
        }
        self.max.system_pkts = most_pkts;
        let most_waiting = entering.server.waiting(most_pkts);
        self.max.backlog_pkts = self.max.backlog_pkts.max(most_waiting);
        self.current = Level {
            system_pkts: order.system_pkts,
            backlog_pkts: entering.server.waiting(order.system_pkts),
            backlog_bytes: order.backlog_bytes,
        };
    }
}

/// Position in the order of a row's arrivals and departures.
struct OrderCursor {
    server: Server,
    /// The next departure; `NEVER` for none.
    departure: Time,
    /// Number of packets that have left.
    left: usize,
    system_pkts: u32,
    backlog_bytes: u64,
}

impl OrderCursor {
    #[inline(always)]
    fn arrive(&mut self, crossing: &Crossing) {
        self.system_pkts += 1;
        if self.system_pkts == 1 {
            self.departure = crossing.departure;
        }
        if self.system_pkts > 1 || self.server == Server::Tokens {
            self.backlog_bytes += u64::from(crossing.bytes);
        }
    }

    #[inline(always)]
    fn depart(&mut self, levels: &mut LevelIntegrals, row: &[Crossing]) {
        levels.occupy(self.system_pkts, self.departure);
        self.system_pkts -= 1;
        if self.server == Server::Tokens
            && let Some(gone) = row.get(self.left)
        {
            self.backlog_bytes -= u64::from(gone.bytes);
        }
        self.left += 1;
        self.departure = match row.get(self.left) {
            Some(next) if self.system_pkts > 0 => {
                if self.server == Server::Transmitter {
                    self.backlog_bytes -= u64::from(next.bytes);
                }
                next.departure
            }
            _ => Time::NEVER,
        };
    }
}
