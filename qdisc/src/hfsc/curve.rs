//! Service curves, and the service due to a class at an instant (tc-hfsc(7), "Basics of HFSC").
//!
//! Times are ticks of 64 ns, as in the kernel's schedulers. Slopes are stored as in the kernel, in fixed
//! point and rounded up: 24 fractional bits of bytes per tick, 14 of ticks per byte. Over a long busy period
//! the rounding amounts to microseconds.

use dumbbell_tc::qdisc::ServiceCurve;

/// Logarithm of the nanoseconds per tick.
pub const TICK_SHIFT: u32 = 6;
const TICKS_PER_S: u128 = 1_000_000_000 >> TICK_SHIFT;
const US_PER_S: u128 = 1_000_000;
/// Fractional bits of bytes per tick.
const SLOPE_PLACES: u32 = 24;
/// Fractional bits of ticks per byte.
const INVERSE_PLACES: u32 = 14;

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slope {
    bytes_a_tick: u128,
    /// None for a rate of 0.
    ticks_a_byte: Option<u128>,
}

impl Slope {
    fn new(bps: u64) -> Slope {
        let bytes_a_s = u128::from(bps / 8);
        Slope {
            bytes_a_tick: (bytes_a_s << SLOPE_PLACES).div_ceil(TICKS_PER_S),
            ticks_a_byte: (bytes_a_s > 0)
                .then(|| (TICKS_PER_S << INVERSE_PLACES).div_ceil(bytes_a_s)),
        }
    }

    fn bytes_in(self, ticks: u64) -> u64 {
        saturated((u128::from(ticks) * self.bytes_a_tick) >> SLOPE_PLACES)
    }

    fn ticks_for(self, bytes: u64) -> u64 {
        match self.ticks_a_byte {
            _ if bytes == 0 => 0,
            Some(ticks) => saturated((u128::from(bytes) * ticks) >> INVERSE_PLACES),
            None => u64::MAX,
        }
    }
}

fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// S(): a first rate for a limited time, then a second one.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    first: Slope,
    first_ticks: u64,
    second: Slope,
}

impl Service {
    /// From tc's parameters.
    pub fn new(curve: &ServiceCurve) -> Service {
        let ticks = (u128::from(curve.d_us) * TICKS_PER_S).div_ceil(US_PER_S);
        Service {
            first: Slope::new(curve.m1_bps),
            first_ticks: saturated(ticks),
            second: Slope::new(curve.m2_bps),
        }
    }

    /// Whether the second rate is not below the first.
    pub fn is_convex(&self) -> bool {
        self.first.bytes_a_tick <= self.second.bytes_a_tick
    }
}

/// X(): the service due to a class at each instant since it last became active.
#[derive(Debug, Clone, Copy)]
pub struct Curve {
    begin: u64,
    begin_bytes: u64,
    first_ticks: u64,
    first_bytes: u64,
    first: Slope,
    second: Slope,
}

impl Curve {
    /// Starts at an instant with this amount already served.
    pub fn new(service: &Service, begin: u64, begin_bytes: u64) -> Curve {
        Curve {
            begin,
            begin_bytes,
            first_ticks: service.first_ticks,
            first_bytes: service.first.bytes_in(service.first_ticks),
            first: service.first,
            second: service.second,
        }
    }

    fn first_end(&self) -> u64 {
        self.begin.saturating_add(self.first_ticks)
    }

    /// The service due at an instant.
    fn bytes_at(&self, at: u64) -> u64 {
        let ticks = at.saturating_sub(self.begin);
        let bytes = match ticks.checked_sub(self.first_ticks) {
            None | Some(0) => self.first.bytes_in(ticks),
            Some(more) => self.first_bytes.saturating_add(self.second.bytes_in(more)),
        };
        self.begin_bytes.saturating_add(bytes)
    }

    /// When this amount of service is due. If the first rate is 0, everything served before is due at its
    /// end.
    pub fn when(&self, bytes: u64) -> u64 {
        let Some(bytes) = bytes.checked_sub(self.begin_bytes) else {
            return self.begin;
        };
        match bytes.checked_sub(self.first_bytes) {
            None | Some(0) if self.first_bytes == 0 => self.first_end(),
            None | Some(0) => self.begin.saturating_add(self.first.ticks_for(bytes)),
            Some(more) => self.first_end().saturating_add(self.second.ticks_for(more)),
        }
    }

    /// The minimum of the curve and of the service curve started at this instant with this amount served.
    pub fn renew(&mut self, service: &Service, now: u64, served_bytes: u64) {
        let due = self.bytes_at(now);
        let anew = Curve::new(service, now, served_bytes);
        if service.is_convex() {
            // The new curve is the smaller one everywhere if it is smaller at its start.
            if due >= served_bytes {
                *self = anew;
            }
            return;
        }
        if due <= served_bytes {
            return;
        }
        let first_end = anew.first_end();
        if self.bytes_at(first_end) >= served_bytes.saturating_add(anew.first_bytes) {
            *self = anew;
            return;
        }
        // The curves cross: the first rate of the new one up to there, then the common second rate.
        let faster = service.first.bytes_a_tick - service.second.bytes_a_tick;
        let gap = u128::from(due - served_bytes) << SLOPE_PLACES;
        let mut ticks = saturated(gap / faster.max(1));
        ticks = ticks.saturating_add(self.first_end().saturating_sub(now));
        *self = Curve {
            first_ticks: ticks,
            first_bytes: service.first.bytes_in(ticks),
            ..anew
        };
    }

    /// The curve without its first rate: eligibility of a class whose second rate is larger.
    pub fn of_second_rate(self) -> Curve {
        Curve {
            first_ticks: 0,
            first_bytes: 0,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(m1_bps: u64, d_us: u32, m2_bps: u64) -> Service {
        Service::new(&ServiceCurve {
            m1_bps,
            d_us,
            m2_bps,
        })
    }

    const MS: u64 = 15_625;

    #[test]
    fn a_curve_and_its_inverse() {
        // 125 bytes per millisecond for 10 ms, then 1250.
        let curve = Curve::new(&service(1_000_000, 10_000, 10_000_000), 100 * MS, 50);
        for (ms, bytes) in [(0, 50), (100, 50), (102, 300), (110, 1300), (111, 2550)] {
            let found = curve.bytes_at(ms * MS);
            assert!(found.abs_diff(bytes) <= 1, "{ms}: {found}");
        }
        for (bytes, ms) in [(0, 100), (50, 100), (300, 102), (1300, 110), (2550, 111)] {
            assert!(curve.when(bytes).abs_diff(ms * MS) <= 15, "{bytes}");
        }
    }

    #[test]
    fn nothing_is_due_at_a_rate_of_0_until_it_ends() {
        let curve = Curve::new(&service(0, 10_000, 8_000_000), 0, 0);
        assert_eq!(curve.when(0), 10 * MS);
        assert_eq!(curve.when(1000), 11 * MS);
        let never = Curve::new(&service(8_000_000, 1_000, 0), 0, 0);
        assert_eq!(never.when(1001), u64::MAX);
    }

    /// tc-hfsc(7): X() is the minimum of its old value and of S() from now on.
    #[test]
    fn a_concave_curve_is_the_lesser_of_two() {
        let concave = service(8_000_000, 10_000, 1_000_000);
        for (now_ms, served) in [(5, 1000), (15, 8_000), (40, 12_000), (400, 30_000)] {
            let old = Curve::new(&concave, 0, 0);
            let mut renewed = old;
            renewed.renew(&concave, now_ms * MS, served);
            let anew = Curve::new(&concave, now_ms * MS, served);
            for ms in (now_ms..now_ms + 60).step_by(3) {
                let least = old.bytes_at(ms * MS).min(anew.bytes_at(ms * MS));
                let found = renewed.bytes_at(ms * MS);
                assert!(found.abs_diff(least) <= 3, "{now_ms} {ms}: {found} {least}");
            }
        }
    }

    #[test]
    fn a_convex_curve_begins_anew() {
        let convex = service(1_000_000, 10_000, 8_000_000);
        let mut curve = Curve::new(&convex, 0, 0);
        curve.renew(&convex, 100 * MS, 500);
        assert_eq!(curve.bytes_at(100 * MS), 500);
        // If more was served than was due, the old curve stays.
        curve.renew(&convex, 101 * MS, 5000);
        assert_eq!(curve.bytes_at(100 * MS), 500);
    }
}
