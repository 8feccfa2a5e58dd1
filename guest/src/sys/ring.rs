//! A packet socket that writes what passes a device into shared memory (packet(7); the kernel's
//! documentation of packet_mmap; linux/if_packet.h): no process is woken for it.

use super::pages::put_into_host_tables;
use super::{Socket, checked};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

const ETH_P_ALL: u16 = 3;
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const TPACKET_V2: i32 = 1;
const STATUS_USER: u32 = 1;
/// `TP_STATUS_CSUMNOTREADY`.
const STATUS_CHECKSUM_PARTIAL: u32 = 1 << 3;
const PACKET_OUTGOING: u8 = 4;
/// Room for the header of the frame, Ethernet, and 126 bytes or more behind it.
const FRAME_BYTES: usize = 256;
const BLOCK_BYTES: usize = 1 << 16;
const BLOCKS: usize = 32;
const FRAMES: usize = BLOCKS * BLOCK_BYTES / FRAME_BYTES;
/// `struct tpacket2_hdr`, and `sll_pkttype` of the address behind it.
const LENGTH_AT: usize = 4;
const CAPTURED_AT: usize = 8;
const MAC_AT: usize = 12;
const SECONDS_AT: usize = 16;
const PACKET_TYPE_AT: usize = 32 + 10;

/// A packet that left a device.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Of the wall clock.
    pub at_ns: u64,
    /// With its Ethernet header.
    pub bytes: u32,
    /// The beginning of it, from the Ethernet header on.
    pub head: &'a [u8],
    /// Whether its transport checksum is left to the network card.
    pub has_partial_checksum: bool,
}

/// What leaves a device, from now on.
#[derive(Debug)]
pub struct Ring {
    socket: Socket,
    memory: NonNull<u8>,
    next: usize,
}

impl Ring {
    /// For a device of the network this process is in.
    pub fn new(device: u32) -> io::Result<Ring> {
        let protocol = i32::from(ETH_P_ALL.to_be());
        let socket = Socket::new(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
        socket.option(libc::SOL_PACKET, PACKET_VERSION, TPACKET_V2)?;
        let request = [
            BLOCK_BYTES as u32,
            BLOCKS as u32,
            FRAME_BYTES as u32,
            FRAMES as u32,
        ];
        let fd = socket.as_raw_fd();
        let size = size_of::<[u32; 4]>() as libc::socklen_t;
        let pointer = (&raw const request).cast();
        // SAFETY: the pointer is to a `struct tpacket_req`, which outlives the call.
        checked(unsafe { libc::setsockopt(fd, libc::SOL_PACKET, PACKET_RX_RING, pointer, size) })?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let length = BLOCKS * BLOCK_BYTES;
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping of the ring's length, which nothing else knows of.
        let memory = unsafe { libc::mmap(anywhere, length, protection, libc::MAP_SHARED, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping is new. Each page touched for the first time would cost a fault otherwise.
        unsafe { put_into_host_tables(memory, length) };
        let memory = NonNull::new(memory.cast()).ok_or_else(io::Error::last_os_error)?;
        let ring = Ring {
            socket,
            memory,
            next: 0,
        };
        // SAFETY: an all-zero sockaddr_ll is valid.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol as u16;
        address.sll_ifindex = device as i32;
        let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the given size that outlives the call.
        checked(unsafe { libc::bind(fd, (&raw const address).cast(), size) })?;
        Ok(ring)
    }

    /// Hands over what has left the device since the last time.
    pub fn drain(&mut self, mut take: impl FnMut(Frame<'_>)) {
        loop {
            let at = self.next * FRAME_BYTES;
            // SAFETY: the mapping has `FRAMES` frames of this size and `next` is below that; the
            // first word of a frame says whose it is, and is aligned as the frame is.
            let (status, frame) = unsafe {
                let start = self.memory.as_ptr().add(at);
                let status = &*start.cast::<AtomicU32>();
                if status.load(Ordering::Acquire) & STATUS_USER == 0 {
                    return;
                }
                // The kernel leaves it alone until the status is cleared.
                (status, std::slice::from_raw_parts(start, FRAME_BYTES))
            };
            let u32_at =
                |at: usize| u32::from_ne_bytes(frame[at..at + 4].try_into().expect("four bytes"));
            let mac = usize::from(u16::from_ne_bytes([frame[MAC_AT], frame[MAC_AT + 1]]));
            let end = (mac + u32_at(CAPTURED_AT) as usize).min(FRAME_BYTES);
            if frame[PACKET_TYPE_AT] == PACKET_OUTGOING && mac <= end {
                let seconds = u64::from(u32_at(SECONDS_AT));
                take(Frame {
                    at_ns: seconds * 1_000_000_000 + u64::from(u32_at(SECONDS_AT + 4)),
                    bytes: u32_at(LENGTH_AT),
                    head: &frame[mac..end],
                    has_partial_checksum: u32_at(0) & STATUS_CHECKSUM_PARTIAL != 0,
                });
            }
            status.store(0, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Packets that found no room since the last time this was asked.
    pub fn missed(&self) -> io::Result<u32> {
        let mut counted = [0u32; 2];
        let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
        let fd = self.socket.as_raw_fd();
        // SAFETY: the kernel writes at most `length` bytes, and the array has as many.
        checked(unsafe {
            libc::getsockopt(
                fd,
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                counted.as_mut_ptr().cast(),
                &raw mut length,
            )
        })?;
        Ok(counted[1])
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this ring's, and no frame of it outlives the ring.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), BLOCKS * BLOCK_BYTES) };
    }
}
