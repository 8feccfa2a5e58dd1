//! What the header of a pure acknowledgement says to a queue that filters acknowledgements. Packets do not
//! carry headers; the network looks it up for a discipline that reads it.

/// Bytes [start, end).
pub type SackRange = (u64, u64);

/// A TCP segment without data, SYN, FIN or RST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of its connection in its conversation.
    pub connection: u32,
    /// The acknowledgement number.
    pub number: u64,
    /// Its SACK blocks (RFC 2018); empty ranges are unused.
    pub sacked: [SackRange; 4],
    /// The flags ECE and CWR (RFC 3168), and AE (RFC 9768), as one number.
    pub ecn_flags: u8,
    /// Whether it has a flag or an option whose meaning a filter from before RFC 9768 does not know: AE, or
    /// counters of bytes.
    pub has_unknown_flag: bool,
}

impl Acknowledgement {
    fn ranges(&self) -> impl Iterator<Item = SackRange> {
        self.sacked.into_iter().filter(|(start, end)| start < end)
    }

    /// Whether it says all that `older`, of the same connection, says, and acknowledges more bytes.
    pub fn says_more_than(&self, older: &Acknowledgement) -> bool {
        let has = |(start, end): SackRange| {
            end <= self.number || self.ranges().any(|own| own.0 <= start && end <= own.1)
        };
        if self.number < older.number || !older.ranges().all(has) {
            return false;
        }
        let beyond = |of: &Acknowledgement| -> u64 {
            let beyond = of
                .ranges()
                .map(|(start, end)| end - start.max(of.number).min(end));
            beyond.sum()
        };
        self.number > older.number || beyond(self) > beyond(older)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u64, ranges: &[SackRange]) -> Acknowledgement {
        let mut sacked = [(0, 0); 4];
        sacked[..ranges.len()].copy_from_slice(ranges);
        Acknowledgement {
            connection: 0,
            number,
            sacked,
            ecn_flags: 0,
            has_unknown_flag: false,
        }
    }

    #[test]
    fn more_is_a_higher_number_or_more_of_what_came_out_of_order() {
        for (newer, older, is_more) in [
            (ack(200, &[]), ack(100, &[]), true),
            (ack(100, &[]), ack(100, &[]), false), // a duplicate
            (ack(100, &[]), ack(200, &[]), false), // overtaken
            (ack(100, &[(300, 500)]), ack(100, &[(300, 400)]), true),
            (ack(100, &[(300, 400)]), ack(100, &[(300, 400)]), false),
            (
                ack(100, &[(300, 400), (500, 600)]),
                ack(100, &[(300, 400)]),
                true,
            ),
            (ack(100, &[(500, 700)]), ack(100, &[(300, 400)]), false), // forgets a block
            (ack(400, &[]), ack(100, &[(300, 400)]), true),            // filled
            (ack(200, &[]), ack(100, &[(300, 400)]), false),
            (ack(200, &[(300, 400)]), ack(100, &[(300, 400)]), true),
        ] {
            assert_eq!(newer.says_more_than(&older), is_more, "{newer:?} {older:?}");
        }
    }
}
