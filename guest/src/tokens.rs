//! Tokens of descriptors. Descriptors that are ready at one instant are served in the order of their tokens.

use crate::tcp_flow::ConnectionNumber;

/// The timer of due events.
pub const TOKEN_TIMER: u64 = u64::MAX;
/// The highest byte of a token is its kind, the rest of its upper half the connection of a flow, the lower
/// half the flow, host or probe.
pub const TOKEN_KIND: u64 = 1 << 56;
/// Added for each connection.
pub const TOKEN_CONNECTION: u64 = 1 << 32;
/// Datagrams of a flow have arrived.
pub const UDP_RECEIVER: u64 = 0;
/// ICMP has arrived at a host.
pub const ICMP: u64 = 1;
/// A connection of a flow was accepted.
pub const TCP_LISTENER: u64 = 2;
/// Data arrived over a connection.
pub const TCP_RECEIVER: u64 = 3;
/// A connection is writable.
pub const TCP_SENDER: u64 = 4;
/// A UDP echo request has arrived.
pub const UDP_REQUEST: u64 = 5;
/// A UDP echo reply has arrived.
pub const UDP_ANSWER: u64 = 6;
/// A program has ended.
pub const PROGRAM: u64 = 7;

/// The kind, index and connection of a token.
pub fn parts(token: u64) -> (u64, usize, ConnectionNumber) {
    let connection = (token % TOKEN_KIND / TOKEN_CONNECTION) as ConnectionNumber;
    let index = (token % TOKEN_CONNECTION) as usize;
    (token / TOKEN_KIND, index, connection)
}
