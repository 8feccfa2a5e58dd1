//! What a TCP flow is told: its profile, and each knob apart.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whose behaviour a TCP has where several are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Profile {
    /// Linux 6.1.
    #[serde(rename = "linux-6.1")]
    Linux61,
    /// The RFCs.
    #[serde(rename = "rfc")]
    Rfc,
}

/// Proportional rate reduction: which description of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prr {
    /// RFC 6937, as Linux 6.1 has it.
    Rfc6937,
    /// RFC 9937, which replaces it.
    Rfc9937,
}

/// Whether segments are spaced out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Pacing {
    /// Always or never, whatever the congestion controller asks for.
    Switch(bool),
    /// When the congestion controller asks for it.
    Word(PacingWord),
}

/// The only word for pacing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacingWord {
    /// When the congestion controller asks for it.
    Auto,
}

impl Pacing {
    /// Whether segments are spaced out under a controller that asks for it, or does not.
    pub fn is_on(self, controller_paces: bool) -> bool {
        match self {
            Pacing::Switch(on) => on,
            Pacing::Word(PacingWord::Auto) => controller_paces,
        }
    }
}

/// A new congestion window from a given time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CwndChange {
    /// When, in the run's time.
    pub at_ns: u64,
    /// How large it is from then on.
    pub cwnd_pkts: u32,
}

/// Which code a controller has that is not of the simulator. Whoever runs the description has it or
/// has it not: nothing is loaded because a description says so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// SHA-256 of its source, 64 hexadecimal digits.
    pub sha256: String,
    /// Values of its parameters by their names; the others are as its source has them.
    pub parameters: BTreeMap<String, i64>,
}

/// The settings of one TCP flow. Both its ends have them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Where the defaults of the others came from, and whose arithmetic is used.
    pub profile: Profile,
    /// Name of the congestion controller, as Linux has it.
    pub congestion_control: String,
    /// Initial window, segments (RFC 6928: 10).
    pub initial_window_pkts: u32,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Loss detection by time and tail loss probes (RFC 8985).
    pub rack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Delayed acknowledgements (RFC 1122 section 4.2.3.2).
    pub delayed_ack: bool,
    /// With delayed acknowledgements, an acknowledgement for this number of full segments (RFC 5681
    /// section 4.2: 2).
    pub ack_every: u32,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// Leaving slow start early: HyStart in `linux-6.1`, HyStart++ (RFC 9406) in `rfc`.
    pub hystart: bool,
    /// Proportional rate reduction.
    pub prr: Prr,
    /// A sender leaves little in the queue of its own host: TCP small queues.
    pub small_queues: bool,
    /// What bounds the retransmission timeout from below: in `linux-6.1` its variance term, in
    /// `rfc` the whole of it.
    pub min_rto_ns: u64,
    /// Send buffer; 0 for one that grows as Linux's does.
    pub send_buffer_bytes: u64,
    /// Receive window; 0 for one that grows as Linux's does.
    pub receive_window_bytes: u64,
    /// Memory that the kernel reckons a full packet takes of a send buffer that grows: by it such
    /// a buffer holds this number of windows.
    #[serde(default = "short_packet_memory")]
    pub packet_memory_bytes: u64,
    /// Segments of one sk_buff at most that the sender's TCP hands down at once (`gso_max_segs` of the
    /// device); with 1 each goes by itself. The kernel's own is 65535.
    #[serde(default = "one")]
    pub gso_max_segs: u32,
    /// Whether a connection begins with a SYN and its answer (RFC 9293 section 3.5); else both ends
    /// know of each other, and data go out at once, as from ns-2's one-way agents.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub handshake: bool,
    /// Windows that the controller `manual` is given, in the order of their times; the initial
    /// window before them. Others pay no heed to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cwnd_changes: Vec<CwndChange>,
    /// Of a controller whose code is not of the simulator: which code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
}

/// What a full packet takes of a socket's buffer, bytes: payload, headers and the kernel's own
/// structures (net/ipv4/tcp_input.c, `tcp_sndbuf_expand`, for an MTU of 1500), of a distribution's
/// kernel, whose largest header is that of AX.25 in a tunnel.
pub const PACKET_MEMORY_BYTES: u64 = 4352;
/// The same of a kernel without them.
pub const SHORT_PACKET_MEMORY_BYTES: u64 = 2304;
/// Segments that a device takes at once which nobody has told anything (`GSO_MAX_SEGS`).
pub const GSO_MAX_SEGS: u32 = 65535;

/// Of a description of version 0.3 or before, which had no other.
fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// As `one`.
fn short_packet_memory() -> u64 {
    SHORT_PACKET_MEMORY_BYTES
}

impl Tcp {
    /// The defaults of the profile `linux-6.1`, as a description that names nothing else resolves
    /// to them.
    pub fn linux(congestion_control: &str) -> Tcp {
        Tcp {
            profile: Profile::Linux61,
            congestion_control: congestion_control.to_owned(),
            initial_window_pkts: 10,
            sack: true,
            rack: true,
            timestamps: true,
            delayed_ack: true,
            ack_every: 2,
            ecn: false,
            pacing: Pacing::Word(PacingWord::Auto),
            hystart: true,
            prr: Prr::Rfc6937,
            small_queues: true,
            min_rto_ns: 200_000_000,
            send_buffer_bytes: 0,
            receive_window_bytes: 0,
            packet_memory_bytes: PACKET_MEMORY_BYTES,
            gso_max_segs: GSO_MAX_SEGS,
            handshake: true,
            cwnd_changes: Vec::new(),
            controller: None,
        }
    }

    /// The defaults of the profile `rfc`.
    pub fn rfc(congestion_control: &str) -> Tcp {
        Tcp {
            profile: Profile::Rfc,
            rack: false,
            prr: Prr::Rfc9937,
            small_queues: false,
            gso_max_segs: 1,
            min_rto_ns: 1_000_000_000,
            ..Tcp::linux(congestion_control)
        }
    }
}
