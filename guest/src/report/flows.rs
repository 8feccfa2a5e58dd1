//! Tables of flows; see `tcp` for those over TCP.

use super::Report;
use super::table_builder::{NONE, TableBuilder};
use super::tcp::SENDER_COLUMNS;
use crate::messages::Datagram;
use crate::paths::{self, PathLeg};
use crate::records::Records;
use crate::replay;
use dumbbell_core::delays::Delays;
use dumbbell_core::table::Table;
use dumbbell_core::time::{PS_PER_NS, PS_PER_S, Time};
use dumbbell_spec::{Experiment, SizeAt};

/// A datagram with what it was on the network.
#[derive(Clone, Copy)]
pub(super) struct DatagramFate {
    created: Time,
    delivered: Option<Time>,
    /// Whether it will never be.
    lost: bool,
    count: u64,
    bytes: u64,
    payload: u64,
}

impl Report<'_> {
    pub(super) fn flows(&self) -> Table {
        let mut rows = TableBuilder::new("flows")
            .i32(&["flow"])
            .i64(&[
                "created_pkts",
                "created_bytes",
                "delivered_pkts",
                "delivered_bytes",
                "dropped_pkts",
                "dropped_bytes",
                "duplicated_pkts",
                "duplicated_bytes",
                "in_network_pkts",
                "in_network_bytes",
                "sent_datagrams",
                "sent_payload_bytes",
                "received_datagrams",
                "received_payload_bytes",
                "first_sent_ns",
                "last_received_ns",
                "delay_count",
            ])
            .f64(&["delay_mean_s", "delay_sd_s"])
            .i64(&[
                "delay_min_ns",
                "delay_max_ns",
                "retransmitted_pkts",
                "rto_count",
            ]);
        for (index, packets) in self.flows.iter().enumerate() {
            rows.put(index as i64);
            if let Some(record) = &self.records.tcp[index] {
                self.tcp_flow(&mut rows, index, record);
                continue;
            }
            let (mut received, mut received_bytes) = (0, 0);
            // Created, delivered, dropped: packets and bytes.
            let mut sums = [(0u64, 0u64); 3];
            let mut add = |what: usize, each: &DatagramFate| {
                sums[what].0 += each.count;
                sums[what].1 += each.bytes;
            };
            let delay = self.delays[index].moments();
            let mut last = None;
            for each in packets {
                add(0, each);
                if each.lost {
                    add(2, each);
                }
                let Some(at) = each.delivered else { continue };
                add(1, each);
                if at >= self.warm_up {
                    received += 1;
                    received_bytes += each.payload;
                    last = last.max(Some(at));
                }
            }
            let first = packets.iter().find(|each| each.created >= self.warm_up);
            let record = &self.records.flows[index];
            sums.iter().for_each(|(count, bytes)| {
                rows.count(*count).count(*bytes);
            });
            // A datagram is counted when it first arrives; copies that were dropped nobody saw.
            rows.put(NONE).put(NONE);
            rows.count(sums[0].0 - sums[1].0 - sums[2].0)
                .count(sums[0].1 - sums[1].1 - sums[2].1)
                .count(record.sent_datagrams)
                .count(record.sent_bytes)
                .count(received)
                .count(received_bytes)
                .instant(first.map(|each| each.created))
                .instant(last)
                .count(delay.count())
                .real(delay.mean_seconds())
                .real(delay.sd_seconds())
                .instant(delay.min())
                .instant(delay.max())
                .put(NONE)
                .put(NONE);
        }
        rows.table()
    }

    pub(super) fn flow_delays(&self) -> Table {
        let mut rows = TableBuilder::new("flow_delays")
            .i32(&["flow"])
            .f64(&["low_ns", "high_ns"])
            .i64(&["pkts"]);
        let ns = |ps: u64| ps as f64 / PS_PER_NS as f64;
        for (flow, delays) in self.delays.iter().enumerate() {
            for (low, high, count) in delays.histogram().bins() {
                rows.put(flow as i64)
                    .real(ns(low))
                    .real(ns(high))
                    .count(count);
            }
        }
        rows.table()
    }

    pub(super) fn flow_samples(&self) -> Table {
        let mut rows = TableBuilder::new("flow_samples")
            .i64(&["t_ns"])
            .i32(&["flow"])
            .i64(&["delivered_pkts", "delivered_payload_bytes", "dropped_pkts"])
            .f64(&["delay_sum_s"])
            .i64(&SENDER_COLUMNS);
        // Of each flow, in the order of delivery; and in the order of sending those that were lost.
        let delivered = self.flows.iter().map(|packets| {
            let mut arrived: Vec<DatagramFate> = packets.clone();
            arrived.retain(|each| each.delivered.is_some());
            arrived.sort_by_key(|each| each.delivered);
            arrived
        });
        let mut flows: Vec<_> = delivered
            .zip(&self.flows)
            .map(|(arrived, all)| {
                let lost: Vec<DatagramFate> =
                    all.iter().filter(|each| each.lost).copied().collect();
                (arrived, 0, lost, 0, [0u64; 3], 0u128)
            })
            .collect();
        for (number, (time, _)) in self.records.samples.iter().enumerate() {
            for (index, flow) in flows.iter_mut().enumerate() {
                rows.instant(Some(*time)).put(index as i64);
                if let Some(record) = &self.records.tcp[index] {
                    self.tcp_sample(&mut rows, (*time, index), &record.samples[number]);
                    continue;
                }
                let (arrived, next, lost, next_lost, sums, delay) = flow;
                while let Some(each) = arrived.get(*next)
                    && let Some(at) = each.delivered
                    && at <= *time
                {
                    sums[0] += each.count;
                    sums[1] += each.payload;
                    *delay += u128::from((at - each.created).0) * u128::from(each.count);
                    *next += 1;
                }
                while let Some(each) = lost.get(*next_lost)
                    && each.created <= *time
                {
                    sums[2] += each.count;
                    *next_lost += 1;
                }
                sums.iter().for_each(|sum| {
                    rows.count(*sum);
                });
                rows.real(*delay as f64 / PS_PER_S as f64);
                SENDER_COLUMNS.iter().for_each(|_| {
                    rows.put(NONE);
                });
            }
        }
        rows.table()
    }
}

/// One-way delays of each flow's packets that were made in the measured window; none of flows over
/// TCP, whose packets are not seen.
pub(super) fn flow_delays(
    experiment: &Experiment,
    records: &Records,
    legs: &[PathLeg],
    (warm_up, end): (Time, Time),
) -> Vec<Delays> {
    let of_flow = |flow: usize| {
        let leg = legs.iter().find(|leg| leg.conversation == flow);
        let leg = leg.expect("every flow has a way");
        let mut delays = Delays::default();
        for journey in replay::journeys(experiment, records, leg) {
            if journey.created >= warm_up && journey.delivered < end {
                delays.push(journey.delivered.saturating_sub(journey.created));
            }
        }
        delays
    };
    (0..experiment.flows.len()).map(of_flow).collect()
}

pub(super) fn flow_packets(
    experiment: &Experiment,
    records: &Records,
    legs: &[PathLeg],
    end: Time,
) -> Vec<Vec<DatagramFate>> {
    let flows = experiment.flows.iter().zip(&records.flows).enumerate();
    let all = flows.map(|(index, (flow, record))| {
        let leg = legs.iter().find(|leg| leg.conversation == index);
        let mtu = paths::mtu(experiment, leg.expect("every flow has a way"));
        let size_at: SizeAt = flow.source.parameters().size_at();
        let packets = |sent: &Datagram| {
            let (count, bytes) = paths::packets(sent.size, size_at, mtu);
            DatagramFate {
                created: sent.created,
                delivered: (sent.delivered < end).then_some(sent.delivered),
                lost: sent.delivered == Time::NEVER,
                count,
                bytes,
                payload: u64::from(sent.size),
            }
        };
        record.datagrams.iter().map(packets).collect()
    });
    all.collect()
}
