//! Congestion controllers: how large the window is.
//!
//! The unit of the window is the packet of one maximum segment, as in Linux (`struct tcp_congestion_ops`). A
//! controller has no clock and no randomness of its own: all inputs are arguments. It decides by how much the
//! window grows, and to what it is reduced. Loss detection and the window during recovery (proportional rate
//! reduction) belong to the sender (`tcp`), unless the controller owns recovery, as BBR does.
//!
//! To add a controller, write a file here whose state implements `Controller`, and add a line to the list
//! given to the macro `controllers` below.

pub mod bbr;
pub mod bbr3;
mod boxed;
pub mod cubic;
pub mod dctcp;
mod events;
pub mod external;
pub mod highspeed;
pub mod htcp;
pub mod hystart;
pub mod hystart_plus_plus;
pub mod illinois;
pub mod ledbat_plus_plus;
pub mod manual;
pub mod prague;
pub mod reno;
mod round_trips;
pub mod scalable;
#[cfg(test)]
pub(crate) mod testing;
mod ticks;
pub mod vegas;
pub mod westwood;
mod window;
pub mod windowed_filter;

use bbr::Bbr;
use bbr3::Bbr3;
use cubic::Cubic;
use dctcp::Dctcp;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::{CwndChange, Profile, Tcp};
pub use events::{
    Ack, AckArrival, CaState, LostPacket, PktsAcked, RateSample, RttSample, SentPacket, Snapshot,
};
use external::{ExternalController, Module};
use highspeed::HighSpeed;
use htcp::Htcp;
use illinois::Illinois;
use ledbat_plus_plus::LedbatPlusPlus;
use manual::Manual;
use prague::Prague;
use reno::Reno;
use scalable::Scalable;
use vegas::Vegas;
use westwood::Westwood;
pub use window::{INFINITE_SSTHRESH, Window};

/// Options of a controller.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Linux's integer arithmetic, or the RFC's.
    pub profile: Profile,
    /// Whether slow start may end before losses (HyStart).
    pub hystart: bool,
    /// Whether the sender paces although the controller does not request it.
    pub is_paced: bool,
    /// Timer ticks of the host per second, 1 to 1,000,000: the clock of Linux's CUBIC and of BBR's slower
    /// decisions.
    pub timer_hz: u32,
    /// Whether the connection has selective acknowledgements.
    pub sack: bool,
    /// Random numbers of this connection's controller.
    pub stream: Stream,
    /// Whether Prague counts short round trips as longer ones.
    pub rtt_independence: bool,
    /// Window changes, for `manual`.
    pub cwnd_changes: Vec<CwndChange>,
    /// The module of a controller that is not part of this crate.
    pub module: Option<Module>,
}

impl Options {
    /// The same options for a host with `timer_hz` ticks per second and its own random numbers.
    pub fn for_host(self, timer_hz: u32, stream: Stream) -> Options {
        Options {
            timer_hz,
            stream,
            ..self
        }
    }
}

impl From<&Tcp> for Options {
    /// With 1000 ticks per second and equal random numbers for every connection: see [`Options::for_host`].
    fn from(tcp: &Tcp) -> Options {
        Options {
            profile: tcp.profile,
            hystart: tcp.hystart,
            is_paced: tcp.pacing.is_on(false),
            timer_hz: 1000,
            sack: tcp.sack,
            stream: Stream::new(0, 0, "congestion control"),
            rtt_independence: tcp.rtt_independence,
            cwnd_changes: tcp.cwnd_changes.clone(),
            module: None,
        }
    }
}

/// The state of a controller, if it has others than slow start and congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// BBR: startup.
    Startup,
    /// BBR: drains the queue built in startup.
    Drain,
    /// BBR: cycles through its gains.
    ProbeBw,
    /// BBR: keeps the pipe nearly empty to measure the minimum round-trip time.
    ProbeRtt,
    /// The window is set by the caller.
    ByHand,
}

/// The behaviour of a controller. There is one method per event: sharing a method between two causes is a
/// known source of CUBIC bugs.
pub trait Controller {
    /// Whether it requests pacing; otherwise segments are sent as the window allows.
    const WANTS_PACING: bool = false;

    /// Whether it requires ECN even if the description does not, with a receiver that echoes each mark (RFC
    /// 8257 section 3; `TCP_CONG_NEEDS_ECN`).
    const NEEDS_ECN: bool = false;

    /// Whether its data packets carry the L4S identifier ECT(1) (RFC 9331 section 4.1) instead of ECT(0).
    const SENDS_ECT1: bool = false;

    /// Whether losses keep its window near the response functions of Reno and CUBIC (RFC 9438 section 5.2).
    /// Others may keep a larger one.
    const REACTS_TO_LOSSES: bool = false;

    /// Whether random packet scripts compare it with Linux's, packet by packet.
    const IS_COMPARED_WITH_LINUX: bool = false;

    /// Whether it receives each acknowledgement, in every state.
    const NEEDS_EVERY_ACK: bool = false;

    /// Whether it receives each packet sent and each found lost.
    const NEEDS_PACKETS: bool = false;

    /// At the start of a connection.
    fn new(options: &Options, now: Time) -> Self
    where
        Self: Sized;

    /// The handshake is complete and the initial window is set.
    fn init(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// An acknowledgement has arrived, in any state, and the scoreboard is updated; only with
    /// `NEEDS_EVERY_ACK`.
    fn on_pkts_acked(&mut self, _window: &mut Window, _cleaned: &PktsAcked) {}

    /// As `on_pkts_acked`, after it, and also with nothing outstanding.
    fn on_arrival(&mut self, _window: &mut Window, _arrival: &AckArrival) {}

    /// An acknowledgement has measured a round-trip time, in any state, before losses are detected (Linux's
    /// `pkts_acked`).
    fn on_rtt(&mut self, _window: &mut Window, _sample: &RttSample) {}

    /// A data packet was sent; only with `NEEDS_PACKETS`.
    fn on_sent(&mut self, _packet: &SentPacket) {}

    /// A packet was found lost, before the events of recovery; only with `NEEDS_PACKETS`.
    fn on_packet_lost(&mut self, _window: &mut Window, _packet: &LostPacket) {}

    /// An acknowledgement of new data that may increase the window; not during a reduction. A controller that
    /// owns recovery receives every acknowledgement.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Fast recovery begins: sets the threshold. The sender reduces the window to it.
    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot);

    /// The retransmission timer expired: sets the threshold. The sender then sets the window to one packet
    /// more than is in flight. By default as for a loss.
    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on_loss(window, snapshot);
    }

    /// The retransmission timer expired, every time: also if losses of this window have already reduced the
    /// threshold and `on_rto` is not called (Linux's `set_state` with `TCP_CA_Loss`). The lost packets have
    /// been counted, and the sender has set the window.
    fn on_enter_loss(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// The recovery state has changed (Linux's `set_state`); called after the event that changes it.
    fn on_state(&mut self, _window: &mut Window, _state: CaState, _snapshot: &Snapshot) {}

    /// The receiver has echoed a congestion mark (RFC 3168 section 6.1.2): sets the threshold. By default as
    /// for a loss.
    fn on_ecn(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on_loss(window, snapshot);
    }

    /// All data outstanding at the start of recovery has been acknowledged; the sender has set the window to
    /// the threshold.
    fn on_exit_recovery(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// The reduction was spurious: restores the window. The sender then restores the threshold.
    fn on_undo(&mut self, window: &mut Window) {
        window.restore();
    }

    /// The first packet is about to be sent with nothing in flight (`CA_EVENT_TX_START`). `last_sent` is the
    /// time of the last packet before; None for the first.
    fn on_transmit_start(
        &mut self,
        _window: &mut Window,
        _last_sent: Option<Time>,
        _snapshot: &Snapshot,
    ) {
    }

    /// The window was reduced because nothing had been sent for longer than a retransmission timeout
    /// (`CA_EVENT_CWND_RESTART`).
    fn on_idle_restart(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// Whether it sets the window during recovery itself, like Linux's `cong_control`.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Whether this instance requests pacing, if that is not a constant of the controller.
    fn wants_pacing(&self) -> bool
    where
        Self: Sized,
    {
        Self::WANTS_PACING
    }

    /// Its own phase; None for slow start and congestion avoidance, which follow from the window.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// Whether a random number may have influenced its decisions.
    fn has_drawn(&self) -> bool {
        false
    }

    /// Whether it deliberately sends less than the path could carry: the sender then marks packets as
    /// application-limited. Asked after every acknowledgement.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Number of windows for which an auto-tuned send buffer has room.
    fn send_buffer_windows(&self) -> u32 {
        2
    }

    /// Minimum segments of a burst, if the sender makes bursts; None for the host's setting.
    fn least_burst_pkts(&self, window: &Window) -> Option<u32> {
        let _ = window;
        None
    }

    /// Segments of a burst at most, where the sender makes bursts; None for what the pacing rate has in a
    /// millisecond.
    fn most_burst_pkts(&self, window: &Window) -> Option<u32> {
        let _ = window;
        None
    }
}

/// Declares the enum of all controllers. A line is the variant, its state, and its name in Linux; a
/// controller without a name cannot be selected by name.
macro_rules! controllers {
    ($($(#[$doc:meta])* $variant:ident($state:ty) $(= $name:literal)?;)+) => {
        /// A controller with its state. An enum rather than a trait object, because it is called for every
        /// acknowledgement.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Cca {
            $($(#[$doc])* $variant($state),)+
        }

        /// The kind of a controller, selected by the name in the description.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Algorithm {
            $($(#[$doc])* $variant,)+
        }

        /// All controllers with a name, in the order of [`NAMES`].
        pub const ALL: &[Algorithm] = &[$($({ let _: &str = $name; Algorithm::$variant },)?)+];

        /// The names of all controllers.
        pub const NAMES: &[&str] = &[$($($name,)?)+];

        impl Algorithm {
            /// The controller of a description: a module, or one of the simulator by name, or None.
            pub fn of(tcp: &Tcp) -> Option<Algorithm> {
                match tcp.controller {
                    Some(_) => Some(Algorithm::External),
                    None => Algorithm::named(&tcp.congestion_control),
                }
            }

            /// The controller with this name, or None.
            pub fn named(name: &str) -> Option<Algorithm> {
                match name {
                    $($($name => Some(Algorithm::$variant),)?)+
                    _ => None,
                }
            }

            /// The name in the description; None for a controller without one.
            pub fn name(self) -> Option<&'static str> {
                $($(if self == Algorithm::$variant { return Some($name); })?)+
                None
            }

            /// See [`Controller::WANTS_PACING`].
            pub const fn wants_pacing(self) -> bool {
                match self { $(Algorithm::$variant => <$state as Controller>::WANTS_PACING,)+ }
            }

            /// See [`Controller::NEEDS_ECN`].
            pub const fn needs_ecn(self) -> bool {
                match self { $(Algorithm::$variant => <$state as Controller>::NEEDS_ECN,)+ }
            }

            /// See [`Controller::SENDS_ECT1`].
            pub const fn sends_ect1(self) -> bool {
                match self { $(Algorithm::$variant => <$state as Controller>::SENDS_ECT1,)+ }
            }

            /// See [`Controller::REACTS_TO_LOSSES`].
            pub const fn reacts_to_losses(self) -> bool {
                match self { $(Algorithm::$variant => <$state as Controller>::REACTS_TO_LOSSES,)+ }
            }

            /// See [`Controller::IS_COMPARED_WITH_LINUX`].
            pub const fn is_compared_with_linux(self) -> bool {
                match self { $(Algorithm::$variant => <$state as Controller>::IS_COMPARED_WITH_LINUX,)+ }
            }
        }

        impl Cca {
            /// The controller at the start of a connection.
            pub fn new(algorithm: Algorithm, options: &Options, now: Time) -> Cca {
                match algorithm {
                    $(Algorithm::$variant => Cca::$variant(Controller::new(options, now)),)+
                }
            }

            /// See [`Controller::init`].
            pub fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.init(window, snapshot),)+ }
            }

            /// See [`Controller::NEEDS_EVERY_ACK`].
            #[inline]
            pub fn needs_every_ack(&self) -> bool {
                match self { $(Cca::$variant(_) => <$state as Controller>::NEEDS_EVERY_ACK,)+ }
            }

            /// See [`Controller::NEEDS_PACKETS`].
            #[inline]
            pub fn needs_packets(&self) -> bool {
                match self { $(Cca::$variant(_) => <$state as Controller>::NEEDS_PACKETS,)+ }
            }

            /// See [`Controller::on_sent`].
            pub fn on_sent(&mut self, packet: &SentPacket) {
                match self { $(Cca::$variant(state) => state.on_sent(packet),)+ }
            }

            /// See [`Controller::on_packet_lost`].
            pub fn on_packet_lost(&mut self, window: &mut Window, packet: &LostPacket) {
                match self { $(Cca::$variant(state) => state.on_packet_lost(window, packet),)+ }
            }

            /// See [`Controller::on_arrival`].
            pub fn on_arrival(&mut self, window: &mut Window, arrival: &AckArrival) {
                match self { $(Cca::$variant(state) => state.on_arrival(window, arrival),)+ }
            }

            /// See [`Controller::on_pkts_acked`].
            pub fn on_pkts_acked(&mut self, window: &mut Window, cleaned: &PktsAcked) {
                match self { $(Cca::$variant(state) => state.on_pkts_acked(window, cleaned),)+ }
            }

            /// See [`Controller::on_rtt`].
            #[inline]
            pub fn on_rtt(&mut self, window: &mut Window, sample: &RttSample) {
                match self { $(Cca::$variant(state) => state.on_rtt(window, sample),)+ }
            }

            /// See [`Controller::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
                match self { $(Cca::$variant(state) => state.on_ack(window, ack),)+ }
            }

            /// See [`Controller::on_loss`].
            pub fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.on_loss(window, snapshot),)+ }
            }

            /// See [`Controller::on_rto`].
            pub fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.on_rto(window, snapshot),)+ }
            }

            /// See [`Controller::on_enter_loss`].
            pub fn on_enter_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.on_enter_loss(window, snapshot),)+ }
            }

            /// See [`Controller::on_state`].
            pub fn on_state(&mut self, window: &mut Window, state: CaState, snapshot: &Snapshot) {
                match self { $(Cca::$variant(own) => own.on_state(window, state, snapshot),)+ }
            }

            /// See [`Controller::on_ecn`].
            pub fn on_ecn(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.on_ecn(window, snapshot),)+ }
            }

            /// See [`Controller::on_exit_recovery`].
            pub fn on_exit_recovery(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.on_exit_recovery(window, snapshot),)+ }
            }

            /// See [`Controller::on_undo`].
            pub fn on_undo(&mut self, window: &mut Window) {
                match self { $(Cca::$variant(state) => state.on_undo(window),)+ }
            }

            /// See [`Controller::on_transmit_start`].
            pub fn on_transmit_start(
                &mut self,
                window: &mut Window,
                last_sent: Option<Time>,
                snapshot: &Snapshot,
            ) {
                match self {
                    $(Cca::$variant(state) => state.on_transmit_start(window, last_sent, snapshot),)+
                }
            }

            /// See [`Controller::on_idle_restart`].
            pub fn on_idle_restart(&mut self, window: &mut Window, snapshot: &Snapshot) {
                match self { $(Cca::$variant(state) => state.on_idle_restart(window, snapshot),)+ }
            }

            /// See [`Controller::owns_recovery`].
            #[inline]
            pub fn owns_recovery(&self) -> bool {
                match self { $(Cca::$variant(state) => state.owns_recovery(),)+ }
            }

            /// See [`Controller::wants_pacing`].
            pub fn wants_pacing(&self) -> bool {
                match self { $(Cca::$variant(state) => state.wants_pacing(),)+ }
            }

            /// See [`Controller::phase`].
            pub fn phase(&self) -> Option<Phase> {
                match self { $(Cca::$variant(state) => state.phase(),)+ }
            }

            /// See [`Controller::has_drawn`].
            pub fn has_drawn(&self) -> bool {
                match self { $(Cca::$variant(state) => state.has_drawn(),)+ }
            }

            /// See [`Controller::send_buffer_windows`].
            #[inline]
            pub fn send_buffer_windows(&self) -> u32 {
                match self { $(Cca::$variant(state) => state.send_buffer_windows(),)+ }
            }

            /// See [`Controller::least_burst_pkts`].
            pub fn least_burst_pkts(&self, window: &Window) -> Option<u32> {
                match self { $(Cca::$variant(state) => state.least_burst_pkts(window),)+ }
            }

            /// See [`Controller::most_burst_pkts`].
            pub fn most_burst_pkts(&self, window: &Window) -> Option<u32> {
                match self { $(Cca::$variant(state) => state.most_burst_pkts(window),)+ }
            }

            /// See [`Controller::limits_itself`].
            #[inline]
            pub fn limits_itself(&self) -> bool {
                match self { $(Cca::$variant(state) => state.limits_itself(),)+ }
            }
        }
    };
}

controllers! {
    /// Reno (RFC 5681; the window part of NewReno, RFC 6582).
    Reno(Reno) = "reno";
    /// CUBIC (RFC 9438).
    Cubic(Cubic) = "cubic";
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr(Box<Bbr>) = "bbr";
    /// BBR, version 3 (draft-ietf-ccwg-bbr).
    Bbr3(Box<Bbr3>) = "bbr3";
    /// A window set by the caller, independent of the network.
    Manual(Manual) = "manual";
    /// Scalable TCP (Kelly, ACM CCR 33(2), 2003).
    Scalable(Scalable) = "scalable";
    /// HighSpeed TCP (RFC 3649).
    HighSpeed(HighSpeed) = "highspeed";
    /// TCP Westwood+ (Mascolo et al., MobiCom 2001).
    Westwood(Box<Westwood>) = "westwood";
    /// TCP Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995).
    Vegas(Box<Vegas>) = "vegas";
    /// H-TCP (draft-leith-tcp-htcp-06).
    Htcp(Box<Htcp>) = "htcp";
    /// TCP-Illinois (Liu, Basar, Srikant, Performance Evaluation 65, 2008).
    Illinois(Box<Illinois>) = "illinois";
    /// DCTCP (RFC 8257).
    Dctcp(Dctcp) = "dctcp";
    /// Prague (draft-briscoe-iccrg-prague-congestion-control).
    Prague(Box<Prague>) = "prague";
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus).
    LedbatPlusPlus(Box<LedbatPlusPlus>) = "ledbat++";
    /// A controller that is not part of this crate.
    External(Box<ExternalController>);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_controllers() {
        for name in NAMES {
            assert_eq!(
                Algorithm::named(name).and_then(Algorithm::name),
                Some(*name)
            );
        }
        let names: Vec<&str> = ALL.iter().filter_map(|each| each.name()).collect();
        assert_eq!(names, NAMES);
        assert_eq!(Algorithm::named("vegas?"), None);
        assert_eq!(Algorithm::External.name(), None);
    }
}
