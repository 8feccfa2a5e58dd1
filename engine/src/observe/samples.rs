//! Samples at a fixed interval: levels at the instant, and running totals.
//!
//! Totals count from the start of the run, so any two samples give the exact mean between
//! them; only the levels are a sample.

use super::activity::Activity;
use crate::net::link::Link;
use crate::sim::rows::Rows;
use crate::sim::tcp_sample::TcpSample;
use crate::sim::time::{PS_PER_S, Time};
use crate::traffic::conversation::Conversation;
use crate::traffic::tcp_flow::{SentTotals, TcpFlow};

/// A row of `queue_samples`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueSample {
    /// When.
    pub time: Time,
    /// Which queue.
    pub queue: u32,
    /// Packets in queue and transmission.
    pub system_pkts: u32,
    /// Packets the discipline holds; of a GSO packet its segments.
    pub backlog_pkts: u32,
    /// Bytes the discipline holds.
    pub backlog_bytes: u64,
    /// Sent since the start.
    pub departed_pkts: u64,
    /// Sent since the start.
    pub departed_bytes: u64,
    /// Refused since the start.
    pub dropped_pkts: u64,
    /// Sum of the sojourn times of all that left, seconds.
    pub sojourn_sum_s: f64,
    /// Integral of packets in the system, packet seconds.
    pub system_integral_pkt_s: f64,
    /// Marked since the start.
    pub marked_pkts: u64,
    /// What the discipline drops or marks with; NaN for one that has no such probability.
    pub drop_probability: f64,
    /// What the discipline takes its delay for; None for one that does not estimate it.
    pub delay_estimate: Option<Time>,
}

/// A row of `flow_samples`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSample {
    /// When.
    pub time: Time,
    /// Which flow.
    pub flow: u32,
    /// Received since the start.
    pub delivered_pkts: u64,
    /// Received in whole datagrams since the start.
    pub delivered_payload_bytes: u64,
    /// Lost since the start.
    pub dropped_pkts: u64,
    /// Sum of one-way delays, seconds.
    pub delay_sum_s: f64,
    /// What its TCP sender knows; None for UDP, and while there is no connection.
    pub tcp: Option<TcpSample>,
    /// What its TCP senders have sent; None for UDP.
    pub sent: Option<SentTotals>,
    /// What its TCP sender is doing; None for UDP, and while there is no connection. In no table of
    /// a run: a page asks for it (`tables::activities`).
    pub activity: Option<Activity>,
}

/// All samples of a run.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// In order of time, then queue.
    pub queues: Rows<QueueSample>,
    /// In order of time, then flow.
    pub flows: Rows<FlowSample>,
}

fn seconds(picoseconds: u128) -> f64 {
    picoseconds as f64 / PS_PER_S as f64
}

impl Samples {
    /// Samples every queue and flow at `now`; integrals have been brought up to it.
    pub fn take(&mut self, now: Time, links: &[Link], flows: &[Conversation]) {
        for (queue, link) in links.iter().enumerate() {
            let (level, statistics) = (link.level(), &link.statistics);
            let own = link.discipline_statistics();
            let if_whole = |sum: f64| if statistics.is_whole() { sum } else { f64::NAN };
            self.queues.push(QueueSample {
                time: now,
                queue: queue as u32,
                system_pkts: level.system_pkts,
                backlog_pkts: level.backlog_pkts,
                backlog_bytes: level.backlog_bytes,
                departed_pkts: statistics.total.departed_pkts,
                departed_bytes: statistics.total.departed_bytes,
                dropped_pkts: statistics.total.dropped_pkts(),
                sojourn_sum_s: if_whole(seconds(statistics.sojourn_total())),
                system_integral_pkt_s: if_whole(seconds(statistics.system_integral())),
                marked_pkts: statistics.total.marked_pkts,
                drop_probability: own.drop_probability,
                delay_estimate: own.delay_estimate,
            });
        }
        for (flow, conversation) in flows.iter().enumerate() {
            self.flows.push(FlowSample {
                time: now,
                flow: flow as u32,
                delivered_pkts: conversation.counters.delivered_pkts,
                delivered_payload_bytes: conversation.delivered_payload_bytes,
                dropped_pkts: conversation.counters.dropped_pkts,
                delay_sum_s: seconds(conversation.delay_total()),
                tcp: conversation.tcp().and_then(TcpFlow::sample),
                sent: conversation.tcp().map(TcpFlow::sent),
                activity: (conversation.tcp().and_then(TcpFlow::sender)).map(Activity::of),
            });
        }
    }
}
