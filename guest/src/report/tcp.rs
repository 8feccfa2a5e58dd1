//! What is known of flows over TCP: the kernel's own counters.

use super::Report;
use super::table_builder::{NONE, TableBuilder};
use crate::tcp_flow::{TcpRecord, Totals};
use dumbbell_core::table::Table;
use dumbbell_core::tcp_sample::TcpSample;
use dumbbell_core::time::Time;
use dumbbell_spec::{Source, Tcp};

/// Columns of `flow_samples` with what a TCP sender knows.
pub const SENDER_COLUMNS: [&str; 10] = [
    "cwnd_pkts",
    "ssthresh_pkts",
    "inflight_pkts",
    "srtt_ns",
    "rttvar_ns",
    "min_rtt_ns",
    "retransmitted_pkts",
    "sent_payload_bytes",
    "pacing_rate_bps",
    "delivery_rate_bps",
];
/// IPv4 and TCP headers without options.
const HEADERS_BYTES: u64 = 40;
/// RFC 7323 section 3.2, padded (appendix A).
const TIMESTAMPS_BYTES: u64 = 12;

/// Bytes with the IP header of `segments` segments that carry this payload.
fn segment_bytes(tcp: &Tcp, segments: u64, connections: u64, payload: u64) -> u64 {
    let timestamps = if tcp.timestamps { TIMESTAMPS_BYTES } else { 0 };
    // A SYN's maximum segment size and window scale; SACK permitted needs four bytes more where
    // no timestamps leave room for it.
    let of_a_syn = 8 + if tcp.sack && !tcp.timestamps { 4 } else { 0 };
    payload + (HEADERS_BYTES + timestamps) * segments + of_a_syn * connections
}

impl Report<'_> {
    /// The row of `flows` of a flow over TCP, after its index.
    pub(super) fn tcp_flow(&self, rows: &mut TableBuilder, index: usize, record: &TcpRecord) {
        let flow = &self.experiment.flows[index];
        let tcp = flow.tcp.as_ref().expect("it goes over TCP");
        let (end, before) = (&record.at_end, &record.at_warm_up);
        let sent = |totals: &Totals| totals.payload_sent - totals.payload_retransmitted;
        let created_bytes = segment_bytes(tcp, end.created_pkts, end.connections, end.payload_sent);
        let payload = end.received_payload_bytes;
        let delivered_bytes = segment_bytes(tcp, end.delivered_pkts, end.connections, payload);
        let dropped = self.dropped_of(index);
        let on_their_way = dropped.map(|(packets, _)| {
            let decided = end.delivered_pkts + packets;
            end.created_pkts.saturating_sub(decided) as i64
        });
        let greedy = matches!(flow.source, Source::Greedy(_));
        let first = record.first_sent.map(|at| match greedy {
            true => at.max(self.warm_up),
            false => at,
        });
        rows.count(end.created_pkts)
            .count(created_bytes)
            .count(end.delivered_pkts)
            .count(delivered_bytes)
            .put(dropped.map_or(NONE, |(packets, _)| packets as i64))
            .put(dropped.map_or(NONE, |(_, bytes)| bytes as i64))
            .put(NONE)
            .put(NONE)
            .put(on_their_way.unwrap_or(NONE))
            .put(NONE)
            .count(end.writes - before.writes)
            .count(sent(end) - sent(before))
            .put(0)
            .count(payload - before.received_payload_bytes)
            .instant(first.filter(|at| *at >= self.warm_up))
            .instant(record.last_received.filter(|at| *at >= self.warm_up))
            .put(0)
            .real(f64::NAN)
            .real(f64::NAN)
            .put(NONE)
            .put(NONE)
            .count(end.retransmitted_pkts)
            .put(NONE);
    }

    /// The row of `flow_samples` of a flow over TCP, after its time and index.
    pub(super) fn tcp_sample(
        &self,
        rows: &mut TableBuilder,
        (time, index): (Time, usize),
        (totals, sample): &(Totals, Option<TcpSample>),
    ) {
        let dropped = self.dropped_of_by(index, time);
        rows.count(totals.delivered_pkts)
            .count(totals.received_payload_bytes)
            .put(dropped.map_or(NONE, |packets| packets as i64))
            .real(f64::NAN);
        let sent = totals.payload_sent - totals.payload_retransmitted;
        let known = sample.as_ref();
        rows.put(known.map_or(NONE, |tcp| i64::from(tcp.cwnd_pkts)))
            .put(
                known
                    .and_then(|tcp| tcp.ssthresh_pkts)
                    .map_or(NONE, i64::from),
            )
            .put(known.map_or(NONE, |tcp| i64::from(tcp.inflight_pkts)))
            .instant(known.and_then(|tcp| tcp.srtt))
            .instant(known.and_then(|tcp| tcp.mean_deviation))
            .instant(known.and_then(|tcp| tcp.min_rtt))
            .count(totals.retransmitted_pkts)
            .count(sent);
        for rate in [
            known.and_then(|tcp| tcp.pacing_rate_bps),
            known.and_then(|tcp| tcp.delivery_rate_bps),
        ] {
            rows.put(rate.map_or(NONE, |rate| rate as i64));
        }
    }

    pub(super) fn transfers(&self) -> Table {
        let names = [
            "transfer",
            "bytes",
            "started_ns",
            "completed_ns",
            "created_pkts",
            "retransmitted_pkts",
            "received_pkts",
            "received_bytes",
            "received_again_pkts",
            "first_received_ns",
            "last_received_ns",
            "dropped_pkts",
        ];
        let mut rows = TableBuilder::new("transfers").i32(&["flow"]).i64(&names);
        for (index, record) in self.records.tcp.iter().enumerate() {
            let transfers = record.iter().flat_map(|record| &record.transfers);
            for (number, transfer) in (1..).zip(transfers) {
                rows.put(index as i64)
                    .put(number)
                    .count(transfer.bytes)
                    .instant(Some(transfer.started))
                    .instant(Some(transfer.completed).filter(|at| *at < self.end));
                // What single packets do is not seen.
                for _ in &names[4..] {
                    rows.put(NONE);
                }
            }
        }
        rows.table()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_of_1448_bytes_is_a_packet_of_1500() {
        let tcp = Tcp::linux("cubic");
        assert_eq!(segment_bytes(&tcp, 1, 0, 1448), 1500);
        // A SYN: 20 of IP, 20 of TCP, 20 of options.
        assert_eq!(segment_bytes(&tcp, 1, 1, 0), 60);
        let bare = Tcp {
            timestamps: false,
            ..tcp
        };
        assert_eq!(segment_bytes(&bare, 1, 1, 0), 52);
        assert_eq!(
            segment_bytes(
                &Tcp {
                    sack: false,
                    ..bare
                },
                1,
                1,
                0
            ),
            48
        );
    }
}
