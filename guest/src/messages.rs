//! Datagrams and echo requests: content, and identification on arrival.

use dumbbell_core::time::Time;
use dumbbell_spec::SizeAt;

/// Ethernet, IP and UDP headers: the difference between the size on the wire and the payload.
pub const HEADERS_ON_WIRE: u32 = 42;
/// A datagram.
#[derive(Debug, Clone, Copy)]
pub struct Datagram {
    /// Size as drawn, bytes.
    pub size: u32,
    /// Planned send time.
    pub created: Time,
    /// Receive time; `NEVER` if not received.
    pub delivered: Time,
}

/// Payload for a size: a size on the wire is at least its headers.
pub fn payload_bytes(size: u32, size_at: SizeAt) -> usize {
    let payload = match size_at {
        SizeAt::Payload => size,
        SizeAt::Wire => size.saturating_sub(HEADERS_ON_WIRE),
    };
    payload as usize
}

/// Index of the datagram that arrived. Its length, and its number as far as the payload holds it, must match.
/// It follows the last one seen, unless a delay has become shorter.
pub fn find(
    datagrams: &[Datagram],
    seen: usize,
    length: usize,
    head: &[u8; 4],
    size_at: SizeAt,
) -> Option<usize> {
    let known = length.min(4);
    let matches = |(number, datagram): &(usize, &Datagram)| {
        payload_bytes(datagram.size, size_at) == length
            && (*number as u32).to_le_bytes()[..known] == head[..known]
    };
    let all = || datagrams.iter().enumerate();
    let late = |sent: &(usize, &Datagram)| sent.1.delivered == Time::NEVER && matches(sent);
    let found = all().skip(seen).find(matches);
    let found = found.or_else(|| all().take(seen).rev().find(late));
    found.map(|(number, _)| number)
}

/// Header of an echo request whose payload is zeros, with its checksum (RFC 792; RFC 1071).
pub fn echo_request(identifier: u16, sequence: u16) -> [u8; 8] {
    let mut header = [0u8; 8];
    header[0] = 8;
    header[4..6].copy_from_slice(&identifier.to_be_bytes());
    header[6..8].copy_from_slice(&sequence.to_be_bytes());
    let mut sum = 0x0800 + u32::from(identifier) + u32::from(sequence);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    header[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_request_makes_its_sum_ones() {
        let words = echo_request(0x1234, 0xfffe);
        let words = words
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn a_datagram_is_found_after_lost_ones_even_without_room_for_its_number() {
        let sent = |size| Datagram {
            size,
            created: Time::ZERO,
            delivered: Time::NEVER,
        };
        let datagrams = [sent(100), sent(2), sent(0), sent(2), sent(100)];
        let find = |seen, length, head| find(&datagrams, seen, length, &head, SizeAt::Payload);
        assert_eq!(find(0, 100, [4, 0, 0, 0]), Some(4));
        assert_eq!(find(0, 2, [3, 0, 9, 9]), Some(3));
        assert_eq!(find(0, 0, [9; 4]), Some(2));
        assert_eq!(find(0, 100, [1, 0, 0, 0]), None);
        assert_eq!(find(4, 2, [1, 0, 9, 9]), Some(1));
    }
}
