//! Texts as HTML: names in backticks become code, characters that steer become visible.

use crate::escape;
use maud::{Markup, html};

/// A text whose control characters are shown and not obeyed. It is escaped where it is put in.
pub(super) fn shown(text: &str) -> String {
    escape::terminal(text)
}

/// A name that may be broken where its parts end.
pub(super) fn name(text: &str) -> Markup {
    let shown = shown(text);
    let parts: Vec<&str> = shown.split_inclusive(['.', '-', '_']).collect();
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index > 0 && !within_number(parts[index - 1], part) { wbr; }
            (part)
        }
    }
}

/// Whether two parts are those of one number: `99.9`.
fn within_number(before: &str, after: &str) -> bool {
    before.ends_with('.') && after.starts_with(|c: char| c.is_ascii_digit())
}

/// A text of several lines.
pub(super) fn lines(text: &str) -> String {
    text.lines().map(|line| shown(&line.replace('\t', "    "))).collect::<Vec<_>>().join("\n")
}

/// A sentence; what stands between backticks becomes code.
pub(super) fn inline(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        // A lone backtick belongs to a name from outside.
        return html! { (shown(text)) };
    }
    html! {
        @for (index, part) in parts.iter().enumerate() {
            @if index % 2 == 1 { code { (shown(part)) } } @else { (shown(part)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markup() {
        let check = |text: &str, expected: &str| assert_eq!(inline(text).into_string(), expected);
        check("a `b` c", "a <code>b</code> c");
        check("`<script>` & \"x\"", "<code>&lt;script&gt;</code> &amp; &quot;x&quot;");
        check("a ` <b>", "a ` &lt;b&gt;");
        check("\u{202e}x\u{7}", "\\u{202e}x\\u{7}");
        assert_eq!(crate::words::slug("Read-Only <range> 10.pre"), "read-only-range-10.pre");
        assert_eq!(name("a.b-<c").into_string(), "a.<wbr>b-<wbr>&lt;c");
        assert_eq!(name("p99.9 of x-9.7").into_string(), "p99.9 of x-<wbr>9.7");
        assert_eq!(lines("a\n\tb\u{1b}\n"), "a\n    b\\u{1b}");
    }
}
