//! The action `police`: a token bucket that passes a packet or drops it, without a queue (tc-police(8),
//! iproute2 `tc/m_police.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `rate RATE`, `burst SIZE` (or `buffer`, `maxburst`): required | yes |
//! | `mtu SIZE` (or `minburst`) | yes; default 2040, from tc's tables |
//! | `peakrate RATE`, with `mtu` | yes |
//! | `drop` (or `shot`) for packets above the rate: required here | yes |
//! | `conform-exceed`, and other verdicts (tc's own default is `reclassify`) | no |
//! | `avrate`, `pkts_rate`, `pkts_burst`, `overhead`, `mpu`, `linklayer`, `index` | no |
//!
//! It is not a discipline: it is placed in front of one, at an interface's `clsact` egress hook.

use super::words::Words;
use super::{Bounds, Discipline, MAX_TEXT_BYTES, Parameter, QdiscError, REQUIRED, Value, tbf};
use crate::notice::Notice;
use crate::reason::Reason;
use crate::units::in_tc::{fits_ticks, is_rate};
use crate::units::{format_rate, format_size, shortened};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Linux's `mtu` if tc gives none: 255 cells of 8 bytes.
const DEFAULT_MTU_BYTES: u64 = 2040;

/// A policer with all its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Police {
    /// Token rate in bit/s, a multiple of 8, at least 8.
    pub rate_bps: u64,
    /// Bucket size in bytes, at least 1.
    pub burst_bytes: u32,
    /// Longer packets are dropped; with a peak rate, the size of its bucket in bytes.
    pub mtu_bytes: u32,
    /// Rate of the second bucket in bit/s, a multiple of 8 above the rate; 0 for none.
    pub peakrate_bps: u64,
}

const RATE: Parameter = Parameter {
    effect: "Token rate: the long-term limit of the rate of passed packets.",
    ..tbf::RATE
};

const BURST: Parameter = Parameter {
    effect: "Bucket size: the bytes that may pass at once after an idle time.",
    ..tbf::BURST
};

const MTU: Parameter = Parameter {
    default: Value::Number(DEFAULT_MTU_BYTES),
    default_source: "tc and Linux: 255 cells of 8 bytes",
    effect: "A longer packet is dropped, link headers counted.",
    ..tbf::MTU
};

const PEAKRATE: Parameter = Parameter {
    effect: "Token rate of the second bucket, whose size is mtu.",
    ..tbf::PEAKRATE
};

const DROP: Parameter = Parameter {
    name: "drop",
    aliases: &["shot"],
    argument: "",
    key: "",
    unit: "flag",
    default: Value::Flag(true),
    default_source: REQUIRED,
    range: "a word without value",
    bounds: Bounds::NONE,
    effect: "Drops packets for which the bucket has too few tokens.",
};

/// The table row as JSON, in the format of [`disciplines_json`](super::disciplines_json).
pub fn police_table_json() -> String {
    // Serialization cannot fail: see Qdisc::to_json.
    serde_json::to_string(&POLICE).unwrap_or_default()
}

/// The table row from which errors and documentation are made.
pub static POLICE: Discipline = Discipline {
    name: "police",
    summary: "Policer: passes packets for which the bucket has tokens and drops the others; no queue.",
    source: "tc-police(8); iproute2 tc/m_police.c; Linux net/sched/act_police.c",
    parameters: &[RATE, BURST, MTU, PEAKRATE, DROP],
    not_implemented: &[
        "avrate",
        "conform-exceed",
        "continue",
        "index",
        "linklayer",
        "mpu",
        "ok",
        "overhead",
        "pass",
        "pipe",
        "pkts_burst",
        "pkts_rate",
        "reclassify",
    ],
    once: &["rate", "burst", "mtu", "peakrate"],
    abbreviated: &[
        "index",
        "burst",
        "peakrate",
        "reclassify",
        "drop",
        "shot",
        "continue",
        "pass",
        "ok",
        "pipe",
        "goto",
        "overhead",
        "linklayer",
        "pkts_rate",
        "pkts_burst",
    ],
};

/// Parses the words after `action` in a filter: `police rate 4mbit burst 10kb drop`, with or without the
/// first word.
///
/// # Errors
/// [`QdiscError`], for text above [`MAX_TEXT_BYTES`], an unknown word, one that is not
/// implemented, a missing or repeated value, or one out of range.
pub fn parse_police(text: &str) -> Result<Police, QdiscError> {
    parse_police_noting(text).map(|(police, _)| police)
}

/// As [`parse_police`], with notices about the text.
///
/// # Errors
/// The errors of [`parse_police`].
pub fn parse_police_noting(text: &str) -> Result<(Police, Vec<Notice>), QdiscError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(QdiscError::TooLong {
            value: shortened(text),
            allowed: format!("at most {MAX_TEXT_BYTES} bytes"),
            hint: None,
        });
    }
    let text = text.trim_ascii();
    let text = text.strip_prefix("action ").unwrap_or(text).trim_ascii();
    let text = text.strip_prefix("police ").unwrap_or(text);
    let ignored = Reason::Ignored;
    let mut words = Words::new(&POLICE, text.split_ascii_whitespace());
    let mut police = Police {
        rate_bps: 0,
        burst_bytes: 0,
        mtu_bytes: 0,
        peakrate_bps: 0,
    };
    while let Some(parameter) = words.parameter()? {
        match parameter.name {
            "rate" => police.rate_bps = words.rate_bps(parameter, Reason::Ignored)?,
            "burst" => police.burst_bytes = words.bucket_bytes(parameter, Reason::Ignored)?,
            "mtu" => police.mtu_bytes = words.bucket_bytes(parameter, ignored)?,
            "peakrate" => police.peakrate_bps = words.rate_bps(parameter, ignored)?,
            _ => {} // drop: required, without value
        }
    }
    words.require_all()?;
    if police.peakrate_bps > 0 {
        words.require(&MTU, " with peakrate")?;
    }
    if police.mtu_bytes == 0 {
        police.mtu_bytes = DEFAULT_MTU_BYTES as u32;
    }
    police.check()?;
    Ok((police, words.into_notices()))
}

impl Police {
    /// As JSON: every parameter, units in the keys.
    pub fn to_json(&self) -> String {
        // Serialization could fail only for a map with keys that are not strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the JSON that [`Police::to_json`] writes; keys may be in any order.
    /// # Errors
    /// [`QdiscError::BadJson`] for missing, unknown or repeated keys and wrong types;
    /// [`QdiscError::OutOfRange`] for values that tc text cannot express.
    pub fn from_json(json: &str) -> Result<Police, QdiscError> {
        let bad_json = |reason: &str| QdiscError::BadJson {
            value: shortened(json),
            reason: shortened(reason),
            allowed: "rate_bps, burst_bytes, mtu_bytes, peakrate_bps".to_owned(),
            hint: None,
        };
        if json.len() > MAX_TEXT_BYTES {
            return Err(bad_json("too long"));
        }
        let police: Police =
            serde_json::from_str(json).map_err(|error| bad_json(&error.to_string()))?;
        police.check()?;
        Ok(police)
    }

    /// Checks that every value is one that [`parse_police`] can produce.
    ///
    /// # Errors
    /// [`QdiscError::OutOfRange`] for the first that is not.
    pub fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value| Err(POLICE.out_of_range(parameter, value));
        if self.rate_bps == 0 || !is_rate(self.rate_bps) {
            return refuse(&RATE, self.rate_bps);
        }
        for (parameter, bytes) in [(&BURST, self.burst_bytes), (&MTU, self.mtu_bytes)] {
            if bytes == 0 {
                return refuse(parameter, 0);
            }
        }
        if !fits_ticks(self.rate_bps, self.burst_bytes) {
            return Err(POLICE.not_taken(&BURST, self.burst_bytes, Reason::Wraps));
        }
        let peak_bps = self.peakrate_bps;
        if peak_bps > 0 && (peak_bps <= self.rate_bps || !is_rate(peak_bps)) {
            return refuse(&PEAKRATE, peak_bps);
        }
        Ok(())
    }
}

/// The tc text after `action`; [`parse_police`] reads it back.
impl fmt::Display for Police {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "police rate {}", format_rate(self.rate_bps))?;
        write!(f, " burst {}", format_size(u64::from(self.burst_bytes)))?;
        write!(f, " mtu {}", format_size(u64::from(self.mtu_bytes)))?;
        if self.peakrate_bps > 0 {
            write!(f, " peakrate {}", format_rate(self.peakrate_bps))?;
        }
        f.write_str(" drop")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_typed_and_as_written() {
        let typed = "action police rate 4mbit burst 10kb drop";
        let police = parse_police(typed).unwrap();
        assert_eq!(
            police,
            Police {
                rate_bps: 4_000_000,
                burst_bytes: 10_240,
                mtu_bytes: 2040,
                peakrate_bps: 0
            }
        );
        let written = "police rate 4mbit burst 10kb mtu 2040b drop";
        assert_eq!(police.to_string(), written);
        assert_eq!(parse_police(written), Ok(police));
        let peak = "police rate 4mbit burst 10kb mtu 2kb peakrate 8mbit drop";
        assert_eq!(parse_police(peak).unwrap().to_string(), peak);
    }

    #[test]
    fn json_is_read_back_and_checked() {
        let police = parse_police("rate 1mbit burst 5kb drop").unwrap();
        assert_eq!(Police::from_json(&police.to_json()), Ok(police));
        let zero = police.to_json().replace("5120", "0");
        assert!(matches!(
            Police::from_json(&zero),
            Err(QdiscError::OutOfRange { .. })
        ));
        assert!(matches!(
            Police::from_json("{}"),
            Err(QdiscError::BadJson { .. })
        ));
    }

    #[test]
    fn what_is_missing_or_not_implemented_is_named() {
        let refused = |text| parse_police(text).expect_err(text);
        assert!(refused("rate 4mbit drop").to_string().contains("burst"));
        assert!(
            refused("rate 4mbit burst 10kb")
                .to_string()
                .contains("drop")
        );
        let peak = refused("rate 4mbit burst 10kb peakrate 8mbit drop");
        assert!(peak.to_string().contains("mtu"), "{peak}");
        let error = refused("rate 4mbit burst 10kb conform-exceed drop");
        assert!(matches!(error, QdiscError::WordNotImplemented { .. }));
        assert_eq!(refused("rat 4mbit").hint(), Some("rate"));
        let slow = refused("rate 4mbit burst 10kb mtu 2kb peakrate 2mbit drop");
        assert!(matches!(slow, QdiscError::OutOfRange { .. }));
        assert!(matches!(
            refused(&"x".repeat(20_000)),
            QdiscError::TooLong { .. }
        ));
    }
}
