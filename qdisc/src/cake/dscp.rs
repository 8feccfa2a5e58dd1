//! Tins: the tin of each DSCP, and the share of the bandwidth of each tin (tc-cake(8), "Priority queue
//! parameters").

use dumbbell_tc::qdisc::cake::Tins;

/// How many DSCPs there are.
const DSCPS: usize = 64;
/// The tin of each DSCP.
pub type OfDscp = [u8; DSCPS];

/// Code points by name: class selectors (RFC 2474), assured and expedited forwarding (RFC 2597, RFC 3246),
/// voice admit (RFC 5865), lower effort (RFC 8622); TOS 1, 2 and 4 of RFC 1349 as DSCPs.
const LE: usize = 1;
const CS1: usize = 8;
const VA: usize = 44;
const EF: usize = 46;
const CS5: usize = 40;
const CS6: usize = 48;
const CS7: usize = 56;
const TOS2: usize = 2;
const TOS4: usize = 4;
const CS2: usize = 16;
const CS3: usize = 24;
const CS4: usize = 32;

const fn with(mut tins: OfDscp, dscps: &[usize], tin: u8) -> OfDscp {
    let mut index = 0;
    while index < dscps.len() {
        tins[dscps[index]] = tin;
        index += 1;
    }
    tins
}

/// Assigns the three code points of an assured forwarding class, 1 to 4.
const fn with_assured(tins: OfDscp, class: usize, tin: u8) -> OfDscp {
    let first = 8 * class + 2;
    with(tins, &[first, first + 2, first + 4], tin)
}

const ONE: OfDscp = [0; DSCPS];

const THREE: OfDscp = with(with(ONE, &[LE, CS1], 1), &[TOS4, VA, EF, CS6, CS7], 2);

const FOUR: OfDscp = {
    let tins = with(ONE, &[LE, CS1], 1);
    let tins = with(tins, &[TOS4, CS2, CS3], 2);
    let tins = with_assured(with_assured(tins, 2, 2), 3, 2);
    let tins = with_assured(tins, 4, 2);
    with(tins, &[CS4, CS5, VA, EF, CS6, CS7], 3)
};

const EIGHT: OfDscp = {
    let tins = with([2; DSCPS], &[LE], 0);
    let tins = with_assured(with(tins, &[CS1, TOS2], 1), 1, 1);
    let tins = with_assured(with(tins, &[CS3], 3), 3, 3);
    let tins = with_assured(tins, 4, 3);
    let tins = with_assured(with(tins, &[TOS4], 4), 2, 4);
    let tins = with(tins, &[CS2], 5);
    let tins = with(tins, &[CS4, CS5, VA, EF], 6);
    with(tins, &[CS6, CS7], 7)
};

const PRECEDENCE: OfDscp = {
    let mut tins = ONE;
    let mut dscp = 0;
    while dscp < DSCPS {
        tins[dscp] = (dscp / 8) as u8;
        dscp += 1;
    }
    tins
};

/// The tin of each DSCP.
pub fn of_dscp(tins: Tins) -> &'static OfDscp {
    match tins {
        Tins::Besteffort => &ONE,
        Tins::Diffserv3 => &THREE,
        Tins::Diffserv4 => &FOUR,
        Tins::Diffserv8 => &EIGHT,
        Tins::Precedence => &PRECEDENCE,
    }
}

/// Indices of the tins from the lowest priority to the highest, as tc prints them.
pub fn in_order(tins: Tins) -> &'static [usize] {
    match tins {
        Tins::Besteffort => &[0],
        Tins::Diffserv3 => &[1, 0, 2],
        Tins::Diffserv4 => &[1, 0, 2, 3],
        Tins::Diffserv8 | Tins::Precedence => &[0, 1, 2, 3, 4, 5, 6, 7],
    }
}

/// The share of a tin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Above this rate, the tin is served after the others.
    pub bytes_per_s: u64,
    /// Quantum of the tin without a shaper.
    pub quantum_bytes: i64,
}

/// The shares of the tins of a bandwidth.
pub fn shares(tins: Tins, bytes_per_s: u64) -> Vec<Share> {
    let halved = |halvings: &[u32]| -> Vec<Share> {
        let share = |by: &u32| Share {
            bytes_per_s: bytes_per_s >> by,
            quantum_bytes: 1024 >> by,
        };
        halvings.iter().map(share).collect()
    };
    match tins {
        Tins::Besteffort => vec![Share {
            bytes_per_s,
            quantum_bytes: 65_535,
        }],
        Tins::Diffserv3 => halved(&[0, 4, 2]),
        Tins::Diffserv4 => halved(&[0, 4, 1, 2]),
        // Each has seven eighths of the rate of the one before.
        Tins::Diffserv8 | Tins::Precedence => {
            let first = Share {
                bytes_per_s,
                quantum_bytes: 256,
            };
            let next = |share: &Share| {
                Some(Share {
                    bytes_per_s: share.bytes_per_s.saturating_mul(7) >> 3,
                    quantum_bytes: (share.quantum_bytes * 7) >> 3,
                })
            };
            std::iter::successors(Some(first), next).take(8).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tins(dscps: &[usize], tins: Tins) -> Vec<u8> {
        let of_dscp = of_dscp(tins);
        dscps.iter().map(|dscp| of_dscp[*dscp]).collect()
    }

    /// tc-cake(8) lists the code points of each tin.
    #[test]
    fn code_points_come_to_the_tins_of_the_manual() {
        let asked = [0, LE, CS1, 10, 18, 26, 34, CS3, CS4, CS5, VA, EF, CS6, CS7];
        assert_eq!(
            tins(&asked, Tins::Diffserv3),
            [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2]
        );
        assert_eq!(
            tins(&asked, Tins::Diffserv4),
            [0, 1, 1, 0, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]
        );
        assert_eq!(
            tins(&asked, Tins::Diffserv8),
            [2, 0, 1, 1, 4, 3, 3, 3, 6, 6, 6, 6, 7, 7]
        );
        assert_eq!(
            tins(&asked, Tins::Precedence),
            [0, 0, 1, 1, 2, 3, 4, 3, 4, 5, 5, 5, 6, 7]
        );
        assert_eq!(tins(&asked, Tins::Besteffort), [0; 14]);
    }

    #[test]
    fn tins_have_shares_of_the_bandwidth() {
        let rates = |tins| -> Vec<u64> {
            let shares = shares(tins, 1_600_000);
            shares.iter().map(|share| share.bytes_per_s).collect()
        };
        assert_eq!(rates(Tins::Diffserv3), [1_600_000, 100_000, 400_000]);
        assert_eq!(
            rates(Tins::Diffserv4),
            [1_600_000, 100_000, 800_000, 400_000]
        );
        assert_eq!(
            rates(Tins::Diffserv8)[..3],
            [1_600_000, 1_400_000, 1_225_000]
        );
    }
}
