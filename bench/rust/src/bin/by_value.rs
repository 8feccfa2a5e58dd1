//! NewReno flows over one bottleneck with a minimal event loop: the cost of a loop in which a packet has 24
//! bytes and is copied between rings.
//!
//! ```text
//! by_value FLOWS RATE_MBPS PACKETS
//! ```
//!
//! A lower bound, not a simulator: one network, one congestion controller (RFC 6582, no SACK, no options, no
//! handshake), packets of 1500 bytes, an acknowledgement for each, and only a histogram of queueing delays as
//! statistics. Flow `k` has a round-trip time of `20 + 8 (k mod 8)` ms, a quarter of it before the
//! bottleneck, a quarter after it, and half on the return path; the queue holds 50 ms of the rate. There are
//! four events per delivered packet: arrival at the bottleneck, end of transmission, arrival at the receiver,
//! arrival of the acknowledgement.

#[path = "../measure.rs"]
#[allow(dead_code)]
mod measure;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::process::ExitCode;

const USAGE: &str = "usage: by_value FLOWS RATE_MBPS PACKETS";
/// Round-trip times.
const CLASSES: usize = 8;
/// Rings: the transmitter, then three for each round-trip time.
const RINGS: usize = 1 + 3 * CLASSES;
const TRANSMITTER: usize = 0;
const TIMER: usize = RINGS;
const PACKET_BITS: f64 = 12_000.0;
/// Without the headers of IP and TCP.
const PAYLOAD_BITS: f64 = 8.0 * 1460.0;
const LEAST_RTO_NS: f64 = 2e8;
const FIRST_RTO_NS: u64 = 1_000_000_000;
/// Starts of the flows are spread over this by a stride that shares no factor with it.
const START_SPREAD_NS: u64 = 100_000_000;
const START_STRIDE_NS: u64 = 1_000_003;

#[derive(Clone, Copy, Default)]
struct Packet {
    sent_ns: u64,
    flow: u32,
    /// Packet number; in an acknowledgement the next one expected.
    number: u32,
    queued_ns: u64,
}

/// (time, order of insertion, ring): ties go by insertion.
fn key(time_ns: u64, order: u32, ring: u32) -> u128 {
    u128::from(time_ns) << 64 | u128::from(order) << 32 | u128::from(ring)
}

/// What is pending: rings that hold packets by value, their heads scanned; timers apart.
struct Pending {
    rings: Vec<VecDeque<(u64, u32, Packet)>>,
    heads: [u128; RINGS],
    timers: BinaryHeap<Reverse<u128>>,
    first_timer: u128,
    order: u32,
}

impl Pending {
    fn new() -> Pending {
        Pending {
            rings: vec![VecDeque::new(); RINGS],
            heads: [u128::MAX; RINGS],
            timers: BinaryHeap::new(),
            first_timer: u128::MAX,
            order: 0,
        }
    }

    #[inline]
    fn push(&mut self, ring: usize, time_ns: u64, packet: Packet) {
        if self.rings[ring].is_empty() {
            self.heads[ring] = key(time_ns, self.order, ring as u32);
        }
        self.rings[ring].push_back((time_ns, self.order, packet));
        self.order += 1;
    }

    fn set_timer(&mut self, time_ns: u64, flow: u32) {
        let key = key(time_ns, self.order, flow);
        self.order += 1;
        self.timers.push(Reverse(key));
        self.first_timer = self.first_timer.min(key);
    }

    #[inline]
    fn pop(&mut self) -> (u64, usize, Packet) {
        let first = self
            .heads
            .iter()
            .fold(u128::MAX, |least, &head| least.min(head));
        if self.first_timer < first {
            let Reverse(timer) = self.timers.pop().expect("the first timer is there");
            self.first_timer = self.timers.peek().map_or(u128::MAX, |next| next.0);
            let packet = Packet {
                flow: timer as u32,
                ..Packet::default()
            };
            return ((timer >> 64) as u64, TIMER, packet);
        }
        let ring = first as u32 as usize;
        let (time_ns, _, packet) = self.rings[ring].pop_front().expect("it has a head");
        self.heads[ring] = self.rings[ring]
            .front()
            .map_or(u128::MAX, |next| key(next.0, next.1, ring as u32));
        (time_ns, ring, packet)
    }
}

/// Both ends of a connection.
struct Flow {
    next: u32,
    una: u32,
    cwnd_pkts: f64,
    ssthresh_pkts: f64,
    duplicates: u32,
    recovery_point: u32,
    in_recovery: bool,
    srtt_ns: f64,
    rttvar_ns: f64,
    timeout_ns: u64,
    expected: u32,
    /// Packets that came out of order: a ring of bits.
    received: Vec<u64>,
    class: usize,
}

impl Flow {
    fn new(class: usize, words: usize) -> Flow {
        Flow {
            next: 0,
            una: 0,
            cwnd_pkts: 10.0,
            ssthresh_pkts: 1e9,
            duplicates: 0,
            recovery_point: 0,
            in_recovery: false,
            srtt_ns: 1e8,
            rttvar_ns: 5e7,
            timeout_ns: FIRST_RTO_NS,
            expected: 0,
            received: vec![0; words],
            class,
        }
    }

    /// The packet arrives. Returns what is expected next.
    fn receive(&mut self, number: u32) -> u32 {
        let mask = self.received.len() as u32 * 64 - 1;
        let place = |number: u32| (((number & mask) >> 6) as usize, 1u64 << (number & 63));
        if number > self.expected {
            let (word, bit) = place(number);
            self.received[word] |= bit;
        } else if number == self.expected {
            self.expected += 1;
            loop {
                let (word, bit) = place(self.expected);
                if self.received[word] & bit == 0 {
                    break;
                }
                self.received[word] &= !bit;
                self.expected += 1;
            }
        }
        self.expected
    }

    /// An acknowledgement arrives. Returns what is to be sent again.
    fn acknowledge(&mut self, ack: u32, rtt_ns: f64, now_ns: u64) -> Option<u32> {
        self.rttvar_ns += 0.25 * ((rtt_ns - self.srtt_ns).abs() - self.rttvar_ns);
        self.srtt_ns += 0.125 * (rtt_ns - self.srtt_ns);
        if ack > self.una {
            let newly = ack - self.una;
            self.una = ack;
            let rto_ns = (self.srtt_ns + 4.0 * self.rttvar_ns).max(LEAST_RTO_NS);
            self.timeout_ns = now_ns + rto_ns as u64;
            return self.advance(ack, newly);
        }
        if self.next > self.una {
            self.duplicates += 1;
            if self.duplicates == 3 && !self.in_recovery && ack >= self.recovery_point {
                self.in_recovery = true;
                self.recovery_point = self.next;
                self.ssthresh_pkts = (self.cwnd_pkts / 2.0).max(2.0);
                self.cwnd_pkts = self.ssthresh_pkts;
                return Some(self.una);
            }
        }
        None
    }

    /// RFC 6582 section 3.2; outside recovery RFC 5681 section 3.1.
    fn advance(&mut self, ack: u32, newly: u32) -> Option<u32> {
        if self.in_recovery && ack < self.recovery_point {
            self.duplicates = self.duplicates.saturating_sub(newly);
            return Some(ack);
        }
        self.duplicates = 0;
        if self.in_recovery {
            self.in_recovery = false;
            self.cwnd_pkts = self.ssthresh_pkts;
        } else if self.cwnd_pkts < self.ssthresh_pkts {
            self.cwnd_pkts += f64::from(newly);
        } else {
            self.cwnd_pkts += f64::from(newly) / self.cwnd_pkts;
        }
        None
    }

    fn may_send(&self) -> bool {
        let inflation = if self.in_recovery { self.duplicates } else { 0 };
        f64::from(self.next - self.una) < self.cwnd_pkts + f64::from(inflation)
    }
}

struct World {
    pending: Pending,
    flows: Vec<Flow>,
    queue: VecDeque<Packet>,
    limit_pkts: usize,
    transmission_ns: u64,
    quarter_rtt_ns: [u64; CLASSES],
    now_ns: u64,
    delivered: u64,
    dropped: u64,
    /// Queueing delays: powers of two in 32 steps each.
    histogram: Vec<u64>,
    delay_ns: u64,
}

impl World {
    fn new(flows: usize, rate_bps: f64) -> World {
        let bdp_pkts = (rate_bps * 0.05 / PACKET_BITS) as usize;
        let words = (4 * bdp_pkts).next_power_of_two().max(1024) / 64;
        World {
            pending: Pending::new(),
            flows: (0..flows)
                .map(|flow| Flow::new(flow % CLASSES, words))
                .collect(),
            queue: VecDeque::new(),
            limit_pkts: bdp_pkts.max(20),
            transmission_ns: (PACKET_BITS * 1e9 / rate_bps) as u64,
            quarter_rtt_ns: std::array::from_fn(|class| 5_000_000 + 2_000_000 * class as u64),
            now_ns: 0,
            delivered: 0,
            dropped: 0,
            histogram: vec![0; 64 << 5],
            delay_ns: 0,
        }
    }

    fn run(&mut self, packets: u64) {
        for flow in 0..self.flows.len() as u32 {
            let start_ns = u64::from(flow) * START_STRIDE_NS % START_SPREAD_NS;
            self.pending.set_timer(start_ns, flow);
        }
        while self.delivered < packets {
            let (time_ns, ring, packet) = self.pending.pop();
            self.now_ns = time_ns;
            match (ring, ring % 3) {
                (TRANSMITTER, _) => self.transmitted(),
                (TIMER, _) => self.timer(packet.flow),
                (_, 1) => self.enqueue(packet),
                (_, 2) => self.receive(packet),
                _ => self.acknowledged(packet),
            }
        }
    }

    fn send(&mut self, flow: u32, number: u32) {
        let class = self.flows[flow as usize].class;
        let packet = Packet {
            sent_ns: self.now_ns,
            flow,
            number,
            queued_ns: 0,
        };
        let due_ns = self.now_ns + self.quarter_rtt_ns[class];
        self.pending.push(1 + 3 * class, due_ns, packet);
    }

    fn fill(&mut self, flow: u32) {
        while self.flows[flow as usize].may_send() {
            let number = self.flows[flow as usize].next;
            self.flows[flow as usize].next += 1;
            self.send(flow, number);
        }
    }

    fn enqueue(&mut self, mut packet: Packet) {
        if self.queue.len() >= self.limit_pkts {
            self.dropped += 1;
            return;
        }
        packet.queued_ns = self.now_ns;
        if self.queue.is_empty() {
            self.transmit();
        }
        self.queue.push_back(packet);
    }

    fn transmit(&mut self) {
        let due_ns = self.now_ns + self.transmission_ns;
        self.pending.push(TRANSMITTER, due_ns, Packet::default());
    }

    fn transmitted(&mut self) {
        let packet = self.queue.pop_front().expect("one was being transmitted");
        self.record(self.now_ns - packet.queued_ns);
        if !self.queue.is_empty() {
            self.transmit();
        }
        let class = self.flows[packet.flow as usize].class;
        let due_ns = self.now_ns + self.quarter_rtt_ns[class];
        self.pending.push(2 + 3 * class, due_ns, packet);
    }

    fn record(&mut self, delay_ns: u64) {
        self.delay_ns += delay_ns;
        let value = delay_ns | 32;
        let power = 58 - value.leading_zeros();
        self.histogram[((power as usize) << 5) + (value >> power & 31) as usize] += 1;
    }

    fn receive(&mut self, mut packet: Packet) {
        self.delivered += 1;
        let flow = &mut self.flows[packet.flow as usize];
        packet.number = flow.receive(packet.number);
        let class = flow.class;
        let due_ns = self.now_ns + 2 * self.quarter_rtt_ns[class];
        self.pending.push(3 + 3 * class, due_ns, packet);
    }

    fn acknowledged(&mut self, packet: Packet) {
        let rtt_ns = (self.now_ns - packet.sent_ns) as f64;
        let flow = &mut self.flows[packet.flow as usize];
        if let Some(number) = flow.acknowledge(packet.number, rtt_ns, self.now_ns) {
            self.send(packet.flow, number);
        }
        self.fill(packet.flow);
    }

    /// One timer a flow, moved on only when it comes early. The first is the start.
    fn timer(&mut self, index: u32) {
        let now_ns = self.now_ns;
        let flow = &mut self.flows[index as usize];
        if flow.next == 0 {
            flow.timeout_ns = now_ns + FIRST_RTO_NS;
            self.fill(index);
        } else if now_ns >= flow.timeout_ns {
            flow.ssthresh_pkts = (flow.cwnd_pkts / 2.0).max(2.0);
            flow.cwnd_pkts = 1.0;
            flow.duplicates = 0;
            flow.in_recovery = false;
            flow.recovery_point = flow.next;
            flow.timeout_ns = now_ns + FIRST_RTO_NS;
            let number = flow.una;
            self.send(index, number);
        }
        let due_ns = self.flows[index as usize].timeout_ns;
        self.pending.set_timer(due_ns, index);
    }
}

fn main() -> ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let Ok(&[flows, rate_mbps, packets]) = numbers.as_deref() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut world = World::new(flows as usize, rate_mbps as f64 * 1e6);
    let ((), cpu_s) = measure::timed(|| world.run(packets));
    std::hint::black_box(&world.histogram);
    let received: u64 = world
        .flows
        .iter()
        .map(|flow| u64::from(flow.expected))
        .sum();
    println!(
        r#"{{"engine": "by value", "delivered_pkts": {}, "dropped_pkts": {}, "goodput_mbps": {}, "sojourn_mean_s": {}, "cpu_s": {cpu_s}, "peak_rss_bytes": {}, "duration_s": {}}}"#,
        world.delivered,
        world.dropped,
        received as f64 * PAYLOAD_BITS * 1e3 / world.now_ns as f64,
        world.delay_ns as f64 * 1e-9 / world.delivered as f64,
        measure::peak_rss_bytes(),
        world.now_ns as f64 * 1e-9,
    );
    ExitCode::SUCCESS
}
