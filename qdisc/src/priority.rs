//! The priority that Linux derives from the type of service.
//!
//! A host sets it from the TOS byte of the socket option `IP_TOS`, a router for every packet it forwards
//! (`ip_forward`), with the table `ip_tos2prio` (`net/ipv4/route.c`). Its 16 entries, indexed by bits 1 to 4
//! of the byte, form four groups of four equal ones.

/// Best effort, bulk (TOS 0x08), interactive (0x10), interactive bulk (both), as
/// `include/uapi/linux/pkt_sched.h` numbers them.
const PRIORITIES: [u8; 4] = [0, 2, 6, 4];

/// The priority, 0 to 15, of a packet with this TOS byte (DSCP and ECN).
#[inline]
pub fn of_tos(tos: u8) -> u8 {
    PRIORITIES[usize::from(tos >> 3 & 0b11)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_rfc_1349_and_later_code_points() {
        // RFC 1349's values, as tc-prio(8) lists them.
        for (tos, priority) in [
            (0x00, 0),
            (0x02, 0),
            (0x08, 2),
            (0x0e, 2),
            (0x10, 6),
            (0x18, 4),
        ] {
            assert_eq!(of_tos(tos), priority, "{tos:#x}");
        }
        // DSCP EF (46), CS1 (8), AF41 (34); ECN does not matter.
        for (dscp, priority) in [(46, 4), (8, 0), (34, 2)] {
            assert_eq!(of_tos(dscp << 2), priority);
            assert_eq!(of_tos(dscp << 2 | 0b01), priority);
        }
    }
}
