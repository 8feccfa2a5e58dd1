//! `pie`: proportional integral controller enhanced (RFC 8033), by Linux's arithmetic (6.1,
//! `net/sched/sch_pie.c`, `include/net/pie.h`).
//!
//! | clause | here | test |
//! | --- | --- | --- |
//! | RFC 8033 section 4.1 (Random Dropping): random drop at enqueue; none below half the target and a fifth, or below 2 MTU | yes | `some_packets_are_never_dropped` |
//! | RFC 8033 section 4.2 (Drop Probability Calculation): probability from deviation and change of the delay every `tupdate`; gains scaled at 10 %, 1 %, ... 0.0001 % | yes | `gains_are_scaled_by_the_table`, `it_settles_at_the_target` |
//! | RFC 8033 section 4.2 (Drop Probability Calculation): decay while idle (63/64 per update) | yes | `the_probability_decays_while_idle` |
//! | RFC 8033 section 5.5 (Cap Drop Adjustment): no step above 2 % from 10 % on | yes | `steps_are_bounded` |
//! | Linux: 2 % more per update above 250 ms | yes | `steps_are_bounded` |
//! | RFC 8033 section 4.4 (Burst Tolerance): burst allowance of 150 ms | yes, used up by time between departures as in Linux | `a_burst_is_allowed` |
//! | RFC 8033 section 5.1 (ECN Support): ECN marks up to a probability of 10 % | yes, with `ecn` | `capable_packets_are_marked_while_the_probability_is_low` |
//! | RFC 8033 section 4.3 (Latency Calculation): delay from timestamps | yes, by default as in Linux | `it_settles_at_the_target` |
//! | RFC 8033 section 5.2 (Dequeue Rate Estimation): delay from the backlog and a departure rate over 16 kB | yes, `dq_rate_estimator` | `the_departure_rate_is_measured_while_enough_waits` |
//! | RFC 8033 section 5.3 (Setting PIE Active and Inactive): below a third of the buffer nothing is dropped | no, nor in Linux | |
//! | RFC 8033 section 5.4 (Derandomization): accumulated probability 0.85 and 8.5 | yes | `drops_are_derandomized` |
//! | Linux: probability scaled by packet size (`bytemode`) | yes | `short_packets_are_dropped_less_in_bytemode` |
//! | Linux: updates every `tupdate`, in whole timer ticks | yes, from the start of the run | `updates_come_at_whole_ticks` |
//! | Linux: the first update half a second after `tc qdisc add` | no: the queue is assumed to have been idle for long | |
//! | Linux since 4.8: the timer wheel adds a tick, so 15 ms are 16 at 1000 Hz; more above 62 ticks | yes | `updates_come_at_whole_ticks` |
//! | kernels 3.14 to 5.0 (`linux_3_14`): see `edition` | yes | `the_old_kernel_has_three_gains` |
//! | `tc qdisc change` while packets wait | no | |
//!
//! | parameter | RFC 8033 4.2 | Linux 6.1 | Linux 3.14 |
//! | --- | --- | --- | --- |
//! | target | 15 ms | 15 ms | 20 ms |
//! | tupdate | 15 ms | 15 ms | 30 ms |
//! | alpha, beta | 1/8, 1 + 1/4 Hz | 2/16, 20/16 Hz | the same |
//! | burst allowance | 150 ms | 150 ms | 100 ms |
//! | limit | - | 1000 packets | 1000 packets |
//!
//! Due updates are applied when a packet arrives or leaves (`pie/updates.rs`): between packets nothing that
//! they read changes.

mod edition;
mod updates;

use super::{Build, Dequeued, Discipline, DropReason, Events, Held, Setting, Statistics};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::ring::Ring;
use dumbbell_core::time::Time;
use dumbbell_core::timer::Clock;
use dumbbell_tc::qdisc::Pie as Config;
use edition::Edition;

/// `PSCHED_SHIFT`: a tick is 64 ns.
const TICK_SHIFT: u32 = 6;
/// Ticks in a second.
const TICKS_PER_S: u64 = 1_000_000_000 >> TICK_SHIFT;
/// `PIE_SCALE`: fractional bits of the departure rate.
const RATE_SCALE: u32 = 8;
/// RFC 8033 section 5.5: delay above which the probability grows faster.
const HIGH_DELAY: u64 = 250_000_000 >> TICK_SHIFT;

/// Times in units of 64 ns.
type Ticks = u64;

fn ticks(time: Time) -> Ticks {
    time.as_ns() >> TICK_SHIFT
}

/// Constants of a queue.
#[derive(Debug, Clone)]
struct Parameters {
    /// RFC 8033 `QDELAY_REF`.
    target: Ticks,
    /// RFC 8033 `T_UPDATE`, in whole timer ticks.
    tupdate: Time,
    /// In sixteenths.
    alpha: u64,
    /// In sixteenths.
    beta: u64,
    bytemode: bool,
    has_rate_estimator: bool,
    mtu_bytes: u32,
}

/// RFC 8033's variables, section 4.2 and following.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variables {
    /// `PIE->drop_prob_`, in units of 1 / `Edition::largest_probability`.
    probability: u64,
    /// Sum of probabilities since the last drop, section 5.4 `accu_prob_`.
    accumulated: u64,
    /// `current_qdelay_`.
    delay: Ticks,
    /// `qdelay_old_`.
    old_delay: Ticks,
    /// `burst_allowance_`.
    burst_allowance: Ticks,
    /// Departure of the last packet; for the departure rate, the start of its measurement.
    departure: Option<Ticks>,
    /// Bytes that have left since then, while the departure rate is measured.
    departed_bytes: Option<u64>,
    /// Average departure rate, bytes per 64 ns, with `RATE_SCALE` fractional bits; 0 if unknown.
    departure_rate: u32,
}

impl Variables {
    fn new(edition: &Edition) -> Variables {
        Variables {
            probability: 0,
            accumulated: 0,
            delay: 0,
            old_delay: 0,
            burst_allowance: edition.burst_allowance,
            departure: None,
            departed_bytes: None,
            departure_rate: 0,
        }
    }

    /// The probability, 0 to 1, in current kernels.
    #[cfg(test)]
    pub(super) fn share(&self) -> f64 {
        self.probability as f64 / (u64::MAX >> 8) as f64
    }

    /// Whether all other variables are equal.
    fn differ_by_probability(&self, other: &Variables) -> bool {
        let probability = self.probability;
        *self
            == Variables {
                probability,
                ..other.clone()
            }
    }

    /// RFC 8033 section 4.4: grants a new burst allowance after the queue was short for long.
    fn restart(&mut self, edition: &Edition) {
        self.burst_allowance = edition.burst_allowance;
        self.departure = None;
        self.accumulated = 0;
        self.departed_bytes = None;
        self.departure_rate = 0;
    }
}

/// The controller of one queue, or of several queues one at a time.
#[derive(Debug, Clone)]
pub(super) struct Controller {
    parameters: Parameters,
    edition: &'static Edition,
    pub(super) variables: Variables,
    clock: Clock,
    pub(super) next_update: Time,
    /// Bytes on the wire in the queue.
    pub(super) backlog_bytes: u64,
    stream: Stream,
}

/// The state of a PIE queue.
#[derive(Debug, Clone)]
pub struct Pie {
    packets: Ring<Packet>,
    /// Bytes on the wire, without the held packet.
    backlog_bytes: u64,
    controller: Controller,
    limit_packets: usize,
    ecn: bool,
    overhead_bytes: u32,
    held: Held,
}

impl Controller {
    /// The state of a queue that has been idle for long.
    pub(super) fn new(config: &Config, setting: &Setting) -> Controller {
        let edition = Edition::of(config);
        let tupdate = Time::from_ns(setting.whole_ticks_ns(config.tupdate_ns));
        // Before 4.8 a timer expired at exactly its tick.
        let clock = if config.linux_3_14 {
            Clock::Exact
        } else {
            Clock::wheel(setting.timer_hz)
        };
        Controller {
            parameters: Parameters {
                target: config.target_ns >> TICK_SHIFT,
                tupdate,
                alpha: u64::from(config.alpha),
                beta: u64::from(config.beta),
                bytemode: config.bytemode,
                // The old kernel always uses it.
                has_rate_estimator: config.dq_rate_estimator || config.linux_3_14,
                mtu_bytes: setting.device_mtu_bytes(),
            },
            edition,
            variables: Variables::new(edition),
            clock,
            next_update: clock.expiry(Time::ZERO, tupdate),
            backlog_bytes: 0,
            stream: setting.stream(),
        }
    }

    /// Whether the probability is at most this percentage.
    pub(super) fn is_at_most_percent(&self, percent: u64) -> bool {
        // `MAX_PROB / 10`; for fq_pie `MAX_PROB / 100` times a number.
        let bound = match percent {
            10 => self.edition.largest_probability / 10,
            percent => self.edition.largest_probability / 100 * percent,
        };
        self.variables.probability <= bound
    }

    /// Draws a random number.
    pub(super) fn draw(&mut self) -> u64 {
        self.stream.next_u64()
    }

    /// A packet was dropped.
    pub(super) fn on_drop(&mut self) {
        self.variables.accumulated = 0;
    }

    /// A packet leaves; it is no longer in the backlog.
    #[inline]
    pub(super) fn on_departure(&mut self, packet: &Packet, now: Time) {
        if self.parameters.has_rate_estimator {
            self.measure_departure_rate(packet, ticks(now));
        } else {
            self.measure_delay(packet, ticks(now));
        }
    }

    /// The kernel's `skb->len`: with the Ethernet header, whatever the link's overhead.
    fn length(packet: &Packet) -> u32 {
        packet.wire_bytes(super::setting::DEVICE_HEADER_BYTES)
    }

    /// Whether an arriving packet must be dropped or marked (RFC 8033 section 4.1 `drop_early`).
    pub(super) fn is_early_drop(&mut self, packet: &Packet) -> bool {
        let (parameters, edition) = (&self.parameters, self.edition);
        let variables = &mut self.variables;
        if variables.burst_allowance > 0 {
            return false;
        }
        let is_low = variables.probability < edition.largest_probability / 5;
        if variables.delay < parameters.target / 2 && is_low {
            return false;
        }
        if self.backlog_bytes < 2 * u64::from(parameters.mtu_bytes) {
            return false;
        }
        let (length, mtu) = (Controller::length(packet), parameters.mtu_bytes);
        let probability = if parameters.bytemode && length <= mtu {
            variables.probability / u64::from(mtu) * u64::from(length)
        } else {
            variables.probability
        };
        edition.decide(probability, &mut variables.accumulated, &mut self.stream)
    }

    /// RFC 8033 section 5.2: sojourn time of a departing packet.
    #[inline]
    fn measure_delay(&mut self, packet: &Packet, now: Ticks) {
        let variables = &mut self.variables;
        variables.delay = match self.backlog_bytes {
            0 => 0,
            _ => now - ticks(packet.arrived),
        };
        let since = now - variables.departure.unwrap_or(now);
        variables.departure = Some(now);
        variables.burst_allowance = variables.burst_allowance.saturating_sub(since);
    }

    /// RFC 8033 section 5.3: the departure rate, measured while the backlog is large enough.
    fn measure_departure_rate(&mut self, packet: &Packet, now: Ticks) {
        let (variables, edition) = (&mut self.variables, self.edition);
        let is_long = self.backlog_bytes >= edition.rate_threshold_bytes;
        if is_long && variables.departed_bytes.is_none() {
            variables.departure = Some(now);
            variables.departed_bytes = Some(0);
        }
        let Some(bytes) = &mut variables.departed_bytes else {
            return;
        };
        *bytes += u64::from(Controller::length(packet));
        if *bytes < edition.rate_threshold_bytes {
            return;
        }
        let since = (now - variables.departure.unwrap_or(now)) as u32;
        let Some(rate) = ((*bytes << RATE_SCALE) as u32).checked_div(since) else {
            return;
        };
        // Exponential average with weight 1/8.
        variables.departure_rate = match variables.departure_rate {
            0 => rate,
            average => average - (average >> 3) + (rate >> 3),
        };
        variables.departed_bytes = is_long.then_some(0);
        if is_long {
            variables.departure = Some(now);
        }
        let since = Ticks::from(since);
        variables.burst_allowance = variables.burst_allowance.saturating_sub(since);
    }
}

impl Pie {
    /// Skips a random number.
    #[cfg(test)]
    pub(super) fn draw_for_tests(&mut self) {
        self.controller.draw();
    }

    /// Sets the backlog as the kernel counts it: including the packet held by a peek.
    #[inline]
    fn tell_backlog(&mut self) {
        self.controller.backlog_bytes = self.backlog_bytes + self.held.bytes;
    }
}

impl Build<Config> for Pie {
    fn build(config: &Config, setting: &Setting) -> Pie {
        Pie {
            packets: Ring::default(),
            backlog_bytes: 0,
            controller: Controller::new(config, setting),
            limit_packets: config.limit_packets as usize,
            ecn: config.ecn,
            overhead_bytes: setting.overhead_bytes,
            held: Held::NOTHING,
        }
    }
}

impl Discipline for Pie {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let controller = &mut self.controller;
        controller.catch_up(now, events);
        let waiting_pkts = self.packets.len() + self.held.packets as usize;
        if waiting_pkts >= self.limit_packets {
            controller.on_drop();
            return Err(DropReason::Overlimit);
        }
        if controller.is_early_drop(&packet) {
            // RFC 8033 section 5.1.
            let may_mark = self.ecn && controller.is_at_most_percent(10);
            if !may_mark || !events.mark(&mut packet, DropReason::Pie) {
                controller.on_drop();
                return Err(DropReason::Pie);
            }
        }
        self.backlog_bytes += u64::from(packet.wire_bytes(self.overhead_bytes));
        self.packets.push_back(packet);
        self.tell_backlog();
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        self.controller.catch_up(now, events);
        let Some(packet) = self.packets.pop_front() else {
            return Dequeued::Empty;
        };
        self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
        self.controller.backlog_bytes = self.backlog_bytes;
        self.controller.on_departure(&packet, now);
        self.tell_backlog();
        Dequeued::Packet(packet)
    }

    fn set_held(&mut self, held: Held) {
        self.held = held;
        self.tell_backlog();
    }

    fn backlog(&self) -> (u32, u64) {
        (self.packets.len() as u32, self.backlog_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.packets.iter())
    }

    /// Values at the last arrival or departure. Linux lets the probability exceed 1; here it is then reported
    /// as 1.
    fn statistics(&self) -> Statistics {
        let largest = self.controller.edition.largest_probability as f64;
        Statistics {
            drop_probability: (self.controller.variables.probability as f64 / largest).min(1.0),
            delay_estimate: Some(Time::from_ns(self.controller.variables.delay << TICK_SHIFT)),
        }
    }
}

#[cfg(test)]
mod tests;
