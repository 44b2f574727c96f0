//! Names of phases of the Insert Benchmark and what they tell: kind, rate, order, clients.

use crate::{
    Cell, names,
    number::{dop, positive},
};

/// Phases of a summary with two loads and six query phases, in the order of its rows.
pub(crate) const PHASES_2024: [&str; 10] = [
    "l.i0",
    "l.x",
    "l.i1",
    "l.i2",
    "qr100.L1",
    "qp100.L2",
    "qr500.L3",
    "qp500.L4",
    "qr1000.L5",
    "qp1000.L6",
];

/// The same of the early form, in which every rate was done twice.
pub(crate) const PHASES_2021: [&str; 15] = [
    "l.i0", "l.x", "l.i1", "q100.1", "q100.2", "q200.1", "q200.2", "q400.1", "q400.2", "q600.1",
    "q600.2", "q800.1", "q800.2", "q1000.1", "q1000.2",
];

/// The phases of the early short form.
pub(crate) const SOME_PHASES: [&str; 7] =
    ["l.i0", "l.x", "l.i1", "q100.2", "q200.2", "q800.2", "q1000.2"];

/// The phases of a summary with as many rows; a summary names none of them.
pub(crate) fn phases(rows: usize) -> Option<&'static [&'static str]> {
    [PHASES_2024.as_slice(), &PHASES_2021].into_iter().find(|phases| phases.len() == rows)
}

/// A phase as its name tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phase {
    pub(crate) kind: Kind,
    /// Rows to insert per second and client beside the queries; 0 in loads.
    pub(crate) rate: u32,
    /// Which of its kind and rate, or which of all query phases.
    ordinal: u32,
    /// Whether the ordinal counts all query phases.
    global: bool,
}

/// What a phase does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rows are inserted.
    Load,
    /// Indexes are built.
    Index,
    /// Range queries beside inserts.
    Range,
    /// Point queries beside inserts.
    Point,
}

impl Kind {
    /// Report group.
    fn group(self) -> &'static str {
        match self {
            Self::Load | Self::Index => "load",
            Self::Range => "range",
            Self::Point => "point",
        }
    }

    pub(crate) fn queries(self) -> bool {
        matches!(self, Self::Range | Self::Point)
    }
}

/// The phase of a name such as `l.i0`, `qp100.L2` or `q100.2`.
pub(crate) fn of(name: &str) -> Option<Phase> {
    let load = |kind, ordinal| Some(Phase { kind, rate: 0, ordinal, global: false });
    match name {
        "l.i0" => return load(Kind::Load, 0),
        "l.x" => return load(Kind::Index, 1),
        "l.i1" => return load(Kind::Load, 2),
        "l.i2" => return load(Kind::Load, 3),
        _ => {}
    }
    let rest = name.strip_prefix('q')?;
    let (kind, rest) = match rest.as_bytes().first()? {
        b'r' => (Kind::Range, &rest[1..]),
        b'p' => (Kind::Point, &rest[1..]),
        _ => (Kind::Range, rest),
    };
    let (rate, ordinal) = rest.split_once('.')?;
    let global = ordinal.starts_with('L');
    let ordinal = positive(ordinal.strip_prefix('L').unwrap_or(ordinal))?;
    Some(Phase { kind, rate: positive(rate)?, ordinal, global })
}

/// The published names of phases by their own, which may lack the number: the query phases without
/// one get theirs in the order in which they are given.
pub(crate) fn published<'a>(names: &[&'a str]) -> Vec<(&'a str, String)> {
    let mut count = 0;
    let name = |own: &&'a str| {
        if of(own).is_some() {
            return Some((*own, (*own).to_owned()));
        }
        let numbered = format!("{own}.L{}", count + 1);
        let known = of(&numbered).is_some_and(|phase| phase.kind.queries());
        // A name with a number that is no ordinal, such as `q100.x`, is no phase's.
        known.then(|| {
            count += 1;
            (*own, numbered)
        })
    };
    names.iter().filter_map(name).collect()
}

/// The phase of a folder: a phase's name, or of the early form `q.L4.ips200`, which is `q200.2`.
pub(crate) fn of_folder(folder: &str) -> Option<String> {
    if of(folder).is_some() {
        return Some(folder.to_owned());
    }
    let (ordinal, rate) = folder.strip_prefix("q.L")?.split_once(".ips")?;
    let (ordinal, rate) = (positive(ordinal)?, positive(rate)?);
    Some(format!("q{rate}.{}", (ordinal - 1) % 2 + 1))
}

/// Sorts phases as the benchmark executes them; `None` for names of no phase.
pub(crate) fn order(name: &str) -> Option<(bool, u32, u32)> {
    let phase = of(name)?;
    Some(match phase {
        Phase { kind: Kind::Load | Kind::Index, ordinal, .. } => (false, ordinal, 0),
        Phase { global: true, ordinal, rate, .. } => (true, ordinal, rate),
        Phase { rate, ordinal, .. } => (true, rate, ordinal),
    })
}

/// Clients of a folder `4u.1tno` in a path.
pub(crate) fn clients(path: &str) -> Option<u32> {
    path.split('/').rev().find_map(clients_of_folder)
}

fn clients_of_folder(folder: &str) -> Option<u32> {
    let (count, tables) = folder.split_once("u.1t")?;
    matches!(tables, "yes" | "no").then(|| positive(count)).flatten()
}

/// Puts what is known of a phase and a variant into a cell.
pub(crate) fn fill(cell: &mut Cell, name: &str, subject: &str) {
    let subject = names::capped(subject);
    cell.phase = name.to_owned();
    cell.workload = name.split('.').next().unwrap_or_default().to_owned();
    if !name.starts_with('q') {
        cell.workload = name.to_owned();
    }
    cell.group = of(name).map_or("", |phase| phase.kind.group()).to_owned();
    cell.subject = subject.to_owned();
    if let Some((build, config)) = subject.split_once('.') {
        cell.levels.insert("build".to_owned(), build.to_owned());
        cell.levels.insert("config".to_owned(), config.to_owned());
    }
}

/// Whether a folder is one of a run, of a phase, of a group, or of a number of clients.
pub(crate) fn is_inner(folder: &str) -> bool {
    folder.starts_with("res.")
        || dop(folder).is_some()
        || clients_of_folder(folder).is_some()
        || of_folder(folder).is_some()
        || without_size(folder) != folder
}

/// The tag without the millions of rows before it: `20m.my5649.cx6d` is `my5649.cx6d`.
pub(crate) fn without_size(tag: &str) -> &str {
    match tag.split_once("m.") {
        Some((size, rest)) if !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => tag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_kind_and_rate() {
        let check = |name: &str, expected: Option<(Kind, u32)>| {
            assert_eq!(of(name).map(|phase| (phase.kind, phase.rate)), expected, "{name}");
        };
        check("l.i0", Some((Kind::Load, 0)));
        check("l.x", Some((Kind::Index, 0)));
        check("qr100.L1", Some((Kind::Range, 100)));
        check("qp1000.L6", Some((Kind::Point, 1000)));
        check("q800.2", Some((Kind::Range, 800)));
        for wrong in ["", "q", "q.1", "qx100.L1", "q100", "q100.", "q100.x", "q0.1", "q１.1", "l.y"]
        {
            check(wrong, None);
        }
        assert_eq!(of_folder("q.L4.ips200").as_deref(), Some("q200.2"));
        assert_eq!(of_folder("q.L1.ips100").as_deref(), Some("q100.1"));
        assert_eq!(of_folder("q.L4294967295.ips100").as_deref(), Some("q100.1"));
        assert_eq!(of_folder("q.L4294967296.ips100"), None);
        assert_eq!(of_folder("q.L0.ips100"), None);
        assert_eq!(of_folder("q.L1"), None);
    }

    #[test]
    fn own_names_get_the_number_of_their_place() {
        let found = published(&["l.i0", "l.x", "qr100", "warm", "q.x", "qp100", "qr500.L7"]);
        let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["l.i0", "l.x", "qr100.L1", "qp100.L2", "qr500.L7"]);
    }

    #[test]
    fn phases_sort_as_they_are_executed() {
        for phases in [PHASES_2024.as_slice(), &PHASES_2021] {
            let mut sorted = phases.to_vec();
            sorted.sort_by_key(|name| order(name));
            assert_eq!(sorted, phases);
            assert!(phases.iter().all(|name| order(name).is_some()));
        }
        assert_eq!(phases(16), None);
    }

    #[test]
    fn cells_know_group_and_build_and_folders_know_clients() {
        let mut cell = Cell::default();
        fill(&mut cell, "qp100.L2", "my8036_rel.cz11a_bee");
        let found = (cell.workload.as_str(), cell.group.as_str(), &*cell.levels["build"]);
        assert_eq!(found, ("qp100", "point", "my8036_rel"));
        assert_eq!(clients("may24/4u.1tno/800m.my8036/o.sum"), Some(4));
        assert_eq!((clients("a/0u.1tno/b"), clients("a/4u.1tx/b")), (None, None));
        let inner = ["res.a", "4u.1tno", "qp100.L2", "800m.my8036_rel.cz11a_bee", "may24", "20m"];
        assert_eq!(inner.map(is_inner), [true, true, true, true, false, false]);
    }
}
