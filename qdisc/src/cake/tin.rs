//! A tin: 1024 queues, which flows come to by a hash with eight places, and their turns (DRR++ with fair
//! shares of hosts).

use super::cobalt::{Cobalt, Parameters};
use super::dscp::Share;
use super::size::ByteTime;
use crate::flow_queues::{Lists, Packets, QueueEnds};
use crate::setting::Ends;
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::cake::Isolation;

/// Queues of a tin.
pub const QUEUES: u16 = 1024;
/// Places that a flow may come to.
const WAYS: usize = 8;
/// What a flow may send in a turn; at low rates less, a 4096th of a second's bytes.
const QUANTUM_BYTES: std::ops::RangeInclusive<u64> = 300..=1514;

/// The rotations: queues that have just got a packet, those with a backlog, and empty ones whose COBALT has
/// not come to rest.
const NEW: usize = 0;
const OLD: usize = 1;
const DECAYING: usize = 2;
const ROTATIONS: usize = 3;

/// What a queue is to the rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// Empty and at rest.
    None,
    /// Within its first turn.
    Sparse,
    /// Sparse, but it has overdrawn its turn and is empty.
    SparseWait,
    /// With a backlog.
    Bulk,
    /// Empty, and its COBALT not at rest.
    Decaying,
}

/// One of the queues.
#[derive(Debug, Clone, Copy)]
pub struct Queue {
    /// Its packets.
    pub waiting: QueueEnds,
    /// Bytes it may still send in this turn.
    pub deficit_bytes: i32,
    pub set: Set,
    pub cobalt: Cobalt,
    /// Whose flow it holds.
    ends: Ends,
}

/// How many queues with a backlog a host has.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    as_source: u16,
    as_destination: u16,
}

/// Whose shares count.
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
    /// Bytes on the wire in each; apart, as the search for the longest reads all.
    pub backlogs: Vec<u32>,
    pub backlog_bytes: u64,
    tags: Vec<u32>,
    rotations: Lists,
    loads: Vec<Load>,
    isolated: Isolated,
    /// Queues that are sparse or wait so.
    sparse: u32,
    pub bulk: u32,
    flow_quantum_bytes: u32,
    pub parameters: Parameters,
    pub byte_time: ByteTime,
    /// When it is within its share again.
    pub next_ns: i64,
    /// Without a shaper: what it may send in a round, and what is left of that.
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
        // A twentieth, in whole microseconds as tc hands it over.
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
            bulk: 0,
            flow_quantum_bytes: quantum_bytes as u32,
            parameters: Parameters::new(target_ns as i64, rtt_ns as i64, mtu_time_ns),
            byte_time,
            next_ns: 0,
            quantum_bytes: share.quantum_bytes,
            deficit_bytes: 0,
        }
    }

    /// Whether a queue waits for its turn with packets.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The queue of a flow with this hash: the one that it has, one of its eight that is free, or else the
    /// first, which it shares then.
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
        let (at, is_shared) = match own.or_else(free) {
            Some(at) => (at, false),
            None => (first, true),
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
    }

    /// Takes the oldest packet out of a queue.
    #[inline]
    pub fn pop(&mut self, at: u16, packets: &mut Packets) -> Option<Packet> {
        let (packet, bytes) = packets.pop(&mut self.queues[usize::from(at)].waiting)?;
        self.backlogs[usize::from(at)] -= bytes;
        self.backlog_bytes -= u64::from(bytes);
        Some(packet)
    }

    /// A packet has come into the queue.
    #[inline]
    pub fn on_arrival(&mut self, at: u16, random: &mut Stream) {
        let set = self.queues[usize::from(at)].set;
        match set {
            Set::None | Set::Decaying => {
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

    /// A sparse queue has a backlog.
    fn becomes_bulk(&mut self, at: u16) {
        self.sparse -= 1;
        self.bulk += 1;
        self.queues[usize::from(at)].set = Set::Bulk;
        self.count_bulk(at, true);
    }

    /// The queue whose turn it is; one of those at rest, if any, before the others.
    #[inline]
    pub fn turn(&self, decaying_first: bool) -> Option<u16> {
        let first = |rotation| self.rotations.first(rotation).map(|at| at as u16);
        let decaying = || first(DECAYING);
        { decaying_first.then(decaying).flatten() }
            .or_else(|| first(NEW))
            .or_else(|| first(OLD))
            .or_else(decaying)
    }

    /// Ends the turn of a queue that has nothing left of it.
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

    /// It was the queue's turn and nothing was in it.
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
            Set::None | Set::Decaying => {}
        }
        match is_at_rest {
            true => self.rotations.take_out(at.into()),
            false => self.rotations.move_last(at.into(), DECAYING),
        }
    }

    /// Bytes of a turn: the quantum over the queues with a backlog that its busier host has. What is lost by
    /// whole bytes is made up for by chance.
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

    fn load_of(&self, host: u32) -> Load {
        self.loads[host as usize % self.loads.len()]
    }

    /// Counts a queue with a backlog to its hosts, or no more.
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
