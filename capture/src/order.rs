//! Byte order: a capture uses that of the machine that wrote it.

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    pub(crate) fn put_u16(self, out: &mut Vec<u8>, value: u16) {
        out.extend(match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
    }

    pub(crate) fn put_u32(self, out: &mut Vec<u8>, value: u32) {
        out.extend(match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
    }

    pub(crate) fn put_u64(self, out: &mut Vec<u8>, value: u64) {
        out.extend(match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        });
    }

    /// The 16 bits at an offset; None beyond the end.
    pub(crate) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u16::from_le_bytes(two),
            ByteOrder::Big => u16::from_be_bytes(two),
        })
    }

    /// The 32 bits at an offset; None beyond the end.
    pub(crate) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u32::from_le_bytes(four),
            ByteOrder::Big => u32::from_be_bytes(four),
        })
    }

    /// The 64 bits at an offset; None beyond the end.
    pub(crate) fn u64_at(self, bytes: &[u8], at: usize) -> Option<u64> {
        let eight = bytes.get(at..at + 8)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u64::from_le_bytes(eight),
            ByteOrder::Big => u64::from_be_bytes(eight),
        })
    }
}
