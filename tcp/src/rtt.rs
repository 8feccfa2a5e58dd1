//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 6298 section 2.1, before a measurement: 1 s | yes |
//! | RFC 6298 section 2.2, first measurement | yes; `linux-6.1` keeps the variance term at `min_rto` or more |
//! | RFC 6298 section 2.3, later ones: alpha = 1/8, beta = 1/4 | `rfc` as written. `linux-6.1`: the deviation decreases by 1/32 when the time decreases, and the timeout uses its maximum over the last window |
//! | RFC 6298 section 2.4, at least 1 s | `rfc`: `min_rto`. `linux-6.1`: SRTT + max(`min_rto`, 4 RTTVAR), that is at least SRTT + 200 ms |
//! | RFC 6298 section 2.5, a maximum | 120 s |
//! | RFC 6298 section 3 (Taking RTT Samples): Karn's algorithm | the sender's: it measures only what was sent once, or by timestamps |
//! | RFC 6298 section 4 (Clock Granularity): the variance term is at least G | `linux-6.1`: `min_rto`; `rfc`: G is 0, the clock has no ticks |
//! | RFC 6298 section 5.5, backing off | the sender's |
//!
//! Times are whole microseconds, SRTT in eighths and the deviation in quarters of one
//! (net/ipv4/tcp_input.c, `tcp_rtt_estimator`).

use dumbbell_core::time::Time;
use dumbbell_core::timer::Clock;
use dumbbell_spec::tcp::Profile;

/// Initial timeout (RFC 6298 section 2.1).
pub const INITIAL_RTO: Time = Time::from_ns(1_000_000_000);
/// Maximum timeout (RFC 6298 section 2.5; Linux's `TCP_RTO_MAX`).
pub const LARGEST_RTO: Time = Time::from_ns(120_000_000_000);
/// Window of the minimum round-trip time (`tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW_US: u64 = 300_000_000;

/// Microseconds of a time, rounded down.
#[inline]
pub fn as_us(time: Time) -> u64 {
    time.as_ns() / 1_000
}

/// A time of `us` microseconds.
#[inline]
pub fn from_us(us: u64) -> Time {
    Time::from_ns(us * 1_000)
}

/// Longer round-trip times are stored as this, four and a half minutes: the limit of 32 bits in eighths of a
/// microsecond, as in Linux (`srtt_us`).
const MOST_RTT_US: u64 = 1 << 28;
/// Marks a missing minimum.
const UNKNOWN_US: u32 = u32::MAX;

/// A value and its time.
type Measured = (u32, u64);

/// The estimators of a sender.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTrip {
    /// When this is acknowledged, a window of data has passed.
    window_end: u64,
    /// Times of the values in `least_us`.
    least_at_us: [u64; 3],
    /// First, second and third minimum of the window, by age (K. Nichols' windowed minimum, as in
    /// lib/minmax.c).
    least_us: [u32; 3],
    /// Eight times SRTT, microseconds; 0 before the first measurement.
    srtt_8us: u32,
    /// Four times the mean deviation.
    deviation_4us: u32,
    /// Its maximum since the last window of data began (`mdev_max`).
    largest_deviation_4us: u32,
    /// The variance term of the timeout: 4 RTTVAR.
    variance_4us: u32,
    min_rto_us: u32,
    profile: Profile,
}

const _: () = assert!(size_of::<RoundTrip>() <= 72);

impl RoundTrip {
    /// Without measurements.
    pub fn new(profile: Profile, min_rto: Time) -> RoundTrip {
        RoundTrip {
            window_end: 0,
            least_at_us: [0; 3],
            least_us: [UNKNOWN_US; 3],
            srtt_8us: 0,
            deviation_4us: 0,
            largest_deviation_4us: 0,
            variance_4us: 0,
            min_rto_us: as_us(min_rto.min(LARGEST_RTO)) as u32,
            profile,
        }
    }

    /// Adds a measurement. `una` and `next` are those of the sender, for detecting windows of data.
    pub fn measure(&mut self, rtt_us: u64, una: u64, next: u64) {
        let rtt_us = rtt_us.min(MOST_RTT_US) as u32;
        if self.srtt_8us == 0 {
            self.begin(rtt_us, next);
        } else {
            match self.profile {
                Profile::Linux61 => self.measure_linux(rtt_us, una, next),
                Profile::Rfc => self.measure_rfc(rtt_us),
            }
        }
        self.srtt_8us = self.srtt_8us.max(1);
    }

    /// RFC 6298 section 2.2: SRTT = R, RTTVAR = R/2.
    fn begin(&mut self, rtt_us: u32, next: u64) {
        self.srtt_8us = rtt_us << 3;
        self.deviation_4us = rtt_us << 1;
        self.variance_4us = match self.profile {
            Profile::Linux61 => self.deviation_4us.max(self.min_rto_us),
            Profile::Rfc => self.deviation_4us,
        };
        self.largest_deviation_4us = self.variance_4us;
        self.window_end = next;
    }

    /// RFC 6298 section 2.3.
    fn measure_rfc(&mut self, rtt_us: u32) {
        let error_us = (self.srtt_8us >> 3).abs_diff(rtt_us);
        self.deviation_4us = self.deviation_4us - (self.deviation_4us >> 2) + error_us;
        self.variance_4us = self.deviation_4us;
        self.srtt_8us = self.srtt_8us - (self.srtt_8us >> 3) + rtt_us;
    }

    fn measure_linux(&mut self, rtt_us: u32, una: u64, next: u64) {
        let error_us = i64::from(rtt_us) - i64::from(self.srtt_8us >> 3);
        self.srtt_8us = (i64::from(self.srtt_8us) + error_us) as u32;
        let mut step = error_us.abs() - i64::from(self.deviation_4us >> 2);
        // A path that became shorter says little about its variance.
        if error_us < 0 && step > 0 {
            step >>= 3;
        }
        self.deviation_4us = (i64::from(self.deviation_4us) + step) as u32;
        if self.deviation_4us > self.largest_deviation_4us {
            self.largest_deviation_4us = self.deviation_4us;
            self.variance_4us = self.variance_4us.max(self.largest_deviation_4us);
        }
        if una > self.window_end {
            let excess = self.variance_4us.saturating_sub(self.largest_deviation_4us);
            self.variance_4us -= excess >> 2;
            self.window_end = next;
            self.largest_deviation_4us = self.min_rto_us;
        }
    }

    /// Four times the mean deviation (`mdev_us`), microseconds.
    pub fn deviation_4us(&self) -> u32 {
        self.deviation_4us
    }

    /// The retransmission timeout, without backoff.
    pub fn rto(&self, clock: Clock) -> Time {
        if self.srtt_8us == 0 {
            return INITIAL_RTO;
        }
        let rto_us = u64::from((self.srtt_8us >> 3) + self.variance_4us);
        let floor_us = match self.profile {
            Profile::Linux61 => 0,
            Profile::Rfc => u64::from(self.min_rto_us),
        };
        clock.span(from_us(rto_us.max(floor_us))).min(LARGEST_RTO)
    }

    /// Eight times the smoothed round-trip time, microseconds; 0 before the first measurement.
    #[inline]
    pub fn srtt_8us(&self) -> u64 {
        u64::from(self.srtt_8us)
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Time> {
        // Times 1000 before dividing by 8: an eighth of a microsecond is whole nanoseconds.
        (self.srtt_8us > 0).then(|| Time::from_ns(self.srtt_8us() * 125))
    }

    /// RTTVAR: a quarter of the variance term of the timeout.
    pub fn rttvar(&self) -> Option<Time> {
        (self.srtt_8us > 0).then(|| Time::from_ns(u64::from(self.variance_4us) * 250))
    }

    /// The mean deviation, which Linux reports as `tcpi_rttvar`.
    pub fn mean_deviation(&self) -> Option<Time> {
        (self.srtt_8us > 0).then(|| Time::from_ns(u64::from(self.deviation_4us) * 250))
    }

    /// Adds a measurement to the windowed minimum.
    pub fn measure_least(&mut self, rtt_us: u64, now_us: u64) {
        let rtt_us = rtt_us.min(MOST_RTT_US) as u32;
        let new = (rtt_us, now_us);
        if rtt_us <= self.least_us[0] || now_us - self.least_at_us[2] > MIN_RTT_WINDOW_US {
            (self.least_us, self.least_at_us) = ([rtt_us; 3], [now_us; 3]);
            return;
        }
        if rtt_us <= self.least_us[1] {
            self.set_least(1, new);
            self.set_least(2, new);
        } else if rtt_us <= self.least_us[2] {
            self.set_least(2, new);
        }
        self.age_least(new);
    }

    fn set_least(&mut self, rank: usize, (rtt_us, at_us): Measured) {
        (self.least_us[rank], self.least_at_us[rank]) = (rtt_us, at_us);
    }

    /// Drops the first minimum: the second becomes the first, and so on.
    fn shift_least(&mut self, new: Measured) {
        self.least_us = [self.least_us[1], self.least_us[2], new.0];
        self.least_at_us = [self.least_at_us[1], self.least_at_us[2], new.1];
    }

    /// Renews the later minima if the first is too old, or none has come for a quarter or half of the window.
    fn age_least(&mut self, new: Measured) {
        let at_us = &self.least_at_us;
        let age_us = new.1 - at_us[0];
        if age_us > MIN_RTT_WINDOW_US {
            self.shift_least(new);
            if new.1 - self.least_at_us[0] > MIN_RTT_WINDOW_US {
                self.shift_least(new);
            }
        } else if at_us[1] == at_us[0] && age_us > MIN_RTT_WINDOW_US / 4 {
            self.set_least(1, new);
            self.set_least(2, new);
        } else if at_us[2] == at_us[1] && age_us > MIN_RTT_WINDOW_US / 2 {
            self.set_least(2, new);
        }
    }

    /// Minimum round-trip time of the last five minutes, microseconds; `u64::MAX` for none.
    #[inline]
    pub fn min_rtt_us(&self) -> u64 {
        match self.least_us[0] {
            UNKNOWN_US => u64::MAX,
            least_us => u64::from(least_us),
        }
    }

    /// Minimum round-trip time of the last five minutes.
    pub fn min_rtt(&self) -> Option<Time> {
        (self.least_us[0] != UNKNOWN_US).then(|| from_us(self.min_rtt_us()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_RTO: Time = Time::from_ns(200_000_000);

    fn ms(time: Time) -> u64 {
        time.as_ns() / 1_000_000
    }

    #[test]
    fn before_a_measurement_it_is_one_second() {
        let rtt = RoundTrip::new(Profile::Linux61, MIN_RTO);
        assert_eq!(rtt.rto(Clock::Exact), INITIAL_RTO);
        assert_eq!((rtt.srtt(), rtt.min_rtt()), (None, None));
    }

    /// RFC 6298 section 2.2: RTO = R + max(G, 4 R/2) = 3 R.
    #[test]
    fn the_first_measurement_gives_three_times_itself() {
        let mut rtt = RoundTrip::new(Profile::Rfc, Time::ZERO);
        rtt.measure(500_000, 0, 1);
        assert_eq!(ms(rtt.rto(Clock::Exact)), 1500);
        let mut rtt = RoundTrip::new(Profile::Linux61, MIN_RTO);
        rtt.measure(500_000, 0, 1);
        assert_eq!(ms(rtt.rto(Clock::Exact)), 1500);
    }

    /// RFC 6298 section 2.3, by hand: R = 100 ms, then 180 ms.
    #[test]
    fn the_second_follows_the_formula() {
        let mut rtt = RoundTrip::new(Profile::Rfc, Time::ZERO);
        rtt.measure(100_000, 0, 1);
        rtt.measure(180_000, 1, 2);
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!(rtt.srtt(), Some(Time::from_ns(110_000_000)));
        assert_eq!(rtt.rttvar(), Some(Time::from_ns(57_500_000)));
        assert_eq!(rtt.mean_deviation(), rtt.rttvar());
        assert_eq!(ms(rtt.rto(Clock::Exact)), 340);
    }

    #[test]
    fn a_steady_path_leaves_the_floor_of_each_profile() {
        let mut linux = RoundTrip::new(Profile::Linux61, MIN_RTO);
        let mut rfc = RoundTrip::new(Profile::Rfc, MIN_RTO);
        for sent in 0..200u64 {
            linux.measure(40_000, sent, sent + 1);
            rfc.measure(40_000, sent, sent + 1);
        }
        // Linux: SRTT + 200 ms. RFC: the whole is at least 200 ms.
        assert_eq!(ms(linux.rto(Clock::Exact)), 240);
        assert_eq!(linux.rttvar(), Some(Time::from_ns(50_000_000)));
        assert!(linux.mean_deviation() < Some(Time::from_ns(10_000)));
        assert_eq!(ms(rfc.rto(Clock::Exact)), 200);
    }

    #[test]
    fn linux_lets_the_deviation_fall_slowly_when_the_path_gets_shorter() {
        let mut linux = RoundTrip::new(Profile::Linux61, MIN_RTO);
        for sent in 0..100u64 {
            linux.measure(400_000, sent, sent + 1);
        }
        let before = linux.deviation_4us;
        linux.measure(100_000, 100, 101);
        // The error is 300 ms; an eighth of the step instead of the whole.
        assert!(linux.deviation_4us - before <= 300_000 / 8);
    }

    #[test]
    fn the_least_is_forgotten_after_five_minutes() {
        let mut rtt = RoundTrip::new(Profile::Linux61, MIN_RTO);
        rtt.measure_least(10_000, 0);
        for second in 1..600 {
            rtt.measure_least(20_000, second * 1_000_000);
            let expected = if second <= 300 { 10_000 } else { 20_000 };
            assert_eq!(rtt.min_rtt_us(), expected, "after {second} s");
        }
    }
}
