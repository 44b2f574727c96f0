//! `qps.abs.TAG`, `qps.rel.TAG` and `o.met.TAG`, byte for byte as the published scripts write them;
//! for the Insert Benchmark `mrg.PHASE` and `rel.PHASE`.

mod sections;
mod tables;

use super::Exporter;
use crate::{
    Error, ExportOptions, Exported, Input, Result, Study,
    assemble::counts_clients,
    center::{Center, Centers, centers},
    insert::insert_tables,
    naming::{TABLE_LEVEL, table_suffix},
    number::MISSING,
    step, variants,
};
use std::collections::{BTreeMap, BTreeSet};
use tables::csv;

pub(super) const EXPORTER: Exporter = Exporter {
    name: "mytools",
    help: "qps.abs, qps.rel and o.met files, or mrg and rel files, in the published formats",
    keeps_runs: false,
    export,
};

fn export(input: &Input, options: &ExportOptions) -> Result<Vec<Exported>> {
    let mut files = Vec::new();
    for study in &input.studies {
        let folder = input.folder(study);
        of_study(study, options, &folder, &mut files)?;
    }
    if files.is_empty() {
        let reason = "no measured phase has `ops_per_second` or ratios of it".to_owned();
        return Err(Error::NothingToExport { format: "mytools".to_owned(), reason });
    }
    Ok(files)
}

/// What a file is made from: the values of one number of clients.
struct TableSet<'a> {
    centers: &'a Centers<'a>,
    variants: &'a [&'a str],
    /// Whether the first of them is the one that was asked for as the base.
    has_base: bool,
    cpus: &'a BTreeMap<String, u32>,
    phases: Vec<PhaseName<'a>>,
}

/// A phase with the names that published files give it.
#[derive(Clone)]
pub(super) struct PhaseName<'a> {
    pub(super) phase: &'a str,
    position: u32,
    /// Step without range: `point-query.pre`.
    pub(super) test: String,
    pub(super) workload: &'a str,
    pub(super) range: u64,
    /// Clients of the step, where known.
    pub(super) clients: Option<u32>,
    /// Clients of the table that the step is in, where known.
    pub(super) table: Option<u32>,
    pub(super) pk: &'a str,
    /// Whether it is a step of the published scripts, whose rates are whole numbers.
    pub(super) is_step: bool,
}

fn of_study(
    study: &Study,
    options: &ExportOptions,
    folder: &str,
    files: &mut Vec<Exported>,
) -> Result<()> {
    let variants = variants::of(study, options)?;
    let tables = insert_tables(study, options);
    if !tables.is_empty() {
        let inside = |file: Exported| Exported { path: format!("{folder}{}", file.path), ..file };
        files.extend(tables.into_iter().map(inside));
        return Ok(());
    }
    let centers = centers(study);
    let all = phases(&centers, &variants);
    let tables: BTreeSet<Option<u32>> =
        all.iter().filter(|phase| counts_clients(&phase.test)).map(|phase| phase.table).collect();
    for own in &tables {
        let mut phases = phases(&centers, &variants);
        let shared = |phase: &PhaseName<'_>| step::is_load(&phase.test) && phase.table.is_none();
        phases.retain(|phase| tables.len() == 1 || phase.table == *own || shared(phase));
        let set = TableSet {
            centers: &centers,
            variants: &variants,
            has_base: variants::has_base(study, options),
            cpus: &study.cpus,
            phases,
        };
        let folder = match own {
            _ if tables.len() == 1 => folder.to_owned(),
            Some(clients) => format!("{folder}dop{clients}/"),
            None => format!("{folder}unknown/"),
        };
        set.files(&folder, &options.tag, files);
    }
    Ok(())
}

/// The phases that any of the variants has, in the suite's order.
pub(super) fn phases<'a>(centers: &Centers<'a>, variants: &[&str]) -> Vec<PhaseName<'a>> {
    let mut phases: Vec<PhaseName<'a>> = Vec::new();
    for ((phase, subject, _), center) in centers {
        let known = phases.last().is_some_and(|last| last.phase == *phase);
        if known || !variants.contains(subject) {
            continue;
        }
        let m = center.first;
        // Every published row has a range; where the workload has none it is the scripts' default.
        let range = m.range.unwrap_or(100);
        let clients = Some(m.clients).filter(|clients| *clients > 0);
        let named = m.levels.get(TABLE_LEVEL).and_then(|table| table.parse().ok());
        let table = named.or(clients);
        let pk = m.levels.get("pk").filter(|pk| ["0", "1"].contains(&pk.as_str()));
        let test = phase.strip_suffix(&table_suffix(clients, table)).unwrap_or(phase);
        let test = test.strip_suffix(&format!(".range{range}")).unwrap_or(test).to_owned();
        phases.push(PhaseName {
            phase,
            position: m.position,
            test,
            workload: &m.workload,
            range,
            clients,
            table,
            pk: pk.map_or("1", String::as_str),
            is_step: m.levels.contains_key("pk"),
        });
    }
    phases.sort_by_key(|phase| (phase.position, phase.phase));
    phases
}

impl TableSet<'_> {
    fn files(&self, folder: &str, tag: &str, files: &mut Vec<Exported>) {
        let mut add = |name: &str, text: String| {
            if !text.is_empty() {
                let path = format!("{folder}{name}");
                files.push(Exported { path, bytes: text.into_bytes() });
            }
        };
        let rows = self.rows();
        let relative = self.relative(&rows);
        add(&format!("qps.abs.{tag}.tsv"), self.table(&rows, None));
        add(&format!("qps.abs.{tag}.csv"), csv(&rows));
        if let Some(base) = self.variants.first().filter(|_| self.has_base) {
            add(&format!("qps.rel.{tag}.tsv"), self.table(&relative, Some(base)));
            add(&format!("qps.rel.{tag}.csv"), csv(&relative));
        }
        add(&format!("o.met.{tag}"), self.sections());
    }

    fn center<'s>(
        &'s self,
        phase: &'s str,
        subject: &'s str,
        metric: &'s str,
    ) -> Option<&'s Center<'s>> {
        self.centers.get(&(phase, subject, metric))
    }
}

pub(super) fn shown(cell: &Option<String>) -> &str {
    cell.as_deref().unwrap_or(MISSING)
}
