//! Congestion controllers: how large the window is.
//!
//! The unit is the packet of one maximum segment, as in Linux (`struct tcp_congestion_ops`). A
//! controller has no clock and no randomness: what it needs to know is an argument. It decides
//! by how much the window grows, and to what it falls. When something is taken for lost, and how
//! the window moves during recovery (proportional rate reduction), is the sender's (`tcp`),
//! unless the controller says that it owns recovery, as BBR does.
//!
//! Adding one: a file here whose state implements `Controller`, and a line in the list given to
//! the macro `controllers` below.

pub mod bbr;
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
use cubic::Cubic;
use dctcp::Dctcp;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::{CwndChange, Profile, Tcp};
pub use events::{Ack, AckArrival, CaState, PktsAcked, RateSample, RttSample, Snapshot};
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

/// Which of its descriptions a controller follows.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Linux's integer arithmetic, or the RFC's.
    pub profile: Profile,
    /// Whether slow start may end before losses.
    pub hystart: bool,
    /// Whether the sender spaces packets although the controller does not ask for it.
    pub is_paced: bool,
    /// Ticks of the host's timer per second, 1 to 1,000,000: the clock of Linux's CUBIC and of
    /// BBR's slower decisions.
    pub timer_hz: u32,
    /// Random numbers of this connection's controller.
    pub stream: Stream,
    /// Whether Prague counts short round trips as longer ones.
    pub rtt_independence: bool,
    /// Windows for one that is given them.
    pub cwnd_changes: Vec<CwndChange>,
    /// What a controller that is not of this crate is made of.
    pub module: Option<Module>,
}

impl Options {
    /// The same on a host whose timer ticks `timer_hz` times a second, with random numbers of
    /// its own.
    pub fn for_host(self, timer_hz: u32, stream: Stream) -> Options {
        Options {
            timer_hz,
            stream,
            ..self
        }
    }
}

impl From<&Tcp> for Options {
    /// At 1000 ticks a second and with the same random numbers for every connection: see
    /// [`Options::for_host`].
    fn from(tcp: &Tcp) -> Options {
        Options {
            profile: tcp.profile,
            hystart: tcp.hystart,
            is_paced: tcp.pacing.is_on(false),
            timer_hz: 1000,
            stream: Stream::new(0, 0, "congestion control"),
            rtt_independence: tcp.rtt_independence,
            cwnd_changes: tcp.cwnd_changes.clone(),
            module: None,
        }
    }
}

/// What a controller does of its own, where that is more than slow start and congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It doubles its rate (BBR).
    Startup,
    /// It empties the queue that this built (BBR).
    Drain,
    /// It cycles through its gains (BBR).
    ProbeBw,
    /// It keeps the pipe empty to measure the round trip (BBR).
    ProbeRtt,
    /// The window is set by hand.
    ByHand,
}

/// What a controller's file provides. One event, one method: a method for two causes is a known
/// source of wrong CUBICs.
pub trait Controller {
    /// Whether it asks for pacing; otherwise segments are sent as the window allows.
    const WANTS_PACING: bool = false;

    /// Whether it asks for congestion marks though the description does not, and has its receiver echo
    /// each (RFC 8257 section 3; `TCP_CONG_NEEDS_ECN`).
    const NEEDS_ECN: bool = false;

    /// Whether its data carry the identifier of L4S, ECT(1) (RFC 9331 section 4.1), and not ECT(0).
    const SENDS_ECT1: bool = false;

    /// Whether losses keep its window as small as the response functions of Reno and CUBIC say (RFC 9438
    /// section 5.2). Others may keep a larger one.
    const REACTS_TO_LOSSES: bool = false;

    /// Whether random packet scripts hold it against Linux's, packet by packet.
    const IS_COMPARED_WITH_LINUX: bool = false;

    /// Whether it is told of each acknowledgement, in every state.
    const NEEDS_EVERY_ACK: bool = false;

    /// At the start of a connection.
    fn new(options: &Options, now: Time) -> Self
    where
        Self: Sized;

    /// The handshake is over, the initial window set.
    fn init(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// An acknowledgement has come, in whatever state, and what it acknowledges is off the scoreboard: only with
    /// `NEEDS_EVERY_ACK`.
    fn on_pkts_acked(&mut self, _window: &mut Window, _cleaned: &PktsAcked) {}

    /// The same, behind `on_pkts_acked`, and also where nothing was out.
    fn on_arrival(&mut self, _window: &mut Window, _arrival: &AckArrival) {}

    /// An acknowledgement has measured a round-trip time: in every state, also while the window is
    /// being reduced, and before losses are looked for (Linux's `pkts_acked`).
    fn on_rtt(&mut self, _window: &mut Window, _sample: &RttSample) {}

    /// An acknowledgement of new data that may make the window grow: not while it is being
    /// reduced. A controller that owns recovery gets every acknowledgement.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Fast recovery begins: sets the threshold. The sender brings the window down to it.
    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot);

    /// The retransmission timer ran out: sets the threshold. The sender then sets the window to
    /// one packet more than is in flight. By default as for a loss.
    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on_loss(window, snapshot);
    }

    /// The retransmission timer ran out, each time: also where the losses of this window have
    /// lowered the threshold before, and `on_rto` is not called (Linux's `set_state` with
    /// `TCP_CA_Loss`). What is lost by that has been counted, and the sender has set the window.
    fn on_enter_loss(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// The sender does this about losses from now on (Linux's `set_state`): whenever that changes, behind the
    /// event that changes it.
    fn on_state(&mut self, _window: &mut Window, _state: CaState, _snapshot: &Snapshot) {}

    /// The receiver has echoed a congestion mark (RFC 3168 section 6.1.2): sets the threshold.
    /// By default as for a loss.
    fn on_ecn(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.on_loss(window, snapshot);
    }

    /// Everything outstanding when recovery began has been acknowledged; the sender has set the
    /// window to the threshold.
    fn on_exit_recovery(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// The reduction was for nothing: sets the window to what it was before. The sender then
    /// restores the threshold.
    fn on_undo(&mut self, window: &mut Window) {
        window.restore();
    }

    /// The first packet is about to be sent when nothing is in flight (`CA_EVENT_TX_START`).
    /// `last_sent` is when a packet was sent before that; None for the first.
    fn on_transmit_start(
        &mut self,
        _window: &mut Window,
        _last_sent: Option<Time>,
        _snapshot: &Snapshot,
    ) {
    }

    /// The window was made smaller because nothing had been sent for longer than a
    /// retransmission timeout (`CA_EVENT_CWND_RESTART`).
    fn on_idle_restart(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// Whether it sets the window during recovery itself, as with Linux's `cong_control`.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Whether this one asks for pacing, where the file of a controller alone cannot say.
    fn wants_pacing(&self) -> bool
    where
        Self: Sized,
    {
        Self::WANTS_PACING
    }

    /// What it does of its own; None for slow start and congestion avoidance, which the window tells.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// Whether a random number may have decided what it does.
    fn has_drawn(&self) -> bool {
        false
    }

    /// Whether what is sent now is less than the path would carry because the controller wants
    /// it so: the sender marks such packets as limited by the application. Asked after every
    /// acknowledgement.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Windows that the send buffer has room for when its size is left to TCP.
    fn send_buffer_windows(&self) -> u32 {
        2
    }

    /// Segments of a burst at least, where the sender makes bursts (`min_tso_segs`); None for what its host
    /// says.
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

/// The enum of all controllers. A line is the variant, its state, its name in Linux; one without
/// a name cannot be asked for by a name alone.
macro_rules! controllers {
    ($($(#[$doc:meta])* $variant:ident($state:ty) $(= $name:literal)?;)+) => {
        /// A controller with its state. An enum rather than a trait object: it is asked once for
        /// every acknowledgement.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Cca {
            $($(#[$doc])* $variant($state),)+
        }

        /// Which controller a connection has: what its name in the description means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Algorithm {
            $($(#[$doc])* $variant,)+
        }

        /// All that have a name, in the order of [`NAMES`].
        pub const ALL: &[Algorithm] = &[$($({ let _: &str = $name; Algorithm::$variant },)?)+];

        /// The names of all controllers.
        pub const NAMES: &[&str] = &[$($($name,)?)+];

        impl Algorithm {
            /// That of a description: one from outside, or one of the simulator by its name, or None.
            pub fn of(tcp: &Tcp) -> Option<Algorithm> {
                match tcp.controller {
                    Some(_) => Some(Algorithm::External),
                    None => Algorithm::named(&tcp.congestion_control),
                }
            }

            /// That of this name, or None.
            pub fn named(name: &str) -> Option<Algorithm> {
                match name {
                    $($($name => Some(Algorithm::$variant),)?)+
                    _ => None,
                }
            }

            /// As the description has it; None for one that has no name of its own.
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
    /// A window by hand: what the description says, whatever the network does.
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
    /// One that is not of this crate.
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
