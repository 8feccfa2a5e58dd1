//! `tcp_info`: a connection's state as reported to an application.

use crate::endpoint::{ConnectionState, Endpoint};
use crate::plan::fields::constant;
use dumbbell_core::time::Time;
use dumbbell_tcp::cca;

/// The value of a field or constant.
pub(super) fn value(connection: Option<&Endpoint>, name: &str, now: Time) -> Option<f64> {
    if let Some(value) = constant(name) {
        return Some(value);
    }
    let Some(connection) = connection else {
        return Some(0.0);
    };
    if name == "tcpi_state" {
        return constant(state(connection));
    }
    let of_connection = match name {
        "tcpi_options" => Some(u64::from(connection.option_bits())),
        "tcpi_snd_wscale" => Some(u64::from(connection.scales().0)),
        "tcpi_rcv_wscale" => Some(u64::from(connection.scales().1)),
        "tcpi_snd_mss" => Some(u64::from(connection.mss_bytes())),
        "tcpi_last_data_recv" => {
            let since = now.saturating_sub(connection.last_data());
            Some(since.as_ns() / 1_000_000)
        }
        "tcpi_advmss" => Some(u64::from(connection.told_mss_bytes())),
        _ => None,
    };
    let found = match of_connection {
        Some(value) => value,
        None => of_sender(connection, name)?,
    };
    Some(found as f64)
}

fn of_sender(connection: &Endpoint, name: &str) -> Option<u64> {
    let us = |time: Time| time.as_ns() / 1000;
    let Some(sender) = connection.sender() else {
        return Some(0);
    };
    let (board, window, rtt) = (sender.board(), sender.window(), sender.round_trip());
    Some(match name {
        "tcpi_snd_cwnd" => u64::from(window.cwnd_pkts),
        "tcpi_snd_ssthresh" => u64::from(window.ssthresh_pkts),
        "tcpi_unacked" => u64::from(board.packets_out()),
        "tcpi_sacked" => u64::from(board.sacked_out()),
        "tcpi_lost" => u64::from(board.lost_out()),
        "tcpi_retrans" => u64::from(board.retrans_out()),
        "tcpi_total_retrans" => sender.statistics().retransmitted_pkts,
        "tcpi_rto" => us(sender.rto()),
        "tcpi_rtt" => rtt.srtt().map_or(0, us),
        "tcpi_rttvar" => rtt.mean_deviation().map_or(0, us),
        "tcpi_min_rtt" => rtt.min_rtt().map_or(0, us),
        "tcpi_reordering" => u64::from(sender.reordering_pkts()),
        "tcpi_reord_seen" => u64::from(sender.has_seen_reordering()),
        "tcpi_delivered" => sender.delivered_pkts(),
        "tcpi_delivered_ce" => sender.delivered_ce_pkts()?,
        "tcpi_delivered_e0_bytes" => u64::from(sender.delivered_ecn_bytes()[0]),
        "tcpi_delivered_ce_bytes" => u64::from(sender.delivered_ecn_bytes()[1]),
        "tcpi_delivered_e1_bytes" => u64::from(sender.delivered_ecn_bytes()[2]),
        "tcpi_ca_state" => match sender.state() {
            cca::CaState::Open => 0,
            cca::CaState::Disorder => 1,
            cca::CaState::Cwr => 2,
            cca::CaState::Recovery => 3,
            cca::CaState::Loss => 4,
        },
        _ => return None,
    })
}

/// TCP state (RFC 9293 section 3.3.2), with the kernel's names.
fn state(connection: &Endpoint) -> &'static str {
    let (closing, heard) = (connection.is_closing(), connection.has_peer_finished());
    match connection.state() {
        ConnectionState::SynSent => "TCP_SYN_SENT",
        ConnectionState::SynReceived => "TCP_SYN_RECV",
        ConnectionState::Open => match (closing, heard, connection.is_finished()) {
            (false, false, _) => "TCP_ESTABLISHED",
            (false, true, _) => "TCP_CLOSE_WAIT",
            (true, false, false) => "TCP_FIN_WAIT1",
            (true, false, true) => "TCP_FIN_WAIT2",
            (true, true, _) if connection.is_last_to_close() => match connection.is_finished() {
                true => "TCP_CLOSE",
                false => "TCP_LAST_ACK",
            },
            (true, true, false) => "TCP_CLOSING",
            (true, true, true) => "TCP_TIME_WAIT",
        },
        _ => "TCP_CLOSE",
    }
}
