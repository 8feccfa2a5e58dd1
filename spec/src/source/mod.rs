//! Traffic sources: when hosts send, and how many bytes.
//!
//! Each kind of source has a file with its parameters in the description, its checks, its behaviour during a
//! run, its estimated load, and its syntax. The simulator and the traffic program of the kernel backend share
//! it.
//!
//! To add a source, write a file here whose parameters implement `Parameters` and `Written`, and add a line
//! to the list given to the macro `sources` below.

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

/// The transports that a source can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// UDP only.
    Udp,
    /// TCP only: what it sends depends on what has arrived.
    Tcp,
    /// UDP, or writes to a TCP connection.
    Either,
}

/// The syntax of a source, provided by its file.
pub trait Written {
    /// Its keys and static properties.
    const FORM: Form;
}

/// The behaviour of a source, provided by its file.
pub trait Parameters {
    /// Refuses invalid parameters; `path` is that of the source in the description.
    ///
    /// # Errors
    /// The first parameter outside its range.
    fn check(&self, path: &str) -> Result<(), SpecError>;

    /// What the sizes of its datagrams mean.
    fn size_at(&self) -> SizeAt {
        SizeAt::Payload
    }

    /// Its state at the start of a run.
    fn supply(&self, streams: FlowStreams) -> Supply;

    /// Estimate of what it sends by its own schedule within `active_s` seconds; None if TCP decides.
    fn scheduled(&self, _active_s: f64) -> Option<Scheduled> {
        None
    }

    /// Estimate of what it sends over TCP within `active_s` seconds.
    fn load(&self, active_s: f64, capacity: &Capacity) -> Load {
        match self.scheduled(active_s) {
            Some(scheduled) => Load::of_writes(scheduled, active_s, capacity),
            None => Load::single(capacity.most_bytes(active_s)),
        }
    }
}

/// Declares the enum of all sources. A line is the type of the parameters and the keyword in the description.
macro_rules! sources {
    ($($(#[$doc:meta])* $kind:ident = $word:literal;)+) => {
        /// The traffic of a flow. Gaps are in seconds, sizes in bytes.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Source {
            $($(#[$doc])* #[serde(rename = $word)] $kind($kind),)+
        }

        /// The keywords and forms of all sources.
        pub const FORMS: &[(&str, Form)] = &[$(($word, <$kind as Written>::FORM)),+];

        impl Source {
            /// Its keyword in the description.
            pub fn kind(&self) -> &'static str {
                match self { $(Source::$kind(_) => $word,)+ }
            }

            /// Its syntax.
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
    /// As much as TCP accepts.
    Greedy = "greedy";
    /// One TCP transfer.
    Sized = "sized";
    /// Consecutive transfers.
    ClosedLoop = "closed_loop";
    /// Transfers that start independently of each other.
    Arrivals = "arrivals";
}

/// All sources as exported to Python: JSON, a list of kinds with their forms.
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

/// The behaviour of a source during a run.
#[derive(Debug, Clone)]
pub enum Supply {
    /// It sends by its own schedule, independent of the network.
    Schedule(Box<Generator>),
    /// It hands transfers to TCP.
    Transfers(Box<Transfers>),
}

/// Draws instants and sizes of a flow, independent of the network.
pub trait Draws {
    /// Time from the flow's start to its first packet, or to the next packet; None if there are no more.
    fn next_gap(&mut self) -> Option<Time>;

    /// The size of the packet that is due, bytes.
    fn next_size(&mut self) -> u32;
}

/// Declares the enum of generators. A line is a variant and its state.
macro_rules! generators {
    ($($(#[$doc:meta])* $variant:ident($state:ty);)+) => {
        /// Draws instants and sizes of a flow. An enum rather than a trait object, because it is called twice
        /// per packet.
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
    /// A generator in its initial state.
    ///
    /// # Panics
    /// For a source without a schedule of its own.
    pub fn new(source: &Source, streams: FlowStreams) -> Generator {
        match source.parameters().supply(streams) {
            Supply::Schedule(generator) => *generator,
            Supply::Transfers(_) => unreachable!("TCP decides when this source sends"),
        }
    }
}

/// The two random streams of a flow, named after it. An unrelated flow cannot change its draws, and changing
/// the law of sizes leaves the arrival times unchanged.
#[derive(Debug, Clone)]
pub struct FlowStreams {
    /// Stream of gaps.
    pub gap: Stream,
    /// Stream of sizes.
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
