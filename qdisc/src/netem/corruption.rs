//! `corrupt`: selects packets in which a flipped bit is detected (tc-netem(8)).

use super::chance::{Chance, bits};
use dumbbell_core::packet::{Packet, PacketKind};
use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::Netem as Config;

/// The Ethernet header before the IP packet (IEEE 802.3: two addresses of 6 bytes, and the type).
const ETHERNET_BYTES: u32 = 14;
/// The source address: no receiver checks it, so an error in it is harmless.
const HARMLESS_BYTES: u32 = 6;
/// Headers of IP and TCP with the timestamps option, which every segment after the SYN has (RFC 7323 section 3.2).
const TCP_HEADERS_BYTES: u32 = 20 + 32;

/// Random bit errors.
#[derive(Debug, Clone)]
pub(super) struct Corruption {
    chance: Chance,
}

impl Corruption {
    /// None if the share is 0; then nothing is drawn.
    pub(super) fn new(parameters: &Config, stream: &mut Stream) -> Option<Corruption> {
        let (ppb, correlation_ppb) = (parameters.corrupt_ppb, parameters.corrupt_correlation_ppb);
        (ppb > 0).then(|| Corruption {
            chance: Chance::new(ppb, correlation_ppb, stream),
        })
    }

    /// Whether the packet gets a bit error for which its receiver discards it.
    pub(super) fn strikes(&mut self, packet: &Packet, stream: &mut Stream) -> bool {
        if !self.chance.strikes(stream) {
            return false;
        }
        let bytes = match packet.kind() {
            PacketKind::Tcp => TCP_HEADERS_BYTES,
            _ => u32::from(packet.bytes),
        };
        let place = (u64::from(bits(stream)) * u64::from(bytes + ETHERNET_BYTES)) >> 32;
        place >= u64::from(HARMLESS_BYTES)
    }
}
