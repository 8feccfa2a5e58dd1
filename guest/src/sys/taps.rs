//! Records of packets that the module makes: `struct dumbbell_traffic_record`, `traffic/dumbbell_traffic.h`.

use super::in_kernel::{Fetch, InKernel, request, request_number};
use super::ring::Frame;
use std::io;
use std::mem::size_of;

/// Room for what the module has when it wakes this process for its records, and for some more.
const ROOM_BYTES: usize = 1 << 20;
const RECORD_BYTES: usize = 16;

/// `struct dumbbell_traffic_tap`.
#[repr(C)]
struct Tap {
    before: u32,
    device: u32,
    copies: u32,
    head_bytes: u32,
}

/// `struct dumbbell_traffic_missed`.
#[repr(C)]
struct Missed {
    point: u32,
    packets: u32,
}

impl InKernel {
    /// From now on it records what comes to the queue of a device of the network this process is in, of which
    /// a filter makes copies for another device, and what leaves it: points `before` and the next one. It
    /// records the headers that tell packets apart, or so many bytes if that is not 0.
    pub fn add_tap(
        &self,
        before: u32,
        (copies, device): (u32, u32),
        head_bytes: u32,
    ) -> io::Result<()> {
        let mut tap = Tap {
            before,
            device,
            copies,
            head_bytes,
        };
        self.control(request_number::<Tap>(30), &mut tap)
    }

    /// Moves the oldest records into this room, which it makes larger if it is too small. Returns them; none
    /// if there are none.
    pub fn records<'a>(&self, room: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if room.len() < ROOM_BYTES {
            *room = vec![0; ROOM_BYTES];
        }
        let mut fetch = Fetch {
            address: room.as_mut_ptr() as u64,
            bytes: room.len() as u64,
        };
        self.control(request(true, 31, size_of::<Fetch>()), &mut fetch)?;
        Ok(&room[..fetch.bytes as usize])
    }

    /// Packets of a point that found no memory.
    pub fn missed(&self, point: u32) -> io::Result<u32> {
        let mut missed = Missed { point, packets: 0 };
        self.control(request(true, 32, size_of::<Missed>()), &mut missed)?;
        Ok(missed.packets)
    }
}

/// The first of these records, with the number of its point, and the others; None if it breaks off.
pub fn split_record(records: &[u8]) -> Option<((usize, Frame<'_>), &[u8])> {
    let (record, rest) = records.split_first_chunk::<RECORD_BYTES>()?;
    let &[a, b, c, d, e, f, g, h, ref after @ ..] = record;
    let &[i, j, k, l, m, n, is_partial, head_bytes] = after;
    let head_bytes = usize::from(head_bytes);
    let frame = Frame {
        at_ns: u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        bytes: u32::from_ne_bytes([i, j, k, l]),
        head: rest.get(..head_bytes)?,
        has_partial_checksum: is_partial > 0,
    };
    let point = usize::from(u16::from_ne_bytes([m, n]));
    let others = rest.get(head_bytes.next_multiple_of(8)..)?;
    Some(((point, frame), others))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at_ns: u64, bytes: u32, point: u16, is_partial: bool, head: &[u8]) -> Vec<u8> {
        let mut record = at_ns.to_ne_bytes().to_vec();
        record.extend(bytes.to_ne_bytes());
        record.extend(point.to_ne_bytes());
        record.extend([u8::from(is_partial), head.len() as u8]);
        record.extend(head);
        record.resize(record.len().next_multiple_of(8), 0);
        record
    }

    #[test]
    fn records_are_read_one_after_the_other() {
        let both = [
            record(1_700_000_000_123_456_789, 1514, 3, true, &[7; 48]),
            record(5, 60, 0, false, &[1, 2, 3]),
        ];
        let both = both.concat();
        let ((point, first), rest) = split_record(&both).unwrap();
        assert_eq!(
            (point, first.at_ns, first.bytes),
            (3, 1_700_000_000_123_456_789, 1514)
        );
        assert_eq!(
            (first.has_partial_checksum, first.head),
            (true, &[7; 48][..])
        );
        let ((point, second), rest) = split_record(rest).unwrap();
        assert_eq!((point, second.at_ns, second.bytes), (0, 5, 60));
        assert_eq!(
            (second.has_partial_checksum, second.head),
            (false, &[1, 2, 3][..])
        );
        assert!(rest.is_empty());
    }

    #[test]
    fn a_record_that_breaks_off_is_none() {
        let whole = record(5, 60, 0, false, &[1, 2, 3]);
        for length in [0, 12, RECORD_BYTES + 2, whole.len() - 1] {
            assert!(split_record(&whole[..length]).is_none(), "{length}");
        }
    }
}
