//! The module that reads and writes for flows over TCP: its requests, as `traffic/dumbbell_traffic.h` of
//! the kernel's recipe has them.

use super::{Poll, Socket, checked};
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, RawFd};

const SENDER: u32 = 0;
const RECEIVER: u32 = 1;

/// `struct dumbbell_traffic_end`.
#[repr(C)]
struct End {
    token: u64,
    fd: i32,
    kind: u32,
    bytes: u64,
    write_bytes: u64,
    window_bytes: u64,
}

/// `struct dumbbell_traffic_more`.
#[repr(C)]
struct More {
    token: u64,
    bytes: u64,
}

/// What an end has done: `struct dumbbell_traffic_count`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct EndCount {
    token: u64,
    /// That TCP took, or that were received.
    pub bytes: u64,
    /// When something was received last, on the monotonic clock; 0 before.
    pub last_ns: u64,
    /// How often it was ready.
    pub served: u64,
}

/// Why process 1 is to act: `struct dumbbell_traffic_turn`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Turn {
    /// On the monotonic clock.
    pub at_ns: u64,
    /// Of the end that is over.
    pub token: u64,
    what: u32,
    errno: u32,
}

/// What process 1 is to do.
#[derive(Debug)]
pub enum Next {
    /// All that were ready have been served.
    Nothing,
    /// Look at the other descriptors.
    Others,
    /// A receiver has all bytes, or the connection of a sender is no more.
    Over,
}

impl Turn {
    /// What is to be done, or what the call said that failed.
    pub fn next(&self) -> io::Result<Next> {
        match self.what {
            0 => Ok(Next::Nothing),
            1 => Ok(Next::Others),
            2 => Ok(Next::Over),
            _ => Err(io::Error::from_raw_os_error(self.errno as i32)),
        }
    }
}

/// `_IOC` of asm-generic/ioctl.h for type `D`.
const fn request(is_read: bool, number: u32, bytes: usize) -> u32 {
    let direction = 1 | (is_read as u32) << 1;
    direction << 30 | (bytes as u32) << 16 | (b'D' as u32) << 8 | number
}

/// The module, as process 1 reaches it.
#[derive(Debug)]
pub struct InKernel(File);

impl InKernel {
    /// One that is loaded.
    pub fn open(path: &str) -> io::Result<InKernel> {
        File::options()
            .read(true)
            .write(true)
            .open(path)
            .map(InKernel)
    }

    /// From now on it writes to a socket, all in all so many bytes, `write_bytes` of them at a time if
    /// that is not 0.
    pub fn add_sender(
        &self,
        token: u64,
        socket: &Socket,
        bytes: u64,
        write_bytes: u64,
    ) -> io::Result<()> {
        self.add(&mut End {
            token,
            fd: socket.as_raw_fd(),
            kind: SENDER,
            bytes,
            write_bytes,
            window_bytes: 0,
        })
    }

    /// From now on it reads from a socket, and says when it has `bytes` bytes. The window is held at
    /// `window_bytes` if that is not 0.
    pub fn add_receiver(
        &self,
        token: u64,
        socket: &Socket,
        bytes: u64,
        window_bytes: u64,
    ) -> io::Result<()> {
        self.add(&mut End {
            token,
            fd: socket.as_raw_fd(),
            kind: RECEIVER,
            bytes,
            write_bytes: 0,
            window_bytes,
        })
    }

    fn add(&self, end: &mut End) -> io::Result<()> {
        self.control(request(false, 1, size_of::<End>()), end)
    }

    /// A sender has more to write, and writes what TCP takes of it now.
    pub fn add_bytes(&self, token: u64, bytes: u64) -> io::Result<()> {
        let mut more = More { token, bytes };
        self.control(request(false, 2, size_of::<More>()), &mut more)
    }

    /// What an end has done so far.
    pub fn count(&self, token: u64) -> io::Result<EndCount> {
        self.ask_count(3, token)
    }

    /// The socket is this process's alone again; what the end has done.
    pub fn remove(&self, token: u64) -> io::Result<EndCount> {
        self.ask_count(4, token)
    }

    fn ask_count(&self, number: u32, token: u64) -> io::Result<EndCount> {
        let mut count = EndCount {
            token,
            ..EndCount::default()
        };
        self.control(request(true, number, size_of::<EndCount>()), &mut count)?;
        Ok(count)
    }

    /// Names the descriptors that are waited for besides, once.
    pub fn wait_also_for(&self, poll: &Poll) -> io::Result<()> {
        let mut fd = poll.as_raw_fd();
        self.control(request(false, 5, size_of::<RawFd>()), &mut fd)
    }

    /// Serves ends until there is something to do here.
    pub fn wait(&self) -> io::Result<Turn> {
        loop {
            match self.turn(6, Turn::default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Serves ends that were ready when the last wait ended, until there is something to do here.
    pub fn serve(&self, at_ns: u64) -> io::Result<Turn> {
        self.turn(
            7,
            Turn {
                at_ns,
                ..Turn::default()
            },
        )
    }

    fn turn(&self, number: u32, mut turn: Turn) -> io::Result<Turn> {
        self.control(request(true, number, size_of::<Turn>()), &mut turn)?;
        Ok(turn)
    }

    fn control<T>(&self, request: u32, asked: &mut T) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: the request's number says how many bytes the call reads and writes, as many as
        // there are.
        checked(unsafe {
            libc::ioctl(
                fd,
                libc::c_ulong::from(request) as _,
                std::ptr::from_mut(asked),
            )
        })
        .map(drop)
    }
}
