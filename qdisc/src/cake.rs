//! `cake`: Common Applications Kept Enhanced (T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE",
//! LANMAN 2018; tc-cake(8)), by Linux's arithmetic (6.1, `net/sched/sch_cake.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | shaper in deficit mode: after a packet leaves, the next waits for its transmission time at `bandwidth`; no burst | yes |
//! | Linux: if dropped packets count (`ingress`), at least two thirds of the rate are still sent | yes |
//! | `overhead`, `mpu`, `atm`, `ptm`; the size is counted from the IP header unless `raw` | yes |
//! | tins by DSCP: the highest tin within its share of the bandwidth, else the one that will be within it soonest | yes |
//! | `unlimited`: tins in deficit round robin | yes |
//! | eight-way set-associative hash of flows to 1024 queues per tin | yes, keyed |
//! | DRR++: a queue is new, then old; a quantum of 300 to 1514 bytes by the rate | yes |
//! | empty queues decay before they are removed, one per packet | yes |
//! | host fairness: the quantum is divided by the number of backlogged queues of the host | yes, with exact counts per host |
//! | COBALT: see `cobalt`; never drops the last packet of a queue | yes |
//! | COBALT's target: at least one and a half transmission times of a packet of the MTU at the tin's rate | yes |
//! | ECN: marks instead of CoDel's drops, not of BLUE's | yes |
//! | over `memlimit`: packets are dropped from the head of the longest queue of all tins | yes; among equally long queues the first |
//! | `wash` | yes |
//! | `split-gso` | yes, at the root |
//! | `nat`, firewall marks, socket priorities, filters that choose a queue | no |
//! | `ack-filter`, `ack-filter-aggressive`: see `ack_filter` | yes |
//! | `autorate-ingress` | no |
//!
//! Linux hashes addresses, ports and protocol with a key drawn at boot, and hosts into 1024 buckets. Here the
//! key comes from the queue's random stream, so which conversations share a queue differs between
//! replications, and two hosts never share a bucket.

mod ack_filter;
mod cobalt;
mod counted;
mod dscp;
mod size;
mod tin;

use super::flow_queues::{Packets, mixed};
use super::setting::Ends;
use super::{Build, Dequeued, Discipline, DropReason, Events, Setting};
use ack_filter::AckFilter;
use counted::Sizes;
use dscp::OfDscp;
use dumbbell_core::cake_samples::CakeState;
use dumbbell_core::own_samples::OwnState;
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::Cake as Config;
use dumbbell_tc::qdisc::cake::{AckFiltering, Isolation};
use size::{ByteTime, Counted};
use std::sync::Arc;
use tin::{Isolated, Tin};

/// `sch->limit`: number of packets of the MTU for which the default memory limit is sized.
const MOST_PACKETS: u64 = 10_240;
const LEAST_MEMORY_BYTES: u64 = 4 << 20;
/// The two bits of ECN in the traffic class.
const ECN_MASK: u8 = 0b11;

/// The state of cake.
#[derive(Debug, Clone)]
pub struct Cake {
    tins: Vec<Tin>,
    /// Indices of the tins from the lowest priority to the highest.
    in_order: &'static [usize],
    sizes: Sizes,
    of_dscp: &'static OfDscp,
    packets: Packets,
    counted: Counted,
    /// Time per byte at the whole bandwidth.
    byte_time: ByteTime,
    bytes_per_s: u64,
    is_shaped: bool,
    /// Earliest time at which the bandwidth allows the next packet.
    next_ns: i64,
    /// Latest time at which it is sent, however much was dropped.
    failsafe_ns: i64,
    /// The tin whose turn it is, without a shaper.
    current: usize,
    isolation: Isolation,
    wash: bool,
    counts_drops: bool,
    splits_gso: bool,
    ack_filter: Option<AckFilter>,
    memory_limit_bytes: u64,
    ends: Arc<[Ends]>,
    key: u64,
    random: Stream,
}

impl Build<Config> for Cake {
    fn build(config: &Config, setting: &Setting) -> Cake {
        let bytes_per_s = config.bandwidth_bps / 8;
        let frame_bytes = size::frame_bytes(setting.mtu_bytes);
        let hosts = setting
            .ends
            .iter()
            .map(|ends| ends.source.max(ends.destination) as usize + 1);
        let hosts = hosts.max().unwrap_or(1);
        let isolated = Isolated::of(config.isolation);
        let shares = dscp::shares(config.tins, bytes_per_s).into_iter();
        let tins = shares.map(|share| Tin::new(share, config.rtt_ns, frame_bytes, hosts, isolated));
        let mut random = setting.stream();
        Cake {
            tins: tins.collect(),
            in_order: dscp::in_order(config.tins),
            sizes: Sizes::NONE,
            of_dscp: dscp::of_dscp(config.tins),
            packets: Packets::new(setting.overhead_bytes),
            counted: Counted::new(config, setting.overhead_bytes),
            byte_time: ByteTime::new(bytes_per_s),
            bytes_per_s,
            is_shaped: bytes_per_s > 0,
            next_ns: 0,
            failsafe_ns: 0,
            current: 0,
            isolation: config.isolation,
            wash: config.wash,
            counts_drops: config.ingress,
            splits_gso: config.split_gso,
            ack_filter: match config.ack_filter {
                AckFiltering::Off => None,
                AckFiltering::Conservative => Some(AckFilter::new(false)),
                AckFiltering::Aggressive => Some(AckFilter::new(true)),
            },
            memory_limit_bytes: memory_limit_bytes(config, frame_bytes),
            ends: Arc::clone(&setting.ends),
            key: random.next_u64(),
            random,
        }
    }
}

/// Whether a discipline or one inside it reads the headers of acknowledgements.
pub fn reads_acknowledgements(config: &crate::Config) -> bool {
    match config {
        crate::Config::Cake(cake) => cake.ack_filter != AckFiltering::Off,
        other => other.children().any(reads_acknowledgements),
    }
}

/// Limit of kernel memory for packets.
fn memory_limit_bytes(config: &Config, frame_bytes: u32) -> u64 {
    let bytes_per_s = config.bandwidth_bps / 8;
    let said_bytes = config.memlimit_bytes.map(u64::from);
    let limit_bytes = match (said_bytes, bytes_per_s) {
        (Some(bytes), _) => bytes,
        (None, 0) => u32::MAX.into(),
        (None, rate) => {
            let four_rtts = u128::from(rate) * u128::from(config.rtt_ns / 1000) / 250_000;
            // The kernel computes it in 32 bits.
            u64::from(four_rtts as u32).max(LEAST_MEMORY_BYTES)
        }
    };
    let of_packets = MOST_PACKETS * u64::from(frame_bytes);
    limit_bytes.min(of_packets.max(said_bytes.unwrap_or(0)))
}

impl Cake {
    /// Hash by which a flow's queue is chosen.
    #[inline]
    fn hash_of(&self, packet: &Packet, ends: Ends) -> u32 {
        let hash = |value: u64| (mixed(value ^ self.key) >> 32) as u32;
        let source = || hash(u64::from(ends.source) << 1);
        let destination = || hash(u64::from(ends.destination) << 1 | 1);
        match self.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => source(),
            Isolation::Dsthost => destination(),
            Isolation::Hosts => source() ^ destination(),
            Isolation::Flows
            | Isolation::DualSrchost
            | Isolation::DualDsthost
            | Isolation::TripleIsolate => {
                hash(u64::from(packet.conversation) << 1 | u64::from(packet.is_reply()))
            }
        }
    }

    /// Source and destination host of a packet.
    #[inline]
    fn ends_of(&self, packet: &Packet) -> Ends {
        let ends = self.ends.get(packet.conversation as usize);
        let ends = ends.copied().unwrap_or_default();
        match packet.is_reply() {
            false => ends,
            true => Ends {
                source: ends.destination,
                destination: ends.source,
            },
        }
    }

    /// Drops from the head of the longest queue until memory is within its limit. Returns whether the newest
    /// packet of the queue `arriving` was dropped; it is then not in the events.
    #[cold]
    fn drop_from_the_longest(
        &mut self,
        arriving: (usize, u16),
        now_ns: i64,
        events: &mut Events,
    ) -> bool {
        let mut has_refused = false;
        while self.packets.memory_bytes > self.memory_limit_bytes {
            let (mut longest, mut most) = ((0, 0), 0);
            for (index, tin) in self.tins.iter().enumerate() {
                for (at, backlog) in tin.backlogs.iter().enumerate() {
                    if *backlog > most {
                        (longest, most) = ((index, at as u16), *backlog);
                    }
                }
            }
            let (index, at) = longest;
            let tin = &mut self.tins[index];
            let Some(packet) = tin.pop(at, &mut self.packets) else {
                break;
            };
            tin.totals.dropped_pkts += 1;
            let queue = &mut tin.queues[usize::from(at)];
            queue.cobalt.on_overflow(&tin.parameters, now_ns);
            let is_newest = longest == arriving && queue.waiting.is_empty();
            if self.counts_drops {
                self.advance_shaper(index, self.counted.bytes(&packet), now_ns, true);
            }
            if is_newest {
                has_refused = true;
            } else {
                events.drop(packet, DropReason::MemoryLimit);
            }
        }
        has_refused
    }

    /// Drops the acknowledgement that the newest packet of this queue makes redundant.
    #[inline(never)]
    fn filter_acknowledgements(
        &mut self,
        (index, at): (usize, u16),
        now_ns: i64,
        events: &mut Events,
    ) {
        let header = events.acknowledgement.take();
        let Some(filter) = &mut self.ack_filter else {
            return;
        };
        let tin = &mut self.tins[index];
        let waiting = tin.queues[usize::from(at)].waiting;
        let redundant = filter.on_arrival(header, waiting, &self.packets);
        let dropped = redundant.and_then(|place| tin.take_out(at, place, &mut self.packets));
        let Some(packet) = dropped else { return };
        tin.totals.ack_dropped_pkts += 1;
        if self.counts_drops {
            self.advance_shaper(index, self.counted.bytes(&packet), now_ns, true);
        }
        events.drop(packet, DropReason::AckFilter);
    }

    /// Charges the transmission time of these bytes to the tin and the shaper.
    #[inline]
    fn advance_shaper(&mut self, index: usize, bytes: u32, now_ns: i64, is_dropped: bool) {
        if !self.is_shaped {
            return;
        }
        let tin = &mut self.tins[index];
        let of_tin_ns = tin.byte_time.ns_of(bytes) as i64;
        let of_all_ns = self.byte_time.ns_of(bytes) as i64;
        tin.next_ns = match tin.next_ns < now_ns {
            true => tin.next_ns + of_tin_ns,
            // Unused time is not accumulated.
            false => tin.next_ns.max(now_ns + of_tin_ns),
        };
        self.next_ns += of_all_ns;
        if !is_dropped {
            self.failsafe_ns += of_all_ns + of_all_ns / 2;
        }
    }

    /// The tin that sends next, if any has a packet.
    #[inline]
    fn choose_tin(&mut self, now_ns: i64) -> Option<usize> {
        if self.is_shaped {
            let active = { self.tins.iter().enumerate() }.filter(|(_, tin)| tin.is_active());
            let waits = active.map(|(index, tin)| ((tin.next_ns - now_ns).max(0), index));
            // The highest one.
            return waits
                .min_by_key(|(wait_ns, index)| (*wait_ns, usize::MAX - index))
                .map(|it| it.1);
        }
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit_bytes >= 0 && tin.is_active() {
                return Some(self.current);
            }
            if tin.deficit_bytes <= 0 {
                tin.deficit_bytes += tin.quantum_bytes;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }
}

/// Outcome of a queue's turn.
enum Turn {
    Leaves(Packet),
    /// The queue was empty.
    WasEmpty,
    /// Its packet was dropped and charged: try again.
    Again,
}

impl Cake {
    /// The next packet of the queue that COBALT lets pass.
    #[inline]
    fn serve(&mut self, index: usize, at: u16, now_ns: i64, events: &mut Events) -> Turn {
        loop {
            let tin = &mut self.tins[index];
            let Some(mut packet) = tin.pop(at, &mut self.packets) else {
                tin.on_empty(at, now_ns);
                return Turn::WasEmpty;
            };
            // Dropped packets have already crossed the link. Each sender needs at least two packets in the
            // queue.
            let excused_pkts = if self.counts_drops {
                2 * i64::from(tin.bulk)
            } else {
                0
            };
            let (parameters, random) = (tin.parameters, &mut self.random);
            let marked_before = events.marked.len();
            let queue = &mut tin.queues[usize::from(at)];
            let is_last = queue.waiting.is_empty();
            let verdict = queue.cobalt.judge(
                &mut packet,
                &parameters,
                cobalt::Turn {
                    now_ns,
                    excused_pkts,
                    is_last,
                },
                random,
                events,
            );
            tin.totals.marked_pkts += (events.marked.len() - marked_before) as u64;
            let Some(reason) = verdict.filter(|_| !is_last) else {
                let sojourn_ns = now_ns - packet.arrived.as_ns() as i64;
                counted::count_departure(&mut tin.totals, sojourn_ns as u64);
                self.charge(index, at, &packet, now_ns, false);
                return Turn::Leaves(packet);
            };
            tin.totals.dropped_pkts += 1;
            events.drop(packet, reason);
            if self.counts_drops {
                self.charge(index, at, &packet, now_ns, true);
                return Turn::Again;
            }
        }
    }

    /// Charges the packet's bytes to its queue, its tin and the shaper.
    #[inline]
    fn charge(&mut self, index: usize, at: u16, packet: &Packet, now_ns: i64, is_dropped: bool) {
        let bytes = self.counted.bytes(packet);
        self.advance_shaper(index, bytes, now_ns, is_dropped);
        let tin = &mut self.tins[index];
        tin.queues[usize::from(at)].deficit_bytes -= bytes as i32;
        tin.deficit_bytes -= i64::from(bytes);
    }
}

impl Discipline for Cake {
    #[inline]
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let now_ns = now.as_ns() as i64;
        let index = usize::from(self.of_dscp[usize::from(packet.traffic_class >> 2)]);
        if self.wash {
            packet.traffic_class &= ECN_MASK;
        }
        let ends = self.ends_of(&packet);
        let hash = self.hash_of(&packet, ends);
        let tin = &mut self.tins[index];
        let at = tin.queue_of(hash, ends);
        // Unused time is not made up for.
        if tin.backlog_bytes == 0 {
            tin.next_ns = tin.next_ns.max(now_ns);
            if self.packets.count == 0 && self.next_ns < now_ns {
                self.next_ns = now_ns;
                self.failsafe_ns = now_ns;
            }
        }
        tin.push(at, packet, &mut self.packets);
        self.counted.observe(&packet, &mut self.sizes);
        let memory_bytes = self.packets.memory_bytes;
        self.sizes.most_memory_bytes = self.sizes.most_memory_bytes.max(memory_bytes);
        tin.on_arrival(at, &mut self.random);
        if self.ack_filter.is_some() {
            self.filter_acknowledgements((index, at), now_ns, events);
        }
        if self.packets.memory_bytes <= self.memory_limit_bytes {
            return Ok(());
        }
        match self.drop_from_the_longest((index, at), now_ns, events) {
            true => Err(DropReason::MemoryLimit),
            false => Ok(()),
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let now_ns = now.as_ns() as i64;
        let mut decaying_first = true;
        while self.packets.count > 0 {
            if self.next_ns > now_ns && self.failsafe_ns > now_ns {
                let next_ns = self.next_ns.min(self.failsafe_ns);
                return Dequeued::NotBefore(Time::from_ns(next_ns as u64));
            }
            let Some(index) = self.choose_tin(now_ns) else {
                break;
            };
            while let Some(at) = self.tins[index].turn(decaying_first) {
                decaying_first = false;
                if self.tins[index].queues[usize::from(at)].deficit_bytes <= 0 {
                    self.tins[index].end_turn(at, &mut self.random);
                    continue;
                }
                match self.serve(index, at, now_ns, events) {
                    Turn::Leaves(packet) => return Dequeued::Packet(packet),
                    Turn::WasEmpty => break,
                    Turn::Again => {}
                }
            }
        }
        Dequeued::Empty
    }

    fn largest_gso_bytes(&self) -> u32 {
        match self.splits_gso {
            true => 0,
            false => u32::MAX,
        }
    }

    #[inline]
    fn backlog(&self) -> (u32, u64) {
        (self.packets.count, self.packets.backlog_bytes)
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        Some(u16::from(
            self.of_dscp[usize::from(packet.traffic_class >> 2)],
        ))
    }

    fn own_state(&self) -> Option<OwnState> {
        let tins = self.in_order.iter().map(|index| self.tins[*index].state());
        Some(OwnState::Cake(CakeState {
            network_bytes: self.sizes.network_bytes,
            adjusted_bytes: self.sizes.adjusted_bytes,
            mean_header_bytes: self.sizes.mean_header_bytes(),
            most_memory_bytes: self.sizes.most_memory_bytes,
            memory_limit_bytes: self.memory_limit_bytes,
            capacity_bytes_per_s: self.bytes_per_s,
            tins: tins.collect(),
        }))
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let queues = self.tins.iter().flat_map(|tin| &tin.queues);
        Box::new(queues.flat_map(|queue| self.packets.of(queue.waiting)))
    }
}

#[cfg(test)]
mod tests;
