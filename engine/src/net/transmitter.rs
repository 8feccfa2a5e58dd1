//! The transmitter that serves a queue: a constant rate, an infinite one, or a trace (`spec::trace`).
//!
//! With *steps* the end of a transmission is known at its start, because the trace is known: a packet in
//! transmission continues at the new rate, and during an outage (rate 0) it waits for the next rate. In a
//! busy period the bits sent are the integral of the rate; the fraction of a picosecond left at the end of
//! one packet is carried over to the next. Delay and loss of a packet are those at the end of its
//! transmission.
//!
//! At an *opportunity* a number of bytes may leave at once: queued packets in order, the last one possibly in
//! part, with its remainder at the next opportunity. Bytes of an opportunity not used when the queue is empty
//! are lost. A packet leaves the discipline when its first byte is sent.
//!
//! Source: mm-link(1), which also counts bytes.

use crate::sim::rate::Rate;
use crate::sim::time::Time;
use crate::spec::trace::{Opportunities, Opportunity, Service, Step, Steps};
use std::iter::Peekable;

/// 1 bit in bit/s times picoseconds.
const PS_PER_S: u128 = 1_000_000_000_000;

/// The transmitter of a link. An explicit tag byte: the hot path compares it several times a packet.
#[derive(Debug)]
#[repr(u8)]
pub enum Transmitter {
    /// A transmission takes no time.
    Infinite,
    /// The same rate until a change.
    Constant(Rate),
    /// A rate, a delay and a loss that follow the steps of a trace.
    Stepped(Box<Stepped>),
    /// Bytes at the opportunities of a trace.
    Opportune(Box<Opportune>),
}

impl Transmitter {
    /// A transmitter of a rate in bit/s; 0 for an infinite one.
    pub fn at_rate(rate_bps: u64) -> Transmitter {
        match rate_bps {
            0 => Transmitter::Infinite,
            rate_bps => Transmitter::Constant(Rate::new(rate_bps)),
        }
    }

    /// One that follows a trace, on a link of these values at the start of a run.
    pub fn traced(service: Service, own: &Step) -> Transmitter {
        match service {
            Service::Steps(steps) => Transmitter::Stepped(Box::new(Stepped::new(*steps, own))),
            Service::Opportunities(all) => Transmitter::Opportune(Box::new(Opportune::new(all))),
        }
    }
}

/// A transmitter at the steps of a trace.
#[derive(Debug)]
pub struct Stepped {
    steps: Peekable<Steps>,
    /// bit/s; None for infinite.
    rate_bps: Option<u64>,
    /// After the queue.
    delay: Time,
    /// When the packet sent last arrives.
    last_arrival: Time,
    /// Probability of loss after the queue.
    pub loss: f64,
    /// End of the last transmission, and the fraction of a picosecond left over.
    ended: (Time, u128),
}

impl Stepped {
    fn new(steps: Steps, own: &Step) -> Stepped {
        Stepped {
            steps: steps.peekable(),
            rate_bps: own.rate_bps,
            delay: own.delay.unwrap_or(Time::ZERO),
            loss: own.loss.unwrap_or(0.0),
            last_arrival: Time::ZERO,
            ended: (Time::ZERO, 0),
        }
    }

    /// Applies the steps up to an instant.
    pub fn advance(&mut self, to: Time) {
        while let Some(step) = self.steps.next_if(|step| step.at <= to) {
            self.rate_bps = step.rate_bps.or(self.rate_bps);
            self.delay = step.delay.unwrap_or(self.delay);
            self.loss = step.loss.unwrap_or(self.loss);
        }
    }

    /// When a packet that is sent now arrives: after the delay of this instant, and not before the packet sent
    /// before it.
    pub fn arrival(&mut self, now: Time) -> Time {
        self.last_arrival = now.saturating_add(self.delay).max(self.last_arrival);
        self.last_arrival
    }

    /// When a transmission of `bytes` bytes that begins now ends; None for at once, where the rate is
    /// infinite. `NEVER` where the run ends in an outage.
    pub fn finish(&mut self, now: Time, bytes: u32) -> Option<Time> {
        self.advance(now);
        self.rate_bps?;
        let (ended, left) = self.ended;
        let credit = if ended == now { left } else { 0 };
        let mut work = (u128::from(bytes) * 8 * PS_PER_S).saturating_sub(credit);
        let mut at = now;
        loop {
            let until = self.steps.peek().map_or(Time::NEVER, |step| step.at);
            let rate = u128::from(self.rate_bps.unwrap_or(0));
            if rate > 0 {
                let needed = work.div_ceil(rate);
                let end = u128::from(at.0) + needed;
                if end <= u128::from(until.0) {
                    let end = Time(end as u64);
                    self.ended = (end, rate * needed - work);
                    self.advance(end);
                    return Some(end);
                }
            }
            if until == Time::NEVER {
                return Some(Time::NEVER);
            }
            work -= (rate * u128::from(until.0 - at.0)).min(work);
            at = until;
            self.advance(at);
        }
    }
}

/// A transmitter at the opportunities of a trace.
#[derive(Debug)]
pub struct Opportune {
    all: Opportunities,
    /// The first opportunity not used or skipped.
    next: Option<Opportunity>,
    /// Bytes that may still leave at this instant.
    left: u64,
    /// Bytes of the packet in transmission that have not left.
    rest: u64,
    /// When its transmission began.
    began: Time,
}

impl Opportune {
    fn new(mut all: Opportunities) -> Opportune {
        Opportune {
            next: all.next(),
            all,
            left: 0,
            rest: 0,
            began: Time::ZERO,
        }
    }

    /// Opens the opportunity of an instant.
    pub fn open(&mut self, now: Time) {
        while let Some(opportunity) = self.next.filter(|next| next.at <= now) {
            self.left += opportunity.bytes;
            self.next = self.all.next();
        }
    }

    /// A packet's transmission begins.
    pub fn begin(&mut self, bytes: u32, now: Time) {
        self.rest = u64::from(bytes);
        self.began = now;
    }

    /// Sends of the packet in transmission what may leave. When all has left, returns when its transmission began.
    pub fn send(&mut self) -> Option<Time> {
        let sent = self.left.min(self.rest);
        self.left -= sent;
        self.rest -= sent;
        (self.rest == 0).then_some(self.began)
    }

    /// Whether anything may still leave in this instant.
    pub fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Gives up the rest of the opportunity, because nothing can be sent.
    pub fn close(&mut self) {
        self.left = 0;
    }

    /// The first opportunity from an instant on; earlier ones are skipped.
    pub fn first_from(&mut self, instant: Time) -> Time {
        while self.next.is_some_and(|next| next.at < instant) {
            self.all.skip_rounds_before(instant.saturating_sub(Time(1)));
            self.next = self.all.next();
        }
        self.next.map_or(Time::NEVER, |next| next.at)
    }
}
