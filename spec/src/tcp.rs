//! Settings of a TCP flow: its profile, and each parameter.

use crate::SpecError;
use crate::key::{Held, Key, Presence, Value, listed, size, whole};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The reference behaviour of TCP where several are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Profile {
    /// Linux 6.1.
    #[serde(rename = "linux-6.1")]
    Linux61,
    /// The RFCs.
    #[serde(rename = "rfc")]
    Rfc,
}

/// The version of proportional rate reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prr {
    /// RFC 6937, as in Linux 6.1.
    Rfc6937,
    /// RFC 9937, which replaces it.
    Rfc9937,
}

/// Whether segments are paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Pacing {
    /// Always or never, whatever the congestion controller requests.
    Switch(bool),
    /// If the congestion controller requests it.
    Word(PacingWord),
}

/// The only word for pacing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacingWord {
    /// If the congestion controller requests it.
    Auto,
}

impl Pacing {
    /// Whether segments are paced, given what the controller requests.
    pub fn is_on(self, controller_paces: bool) -> bool {
        match self {
            Pacing::Switch(on) => on,
            Pacing::Word(PacingWord::Auto) => controller_paces,
        }
    }
}

/// Which feedback of congestion marks is negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Ecn {
    /// That of RFC 3168, or none.
    Switch(bool),
    /// That of RFC 9768.
    Word(EcnWord),
}

/// The only word for ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnWord {
    /// Accurate ECN (RFC 9768).
    Accurate,
}

/// When a receiver with accurate ECN sends the option with byte counters, by the values of Linux's
/// `tcp_ecn_option`, 0 to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnOptionUse {
    /// Never.
    #[default]
    Never,
    /// Where another counter moves, while bytes are marked, and some times a round trip.
    Minimum,
    /// On every acknowledgement if a counter has moved.
    Full,
    /// The same, even if segments with it seem to get lost.
    Persist,
}

impl EcnOptionUse {
    /// All, in the order of their numbers in Linux.
    pub const ALL: [EcnOptionUse; 4] = [
        EcnOptionUse::Never,
        EcnOptionUse::Minimum,
        EcnOptionUse::Full,
        EcnOptionUse::Persist,
    ];

    fn is_never(&self) -> bool {
        *self == EcnOptionUse::Never
    }
}

impl Ecn {
    /// None.
    pub const OFF: Ecn = Ecn::Switch(false);
    /// That of RFC 3168.
    pub const CLASSIC: Ecn = Ecn::Switch(true);
    /// That of RFC 9768.
    pub const ACCURATE: Ecn = Ecn::Word(EcnWord::Accurate);

    /// Whether any is.
    pub fn is_on(self) -> bool {
        self != Ecn::OFF
    }
}

/// A new congestion window from a given time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CwndChange {
    /// Time of the change.
    pub at_ns: u64,
    /// The new window.
    pub cwnd_pkts: u32,
}

/// Identifies the code of a controller that is not part of the simulator. The caller must provide the code: a
/// description never causes code to be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// SHA-256 of its source, 64 hexadecimal digits.
    pub sha256: String,
    /// For a Python controller: the name of its class, because a source may have several.
    #[serde(default, rename = "class", skip_serializing_if = "Option::is_none")]
    pub class_name: Option<String>,
    /// Values of parameters by name; others have the defaults of the source.
    pub parameters: BTreeMap<String, i64>,
}

/// A key of a flow's `tcp` table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Setting {
    /// The key.
    #[serde(flatten)]
    pub key: Key,
    /// The scope of the setting in a kernel.
    pub kernel: Kernel,
}

/// The scope in which a kernel applies a setting, so which flows must share its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// Per flow, or checked by the backend itself.
    Flow,
    /// Both hosts of a flow.
    Host,
    /// The sending host.
    Sender,
    /// The route between two hosts.
    Way,
    /// Not adjustable: only the default of `linux-6.1`.
    Fixed,
}

/// Keys with types and code of their own, which come first in a file.
const FIRST: [Setting; 4] = [
    own(
        "profile",
        "profile",
        Value::Words(&["linux-6.1", "rfc"]),
        Kernel::Fixed,
        "`linux-6.1`: behaviour of that kernel. `rfc`: behaviour of the RFCs.",
    ),
    own(
        "congestion_control",
        "congestion_control",
        Value::Own,
        Kernel::Flow,
        "Congestion controller, by its name in Linux; or in the simulator `manual`, a window by \
         hand, `linux:NAME`, [Linux's own C file](controllers.md#linuxs-own-c-files), or one of your \
         own: `file:NAME.c` [in C](controllers.md), `file:NAME.py:CLASS` [in \
         Python](python-controllers.md), `class:NAME` one that your program gives.",
    ),
    own(
        "parameters",
        "controller.parameters",
        Value::Own,
        Kernel::Flow,
        "Of `file:`, `linux:` and `class:`: values of parameters by their names. Others pay no heed \
         to them, so that one file compares them.",
    ),
    own(
        "controller_sha256",
        "controller.sha256",
        Value::Own,
        Kernel::Flow,
        "Of `file:` and `linux:`: the SHA-256 that it has to have. With it the file need \
         not be there, where its content was allowed before.",
    ),
];

const fn own(
    name: &'static str,
    resolved: &'static str,
    value: Value,
    kernel: Kernel,
    meaning: &'static str,
) -> Setting {
    let key = Key::new(name, value, meaning)
        .resolved_as(resolved)
        .or(Presence::OrDefault);
    Setting { key, kernel }
}

/// A socket buffer. RFC 7323 section 2.3 limits a scaled window to 1 GiB.
const BUFFER: Value = size(2048, 1 << 30, "2048 bytes to 1 GiB", &["1mb"]);

/// Declares the settings of a flow. An entry is a field with its default in `linux-6.1` and, if different, in
/// `rfc`; the name in the file, the kind of value, whether the profile sets it, the scope in a kernel, and
/// its meaning. The front end's model, the conversion from a resolved description, the laboratory's files and
/// the reference of keys are generated from it.
macro_rules! settings {
    ($(
        $(#[$attribute:meta])*
        $field:ident: $type:ty = $linux:expr $(, rfc $rfc:expr)?;
        $name:literal, $value:expr, $presence:ident, $kernel:ident, $meaning:literal;
    )+) => {
        /// The settings of one TCP flow, for both of its ends.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Tcp {
            /// The source of the other defaults, and the arithmetic used.
            pub profile: Profile,
            /// Name of the congestion controller, as in Linux.
            pub congestion_control: String,
            $(#[doc = $meaning] $(#[$attribute])* pub $field: $type,)+
            /// For a controller that is not part of the simulator: its code.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub controller: Option<Controller>,
        }

        /// The keys of a flow's `tcp` table, in the order of a file.
        pub const SETTINGS: &[Setting] = &[
            FIRST[0], FIRST[1], FIRST[2], FIRST[3],
            $(Setting {
                key: Key::new($name, $value, $meaning)
                    .resolved_as(stringify!($field))
                    .or(Presence::$presence),
                kernel: Kernel::$kernel,
            },)+
        ];

        impl Tcp {
            /// The defaults of a profile, to which a description without other settings resolves.
            fn of(profile: Profile, congestion_control: &str) -> Tcp {
                Tcp {
                    profile,
                    congestion_control: congestion_control.to_owned(),
                    $($field: match profile {
                        $(Profile::Rfc => $rfc,)?
                        _ => $linux,
                    },)+
                    controller: None,
                }
            }

            /// The resolved value of each key.
            fn values(&self) -> Vec<serde_json::Value> {
                let controller = self.controller.as_ref();
                vec![
                    json!(self.profile),
                    json!(self.congestion_control),
                    json!(controller.map(|own| &own.parameters)),
                    json!(controller.map(|own| &own.sha256)),
                    $(json!(self.$field),)+
                ]
            }

            /// Refuses numbers out of range.
            pub(crate) fn check_ranges(&self, path: &str) -> Result<(), SpecError> {
                let mut fields = SETTINGS[FIRST.len()..].iter();
                $(
                    let setting = fields.next().expect("an entry for each field");
                    self.$field.check(&setting.key, path)?;
                )+
                Ok(())
            }
        }
    };
}

settings! {
    initial_window_pkts: u32 = 10;
    "initial_window", whole(1, 1000, "segments", 10), ByProfile, Way,
    "Initial window (RFC 6928)";

    sack: bool = true;
    "sack", Value::Flag, ByProfile, Host,
    "Selective acknowledgements (RFC 2018)";

    rack: bool = true, rfc false;
    "rack", Value::Flag, ByProfile, Host,
    "Loss detection by time and tail loss probes (RFC 8985)";

    timestamps: bool = true;
    "timestamps", Value::Flag, ByProfile, Host,
    "Timestamps (RFC 7323)";

    delayed_ack: bool = true;
    "delayed_ack", Value::Flag, ByProfile, Way,
    "Delayed acknowledgements (RFC 5681)";

    ack_every: u32 = 2;
    "ack_every", whole(1, 64, "segments", 2), ByProfile, Fixed,
    "Full segments for each delayed acknowledgement (RFC 5681 section 4.2)";

    ecn: Ecn = Ecn::OFF;
    "ecn", Value::FlagOr("accurate"), ByProfile, Host,
    "Explicit congestion notification (RFC 3168); `accurate`: the receiver counts marks (RFC 9768; not in \
     Linux 6.1). `prague` always negotiates accurate feedback, `dctcp` uses that of RFC 8257";

    pacing: Pacing = Pacing::Word(PacingWord::Auto);
    "pacing", Value::FlagOr("auto"), ByProfile, Flow,
    "Pacing; `auto`: if the congestion controller requests it";

    hystart: bool = true;
    "hystart", Value::Flag, ByProfile, Flow,
    "Exit from slow start before losses: HyStart in `linux-6.1`, HyStart++ (RFC 9406) in `rfc`";

    prr: Prr = Prr::Rfc6937, rfc Prr::Rfc9937;
    "prr", Value::Words(&["rfc6937", "rfc9937"]), ByProfile, Fixed,
    "Proportional rate reduction";

    small_queues: bool = true, rfc false;
    "small_queues", Value::Flag, ByProfile, Fixed,
    "TCP small queues: a sender leaves about a millisecond, two packets at least, in the queue of \
     its own host";

    min_rto_ns: u64 = 200_000_000, rfc 1_000_000_000; // RFC 6298 section 2.4
    "min_rto", Value::Time, ByProfile, Way,
    "Lower bound of the retransmission timeout (RFC 6298): of its variance term in `linux-6.1`, of \
     the whole in `rfc`";

    send_buffer_bytes: u64 = 0;
    "send_buffer", BUFFER, OrZero, Flow,
    "Send buffer; by default auto-tuned as in Linux.";

    receive_window_bytes: u64 = 0;
    "receive_window", BUFFER, OrZero, Flow,
    "Receive window; by default auto-tuned as in Linux.";

    #[serde(default = "short_packet_memory")]
    packet_memory_bytes: u64 = PACKET_MEMORY_BYTES;
    "packet_memory", size(1536, 65536, "1536 to 65536 bytes", &["2304B"]), OrDefault, Flow,
    "Memory that a kernel reckons a full packet takes of a send buffer that grows, which has room \
     for two windows (`tcp_sndbuf_expand`): 4352 bytes in a distribution's, or 2304 where the \
     largest header is short. On the kernel as it is there.";

    #[serde(default = "one")]
    gso_max_segs: u32 = GSO_MAX_SEGS, rfc 1;
    "gso_max_segs", whole(1, GSO_MAX_SEGS as u64, "segments", 44), ByProfile, Sender,
    "Segments that the sender's TCP hands down at once, as one sk_buff, at most (`gso_max_segs` of \
     its host's devices, ip-link(8)): bursts of up to this number leave back to back. With 1 each \
     goes by itself";

    #[serde(default, skip_serializing_if = "is_zero")]
    min_tso_segs: u32 = 0;
    "min_tso_segs", whole(1, GSO_MAX_SEGS as u64, "segments", 2), OrZero, Sender,
    "Segments that go down at once at least, if the window and the data allow it, also where pacing would \
     have fewer (`tcp_min_tso_segs`, 2 in Linux); by default 2, with `prague` 1 and with BBR as it says.";

    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    handshake: bool = true;
    "handshake", Value::Flag, OrDefault, Fixed,
    "A connection begins with a SYN and its answer (RFC 9293). Without, both ends know of each \
     other and data go out at once, as from ns-2's one-way agents (`Agent/TCP`). The kernel always \
     has one.";

    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ect1: bool = false;
    "ect1", Value::Flag, OrDefault, Fixed,
    "Data are sent as ECT(1), by which queues know L4S (RFC 9331 section 4.1), and not as ECT(0), where \
     ECN was negotiated. Those of `prague` always are.";

    #[serde(default, skip_serializing_if = "EcnOptionUse::is_never")]
    ecn_option: EcnOptionUse = EcnOptionUse::Never;
    "ecn_option", Value::Words(&["never", "minimum", "full", "persist"]), OrDefault, Host,
    "Of accurate ECN: when the receiver sends its byte counters as a TCP option (RFC 9768 section 3.2.3), as \
     `tcp_ecn_option` 0 to 3 of Linux 6.18. `full`: on every acknowledgement of new data; `minimum`: where \
     marks begin or end, while they go on, and `ecn_option_beacon` times a round trip; `persist`: as \
     `full`, also where segments with it are lost.";

    #[serde(default = "beacons", skip_serializing_if = "is_beacons")]
    ecn_option_beacon: u32 = ECN_OPTION_BEACONS;
    "ecn_option_beacon", whole(1, 3, "options a round trip", 1), OrDefault, Host,
    "Of `ecn_option = \"minimum\"`: options in each round trip at least, while data arrive \
     (`tcp_ecn_option_beacon`).";

    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    rtt_independence: bool = true;
    "rtt_independence", Value::Flag, OrDefault, Flow,
    "For `prague`: round trips below 25 ms count as 25 ms, from 500 round trips after slow start on \
     (draft-briscoe-iccrg-prague-congestion-control section 2.4.4). Linux's Prague of 2020 had it off.";

    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cwnd_changes: Vec<CwndChange> = Vec::new();
    "cwnd_changes", Value::CwndChanges, OrDefault, Flow,
    "Windows of the controller `manual`, which others pay no heed to: the initial window holds \
     until the first of them.";
}

/// All settings as exported to Python: JSON, the keys with their defaults in `linux-6.1`, and the resolved
/// settings of each profile.
pub fn settings_json() -> String {
    let keys = listed(SETTINGS, Tcp::linux("cubic").values());
    let profiles = [Tcp::linux("cubic"), Tcp::rfc("cubic")];
    json!({ "keys": keys, "profiles": profiles }).to_string()
}

/// Socket buffer memory of a full packet, bytes: payload, headers and the kernel's structures
/// (net/ipv4/tcp_input.c, `tcp_sndbuf_expand`, for an MTU of 1500), in a distribution's kernel, whose largest
/// header is that of AX.25 in a tunnel.
pub const PACKET_MEMORY_BYTES: u64 = 4352;
/// The same for a kernel without AX.25 and tunnels.
pub const SHORT_PACKET_MEMORY_BYTES: u64 = 2304;
/// Default of the largest number of segments of a GSO packet (`GSO_MAX_SEGS`).
pub const GSO_MAX_SEGS: u32 = 65535;

/// Default for descriptions of version 0.3 and before, which did not have the setting.
fn one() -> u32 {
    1
}

/// Default of `tcp_ecn_option_beacon`.
const ECN_OPTION_BEACONS: u32 = 3;

fn beacons() -> u32 {
    ECN_OPTION_BEACONS
}

fn is_beacons(beacons: &u32) -> bool {
    *beacons == ECN_OPTION_BEACONS
}

fn is_zero(segments: &u32) -> bool {
    *segments == 0
}

fn yes() -> bool {
    true
}

/// Default for such descriptions, like `one`.
fn short_packet_memory() -> u64 {
    SHORT_PACKET_MEMORY_BYTES
}

impl Tcp {
    /// The defaults of the profile `linux-6.1`.
    pub fn linux(congestion_control: &str) -> Tcp {
        Tcp::of(Profile::Linux61, congestion_control)
    }

    /// The defaults of the profile `rfc`.
    pub fn rfc(congestion_control: &str) -> Tcp {
        Tcp::of(Profile::Rfc, congestion_control)
    }
}
