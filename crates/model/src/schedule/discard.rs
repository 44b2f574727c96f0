//! Discarded work before the first round of a phase: as much as brings the caches and hash indexes
//! of a server to the state in which they stay.

use crate::{
    plan::Phase,
    script::{Lookups, Script, Statement},
};
use std::collections::{BTreeMap, BTreeSet};

/// Searches of an index per row of the tables that each subject does, discarded, before the first
/// round of a reading phase. Caches are full by then, but InnoDB's adaptive hash index serves a
/// page only after several accesses to it: until it does, MySQL 5.6 spends 49,700 instead of
/// 35,000 user instructions on a point query. With 1M rows 67,000 operations left it at 41,600 in
/// one block and at 58,000 in another, 115,000 at 45,500; after 200,000 one of 40 queries that
/// were stepped still met a page without an entry, as is likely where 14 accesses per page are the
/// mean and about 8 are needed. At 21 it is one in thousands. Ten searches of one operation count
/// as those of ten.
const PER_ROW: f64 = 0.3;
/// The same at the least, where earlier phases of the block have read through the same indexes:
/// for what is this phase's own, such as plans, the pages of other columns, and the entries of the
/// hash index, which ranges make anew. A range of 100 of 150,000 rows cost MySQL 5.6 255,000 to
/// 265,000 instructions before 16,000 of them were done, and 249,500 from then on.
const PER_ROW_AGAIN: f64 = 0.1;
/// Keys that a search reads at which its own cost no longer matters. There, a search without an
/// entry costs 14,700 instructions more, and each further key of a range 2,150: of so many keys it
/// is 0.25 % of the operation.
const KEYS: f64 = 2_700.0;
/// The same, at least and at most, in slices' worth of work. On a slow host slices have few
/// operations; what the state of a server is must not follow from that before long.
const READING: (f64, f64) = (1.0, 40.0);
/// Slices' worth before a writing phase, whose state is not to be used up before it is measured.
const WRITING: f64 = 0.5;

/// Mark of what is measured after less work than [`PER_ROW`] asks for.
pub const SHORT: &str = "caches may be cold: the warm-up was cut short";

/// Work before the first round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Discard {
    /// How much, in slices' worth.
    pub(super) slices: f64,
    /// Whether it is less than it should be.
    pub(super) short: bool,
}

/// What is read through: a schema and the indexes of its tables.
type ReadThrough = (String, BTreeSet<String>);

/// Searches that each subject has done since its start in phases that only read.
#[derive(Debug, Default)]
pub(super) struct Reads(BTreeMap<ReadThrough, f64>);

impl Reads {
    /// What a phase discards, on tables of so many rows, whose slices have so many operations on
    /// all connections together.
    pub(super) fn before(&self, phase: &Phase, rows: f64, operations: u64) -> Discard {
        if phase.script.writes() {
            return Discard { slices: WRITING, short: false };
        }
        let done = self.0.get(&read_through(&phase.script)).copied().unwrap_or(0.0);
        let searches = (PER_ROW * rows - done).max(PER_ROW_AGAIN * rows);
        let wanted = operations_of(phase.script.lookups(), searches) / operations.max(1) as f64;
        Discard { slices: wanted.clamp(READING.0, READING.1), short: wanted > READING.1 }
    }

    /// Notes what a phase did, discarded and measured; writes leave other pages behind.
    pub(super) fn add(&mut self, script: &Script, operations: f64) {
        if !script.writes() {
            let searches = operations * script.lookups().searches;
            *self.0.entry(read_through(script)).or_default() += searches;
        }
    }
}

/// Operations with so many searches, as far as searches matter to them.
fn operations_of(lookups: Lookups, searches: f64) -> f64 {
    let Lookups { searches: of_one, keys } = lookups;
    if of_one == 0.0 {
        return 0.0;
    }
    searches / of_one * (1.0 - (keys / of_one - 1.0) / KEYS).max(0.0)
}

fn read_through(script: &Script) -> ReadThrough {
    let statements: Vec<&Statement> = script.statements().collect();
    // Who does not say what it reads through shares with nobody.
    if statements.iter().any(|statement| statement.index.is_empty()) {
        return (script.schema.clone(), BTreeSet::from([format!("of {}", script.workload)]));
    }
    let indexes = statements.iter().flat_map(|statement| statement.index.iter().cloned());
    (script.schema.clone(), indexes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::PhaseKind, schedule::testing, workload::Class};

    const ROWS: f64 = 1e6;

    fn reading(name: &str, index: &str) -> Phase {
        let mut phase = testing::phase(name, PhaseKind::Measure, Class::Read);
        phase.script.roles[0].ops[0].statements[0].index =
            index.split_whitespace().map(str::to_owned).collect();
        phase
    }

    #[test]
    fn what_is_discarded_first_depends_on_the_work_of_all_connections() {
        let phase = reading("w", "primary");
        let discard = |operations| Reads::default().before(&phase, ROWS, operations);
        // A phase of one client whose roles have ten connections: 100,000 operations a slice.
        assert_eq!(discard(100_000), Discard { slices: 3.0, short: false });
        assert_eq!(discard(u64::MAX), Discard { slices: READING.0, short: false });
        assert_eq!(discard(0), Discard { slices: READING.1, short: true });
    }

    #[test]
    fn what_earlier_phases_read_through_the_same_indexes_counts() {
        let mut reads = Reads::default();
        reads.add(&reading("point", "primary").script, 120_000.0);
        let slices = |reads: &Reads, phase: &Phase| reads.before(phase, ROWS, 10_000).slices;
        assert_eq!(slices(&reads, &reading("range", "primary")), 18.0);
        assert_eq!(slices(&reads, &reading("secondary", "k_{n}")), 30.0);
        assert_eq!(slices(&reads, &reading("unsaid", "")), 30.0);
        reads.add(&reading("point", "primary").script, 1e6);
        assert_eq!(slices(&reads, &reading("range", "primary")), 10.0);
        reads.add(&reading("unsaid", "").script, 1e6);
        assert_eq!(slices(&reads, &reading("another", "")), 30.0);
    }

    #[test]
    fn searches_count_and_not_operations() {
        let mut phase = reading("w", "primary");
        let slices = |phase: &Phase| Reads::default().before(phase, ROWS, 10_000).slices.round();
        assert_eq!(slices(&phase), 30.0);
        let statement = |phase: &mut Phase, change: &dyn Fn(&mut Statement)| {
            change(&mut phase.script.roles[0].ops[0].statements[0]);
        };
        statement(&mut phase, &|statement| statement.repeat = 10);
        assert_eq!(slices(&phase), 3.0);
        // Ten ranges of 1,350 keys: half as much.
        statement(&mut phase, &|statement| statement.expect.keys = Some(1_351));
        assert_eq!(slices(&phase), 2.0);
        statement(&mut phase, &|statement| statement.expect.keys = Some(10_000));
        assert_eq!(slices(&phase), READING.0);
        // Ten queries that each read three rows: a third.
        statement(&mut phase, &|statement| statement.expect.reads = Some(3));
        assert_eq!(slices(&phase), READING.0);
        statement(&mut phase, &|statement| statement.expect.reads = None);
        statement(&mut phase, &|statement| statement.index = vec!["none".to_owned()]);
        assert_eq!(slices(&phase), READING.0);
    }
}
