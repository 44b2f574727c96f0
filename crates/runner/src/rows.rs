//! Row accounting: what the load engine counted must be what the tables hold.

use crate::{Error, run::Run, trial::Trial};
use model::{
    Parameters,
    drive::StretchReport,
    plan::Phase,
    schema::{Schema, Table},
    workload::Workload,
};

/// Names of all tables of a phase's schema.
pub(crate) fn tables(run: &Run<'_>, phase: &Phase) -> Result<Vec<String>, Error> {
    Ok(names(run.schema_of(phase)?, &phase.parameters))
}

/// Names of all tables of a schema, copies and all.
pub(crate) fn names(schema: &Schema, parameters: &Parameters) -> Vec<String> {
    let of = |table: &Table| -> Vec<String> {
        let copies = table.copies.evaluate(parameters).unwrap_or(1);
        (1..=copies).map(|n| table.name.replace("{n}", &n.to_string())).collect()
    };
    schema.tables.iter().flat_map(of).collect()
}

/// Rows of all tables of a phase's schema, counted by the server itself.
pub(crate) fn count(run: &Run<'_>, trial: &mut Trial, phase: &Phase) -> Result<u64, Error> {
    let mut rows = 0;
    for name in tables(run, phase)? {
        let counted = trial.stand.driver.query(&format!("SELECT COUNT(*) FROM {name}"))?;
        let first = counted.into_iter().flatten().flatten().next();
        rows += first.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(rows)
}

/// Rows that the tables must hold after `work`, if they held `before`.
pub(crate) fn expected(before: u64, workload: &Workload, work: &StretchReport) -> i128 {
    let changed = |verb: &str| -> i128 {
        let names =
            workload.ops.iter().filter(|op| op.begins_with(verb)).map(|op| op.name.as_str());
        let names: Vec<&str> = names.collect();
        let ops = work.ops.iter().filter(|op| names.contains(&op.name.as_str()));
        ops.map(|op| i128::from(op.rows_changed)).sum()
    };
    i128::from(before) + changed("INSERT") - changed("DELETE")
}

/// One sentence where the tables hold another number of rows than the engine's counts say.
pub(crate) fn mismatch(expected: i128, found: u64) -> Option<String> {
    (expected != i128::from(found)).then(|| {
        format!(
            "the tables hold {found} rows, but by the rows that the server reported as inserted \
             and deleted they should hold {expected}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_row_is_told() {
        assert_eq!(mismatch(100, 100), None);
        let told = mismatch(101, 100).unwrap();
        assert!(told.contains("100 rows") && told.contains("101"), "{told}");
        assert!(mismatch(-1, 0).is_some());
    }
}
