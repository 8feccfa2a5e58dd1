//! `dualpi2`: a queue for L4S and a classic queue with coupled PI2 (RFC 9332; tc-dualpi2(8), iproute2
//! `tc/q_dualpi2.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` (10000), `memlimit BYTES` (default: twice the frame size for each packet of the limit, as in the kernel) | yes |
//! | `target TIME` (15 ms), `tupdate TIME` (16 ms): whole microseconds | yes |
//! | `alpha FLOAT` (0.16), `beta FLOAT` (3.2): in Hz, truncated to 1/256; 0 and above 65535 | yes; refused |
//! | `coupling_factor NUMBER` (2), 0 to 255 | yes |
//! | `step_thresh TIME` (1 ms) or `PACKETS` (`3p`, `3pkt`, `3packets`) | yes |
//! | `min_qlen_step PACKETS` (0) | yes |
//! | `drop_on_overload`, `overflow`; `drop_dequeue`, `drop_enqueue` | yes |
//! | `classic_protection PERCENTAGE` (10), whole per cent | yes |
//! | `l4s_ect`, `any_ect`; `split_gso`, `no_split_gso` | yes |
//! | `max_rtt TIME`, `typical_rtt TIME`: set `target`, `tupdate`, `alpha` and `beta` | yes |
//! | both beside one of these four, which tc then ignores | refused |
//! | filters that choose the queue (`tc filter`, the priority 1:1 and 1:2) | no |

use super::codel::{check_time, show_time, time_text};
use super::words::Words;
use super::{Device, Discipline, Field, Grammar, Options, Parameter, QdiscError};
use crate::c_numbers::{Base, strtol};
use crate::reason::Reason;
use crate::units::{in_tc, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

mod parameters;

use parameters::{
    ALPHA, BETA, CLASSIC_PROTECTION, COUPLING_FACTOR, DROP_DEQUEUE, DROP_ON_OVERLOAD, L4S_ECT,
    LIMIT, MAX_RTT, MEMLIMIT, MIN_QLEN_STEP, SPLIT_GSO, STEP_THRESH_PACKETS, STEP_THRESH_TIME,
    TARGET, TUPDATE, TYPICAL_RTT,
};

/// `ALPHA_BETA_SCALE`: gains are multiples of 1/256 Hz.
pub const GAINS_PER_HZ: u32 = 1 << 8;
/// `ALPHA_BETA_MAX`, in 1/256 Hz.
const LARGEST_GAIN: u32 = (1 << 24) - 1;
/// `RTT_TYP_TO_MAX`: ratio of the maximum to the typical round-trip time if only one is given.
const MAX_OF_TYPICAL: u32 = 6;
const ALL_PERCENT: u8 = 100;
const PPB_PER_PERCENT: u32 = 10_000_000;
const PACKET_UNITS: &[&str] = &["p", "pkt", "pkts", "packet", "packets"];

/// An L4S queue and a classic queue. A PI controller steers the marking and drop probability toward a target
/// delay of the classic queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dualpi2 {
    /// Limit of both queues together, packets; at least 1.
    pub limit_packets: u32,
    /// Limit of kernel memory, bytes. None: twice the interface's frame size for each packet of the limit.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub memlimit_bytes: Option<u32>,
    /// Target queueing delay, ns: whole microseconds, 1 us to 2^32 - 1 us.
    pub target_ns: u64,
    /// Update period of the probability, ns: range as the target.
    pub tupdate_ns: u64,
    /// Gain for the deviation from the target, 1/256 Hz; 1 to 2^24 - 1.
    pub alpha: u32,
    /// Gain for the change of the delay, 1/256 Hz; 1 to 2^24 - 1.
    pub beta: u32,
    /// Ratio of the L4S marking probability to the base probability.
    pub coupling_factor: u8,
    /// Sojourn time above which an L4S packet is marked, ns: range as the target; none if the threshold is in
    /// packets.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub step_thresh_ns: Option<u64>,
    /// Length of the L4S queue above which the departing packet is marked, packets, at least 1; none if the
    /// threshold is a time.
    #[serde(deserialize_with = "Option::deserialize")] // may be null, must be present
    pub step_thresh_packets: Option<u32>,
    /// Packets, besides the arriving one, that the L4S queue must hold for the threshold to apply.
    pub min_qlen_step_packets: u32,
    /// Whether overload causes drops in both queues, or lets them grow.
    pub drop_on_overload: bool,
    /// Whether packets are dropped and marked at dequeue, or at enqueue.
    pub drop_dequeue: bool,
    /// Smallest share of the link for the classic queue while both are backlogged, per cent; at most 100.
    pub classic_protection_percent: u8,
    /// Whether the L4S queue takes ECT(1) and CE only, or ECT(0) too.
    pub l4s_ect: bool,
    /// Whether GSO packets are split into segments.
    pub split_gso: bool,
}

impl Grammar for Dualpi2 {
    const DISCIPLINE: Discipline = Discipline {
        name: "dualpi2",
        summary: "Dual queue with coupled PI2: packets of L4S wait in a queue of their own that is \
                  served first and marked early, all others in one that is steered to a delay, and \
                  the two signals are coupled so that flows of both kinds get about the same rate.",
        source: "RFC 9332 with appendix A; tc-dualpi2(8); iproute2 tc/q_dualpi2.c",
        parameters: &[
            LIMIT,
            MEMLIMIT,
            COUPLING_FACTOR,
            STEP_THRESH_TIME,
            STEP_THRESH_PACKETS,
            MIN_QLEN_STEP,
            DROP_ON_OVERLOAD,
            DROP_DEQUEUE,
            L4S_ECT,
            CLASSIC_PROTECTION,
            MAX_RTT,
            TYPICAL_RTT,
            TARGET,
            TUPDATE,
            ALPHA,
            BETA,
            SPLIT_GSO,
        ],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    fn parse(words: &mut Words) -> Result<Dualpi2, QdiscError> {
        let (mut max_rtt_us, mut typical_rtt_us) = (None, None);
        let mut dualpi2 = Dualpi2 {
            limit_packets: LIMIT.default.number() as u32,
            memlimit_bytes: None,
            target_ns: TARGET.default.number(),
            tupdate_ns: TUPDATE.default.number(),
            alpha: ALPHA.default.number() as u32,
            beta: BETA.default.number() as u32,
            coupling_factor: COUPLING_FACTOR.default.number() as u8,
            step_thresh_ns: Some(STEP_THRESH_TIME.default.number()),
            step_thresh_packets: None,
            min_qlen_step_packets: 0,
            drop_on_overload: true,
            drop_dequeue: true,
            classic_protection_percent: CLASSIC_PROTECTION.default.number() as u8,
            l4s_ect: true,
            split_gso: true,
        };
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => dualpi2.limit_packets = count(words, parameter)?,
                "memlimit" => dualpi2.memlimit_bytes = Some(count(words, parameter)?),
                "coupling_factor" => dualpi2.coupling_factor = coupling_factor(words, parameter)?,
                "step_thresh" => dualpi2.set_step(words, parameter)?,
                "min_qlen_step" => {
                    dualpi2.min_qlen_step_packets = words.unsigned(parameter, Base::Ten)?;
                }
                "drop_on_overload" => dualpi2.drop_on_overload = words.flag(parameter),
                "drop_dequeue" => dualpi2.drop_dequeue = words.flag(parameter),
                "l4s_ect" => dualpi2.l4s_ect = words.flag(parameter),
                "classic_protection" => {
                    dualpi2.classic_protection_percent = whole_percent(words, parameter)?;
                }
                "max_rtt" => max_rtt_us = Some(time_us(words, parameter)?),
                "typical_rtt" => typical_rtt_us = Some(time_us(words, parameter)?),
                "target" => dualpi2.target_ns = words.time_ns(parameter)?,
                "tupdate" => dualpi2.tupdate_ns = words.time_ns(parameter)?,
                "alpha" => dualpi2.alpha = gain(words, parameter)?,
                "beta" => dualpi2.beta = gain(words, parameter)?,
                "split_gso" => dualpi2.split_gso = words.flag(parameter),
                other => return Err(words.unknown(other)),
            }
        }
        if max_rtt_us.is_some() || typical_rtt_us.is_some() {
            for parameter in [&TARGET, &TUPDATE, &ALPHA, &BETA] {
                if words.seen(parameter) {
                    let value = "beside max_rtt or typical_rtt";
                    return Err(Self::DISCIPLINE.not_taken(parameter, value, Reason::Ignored));
                }
            }
            dualpi2.set_round_trips(max_rtt_us, typical_rtt_us)?;
        }
        Ok(dualpi2)
    }

    fn check(&self) -> Result<(), QdiscError> {
        let discipline = &Dualpi2::DISCIPLINE;
        if self.limit_packets == 0 {
            return Err(discipline.out_of_range(&LIMIT, 0));
        }
        if self.memlimit_bytes == Some(0) {
            return Err(discipline.out_of_range(&MEMLIMIT, 0));
        }
        for (parameter, gain) in [(&ALPHA, self.alpha), (&BETA, self.beta)] {
            if !(1..=LARGEST_GAIN).contains(&gain) {
                return Err(discipline.out_of_range(parameter, gain));
            }
        }
        if self.classic_protection_percent > ALL_PERCENT {
            let percent = self.classic_protection_percent;
            return Err(discipline.out_of_range(&CLASSIC_PROTECTION, percent));
        }
        match (self.step_thresh_ns, self.step_thresh_packets) {
            (Some(step_ns), None) => check_time(discipline, &STEP_THRESH_TIME, step_ns)?,
            (None, Some(1..)) => {}
            (_, packets) => {
                let packets = packets.unwrap_or(0);
                return Err(discipline.out_of_range(&STEP_THRESH_PACKETS, packets));
            }
        }
        check_time(discipline, &TARGET, self.target_ns)?;
        check_time(discipline, &TUPDATE, self.tupdate_ns)
    }

    fn options(&self, device: Device) -> Options {
        let limit = self.limit_packets;
        let memory = self.memory_limit_bytes(device.frame_bytes());
        let (alpha, beta) = (gain_shown(self.alpha), gain_shown(self.beta));
        let options = Options::default()
            .show("limit", limit, &format!("limit {limit}p "))
            .show("memory-limit", memory, &format!("memlimit {memory}B "));
        let options = show_time(options, "target", self.target_ns);
        let options = show_time(options, "tupdate", self.tupdate_ns)
            .show("alpha", Field::Real(alpha), &format!("alpha {alpha:.6} "))
            .show("beta", Field::Real(beta), &format!("beta {beta:.6} "));
        let options = match self.step_thresh_packets {
            Some(step) => options.show("step-thresh-pkts", step, &format!("step_thresh {step}p ")),
            None => {
                let step_ns = self.step_thresh_ns.unwrap_or(0);
                let text = format!("step_thresh {} ", shown::time_ns(step_ns));
                options.show("step-thresh-us", shown::whole_us(step_ns), &text)
            }
        };
        let (least, k) = (self.min_qlen_step_packets, self.coupling_factor);
        let percent = self.classic_protection_percent;
        let options = options
            .show("min-qlen-step", least, &format!("min_qlen_step {least}p "))
            .show("coupling", u32::from(k), &format!("coupling_factor {k} "));
        let words = |options: Options, key, [json, text]: [&str; 2]| {
            options.show(key, json.to_owned(), &format!("{text} "))
        };
        let overload = match self.drop_on_overload {
            true => ["drop", "drop_on_overload"],
            false => ["overflow", "overflow"],
        };
        let early = match self.drop_dequeue {
            true => ["drop-dequeue", "drop_dequeue"],
            false => ["drop-enqueue", "drop_enqueue"],
        };
        let ect = match self.l4s_ect {
            true => ["l4s-ect", "l4s_ect"],
            false => ["any-ect", "any_ect"],
        };
        let options = words(options, "drop-overload", overload);
        let protection = format!("classic_protection {percent}% ");
        let options = words(options, "drop-early", early).show(
            "c-protection",
            u32::from(percent),
            &protection,
        );
        let options = words(options, "ecn-mask", ect);
        match self.split_gso {
            true => options.show("split-gso", Field::Nothing, "split_gso "),
            false => options.text("no_split_gso "),
        }
    }
}

impl Dualpi2 {
    /// Limit of kernel memory for packets, bytes, at an interface with this frame size.
    pub fn memory_limit_bytes(&self, frame_bytes: u32) -> u32 {
        let of_limit = u64::from(self.limit_packets) * 2 * u64::from(frame_bytes);
        let of_limit = u32::try_from(of_limit).unwrap_or(u32::MAX);
        self.memlimit_bytes.unwrap_or(of_limit)
    }

    /// The threshold after its keyword. tc reads it as a time if possible.
    fn set_step(
        &mut self,
        words: &mut Words,
        parameter: &'static Parameter,
    ) -> Result<(), QdiscError> {
        let text = words.value(parameter)?;
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if PACKET_UNITS.contains(&&text[digits..]) {
            let packets = words.unsigned_of(&STEP_THRESH_PACKETS, Base::Ten, &text[..digits])?;
            let packets = words.above_zero(&STEP_THRESH_PACKETS, packets, Reason::Ignored)?;
            (self.step_thresh_ns, self.step_thresh_packets) = (None, Some(packets));
            return Ok(());
        }
        let time_us = words.read(parameter, in_tc::parse_time_us(text))?;
        words.note(in_tc::time_notice(text, time_us));
        let time_us = words.above_zero(parameter, time_us, Reason::Ignored)?;
        (self.step_thresh_ns, self.step_thresh_packets) = (Some(u64::from(time_us) * 1000), None);
        Ok(())
    }

    /// RFC 9332 appendix A.1, figure 2, with tc's constants: 32-bit floats for 0.1 and 0.3.
    fn set_round_trips(
        &mut self,
        max_us: Option<u32>,
        typical_us: Option<u32>,
    ) -> Result<(), QdiscError> {
        let discipline = &Dualpi2::DISCIPLINE;
        let (max_us, typical_us) = match (max_us, typical_us) {
            (Some(max), Some(typical)) if typical > max => {
                return Err(discipline.out_of_range(&TYPICAL_RTT, format!("{typical}us")));
            }
            (Some(max), typical) => (max, typical.unwrap_or((max / MAX_OF_TYPICAL).max(1))),
            (None, typical) => {
                let typical = typical.unwrap_or(1);
                let max = typical.checked_mul(MAX_OF_TYPICAL).ok_or_else(|| {
                    let value = format!("{typical}us");
                    discipline.not_taken(&TYPICAL_RTT, value, Reason::Wraps)
                })?;
                (max, typical)
            }
        };
        let (max, typical) = (f64::from(max_us), f64::from(typical_us));
        let tupdate_us = (typical.min(max / 3.0) as u32).max(1);
        let alpha_hz = f64::from(tupdate_us) / max / max * 1e6 * f64::from(0.1f32);
        let beta_hz = f64::from(0.3f32) / max * 1e6;
        let least_hz = 1.0 / f64::from(GAINS_PER_HZ);
        let gain = |hz: f64| (hz * f64::from(GAINS_PER_HZ)) as u32;
        let is_held = |hz: f64| hz >= least_hz && gain(hz) <= LARGEST_GAIN;
        if !is_held(alpha_hz) || !is_held(beta_hz) {
            return Err(discipline.out_of_range(&MAX_RTT, format!("{max_us}us")));
        }
        (self.alpha, self.beta) = (gain(alpha_hz), gain(beta_hz));
        self.target_ns = u64::from(typical_us) * 1000;
        self.tupdate_ns = u64::from(tupdate_us) * 1000;
        Ok(())
    }
}

/// A gain as the kernel stores it, in steps of 15,625,000 / 2^32 Hz, and reports it.
fn gain_shown(gain: u32) -> f64 {
    const STEPS: u64 = 15_625_000;
    const ONE: u64 = u32::MAX as u64;
    let kept = ((u64::from(gain) * ONE) >> 8) / STEPS;
    let back = ((kept * STEPS) << 8) / ONE;
    back as f64 / f64::from(GAINS_PER_HZ)
}

/// A 32-bit decimal number; tc treats 0 as not given.
fn count(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let count = words.unsigned(parameter, Base::Ten)?;
    words.above_zero(parameter, count, Reason::Ignored)
}

fn time_us(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let time_us = words.time_us(parameter)?;
    words.above_zero(parameter, time_us, Reason::Ignored)
}

fn coupling_factor(words: &mut Words, parameter: &'static Parameter) -> Result<u8, QdiscError> {
    let text = words.value(parameter)?;
    let out_of_range = || Dualpi2::DISCIPLINE.out_of_range(parameter, text);
    let number = strtol(text, Base::ByPrefix).ok_or_else(out_of_range)?;
    u8::try_from(number).map_err(|_| out_of_range())
}

fn whole_percent(words: &mut Words, parameter: &'static Parameter) -> Result<u8, QdiscError> {
    let ppb = words.percent_ppb(parameter)?;
    match ppb % PPB_PER_PERCENT {
        0 => Ok((ppb / PPB_PER_PERCENT) as u8),
        _ => {
            let text = in_tc::format_percent(ppb);
            Err(Dualpi2::DISCIPLINE.not_taken(parameter, text, Reason::TooFine))
        }
    }
}

/// A gain in Hz; tc reads a 32-bit float and truncates to 1/256.
fn gain(words: &mut Words, parameter: &'static Parameter) -> Result<u32, QdiscError> {
    let hz = words.real(parameter)?;
    let gain = hz as f32 * GAINS_PER_HZ as f32;
    match gain >= 1.0 && gain <= LARGEST_GAIN as f32 {
        true => Ok(gain as u32),
        false => Err(Dualpi2::DISCIPLINE.out_of_range(parameter, hz)),
    }
}

/// Formats Hz with all 8 decimal digits of 1/256.
fn gain_text(gain: u32) -> String {
    let hz = f64::from(gain) / f64::from(GAINS_PER_HZ);
    let text = format!("{hz:.8}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Dualpi2 {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "dualpi2 limit {}", self.limit_packets)?;
        if let Some(bytes) = self.memlimit_bytes {
            write!(f, " memlimit {bytes}")?;
        }
        let (target, tupdate) = (time_text(self.target_ns), time_text(self.tupdate_ns));
        let (alpha, beta) = (gain_text(self.alpha), gain_text(self.beta));
        write!(
            f,
            " target {target} tupdate {tupdate} alpha {alpha} beta {beta}"
        )?;
        match (self.step_thresh_packets, self.step_thresh_ns) {
            (Some(packets), _) => write!(f, " step_thresh {packets}p")?,
            (None, step_ns) => write!(f, " step_thresh {}", time_text(step_ns.unwrap_or(0)))?,
        }
        write!(f, " min_qlen_step {}", self.min_qlen_step_packets)?;
        write!(f, " coupling_factor {}", self.coupling_factor)?;
        for (is_first, words) in [
            (self.drop_on_overload, ["drop_on_overload", "overflow"]),
            (self.drop_dequeue, ["drop_dequeue", "drop_enqueue"]),
            (self.l4s_ect, ["l4s_ect", "any_ect"]),
            (self.split_gso, ["split_gso", "no_split_gso"]),
        ] {
            write!(f, " {}", words[usize::from(!is_first)])?;
        }
        write!(
            f,
            " classic_protection {}%",
            self.classic_protection_percent
        )
    }
}

#[cfg(test)]
mod tests;
