//! The generator: xoshiro256++ (Blackman and Vigna 2019), about a dozen instructions per number.

/// A stream of random numbers. Equal seeds give equal streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream number `stream` under `seed`; streams of one seed are independent.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixer = SplitMix(seed);
        let mut mixer = SplitMix(mixer.bits() ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        Self { state: [mixer.bits(), mixer.bits(), mixer.bits(), mixer.bits()] }
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// An integer in `[0, span)`, each exactly as likely (Lemire 2019); any integer if `span` is 0.
    #[inline]
    pub fn below(&mut self, span: u64) -> u64 {
        if span == 0 {
            return self.bits();
        }
        let mut product = u128::from(self.bits()) * u128::from(span);
        // Only a product whose low half is below `span` can be one too many for its result; the
        // division that tells costs more than all the rest and happens once in 2^64 / span draws.
        if (product as u64) < span {
            let excess = span.wrapping_neg() % span;
            while (product as u64) < excess {
                product = u128::from(self.bits()) * u128::from(span);
            }
        }
        (product >> 64) as u64
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"): makes
/// well-mixed states from seeds such as 0, 1, 2.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Normal, with mean 0 and deviation 1 (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_follows_its_published_definition() {
        // First outputs of xoshiro256++ from the state 1, 2, 3, 4, as its authors' C code gives
        // them.
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn the_seed_mixer_follows_its_published_definition() {
        // First values of SplitMix64 with seed 1234567, as published with the generator.
        let mut random = SplitMix(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let first = |seed, stream| Random::new(seed, stream).bits();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(0, 1), first(1, 0));
    }

    #[test]
    fn bounded_draws_are_uniform() {
        let mut random = Random::new(7, 0);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[random.below(10) as usize] += 1;
        }
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        // 99.9 % quantile of chi-square with 9 degrees of freedom.
        assert!(chi < 27.88, "{counts:?}");
    }

    #[test]
    fn a_span_near_the_whole_range_has_no_bias() {
        // Plain multiplication would give the upper third twice as often as the rest.
        let mut random = Random::new(3, 0);
        let span = u64::MAX / 3 * 2 + 1;
        let low = (0..30_000).filter(|_| random.below(span) < span / 2).count();
        assert!((14_600..15_400).contains(&low), "{low}");
    }

    #[test]
    fn the_smallest_spans_stay_in_range() {
        let mut random = Random::new(3, 0);
        assert!((0..100).all(|_| random.below(1) == 0));
        assert!((0..100).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}
