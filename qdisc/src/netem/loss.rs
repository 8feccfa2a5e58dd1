//! netem's loss models (`loss_event`).
//!
//! The Markov chains follow Salsano, Ludovici, Ordine and Giannuzzi, "Definition of a general and intuitive
//! loss model for packet networks and its implementation in the Netem module in the Linux kernel" (2012), in
//! the kernel's arithmetic: the sum of two probabilities wraps at one.

use super::chance::{Chance, bits, fraction_of};
use dumbbell_core::random::Stream;
use dumbbell_tc::qdisc::Loss as Config;

/// A loss model and its state.
#[derive(Debug, Clone)]
pub(super) enum Loss {
    /// Nothing is lost.
    None,
    /// Independent or correlated random loss.
    Random(Chance),
    /// The four-state Markov chain.
    State(FourStates),
    /// The Gilbert-Elliott chain.
    Gemodel(GilbertElliott),
}

/// State of the four-state chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChainState {
    ReceivedInGap,
    ReceivedInBurst,
    LostInBurst,
    LostInGap,
}

/// Transition probabilities as 32-bit fractions, named after the states they connect: 1 received in a gap, 2
/// received in a burst, 3 lost in a burst, 4 lost in a gap.
#[derive(Debug, Clone)]
pub(super) struct FourStates {
    place: ChainState,
    p13: u32,
    p14: u32,
    p23: u32,
    p31: u32,
    p32: u32,
}

/// Probabilities as 32-bit fractions.
#[derive(Debug, Clone)]
pub(super) struct GilbertElliott {
    is_bad: bool,
    /// p, from good to bad.
    to_bad: u32,
    /// r, from bad to good.
    to_good: u32,
    /// h, the probability that a packet is received in the bad state.
    received_in_bad: u32,
    /// 1 - k, the probability that a packet is lost in the good state.
    lost_in_good: u32,
}

impl Loss {
    pub(super) fn new(config: Option<&Config>, stream: &mut Stream) -> Loss {
        match config {
            None => Loss::None,
            Some(Config::Random {
                probability_ppb,
                correlation_ppb,
            }) => Loss::Random(Chance::new(*probability_ppb, *correlation_ppb, stream)),
            Some(Config::State {
                p13_ppb,
                p31_ppb,
                p32_ppb,
                p23_ppb,
                p14_ppb,
            }) => Loss::State(FourStates {
                place: ChainState::ReceivedInGap,
                p13: fraction_of(*p13_ppb),
                p14: fraction_of(*p14_ppb),
                p23: fraction_of(*p23_ppb),
                p31: fraction_of(*p31_ppb),
                p32: fraction_of(*p32_ppb),
            }),
            Some(Config::Gemodel {
                p_ppb,
                r_ppb,
                loss_in_bad_ppb,
                loss_in_good_ppb,
            }) => Loss::Gemodel(GilbertElliott {
                is_bad: false,
                to_bad: fraction_of(*p_ppb),
                to_good: fraction_of(*r_ppb),
                received_in_bad: u32::MAX - fraction_of(*loss_in_bad_ppb),
                lost_in_good: fraction_of(*loss_in_good_ppb),
            }),
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(super) fn strikes(&mut self, stream: &mut Stream) -> bool {
        match self {
            Loss::None => false,
            Loss::Random(chance) => chance.strikes(stream),
            Loss::State(chain) => chain.step(bits(stream)),
            Loss::Gemodel(chain) => chain.step(stream),
        }
    }
}

impl FourStates {
    /// Moves to the next state. Returns whether that state loses the packet.
    fn step(&mut self, number: u32) -> bool {
        self.place = match self.place {
            ChainState::ReceivedInGap if number < self.p14 => ChainState::LostInGap,
            ChainState::ReceivedInGap if number < self.p13.wrapping_add(self.p14) => {
                ChainState::LostInBurst
            }
            ChainState::ReceivedInGap => ChainState::ReceivedInGap,
            ChainState::ReceivedInBurst if number < self.p23 => ChainState::LostInBurst,
            ChainState::ReceivedInBurst => ChainState::ReceivedInBurst,
            ChainState::LostInBurst if number < self.p32 => ChainState::ReceivedInBurst,
            ChainState::LostInBurst if number < self.p31.wrapping_add(self.p32) => {
                ChainState::ReceivedInGap
            }
            ChainState::LostInBurst => ChainState::LostInBurst,
            ChainState::LostInGap => ChainState::ReceivedInGap,
        };
        matches!(self.place, ChainState::LostInBurst | ChainState::LostInGap)
    }
}

impl GilbertElliott {
    /// Decides by the state before the transition.
    fn step(&mut self, stream: &mut Stream) -> bool {
        if self.is_bad {
            self.is_bad = bits(stream) >= self.to_good;
            bits(stream) > self.received_in_bad
        } else {
            self.is_bad = bits(stream) < self.to_bad;
            bits(stream) < self.lost_in_good
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    /// Share of packets lost and mean length of a loss burst.
    fn measured(config: &Config) -> (f64, f64) {
        let mut stream = Stream::new(1, 0, "test");
        let mut loss = Loss::new(Some(config), &mut stream);
        let lost: Vec<bool> = (0..PACKETS).map(|_| loss.strikes(&mut stream)).collect();
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| pair[1] && !pair[0]).count() as f64;
        (count / PACKETS as f64, count / bursts)
    }

    fn near(measured: f64, expected: f64, relative: f64) {
        assert!(
            (measured / expected - 1.0).abs() < relative,
            "{measured} is not near {expected}"
        );
    }

    fn percent(percent: f64) -> u32 {
        (percent * 1e7) as u32
    }

    #[test]
    fn independent_losses_come_alone() {
        let (share, burst) = measured(&Config::Random {
            probability_ppb: percent(10.0),
            correlation_ppb: 0,
        });
        near(share, 0.1, 0.02);
        near(burst, 1.0 / 0.9, 0.01);
    }

    /// With correlation 1/2 the number is the sum of U(i) / 2^(i+1). Its distribution function is the Fabius
    /// function: 5/72 at 1/4 and 1/288 at 1/8 (Fabius, "A probabilistic example of a nowhere analytic
    /// C-infinity function", 1966).
    #[test]
    fn correlated_losses_are_fewer_and_come_together() {
        let correlated = |share| Config::Random {
            probability_ppb: percent(share),
            correlation_ppb: percent(50.0),
        };
        let (share, burst) = measured(&correlated(25.0));
        near(share, 5.0 / 72.0, 0.03);
        assert!(burst > 1.2, "{burst}");
        let (share, _) = measured(&correlated(12.5));
        near(share, 1.0 / 288.0, 0.1);
    }

    #[test]
    fn everything_and_nothing() {
        let random = |share| Config::Random {
            probability_ppb: percent(share),
            correlation_ppb: 0,
        };
        assert_eq!(measured(&random(100.0)).0, 1.0);
        assert_eq!(measured(&random(0.0)).0, 0.0);
    }

    /// Gilbert's model: every packet in the bad state is lost, and no other. The loss share is p / (p + r);
    /// the mean burst length is 1 / r.
    #[test]
    fn simple_gilbert() {
        let (share, burst) = measured(&Config::Gemodel {
            p_ppb: percent(2.0),
            r_ppb: percent(25.0),
            loss_in_bad_ppb: percent(100.0),
            loss_in_good_ppb: 0,
        });
        near(share, 0.02 / 0.27, 0.03);
        near(burst, 4.0, 0.03);
    }

    /// Elliott's model: (1 - k) r / (p + r) + (1 - h) p / (p + r).
    #[test]
    fn gilbert_elliott() {
        let (share, _) = measured(&Config::Gemodel {
            p_ppb: percent(1.0),
            r_ppb: percent(10.0),
            loss_in_bad_ppb: percent(70.0),
            loss_in_good_ppb: percent(0.5),
        });
        near(share, (0.005 * 0.1 + 0.7 * 0.01) / 0.11, 0.03);
    }

    /// Stationary ratios to state 1: state 3 is p13 / p31, state 2 is p32 / p23 times state 3, state 4 is
    /// p14.
    #[test]
    fn four_states() {
        let (p13, p31, p32, p23, p14) = (0.02, 0.2, 0.1, 0.4, 0.01);
        let (share, _) = measured(&Config::State {
            p13_ppb: percent(100.0 * p13),
            p31_ppb: percent(100.0 * p31),
            p32_ppb: percent(100.0 * p32),
            p23_ppb: percent(100.0 * p23),
            p14_ppb: percent(100.0 * p14),
        });
        let in_burst = p13 / p31;
        let all = 1.0 + p14 + in_burst * (1.0 + p32 / p23);
        near(share, (in_burst + p14) / all, 0.03);
    }
}
