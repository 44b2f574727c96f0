//! `o.met`: one section per phase, one row per variant.

use super::{PhaseName, TableSet, shown};
use crate::{
    cell::plain,
    number::{self, MISSING},
    step,
};
use std::fmt::Write as _;

/// A column of `o.met`.
struct Column {
    title: &'static str,
    metric: &'static str,
    instead: Instead,
    form: Form,
}

/// What stands for the metric where it is missing.
enum Instead {
    Nothing,
    /// A metric of the same unit.
    Same(&'static str),
    /// CPU time, microseconds.
    CpuTime(&'static [&'static str]),
}

/// How a number is printed.
enum Form {
    /// As the archive has it, else with so many decimals.
    Verbatim(usize),
    /// Six significant digits.
    General,
    /// No decimals.
    Whole,
}

const fn column(title: &'static str, metric: &'static str, form: Form) -> Column {
    Column { title, metric, instead: Instead::Nothing, form }
}

const COLUMNS: &[Column] = &[
    Column {
        title: "cpu/o",
        metric: "host_cpu_percent_per_op",
        instead: Instead::CpuTime(&["host_cpu_us_per_op", "server_cpu_us_per_op"]),
        form: Form::Verbatim(6),
    },
    Column {
        title: "cs/o",
        metric: "context_switches_per_op",
        instead: Instead::Same("host_context_switches_per_op"),
        form: Form::Verbatim(3),
    },
    column("r/o", "reads_per_op", Form::General),
    column("rKB/o", "read_kib_per_op", Form::General),
    column("wKB/o", "write_kib_per_op", Form::General),
    column("o/s", "ops_per_second", Form::Whole),
];

impl TableSet<'_> {
    /// The sections of `o.met`, one per phase; the first warm-up is in none.
    pub(super) fn sections(&self) -> String {
        let mut text = String::new();
        for phase in self.phases.iter().filter(|phase| phase.test != "point-query.warm") {
            self.section(phase, &mut text);
        }
        text
    }

    fn section(&self, phase: &PhaseName<'_>, text: &mut String) {
        let columns: Vec<&Column> = COLUMNS
            .iter()
            .filter(|column| self.variants.iter().any(|v| self.printed(phase, v, column).is_some()))
            .collect();
        let throughput = columns.iter().any(|column| column.title == "o/s");
        if columns.len() < 2 || !throughput {
            return;
        }
        let row = |subject: &&str| -> Option<Vec<String>> {
            let cells = columns.iter().map(|column| self.printed(phase, subject, column));
            let cells: Vec<Option<String>> = cells.collect();
            let some = cells.iter().any(Option::is_some);
            some.then(|| cells.iter().map(|cell| shown(cell).to_owned()).collect())
        };
        let rows: Vec<(&str, Vec<String>)> =
            self.variants.iter().filter_map(|v| Some((*v, row(v)?))).collect();
        let titles: Vec<&str> = columns.iter().map(|column| column.title).collect();
        let _ = writeln!(text, "{}\n--- absolute", section_name(phase));
        let _ = writeln!(text, "{}\t\t{}\tdbms", titles[0], titles[1..].join("\t"));
        for (variant, cells) in &rows {
            let _ = writeln!(text, "{}\t{}", cells.join("\t"), plain(variant));
        }
        text.push_str("--- relative to first result\n");
        for (variant, cells) in rows.iter().skip(1) {
            let ratios: Vec<String> =
                cells.iter().zip(&rows[0].1).map(|(own, base)| ratio(own, base)).collect();
            let _ =
                writeln!(text, "{}\t\t{}\t{}", ratios[0], ratios[1..].join("\t"), plain(variant));
        }
        text.push('\n');
    }

    fn printed(&self, phase: &PhaseName<'_>, subject: &str, column: &Column) -> Option<String> {
        let center = |metric| self.center(phase.phase, subject, metric);
        let center = match (center(column.metric), &column.instead) {
            (Some(found), _) => found,
            (None, Instead::Same(metric)) => center(metric)?,
            (None, Instead::Nothing) => return None,
            (None, Instead::CpuTime(metrics)) => {
                let time = metrics.iter().find_map(|metric| center(metric))?.value;
                // Microseconds of one CPU to percent of all CPUs for a second.
                let percent =
                    time / (1e4 * f64::from(*self.cpus.get(subject).filter(|cpus| **cpus > 0)?));
                return Some(format!("{percent:.6}"));
            }
        };
        Some(match column.form {
            Form::Verbatim(decimals) => match center.text {
                Some(text) => text.to_owned(),
                None => format!("{:.decimals$}", center.value),
            },
            Form::General => number::general(center.value),
            Form::Whole => phase.rate(center.value),
        })
    }
}

fn section_name(phase: &PhaseName<'_>) -> String {
    if phase.test == step::LOAD {
        return format!("{}.pk{}", step::LOAD_SECTION, phase.pk);
    }
    let dop = phase.clients.map(|clients| format!(".dop{clients}")).unwrap_or_default();
    format!("sb.met.{}.range{}.pk{}{dop}", plain(&phase.test), phase.range, phase.pk)
}

/// The ratio of two printed numbers as the published scripts print it.
fn ratio(own: &str, base: &str) -> String {
    match (number::parse(own), number::parse(base)) {
        (Some(own), Some(0.0)) => {
            if own == 0.0 {
                "1".to_owned()
            } else {
                "inf".to_owned()
            }
        }
        (Some(own), Some(base)) => format!("{:.2}", own / base),
        _ => MISSING.to_owned(),
    }
}
