//! stdout is data, stderr is talk. The only module that writes to either, besides clap and the
//! progress bar.

use report::{Rendered, wrap};
use std::{
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
};

/// Writes data to stdout, with a line end. A reader that closed its pipe wants no more: that is no
/// error, and the command goes on to its exit code.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    written(out.write_all(format!("{text}{end}").as_bytes()).and_then(|()| out.flush()))
}

/// The result of writing to stdout, whose errors name the stream.
pub(crate) fn written(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes a text to stdout, then its warnings to stderr, wrapped to the terminal.
pub(crate) fn rendered(rendered: &Rendered) -> io::Result<()> {
    data(&rendered.text)?;
    for warning in &rendered.warnings {
        let lines = wrap(&format!("warning: {warning}"), columns(&io::stderr()), 2);
        lines.iter().for_each(|line| say(line));
    }
    Ok(())
}

/// Columns of the terminal that a stream shows; none if it is a file or a pipe.
pub(crate) fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    // A terminal that does not tell its size has the size that all of them once had.
    let known = || terminal_size::terminal_size_of(stream).map_or(80, |(width, _)| width.0.into());
    stream.is_terminal().then(known)
}

/// Says one line on stderr. Control characters from outside are shown, not obeyed.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

/// Says an error with its causes, outermost first, as one sentence.
pub(crate) fn error(error: &anyhow::Error) {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "error: " } else { ": " });
            text.push_str(&cause);
        }
    }
    say(&text);
}

/// `text` with every control character but line breaks and tabs written as an escape.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let escape = c.is_control() && c != '\n' && c != '\t';
            let escaped = escape.then(|| c.escape_default().collect::<Vec<_>>());
            escaped.unwrap_or_else(|| vec![c])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b[31mb\u{9b}c\td"), "a\\u{1b}[31mb\\u{9b}c\td");
    }
}
