//! The good files that are damaged: at least one for each importer.

use archive::import::IMPORTERS;
use std::{collections::BTreeSet, path::Path};

/// A sample of the tests, and where it lies in an archive.
pub(crate) struct Sample {
    /// Name of the importer that reads it.
    pub(crate) importer: &'static str,
    /// Path below the archive.
    pub(crate) path: &'static str,
    /// Path of a whole copy, of another variant or under another name, in the same archive.
    pub(crate) beside: &'static str,
    /// Its content.
    pub(crate) bytes: Vec<u8>,
}

/// Importer, file below `tests/data`, path, path of the whole copy.
type Row = [&'static str; 4];

const SAMPLES: &[Row] = &[
    [
        "sb_met",
        "sb.met.read-only.range10.pk1.dop4",
        "x.a.c.pk1/sb.met.read-only.range10.pk1.dop4",
        "x.b.c.pk1/sb.met.read-only.range10.pk1.dop4",
    ],
    [
        "sb_prepare",
        "sb.prepare.o.point-query.warm.range100.pk1",
        "x.a.c.pk1/sb.prepare.o.point-query.warm.range100.pk1",
        "x.b.c.pk1/sb.prepare.o.point-query.warm.range100.pk1",
    ],
    [
        "sysbench",
        "sb.o.read-only.range10.pk1.dop4",
        "x.a.c.pk1/sb.o.read-only.range10.pk1.dop4",
        "x.b.c.pk1/sb.o.read-only.range10.pk1.dop4",
    ],
    ["sysbench", "sysbench-1.0.txt", "a/run.txt", "b/run.txt"],
    ["sysbench", "sysbench-0.4.txt", "a/run.txt", "b/run.txt"],
    ["sysbench_intervals", "sysbench-intervals.json", "a/run.json", "b/run.json"],
    ["sysbench_intervals", "sysbench-intervals.csv", "a/run.csv", "b/run.csv"],
    [
        "sb_r",
        "sb.r.qps.read-only.range10.pk1",
        "x.a.c.pk1/sb.r.qps.read-only.range10.pk1",
        "x.b.c.pk1/sb.r.qps.read-only.range10.pk1",
    ],
    ["o_met", "o.met.two", "o.met.two", "o.met.whole"],
    ["o_met", "o.met.short", "o.met.short", "o.met.whole"],
    ["o_qps", "o.qps.abs.early", "o.qps.abs.early", "o.qps.abs.whole"],
    ["qps_abs", "qps.abs.two.tsv", "qps.abs.two.tsv", "qps.abs.whole.tsv"],
    ["qps_rel", "qps.rel.alone.tsv", "qps.rel.alone.tsv", "qps.rel.whole.tsv"],
    [
        "insert_summary",
        "insert/o.sum.t.80m.my8408_rel.cz12a",
        "4u.1tno/o.sum.t.80m.a.c",
        "4u.1tno/o.sum.t.80m.b.c",
    ],
    ["insert_table", "insert/mrg.q1000.2", "res.a/mrg.q1000.2", "res.b/mrg.q1000.2"],
    ["insert_table", "insert/rel.q1000.2", "res.a/rel.q1000.2", "res.b/rel.q1000.2"],
    [
        "insert_histogram",
        "insert/o.rt.c.query",
        "80m.a.c/qr100.L1/o.rt.c.query",
        "80m.b.c/qr100.L1/o.rt.c.query",
    ],
    [
        "insert_progress",
        "insert/o.ib.dop1.1",
        "80m.a.c/qr100.L1/o.ib.dop1.1",
        "80m.b.c/qr100.L1/o.ib.dop1.1",
    ],
    [
        "insert_progress",
        "insert/o.ib.dop2.2",
        "80m.a.c/q.L4.ips200/o.ib.dop2.2",
        "80m.b.c/q.L4.ips200/o.ib.dop2.2",
    ],
    ["insert_report", "insert/all.html", "all.html", "again/all.html"],
    ["insert_overview", "insert/summary.html", "summary.html", "again/summary.html"],
    [
        "insert_result",
        "insert/o.res.dop4",
        "80m.a.c/qr100.L1/o.res.dop4",
        "80m.b.c/qr100.L1/o.res.dop4",
    ],
    [
        "insert_rate",
        "insert/o.rate.c.7",
        "80m.a.c/qr100.L1/o.rate.c.7",
        "80m.b.c/qr100.L1/o.rate.c.7",
    ],
    [
        "insert_rate",
        "insert/mrg.qr100.L1.rate.query",
        "res.a/mrg.qr100.L1.rate.query",
        "res.b/mrg.qr100.L1.rate.query",
    ],
    ["vmstat", "vmstat.txt", "a/vmstat.txt", "b/vmstat.txt"],
    ["vmstat", "vmstat.txt", "80m.a.c/qr100.L1/o.vm", "80m.b.c/qr100.L1/o.vm"],
    ["iostat", "iostat.txt", "a/iostat.txt", "b/iostat.txt"],
    ["iostat", "iostat.txt", "80m.a.c/qr100.L1/o.io.dop4", "80m.b.c/qr100.L1/o.io.dop4"],
    [
        "ps",
        "sb.ps.read-only.range10.pk1.dop4",
        "x.a.c.pk1/sb.ps.read-only.range10.pk1.dop4",
        "x.b.c.pk1/sb.ps.read-only.range10.pk1.dop4",
    ],
    ["ps", "ps.txt", "80m.a.c/qr100.L1/o.ps", "80m.b.c/qr100.L1/o.ps"],
    ["ps", "ps.txt", "a/processes.txt", "b/processes.txt"],
    [
        "time",
        "sb.time.read-only.range10.pk1.dop4",
        "x.a.c.pk1/sb.time.read-only.range10.pk1.dop4",
        "x.b.c.pk1/sb.time.read-only.range10.pk1.dop4",
    ],
    [
        "perf_hw",
        "sb.perf.hw.read-only.range10.pk1",
        "x.a.c.pk1/sb.perf.hw.read-only.range10.pk1",
        "x.b.c.pk1/sb.perf.hw.read-only.range10.pk1",
    ],
    ["pgbench", "pgbench.txt", "a/pgbench.txt", "b/pgbench.txt"],
    ["pgbench", "pgbench-old.txt", "a/old.txt", "b/old.txt"],
    ["pgbench", "pgbench-18.txt", "a/18.txt", "b/18.txt"],
    ["hammerdb", "hammerdb.txt", "a/hammerdb.txt", "b/hammerdb.txt"],
    ["ann", "qr.two", "a/qr.two", "b/qr.two"],
];

/// All samples. Fails where a file is not there, or an importer has none.
pub(crate) fn samples() -> Result<Vec<Sample>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let read = |row: &Row| {
        let [importer, file, path, beside] = *row;
        let bytes = fs_err::read(folder.join(file)).map_err(|error| error.to_string())?;
        Ok(Sample { importer, path, beside, bytes })
    };
    let samples = SAMPLES.iter().map(read).collect::<Result<Vec<Sample>, String>>()?;
    let covered: BTreeSet<&str> = samples.iter().map(|sample| sample.importer).collect();
    match IMPORTERS.iter().find(|importer| !covered.contains(importer.name)) {
        Some(importer) => Err(format!(
            "the importer `{}` has no sample: add its file to crates/archive/tests/data and a row \
             to `SAMPLES` in crates/archive/examples/fuzz_importers/samples.rs",
            importer.name
        )),
        None => Ok(samples),
    }
}
