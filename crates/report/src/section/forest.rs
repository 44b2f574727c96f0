//! Ratios to the base as pictures: dots on a logarithmic axis, and bars.

use super::{Section, versions};
use crate::{
    chart::{self, Chart, Dot, ForestRow, Form},
    document::{Document, Item},
    grid::{Grid, Kind, Part, Value},
    inputs::Inputs,
    number, words,
};
use analysis::Verdict;
use model::{
    margins::Quantity,
    metric::{Better, Metric, Per},
};

/// Variants whose bars stand upright, a chart for each group; more lie on their side.
const UPRIGHT: usize = 4;

pub(super) const SECTION: Section = Section { name: "forest", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let has_marks = |part: &&Part| {
        inputs.grid.variants(part).next().is_some() && !versions::is_long(&inputs.grid, part)
    };
    let parts = inputs.parts.iter().filter(has_marks);
    let parts: Vec<&Part> = parts.collect();
    if parts.is_empty() {
        return;
    }
    document.section("forest", "Forest plot");
    for part in &parts {
        if inputs.parts.len() > 1 {
            document.heading(3, inputs.grid.compared_with(part));
        }
        self::part(inputs, &inputs.grid.part(part), document);
    }
}

/// The plots of what is compared with one base.
fn part(inputs: &Inputs<'_>, grid: &Grid, document: &mut Document) {
    document.items.extend(plot(inputs, grid, inputs.lead.name, Form::Dots));
    let work = analysis::INSTRUCTIONS.into_iter().find(|name| grid.metric(name).is_some());
    let costs = work.into_iter().chain([words::cpu(inputs.comparison)]);
    let costs = costs.filter(|name| *name != inputs.lead.name);
    let more = costs.filter_map(|name| plot(inputs, grid, name, Form::Dots)).collect();
    document.fold("The same for what an operation costs", more);
    let from = inputs.view.cut_bars.unwrap_or(0.0);
    let bars = forest(inputs, grid, inputs.lead.name, Form::Bars { from });
    let bars = bars.map(|forest| match forest.variants.len() {
        0..=UPRIGHT => upright(forest, from),
        _ => Chart::Forest(forest),
    });
    let bars = bars.map(|chart| Item::Chart(Box::new(chart)));
    document.fold("The same as bars", bars.into_iter().collect());
}

/// The rows of each group as a chart of their own.
fn upright(forest: chart::Forest, from: f64) -> Chart {
    let chart::Forest { groups, title, description, variants, .. } = forest;
    let several = groups.len() > 1;
    let column = |(group, rows): (String, Vec<ForestRow>)| chart::Columns {
        title: if several && !group.is_empty() {
            format!("{group}: {title}")
        } else {
            title.clone()
        },
        description: description.clone(),
        variants: variants.clone(),
        rows,
        from,
    };
    Chart::Columns(groups.into_iter().map(column).collect())
}

fn plot(inputs: &Inputs<'_>, grid: &Grid, metric: &str, form: Form) -> Option<Item> {
    let found = forest(inputs, grid, metric, form);
    found.map(|forest| Item::Chart(Box::new(Chart::Forest(forest))))
}

fn forest(inputs: &Inputs<'_>, grid: &Grid, metric: &str, form: Form) -> Option<chart::Forest> {
    let plane = grid.metric(metric)?;
    let compared: Vec<usize> =
        (0..grid.columns.len()).filter(|index| !grid.columns[*index].is_base).collect();
    let row = |index: &usize| ForestRow {
        title: grid.rows[*index].title.clone(),
        dots: dots(grid, plane, *index, &compared),
    };
    // A metric may be known of some tests only: a row without marks would look like a loss.
    let marked = |rows: Vec<usize>| -> Vec<ForestRow> {
        rows.iter().map(row).filter(|row| !row.dots.is_empty()).collect()
    };
    let groups = grid.groups().into_iter().map(|(name, rows)| (name.to_owned(), marked(rows)));
    let groups = groups.filter(|(_, rows)| !rows.is_empty());
    let title = words::long_title(grid.metrics[plane]);
    let variant = |index: &usize| {
        let title = &grid.columns[*index].title;
        (title.clone(), inputs.columns.class(title))
    };
    let start = match form {
        Form::Bars { from } if from > 0.0 => {
            format!(" Bars begin at {}: their lengths are not in proportion.", number::short(from))
        }
        _ => String::new(),
    };
    let more = match form {
        Form::Bars { .. } if compared.len() > 1 => {
            " The bars of a test are in the order of the legend."
        }
        _ => "",
    };
    let groups: Vec<_> = groups.collect();
    let mut marks = groups.iter().flat_map(|(_, rows)| rows).flat_map(|row| &row.dots);
    let unjudged = match marks.any(|dot| dot.is_unjudged) {
        true => " Hollow marks are not judged, because the host was disturbed.",
        false => "",
    };
    let better = direction(form, grid.metrics[plane]);
    let margin = inputs.comparison.margins.of(grid.metrics[plane]);
    let band = margin.filter(|_| form == Form::Dots).map(words::band).unwrap_or_default();
    Some(chart::Forest {
        title: format!("{title}, relative to the base"),
        description: format!("1 is the base{better}.{band}{more}{start}{unjudged}"),
        variants: compared.iter().map(variant).collect(),
        groups,
        form,
        margin,
    })
}

/// Which end is better, as the end of a sentence; nothing where neither is.
fn direction(form: Form, metric: &Metric) -> String {
    let is_cost = metric.per == Per::Operation && Quantity::of(metric) != Some(Quantity::Time);
    let word = match metric.better {
        Better::Lower if is_cost => "cheaper",
        _ => words::worse_and_better(metric)[1],
    };
    match (form, metric.better) {
        (_, Better::Neither) => String::new(),
        (Form::Bars { .. }, Better::Lower) => format!("; shorter bars are {word}"),
        (Form::Bars { .. }, Better::Higher) => format!("; longer bars are {word}"),
        (Form::Dots, Better::Lower) => format!("; left is {word}"),
        (Form::Dots, Better::Higher) => format!("; right is {word}"),
    }
}

fn dots(grid: &Grid, plane: usize, row: usize, compared: &[usize]) -> Vec<Dot> {
    let values = compared.iter().enumerate().filter_map(|(variant, column)| {
        let value = &grid.values[plane][row][*column];
        // A row or a column may have the base among variants: what is noted on it is no failure.
        if value.kind == Kind::Base || value.kind == Kind::Missing && value.note.is_empty() {
            return None;
        }
        let words = said(&grid.columns[*column].title, value);
        let is_unjudged = is_unjudged(value);
        Some(Dot { variant, ratio: value.ratio, span: value.interval, words, is_unjudged })
    });
    values.collect()
}

/// Whether there is a ratio, and something disturbed the host too much to judge it.
fn is_unjudged(value: &Value) -> bool {
    value.ratio.is_some() && value.verdict == Some(Verdict::Invalid)
}

/// What a mark means, with its interval.
fn said(variant: &str, value: &Value) -> String {
    let Some(ratio) = value.ratio else { return format!("{variant}: {}", value.note) };
    let interval = value.interval.map(|ends| format!(", {}", words::interval(ends)));
    let unjudged = if is_unjudged(value) { ", not judged" } else { "" };
    format!("{variant}: {}{}{unjudged}", number::ratio(ratio), interval.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Column;

    #[test]
    fn an_end_is_called_what_it_is() {
        let check = |form: Form, metric: &str, expected: &str| {
            assert_eq!(direction(form, analysis::metric(metric).unwrap()), expected, "{metric}");
        };
        let bars = Form::Bars { from: 0.0 };
        check(Form::Dots, "ops_per_second", "; right is faster");
        check(bars, "ops_per_second", "; longer bars are faster");
        check(bars, "server_cpu_us_per_op", "; shorter bars are cheaper");
        check(Form::Dots, "foreground_user_instructions_per_op", "; left is cheaper");
        check(Form::Dots, "latency_us_p99", "; left is better");
        check(Form::Dots, "recall", "; right is better");
        check(Form::Dots, "rows_per_op", "");
    }

    #[test]
    fn what_is_noted_on_a_base_is_drawn_as_no_failure() {
        let check = |kind: Kind, note: &str, expected: usize| {
            let value = Value { kind, note: note.to_owned(), ..Value::default() };
            let grid = Grid {
                columns: vec![Column::default()],
                values: vec![vec![vec![value]]],
                ..Grid::default()
            };
            assert_eq!(dots(&grid, 0, 0, &[0]).len(), expected, "{kind:?} {note}");
        };
        check(Kind::Base, "geometric mean of 3 cells", 0);
        check(Kind::Missing, "", 0);
        check(Kind::Missing, "not measured", 1);
        check(Kind::Failed, "failed: out of memory", 1);
    }
}
