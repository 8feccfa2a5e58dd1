//! As much as TCP takes, from the start to the stop.

use super::{Carrier, FlowStreams, Parameters, Supply, TransferSize, Transfers};
use crate::SpecError;
use serde::{Deserialize, Serialize};

/// It has no parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {}

impl Parameters for Greedy {
    fn check(&self, _: &str) -> Result<(), SpecError> {
        Ok(())
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        Supply::Transfers(Box::new(Transfers::one(TransferSize::Unlimited, streams)))
    }
}
