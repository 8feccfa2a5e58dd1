//! What happens in one case: settings, what the application writes, what becomes of each packet.

use dumbbell_core::random::Stream;
use dumbbell_tcp::cca::bbr::FIRST_PHASES;
use dumbbell_tcp::cca::{self, Algorithm};
use serde::{Deserialize, Serialize};

/// Sent packets, and acknowledgements, that may meet a fate; later ones arrive.
const FATED: u64 = 120;

/// The least of the round-trip times that are drawn, microseconds.
pub(super) const SHORTEST_RTT_US: u64 = 10_000;
/// The least of the times that a packet takes of the path, microseconds. None of them, nor twice
/// one, is the millisecond in which Linux waits for a larger burst: packetdrill is off by a little,
/// so nobody could say which side of it an acknowledgement is on.
pub(super) const SHORTEST_SPACING_US: u64 = 100;

/// Controllers of the simulator that Linux 6.1 does not have.
const NOT_IN_LINUX: [Algorithm; 2] = [Algorithm::Manual, Algorithm::LedbatPlusPlus];

/// A congestion controller that Linux has by the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Controller(Algorithm);

impl Controller {
    /// All that Linux has, in the order of the registry.
    pub fn all() -> impl Iterator<Item = Controller> {
        let both = { cca::ALL.iter() }.filter(|each| !NOT_IN_LINUX.contains(each));
        both.copied().map(Controller)
    }

    /// Those that do what Linux's do, packet for packet: where none is named one of these is drawn.
    /// What a seed means depends on how many there are.
    pub fn drawn_from() -> impl Iterator<Item = Controller> {
        Controller::all().filter(|each| each.0.is_compared_with_linux())
    }

    /// As `tcp_congestion_control` has it.
    pub fn name(self) -> &'static str {
        self.0.name().expect("those without a name are not Linux's")
    }

    /// Which of the registry.
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

/// What becomes of a packet with data; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It does not arrive.
    Lost,
    /// It arrives so much later, behind others.
    Late(u64),
    /// It arrives, and once more so much later.
    Twice(u64),
    /// It arrives marked (ECN).
    Marked,
}

/// What becomes of an acknowledgement; times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFate {
    /// It does not arrive.
    Lost,
    /// It arrives so much later, and with it all that would have overtaken it.
    Held(u64),
}

/// The application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// After the write before, or the handshake, microseconds.
    pub after_us: u64,
    /// Full segments.
    pub pkts: u64,
}

fn one() -> u32 {
    1
}

fn is_one(segments: &u32) -> bool {
    *segments == 1
}

/// A case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Congestion control.
    pub controller: Controller,
    /// Which of its first phases BBR draws; Linux draws one at random.
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
    /// Segments of one sk_buff at most.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub gso_max_segs: u32,
    /// Round-trip time of an empty path, microseconds.
    pub rtt_us: u64,
    /// Time that a packet takes of the path, microseconds.
    pub spacing_us: u64,
    /// The receiver's window, bytes.
    pub window_bytes: u64,
    /// It acknowledges every second packet.
    pub delays_acks: bool,
    /// What the application does.
    pub writes: Vec<Write>,
    /// And it closes its direction at the end.
    pub closes: bool,
    /// What becomes of the packets with data, by their number in the order of sending.
    pub packets: Vec<(u64, Fate)>,
    /// And of the acknowledgements.
    pub acks: Vec<(u64, AckFate)>,
}

impl Case {
    /// The case of that number.
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
                // Longer than a retransmission timeout: the connection is idle.
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

    /// The same with that congestion controller.
    pub fn with_controller(self, controller: Controller) -> Case {
        Case {
            controller,
            ecn: self.ecn || controller.0.needs_ecn(),
            ..self
        }
    }

    /// The same with sk_buffs of up to `segments` segments.
    pub fn with_gso_max_segs(mut self, segments: u32) -> Case {
        self.gso_max_segs = segments.max(1);
        self
    }

    /// The same with each of BBR's first phases, without those in which nothing differs.
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

    /// What becomes of that packet; None: it arrives.
    pub(super) fn fate(&self, number: u64) -> Option<Fate> {
        let found = self.packets.iter().find(|(which, _)| *which == number);
        found.map(|(_, fate)| *fate)
    }

    /// As above, of an acknowledgement.
    pub(super) fn ack_fate(&self, number: u64) -> Option<AckFate> {
        let found = self.acks.iter().find(|(which, _)| *which == number);
        found.map(|(_, fate)| *fate)
    }
}
