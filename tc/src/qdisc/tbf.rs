//! `tbf`: a token bucket filter (tc-tbf(8), iproute2 `tc/q_tbf.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `rate RATE`, `burst SIZE` (or `buffer`, `maxburst`): required | yes |
//! | `limit SIZE` or `latency TIME`: one of the two, not both | yes |
//! | `latency`: limit = min(rate x latency + burst, peakrate x latency + mtu), latency in whole microseconds | yes |
//! | `peakrate RATE` above `rate`, with `mtu SIZE` (or `minburst`) | yes |
//! | `mtu` without `peakrate` | read, no effect, as in tc |
//! | a child discipline in class `:1`, in place of the FIFO of `limit` | yes |
//! | `burst SIZE/CELL`, `mtu SIZE/CELL` (cell sizes of tables that kernels since 3.8 do not read) | no |
//! | `mpu`, `overhead`, `linklayer` | no |
//!
//! tc also passes the burst in ticks of 64 ns (`tc_calc_xmittime`), from which `tc qdisc show` computes the
//! bytes (`10239b` for 10 kb at 6.55 Mbit/s). Kernels since 3.14 use the bytes (`TCA_TBF_BURST`), so the
//! ticks do not affect packets.

use super::words::Words;
use super::{
    Bounds, Branch, Device, Discipline, Field, Grammar, Options, Parameter, Qdisc, QdiscError,
    REQUIRED, Value,
};
use crate::reason::Reason;
use crate::units::in_tc::is_rate;
use crate::units::shown::{self, Bucket};
use crate::units::{format_rate, format_size};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One or two token buckets in front of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tbf {
    /// Token rate in bit/s, a multiple of 8, at least 8.
    pub rate_bps: u64,
    /// Bucket size in bytes, at least 1; longer packets are dropped.
    pub burst_bytes: u32,
    /// Limit in bytes, unless there is a child; at least 1.
    pub limit_bytes: u32,
    /// Rate of the second bucket in bit/s, a multiple of 8 above the rate; 0 for none.
    pub peakrate_bps: u64,
    /// Size of the second bucket in bytes; at least 1 with a peak rate.
    pub mtu_bytes: u32,
    /// The discipline in place of a `bfifo` of the limit.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub child: Option<Box<Qdisc>>,
}

pub(super) const RATE: Parameter = Parameter {
    name: "rate",
    aliases: &[],
    argument: "RATE",
    key: "rate_bps",
    unit: "bit/s",
    default: Value::Number(0),
    default_source: REQUIRED,
    range: "at least 8 bit/s, in whole bytes per second",
    bounds: Bounds::at_least(8),
    effect: "Token rate, link headers counted: the long-term limit of the departure rate.",
};

pub(super) const BURST: Parameter = Parameter {
    name: "burst",
    aliases: &["buffer", "maxburst"],
    argument: "SIZE",
    key: "burst_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: REQUIRED,
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Bucket size: the bytes that may leave at once after an idle time. Longer packets are dropped.",
};

const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "SIZE",
    key: "limit_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "required, or latency",
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Limit of the bytes that wait for tokens, link headers counted: that of the inner bfifo, if it is \
             not replaced by another discipline.",
};

const LATENCY: Parameter = Parameter {
    name: "latency",
    aliases: &[],
    argument: "TIME",
    key: "limit_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "in place of limit",
    range: "1us to 4294967295us, and a limit of 1 to 4294967295 bytes from it",
    bounds: Bounds::within(1_000, 4_294_967_295_000),
    effect: "The longest wait: sets the limit to rate times latency plus burst, or to peakrate \
             times latency plus mtu where that is less. Whole microseconds; a bare number is \
             microseconds.",
};

pub(super) const PEAKRATE: Parameter = Parameter {
    name: "peakrate",
    aliases: &[],
    argument: "RATE",
    key: "peakrate_bps",
    unit: "bit/s",
    default: Value::Number(0),
    default_source: "tc: none",
    range: "above rate, in whole bytes per second; needs mtu",
    bounds: Bounds::at_least(1),
    effect: "Token rate of the second bucket, whose size is mtu: bursts leave at this rate, not at once.",
};

pub(super) const MTU: Parameter = Parameter {
    name: "mtu",
    aliases: &["minburst"],
    argument: "SIZE",
    key: "mtu_bytes",
    unit: "bytes",
    default: Value::Number(0),
    default_source: "tc: none",
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "Bytes that the bucket of peakrate holds. A longer packet is dropped, link headers \
             counted: an Ethernet frame of a 1500 byte MTU needs 1514. Without peakrate it does \
             nothing.",
};

impl Grammar for Tbf {
    const DISCIPLINE: Discipline = Discipline {
        name: "tbf",
        summary: "Token bucket filter: delays packets to a rate, with bursts up to the bucket.",
        source: "tc-tbf(8); iproute2 tc/q_tbf.c; Linux net/sched/sch_tbf.c",
        parameters: &[RATE, BURST, LIMIT, LATENCY, PEAKRATE, MTU],
        not_implemented: &["mpu", "overhead", "linklayer"],
        once: &["rate", "burst", "limit", "latency", "peakrate", "mtu"],
        abbreviated: &[
            "limit",
            "latency",
            "burst",
            "peakrate",
            "overhead",
            "linklayer",
        ],
    };

    fn parse(words: &mut Words) -> Result<Tbf, QdiscError> {
        let mut latency_us = None;
        let mut tbf = Tbf {
            rate_bps: 0,
            burst_bytes: 0,
            limit_bytes: 0,
            peakrate_bps: 0,
            mtu_bytes: 0,
            child: None,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "rate" => tbf.rate_bps = words.rate_bps(parameter, Reason::Ignored)?,
                "burst" => tbf.burst_bytes = words.bucket_bytes(parameter, Reason::Ignored)?,
                "limit" => tbf.limit_bytes = words.size_bytes(parameter, Reason::Ignored)?,
                "latency" => {
                    let time_us = words.time_us(parameter)?;
                    latency_us = Some(words.above_zero(parameter, time_us, Reason::Ignored)?);
                }
                "peakrate" => tbf.peakrate_bps = words.rate_bps(parameter, Reason::Ignored)?,
                "mtu" => tbf.mtu_bytes = words.bucket_bytes(parameter, Reason::Ignored)?,
                other => return Err(words.unknown(other)),
            }
        }
        words.require_all()?;
        if tbf.peakrate_bps > 0 {
            words.require(&MTU, " with peakrate")?;
        }
        if let Some(latency_us) = latency_us {
            tbf.limit_bytes = tbf.limit_of_latency(latency_us)?;
        }
        tbf.check()?;
        Ok(tbf)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value| Err(Tbf::DISCIPLINE.out_of_range(parameter, value));
        if self.rate_bps == 0 || !is_rate(self.rate_bps) {
            return refuse(&RATE, self.rate_bps);
        }
        for (parameter, bytes) in [(&BURST, self.burst_bytes), (&LIMIT, self.limit_bytes)] {
            if bytes == 0 {
                return refuse(parameter, 0);
            }
        }
        if self.peakrate_bps > 0 {
            if self.peakrate_bps <= self.rate_bps || !is_rate(self.peakrate_bps) {
                return refuse(&PEAKRATE, self.peakrate_bps);
            }
            if self.mtu_bytes == 0 {
                return refuse(&MTU, 0);
            }
        }
        Ok(())
    }

    fn options(&self, _: Device) -> Options {
        let rate = self.rate_bps / 8;
        let bucket = Bucket::of(rate, self.burst_bytes);
        // The cell size of rate tables follows the slash; it is 1 because kernels no longer use tables.
        let burst = format!("{}/1", shown::size(bucket.bytes()));
        let mut latency_us = self.latency_us(rate, bucket);
        let mut options = Options::default()
            .show("rate", rate, &format!("rate {} ", shown::rate(rate)))
            .show("burst", burst.clone(), &format!("burst {burst} "))
            .show("mpu", 0u32, "mpu 0b ");
        if self.peakrate_bps > 0 {
            let peakrate = self.peakrate_bps / 8;
            let bucket = Bucket::of(peakrate, self.mtu_bytes);
            let mtu = format!("{}/1", shown::size(bucket.bytes()));
            latency_us = latency_us.max(self.latency_us(peakrate, bucket));
            options = options
                .text(&format!("peakrate {} ", shown::rate(peakrate)))
                .show("mtu", mtu.clone(), &format!("mtu {mtu} "))
                .text("mpu 0b ");
        }
        let latency = format!("lat {} ", shown::time(latency_us));
        options
            .show("lat", Field::Number(latency_us as i64), &latency)
            .show("linklayer", "ethernet".to_owned(), "linklayer ethernet ")
    }

    fn shaped_bps(&self) -> u64 {
        let child_bps = self.child.as_ref().map_or(0, |child| child.shaped_bps());
        match child_bps {
            0 => self.rate_bps,
            child_bps => self.rate_bps.min(child_bps),
        }
    }

    fn branches(&self) -> Vec<Branch<'_>> {
        Branch::only(self.child.as_deref())
    }

    fn class(&self, minor: u16) -> Option<u16> {
        // Linux accepts any number for the only class (`tbf_find`), which tc shows as :1.
        (minor <= 1).then_some(1)
    }

    fn slot(&mut self, _minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
        Some(&mut self.child)
    }
}

impl Tbf {
    /// The longest wait in microseconds that a bucket allows; negative if the bucket exceeds the limit.
    fn latency_us(&self, bytes_per_s: u64, bucket: Bucket) -> f64 {
        1e6 * (f64::from(self.limit_bytes) / bytes_per_s as f64) - bucket.time_us()
    }

    /// The limit in bytes that `latency` means, as tc computes it: in doubles, without an overflow check.
    fn limit_of_latency(&self, latency_us: u32) -> Result<u32, QdiscError> {
        let value = || format!("{latency_us}us");
        let held = |rate_bps: u64, bucket_bytes: u32| {
            (rate_bps / 8) as f64 * f64::from(latency_us) / 1e6 + f64::from(bucket_bytes)
        };
        let mut limit = held(self.rate_bps, self.burst_bytes);
        if self.peakrate_bps > 0 {
            limit = limit.min(held(self.peakrate_bps, self.mtu_bytes));
        }
        match limit < f64::from(u32::MAX) + 1.0 {
            true => Ok(limit as u32),
            false => Err(Tbf::DISCIPLINE.not_taken(&LATENCY, value(), Reason::Wraps)),
        }
    }
}

impl fmt::Display for Tbf {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "tbf rate {}", format_rate(self.rate_bps))?;
        write!(f, " burst {}", format_size(u64::from(self.burst_bytes)))?;
        write!(f, " limit {}", format_size(u64::from(self.limit_bytes)))?;
        if self.peakrate_bps > 0 {
            write!(f, " peakrate {}", format_rate(self.peakrate_bps))?;
        }
        if self.mtu_bytes > 0 {
            write!(f, " mtu {}", format_size(u64::from(self.mtu_bytes)))?;
        }
        Ok(())
    }
}
