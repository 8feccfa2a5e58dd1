//! The two token buckets of an htb class, and what they allow.

use crate::token_bucket::{PschedRate, tc_depth_ns};
use dumbbell_tc::qdisc::HtbClass;

/// Largest debt, and longest time for which tokens accumulate: one minute.
const LARGEST_NS: i64 = 60_000_000_000;

/// What a class may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It may neither send nor borrow: out of tokens of its ceiling.
    CannotSend,
    /// It may borrow from an ancestor: out of tokens of its rate.
    MayBorrow,
    /// It may send.
    CanSend,
}

/// Tokens of rate and ceiling, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Bucket {
    rate: PschedRate,
    ceil: PschedRate,
    depth_ns: i64,
    ceil_depth_ns: i64,
    tokens_ns: i64,
    ceil_tokens_ns: i64,
    /// Time of the last update of the tokens.
    checkpoint_ns: u64,
    mode: Mode,
    /// Time of the next check of the mode, unless it can send.
    wake_ns: Option<u64>,
}

impl Bucket {
    /// Full buckets at the start of the run.
    pub fn new(class: &HtbClass) -> Bucket {
        let depth_ns_of = |rate_bps, bytes| tc_depth_ns(rate_bps, bytes) as i64;
        let depth_ns = depth_ns_of(class.rate_bps, class.burst_bytes);
        let ceil_depth_ns = depth_ns_of(class.ceil_bps, class.cburst_bytes);
        Bucket {
            rate: PschedRate::new(class.rate_bps),
            ceil: PschedRate::new(class.ceil_bps),
            depth_ns,
            ceil_depth_ns,
            tokens_ns: depth_ns,
            ceil_tokens_ns: ceil_depth_ns,
            checkpoint_ns: 0,
            mode: Mode::CanSend,
            wake_ns: None,
        }
    }

    /// Time of the next check of the mode.
    pub fn wake_ns(&self) -> Option<u64> {
        self.wake_ns
    }

    /// Tokens gained since the last update, ns.
    fn gain(&self, now_ns: u64) -> i64 {
        ((now_ns - self.checkpoint_ns) as i64).min(LARGEST_NS)
    }

    /// The mode `gain` ns after the checkpoint, and the time until it may change.
    fn mode_after(&self, gain: i64) -> (Mode, i64) {
        let (ceil_tokens, tokens) = (self.ceil_tokens_ns + gain, self.tokens_ns + gain);
        if ceil_tokens < 0 {
            (Mode::CannotSend, -ceil_tokens)
        } else if tokens < 0 {
            (Mode::MayBorrow, -tokens)
        } else {
            (Mode::CanSend, 0)
        }
    }

    /// Checks the mode when it may have changed.
    pub fn look_again(&mut self, now_ns: u64) -> Mode {
        let (mode, wait) = self.mode_after(self.gain(now_ns));
        self.enter(mode, wait, now_ns);
        mode
    }

    /// Updates the tokens and charges a packet: to the ceiling always, to the rate if the class pays for it
    /// (not if it was borrowed).
    pub fn charge(&mut self, bytes: u32, pays_rate: bool, now_ns: u64) -> Mode {
        let gain = self.gain(now_ns);
        let less = |tokens: i64, depth: i64, rate: PschedRate| {
            let left = (tokens + gain).min(depth) - rate.ns_of(bytes) as i64;
            left.max(1 - LARGEST_NS)
        };
        self.tokens_ns = match pays_rate {
            true => less(self.tokens_ns, self.depth_ns, self.rate),
            false => self.tokens_ns + gain,
        };
        self.ceil_tokens_ns = less(self.ceil_tokens_ns, self.ceil_depth_ns, self.ceil);
        self.checkpoint_ns = now_ns;
        let (mode, wait) = self.mode_after(0);
        // In the same mode the time of the next check stays.
        if mode != self.mode {
            self.enter(mode, wait, now_ns);
        }
        mode
    }

    fn enter(&mut self, mode: Mode, wait: i64, now_ns: u64) {
        self.mode = mode;
        self.wake_ns = (mode != Mode::CanSend).then(|| now_ns + wait.max(1).unsigned_abs());
    }
}
