//! The work: 220 packets/s, exponential sizes of mean 512 B, 1 Mbit/s, a buffer without bound.

/// Name of the flow: its random streams are named after it.
pub const FLOW: &str = "offered";
/// Mean arrival rate, packets/s.
pub const ARRIVALS_PER_S: f64 = 220.0;
/// Mean size, bytes.
pub const MEAN_SIZE_BYTES: f64 = 512.0;
/// Rate of the link, bit/s.
pub const LINK_BPS: f64 = 1e6;

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Expected number of arrivals.
    pub packets: u64,
    /// Seed of all draws.
    pub seed: u64,
}

impl Workload {
    /// How long arrivals are awaited, nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        (self.packets as f64 / ARRIVALS_PER_S * 1e9) as u64
    }

    /// The resolved description of it, as the engine takes it.
    pub fn resolved_json(&self) -> String {
        let (seed, duration_ns) = (self.seed, self.duration_ns());
        let mean_gap_s = 1.0 / ARRIVALS_PER_S;
        let end = |rate_bps: f64| {
            format!(
                r#"{{"rate_bps":{rate_bps},"delay_ns":0,"mtu_bytes":1500,"overhead_bytes":0,
                "loss":0.0,"loss_every_pkts":0,"qdisc":{{"kind":"pfifo","limit_packets":1000000000}},"changes":[],
                "record_packets":false}}"#
            )
        };
        let (forward, reverse) = (end(LINK_BPS), end(0.0));
        format!(
            r#"{{"schema":1,"name":"M/M/1","seed":{seed},"duration_ns":{duration_ns},
            "warm_up_ns":0,"sample_interval_ns":0,"timer_hz":1000,"hosts":[{{"name":"a"}},{{"name":"b"}}],
            "links":[{{"a":"a","b":"b","forward":{forward},"reverse":{reverse}}}],
            "flows":[{{"name":"{FLOW}","from":"a","to":"b","start_ns":0,
            "stop_ns":{duration_ns},"start_jitter_ns":0,"dscp":0,"ecn":"not-ect","transport":"udp","tcp":null,
            "source":{{"kind":"poisson","gap":{{"law":"exponential","mean":{mean_gap_s}}},
            "size":{{"law":"exponential","mean":{MEAN_SIZE_BYTES}}},"size_at":"wire"}}}}],
            "probes":[]}}"#
        )
    }
}
