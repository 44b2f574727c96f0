//! Random numbers that are the same for the same seed on every host and in every version.

use values::SplitMix;

/// A stream for one purpose.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix);

impl Random {
    /// `words` tell purposes with the same seed apart.
    pub(crate) fn new(seed: u64, words: &[u64]) -> Self {
        let mut state = SplitMix(seed);
        for word in words {
            state.0 = state.bits() ^ word.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        }
        Self(state)
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.bits()
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
    fn purposes_have_streams_of_their_own() {
        let first = |words: &[u64]| Random::new(42, words).next();
        assert_ne!(first(&[1]), first(&[2]));
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_eq!(first(&[7, 7]), first(&[7, 7]));
    }
}
