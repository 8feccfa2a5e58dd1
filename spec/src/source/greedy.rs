//! As much as TCP takes, from the start to the stop.

use super::{
    Carrier, FlowStreams, Form, Parameters, Sends, Supply, Testbed, TransferSize, Transfers,
    Written,
};
use crate::SpecError;
use serde::{Deserialize, Serialize};

/// It has no parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {}

impl Written for Greedy {
    const FORM: Form = Form {
        summary: "As much as TCP takes.",
        carrier: Carrier::Tcp,
        sends: Sends::Bytes,
        keys: &[],
        testbed: Testbed::Iperf3,
        example: r#"{ kind = "greedy" }"#,
    };
}

impl Parameters for Greedy {
    fn check(&self, _: &str) -> Result<(), SpecError> {
        Ok(())
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        Supply::Transfers(Box::new(Transfers::one(TransferSize::Unlimited, streams)))
    }
}
