//! What an experiment writes and nothing uses: notes, because a run does what it says all the same.

use crate::talk;
use model::{experiment::Design, quoted};
use plan::Draft;

/// Says what of an experiment has no effect.
pub(crate) fn tell(draft: &Draft) {
    notes(draft).iter().for_each(|note| talk::say(&format!("note: {note}")));
}

fn notes(draft: &Draft) -> Vec<String> {
    let unused = draft
        .unused()
        .into_iter()
        .map(|table| format!("`[{table}]` is used by nothing: name it in `factors` to measure it"));
    let mut notes: Vec<String> = unused.collect();
    let (idle, own) = draft.idle_keys();
    let design = match draft.experiment.design {
        Design::Interleaved => "interleaved",
        Design::Classic => "classic",
    };
    notes.extend(idle.into_iter().map(|key| {
        format!("`{key}` has no effect in the {design} design, which takes {}", quoted(own))
    }));
    notes.extend(draft.idle_lengths().into_iter().map(|key| {
        format!("`{key}` has no effect: the phases of this experiment say themselves when they end")
    }));
    let (sizes, parameters) = draft.idle_sizes();
    let instead = match parameters.as_slice() {
        [] => String::new(),
        names => format!("; its tables have the parameters {}", quoted(names)),
    };
    notes.extend(sizes.iter().map(|key| {
        format!(
            "`{key}` has no effect: no table and no statement of this experiment follows \
             it{instead}"
        )
    }));
    if let Some([one, other]) = draft.attached_twice() {
        let both = format!("`{one}` and `{other}` are one server");
        notes.push(format!("{both}: what differs between them is noise"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_told_with_what_has() {
        let catalog = plan::Catalog::embedded().unwrap();
        let check = |set: &[&str], expected: &str| {
            let set = set.iter().map(|text| (*text).to_owned()).collect();
            let overrides = plan::Overrides { set, ..plan::Overrides::default() };
            let draft = plan::load_experiment("quickstart", &catalog, &overrides).unwrap();
            assert_eq!(notes(&draft).join("\n"), expected);
        };
        check(&["slice_seconds=1", "rows=1000"], "");
        check(
            &["at_once=2"],
            "`at_once` has no effect in the interleaved design, which takes `rounds`, \
             `slice_seconds`",
        );
        check(
            &["suite=tpcc", "tables=4"],
            "`rows` has no effect: no table and no statement of this experiment follows it; its \
             tables have the parameters `foreign_keys`, `warehouses`\n\
             `tables` has no effect: no table and no statement of this experiment follows it; its \
             tables have the parameters `foreign_keys`, `warehouses`",
        );
    }
}
