//! What a run measured of a phase, beside what an explanation found on other starts of the servers.

use crate::comparison::observed_in;
use analysis::{Design, geometric_mean};
use model::{
    explanation::{Explanation, Quantity, Side},
    measurement::Measurement,
    plan::Plan,
};
use store::{Results, Selection};

/// Costs that differ by less are of one state of servers and host, about.
const NEAR: f64 = 1.5;

/// A sentence where an explanation found costs that are far from those of its run: then its shares
/// are those of another state, or of other operations.
pub(crate) fn far_from(
    explanation: &Explanation,
    results: &Results,
    run: &str,
    plan: &Plan,
) -> anyhow::Result<Option<String>> {
    let phase = plan.phases.iter().find(|phase| phase.name == explanation.phase);
    if phase.is_some_and(|phase| phase.script.has_named_roles()) {
        return Ok(Some(of_roles(&explanation.phase)));
    }
    let (metric, unit, per_unit) = match explanation.by {
        Quantity::Instructions => ("foreground_user_instructions_per_op", "instructions", 1.0),
        Quantity::CpuTime => ("foreground_cpu_us_per_op", "us", 1000.0),
    };
    let stored = results.slices(&Selection::Run(run.to_owned()))?;
    let found = observed_in(&Design::of(plan), &stored.slices);
    let measured = |side: &Side| {
        let own = found.measurements.iter();
        let own = own.filter(|one| one.phase == explanation.phase && one.subject == side.subject);
        per_operation(&own.collect::<Vec<_>>(), metric)
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

/// A cost in a run as an explanation has it, which divides by operations: runs may divide by their
/// statements or rows.
fn per_operation(values: &[&Measurement], metric: &str) -> Option<f64> {
    let mean = |name: &str| {
        let own = values.iter().filter(|one| one.metric == name);
        geometric_mean(&own.map(|one| one.value).collect::<Vec<_>>())
    };
    Some(mean(metric)? * mean("ops_per_second")? / mean("transactions_per_second")?)
}

/// Roles have rates and connections of their own in a run.
fn of_roles(phase: &str) -> String {
    format!(
        "`{phase}` divides its work among roles, and here one connection executes the operations \
         of all, by their weights: costs per operation are not those that the run measured"
    )
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
    use crate::versions::HostVersions;
    use model::explanation::{EXPLANATION_FORMAT, WarmUp};

    #[test]
    fn what_a_run_measured_of_roles_is_not_compared() {
        let catalog = ::plan::Catalog::embedded().unwrap();
        let set = vec!["suite=tsbm".to_owned()];
        let overrides = ::plan::Overrides { set, seed: Some(1), ..Default::default() };
        let draft = ::plan::load_experiment("quickstart", &catalog, &overrides).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let places = dbms::Places::at(folder.path(), None).unwrap();
        let plan = ::plan::plan(&draft, &catalog, &HostVersions { places: &places }).unwrap();
        let results = Results::open_or_create(folder.path().join("results")).unwrap();
        let side = Side {
            subject: "a".to_owned(),
            warm_up: WarmUp { steady: true, ..WarmUp::default() },
            operations: 1,
            cost: 1,
            ..Side::default()
        };
        let own = plan.phases.iter().find(|phase| phase.script.has_named_roles()).unwrap();
        let explanation = Explanation {
            format: EXPLANATION_FORMAT,
            phase: own.name.clone(),
            by: Quantity::Instructions,
            means: String::new(),
            sides: [side.clone(), side],
        };
        let said = far_from(&explanation, &results, "r", &plan).unwrap().unwrap();
        assert!(said.contains("divides its work among roles"), "{said}");
    }

    #[test]
    fn what_a_run_divides_by_statements_is_compared_by_operation() {
        let value = |metric: &str, value: f64| Measurement {
            metric: metric.into(),
            value,
            ..Measurement::default()
        };
        // A transaction has 20 statements.
        let cost = value("foreground_cpu_us_per_op", 30.0);
        let rates = [value("ops_per_second", 2000.0), value("transactions_per_second", 100.0)];
        let of = |values: &[&Measurement]| per_operation(values, "foreground_cpu_us_per_op");
        assert_eq!(of(&[&cost, &rates[0], &rates[1]]), Some(600.0));
        assert_eq!(of(&[&cost, &rates[0]]), None);
    }

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
