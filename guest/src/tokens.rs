//! What a descriptor that is ready is called. Those that are ready at one instant are served in the order of
//! their tokens.

use crate::tcp_flow::ConnectionNumber;

/// The timer of what is due.
pub const TOKEN_TIMER: u64 = u64::MAX;
/// The highest byte of a token says what happened, the rest of its upper half over which
/// connection of a flow, the lower half to which flow, host or probe.
pub const TOKEN_KIND: u64 = 1 << 56;
/// What is added for each connection.
pub const TOKEN_CONNECTION: u64 = 1 << 32;
/// Datagrams of a flow have come.
pub const UDP_RECEIVER: u64 = 0;
/// ICMP has come to a host.
pub const ICMP: u64 = 1;
/// A connection of a flow was made.
pub const TCP_LISTENER: u64 = 2;
/// Something came over a connection.
pub const TCP_RECEIVER: u64 = 3;
/// A connection takes more.
pub const TCP_SENDER: u64 = 4;
/// An echo request over UDP has come.
pub const UDP_REQUEST: u64 = 5;
/// An answer to one has.
pub const UDP_ANSWER: u64 = 6;
/// A program has ended.
pub const PROGRAM: u64 = 7;

/// Of a token: what happened, to which flow, host or probe, over which of its connections.
pub fn parts(token: u64) -> (u64, usize, ConnectionNumber) {
    let connection = (token % TOKEN_KIND / TOKEN_CONNECTION) as ConnectionNumber;
    let index = (token % TOKEN_CONNECTION) as usize;
    (token / TOKEN_KIND, index, connection)
}
