//! Samples at a fixed interval: levels at the instant, and running totals.
//!
//! Totals count from the start of the run, so the difference of two samples gives the exact mean between
//! them. Levels are instantaneous values.
//!
//! Samples are stored by column, like the tables. Rows would have to be copied at the end of the run, with
//! both copies in memory.

use super::activity::Activity;
use crate::net::link::Link;
use crate::sim::own_samples::OwnSamples;
use crate::sim::table::NONE;
use crate::sim::tcp_sample::TcpSample;
use crate::sim::time::{PS_PER_S, Time};
use crate::traffic::conversation::Conversation;
use crate::traffic::tcp_flow::TcpFlow;

/// Largest number of rows allocated in advance: a long run may be stopped early.
const MOST_FORESEEN_ROWS: u64 = 1 << 14;

/// A row of `queue_samples`, in its columns.
pub const BYTES_PER_QUEUE_SAMPLE: u64 = 12 * 8 + 4;
/// Memory of a row of `flow_samples` and of the columns besides the table.
pub const BYTES_PER_FLOW_SAMPLE: u64 = 16 * 8 + 4 + 1;

/// The columns of `queue_samples`, in order of time, then queue.
#[derive(Debug, Clone, Default)]
pub struct QueueSamples {
    /// Time of the sample.
    pub t_ns: Vec<i64>,
    /// Index of the queue.
    pub queue: Vec<i32>,
    /// Packets in queue and transmission.
    pub system_pkts: Vec<i64>,
    /// Packets in the discipline; a GSO packet counts as its segments.
    pub backlog_pkts: Vec<i64>,
    /// Bytes in the discipline.
    pub backlog_bytes: Vec<i64>,
    /// Packets sent since the start.
    pub departed_pkts: Vec<i64>,
    /// Bytes sent since the start.
    pub departed_bytes: Vec<i64>,
    /// Packets dropped by the queue since the start.
    pub dropped_pkts: Vec<i64>,
    /// Sum of the sojourn times of all departed packets, seconds; NaN if not observed.
    pub sojourn_sum_s: Vec<f64>,
    /// Integral of packets in the system, packet seconds; NaN if not observed.
    pub system_integral_pkt_s: Vec<f64>,
    /// Packets marked since the start.
    pub marked_pkts: Vec<i64>,
    /// Drop or mark probability of the discipline; NaN if it has none.
    pub drop_probability: Vec<f64>,
    /// The discipline's own estimate of the delay; `NONE` if it has none.
    pub delay_estimate_ns: Vec<i64>,
}

/// The columns of `flow_samples`, in order of time, then flow.
#[derive(Debug, Clone, Default)]
pub struct FlowSamples {
    /// Time of the sample.
    pub t_ns: Vec<i64>,
    /// Index of the flow.
    pub flow: Vec<i32>,
    /// Packets received since the start.
    pub delivered_pkts: Vec<i64>,
    /// Payload received in complete datagrams since the start.
    pub delivered_payload_bytes: Vec<i64>,
    /// Packets lost since the start.
    pub dropped_pkts: Vec<i64>,
    /// Sum of one-way delays, seconds.
    pub delay_sum_s: Vec<f64>,
    /// State of its TCP sender; `NONE` for UDP and while there is no connection.
    pub tcp: TcpSamples,
    /// Packets retransmitted by its TCP senders since the start; `NONE` for UDP.
    pub retransmitted_pkts: Vec<i64>,
    /// Payload transmitted for the first time; `NONE` for UDP.
    pub sent_payload_bytes: Vec<i64>,
    /// Payload written by its application; `NONE` for UDP. In a separate table on request (`tables::writes`).
    pub written_payload_bytes: Vec<i64>,
    /// Activity of its TCP sender; `NONE` for UDP and while there is no connection. Not in the tables of a
    /// run; a page asks for it (`tables::activities`).
    pub activity: Vec<i8>,
}

/// Columns of [`TcpSample`]; `NONE` for unknown values.
#[derive(Debug, Clone, Default)]
pub struct TcpSamples {
    /// Congestion window.
    pub cwnd_pkts: Vec<i64>,
    /// Slow start threshold.
    pub ssthresh_pkts: Vec<i64>,
    /// Packets in flight: neither acknowledged nor considered lost.
    pub inflight_pkts: Vec<i64>,
    /// Smoothed round-trip time.
    pub srtt_ns: Vec<i64>,
    /// Mean deviation of the round-trip time.
    pub rttvar_ns: Vec<i64>,
    /// Minimum round-trip time.
    pub min_rtt_ns: Vec<i64>,
    /// Pacing rate.
    pub pacing_rate_bps: Vec<i64>,
    /// Last estimate of the delivery rate.
    pub delivery_rate_bps: Vec<i64>,
}

/// All samples of a run.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// Of all queues.
    pub queues: QueueSamples,
    /// Of all flows.
    pub flows: FlowSamples,
    /// Of what disciplines count by themselves.
    pub own: OwnSamples,
}

fn seconds(picoseconds: u128) -> f64 {
    picoseconds as f64 / PS_PER_S as f64
}

fn or_none(value: Option<u64>) -> i64 {
    value.map_or(NONE, |known| known as i64)
}

fn ns_or_none(time: Option<Time>) -> i64 {
    or_none(time.map(Time::as_ns))
}

fn room(rows: u64) -> usize {
    rows.min(MOST_FORESEEN_ROWS) as usize
}

impl QueueSamples {
    fn with_room(rows: usize) -> QueueSamples {
        let integers = || Vec::with_capacity(rows);
        let numbers = || Vec::with_capacity(rows);
        QueueSamples {
            t_ns: integers(),
            queue: Vec::with_capacity(rows),
            system_pkts: integers(),
            backlog_pkts: integers(),
            backlog_bytes: integers(),
            departed_pkts: integers(),
            departed_bytes: integers(),
            dropped_pkts: integers(),
            sojourn_sum_s: numbers(),
            system_integral_pkt_s: numbers(),
            marked_pkts: integers(),
            drop_probability: numbers(),
            delay_estimate_ns: integers(),
        }
    }

    fn push(&mut self, now: Time, queue: usize, link: &Link) {
        let (level, statistics) = (link.level(), &link.statistics);
        let total = &statistics.total;
        let own = link.discipline_statistics();
        let if_whole = |sum: f64| if statistics.is_whole() { sum } else { f64::NAN };
        self.t_ns.push(now.as_ns() as i64);
        self.queue.push(queue as i32);
        self.system_pkts.push(level.system_pkts.into());
        self.backlog_pkts.push(level.backlog_pkts.into());
        self.backlog_bytes.push(level.backlog_bytes as i64);
        self.departed_pkts.push(total.departed_pkts as i64);
        self.departed_bytes.push(total.departed_bytes as i64);
        self.dropped_pkts.push(total.dropped_pkts() as i64);
        let sojourn_sum_s = if_whole(seconds(statistics.sojourn_total()));
        self.sojourn_sum_s.push(sojourn_sum_s);
        let system_integral_pkt_s = if_whole(seconds(statistics.system_integral()));
        self.system_integral_pkt_s.push(system_integral_pkt_s);
        self.marked_pkts.push(total.marked_pkts as i64);
        self.drop_probability.push(own.drop_probability);
        self.delay_estimate_ns.push(ns_or_none(own.delay_estimate));
    }

    /// Memory, including reserved capacity.
    pub fn memory_bytes(&self) -> u64 {
        self.t_ns.capacity() as u64 * BYTES_PER_QUEUE_SAMPLE
    }
}

impl FlowSamples {
    fn with_room(rows: usize) -> FlowSamples {
        let integers = || Vec::with_capacity(rows);
        FlowSamples {
            t_ns: integers(),
            flow: Vec::with_capacity(rows),
            delivered_pkts: integers(),
            delivered_payload_bytes: integers(),
            dropped_pkts: integers(),
            delay_sum_s: Vec::with_capacity(rows),
            tcp: TcpSamples::with_room(rows),
            retransmitted_pkts: integers(),
            sent_payload_bytes: integers(),
            written_payload_bytes: integers(),
            activity: Vec::with_capacity(rows),
        }
    }

    fn push(&mut self, now: Time, flow: usize, of: &Conversation) {
        self.t_ns.push(now.as_ns() as i64);
        self.flow.push(flow as i32);
        self.delivered_pkts
            .push(of.counters().delivered.pkts as i64);
        self.delivered_payload_bytes
            .push(of.delivered_payload_bytes() as i64);
        self.dropped_pkts.push(of.counters().dropped.pkts as i64);
        self.delay_sum_s.push(seconds(of.delay_total()));
        self.tcp.push(of.tcp().and_then(TcpFlow::sample));
        let sent = of.tcp().map(TcpFlow::sent);
        self.retransmitted_pkts
            .push(or_none(sent.map(|sent| sent.retransmitted_pkts)));
        self.sent_payload_bytes
            .push(or_none(sent.map(|sent| sent.payload_bytes)));
        self.written_payload_bytes
            .push(or_none(sent.map(|sent| sent.written_bytes)));
        let activity = of.tcp().and_then(TcpFlow::sender).map(Activity::of);
        self.activity
            .push(activity.map_or(NONE as i8, |activity| activity as i8));
    }

    /// Memory, including reserved capacity.
    pub fn memory_bytes(&self) -> u64 {
        self.t_ns.capacity() as u64 * BYTES_PER_FLOW_SAMPLE
    }
}

impl TcpSamples {
    fn with_room(rows: usize) -> TcpSamples {
        let integers = || Vec::with_capacity(rows);
        TcpSamples {
            cwnd_pkts: integers(),
            ssthresh_pkts: integers(),
            inflight_pkts: integers(),
            srtt_ns: integers(),
            rttvar_ns: integers(),
            min_rtt_ns: integers(),
            pacing_rate_bps: integers(),
            delivery_rate_bps: integers(),
        }
    }

    fn push(&mut self, known: Option<TcpSample>) {
        let of = |value: fn(TcpSample) -> Option<u64>| or_none(known.and_then(value));
        let ns = |time: fn(TcpSample) -> Option<Time>| ns_or_none(known.and_then(time));
        self.cwnd_pkts.push(of(|tcp| Some(tcp.cwnd_pkts.into())));
        self.ssthresh_pkts
            .push(of(|tcp| tcp.ssthresh_pkts.map(u64::from)));
        self.inflight_pkts
            .push(of(|tcp| Some(tcp.inflight_pkts.into())));
        self.srtt_ns.push(ns(|tcp| tcp.srtt));
        self.rttvar_ns.push(ns(|tcp| tcp.mean_deviation));
        self.min_rtt_ns.push(ns(|tcp| tcp.min_rtt));
        self.pacing_rate_bps.push(of(|tcp| tcp.pacing_rate_bps));
        self.delivery_rate_bps.push(of(|tcp| tcp.delivery_rate_bps));
    }
}

impl Samples {
    /// Empty samples, with capacity for `instants` instants.
    pub fn with_room(instants: u64, queues: usize, flows: usize) -> Samples {
        let rows = |each: usize| room(instants.saturating_mul(each as u64));
        Samples {
            queues: QueueSamples::with_room(rows(queues)),
            flows: FlowSamples::with_room(rows(flows)),
            own: OwnSamples::default(),
        }
    }

    /// Samples every queue and flow at `now`; integrals must be up to date.
    pub fn take(&mut self, now: Time, links: &[Link], flows: &[Conversation]) {
        for (queue, link) in links.iter().enumerate() {
            self.queues.push(now, queue, link);
            if let Some(state) = link.own_state() {
                self.own.push(now, queue, state);
            }
        }
        for (flow, conversation) in flows.iter().enumerate() {
            self.flows.push(now, flow, conversation);
        }
    }

    /// Memory, including reserved capacity.
    pub fn memory_bytes(&self) -> u64 {
        self.queues.memory_bytes() + self.flows.memory_bytes() + self.own.memory_bytes()
    }
}
