//! One case: settings, the application's writes, and the fate of each packet.

use dumbbell_core::random::Stream;
use dumbbell_tcp::cca::bbr::FIRST_PHASES;
use dumbbell_tcp::cca::{self, Algorithm};
use serde::{Deserialize, Serialize};

/// Number of data packets, and of acknowledgements, that may be assigned a fate; later ones arrive.
const FATED: u64 = 120;

/// Shortest round-trip time that is drawn, microseconds.
pub(super) const SHORTEST_RTT_US: u64 = 10_000;
/// Shortest packet spacing of the path that is drawn, microseconds. No spacing, nor twice a
/// spacing, equals the millisecond for which Linux waits to build a larger burst. packetdrill's
/// times are slightly off, so it would be undefined on which side of that millisecond an
/// acknowledgement falls.
pub(super) const SHORTEST_SPACING_US: u64 = 100;

/// Controllers of the simulator that Linux 6.1 does not include.
const NOT_IN_LINUX: [Algorithm; 2] = [Algorithm::Manual, Algorithm::LedbatPlusPlus];

/// A congestion controller that Linux includes under the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Controller(Algorithm);

impl Controller {
    /// All controllers that Linux includes, in the order of the registry.
    pub fn all() -> impl Iterator<Item = Controller> {
        let both = { cca::ALL.iter() }.filter(|each| !NOT_IN_LINUX.contains(each));
        both.copied().map(Controller)
    }

    /// The controllers that match Linux's packet for packet. A case without a named controller
    /// draws one of these, so the meaning of a seed depends on their number.
    pub fn drawn_from() -> impl Iterator<Item = Controller> {
        Controller::all().filter(|each| each.0.is_compared_with_linux())
    }

    /// Its name for `tcp_congestion_control`.
    pub fn name(self) -> &'static str {
        self.0.name().expect("those without a name are not Linux's")
    }

    /// Its entry in the registry.
    pub fn algorithm(self) -> Algorithm {
        self.0
    }
}

impl TryFrom<String> for Controller {
    type Error = String;

    fn try_from(name: String) -> Result<Controller, String> {
        let known = Controller::all().find(|each| each.name() == name);
        known.ok_or_else(|| {
            let names: Vec<&str> = Controller::all().map(Controller::name).collect();
            format!("unknown controller {name:?}: one of {}", names.join(", "))
        })
    }
}

impl From<Controller> for String {
    fn from(controller: Controller) -> String {
        controller.name().to_owned()
    }
}

/// Fate of a data packet; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It arrives this much later, reordered behind others.
    Late(u64),
    /// It arrives, and a duplicate arrives this much later.
    Twice(u64),
    /// It arrives marked CE.
    Marked,
}

/// Fate of an acknowledgement; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFate {
    /// It is lost.
    Lost,
    /// It arrives this much later, and delays every acknowledgement that would have overtaken it.
    Held(u64),
}

/// A write of the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Time since the previous write or the handshake, microseconds.
    pub after_us: u64,
    /// Size in full segments.
    pub pkts: u64,
}

fn one() -> u32 {
    1
}

fn is_one(segments: &u32) -> bool {
    *segments == 1
}

/// A test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Congestion control.
    pub controller: Controller,
    /// First phase of BBR's gain cycle; Linux draws it at random.
    pub first_phase: u64,
    /// `tcp_sack`
    pub sack: bool,
    /// `tcp_timestamps`
    pub timestamps: bool,
    /// `tcp_ecn`
    pub ecn: bool,
    /// `tcp_recovery`
    pub rack: bool,
    /// `tcp_early_retrans`
    pub probes: bool,
    /// Maximum number of segments in an sk_buff.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub gso_max_segs: u32,
    /// Round-trip time of an empty path, microseconds.
    pub rtt_us: u64,
    /// Time that the path takes to transmit a packet, microseconds.
    pub spacing_us: u64,
    /// The receiver's window, bytes.
    pub window_bytes: u64,
    /// The receiver acknowledges every second packet.
    pub delays_acks: bool,
    /// Writes of the application.
    pub writes: Vec<Write>,
    /// The application shuts its direction down after the last write.
    pub closes: bool,
    /// Fates of the data packets, by their number in sending order.
    pub packets: Vec<(u64, Fate)>,
    /// Fates of the acknowledgements, by their number in sending order.
    pub acks: Vec<(u64, AckFate)>,
}

impl Case {
    /// Draws the case of this number.
    pub fn drawn(seed: u64, number: u64) -> Case {
        let mut stream = Stream::new(seed, number, "packetdrill/fuzz");
        let mut one_of = |n: u64| stream.below(n);
        let controllers: Vec<Controller> = Controller::drawn_from().collect();
        let controller = controllers[one_of(controllers.len() as u64) as usize];
        let mut case = Case {
            controller,
            first_phase: 0,
            sack: one_of(4) > 0,
            timestamps: one_of(2) > 0,
            ecn: one_of(4) == 0,
            rack: one_of(4) > 0,
            probes: one_of(4) > 0,
            gso_max_segs: 1,
            rtt_us: [SHORTEST_RTT_US, 20_000, 50_000, 100_000, 200_000][one_of(5) as usize],
            spacing_us: [SHORTEST_SPACING_US, 450, 900, 2_000][one_of(4) as usize],
            window_bytes: [400, 400, 400, 20, 8, 4][one_of(6) as usize] * 1000 + one_of(1000),
            delays_acks: one_of(2) > 0,
            writes: Vec::new(),
            closes: one_of(6) == 0,
            packets: Vec::new(),
            acks: Vec::new(),
        };
        let rtt_us = case.rtt_us;
        for _ in 0..=one_of(4) {
            let after_us = match one_of(4) {
                0 => 0,
                1 => one_of(3 * rtt_us),
                2 => one_of(rtt_us / 2),
                // Longer than a retransmission timeout, so the connection becomes idle.
                _ => 300_000 + one_of(1_500_000),
            };
            let most = [3, 12, 40][one_of(3) as usize];
            let pkts = 1 + one_of(most);
            case.writes.push(Write { after_us, pkts });
        }
        let per_1000 = [0, 20, 60, 150, 300][one_of(5) as usize];
        let burst_at = (one_of(3) == 0).then(|| one_of(30));
        let burst_pkts = 1 + one_of(8);
        for number in 0..FATED {
            if burst_at.is_some_and(|at| number >= at && number < at + burst_pkts) {
                case.packets.push((number, Fate::Lost));
            } else if one_of(1000) < per_1000 {
                let fate = match one_of(8) {
                    0 | 1 => Fate::Late(1 + one_of(8 * case.spacing_us)),
                    2 => Fate::Late(one_of(2 * rtt_us)),
                    3 => Fate::Twice(one_of(rtt_us)),
                    4 if case.ecn => Fate::Marked,
                    _ => Fate::Lost,
                };
                case.packets.push((number, fate));
            }
        }
        let acks_per_1000 = [0, 0, 50, 200][one_of(4) as usize];
        for number in 0..FATED {
            if one_of(1000) < acks_per_1000 {
                let fate = match one_of(3) {
                    0 => AckFate::Held(one_of(rtt_us)),
                    _ => AckFate::Lost,
                };
                case.acks.push((number, fate));
            }
        }
        case
    }

    /// The same case with this congestion controller.
    pub fn with_controller(self, controller: Controller) -> Case {
        Case {
            controller,
            ecn: self.ecn || controller.0.needs_ecn(),
            ..self
        }
    }

    /// The same case with sk_buffs of up to `segments` segments.
    pub fn with_gso_max_segs(mut self, segments: u32) -> Case {
        self.gso_max_segs = segments.max(1);
        self
    }

    /// The same case with each first phase of BBR; phases that make no difference are left out.
    pub fn with_each_phase(&self) -> Vec<Case> {
        let mut found: Vec<(Case, String)> = Vec::new();
        for first_phase in 0..FIRST_PHASES {
            let case = Case {
                first_phase,
                ..self.clone()
            };
            let script = case.played().script;
            if found.iter().all(|(_, known)| *known != script) {
                found.push((case, script));
            }
        }
        found.into_iter().map(|(case, _)| case).collect()
    }

    /// Fate of a data packet; None: it arrives.
    pub(super) fn fate(&self, number: u64) -> Option<Fate> {
        let found = self.packets.iter().find(|(which, _)| *which == number);
        found.map(|(_, fate)| *fate)
    }

    /// Fate of an acknowledgement; None: it arrives.
    pub(super) fn ack_fate(&self, number: u64) -> Option<AckFate> {
        let found = self.acks.iter().find(|(which, _)| *which == number);
        found.map(|(_, fate)| *fate)
    }
}
