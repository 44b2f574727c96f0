//! Sums of draws as decimal texts.

use crate::decimal::DIGITS_MAX;

/// A sum of integer registers, written with a decimal point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    registers: Vec<u16>,
    digits: usize,
}

impl Decimal {
    /// Bytes of the longest text: an integer and the point.
    pub const LENGTH_MAX: usize = DIGITS_MAX + 1;

    /// The sum of `registers` with 1 to 9 digits after the point; `None` for any other number.
    pub(super) fn new(registers: Vec<u16>, digits: u32) -> Option<Self> {
        (1..=9).contains(&digits).then_some(Self { registers, digits: digits as usize })
    }

    /// The sum, of which the last digits come after the point.
    pub fn sum(&self, registers: &[i64]) -> i64 {
        let values = self.registers.iter().filter_map(|index| registers.get(usize::from(*index)));
        values.fold(0, |sum, value| sum.wrapping_add(*value))
    }

    /// Writes a sum to the end of `text` and returns what was written.
    pub fn write<'t>(&self, sum: i64, text: &'t mut [u8; Self::LENGTH_MAX]) -> &'t [u8] {
        let mut rest = sum.unsigned_abs();
        let mut start = Self::LENGTH_MAX;
        // One digit at least stands before the point; nineteen of 64 bits and the sign fit.
        while start > 1 && (rest > 0 || Self::LENGTH_MAX - start < self.digits + 2) {
            start -= 1;
            if Self::LENGTH_MAX - start == self.digits + 1 {
                text[start] = b'.';
                continue;
            }
            text[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if sum < 0 {
            start -= 1;
            text[start] = b'-';
        }
        &text[start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_a_point_before_their_last_digits() {
        let check = |values: [i64; 2], digits: u32, expected: &str| {
            let decimal = Decimal::new(vec![0, 2], digits).unwrap();
            let sum = decimal.sum(&[values[0], 99, values[1]]);
            let mut text = [b'x'; Decimal::LENGTH_MAX];
            assert_eq!(std::str::from_utf8(decimal.write(sum, &mut text)).unwrap(), expected);
        };
        check([99_999, 499], 2, "1004.98");
        check([0, 0], 2, "0.00");
        check([0, 7], 2, "0.07");
        check([100, 0], 2, "1.00");
        check([-5, 0], 1, "-0.5");
        check([12, 0], 9, "0.000000012");
        check([i64::MIN, 0], 2, "-92233720368547758.08");
        check([i64::MAX, 0], 9, "9223372036.854775807");
        assert_eq!(Decimal::new(Vec::new(), 0), None);
        assert_eq!(Decimal::new(Vec::new(), 10), None);
    }
}
