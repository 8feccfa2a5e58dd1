//! The activity of a TCP sender (slow start, recovery, ...), as a strip over time shows it.

use crate::cca::{CaState, Phase};
use crate::tcp::sender::Sender;

/// What a sender does. Recovery from a loss goes before what its controller does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Activity {
    /// The window is below the threshold (RFC 5681 section 3.1).
    SlowStart = 0,
    /// It is not.
    CongestionAvoidance = 1,
    /// The window is made smaller after an ECN echo (`TCP_CA_CWR`).
    WindowReduction = 2,
    /// Fast recovery (`TCP_CA_Recovery`).
    Recovery = 3,
    /// After a retransmission timeout (`TCP_CA_Loss`).
    Loss = 4,
    /// BBR doubles its rate.
    Startup = 5,
    /// BBR empties the queue that this built.
    Drain = 6,
    /// BBR cycles through its gains.
    ProbeBw = 7,
    /// BBR keeps the pipe empty to measure the round trip.
    ProbeRtt = 8,
    /// The window is set by hand.
    ByHand = 9,
}

impl Activity {
    /// Of a sender now.
    pub fn of(sender: &Sender) -> Activity {
        match (sender.state(), sender.cca().phase()) {
            (CaState::Cwr, _) => Activity::WindowReduction,
            (CaState::Recovery, _) => Activity::Recovery,
            (CaState::Loss, _) => Activity::Loss,
            (CaState::Open | CaState::Disorder, Some(phase)) => match phase {
                Phase::Startup => Activity::Startup,
                Phase::Drain => Activity::Drain,
                Phase::ProbeBw => Activity::ProbeBw,
                Phase::ProbeRtt => Activity::ProbeRtt,
                Phase::ByHand => Activity::ByHand,
            },
            (CaState::Open | CaState::Disorder, None) if sender.window().is_in_slow_start() => {
                Activity::SlowStart
            }
            (CaState::Open | CaState::Disorder, None) => Activity::CongestionAvoidance,
        }
    }
}
