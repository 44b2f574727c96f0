//! What a page says, before any format.

use crate::{
    chart::Chart,
    grid::{Grid, Part},
    words,
};
use analysis::{Shade, TestsMean, Verdict, mean_of_tests};
use model::metric::Better;

/// A page's content in reading order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// The items.
    pub items: Vec<Item>,
}

/// One thing that a page says. Texts are raw: each format escapes them for itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A heading; level 1 is the page's title.
    Heading {
        /// From 1.
        level: usize,
        /// The words.
        text: String,
    },
    /// A paragraph of one or more sentences.
    Paragraph(String),
    /// A part of the report that links can name.
    Section {
        /// Name of the part, unique in its report.
        anchor: &'static str,
        /// The words.
        title: String,
    },
    /// A table.
    Table(Table),
    /// A table whose rows mean the same in any order.
    Sortable(Table),
    /// The same in several styles, of which a reader sees one.
    Styles(Vec<Styled>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Text that is shown as it is.
    Code(String),
    /// What only some readers want.
    Fold {
        /// Name for links, unique in its report; empty for none.
        anchor: String,
        /// What is inside.
        title: String,
        /// The items.
        items: Vec<Item>,
    },
    /// Values of several metrics under rows and columns, as far as a part of them has it.
    Grid(Box<Grid>, Part),
    /// One metric of a grid as colors: the first picture of many variants.
    Heat(Box<Grid>, usize),
    /// A picture of numbers.
    Chart(Box<Chart>),
    /// The values for programs, which readers can save.
    Data {
        /// What the files are called, without ending.
        name: String,
        /// The values.
        grid: Box<Grid>,
    },
    /// Something the reader must know before believing a number.
    Warning(String),
}

/// Items in one style.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Styled {
    /// Name of the style.
    pub name: &'static str,
    /// The items.
    pub items: Vec<Item>,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The columns in order.
    pub columns: Vec<Column>,
    /// The rows in order.
    pub rows: Vec<Row>,
}

/// The head of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Column {
    /// What it holds.
    pub title: String,
    /// Unit of its numbers, or empty.
    pub unit: String,
    /// Short name that the published tables use, or empty.
    pub short: String,
    /// Where its cells stand.
    pub align: Align,
    /// The label of the variant that the title shortens, or empty.
    pub label: String,
    /// Which direction its ratios are good in, where they are to be colored.
    pub heat: Option<Better>,
}

/// Where cells stand in a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Align {
    /// Words.
    #[default]
    Left,
    /// Numbers.
    Right,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// Names the rows that follow.
    Section(String),
    /// One cell per column.
    Cells(Vec<TableCell>),
    /// A remark on the row before it.
    Note(String),
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum TableCell {
    /// Words.
    Text(String),
    /// A value in the column's unit.
    Number(f64),
    /// A count.
    Count(u64),
    /// A value relative to the base.
    Ratio(f64),
    /// The same with the sign of what follows from it.
    Judged(f64, &'static str),
    /// A value in the column's unit with its ratio to the base, by which it is colored.
    Compared {
        /// The value.
        value: f64,
        /// Relative to the base.
        ratio: f64,
        /// The sign of what follows from it, or empty.
        sign: &'static str,
    },
    /// A mean of ratios of which some are missing.
    PartialRatio {
        /// The mean of those that are there.
        ratio: f64,
        /// How many are there.
        count: usize,
        /// How many there should be.
        all: usize,
    },
    /// A cell that stands out.
    Shaded(Box<TableCell>, Shade),
    /// A set rate was missed: whatever rate [1/s] there was compares with nothing.
    Missed(Option<f64>),
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// Nothing was measured.
    Missing,
    /// Something broke; a note or the verdict says what.
    Failed,
}

impl Document {
    /// Appends a heading.
    pub fn heading(&mut self, level: usize, text: impl Into<String>) {
        self.items.push(Item::Heading { level, text: text.into() });
    }

    /// Appends a section's head.
    pub fn section(&mut self, anchor: &'static str, title: impl Into<String>) {
        self.items.push(Item::Section { anchor, title: title.into() });
    }

    /// Appends what only some readers want, if there is any.
    pub fn fold(&mut self, title: impl Into<String>, items: Vec<Item>) {
        if !items.is_empty() {
            self.items.push(Item::Fold { anchor: String::new(), title: title.into(), items });
        }
    }

    /// The same with a name for links.
    pub fn named_fold(&mut self, anchor: String, title: impl Into<String>, items: Vec<Item>) {
        if !items.is_empty() {
            self.items.push(Item::Fold { anchor, title: title.into(), items });
        }
    }

    /// Appends a chart.
    pub fn chart(&mut self, chart: Chart) {
        self.items.push(Item::Chart(Box::new(chart)));
    }

    /// Appends a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.items.push(Item::Paragraph(text.into()));
    }
}

impl TableCell {
    /// A value, if there is one.
    pub(crate) fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::Number)
    }

    /// The geometric mean of ratios, of which there should be so many; none without any.
    pub(crate) fn mean(ratios: &[f64], all: usize) -> Option<Self> {
        let TestsMean { ratio, tests: count } = mean_of_tests(ratios)?;
        let whole = count == all;
        Some(if whole { Self::Ratio(ratio) } else { Self::PartialRatio { ratio, count, all } })
    }

    /// A ratio, with the sign of its verdict where that says that nothing is decided.
    pub(crate) fn ratio(ratio: f64, verdict: Option<Verdict>) -> Self {
        match verdict.map_or("", words::symbol) {
            sign if words::is_open(sign) => Self::Judged(ratio, sign),
            _ => Self::Ratio(ratio),
        }
    }

    /// A ratio with the sign of a verdict, if it has one.
    pub(crate) fn judged(ratio: f64, verdict: Verdict) -> Self {
        match words::symbol(verdict) {
            "" => Self::Ratio(ratio),
            sign => Self::Judged(ratio, sign),
        }
    }
}

impl Row {
    /// A row under a name.
    pub(crate) fn named(
        name: impl Into<String>,
        cells: impl IntoIterator<Item = TableCell>,
    ) -> Self {
        Self::Cells([TableCell::Text(name.into())].into_iter().chain(cells).collect())
    }
}

impl Column {
    /// A column of ratios that are colored.
    pub(crate) fn ratios(title: impl Into<String>, better: Better) -> Self {
        Self { heat: Some(better), ..Self::numbers(title, "ratio") }
    }

    /// A column of words.
    pub fn words(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A column of numbers.
    pub fn numbers(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { align: Align::Right, unit: unit.into(), ..Self::words(title) }
    }
}
