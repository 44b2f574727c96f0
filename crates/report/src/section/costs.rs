//! What an operation costs: server, its parts and client apart, as plain tables.

use super::Section;
use crate::{
    document::{Column, Document, Item, Row, Table, TableCell},
    grid::{Grid, Kind, Row as GridRow, Value},
    inputs::Inputs,
    words::{self, THROUGHPUT},
};
use model::metric;

/// The titles of the tables of metrics that belong together.
const TABLES: [(&str, metric::Table); 8] = [
    ("Work: user instructions per operation", metric::Table::Work),
    ("CPU time per operation", metric::Table::CpuTime),
    ("Waits of serving tasks per operation", metric::Table::Waits),
    ("Per statement that changed rows, where many may find none", metric::Table::Effective),
    ("Kernel instructions and cycles per operation", metric::Table::Kernel),
    ("Switches, faults and storage per operation", metric::Table::Storage),
    ("Latency, memory and size", metric::Table::Latency),
    ("The rest of the host", metric::Table::Host),
];

/// What is most worth knowing where there is no room for all.
const FIRST: [&str; 17] = [
    "foreground_user_instructions_per_op",
    "server_user_instructions_per_op",
    "foreground_instructions_per_op",
    "server_instructions_per_op",
    "server_cpu_us_per_op",
    "host_cpu_us_per_op",
    "host_cpu_percent_per_op",
    "context_switches_per_op",
    "host_context_switches_per_op",
    "reads_per_op",
    "read_kib_per_op",
    "write_kib_per_op",
    "latency_us_p95",
    "client_cpu_us_per_op",
    "server_rss_mib_peak",
    "background_cpu_us_per_op",
    "database_mib",
];

/// Columns up to which a line per test and variant can be read; with more, each cost is a table of
/// its own with the variants side by side.
const FEW: usize = 8;

/// Cells of those tables, at most, so that the report keeps its size.
const CELLS: usize = 4_000;

/// Cells of one table beyond which each says one thing only.
const BOTH: usize = 1_000;

/// What a cell of a table of one metric says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Say {
    /// The value.
    Values,
    /// The ratio to the base, of bases the value.
    Ratios,
}

pub(super) const SECTION: Section = Section { name: "costs", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let grid = &inputs.grid;
    let own = |table: metric::Table| {
        let indexes = 0..grid.metrics.len();
        let own = indexes.filter(|index| grid.metrics[*index].table == Some(table));
        let mut own: Vec<usize> = own.collect();
        own.sort_by_key(|index| (grid.metrics[*index].kind, grid.metrics[*index].part));
        own
    };
    let tables = TABLES.map(|(title, table)| (title, own(table))).into_iter();
    let tables: Vec<_> = tables.filter(|(_, metrics)| !metrics.is_empty()).collect();
    if tables.is_empty() {
        return;
    }
    document.section("costs", "Costs");
    document.paragraph(
        "What an operation costs: the tasks that serve connections (foreground), the server's \
         other tasks (background), both together (server), and the load engine (client).",
    );
    if grid.columns.len() > FEW {
        let metrics: Vec<usize> = tables.into_iter().flat_map(|(_, own)| own).collect();
        side_by_side(inputs, &metrics, document);
        return;
    }
    let grids: Vec<Grid> = inputs.parts.iter().map(|part| grid.part(part)).collect();
    for (title, metrics) in tables {
        let tables = grids.iter().map(|own| Item::Table(table(own, &metrics)));
        document.fold(title, tables.collect());
    }
}

/// A table per cost, as many as there is room for.
fn side_by_side(inputs: &Inputs<'_>, metrics: &[usize], document: &mut Document) {
    let grid = &inputs.grid;
    let grids: Vec<Grid> = inputs.parts.iter().map(|part| grid.part(part)).collect();
    let cells = (grid.rows.len() * grid.columns.len()).max(1);
    let rank = |metric: &&usize| {
        let name = grid.metrics[**metric].name;
        FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len())
    };
    let mut chosen: Vec<&usize> = metrics.iter().collect();
    chosen.sort_by_key(rank);
    chosen.truncate((CELLS / cells).max(1));
    document.paragraph(if grids.iter().all(says_both) {
        "Under each value is its ratio to the base, which sets the color."
    } else {
        "Values of the base, then ratios to it; small tables have both."
    });
    for metric in metrics.iter().filter(|metric| chosen.contains(metric)) {
        let own = grid.metrics[*metric];
        let (title, unit) = (words::long_title(own), words::unit_behind(own));
        let title = format!("{title}{unit}: {}", own.help);
        // Variants with a base of their own may lack what others have.
        let known = |own: &&Grid| own.values[*metric].iter().flatten().any(Value::is_known);
        let tables = grids.iter().filter(known);
        let tables = tables.map(|own| Item::Sortable(one_metric(own, *metric, Say::Ratios)));
        document.fold(title, tables.collect());
    }
    let left = metrics.len() - chosen.len();
    if left > 0 {
        let costs = if left == 1 { "1 cost more is" } else { &format!("{left} costs more are") };
        document.paragraph(format!("{costs} in the table at the top, by its switch."));
    }
}

/// Whether cells of a table of one metric have room for the value and its ratio.
fn says_both(grid: &Grid) -> bool {
    grid.rows.len() * grid.columns.len() <= BOTH
}

/// One metric: a line per test, a column per variant; values with their ratios, as long as there is
/// room for both.
pub(super) fn one_metric(grid: &Grid, metric: usize, say: Say) -> Table {
    let both = says_both(grid);
    let own = grid.metrics[metric];
    let are_ratios = !both && say == Say::Ratios;
    let mut columns = vec![Column::words("test")];
    columns.extend(grid.columns.iter().enumerate().map(|(index, column)| {
        let unit = match are_ratios {
            true => grid.unit_of_ratios(metric, index),
            false => own.unit.to_owned(),
        };
        Column {
            heat: Some(own.better),
            label: column.label.clone(),
            ..Column::numbers(&column.title, unit)
        }
    }));
    let cell = |found: &Value| {
        let sign = found.verdict.map_or("", words::symbol);
        match (found.kind, found.value, found.ratio) {
            (Kind::Failed, ..) => TableCell::Failed,
            (Kind::Missed, number, _) => {
                TableCell::Missed(number.filter(|_| own.name == THROUGHPUT))
            }
            (Kind::Ratio, Some(value), Some(ratio)) if both => {
                TableCell::Compared { value, ratio, sign }
            }
            (Kind::Ratio, _, Some(ratio)) if are_ratios => TableCell::ratio(ratio, found.verdict),
            (Kind::Invalid, ..) if are_ratios => TableCell::Text("no ratio".to_owned()),
            (_, number, _) => TableCell::number(number),
        }
    };
    let row =
        |(head, values): (&GridRow, &Vec<Value>)| Row::named(&head.title, values.iter().map(cell));
    Table { columns, rows: grid.rows.iter().zip(&grid.values[metric]).map(row).collect() }
}

/// A line per test and column, the base's values first, each with its ratio beside it.
fn table(grid: &Grid, metrics: &[usize]) -> Table {
    let mut columns = vec![Column::words("test"), Column::words("variant")];
    for index in metrics {
        let metric = grid.metrics[*index];
        let title = words::long_title(metric);
        columns
            .push(Column { short: metric.short.to_owned(), ..Column::numbers(title, metric.unit) });
        columns.push(Column::ratios("", metric.better));
    }
    let mut table = Table { columns, rows: Vec::new() };
    for (row, head) in grid.rows.iter().enumerate() {
        for (column, variant) in grid.columns.iter().enumerate() {
            let values = metrics.iter().map(|metric| &grid.values[*metric][row][column]);
            let cells = values.flat_map(|value| {
                let ratio = value.ratio.filter(|_| value.kind == Kind::Ratio);
                [
                    match value.kind {
                        Kind::Failed => TableCell::Failed,
                        Kind::Missed => TableCell::Text("missed".to_owned()),
                        _ => TableCell::number(value.value),
                    },
                    ratio.map_or_else(
                        || TableCell::Text(String::new()),
                        |r| {
                            value
                                .verdict
                                .map_or(TableCell::Ratio(r), |found| TableCell::judged(r, found))
                        },
                    ),
                ]
            });
            let first = if column == 0 { head.title.clone() } else { String::new() };
            let variant = [TableCell::Text(variant.title.clone())];
            table.rows.push(Row::named(first, variant.into_iter().chain(cells)));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Column as GridColumn;

    fn of(value: &Value, rows: usize, say: Say) -> Table {
        let base = GridColumn { is_base: true, ..GridColumn::default() };
        let grid = Grid {
            metrics: vec![analysis::metric("server_cpu_us_per_op").unwrap()],
            columns: vec![base, GridColumn::default()],
            rows: vec![GridRow::default(); rows],
            values: vec![vec![vec![value.clone(); 2]; rows]],
            ..Grid::default()
        };
        one_metric(&grid, 0, say)
    }

    #[test]
    fn columns_of_ratios_have_no_unit_of_values_and_no_values() {
        let value = Value { kind: Kind::Invalid, value: Some(5.0), ..Value::default() };
        let check = |rows: usize, say: Say, units: [&str; 2], last: TableCell| {
            let table = of(&value, rows, say);
            let found: Vec<&str> = table.columns.iter().map(|column| &*column.unit).collect();
            assert_eq!(found[1..], units, "{rows} {say:?}");
            let Row::Cells(cells) = &table.rows[0] else { panic!("{table:?}") };
            assert_eq!(cells.last(), Some(&last), "{rows} {say:?}");
        };
        check(1, Say::Ratios, ["us/op", "us/op"], TableCell::Number(5.0));
        check(BOTH, Say::Ratios, ["us/op", "ratio"], TableCell::Text("no ratio".to_owned()));
        check(BOTH, Say::Values, ["us/op", "us/op"], TableCell::Number(5.0));
    }
}
