//! TCP, as state machines without input or output: time is an argument, segments go in and come
//! out.
//!
//! A flow carries data one way. Its [`sender::Sender`] opens the connection, sends and closes; its
//! [`receiver::Receiver`] answers. Both behave as Linux 6.1 does (profile `linux-6.1`), or as the
//! RFCs say where the two differ (profile `rfc`); each setting is a field of [`Tcp`].
//!
//! # How they are driven
//!
//! Whoever drives them owns the clock and the network. The engine does
//! (`dumbbell_engine::traffic`), packet scripts do (`dumbbell-packetdrill`), and tests do with a pipe
//! of ten lines. The contract is the same for both ends:
//!
//! - a segment that arrives goes into `on_segment(segment, now)`;
//! - at the time that `next_timer()` named, `on_timer(now)` is called. A timer may be early and is
//!   never late: a call too many finds nothing due;
//! - after each of these, and after `write` and `close`, `poll_transmit(now)` is called until it
//!   returns `None`. What it returns is sent now.
//!
//! Nothing else changes their state, and `now` never goes back.
//!
//! # An acknowledgement, step by step
//!
//! `sender::acknowledge` takes it in the order of `tcp_ack()` of Linux. Order matters: each step reads
//! what the one before it wrote.
//!
//! 1. Is it acceptable? Old timestamps ([PAWS](https://www.rfc-editor.org/rfc/rfc7323)) and
//!    acknowledgements of what was never sent are refused.
//! 2. The [`scoreboard`] marks what it acknowledges, cumulatively and selectively, and takes a round
//!    trip time and a rate of delivery ([`rate_sample`]) from the packet sent last.
//! 3. `sender::recovery` decides what is lost: by time ([`rack`]), by duplicate acknowledgements, or,
//!    after a timeout, by F-RTO. It may undo a reduction that turns out to be needless.
//! 4. The congestion controller ([`cca`]) moves the window; in recovery proportional rate reduction
//!    ([`prr`]) does, unless the controller owns recovery, as BBR does.
//! 5. Timers are set anew (`sender::timers`): retransmission, tail loss probe, persist, pacing.
//! 6. `poll_transmit` sends what the window, the receiver and [`pacing`] allow; what is lost first.
//!
//! *Header prediction* (`sender::header_prediction`, `receiver::header_prediction`) takes the next expected segment by a
//! shorter way. Debug builds take both ways and compare the whole state.
//!
//! # Units
//!
//! Sequence numbers are `u64` counts of bytes from the start of the flow and never wrap; whoever writes
//! a segment to a file takes their low 32 bits. Windows of congestion control are packets of one maximum
//! segment, windows of the receiver bytes. Times are [`Time`], rates bytes a second.
//!
//! # Where what is
//!
//! | part | file | published in |
//! | --- | --- | --- |
//! | segments | `segment` | RFC 9293, RFC 2018, RFC 7323 |
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

pub mod cca;
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
use dumbbell_spec::tcp::{Profile, Tcp};
use pacing::{PacedBy, Pacing};
use segment::{HEADER_BYTES, TIMESTAMPS_BYTES};

/// IPv4 header without options, bytes.
pub const IP_HEADER_BYTES: u32 = 20;
pub use dumbbell_spec::tcp::PACKET_MEMORY_BYTES;

/// Memory of a packet in a host beside its payload, bytes: headers and structures, as measured on
/// Linux 6.1 (`SO_MEMINFO`). Less than what the send buffer's size reckons with.
const STRUCTURE_BYTES: u64 = 1280;

/// What both ends of a flow are told. All connections that are told alike share one
/// (`Arc<Settings>`).
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// As the description has it.
    pub tcp: Tcp,
    /// What its `congestion_control` means.
    pub algorithm: Algorithm,
    /// Payload of a full segment, bytes.
    pub mss_bytes: u32,
    /// How exact timers are.
    pub clock: Clock,
    /// Timer interrupts a second.
    pub timer_hz: u32,
    /// Whether the queue of the sender's host holds its packets until they may leave (`fq`).
    pub is_paced_by_host: bool,
    /// What a controller that is not of this crate is made of.
    pub module: Option<Module>,
}

impl Settings {
    /// For a path of this MTU, under a kernel of the given number of timer interrupts a second.
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

    /// Who spaces packets out under a controller that asks for it, or does not.
    fn pacing(&self, controller_paces: bool) -> Pacing {
        Pacing::new(if self.is_paced_by_host {
            PacedBy::HostQueue
        } else if self.tcp.pacing.is_on(controller_paces) {
            PacedBy::Timer
        } else {
            PacedBy::Nobody
        })
    }

    /// Whether its receiver tells which packets were marked (RFC 8257 section 3.2).
    fn echoes_each_mark(&self) -> bool {
        let module = self.module.as_ref();
        self.algorithm.needs_ecn() || module.is_some_and(|module| module.0.traits().needs_ecn)
    }

    fn is_linux(&self) -> bool {
        self.tcp.profile == Profile::Linux61
    }
}

/// Payload of a full segment on a path of this MTU (RFC 9293 section 3.7.1, RFC 6691): headers
/// and the options of every segment go off.
pub fn mss_bytes(mtu_bytes: u32, timestamps: bool) -> u32 {
    let options = if timestamps { TIMESTAMPS_BYTES } else { 0 };
    let headers = IP_HEADER_BYTES + HEADER_BYTES + options;
    mtu_bytes.saturating_sub(headers).max(1)
}

/// The clock of the timestamps option at this instant, milliseconds. Zero means "no echo", so the
/// clock starts above it.
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
