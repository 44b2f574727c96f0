//! The random values of TPC-C, which its loaded rows and its transactions share.

use values::Random;

/// Districts of a warehouse.
pub(crate) const DISTRICTS: u64 = 10;
/// Customers of a district, and orders of a fresh one.
pub(crate) const CUSTOMERS: u64 = 3000;
/// Items, and so stocks of a warehouse.
pub(crate) const ITEMS: u64 = 100_000;
/// Orders of a fresh district that are delivered; the others wait.
pub(crate) const DELIVERED: u64 = 2100;
/// Least and greatest number of lines of an order.
pub(crate) const LINES: (u64, u64) = (5, 15);

/// Non-uniform numbers of clause 2.1.6: the bitwise or of two uniform ones, moved by a constant
/// that stays for the whole run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NonUniform {
    /// Greatest value of the first number.
    a: u64,
    /// The constant.
    c: u64,
    low: u64,
    high: u64,
}

/// Last names of loaded customers; the constants are those of BenchBase, so that runs compare.
pub(crate) const LOADED_NAME: NonUniform = NonUniform { a: 255, c: 157, low: 0, high: 999 };
/// Last names that transactions ask for: the constant differs from that of the load by 66, as the
/// specification demands.
pub(crate) const ASKED_NAME: NonUniform = NonUniform { a: 255, c: 223, low: 0, high: 999 };
/// Customers that transactions ask for.
pub(crate) const ASKED_CUSTOMER: NonUniform =
    NonUniform { a: 1023, c: 259, low: 1, high: CUSTOMERS };
/// Items that transactions ask for.
pub(crate) const ASKED_ITEM: NonUniform = NonUniform { a: 8191, c: 7911, low: 1, high: ITEMS };

impl NonUniform {
    /// The next number.
    pub(crate) fn draw(self, random: &mut Random) -> u64 {
        let span = self.high - self.low + 1;
        let mixed = random.below(self.a + 1) | (self.low + random.below(span));
        (mixed + self.c) % span + self.low
    }
}

/// A uniform number of an interval, both ends included.
pub(crate) fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// Longest last name, bytes.
pub(crate) const NAME_MAX: usize = 16;

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Last name number `number` of 0 to 999: a syllable for each of its digits. Writes it at the start
/// of `name` and returns its length.
pub(crate) fn last_name(number: u64, name: &mut [u8; NAME_MAX]) -> usize {
    let mut length = 0;
    for digit in [number / 100, number / 10, number] {
        let syllable = SYLLABLES[(digit % 10) as usize].as_bytes();
        name[length..length + syllable.len()].copy_from_slice(syllable);
        length += syllable.len();
    }
    length
}

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters taken from one 64-bit number: 62^8 / 2^64 leaves a bias of about one in 80,000.
const CHARACTERS_PER_DRAW: usize = 8;

/// Fills `text` with letters and digits, each drawn on its own.
pub(crate) fn alphanumeric(random: &mut Random, text: &mut [u8]) {
    for chunk in text.chunks_mut(CHARACTERS_PER_DRAW) {
        let mut bits = random.bits();
        for place in chunk {
            let product = u128::from(bits) * 62;
            bits = product as u64;
            *place = ALPHANUMERIC[(product >> 64) as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_three_syllables() {
        let name = |number| {
            let mut name = [0; NAME_MAX];
            let length = last_name(number, &mut name);
            String::from_utf8(name[..length].to_vec()).unwrap()
        };
        assert_eq!(
            [name(0), name(371), name(777)],
            ["BARBARBAR", "PRICALLYOUGHT", "CALLYCALLYCALLY"]
        );
        assert!((0..1000).all(|number| name(number).len() <= NAME_MAX));
    }

    #[test]
    fn numbers_stay_in_their_interval_and_are_not_uniform() {
        for (numbers, low, high) in
            [(ASKED_NAME, 0, 999), (ASKED_CUSTOMER, 1, CUSTOMERS), (ASKED_ITEM, 1, ITEMS)]
        {
            let mut random = Random::new(5, 0);
            let mut counts = vec![0_u32; high as usize + 1];
            for _ in 0..200_000 {
                counts[numbers.draw(&mut random) as usize] += 1;
            }
            assert!(counts[..low as usize].iter().all(|count| *count == 0));
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let hundredth = counts.len() / 100;
            let top: u32 = counts[..hundredth].iter().sum();
            // Uniform numbers would give the first hundredth little more than a hundredth.
            assert!(top > 8000, "{numbers:?}: {top}");
        }
    }

    #[test]
    fn the_constants_of_load_and_run_differ_as_the_specification_demands() {
        let difference = ASKED_NAME.c.abs_diff(LOADED_NAME.c);
        assert!((65..=119).contains(&difference) && ![96, 112].contains(&difference));
    }
}
