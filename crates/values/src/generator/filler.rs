//! Texts of random length that a compressor can shorten by a chosen share only.

use super::{Bytes, Generate, Key, Keys, Sampler, Shape};
use crate::Random;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Text of a uniform random length in `[low, high]`: `a`s, then
/// `length * 3 / 4 * random_percent / 100` random characters of the base64 alphabet, which a
/// compressor cannot shorten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filler {
    /// Least length, characters.
    pub low: i64,
    /// Greatest length, inclusive.
    pub high: i64,
    /// Share of random characters, percent of three quarters of the length.
    pub random_percent: u32,
}

/// Share of random characters, as published.
const RANDOM_PERCENT: i64 = 50;

/// Longest text that can be asked for.
const LENGTH_MAX: i64 = 65_535;

impl Generate for Filler {
    const KEYS: &'static [Key] =
        &[Key::new("filler", Shape::Interval), Key::new("random_percent", Shape::Integer)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        let [low, high] = keys.interval("filler", 0..=LENGTH_MAX)?;
        let percent = keys.integer("random_percent", 0..=100)?.unwrap_or(RANDOM_PERCENT);
        Ok(Self { low, high, random_percent: percent as u32 })
    }

    fn bytes(&self) -> Bytes {
        let most = u64::try_from(self.high).unwrap_or_default();
        Bytes { mean: (self.low as f64 + self.high as f64) / 2.0, most }
    }

    fn sampler(&self, _: u64) -> Sampler {
        Sampler::Filler(CompiledFiller::new(self))
    }
}

/// Bytes of a text that is copied as if it were always that long.
pub const BRIEF: usize = 32;

/// Characters that the random parts of long texts are cut from. Long enough that two rows of one
/// page or block hardly ever share a part.
const POOL_LENGTH: usize = 1 << 20;
/// Seed of the characters: they are the same in every program.
const POOL_SEED: u64 = 0x0066_696C_6C65_7200;
/// No quote and no backslash, so that texts can be sent as literals.
#[cfg(test)]
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Room for the random part of a brief text, which is drawn and not cut: reading a place of a pool
/// that is too large for the caches took longer than all the rest of a row.
pub type Letters = [u8; BRIEF];

/// Draws letters, `count` of them at least, as far as there is room.
#[inline]
fn draw_letters(random: &mut Random, count: usize, letters: &mut Letters) {
    for eight in letters.chunks_exact_mut(8).take(count.div_ceil(8)) {
        eight.copy_from_slice(&eight_letters(random.bits()).to_le_bytes());
    }
}

/// Eight characters of [`ALPHABET`], each from the low six bits of a byte.
#[inline]
fn eight_letters(bits: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let sextets = bits & (63 * ONES);
    // A one in every byte whose number is at least as large: what is missing to 128 sets its high
    // bit.
    let from = |least: u64| ((sextets + (128 - least) * ONES) >> 7) & ONES;
    let letters = sextets + u64::from(b'A') * ONES + 6 * from(26) + 3 * from(63);
    letters - 75 * from(52) - 15 * from(62)
}

/// Random characters of the base64 alphabet, shared by all fillers; they take about a millisecond.
static POOL: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let mut random = Random::new(POOL_SEED, 0);
    (0..POOL_LENGTH / 8).flat_map(|_| eight_letters(random.bits()).to_le_bytes()).collect()
});

/// A filler ready to draw.
#[derive(Debug, Clone)]
pub struct CompiledFiller {
    low: u64,
    /// Number of lengths.
    span: u64,
    /// Share of random characters, percent of three quarters of the length.
    percent: u64,
    length_max: usize,
    /// As many `a`s as the longest text has, and at least as many as a brief one is copied with.
    plain: Box<[u8]>,
    pool: &'static [u8],
    /// Places of the pool that a random part may start at.
    starts: u64,
}

impl CompiledFiller {
    /// The texts of a filler. Lengths and shares beyond their limits count as these.
    pub fn new(filler: &Filler) -> Self {
        let length = |length: i64| length.clamp(0, LENGTH_MAX) as u64;
        let low = length(filler.low);
        let high = length(filler.high).max(low);
        Self {
            low,
            span: high - low + 1,
            percent: u64::from(filler.random_percent.min(100)),
            length_max: high as usize,
            plain: vec![b'a'; BRIEF.max(high as usize)].into(),
            pool: &POOL,
            starts: POOL_LENGTH as u64 - high,
        }
    }

    /// Length of the longest text.
    pub fn length_max(&self) -> usize {
        self.length_max
    }

    /// The next text in two parts, the plain one and the random one. `letters` is room for the
    /// random one of a brief text.
    #[inline]
    pub fn cut<'a>(
        &'a self,
        random: &mut Random,
        letters: &'a mut Letters,
    ) -> (&'a [u8], &'a [u8]) {
        if let Some([(head, plain), (letters, varied)]) = self.cut_brief(random, letters) {
            return (&head[..plain], &letters[..varied]);
        }
        let (plain, varied) = self.draw(random);
        let start = random.below(self.starts) as usize;
        let plain = self.plain.get(..plain).unwrap_or_default();
        (plain, self.pool.get(start..start + varied).unwrap_or_default())
    }

    /// The same two parts, each with its length and some bytes more, if no text is longer than
    /// [`BRIEF`]; nothing is drawn otherwise.
    #[inline]
    pub fn cut_brief<'a>(
        &'a self,
        random: &mut Random,
        letters: &'a mut Letters,
    ) -> Option<[(&'a [u8; BRIEF], usize); 2]> {
        let head = self.plain.first_chunk().filter(|_| self.length_max <= BRIEF)?;
        let (plain, varied) = self.draw(random);
        draw_letters(random, varied, letters);
        Some([(head, plain), (letters, varied)])
    }

    /// Lengths of the plain and of the random part.
    #[inline]
    fn draw(&self, random: &mut Random) -> (usize, usize) {
        let length = self.low + random.below(self.span);
        // Three quarters: bytes that were encoded in base64 carry six bits of eight.
        let varied = length * 3 * self.percent / 400;
        ((length - varied) as usize, varied as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(low: i64, high: i64, random_percent: u32) -> CompiledFiller {
        CompiledFiller::new(&Filler { low, high, random_percent })
    }

    fn text(filler: &CompiledFiller, random: &mut Random) -> String {
        let mut letters = Letters::default();
        let (plain, varied) = filler.cut(random, &mut letters);
        String::from_utf8([plain, varied].concat()).unwrap()
    }

    #[test]
    fn every_letter_stands_for_its_number_in_any_byte() {
        for (number, letter) in (0_u64..).zip(ALPHABET) {
            let mixed = number | (63 - number) << 8 | number << 56 | 0xC0 << 56;
            let letters = eight_letters(mixed).to_le_bytes();
            let other = ALPHABET[63 - number as usize];
            assert_eq!(letters, [*letter, other, b'A', b'A', b'A', b'A', b'A', *letter]);
            assert_eq!(eight_letters(number * (u64::MAX / 255)).to_le_bytes(), [*letter; 8]);
        }
    }

    #[test]
    fn lengths_are_uniform_and_parts_have_their_share() {
        let filler = compiled(10, 20, 50);
        let mut random = Random::new(1, 0);
        let mut counts = [0_u32; 21];
        let mut tails = std::collections::BTreeSet::new();
        for _ in 0..11_000 {
            let mut letters = Letters::default();
            let (plain, varied) = filler.cut(&mut random, &mut letters);
            assert!(plain.iter().all(|byte| *byte == b'a'));
            assert!(varied.iter().all(|byte| ALPHABET.contains(byte)));
            let length = plain.len() + varied.len();
            // The floor of length * 0.375.
            let expected = [3, 4, 4, 4, 5, 5, 6, 6, 6, 7, 7][length - 10];
            assert_eq!(varied.len(), expected, "length {length}");
            counts[length] += 1;
            tails.insert(varied.to_vec());
        }
        assert!(counts[10..].iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        // There are 64^3 values of the shortest part: few are drawn twice.
        assert!(tails.len() > 10_700, "{}", tails.len());
    }

    #[test]
    fn the_seed_fixes_the_texts() {
        let filler = compiled(5, 30, 100);
        let all = |seed| {
            let mut random = Random::new(seed, 3);
            (0..20).map(|_| text(&filler, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn long_texts_are_cut_and_brief_ones_are_drawn() {
        let mut letters = Letters::default();
        for (low, high, percent) in [(10, 20, 50), (0, 0, 50), (32, 32, 50), (32, 32, 100)] {
            let filler = compiled(low, high, percent);
            let (mut one, mut other) = (Random::new(1, 0), Random::new(1, 0));
            for _ in 0..1000 {
                let parts = filler.cut_brief(&mut one, &mut letters).unwrap();
                let brief = parts.map(|(text, length)| &text[..length]).concat();
                let brief = String::from_utf8(brief).unwrap();
                // The other has fresh room each time, so that nothing is left of the text before.
                assert_eq!(brief, text(&filler, &mut other));
                assert!(!brief.contains('\0') && brief.len() as i64 <= high, "{brief}");
            }
        }
        let filler = compiled(10, 33, 50);
        assert_eq!(filler.cut_brief(&mut Random::new(1, 0), &mut letters), None);
        let filler = compiled(33, 33, 100);
        let text = text(&filler, &mut Random::new(1, 0));
        assert!(String::from_utf8_lossy(&POOL).contains(&text[9..]), "{text}");
    }

    #[test]
    fn impossible_fillers_draw_what_is_possible() {
        for (low, high, percent) in
            [(5, 4, 50), (-1, 4, 50), (1, i64::MAX, 1), (i64::MIN, i64::MIN, 1), (1, 2, u32::MAX)]
        {
            let filler = compiled(low, high, percent);
            let length = text(&filler, &mut Random::new(1, 0)).len();
            assert!(length <= LENGTH_MAX as usize, "{low} {high} {percent}: {length}");
        }
        assert_eq!(text(&compiled(0, 0, 100), &mut Random::new(1, 0)), "");
    }
}
