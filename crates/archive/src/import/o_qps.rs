//! `o.qps.abs.TAG`, `o.qps.rel.TAG` and `o.sum.TAG` of the early sysbench archives: for each step a
//! block with a row per version and a column per number of clients, which is not named.

use super::{Importer, sb_r::columns};
use crate::{Fault, File, FileHead, Found, bias, number, step};

const RELATIVE: &str = "ops_per_second_relative";

/// The step that a block is about.
fn step_of(line: &str) -> Option<step::Step> {
    step::of_file(line).filter(|step| matches!(step.kind.as_str(), "r.qps" | "prepare.o"))
}

pub(super) const IMPORTER: Importer = Importer {
    name: "o_qps",
    help: "o.qps and o.sum summaries of the early sysbench archives: versions by step and clients",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let first = head.lines().find(|line| !line.text.is_empty());
    head.name.starts_with("o.") && first.is_some_and(|line| step_of(&line.text).is_some())
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let relative = file.name.contains(".rel");
    if relative && file.has_sibling(&file.name.replacen(".rel", ".abs", 1)) {
        found.is_told_elsewhere = true;
        return Ok(());
    }
    let metric = if relative { RELATIVE } else { "ops_per_second" };
    let mut block = None;
    for line in file.lines() {
        let text = line.text.as_ref();
        if text.is_empty() {
            block = None;
            continue;
        }
        if text.starts_with("sb.") {
            block = step_of(text);
            if block.is_none() {
                let shown = number::excerpt(text);
                found.warn(line.number, format!("`{shown}` names no step; it is left out"));
            }
            continue;
        }
        let Some(step) = block.clone() else { continue };
        let fields: Vec<&str> = text.split('\t').collect();
        let Some((subject, numbers)) = row(&fields) else {
            let reason = "the row is not numbers and a version; it is left out";
            found.warn(line.number, reason);
            continue;
        };
        let mut cell = file.summary_cell(subject);
        step.fill(&mut cell);
        columns(numbers, &cell, (metric, 1.0, line.number), found);
        if !found.subjects.iter().any(|known| known == subject) {
            found.subjects.push(subject.to_owned());
        }
    }
    if found.values.is_empty() {
        return Err(Fault::new(1, "no row of a step was found"));
    }
    found.bias(RELATIVE, bias::RELATIVE);
    Ok(())
}

/// The version at the end of a row, and the numbers before it and before the name of the step,
/// which some summaries repeat.
fn row<'a, 'b>(fields: &'b [&'a str]) -> Option<(&'a str, &'b [&'a str])> {
    let (subject, rest) = fields.split_last()?;
    let numbers = match rest.split_last() {
        Some((step, numbers)) if step.contains("range=") => numbers,
        _ => rest,
    };
    let named = !subject.is_empty() && !subject.contains('`') && number::parse(subject).is_none();
    (named && !numbers.is_empty()).then_some((*subject, numbers))
}
