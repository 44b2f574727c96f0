//! What was read and written by file, table and index, as servers count it, beside what their
//! device did.

use super::Section;
use crate::{
    details::{Counted, Traffic},
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
};
use analysis::Comparison;
use std::collections::BTreeMap;

pub(super) const SECTION: Section = Section { name: "reads", write };

/// Places in a table; what is left is one row.
const PLACES: usize = 20;

/// KiB of a block of Postgres, unless it was built with others.
const BLOCK_KIB: f64 = 8.0;

/// A kind of counter: what its place is called, how its name ends, and what it counts.
struct Kind {
    group: &'static str,
    end: &'static str,
    of: fn(&mut Traffic) -> [Option<&mut Option<f64>>; 2],
    /// KiB of one of it, where it counts both requests and bytes.
    kib: f64,
}

const fn requests(group: &'static str, end: &'static str, kib: f64) -> Kind {
    Kind { group, end, of: |traffic| [Some(&mut traffic.reads), Some(&mut traffic.read_kib)], kib }
}

const fn reads(group: &'static str, end: &'static str) -> Kind {
    Kind { group, end, of: |traffic| [Some(&mut traffic.reads), None], kib: 0.0 }
}

const fn read_bytes(group: &'static str, end: &'static str) -> Kind {
    Kind { group, end, of: |traffic| [None, Some(&mut traffic.read_kib)], kib: 1.0 / 1024.0 }
}

const fn writes(group: &'static str, end: &'static str) -> Kind {
    Kind { group, end, of: |traffic| [Some(&mut traffic.writes), None], kib: 0.0 }
}

const fn write_bytes(group: &'static str, end: &'static str) -> Kind {
    Kind { group, end, of: |traffic| [None, Some(&mut traffic.write_kib)], kib: 1.0 / 1024.0 }
}

/// The counters that tell places, by the group and the end of their names. Blocks of a table of
/// Postgres are those of its rows; each index has its own.
const KINDS: [Kind; 14] = [
    requests("index", "idx_blks_read", BLOCK_KIB),
    requests("table", "heap_blks_read", BLOCK_KIB),
    requests("table", "toast_blks_read", BLOCK_KIB),
    requests("table", "tidx_blks_read", BLOCK_KIB),
    requests("table", "system_blks_read", BLOCK_KIB),
    writes("io", "writes"),
    write_bytes("io", "write_bytes"),
    reads("file", "reads"),
    read_bytes("file", "read_bytes"),
    writes("file", "writes"),
    write_bytes("file", "write_bytes"),
    reads("table", "BLOCK_READ_COUNT"),
    read_bytes("table", "BLOCK_READ_BYTE"),
    read_bytes("status", "Rocksdb_compact_read_bytes"),
];

/// What counters of the whole server stand for.
const COMPACTION: &str = "compaction";

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let tables: Vec<(String, Item)> = inputs
        .comparison
        .phases
        .iter()
        .flat_map(|phase| in_order(inputs, &phase.phase))
        .filter_map(|counted| {
            let table = table(counted)?;
            Some((format!("`{}`: {}", counted.phase, counted.subject), Item::Table(table)))
        })
        .collect();
    if tables.is_empty() {
        return;
    }
    document.section("reads", "Reads and writes by file and index");
    document.paragraph(
        "What the servers counted over the measured windows, per operation. The share explained \
         is their sum relative to what the block device of the data folder did, by whoever caused \
         it, and to what the server's processes did. It is more than 1 where the page cache \
         answered, where pages were written over before they left it, or where the device merged \
         requests; it is less where a server does not count all of its files.",
    );
    for (title, table) in tables {
        document.fold(title, vec![table]);
    }
}

/// The servers of a phase, bases first, as in all other tables.
fn in_order<'a>(inputs: &Inputs<'a>, phase: &str) -> Vec<&'a Counted> {
    let Comparison { subjects, bases, .. } = inputs.comparison;
    let counted = &inputs.details.counted;
    let mut own: Vec<&Counted> = counted.iter().filter(|one| one.phase == phase).collect();
    own.sort_by_key(|one| {
        let place = subjects.iter().position(|label| *label == one.subject);
        (!bases.contains(&one.subject), place)
    });
    own
}

/// The places of one server in a phase, their sum, the device, and the share of it that they are;
/// none where the server tells none.
fn table(counted: &Counted) -> Option<Table> {
    let mut places: Vec<(String, Traffic)> = traffic(&counted.per_op).into_iter().collect();
    // Postgres 16 and 17 count requests to write, and no bytes of them.
    places.retain(|(_, own)| own.parts().into_iter().flatten().any(|moved| moved > 0.0));
    if places.is_empty() {
        return None;
    }
    places.sort_by(|a, b| b.1.kib().total_cmp(&a.1.kib()));
    let sum = places.iter().fold(Traffic::default(), |sum, (_, own)| sum.plus(own));
    let rest = places.split_off(places.len().min(PLACES));
    if !rest.is_empty() {
        let others = rest.iter().fold(Traffic::default(), |sum, (_, own)| sum.plus(own));
        places.push((model::number::counted(rest.len(), "other"), others));
    }
    let mut rows: Vec<Row> = places.iter().map(|(name, own)| own.row(name)).collect();
    rows.push(sum.row("all of these"));
    let beside = [("block device", counted.device), ("processes of the server", counted.processes)];
    for (name, all) in beside {
        rows.extend([all.row(name), sum.share_row(&all)]);
    }
    let columns =
        [("reads", "1/op"), ("read", "KiB/op"), ("writes", "1/op"), ("written", "KiB/op")];
    let columns = columns.into_iter().map(|(title, unit)| Column::numbers(title, unit));
    Some(Table { columns: [Column::words("place")].into_iter().chain(columns).collect(), rows })
}

/// What was read and written by place.
fn traffic(per_op: &BTreeMap<String, f64>) -> BTreeMap<String, Traffic> {
    let mut places: BTreeMap<String, Traffic> = BTreeMap::new();
    for (name, moved) in per_op {
        let Some((group, rest)) = name.split_once('.') else { continue };
        let (place, end) = rest.rsplit_once('.').unwrap_or((COMPACTION, rest));
        let is_it = |kind: &&Kind| kind.group == group && kind.end.eq_ignore_ascii_case(end);
        let Some(kind) = KINDS.iter().find(is_it) else { continue };
        let place = if group == "status" { place.to_owned() } else { format!("{group} {place}") };
        let own = places.entry(place).or_default();
        let [requests, kib] = (kind.of)(own);
        for (total, each) in [(requests, 1.0), (kib, kind.kib)] {
            if let Some(total) = total {
                *total = Some(total.unwrap_or_default() + moved * each);
            }
        }
    }
    places
}

impl Traffic {
    fn parts(&self) -> [Option<f64>; 4] {
        [self.reads, self.read_kib, self.writes, self.write_kib]
    }

    fn kib(&self) -> f64 {
        self.read_kib.unwrap_or_default() + self.write_kib.unwrap_or_default()
    }

    fn plus(&self, other: &Self) -> Self {
        let both = |own: Option<f64>, more: Option<f64>| match (own, more) {
            (None, None) => None,
            (own, more) => Some(own.unwrap_or_default() + more.unwrap_or_default()),
        };
        Self {
            reads: both(self.reads, other.reads),
            read_kib: both(self.read_kib, other.read_kib),
            writes: both(self.writes, other.writes),
            write_kib: both(self.write_kib, other.write_kib),
        }
    }

    /// Which share of all it is.
    fn share_row(&self, all: &Self) -> Row {
        let shares = self.parts().into_iter().zip(all.parts());
        let shares = shares.map(|(own, all)| match own.zip(all.filter(|all| *all > 0.0)) {
            Some((own, all)) => TableCell::Number(own / all),
            None => TableCell::Missing,
        });
        Row::named("share explained", shares)
    }

    fn row(&self, name: &str) -> Row {
        Row::named(name, self.parts().map(TableCell::number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(counters: &[(&str, f64)]) -> Vec<(String, [Option<f64>; 4])> {
        let per_op = counters.iter().map(|(name, moved)| ((*name).to_owned(), *moved)).collect();
        traffic(&per_op).into_iter().map(|(place, own)| (place, own.parts())).collect()
    }

    #[test]
    fn blocks_bytes_and_requests_become_traffic_of_their_place() {
        let found = places(&[
            ("index.k_1.idx_blks_read", 0.5),
            ("index.k_1.idx_blks_hit", 9.0),
            ("table.t.heap_blks_read", 1.0),
            ("table.t.toast_blks_read", 2.0),
            ("io.checkpointer.relation.normal.write_bytes", 1024.0),
        ]);
        let expected = [
            ("index k_1", [Some(0.5), Some(4.0), None, None]),
            ("io checkpointer.relation.normal", [None, None, None, Some(1.0)]),
            ("table t", [Some(3.0), Some(24.0), None, None]),
        ];
        assert_eq!(found, expected.map(|(place, parts)| (place.to_owned(), parts)));
        let found = places(&[
            ("file.db/t.ibd.reads", 1.5),
            ("file.db/t.ibd.read_bytes", 2048.0),
            ("file.db/t.ibd.writes", 0.25),
            ("table.t.BLOCK_READ_COUNT", 4.0),
            ("table.t.BLOCK_READ_BYTE", 512.0),
            ("status.rocksdb_compact_read_bytes", 3072.0),
            ("status.Innodb_rows_read", 1.0),
        ]);
        let expected = [
            ("compaction", [None, Some(3.0), None, None]),
            ("file db/t.ibd", [Some(1.5), Some(2.0), Some(0.25), None]),
            ("table t", [Some(4.0), Some(0.5), None, None]),
        ];
        assert_eq!(found, expected.map(|(place, parts)| (place.to_owned(), parts)));
    }

    #[test]
    fn requests_whose_bytes_are_not_counted_are_shown() {
        let per_op = [("io.client_backend.relation.normal.writes".to_owned(), 2.0)].into();
        let device = Traffic { writes: Some(4.0), ..Traffic::default() };
        let found = table(&Counted { per_op, device, ..Counted::default() }).unwrap();
        let own = Traffic { writes: Some(2.0), ..Traffic::default() };
        assert_eq!(found.rows[0], own.row("io client_backend.relation.normal"));
        assert_eq!(found.rows[3], own.share_row(&device));
        let still = [("io.client_backend.relation.normal.writes".to_owned(), 0.0)].into();
        assert_eq!(table(&Counted { per_op: still, ..Counted::default() }), None);
    }

    #[test]
    fn shares_are_of_what_is_known_and_not_zero() {
        let sum = Traffic { reads: Some(3.0), read_kib: Some(2.0), ..Traffic::default() };
        let more = Traffic { read_kib: Some(1.0), writes: Some(5.0), ..Traffic::default() };
        let sum = sum.plus(&more);
        let all = Traffic { reads: Some(0.0), read_kib: Some(4.0), ..Traffic::default() };
        let cells = [TableCell::Missing, TableCell::Number(0.75), TableCell::Missing];
        let expected = cells.into_iter().chain([TableCell::Missing]);
        assert_eq!(sum.share_row(&all), Row::named("share explained", expected));
    }
}
