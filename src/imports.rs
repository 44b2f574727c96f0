//! The values of an imported archive as a comparison.

use crate::{
    comparison::{Compared, Request, against},
    details,
};
use analysis::{Comparison, Design, Observations, PhaseResult};
use model::{
    imported::{ImportHeader, ImportedValue},
    measurement::Measurement,
    number::counted,
    record::SliceState,
};
use report::Details;
use std::collections::{BTreeMap, BTreeSet};
use store::Results;

/// What is said where nothing can be compared, with the remedy.
const ALONE: &str = "there is only one variant, so nothing is compared: import the files \
    of both together, as in `dbdyno import before/ after/`";

/// How many tests a warning names.
const NAMED: usize = 4;

/// The comparison of each import, whose values the store gives one after the other, with what is
/// known beside its values.
pub(crate) fn compared(
    results: &Results,
    values: Vec<ImportedValue>,
    request: &Request,
) -> anyhow::Result<Vec<(Compared, Details)>> {
    let mut found = Vec::new();
    let mut values = values.into_iter().peekable();
    while let Some(first) = values.next() {
        let run = first.measurement.run.clone();
        let mut own = Vec::with_capacity(values.size_hint().0 + 1);
        own.push(first);
        while let Some(next) = values.next_if(|value| value.measurement.run == run) {
            own.push(next);
        }
        let details = details::of_import(results, &run, &own)?;
        let measurements = own.into_iter().map(|value| value.measurement).collect();
        found.push((compare(results, (&run, measurements), request)?, details));
    }
    Ok(found)
}

/// Compares the values of an import with the base that it has, or that is asked for.
fn compare(
    results: &Results,
    (run, mut measurements): (&str, Vec<Measurement>),
    request: &Request,
) -> anyhow::Result<Compared> {
    let header = results.import_of(run)?.unwrap_or_default();
    let mut design = design_of(&header);
    if let Some(base) = &request.base {
        design = against(design, base, "--base", request)?;
    }
    let mut observations = Observations::default();
    let differences = archive::option_differences(measurements.iter());
    measurements.retain(|value| value.state == SliceState::Measured);
    observations.measurements = measurements;
    let mut comparison = analysis::compare(&observations, &design);
    comparison.is_imported = true;
    if let Some(why) = uncompared(&comparison, &design) {
        // The answer has nothing else to say.
        comparison.conditions.push(format!("Nothing is compared: {why}."));
        comparison.warnings.push(format!("nothing is compared: {why}"));
    }
    comparison.warnings.extend(unpaired(&observations.measurements, &design));
    comparison.warnings.extend(differences);
    comparison.warnings.extend(archive::statement_difference(observations.measurements.iter()));
    if comparison.subjects.len() == 1 {
        comparison.warnings.push(ALONE.to_owned());
    }
    if observations.measurements.iter().any(|value| value.block > 0) {
        comparison.conditions.push(
            "Repetitions are paired by their numbers, or in their order; the error rates hold if \
             the runs of the variants alternated on the same host."
                .to_owned(),
        );
    }
    if results.runs()?.iter().any(|info| info.id == run && !info.finished) {
        comparison.warnings.push(format!(
            "the import of `{}` was cut short or goes on, so variants may be missing: import it \
             again",
            header.experiment
        ));
    }
    let irregular = header.irregular_places();
    if irregular > 0 {
        comparison.warnings.push(format!(
            "the archive `{}` had {}, which `import.json` of run `{run}` names",
            header.experiment,
            counted(irregular, "irregular place")
        ));
    }
    Ok(Compared { comparison, design, observations })
}

/// Says why nothing of an archive is compared.
fn uncompared(comparison: &Comparison, design: &Design) -> Option<String> {
    let [(first, _), (second, _), ..] = design.subjects.as_slice() else { return None };
    let phases = &comparison.phases;
    if phases.iter().flat_map(|phase| &phase.cells).any(|cell| cell.ratio.is_some()) {
        return None;
    }
    let has = |phase: &PhaseResult, subject: &String| {
        phase.cells.iter().any(|cell| *cell.subject == **subject && cell.value.is_some())
    };
    let mut pairs =
        design.subjects.iter().filter_map(|(label, base)| Some((base.as_ref()?, label)));
    let pair = pairs.next();
    let is_shared = |phase: &PhaseResult| {
        design.subjects.iter().filter(|(label, _)| has(phase, label)).count() > 1
    };
    if pair.is_none() && phases.iter().any(is_shared) {
        return Some(format!(
            "each variant has its own base, because it has its own summary; `--base {first}` \
             compares them"
        ));
    }
    let of = |subject: &String| {
        let phase = phases.iter().find(|phase| has(phase, subject))?;
        Some(format!("`{subject}` has `{}`", phase.phase))
    };
    let (base, other) = pair.unwrap_or((first, second));
    let listed: Vec<String> = [base, other].into_iter().filter_map(of).collect();
    Some(format!(
        "the variants share no test with the same number of clients: {}",
        listed.join(", ")
    ))
}

/// Says which repetitions are not compared, because the other variant has none of that number.
fn unpaired(values: &[Measurement], design: &Design) -> Option<String> {
    let mut blocks: BTreeMap<(&str, &str), BTreeSet<u32>> = BTreeMap::new();
    for value in values {
        blocks.entry((&*value.phase, &*value.subject)).or_default().insert(value.block);
    }
    let phases: BTreeSet<&str> = blocks.keys().map(|(phase, _)| *phase).collect();
    let mut alone = Vec::new();
    for (subject, base) in &design.subjects {
        let Some(base) = base else { continue };
        for phase in &phases {
            let [own, other] = [subject, base].map(|one| blocks.get(&(*phase, one.as_str())));
            let (Some(own), Some(other)) = (own, other) else { continue };
            // Without any pair the ratio is that of all, which another warning says.
            if own.len().max(other.len()) < 2 || own.is_disjoint(other) {
                continue;
            }
            for (name, left) in [(subject, own.difference(other)), (base, other.difference(own))] {
                let left = left.count();
                if left > 0 {
                    alone.push(format!("{left} of `{name}` in `{phase}`"));
                }
            }
        }
    }
    let more = alone.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    alone.truncate(NAMED);
    (!alone.is_empty()).then(|| {
        format!(
            "repetitions without a partner of the same number are in no ratio, and not in the \
             values that it is made of: {}{more}",
            alone.join(", ")
        )
    })
}

/// Every subject of an archive against the one that the archive compares it with, else its first.
fn design_of(header: &ImportHeader) -> Design {
    let first = header.subjects.first();
    let subjects = header.subjects.iter().map(|label| {
        let base = header.bases.get(label).or(first).filter(|base| *base != label);
        (label.clone(), base.cloned())
    });
    Design {
        experiment: header.experiment.clone(),
        question: format!("Imported archive {}", header.experiment),
        suite: header.experiment.clone(),
        subjects: subjects.collect(),
        ..Design::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::imported::Source;
    use store::Selection;

    /// A rate of a repetition.
    fn rate(subject: &str, block: u32) -> Measurement {
        Measurement {
            experiment: "a".into(),
            subject: subject.into(),
            phase: "read".into(),
            metric: "ops_per_second".into(),
            value: 1.0,
            state: SliceState::Measured,
            block,
            ..Measurement::default()
        }
    }

    #[test]
    fn repetitions_without_a_partner_are_told_where_others_have_one() {
        let subjects = vec![("x".to_owned(), None), ("y".to_owned(), Some("x".to_owned()))];
        let design = Design { subjects, ..Design::default() };
        let said = |own: &[u32]| {
            let base = [0, 1].map(|block| rate("x", block));
            let own = own.iter().map(|block| rate("y", *block));
            unpaired(&base.into_iter().chain(own).collect::<Vec<_>>(), &design)
        };
        let both = said(&[1, 2]).unwrap();
        assert!(both.ends_with(": 1 of `y` in `read`, 1 of `x` in `read`"), "{both}");
        assert_eq!(said(&[0, 1]), None);
        assert_eq!(said(&[2, 3]), None, "their ratio is that of all");
    }

    #[test]
    fn an_import_that_was_cut_short_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::open_or_create(folder.path().join("r")).unwrap();
        let measurement = rate("x", 0);
        let (text, source) = (String::new(), Source::default());
        let value = ImportedValue { measurement, text, source };
        let (experiment, subjects) = ("a".to_owned(), vec!["x".to_owned()]);
        let header = ImportHeader { experiment, subjects, ..ImportHeader::default() };
        let run = results.import(&header, &[value]).unwrap();
        let is_said = || {
            let stored = results.slices(&Selection::Run(run.clone())).unwrap();
            let found = compared(&results, stored.imported, &Request::default()).unwrap();
            let warnings = &found[0].0.comparison.warnings;
            warnings.iter().any(|said| said.starts_with("the import of `a` was cut short"))
        };
        assert!(!is_said());
        fs_err::remove_file(results.dir().join("runs").join(&run).join("finished")).unwrap();
        assert!(is_said());
    }
}
