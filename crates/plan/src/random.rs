//! Random numbers that are the same for the same seed on every host and in every version.

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A stream for one purpose: `words` tell purposes with the same seed apart.
    pub(crate) fn new(seed: u64, words: &[u64]) -> Self {
        let mut state = Self(seed);
        for word in words {
            state.0 = state.next() ^ word.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        }
        state
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in `0..bound`; the bias of the modulus is below 2^-50 for the small bounds used
    /// here.
    fn below(&mut self, bound: usize) -> usize {
        debug_assert!(bound > 0, "a bound of 0 has no values");
        usize::try_from(self.next() % bound as u64).unwrap_or(0)
    }

    /// Every order equally likely (Fisher and Yates; Durstenfeld 1964).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // First values of SplitMix64 with seed 1234567, as published with the generator.
        let mut random = Random::new(1_234_567, &[]);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn purposes_have_streams_of_their_own() {
        let first = |words: &[u64]| Random::new(42, words).next();
        assert_ne!(first(&[1]), first(&[2]));
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_eq!(first(&[7, 7]), first(&[7, 7]));
    }
}
