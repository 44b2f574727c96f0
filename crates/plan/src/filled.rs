//! Tables that the load leaves empty: what a suite fills them with comes before what it looks for.

use crate::{
    Draft, Workload,
    draft::DraftPhase,
    error::{Error, Location},
};
use model::{experiment::Design, plan::PhaseKind};
use std::collections::BTreeSet;

/// A phase of a suite that writes until its roles end.
#[derive(Debug)]
pub(crate) struct Filling {
    name: String,
    /// Its place in the suite.
    place: usize,
    /// Index into [`Draft::workloads`].
    workload: usize,
}

/// Those of a suite, before any of its phases are left out.
pub(crate) fn fillings(
    phases: &[DraftPhase],
    workloads: &[Workload],
) -> Result<Vec<Filling>, Error> {
    let mut found = Vec::new();
    for DraftPhase { suite, place, workload } in phases {
        let script = &workloads[*workload];
        let may_fill = suite.kind.has_statements() && script.writes && !script.is_script();
        if may_fill && script.defaults()?.ends_by_itself() {
            found.push(Filling { name: suite.name.clone(), place: *place, workload: *workload });
        }
    }
    Ok(found)
}

/// Refuses a measured phase that would find empty tables, because the phase before it that fills
/// them is not executed, or not before it.
pub(crate) fn check(draft: &Draft, fillings: &[Filling], only: &[String]) -> Result<(), Error> {
    let schema = |workload: usize| draft.workloads[workload].schema.as_str();
    let mut filled: BTreeSet<&str> = BTreeSet::new();
    for phase in &draft.phases {
        let (name, kind) = (schema(phase.workload), phase.suite.kind);
        if fillings.iter().any(|one| one.place == phase.place) {
            if kind == PhaseKind::Measure || draft.experiment.design == Design::Classic {
                filled.insert(name);
            }
            continue;
        }
        let may_be_empty = kind == PhaseKind::Measure && !filled.contains(name);
        if !may_be_empty || !is_loaded_empty(draft, name) {
            continue;
        }
        let mut before = fillings.iter().filter(|one| one.place < phase.place);
        if let Some(before) = before.find(|one| schema(one.workload) == name) {
            return Err(not_filled(draft, phase, before, only));
        }
    }
    Ok(())
}

/// Whether the load leaves all tables of a schema empty.
fn is_loaded_empty(draft: &Draft, schema: &str) -> bool {
    let mut own = draft.schemas.iter().filter(|one| one.name == schema);
    own.any(|schema| schema.tables.iter().all(|table| table.rows == 0))
}

fn not_filled(draft: &Draft, phase: &DraftPhase, filling: &Filling, only: &[String]) -> Error {
    let kept = draft.phases.iter().find(|one| one.place == filling.place);
    let in_suite = || draft.places.of(&["suite"]);
    let (place, remedy) = match (kept.map(|one| one.suite.kind), draft.experiment.design) {
        (None, _) => {
            let file = format!("--only {}", only.join(","));
            (Location { file, line: None }, "leave `--only` out".to_owned())
        }
        (Some(PhaseKind::Warmup), Design::Interleaved) => {
            let of = &filling.name;
            let remedy = format!("the interleaved design skips warm-ups: give `{of}` no `kind`");
            (in_suite(), remedy)
        }
        _ => {
            let remedy = "what only reads runs first, but in a suite with `order = \"fixed\"`";
            (in_suite(), remedy.to_owned())
        }
    };
    let reason = format!(
        "`{}` would find empty tables, because `{}`, which fills them, is not executed before it; \
         {remedy}",
        phase.suite.name, filling.name
    );
    Error::Invalid { place, reason }
}
