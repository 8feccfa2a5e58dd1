//! Shared code of disciplines with classes, mainly `prio` and `ets`: classification into bands, the
//! discipline of a band, and dequeueing from several bands.

use super::headers::{self, Filters};
use super::{Child, Config, Dequeued, Setting, priority};
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::filter::Header;
use dumbbell_tc::qdisc::{Filter, Pfifo};

/// `DEFAULT_TX_QUEUE_LEN` of an Ethernet or veth device.
pub const TXQUEUELEN: Pfifo = Pfifo {
    limit_packets: 1000,
};

/// Classifies packets: by the first matching filter, else by the priority that Linux derives from the TOS
/// byte.
#[derive(Debug, Clone)]
pub struct Classifier {
    filters: Filters,
    band_of_priority: [u8; 16],
    bands: usize,
}

impl Classifier {
    /// A classifier for this number of bands.
    pub fn new(
        filters: &[Filter],
        band_of_priority: [u8; 16],
        bands: usize,
        setting: &Setting,
    ) -> Classifier {
        Classifier {
            filters: Filters::new(filters, &setting.headers),
            band_of_priority,
            bands,
        }
    }

    /// The band of a packet, from 0.
    pub fn band_of(&self, packet: &Packet) -> usize {
        let filter = self.filters.first(packet);
        let tos = packet.traffic_class;
        band(filter, tos, self.bands, &self.band_of_priority)
    }
}

/// The band of packets with these headers, from 0.
pub fn band_of_header(
    header: &Header,
    filters: &[Filter],
    bands: usize,
    of_priority: &[u8; 16],
) -> usize {
    let filter = headers::first(filters, header);
    band(filter, header.tos, bands, of_priority)
}

/// The band, from 0, that a filter names, or that of the priority by TOS. A filter that names no band means
/// priority 0.
fn band(filter: Option<&Filter>, tos: u8, bands: usize, of_priority: &[u8; 16]) -> usize {
    let priority = match filter {
        Some(filter) => {
            let band = usize::from(filter.minor).wrapping_sub(1);
            if band < bands {
                return band;
            }
            0
        }
        None => priority::of_tos(tos),
    };
    usize::from(of_priority[usize::from(priority)])
}

/// The bands, initially empty: each with its discipline, or a `pfifo` of the interface's queue length.
pub fn bands_of(children: &[Option<Box<Config>>], setting: &Setting) -> Vec<Child> {
    let default = Config::Pfifo(TXQUEUELEN);
    let bands = children.iter().zip(1..).map(|(child, minor)| {
        let setting = setting.child(&format!("{minor:x}"));
        Child::new(child.as_deref().unwrap_or(&default), &setting)
    });
    bands.collect()
}

/// The first band's answer that is a packet; otherwise the earliest time of any band.
pub fn first_of(bands: &mut [Child], mut ask: impl FnMut(&mut Child) -> Dequeued) -> Dequeued {
    let mut soonest = Dequeued::Empty;
    for band in bands {
        match ask(band) {
            Dequeued::Packet(packet) => return Dequeued::Packet(packet),
            other => soonest = sooner(soonest, other),
        }
    }
    soonest
}

/// The answer with a packet, of which there is at most one; otherwise the earlier time.
pub fn sooner(one: Dequeued, other: Dequeued) -> Dequeued {
    match (one, other) {
        (Dequeued::NotBefore(one), Dequeued::NotBefore(other)) => {
            Dequeued::NotBefore(Time::min(one, other))
        }
        (Dequeued::Empty, other) | (_, other @ Dequeued::Packet(_)) => other,
        (one, _) => one,
    }
}

/// Packets and bytes of all bands.
pub fn backlog_of(bands: &[Child]) -> (u32, u64) {
    let bands = bands.iter().map(Child::backlog);
    bands.fold((0, 0), |all, band| (all.0 + band.0, all.1 + band.1))
}
