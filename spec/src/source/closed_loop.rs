//! Consecutive TCP transfers, each over a connection of its own, with a think time before each.

use super::load::SHORTEST_S;
use super::transfers::check_transfers;
use super::{
    Capacity, Carrier, FlowStreams, Form, Key, Load, Parameters, Sends, Supply, Testbed,
    TransferSize, Transfers, Value, Written, form,
};
use crate::SpecError;
use crate::law::Law;
use crate::validate::law;
use serde::{Deserialize, Serialize};

/// A user who requests the next transfer some time after the last one is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedLoop {
    /// Payload of each transfer.
    pub size: Law,
    /// From the end of one transfer to the start of the next, and before the first.
    pub think: Law,
    /// Largest number of transfers; None for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u32>,
}

impl Written for ClosedLoop {
    const FORM: Form = Form {
        summary: "Consecutive transfers with think times.",
        carrier: Carrier::Tcp,
        sends: Sends::Transfers,
        keys: &[
            form::TRANSFER_SIZE,
            Key::new(
                "think",
                Value::GapLaw,
                "Time before the first transfer, and from the end of one to the start of the next, drawn anew for each.",
            ),
            form::TRANSFERS,
        ],
        testbed: Testbed::Nothing("transfers and think times; use Harpoon or a loop of iperf3 -n"),
        example: r#"{ kind = "closed_loop", size = "exponential 20kB", think = "exponential 5pps" }"#,
    };
}

impl Parameters for ClosedLoop {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        check_transfers(path, self.transfers)?;
        law(&format!("{path}.size"), &self.size)?;
        law(&format!("{path}.think"), &self.think)
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        Supply::Transfers(Box::new(Transfers {
            think: Some(self.think.clone()),
            most: self.transfers.unwrap_or(u32::MAX),
            ..Transfers::one(TransferSize::Drawn(self.size.clone()), streams)
        }))
    }

    fn load(&self, active_s: f64, capacity: &Capacity) -> Load {
        let most = capacity.most_bytes(active_s);
        let size = self.size.mean_below(most.max(1.0)).max(1.0);
        let pause = self.think.mean_below(active_s.max(SHORTEST_S));
        let each_s = pause + capacity.transfer_s(size);
        let most_transfers = f64::from(self.transfers.unwrap_or(u32::MAX));
        let transfers = (active_s / each_s + 1.0).min(most_transfers);
        Load {
            transfers,
            small: transfers,
            ..Load::single((transfers * size).min(capacity.share_bytes.max(most)))
        }
    }
}
