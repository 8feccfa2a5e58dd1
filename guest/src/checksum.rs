//! Completes UDP and TCP checksums that Linux leaves to the network card: a packet socket sees only the sum
//! of the pseudo header. A capture must contain what a card would have sent.
//!
//! Sources: RFC 1071; RFC 768 and RFC 9293 section 3.1 on the pseudo header; the kernel's
//! documentation of checksum offloads on CHECKSUM_PARTIAL.

const ETHERNET_BYTES: usize = 14;
const UDP: u8 = libc::IPPROTO_UDP as u8;
const TCP: u8 = libc::IPPROTO_TCP as u8;

/// Completes the checksum at the start of a frame, which holds the sum of the pseudo header. The rest of the
/// frame must be zeros, as all payload here is.
pub fn finish(head: &mut [u8]) {
    let Some(first) = head.get(ETHERNET_BYTES) else {
        return;
    };
    let segment_at = ETHERNET_BYTES + usize::from(first & 0xf) * 4;
    let field = match head.get(ETHERNET_BYTES + 9) {
        Some(&UDP) => segment_at + 6,
        Some(&TCP) => segment_at + 16,
        _ => return,
    };
    if head.len() < field + 2 {
        return;
    }
    let sum = match !ones_complement_sum(&head[segment_at..]) {
        0 if head[ETHERNET_BYTES + 9] == UDP => 0xffff, // 0 says that there is none
        sum => sum,
    };
    head[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071 section 1; an odd byte is followed by a zero.
fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])));
    let mut sum: u32 = words.sum(); // of a few hundred bytes
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 10.10.1.1:49654 to 10.10.2.2:10000, 53 bytes of payload, as a packet socket saw it.
    fn frame(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET_BYTES];
        let length = 8 + payload.len() as u8;
        frame.extend([0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, protocol, 0, 0]);
        frame.extend([10, 10, 1, 1, 10, 10, 2, 2]);
        let pseudo = ones_complement_sum(&[10, 10, 1, 1, 10, 10, 2, 2, 0, protocol, 0, length]);
        frame.extend([0xc1, 0xf6, 0x27, 0x10, 0, length]);
        frame.extend(pseudo.to_be_bytes());
        frame.extend(payload);
        frame
    }

    /// What a receiver does: with the pseudo header, all sums to ones.
    fn is_right(frame: &[u8]) -> bool {
        let segment = &frame[ETHERNET_BYTES + 20..];
        let mut all = frame[ETHERNET_BYTES + 12..ETHERNET_BYTES + 20].to_vec();
        all.extend([0, frame[ETHERNET_BYTES + 9], 0, segment.len() as u8]);
        all.extend(segment);
        ones_complement_sum(&all) == 0xffff
    }

    #[test]
    fn a_datagram_sums_to_ones_whatever_its_length() {
        for length in 0..60 {
            let payload: Vec<u8> = (0..length).map(|byte: u8| byte.wrapping_mul(7)).collect();
            let mut frame = frame(UDP, &payload);
            assert!(!is_right(&frame));
            finish(&mut frame);
            assert!(is_right(&frame), "{length}");
        }
    }

    #[test]
    fn zeros_behind_what_was_kept_do_not_matter() {
        let mut whole = frame(UDP, &[[1, 2, 3, 4].as_slice(), &[0; 100]].concat());
        let mut kept = whole[..60].to_vec();
        finish(&mut whole);
        finish(&mut kept);
        assert!(is_right(&whole));
        assert_eq!(kept, whole[..60]);
    }

    #[test]
    fn a_datagram_never_says_that_it_has_no_checksum() {
        // A payload that makes the sum all ones, and its complement 0.
        let mut plain = frame(UDP, &[0, 0]);
        finish(&mut plain);
        let field = ETHERNET_BYTES + 26;
        let missing = [plain[field], plain[field + 1]];
        let mut chosen = frame(UDP, &missing);
        finish(&mut chosen);
        assert_eq!(chosen[field..field + 2], [0xff, 0xff]);
    }

    #[test]
    fn other_packets_and_short_ones_stay_as_they_are() {
        let whole = frame(UDP, &[]);
        for kept in 0..whole.len() {
            let mut head = whole[..kept].to_vec();
            finish(&mut head);
            assert_eq!(head, whole[..kept]);
        }
        let mut echo = frame(libc::IPPROTO_ICMP as u8, &[1, 2]);
        let before = echo.clone();
        finish(&mut echo);
        assert_eq!(echo, before);
    }
}
