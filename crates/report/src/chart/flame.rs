//! A differential flame graph: rectangles of functions under their callers, as wide as they cost on
//! both sides together, colored by which side they cost more on.

use super::{Flame, Flamed};
use crate::{escape::terminal, number};
use maud::{Markup, html};

/// Sizes [px]: the script changes places and widths alone.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 17.0;
/// Room of a letter.
const LETTER: f64 = 6.4;

pub(super) fn draw(flame: &Flame) -> Markup {
    let all: f64 = flame.boxes.iter().filter(|one| one.depth == 0).map(|one| one.width).sum();
    let rows = flame.boxes.iter().map(|one| one.depth + 1).max().unwrap_or(0);
    let all = all.max(f64::MIN_POSITIVE);
    let place = |value: f64| (value / all * WIDTH * 100.0).round() / 100.0;
    html! {
        figure class="flame" data-chart="flame" {
            figcaption { (terminal(&flame.title)) }
            p class="empty" { (terminal(&flame.description)) }
            form class="styling scripted" {
                label { "Functions " input type="search" placeholder="search by name"; }
                button type="button" { "whole graph" }
                output {}
            }
            div class="wide" tabindex="0" role="group" aria-label=(terminal(&flame.title)) {
                svg width=(WIDTH) height=(rows as f64 * ROW) role="img" {
                    title { (terminal(&flame.title)) }
                    @for one in &flame.boxes {
                        g data-name=(terminal(&one.name)) data-depth=(one.depth)
                            data-x=(place(one.start)) data-w=(place(one.width)) {
                            title { (told(one, &flame.unit)) }
                            rect class=(class(one)) x=(place(one.start)) width=(place(one.width))
                                y=(one.depth as f64 * ROW) height=(ROW - 1.0) {}
                            text x=(place(one.start) + 3.0) y=(one.depth as f64 * ROW + 12.0) {
                                (short(&one.name, place(one.width)))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What fits into a box.
fn short(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER) as usize;
    let shown = terminal(name).to_string();
    match shown.chars().count() {
        _ if letters < 3 => String::new(),
        count if count <= letters => shown,
        _ => shown.chars().take(letters - 1).chain(['…']).collect(),
    }
}

fn told(one: &Flamed, unit: &str) -> String {
    let [base, variant] = one.costs;
    let difference = variant - base;
    let sign = if difference > 0.0 { "+" } else { "" };
    format!(
        "{}: {} and {} {unit} per operation with callees ({sign}{})",
        terminal(&one.name),
        number::value(base),
        number::value(variant),
        number::value(difference)
    )
}

/// The shade of a change: of the part that one side has more than the other.
fn class(one: &Flamed) -> String {
    let [base, variant] = one.costs;
    let change = (variant - base) / (variant + base).max(f64::MIN_POSITIVE);
    let shade = match change.abs() {
        size if size < 0.01 => return "f0".to_owned(),
        size if size < 0.05 => 1,
        size if size < 0.15 => 2,
        size if size < 0.4 => 3,
        _ => 4,
    };
    format!("{}{shade}", if change > 0.0 { "more" } else { "less" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, depth: usize, start: f64, costs: [f64; 2]) -> Flamed {
        let width = costs.iter().sum();
        Flamed { name: name.to_owned(), depth, start, width, costs }
    }

    #[test]
    fn boxes_are_as_wide_as_both_sides_cost() {
        let (title, unit) = ("t".to_owned(), "instructions".to_owned());
        let boxes = vec![one("all", 0, 0.0, [0.0, 0.0])];
        let nothing = Flame { title, description: String::new(), unit, boxes };
        assert!(!draw(&nothing).into_string().contains("NaN"));
        let boxes = vec![one("all", 0, 0.0, [100.0, 300.0]), one("a<b>", 1, 100.0, [0.0, 200.0])];
        let (title, unit) = ("t".to_owned(), "instructions".to_owned());
        let flame = Flame { title, description: String::new(), unit, boxes };
        let drawn = draw(&flame).into_string();
        assert!(drawn.contains("data-x=\"300\" data-w=\"600\""), "{drawn}");
        assert!(
            drawn.contains("a&lt;b&gt;: 0 and 200 instructions per operation with callees (+200)")
        );
        assert_eq!(short("a_long_name", 40.0), "a_lo…");
        assert_eq!(short("a_long_name", 20.0), "");
    }

    #[test]
    fn the_shade_says_which_side_costs_more() {
        let check = |costs, expected: &str| {
            assert_eq!(class(&one("a", 0, 0.0, costs)), expected);
        };
        check([100.0, 101.0], "f0");
        check([100.0, 120.0], "more2");
        check([100.0, 0.0], "less4");
        check([0.0, 5.0], "more4");
    }
}
