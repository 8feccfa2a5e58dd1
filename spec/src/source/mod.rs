//! What hosts send: when, and how many bytes.
//!
//! Each kind of source has a file: its parameters as the description has them, what it refuses, what
//! it does while it runs, how much that is about, and how it is written. The simulator and the traffic program of the
//! kernel backend use the same.
//!
//! Adding one: a file here whose parameters implement `Parameters` and `Written`, and a line in the list given to
//! the macro `sources` below.

mod arrivals;
mod bursts;
mod cbr;
mod closed_loop;
mod ditg;
mod form;
mod greedy;
mod load;
mod poisson;
mod renewal;
mod replay;
mod sized;
mod transfers;

pub use crate::key::{Key, Presence, Value};
pub use arrivals::Arrivals;
pub use bursts::Bursts;
pub use cbr::Cbr;
pub use closed_loop::ClosedLoop;
pub use ditg::Ditg;
pub use form::{Form, Sends, Testbed};
pub use greedy::Greedy;
pub use load::{ACKNOWLEDGEMENT_BYTES, Capacity, Load, PACKETS_A_CONNECTION, Scheduled};
pub use poisson::Poisson;
pub use renewal::Renewal;
pub use replay::Replay;
pub use sized::Sized;
pub use transfers::{FirstWrite, LARGEST_TRANSFER_BYTES, TransferSize, Transfers, transfer_bytes};

use crate::{SizeAt, SpecError};
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use serde::{Deserialize, Serialize};

/// What can carry a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// Datagrams only.
    Udp,
    /// A byte stream only: what it sends depends on what has arrived.
    Tcp,
    /// Datagrams, or a connection to which it writes.
    Either,
}

/// How a source is written, which its file provides.
pub trait Written {
    /// Its keys, and what else is to be known of it without running it.
    const FORM: Form;
}

/// What a source's file provides.
pub trait Parameters {
    /// Refuses what cannot be sent; `path` is where the source stands in the description.
    ///
    /// # Errors
    /// The first parameter outside its range.
    fn check(&self, path: &str) -> Result<(), SpecError>;

    /// What the sizes of its datagrams mean.
    fn size_at(&self) -> SizeAt {
        SizeAt::Payload
    }

    /// What it does while it runs, at the beginning.
    fn supply(&self, streams: FlowStreams) -> Supply;

    /// What it sends by a schedule of its own within `active_s` seconds, about; None where TCP
    /// decides.
    fn scheduled(&self, _active_s: f64) -> Option<Scheduled> {
        None
    }

    /// What it sends over TCP within `active_s` seconds, about.
    fn load(&self, active_s: f64, capacity: &Capacity) -> Load {
        match self.scheduled(active_s) {
            Some(scheduled) => Load::of_writes(scheduled, active_s, capacity),
            None => Load::single(capacity.most_bytes(active_s)),
        }
    }
}

/// The enum of all sources. A line is the type of its parameters, and its word in the description.
macro_rules! sources {
    ($($(#[$doc:meta])* $kind:ident = $word:literal;)+) => {
        /// What a flow sends. Gaps are in seconds, sizes in bytes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Source {
            $($(#[$doc])* #[serde(rename = $word)] $kind($kind),)+
        }

        /// The words of all sources, and how each is written.
        pub const FORMS: &[(&str, Form)] = &[$(($word, <$kind as Written>::FORM)),+];

        impl Source {
            /// Its word in the description.
            pub fn kind(&self) -> &'static str {
                match self { $(Source::$kind(_) => $word,)+ }
            }

            /// How it is written.
            pub fn form(&self) -> Form {
                match self { $(Source::$kind(_) => <$kind as Written>::FORM,)+ }
            }

            /// Its parameters.
            pub fn parameters(&self) -> &dyn Parameters {
                match self { $(Source::$kind(parameters) => parameters,)+ }
            }
        }
    };
}

sources! {
    /// Exponential gaps.
    Poisson = "poisson";
    /// Gaps from any law.
    Renewal = "renewal";
    /// Constant gaps.
    Cbr = "cbr";
    /// What ITGSend sends.
    Ditg = "ditg";
    /// A recorded trace.
    Replay = "replay";
    /// Several packets at one instant.
    Bursts = "bursts";
    /// As much as TCP takes.
    Greedy = "greedy";
    /// One transfer over TCP.
    Sized = "sized";
    /// Transfers one after the other.
    ClosedLoop = "closed_loop";
    /// Transfers that begin whether or not earlier ones are over.
    Arrivals = "arrivals";
}

/// All sources for the module that Python sees: JSON, a list of kinds with their forms.
pub fn forms_json() -> String {
    #[derive(Serialize)]
    struct Listed {
        kind: &'static str,
        #[serde(flatten)]
        form: Form,
    }
    let listed: Vec<Listed> = { FORMS.iter() }
        .map(|&(kind, form)| Listed { kind, form })
        .collect();
    serde_json::to_string(&listed).expect("words and lists of words are JSON")
}

/// What a source does while it runs.
#[derive(Debug, Clone)]
pub enum Supply {
    /// It decides itself when to send, whatever the network does.
    Schedule(Box<Generator>),
    /// It hands TCP transfers.
    Transfers(Box<Transfers>),
}

/// Draws of instants and sizes of one flow. They know nothing of the network.
pub trait Draws {
    /// From the flow's start to its first packet, or from one packet to the next; None when
    /// there are no more.
    fn next_gap(&mut self) -> Option<Time>;

    /// The size of the packet that is due, bytes.
    fn next_size(&mut self) -> u32;
}

/// The enum of what draws instants and sizes. A line is a variant and its state.
macro_rules! generators {
    ($($(#[$doc:meta])* $variant:ident($state:ty);)+) => {
        /// Draws instants and sizes for one flow. An enum rather than a trait object: it is asked
        /// twice a packet.
        #[derive(Debug, Clone)]
        pub enum Generator {
            $($(#[$doc])* $variant($state),)+
        }

        impl Generator {
            /// See [`Draws::next_gap`].
            #[inline(always)]
            pub fn next_gap(&mut self) -> Option<Time> {
                match self { $(Generator::$variant(state) => state.next_gap(),)+ }
            }

            /// See [`Draws::next_size`].
            #[inline(always)]
            pub fn next_size(&mut self) -> u32 {
                match self { $(Generator::$variant(state) => state.next_size(),)+ }
            }
        }
    };
}

generators! {
    /// Independent gaps and sizes.
    Independent(renewal::Independent);
    /// ITGSend.
    ItgSend(ditg::ItgSend);
    /// A recorded trace.
    Trace(replay::Trace);
    /// Several packets at one instant.
    InBursts(bursts::InBursts);
}

impl Generator {
    /// A generator at its beginning.
    ///
    /// # Panics
    /// For a source that does not decide itself when to send.
    pub fn new(source: &Source, streams: FlowStreams) -> Generator {
        match source.parameters().supply(streams) {
            Supply::Schedule(generator) => *generator,
            Supply::Transfers(_) => unreachable!("TCP decides when this source sends"),
        }
    }
}

/// The two random streams of a flow, named after it: an unrelated flow cannot move its draws,
/// and changing the law of sizes leaves the arrival times as they were.
#[derive(Debug, Clone)]
pub struct FlowStreams {
    /// Of gaps.
    pub gap: Stream,
    /// Of sizes.
    pub size: Stream,
}

impl FlowStreams {
    /// Streams `flow/NAME/gap` and `flow/NAME/size`.
    pub fn new(seed: u64, replication: u64, name: &str) -> FlowStreams {
        let stream = |what: &str| Stream::new(seed, replication, &format!("flow/{name}/{what}"));
        FlowStreams {
            gap: stream("gap"),
            size: stream("size"),
        }
    }
}
