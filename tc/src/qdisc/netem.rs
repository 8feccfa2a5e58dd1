//! `netem`: delay, loss, duplication, reordering and a rate (tc-netem(8), iproute2
//! `tc/q_netem.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (1000), the packet being sent included | yes |
//! | `delay TIME [ JITTER [ CORRELATION ] ]`, or `latency` | yes |
//! | `distribution normal`, `pareto`, `paretonormal`; without it: uniform | yes |
//! | `distribution experimental` or a file of one's own | no: a measured table, made from no formula |
//! | `loss [ random ] PERCENT [ CORRELATION ]`, or `drop` | yes |
//! | `loss state P13 [ P31 [ P32 [ P23 [ P14 ] ] ] ]` | yes |
//! | `loss gemodel P [ R [ 1-H [ 1-K ] ] ]` | yes |
//! | `ecn`: mark what would be lost; only with `loss` | yes |
//! | `duplicate PERCENT [ CORRELATION ]` | yes |
//! | `reorder PERCENT [ CORRELATION ]`, `gap DISTANCE`; only with `delay` | yes |
//! | `rate RATE [ PACKETOVERHEAD [ CELLSIZE [ CELLOVERHEAD ] ] ]` | yes, in whole bytes per second as tc hands it to the kernel |
//! | `rate 5%` (of the device's speed) | no |
//! | a discipline as its child | no |
//! | `corrupt`, `slot`, `seed`, `jitter` as a word | no |
//! | `rate 0` (tc: no rate), `limit 0`, `gap 0` | refused: leave the word out |
//!
//! A percentage is held in parts per billion, and becomes the kernel's 32-bit fraction only
//! where it is used.
//!
//! iproute2 from before March 2024 ("netem: use 64 bit value for latency and jitter") counts
//! delay and jitter in 32 bits of 64 ns, reads them in microseconds and does not know `ns`:
//! there, only whole microseconds up to 274 s reach the kernel. The kernel has 64 bits since
//! 4.15. It also hands the correlation of `duplicate` to the kernel only when some other
//! correlation is given; the text written here then gives the delay's, as 0%.

mod loss;
mod parameters;
#[cfg(test)]
mod tests;

use super::words::Words;
use super::{Discipline, Grammar, Parameter, QdiscError};
use crate::units::{format_percent, format_rate, format_time};
pub use loss::Loss;
use parameters::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// All packets, in parts per billion.
pub const ALL_PPB: u32 = 1_000_000_000;

/// Delay, loss, duplication, reordering and a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Netem {
    /// Packets that may be inside, the one being sent included; at least 1.
    pub limit_packets: u32,
    /// Mean delay, nanoseconds; at most `i64::MAX` as in the kernel. What tc from before 2024
    /// can pass on is less: whole microseconds, up to 274 s.
    pub delay_ns: u64,
    /// By how much the delay varies, nanoseconds: half the width of the uniform distribution,
    /// the scale of the others. At most `i32::MAX`: the kernel's arithmetic has 32 bits.
    pub jitter_ns: u64,
    /// How much of a delay's random number is the one before it; at most [`ALL_PPB`].
    pub delay_correlation_ppb: u32,
    /// How the delay varies.
    pub distribution: Distribution,
    /// Which packets are lost.
    pub loss: Option<Loss>,
    /// Whether packets that could be marked are, in place of being lost.
    pub ecn: bool,
    /// How many packets are sent twice; at most [`ALL_PPB`].
    pub duplicate_ppb: u32,
    /// As `delay_correlation_ppb`.
    pub duplicate_correlation_ppb: u32,
    /// How many packets go to the head of the queue, of those that `gap_packets` lets choose;
    /// at most [`ALL_PPB`].
    pub reorder_ppb: u32,
    /// As `delay_correlation_ppb`.
    pub reorder_correlation_ppb: u32,
    /// Only when so many packets, less one, were delayed since the last that was reordered, may
    /// one be again; 0 without reordering, which needs at least 1.
    pub gap_packets: u32,
    /// Rate in bit/s, a multiple of 8; 0 for no rate.
    pub rate_bps: u64,
    /// Bytes that the rate counts for a packet besides its own; may be below 0.
    pub packet_overhead_bytes: i32,
    /// If above 0, the rate counts whole cells of so many bytes.
    pub cell_size_bytes: u32,
    /// Bytes that the rate counts for a cell besides its own; may be below 0.
    pub cell_overhead_bytes: i32,
}

/// How netem's delay varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Within the jitter on either side, tc's default.
    Uniform,
    /// Normal, of which the jitter is the standard deviation.
    Normal,
    /// Pareto of shape 3, shifted to mean 0, times 4/3 and cut off at four jitters.
    Pareto,
    /// A quarter of the normal quantile and three of the Pareto's.
    Paretonormal,
}

impl Distribution {
    /// As typed.
    pub fn word(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
            Distribution::Pareto => "pareto",
            Distribution::Paretonormal => "paretonormal",
        }
    }
}

/// What `netem` alone means.
impl Default for Netem {
    fn default() -> Netem {
        Netem {
            limit_packets: DEFAULT_LIMIT_PACKETS,
            delay_ns: 0,
            jitter_ns: 0,
            delay_correlation_ppb: 0,
            distribution: Distribution::Uniform,
            loss: None,
            ecn: false,
            duplicate_ppb: 0,
            duplicate_correlation_ppb: 0,
            reorder_ppb: 0,
            reorder_correlation_ppb: 0,
            gap_packets: 0,
            rate_bps: 0,
            packet_overhead_bytes: 0,
            cell_size_bytes: 0,
            cell_overhead_bytes: 0,
        }
    }
}

impl Grammar for Netem {
    const DISCIPLINE: Discipline = Discipline {
        name: "netem",
        summary: "Network emulator: delays, loses, duplicates and reorders packets, and sends at \
                  a rate.",
        source: "tc-netem(8); iproute2 tc/q_netem.c; Linux net/sched/sch_netem.c",
        parameters: PARAMETERS,
        not_implemented: &["jitter", "corrupt", "slot", "seed"],
    };

    fn parse(words: &mut Words) -> Result<Netem, QdiscError> {
        let mut netem = Netem::default();
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => netem.limit_packets = words.count(parameter)?,
                "delay" => netem.parse_delay(words, parameter)?,
                "distribution" => netem.distribution = words.one_of(parameter, DISTRIBUTIONS)?,
                "loss" => netem.loss = Some(Loss::parse(words, parameter)?),
                "ecn" => netem.ecn = words.flag(parameter),
                "duplicate" => {
                    netem.duplicate_ppb = words.percent_ppb(parameter)?;
                    netem.duplicate_correlation_ppb = words
                        .further_percent_ppb(&DUPLICATE_CORRELATION)?
                        .unwrap_or(0);
                }
                "reorder" => {
                    netem.reorder_ppb = words.percent_ppb(parameter)?;
                    netem.reorder_correlation_ppb = words
                        .further_percent_ppb(&REORDER_CORRELATION)?
                        .unwrap_or(0);
                }
                "gap" => netem.gap_packets = words.count(parameter)?,
                "rate" => netem.parse_rate(words, parameter)?,
                other => return Err(words.unknown(other)),
            }
        }
        netem.require_company(words)?;
        netem.check()?;
        Ok(netem)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: i64| Err(Netem::DISCIPLINE.out_of_range(parameter, value));
        if self.limit_packets == 0 {
            return refuse(&LIMIT, 0);
        }
        for (parameter, value_ns, most_ns) in [
            (&DELAY, self.delay_ns, i64::MAX as u64),
            (&JITTER, self.jitter_ns, i32::MAX as u64),
        ] {
            if value_ns > most_ns {
                return Err(Netem::DISCIPLINE.out_of_range(parameter, value_ns));
            }
        }
        for (parameter, ppb) in [
            (&DELAY_CORRELATION, self.delay_correlation_ppb),
            (&DUPLICATE, self.duplicate_ppb),
            (&DUPLICATE_CORRELATION, self.duplicate_correlation_ppb),
            (&REORDER, self.reorder_ppb),
            (&REORDER_CORRELATION, self.reorder_correlation_ppb),
        ] {
            if ppb > ALL_PPB {
                return refuse(parameter, i64::from(ppb));
            }
        }
        if let Some(loss) = &self.loss {
            loss.check()?;
        }
        self.check_company()?;
        self.check_rate()
    }
}

impl Netem {
    fn parse_delay(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<(), QdiscError> {
        self.delay_ns = words.time_ns(parameter)?;
        if words.number_follows() {
            self.jitter_ns = words.time_ns(&JITTER)?;
            let correlation = words.further_percent_ppb(&DELAY_CORRELATION)?;
            self.delay_correlation_ppb = correlation.unwrap_or(0);
        }
        Ok(())
    }

    fn parse_rate(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<(), QdiscError> {
        self.rate_bps = words.rate_bps(parameter)?;
        if words.signed_number_follows() {
            self.packet_overhead_bytes = words.integer(&PACKET_OVERHEAD, PACKET_OVERHEAD_BYTES)?;
            if words.number_follows() {
                self.cell_size_bytes = words.integer(&CELL_SIZE, CELL_SIZE_BYTES)?.unsigned_abs();
                if words.signed_number_follows() {
                    self.cell_overhead_bytes =
                        words.integer(&CELL_OVERHEAD, CELL_OVERHEAD_BYTES)?;
                }
            }
        }
        Ok(())
    }

    /// tc's rules on words that need each other, on what was typed. What `gap` is without the
    /// word is tc's too.
    fn require_company(&mut self, words: &Words) -> Result<(), QdiscError> {
        if self.reorder_ppb > 0 {
            words.require(&DELAY, " with reorder")?;
            self.gap_packets = self.gap_packets.max(1);
        }
        if self.gap_packets > 0 {
            words.require(&REORDER, " with gap")?;
        }
        if self.ecn {
            words.require(&LOSS, " with ecn")?;
        }
        if self.distribution != Distribution::Uniform {
            words.require(&DELAY, " with distribution")?;
        }
        Ok(())
    }

    /// The same on values.
    fn check_company(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: u64| Err(Netem::DISCIPLINE.out_of_range(parameter, value));
        if self.reorder_ppb > 0 && (self.delay_ns == 0 || self.gap_packets == 0) {
            let without = if self.delay_ns == 0 { &DELAY } else { &GAP };
            return refuse(without, 0);
        }
        if self.reorder_ppb == 0 && self.gap_packets > 0 {
            return refuse(&REORDER, 0);
        }
        if self.ecn && self.loss.as_ref().is_none_or(Loss::is_none) {
            return refuse(&LOSS, 0);
        }
        if self.distribution != Distribution::Uniform && self.delay_ns == 0 {
            return refuse(&DELAY, 0);
        }
        if self.distribution != Distribution::Uniform && self.jitter_ns == 0 {
            return refuse(&JITTER, 0);
        }
        Ok(())
    }

    fn check_rate(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: i64| Err(Netem::DISCIPLINE.out_of_range(parameter, value));
        if !self.rate_bps.is_multiple_of(8) {
            return Err(Netem::DISCIPLINE.out_of_range(&RATE, self.rate_bps));
        }
        let [packet, size, cell] = [
            i64::from(self.packet_overhead_bytes),
            i64::from(self.cell_size_bytes),
            i64::from(self.cell_overhead_bytes),
        ];
        for (parameter, value, range) in [
            (&PACKET_OVERHEAD, packet, PACKET_OVERHEAD_BYTES),
            (&CELL_SIZE, size, CELL_SIZE_BYTES),
            (&CELL_OVERHEAD, cell, CELL_OVERHEAD_BYTES),
        ] {
            if !range.contains(&value) {
                return refuse(parameter, value);
            }
        }
        // Without a cell its overhead does nothing; with one, a cell has to be of some length.
        if size > 0 && size + cell <= 0 {
            return refuse(&CELL_OVERHEAD, cell);
        }
        // Only a rate can be typed before an overhead.
        if self.rate_bps == 0 && (packet, size, cell) != (0, 0, 0) {
            return refuse(&RATE, 0);
        }
        Ok(())
    }

    /// Whether tc from before 2024 would leave the correlation of `duplicate` out.
    fn needs_another_correlation(&self) -> bool {
        let of_loss =
            matches!(self.loss, Some(Loss::Random { correlation_ppb, .. }) if correlation_ppb > 0);
        self.duplicate_correlation_ppb > 0 && !of_loss && self.reorder_correlation_ppb == 0
    }
}

impl fmt::Display for Netem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "netem limit {}", self.limit_packets)?;
        let has_correlation = self.delay_correlation_ppb > 0 || self.needs_another_correlation();
        if self.delay_ns > 0 || self.jitter_ns > 0 || has_correlation {
            write!(f, " delay {}", format_time(self.delay_ns))?;
        }
        if self.jitter_ns > 0 || has_correlation {
            write!(f, " {}", format_time(self.jitter_ns))?;
        }
        if has_correlation {
            write!(f, " {}", format_percent(self.delay_correlation_ppb))?;
        }
        if self.distribution != Distribution::Uniform {
            write!(f, " distribution {}", self.distribution.word())?;
        }
        if let Some(loss) = &self.loss {
            write!(f, " loss {loss}")?;
        }
        if self.ecn {
            write!(f, " ecn")?;
        }
        let chances = [
            (
                "duplicate",
                self.duplicate_ppb,
                self.duplicate_correlation_ppb,
            ),
            ("reorder", self.reorder_ppb, self.reorder_correlation_ppb),
        ];
        for (word, ppb, correlation_ppb) in chances {
            if ppb > 0 || correlation_ppb > 0 {
                write!(f, " {word} {}", format_percent(ppb))?;
            }
            if correlation_ppb > 0 {
                write!(f, " {}", format_percent(correlation_ppb))?;
            }
        }
        if self.gap_packets > 1 {
            write!(f, " gap {}", self.gap_packets)?;
        }
        self.write_rate(f)
    }
}

impl Netem {
    fn write_rate(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.rate_bps == 0 {
            return Ok(());
        }
        write!(f, " rate {}", format_rate(self.rate_bps))?;
        let has_cells = self.cell_size_bytes > 0 || self.cell_overhead_bytes != 0;
        if self.packet_overhead_bytes != 0 || has_cells {
            write!(f, " {}", self.packet_overhead_bytes)?;
        }
        if has_cells {
            write!(f, " {}", self.cell_size_bytes)?;
        }
        if self.cell_overhead_bytes != 0 {
            write!(f, " {}", self.cell_overhead_bytes)?;
        }
        Ok(())
    }
}
