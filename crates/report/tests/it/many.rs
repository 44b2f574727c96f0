//! Reports of many variants, and of variants with several bases.

use crate::lab::{self, comparison, page, report, section};
use analysis::Comparison;
use report::{Names, Report, View, render};
use std::collections::BTreeMap;

/// Twelve versions that get slower by and by; the last two are compared with each other.
fn twelve() -> Comparison {
    let names: Vec<String> =
        (0..12).map(|n| format!("x.my80{n:02}_rel_o2nofp.z12a_c8r32.pk1")).collect();
    let subjects: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), 1.0 + 0.05 * n as f64)).collect();
    let mut comparison = comparison(&subjects, 1, None);
    let base = names[10].as_str();
    comparison.bases.push(base.to_owned());
    for cell in comparison.phases.iter_mut().flat_map(|phase| &mut phase.cells) {
        if cell.subject.as_str() == base {
            (cell.base, cell.ratio) = (None, None);
        }
        if cell.subject.as_str() == names[11] {
            cell.base = Some(base.into());
            cell.ratio = cell.ratio.map(|_| 0.97);
        }
    }
    comparison
}

#[test]
fn each_base_has_a_table_and_a_sentence_of_its_own() {
    let page = page(twelve());
    let answer = section(&page, "answer");
    assert!(answer.contains("Of 9 variants compared with <code>my8000</code>"), "{answer}");
    assert!(answer.contains(" compared with <code>my8010</code>: "), "{answer}");
    let table = section(&page, "table");
    for (title, id) in [
        ("Compared with <code>my8000</code>: 9 variants", "grid-table"),
        ("Compared with <code>my8010</code>: 1 variant<", "grid-2-table"),
    ] {
        assert!(table.contains(title), "{title}");
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    // Both show columns of the same values, which are in the page once.
    assert_eq!(table.matches("<script type=\"application/json\"").count(), 1);
    let second = table.split_once("id=\"grid-2-table\"").unwrap().1;
    let head = second.split_once("</thead>").unwrap().0;
    assert!(head.contains("data-column=\"10\"") && head.contains("data-column=\"11\""), "{head}");
    assert!(!head.contains("data-column=\"0\""));
}

#[test]
fn many_variants_have_a_heat_map_and_lines_and_few_have_a_forest_plot() {
    let page = page(twelve());
    let heat = section(&page, "heat");
    assert_eq!(heat.matches("data-chart=\"heat\"").count(), 2);
    assert_eq!(heat.matches("<figcaption>").count(), 2, "the buttons that save it stand there");
    // Each cell has its number, a color of the table's scale, and what it is.
    assert!(heat.contains("<td class=\"w4 py\" title=\"scan, my8008: 0.71\">0.71</td>"), "{heat}");
    assert!(heat.contains("title=\"scan, my8000: 333 1/s\""), "a base's value has its unit");
    assert!(heat.contains("title=\"x.my8008_rel_o2nofp.z12a_c8r32.pk1\""));
    let versions = section(&page, "versions");
    assert_eq!(versions.matches("data-chart=\"lines\"").count(), 4);
    assert!(
        versions
            .contains("from my8000 (1.00) to my8009 (0.69); largest step from my8000 (1.00) to")
    );
    assert!(versions.contains("class=\"x first\"") && versions.contains("class=\"x last\""));
    // The one variant of the other base still has a plot that suits it.
    assert_eq!(section(&page, "forest").matches("Compared with").count(), 1);
    let few = render(&report(comparison(&[("a", 1.0), ("b", 1.1)], 1, None), &[]), "html").unwrap();
    assert!(few.contains("<section id=\"forest\"") && !few.contains("<section id=\"heat\""));
}

#[test]
fn what_failed_is_seen_however_narrow_cells_are() {
    let names: Vec<String> = (0..45).map(|n| format!("my80{n:02}")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let page = page(comparison(&subjects, 1, Some((names[3].as_str(), 0))));
    assert!(section(&page, "heat").contains(">✕</td>"), "{}", section(&page, "heat"));
}

#[test]
fn what_is_not_decided_has_no_sign_of_a_change_however_narrow_cells_are() {
    let names: Vec<String> = (0..45).map(|n| format!("my80{n:02}")).collect();
    let mut subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    subjects[3].1 = 2.0;
    let shown = |verdict: analysis::Verdict| {
        let mut many = comparison(&subjects, 1, None);
        let cells = many.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        cells.filter(|cell| cell.base.is_some()).for_each(|cell| cell.verdict = verdict);
        section(&page(many), "heat").to_owned()
    };
    let decided = shown(analysis::Verdict::Regression);
    assert!(decided.contains(">−<span class=\"aside\">0.50</span>"), "{decided}");
    let open = shown(analysis::Verdict::Inconclusive);
    assert!(open.contains(">?<span class=\"aside\">0.50</span>"), "{open}");
}

#[test]
fn reasons_are_grouped_by_test() {
    let page = page(twelve());
    let why = section(&page, "why");
    // 1.05 is no large change where nothing is repeated; 1.10 to 1.45 are.
    assert!(why.contains("8 of 9 variants slower than <code>my8000</code>"), "{why}");
    assert!(why.contains("0.69x to 0.91x throughput (measured once): 1.10x to 1.45x"), "{why}");
    assert_eq!(why.matches("<details>").count(), 4, "{why}");
}

#[test]
fn what_rows_share_is_said_once_above_the_table() {
    let page = page(twelve());
    let table = section(&page, "table");
    assert!(table.contains("Unless a row says otherwise: 1 client."), "{table}");
    assert!(!table.contains("<span class=\"note\">1 client"));
    assert!(table.contains("<span class=\"note\">4 clients</span>"));
}

#[test]
fn short_names_and_aliases_are_the_same_in_all_formats_for_people() {
    let full = "x.my8011_rel_o2nofp.z12a_c8r32.pk1";
    let mut report = report(twelve(), &[]);
    report.view = View {
        aliases: BTreeMap::from([(full.to_owned(), "newest".to_owned())]),
        ..View::default()
    };
    for format in ["table", "markdown", "html"] {
        let text = render(&report, format).unwrap();
        assert!(text.contains("my8003") && text.contains("newest"), "{format}: {text}");
        assert!(text.contains("without the leading"), "{format}");
    }
    // Programs get labels.
    for format in ["csv", "tsv", "json"] {
        let text = render(&report, format).unwrap();
        assert!(text.contains(full) && !text.contains("newest"), "{format}");
    }
    let names = Names::of(&report.comparisons[0].subjects, &report.view.aliases);
    assert_eq!((names.short(full), names.full("newest")), ("newest", full));
}

#[test]
fn several_comparisons_are_a_page_each_and_an_index() {
    let mut other = comparison(&[("a", 1.0), ("b", 1.1)], 1, None);
    other.experiment = "<b>/..".to_owned();
    let mut all = report(twelve(), &[]);
    all.comparisons[0].experiment = "nov25.sb".to_owned();
    all.comparisons.push(other);
    let pages = report::pages(&all).unwrap();
    let files: Vec<&str> = pages.iter().map(|page| page.file.as_str()).collect();
    assert_eq!(files, ["nov25.sb.html", "b-...html", "index.html"]);
    let index = &pages[2].text;
    for part in ["href=\"nov25.sb.html\"", "href=\"b-...html\"", "&lt;b&gt;/..", ">0.91</td>"] {
        assert!(index.contains(part), "{part}: {index}");
    }
    assert!(!index.contains("<b>"));
    assert!(pages[1].text.contains("<section id=\"forest\""));
    assert!(!pages[1].text.contains("my8003"));
}

#[test]
fn chosen_variants_keep_their_bases() {
    let chosen = twelve().only(&|subject| subject.contains("8011"));
    assert_eq!(chosen.subjects.len(), 2);
    assert!(chosen.bases[0].contains("8010") && chosen.bases.len() == 1);
    assert!(chosen.phases.iter().all(|phase| phase.cells.iter().all(|c| c.value.is_some())));
    let none = twelve().only(&|_| false);
    assert!(none.subjects.is_empty() && none.phases.is_empty());
}

#[test]
fn costs_of_many_variants_are_printed_only_when_asked_for() {
    let brief = render(&report(twelve(), &[]), "table").unwrap();
    assert!(brief.contains("Costs per test are left out (100 lines)"), "{brief}");
    assert!(!brief.contains("relative"), "{brief}");
    let asked = render(&report(twelve(), &["ops_per_second"]), "table").unwrap();
    assert!(asked.contains("relative") && !asked.contains("are left out"), "{asked}");
}

#[test]
fn throughput_of_hundreds_of_lines_is_printed_only_when_asked_for() {
    let names: Vec<String> = (0..47).map(|n| format!("my80{n:02}")).collect();
    let subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    let on = |columns, metrics: &[&str]| {
        let screen = report::Screen { columns: Some(columns), ..Default::default() };
        let report = Report { screen, ..report(lab::comparison(&subjects, 1, None), metrics) };
        let text = render(&report, "table").unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let narrow = on(30, &[]);
    assert!(narrow.contains("Throughput per test: left out"), "{narrow}");
    assert!(narrow.contains("geometric mean of 2") && !narrow.contains("point-query.pre"));
    assert!(on(30, &["ops_per_second"]).contains("point-query.pre"));
    assert!(on(120, &[]).contains("point-query.pre"));
}

/// Where instructions alone have to be decided, they are the answer, and nothing else is shown.
#[test]
fn a_page_of_instructions_alone_answers_by_them() {
    let subjects = [("old", 1.0), ("new", 1.1)];
    let page = |comparison, metrics: &[&str]| render(&report(comparison, metrics), "html").unwrap();
    let whole = page(lab::comparison(&subjects, 1, None), &[]);
    assert!(whole.contains("throughput of") && whole.contains("ops_per_second"));
    let mut counted = lab::comparison(&subjects, 1, None);
    counted.margins.asked.insert(model::margins::Quantity::Instructions, 1.005);
    let asked = page(
        lab::comparison(&subjects, 1, None),
        &["foreground_user_instructions_per_op", "server_user_instructions_per_op"],
    );
    for page in [page(counted, &[]), asked] {
        assert!(page.contains("instructions of"), "{page}");
        assert!(page.contains("above 1.005") && page.contains("0.995 to 1.005"), "{page}");
        assert!(!page.contains("throughput of") && !page.contains("ops_per_second"), "{page}");
    }
}

/// A page of a metric that no other answer names has that one in its answer.
#[test]
fn a_page_of_another_metric_answers_by_it() {
    let compared = lab::comparison(&[("old", 1.0), ("new", 1.6)], 1, None);
    let page = render(&report(compared, &["latency_us_p95"]), "html").unwrap();
    let answer = section(&page, "answer");
    assert!(answer.contains("compared with <code>old</code>: 1.60x latency p95"), "{answer}");
}

/// What is open is counted of the metric of the answer.
#[test]
fn what_is_undecided_is_what_was_asked_for() {
    let undecided = |asked: Option<model::margins::Quantity>| {
        let mut comparison = lab::comparison(&[("old", 1.0), ("new", 1.1)], 4, None);
        comparison.margins.asked.extend(asked.map(|quantity| (quantity, 1.005)));
        let cells = comparison.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        for cell in cells.filter(|cell| cell.subject == "new") {
            cell.verdict = analysis::Verdict::Inconclusive;
        }
        let text = render(&report(comparison, &[]), "table").unwrap();
        let said = text.lines().find_map(|line| line.split_once(" undecided"));
        said.map(|(what, _)| what.to_owned())
    };
    assert_eq!(undecided(None).as_deref(), Some("4 rates"));
    let instructions = undecided(Some(model::margins::Quantity::Instructions));
    assert_eq!(instructions.as_deref(), Some("4 instruction counts"));
}

/// A mark that all values of a metric have is said once and repeated in no cell.
#[test]
fn what_all_values_are_marked_with_is_said_once() {
    let marked = |without: usize| {
        let mut marked = lab::comparison(&[("old", 1.0), ("new", 1.1)], 1, None);
        let cells = marked.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        let rates = cells.filter(|cell| cell.metric.name == analysis::THROUGHPUT);
        for cell in rates.skip(without) {
            cell.marks.push(model::mark::Mark::Note("counted by hand".into()));
        }
        page(marked)
    };
    let once = marked(0);
    let table = section(&once, "table");
    assert!(table.contains("All values of throughput: counted by hand."), "{table}");
    assert_eq!(table.matches("counted by hand").count(), 1, "{table}");
    let repeated = marked(1);
    let table = section(&repeated, "table");
    assert!(!table.contains("All values of throughput"), "{table}");
    assert!(table.matches("counted by hand").count() > 3, "{table}");
}

/// An archive may have ratios alone: its throughput has no unit and is still what is asked for.
#[test]
fn a_page_of_one_metric_keeps_it_in_another_unit() {
    let mut ratios = lab::comparison(&[("old", 1.0), ("new", 1.1)], 1, None);
    let throughput = analysis::metric(analysis::THROUGHPUT).unwrap().clone();
    let unit = model::metric::Metric { unit: "ratio", ..throughput };
    let unit: &'static _ = Box::leak(Box::new(unit));
    for cell in ratios.phases.iter_mut().flat_map(|phase| &mut phase.cells) {
        if cell.metric.name == unit.name {
            cell.metric = unit;
        }
    }
    let page = render(&report(ratios, &[analysis::THROUGHPUT]), "html").unwrap();
    assert!(section(&page, "table").contains("point-query"), "{page}");
}

#[test]
fn costs_that_are_not_decided_have_a_sign_instead_of_a_color() {
    let names: Vec<String> = (0..9).map(|n| format!("mysql-8.{n}")).collect();
    let mut subjects: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
    subjects[8].1 = 2.0;
    let mut open = comparison(&subjects, 1, None);
    let cells = open.phases.iter_mut().flat_map(|phase| &mut phase.cells);
    for cell in cells.filter(|cell| cell.metric.name == "server_cpu_us_per_op") {
        cell.verdict = analysis::Verdict::Inconclusive;
    }
    let page = page(open);
    let costs = section(&page, "costs");
    let table = costs.split_once("server CPU (us/op): CPU time of the whole server").unwrap().1;
    let row = table.split_once("<th scope=\"row\">point-query.pre</th>").unwrap().1;
    let row = row.split_once("</tr>").unwrap().0;
    assert!(row.contains("<td class=\"num\">30.0 <small>2.00 ?</small></td>"), "{row}");
}

#[test]
fn means_of_groups_have_names_and_a_color_where_a_test_is_decided() {
    let means = |verdict: analysis::Verdict| {
        let subjects = [("a", 1.0), ("b", 2.0), ("c", 2.0), ("d", 2.0), ("e", 2.0)];
        let mut many = comparison(&subjects, 1, None);
        for phase in &mut many.phases {
            if phase.group == "write" {
                phase.group.clear();
            }
            phase.cells.iter_mut().filter(|c| c.base.is_some()).for_each(|c| c.verdict = verdict);
        }
        let page = page(many);
        let means = page.split_once("Geometric means of throughput").unwrap().1;
        means.split_once("</table>").unwrap().0.to_owned()
    };
    let decided = means(analysis::Verdict::Regression);
    assert!(decided.contains("w6 py\">0.50</td>"), "{decided}");
    assert!(decided.contains(">tests<span class=\"unit\">ratio</span>"), "{decided}");
    let open = means(analysis::Verdict::Inconclusive);
    assert!(open.contains("<td class=\"num\">0.50</td>") && !open.contains(" py\""), "{open}");
}

#[test]
fn the_values_of_a_base_that_is_a_row_have_their_unit() {
    let mut report = report(comparison(&[("old", 1.0), ("new", 1.6)], 1, None), &[]);
    let unit = "<span class=\"unit\">ratio, of the base 1/s</span>";
    let caption = "Absolute values of the base, then ratios to it.</caption>";
    let usual = render(&report, "html").unwrap();
    assert!(!usual.contains(unit) && usual.contains(caption), "{usual}");
    report.view = View {
        rows: vec!["variant".to_owned()],
        columns: vec!["clients".to_owned()],
        ..View::default()
    };
    let turned = render(&report, "html").unwrap();
    let table = section(&turned, "table");
    assert_eq!(table.matches(unit).count(), 2, "{table}");
    assert!(table.contains(caption), "{table}");
    assert!(!section(&turned, "forest").contains("\u{2715}"), "a base is drawn as a failure");
}
