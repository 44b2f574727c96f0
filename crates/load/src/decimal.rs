//! Integers as decimal text, without the machinery of `std::fmt`.

/// Longest decimal text of a 64-bit integer.
pub(crate) const DIGITS_MAX: usize = 20;

/// Appends an integer as decimal text.
pub(crate) fn decimal(text: &mut Vec<u8>, value: i64) {
    let mut digits = [0; DIGITS_MAX];
    let mut start = DIGITS_MAX;
    let mut rest = value.unsigned_abs();
    while start > 0 {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        text.push(b'-');
    }
    text.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_become_decimal_text() {
        for value in [0, 7, -7, 10, 1_234_567_890, i64::MAX, i64::MIN] {
            let mut text = Vec::new();
            decimal(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
    }
}
