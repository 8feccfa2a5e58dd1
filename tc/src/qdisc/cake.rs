//! `cake`: a shaper, tins by DSCP, fairness among hosts and flows, and COBALT in each queue (tc-cake(8),
//! iproute2 `tc/q_cake.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `bandwidth RATE`, `unlimited` (the default) | yes |
//! | `besteffort`, `diffserv3` (the default), `diffserv4` (or `diffserv`), `diffserv8`, `precedence` | yes |
//! | `flowblind`, `srchost`, `dsthost`, `hosts`, `flows`, `dual-srchost`, `dual-dsthost`, `triple-isolate` (the default) | yes |
//! | `rtt TIME` and its eight keywords, `datacentre` (100 us) to `interplanetary` (1000 s); the target is a twentieth, at least 1 us | yes |
//! | `overhead N` (-64 to 256), `mpu N` (0 to 256), `atm`, `ptm`, `noatm`, `raw` | yes |
//! | framing keywords, which add to the overhead: `pppoe-ptm`, `bridged-llcsnap`, `ether-vlan` ... | yes |
//! | `conservative`, `ethernet`, `docsis` | yes |
//! | `via-ethernet`, which tc reads and ignores | yes |
//! | `wash`, `nowash`, `ingress`, `egress`, `split-gso`, `no-split-gso`, `memlimit SIZE` | yes |
//! | `nat`, `nonat` | read, not written back: no address is translated here |
//! | `ack-filter`, `ack-filter-aggressive`, `no-ack-filter` (the default) | yes |
//! | `autorate-ingress`, `fwmark MASK` | no |

use super::codel::{check_time, show_time, time_text};
use super::words::Words;
use super::{Device, Discipline, Field, Grammar, Options, Parameter, QdiscError};
use crate::reason::Reason;
use crate::units::in_tc::is_rate;
use crate::units::{format_rate, format_size, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

mod framing;
mod parameters;

pub use framing::LinkLayer;
use parameters::{
    ACK_FILTER, BANDWIDTH, FLOWS, FRAMING, INGRESS, LINK_LAYER, MEMLIMIT, MPU, NAT, OVERHEAD, RTT,
    RTT_WORDS, SPLIT_GSO, TINS, UNLIMITED, WASH,
};

/// Range of `overhead`, bytes.
const OVERHEADS_BYTES: std::ops::RangeInclusive<i32> = -64..=256;
const MOST_MPU_BYTES: u32 = 256;

/// How packets are assigned to tins (tc-cake(8), "Priority queue parameters").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tins {
    /// One tin.
    Besteffort,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight tins.
    Diffserv8,
    /// Eight tins, by the first three bits of the DSCP.
    Precedence,
}

/// What fairness applies to (tc-cake(8), "Flow isolation parameters").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// No isolation: one queue.
    Flowblind,
    /// Source addresses.
    Srchost,
    /// Destination addresses.
    Dsthost,
    /// Pairs of source and destination address.
    Hosts,
    /// Flows.
    Flows,
    /// Source addresses, then flows of each.
    DualSrchost,
    /// Destination addresses, then flows of each.
    DualDsthost,
    /// Source and destination addresses, then flows of each.
    TripleIsolate,
}

/// Which redundant acknowledgements are dropped (tc-cake(8), "ACK filter parameters").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AckFiltering {
    /// None.
    #[default]
    #[serde(rename = "no-ack-filter")]
    Off,
    /// All but two of a connection.
    #[serde(rename = "ack-filter")]
    Conservative,
    /// All but one of a connection.
    #[serde(rename = "ack-filter-aggressive")]
    Aggressive,
}

impl AckFiltering {
    const WORDS: &[(&str, AckFiltering)] = &[
        ("no-ack-filter", AckFiltering::Off),
        ("ack-filter", AckFiltering::Conservative),
        ("ack-filter-aggressive", AckFiltering::Aggressive),
    ];
}

const TINS_WORDS: &[(&str, Tins)] = &[
    ("diffserv3", Tins::Diffserv3),
    ("besteffort", Tins::Besteffort),
    ("diffserv4", Tins::Diffserv4),
    ("diffserv", Tins::Diffserv4),
    ("diffserv8", Tins::Diffserv8),
    ("precedence", Tins::Precedence),
];

const ISOLATION_WORDS: &[(&str, Isolation)] = &[
    ("triple-isolate", Isolation::TripleIsolate),
    ("flowblind", Isolation::Flowblind),
    ("srchost", Isolation::Srchost),
    ("dsthost", Isolation::Dsthost),
    ("hosts", Isolation::Hosts),
    ("flows", Isolation::Flows),
    ("dual-srchost", Isolation::DualSrchost),
    ("dual-dsthost", Isolation::DualDsthost),
];

const RTTS_US: &[(&str, u32)] = &[
    ("internet", 100_000),
    ("datacentre", 100),
    ("lan", 1000),
    ("metro", 10_000),
    ("regional", 30_000),
    ("oceanic", 300_000),
    ("satellite", 1_000_000),
    ("interplanetary", 1_000_000_000),
];

/// The meaning of a keyword; `None` if it is unknown.
fn meaning<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    let mut words = words.iter();
    words.find(|(known, _)| *known == word).map(|(_, it)| *it)
}

/// The first keyword with a given meaning.
fn word_of<T: PartialEq>(words: &[(&'static str, T)], meaning: &T) -> &'static str {
    let mut words = words.iter();
    words.find(|(_, it)| it == meaning).map_or("", |(it, _)| it)
}

/// Common Applications Kept Enhanced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cake {
    /// Rate of the shaper in bit/s, a multiple of 8; 0 for none.
    pub bandwidth_bps: u64,
    /// How packets are assigned to tins.
    pub tins: Tins,
    /// What fairness applies to.
    pub isolation: Isolation,
    /// Whether the DSCP is cleared.
    pub wash: bool,
    /// Whether dropped packets count in the shaper.
    pub ingress: bool,
    /// Whether GSO packets are split into segments.
    pub split_gso: bool,
    /// Which redundant acknowledgements are dropped; absent in descriptions of version 0.12 and before.
    #[serde(default)]
    pub ack_filter: AckFiltering,
    /// Interval of COBALT, whole microseconds, at least 1 us. The target is a twentieth.
    pub rtt_ns: u64,
    /// Whether the shaper uses the device's packet size (`raw`) instead of the IP size.
    pub raw: bool,
    /// Bytes that the shaper adds to the size of each packet; -64 to 256.
    pub overhead_bytes: i32,
    /// Smallest packet size that the shaper counts; 0 to 256.
    pub mpu_bytes: u32,
    /// Cell framing that the shaper accounts for.
    pub link_layer: LinkLayer,
    /// Limit of kernel memory for packets, bytes. None: 4 round trips at the bandwidth, at least 4 MiB.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub memlimit_bytes: Option<u32>,
}

impl Grammar for Cake {
    const DISCIPLINE: Discipline = Discipline {
        name: "cake",
        summary: "Common Applications Kept Enhanced: a shaper without bursts, tins by DSCP, fair \
                  shares of hosts and of flows within them, and COBALT in each queue.",
        source: "T. Høiland-Jørgensen, D. Täht, J. Morton, Piece of CAKE, LANMAN 2018; \
                 tc-cake(8); iproute2 tc/q_cake.c; Linux net/sched/sch_cake.c",
        parameters: &[
            BANDWIDTH, UNLIMITED, TINS, FLOWS, NAT, WASH, INGRESS, SPLIT_GSO, RTT, RTT_WORDS,
            FRAMING, OVERHEAD, MPU, LINK_LAYER, MEMLIMIT, ACK_FILTER,
        ],
        not_implemented: &["autorate-ingress", "fwmark"],
        once: &["internet"],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Cake, QdiscError> {
        let mut cake = Cake {
            bandwidth_bps: 0,
            tins: Tins::Diffserv3,
            isolation: Isolation::TripleIsolate,
            wash: false,
            ingress: false,
            split_gso: true,
            ack_filter: AckFiltering::Off,
            rtt_ns: RTT.default.number(),
            raw: true,
            overhead_bytes: 0,
            mpu_bytes: 0,
            link_layer: LinkLayer::Noatm,
            memlimit_bytes: None,
        };
        let mut said = framing::Said::default();
        while let Some(parameter) = words.parameter()? {
            let word = words.word();
            match parameter.name {
                "bandwidth" => cake.bandwidth_bps = words.rate_bps(parameter, Reason::Ignored)?,
                "unlimited" => cake.bandwidth_bps = 0,
                "diffserv3" => cake.tins = meaning(TINS_WORDS, word).unwrap_or(cake.tins),
                "triple-isolate" => {
                    cake.isolation = meaning(ISOLATION_WORDS, word).unwrap_or(cake.isolation);
                }
                // No address is translated here, and a kernel without conntrack refuses both keywords.
                "nat" => {}
                "wash" => cake.wash = words.flag(parameter),
                "ingress" => cake.ingress = words.flag(parameter),
                "split-gso" => cake.split_gso = words.flag(parameter),
                "rtt" => cake.rtt_ns = words.time_ns(parameter)?,
                "internet" => {
                    let rtt_us = meaning(RTTS_US, word);
                    cake.rtt_ns = rtt_us.map_or(cake.rtt_ns, |us| 1000 * u64::from(us));
                }
                "overhead" => said.overhead(overhead_bytes(words, parameter)?),
                "mpu" => said.mpu(mpu_bytes(words, parameter)?),
                "raw" | "noatm" => said.word(word),
                "memlimit" => {
                    cake.memlimit_bytes = Some(words.size_bytes(parameter, Reason::Ignored)?);
                }
                "no-ack-filter" => {
                    cake.ack_filter =
                        meaning(AckFiltering::WORDS, word).unwrap_or(AckFiltering::Off);
                }
                other => return Err(words.unknown(other)),
            }
        }
        cake.raw = said.is_raw();
        cake.overhead_bytes = said.overhead_bytes;
        cake.mpu_bytes = said.mpu_bytes;
        cake.link_layer = said.link_layer;
        cake.check()?;
        Ok(cake)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Cake::DISCIPLINE;
        if self.bandwidth_bps > 0 && !is_rate(self.bandwidth_bps) {
            return Err(discipline.out_of_range(&BANDWIDTH, self.bandwidth_bps));
        }
        if !OVERHEADS_BYTES.contains(&self.overhead_bytes) {
            return Err(discipline.out_of_range(&OVERHEAD, self.overhead_bytes));
        }
        if self.mpu_bytes > MOST_MPU_BYTES {
            return Err(discipline.out_of_range(&MPU, self.mpu_bytes));
        }
        if self.memlimit_bytes == Some(0) {
            return Err(discipline.out_of_range(&MEMLIMIT, 0));
        }
        check_time(discipline, &RTT, self.rtt_ns)
    }

    fn options(&self, _: Device) -> Options {
        let rate = self.bandwidth_bps / 8;
        let options = match rate {
            0 => {
                let unlimited = UNLIMITED.name.to_owned();
                Options::default().show("bandwidth", unlimited, "bandwidth unlimited ")
            }
            _ => {
                let text = format!("bandwidth {} ", shown::rate(rate));
                Options::default().show("bandwidth", rate, &text)
            }
        };
        let (tins, isolation) = (self.tins_word(), self.isolation_word());
        let options = options
            .show("diffserv", tins.to_owned(), &format!("{tins} "))
            .show("flowmode", isolation.to_owned(), &format!("{isolation} "));
        let options = either(options, "nat", false, "", "nonat ");
        let options = either(options, "wash", self.wash, "wash ", "nowash ");
        let filter = self.ack_filter_word();
        let filter_in_json = match self.ack_filter {
            AckFiltering::Off => "disabled",
            AckFiltering::Conservative => "enabled",
            AckFiltering::Aggressive => "aggressive",
        };
        let options = either(options, "ingress", self.ingress, "ingress ", "").show(
            "ack-filter",
            filter_in_json.to_owned(),
            &format!("{filter} "),
        );
        let gso = ["split-gso ", "no-split-gso "];
        let options = either(options, "split_gso", self.split_gso, gso[0], gso[1]);
        let options = either(
            show_time(options, "rtt", self.rtt_ns),
            "raw",
            self.raw,
            "raw ",
            "",
        );
        let options = match (self.link_layer, self.raw) {
            (LinkLayer::Noatm, true) => options,
            (layer, _) => options.show(
                "atm",
                layer.word().to_owned(),
                &format!("{} ", layer.word()),
            ),
        };
        let overhead = self.overhead_bytes;
        let overhead_text = format!("overhead {overhead} ");
        let options = options.show("overhead", Field::Number(overhead.into()), &overhead_text);
        let options = match self.mpu_bytes {
            0 => options,
            mpu => options.show("mpu", mpu, &format!("mpu {mpu} ")),
        };
        let options = match self.memlimit_bytes {
            Some(bytes) => {
                let text = format!("memlimit {} ", shown::size(bytes.into()));
                options.show("memlimit", bytes, &text)
            }
            None => options,
        };
        // iproute2 prints it as a number in hexadecimal.
        options.show("fwmark", "0".to_owned(), "")
    }

    fn shaped_bps(&self) -> u64 {
        self.bandwidth_bps
    }
}

impl Cake {
    fn tins_word(&self) -> &'static str {
        word_of(TINS_WORDS, &self.tins)
    }

    fn ack_filter_word(&self) -> &'static str {
        word_of(AckFiltering::WORDS, &self.ack_filter)
    }

    fn isolation_word(&self) -> &'static str {
        word_of(ISOLATION_WORDS, &self.isolation)
    }
}

/// Shows a flag as cake does: one of two keywords in the text, `true` or `false` in JSON.
fn either(options: Options, key: &'static str, is_on: bool, on: &str, off: &str) -> Options {
    options.show(key, Field::Flag(is_on), if is_on { on } else { off })
}

/// The number after `overhead` or `mpu`: decimal, truncated to 32 bits by tc.
fn framing_bytes(words: &mut Words, parameter: &'static Parameter) -> Result<i32, QdiscError> {
    let bytes = words.bands(parameter)?;
    i32::try_from(bytes).map_err(|_| Cake::DISCIPLINE.not_taken(parameter, bytes, Reason::Wraps))
}

fn overhead_bytes(words: &mut Words, parameter: &'static Parameter) -> Result<i32, QdiscError> {
    let bytes = framing_bytes(words, parameter)?;
    match OVERHEADS_BYTES.contains(&bytes) {
        true => Ok(bytes),
        false => Err(Cake::DISCIPLINE.out_of_range(parameter, bytes)),
    }
}

fn mpu_bytes(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let bytes = framing_bytes(words, parameter)?;
    let fitting = u32::try_from(bytes).ok();
    fitting
        .filter(|bytes| *bytes <= MOST_MPU_BYTES)
        .ok_or_else(|| Cake::DISCIPLINE.out_of_range(parameter, bytes))
}

impl fmt::Display for Cake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let flag = |is_on, on, off| if is_on { on } else { off };
        match self.bandwidth_bps {
            0 => f.write_str("cake unlimited")?,
            rate_bps => write!(f, "cake bandwidth {}", format_rate(rate_bps))?,
        }
        write!(f, " {} {}", self.tins_word(), self.isolation_word())?;
        write!(f, " {}", flag(self.wash, "wash", "nowash"))?;
        write!(f, " {}", flag(self.ingress, "ingress", "egress"))?;
        if self.ack_filter != AckFiltering::Off {
            write!(f, " {}", self.ack_filter_word())?;
        }
        write!(f, " {}", flag(self.split_gso, "split-gso", "no-split-gso"))?;
        write!(f, " rtt {}", time_text(self.rtt_ns))?;
        if self.raw {
            f.write_str(" raw")?;
        }
        if !self.raw || self.overhead_bytes != 0 {
            write!(f, " overhead {}", self.overhead_bytes)?;
        }
        write!(f, " {}", self.link_layer.word())?;
        if self.mpu_bytes > 0 {
            write!(f, " mpu {}", self.mpu_bytes)?;
        }
        match self.memlimit_bytes {
            Some(bytes) => write!(f, " memlimit {}", format_size(bytes.into())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
