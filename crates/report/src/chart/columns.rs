//! Ratios as vertical bars: one small chart per group, a bar per test and variant, from 0.

use super::{Columns, forest::legend, scale::even, tenth};
use crate::{escape::terminal, number};
use maud::{Markup, html};

/// Sizes [px]: they are the same on every screen, and wide charts scroll.
const LEFT: f64 = 44.0;
const TOP: f64 = 18.0;
const HEIGHT: f64 = 190.0;
const BAR: f64 = 15.0;
const GAP: f64 = 14.0;
/// Least room of a test, so that the names under them do not touch.
const TEST: f64 = 30.0;
/// Names are turned by 40 degrees; a character takes so much below the axis, and to its left.
const DOWN: f64 = 4.6;
const ASIDE: f64 = 5.4;

/// Variants up to which bars have their numbers on them.
const NUMBERED: usize = 2;

pub(super) fn draw(charts: &[Columns]) -> Markup {
    let variants = charts.first().map_or(&[][..], |chart| &chart.variants);
    html! {
        @if variants.len() > 1 { (legend(variants)) }
        @for chart in charts { (one(chart)) }
    }
}

fn one(chart: &Columns) -> Markup {
    let bars = || chart.rows.iter().flat_map(|row| &row.dots);
    let ends = bars().flat_map(|dot| [dot.ratio, dot.span.map(|span| span.1)]).flatten();
    let tallest = bars().filter_map(|dot| dot.ratio).fold(1.0, f64::max);
    // Two blocks may leave an interval of decades; the bars would all be flat.
    let to = ends.map(|end| end.min(tallest * 1.25)).fold(1.0, f64::max) * 1.08;
    let from = chart.from.clamp(0.0, 0.95);
    let height = |ratio: f64| HEIGHT * ((ratio - from) / (to - from)).clamp(0.0, 1.0);
    let y = |ratio: f64| tenth(TOP + HEIGHT - height(ratio));
    let longest = chart.rows.iter().map(|row| row.title.chars().count()).max().unwrap_or(0) as f64;
    let room = (chart.variants.len() as f64 * BAR + GAP).max(TEST);
    // The first name reaches to the left of its bars.
    let left = tenth(LEFT.max(longest * ASIDE - room / 2.0 + 8.0));
    let width = tenth(left + room * chart.rows.len() as f64 + 10.0);
    let bottom = TOP + HEIGHT;
    html! {
        figure class="columns" data-chart="columns" {
            figcaption { (terminal(&chart.title)) }
            p class="empty" { (chart.description) }
            div class="wide" tabindex="0" role="group" aria-label=(terminal(&chart.title)) {
                svg width=(tenth(width)) height=(tenth(bottom + 22.0 + longest * DOWN)) role="img"
                    data-marks=(bars().count()) {
                    title { (terminal(&chart.title)) }
                    desc { (terminal(&described(chart))) }
                    @for value in even(from, to) {
                        line class="grid" x1=(left) x2=(width) y1=(y(value)) y2=(y(value)) {}
                        text class="y" x=(left - 6.0) y=(y(value) + 4.0) { (number::short(value)) }
                    }
                    // The base, also where the marks of long bars leave it out.
                    line class="one" x1=(left) x2=(width) y1=(y(1.0)) y2=(y(1.0)) {}
                    @for (index, row) in chart.rows.iter().enumerate() {
                        @let start = left + room * index as f64;
                        @for dot in &row.dots {
                            @let bars = chart.variants.len() as f64 * BAR;
                            @let x = start + (room - bars) / 2.0 + dot.variant as f64 * BAR;
                            (bar(chart, dot, &Frame { x: tenth(x), bottom, y: &y }))
                        }
                        @let (x, down) = (tenth(start + room / 2.0 + 4.0), bottom + 14.0);
                        text class="test" x=(x) y=(down)
                            transform={ "rotate(-40 " (x) " " (down) ")" } {
                            (terminal(&row.title))
                        }
                    }
                    line class="axis" x1=(left) x2=(width) y1=(bottom) y2=(bottom) {}
                }
            }
        }
    }
}

/// Where a bar is [px].
struct Frame<'a> {
    x: f64,
    bottom: f64,
    y: &'a dyn Fn(f64) -> f64,
}

fn bar(chart: &Columns, dot: &super::Dot, frame: &Frame<'_>) -> Markup {
    let class = chart.variants.get(dot.variant).map_or("base", |(_, class)| class.as_str());
    let Frame { x, bottom, y } = frame;
    let middle = x + BAR / 2.0;
    html! {
        g class={ (class) (dot.state()) } {
            title { (terminal(&dot.words)) }
            @if let Some(ratio) = dot.ratio {
                rect class="bar" x=(x + 1.0) width=(BAR - 2.0) y=(y(ratio))
                    height=(tenth(bottom - y(ratio))) {}
                @if let Some((low, high)) = dot.span {
                    line class="span" x1=(middle) x2=(middle) y1=(y(low)) y2=(y(high)) {}
                } @else if chart.variants.len() <= NUMBERED {
                    text class="value" x=(middle) y=(y(ratio) - 4.0) { (number::ratio(ratio)) }
                }
                @if chart.from > 0.0 {
                    line class="cut" x1=(x - 1.0) x2=(x + BAR + 1.0) y1=(bottom - 8.0)
                        y2=(bottom - 13.0) {}
                }
            } @else {
                text class="broken" x=(middle) y=(bottom - 4.0) { "✕" }
            }
        }
    }
}

fn described(chart: &Columns) -> String {
    let words = chart.rows.iter().map(|row| {
        let words: Vec<&str> = row.dots.iter().map(|dot| dot.words.as_str()).collect();
        format!("{}: {}", row.title, words.join(", "))
    });
    words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Dot, ForestRow};

    fn chart(from: f64) -> Columns {
        let dot = |variant, ratio| {
            let words = "w".into();
            Dot { variant, ratio, words, ..Dot::default() }
        };
        Columns {
            title: "t<".into(),
            description: String::new(),
            variants: vec![("a".into(), "s0".into()), ("b".into(), "s1".into())],
            rows: vec![
                ForestRow { title: "x".into(), dots: vec![dot(0, Some(0.5)), dot(1, Some(1.0))] },
                ForestRow { title: "y".into(), dots: vec![dot(0, None), dot(1, Some(2.0))] },
            ],
            from,
        }
    }

    /// Heights of the bars.
    fn heights(text: &str) -> Vec<f64> {
        let bars = text.split("<rect ").skip(1).map(|bar| bar.split("height=\"").nth(1).unwrap());
        bars.map(|bar| bar.split('"').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn bars_are_as_tall_as_their_ratios_from_zero() {
        let text = draw(&[chart(0.0)]).into_string();
        let found = heights(&text);
        assert_eq!(found.len(), 3);
        assert!((found[1] / found[0] - 2.0).abs() < 0.01, "{found:?}");
        assert!((found[2] / found[1] - 2.0).abs() < 0.01, "{found:?}");
        assert!(text.contains("t&lt;") && text.contains("✕") && text.contains(">0.50</text>"));
        assert!(!text.contains("class=\"cut\""));
        assert!(!text.contains("NaN"));
    }

    #[test]
    fn the_base_has_its_line_whatever_the_marks_are() {
        let mut long = chart(0.0);
        long.rows[0].dots[0].ratio = Some(40.0);
        for chart in [chart(0.0), long, Columns::default()] {
            let text = draw(&[chart]).into_string();
            assert_eq!(text.matches("<line class=\"one\"").count(), 1, "{text}");
        }
    }

    #[test]
    fn a_cut_axis_shows_its_break() {
        let text = draw(&[chart(0.4)]).into_string();
        assert_eq!(text.matches("class=\"cut\"").count(), 3);
        assert!(heights(&text)[0] < heights(&text)[1] / 2.0);
        assert!(!draw(&[Columns::default()]).into_string().contains("NaN"));
    }
}
