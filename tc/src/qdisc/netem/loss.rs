//! Loss models of netem.

use super::options::{correlation_text, share};
use super::parameters::LOSS;
use super::{ALL_PPB, Netem};
use crate::qdisc::words::Words;
use crate::qdisc::{Field, Fields, Grammar, Options, Parameter, QdiscError};
use crate::units::in_tc::format_percent;
use crate::units::shown;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A loss model. All probabilities in parts per billion, at most [`ALL_PPB`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Loss {
    /// Random loss.
    Random {
        /// Loss probability of a packet.
        probability_ppb: u32,
        /// Correlation of its random number with the previous one.
        correlation_ppb: u32,
    },
    /// A Markov chain of four states (Salsano, Ludovici, Ordine and Giannuzzi, "Definition of a
    /// general and intuitive loss model for packet networks", 2012): 1 received in a gap, 2
    /// received in a burst, 3 lost in a burst, 4 lost alone in a gap.
    State {
        /// From a gap into a burst of losses.
        p13_ppb: u32,
        /// From a burst back into a gap.
        p31_ppb: u32,
        /// From lost to received within a burst.
        p32_ppb: u32,
        /// From received to lost within a burst.
        p23_ppb: u32,
        /// Lost alone in a gap.
        p14_ppb: u32,
    },
    /// A Markov chain of a good and a bad state, each with its own loss (Gilbert 1960, Elliott
    /// 1963).
    Gemodel {
        /// p, from the good to the bad state.
        p_ppb: u32,
        /// r, from the bad to the good state.
        r_ppb: u32,
        /// 1 - h, loss probability in the bad state.
        loss_in_bad_ppb: u32,
        /// 1 - k, loss probability in the good state.
        loss_in_good_ppb: u32,
    },
}

impl Loss {
    /// Parses the values of `loss`, with tc's defaults, and whether a correlation is given; `before_ppb` is
    /// the previous correlation.
    pub(super) fn parse(
        words: &mut Words,
        parameter: &'static Parameter,
        before_ppb: u32,
    ) -> Result<(Loss, bool), QdiscError> {
        match words.model(parameter, &["random", "state", "gemodel"])? {
            Some("state") => Ok((Loss::parse_state(words, parameter)?, false)),
            Some("gemodel") => Ok((Loss::parse_gemodel(words, parameter)?, false)),
            _ => {
                let probability_ppb = words.percent_ppb(parameter)?;
                let correlation = words.further_percent_ppb(parameter)?;
                let loss = Loss::Random {
                    probability_ppb,
                    correlation_ppb: correlation.unwrap_or(before_ppb),
                };
                Ok((loss, correlation.is_some()))
            }
        }
    }

    fn parse_state(words: &mut Words, parameter: &'static Parameter) -> Result<Loss, QdiscError> {
        let p13_ppb = words.percent_ppb(parameter)?;
        let [p31, p32, p23, p14] = further(words, parameter)?;
        Ok(Loss::State {
            p13_ppb,
            p31_ppb: p31.unwrap_or(ALL_PPB - p13_ppb),
            p32_ppb: p32.unwrap_or(0),
            p23_ppb: p23.unwrap_or(ALL_PPB),
            p14_ppb: p14.unwrap_or(0),
        })
    }

    fn parse_gemodel(words: &mut Words, parameter: &'static Parameter) -> Result<Loss, QdiscError> {
        let p_ppb = words.percent_ppb(parameter)?;
        let [r, loss_in_bad, loss_in_good] = further(words, parameter)?;
        Ok(Loss::Gemodel {
            p_ppb,
            r_ppb: r.unwrap_or(ALL_PPB - p_ppb),
            loss_in_bad_ppb: loss_in_bad.unwrap_or(ALL_PPB),
            loss_in_good_ppb: loss_in_good.unwrap_or(0),
        })
    }

    pub(super) fn check(&self) -> Result<(), QdiscError> {
        match self.values_ppb().iter().find(|ppb| **ppb > ALL_PPB) {
            Some(ppb) => Err(Netem::DISCIPLINE.out_of_range(&LOSS, ppb)),
            None => Ok(()),
        }
    }

    /// Whether tc treats it as no model.
    pub(super) fn is_none(&self) -> bool {
        matches!(
            self,
            Loss::Random {
                probability_ppb: 0,
                ..
            }
        )
    }

    /// Adds the model as tc prints it.
    pub(super) fn show(&self, options: Options) -> Options {
        let (key, model, words): (_, _, &[&'static str]) = match *self {
            Loss::Random {
                probability_ppb,
                correlation_ppb,
            } => {
                let correlation = correlation_text(correlation_ppb);
                let text = format!(" loss {}{correlation}", shown::percent(probability_ppb));
                let fields = vec![
                    ("loss", share(probability_ppb)),
                    ("correlation", share(correlation_ppb)),
                ];
                return options.show("loss-random", Field::Fields(Fields(fields)), &text);
            }
            Loss::State { .. } => ("loss-state", "state", &["p13", "p31", "p32", "p23", "p14"]),
            Loss::Gemodel { .. } => ("loss-gemodel", "gemodel", &["p", "r", "1-h", "1-k"]),
        };
        let mut text = format!(" loss {model}");
        let mut fields = Vec::new();
        for (word, ppb) in words.iter().zip(self.values_ppb()) {
            text += &format!(" {word} {}", shown::percent(ppb));
            fields.push((*word, share(ppb)));
        }
        options.show(key, Field::Fields(Fields(fields)), &text)
    }

    /// In the order in which they are typed.
    fn values_ppb(&self) -> Vec<u32> {
        match *self {
            Loss::Random {
                probability_ppb,
                correlation_ppb,
            } => vec![probability_ppb, correlation_ppb],
            Loss::State {
                p13_ppb,
                p31_ppb,
                p32_ppb,
                p23_ppb,
                p14_ppb,
            } => vec![p13_ppb, p31_ppb, p32_ppb, p23_ppb, p14_ppb],
            Loss::Gemodel {
                p_ppb,
                r_ppb,
                loss_in_bad_ppb,
                loss_in_good_ppb,
            } => vec![p_ppb, r_ppb, loss_in_bad_ppb, loss_in_good_ppb],
        }
    }
}

/// Up to `N` further percentages.
fn further<const N: usize>(
    words: &mut Words,
    parameter: &'static Parameter,
) -> Result<[Option<u32>; N], QdiscError> {
    let mut values = [None; N];
    for value in &mut values {
        *value = words.further_percent_ppb(parameter)?;
    }
    Ok(values)
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (model, shortest) = match self {
            Loss::Random { .. } => ("random", 1),
            Loss::State { .. } => ("state", 5),
            Loss::Gemodel { .. } => ("gemodel", 4),
        };
        write!(f, "{model}")?;
        for (index, ppb) in self.values_ppb().into_iter().enumerate() {
            if index < shortest || ppb > 0 {
                write!(f, " {}", format_percent(ppb))?;
            }
        }
        Ok(())
    }
}
