//! Integers as decimal text, without the machinery of `std::fmt`.

use values::digits::PAIRS;

/// Longest decimal text of a 64-bit integer.
pub(crate) const DIGITS_MAX: usize = 20;

/// An integer below 10^8 as decimal text at the start of eight bytes, and its length: all digits at
/// once, by multiplications within the lanes of a register, and without a branch on their number.
#[inline]
pub(crate) fn small(value: u32) -> ([u8; 8], usize) {
    // Two numbers below 10^4, then four below 100, then eight digits; the first in the lowest lane.
    let halves = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (halves - 100 * hundreds) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = tens | (pairs - 10 * tens) << 8;
    // The last digit stands even if it is 0.
    let leading = (digits | 1 << 56).trailing_zeros() / 8;
    let text = (digits + 0x3030_3030_3030_3030) >> (8 * leading);
    (text.to_le_bytes(), 8 - leading as usize)
}

/// Appends an integer as decimal text.
pub(crate) fn decimal(text: &mut Vec<u8>, value: i64) {
    let mut digits = [0; DIGITS_MAX];
    let start = write(&mut digits, value);
    text.extend_from_slice(&digits[start..]);
}

/// Writes an integer as decimal text to the end of `digits` and returns where it starts: two digits
/// at a time, which halves the divisions.
#[inline]
pub(crate) fn write(digits: &mut [u8; DIGITS_MAX], value: i64) -> usize {
    let mut start = DIGITS_MAX;
    let mut rest = value.unsigned_abs();
    // Nineteen digits at most, and a sign.
    while rest >= 100 && start > 3 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    let pair = PAIRS[(rest % 100) as usize];
    start -= 1;
    digits[start] = pair[1];
    if rest >= 10 {
        start -= 1;
        digits[start] = pair[0];
    }
    if value < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_become_decimal_text() {
        let check = |value: u32| {
            let (text, length) = small(value);
            assert_eq!(&text[..length], value.to_string().as_bytes());
        };
        (0..100_000).for_each(check);
        (0..100_000_000).step_by(997).for_each(check);
        (99_990_000..100_000_000).for_each(check);
    }

    #[test]
    fn integers_become_decimal_text() {
        for value in [0, 7, -7, 10, 99, 100, -100, 999, 12_345, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut text = Vec::new();
            decimal(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
    }
}
