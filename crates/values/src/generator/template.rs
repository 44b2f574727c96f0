//! Texts of fixed length in which some places are random digits or letters.

use super::{Bytes, Generate, Key, Keys, Sampler, Shape};
use crate::{Random, digits::PAIRS};
use serde::{Deserialize, Serialize};

/// Text in which each `#` becomes a random digit and each `@` a random lower-case letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// The template, ASCII.
    pub template: String,
}

impl Generate for Template {
    const KEYS: &'static [Key] = &[Key::new("template", Shape::Text)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        let template = keys.text("template").to_owned();
        if !template.is_ascii() {
            return Err(keys.wrong("template", "a template must be ASCII".to_owned()));
        }
        Ok(Self { template })
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_text(&self.template)
    }

    fn sampler(&self, _: u64) -> Sampler {
        Sampler::Template(CompiledTemplate::new(&self.template))
    }
}

/// A template ready to be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompiledTemplate {
    text: Box<[u8]>,
    runs: Box<[Run]>,
}

/// Neighboring places of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Digits,
    Letters,
}

/// Digits taken from one 64-bit number: 10^12 / 2^64 leaves a bias below one in ten million.
const DIGITS_PER_DRAW: usize = 12;
/// Letters taken from one 64-bit number: 26^8 / 2^64 leaves a bias of about one in a hundred
/// million.
const LETTERS_PER_DRAW: usize = 8;

impl CompiledTemplate {
    /// A template from its text.
    pub fn new(text: &str) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (at, byte) in text.bytes().enumerate() {
            let kind = match byte {
                b'#' => Kind::Digits,
                b'@' => Kind::Letters,
                _ => continue,
            };
            match runs.last_mut() {
                Some(run) if run.end == at && run.kind == kind => run.end = at + 1,
                _ => runs.push(Run { start: at, end: at + 1, kind }),
            }
        }
        Self { text: text.as_bytes().into(), runs: runs.into() }
    }

    /// A text without random places, whatever characters it has.
    pub fn fixed(text: &str) -> Self {
        Self { text: text.as_bytes().into(), runs: Box::default() }
    }

    /// The template itself; as long as every text made from it.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether every text made from it is the template itself.
    pub fn is_fixed(&self) -> bool {
        self.runs.is_empty()
    }

    /// Overwrites the random places of `bytes`, which holds the template or an earlier filling of
    /// it; places beyond the end of `bytes` are ignored.
    #[inline(never)]
    pub fn fill(&self, random: &mut Random, bytes: &mut [u8]) {
        for run in &self.runs {
            if let Some(places) = bytes.get_mut(run.start..run.end) {
                match run.kind {
                    Kind::Digits => fill_digits(random, places),
                    Kind::Letters => fill_letters(random, places),
                }
            }
        }
    }
}

/// Takes the next value in `[0, base)` from the fraction that `bits` stands for.
#[inline]
fn take(bits: &mut u64, base: u64) -> usize {
    let product = u128::from(*bits) * u128::from(base);
    *bits = product as u64;
    (product >> 64) as usize
}

#[inline]
fn fill_digits(random: &mut Random, places: &mut [u8]) {
    for chunk in places.chunks_mut(DIGITS_PER_DRAW) {
        let mut bits = random.bits();
        let mut pairs = chunk.chunks_exact_mut(2);
        for pair in &mut pairs {
            pair.copy_from_slice(&PAIRS[take(&mut bits, 100)]);
        }
        for place in pairs.into_remainder() {
            *place = b'0' + take(&mut bits, 10) as u8;
        }
    }
}

#[inline]
fn fill_letters(random: &mut Random, places: &mut [u8]) {
    for chunk in places.chunks_mut(LETTERS_PER_DRAW) {
        let mut bits = random.bits();
        for place in chunk {
            *place = b'a' + take(&mut bits, 26) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, seed: u64) -> String {
        let template = CompiledTemplate::new(template);
        let mut bytes = template.text().to_vec();
        template.fill(&mut Random::new(seed, 0), &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn only_marked_places_change() {
        let text = filled("a-##############-@@@@@@@@@@-#", 1);
        let kinds: String = text
            .chars()
            .map(|c| match c {
                '0'..='9' => '#',
                c => c,
            })
            .collect();
        assert!(kinds.starts_with("a-##############-"), "{text}");
        assert!(kinds.ends_with("-#"), "{text}");
        assert!(text[17..27].bytes().all(|b| b.is_ascii_lowercase()), "{text}");
        assert_ne!(text, filled("a-##############-@@@@@@@@@@-#", 2));
    }

    #[test]
    fn a_fixed_text_may_hold_the_marks() {
        let template = CompiledTemplate::fixed("#1 @ home");
        assert!(template.is_fixed());
        let mut bytes = template.text().to_vec();
        template.fill(&mut Random::new(1, 1), &mut bytes);
        assert_eq!(bytes, b"#1 @ home");
    }

    #[test]
    fn a_short_buffer_is_no_error() {
        let mut bytes = [b'x'; 3];
        CompiledTemplate::new("##-##").fill(&mut Random::new(1, 1), &mut bytes);
        assert_eq!(bytes[2], b'x');
    }

    #[test]
    fn digits_are_uniform_at_every_place() {
        let template = CompiledTemplate::new("###########-###########");
        let mut random = Random::new(11, 0);
        let mut counts = [[0_u32; 10]; 23];
        let mut bytes = template.text().to_vec();
        for _ in 0..20_000 {
            template.fill(&mut random, &mut bytes);
            for (place, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != b'-') {
                counts[place][usize::from(byte - b'0')] += 1;
            }
        }
        for (place, counts) in counts.iter().enumerate().filter(|(place, _)| *place != 11) {
            let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 2000.0).powi(2) / 2000.0).sum();
            // 99.99 % quantile of chi-square with 9 degrees of freedom: 22 places are looked at.
            assert!(chi < 33.72, "place {place}: {counts:?}");
        }
    }
}
