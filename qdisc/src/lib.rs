//! Queue disciplines.
//!
//! As in Linux, a discipline decides at `enqueue` whether to take a packet and at `dequeue`
//! which one leaves, or when to ask again. Whatever else it does to packets while it is asked
//! (drops some it held, marks one) it writes to `Events`. The device that drives it is
//! `net::link` of the engine.
//!
//! Adding one: its grammar in the crate `dumbbell-tc`, a file here whose state implements
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
pub mod sfq;
pub mod tbf;
mod timers;
pub mod token_bucket;

pub use child::Child;
pub use events::{DropReason, Events};
pub use fq::paces;
pub use passing_time::lets_time_pass;
pub use setting::{Above, DEFAULT_TIMER_HZ, Ends, Setting};
pub use timers::{MOST_UPDATES_A_PACKET, UPDATES_AN_EVENT, timer_period_ns};

use cake::Cake;
use choke::Choke;
use codel::Codel;
use drr::Drr;
use dualpi2::Dualpi2;
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
use sfq::Sfq;
use tbf::Tbf;

/// A discipline and its parameters, as the resolved description writes them. The type is tc's:
/// what the grammar reads is what the engine runs.
pub use dumbbell_tc::Qdisc as Config;
pub use dumbbell_tc::qdisc::filter;

/// What a discipline's file provides.
pub trait Discipline {
    /// Takes the packet or refuses it.
    ///
    /// # Errors
    /// Why this very packet is dropped. Others that it drops are in `events`.
    fn enqueue(&mut self, packet: Packet, now: Time, events: &mut Events)
    -> Result<(), DropReason>;

    /// The packet that leaves at `now`, if any.
    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued;

    /// What `dequeue` would give at this instant, of those that can be looked into; `None` of
    /// others, out of which the one who asks takes a packet to see it (see [`Child`]).
    fn peek(&mut self, _now: Time, _events: &mut Events) -> Option<Dequeued> {
        None
    }

    /// Tells it what was taken out to be looked at and has not left yet. Its limits count that.
    fn set_held(&mut self, _held: Held) {}

    /// Whether, once it has said that nothing leaves before an instant, no packet that comes until then
    /// changes that.
    fn keeps_its_head(&self) -> bool {
        false
    }

    /// Packets and bytes on the wire that it holds, children included, as `tc -s qdisc` counts
    /// them, without what was taken out to be looked at.
    fn backlog(&self) -> (u32, u64);

    /// Every packet it holds, in no particular order.
    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_>;

    /// The part of a packet's stay that was its own transmission inside the discipline. Zero
    /// for those that leave transmission to the link.
    fn own_service_time(&self, _wire_bytes: u32) -> Time {
        Time::ZERO
    }

    /// The longest GSO packet that it takes whole, bytes on the wire; longer ones come to it segment by
    /// segment.
    fn largest_gso_bytes(&self) -> u32 {
        u32::MAX
    }

    /// Its own numbers.
    fn statistics(&self) -> Statistics {
        Statistics::NONE
    }

    /// Which of its queues a packet comes to by what its headers say, as a number that does not change
    /// during a run: a band or a tin from 0, the minor number of a class, 0 for the queue of L4S and 1
    /// for the other. `None` of disciplines with one queue, or with queues by flow alone.
    fn class_of(&self, _packet: &Packet) -> Option<u16> {
        None
    }
}

/// How a discipline comes from its parameters: an empty queue.
pub trait Build<Parameters> {
    /// An empty queue.
    fn build(parameters: &Parameters, setting: &Setting) -> Self;
}

impl<Parameters, State: Build<Parameters>> Build<Parameters> for Box<State> {
    fn build(parameters: &Parameters, setting: &Setting) -> Box<State> {
        Box::new(State::build(parameters, setting))
    }
}

/// What a discipline says when asked for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeued {
    /// This one leaves now.
    Packet(Packet),
    /// None before this instant.
    NotBefore(Time),
    /// The queue is empty.
    Empty,
}

/// What a parent took out of a discipline to look at and keeps (Linux's `gso_skb` of the child,
/// which is counted in its `qlen` and `backlog`): one packet or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// 0 or 1.
    pub packets: u32,
    /// On the wire.
    pub bytes: u64,
}

impl Held {
    /// No packet.
    pub const NOTHING: Held = Held {
        packets: 0,
        bytes: 0,
    };
}

/// A discipline's own numbers, besides what every queue counts; columns of `queue_samples`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// Probability with which a packet that arrives is dropped or marked; NaN for those that
    /// have none.
    pub drop_probability: f64,
    /// Its own estimate of the queueing delay.
    pub delay_estimate: Option<Time>,
}

impl Statistics {
    /// Of a discipline that estimates nothing.
    pub const NONE: Statistics = Statistics {
        drop_probability: f64::NAN,
        delay_estimate: None,
    };
}

/// The enum of all disciplines, and what must go through each of them. A line is the variant, its
/// state, and the words of tc that mean it.
macro_rules! disciplines {
    ($($(#[$doc:meta])* $variant:ident($state:ty): $($kind:ident),+;)+) => {
        /// A discipline with its state. An enum rather than a trait object: the plain FIFO is on
        /// the path of every packet. All others are boxed, to keep it small.
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
            /// As there.
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
