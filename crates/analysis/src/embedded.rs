//! Engines inside the load engine's process beside servers: there is no way between client and
//! server to compare with.

use crate::PhaseResult;
use model::{
    mark::{EMBEDDED, EMBEDDED_EARLIER, Mark},
    quoted,
};
use std::collections::BTreeSet;

/// Whether a subject's engine works inside the load engine: marks of its costs tell.
pub(crate) fn is_embedded(phase: &PhaseResult, subject: &str) -> bool {
    let says = |mark: &Mark| match mark {
        Mark::Note(note) => [EMBEDDED, EMBEDDED_EARLIER].contains(&note.as_str()),
        Mark::Missed(_) => false,
    };
    let mut cells = phase.cells.iter().filter(|cell| cell.subject == *subject);
    cells.any(|cell| cell.marks.iter().any(says))
}

/// A sentence where embedded engines and servers are compared.
pub(crate) fn architecture(phases: &[PhaseResult]) -> Option<String> {
    let cells = || phases.iter().flat_map(|phase| phase.cells.iter().map(move |one| (phase, one)));
    let subjects: BTreeSet<&str> = cells().map(|(_, cell)| cell.subject.as_str()).collect();
    let (embedded, servers): (Vec<&str>, Vec<&str>) = subjects
        .into_iter()
        .partition(|subject| phases.iter().any(|phase| is_embedded(phase, subject)));
    if embedded.is_empty() || servers.is_empty() {
        return None;
    }
    let (is, works) = if embedded.len() == 1 { ("is", "it works") } else { ("are", "they work") };
    Some(format!(
        "{} {is} embedded: {works} inside the client's process, without the messages and the \
         switches between processes that every statement costs on {}. Compare what each needs as a \
         whole, not the engines alone.",
        quoted(&embedded),
        quoted(&servers)
    ))
}
