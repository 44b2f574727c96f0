//! The HTML report: what is in it, what is not, and how large it is.

use crate::lab::{LARGEST, TWO, comparison, data, page, report, section};
use analysis::{Comparison, Reason, Verdict};
use model::mark::{Mark, Miss, Why};
use report::{Colours, Details, Report, View, render};

/// The static row of the table with this anchor.
fn row<'a>(page: &'a str, anchor: &str) -> &'a str {
    let text = page.split_once(&format!("<tr id=\"{anchor}\"")).unwrap().1;
    text.split_once("</tr>").unwrap().0
}

#[test]
fn the_answer_comes_first_and_every_section_has_its_place() {
    let page = page(comparison(&TWO, 1, None));
    let mut places = Vec::new();
    for text in [
        "<h1>Did point queries become slower?</h1>",
        "<code>mysql-9.7.4</code> compared with <code>mysql-5.6.24</code>: 0.62x throughput",
        "1.60x instructions",
        "One block: nothing is repeated",
        "<section id=\"table\"",
        "<section id=\"forest\"",
        "<section id=\"why\"",
        "executes 1.60x the base's instructions",
        "<section id=\"costs\"",
        "<section id=\"compared\"",
        "<section id=\"data\"",
    ] {
        places.push(page.find(text).unwrap_or_else(|| panic!("`{text}` is missing")));
    }
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.len() < 120_000, "{}", page.len());
}

#[test]
fn a_row_can_be_linked_and_shows_the_base_then_coloured_ratios() {
    let page = page(comparison(&TWO, 1, None));
    let row = row(&page, "row-point-query.pre");
    assert!(row.contains("href=\"#row-point-query.pre\""), "{row}");
    assert!(row.contains("class=\"base\" data-s=\"\" title=\"1000 1/s\">1000</td>"), "{row}");
    assert!(
        row.contains("class=\"w5 py\" data-s=\"worse\" title=\"625 1/s\">0.62<i>°</i></td>"),
        "{row}"
    );
    // One block has no span to draw.
    assert!(!row.contains("--l:"), "{row}");
}

#[test]
fn a_mean_over_a_test_that_is_not_judged_has_no_color_of_a_change() {
    let check = |broken: Option<(&str, u32)>, expected: &str| {
        let mut comparison = comparison(&TWO, 4, broken);
        let cells = comparison.phases[0].cells.iter_mut().filter(|cell| cell.base.is_some());
        cells.for_each(|cell| cell.verdict = Verdict::Invalid);
        let page = page(comparison);
        let answer = section(&page, "answer");
        let all = answer.split_once("<th scope=\"row\">all tests</th>").unwrap().1;
        assert!(all.starts_with(&format!("<td class=\"num\">{expected}</td>")), "{all}");
    };
    check(None, "0.62 !");
    check(Some((TWO[1].0, 1)), "0.62 (3/4) !");
}

#[test]
fn blocks_give_hairlines() {
    let several = page(comparison(&TWO, 4, None));
    assert!(row(&several, "row-scan").contains("class=\"span w5 py\" style=\"--l:16%;--r:84%\""));
    assert!(several.contains("class=\"span\" x1="));
    let scan = row(&several, "row-scan");
    assert!(!scan.contains('°'), "what is repeated has no mark of what is not: {scan}");
}

#[test]
fn failures_look_like_nothing_else_and_say_why() {
    let page = page(comparison(&TWO, 1, Some(("mysql-9.7.4", 1))));
    let row = row(&page, "row-random-points.range10");
    assert!(row.contains("class=\"failed\" data-s=\"nothing\""), "{row}");
    assert!(row.contains(">failed<a class=\"ref\" href=\"#grid-note-1\">1</a></td>"), "{row}");
    assert!(page.contains("<li id=\"grid-note-1\">failed: the server ended (signal 11)</li>"));
    assert!(page.contains("mysql-9.7.4: failed: the server ended (signal 11)"));
    let data = data(&page, "grid");
    let cell = &data["values"][0][1][1];
    assert_eq!((cell[0].as_f64(), cell[1].as_f64()), (None, None));
    assert_eq!(data["words"][cell[5].as_u64().unwrap() as usize], "failed");
}

#[test]
fn the_embedded_values_are_those_of_the_comparison() {
    let comparison = comparison(&TWO, 1, None);
    let data = data(&page(comparison.clone()), "grid");
    let metrics = data["metrics"].as_array().unwrap();
    let mut checked = 0;
    for (m, metric) in metrics.iter().enumerate() {
        for (p, phase) in comparison.phases.iter().enumerate() {
            for (s, subject) in comparison.subjects.iter().enumerate() {
                let cell = phase.cell(subject, metric["name"].as_str().unwrap()).unwrap();
                let found = &data["values"][m][p][s];
                for (index, expected) in [(0, cell.value), (1, cell.ratio)] {
                    let near = match (found[index].as_f64(), expected) {
                        (Some(a), Some(b)) => (a - b).abs() <= b.abs() * 1e-5,
                        (a, b) => a.is_none() && b.is_none(),
                    };
                    assert!(near, "{metric} {}: {found} {expected:?}", phase.phase);
                    checked += 1;
                }
            }
        }
    }
    assert_eq!(checked, metrics.len() * 4 * 2 * 2);
    assert!(metrics.len() > 10);
}

#[test]
fn nothing_from_outside_is_interpreted() {
    let name = "=cmd</script><img src=x onerror=alert(1)>\u{1b}[31m\"'`&\u{202e}";
    let mut comparison = comparison(&[("base", 1.0), (name, 1.3)], 1, Some((name, 2)));
    comparison.question = "<b>bold</b>? </title>".to_owned();
    comparison.warnings.push("</style><script>alert(2)</script>".to_owned());
    let page = page(comparison);
    for bad in ["<img", "<b>", "<script>alert", "\u{1b}", "\u{202e}", "</title></title>"] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    // Our script, and nothing but it, may be executed.
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(page.contains("script-src &#39;sha256-") || page.contains("script-src 'sha256-"));
    // The embedded values are exact all the same.
    assert_eq!(data(&page, "grid")["columns"][1][0], name);
}

#[test]
fn nothing_is_fetched() {
    let page = page(comparison(&TWO, 4, None));
    for word in ["http:", "https:", "src=", "@import", "url("] {
        let body = page.replace("default-src", "").replace("img-src", "");
        assert!(!body.contains(word), "{word}");
    }
    assert_eq!(page.matches("<link ").count(), 1);
    assert!(page.contains("<link rel=\"icon\" href=\"data:,\">"));
}

#[test]
fn thirty_five_variants_fit() {
    let names: Vec<String> = (0..35).map(|n| format!("mariadb-10.{n}.22-with-a-config")).collect();
    let subjects: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), 1.0 + n as f64 / 100.0)).collect();
    let mut comparison = comparison(&subjects, 4, None);
    // As many tests as the longest published list.
    let phases = comparison.phases.clone();
    for copy in 1..11 {
        comparison.phases.extend(phases.iter().cloned().map(|mut phase| {
            phase.phase.push_str(&format!(".{copy}"));
            phase
        }));
    }
    let page = page(comparison);
    assert!(page.len() < LARGEST, "{}", page.len());
    for part in ["<section id=\"costs\"", "<section id=\"heat\"", "<section id=\"versions\""] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<section id=\"forest\""));
    assert!(page.contains("costs more are in the table at the top"));
    let answer = "Of 34 variants compared with <code>10.0.22</code>, <code>10.34.22</code> has \
        the lowest throughput";
    assert!(page.contains(answer));
    assert!(page.contains("title=\"mariadb-10.34.22-with-a-config\""));
}

#[test]
fn rows_and_columns_can_be_other_keys() {
    let mut report = report(comparison(&TWO, 1, None), &[]);
    let view = |rows: &str, columns: &str| View {
        rows: vec![rows.to_owned()],
        columns: vec![columns.to_owned()],
        ..View::default()
    };
    report.view = view("variant", "phase");
    assert_eq!(report.view.check(&report.comparisons), Ok(()));
    let page = render(&report, "html").unwrap();
    assert!(row(&page, "row-mysql-9.7.4").contains(">0.62<i>°</i></td>"));
    // The values to save are those of tests and variants, whatever the table shows.
    assert_eq!(data(&page, "grid")["row_keys"][0], "variant");
    assert_eq!(data(&page, "grid1.2")["row_keys"][0], "phase");

    report.view = view("clients", "build");
    let page = render(&report, "html").unwrap();
    assert!(page.contains("cells combine values of different phase"));
    assert!(row(&page, "row-1").contains("geometric mean of 3 cells"));
    report.view = view("phase", "phase");
    assert!(!render(&report, "html").unwrap().contains("geometric mean of 1 cells"));

    let error = view("phase", "colour").check(&report.comparisons).unwrap_err().to_string();
    assert!(error.starts_with(
        "`colour` cannot be used for rows or columns; choose from `phase`, \
        "
    ));
}

#[test]
fn colours_and_bars_are_as_asked_for() {
    let mut report = report(comparison(&TWO, 1, None), &[]);
    let plain = render(&report, "html").unwrap();
    assert!(!plain.contains("<body class=\"published\">") && !plain.contains("class=\"cut\""));
    report.view = View { colours: Colours::Published, cut_bars: Some(0.5), ..View::default() };
    let page = render(&report, "html").unwrap();
    assert!(page.contains("<body class=\"published\">") && page.contains("class=\"cut\""));
    assert!(page.contains("Bars begin at 0.5: their lengths are not in proportion."));
}

#[test]
fn several_experiments_and_none_are_pages_too() {
    let two = Report {
        comparisons: vec![comparison(&TWO, 1, None), comparison(&TWO, 1, None)],
        details: vec![Details::default()],
        ..Report::default()
    };
    let page = render(&two, "html").unwrap();
    assert!(page.contains("<section id=\"answer\"") && page.contains("<section id=\"e2-answer\""));
    assert!(page.contains("id=\"row-scan\"") && page.contains("id=\"row2.1-scan\""));
    assert!(page.contains("There are no trial records"));
    assert!(render(&Report::default(), "html").unwrap().contains("Nothing is recorded yet"));
}

#[test]
fn tables_name_their_rows_and_what_can_be_scrolled_and_cells_their_spans() {
    let page = page(comparison(&TWO, 4, Some(("mysql-9.7.4", 1))));
    assert!(page.contains("aria-label=\"Table: Answer\""), "tables are called after headings");
    assert!(!page.contains("aria-label=\"Table\""));
    assert!(page.contains("<th scope=\"row\">all tests</th>"));
    assert!(page.contains("<p class=\"empty\" role=\"status\" hidden>"));
    let scan = row(&page, "row-scan");
    assert!(scan.contains("<span class=\"aside\"> (95 % interval 0.6"), "{scan}");
    // Marks of values that compare are texts too; what failed has its footnote.
    assert!(row(&page, "row-update-index").contains("not calm 45 s after its start)</span>"));
    assert!(!row(&page, "row-random-points.range10").contains("(failed"));
}

#[test]
fn the_top_says_how_many_tests_there_are_numbers_of() {
    let text =
        render(&report(comparison(&TWO, 1, Some(("mysql-9.7.4", 1))), &[]), "table").unwrap();
    let status = "Tests: 3 compared, 1 failed.";
    assert!(
        text.contains(status) && text.contains("`mysql-9.7.4` failed in 1 of 4 tests."),
        "{text}"
    );
    let page = page(comparison(&TWO, 1, Some(("mysql-5.6.24", 1))));
    assert!(page.contains(status), "a test whose base failed compares nothing");
}

#[test]
fn tests_that_stand_apart_are_shown_and_in_no_mean_over_all() {
    let with = |group: &str| {
        let mut found = comparison(&TWO, 4, None);
        for cell in &mut found.phases[0].cells {
            cell.ratio = cell.ratio.map(|_| 100.0);
            cell.block_ratios.iter_mut().for_each(|ratio| *ratio = 100.0);
        }
        found.phases[0].group = group.to_owned();
        let interval = found.mean_interval(TWO[1].0, "ops_per_second").unwrap();
        let table = render(&report(found.clone(), &[]), "table").unwrap();
        (interval.1, page(found), table)
    };
    let (high, html, table) = with("point");
    assert!(high > 2.0 && html.contains("geometric mean of 4 of 4 tests"), "{high}");
    assert!(table.contains("geometric mean of 4 of 4 tests"), "{table}");
    let (high, html, table) = with("apart");
    assert!(high < 1.0 && html.contains("geometric mean of 3 of 3 tests"), "{high}");
    assert!(html.contains("all tests except the group apart"));
    assert!(table.contains("geometric mean of 3 of 3 tests"), "{table}");
    assert!(table.contains("Group apart") && table.contains("point-query.pre"), "{table}");
}

#[test]
fn a_variant_whose_tests_all_failed_is_said_to_have_failed() {
    let mut comparison = comparison(&TWO, 1, Some(("mysql-9.7.4", 1)));
    comparison.phases.retain(|phase| phase.phase == "random-points.range10");
    let told = "<code>mysql-9.7.4</code> failed in 1 of 1 test: nothing of that can be compared.";
    assert!(page(comparison).contains(told));
}

/// A mark of a missed rate.
fn missed() -> Mark {
    let miss = Miss { rule: "strict".into(), why: Why::NoLag };
    Mark::Missed([miss].into())
}

#[test]
fn means_over_cells_say_which_are_missing_and_keep_their_marks() {
    let subjects = [("a", 1.0), ("b", 1.6)];
    let mut comparison = comparison(&subjects, 1, None);
    for phase in &mut comparison.phases {
        for cell in phase.cells.iter_mut().filter(|cell| cell.subject == "b") {
            match phase.phase.as_str() {
                "scan" => cell.marks.push(missed()),
                "update-index" => (),
                _ => continue,
            }
            cell.ratio = None;
            if phase.phase == "update-index" {
                cell.value = None;
                cell.reason = Some(Reason::NotMeasured);
            }
        }
    }
    let keys = |keys: &str| vec![keys.to_owned()];
    let grid = report::grid::Grid::of(&comparison, &keys("variant"), &keys("suite-wide"));
    let own = &grid.values[0][1][0];
    let note = "geometric mean of 2 of 4 cells; 1 missed their target rate; 1 not measured; \
                not calm 45 s after its start";
    assert_eq!((own.note.as_str(), own.cells), (note, 4));
    assert!((own.ratio.unwrap() - 0.625).abs() < 0.001, "{:?}", own.ratio);
}

#[test]
fn a_mean_over_cells_of_which_nothing_is_decided_has_no_color_of_a_change() {
    let shown = |first: Verdict, others: Verdict| {
        let mut comparison = comparison(&[("a", 1.0), ("b", 1.6)], 4, None);
        for (index, phase) in comparison.phases.iter_mut().enumerate() {
            let own = phase.cells.iter_mut().filter(|cell| cell.base.is_some());
            own.for_each(|cell| cell.verdict = if index == 0 { first } else { others });
        }
        let keys = |keys: &str| vec![keys.to_owned()];
        let grid = report::grid::Grid::of(&comparison, &keys("variant"), &keys("suite-wide"));
        grid.values[0][1][0].verdict
    };
    let (open, worse) = (Verdict::Inconclusive, Verdict::Regression);
    assert_eq!(shown(open, open), Some(open));
    assert_eq!(shown(open, worse), None);
    assert_eq!(shown(Verdict::Invalid, worse), Some(Verdict::Invalid));
}

#[test]
fn the_account_of_the_run_itself_stands_above_what_slices_tell() {
    let accounting = Some(analysis::Accounting { whole: 10.0, other: 4.0, ..Default::default() });
    let details = |ledger: &[(&str, f64)]| Details {
        ledger: ledger.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect(),
        accounting,
        ..Details::default()
    };
    let shown = |details| {
        let mut report = report(comparison(&TWO, 1, None), &[]);
        report.details = vec![details];
        render(&report, "html").unwrap()
    };
    let own = shown(details(&[("load", 30.0), ("measurement", 90.0)]));
    assert!(own.contains(">measurement</th>") && own.contains(">all of it</th>"));
    assert!(!own.contains("everything else"));
    assert!(shown(details(&[])).contains(">everything else</th>"));
}

#[test]
fn what_is_about_the_same_is_within_the_margin_that_was_asked_for() {
    let within = |asked: Option<f64>| {
        let mut comparison = comparison(&[("old", 1.0), ("new", 1.08)], 1, None);
        let time = model::margins::Quantity::Time;
        comparison.margins.asked.extend(asked.map(|margin| (time, margin)));
        let margins = comparison.margins.clone();
        let cells = comparison.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        cells.for_each(|cell| cell.margin = margins.of(cell.metric));
        let page = page(comparison);
        let is_same = row(&page, "row-scan").contains("data-s=\"same\"");
        let margin = data(&page, "grid")["metrics"][0]["margin"].as_f64();
        (is_same, page.contains("0.91 to 1.10"), margin)
    };
    assert_eq!(within(None), (false, false, Some(1.05)));
    assert_eq!(within(Some(1.1)), (true, true, Some(1.1)));
}

#[test]
fn response_times_of_roles_are_curves_where_no_step_tells_them() {
    let times = |role: &str| analysis::RoleTimes {
        subject: TWO[0].0.into(),
        phase: "scan".into(),
        role: role.into(),
        points: vec![(0.0, 100.0), (1.0, 900.0)],
        ..analysis::RoleTimes::default()
    };
    let role_times = vec![times("reader"), times("writer")];
    let mut report = report(comparison(&TWO, 1, None), &[]);
    report.details = vec![Details { role_times, ..Details::default() }];
    let page = render(&report, "html").unwrap();
    assert!(page.contains("scan: reader") && page.contains("scan: writer"));
}

/// A comparison whose phases are what one suite measures at 1 and 8 users.
fn ladder() -> Comparison {
    let mut comparison = comparison(&TWO, 1, None);
    let phases = comparison.phases.clone();
    let tests = [("point-query.pre", "point-query"), ("point-query", "point-query")];
    let tests = [&tests[..], &[("load", "load"), ("scan.rows100", "scan")]].concat();
    let levels = |(phase, (name, workload)): (&analysis::PhaseResult, &(&str, &str))| {
        [1, 8].map(|clients| {
            let name = name.strip_suffix(".rows100").map_or_else(
                || format!("{name}.clients{clients}"),
                |name| format!("{name}.clients{clients}.rows100"),
            );
            let workload = (*workload).to_owned();
            analysis::PhaseResult { phase: name, workload, clients, ..phase.clone() }
        })
    };
    comparison.phases = phases.iter().zip(&tests).flat_map(levels).collect();
    comparison
}

#[test]
fn each_test_of_a_workload_has_its_own_curve_over_users_and_the_load_has_none() {
    let page = page(ladder());
    for test in ["point-query.pre", "point-query", "scan.rows100"] {
        let title = format!("<figcaption>{test}: throughput</figcaption>");
        let chart = page.split_once(&title).unwrap_or_else(|| panic!("{title}")).1;
        // Two variants at two numbers of users.
        let marks = chart.split_once("data-marks=\"").unwrap().1;
        assert!(marks.starts_with("4\""), "{test}: {}", &marks[..8]);
    }
    assert!(!page.contains("<figcaption>load"));
}

#[test]
fn nine_versions_have_their_costs_side_by_side_and_as_pictures() {
    let names: Vec<String> = (0..9).map(|n| format!("mysql-8.{n}")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let mut subjects = subjects;
    subjects[8].1 = 2.0;
    let page = page(comparison(&subjects, 1, None));
    let costs = page.split_once("<section id=\"costs\"").unwrap().1;
    let table = costs.split_once("server CPU (us/op): CPU time of the whole server").unwrap().1;
    let row = table.split_once("<th scope=\"row\">point-query.pre</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    assert_eq!(row.matches("<td").count(), 9, "{row}");
    assert!(row.starts_with("<td class=\"num\">15.0</td>"), "the base is a value alone: {row}");
    assert!(row.contains("<td class=\"num w6 py\">30.0 <small>2.00</small></td>"), "{row}");
    assert_eq!(page.matches("class=\"forest ").count(), 4, "throughput, two costs, bars");
}

#[test]
fn where_the_servers_cpu_time_is_not_known_that_of_the_host_is_shown_as_such() {
    let mut comparison = comparison(&TWO, 1, None);
    for phase in &mut comparison.phases {
        phase.cells.retain(|cell| !cell.metric.name.contains("user_instructions"));
        for cell in phase.cells.iter_mut().filter(|c| c.metric.name == "server_cpu_us_per_op") {
            cell.metric = analysis::metric("host_cpu_us_per_op").unwrap();
        }
    }
    let report = report(comparison, &[]);
    let html = render(&report, "html").unwrap();
    assert!(html.contains("1.60x CPU time of the host"));
    assert!(html.contains("<figcaption>host CPU, relative to the base</figcaption>"));
    let table = render(&report, "table").unwrap();
    assert!(table.contains("host cpu") && !table.contains("server cpu"), "{table}");
    let dense = render(&report, "dense").unwrap();
    assert!(dense.contains("\ncpu/o : busy CPU time of the whole host (us/op)\n"), "{dense}");
    assert!(dense.contains("\n15.0\t1.25\t-\t0\t0\t1000\tmysql-5.6.24\n"), "{dense}");
}

#[test]
fn the_mean_of_each_group_has_its_interval_where_blocks_repeat() {
    let head = "95 % interval<span class=\"unit\">ratio</span>";
    let several = page(comparison(&TWO, 4, None));
    let answer = several.split_once("<section id=\"table\"").unwrap().0;
    assert!(answer.contains(head), "{answer}");
    for group in ["all tests", "point", "write"] {
        let row = answer.split_once(&format!("<th scope=\"row\">{group}</th>")).unwrap().1;
        assert!(row.split_once("</tr>").unwrap().0.contains(">0.62–0.6"), "{group}: {row}");
    }
    assert!(!page(comparison(&TWO, 1, None)).contains(head));
    let four = [("a", 1.0), ("b", 1.2), ("c", 1.3), ("d", 1.4), ("e", 1.5)];
    let many = page(comparison(&four, 4, None));
    let means = many.split_once("Geometric means of throughput").unwrap().1;
    let means = means.split_once("</table>").unwrap().0;
    assert_eq!(means.matches("<th scope=\"row\">95 % interval</th>").count(), 4, "{means}");
}

#[test]
fn what_is_printed_has_the_absolute_values_of_all_variants_and_everything_that_is_folded() {
    let page = page(comparison(&TWO, 1, None));
    let table = page.split_once("Throughput of all variants as absolute values (1/s)").unwrap().1;
    let row = table.split_once("<th scope=\"row\">point-query.pre</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    assert!(row.contains(">1000</td>") && row.contains(">625 <small>0.62</small></td>"), "{row}");
    assert!(page.contains("@media print { details::details-content { content-visibility: visible"));
    assert!(page.contains("addEventListener(\"beforeprint\""));
}
