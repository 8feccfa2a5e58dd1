//! One transfer over TCP.

use super::{
    Capacity, Carrier, FlowStreams, Form, Key, LARGEST_TRANSFER_BYTES, Load, Parameters, Sends,
    Supply, Testbed, TransferSize, Transfers, Value, Written,
};
use crate::SpecError;
use crate::validate::require;
use serde::{Deserialize, Serialize};

/// One transfer that starts at the flow's start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sized {
    /// Payload.
    pub bytes: u64,
}

impl Written for Sized {
    const FORM: Form = Form {
        summary: "One transfer.",
        carrier: Carrier::Tcp,
        sends: Sends::Transfers,
        keys: &[Key::new("size", Value::Size, "Payload of the transfer.").resolved_as("bytes")],
        testbed: Testbed::Iperf3,
        example: r#"{ kind = "sized", size = "300kB" }"#,
    };
}

impl Parameters for Sized {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        let allowed = "from 1 byte to 1 PB";
        let in_range = (1..=LARGEST_TRANSFER_BYTES).contains(&self.bytes);
        require(in_range, &format!("{path}.bytes"), self.bytes, allowed)
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        let size = TransferSize::Fixed(self.bytes);
        Supply::Transfers(Box::new(Transfers::one(size, streams)))
    }

    fn load(&self, active_s: f64, capacity: &Capacity) -> Load {
        Load::single(capacity.most_bytes(active_s).min(self.bytes as f64))
    }
}
