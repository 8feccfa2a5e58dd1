//! Constant gaps, the first packet at the start.

use super::renewal::Independent;
use super::{
    Carrier, FlowStreams, Form, Generator, Key, Parameters, Scheduled, Sends, Supply, Testbed,
    Value, Written, form,
};
use crate::law::Law;
use crate::validate::{law, positive_gap};
use crate::{SizeAt, SpecError};
use serde::{Deserialize, Serialize};

/// A constant bit rate, if sizes are constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// Between packets.
    pub gap: Law,
    /// Size of a packet.
    pub size: Law,
    /// What the size means.
    pub size_at: SizeAt,
}

impl Written for Cbr {
    const FORM: Form = Form {
        summary: "Constant gaps.",
        carrier: Carrier::Either,
        sends: Sends::Packets,
        keys: &[
            Key::new("gap", Value::ConstantGap, form::MEAN_GAP),
            form::SIZE,
            form::SIZE_AT,
        ],
        testbed: Testbed::ItgSend,
        example: r#"{ kind = "cbr", rate = "200pps", size = "700B" }"#,
    };
}

impl Parameters for Cbr {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        law(&format!("{path}.gap"), &self.gap)?;
        positive_gap(&format!("{path}.gap"), &self.gap)?;
        law(&format!("{path}.size"), &self.size)
    }

    fn size_at(&self) -> SizeAt {
        self.size_at
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        let draws = Independent::new(&self.gap, &self.size, self.size_at, true, streams);
        Supply::Schedule(Box::new(Generator::Independent(draws)))
    }

    fn scheduled(&self, active_s: f64) -> Option<Scheduled> {
        Some(Scheduled::of_laws(&self.gap, &self.size, active_s))
    }
}
