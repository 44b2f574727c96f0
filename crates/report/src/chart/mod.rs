//! Pictures of numbers: what they show as values, and how they look as SVG.
//!
//! A chart knows neither statistics nor pages. Sizes of text come from the page's style sheet.

mod columns;
mod flame;
mod forest;
mod lines;
mod palette;
mod scale;
mod thin;

pub(crate) use palette::Palette;
pub(crate) use thin::{Budget, thinned};

use maud::Markup;

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Ratios to the base, one row per test.
    Forest(Forest),
    /// Several small charts of lines that belong together.
    Lines(Vec<Lines>),
    /// Several charts of vertical bars, one per group.
    Columns(Vec<Columns>),
    /// Functions under their callers, of two variants.
    Flame(Flame),
}

/// A differential flame graph.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flame {
    /// What is shown.
    pub title: String,
    /// What stands under the title.
    pub description: String,
    /// What the costs are.
    pub unit: String,
    /// The functions, callers before what they call.
    pub boxes: Vec<Flamed>,
}

/// A function under its callers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flamed {
    /// Its name.
    pub name: String,
    /// Callers above it.
    pub depth: usize,
    /// Where it begins, as the cost on both sides.
    pub start: f64,
    /// How wide it is, as the cost on both sides.
    pub width: f64,
    /// Costs with callees, of the base and of the variant.
    pub costs: [f64; 2],
}

/// Ratios to the base on one axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forest {
    /// What is shown.
    pub title: String,
    /// What a reader who does not see it must know.
    pub description: String,
    /// Names of the compared variants with the classes of their colors.
    pub variants: Vec<(String, String)>,
    /// The rows by group.
    pub groups: Vec<(String, Vec<ForestRow>)>,
    /// Dots or bars.
    pub form: Form,
    /// The ratio from which on a change matters; dots nearer to 1 lie in a band.
    pub margin: Option<f64>,
}

/// Ratios to the base as vertical bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    /// What is shown.
    pub title: String,
    /// What stands under the title.
    pub description: String,
    /// Names of the compared variants with the classes of their colors.
    pub variants: Vec<(String, String)>,
    /// The tests in order.
    pub rows: Vec<ForestRow>,
    /// The ratio at which the axis begins; a break is drawn unless it is 0.
    pub from: f64,
}

/// How ratios are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Form {
    /// Dots on a logarithmic axis centered at 1.
    #[default]
    Dots,
    /// Bars on a linear axis.
    Bars {
        /// Where the axis begins; a break is drawn unless it is 0.
        from: f64,
    },
}

/// One test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForestRow {
    /// Name.
    pub title: String,
    /// One per variant that was measured.
    pub dots: Vec<Dot>,
}

/// One ratio.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dot {
    /// Index into the variants.
    pub variant: usize,
    /// The ratio; without one the words say why.
    pub ratio: Option<f64>,
    /// From where to where it goes, if anything is known of that.
    pub span: Option<(f64, f64)>,
    /// What the mark means, in words.
    pub words: String,
    /// Whether something disturbed the host too much to judge it: the mark is hollow.
    pub is_unjudged: bool,
}

impl Dot {
    /// What its class adds to the one of its variant.
    fn state(&self) -> &'static str {
        if self.is_unjudged { " unjudged" } else { "" }
    }
}

/// Lines on two axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// What is shown.
    pub title: String,
    /// What a reader who does not see it must know.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// Moments that stand out on the horizontal axis.
    pub milestones: Vec<Milestone>,
}

/// A moment that stands out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Milestone {
    /// Where, on the horizontal axis.
    pub at: f64,
    /// Class of its look: `step`, `suspected` or `change`.
    pub class: &'static str,
    /// What it is.
    pub words: String,
}

/// An axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// What it measures, with the unit.
    pub title: String,
    /// How values become places.
    pub scale: Scale,
    /// The names at 0, 1, 2 … of an axis of names.
    pub names: Vec<String>,
}

/// How values become places on an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// From 0 on, evenly.
    #[default]
    Zero,
    /// Around the values, evenly: small changes of a level are seen.
    Near,
    /// Each doubling is as long as the next, and each value is marked that has room for it.
    Log2,
    /// Each factor of ten is as long as the next.
    Log10,
    /// Shares of operations by their nines: 90 %, 99 %, 99.9 %.
    Nines,
    /// Names in their order, evenly.
    Names,
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Whose.
    pub name: String,
    /// Class of its color.
    pub class: String,
    /// Points in order; a gap lies between two segments.
    pub segments: Vec<Vec<(f64, f64)>>,
    /// A point that is marked and named.
    pub peak: Option<(f64, f64)>,
}

impl Line {
    /// A line without a peak.
    pub(crate) fn new(
        name: impl Into<String>,
        class: impl Into<String>,
        segments: Vec<Vec<(f64, f64)>>,
    ) -> Self {
        Self { name: name.into(), class: class.into(), segments, peak: None }
    }
}

/// A place or a length [px] in tenths.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The chart as HTML with SVG in it. `id` is a name that nothing else on the page has.
pub(crate) fn draw(chart: &Chart, id: &str) -> Markup {
    match chart {
        Chart::Forest(forest) => forest::draw(forest, id),
        Chart::Lines(charts) => lines::draw(charts),
        Chart::Columns(charts) => columns::draw(charts),
        Chart::Flame(flame) => flame::draw(flame),
    }
}
