//! The activity of a TCP sender (slow start, recovery, ...), for the activity strip over time.

use crate::cca::{CaState, Phase};
use crate::tcp::sender::Sender;

/// What a sender does. Loss recovery takes precedence over the state of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Activity {
    /// cwnd is below ssthresh (RFC 5681 section 3.1).
    SlowStart = 0,
    /// cwnd is not below ssthresh.
    CongestionAvoidance = 1,
    /// cwnd is being reduced after an ECN echo (`TCP_CA_CWR`).
    WindowReduction = 2,
    /// Fast recovery (`TCP_CA_Recovery`).
    Recovery = 3,
    /// After a retransmission timeout (`TCP_CA_Loss`).
    Loss = 4,
    /// BBR: startup.
    Startup = 5,
    /// BBR: drains the queue built in startup.
    Drain = 6,
    /// BBR: cycles through its gains.
    ProbeBw = 7,
    /// BBR: keeps the pipe nearly empty to measure the minimum round-trip time.
    ProbeRtt = 8,
    /// The window is set by the caller.
    ByHand = 9,
}

impl Activity {
    /// The present activity of a sender.
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
