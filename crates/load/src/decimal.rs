//! Integers as decimal text, without the machinery of `std::fmt`.

/// Longest decimal text of a 64-bit integer.
pub(crate) const DIGITS_MAX: usize = 20;

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

/// All two-digit texts.
pub(crate) const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_become_decimal_text() {
        for value in [0, 7, -7, 10, 99, 100, -100, 999, 12_345, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut text = Vec::new();
            decimal(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
    }
}
