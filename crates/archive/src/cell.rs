//! Cells of exported tables: text from outside stays text.

use model::escape::{self, reorders};

/// Whether a spreadsheet would compute a cell that begins like this. Numbers are no formulas.
pub(crate) fn is_formula(text: &str) -> bool {
    escape::is_formula(text) && crate::number::parse(text).is_none()
}

/// A name in a format that cannot quote: it cannot break a line or a column, whatever separates
/// them, nor steer a terminal, nor be a formula.
pub(crate) fn plain(text: &str) -> String {
    let breaks = |c: char| c.is_control() || reorders(c) || ",;\"".contains(c);
    let one = |c: char| if breaks(c) { '_' } else { c };
    let plain: String = text.chars().map(one).collect();
    if is_formula(&plain) { format!("'{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_no_table_and_are_no_formulas() {
        let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
        check("x.my5651_rel_o2nofp.z12a_c8r32.pk1", "x.my5651_rel_o2nofp.z12a_c8r32.pk1");
        check("a,b;c\td\"e\u{1b}[31m", "a_b_c_d_e_[31m");
        check("a\u{202e}b", "a_b");
        check("=HYPERLINK(\"x\")", "'=HYPERLINK(_x_)");
        check(" =1", "' =1");
        check("+1", "'+1");
        check("-1", "-1");
        check("-1+1", "'-1+1");
        check("@SUM(A1)", "'@SUM(A1)");
        check("＝1", "'＝1");
        check("\t=1", "_=1");
    }
}
