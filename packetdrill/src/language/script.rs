//! The elements of a script.

use super::Place;
use super::conditions::Statement;

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Option lines such as `--tolerance_usecs=10000`, which precede everything else.
    pub settings: Vec<Setting>,
    /// The events, in this order.
    pub events: Vec<Event>,
}

/// An option line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Position of the line.
    pub place: Place,
    /// Name without the dashes.
    pub name: String,
    /// The text after the equals sign.
    pub value: Option<String>,
}

/// Time of an event, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// From the start of the script.
    At(u64),
    /// After the previous event.
    After(u64),
    /// Between two times from the start of the script.
    AtBetween(u64, u64),
    /// Between two times after the previous event.
    AfterBetween(u64, u64),
    /// At any time.
    Any,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position of the event.
    pub place: Place,
    /// Time of the event.
    pub when: When,
    /// When a blocking system call returns: microseconds from the same origin as `when`.
    pub returns_us: Option<u64>,
    /// The action.
    pub action: Action,
}

/// The action of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A shell line; never run.
    Shell(String),
    /// Assertions.
    Assert(Vec<Statement>),
    /// Python other than assertions; not parsed.
    Python,
    /// A packet.
    Packet(Packet),
    /// A system call of the program.
    Call(Call),
}

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It arrives at the host under test (`<`).
    In,
    /// The host under test is expected to send it (`>`).
    Out,
}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Direction.
    pub direction: Direction,
    /// ECN field of the IP header.
    pub ecn: Option<EcnMark>,
    /// Another field of the IP header that the script gives: `tos`, `ttl`, `flowlabel`.
    pub other_ip: Option<String>,
    /// Ports, if the script distinguishes several connections.
    pub ports: Option<(u16, u16)>,
    /// Its contents.
    pub body: Body,
}

/// ECN in the IP header (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMark {
    /// Not ECN-capable.
    None,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// ECT(0) or ECT(1).
    Ect01,
    /// CE.
    Ce,
}

/// Contents of a packet.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A TCP segment.
    Tcp(TcpPacket),
    /// An ICMP message from a router or host on the path.
    Icmp(Icmp),
    /// Any other packet, by its first word (`icmp`, `udp`, `gre` ...).
    Other(String),
}

/// An ICMP message that a segment could not be delivered (RFC 792).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmp {
    /// The code.
    pub code: Unreachable,
    /// Sequence number of the segment quoted, if given.
    pub seq: Option<u64>,
}

/// Codes of "destination unreachable" (RFC 792; RFC 1191 section 4 for the MTU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// Code 0, network unreachable.
    Network,
    /// Code 1, host unreachable.
    Host,
    /// Code 4, fragmentation needed, with the MTU of the next hop, bytes.
    FragmentationNeeded(u16),
}

/// Control bits of a segment (RFC 9293 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// FIN: no more data.
    pub const FIN: TcpFlags = TcpFlags(1);
    /// SYN: synchronises sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(2);
    /// RST: resets the connection.
    pub const RST: TcpFlags = TcpFlags(4);
    /// PSH: push function.
    pub const PSH: TcpFlags = TcpFlags(8);
    /// ACK: the acknowledgement number is valid.
    pub const ACK: TcpFlags = TcpFlags(16);
    /// URG: the urgent pointer is valid.
    pub const URG: TcpFlags = TcpFlags(32);
    /// ECE: ECN-Echo.
    pub const ECE: TcpFlags = TcpFlags(64);
    /// CWR: congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(128);
    /// AE: the third bit of Accurate ECN.
    pub const AE: TcpFlags = TcpFlags(256);
    /// All flags with their letters, as tcpdump prints them.
    pub const LETTERS: [(TcpFlags, char); 9] = [
        (TcpFlags::FIN, 'F'),
        (TcpFlags::SYN, 'S'),
        (TcpFlags::RST, 'R'),
        (TcpFlags::PSH, 'P'),
        (TcpFlags::ACK, '.'),
        (TcpFlags::URG, 'U'),
        (TcpFlags::ECE, 'E'),
        (TcpFlags::CWR, 'W'),
        (TcpFlags::AE, 'A'),
    ];

    /// Whether all of these flags are set.
    pub fn has(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The union of both.
    pub fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }

    /// These flags removed.
    pub fn without(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !flags.0)
    }
}

/// A TCP segment.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpPacket {
    /// Control bits.
    pub flags: TcpFlags,
    /// Relative to the first SYN, which has 0.
    pub seq: u64,
    /// Payload, bytes.
    pub payload_bytes: u64,
    /// Acknowledgement number.
    pub ack: Option<u64>,
    /// Window as on the wire, not scaled.
    pub window: Option<u64>,
    /// Urgent pointer.
    pub urgent: Option<u64>,
    /// Options; None for `<...>`: any.
    pub options: Option<Vec<TcpOption>>,
}

impl TcpPacket {
    /// One past its last sequence number; SYN and FIN count.
    pub fn end(&self) -> u64 {
        let takes = |flag| u64::from(self.flags.has(flag));
        self.seq + self.payload_bytes + takes(TcpFlags::SYN) + takes(TcpFlags::FIN)
    }
}

/// A TCP option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    /// No operation (padding).
    Nop,
    /// End of the option list.
    End,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale shift.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks.
    Sack(Vec<(u64, u64)>),
    /// Timestamps.
    Timestamps {
        /// TSval.
        value: u32,
        /// TSecr.
        echo: u32,
    },
    /// Counters of bytes of accurate ECN (RFC 9768 section 3.2.3).
    AccurateEcn {
        /// Whether the counter of ECT(1) comes first, and that of ECT(0) last.
        is_ect1_first: bool,
        /// At most three counters, modulo 2^24.
        fields: Vec<u32>,
    },
    /// TCP Fast Open.
    FastOpen(Cookie),
    /// Any other option, by its word (`md5` ...).
    Other(String),
}

/// A Fast Open option (RFC 7413 section 4.1.1); an empty cookie is a cookie request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cookie {
    /// `FOEXP`: kind 254 with the magic number 0xF989 (RFC 6994), not kind 34.
    pub is_experimental: bool,
    /// The cookie.
    pub bytes: Vec<u8>,
}

/// A system call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Expression>,
    /// Its return value; None for `?`.
    pub returns: Option<Expression>,
    /// Name of the error, if it fails.
    pub error: Option<String>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// `...`
    Whatever,
    /// A number.
    Number(i64),
    /// A number with a point.
    Decimal(f64),
    /// The name of a constant.
    Name(String),
    /// A quoted text.
    Text(String),
    /// Several values joined by `|`.
    Either(Vec<Expression>),
    /// `[a, b]`
    List(Vec<Expression>),
    /// `{a, b}`
    Structure(Vec<Expression>),
    /// `name(a, b)`
    Applied(String, Vec<Expression>),
    /// `a = b`
    Field(Box<Expression>, Box<Expression>),
}
