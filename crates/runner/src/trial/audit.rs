//! What is held against the tables and against chance after a phase: a workload that did not do
//! what it should has no number, however fast it was.

use super::Trial;
use crate::{
    Error,
    run::Run,
    server::{Instance, Seen},
};
use model::{
    drawn::{Drawn, Expected},
    number::counted,
    plan::Phase,
    schedule::Slice,
    schema::Check,
    script::{Committed, Script},
};

/// What a phase that is going on will be held against.
pub(crate) struct Audit {
    /// Its position in the plan.
    pub(crate) phase: usize,
    checks: Vec<Check>,
    /// The operation that the tables count too, and their count at the start.
    committed: Option<(Committed, i64)>,
    /// The last slice that was executed.
    last: Option<Slice>,
}

impl Trial {
    /// Notes a slice that was executed.
    pub(crate) fn note_audited(&mut self, slice: &Slice) {
        if let Some(audit) = &mut self.audit {
            audit.last = Some(slice.clone());
        }
    }

    /// Begins to audit a phase, if there is anything to hold it against. Its connections are open
    /// and none of its operations was executed.
    pub(crate) fn begin_audit(&mut self, run: &Run<'_>, phase: usize) -> Result<(), Error> {
        let about = &run.plan.phases[phase];
        // The pieces of a phase are audited together.
        if self.audit.as_ref().is_some_and(|audit| audit.phase == phase) {
            return Ok(());
        }
        self.audit = None;
        if self.broken.is_some() || self.unable.is_some() {
            return Ok(());
        }
        let Some(checks) = checks_of(run, about)? else { return Ok(()) };
        self.instance.driver.seen = Seen::default();
        let committed = about.script.coded.as_ref().and_then(|coded| coded.committed.clone());
        let committed = match committed {
            None => None,
            Some(committed) => {
                let found = self.thawed(|trial| number(&mut trial.instance, &committed.sql));
                let Some(start) = self.keep_apart(found)? else { return Ok(()) };
                Some((committed, start))
            }
        };
        self.audit = Some(Audit { phase, checks, committed, last: None });
        Ok(())
    }

    /// Ends the audit of a phase: its last slice and why the phase counts nothing, if it is so.
    pub(crate) fn end_audit(&mut self, run: &Run<'_>) -> Result<Option<(Slice, String)>, Error> {
        let Some(audit) = self.audit.take() else { return Ok(None) };
        let Some(last) = audit.last.clone().filter(|_| self.broken.is_none()) else {
            return Ok(None);
        };
        let script = &run.plan.phases[audit.phase].script;
        let found = self.thawed(|trial| problems(trial, &audit, script));
        let Some(problems) = self.keep_apart(found)? else { return Ok(None) };
        if problems.is_empty() {
            let told = passed(&audit, script, &self.instance.driver.seen);
            self.event("audited", &told, None)?;
            return Ok(None);
        }
        let reason = format!("the audit of the phase failed: {}", problems.join("; "));
        self.event("error", &reason, None)?;
        Ok(Some((last, reason)))
    }
}

/// The conditions of a phase that writes; none of one that has nothing to audit.
fn checks_of(run: &Run<'_>, phase: &Phase) -> Result<Option<Vec<Check>>, Error> {
    if !phase.kind.has_statements() {
        return Ok(None);
    }
    let checks = match phase.script.writes() {
        true => run.schema_of(phase)?.checks.clone(),
        false => Vec::new(),
    };
    Ok((phase.script.coded.is_some() || !checks.is_empty()).then_some(checks))
}

/// The number that a query gives; NULL is 0.
pub(crate) fn number(instance: &mut Instance, sql: &str) -> Result<i64, Error> {
    let rows = instance.driver.query(sql)?;
    let first = rows.first().and_then(|row| row.first().cloned());
    let Some(text) = first.flatten() else { return Ok(0) };
    whole(text.trim()).ok_or_else(|| Error::Sql {
        message: format!("`{sql}` gives `{text}`, which is no whole number"),
        lost: false,
    })
}

/// Servers may write a sum with decimals. A part of one is not 0, which would say that all is well.
fn whole(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    whole.parse().ok().filter(|_| part.bytes().all(|digit| digit == b'0'))
}

/// What is wrong, one sentence each.
fn problems(trial: &mut Trial, audit: &Audit, script: &Script) -> Result<Vec<String>, Error> {
    let mut problems = Vec::new();
    for check in &audit.checks {
        let violations = number(&mut trial.instance, &check.sql)?;
        if violations != 0 {
            let many = counted(violations.unsigned_abs(), "violation");
            problems.push(format!("{} ({many})", check.name));
        }
    }
    let seen = &trial.instance.driver.seen;
    problems.extend(seen.drawn.iter().chain(&mix(script, seen)).filter_map(Drawn::unlikely));
    if let Some((committed, start)) = &audit.committed {
        let counted = seen.committed(&committed.op) as i64;
        let grown = number(&mut trial.instance, &committed.sql)? - start;
        if grown != counted {
            problems.push(format!(
                "`{}` committed {counted} times, and `{}` grew by {grown}",
                committed.op, committed.sql
            ));
        }
    }
    Ok(problems)
}

/// How often each operation was begun, against its weight. Those that the end cut count, too: with
/// many connections it cuts the long ones more often than others. Not of users who pause before
/// operations: the end of a stretch comes before those with long pauses more often than before
/// others.
fn mix(script: &Script, seen: &Seen) -> Vec<Drawn> {
    let draws: u64 = seen.ops.values().map(|seen| seen.begun).sum();
    let [role] = script.roles.as_slice() else { return Vec::new() };
    if role.ops.iter().any(|op| op.has_pauses()) {
        return Vec::new();
    }
    let weights: f64 = role.ops.iter().map(|op| f64::from(op.weight)).sum();
    let of = |op: &model::script::Op| Drawn {
        name: format!("operations `{}`", op.name),
        count: seen.ops.get(&op.name).map_or(0, |seen| seen.begun),
        draws,
        expected: Some(Expected::share(f64::from(op.weight) / weights)),
    };
    role.ops.iter().map(of).collect()
}

/// One line for the record.
fn passed(audit: &Audit, script: &Script, seen: &Seen) -> String {
    let drawn = seen.drawn.iter().filter(|drawn| drawn.expected.is_some()).count();
    let shares = drawn + mix(script, seen).len();
    let mut told = format!(
        "{} hold; {} are within 4 standard deviations of what is expected",
        counted(audit.checks.len() as u64, "condition"),
        counted(shares as u64, "count")
    );
    if let Some((committed, _)) = &audit.committed {
        let count = seen.committed(&committed.op);
        told.push_str(&format!("; the tables have the {count} committed `{}`", committed.op));
    }
    let counts =
        seen.drawn.iter().map(|one| format!("{} {} of {}", one.name, one.count, one.draws));
    let counts: Vec<String> = counts.collect();
    if !counts.is_empty() {
        told.push_str(&format!(" ({})", counts.join(", ")));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::OpSeen;
    use crate::testing::{op, script};
    use model::script::{Op, Pauses, Role};

    #[test]
    fn what_is_no_whole_number_does_not_pass_for_one() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(whole(text), expected, "{text}");
        check("0", Some(0));
        check("-3", Some(-3));
        check("12.000", Some(12));
        check("0.5", None);
        check("-0.01", None);
        check("1e3", None);
        check("", None);
    }

    #[test]
    fn a_shifted_mix_is_found() {
        let mut script = script();
        let weighted = |name: &str, weight| Op { weight, ..op(name, Vec::new()) };
        let ops = vec![weighted("new-order", 45), weighted("payment", 55)];
        script.roles = vec![Role { ops, ..Role::default() }];
        let check = |counts: [u64; 2], expected: usize| {
            let ops = ["new-order", "payment"].map(str::to_owned).into_iter();
            let seen = counts.map(|begun| OpSeen { begun, committed: 0 });
            let ops = ops.zip(seen).collect();
            let seen = Seen { ops, ..Seen::default() };
            let unlikely = mix(&script, &seen).iter().filter_map(Drawn::unlikely).count();
            assert_eq!(unlikely, expected, "{counts:?}");
        };
        check([4500, 5500], 0);
        check([4690, 5310], 0);
        check([4750, 5250], 2);
        check([0, 10_000], 2);
    }

    #[test]
    fn users_with_pauses_are_not_held_to_their_weights() {
        let mut script = script();
        let keying = |name: &str, keying_ms| {
            let pauses = Pauses { keying_ms, think_ms: 0 };
            Op { pauses, ..op(name, Vec::new()) }
        };
        let ops = vec![keying("new-order", 18_000), keying("payment", 3_000)];
        script.roles = vec![Role { ops, ..Role::default() }];
        let seen = |name: &str, begun| (name.to_owned(), OpSeen { begun, committed: begun });
        let ops = [seen("new-order", 400), seen("payment", 600)].into();
        assert_eq!(mix(&script, &Seen { ops, ..Seen::default() }), []);
    }
}
