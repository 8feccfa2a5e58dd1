//! Requests about transfers, whose connections the module opens and closes.

use super::super::{Socket, SocketOption};
use super::{InKernel, request_number};
use dumbbell_core::time::Time;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;

/// Tokens of a source of transfers: of its listener, and of the ends of its first connection.
#[derive(Debug, Clone, Copy)]
pub struct TransferTokens {
    /// The socket that listens.
    pub listener: u64,
    /// The receiver of the first connection.
    pub receiver: u64,
    /// The sender of the first connection.
    pub sender: u64,
    /// Added for each connection, if they may overlap.
    pub step: u64,
}

/// A source of transfers.
#[derive(Debug)]
pub struct SourceOfTransfers<'a> {
    /// Where it comes among what is due at one time.
    pub order: u64,
    /// Its tokens.
    pub tokens: TransferTokens,
    /// The socket that listens, of the receiving host.
    pub listener: &'a Socket,
    /// Any socket of the sending host.
    pub of_host: &'a Socket,
    /// Where to connect to.
    pub to: SocketAddrV4,
    /// Whether a transfer begins only after the end of the one before.
    pub waits_for_end: bool,
    /// Options of a sender, set in this order.
    pub options: &'a [SocketOption],
    /// Size of each write, if nonzero.
    pub write_bytes: u64,
    /// The window is held at that, if nonzero.
    pub window_bytes: u64,
    /// No transfer begins then or later.
    pub stop: Time,
}

/// `struct dumbbell_traffic_transfers`.
#[repr(C)]
struct Transfers {
    order: u64,
    accepts: u64,
    receiver: u64,
    sender: u64,
    token_step: u64,
    listener: i32,
    of_host: i32,
    address: [u8; 4],
    port: [u8; 2],
    waits_for_end: u16,
    options: u64,
    option_count: u32,
    unused: u32,
    write_bytes: u64,
    window_bytes: u64,
    stop_ps: u64,
}

/// A transfer of a schedule: `struct dumbbell_traffic_transfer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct PlannedTransfer {
    /// After time zero; if the source waits for the end of another, after that.
    pub at_ps: u64,
    /// Payload.
    pub bytes: u64,
}

/// `struct dumbbell_traffic_transfer_schedule`.
#[repr(C)]
struct TransferSchedule {
    order: u64,
    transfers: u64,
    count: u32,
    is_last: u32,
}

impl InKernel {
    /// Names a source of transfers; it opens connections as schedules say.
    pub fn add_transfers(&self, source: &SourceOfTransfers) -> io::Result<()> {
        let mut transfers = Transfers {
            order: source.order,
            accepts: source.tokens.listener,
            receiver: source.tokens.receiver,
            sender: source.tokens.sender,
            token_step: source.tokens.step,
            listener: source.listener.as_raw_fd(),
            of_host: source.of_host.as_raw_fd(),
            address: source.to.ip().octets(),
            port: source.to.port().to_be_bytes(),
            waits_for_end: u16::from(source.waits_for_end),
            // The module copies them.
            options: source.options.as_ptr() as u64,
            option_count: source.options.len() as u32,
            unused: 0,
            write_bytes: source.write_bytes,
            window_bytes: source.window_bytes,
            stop_ps: source.stop.0,
        };
        self.control(request_number::<Transfers>(20), &mut transfers)
    }

    /// The next transfers of a source. It must have begun all before.
    pub fn add_transfer_schedule(
        &self,
        order: u64,
        transfers: &[PlannedTransfer],
        is_last: bool,
    ) -> io::Result<()> {
        let mut schedule = TransferSchedule {
            order,
            // The module copies them.
            transfers: transfers.as_ptr() as u64,
            count: transfers.len() as u32,
            is_last: u32::from(is_last),
        };
        self.control(request_number::<TransferSchedule>(21), &mut schedule)
    }

    /// Aborts all connections of a source; the items say what they did.
    pub fn abort_transfers(&self, order: u64) -> io::Result<()> {
        let mut order = order;
        self.control(request_number::<u64>(22), &mut order)
    }

    /// Adds the state of a source's connections to the items.
    pub fn look_at_transfers(&self, order: u64) -> io::Result<()> {
        let mut order = order;
        self.control(request_number::<u64>(23), &mut order)
    }
}
