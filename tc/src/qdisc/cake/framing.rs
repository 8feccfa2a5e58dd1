//! Framing of packets on a link, by cake's keywords (tc-cake(8), "Overhead compensation parameters").

use serde::{Deserialize, Serialize};

/// How a link frames a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkLayer {
    /// No cells.
    #[default]
    Noatm,
    /// Cells of 53 bytes with 48 bytes of payload.
    Atm,
    /// One extra byte for every 64 bytes or part of them.
    Ptm,
}

impl LinkLayer {
    /// Its keyword.
    pub(super) fn word(self) -> &'static str {
        match self {
            LinkLayer::Noatm => "noatm",
            LinkLayer::Atm => "atm",
            LinkLayer::Ptm => "ptm",
        }
    }
}

/// How a keyword changes the overhead given before it.
enum Overhead {
    Is(i32),
    Add(i32),
    Stays,
}

/// A framing keyword: its effect on the overhead, the link layer and the minimum size.
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

/// The framing parameters read so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) overhead_bytes: i32,
    pub(super) mpu_bytes: u32,
    pub(super) link_layer: LinkLayer,
    has_overhead: bool,
    has_raw: bool,
}

impl Said {
    /// `overhead` with a number of bytes.
    pub(super) fn overhead(&mut self, bytes: i32) {
        self.overhead_bytes = bytes;
        self.has_overhead = true;
    }

    /// `mpu` with a number of bytes.
    pub(super) fn mpu(&mut self, bytes: u32) {
        self.mpu_bytes = bytes;
    }

    /// A framing keyword.
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

    /// Whether the device's packet size counts: no framing parameter was given, or `raw` was.
    pub(super) fn is_raw(&self) -> bool {
        self.has_raw || !self.has_overhead
    }
}
