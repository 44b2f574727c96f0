//! HammerDB's line `TEST RESULT : System achieved N NOPM from M … TPM`, or `M … TPM at N NOPM` of
//! versions before 4.

use super::Importer;
use crate::{Fault, File, FileHead, Found, Line, number};
use std::collections::BTreeMap;

/// What failed users say.
const FAILED: [&str; 2] = ["FINISHED FAILED", "Error in Virtual User"];

const RESULT: &str = "TEST RESULT : System achieved ";

pub(super) const IMPORTER: Importer = Importer {
    name: "hammerdb",
    help: "output of HammerDB: new orders and transactions of every TEST RESULT line",
    ends_anywhere: true,
    is_own_file: true,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.holds("TEST RESULT :") || head.holds("HammerDB CLI") || head.holds("Vuser 1:")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    file.is_of_no_failed_run(&FAILED)?;
    let mut cell = file.loose_cell("tproc-c");
    let mut rounds: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    let mut last = 0;
    for line in file.lines() {
        last = line.number;
        if let Some(users) = active_users(&line) {
            cell.clients = Some(users);
        }
        let Some((_, result)) = line.text.split_once(RESULT) else { continue };
        let words: Vec<&str> = result.split_whitespace().collect();
        let parsed = match words.as_slice() {
            [orders, "NOPM", "from", all, .., "TPM"] | [all, .., "TPM", "at", orders, "NOPM"] => {
                number::parse(orders).zip(number::parse(all)).map(|_| (*orders, *all))
            }
            _ => None,
        };
        let Some((orders, all)) = parsed else {
            let shown = number::excerpt(result);
            found.warn(last, format!("`{shown}` is not `N NOPM from M … TPM`; it is left out"));
            continue;
        };
        // The same number of users again is a repetition.
        let round = rounds.entry(cell.clients).or_default();
        cell.round = *round;
        *round += 1;
        found.scaled(&cell, "ops_per_second", (orders, 1.0 / 60.0), last);
        found.scaled(&cell, "transactions_per_second", (all, 1.0 / 60.0), last);
    }
    if found.values.is_empty() {
        return Err(Fault::new(last, format!("no line says `{}…`", RESULT.trim_end())));
    }
    Ok(())
}

/// `Vuser 1:8 Active Virtual Users configured`.
fn active_users(line: &Line<'_>) -> Option<u32> {
    let (before, _) = line.text.split_once(" Active Virtual Users")?;
    before.rsplit(':').next()?.trim().parse().ok().filter(|users| *users > 0)
}
