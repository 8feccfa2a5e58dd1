//! One direction of a link, and changes of it during a run.

use crate::key::{Value, size, table, whole};
use serde::{Deserialize, Serialize};

table! {
    /// One direction of a link.
    #[derive(Debug, Clone, PartialEq)]
    LinkEnd {
        /// 0 for infinite.
        rate_bps: u64 = 0;
        "rate", Value::Rate, OrDefault,
        "Rate of the transmitter behind the queue. `inf`: packets do not wait for a transmitter, \
         and only a qdisc with a rate of its own holds them back.";

        delay_ns: u64 = 0;
        "delay", Value::Time, OrDefault,
        "Propagation delay, one way, after the queue.";

        mtu_bytes: u32 = 1500; // 68 is the minimum of IPv4 (RFC 791)
        "mtu", size(68, 65_535, "68 to 65535 bytes", &["1500B", "9000B"]), OrDefault,
        "Largest IP packet; larger ones are fragmented.";

        overhead_bytes: u32 = 14;
        "overhead", Value::Overhead, OrDefault,
        "Bytes a packet carries here besides its IP size: `ethernet` (14, what Linux counts), \
         `wire` (38, what an Ethernet cable carries), `ppp` (2), `none` (0), or a size.";

        loss: f64 = 0.0;
        "loss", Value::Probability, OrDefault,
        "Probability that a packet is lost after the queue.";

        loss_every_pkts: u64 = 0;
        "loss_every", whole(0, i64::MAX as u64, "packets", 1000), OrDefault,
        "Every n-th packet that leaves the queue is lost; 0: none. Simulator only.";

        #[serde(default)]
        police: Option<dumbbell_tc::Police> = None;
        "police", Value::Police, OrDefault,
        "A policer in front of the queue at each end, as typed after `action` in a filter of tc: \
         it drops what exceeds a rate, and nothing waits in it. `none`: there is none.";

        qdisc: dumbbell_tc::Qdisc = default_qdisc();
        "qdisc", Value::Qdisc, OrDefault,
        "Queue discipline at each end, in the syntax that follows `tc qdisc add dev X root`.";

        #[serde(default, skip_serializing_if = "crate::is_false")]
        random_marks: bool = false;
        "random_marks", Value::Flag, OrAbsent,
        "Whether `dualpi2` draws a number for each mark and drop, as Linux does; otherwise they are evenly \
         spaced, as in the pseudocode of RFC 9332 (appendix A.1). The kernel always draws.";

        changes: Vec<Change> = Vec::new();
        "changes", Value::Changes, OrDefault,
        "Changes of rate, delay or loss at given times, in order.";

        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace: Option<crate::Trace> = None;
        "trace", Value::Trace, OrAbsent,
        "How the link varies over the whole run: a file of Mahimahi or a CSV file beside the \
         experiment, or a table with a `kind` ([traces](traces.md)).";

        record_packets: bool = false;
        "record_packets", Value::Flag, OrDefault,
        "Whether to record every packet in the table `packets`.";

        #[serde(default)]
        capture: bool = false;
        "capture", Value::Flag, OrDefault,
        "Whether to write the headers of every packet before and after the queue to \
         `capture.pcapng`.";

        #[serde(default)]
        capture_flows: bool = false;
        "capture_flows", Value::Flag, OrDefault,
        "Whether to write a row a connection to the table `captured_flows`, as seen at the link's \
         sending end before and after the queue; in the simulator only.";

        #[serde(default, skip_serializing_if = "crate::is_false")]
        tso: bool = false;
        "tso", Value::Flag, OrAbsent,
        "Whether the device at the sending end sends several segments of TCP as one packet, as \
         between virtual machines (`ethtool -K DEV tso on`); without it they are cut there.";

        #[serde(default, skip_serializing_if = "Option::is_none")]
        gro_ns: Option<u64> = None;
        "gro", Value::Gro, OrAbsent,
        "Whether the device at the receiving end merges frames of a connection that follow each \
         other (`ethtool -K DEV gro on`), and for how long it gathers them, counted from the \
         first: `0s` is what comes in the same instant.";
    }
}

table! {
    /// Changes of a link at a given time; null keeps the old value.
    #[derive(Debug, Clone, PartialEq)]
    Change {
        at_ns: u64;
        "at", Value::Time, Always,
        "Time of the change, from the start of the run.";

        /// 0 for infinite.
        rate_bps: Option<u64> = None;
        "rate", Value::Rate, OrNull,
        "New rate.";

        delay_ns: Option<u64> = None;
        "delay", Value::Time, OrNull,
        "New delay of packets that leave the queue from then on.";

        loss: Option<f64> = None;
        "loss", Value::Probability, OrNull,
        "New loss probability.";
    }
}

fn default_qdisc() -> dumbbell_tc::Qdisc {
    dumbbell_tc::qdisc::parse("pfifo limit 1000").expect("a discipline of tc")
}

impl LinkEnd {
    /// Its values at the start of a run.
    pub fn own_values(&self) -> crate::trace::Step {
        crate::trace::Step {
            at: dumbbell_core::time::Time::ZERO,
            rate_bps: (self.rate_bps > 0).then_some(self.rate_bps),
            delay: Some(dumbbell_core::time::Time::from_ns(self.delay_ns)),
            loss: Some(self.loss),
        }
    }

    /// Whether packets wait for a transmitter behind the queue, from the start of the run.
    pub fn has_transmitter(&self) -> bool {
        self.rate_bps > 0 || { self.trace.as_ref() }.is_some_and(|trace| trace.outline().has_rate)
    }

    /// Whether super-packets may leave it.
    pub fn has_offloads(&self) -> bool {
        self.tso || self.gro_ns.is_some()
    }

    /// Whether its packets are captured before and after the queue.
    pub fn is_captured(&self) -> bool {
        self.capture || self.capture_flows
    }
}
