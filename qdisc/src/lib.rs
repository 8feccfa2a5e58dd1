//! Queue disciplines.
//!
//! As in Linux, a discipline decides in `enqueue` whether to accept a packet, and in `dequeue` which packet
//! leaves, or when to poll it again. Its other effects on packets (drops of queued packets, marks) are
//! reported in `Events`. The device that drives it is `net::link` of the engine.
//!
//! To add a discipline, write its grammar in the crate `dumbbell-tc`, a file here whose state implements
//! `Discipline` and `Build`, and a line in the list given to the macro `disciplines` below.

pub mod bands;
pub mod cake;
pub mod child;
pub mod choke;
pub mod codel;
pub mod drr;
pub mod dualpi2;
pub mod ets;
pub mod events;
pub mod fifo;
pub mod flow_queues;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod headers;
pub mod hfsc;
pub mod htb;
pub mod netem;
pub mod noqueue;
mod passing_time;
pub mod pfifo_fast;
pub mod pie;
pub mod prio;
pub mod priority;
pub mod red;
pub mod rounds;
mod setting;
pub mod sfb;
pub mod sfq;
pub mod tbf;
mod timers;
pub mod token_bucket;

pub use cake::reads_acknowledgements;
pub use child::Child;
pub use events::{DropReason, Events};
pub use fq::paces;
pub use passing_time::delays_packets;
pub use setting::{Above, DEFAULT_TIMER_HZ, Ends, Setting};
pub use timers::{MOST_UPDATES_A_PACKET, UPDATES_AN_EVENT, timer_period_ns};

use cake::Cake;
use choke::Choke;
use codel::Codel;
use drr::Drr;
use dualpi2::Dualpi2;
use dumbbell_core::own_samples::OwnState;
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use ets::Ets;
use fifo::Fifo;
use fq::Fq;
use fq_codel::FqCodel;
use fq_pie::FqPie;
use hfsc::Hfsc;
use htb::Htb;
use netem::Netem;
use noqueue::Noqueue;
use pfifo_fast::PfifoFast;
use pie::Pie;
use prio::Prio;
use red::Red;
use sfb::Sfb;
use sfq::Sfq;
use tbf::Tbf;

/// A discipline and its parameters, as in the resolved description. The type is that of the grammar, so the
/// engine runs what the grammar parsed.
pub use dumbbell_tc::Qdisc as Config;
pub use dumbbell_tc::qdisc::filter;

/// The behaviour of a discipline, provided by its file.
pub trait Discipline {
    /// Enqueues the packet or refuses it.
    ///
    /// # Errors
    /// The reason why this packet is dropped. Other dropped packets are in `events`.
    fn enqueue(&mut self, packet: Packet, now: Time, events: &mut Events)
    -> Result<(), DropReason>;

    /// The packet that leaves at `now`, if any.
    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued;

    /// What `dequeue` would return at this instant, for disciplines that can be peeked; `None` for others,
    /// from which the caller dequeues a packet to see it (see [`Child`]).
    fn peek(&mut self, _now: Time, _events: &mut Events) -> Option<Dequeued> {
        None
    }

    /// Tells the discipline which packet was dequeued by a peek and has not left yet. It counts in its
    /// limits.
    fn set_held(&mut self, _held: Held) {}

    /// Whether, after `dequeue` returned a time, no packet that arrives before it can change it.
    fn keeps_its_head(&self) -> bool {
        false
    }

    /// Its packets and bytes on the wire, children included, as `tc -s qdisc` counts them, without the packet
    /// held by a peek.
    fn backlog(&self) -> (u32, u64);

    /// Every packet it holds, in no particular order.
    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_>;

    /// The part of a packet's sojourn that was its transmission inside the discipline. Zero if the link
    /// transmits.
    fn own_service_time(&self, _wire_bytes: u32) -> Time {
        Time::ZERO
    }

    /// The largest GSO packet that it accepts whole, bytes on the wire; larger ones are segmented first.
    fn largest_gso_bytes(&self) -> u32 {
        u32::MAX
    }

    /// Its own statistics.
    fn statistics(&self) -> Statistics {
        Statistics::NONE
    }

    /// What it counts by itself, or what the only child that all its packets pass counts.
    fn own_state(&self) -> Option<OwnState> {
        None
    }

    /// The queue of a packet according to its headers, as a number that is constant during a run: a band or
    /// tin from 0, the minor number of a class, 0 for the L4S queue and 1 for the classic queue. `None` for
    /// disciplines with one queue, or with queues per flow only.
    fn class_of(&self, _packet: &Packet) -> Option<u16> {
        None
    }
}

/// Constructs a discipline from its parameters.
pub trait Build<Parameters> {
    /// An empty queue.
    fn build(parameters: &Parameters, setting: &Setting) -> Self;
}

impl<Parameters, State: Build<Parameters>> Build<Parameters> for Box<State> {
    fn build(parameters: &Parameters, setting: &Setting) -> Box<State> {
        Box::new(State::build(parameters, setting))
    }
}

/// The answer of a discipline to a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeued {
    /// This packet leaves now.
    Packet(Packet),
    /// No packet before this instant.
    NotBefore(Time),
    /// The queue is empty.
    Empty,
}

/// The packet that a parent dequeued to peek at it (Linux's `gso_skb` of the child, which counts in its
/// `qlen` and `backlog`): one or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// 0 or 1.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl Held {
    /// No packet.
    pub const NOTHING: Held = Held {
        packets: 0,
        bytes: 0,
    };
}

/// A discipline's own statistics, besides those of every queue; columns of `queue_samples`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Probability with which an arriving packet is dropped or marked; NaN if there is none.
    pub drop_probability: f64,
    /// Its own estimate of the queueing delay.
    pub delay_estimate: Option<Time>,
}

impl Statistics {
    /// For a discipline without estimates.
    pub const NONE: Statistics = Statistics {
        drop_probability: f64::NAN,
        delay_estimate: None,
    };
}

/// Declares the enum of all disciplines and the methods that dispatch to them. A line is the variant, its
/// state, and the keywords of tc that select it.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $variant:ident($state:ty): $($kind:ident),+;)+) => {
        /// A discipline with its state. An enum rather than a trait object, because every packet passes the
        /// plain FIFO. Other variants are boxed to keep the enum small.
        #[derive(Debug, Clone)]
        pub enum Qdisc {
            $($(#[$doc])* $variant($state),)+
        }

        impl Qdisc {
            /// An empty queue.
            pub fn new(config: &Config, setting: &Setting) -> Qdisc {
                match config {
                    $($(Config::$kind(parameters) => {
                        Qdisc::$variant(Build::build(parameters, setting))
                    })+)+
                }
            }

            /// See [`Discipline::enqueue`].
            ///
            /// # Errors
            /// As for that method.
            #[inline(always)]
            pub fn enqueue(
                &mut self,
                packet: Packet,
                now: Time,
                events: &mut Events,
            ) -> Result<(), DropReason> {
                match self {
                    $(Qdisc::$variant(state) => state.enqueue(packet, now, events),)+
                }
            }

            /// See [`Discipline::dequeue`].
            #[inline(always)]
            pub fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
                match self {
                    $(Qdisc::$variant(state) => state.dequeue(now, events),)+
                }
            }

            /// See [`Discipline::peek`].
            pub fn peek(&mut self, now: Time, events: &mut Events) -> Option<Dequeued> {
                match self {
                    $(Qdisc::$variant(state) => state.peek(now, events),)+
                }
            }

            /// See [`Discipline::set_held`].
            pub fn set_held(&mut self, held: Held) {
                match self {
                    $(Qdisc::$variant(state) => state.set_held(held),)+
                }
            }

            /// See [`Discipline::keeps_its_head`].
            #[inline(always)]
            pub fn keeps_its_head(&self) -> bool {
                match self {
                    $(Qdisc::$variant(state) => state.keeps_its_head(),)+
                }
            }

            /// See [`Discipline::backlog`].
            #[inline(always)]
            pub fn backlog(&self) -> (u32, u64) {
                match self {
                    $(Qdisc::$variant(state) => state.backlog(),)+
                }
            }

            /// See [`Discipline::own_service_time`].
            #[inline]
            pub fn own_service_time(&self, wire_bytes: u32) -> Time {
                match self {
                    $(Qdisc::$variant(state) => state.own_service_time(wire_bytes),)+
                }
            }

            /// See [`Discipline::largest_gso_bytes`].
            pub fn largest_gso_bytes(&self) -> u32 {
                match self {
                    $(Qdisc::$variant(state) => state.largest_gso_bytes(),)+
                }
            }

            /// See [`Discipline::statistics`].
            pub fn statistics(&self) -> Statistics {
                match self {
                    $(Qdisc::$variant(state) => state.statistics(),)+
                }
            }

            /// See [`Discipline::own_state`].
            pub fn own_state(&self) -> Option<OwnState> {
                match self {
                    $(Qdisc::$variant(state) => state.own_state(),)+
                }
            }

            /// See [`Discipline::class_of`].
            pub fn class_of(&self, packet: &Packet) -> Option<u16> {
                match self {
                    $(Qdisc::$variant(state) => state.class_of(packet),)+
                }
            }

            /// See [`Discipline::packets`].
            pub fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
                match self {
                    $(Qdisc::$variant(state) => state.packets(),)+
                }
            }
        }
    };
}

disciplines! {
    /// `pfifo` and `bfifo`.
    Fifo(Fifo): Pfifo, Bfifo;
    /// `netem`.
    Netem(Box<Netem>): Netem;
    /// `noqueue`.
    Noqueue(Box<Noqueue>): Noqueue;
    /// `codel`.
    Codel(Box<Codel>): Codel;
    /// `fq`.
    Fq(Box<Fq>): Fq;
    /// `fq_codel`.
    FqCodel(Box<FqCodel>): FqCodel;
    /// `fq_pie`.
    FqPie(Box<FqPie>): FqPie;
    /// `cake`.
    Cake(Box<Cake>): Cake;
    /// `pie`.
    Pie(Box<Pie>): Pie;
    /// `dualpi2`.
    Dualpi2(Box<Dualpi2>): Dualpi2;
    /// `red`.
    Red(Box<Red>): Red;
    /// `choke`.
    Choke(Box<Choke>): Choke;
    /// `sfb`.
    Sfb(Box<Sfb>): Sfb;
    /// `sfq`.
    Sfq(Box<Sfq>): Sfq;
    /// `tbf`.
    Tbf(Box<Tbf>): Tbf;
    /// `prio`.
    Prio(Box<Prio>): Prio;
    /// `ets`.
    Ets(Box<Ets>): Ets;
    /// `pfifo_fast`.
    PfifoFast(Box<PfifoFast>): PfifoFast;
    /// `htb`.
    Htb(Box<Htb>): Htb;
    /// `hfsc`.
    Hfsc(Box<Hfsc>): Hfsc;
    /// `drr`.
    Drr(Box<Drr>): Drr;
}
