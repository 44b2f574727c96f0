//! Lines on two axes, as small charts side by side.

use super::{Line, Lines, forest::legend, scale::Range, tenth};
use crate::{escape::terminal, number};
use maud::{Markup, html};

/// Size of a chart in its own units; the page scales it.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// A segment of at most so many points shows them as dots too.
const DOTS: usize = 3;

/// Characters of a name under an axis; longer ones are cut.
const NAME: usize = 22;

/// Width of a character under an axis.
const CHARACTER: f64 = 7.0;

/// Room of a label at a peak: across and in height.
const LABEL: (f64, f64) = (46.0, 12.0);

pub(super) fn draw(charts: &[Lines]) -> Markup {
    let mut names: Vec<(String, String)> = Vec::new();
    for line in charts.iter().flat_map(|chart| &chart.lines) {
        if !names.iter().any(|(name, _)| *name == line.name) {
            names.push((line.name.clone(), line.class.clone()));
        }
    }
    html! {
        @if names.len() > 1 { (legend(&names)) }
        div class="plots" {
            @for chart in charts { (one(chart)) }
        }
    }
}

fn one(chart: &Lines) -> Markup {
    let points = || chart.lines.iter().flat_map(|line| line.segments.iter().flatten());
    let x = Range::over(chart.x.scale, &points().map(|point| point.0).collect::<Vec<_>>());
    let longest = chart.x.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let room = (longest.min(NAME) + 2) as f64 * CHARACTER / (WIDTH - LEFT - RIGHT);
    let x = if chart.x.names.is_empty() { x } else { x.named(&chart.x.names, room) };
    let y = Range::over(chart.y.scale, &points().map(|point| point.1).collect::<Vec<_>>());
    let count = points().count();
    html! {
        figure class="plot" data-chart="lines" {
            figcaption { (terminal(&chart.title)) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" data-marks=(count) {
                title { (terminal(&chart.title)) }
                desc { (terminal(&chart.description)) }
                (axes(chart, &x, &y))
                text class="title" x=(LEFT + (WIDTH - LEFT - RIGHT) / 2.0) y=(HEIGHT - 6.0) {
                    (chart.x.title)
                }
                text class="title up" x=(LEFT) y=(TOP - 1.0) { (chart.y.title) }
                @for milestone in &chart.milestones {
                    @let at = across(x.place(milestone.at));
                    g class={ "milestone " (milestone.class) } {
                        title { (terminal(&milestone.words)) }
                        line x1=(at) x2=(at) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
                    }
                }
                @for line in &chart.lines { (drawn(line, &x, &y)) }
                @for Label { line, at, value } in peaks(chart, &x, &y) {
                    g class={ "label " (line.class) } {
                        text class="peak" x=(at.x) y=(at.y) { (number::short(value)) }
                    }
                }
            }
        }
    }
}

fn axes(chart: &Lines, x: &Range, y: &Range) -> Markup {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    html! {
        @for (place, word) in &y.marks {
            @let at = height(*place);
            line class="grid" x1=(LEFT) x2=(right) y1=(at) y2=(at) {}
            text class="y" x=(LEFT - 6.0) y=(at + 4.0) { (word) }
        }
        @for (place, word) in &x.marks {
            @let at = across(*place);
            line class="tick" x1=(at) x2=(at) y1=(bottom) y2=(bottom + 4.0) {}
            @if chart.x.names.is_empty() {
                text class="x" x=(at) y=(bottom + 17.0) { (word) }
            } @else {
                text class=(named(*place)) x=(at) y=(bottom + 17.0) { (cut(word)) }
            }
        }
        line class="axis" x1=(LEFT) x2=(right) y1=(bottom) y2=(bottom) {}
    }
}

/// The class of a name: those at the ends grow inward.
fn named(place: f64) -> &'static str {
    match place {
        _ if place <= 0.0 => "x first",
        _ if place >= 1.0 => "x last",
        _ => "x",
    }
}

fn cut(name: &str) -> String {
    let shown = terminal(name);
    match shown.chars().count() > NAME {
        true => shown.chars().take(NAME - 1).chain(['…']).collect(),
        false => shown,
    }
}

fn drawn(line: &Line, x: &Range, y: &Range) -> Markup {
    let place = |(a, b): &(f64, f64)| (across(x.place(*a)), height(y.place(*b)));
    // A second in which nothing ended has no response time, and not the shortest one.
    let parts = line.segments.iter().flat_map(move |segment| {
        let parts = segment.split(move |point| !y.has_place(point.1));
        parts.filter(|part| !part.is_empty())
    });
    let segments: Vec<&[(f64, f64)]> = parts.collect();
    html! {
        g class={ "line " (line.class) } {
            title { (terminal(&line.name)) }
            @for pair in segments.windows(2) {
                @if let (Some(end), Some(start)) = (pair[0].last(), pair[1].first()) {
                    @if end.0 < start.0 {
                        path class="gap" d=(path([end, start].into_iter().map(place))) {}
                    }
                }
            }
            @for segment in &segments {
                @if segment.len() > 1 { path d=(path(segment.iter().map(place))) {} }
                @if segment.len() <= DOTS {
                    @for (cx, cy) in segment.iter().map(place) { circle cx=(cx) cy=(cy) r="2.5" {} }
                }
            }
            @if let Some(peak) = &line.peak {
                @let (cx, cy) = place(peak);
                circle class="peak" cx=(cx) cy=(cy) r="5" {}
            }
        }
    }
}

/// A place in the chart.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

/// What is written at the peak of a line.
struct Label<'a> {
    line: &'a Line,
    at: Point,
    value: f64,
}

/// The labels of the lines that have a peak.
fn peaks<'a>(chart: &'a Lines, x: &Range, y: &Range) -> Vec<Label<'a>> {
    let mut labels: Vec<Label<'_>> = Vec::new();
    for line in &chart.lines {
        let Some((users, value)) = line.peak else { continue };
        let peak = Point { x: across(x.place(users)), y: height(y.place(value)) };
        let taken: Vec<Point> = labels.iter().map(|label| label.at).collect();
        labels.push(Label { line, at: free(peak, &taken), value });
    }
    labels
}

/// Where a label of a peak lies on no other one: above it, else below, else farther away.
fn free(peak: Point, taken: &[Point]) -> Point {
    let is_free = |place: &f64| {
        let is_inside = (TOP..HEIGHT - BOTTOM).contains(place);
        let apart = |other: &Point| {
            (peak.x - other.x).abs() >= LABEL.0 || (place - other.y).abs() >= LABEL.1
        };
        is_inside && taken.iter().all(apart)
    };
    let mut places = [-9.0, 18.0, -21.0, 30.0, -33.0, 42.0].map(|away| peak.y + away).into_iter();
    Point { y: places.find(is_free).unwrap_or(peak.y - 9.0), ..peak }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut text = String::new();
    for (index, (x, y)) in points.enumerate() {
        text.push(if index == 0 { 'M' } else { 'L' });
        text.push_str(&format!("{x} {y}"));
    }
    text
}

fn across(place: f64) -> f64 {
    tenth(LEFT + place * (WIDTH - LEFT - RIGHT))
}

fn height(place: f64) -> f64 {
    tenth(HEIGHT - BOTTOM - place * (HEIGHT - BOTTOM - TOP - 6.0))
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Scale};
    use super::*;

    #[test]
    fn labels_of_peaks_lie_apart() {
        let mut taken = Vec::new();
        for (peak, expected) in [(100.0, 91.0), (101.0, 119.0), (103.0, 133.0), (15.0, 33.0)] {
            let at = free(Point { x: 200.0, y: peak }, &taken);
            assert_eq!(at, Point { x: 200.0, y: expected });
            taken.push(at);
        }
        let aside = free(Point { x: 300.0, y: 100.0 }, &taken);
        assert_eq!(aside, Point { x: 300.0, y: 91.0 });
    }

    #[test]
    fn nothing_is_drawn_at_zero_among_logarithms() {
        let drawn = |scale: Scale, values: [f64; 3]| {
            let points = values.into_iter().enumerate().map(|(at, value)| (at as f64, value));
            let line = Line { segments: vec![points.collect()], ..Line::default() };
            let y = Axis { scale, ..Axis::default() };
            let text = draw(&[Lines { y, lines: vec![line], ..Lines::default() }]).into_string();
            ["<path d=", "<path class=\"gap\"", "<circle"].map(|mark| text.matches(mark).count())
        };
        assert_eq!(drawn(Scale::Zero, [5.0, 0.0, 50.0]), [1, 0, 3]);
        assert_eq!(drawn(Scale::Log10, [5.0, 1.0, 50.0]), [1, 0, 3]);
        assert_eq!(drawn(Scale::Log10, [5.0, 0.0, 50.0]), [0, 1, 2]);
        // Without anything above 0 the axis is none of logarithms.
        assert_eq!(drawn(Scale::Log10, [0.0, 0.0, 0.0]), [1, 0, 3]);
    }

    #[test]
    fn all_lines_share_their_axes_and_gaps_stay_gaps() {
        let line = |name: &str, segments: &[&[(f64, f64)]]| {
            Line::new(name, "s0", segments.iter().map(|segment| segment.to_vec()).collect())
        };
        let points: &[(f64, f64)] = &[(1.0, 0.0), (2.0, 100.0)];
        let mut high = line("high", &[points, &[(4.0, 50.0)]]);
        high.peak = Some((2.0, 100.0));
        let chart = Lines {
            milestones: Vec::new(),
            title: "t".into(),
            description: "d".into(),
            x: Axis { title: "users".into(), scale: Scale::Log2, ..Axis::default() },
            y: Axis::default(),
            lines: vec![high, line("low", &[&[(1.0, 10.0)]])],
        };
        let text = draw(&[chart]).into_string();
        assert_eq!(text.matches("<path d=").count(), 1);
        assert_eq!(text.matches("<path class=\"gap\"").count(), 1);
        assert_eq!(text.matches("<circle").count(), 5);
        // 100 of 100 is at the top, 0 at the bottom, and the one below stands near the bottom.
        assert!(text.contains("190L"), "{text}");
        assert!(text.contains(r#"class="peak" cx="#) && text.contains(">100</text>"));
        assert!(text.contains(r#"data-marks="4""#));
    }
}
