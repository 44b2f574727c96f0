//! What a run measured of a phase, beside what an explanation found on other starts of the servers.

use crate::comparison::observed_in;
use analysis::{Design, geometric_mean};
use model::{
    explanation::{Explanation, Quantity, Side},
    plan::Plan,
};
use store::{Results, Selection};

/// Costs that differ by less are of one state of servers and host, about.
const NEAR: f64 = 1.5;

/// A sentence where an explanation found costs that are far from those of its run: then its shares
/// are those of another state.
pub(crate) fn far_from(
    explanation: &Explanation,
    results: &Results,
    run: &str,
    plan: &Plan,
) -> anyhow::Result<Option<String>> {
    let (metric, unit, per_unit) = match explanation.by {
        Quantity::Instructions => ("foreground_user_instructions_per_op", "instructions", 1.0),
        Quantity::CpuTime => ("foreground_cpu_us_per_op", "us", 1000.0),
    };
    let stored = results.slices(&Selection::Run(run.to_owned()))?;
    let found = observed_in(&Design::of(plan), &stored.slices);
    let measured = |side: &Side| {
        let own = found.measurements.iter().filter(|one| {
            one.metric == metric && one.phase == explanation.phase && one.subject == side.subject
        });
        geometric_mean(&own.map(|one| one.value).collect::<Vec<_>>())
    };
    let [base, variant] = explanation.sides.each_ref();
    let (Some(of_base), Some(of_variant)) = (measured(base), measured(variant)) else {
        return Ok(None);
    };
    let explained = [base, variant].map(|side| {
        let operations = side.operations.max(1) as f64;
        side.cost as f64 / operations / per_unit
    });
    Ok(sentence([of_base, of_variant], explained, unit))
}

/// The same of values per operation: base first.
fn sentence(measured: [f64; 2], explained: [f64; 2], unit: &str) -> Option<String> {
    let is_far = measured.iter().zip(&explained).any(|(measured, explained)| {
        let ratio = explained / measured;
        !(1.0 / NEAR..=NEAR).contains(&ratio)
    });
    is_far.then(|| {
        let [[b, v], [base, variant]] = [measured, explained].map(|pair| pair.map(short));
        format!(
            "the run measured {b} and {v} {unit} per operation, and what is explained here took \
             {base} and {variant}: servers or host were in another state, so the shares may be \
             others too; explain it again when the host is quiet"
        )
    })
}

/// Three digits.
fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_state_of_the_host_is_told() {
        let check = |explained: [f64; 2], expected: bool| {
            let said = sentence([32.0, 10.2], explained, "us");
            assert_eq!(said.is_some(), expected, "{explained:?}");
        };
        check([33.0, 10.0], false);
        check([22.0, 15.0], false);
        check([73.3, 12.9], true);
        check([32.0, 5.0], true);
        let said = sentence([32.0, 10.2], [73.27, 12.94], "us").unwrap();
        let start = "the run measured 32.0 and 10.2 us per operation, and what is explained here \
                     took 73.3 and 12.9: ";
        assert!(said.starts_with(start), "{said}");
    }
}
