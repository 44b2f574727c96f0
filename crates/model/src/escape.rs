//! Texts from outside, made harmless for whoever reads them on a terminal or in a table.

/// Characters that steer a terminal or reorder text become visible escapes.
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || reorders(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// JSON of the same value whose strings hold no characters that steer a terminal or reorder text.
pub fn json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // JSON itself escapes the others, and line breaks are its layout.
        if (c.is_control() && !c.is_ascii_control()) || c == '\u{7f}' || reorders(c) {
            // They are in the first plane, so one escape is enough.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// A cell of CSV (RFC 4180): in quotes where a reader would split it. Some spreadsheets separate by
/// semicolons.
pub fn csv(text: &str) -> String {
    if text.contains([',', ';', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

/// Whether a spreadsheet would compute a text cell that begins like this: such a cell gets an
/// apostrophe in front.
pub fn is_formula(text: &str) -> bool {
    // The wide forms are what some spreadsheets take for the plain ones.
    let signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    text.starts_with(['\t', '\r', '\n']) || text.trim_start().starts_with(signs)
}

/// Marks of direction, invisible separators and the byte order mark: they show other text than
/// there is.
pub fn reorders(c: char) -> bool {
    let ranges = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{2069}'];
    matches!(c, '\u{61c}' | '\u{feff}') || ranges.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_steered() {
        let check = |text: &str, expected: &str| assert_eq!(terminal(text), expected);
        check("mysql-9.7.4 `x` é", "mysql-9.7.4 `x` é");
        check("\u{1b}[31mred", "\\u{1b}[31mred");
        check("a\nb\r\t\u{7}\u{9b}", "a\\nb\\r\\t\\u{7}\\u{9b}");
        check("\u{202e}txt\u{feff}", "\\u{202e}txt\\u{feff}");
        check("a\u{61c}1", "a\\u{61c}1");
    }

    #[test]
    fn json_keeps_its_value_and_steers_nothing() {
        let value = serde_json::json!({ "a": "\u{9b}31m\u{7f}\u{202e}x\u{feff}é\n" });
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.contains("\\u009b31m\\u007f\\u202ex\\ufeffé\\n"), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
