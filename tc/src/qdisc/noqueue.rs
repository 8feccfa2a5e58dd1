//! `noqueue`: no queue; the default of virtual interfaces.
//!
//! | clause | here |
//! | --- | --- |
//! | no parameters | yes |
//! | only at the root: the kernel refuses it in a class | yes |

use super::words::Words;
use super::{Device, Discipline, Grammar, Options, QdiscError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// No queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noqueue {}

impl Grammar for Noqueue {
    const DISCIPLINE: Discipline = Discipline {
        name: "noqueue",
        summary: "No queue: a packet is sent if the link is idle, and dropped if it is busy. It has \
                  no parameters.",
        source: "iproute2 tc/tc.c; Linux net/sched/sch_generic.c, net/core/dev.c",
        parameters: &[],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    const SHOWN: Option<(&str, &str, &str)> = Some(("noqueue", "", "{}"));

    fn parse(words: &mut Words) -> Result<Noqueue, QdiscError> {
        match words.parameter()? {
            None => Ok(Noqueue {}),
            Some(parameter) => Err(words.unknown(parameter.name)),
        }
    }

    fn check(&self) -> Result<(), QdiscError> {
        Ok(())
    }

    fn options(&self, _: Device) -> Options {
        Options::default()
    }
}

impl fmt::Display for Noqueue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("noqueue")
    }
}
