//! Statements that are sent as text, with their arguments as literals.

use crate::settings::Driver;
use load::wire::Argument;
use model::number::counted;

/// The text of a statement, cut at its placeholders, with its arguments in their places.
///
/// # Errors
/// There are more or fewer arguments than placeholders.
pub(crate) fn text(
    driver: Driver,
    pieces: &[String],
    arguments: &[Argument<'_>],
) -> Result<Vec<u8>, String> {
    if pieces.len() != arguments.len() + 1 {
        return Err(format!(
            "the statement has {}, and {} were bound",
            counted(pieces.len() - 1, "placeholder"),
            counted(arguments.len(), "parameter")
        ));
    }
    let length = pieces.iter().map(String::len).sum::<usize>() + 16 * arguments.len();
    let mut text = Vec::with_capacity(length);
    for (at, piece) in pieces.iter().enumerate() {
        if let Some(argument) = at.checked_sub(1).and_then(|at| arguments.get(at)) {
            push(&mut text, driver, argument);
        }
        text.extend_from_slice(piece.as_bytes());
    }
    Ok(text)
}

fn push(text: &mut Vec<u8>, driver: Driver, argument: &Argument<'_>) {
    // With that of a negative number, a minus would begin a comment.
    if text.last() == Some(&b'-') {
        text.push(b' ');
    }
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
            let pieces = ["f(", ", ", ", ", ")"].map(str::to_owned);
            let text = text(driver, &pieces, &arguments).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        };
        check(Driver::Mysql, r"f(-1, 'a''\\b', NULL)");
        check(Driver::Pgsql, r"f(-1, 'a''\b', NULL)");
        let unbound = text(Driver::Mysql, &["", ""].map(str::to_owned), &[]).unwrap_err();
        assert_eq!(unbound, "the statement has 1 placeholder, and 0 parameters were bound");
    }

    #[test]
    fn a_minus_before_a_negative_number_begins_no_comment() {
        let pieces = ["k = k-", ", r = r+", ""].map(str::to_owned);
        let arguments = [Argument::Integer(-5), Argument::Real(-0.5)];
        let text = text(Driver::Pgsql, &pieces, &arguments).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "k = k- -5, r = r+-0.5");
    }
}
