//! Texts from outside, made harmless for each kind of reader.

use model::escape::is_formula;
pub(crate) use model::escape::{csv, terminal};

/// JSON inside a page: nothing in it can end its element, steer or reorder what a reader sees.
pub(crate) fn embedded_json(json: &str) -> String {
    model::escape::json(json).replace('<', "\\u003c")
}

/// [`terminal`], and what Markdown or HTML would interpret. Inside of backticks they interpret
/// nothing but the bars of tables.
pub(crate) fn markdown(text: &str) -> String {
    let text = terminal(text);
    // Runs of backticks, and one without a partner, quote otherwise.
    let quotes = !text.contains("``") && text.matches('`').count().is_multiple_of(2);
    let parts = text.split('`').enumerate().map(|(index, part)| match quotes && index % 2 == 1 {
        true => part.replace('|', "\\|"),
        false => uninterpreted(part),
    });
    let text = parts.collect::<Vec<_>>().join("`");
    // A list would swallow the sign that it begins with.
    let is_list = ["- ", "+ "].iter().any(|sign| text.starts_with(sign));
    if is_list { format!("\\{text}") } else { text }
}

fn uninterpreted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '[' | ']' | '*' => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }
    out
}

/// A text cell that a spreadsheet would take for a formula gets an apostrophe in front.
pub(crate) fn spreadsheet(text: &str) -> String {
    if is_formula(text) { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_json_stays_the_same_value() {
        let value = serde_json::json!({ "a<b": "</script>\u{202e}x\u{feff}" });
        let text = embedded_json(&value.to_string());
        assert!(!text.contains(['<', '\u{202e}', '\u{feff}']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn markup_and_formulas_are_not_interpreted() {
        assert_eq!(markdown("a|b <img> [x](y) *"), "a\\|b &lt;img&gt; \\[x\\](y) \\*");
        assert_eq!(markdown("`<i>|*` <i>"), "`<i>\\|*` &lt;i&gt;");
        assert_eq!(markdown("`<i> `a`"), "`&lt;i&gt; `a`");
        assert_eq!(markdown("```<i>``"), "```&lt;i&gt;``");
        assert_eq!(markdown("- where there is none"), "\\- where there is none");
        assert_eq!(markdown("+ above 1.05, - below"), "\\+ above 1.05, - below");
        assert_eq!(markdown("-1"), "-1");
        let check = |text: &str, expected: &str| assert_eq!(spreadsheet(text), expected);
        check("=1+1", "'=1+1");
        check("+x", "'+x");
        check("-x", "'-x");
        check("@x", "'@x");
        check("\tx", "'\tx");
        check(" =1", "' =1");
        check("＝1", "'＝1");
        check("x=1", "x=1");
        // The page's script saves values by the same rule.
        let script = include_str!("assets/script.js");
        assert!(script.contains(r"/^(\s*[=+\-@＝＋－＠]|[\t\r\n])/"));
        assert!(script.contains("harmless(String(value))"));
        check("", "");
    }
}
