//! What an operation costs: server, its parts and client apart, as plain tables.

use super::Section;
use crate::{
    document::{Cell, Column, Document, Item, Row, Table},
    grid::{Grid, Kind},
    scope::Scope,
    words,
};

pub(super) struct Costs;

/// Tables of metrics that belong together.
const TABLES: [(&str, &[&str]); 6] = [
    (
        "Work: user instructions per operation",
        &[
            "lead_user_instructions_per_op",
            "foreground_user_instructions_per_op",
            "background_user_instructions_per_op",
            "server_user_instructions_per_op",
            "client_user_instructions_per_op",
        ],
    ),
    (
        "CPU time per operation",
        &[
            "lead_cpu_us_per_op",
            "foreground_cpu_us_per_op",
            "background_cpu_us_per_op",
            "server_cpu_us_per_op",
            "client_cpu_us_per_op",
            "host_cpu_us_per_op",
        ],
    ),
    (
        "Per statement that changed rows, where many may find none",
        &[
            "foreground_user_instructions_per_effective_op",
            "server_user_instructions_per_effective_op",
            "server_cpu_us_per_effective_op",
        ],
    ),
    (
        "Kernel instructions and cycles per operation",
        &[
            "foreground_kernel_instructions_per_op",
            "server_kernel_instructions_per_op",
            "foreground_cycles_per_op",
            "server_cycles_per_op",
        ],
    ),
    (
        "Switches, faults and storage per operation",
        &[
            "context_switches_per_op",
            "page_faults_per_op",
            "reads_per_op",
            "read_kib_per_op",
            "writes_per_op",
            "write_kib_per_op",
        ],
    ),
    (
        "Latency, memory and size",
        &[
            "latency_us_p50",
            "latency_us_p95",
            "latency_us_p99",
            "latency_us_max",
            "server_rss_mib_peak",
            "server_vsz_mib_peak",
            "database_mib",
            "data_folder_mib",
        ],
    ),
];

/// Columns beyond which a test needs a table of its own to be read: only the switchable table then.
const VARIANTS: usize = 8;

impl Section for Costs {
    fn name(&self) -> &'static str {
        "costs"
    }

    fn write(&self, scope: &Scope<'_>, document: &mut Document) {
        let grid = &scope.grid;
        if grid.columns.len() > VARIANTS {
            return;
        }
        let known = |names: &[&str]| -> Vec<usize> {
            names.iter().filter_map(|name| grid.metric(name)).collect()
        };
        let tables = TABLES.iter().map(|(title, names)| (*title, known(names)));
        let tables: Vec<_> = tables.filter(|(_, metrics)| !metrics.is_empty()).collect();
        if tables.is_empty() {
            return;
        }
        document.section("costs", "Costs");
        document.paragraph(
            "What an operation costs: the tasks that serve connections (foreground), the server's \
             other tasks (background), both together (server), and the load engine (client).",
        );
        for (title, metrics) in tables {
            document.fold(title, vec![Item::Table(table(grid, &metrics))]);
        }
    }
}

/// A line per test and column, the base's values first, each with its ratio beside it.
fn table(grid: &Grid, metrics: &[usize]) -> Table {
    let mut columns = vec![Column::words("test"), Column::words("variant")];
    for index in metrics {
        let metric = grid.metrics[*index];
        let title = words::long_title(metric);
        columns
            .push(Column { short: metric.short.to_owned(), ..Column::numbers(title, metric.unit) });
        columns.push(Column { heat: Some(metric.better), ..Column::numbers("", "ratio") });
    }
    let mut table = Table { columns, rows: Vec::new() };
    for (row, head) in grid.rows.iter().enumerate() {
        for (column, variant) in grid.columns.iter().enumerate() {
            let values = metrics.iter().map(|metric| &grid.values[*metric][row][column]);
            let cells = values.flat_map(|value| {
                let ratio = value.ratio.filter(|_| value.kind == Kind::Ratio);
                [
                    match value.kind {
                        Kind::Failed => Cell::Failed,
                        Kind::Missed => Cell::Text("missed".to_owned()),
                        _ => value.value.map_or(Cell::Missing, Cell::Number),
                    },
                    ratio.map_or_else(|| Cell::Text(String::new()), Cell::Ratio),
                ]
            });
            let first = if column == 0 { head.title.clone() } else { String::new() };
            let names = [Cell::Text(first), Cell::Text(variant.title.clone())];
            table.rows.push(Row::Cells(names.into_iter().chain(cells).collect()));
        }
    }
    table
}
