//! Texts of random length that a compressor can shorten by a chosen share only.

use super::Random;
use crate::pieces::BRIEF;
use std::sync::Arc;

/// Characters that the random parts are cut from. Long enough that two rows of one page or block
/// hardly ever share a part.
const POOL_LENGTH: usize = 1 << 20;
/// Seed of the characters: they are the same in every program.
const POOL_SEED: u64 = 0x0066_696C_6C65_7200;
/// No quote and no backslash, so that texts can be sent as literals.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Random characters of the base64 alphabet, shared by all fillers of a workload.
#[derive(Debug, Clone)]
pub struct Pool(Arc<[u8]>);

impl Pool {
    /// The characters; takes about a millisecond.
    pub fn new() -> Self {
        let mut random = Random::new(POOL_SEED, 0);
        // A brief text is copied with what follows it.
        let length = POOL_LENGTH + BRIEF;
        let mut characters = Vec::with_capacity(length + 10);
        while characters.len() < length {
            let bits = random.bits();
            characters.extend((0..10).map(|at| ALPHABET[(bits >> (6 * at)) as usize & 63]));
        }
        Self(characters.into())
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

/// A compiled filler: `a`s, then random characters.
#[derive(Debug, Clone)]
pub struct Filler {
    low: u64,
    /// Number of lengths.
    span: u64,
    /// Share of random characters, percent of three quarters of the length.
    percent: u64,
    length_max: usize,
    /// As many `a`s as the longest text has, and at least as many as a brief one is copied with.
    plain: Box<[u8]>,
    pool: Pool,
    /// Places of the pool that a random part may start at.
    starts: u64,
}

impl Filler {
    /// Texts of `low` to `high` characters; `None` if that is no interval within
    /// [`Filler::LENGTH_MAX`], or if `random_percent` is above 100.
    pub fn new((low, high): (i64, i64), random_percent: u32, pool: &Pool) -> Option<Self> {
        let (low, high) = (u64::try_from(low).ok()?, u64::try_from(high).ok()?);
        let starts = (POOL_LENGTH as u64).checked_sub(high)?;
        if low > high || high > Self::LENGTH_MAX || random_percent > 100 {
            return None;
        }
        Some(Self {
            low,
            span: high - low + 1,
            percent: u64::from(random_percent),
            length_max: high as usize,
            plain: vec![b'a'; BRIEF.max(high as usize)].into(),
            pool: pool.clone(),
            starts,
        })
    }

    /// Longest text that can be asked for.
    pub const LENGTH_MAX: u64 = 65_535;

    /// Length of the longest text.
    pub fn length_max(&self) -> usize {
        self.length_max
    }

    /// The next text in two parts: the plain one and the random one.
    #[inline]
    pub fn cut(&self, random: &mut Random) -> (&[u8], &[u8]) {
        let (plain, start, varied) = self.draw(random);
        let plain = self.plain.get(..plain).unwrap_or_default();
        (plain, self.pool.0.get(start..start + varied).unwrap_or_default())
    }

    /// The same two parts, each with its length and some bytes more, if no text is longer than
    /// [`BRIEF`]; nothing is drawn otherwise.
    #[inline]
    pub(crate) fn cut_brief(&self, random: &mut Random) -> Option<[(&[u8; BRIEF], usize); 2]> {
        let head = self.plain.first_chunk().filter(|_| self.length_max <= BRIEF)?;
        let (plain, start, varied) = self.draw(random);
        Some([(head, plain), (self.pool.0[start..].first_chunk()?, varied)])
    }

    /// Length of the plain part; start in the pool and length of the random part.
    #[inline]
    fn draw(&self, random: &mut Random) -> (usize, usize, usize) {
        let length = self.low + random.below(self.span);
        // Three quarters: bytes that were encoded in base64 carry six bits of eight.
        let varied = length * 3 * self.percent / 400;
        let start = random.below(self.starts);
        ((length - varied) as usize, start as usize, varied as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(filler: &Filler, random: &mut Random) -> String {
        let (plain, varied) = filler.cut(random);
        String::from_utf8([plain, varied].concat()).unwrap()
    }

    #[test]
    fn lengths_are_uniform_and_parts_have_their_share() {
        let filler = Filler::new((10, 20), 50, &Pool::new()).unwrap();
        let mut random = Random::new(1, 0);
        let mut counts = [0_u32; 21];
        let mut tails = std::collections::BTreeSet::new();
        for _ in 0..11_000 {
            let (plain, varied) = filler.cut(&mut random);
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
        // 64^3 values of the shortest part and some pairs of equal starts at most.
        assert!(tails.len() > 10_700, "{}", tails.len());
    }

    #[test]
    fn the_seed_fixes_the_texts() {
        let filler = Filler::new((5, 30), 100, &Pool::new()).unwrap();
        let all = |seed| {
            let mut random = Random::new(seed, 3);
            (0..20).map(|_| text(&filler, &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn brief_texts_are_the_same_in_another_form() {
        let pool = Pool::new();
        for (low, high) in [(10, 20), (0, 0), (32, 32)] {
            let filler = Filler::new((low, high), 50, &pool).unwrap();
            let (mut one, mut other) = (Random::new(1, 0), Random::new(1, 0));
            for _ in 0..1000 {
                let parts = filler.cut_brief(&mut one).unwrap();
                let brief = parts.map(|(text, length)| &text[..length]).concat();
                assert_eq!(String::from_utf8(brief).unwrap(), text(&filler, &mut other));
            }
        }
        let filler = Filler::new((10, 33), 50, &pool).unwrap();
        assert_eq!(filler.cut_brief(&mut Random::new(1, 0)), None);
    }

    #[test]
    fn impossible_fillers_are_refused() {
        let pool = Pool::new();
        for (interval, percent) in
            [((5, 4), 50), ((-1, 4), 50), ((1, 65_536), 50), ((1, i64::MAX), 1), ((1, 2), 101)]
        {
            assert!(Filler::new(interval, percent, &pool).is_none(), "{interval:?} {percent}");
        }
        let empty = Filler::new((0, 0), 100, &pool).unwrap();
        assert_eq!(text(&empty, &mut Random::new(1, 0)), "");
    }
}
