//! Names that assertions may use.

/// Constants of the kernel headers.
pub const CONSTANTS: [(&str, f64); 27] = [
    ("TCP_CA_Open", 0.0),
    ("TCP_CA_Disorder", 1.0),
    ("TCP_CA_CWR", 2.0),
    ("TCP_CA_Recovery", 3.0),
    ("TCP_CA_Loss", 4.0),
    ("TCPI_OPT_TIMESTAMPS", 1.0),
    ("TCPI_OPT_SACK", 2.0),
    ("TCPI_OPT_WSCALE", 4.0),
    ("TCPI_OPT_ECN", 8.0),
    ("TCPI_OPT_ECN_SEEN", 16.0),
    ("TCPI_OPT_SYN_DATA", 32.0),
    ("TCP_ESTABLISHED", 1.0),
    ("TCP_SYN_SENT", 2.0),
    ("TCP_SYN_RECV", 3.0),
    ("TCP_FIN_WAIT1", 4.0),
    ("TCP_FIN_WAIT2", 5.0),
    ("TCP_TIME_WAIT", 6.0),
    ("TCP_CLOSE", 7.0),
    ("TCP_CLOSE_WAIT", 8.0),
    ("TCP_LAST_ACK", 9.0),
    ("TCP_LISTEN", 10.0),
    ("TCP_CLOSING", 11.0),
    ("TCP_INFINITE_SSTHRESH", 2_147_483_647.0),
    ("INFINITE_SSTHRESH", 2_147_483_647.0),
    ("None", 0.0),
    ("True", 1.0),
    ("False", 0.0),
];

/// `tcp_info` fields that a connection of the engine provides.
pub const FIELDS: [&str; 26] = [
    "tcpi_state",
    "tcpi_ca_state",
    "tcpi_delivered_ce",
    "tcpi_delivered_e0_bytes",
    "tcpi_delivered_ce_bytes",
    "tcpi_delivered_e1_bytes",
    "tcpi_options",
    "tcpi_snd_wscale",
    "tcpi_rcv_wscale",
    "tcpi_rto",
    "tcpi_snd_mss",
    "tcpi_advmss",
    "tcpi_last_data_recv",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_snd_ssthresh",
    "tcpi_snd_cwnd",
    "tcpi_reordering",
    "tcpi_reord_seen",
    "tcpi_delivered",
];

/// The value of a constant.
pub fn constant(name: &str) -> Option<f64> {
    let found = CONSTANTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value)
}

/// Whether an assertion that uses this name can be evaluated.
pub fn is_known(name: &str) -> bool {
    FIELDS.contains(&name) || constant(name).is_some()
}
