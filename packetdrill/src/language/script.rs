//! What a script says.

use super::Place;
use super::conditions::Statement;

/// A script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Lines such as `--tolerance_usecs=10000`, which stand before everything.
    pub settings: Vec<Setting>,
    /// What happens, in this order.
    pub events: Vec<Event>,
}

/// A line of options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Where.
    pub place: Place,
    /// Without the dashes.
    pub name: String,
    /// What follows the equals sign.
    pub value: Option<String>,
}

/// When something is to happen, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// From the start of the script.
    At(u64),
    /// After the event before.
    After(u64),
    /// Between two times from the start of the script.
    AtBetween(u64, u64),
    /// Between two times after the event before.
    AfterBetween(u64, u64),
    /// At any time.
    Any,
}

/// Something happens.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where it begins.
    pub place: Place,
    /// When.
    pub when: When,
    /// A system call that waits returns then: microseconds from where `when` counts.
    pub returns_us: Option<u64>,
    /// What.
    pub action: Action,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A line for a shell; never run.
    Shell(String),
    /// Assertions.
    Assert(Vec<Statement>),
    /// Python that is more than assertions: not read further.
    Python,
    /// A packet.
    Packet(Packet),
    /// The program calls the kernel.
    Call(Call),
}

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It arrives (`<`).
    In,
    /// It is to be sent (`>`).
    Out,
}

/// A packet.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    /// Which way.
    pub direction: Direction,
    /// Of the IP header.
    pub ecn: Option<EcnMark>,
    /// Something else is said of the IP header: `tos`, `ttl`, `flowlabel`.
    pub other_ip: Option<String>,
    /// Ports, if the script tells several connections apart.
    pub ports: Option<(u16, u16)>,
    /// What it carries.
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
    /// Either.
    Ect01,
    /// CE.
    Ce,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A segment.
    Tcp(TcpPacket),
    /// A message of a router or host on the way.
    Icmp(Icmp),
    /// Something else, by its first word (`icmp`, `udp`, `gre` ...).
    Other(String),
}

/// A message that a segment could not be delivered (RFC 792).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmp {
    /// Why.
    pub code: Unreachable,
    /// Sequence number of the segment that it quotes, if it is told.
    pub seq: Option<u64>,
}

/// Codes of "destination unreachable" (RFC 792; RFC 1191 section 4 for the MTU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// Code 0.
    Network,
    /// Code 1.
    Host,
    /// Code 4, with the MTU of the next hop, bytes.
    FragmentationNeeded(u16),
}

/// Control bits of a segment (RFC 9293 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpFlags(pub u16);

impl TcpFlags {
    /// No more data.
    pub const FIN: TcpFlags = TcpFlags(1);
    /// Opens.
    pub const SYN: TcpFlags = TcpFlags(2);
    /// Resets.
    pub const RST: TcpFlags = TcpFlags(4);
    /// Pushes.
    pub const PSH: TcpFlags = TcpFlags(8);
    /// Acknowledges.
    pub const ACK: TcpFlags = TcpFlags(16);
    /// Urgent data.
    pub const URG: TcpFlags = TcpFlags(32);
    /// Congestion echoed.
    pub const ECE: TcpFlags = TcpFlags(64);
    /// Window reduced.
    pub const CWR: TcpFlags = TcpFlags(128);
    /// Accurate ECN's third bit.
    pub const AE: TcpFlags = TcpFlags(256);
    /// All with their letters, as tcpdump writes them.
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

    /// Whether all of these are set.
    pub fn has(self, flags: TcpFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Both.
    pub fn with(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | flags.0)
    }

    /// Without these.
    pub fn without(self, flags: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 & !flags.0)
    }
}

/// A segment.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpPacket {
    /// Control bits.
    pub flags: TcpFlags,
    /// From the first SYN, 0.
    pub seq: u64,
    /// Bytes it carries.
    pub payload_bytes: u64,
    /// Acknowledgement number.
    pub ack: Option<u64>,
    /// As on the wire, not scaled.
    pub window: Option<u64>,
    /// Urgent pointer.
    pub urgent: Option<u64>,
    /// None for `<...>`: whichever.
    pub options: Option<Vec<TcpOption>>,
}

impl TcpPacket {
    /// One past its last sequence number: SYN and FIN count.
    pub fn end(&self) -> u64 {
        let takes = |flag| u64::from(self.flags.has(flag));
        self.seq + self.payload_bytes + takes(TcpFlags::SYN) + takes(TcpFlags::FIN)
    }
}

/// An option of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    /// Padding.
    Nop,
    /// The end.
    End,
    /// Largest segment.
    Mss(u16),
    /// Shift of windows.
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
    /// TCP Fast Open.
    FastOpen(Cookie),
    /// Another one, by its word (`md5` ...).
    Other(String),
}

/// A Fast Open option (RFC 7413 section 4.1.1): without bytes it asks for a cookie.
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
    /// What it is called with.
    pub arguments: Vec<Expression>,
    /// What it returns; None for `?`.
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
    /// A name, of a constant.
    Name(String),
    /// A text in quotes.
    Text(String),
    /// Several, joined by `|`.
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
