//! The order of events at one instant.

/// Classes of events at one instant, in their order.
pub mod class {
    /// Changes of links; the end of the warm-up. In a chain, recorded arrivals are brought up to this
    /// instant.
    pub const CHANGE: u8 = 0;
    /// A transmission ends, or the discipline has its next packet.
    pub const DEPARTURE: u8 = 1;
    /// A packet arrives at the far end of a link.
    pub const ARRIVAL: u8 = 2;
    /// A source sends.
    pub const SOURCE: u8 = 3;
    /// A sample is taken.
    pub const SAMPLE: u8 = 4;
}

/// The position of an event among those of its instant: by class, then component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn(pub u64);

impl Turn {
    /// The first turn of all.
    pub const FIRST: Turn = Turn(0);

    /// The first turn of a class.
    pub const fn first_of(class: u8) -> Turn {
        Turn((class as u64) << 32)
    }

    /// The turn of a component's event of this class.
    #[inline(always)]
    pub fn new(class: u8, component: u32) -> Turn {
        Turn(u64::from(class) << 32 | u64::from(component))
    }

    /// The class.
    #[inline(always)]
    pub fn class(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// The component.
    #[inline(always)]
    pub fn component(self) -> u32 {
        self.0 as u32
    }
}
