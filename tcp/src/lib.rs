//! TCP as state machines without input or output: time is an argument, segments go in and come out.
//!
//! A flow carries data one way. Its [`sender::Sender`] opens the connection, sends and closes; its
//! [`receiver::Receiver`] answers. Both behave as Linux 6.1 does (profile `linux-6.1`), or as the
//! RFCs say where the two differ (profile `rfc`); each setting is a field of [`Tcp`].
//!
//! # How they are driven
//!
//! The caller owns the clock and the network: the engine (`dumbbell_engine::traffic`), packet scripts
//! (`dumbbell-packetdrill`), and tests with a pipe of ten lines. The interface is the same for both ends:
//!
//! - an arriving segment is passed to `on_segment(segment, now)`;
//! - at the time returned by `next_timer()`, `on_timer(now)` is called. A timer may be early but is never
//!   late; a superfluous call has no effect;
//! - after each of these, and after `write` and `close`, `poll_transmit(now)` is called until it returns
//!   `None`. The returned segments are sent now.
//!
//! Nothing else changes their state, and `now` never decreases.
//!
//! # An acknowledgement, step by step
//!
//! `sender::acknowledge` processes it in the order of Linux's `tcp_ack()`. The order matters, because each
//! step reads the results of the previous one.
//!
//! 1. Acceptability: old timestamps ([PAWS](https://www.rfc-editor.org/rfc/rfc7323)) and acknowledgements of
//!    unsent data are refused.
//! 2. The [`scoreboard`] marks the acknowledged packets, cumulatively and selectively, and computes a
//!    round-trip time and a delivery rate ([`rate_sample`]) from the packet sent last.
//! 3. `sender::recovery` detects losses: by time ([`rack`]), by duplicate acknowledgements, or, after a
//!    timeout, by F-RTO. It may undo a spurious reduction.
//! 4. The congestion controller ([`cca`]) moves the window; in recovery proportional rate reduction
//!    ([`prr`]) does, unless the controller owns recovery, as BBR does.
//! 5. Timers are set (`sender::timers`): retransmission, tail loss probe, persist, pacing.
//! 6. `poll_transmit` sends what the window, the receiver and [`pacing`] allow; lost packets first.
//!
//! *Header prediction* (`sender::header_prediction`, `receiver::header_prediction`) processes the next
//! expected segment on a shorter path. Debug builds take both paths and compare the whole state.
//!
//! # Units
//!
//! Sequence numbers are `u64` byte counts from the start of the flow and never wrap; code that writes a
//! segment to a file takes the low 32 bits. Congestion windows are in packets of one maximum segment, receive
//! windows in bytes. Times are [`Time`], rates bytes per second.
//!
//! # Index
//!
//! | part | file | published in |
//! | --- | --- | --- |
//! | segments | `segment` | RFC 9293, RFC 2018, RFC 7323 |
//! | counted congestion marks | `accurate_ecn` | RFC 9768 |
//! | what was sent | `scoreboard` | RFC 6675 |
//! | round-trip time, timeout | `rtt` | RFC 6298 |
//! | old timestamps | `paws` | RFC 7323 |
//! | rate of delivery | `rate_sample` | draft-cheng-iccrg-delivery-rate-estimation |
//! | losses by time | `rack` | RFC 8985 |
//! | window during recovery | `prr` | RFC 6937, RFC 9937 |
//! | pacing | `pacing` | net/ipv4/tcp_output.c |
//! | what lies in the host's own queue | `small_queue` | net/ipv4/tcp_output.c |
//! | sending | `sender`: `acknowledge`, `sack`, `recovery`, `timers`, `transmit` | RFC 5681, 6582, 6675, 5682, 3042, 3168, 8985 |
//! | receiving | `receiver`: `reassembly`, `ack_policy`, `window` | RFC 9293, 5681, 2018, 2883, 3168 |
//! | timers | `dumbbell_core::timer` | kernel/time/timer.c |
//!
//! Congestion control is in `cca`.

pub mod accurate_ecn;
pub mod cca;
pub mod ecn_option;
pub mod pacing;
mod paws;
pub mod prr;
pub mod rack;
pub mod rate_sample;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod segment;
pub mod sender;
pub mod small_queue;

use cca::Algorithm;
use cca::external::Module;
use dumbbell_core::time::Time;
use dumbbell_core::timer::Clock;
use dumbbell_spec::tcp::{Ecn, Profile, Tcp};
use pacing::{PacedBy, Pacing};
use segment::{HEADER_BYTES, TIMESTAMPS_BYTES};

/// IPv4 header without options, bytes.
pub const IP_HEADER_BYTES: u32 = 20;
pub use dumbbell_spec::tcp::PACKET_MEMORY_BYTES;

/// Memory of a packet in a host besides its payload, bytes: headers and structures, as measured on Linux 6.1
/// (`SO_MEMINFO`). Less than the send buffer's auto-tuning assumes.
const STRUCTURE_BYTES: u64 = 1280;

/// Settings of both ends of a flow. Connections with equal settings share them (`Arc<Settings>`).
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The settings of the description.
    pub tcp: Tcp,
    /// The controller named by `congestion_control`.
    pub algorithm: Algorithm,
    /// Payload of a full segment, bytes.
    pub mss_bytes: u32,
    /// Precision of timers.
    pub clock: Clock,
    /// Timer interrupts per second.
    pub timer_hz: u32,
    /// Whether the queue of the sender's host paces its packets (`fq`).
    pub is_paced_by_host: bool,
    /// The module of a controller that is not part of this crate.
    pub module: Option<Module>,
}

impl Settings {
    /// Settings for a path with this MTU and a kernel with this number of timer interrupts per second.
    pub fn new(tcp: Tcp, algorithm: Algorithm, mtu_bytes: u32, timer_hz: u32) -> Settings {
        Settings {
            algorithm,
            mss_bytes: mss_bytes(mtu_bytes, tcp.timestamps),
            clock: match tcp.profile {
                Profile::Linux61 => Clock::wheel(timer_hz),
                Profile::Rfc => Clock::Exact,
            },
            tcp,
            timer_hz,
            is_paced_by_host: false,
            module: None,
        }
    }

    /// Where pacing is done, given what the controller requests.
    fn pacing(&self, controller_paces: bool) -> Pacing {
        Pacing::new(if self.is_paced_by_host {
            PacedBy::HostQueue
        } else if self.tcp.pacing.is_on(controller_paces) {
            PacedBy::Timer
        } else {
            PacedBy::Nobody
        })
    }

    /// Whether its receiver reports exactly which packets were marked (RFC 8257 section 3.2).
    fn echoes_each_mark(&self) -> bool {
        if self.tcp.ecn == Ecn::ACCURATE {
            return false;
        }
        let module = self.module.as_ref();
        self.algorithm.needs_ecn() || module.is_some_and(|module| module.0.traits().needs_ecn)
    }

    fn is_linux(&self) -> bool {
        self.tcp.profile == Profile::Linux61
    }
}

/// Payload of a full segment on a path with this MTU (RFC 9293 section 3.7.1, RFC 6691): without headers and
/// the options of every segment.
pub fn mss_bytes(mtu_bytes: u32, timestamps: bool) -> u32 {
    let options = if timestamps { TIMESTAMPS_BYTES } else { 0 };
    let headers = IP_HEADER_BYTES + HEADER_BYTES + options;
    mtu_bytes.saturating_sub(headers).max(1)
}

/// The clock of the timestamps option, milliseconds. Zero means "no echo", so the clock starts above it.
#[inline]
pub fn timestamp_ms(now: Time) -> u32 {
    (now.as_ns() / 1_000_000) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_fills_the_path() {
        assert_eq!(mss_bytes(1500, true), 1448);
        assert_eq!(mss_bytes(1500, false), 1460);
        assert_eq!(mss_bytes(9000, true), 8948);
    }
}
