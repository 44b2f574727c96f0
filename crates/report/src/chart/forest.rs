//! Ratios to the base: a table whose cells hold the marks, so that names stay text and widths fit.

use super::{Dot, Forest, ForestRow, Form, scale::RatioScale};
use crate::{escape::terminal, number, words};
use maud::{Markup, html};

/// Variants that get a line of their own in a row; more share one.
const LANES: usize = 3;

/// Marks of a row that are told one by one to readers who do not see them.
const SPOKEN: usize = 12;

/// Height of a lane [px].
const LANE: usize = 16;

/// How ratios become places from 0 to 1.
enum Places {
    Ratios(RatioScale),
    Bars { from: f64, to: f64 },
}

pub(super) fn draw(forest: &Forest) -> Markup {
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
                    thead { (axis(&places)) }
                    @for (group, rows) in &forest.groups {
                        tbody {
                            @if !group.is_empty() && forest.groups.len() > 1 {
                                tr class="group" {
                                    th scope="rowgroup" colspan="2" { (terminal(group)) }
                                }
                            }
                            @for row in rows { (line(forest, row, &places)) }
                        }
                    }
                    tfoot { (axis(&places)) }
                }
            }
        }
    }
}

/// Names of lines and dots beside their colours.
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
        round(place * 100.0)
    }

    fn marks(&self) -> Vec<(f64, String)> {
        match self {
            Self::Ratios(scale) => {
                let marks = scale.marks().into_iter();
                marks.map(|(place, word)| (round(place * 100.0), word)).collect()
            }
            Self::Bars { from, to } => {
                let step = [0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0];
                let step = step.into_iter().find(|step| (to - from) / step <= 9.0);
                let step = step.unwrap_or(to - from);
                let first = (from / step).ceil() as usize;
                let values = (first..).map(|n| n as f64 * step).take_while(|v| v <= to);
                values.map(|value| (self.percent(value), number::short(value))).collect()
            }
        }
    }
}

fn axis(places: &Places) -> Markup {
    html! {
        tr {
            td {}
            td {
                svg class="strip axis" width="100%" height="18" aria-hidden="true" {
                    @for (at, word) in places.marks() {
                        text x={ (at) "%" } y="13" { (word) }
                    }
                }
            }
        }
    }
}

fn line(forest: &Forest, row: &ForestRow, places: &Places) -> Markup {
    let lanes = if forest.variants.len() > LANES { 1 } else { forest.variants.len().max(1) };
    let height = lanes * LANE + 6;
    let lane = |dot: &Dot| if lanes == 1 { 0 } else { dot.variant };
    let middle = |dot: &Dot| 3 + lane(dot) * LANE + LANE / 2;
    html! {
        tr {
            th scope="row" { (terminal(&row.title)) }
            td {
                svg class="strip" width="100%" height=(height) role="img"
                    data-marks=(row.dots.len()) {
                    title { (terminal(&row.title)) }
                    desc { (terminal(&described(row))) }
                    (ground(forest.form, places))
                    @for dot in &row.dots {
                        (mark(forest, dot, (places, middle(dot))))
                    }
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

/// The grid, the margin around 1 and, if bars are cut, the break.
fn ground(form: Form, places: &Places) -> Markup {
    let (low, high) = (places.percent(1.0 / words::MARGIN), places.percent(words::MARGIN));
    html! {
        @if form == Form::Dots {
            @let width = round(high - low);
            rect class="margin" x={ (low) "%" } width={ (width) "%" } y="0" height="100%" {}
        }
        @for (at, word) in places.marks() {
            line class=(if word == "1" { "one" } else { "grid" })
                x1={ (at) "%" } x2={ (at) "%" } y1="0" y2="100%" {}
        }
    }
}

fn mark(forest: &Forest, dot: &Dot, (places, y): (&Places, usize)) -> Markup {
    let class = forest.variants.get(dot.variant).map_or("base", |(_, class)| class.as_str());
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
        g class=(class) {
            title { (terminal(&dot.words)) }
            @match forest.form {
                Form::Dots => {
                    @if let Some((low, high)) = dot.span {
                        line class="span" x1={ (places.percent(low)) "%" }
                            x2={ (places.percent(high)) "%" } y1=(y) y2=(y) {}
                    }
                    circle cx={ (at) "%" } cy=(y) r="4.5" {}
                },
                Form::Bars { from } => {
                    rect class="bar" x="0" width={ (at) "%" } y=(y - 5) height="10" {}
                    @if from > 0.0 { (cut(y)) }
                },
            }
        }
    }
}

/// Two slanted lines through the beginning of a bar: here a part of the axis is missing.
fn cut(y: usize) -> Markup {
    html! {
        @for x in [10, 15] {
            line class="cut" x1=(x) x2=(x + 5) y1=(y + 8) y2=(y - 8) {}
        }
    }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(form: Form) -> Forest {
        let dot = |ratio, span, words: &str| Dot { variant: 0, ratio, span, words: words.into() };
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
        let text = draw(&forest(Form::Dots)).into_string();
        assert!(text.contains(r#"<circle cx="50%""#), "{text}");
        assert_eq!(text.matches("class=\"span\"").count(), 1);
        assert_eq!(text.matches("<circle").count(), 2);
        assert!(text.contains("failed: &lt;x&gt;") && text.contains("t&lt;"));
    }

    #[test]
    fn bars_begin_at_zero_and_a_break_is_drawn_where_they_do_not() {
        let text = draw(&forest(Form::Bars { from: 0.0 })).into_string();
        assert_eq!(text.matches("class=\"bar\"").count(), 2);
        assert!(!text.contains("class=\"cut\""));
        // 1 / 1.06 of the width.
        assert!(text.contains(r#"width="94.3%""#), "{text}");
        let cut = draw(&forest(Form::Bars { from: 0.4 })).into_string();
        assert_eq!(cut.matches("class=\"cut\"").count(), 4);
    }
}
