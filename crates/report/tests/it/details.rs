//! What the HTML report tells beside the comparison: memory and what was compared.

use crate::lab::{TWO, comparison, report, trial};
use analysis::Curve;
use model::imported::ImportHeader;
use report::{Details, Provenance, Report, Trial, render};

fn page(details: Details) -> String {
    let report = report(comparison(&TWO, 1, None), &[]);
    render(&Report { details: vec![details], ..report }, "html").unwrap()
}

#[test]
fn memory_has_its_peaks_and_their_ratios_to_the_cache() {
    let curve = |subject: &str, phase: &str, peak: f64| Curve {
        subject: subject.into(),
        phase: phase.into(),
        segments: vec![vec![(0.0, 100.0), (60.0, peak), (90.0, 300.0)]],
    };
    let cache = [("innodb_buffer_pool_size", "1073741824")];
    let page = page(Details {
        trials: TWO.iter().map(|(subject, _)| trial(subject, &cache)).collect(),
        resident: TWO.iter().map(|(s, _)| curve(s, "resident memory", 1280.0)).collect(),
        addressed: TWO.iter().map(|(s, _)| curve(s, "address space", 2048.0)).collect(),
        ..Details::default()
    });
    let curves = page.split_once("<section id=\"curves\"").unwrap().1;
    assert!(curves.contains("<figcaption>resident memory</figcaption>"), "{curves}");
    assert!(curves.contains("<span class=\"key cache\"></span>cache: 1024 MiB"), "{curves}");
    assert!(curves.contains("class=\"line cache\"") && curves.contains(">1280</text>"));
    let row = curves.split_once("<th scope=\"row\">mysql-9.7.4</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    for cell in [">1280<", ">2048<", ">1024<", ">1.25<", ">2.00<"] {
        assert!(row.contains(cell), "{cell}: {row}");
    }
}

#[test]
fn the_settings_that_all_variants_share_can_be_opened() {
    let settings = [("innodb_flush_method", "O_DIRECT"), ("datadir", "/x"), ("sync_binlog", "0")];
    let mut trials = vec![trial(TWO[0].0, &settings), trial(TWO[1].0, &settings)];
    let shown = |trials: &[Trial]| page(Details { trials: trials.to_vec(), ..Details::default() });
    let folded = |title: &str| format!("<summary>{title}</summary>");
    let alike = shown(&trials);
    assert!(alike.contains(&folded("2 that all variants share")), "{alike}");
    assert!(alike.contains("innodb_flush_method = O_DIRECT\nsync_binlog = 0</code>"));
    assert!(alike.contains("All settings that the servers report are the same."), "{alike}");
    let apart = shown(&[trials[0].clone(), trial(TWO[1].0, &[("work_mem", "4MB")])]);
    assert!(apart.contains("No setting that several servers have differs."), "{apart}");
    assert!(apart.contains(&folded("3 that not every server has")), "{apart}");
    trials[1].header.settings.insert("sync_binlog".into(), "1".into());
    assert!(shown(&trials).contains("innodb_flush_method = O_DIRECT</code>"));
    assert!(shown(&trials[..1]).contains(&folded("2 settings of <code>mysql-5.6.24</code>")));
}

#[test]
fn one_event_is_one() {
    let mut one = trial(TWO[0].0, &[("sync_binlog", "0")]);
    one.remarks.push("the disk was busy".to_owned());
    let page = page(Details { trials: vec![one], ..Details::default() });
    assert!(page.contains("<summary>1 event of the trials</summary>"), "{page}");
    assert!(page.contains("<summary>1 setting of <code>mysql-5.6.24</code></summary>"), "{page}");
}

#[test]
fn what_is_said_of_one_host_is_said_of_no_other() {
    let of_hosts = |second: &str| {
        let mut trials = vec![trial(TWO[0].0, &[]), trial(TWO[1].0, &[])];
        trials[0].environment.host = "a1".to_owned();
        trials[1].environment.host = second.to_owned();
        let mut report = report(comparison(&TWO, 1, None), &[]);
        report.details = vec![Details { trials, ..Details::default() }];
        ["html", "table"].map(|format| render(&report, format).unwrap())
    };
    let [html, table] = of_hosts("a1");
    assert!(html.contains("<h3>Host</h3>") && table.contains(", host a1: "), "{table}");
    let [html, table] = of_hosts("b2");
    assert!(html.contains("<h3>The first of 2 hosts</h3>"), "{html}");
    assert!(html.contains(" · 2 hosts, the first with "), "{html}");
    assert!(table.contains(", 2 hosts, the first a1: "), "{table}");
}

#[test]
fn what_is_known_of_the_first_of_several_runs_is_said_of_it_alone() {
    let mut pooled = comparison(&TWO, 1, None);
    pooled.runs = ["r1", "r2"].map(str::to_owned).into();
    let mut first = trial(TWO[0].0, &[]);
    first.environment.host = "a1".to_owned();
    let mut report = report(pooled, &[]);
    report.details =
        vec![Details { trials: vec![first], started_us: Some(0), ..Details::default() }];
    let table = render(&report, "table").unwrap();
    let said = "Runs r1, r2, the first of 1970-01-01 00:00 UTC, on host a1: ";
    assert!(table.contains(said), "{table}");
}

#[test]
fn an_archive_says_where_its_values_come_from() {
    let header = ImportHeader {
        experiment: "nov/dop1".into(),
        paths: vec!["archives/nov".into()],
        importers: [("sb_met".to_owned(), 2)].into(),
        corrections: vec!["vmstat".into()],
        warnings: vec!["`nov/x`:1: is broken".into(); 25],
        ..ImportHeader::default()
    };
    let files = [("nov/dop1/a/<sb.met>".into(), 12), ("nov/dop1/b".into(), 3)].into();
    let page = page(Details { imported: Some(Provenance { header, files }), ..Details::default() });
    let part = page.split_once("<h3>Imported files</h3>").unwrap().1;
    for text in [
        "<dd>archives/nov</dd>",
        "<dd>sb_met (2)</dd>",
        "<dd>vmstat</dd>",
        "<dd>15</dd>",
        "    12  nov/dop1/a/&lt;sb.met&gt;\n     3  nov/dop1/b",
        "And 5 more, all in <code>import.json</code>",
    ] {
        assert!(part.contains(text), "{text}: {part}");
    }
}
