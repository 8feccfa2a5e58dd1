//! TCP sockets that never wait.

use super::tcp_options::TCP_WINDOW_CLAMP;
use super::{Socket, address, checked, checked_size, owned};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;

/// As long as `struct tcp_info` is in Linux 6.1 (linux/tcp.h).
pub const TCP_INFO_BYTES: usize = 232;

impl Socket {
    /// TCP, neither connected nor listening.
    pub fn tcp() -> io::Result<Socket> {
        Socket::new(libc::AF_INET, libc::SOCK_STREAM, 0)
    }

    /// Sets `SocketOption::receive_window` again where the kernel has given it up.
    ///
    /// Linux 6.12 takes it from the buffer whenever segments of another size come, with the first
    /// data at the latest (net/ipv4/tcp_input.c, `tcp_measure_rcv_mss`).
    pub fn hold_receive_window(&self, bytes: u64) -> io::Result<()> {
        let now = self.number(libc::IPPROTO_TCP, TCP_WINDOW_CLAMP)?;
        if now > bytes as i32 {
            self.option(libc::IPPROTO_TCP, TCP_WINDOW_CLAMP, bytes as i32)?;
        }
        Ok(())
    }

    /// Waits for connections.
    pub fn listen(&self) -> io::Result<()> {
        // SAFETY: no memory is involved.
        checked(unsafe { libc::listen(self.as_raw_fd(), 128) }).map(|_| ())
    }

    /// The next connection that was made and the other end's port; None when there is none.
    pub fn accept(&self) -> io::Result<Option<(Socket, u16)>> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: an all-zero sockaddr_in is valid.
        let mut from: libc::sockaddr_in = unsafe { zeroed() };
        let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let (pointer, fd) = ((&raw mut from).cast(), self.as_raw_fd());
        // SAFETY: the kernel writes at most `size` bytes, and the address has as many.
        match owned(unsafe { libc::accept4(fd, pointer, &raw mut size, flags) }) {
            Ok(fd) => Ok(Some((Socket(fd), u16::from_be(from.sin_port)))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Its own port; one is taken when it begins to connect.
    pub fn port(&self) -> io::Result<u16> {
        // SAFETY: an all-zero sockaddr_in is valid.
        let mut own: libc::sockaddr_in = unsafe { zeroed() };
        let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let (pointer, fd) = ((&raw mut own).cast(), self.as_raw_fd());
        // SAFETY: the kernel writes at most `size` bytes, and the address has as many.
        checked(unsafe { libc::getsockname(fd, pointer, &raw mut size) })?;
        Ok(u16::from_be(own.sin_port))
    }

    /// Begins to connect.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        let to = address(to);
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the given size that outlives the call.
        let result = unsafe { libc::connect(self.as_raw_fd(), (&raw const to).cast(), size) };
        match checked(result) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    /// Hands TCP as much as it takes now; None when it takes nothing.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let fd = self.as_raw_fd();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the pointer is to this number of bytes that outlive the call.
        let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
        would_block_is_none(checked_size(sent))
    }

    /// Takes what has arrived, at most `most` bytes, and forgets it (tcp(7): `MSG_TRUNC`). None
    /// when nothing has; 0 when nothing will.
    pub fn discard(&self, most: usize) -> io::Result<Option<usize>> {
        let fd = self.as_raw_fd();
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        // SAFETY: with this flag TCP writes nothing to the buffer.
        let got = unsafe { libc::recv(fd, std::ptr::null_mut(), most, flags) };
        would_block_is_none(checked_size(got))
    }

    /// What TCP knows of the connection: `struct tcp_info`.
    pub fn tcp_info(&self) -> io::Result<[u8; TCP_INFO_BYTES]> {
        let mut info = [0u8; TCP_INFO_BYTES];
        let mut length = TCP_INFO_BYTES as libc::socklen_t;
        let fd = self.as_raw_fd();
        // SAFETY: the kernel writes at most `length` bytes, and the array has as many.
        let result = unsafe {
            libc::getsockopt(
                fd,
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        checked(result).map(|_| info)
    }

    /// Ends the connection at once when the socket is closed: what was not sent is not sent.
    pub fn abort_on_close(&self) -> io::Result<()> {
        // SAFETY: an all-zero linger is valid.
        let mut linger: libc::linger = unsafe { zeroed() };
        linger.l_onoff = 1;
        let size = size_of::<libc::linger>() as libc::socklen_t;
        let fd = self.as_raw_fd();
        // SAFETY: the pointer is to a linger of the given size that outlives the call.
        checked(unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size,
            )
        })
        .map(|_| ())
    }
}

fn would_block_is_none(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
