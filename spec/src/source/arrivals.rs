//! TCP transfers that start independently of the end of earlier ones, each over a connection of its own.

use super::load::{SHORTEST_S, times};
use super::transfers::check_transfers;
use super::{
    ACKNOWLEDGEMENT_BYTES, Capacity, Carrier, FlowStreams, Form, Key, Load, PACKETS_A_CONNECTION,
    Parameters, Sends, Supply, Testbed, TransferSize, Transfers, Value, Written, form,
};
use crate::SpecError;
use crate::law::Law;
use crate::validate::{law, positive_gap};
use serde::{Deserialize, Serialize};

/// Transfers of many independent users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// From the flow's start to the first transfer, and between consecutive starts.
    pub gap: Law,
    /// Payload of each transfer.
    pub size: Law,
    /// Largest number of transfers; None for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u32>,
}

impl Written for Arrivals {
    const FORM: Form = Form {
        summary: "Transfers that start independently of each other.",
        carrier: Carrier::Tcp,
        sends: Sends::Transfers,
        keys: &[
            Key::new(
                "gap",
                Value::GapLaw,
                "Time before the first transfer, and between consecutive starts: `exponential 5pps` is a Poisson process of five transfers per second.",
            ),
            form::TRANSFER_SIZE,
            form::TRANSFERS,
        ],
        testbed: Testbed::Nothing(
            "transfers at random instants; use a loop that starts iperf3 -n in the background",
        ),
        example: r#"{ kind = "arrivals", gap = "exponential 8pps", size = "exponential 20kB" }"#,
    };
}

impl Parameters for Arrivals {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        check_transfers(path, self.transfers)?;
        law(&format!("{path}.gap"), &self.gap)?;
        positive_gap(&format!("{path}.gap"), &self.gap)?;
        law(&format!("{path}.size"), &self.size)
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        Supply::Transfers(Box::new(Transfers {
            gap: Some(self.gap.clone()),
            most: self.transfers.unwrap_or(u32::MAX),
            ..Transfers::one(TransferSize::Drawn(self.size.clone()), streams)
        }))
    }

    fn load(&self, active_s: f64, capacity: &Capacity) -> Load {
        let share_bytes = capacity.share_bytes;
        let most_transfers = f64::from(self.transfers.unwrap_or(u32::MAX));
        let writes = times(&self.gap, active_s).min(most_transfers);
        // On average half of the time is left for a transfer.
        let most = capacity.most_bytes(active_s / 2.0);
        let size = self.size.mean_below(most.max(1.0)).max(1.0);
        let asked = writes * (size + PACKETS_A_CONNECTION * ACKNOWLEDGEMENT_BYTES);
        // Transfers that cannot be completed as fast as they start accumulate until the end.
        let waiting = writes * (1.0 - share_bytes / asked).max(0.0);
        let open = writes * (capacity.transfer_s(size) / active_s.max(SHORTEST_S)).min(1.0);
        Load {
            writes,
            transfers: writes,
            connections: waiting.max(open) + 1.0,
            bytes: (writes * size).min(share_bytes),
            // A stalled connection retries with exponential backoff.
            small: writes + waiting * libm::log2(1.0 + active_s),
        }
    }
}
