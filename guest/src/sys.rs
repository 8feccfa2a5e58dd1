//! The calls that Rust's standard library does not have. The only unsafe code of the crate.
#![allow(unsafe_code)]

mod in_kernel;
mod loaded;
mod pages;
mod ring;
mod spawn;
mod taps;
mod tcp;
mod tcp_options;

pub use in_kernel::{
    Done, EndCount, InKernel, Next, Plan, PlannedDatagram, PlannedTransfer, SourceOfTransfers,
    TransferTokens, Turn,
};
pub use loaded::LoadedProgram;
pub use pages::PagesAtOnce;
pub use ring::{Frame, Ring};
pub use spawn::run_to_end;
pub use taps::split_record;
pub use tcp::TCP_INFO_BYTES;
pub use tcp_options::SocketOption;

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the call has just made this descriptor, and nothing else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// A descriptor left open by the parent process; closed on exec.
pub fn inherited(fd: RawFd) -> io::Result<File> {
    // SAFETY: no memory is involved; what is no open descriptor is refused.
    checked(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, and nothing else here knows of it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Mounts a file system.
pub fn mount(source: &str, target: &str, kind: &str, bind: bool) -> io::Result<()> {
    let (source, target, kind) = (c_string(source)?, c_string(target)?, c_string(kind)?);
    let flags = if bind { libc::MS_BIND } else { 0 };
    let data = std::ptr::null();
    // SAFETY: the three pointers are to strings that live until the call returns; no data.
    let result =
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) };
    checked(result).map(|_| ())
}

/// Loads a module of the kernel with parameters (finit_module(2)).
pub fn load_module(module: &File, parameters: &CStr) -> io::Result<()> {
    let flags: libc::c_int = 0;
    // SAFETY: the parameters are a text that lives until the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_finit_module,
            module.as_raw_fd(),
            parameters.as_ptr(),
            flags,
        )
    };
    checked(result as libc::c_int).map(drop)
}

/// Raises the limit of open files: a TCP flow needs three.
pub fn open_files(most: u64) -> io::Result<()> {
    let limit = libc::rlimit {
        rlim_cur: most,
        rlim_max: most,
    };
    // SAFETY: the pointer is to a value that lives until the call has returned.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
}

/// Enters a new network namespace.
pub fn new_network() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(|_| ())
}

/// Enters a network namespace.
pub fn enter_network(namespace: &File) -> io::Result<()> {
    // SAFETY: no memory is involved; the descriptor is open.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(|_| ())
}

/// Child processes are created in a new PID namespace from now on.
pub fn new_processes() -> io::Result<()> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::unshare(libc::CLONE_NEWPID) }).map(|_| ())
}

/// Child processes are created in this PID namespace from now on.
pub fn enter_processes(namespace: &File) -> io::Result<()> {
    // SAFETY: no memory is involved; the descriptor is open.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWPID) }).map(|_| ())
}

/// This process, its program and its children yield to every woken process from now on (`SCHED_IDLE`,
/// sched(7)).
pub fn give_way() -> io::Result<()> {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads the structure, which lives as long as the call.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) }).map(|_| ())
}

/// This process, but not its children, has priority over all others when woken (`SCHED_FIFO` with
/// `SCHED_RESET_ON_FORK`, sched(7)).
pub fn go_first() -> io::Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads the structure, which lives as long as the call.
    checked(unsafe { libc::sched_setscheduler(0, policy, &raw const lowest) }).map(|_| ())
}

/// The first version of `struct sched_attr` of sched_setattr(2).
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Threads with shorter time slices preempt this process, its program and its children when woken.
///
/// From Linux 6.12 on `sched_runtime` of an ordinary process is its time slice; a woken thread with a shorter
/// slice preempts it (`do_preempt_short` in kernel/sched/fair.c). 6.1 ignores the value: there every woken
/// thread preempts.
pub fn take_long_turns() -> io::Result<()> {
    let wanted = SchedulingAttributes {
        size: u32::try_from(size_of::<SchedulingAttributes>()).expect("48"),
        policy: libc::SCHED_OTHER as u32,
        runtime_ns: 100_000_000,
        ..Default::default()
    };
    // SAFETY: the kernel reads the structure, which lives as long as the call and says how long it is.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Enters new mount and UTS namespaces.
pub fn new_mounts_and_name() -> io::Result<()> {
    // SAFETY: no memory is involved, and no thread shares a file system's place with this one.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUTS) }).map(|_| ())
}

/// Ended children are reaped by the kernel.
pub fn ignore_children() -> io::Result<()> {
    // SAFETY: no handler is installed.
    if unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Closes standard output, so that its reader sees the end.
pub fn close_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(())
}

/// Opens a new terminal through this `ptmx`. Returns our side, and its number as a path.
pub fn new_terminal(ptmx: &str) -> io::Result<(File, String)> {
    let flags = libc::O_NOCTTY | libc::O_NONBLOCK;
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(ptmx)?;
    rustix::pty::unlockpt(&file)?;
    let mut number: libc::c_int = 0;
    // SAFETY: the call writes one number to where the pointer leads.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TIOCGPTN, &raw mut number) })?;
    Ok((file, format!("/dev/pts/{number}")))
}

/// Brings up the loopback device of this network.
pub fn loopback_up() -> io::Result<()> {
    let socket = Socket::udp()?;
    // SAFETY: an all-zero ifreq is valid; the name is shorter than its place, and the calls read and
    // write no more than the structure.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        let fd = socket.as_raw_fd();
        checked(libc::ioctl(fd, libc::SIOCGIFFLAGS, &raw mut request))?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        checked(libc::ioctl(fd, libc::SIOCSIFFLAGS, &raw const request)).map(drop)
    }
}

/// Kills all other processes and reaps those that are children. For process 1 only.
pub fn kill_all_others() {
    if std::process::id() != 1 {
        return;
    }
    // SAFETY: no memory is involved. That nobody is left to be killed is no failure.
    unsafe {
        libc::kill(-1, libc::SIGKILL);
        while libc::waitpid(-1, std::ptr::null_mut(), 0) > 0 {}
    }
}

/// A path that refers to an open file, wherever it is.
pub fn path_of(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Offset of the wall clock from the monotonic clock. Readings take equal time, so it is taken between two
/// others.
pub fn wall_ahead_ns() -> u64 {
    let before = monotonic_ns();
    let wall = clock_ns(libc::CLOCK_REALTIME);
    let after = monotonic_ns();
    wall - (before + (after - before) / 2)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    // SAFETY: an all-zero timespec is valid, and the call writes no more than it.
    let now = unsafe {
        let mut now: libc::timespec = zeroed();
        libc::clock_gettime(clock, &mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Release and version of the kernel.
pub fn kernel_release() -> (String, String) {
    let read = |name| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    let text = |name| read(name).unwrap_or_default().trim().to_owned();
    (text("osrelease"), text("version"))
}

/// A timer that makes its descriptor readable at an instant.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A timer that is not set.
    pub fn new() -> io::Result<Timer> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: no memory is involved.
        owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }).map(Timer)
    }

    /// Sets it to an instant of the monotonic clock; clears its count.
    pub fn set(&self, at_ns: u64) -> io::Result<()> {
        // An instant of zero would switch it off.
        let at_ns = at_ns.max(1);
        let fd = self.0.as_raw_fd();
        // SAFETY: an all-zero itimerspec is valid; the call reads it and writes nothing.
        let result = unsafe {
            let mut when: libc::itimerspec = zeroed();
            when.it_value.tv_sec = (at_ns / 1_000_000_000) as libc::time_t;
            when.it_value.tv_nsec = (at_ns % 1_000_000_000) as libc::c_long;
            libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &when, std::ptr::null_mut())
        };
        checked(result).map(|_| ())
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Most descriptors that a wait returns; as many as may be ready at one instant, all of which the module
/// serves together.
const MOST_READY: usize = 1 << 12;

/// Waits for many descriptors.
#[derive(Debug)]
pub struct Poll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    /// One that waits for nothing yet.
    pub fn new() -> io::Result<Poll> {
        // SAFETY: no memory is involved.
        let fd = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let events = vec![libc::epoll_event { events: 0, u64: 0 }; MOST_READY];
        Ok(Poll { fd, events })
    }

    /// Adds a descriptor, waiting for it to be readable, with this token.
    pub fn add(&self, fd: &impl AsRawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, token)
    }

    /// Adds a descriptor, waiting for it to be writable.
    pub fn add_writer(&self, fd: &impl AsRawFd, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, libc::EPOLLOUT, token)
    }

    /// Turns waiting for writability on or off.
    pub fn set_writer(&self, fd: &impl AsRawFd, token: u64, wanted: bool) -> io::Result<()> {
        let events = if wanted { libc::EPOLLOUT } else { 0 };
        self.control(libc::EPOLL_CTL_MOD, fd, events, token)
    }

    /// Removes a descriptor.
    pub fn remove(&self, fd: &impl AsRawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn control(&self, what: i32, fd: &impl AsRawFd, events: i32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: token,
        };
        let (poll, fd) = (self.fd.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: the event lives until the call returns.
        checked(unsafe { libc::epoll_ctl(poll, what, fd, &mut event) }).map(|_| ())
    }

    /// Waits without limit, and returns the tokens of ready descriptors.
    pub fn wait(&mut self) -> io::Result<impl Iterator<Item = u64> + '_> {
        let room = self.events.len() as libc::c_int;
        let count = loop {
            let fd = self.fd.as_raw_fd();
            // SAFETY: the kernel writes at most `room` events, and the vector has as many.
            let result = unsafe { libc::epoll_wait(fd, self.events.as_mut_ptr(), room, -1) };
            match checked(result) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other? as usize,
            }
        };
        Ok(self.events[..count].iter().map(|event| event.u64))
    }
}

impl AsRawFd for Poll {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Waits for a descriptor to be readable, at most this long.
pub fn wait_readable(fd: &impl AsRawFd, most: std::time::Duration) -> io::Result<()> {
    let mut wanted = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // Rounded up: less than a millisecond is no wait at all.
    let most_ms = most.as_nanos().div_ceil(1_000_000);
    let most_ms = libc::c_int::try_from(most_ms).unwrap_or(libc::c_int::MAX);
    // SAFETY: the one structure lives until the call returns.
    match checked(unsafe { libc::poll(&raw mut wanted, 1, most_ms) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        other => other.map(drop),
    }
}

fn address(to: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: an all-zero sockaddr_in is valid.
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = to.port().to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
    address
}

/// A socket of the namespace it was made in.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    fn new(family: i32, kind: i32, protocol: i32) -> io::Result<Socket> {
        let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is involved.
        owned(unsafe { libc::socket(family, kind, protocol) }).map(Socket)
    }

    /// UDP, without path MTU discovery: large datagrams are fragmented.
    pub fn udp() -> io::Result<Socket> {
        let socket = Socket::new(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        socket.option(
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DONT,
        )?;
        socket.large_buffers()?;
        Ok(socket)
    }

    /// Raw ICMP that sees echo requests and replies only.
    pub fn icmp() -> io::Result<Socket> {
        const ICMP_FILTER: i32 = 1;
        let socket = Socket::new(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)?;
        // A set bit refuses a type; 0 is the reply, 8 the request.
        let refused = !(1u32 | 1 << 8);
        socket.option(libc::SOL_RAW, ICMP_FILTER, refused as i32)?;
        socket.large_buffers()?;
        Ok(socket)
    }

    /// Route netlink.
    pub fn netlink() -> io::Result<Socket> {
        Socket::new(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)
    }

    /// Sets an option that is a number.
    pub fn option(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        self.set(&SocketOption::number(level, name, value))
    }

    /// An option that is a number.
    pub fn number(&self, level: i32, name: i32) -> io::Result<i32> {
        let mut value = 0_i32;
        let mut size = size_of::<i32>() as libc::socklen_t;
        let fd = self.0.as_raw_fd();
        let place = (&raw mut value).cast();
        // SAFETY: the pointers are to a number and to its size, which outlive the call.
        let result = unsafe { libc::getsockopt(fd, level, name, place, &raw mut size) };
        checked(result).map(|_| value)
    }

    /// Large socket buffers, which must not act as a second queue beside those under test.
    fn large_buffers(&self) -> io::Result<()> {
        const MOST: i32 = 1 << 30;
        self.option(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, MOST)?;
        self.option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, MOST)
    }

    /// Sets the TOS byte of outgoing packets.
    pub fn traffic_class(&self, byte: u8) -> io::Result<()> {
        self.set(&SocketOption::traffic_class(byte))
    }

    /// Takes a port, on any address.
    pub fn bind(&self, port: u16) -> io::Result<()> {
        let to = address(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port));
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the given size that outlives the call.
        checked(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const to).cast(), size) }).map(|_| ())
    }

    /// Sends to an address.
    pub fn send_to(&self, bytes: &[u8], to: SocketAddrV4) -> io::Result<()> {
        let to = address(to);
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let fd = self.0.as_raw_fd();
        // SAFETY: both pointers are to memory of the given sizes that outlives the call.
        let sent = unsafe {
            libc::sendto(
                fd,
                bytes.as_ptr().cast(),
                bytes.len(),
                0,
                (&raw const to).cast(),
                size,
            )
        };
        checked_size(sent).map(|_| ())
    }

    /// Sends to the connected peer.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: the pointer is to this number of bytes that outlive the call.
        checked_size(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) }).map(|_| ())
    }

    /// Receives the start of a message; returns the length of the message; None if there is none.
    pub fn receive(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        let fd = self.0.as_raw_fd();
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        // SAFETY: the kernel writes at most as many bytes as the slice has.
        let got = unsafe { libc::recv(fd, into.as_mut_ptr().cast(), into.len(), flags) };
        match checked_size(got) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Socket {
    /// Receives a whole message with its sender's address; None if there is none.
    pub fn receive_from(&self, into: &mut [u8]) -> io::Result<Option<(usize, SocketAddrV4)>> {
        // SAFETY: an all-zero sockaddr_in is valid.
        let mut from: libc::sockaddr_in = unsafe { zeroed() };
        let mut size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let fd = self.0.as_raw_fd();
        let flags = libc::MSG_DONTWAIT;
        // SAFETY: the kernel writes at most as many bytes as the slice and the address have.
        let got = unsafe {
            libc::recvfrom(
                fd,
                into.as_mut_ptr().cast(),
                into.len(),
                flags,
                (&raw mut from).cast(),
                &raw mut size,
            )
        };
        match checked_size(got) {
            Ok(length) => {
                let ip = Ipv4Addr::from(from.sin_addr.s_addr.to_ne_bytes());
                Ok(Some((
                    length,
                    SocketAddrV4::new(ip, u16::from_be(from.sin_port)),
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn checked_size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Index of a device in this namespace.
pub fn device_index(name: &str) -> io::Result<u32> {
    let name = c_string(name)?;
    // SAFETY: the pointer is to a string that outlives the call.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(index)
}

/// Turns an offload of a device on or off (`ETHTOOL_S...`); an error if it is not supported.
pub fn set_offload(socket: &Socket, device: &str, command: u32, is_on: bool) -> io::Result<()> {
    #[repr(C)]
    struct EthtoolValue {
        command: u32,
        data: u32,
    }
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    let mut value = EthtoolValue {
        command,
        data: u32::from(is_on),
    };
    // SAFETY: an all-zero ifreq is valid.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (slot, byte) in request.ifr_name[..libc::IFNAMSIZ - 1]
        .iter_mut()
        .zip(device.bytes())
    {
        *slot = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request names a value of the form the command expects; both outlive the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })
        .map(|_| ())
}
