//! Lengths of the instructions that repeat themselves.

/// Longest such instruction that is understood, with all its prefixes.
const LENGTH_MAX: usize = 8;

/// Length in bytes of a repeated string instruction of x86-64 at the beginning of the code; none if
/// it is another instruction.
pub(super) fn length(code: [u8; LENGTH_MAX]) -> Option<u64> {
    let is_prefix = |byte: &u8| {
        matches!(byte, 0xf2 | 0xf3 | 0x66 | 0x67 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65)
    };
    let prefixes = code.iter().take_while(|byte| is_prefix(byte)).count();
    if !code[..prefixes].iter().any(|byte| matches!(byte, 0xf2 | 0xf3)) {
        return None;
    }
    // The last prefix, if any, tells that registers are 64 bits wide.
    let wide = usize::from(code.get(prefixes)? & 0xf0 == 0x40);
    let operation = code.get(prefixes + wide)?;
    // Input and output, then move and compare, then store, load and scan.
    let repeats = matches!(operation, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf);
    repeats.then_some((prefixes + wide + 1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start: &[u8], expected: Option<u64>) {
        let mut code = [0x90; LENGTH_MAX];
        code[..start.len()].copy_from_slice(start);
        assert_eq!(length(code), expected, "{start:x?}");
    }

    #[test]
    fn repeated_string_instructions_are_known() {
        check(&[0xf3, 0xa4], Some(2));
        check(&[0xf3, 0xaa], Some(2));
        check(&[0xf3, 0x48, 0xa5], Some(3));
        check(&[0xf3, 0x48, 0xab], Some(3));
        check(&[0xf2, 0xae], Some(2));
        check(&[0xf3, 0x66, 0xa7], Some(3));
        check(&[0x66, 0xf3, 0xa5], Some(3));
    }

    #[test]
    fn other_instructions_are_none() {
        // A store without repetition, a jump to itself, a pause, a return, a bit count.
        for code in [&[0xaa][..], &[0xeb, 0xfe], &[0xf3, 0x90], &[0xf3, 0xc3], &[0xf3, 0x0f, 0xb8]]
        {
            check(code, None);
        }
        check(&[0xf3; LENGTH_MAX], None);
    }
}
