//! `netem`: delay, loss, damage, duplication, reordering, slots and a rate (tc-netem(8), iproute2
//! `tc/q_netem.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (1000), the packet being sent included | yes |
//! | `limit PACKETS` (1000), including the packet in transmission | yes |
//! | `distribution normal`, `pareto`, `paretonormal`; default: uniform | yes |
//! | `distribution experimental` or a file of the user's own | no: measured tables, not computed from a formula |
//! | `loss [ random ] PERCENT [ CORRELATION ]`, or `drop` | yes |
//! | `loss state P13 [ P31 [ P32 [ P23 [ P14 ] ] ] ]` | yes |
//! | `loss gemodel P [ R [ 1-H [ 1-K ] ] ]` | yes |
//! | `ecn`: marks packets instead of losing them; only with `loss` | yes |
//! | `duplicate PERCENT [ CORRELATION ]` | yes |
//! | `corrupt PERCENT [ CORRELATION ]` | yes |
//! | `reorder PERCENT [ CORRELATION ]`, `gap DISTANCE`; only with `delay` | yes |
//! | `rate RATE [ PACKETOVERHEAD [ CELLSIZE [ CELLOVERHEAD ] ] ]` | yes, in whole bytes per second as tc passes it to the kernel |
//! | `rate 5%` (of the device's speed) | no |
//! | a child discipline, in any class | yes |
//! | `slot MIN [ MAX ]` or `slot distribution NAME DELAY JITTER`, then `packets`, `bytes` | yes |
//! | `slot` a second time, of which tc keeps a part | refused |
//! | `seed`, `jitter` as a word | no |
//! | `rate 0`, `gap 0` (not given, to tc), `limit 0` (drops every packet) | refused |
//! | a percentage with more digits than parts per billion, if the kernel would see the difference | refused |
//!
//! Percentages are stored in parts per billion and converted to the kernel's 32-bit fraction where they are
//! used.
//!
//! iproute2 from before March 2024 ("netem: use 64 bit value for latency and jitter") reads delay and jitter
//! in whole microseconds and passes them in 32 bits of ticks of 64 ns, truncated: `delay 10us` is 9984 ns,
//! and so it is here. It passes the correlation of `duplicate` to the kernel only if another correlation is
//! given too. Here it is otherwise refused, and the text written here adds the delay's correlation as 0%.

mod loss;
mod options;
mod parameters;
mod slot;
#[cfg(test)]
mod tests;

use super::words::Words;
use super::{Branch, Device, Discipline, Grammar, Options, Parameter, Qdisc, QdiscError};
use crate::reason::Reason;
use crate::units::format_rate;
use crate::units::in_tc::{format_percent, format_time_us, is_rate, of_ticks_us};
pub use loss::Loss;
use parameters::*;
use serde::{Deserialize, Serialize};
pub use slot::{Slot, SlotDelay};
use std::fmt;

/// A share of 1, in parts per billion.
pub const ALL_PPB: u32 = 1_000_000_000;

/// Delay, loss, damage, duplication, reordering, slots and a rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Netem {
    /// Limit in packets, including the packet in transmission; at least 1.
    pub limit_packets: u32,
    /// Mean delay, ns: from whole microseconds, up to 274 s, in tc's ticks of 64 ns.
    pub delay_ns: u64,
    /// Jitter, ns: half the width of the uniform distribution, the scale of the others. In ticks as the
    /// delay, and at most `i32::MAX`: the kernel computes it in 32 bits.
    pub jitter_ns: u64,
    /// Correlation of a delay with the previous one, in parts per billion; at most [`ALL_PPB`].
    pub delay_correlation_ppb: u32,
    /// Distribution of the delay.
    pub distribution: Distribution,
    /// The loss model.
    pub loss: Option<Loss>,
    /// Whether ECN-capable packets are marked instead of lost.
    pub ecn: bool,
    /// Share of packets that are sent twice; at most [`ALL_PPB`].
    pub duplicate_ppb: u32,
    /// Correlation, as `delay_correlation_ppb`.
    pub duplicate_correlation_ppb: u32,
    /// How many packets have a bit flipped; at most [`ALL_PPB`].
    #[serde(default)]
    pub corrupt_ppb: u32,
    /// As `delay_correlation_ppb`.
    #[serde(default)]
    pub corrupt_correlation_ppb: u32,
    /// Share of packets that go to the head of the queue, among those that `gap_packets` makes eligible; at
    /// most [`ALL_PPB`].
    pub reorder_ppb: u32,
    /// Correlation, as `delay_correlation_ppb`.
    pub reorder_correlation_ppb: u32,
    /// A packet is eligible for reordering only after this number of packets, less one, were delayed since
    /// the last reordered one. 0 without reordering; otherwise at least 1.
    pub gap_packets: u32,
    /// Rate in bit/s, a multiple of 8; 0 for no rate.
    pub rate_bps: u64,
    /// Bytes that the rate adds to each packet; may be negative.
    pub packet_overhead_bytes: i32,
    /// If above 0, the rate counts whole cells of this size, bytes.
    pub cell_size_bytes: u32,
    /// Bytes that the rate adds to each cell; may be negative.
    pub cell_overhead_bytes: i32,
    /// None where packets leave when their time has come.
    #[serde(default)]
    pub slot: Option<Slot>,
    /// Receives packets whose delay has expired; without it they leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<Box<Qdisc>>,
}

impl Qdisc {
    /// Whether it, or a discipline inside it, damages packets.
    pub fn damages(&self) -> bool {
        matches!(self, Qdisc::Netem(netem) if netem.corrupt_ppb > 0)
            || self.children().any(Qdisc::damages)
    }
}

/// Distribution of netem's delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Uniform within the jitter on either side, tc's default.
    Uniform,
    /// Normal; the jitter is the standard deviation.
    Normal,
    /// Pareto with shape 3, shifted to mean 0, times 4/3, clipped at four jitters.
    Pareto,
    /// One quarter of the normal quantile plus three quarters of the Pareto quantile.
    Paretonormal,
}

impl Distribution {
    /// The keyword.
    pub fn word(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
            Distribution::Pareto => "pareto",
            Distribution::Paretonormal => "paretonormal",
        }
    }
}

/// Parameters of `netem` without words.
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
            corrupt_ppb: 0,
            corrupt_correlation_ppb: 0,
            reorder_ppb: 0,
            reorder_correlation_ppb: 0,
            gap_packets: 0,
            rate_bps: 0,
            packet_overhead_bytes: 0,
            cell_size_bytes: 0,
            cell_overhead_bytes: 0,
            slot: None,
            child: None,
        }
    }
}

impl Grammar for Netem {
    const DISCIPLINE: Discipline = Discipline {
        name: "netem",
        summary: "Network emulator: delays, loses, damages, duplicates and reorders packets, and \
                  sends at a rate or in slots.",
        source: "tc-netem(8); iproute2 tc/q_netem.c; Linux net/sched/sch_netem.c",
        parameters: PARAMETERS,
        not_implemented: &["jitter", "seed"],
        once: &[],
        abbreviated: &[
            "limit",
            "latency",
            "delay",
            "loss",
            "drop",
            "ecn",
            "reorder",
            "corrupt",
            "gap",
            "duplicate",
            "distribution",
            "rate",
            "slot",
        ],
    };

    fn parse(words: &mut Words) -> Result<Netem, QdiscError> {
        let mut netem = Netem::default();
        // Whether tc passes the correlations, including that of `duplicate`.
        let mut said_correlation = false;
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => netem.limit_packets = words.packets(parameter)?,
                "delay" => said_correlation |= netem.parse_delay(words, parameter)?,
                "distribution" => netem.distribution = words.one_of(parameter, DISTRIBUTIONS)?,
                "loss" => said_correlation |= netem.parse_loss(words, parameter)?,
                "ecn" => netem.ecn = words.flag(parameter),
                "duplicate" => {
                    netem.duplicate_ppb = words.percent_ppb(parameter)?;
                    if let Some(ppb) = words.further_percent_ppb(&DUPLICATE_CORRELATION)? {
                        netem.duplicate_correlation_ppb = ppb;
                    }
                }
                "corrupt" => {
                    netem.corrupt_ppb = words.percent_ppb(parameter)?;
                    if let Some(ppb) = words.further_percent_ppb(&CORRUPT_CORRELATION)? {
                        netem.corrupt_correlation_ppb = ppb;
                        said_correlation = true;
                    }
                }
                "slot" => netem.parse_slot(words)?,
                "reorder" => {
                    netem.reorder_ppb = words.percent_ppb(parameter)?;
                    if let Some(ppb) = words.further_percent_ppb(&REORDER_CORRELATION)? {
                        netem.reorder_correlation_ppb = ppb;
                        said_correlation = true;
                    }
                }
                "gap" => netem.gap_packets = words.count(parameter)?,
                "rate" => netem.parse_rate(words, parameter)?,
                other => return Err(words.unknown(other)),
            }
        }
        netem.require_company(words)?;
        if netem.duplicate_correlation_ppb > 0 && !said_correlation {
            let text = format_percent(netem.duplicate_correlation_ppb);
            return Err(Netem::DISCIPLINE.not_taken(&DUPLICATE_CORRELATION, text, Reason::Ignored));
        }
        netem.check()?;
        Ok(netem)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let refuse = |parameter, value: i64| Err(Netem::DISCIPLINE.out_of_range(parameter, value));
        if self.limit_packets == 0 {
            return refuse(&LIMIT, 0);
        }
        for (parameter, value_ns, most_ns) in [
            (&DELAY, self.delay_ns, u64::MAX),
            (&JITTER, self.jitter_ns, MOST_JITTER_NS),
        ] {
            if value_ns > most_ns || of_ticks_us(value_ns).is_none() {
                let value = format!("{value_ns}ns");
                return Err(Netem::DISCIPLINE.out_of_range(parameter, value));
            }
        }
        for (parameter, ppb) in [
            (&DELAY_CORRELATION, self.delay_correlation_ppb),
            (&DUPLICATE, self.duplicate_ppb),
            (&DUPLICATE_CORRELATION, self.duplicate_correlation_ppb),
            (&CORRUPT, self.corrupt_ppb),
            (&CORRUPT_CORRELATION, self.corrupt_correlation_ppb),
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
        if let Some(slot) = &self.slot {
            slot.check()?;
        }
        self.check_company()?;
        self.check_rate()
    }

    fn shaped_bps(&self) -> u64 {
        let inside = self.child.as_ref().map_or(0, |child| child.shaped_bps());
        let rates = [self.rate_bps, inside].into_iter();
        rates.filter(|bps| *bps > 0).min().unwrap_or(0)
    }

    fn branches(&self) -> Vec<Branch<'_>> {
        let child = self.child.as_deref().map(|child| Branch {
            minor: 1,
            child,
            takes_every_packet: false,
        });
        child.into_iter().collect()
    }

    /// The kernel has one class, whatever number is given.
    fn class(&self, _: u16) -> Option<u16> {
        Some(1)
    }

    fn slot(&mut self, _: u16) -> Option<&mut Option<Box<Qdisc>>> {
        Some(&mut self.child)
    }

    fn options(&self, _: Device) -> Options {
        self.show()
    }
}

impl Netem {
    /// Parses the values of `delay`; values not given stay. Returns whether a correlation was given.
    fn parse_delay(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<bool, QdiscError> {
        self.delay_ns = words.ticks_ns(parameter)?;
        if !words.number_follows() {
            return Ok(false);
        }
        self.jitter_ns = words.ticks_ns(&JITTER)?;
        if self.jitter_ns > MOST_JITTER_NS {
            let text = format!("{}ns", self.jitter_ns);
            return Err(Netem::DISCIPLINE.not_taken(&JITTER, text, Reason::Replaced));
        }
        let correlation = words.further_percent_ppb(&DELAY_CORRELATION)?;
        self.delay_correlation_ppb = correlation.unwrap_or(self.delay_correlation_ppb);
        Ok(correlation.is_some())
    }

    /// Parses the values of `loss`. tc accepts a second `loss` if the first was 0, and then keeps the first
    /// correlation. Returns whether a correlation was given.
    fn parse_loss(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<bool, QdiscError> {
        let before = match &self.loss {
            None => 0,
            Some(Loss::Random {
                probability_ppb: 0,
                correlation_ppb,
            }) => *correlation_ppb,
            Some(_) => {
                words.refuse_again(parameter)?;
                0
            }
        };
        let (loss, said_correlation) = Loss::parse(words, parameter, before)?;
        self.loss = Some(loss);
        Ok(said_correlation)
    }

    /// Reads what follows `slot`. Of a second one tc keeps what the first one said of packets, bytes and
    /// the distribution.
    fn parse_slot(&mut self, words: &mut Words) -> Result<(), QdiscError> {
        let slot = Slot::parse(words)?;
        if self.slot.is_some() {
            let reason = Reason::NotModelled;
            return Err(Netem::DISCIPLINE.not_taken(&SLOT, slot, reason));
        }
        self.slot = Some(slot);
        Ok(())
    }

    /// Parses the values of `rate`: an overhead starts with a sign or digit, a cell size with a digit. Values
    /// not given stay.
    fn parse_rate(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<(), QdiscError> {
        let modelled = Reason::NotModelled;
        self.rate_bps = words.rate_bps(parameter, Reason::Ignored)?;
        if words.signed_number_follows() {
            self.packet_overhead_bytes =
                words.signed(&PACKET_OVERHEAD, PACKET_OVERHEAD_BYTES, modelled)?;
        }
        if words.number_follows() {
            let size = words.signed(&CELL_SIZE, CELL_SIZE_BYTES, modelled)?;
            self.cell_size_bytes = size.unsigned_abs();
        }
        if words.signed_number_follows() {
            self.cell_overhead_bytes =
                words.signed(&CELL_OVERHEAD, CELL_OVERHEAD_BYTES, modelled)?;
        }
        self.check_cells()
    }

    /// Without cells a cell overhead has no effect; with cells, the size of a cell must be positive.
    fn check_cells(&self) -> Result<(), QdiscError> {
        let (size, overhead) = (i64::from(self.cell_size_bytes), self.cell_overhead_bytes);
        match size > 0 && size + i64::from(overhead) <= 0 {
            true => Err(Netem::DISCIPLINE.not_taken(&CELL_OVERHEAD, overhead, Reason::Wraps)),
            false => Ok(()),
        }
    }

    /// Checks tc's rules on words that require each other, on the text. Sets tc's default of `gap`.
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

    /// The same rules on values.
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
        if !is_rate(self.rate_bps) {
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
        self.check_cells()?;
        // An overhead can be typed only after a rate.
        if self.rate_bps == 0 && (packet, size, cell) != (0, 0, 0) {
            return refuse(&RATE, 0);
        }
        Ok(())
    }

    /// Whether tc from before 2024 would omit the correlation of `duplicate`.
    fn needs_another_correlation(&self) -> bool {
        let of_loss =
            matches!(self.loss, Some(Loss::Random { correlation_ppb, .. }) if correlation_ppb > 0);
        let other_ppb = self
            .reorder_correlation_ppb
            .max(self.corrupt_correlation_ppb);
        self.duplicate_correlation_ppb > 0 && !of_loss && other_ppb == 0
    }
}

/// Formats `time_ns` nanoseconds of ticks.
fn ticks_text(time_ns: u64) -> String {
    format_time_us(of_ticks_us(time_ns).unwrap_or(time_ns / 1000))
}

impl fmt::Display for Netem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "netem limit {}", self.limit_packets)?;
        let has_correlation = self.delay_correlation_ppb > 0 || self.needs_another_correlation();
        if self.delay_ns > 0 || self.jitter_ns > 0 || has_correlation {
            write!(f, " delay {}", ticks_text(self.delay_ns))?;
        }
        if self.jitter_ns > 0 || has_correlation {
            write!(f, " {}", ticks_text(self.jitter_ns))?;
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
            ("corrupt", self.corrupt_ppb, self.corrupt_correlation_ppb),
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
        self.write_rate(f)?;
        match &self.slot {
            Some(slot) => write!(f, " {slot}"),
            None => Ok(()),
        }
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
