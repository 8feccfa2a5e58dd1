//! `pfifo_fast`: three strict-priority FIFO bands (tc-pfifo_fast(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | no parameters: each band holds the interface's txqueuelen | 1000, Linux's default for Ethernet |
//! | the map from TOS to bands | fixed, as in the kernel |

use super::prio::{DEFAULT_BANDS, PRIOMAP, bands_options};
use super::words::Words;
use super::{Device, Discipline, Grammar, Options, QdiscError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Three bands in strict priority, the first served first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PfifoFast {}

impl Grammar for PfifoFast {
    const DISCIPLINE: Discipline = Discipline {
        name: "pfifo_fast",
        summary: "Three bands of 1000 packets by type of service, each first in, first out; the \
                  first with a packet sends. While a band drains it takes up to 15 fewer: its \
                  places are free again 16 at a time. It has no parameters.",
        source: "tc-pfifo_fast(8); Linux net/sched/sch_generic.c, net/ipv4/route.c",
        parameters: &[],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<PfifoFast, QdiscError> {
        match words.parameter()? {
            None => Ok(PfifoFast {}),
            Some(parameter) => Err(words.unknown(parameter.name)),
        }
    }

    fn check(&self) -> Result<(), QdiscError> {
        Ok(())
    }

    /// The kernel reports it as a prio with fixed parameters.
    fn options(&self, _: Device) -> Options {
        bands_options(DEFAULT_BANDS, &PRIOMAP)
    }
}

impl fmt::Display for PfifoFast {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("pfifo_fast")
    }
}
