//! Options of TCP sockets, for sockets made here and by the kernel module.

use super::{Socket, checked};
use std::io;
use std::mem::size_of;
use std::os::fd::AsRawFd;

/// linux/tcp.h
pub(super) const TCP_WINDOW_CLAMP: i32 = 10;
/// Longest value; as long as `TCP_CA_NAME_MAX` (net/tcp.h).
const VALUE_BYTES: usize = 16;

/// An option that is set (setsockopt(2)): `struct dumbbell_traffic_option`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct SocketOption {
    level: i32,
    name: i32,
    bytes: u32,
    value: [u8; VALUE_BYTES],
    unused: u32,
}

impl SocketOption {
    /// One whose value is these bytes; None if they are too many.
    fn new(level: i32, name: i32, bytes: &[u8]) -> Option<SocketOption> {
        let mut value = [0; VALUE_BYTES];
        value.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(SocketOption {
            level,
            name,
            bytes: bytes.len() as u32,
            value,
            unused: 0,
        })
    }

    /// One that is a number.
    pub fn number(level: i32, name: i32, value: i32) -> SocketOption {
        let option = SocketOption::new(level, name, &value.to_ne_bytes());
        option.expect("a number is shorter")
    }

    /// Connections may follow each other on one port.
    pub fn reuse_address() -> SocketOption {
        SocketOption::number(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)
    }

    /// Chooses the congestion controller by its name; an error if no controller can have it.
    pub fn congestion_control(name: &str) -> io::Result<SocketOption> {
        let option = SocketOption::new(libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes());
        option.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// The TOS byte of outgoing packets.
    pub fn traffic_class(byte: u8) -> SocketOption {
        SocketOption::number(libc::IPPROTO_IP, libc::IP_TOS, i32::from(byte))
    }

    /// Segments are sent at once (tcp(7)).
    pub fn no_delay() -> SocketOption {
        SocketOption::number(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
    }

    /// A send buffer of `bytes` bytes that does not grow.
    pub fn send_buffer(bytes: u64) -> SocketOption {
        // The kernel doubles it for its own overhead (socket(7)).
        SocketOption::number(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, bytes as i32)
    }

    /// A receive window of at most `bytes` bytes; the buffer is large enough for it.
    pub fn receive_window(bytes: u64) -> [SocketOption; 2] {
        let most = (4 * bytes).min(1 << 30) as i32;
        [
            SocketOption::number(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, most),
            SocketOption::number(libc::IPPROTO_TCP, TCP_WINDOW_CLAMP, bytes as i32),
        ]
    }

    /// Lets TCP space its segments out at whatever rate the controller computes.
    pub fn pace() -> SocketOption {
        // Any limit but "none", which is all ones, switches the pacing timer on (net/core/sock.c).
        const FASTEST: i32 = -2;
        SocketOption::number(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, FASTEST)
    }
}

impl Socket {
    /// Sets an option.
    pub fn set(&self, option: &SocketOption) -> io::Result<()> {
        let fd = self.as_raw_fd();
        // SAFETY: the pointer is to this number of bytes that outlive the call.
        checked(unsafe {
            libc::setsockopt(
                fd,
                option.level,
                option.name,
                option.value.as_ptr().cast(),
                option.bytes,
            )
        })
        .map(drop)
    }
}

const _: () = assert!(size_of::<SocketOption>() == 32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_controller_can_have_is_refused() {
        let cubic = SocketOption::congestion_control("cubic").unwrap();
        assert_eq!((cubic.bytes, &cubic.value[..6]), (5, &b"cubic\0"[..]));
        let long = SocketOption::congestion_control("a-controller-of-users");
        assert_eq!(long.unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn a_window_has_four_times_its_buffer() {
        let [buffer, clamp] = SocketOption::receive_window(28_960);
        assert_eq!(buffer.value[..4], 115_840_i32.to_ne_bytes());
        assert_eq!(clamp.value[..4], 28_960_i32.to_ne_bytes());
    }
}
