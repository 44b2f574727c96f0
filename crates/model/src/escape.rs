//! Texts from outside, made harmless for whoever reads them on a terminal.

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

/// Marks of direction, invisible separators and the byte order mark: they show other text than
/// there is.
pub fn reorders(c: char) -> bool {
    let ranges = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{2069}'];
    c == '\u{feff}' || ranges.iter().any(|range| range.contains(&c))
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
    }
}
