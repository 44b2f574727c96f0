//! stdout is data, stderr is talk. The only module that writes to either, besides clap and the
//! progress bar.

use crate::comparison::TABLE;
use model::escape;
use report::{Rendered, Report, Screen, document::Document, format, wrap};
use std::{
    io::{self, IsTerminal, Write},
    os::fd::AsFd,
};

/// Writes data to stdout, with a line end. A reader that closed its pipe wants no more: that is no
/// error, and the command goes on to its exit code.
pub(crate) fn data(text: &str) -> io::Result<()> {
    written(heard(text))
}

/// The same for a command that goes on as long as somebody reads: a closed pipe is an error too.
pub(crate) fn heard(text: &str) -> io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    put(format!("{text}{end}").as_bytes())
}

/// Writes data that may be no text to stdout, as [`data`] does.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    written(put(bytes))
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// The result of writing to stdout, whose errors name the stream.
pub(crate) fn written(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// A document as text for people.
pub(crate) fn text(document: &Document, screen: Screen) -> String {
    let report = Report { screen, ..Report::default() };
    format::find(TABLE).map(|table| (table.text)(&report, document)).unwrap_or_default()
}

/// Writes a text to stdout, then its warnings to stderr, wrapped to the terminal.
pub(crate) fn rendered(rendered: &Rendered) -> io::Result<()> {
    data(&rendered.text)?;
    for warning in &rendered.warnings {
        let said = escape::terminal(&format!("warning: {warning}"));
        let lines = wrap(&said, columns(&io::stderr()), 2);
        lines.iter().for_each(|line| say(line));
    }
    Ok(())
}

/// Columns that texts on a stream may take: as many as `COLUMNS` says, also into a file or a pipe,
/// otherwise those of its terminal.
pub(crate) fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    asked(std::env::var("COLUMNS").ok().as_deref()).or_else(|| terminal_columns(stream))
}

/// The value of `COLUMNS`, where it is a number above 0.
fn asked(columns: Option<&str>) -> Option<usize> {
    columns?.trim().parse().ok().filter(|columns| *columns > 0)
}

/// Columns of the terminal that a stream shows, for lines that are drawn over others; none if it is
/// a file or a pipe.
pub(crate) fn terminal_columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    // A terminal that does not tell its size has the size that all of them once had.
    let known = || terminal_size::terminal_size_of(stream).map_or(80, |(width, _)| width.0.into());
    stream.is_terminal().then(known)
}

/// Whether terminals obey no escapes here, such as the shell of an editor.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Says one line on stderr. Control characters from outside, line breaks too, are shown and not
/// obeyed, and of a word that nobody could read only the start is shown.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", shortened(&escape::terminal(line)));
}

/// Says a text whose line breaks are its layout.
pub(crate) fn say_lines(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", shortened(&printable(text)));
}

/// Says an error with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    say_lines(&format!("error: {}", sentence(error)));
}

/// An error with its causes, outermost first and each once, on one line but for what quotes the log
/// of a server or of a compiler, and for what says that error again with its remedy.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let quotes = error.chain().filter(|one| one.is::<dbms::Error>() || one.is::<runner::Error>());
    let quotes: Vec<String> = quotes.map(ToString::to_string).collect();
    let (mut text, mut said) = (String::new(), String::new());
    for cause in error.chain().map(ToString::to_string) {
        if !said.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            let is_quoting = quotes.iter().any(|quoted| cause.contains(quoted));
            text.push_str(&if is_quoting { cause.clone() } else { escape::terminal(&cause) });
            said.push_str(&cause);
        }
    }
    text
}

/// `text` with every control character but line breaks and tabs written as an escape.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let steers = c.is_control() && c != '\n' && c != '\t';
            let escaped =
                (steers || escape::reorders(c)).then(|| c.escape_default().collect::<Vec<_>>());
            escaped.unwrap_or_else(|| vec![c])
        })
        .collect()
}

/// Longest word in a message, in characters: more than a path or a list of levels that somebody
/// types, which commands to continue with must name in full.
const WORD_MAX: usize = 4096;

/// What is left of a longer one.
const WORD_START: usize = 60;

/// `text` with long words cut.
pub(crate) fn shortened(text: &str) -> String {
    let shorten = |word: &str| {
        let end = word.char_indices().nth(WORD_START).map(|(end, _)| end);
        match end.filter(|_| word.chars().nth(WORD_MAX).is_some()) {
            // The quote that began before it ends behind it.
            Some(end) => format!("{}…{}", &word[..end], if word.contains('`') { "`" } else { "" }),
            None => word.to_owned(),
        }
    };
    text.split_inclusive(char::is_whitespace)
        .map(|part| {
            let word = part.trim_end_matches(char::is_whitespace);
            shorten(word) + &part[word.len()..]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_a_number_above_0() {
        let check = |text: Option<&str>, expected| assert_eq!(asked(text), expected, "{text:?}");
        check(Some("72"), Some(72));
        check(Some(" 100\n"), Some(100));
        for text in [None, Some(""), Some("0"), Some("-3"), Some("wide"), Some("80x24")] {
            check(text, None);
        }
    }

    #[test]
    fn words_that_nobody_reads_are_cut() {
        let (long, path) = ("x".repeat(10_000), "/p".repeat(200));
        assert_eq!(shortened(&path), path);
        let expected = format!("a `{}…` b\tc\n", "x".repeat(WORD_START - 1));
        assert_eq!(shortened(&format!("a `{long}` b\tc\n")), expected);
        assert_eq!(shortened(&"ü".repeat(WORD_MAX + 1)), "ü".repeat(WORD_START) + "…");
    }

    #[test]
    fn an_error_is_one_line_but_for_logs() {
        let error = anyhow::anyhow!("`a\nb` is no run").context("in `c\td`");
        assert_eq!(sentence(&error), "in `c\\td`: `a\\nb` is no run");
        let error = runner::Error::Preflight("one\ntwo".to_owned());
        assert!(sentence(&error.into()).ends_with("one\ntwo"));
        let source = Box::new(runner::Error::Preflight("one\ntwo".to_owned()));
        let error = runner::Error::OfSubject { label: "a".to_owned(), source };
        assert_eq!(sentence(&error.into()).matches("two").count(), 1);
        let error = runner::Error::Preflight("one\ntwo".to_owned());
        let error = anyhow::Error::from(error).context("one\ntwo\na block is kept");
        assert_eq!(sentence(&error), "one\ntwo\na block is kept");
    }

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b[31mb\u{9b}c\td"), "a\\u{1b}[31mb\\u{9b}c\td");
        assert_eq!(printable("\u{202e}txt"), "\\u{202e}txt");
    }
}
