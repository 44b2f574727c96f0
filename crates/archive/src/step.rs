//! The steps of the published sysbench benchmark: names of files and rows, groups, order.

use crate::{Cell, names, number::positive, phase};

/// A step as names tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// What the file holds: `met`, `o`, `vm`, `r.qps`, `prepare.met` ….
    pub(crate) kind: String,
    /// Name with its stage: `point-query.pre`.
    pub(crate) phase: String,
    /// Published range.
    pub(crate) range: Option<u64>,
    /// Kind of primary key, 0 or 1.
    pub(crate) pk: Option<String>,
    /// Connections.
    pub(crate) clients: Option<u32>,
}

/// The phase of loading.
pub(crate) const LOAD: &str = "load";

/// Whether a phase loads the tables.
pub(crate) fn is_load(phase: &str) -> bool {
    phase == LOAD
}

/// Name of the load's section in published summaries.
pub(crate) const LOAD_SECTION: &str = "sb.prepare.met.point-query.warm.range100";

/// Kinds of files that belong to one step.
const KINDS: &[&str] = &[
    "prepare.met",
    "prepare.o",
    "prepare.vm",
    "prepare.io",
    "prepare.ps",
    "prepare.time",
    "met",
    "o",
    "vm",
    "io",
    "ps",
    "time",
    "perf.hw",
    "r.qps",
    "r.trx",
    "r.rtavg",
    "r.rtmax",
    "r.rt95",
];

/// Stages of a step: they are steps of their own of the same workload.
const STAGES: &[&str] = &[".pre", ".warm", ".warmpre"];

/// Workloads in the order in which the published script executes them; scans come last, as in its
/// summaries.
const ORDER: &[&str] = &[
    LOAD,
    "update-inlist",
    "update-index",
    "update-nonindex",
    "update-one",
    "update-zipf",
    "write-only",
    "read-write",
    "read-only",
    "read-only-simple",
    "read-only-sum",
    "read-only-order",
    "read-only-distinct",
    "read-only-count",
    "point-query",
    "random-points",
    "hot-points",
    "points-covered-pk",
    "points-notcovered-pk",
    "range-covered-pk",
    "range-notcovered-pk",
    "points-covered-si",
    "points-notcovered-si",
    "range-covered-si",
    "range-notcovered-si",
    "delete",
    "insert",
    "scan",
];

impl Step {
    /// Puts what is known into a cell.
    pub(crate) fn fill(self, cell: &mut Cell) {
        let load = self.kind.starts_with("prepare");
        cell.phase = if load { LOAD.to_owned() } else { self.phase };
        cell.workload = workload(&cell.phase).to_owned();
        cell.group = group(&cell.workload).to_owned();
        cell.range = if load { None } else { self.range };
        // The load has clients of its own, which nothing names.
        cell.clients = if load { None } else { self.clients.or(cell.clients) };
        if let Some(pk) = self.pk {
            cell.levels.insert("pk".to_owned(), pk);
        }
    }
}

/// Puts a phase of no known step into a cell.
pub(crate) fn fill_unknown(cell: &mut Cell, phase: &str) {
    let phase = names::capped(phase);
    cell.phase = phase.to_owned();
    cell.workload = phase.to_owned();
    cell.group = group(phase).to_owned();
}

/// The step of a file `sb.KIND.TEST.rangeR.pkP.dopN`.
pub(crate) fn of_file(name: &str) -> Option<Step> {
    let rest = name.strip_prefix("sb.")?;
    let (kind, rest) =
        KINDS.iter().find_map(|kind| Some((*kind, rest.strip_prefix(kind)?.strip_prefix('.')?)))?;
    let mut step = tail(rest)?;
    step.kind = kind.to_owned();
    Some(step)
}

/// The step of a section `sb.met.TEST.rangeR.pkP.dopN` or `sb.prepare.met.…`.
pub(crate) fn of_section(name: &str) -> Option<Step> {
    of_file(name).filter(|step| step.kind.ends_with("met"))
}

/// The step of a row `TEST_range=R`.
pub(crate) fn of_row(name: &str) -> Option<Step> {
    let (phase, range) = name.rsplit_once("_range=")?;
    let range = Some(range.parse().ok()?);
    is_name(phase).then(|| Step {
        kind: "row".to_owned(),
        phase: phase.to_owned(),
        range,
        pk: None,
        clients: None,
    })
}

/// `TEST.rangeR.pkP.dopN`, from behind.
fn tail(text: &str) -> Option<Step> {
    let mut step =
        Step { kind: String::new(), phase: String::new(), range: None, pk: None, clients: None };
    let mut rest = text;
    if let Some((before, clients)) = rest.rsplit_once(".dop") {
        step.clients = Some(positive(clients)?);
        rest = before;
    }
    if let Some((before, pk)) = rest.rsplit_once(".pk") {
        step.pk = Some(matches!(pk, "0" | "1").then(|| pk.to_owned())?);
        rest = before;
    }
    let (phase, range) = rest.rsplit_once(".range")?;
    step.range = Some(range.parse().ok()?);
    step.phase = is_name(phase).then(|| phase.to_owned())?;
    Some(step)
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && names::is_short(text) && text.chars().all(plain)
}

/// The workload of a phase: its name without the stage.
pub(crate) fn workload(phase: &str) -> &str {
    STAGES.iter().find_map(|stage| phase.strip_suffix(stage)).unwrap_or(phase)
}

/// The report group of a workload; empty for workloads that nobody knows.
pub(crate) fn group(workload: &str) -> &'static str {
    if workload == LOAD {
        LOAD
    } else if workload.contains("point") {
        "point"
    } else if is_write(workload) {
        "write"
    } else if workload.starts_with("read-only") {
        "aggregate"
    } else if workload == "scan" || workload.starts_with("range-") {
        "range"
    } else {
        ""
    }
}

fn is_write(name: &str) -> bool {
    ["delete", "insert", "update", "write"].iter().any(|word| name.contains(word))
}

/// Sorts phases as the script executes them: stages before the writes first, then the workloads;
/// unknown ones last, by name.
pub(crate) fn order(phase: &str, range: Option<u64>) -> impl Ord + use<> {
    let workload = workload(phase);
    let stage = phase.strip_prefix(workload).unwrap_or_default();
    let known = ORDER.iter().position(|name| *name == workload).unwrap_or(ORDER.len());
    let early = stage == ".pre" || (stage == ".warm" && workload == "point-query");
    let class = if workload == LOAD {
        0
    } else if early {
        1
    } else {
        2
    };
    let warm = match stage {
        ".warmpre" => 0,
        ".warm" => 1,
        _ => 2,
    };
    let unknown = if known == ORDER.len() { phase.to_owned() } else { String::new() };
    // Phases of the Insert Benchmark have an order of their own.
    (class, known, phase::order(phase), unknown, warm, range)
}

/// Which of the three parts of a published table a phase belongs to: point queries, ranges, writes.
/// The load is in none.
pub(crate) fn part(phase: &str) -> Option<u8> {
    if is_load(phase) {
        None
    } else if phase.contains("point") {
        Some(0)
    } else {
        Some(if is_write(phase) { 2 } else { 1 })
    }
}

/// Whether a phase of a workload is a row of the tables that the published scripts make today: a
/// stage before the writes or that warms up is in none, but `scan.warm`.
pub(crate) fn is_row(phase: &str, workload: &str) -> bool {
    let mut stages = phase.strip_prefix(workload).unwrap_or_default().split('.');
    let is_left_out = |stage: &str| match stage {
        "pre" | "warmpre" => true,
        "warm" => workload.contains("point"),
        _ => false,
    };
    part(phase).is_some() && !stages.any(is_left_out)
}

/// Whether a phase of a workload is a stage that warms up: it runs, and is in no table.
pub(crate) fn warms_up(phase: &str, workload: &str) -> bool {
    matches!(phase.strip_prefix(workload), Some(".warm" | ".warmpre"))
}

/// Sorts rows inside a part as `ls` does with the locale of the published tables: only letters and
/// digits of the file's name count.
pub(crate) fn collation(phase: &str, range: u64) -> String {
    let name = format!("{phase}range{range}pk1");
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_taken_apart() {
        let check = |name: &str, expected: Option<(&str, &str, u64, Option<u32>)>| {
            let step = of_file(name);
            let found = step.as_ref().map(|step| {
                (step.kind.as_str(), step.phase.as_str(), step.range.unwrap(), step.clients)
            });
            assert_eq!(found, expected, "{name}");
        };
        check("sb.met.read-only.range10.pk1.dop40", Some(("met", "read-only", 10, Some(40))));
        check("sb.o.scan.warmpre.range100.pk0.dop1", Some(("o", "scan.warmpre", 100, Some(1))));
        check("sb.r.rt95.insert.range100.pk1", Some(("r.rt95", "insert", 100, None)));
        check(
            "sb.prepare.met.point-query.warm.range100.pk1",
            Some(("prepare.met", "point-query.warm", 100, None)),
        );
        for wrong in [
            "sb.o.myvac",
            "sb.o.pgvac.at.1",
            "sb.met.scan.rangeX.pk1.dop1",
            "sb.met.scan.range100.pk2.dop1",
            "sb.met.scan.range100.pk1.dop",
            "sb.met.scan.range100.pk1.dop0",
            "sb.met.scan.range100.pk1.dop-1",
            "sb.met..range100.pk1.dop1",
            "sb.met.a\u{1b}b.range100.pk1.dop1",
            "met",
        ] {
            check(wrong, None);
        }
    }

    #[test]
    fn rows_and_groups_are_those_of_the_tables() {
        assert_eq!(of_row("scan.warm_range=100").unwrap().phase, "scan.warm");
        assert_eq!(of_row("hot-points"), None);
        assert_eq!(of_row("x_range=a"), None);
        let of = |phase: &str| part(phase).filter(|_| is_row(phase, workload(phase)));
        let parts = ["hot-points", "scan.warm", "read-write", "scan.warmpre", "load"].map(of);
        assert_eq!(parts, [Some(0), Some(1), Some(2), None, None]);
        assert_eq!(of("points-covered-si.warm"), None);
        // Workloads of one's own may have any name.
        assert!(is_row("q.pre", "q.pre") && is_row("q.clients1.prepared", "q"));
        assert!(warms_up("scan.warm", "scan") && !warms_up("q.warm", "q.warm"));
        // Tables of early archives have what is before the writes too.
        assert_eq!(part("points-covered-si.pre"), Some(0));
        let groups = ["random-points", "read-only-sum", "write-only", "scan", "tpcb"].map(group);
        assert_eq!(groups, ["point", "aggregate", "write", "range", ""]);
    }

    #[test]
    fn rows_sort_without_punctuation() {
        let mut rows = [
            ("random-points", 10),
            ("read-only-simple", 1000),
            ("random-points", 1000),
            ("read-only", 10),
            ("read-only-order", 1000),
            ("random-points", 100),
        ];
        rows.sort_by_key(|(phase, range)| collation(phase, *range));
        let names = rows.map(|(phase, range)| format!("{phase} {range}"));
        assert_eq!(
            names,
            [
                "random-points 1000",
                "random-points 100",
                "random-points 10",
                "read-only-order 1000",
                "read-only 10",
                "read-only-simple 1000"
            ]
        );
    }
}
