//! `mq` and `multiq`: a discipline for each hardware queue of a device. A link has one queue, so here they
//! stand for the discipline of their first class (tc-mq(8); Linux Documentation/networking/multiqueue.rst).
//!
//! | clause | here |
//! | --- | --- |
//! | the root; a class for each queue of the device, from 1 | one class |
//! | `parent H:1 KIND`: the discipline of that queue | yes: it is the link's |
//! | without such a line | `mq`: `pfifo_fast`, Linux's own `net.core.default_qdisc`; `multiq`: `pfifo` |
//! | a class above 1, filters, `mq` or `multiq` inside another discipline | refused |
//!
//! The kernel refuses both on a device with one queue. Here they do what the kernel does with the packets of
//! one of several queues.

use super::words::Words;
use super::{Grammar, Pfifo, PfifoFast, Qdisc, QdiscError, kinds};
use crate::notice::Notice;
use crate::units::shortened;

/// `mq` or `multiq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OneQueue {
    pub(super) name: &'static str,
    /// The discipline of a class without a line.
    inside: &'static str,
}

const ALL: [OneQueue; 2] = [
    OneQueue {
        name: "mq",
        inside: "pfifo_fast",
    },
    OneQueue {
        name: "multiq",
        inside: "pfifo",
    },
];

/// The one with this name.
pub(super) fn find(name: &str) -> Option<OneQueue> {
    ALL.into_iter().find(|each| each.name == name)
}

impl OneQueue {
    /// The discipline without further lines, and the notice that a link has one queue. `word` follows the name.
    pub(super) fn parse_alone(
        self,
        word: Option<&str>,
    ) -> Result<(Qdisc, Vec<Notice>), QdiscError> {
        if let Some(word) = word {
            return Err(QdiscError::UnknownWord {
                discipline: self.name,
                value: shortened(word),
                allowed: self.name.to_owned(),
                hint: None,
            });
        }
        let nothing = || "".split_ascii_whitespace();
        let qdisc = match self.inside {
            "pfifo" => {
                Pfifo::parse(&mut Words::new(&Pfifo::DISCIPLINE, nothing())).map(Qdisc::Pfifo)
            }
            "pfifo_fast" => Ok(Qdisc::PfifoFast(PfifoFast {})),
            other => Err(QdiscError::UnknownDiscipline {
                value: other.to_owned(),
                allowed: kinds(),
                hint: None,
            }),
        };
        Ok((qdisc?, vec![self.notice()]))
    }

    fn notice(self) -> Notice {
        Notice::OneQueue {
            value: self.name.to_owned(),
            means: "what is in its class 1".to_owned(),
            without: self.inside,
            instead: "root handle 1: mq; parent 1:1 fq_codel".to_owned(),
        }
    }

    /// The class of a minor number, or why there is none.
    pub(super) fn class(self, minor: u16) -> Result<u16, String> {
        match minor {
            1 => Ok(1),
            _ => Err(format!(
                "a link has one queue, which is class 1 of {}; leave the lines of others out",
                self.name
            )),
        }
    }
}
