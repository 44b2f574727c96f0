//! What the report shows beside the comparison: steps between neighbors, a second base, notes.

use crate::lab::{comparison, report, section, trial};
use analysis::Verdict;
use model::notes::Notes;
use report::{Details, Report, render};

const THREE: [(&str, f64); 3] = [("5.6", 1.0), ("5.7", 1.6), ("8.0", 1.2)];

fn page(details: Details) -> String {
    let report = Report { details: vec![details], ..report(comparison(&THREE, 4, None), &[]) };
    render(&report, "html").unwrap()
}

#[test]
fn steps_count_tests_between_neighbors() {
    // 5.7 against 5.6, and 8.0 against 5.7, as a comparison of their own has them.
    let mut steps = comparison(&THREE, 4, None);
    let newer = comparison(&[THREE[1], THREE[2]], 4, None);
    for (phase, other) in steps.phases.iter_mut().zip(newer.phases) {
        phase.cells.retain(|cell| &*cell.subject != "8.0");
        phase.cells.extend(other.cells.into_iter().filter(|cell| &*cell.subject == "8.0"));
    }
    let with_compiler = |(subject, compiler): (&str, &str)| {
        let mut trial = trial(subject, &[]);
        trial.header.provenance.compiler = compiler.to_owned();
        trial
    };
    let compilers = [("5.6", "GCC 4"), ("5.7", "GCC 4"), ("8.0", "GCC 7")].map(with_compiler);
    let trials = compilers.to_vec();
    let page = page(Details { steps: Some(steps), trials, ..Details::default() });
    let own = section(&page, "consecutive");
    assert!(!own.contains("GCC 4 to GCC 4") && own.contains("is not that of the version"), "{own}");
    let row = |from: &str| own.split_once(&format!("<th scope=\"row\">{from}</th>")).unwrap().1;
    let (first, second) = (row("5.6"), row("5.7"));
    assert!(first.starts_with("<td>5.7</td>") && first.contains("<td>4 slower</td>"), "{own}");
    assert!(second.starts_with("<td>8.0</td>") && second.contains("<td>4 faster</td>"), "{own}");
    assert!(second.contains(">1.33</td>") && second.contains("<td>GCC 4 to GCC 7</td>"), "{own}");
    assert!(own.contains("by their verdicts"), "{own}");
}

#[test]
fn steps_without_verdicts_say_why() {
    let said = |blocks: u32, verdict: Option<Verdict>| {
        let mut steps = comparison(&THREE, blocks, Some(("8.0", 1)));
        let cells = steps.phases.iter_mut().flat_map(|phase| &mut phase.cells);
        for cell in cells.filter(|cell| cell.ratio.is_some()) {
            cell.verdict = verdict.unwrap_or(cell.verdict);
        }
        let page = page(Details { steps: Some(steps), ..Details::default() });
        section(&page, "consecutive").to_owned()
    };
    let (once, disturbed) = (said(1, None), said(4, Some(Verdict::Invalid)));
    assert!(once.contains("by their ratios, as nothing is repeated"), "a test failed: {once}");
    assert!(disturbed.contains("of which none is judged: the host was disturbed"), "{disturbed}");
}

#[test]
fn one_step_is_the_comparison_itself_and_has_no_section() {
    let two = comparison(&THREE[..2], 4, None);
    let details = Details { steps: Some(two), ..Details::default() };
    assert!(!page(details).contains("id=\"consecutive\""));
}

#[test]
fn two_bases_stand_side_by_side() {
    let second = comparison(&[THREE[1], THREE[0], THREE[2]], 4, None);
    let page = page(Details { second: Some(second), ..Details::default() });
    let own = section(&page, "bases");
    for words in ["vs 5.6", "vs 5.7", ">0.62", ">1.60", ">1.33", "geometric mean"] {
        assert!(own.contains(words), "{words}: {own}");
    }
}

#[test]
fn means_have_a_color_where_any_of_their_tests_is_decided() {
    let is_colored = |verdict: Option<Verdict>| {
        let with_verdict = |subjects: &[(&str, f64)]| {
            let mut found = comparison(subjects, 4, None);
            let cells = found.phases.iter_mut().flat_map(|phase| &mut phase.cells);
            for cell in cells.filter(|cell| cell.base.is_some()) {
                cell.verdict = verdict.unwrap_or(cell.verdict);
            }
            found
        };
        let steps = Some(with_verdict(&THREE));
        let second = Some(with_verdict(&[THREE[1], THREE[0], THREE[2]]));
        let details = vec![Details { steps, second, ..Details::default() }];
        let report = Report { details, ..report(with_verdict(&THREE), &[]) };
        let page = render(&report, "html").unwrap();
        ["consecutive", "bases"].map(|anchor| section(&page, anchor).contains("class=\"num w"))
    };
    assert_eq!(is_colored(None), [true, true]);
    assert_eq!(is_colored(Some(Verdict::Inconclusive)), [false, false]);
}

#[test]
fn notes_are_shown_escaped_and_names_that_fit_nothing_are_warned_of() {
    let notes = Notes {
        about: "The fan\nwas replaced.\n".into(),
        hardware: "2 sockets <b>".into(),
        variants: [("5.7".to_owned(), "first of its line".to_owned())].into(),
        tests: [("scna".to_owned(), "not cached".to_owned())].into(),
        ..Notes::default()
    };
    let page = page(Details { notes, ..Details::default() });
    let own = section(&page, "notes");
    assert!(own.contains("2 sockets &lt;b&gt;") && own.contains("first of its line"), "{own}");
    assert!(own.contains("<p>The fan was replaced.</p>"), "{own}");
    assert!(
        own.contains("the notes name <code>scna</code>, which is not among the tests"),
        "{own}"
    );
}

#[test]
fn short_names_are_those_of_the_comparison_everywhere() {
    let labels = ["x.my5651_rel_o2nofp.z12a_c8r32.pk1", "x.my5744_rel_o2nofp.z12a_c8r32.pk1"];
    let (old, new) = ((labels[0], 1.0), (labels[1], 1.6));
    let third = ("x.my8043_rel_o2nofp.z12a_c8r32.pk1", 1.2);
    let notes = Notes {
        variants: [(labels[1].to_owned(), "first of its line".to_owned())].into(),
        ..Notes::default()
    };
    let details = Details {
        steps: Some(comparison(&[old, new, third], 4, None)),
        second: Some(comparison(&[new, old, third], 4, None)),
        notes,
        ..Details::default()
    };
    let comparison = comparison(&[old, new, third], 4, None);
    let report = Report { details: vec![details], ..report(comparison, &[]) };
    let page = render(&report, "html").unwrap();
    assert!(section(&page, "consecutive").contains("<th scope=\"row\">my5651</th>"));
    let bases = section(&page, "bases");
    assert!(bases.contains("vs my5651") && bases.contains("vs my5744"), "{bases}");
    let notes = section(&page, "notes");
    assert!(notes.contains("<dt>my5744</dt>") && !notes.contains("which is not"), "{notes}");
}
