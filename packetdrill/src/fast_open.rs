//! TCP Fast Open (RFC 7413): cookies, the servers that accept them, and the client's cache.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 7413 section 4.1.1, which options are valid | `Cookie::of` |
//! | RFC 7413 section 4.1.2, a cookie authenticates the address of its client | `Keys::cookie` |
//! | RFC 7413 section 4.1.3, what a client caches: cookie and MSS | `CachedServer` |
//! | RFC 7413 section 4.2.2, what a server does with a SYN | `Server::judge` |
//! | Linux 6.1, ip-sysctl, `tcp_fastopen` | `Flags` |

use crate::language::script::{Cookie, TcpOption, TcpPacket};
use std::net::Ipv4Addr;

/// The shortest cookie, bytes (RFC 7413 section 4.1.1).
const SHORTEST_BYTES: usize = 4;
/// The longest cookie, bytes.
const LONGEST_BYTES: usize = 16;
/// Option space reserved in a SYN with data, whatever its options take (`MAX_TCP_OPTION_SPACE`),
/// bytes.
pub const OPTION_SPACE_BYTES: u32 = 40;

impl Cookie {
    /// The Fast Open option of a SYN or SYN-ACK. None also for an option of odd length, which is
    /// ignored (RFC 7413 section 4.1.1).
    pub fn of(packet: &TcpPacket) -> Option<&Cookie> {
        let options = packet.options.iter().flatten();
        let mut cookies = options.filter_map(|option| match option {
            TcpOption::FastOpen(cookie) => Some(cookie),
            _ => None,
        });
        cookies.find(|cookie| cookie.bytes.len().is_multiple_of(2))
    }

    /// Whether it is a cookie of a permitted length, rather than a cookie request.
    fn is_valid(&self) -> bool {
        (SHORTEST_BYTES..=LONGEST_BYTES).contains(&self.bytes.len())
    }
}

/// Bits of `net.ipv4.tcp_fastopen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// Default of Linux: enabled for clients.
    pub const FRESH: Flags = Flags(Flags::CLIENT);
    /// The value that `defaults.sh` sets.
    pub const DEFAULTS: Flags = Flags(0x70403);
    const CLIENT: u32 = 0x1;
    const SERVER: u32 = 0x2;
    const CLIENT_WITHOUT_COOKIE: u32 = 0x4;
    const SERVER_WITHOUT_COOKIE: u32 = 0x200;
    const EVERY_LISTENER: u32 = 0x400;

    /// Whether a client may send data with its SYN.
    pub fn allow_client(self) -> bool {
        self.0 & Flags::CLIENT != 0
    }

    /// Whether a client may send data without a cookie.
    pub fn client_needs_no_cookie(self) -> bool {
        self.0 & Flags::CLIENT_WITHOUT_COOKIE != 0
    }

    /// Whether every listening socket accepts Fast Open without `TCP_FASTOPEN`.
    pub fn open_every_listener(self) -> bool {
        let both = Flags::EVERY_LISTENER | Flags::SERVER;
        self.0 & both == both
    }
}

/// The key of a server's cookies (`net.ipv4.tcp_fastopen_key`, `TCP_FASTOPEN_KEY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key that `defaults.sh` sets.
    pub const DEFAULTS: Key = Key([
        0xa1, 0xa1, 0xa1, 0xa1, 0xb2, 0xb2, 0xb2, 0xb2, 0xc3, 0xc3, 0xc3, 0xc3, 0xd4, 0xd4, 0xd4,
        0xd4,
    ]);

    /// Parses the format of the sysctl: four 32-bit hexadecimal numbers, each stored little-endian.
    pub fn parse(text: &str) -> Option<Key> {
        let mut bytes = [0; 16];
        let mut words = text.split('-');
        for part in bytes.chunks_exact_mut(4) {
            let word = u32::from_str_radix(words.next()?, 16).ok()?;
            part.copy_from_slice(&word.to_le_bytes());
        }
        words.next().is_none().then_some(Key(bytes))
    }

    /// The cookie of the client at `remote`: SipHash-2-4 of both addresses, as Linux computes it
    /// (`tcp_fastopen_cookie_gen`; J.-P. Aumasson and D. J. Bernstein, "SipHash", 2012).
    pub fn cookie(self, addresses: Addresses) -> Vec<u8> {
        let half = |from: usize| {
            let bytes = self.0[from..from + 8].try_into().expect("eight bytes");
            u64::from_le_bytes(bytes)
        };
        let mut message = [0; 8];
        message[..4].copy_from_slice(&addresses.remote.octets());
        message[4..].copy_from_slice(&addresses.local.octets());
        let hash = siphash_of_eight(half(0), half(8), u64::from_le_bytes(message));
        hash.to_le_bytes().to_vec()
    }
}

/// SipHash-2-4 of eight bytes.
fn siphash_of_eight(key_low: u64, key_high: u64, message: u64) -> u64 {
    let mut state = [
        key_low ^ 0x736f_6d65_7073_6575,
        key_high ^ 0x646f_7261_6e64_6f6d,
        key_low ^ 0x6c79_6765_6e65_7261,
        key_high ^ 0x7465_6462_7974_6573,
    ];
    // The last block contains only the length.
    for block in [message, 8 << 56] {
        state[3] ^= block;
        (0..2).for_each(|_| sip_round(&mut state));
        state[0] ^= block;
    }
    state[2] ^= 0xff;
    (0..4).for_each(|_| sip_round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn sip_round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

/// Addresses of the connections of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// Address of the peer.
    pub remote: Ipv4Addr,
    /// Address of this host.
    pub local: Ipv4Addr,
}

impl Default for Addresses {
    /// packetdrill's default addresses.
    fn default() -> Addresses {
        Addresses {
            remote: Ipv4Addr::new(192, 0, 2, 1),
            local: Ipv4Addr::new(192, 168, 0, 1),
        }
    }
}

/// A listening socket.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    /// Flags of the host.
    pub flags: Flags,
    /// Key of its cookies.
    pub key: Key,
    /// Addresses of its connections.
    pub addresses: Addresses,
    /// Whether the socket has a queue for Fast Open connections.
    pub has_queue: bool,
}

/// The verdict on a SYN.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SynVerdict {
    /// The data of the SYN are accepted, and the server may send before the handshake is complete.
    pub is_open: bool,
    /// Fast Open option of the SYN-ACK.
    pub answer: Option<Cookie>,
}

impl Server {
    /// RFC 7413 section 4.2.2, as in `tcp_try_fastopen`: a valid cookie opens the connection, even
    /// without data; a cookie request or an invalid cookie is answered with the valid cookie.
    pub fn judge(&self, syn: &TcpPacket) -> SynVerdict {
        let offered = Cookie::of(syn).filter(|cookie| cookie.bytes.is_empty() || cookie.is_valid());
        let is_served = self.has_queue && self.flags.0 & Flags::SERVER != 0;
        if !is_served || (syn.payload_bytes == 0 && offered.is_none()) {
            return SynVerdict::default();
        }
        let valid = self.key.cookie(self.addresses);
        let is_open = self.flags.0 & Flags::SERVER_WITHOUT_COOKIE != 0
            || offered.is_some_and(|cookie| cookie.bytes == valid);
        let answer = offered.filter(|_| !is_open).map(|cookie| Cookie {
            is_experimental: cookie.is_experimental,
            bytes: valid,
        });
        SynVerdict { is_open, answer }
    }
}

/// The client's cached state of a server (`tcp_metrics`), used by the next connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachedServer {
    cookie: Option<Cookie>,
    mss_bytes: Option<u32>,
    tries: Option<CookieAttempts>,
}

/// Kind of the next cookie request to a server that has sent no cookie. The experimental option is
/// tried once, and never again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CookieAttempts {
    Experimental,
    Standard,
}

/// The information in a SYN-ACK that a client caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynAckOptions {
    /// MSS option, bytes.
    pub mss_bytes: u32,
    /// Fast Open cookie.
    pub cookie: Option<Cookie>,
    /// The option of the SYN that went unanswered, if the SYN was sent once and without data.
    pub unanswered: Option<Cookie>,
}

/// The SYN of a client that may use Fast Open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FastOpenSyn {
    /// Fast Open option.
    pub option: Option<Cookie>,
    /// Whether the SYN may carry data.
    pub takes_data: bool,
}

impl CachedServer {
    /// The SYN with which the next connection opens (`tcp_fastopen_cookie_check`).
    pub fn opening(&self, flags: Flags) -> FastOpenSyn {
        let option = match &self.cookie {
            _ if flags.client_needs_no_cookie() => None,
            Some(cookie) => Some(cookie.clone()),
            None => {
                return FastOpenSyn {
                    option: Some(Cookie {
                        is_experimental: self.tries == Some(CookieAttempts::Experimental),
                        bytes: Vec::new(),
                    }),
                    takes_data: false,
                };
            }
        };
        FastOpenSyn {
            option,
            takes_data: true,
        }
    }

    /// The MSS that the server announced, if it is known, bytes.
    pub fn mss_bytes(&self) -> Option<u32> {
        self.mss_bytes
    }

    /// Updates the cache from a SYN-ACK (`tcp_fastopen_cache_set`).
    pub fn learn(&mut self, told: SynAckOptions) {
        self.mss_bytes = Some(told.mss_bytes);
        if let Some(cookie) = told.cookie.filter(Cookie::is_valid) {
            self.cookie = Some(cookie);
        } else if let (Some(asked), None) = (told.unanswered, &self.cookie) {
            let tries = match asked.is_experimental {
                true => CookieAttempts::Standard,
                false => CookieAttempts::Experimental,
            };
            self.tries = self.tries.max(Some(tries));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector in the paper's appendix has 15 bytes. This one of eight bytes is from the
    /// list that its authors publish (`vectors_sip64`, the ninth): key 00..0f, message 00..07.
    #[test]
    fn siphash_is_as_its_authors_list_it() {
        let hash = siphash_of_eight(
            0x0706_0504_0302_0100,
            0x0f0e_0d0c_0b0a_0908,
            0x0706_0504_0302_0100,
        );
        let listed = [0x62, 0x24, 0x93, 0x9a, 0x79, 0xf5, 0xf5, 0x93];
        assert_eq!(hash.to_le_bytes(), listed);
    }

    #[test]
    fn a_key_is_four_numbers() {
        let text = "a1a1a1a1-b2b2b2b2-c3c3c3c3-d4d4d4d4";
        assert_eq!(Key::parse(text), Some(Key::DEFAULTS));
        let first = Key::parse("04030201-0-0-0").unwrap();
        assert_eq!(first.0[..4], [1, 2, 3, 4]);
        for wrong in ["", "1-2-3", "1-2-3-4-5", "1-2-3-x", "123456789-0-0-0"] {
            assert_eq!(Key::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_cookie_is_of_its_client() {
        let cookie = Key::DEFAULTS.cookie(Addresses::default());
        assert_eq!(cookie, [0x30, 0x21, 0xb9, 0xd8, 0x89, 0x01, 0x7e, 0xeb]);
        let other = Addresses {
            remote: Ipv4Addr::new(192, 0, 2, 2),
            ..Addresses::default()
        };
        assert_ne!(Key::DEFAULTS.cookie(other), cookie);
    }
}
