//! The reasons of a change in the HTML report.

use crate::lab::{TWO, comparison, report, section, trial};
use model::explanation::{Area, Explanation, Function, Quantity, Side, WarmUp};
use report::{Details, render};

/// One function of an area, with so many instructions in ten operations.
fn side(subject: &str, instructions: u64) -> Side {
    Side {
        subject: subject.to_owned(),
        warm_up: WarmUp { steady: true, ..WarmUp::default() },
        operations: 10,
        cost: instructions,
        functions: vec![Function {
            caller: None,
            name: "f".to_owned(),
            cost: instructions,
            calls: 10,
        }],
        areas: vec![Area { name: "optimizer".to_owned(), functions: vec!["f".to_owned()] }],
        ..Side::default()
    }
}

fn explanation(phase: &str, subject: &str) -> Explanation {
    Explanation {
        format: 1,
        phase: phase.to_owned(),
        by: Quantity::Instructions,
        means: String::new(),
        sides: [side(TWO[0].0, 10_000), side(subject, 26_000)],
    }
}

#[test]
fn areas_of_the_code_are_told_under_other_names_too() {
    let mut report = report(comparison(&TWO, 5, None), &[]);
    report.view.aliases = [(TWO[1].0.to_owned(), "newest".to_owned())].into();
    let explanations = vec![explanation("scan", TWO[1].0)];
    report.details = vec![Details { explanations, ..Details::default() }];
    let table = render(&report, "table").unwrap();
    assert!(table.contains("with `newest`") && table.contains("1,600 are in optimizer"), "{table}");
}

#[test]
fn a_reason_names_the_areas_of_the_code_and_what_is_ruled_out() {
    let pages = |subject: &str, blocks| {
        let mut report = report(comparison(&TWO, blocks, None), &[]);
        // The test whose reason comes first.
        let phase = if blocks == 1 { "point-query.pre" } else { "scan" };
        let explanations = vec![explanation(phase, subject)];
        report.details = vec![Details { explanations, ..Details::default() }];
        let page = render(&report, "html").unwrap();
        (section(&page, "why").to_owned(), render(&report, "table").unwrap())
    };
    let areas = "executes 1.60x the base's instructions. Of 1,600 added instructions per \
                 operation, 1,600 are in optimizer.</summary>";
    let (own, _) = pages(TWO[1].0, 1);
    let (_, table) = pages(TWO[1].0, 5);
    let told = "instructions. Of 1,600 added instructions per operation, 1,600 are in optimizer.\n";
    assert!(table.contains(told) && !table.contains("By function"), "{table}");
    assert!(own.contains(areas) && own.contains(" (measured once). The "), "{own}");
    assert!(own.contains("Not the reason: waits (1.00x the base's context switches)"), "{own}");
    let (own, table) = pages("another", 5);
    assert!(!own.contains("are in optimizer") && !table.contains("are in optimizer"), "{table}");
}

#[test]
fn the_command_that_explains_a_change_is_that_of_a_run_of_two_variants() {
    let table = |subjects: &[&str], folder: &str, phase: &str| {
        let mut report = report(comparison(&TWO, 5, None), &[]);
        let mut phases = report.comparisons[0].phases.iter_mut();
        phases.find(|own| own.phase == "scan").unwrap().phase = phase.to_owned();
        let trials = subjects.iter().map(|subject| trial(subject, &[])).collect();
        report.details = vec![Details { trials, folder: folder.to_owned(), ..Details::default() }];
        render(&report, "table").unwrap()
    };
    let both = [TWO[0].0, TWO[1].0, TWO[0].0];
    let told = table(&both, "", "scan");
    assert!(told.contains("By function: `dbdyno explain r --phase scan`"), "{told}");
    let elsewhere = table(&both, " --results lab", "scan");
    assert!(elsewhere.contains("`dbdyno explain r --results lab --phase scan`"), "{elsewhere}");
    // Its levels were compared.
    assert!(!table(&["mysql"], "", "scan").contains("By function"));
    assert!(!table(&both, "", "scan; ls").contains("By function"));
}
