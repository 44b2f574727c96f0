//! Statements that are sent as text, with their arguments as literals.

use crate::settings::Driver;
use load::wire::{Argument, pieces};

/// The text of `sql` with its arguments in the places of `?`.
///
/// # Errors
/// There are more or fewer arguments than placeholders.
pub(crate) fn text(
    driver: Driver,
    sql: &str,
    arguments: &[Argument<'_>],
) -> Result<Vec<u8>, String> {
    let pieces = pieces(sql);
    if pieces.len() != arguments.len() + 1 {
        return Err(format!(
            "the statement has {} placeholders and {} parameters were bound",
            pieces.len() - 1,
            arguments.len()
        ));
    }
    let mut text = Vec::with_capacity(sql.len() + 16 * arguments.len());
    for (at, piece) in pieces.iter().enumerate() {
        if let Some(argument) = at.checked_sub(1).and_then(|at| arguments.get(at)) {
            push(&mut text, driver, argument);
        }
        text.extend_from_slice(piece.as_bytes());
    }
    Ok(text)
}

fn push(text: &mut Vec<u8>, driver: Driver, argument: &Argument<'_>) {
    match argument {
        Argument::Null => text.extend_from_slice(b"NULL"),
        Argument::Integer(value) => text.extend_from_slice(value.to_string().as_bytes()),
        Argument::Real(value) => text.extend_from_slice(value.to_string().as_bytes()),
        Argument::Text(bytes) => {
            text.push(b'\'');
            for byte in *bytes {
                match byte {
                    b'\'' => text.push(b'\''),
                    b'\\' if driver == Driver::Mysql => text.push(b'\\'),
                    _ => {}
                }
                text.push(*byte);
            }
            text.push(b'\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_quoted_as_the_server_reads_them() {
        let arguments = [Argument::Integer(-1), Argument::Text(b"a'\\b"), Argument::Null];
        let check = |driver, expected: &str| {
            let text = text(driver, "f(?, ?, ?)", &arguments).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        };
        check(Driver::Mysql, r"f(-1, 'a''\\b', NULL)");
        check(Driver::Pgsql, r"f(-1, 'a''\b', NULL)");
        assert!(text(Driver::Mysql, "?", &[]).unwrap_err().contains("1 placeholders"));
    }
}
