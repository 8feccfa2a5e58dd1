//! What a link adds to a packet, as cake's words say it (tc-cake(8), "Overhead compensation
//! parameters").

use serde::{Deserialize, Serialize};

/// How a link carries a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkLayer {
    /// Whole.
    #[default]
    Noatm,
    /// In cells of 53 bytes, of which 48 are payload.
    Atm,
    /// With a byte more for each 64, or part of them.
    Ptm,
}

impl LinkLayer {
    /// Its word.
    pub(super) fn word(self) -> &'static str {
        match self {
            LinkLayer::Noatm => "noatm",
            LinkLayer::Atm => "atm",
            LinkLayer::Ptm => "ptm",
        }
    }
}

/// What a word does to the overhead said before it.
enum Overhead {
    Is(i32),
    Add(i32),
    Stays,
}

/// A word that says how packets are framed: what becomes of the overhead, of the link layer and of the
/// least size.
type Framing = (&'static str, Overhead, Option<LinkLayer>, Option<u32>);

use LinkLayer::{Atm, Noatm, Ptm};
use Overhead::{Add, Is, Stays};

const FRAMINGS: &[Framing] = &[
    ("raw", Is(0), Some(Noatm), None),
    ("conservative", Is(48), Some(Atm), None),
    ("ipoa-vcmux", Add(8), Some(Atm), None),
    ("ipoa-llcsnap", Add(16), Some(Atm), None),
    ("bridged-vcmux", Add(24), Some(Atm), None),
    ("bridged-llcsnap", Add(32), Some(Atm), None),
    ("pppoa-vcmux", Add(10), Some(Atm), None),
    ("pppoa-llc", Add(14), Some(Atm), None),
    ("pppoe-vcmux", Add(32), Some(Atm), None),
    ("pppoe-llcsnap", Add(40), Some(Atm), None),
    ("pppoe-ptm", Add(30), Some(Ptm), None),
    ("bridged-ptm", Add(22), Some(Ptm), None),
    ("via-ethernet", Stays, None, None),
    ("ethernet", Add(38), None, Some(84)),
    ("ether-vlan", Add(4), None, None),
    ("docsis", Add(18), Some(Noatm), Some(64)),
    ("noatm", Stays, Some(Noatm), None),
    ("atm", Stays, Some(Atm), None),
    ("ptm", Stays, Some(Ptm), None),
];

/// What has been said of the framing.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) overhead_bytes: i32,
    pub(super) mpu_bytes: u32,
    pub(super) link_layer: LinkLayer,
    has_overhead: bool,
    has_raw: bool,
}

impl Said {
    /// A number of bytes.
    pub(super) fn overhead(&mut self, bytes: i32) {
        self.overhead_bytes = bytes;
        self.has_overhead = true;
    }

    /// The least size.
    pub(super) fn mpu(&mut self, bytes: u32) {
        self.mpu_bytes = bytes;
    }

    /// One of the words.
    pub(super) fn word(&mut self, word: &str) {
        let Some((name, overhead, layer, mpu)) = FRAMINGS.iter().find(|it| it.0 == word) else {
            return;
        };
        match overhead {
            Is(bytes) => self.overhead(*bytes),
            Add(bytes) => self.overhead(self.overhead_bytes.saturating_add(*bytes)),
            Stays => {}
        }
        self.link_layer = layer.unwrap_or(self.link_layer);
        self.mpu_bytes = mpu.unwrap_or(self.mpu_bytes);
        self.has_raw |= *name == "raw";
    }

    /// Whether the device's own size counts: nothing was said, or `raw`, whatever else was.
    pub(super) fn is_raw(&self) -> bool {
        self.has_raw || !self.has_overhead
    }
}
