//! Random numbers: named streams of xoshiro256++ and the samplers from which every law is built.
//!
//! | what | method | source |
//! | --- | --- | --- |
//! | generator | xoshiro256++, 256 bits of state, period 2^256 - 1 | Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021 |
//! | exponential, normal | ziggurat of 256 layers | Marsaglia and Tsang, "The ziggurat method for generating random variables", J. Stat. Soft. 5(8), 2000 |
//! | gamma | cube of a shifted normal, squeezed | Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000 |
//! | integers below n | multiply and reject | Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019 |
//!
//! Logarithms and exponentials come from the crate `libm`, and everything else is IEEE arithmetic in a fixed
//! order, so a stream has the same bits on every platform. We use our own samplers because those of the
//! distribution crates change with cargo features and versions.
//! # Seeding
//! The state is the SHA-256 of the seed, the replication and the component's name. A strong
//! The state is the SHA-256 of the seed, the replication and the component's name. A cryptographic hash is
//! needed because structure in these inputs (seeds 1, 2, 3; names that differ in one character) must not
//! cause structure between streams. With sums or a chain of FNV, seed 1 with replication 2 would collide with
//! seed 2 with replication 1, and with a 64-bit hash two of 2^32 streams would be equal. With 256 bits the
//! probability that any two of 2^40 streams of 2^64 draws overlap is below 2^-110. Seeding costs some hundred
//! nanoseconds per stream and nothing per draw. The name is hashed instead of an index, so an unrelated flow
//! does not change other draws.
//!
//! | what | how | source |
//! | --- | --- | --- |
//! | generator | xoshiro256++, 256 bits of state, period 2^256 - 1 | Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47(4), 2021 |
//! | exponential, normal | ziggurat of 256 layers | Marsaglia and Tsang, "The ziggurat method for generating random variables", J. Stat. Soft. 5(8), 2000 |
//! | gamma | cube of a shifted normal, squeezed | Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000 |
//! | integers below n | multiply and reject | Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019 |
//!
//! Logarithms and exponentials come from the crate `libm` and everything else is IEEE
//! arithmetic in a fixed order, so a stream has the same bits on every platform. The samplers
//! are ours for that reason: the distribution crates change their maths with cargo features,
//! and their draws with their versions.
//!
//! # Seeding
//! The state is the SHA-256 of the seed, the replication and the component's name. A strong
//! hash, because any structure in these three (seeds 1, 2, 3; names differing in one
//! character) must not become structure between streams: sums or a chain of FNV make seed 1
//! with replication 2 collide with seed 2 with replication 1, and a 64-bit hash repeats a
//! stream somewhere among 2^32 of them. With 256 bits two streams of 2^64 draws, among 2^40
//! streams, overlap with probability below 2^-110. It costs some hundred nanoseconds once a
//! stream and nothing a draw. Hashing the name, and not a position in a list, is what keeps an
//! unrelated flow from changing anybody's draws.

#[cfg(any(test, feature = "testing"))]
pub mod check;
#[cfg(test)]
mod tests;
mod ziggurat;

use sha2::{Digest as _, Sha256};
use ziggurat::Tables;

/// Domain separator for SHA-256. Raise the number whenever a stream's draws change.
const DOMAIN: &[u8] = b"dumbbell stream 1\0";

/// The random numbers of one component in one replication.
#[derive(Debug, Clone)]
pub struct Stream {
    state: [u64; 4],
    /// Created by the first draw that needs them: building them takes longer than starting a short TCP run,
    /// which needs none.
    tables: Option<&'static Tables>,
}

/// Whether two streams continue identically.
impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        self.state == other.state
    }
}

/// The 53 high bits of a word as a multiple of 2^-53 in [0, 1).
#[inline]
fn half_open_unit(word: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (word >> 11) as f64 * STEP
}

/// The 53 high bits of a word as a multiple of 2^-53 in (0, 1].
#[inline]
fn open_unit(word: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    ((word >> 11) + 1) as f64 * STEP
}

impl Stream {
    /// The stream of `component` (for example `flow/sender-1/gap`) in a replication.
    pub fn new(seed: u64, replication: u64, component: &str) -> Stream {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(seed.to_le_bytes());
        hash.update(replication.to_le_bytes());
        // The name comes last, so it needs no length to be unambiguous.
        hash.update(component.as_bytes());
        let bytes: [u8; 32] = hash.finalize().into();
        let word = |index: usize| {
            let eight = &bytes[8 * index..8 * index + 8];
            u64::from_le_bytes(eight.try_into().expect("eight bytes"))
        };
        // The all-zero state, from which the generator never leaves, has probability 2^-256.
        Stream::from_state([word(0), word(1), word(2), word(3)])
    }

    fn from_state(state: [u64; 4]) -> Stream {
        Stream {
            state,
            tables: None,
        }
    }

    #[inline(always)]
    fn tables(&mut self) -> &'static Tables {
        match self.tables {
            Some(tables) => tables,
            None => self.get_tables(),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_tables(&mut self) -> &'static Tables {
        self.tables.insert(Tables::get())
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let word = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        word
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        half_open_unit(self.next_u64())
    }

    /// Uniform in (0, 1], a multiple of 2^-53: safe to take the logarithm of.
    #[inline]
    pub fn uniform_open(&mut self) -> f64 {
        open_unit(self.next_u64())
    }

    /// Uniform among 0, 1, ..., `n` - 1, each exactly equally likely.
    ///
    /// # Panics
    /// When `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no integer is below 0");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            // The low half of an accepted product is at least 2^64 mod n; the division is
            // needed only when it could matter.
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Exponential with mean 1, always above 0.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        loop {
            // Layer and abscissa come from different bits of the word: sharing them would
            // correlate the two (Doornik 2005).
            let word = self.next_u64();
            let layer = (word & 0xff) as usize;
            let edge = &self.tables().exponential.edge;
            let x = open_unit(word) * edge[layer];
            if x < edge[layer + 1] {
                return x;
            }
            if let Some(x) = self.exponential_at_the_edge(layer, x) {
                return x;
            }
        }
    }

    /// About 1.1 % of words: the tail or the wedge between a layer and the curve.
    #[cold]
    #[inline(never)]
    fn exponential_at_the_edge(&mut self, layer: usize, x: f64) -> Option<f64> {
        if layer == 0 {
            // The exponential is memoryless: beyond the last edge it restarts.
            return Some(ziggurat::EXPONENTIAL_TAIL + self.exponential());
        }
        let height = self.uniform();
        let accepted = self.tables().exponential.height(layer, height) < libm::exp(-x);
        accepted.then_some(x)
    }

    /// Normal with mean 0 and standard deviation 1.
    #[inline]
    pub fn standard_normal(&mut self) -> f64 {
        loop {
            let word = self.next_u64();
            let layer = (word & 0xff) as usize;
            let edge = &self.tables().normal.edge;
            let x = open_unit(word) * edge[layer];
            let x = if x < edge[layer + 1] {
                x
            } else {
                match self.normal_at_the_edge(layer, x) {
                    Some(x) => x,
                    None => continue,
                }
            };
            // Bit 8 is used by neither the layer nor the abscissa: it is the sign.
            return f64::from_bits(x.to_bits() | (word & 0x100) << 55);
        }
    }

    /// About 1.2 % of words: the tail or the wedge between a layer and the curve.
    #[cold]
    #[inline(never)]
    fn normal_at_the_edge(&mut self, layer: usize, x: f64) -> Option<f64> {
        if layer == 0 {
            return Some(self.normal_tail());
        }
        let height = self.uniform();
        let accepted = self.tables().normal.height(layer, height) < libm::exp(-0.5 * x * x);
        accepted.then_some(x)
    }

    /// A normal given that it is beyond the last edge (Marsaglia, Technometrics 6, 1964).
    fn normal_tail(&mut self) -> f64 {
        loop {
            let beyond = self.exponential() / ziggurat::NORMAL_TAIL;
            if 2.0 * self.exponential() > beyond * beyond {
                return ziggurat::NORMAL_TAIL + beyond;
            }
        }
    }

    /// Gamma with the given shape, above 0, and scale 1. With a shape below about 0.005 a draw may be smaller
    /// than the smallest `f64` and is then 0.
    #[inline]
    pub fn standard_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // Gamma(a) = Gamma(a + 1) U^(1/a) (their section 6), with -ln U an exponential.
            let boost = libm::exp(-self.exponential() / shape);
            return boost * self.gamma_from_one(shape + 1.0);
        }
        self.gamma_from_one(shape)
    }

    /// Gamma of a shape of at least 1.
    fn gamma_from_one(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.standard_normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = self.uniform_open();
            let x2 = x * x;
            let squeezed = u < 1.0 - 0.0331 * x2 * x2;
            if squeezed || libm::log(u) < 0.5 * x2 + d * (1.0 - v + libm::log(v)) {
                return d * v;
            }
        }
    }
}
