//! Settings of the host that a script can change.

use crate::fast_open::{Flags, Key};
use crate::language::script::TcpFlags;
use crate::segments::engine_flags;
use dumbbell_spec::tcp::{Ecn as Feedback, EcnOptionUse, Profile, Tcp};
use dumbbell_tcp::accurate_ecn::Mode;
use dumbbell_tcp::cca::Algorithm;

/// Initial send buffer of `common/defaults.sh`, bytes of memory.
const DEFAULTS_SEND_MEMORY_BYTES: u64 = 256 << 10;
/// Largest receive buffer of `common/defaults.sh`, bytes of memory.
const DEFAULTS_RECEIVE_MEMORY_BYTES: u64 = 15 << 20;
/// Largest receive buffer of a Linux host with sufficient memory, bytes.
const RECEIVE_MEMORY_BYTES: u64 = 6 << 20;
/// Default initial send buffer of Linux, bytes of memory.
const SEND_MEMORY_BYTES: u64 = 16 << 10;

/// The option of accurate ECN (`tcp_ecn_option`), as by default in Linux 6.18.
const ECN_OPTION: EcnOptionUse = EcnOptionUse::Full;

/// Number of SYN retransmissions before the connection attempt fails (`tcp_syn_retries`).
const SYN_RETRIES: u32 = 6;
/// The same as set by `common/defaults.sh`.
const DEFAULTS_SYN_RETRIES: u32 = 5;

/// When ECN is used (`tcp_ecn`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// Never.
    Off,
    /// Requested by its own SYNs, and accepted from peers.
    On,
    /// Accepted from peers only.
    Passive,
    /// Accurate ECN (RFC 9768) is requested and accepted; RFC 3168's ECN is accepted.
    Accurate,
}

impl Ecn {
    /// The feedback that its SYN requests.
    pub fn offered(self) -> Feedback {
        match self {
            Ecn::Off | Ecn::Passive => Feedback::OFF,
            Ecn::On => Feedback::CLASSIC,
            Ecn::Accurate => Feedback::ACCURATE,
        }
    }

    /// The feedback negotiated with a peer whose SYN has these flags.
    pub fn answered(self, syn: TcpFlags) -> Feedback {
        let offers_classic = syn.has(TcpFlags::ECE.with(TcpFlags::CWR));
        match self {
            Ecn::Off => Feedback::OFF,
            Ecn::On | Ecn::Passive => Feedback::Switch(offers_classic),
            Ecn::Accurate => agreed(Mode::of_offer(engine_flags(syn))),
        }
    }
}

/// The feedback negotiated after offering `offered` and receiving a SYN-ACK with these flags.
pub fn agreed_by_answer(offered: Feedback, syn_ack: TcpFlags) -> Feedback {
    match offered {
        Feedback::Switch(offers) => {
            let accepts = syn_ack.has(TcpFlags::ECE) && !syn_ack.has(TcpFlags::CWR);
            Feedback::Switch(offers && accepts)
        }
        Feedback::Word(_) => agreed(Mode::of_answer(engine_flags(syn_ack))),
    }
}

fn agreed(mode: Mode) -> Feedback {
    match mode {
        Mode::NotEcn => Feedback::OFF,
        Mode::Classic => Feedback::CLASSIC,
        Mode::Accurate => Feedback::ACCURATE,
    }
}

/// Settings of the host.
#[derive(Debug, Clone)]
pub struct HostSettings {
    /// Settings in the engine's form.
    pub tcp: Tcp,
    /// `tcp_ecn`.
    pub ecn: Ecn,
    /// `tcp_slow_start_after_idle`.
    pub restarts_after_idle: bool,
    /// `tcp_early_retrans`.
    pub probes: bool,
    /// Window scale shift of its own windows, if window scaling is on.
    pub window_scale: Option<u8>,
    /// Initial send buffer, bytes of memory (`tcp_wmem`).
    pub send_memory_bytes: u64,
    /// Whether the application reads data as they arrive, without calls in the script.
    pub application_reads: bool,
    /// `tcp_fastopen`
    pub fast_open: Flags,
    /// `tcp_fastopen_key`
    pub fast_open_key: Key,
    /// `tcp_syn_retries`
    pub syn_retries: u32,
    /// `tcp_notsent_lowat`, bytes.
    pub most_unsent_bytes: u32,
    /// `tcp_min_tso_segs`; None for Linux's default.
    pub least_burst_pkts: Option<u32>,
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostSetting {
    /// All settings of `common/defaults.sh`.
    Defaults,
    /// `tcp_sack`
    Sack(bool),
    /// `tcp_recovery`
    Rack(bool),
    /// `tcp_early_retrans`
    Probes(bool),
    /// `tcp_timestamps`
    Timestamps(bool),
    /// `tcp_ecn`
    Ecn(Ecn),
    /// `tcp_ecn_option`
    EcnOption(EcnOptionUse),
    /// `tcp_ecn_option_beacon`
    EcnOptionBeacon(u32),
    /// `tcp_congestion_control`
    CongestionControl(Algorithm),
    /// `tcp_slow_start_after_idle`
    RestartsAfterIdle(bool),
    /// `tcp_window_scaling`
    WindowScaling(bool),
    /// `tcp_rmem`, the maximum.
    ReceiveMemory(u64),
    /// `tcp_wmem`, the initial value.
    SendMemory(u64),
    /// `initcwnd` of the route, packets.
    InitialWindow(u32),
    /// `gso_max_segs` of the device.
    GsoMaxSegs(u32),
    /// The profile `rfc`.
    ProfileRfc,
    /// From now on the host holds data in its transmit queue.
    HostQueueKeeps,
    /// The first packets of the host's transmit queue, this number of them, leave it.
    HostQueueLoses(u64),
    /// Whether the application reads without calls in the script.
    ApplicationReads(bool),
    /// `tcp_fastopen`
    FastOpen(Flags),
    /// `tcp_fastopen_key`
    FastOpenKey(Key),
    /// Cached state of other hosts is flushed (`ip tcp_metrics flush`).
    ForgetMetrics,
    /// `tcp_syn_retries`
    SynRetries(u32),
    /// `tcp_notsent_lowat`
    MostUnsent(u32),
    /// `tcp_min_tso_segs`
    LeastBurst(u32),
    /// Counters are reset (`nstat`).
    RestartCounters,
    /// An ICMP message about a segment outside the window must have been counted since the reset
    /// (`nstat | grep ...`).
    ExpectIcmpOutOfWindow,
}

fn scale_of(memory_bytes: u64) -> u8 {
    memory_bytes.max(1).ilog2().saturating_sub(15).min(14) as u8
}

impl HostSettings {
    /// The settings of a freshly booted host.
    pub fn of(profile: Profile) -> HostSettings {
        HostSettings {
            tcp: Tcp {
                ecn_option: ECN_OPTION,
                ..match profile {
                    Profile::Linux61 => Tcp {
                        gso_max_segs: 1,
                        ..Tcp::linux("cubic")
                    },
                    Profile::Rfc => Tcp::rfc("cubic"),
                }
            },
            ecn: Ecn::Passive,
            restarts_after_idle: true,
            probes: true,
            window_scale: Some(scale_of(RECEIVE_MEMORY_BYTES)),
            send_memory_bytes: SEND_MEMORY_BYTES,
            application_reads: false,
            fast_open: Flags::FRESH,
            // A fresh host draws a random key; this constant stands for it.
            fast_open_key: Key([0; 16]),
            syn_retries: SYN_RETRIES,
            most_unsent_bytes: u32::MAX,
            least_burst_pkts: None,
        }
    }

    /// The same settings with sk_buffs of up to `segments` segments.
    pub fn with_gso_max_segs(mut self, segments: u32) -> HostSettings {
        self.tcp.gso_max_segs = segments;
        self
    }

    /// Sets the congestion controller of subsequent connections.
    pub fn set_controller(&mut self, algorithm: Algorithm) {
        let name = algorithm.name().expect("scripts name controllers");
        name.clone_into(&mut self.tcp.congestion_control);
    }

    /// Applies one change. Changes of the host's queue, its counters and its cache of other hosts
    /// have no effect here.
    pub fn set(&mut self, setting: &HostSetting) {
        match setting {
            HostSetting::Defaults => self.set_defaults(),
            HostSetting::Sack(on) => self.tcp.sack = *on,
            HostSetting::Rack(on) => self.tcp.rack = *on,
            HostSetting::Probes(on) => self.probes = *on,
            HostSetting::Timestamps(on) => self.tcp.timestamps = *on,
            HostSetting::Ecn(ecn) => self.ecn = *ecn,
            HostSetting::EcnOption(used) => self.tcp.ecn_option = *used,
            HostSetting::EcnOptionBeacon(beacons) => self.tcp.ecn_option_beacon = *beacons,
            HostSetting::CongestionControl(algorithm) => self.set_controller(*algorithm),
            HostSetting::RestartsAfterIdle(on) => self.restarts_after_idle = *on,
            HostSetting::WindowScaling(on) => {
                let scale = self.window_scale.unwrap_or(scale_of(RECEIVE_MEMORY_BYTES));
                self.window_scale = on.then_some(scale);
            }
            HostSetting::ReceiveMemory(bytes) => {
                self.window_scale = self.window_scale.map(|_| scale_of(*bytes));
            }
            HostSetting::SendMemory(bytes) => self.send_memory_bytes = *bytes,
            HostSetting::InitialWindow(pkts) => self.tcp.initial_window_pkts = *pkts,
            HostSetting::GsoMaxSegs(segments) => self.tcp.gso_max_segs = *segments,
            HostSetting::ProfileRfc => {
                let name = self.tcp.congestion_control.clone();
                self.tcp = Tcp {
                    small_queues: self.tcp.small_queues,
                    ecn_option: self.tcp.ecn_option,
                    ecn_option_beacon: self.tcp.ecn_option_beacon,
                    timestamps: self.tcp.timestamps,
                    sack: self.tcp.sack,
                    initial_window_pkts: self.tcp.initial_window_pkts,
                    ..Tcp::rfc(&name)
                };
            }
            HostSetting::ApplicationReads(on) => self.application_reads = *on,
            HostSetting::FastOpen(flags) => self.fast_open = *flags,
            HostSetting::FastOpenKey(key) => self.fast_open_key = *key,
            HostSetting::SynRetries(times) => self.syn_retries = *times,
            HostSetting::MostUnsent(bytes) => self.most_unsent_bytes = *bytes,
            HostSetting::LeastBurst(pkts) => self.least_burst_pkts = Some(*pkts),
            HostSetting::HostQueueKeeps
            | HostSetting::HostQueueLoses(_)
            | HostSetting::ForgetMetrics
            | HostSetting::RestartCounters
            | HostSetting::ExpectIcmpOutOfWindow => {}
        }
    }

    /// Sets the values of Google's `gtests/net/common/defaults.sh` and of the kernel's copy of it.
    fn set_defaults(&mut self) {
        self.tcp.sack = true;
        self.tcp.rack = true;
        self.tcp.timestamps = true;
        self.tcp.congestion_control = "cubic".into();
        self.ecn = Ecn::Off;
        self.restarts_after_idle = false;
        self.probes = true;
        self.window_scale = Some(scale_of(DEFAULTS_RECEIVE_MEMORY_BYTES));
        self.send_memory_bytes = DEFAULTS_SEND_MEMORY_BYTES;
        self.fast_open = Flags::DEFAULTS;
        self.fast_open_key = Key::DEFAULTS;
        self.syn_retries = DEFAULTS_SYN_RETRIES;
    }
}
