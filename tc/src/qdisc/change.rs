//! `tc qdisc change`: changes parameters of an existing discipline (tc(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | `codel`, `fq`, `fq_codel`, `pie`, `fq_pie`, `cake`, `dualpi2`: parameters not given keep their values | yes |
//! | `pfifo`, `bfifo`, `red`, `choke`, `sfb`: parameters not given get tc's default | yes |
//! | `netem`: likewise, but `rate` keeps its value | yes |
//! | `netem` that has a distribution, correlations or slots, which the kernel keeps too | refused |
//! | others | refused |
//! | `qdisc replace` of a discipline of the same kind and handle: likewise | yes |

use super::{Distribution, Netem, Qdisc, QdiscError, parse_one};
use crate::notice::Notice;

/// Why a change is refused: an error of its words, or a reason why it is not read.
pub(super) type Refused = Result<QdiscError, String>;

/// The changed discipline, and notices about the words.
pub(super) fn changed(old: &Qdisc, words: &str) -> Result<(Qdisc, Vec<Notice>), Refused> {
    let (new, notices) = parse_one(words).map_err(Ok)?;
    let name = old.discipline().name;
    if new.discipline().name != name {
        let kind = new.discipline().name;
        return Err(Err(format!(
            "the existing discipline is {name}, not {kind}: use replace"
        )));
    }
    match (old, new) {
        (Qdisc::Netem(old), Qdisc::Netem(new)) => {
            let changed = changed_netem(old, new).map_err(Err)?;
            Ok((Qdisc::Netem(changed), notices))
        }
        (
            _,
            new @ (Qdisc::Pfifo(_)
            | Qdisc::Bfifo(_)
            | Qdisc::Red(_)
            | Qdisc::Choke(_)
            | Qdisc::Sfb(_)),
        ) => Ok((new, notices)),
        (
            old @ (Qdisc::Codel(_)
            | Qdisc::Fq(_)
            | Qdisc::FqCodel(_)
            | Qdisc::Pie(_)
            | Qdisc::FqPie(_)
            | Qdisc::Cake(_)
            | Qdisc::Dualpi2(_)),
            _,
        ) => {
            // If a word is repeated, the last one counts.
            let said = words.trim_start().split_once(char::is_whitespace);
            let said = said.map_or("", |(_, said)| said);
            let (changed, _) = parse_one(&format!("{} {said}", old.words())).map_err(Ok)?;
            Ok((changed, notices))
        }
        _ => Err(Err(format!(
            "change of {name} is not implemented; give the values where it is added"
        ))),
    }
}

fn changed_netem(old: &Netem, new: Netem) -> Result<Netem, String> {
    let keeps_more = old.delay_correlation_ppb > 0
        || old.duplicate_correlation_ppb > 0
        || old.reorder_correlation_ppb > 0
        || old.corrupt_correlation_ppb > 0
        || old.slot.is_some()
        || old.distribution != Distribution::Uniform
        || matches!(
            old.loss,
            Some(super::Loss::Random {
                correlation_ppb: 1..,
                ..
            })
        );
    if keeps_more {
        return Err(
            "netem keeps its distribution, correlations and slots through a change; delete it and \
             add it again"
                .to_owned(),
        );
    }
    let new = Netem {
        child: old.child.clone(),
        ..new
    };
    Ok(match new.rate_bps {
        0 => Netem {
            rate_bps: old.rate_bps,
            packet_overhead_bytes: old.packet_overhead_bytes,
            cell_size_bytes: old.cell_size_bytes,
            cell_overhead_bytes: old.cell_overhead_bytes,
            ..new
        },
        _ => new,
    })
}
