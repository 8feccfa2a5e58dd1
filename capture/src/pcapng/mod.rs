//! pcapng (draft-ietf-opsawg-pcapng): blocks of several types, with the length at both ends of
//! each.

pub(crate) mod reader;
pub(crate) mod writer;

/// Section Header Block (section 4.1); its type is the same in both byte orders.
pub(crate) const BLOCK_SECTION: u32 = 0x0a0d_0d0a;
/// Interface Description Block (section 4.2).
const BLOCK_INTERFACE: u32 = 1;
/// Packet Block, obsolete (appendix A).
const BLOCK_OLD_PACKET: u32 = 2;
/// Simple Packet Block (section 4.4).
const BLOCK_SIMPLE_PACKET: u32 = 3;
/// Interface Statistics Block (section 4.6).
const BLOCK_STATISTICS: u32 = 5;
/// Enhanced Packet Block (section 4.3).
const BLOCK_PACKET: u32 = 6;

/// Byte-order magic of a section.
const SECTION_MAGIC: u32 = 0x1a2b_3c4d;
const VERSION_MAJOR: u16 = 1;
/// Section length that means "not specified".
const UNKNOWN_LENGTH: u64 = u64::MAX;

const OPTION_END: u16 = 0;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;
const OPTION_RECEIVED: u16 = 4;
const OPTION_DROPPED: u16 = 5;

/// Block type and length at the beginning, and the length again at the end.
const FRAME_BYTES: u32 = 12;
