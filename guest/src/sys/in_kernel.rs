//! The module that reads and writes for flows and probes: its requests, as `traffic/dumbbell_traffic.h` of
//! the kernel's recipe has them.

mod transfers;

pub use transfers::{PlannedTransfer, SourceOfTransfers, TransferTokens};

use super::{Poll, Socket, TCP_INFO_BYTES, checked};
use dumbbell_core::time::Time;
use std::fs::File;
use std::io;
use std::mem::size_of;
use std::net::SocketAddrV4;
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
    port: u64,
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

impl EndCount {
    /// One at the beginning of bytes of the module, and the rest of them.
    pub fn split(bytes: &[u8]) -> Option<(EndCount, &[u8])> {
        let (count, rest) = bytes.split_at_checked(size_of::<EndCount>())?;
        let mut words = count
            .chunks_exact(8)
            .map(|word| word.try_into().map(u64::from_ne_bytes));
        let mut word = || words.next()?.ok();
        let count = EndCount {
            token: word()?,
            bytes: word()?,
            last_ns: word()?,
            served: word()?,
        };
        Some((count, rest))
    }
}

/// `struct dumbbell_traffic_last`.
#[repr(C)]
struct Last {
    count: EndCount,
    info: [u8; TCP_INFO_BYTES],
}

/// `struct dumbbell_traffic_inlet`.
#[repr(C)]
struct Inlet {
    token: u64,
    fd: i32,
    head_bytes: u32,
    classes: u64,
    class_count: u32,
    first_port: u32,
}

/// `struct dumbbell_traffic_source`.
#[repr(C)]
struct Source {
    order: u64,
    fd: i32,
    traffic_class: i32,
    address: [u8; 4],
    port: [u8; 2],
    unused: u16,
}

/// A datagram of a schedule: `struct dumbbell_traffic_datagram`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PlannedDatagram {
    /// After time zero.
    pub at_ps: u64,
    /// Payload.
    pub bytes: u32,
    /// Number of bytes of `head` with which it begins, as far as they fit; the rest is zeros.
    pub head_bytes: u32,
    /// Its beginning.
    pub head: [u8; 8],
}

impl PlannedDatagram {
    /// One of so many bytes that begins with `head`, of which as much is used as fits.
    pub fn new(at: Time, bytes: usize, head: &[u8]) -> PlannedDatagram {
        let mut planned = PlannedDatagram {
            at_ps: at.0,
            bytes: bytes as u32,
            head_bytes: head.len() as u32,
            head: [0; 8],
        };
        planned.head[..head.len()].copy_from_slice(head);
        planned
    }
}

/// `struct dumbbell_traffic_schedule`.
#[repr(C)]
struct Schedule {
    order: u64,
    datagrams: u64,
    count: u32,
    is_last: u32,
}

/// `struct dumbbell_traffic_due`.
#[repr(C)]
struct DueBefore {
    at_ns: u64,
    before_ps: u64,
    before_order: u64,
    wants_schedule: u64,
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
    is_due: u32,
    checks: u32,
    kept_bytes: u32,
    is_rest: u32,
    latest_ps: u64,
}

/// Events that are due, in picoseconds after time zero; `u64::MAX` for none: `struct dumbbell_traffic_plan`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Plan {
    /// Time zero on the monotonic clock.
    pub zero_ns: u64,
    /// The first event that this process must do.
    pub other_ps: u64,
    /// The next check whether there are many records.
    pub check_ps: u64,
    /// Interval of the checks.
    pub check_step_ps: u64,
    /// The next sample.
    pub sample_ps: u64,
    /// Interval of the samples.
    pub sample_step_ps: u64,
    /// No sample is taken later.
    pub last_sample_ps: u64,
}

/// `struct dumbbell_traffic_watch`.
#[repr(C)]
struct Watch {
    sockets: u64,
    request: u64,
    socket_count: u32,
    request_bytes: u32,
    to_receiver: u64,
}

/// `struct dumbbell_traffic_fetch`.
#[repr(C)]
pub(super) struct Fetch {
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// What the module did of its plan since the last wait.
#[derive(Debug, Clone, Copy)]
pub struct Done {
    /// Checks of the records.
    pub checks: u64,
    /// Bytes of all items that were not fetched.
    pub kept_bytes: usize,
    /// The longest delay of one of them.
    pub latest_ps: u64,
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
    /// Do what is due.
    Due,
}

impl Turn {
    /// What is to be done, or what the call said that failed.
    pub fn next(&self) -> io::Result<Next> {
        match self.what {
            0 => Ok(Next::Nothing),
            1 => Ok(Next::Others),
            2 => Ok(Next::Over),
            4 => Ok(Next::Due),
            _ => Err(io::Error::from_raw_os_error(self.errno as i32)),
        }
    }

    /// Whether events are due after what is to be done.
    pub fn is_due(&self) -> bool {
        self.is_due > 0
    }

    /// Whether ends that are ready were not served.
    pub fn is_rest(&self) -> bool {
        self.is_rest > 0
    }

    /// What was done of the plan.
    pub fn done(&self) -> Done {
        Done {
            checks: u64::from(self.checks),
            kept_bytes: self.kept_bytes as usize,
            latest_ps: self.latest_ps,
        }
    }
}

/// `_IOC` of asm-generic/ioctl.h for type `D`.
pub(super) const fn request(is_read: bool, number: u32, bytes: usize) -> u32 {
    let direction = 1 | (is_read as u32) << 1;
    direction << 30 | (bytes as u32) << 16 | (b'D' as u32) << 8 | number
}

/// That of a request which only writes a `T`.
pub(super) const fn request_number<T>(number: u32) -> u32 {
    request(false, number, size_of::<T>())
}

/// The module, as process 1 reaches it.
#[derive(Debug)]
pub struct InKernel {
    file: File,
}

impl InKernel {
    /// One that is loaded.
    pub fn open(path: &str) -> io::Result<InKernel> {
        File::options()
            .read(true)
            .write(true)
            .open(path)
            .map(|file| InKernel { file })
    }

    /// From now on it writes to a socket, all in all so many bytes, `write_bytes` of them at a time if
    /// that is not 0. Returns the socket's port.
    pub fn add_sender(
        &self,
        token: u64,
        socket: &Socket,
        bytes: u64,
        write_bytes: u64,
    ) -> io::Result<u16> {
        self.add(&mut End {
            token,
            fd: socket.as_raw_fd(),
            kind: SENDER,
            bytes,
            write_bytes,
            window_bytes: 0,
            port: 0,
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
            port: 0,
        })
        .map(drop)
    }

    fn add(&self, end: &mut End) -> io::Result<u16> {
        self.control(request(true, 1, size_of::<End>()), end)?;
        Ok(end.port as u16)
    }

    /// A sender has more to write, and writes what TCP takes of it now.
    pub fn add_bytes(&self, token: u64, bytes: u64) -> io::Result<()> {
        let mut more = More { token, bytes };
        self.control(request(false, 2, size_of::<More>()), &mut more)
    }

    /// What an end has done so far.
    pub fn count(&self, token: u64) -> io::Result<EndCount> {
        let mut count = EndCount {
            token,
            ..EndCount::default()
        };
        self.control(request(true, 3, size_of::<EndCount>()), &mut count)?;
        Ok(count)
    }

    /// The socket is this process's alone again; the state of TCP, and what the end has done.
    pub fn remove(&self, token: u64) -> io::Result<([u8; TCP_INFO_BYTES], EndCount)> {
        let mut last = Last {
            count: EndCount {
                token,
                ..EndCount::default()
            },
            info: [0; TCP_INFO_BYTES],
        };
        self.control(request(true, 4, size_of::<Last>()), &mut last)?;
        Ok((last.info, last.count))
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

    /// Serves ends with smaller tokens that were ready when the last wait ended, until there is something to
    /// do here.
    pub fn serve(&self, at_ns: u64, before: u64) -> io::Result<Turn> {
        let asked = Turn {
            at_ns,
            token: before,
            ..Turn::default()
        };
        self.turn(7, asked)
    }

    /// What was done since the last wait, or since this was asked last.
    pub fn done(&self) -> io::Result<Done> {
        self.turn(15, Turn::default()).map(|turn| turn.done())
    }

    fn turn(&self, number: u32, mut turn: Turn) -> io::Result<Turn> {
        self.control(request(true, number, size_of::<Turn>()), &mut turn)?;
        Ok(turn)
    }

    /// Names what it samples, once: sockets that are asked with this message. A receiver's token is less than
    /// its sender's by `to_receiver`.
    pub fn watch(&self, sockets: &[Socket], request: &[u8], to_receiver: u64) -> io::Result<()> {
        let fds: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        let mut watch = Watch {
            sockets: fds.as_ptr() as u64,
            request: request.as_ptr() as u64,
            socket_count: fds.len() as u32,
            request_bytes: request.len() as u32,
            to_receiver,
        };
        // The module copies them.
        self.control(request_number::<Watch>(8), &mut watch)
    }

    /// Sets the timer to the first event of a plan.
    pub fn plan(&self, mut plan: Plan) -> io::Result<()> {
        self.control(request_number::<Plan>(9), &mut plan)
    }

    /// The items so far, as many bytes as the last wait said.
    pub fn fetch(&self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut items = vec![0u8; bytes];
        let mut fetch = Fetch {
            address: items.as_mut_ptr() as u64,
            bytes: bytes as u64,
        };
        self.control(request_number::<Fetch>(10), &mut fetch)?;
        Ok(items)
    }

    /// From now on it receives datagrams from a socket, and keeps the beginning of each.
    pub fn add_inlet(&self, token: u64, socket: &Socket, head_bytes: u32) -> io::Result<()> {
        let mut inlet = Inlet {
            token,
            fd: socket.as_raw_fd(),
            head_bytes,
            classes: 0,
            class_count: 0,
            first_port: 0,
        };
        self.control(request_number::<Inlet>(11), &mut inlet)
    }

    /// The same, and it sends each back: to the client at the i-th port after the first with the i-th class.
    pub fn add_echo(
        &self,
        token: u64,
        socket: &Socket,
        head_bytes: u32,
        (first_port, classes): (u16, &[u8]),
    ) -> io::Result<()> {
        let mut inlet = Inlet {
            token,
            fd: socket.as_raw_fd(),
            head_bytes,
            // The module copies them.
            classes: classes.as_ptr() as u64,
            class_count: classes.len() as u32,
            first_port: u32::from(first_port),
        };
        self.control(request_number::<Inlet>(11), &mut inlet)
    }

    /// Names a source of datagrams; it sends what schedules say.
    pub fn add_source(
        &self,
        order: u64,
        socket: &Socket,
        to: SocketAddrV4,
        traffic_class: Option<u8>,
    ) -> io::Result<()> {
        let mut source = Source {
            order,
            fd: socket.as_raw_fd(),
            traffic_class: traffic_class.map_or(-1, i32::from),
            address: to.ip().octets(),
            port: to.port().to_be_bytes(),
            unused: 0,
        };
        self.control(request_number::<Source>(12), &mut source)
    }

    /// What a source sends next. It must have sent all before.
    pub fn add_schedule(
        &self,
        order: u64,
        datagrams: &[PlannedDatagram],
        is_last: bool,
    ) -> io::Result<()> {
        let mut schedule = Schedule {
            order,
            // The module copies them.
            datagrams: datagrams.as_ptr() as u64,
            count: datagrams.len() as u32,
            is_last: u32::from(is_last),
        };
        self.control(request_number::<Schedule>(13), &mut schedule)
    }

    /// Sends datagrams that are due now and before this time, or at it and of an earlier order. Returns
    /// whether a source needs its next schedule before more can be sent.
    pub fn send_before(&self, at_ns: u64, before: (u64, u64)) -> io::Result<bool> {
        let mut due = DueBefore {
            at_ns,
            before_ps: before.0,
            before_order: before.1,
            wants_schedule: 0,
        };
        self.control(request(true, 14, size_of::<DueBefore>()), &mut due)?;
        Ok(due.wants_schedule > 0)
    }

    pub(super) fn control<T>(&self, request: u32, asked: &mut T) -> io::Result<()> {
        let fd = self.file.as_raw_fd();
        // SAFETY: the request's number says how many bytes the call reads and writes, as many as
        // there are. Addresses in it are of memory that lives until the call returns.
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
