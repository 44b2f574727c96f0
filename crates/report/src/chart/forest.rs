//! Ratios to the base: a table whose cells hold the marks, so that names stay text and widths fit.

use super::{
    Dot, Forest, ForestRow, Form,
    scale::{RatioScale, even},
    tenth,
};
use crate::{escape::terminal, number};
use maud::{Markup, html};

/// Variants whose dots get a line of their own in a row; more share one. Bars, which would hide
/// each other, always have their own.
const LANES: usize = 3;

/// Marks of a row that the text alternative lists one by one.
const SPOKEN: usize = 12;

/// Height of a lane [px]: with many of them a row would be too high to be compared with the next.
fn lane_height(lanes: usize) -> usize {
    match lanes {
        0..=LANES => 16,
        4..=12 => 9,
        _ => 5,
    }
}

/// How ratios become places from 0 to 1.
enum Places {
    Ratios(RatioScale),
    Bars { from: f64, to: f64 },
}

/// `id` is the page's name for what all rows have behind their marks.
pub(super) fn draw(forest: &Forest, id: &str) -> Markup {
    let places = places(forest);
    let class = match forest.form {
        Form::Dots => "forest dots",
        Form::Bars { .. } => "forest bars",
    };
    html! {
        figure class=(class) data-chart="forest" {
            figcaption { (forest.title) }
            @if forest.variants.len() > 1 { (legend(&forest.variants)) }
            div class="wide" tabindex="0" role="group" aria-label=(forest.title) {
                table {
                    caption { (forest.description) }
                    thead { (axis(&places, Some((forest, id)))) }
                    @for (group, rows) in &forest.groups {
                        tbody {
                            @if !group.is_empty() && forest.groups.len() > 1 {
                                tr class="group" {
                                    th scope="rowgroup" colspan="2" { (terminal(group)) }
                                }
                            }
                            @for row in rows { (line(forest, row, &places, id)) }
                        }
                    }
                    tfoot { (axis(&places, None)) }
                }
            }
        }
    }
}

/// Names of lines and dots beside their colors.
pub(super) fn legend(entries: &[(String, String)]) -> Markup {
    html! {
        ul class="legend" {
            @for (name, class) in entries {
                li { span class={ "key " (class) } {} (terminal(name)) }
            }
        }
    }
}

/// How far beyond the dots intervals may stretch the axis; they end where it does.
const REACH: f64 = 1.25;

fn places(forest: &Forest) -> Places {
    let dots = || forest.groups.iter().flat_map(|(_, rows)| rows).flat_map(|row| &row.dots);
    let (least, largest) = dots()
        .filter_map(|dot| dot.ratio)
        .fold((1.0_f64, 1.0_f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    // Two blocks may leave an interval of decades; the dots would all lie on one spot.
    let within = |end: f64| end.clamp(least / REACH, largest * REACH);
    let ratios = || {
        dots().flat_map(|dot| {
            let (low, high) = dot.span.unzip();
            [dot.ratio, low.map(within), high.map(within)].into_iter().flatten()
        })
    };
    match forest.form {
        Form::Dots => Places::Ratios(RatioScale::over(ratios())),
        Form::Bars { from } => {
            let largest = ratios().filter(|ratio| ratio.is_finite()).fold(1.0, f64::max);
            Places::Bars { from: from.clamp(0.0, 0.95), to: largest * 1.06 }
        }
    }
}

impl Places {
    fn percent(&self, ratio: f64) -> f64 {
        let place = match self {
            Self::Ratios(scale) => scale.place(ratio),
            Self::Bars { from, to } => ((ratio - from) / (to - from)).clamp(0.0, 1.0),
        };
        tenth(place * 100.0)
    }

    fn marks(&self) -> Vec<(f64, String)> {
        match self {
            Self::Ratios(scale) => {
                let marks = scale.marks().into_iter();
                marks.map(|(place, word)| (tenth(place * 100.0), word)).collect()
            }
            Self::Bars { from, to } => {
                let values = even(*from, *to).into_iter();
                values.map(|value| (self.percent(value), number::short(value))).collect()
            }
        }
    }
}

/// The words of the marks; the first axis defines the ground of the rows under its name.
fn axis(places: &Places, of_rows: Option<(&Forest, &str)>) -> Markup {
    html! {
        tr {
            td {}
            td {
                svg class="strip axis" width="100%" height="18" aria-hidden="true" {
                    @if let Some((forest, id)) = of_rows {
                        defs { g id=(id) { (ground(forest, places)) } }
                    }
                    @for (at, word) in places.marks() {
                        text x={ (at) "%" } y="13" { (word) }
                    }
                }
            }
        }
    }
}

fn line(forest: &Forest, row: &ForestRow, places: &Places, id: &str) -> Markup {
    let shared = forest.form == Form::Dots && forest.variants.len() > LANES;
    let lanes = if shared { 1 } else { forest.variants.len().max(1) };
    let lane = lane_height(lanes);
    let height = lanes * lane + 6;
    let number = |dot: &Dot| if lanes == 1 { 0 } else { dot.variant };
    let lane_of = |dot: &Dot| Lane { middle: 3 + number(dot) * lane + lane / 2, height: lane };
    html! {
        tr {
            th scope="row" { (terminal(&row.title)) }
            td {
                svg class="strip" width="100%" height=(height) role="img"
                    data-marks=(row.dots.len()) {
                    title { (terminal(&row.title)) }
                    desc { (terminal(&described(row))) }
                    use href={ "#" (id) } {}
                    @for dot in &row.dots { (mark(forest, dot, places, lane_of(dot))) }
                }
            }
        }
    }
}

/// All marks of a row in words; the ends, if there are too many to be listened to.
fn described(row: &ForestRow) -> String {
    if row.dots.len() <= SPOKEN {
        let words: Vec<&str> = row.dots.iter().map(|dot| dot.words.as_str()).collect();
        return words.join("; ");
    }
    let known = || row.dots.iter().filter(|dot| dot.ratio.is_some());
    let order = |a: &&Dot, b: &&Dot| a.ratio.unwrap_or(0.0).total_cmp(&b.ratio.unwrap_or(0.0));
    match (known().min_by(order), known().max_by(order)) {
        (Some(low), Some(high)) => {
            format!("{} variants, from {} to {}", row.dots.len(), low.words, high.words)
        }
        _ => "no variant has a ratio".to_owned(),
    }
}

/// The grid and the margin around 1. Browsers differ in which selectors of a style sheet they apply
/// to what `<use>` repeats, so its looks are attributes in the color of the text.
fn ground(forest: &Forest, places: &Places) -> Markup {
    let margin = forest.margin.filter(|_| forest.form == Form::Dots);
    html! {
        @if let Some(margin) = margin {
            @let (low, high) = (places.percent(1.0 / margin), places.percent(margin));
            rect class="margin" x={ (low) "%" } width={ (tenth(high - low)) "%" } height="100%"
                fill="currentColor" fill-opacity=".09" {}
        }
        g stroke="currentColor" shape-rendering="crispEdges" {
            @for (at, _) in places.marks() {
                line x1={ (at) "%" } x2={ (at) "%" } y2="100%" stroke-opacity=".16" {}
            }
            // The base, also where the marks of long bars leave it out.
            @let base = places.percent(1.0);
            line x1={ (base) "%" } x2={ (base) "%" } y2="100%" stroke-opacity=".55" {}
        }
    }
}

/// Where the marks of a variant are in a row [px].
struct Lane {
    middle: usize,
    height: usize,
}

fn mark(forest: &Forest, dot: &Dot, places: &Places, lane: Lane) -> Markup {
    let y = lane.middle;
    let thick = lane.height * 5 / 8;
    let class = class(forest, dot);
    let Some(ratio) = dot.ratio else {
        return html! {
            g class="broken" {
                title { (terminal(&dot.words)) }
                text x={ (places.percent(1.0)) "%" } y=(y + 4) { "✕" }
            }
        };
    };
    let at = places.percent(ratio);
    html! {
        g class={ (class) (dot.state()) } {
            title { (terminal(&dot.words)) }
            @match forest.form {
                Form::Dots => {
                    @if let Some((low, high)) = dot.span {
                        line class="span" x1={ (places.percent(low)) "%" }
                            x2={ (places.percent(high)) "%" } y1=(y) y2=(y) {}
                        (beyond(places, low, high, y))
                    }
                    circle cx={ (at) "%" } cy=(y) r="4.5" {}
                },
                Form::Bars { from } => {
                    rect class="bar" x="0" width={ (at) "%" } y=(y - thick / 2)
                        height=(thick) {}
                    @if from > 0.0 { (cut(y, thick)) }
                },
            }
        }
    }
}

/// Signs at the ends of the axis beyond which an interval goes on.
fn beyond(places: &Places, low: f64, high: f64, y: usize) -> Markup {
    html! {
        @if places.percent(low) <= 0.0 { text x="0" y=(y + 4) text-anchor="start" { "◂" } }
        @if places.percent(high) >= 100.0 { text x="100%" y=(y + 4) text-anchor="end" { "▸" } }
    }
}

/// The class of a mark's color.
fn class<'a>(forest: &'a Forest, dot: &Dot) -> &'a str {
    forest.variants.get(dot.variant).map_or("base", |(_, class)| class.as_str())
}

/// Two slanted lines through the beginning of a bar: here a part of the axis is missing.
fn cut(y: usize, thick: usize) -> Markup {
    let reach = (thick * 4 / 5).min(y);
    html! {
        @for x in [10, 15] {
            line class="cut" x1=(x) x2=(x + 5) y1=(y + reach) y2=(y - reach) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(form: Form) -> Forest {
        let dot = |ratio, span, words: &str| {
            let words = words.into();
            Dot { ratio, span, words, ..Dot::default() }
        };
        let row = |title: &str, dots| ForestRow { title: title.into(), dots };
        Forest {
            title: "t<".into(),
            description: "d".into(),
            variants: vec![("new".into(), "s0".into())],
            groups: vec![(
                "point".into(),
                vec![
                    row("a", vec![dot(Some(1.0), None, "one")]),
                    row("b", vec![dot(Some(0.5), Some((0.4, 0.6)), "half")]),
                    row("c", vec![dot(None, None, "failed: <x>")]),
                ],
            )],
            form,
            margin: Some(1.005),
        }
    }

    #[test]
    fn an_interval_of_decades_leaves_the_dots_apart() {
        let mut wide = forest(Form::Dots);
        wide.groups[0].1[1].dots[0].span = Some((0.01, 50.0));
        let half = places(&wide).percent(0.5);
        assert!(half < 20.0, "{half}");
    }

    #[test]
    fn a_ratio_of_one_lies_in_the_middle_and_spans_only_where_there_are_any() {
        let text = draw(&forest(Form::Dots), "g").into_string();
        assert!(text.contains(r#"<circle cx="50%""#), "{text}");
        assert_eq!(text.matches("class=\"span\"").count(), 1);
        assert_eq!(text.matches("<circle").count(), 2);
        assert!(text.contains("failed: &lt;x&gt;") && text.contains("t&lt;"));
    }

    #[test]
    fn the_band_is_as_wide_as_the_margin_and_needs_no_style_sheet() {
        let ground = |form, margin| {
            let forest = Forest { margin, ..forest(form) };
            let text = draw(&forest, "g").into_string();
            let ground = text.split_once("<g id=\"g\">").unwrap().1;
            ground.split_once("</defs>").unwrap().0.to_owned()
        };
        let width = |margin| -> f64 {
            let ground = ground(Form::Dots, Some(margin));
            let width = ground.split_once("width=\"").unwrap().1.split_once('%').unwrap().0;
            width.parse().unwrap()
        };
        let (narrow, wide) = (width(1.005), width(1.03));
        assert!(narrow > 0.0 && wide > 4.0 * narrow, "{narrow} {wide}");
        assert!(!ground(Form::Dots, None).contains("<rect"));
        assert!(!ground(Form::Bars { from: 0.0 }, Some(1.03)).contains("<rect"));
        let drawn = ground(Form::Dots, Some(1.03));
        assert!(drawn.contains(r#"fill="currentColor" fill-opacity=".09""#), "{drawn}");
        assert!(drawn.contains(r#"<g"#), "{drawn}");
    }

    #[test]
    fn the_base_has_its_line_whatever_the_marks_are() {
        for largest in [1.2, 12.0, 400.0] {
            let mut long = forest(Form::Bars { from: 0.0 });
            long.groups[0].1[0].dots[0].ratio = Some(largest);
            let at = places(&long).percent(1.0);
            let text = draw(&long, "g").into_string();
            let line =
                format!("<line x1=\"{at}%\" x2=\"{at}%\" y2=\"100%\" stroke-opacity=\".55\"");
            assert_eq!(text.matches(&line).count(), 1, "{largest}: {text}");
        }
    }

    #[test]
    fn bars_begin_at_zero_and_a_break_is_drawn_where_they_do_not() {
        let text = draw(&forest(Form::Bars { from: 0.0 }), "g").into_string();
        assert_eq!(text.matches("class=\"bar\"").count(), 2);
        assert!(!text.contains("class=\"cut\""));
        // 1 / 1.06 of the width.
        assert!(text.contains(r#"width="94.3%""#), "{text}");
        let cut = draw(&forest(Form::Bars { from: 0.4 }), "g").into_string();
        assert_eq!(cut.matches("class=\"cut\"").count(), 4);
    }

    #[test]
    fn what_is_not_judged_looks_like_nothing_that_is() {
        let mut one = forest(Form::Dots);
        one.groups[0].1[1].dots[0].is_unjudged = true;
        let text = draw(&one, "g").into_string();
        assert_eq!(text.matches("<g class=\"s0 unjudged\">").count(), 1, "{text}");
        assert_eq!(text.matches("<g class=\"s0\">").count(), 1, "{text}");
    }

    #[test]
    fn bars_of_many_variants_do_not_hide_each_other() {
        let mut many = forest(Form::Bars { from: 0.0 });
        many.variants = (0..34).map(|n| (format!("v{n}"), "q0".to_owned())).collect();
        let dot =
            |variant| Dot { variant, ratio: Some(1.0), words: "one".into(), ..Dot::default() };
        many.groups = vec![(
            "point".into(),
            vec![ForestRow { title: "a".into(), dots: (0..34).map(dot).collect() }],
        )];
        let text = draw(&many, "g").into_string();
        let places = text.split("<rect ").skip(1).map(|bar| bar.split('"').nth(7));
        let places: std::collections::BTreeSet<_> = places.collect();
        assert_eq!(places.len(), 34, "{text}");
        assert_eq!(text.matches("<title>one</title>").count(), 34);
        assert!(text.contains("34 variants, from one"));
    }
}
