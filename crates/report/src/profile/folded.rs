//! Folded stacks: one line for each, with the costs of both variants, as flamegraph.pl and
//! inferno read them (`difffolded.pl` writes such files).

use super::{Profile, ProfileFormat};
use crate::escape::terminal;

pub(super) const FORMAT: ProfileFormat = ProfileFormat {
    name: "folded",
    help: "One stack per line, base, variant: for flamegraph.pl and inferno",
    bytes,
};

fn bytes(profile: &Profile) -> Result<Vec<u8>, String> {
    let line = |stack: &analysis::explained::Stack| {
        let [base, variant] = stack.costs;
        format!("{} {base:.3} {variant:.3}\n", terminal(&stack.path))
    };
    Ok(profile.stacks.iter().map(line).collect::<String>().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_stack_and_both_values() {
        let text = String::from_utf8(bytes(&crate::profile::sample()).unwrap()).unwrap();
        assert_eq!(
            text,
            "main 10.400 10.400\nmain;parse 0.300 20.300\nmain;parse;\"lex\" 100.300 0.000\n"
        );
    }

    #[test]
    fn a_name_from_elsewhere_neither_steers_a_terminal_nor_makes_a_line() {
        let mut profile = crate::profile::sample();
        profile.stacks[1].path = "main;\u{1b}[2J\nx 9 9".to_owned();
        let text = String::from_utf8(bytes(&profile).unwrap()).unwrap();
        assert_eq!(text.lines().nth(1), Some("main;\\u{1b}[2J\\nx 9 9 0.300 20.300"));
        assert_eq!(text.lines().count(), 3);
    }
}
