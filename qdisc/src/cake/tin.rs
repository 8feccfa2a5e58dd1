//! A tin: 1024 queues, an eight-way set-associative hash of flows to queues, and their schedule (DRR++ with
//! host fairness).

use super::cobalt::{Cobalt, Parameters};
use super::counted::count_arrival;
use super::dscp::Share;
use super::size::ByteTime;
use crate::flow_queues::{Lists, Packets, Place, QueueEnds};
use crate::setting::Ends;
use dumbbell_core::cake_samples::{TinState, TinTotals};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::cake::Isolation;

/// Queues of a tin.
pub const QUEUES: u16 = 1024;
/// Queues that a flow may be assigned to.
const WAYS: usize = 8;
/// Range of the quantum; at low rates a 4096th of the bytes of a second.
const QUANTUM_BYTES: std::ops::RangeInclusive<u64> = 300..=1514;

/// Lists of queues: new ones, backlogged ones, and empty ones whose COBALT state has not decayed.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;
const ROTATIONS: usize = 3;

/// The list of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// None: empty and decayed.
    None,
    /// Sparse: within its first turn.
    Sparse,
    /// Sparse, empty, and its deficit is used up.
    SparseWait,
    /// Backlogged.
    Bulk,
    /// Empty, with COBALT state that has not decayed.
    Decaying,
}

/// One of the queues.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// First and last packet.
    pub waiting: QueueEnds,
    /// Bytes that it may still send in this turn.
    pub deficit_bytes: i32,
    pub set: Set,
    pub cobalt: Cobalt,
    /// Source and destination host of its flow.
    ends: Ends,
}

/// Number of a host's backlogged queues.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    as_source: u16,
    as_destination: u16,
}

/// Hosts to which fairness applies.
#[derive(Debug, Clone, Copy)]
pub struct Isolated {
    pub by_source: bool,
    pub by_destination: bool,
}

impl Isolated {
    pub fn of(isolation: Isolation) -> Isolated {
        let triple = isolation == Isolation::TripleIsolate;
        Isolated {
            by_source: triple || isolation == Isolation::DualSrchost,
            by_destination: triple || isolation == Isolation::DualDsthost,
        }
    }
}

/// A tin.
#[derive(Debug, Clone)]
pub struct Tin {
    pub queues: Vec<Queue>,
    /// Bytes on the wire in each queue; a separate vector because the search for the longest reads all.
    pub backlogs: Vec<u32>,
    pub backlog_bytes: u64,
    tags: Vec<u32>,
    rotations: Lists,
    loads: Vec<Load>,
    isolated: Isolated,
    /// Number of sparse queues, empty ones included.
    sparse: u32,
    /// Number of queues that decay.
    decaying: u32,
    pub totals: TinTotals,
    /// Its share of the bandwidth; 0 without a shaper.
    threshold_bytes_per_s: u64,
    pub bulk: u32,
    flow_quantum_bytes: u32,
    pub parameters: Parameters,
    pub byte_time: ByteTime,
    /// Time from which it is within its share again.
    pub next_ns: i64,
    /// Without a shaper: its quantum, and the rest of it in this round.
    pub quantum_bytes: i64,
    pub deficit_bytes: i64,
}

impl Tin {
    pub fn new(
        share: Share,
        rtt_ns: u64,
        frame_bytes: u32,
        hosts: usize,
        isolated: Isolated,
    ) -> Tin {
        let byte_time = ByteTime::new(share.bytes_per_s);
        let quantum_bytes = match share.bytes_per_s {
            0 => *QUANTUM_BYTES.end(),
            rate => (rate >> 12).clamp(*QUANTUM_BYTES.start(), *QUANTUM_BYTES.end()),
        };
        // A twentieth, in whole microseconds as tc passes it.
        let target_ns = 1000 * (rtt_ns / 1000 / 20).max(1);
        let mtu_time_ns = byte_time.ns_of(frame_bytes) as i64;
        let queue = Queue {
            waiting: QueueEnds::EMPTY,
            deficit_bytes: 0,
            set: Set::None,
            cobalt: Cobalt::default(),
            ends: Ends::default(),
        };
        Tin {
            queues: vec![queue; QUEUES.into()],
            backlogs: vec![0; QUEUES.into()],
            backlog_bytes: 0,
            tags: vec![0; QUEUES.into()],
            rotations: Lists::new(ROTATIONS, QUEUES.into()),
            loads: vec![Load::default(); hosts.max(1)],
            isolated,
            sparse: 0,
            decaying: 0,
            totals: TinTotals::default(),
            threshold_bytes_per_s: share.bytes_per_s,
            bulk: 0,
            flow_quantum_bytes: quantum_bytes as u32,
            parameters: Parameters::new(target_ns as i64, rtt_ns as i64, mtu_time_ns),
            byte_time,
            next_ns: 0,
            quantum_bytes: share.quantum_bytes,
            deficit_bytes: 0,
        }
    }

    /// Whether any queue with packets waits for its turn.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The queue of a flow with this hash: its present one, else a free one of its set, else the first of the
    /// set, which is then shared.
    #[inline]
    pub fn queue_of(&mut self, hash: u32, ends: Ends) -> u16 {
        let first = (hash % u32::from(QUEUES)) as usize;
        if self.tags[first] == hash && self.queues[first].set != Set::None {
            return first as u16;
        }
        self.place(hash, first, ends)
    }

    fn place(&mut self, hash: u32, first: usize, ends: Ends) -> u16 {
        let set = first - first % WAYS;
        let ways = || (0..WAYS).map(|way| set + (first + way) % WAYS);
        let own = ways().find(|at| self.tags[*at] == hash);
        let free = || ways().find(|at| self.queues[*at].set == Set::None);
        let (at, is_shared) = if let Some(at) = own {
            self.totals.way_indirect_hits += u64::from(at != first);
            (at, false)
        } else if let Some(at) = free() {
            self.totals.way_misses += 1;
            (at, false)
        } else {
            self.totals.way_collisions += 1;
            (first, true)
        };
        self.tags[at] = hash;
        let queue = self.queues[at];
        if is_shared && queue.set == Set::Bulk {
            self.count_bulk(at as u16, false);
        }
        if is_shared || queue.set == Set::None {
            self.queues[at].ends = ends;
        }
        if is_shared && queue.set == Set::Bulk {
            self.count_bulk(at as u16, true);
        }
        at as u16
    }

    /// Adds a packet to a queue.
    #[inline]
    pub fn push(&mut self, at: u16, packet: Packet, packets: &mut Packets) {
        let bytes = packets.push(&mut self.queues[usize::from(at)].waiting, packet);
        self.backlogs[usize::from(at)] += bytes;
        self.backlog_bytes += u64::from(bytes);
        count_arrival(&mut self.totals, bytes);
    }

    /// Takes the oldest packet out of a queue.
    #[inline]
    pub fn pop(&mut self, at: u16, packets: &mut Packets) -> Option<Packet> {
        let (packet, bytes) = packets.pop(&mut self.queues[usize::from(at)].waiting)?;
        self.backlogs[usize::from(at)] -= bytes;
        self.backlog_bytes -= u64::from(bytes);
        Some(packet)
    }

    /// Takes a packet out of a queue at any place.
    pub fn take_out(&mut self, at: u16, place: Place, packets: &mut Packets) -> Option<Packet> {
        let queue = &mut self.queues[usize::from(at)].waiting;
        let (packet, bytes) = packets.take_out(queue, place)?;
        self.backlogs[usize::from(at)] -= bytes;
        self.backlog_bytes -= u64::from(bytes);
        Some(packet)
    }

    /// A packet has entered the queue.
    #[inline]
    pub fn on_arrival(&mut self, at: u16, random: &mut Stream) {
        let set = self.queues[usize::from(at)].set;
        match set {
            Set::None | Set::Decaying => {
                self.decaying -= u32::from(set == Set::Decaying);
                self.rotations.move_last(at.into(), NEW);
                self.sparse += 1;
                let quantum_bytes = self.quantum_of(at, random);
                let queue = &mut self.queues[usize::from(at)];
                queue.set = Set::Sparse;
                queue.deficit_bytes = quantum_bytes;
            }
            Set::SparseWait => self.becomes_bulk(at),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// A sparse queue becomes backlogged.
    fn becomes_bulk(&mut self, at: u16) {
        self.sparse -= 1;
        self.bulk += 1;
        self.queues[usize::from(at)].set = Set::Bulk;
        self.count_bulk(at, true);
    }

    /// The queue whose turn it is; optionally decaying queues first.
    #[inline]
    pub fn turn(&self, decaying_first: bool) -> Option<u16> {
        let first = |rotation| self.rotations.first(rotation).map(|at| at as u16);
        let decaying = || first(DECAYING);
        { decaying_first.then(decaying).flatten() }
            .or_else(|| first(NEW))
            .or_else(|| first(OLD))
            .or_else(decaying)
    }

    /// Ends the turn of a queue whose deficit is used up.
    #[inline]
    pub fn end_turn(&mut self, at: u16, random: &mut Stream) {
        let queue = &mut self.queues[usize::from(at)];
        if queue.set == Set::Sparse {
            if queue.waiting.is_empty() {
                queue.set = Set::SparseWait;
            } else {
                self.becomes_bulk(at);
            }
        }
        let quantum_bytes = self.quantum_of(at, random);
        self.queues[usize::from(at)].deficit_bytes += quantum_bytes;
        self.rotations.move_last(at.into(), OLD);
    }

    /// The queue had its turn and was empty.
    pub fn on_empty(&mut self, at: u16, now_ns: i64) {
        let queue = &mut self.queues[usize::from(at)];
        queue.cobalt.on_empty(&self.parameters, now_ns);
        let is_at_rest = queue.cobalt.is_at_rest(now_ns);
        let set = match is_at_rest {
            true => Set::None,
            false => Set::Decaying,
        };
        match std::mem::replace(&mut queue.set, set) {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_bulk(at, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Decaying => self.decaying -= 1,
            Set::None => {}
        }
        self.decaying += u32::from(!is_at_rest);
        match is_at_rest {
            true => self.rotations.take_out(at.into()),
            false => self.rotations.move_last(at.into(), DECAYING),
        }
    }

    /// Quantum of a queue: the base quantum divided by the number of backlogged queues of its busier host.
    /// The fraction is rounded at random.
    #[inline]
    fn quantum_of(&self, at: u16, random: &mut Stream) -> i32 {
        let ends = self.queues[usize::from(at)].ends;
        let mut load = 1;
        if self.isolated.by_source {
            load = load.max(self.load_of(ends.source).as_source);
        }
        if self.isolated.by_destination {
            load = load.max(self.load_of(ends.destination).as_destination);
        }
        let share = u32::from(u16::MAX / load);
        let dither = (random.next_u64() >> 48) as u32;
        ((self.flow_quantum_bytes * share + dither) >> 16) as i32
    }

    /// Its counts and its state.
    pub fn state(&self) -> TinState {
        let unresponsive = self.queues.iter().filter(|queue| queue.cobalt.has_blue());
        TinState {
            totals: self.totals,
            threshold_bytes_per_s: self.threshold_bytes_per_s,
            target_ns: self.parameters.target_ns as u64,
            interval_ns: self.parameters.interval_ns as u64,
            backlog_bytes: self.backlog_bytes,
            sparse_flows: self.sparse + self.decaying,
            bulk_flows: self.bulk,
            unresponsive_flows: unresponsive.count() as u32,
            quantum_bytes: self.flow_quantum_bytes,
        }
    }

    fn load_of(&self, host: u32) -> Load {
        self.loads[host as usize % self.loads.len()]
    }

    /// Adds a backlogged queue to the counts of its hosts, or removes it.
    fn count_bulk(&mut self, at: u16, is_more: bool) {
        let Ends {
            source,
            destination,
        } = self.queues[usize::from(at)].ends;
        let hosts = self.loads.len();
        let change = |count: u16| match is_more {
            true => count + 1,
            false => count - 1,
        };
        if self.isolated.by_source {
            let load = &mut self.loads[source as usize % hosts];
            load.as_source = change(load.as_source);
        }
        if self.isolated.by_destination {
            let load = &mut self.loads[destination as usize % hosts];
            load.as_destination = change(load.as_destination);
        }
    }
}
