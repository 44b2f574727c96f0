//! The terminal that a text is for: its width and its colors, and how words are wrapped.

/// What a text may use of its terminal. The default is a pipe: no limit and no colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Screen {
    /// Columns of the terminal; none if lines may have any length.
    pub columns: Option<usize>,
    /// Whether verdicts are colored.
    pub colors: Colors,
}

/// Whether verdicts are colored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colors {
    /// They are signs only.
    #[default]
    Off,
    /// They are signs in color.
    On,
}

/// Columns of a terminal that a text takes: East Asian characters take two.
pub fn width(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// Lines of at most `columns` columns, broken between words; lines after the first begin with
/// `indent` blanks. A word that is longer than a line breaks after its punctuation, or anywhere.
pub fn wrap(text: &str, columns: Option<usize>, indent: usize) -> Vec<String> {
    let Some(columns) = columns.filter(|columns| width(text) > *columns) else {
        return vec![text.to_owned()];
    };
    // Room for a word at least, whatever the terminal claims.
    let columns = columns.max(indent + 8);
    let mut lines = vec![String::new()];
    let blanks = text.chars().take_while(|c| *c == ' ').count().min(indent);
    lines[0].push_str(&" ".repeat(blanks));
    for piece in text.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let pieces = pieces(word, columns - indent);
        // Only the first piece follows a blank.
        pieces.into_iter().enumerate()
    }) {
        let (index, piece) = piece;
        let Some(line) = lines.last_mut() else { break };
        let used = width(line);
        let empty = line.trim().is_empty();
        let blank = usize::from(index == 0 && !empty);
        if empty || used + blank + width(&piece) <= columns {
            line.push_str(&" ".repeat(blank));
            line.push_str(&piece);
        } else {
            lines.push(format!("{}{piece}", " ".repeat(indent)));
        }
    }
    lines
}

/// A word in pieces of at most `size` columns.
fn pieces(word: &str, size: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest: Vec<char> = word.chars().collect();
    loop {
        let mut used = 0;
        let fits = |c: &&char| {
            used += unicode_width::UnicodeWidthChar::width(**c).unwrap_or(0);
            used <= size
        };
        let fit = rest.iter().take_while(fits).count();
        if fit == rest.len() {
            break;
        }
        let cut = rest[..fit].iter().rposition(|c| "-_./:,=".contains(*c));
        // A piece that is too short would leave most of the line empty.
        let cut = cut.map(|at| at + 1).filter(|at| *at > fit / 2).unwrap_or(fit);
        let left = rest.split_off(cut);
        pieces.push(rest.into_iter().collect());
        rest = left;
    }
    pieces.push(rest.into_iter().collect());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_all_of_them() {
        let check = |text: &str, columns: usize, expected: &[&str]| {
            assert_eq!(wrap(text, Some(columns), 2), expected, "{text}");
        };
        check("one two", 20, &["one two"]);
        check("one two three four", 10, &["one two", "  three", "  four"]);
        check("  indented words here", 12, &["  indented", "  words here"]);
        check("x.ma100230_rel_withdbg.z12a", 14, &["x.ma100230_", "  rel_withdbg.", "  z12a"]);
        check("abcdefghijklmnopqrstuvwxyz", 12, &["abcdefghij", "  klmnopqrst", "  uvwxyz"]);
        check("汉字漢字漢字漢字", 12, &["汉字漢字漢", "  字漢字"]);
        check("", 10, &[""]);
        assert_eq!(wrap("one two three", None, 2), ["one two three"]);
        assert_eq!(wrap("one two three", Some(0), 2).concat().replace(' ', ""), "onetwothree");
    }
}
