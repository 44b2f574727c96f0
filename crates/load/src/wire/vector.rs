//! How vectors travel.

use std::io::Write;

/// Bytes of a number as text, at most: a sign, nine digits, a point and an exponent, with what
/// separates it from the next.
pub(crate) const TEXT_BYTES_MAX: usize = 16;

/// Appends `[1.5e0,-2e-3]`, which all servers read back as the same numbers.
pub(crate) fn text(vector: &[f32], out: &mut Vec<u8>) {
    for (at, value) in vector.iter().enumerate() {
        out.push(if at == 0 { b'[' } else { b',' });
        // Writing to memory cannot fail.
        let _ = write!(out, "{value:e}");
    }
    out.push(b']');
}

/// Appends the numbers as MariaDB and sqlite-vec have them.
pub(crate) fn little_endian(vector: &[f32], out: &mut Vec<u8>) {
    out.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
}

/// Appends a vector as pgvector receives it: two bytes for the dimensions, two without meaning, and
/// the numbers.
pub(crate) fn pgvector(vector: &[f32], out: &mut Vec<u8>) {
    out.extend_from_slice(&(vector.len() as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend(vector.iter().flat_map(|value| value.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_travel_in_full() {
        let vector = [1.5, -0.002, f32::MIN_POSITIVE, -1.234_567_9e-10];
        let form = |write: fn(&[f32], &mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&vector, &mut out);
            out
        };
        let text = String::from_utf8(form(text)).unwrap();
        assert_eq!(text, "[1.5e0,-2e-3,1.1754944e-38,-1.2345679e-10]");
        let read: Vec<f32> =
            text[1..text.len() - 1].split(',').map(|x| x.parse().unwrap()).collect();
        assert_eq!(read, vector);
        assert!(text.len() <= 2 + vector.len() * TEXT_BYTES_MAX);
        assert_eq!(form(little_endian)[..8], [0, 0, 0xc0, 0x3f, 0x6f, 0x12, 0x03, 0xbb]);
        assert_eq!(form(pgvector)[..8], [0, 4, 0, 0, 0x3f, 0xc0, 0, 0]);
    }
}
