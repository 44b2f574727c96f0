//! What a file's folder tells: the archive, the subject, the number of clients.

use crate::{
    Cell, names,
    number::dop,
    phase::{self, without_size},
    repetition, step,
};
use model::Levels;

/// The folders above a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Folders {
    /// From the root of the file system, or of a test.
    folders: Vec<String>,
    /// Which of them was imported.
    root: usize,
}

impl Folders {
    /// A file in `folders`, of which the one with index `root` was imported.
    pub(crate) fn of(folders: &[String], root: usize) -> Self {
        Self { folders: folders.to_vec(), root: root.min(folders.len().saturating_sub(1)) }
    }

    /// The cell of a file that belongs to one subject: its folder is the subject.
    pub(crate) fn cell(&self, name: &str) -> Cell {
        let (subject, above) = match self.folders.split_last() {
            Some((subject, above)) => (subject.clone(), above.len()),
            None => (String::new(), 0),
        };
        let mut cell = self.archived(above);
        cell.levels.extend(levels_of(&subject));
        cell.subject = subject;
        match step::of_file(name) {
            Some(step) => step.fill(&mut cell),
            None => step::fill_unknown(&mut cell, stem(name)),
        }
        cell
    }

    /// The cell of a file of a phase of the Insert Benchmark, which lies in `RUN/PHASE`.
    pub(crate) fn phase_cell(&self) -> Option<Cell> {
        let (folder, above) = self.folders.split_last()?;
        let phase = phase::of_folder(folder)?;
        let tag = above.last()?;
        let mut cell = Cell { experiment: self.insert_experiment(), ..Cell::default() };
        phase::fill(&mut cell, &phase, without_size(tag));
        cell.clients = phase::clients(&self.folders.join("/"));
        Some(cell)
    }

    /// The archive of files of the Insert Benchmark: folders of runs, phases, groups and numbers of
    /// clients are no part of its name, even where one of them was imported.
    pub(crate) fn insert_experiment(&self) -> String {
        let inner = self.folders.iter().rev().take_while(|folder| phase::is_inner(folder)).count();
        match self.folders.len() - inner {
            0 => self.folders.get(self.root).cloned().unwrap_or_default(),
            end => self.folders[self.root.min(end - 1)..end].join("/"),
        }
    }

    /// See [`crate::File::loose_cell`].
    pub(crate) fn loose_cell(&self, name: &str, kind: &str) -> Cell {
        if step::of_file(name).is_some() {
            return self.cell(name);
        }
        if let Some(cell) = self.phase_cell() {
            return cell;
        }
        let (inside, repetition) = self.without_repetitions();
        inside.named_by_user(name, kind, repetition)
    }

    /// The folders without those below the imported one that hold one repetition each, and their
    /// numbers.
    fn without_repetitions(&self) -> (Self, Vec<u32>) {
        let number = |(place, folder): (usize, &String)| {
            repetition::of_folder(folder).filter(|_| place > self.root)
        };
        let numbers = self.folders.iter().enumerate().filter_map(number).collect();
        let others = self.folders.iter().enumerate().filter(|place| number(*place).is_none());
        let folders: Vec<String> = others.map(|(_, folder)| folder.clone()).collect();
        (Self { folders, root: self.root }, numbers)
    }

    fn named_by_user(&self, name: &str, kind: &str, repetition: Vec<u32>) -> Cell {
        let below = self.folders.len() > self.root + 1;
        let end = self.folders.len() - usize::from(below);
        let mut cell = self.archived(end);
        let folder = self.folders.last().cloned().unwrap_or_default();
        let (subject, phase) = match below {
            true => (folder, stem(name)),
            false => (stem(name).to_owned(), kind),
        };
        cell.levels.extend(levels_of(&subject));
        cell.subject = subject;
        (cell.is_loose, cell.repetition) = (true, repetition);
        step::fill_unknown(&mut cell, phase);
        cell
    }

    /// See [`crate::File::summary_cell`].
    pub(crate) fn summary_cell(&self, subject: &str) -> Cell {
        let mut cell = self.archived(self.folders.len());
        let subject = names::capped(subject);
        cell.levels.extend(levels_of(subject));
        cell.subject = subject.to_owned();
        cell
    }

    /// A cell with the archive's name and the clients that a folder `dop8` tells; `end` is the
    /// number of folders that belong to the archive.
    fn archived(&self, end: usize) -> Cell {
        let mut end = end.min(self.folders.len());
        let mut clients = None;
        if let Some(count) = end.checked_sub(1).and_then(|last| dop(&self.folders[last])) {
            clients = Some(count);
            end -= 1;
        }
        let start = self.root.min(end.saturating_sub(1));
        let experiment = self.folders.get(start..end).unwrap_or_default().join("/");
        Cell { experiment, clients, table_clients: clients, ..Cell::default() }
    }
}

/// File name without its ending. That has only letters: `before.1` and `pg9.6_rw` have none.
fn stem(name: &str) -> &str {
    let is_ending = |ending: &str| ending.bytes().all(|byte| byte.is_ascii_alphabetic());
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_ending(ending) => stem,
        _ => name,
    }
}

/// Build, configuration and kind of primary key of a folder `x.BUILD.CONFIG.pk1`.
pub(crate) fn levels_of(subject: &str) -> Levels {
    let mut levels = Levels::new();
    let inner = subject.strip_prefix("x.").and_then(|rest| {
        let (inner, pk) = rest.rsplit_once(".pk")?;
        matches!(pk, "0" | "1").then_some((inner, pk))
    });
    let Some((inner, pk)) = inner else { return levels };
    let (build, config) = inner.split_once('.').unwrap_or((inner, ""));
    levels.insert("build".to_owned(), build.to_owned());
    levels.insert("config".to_owned(), config.to_owned());
    levels.insert("pk".to_owned(), pk.to_owned());
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str, root: usize) -> Folders {
        let folders: Vec<String> = path.split('/').map(str::to_owned).collect();
        Folders::of(&folders, root)
    }

    #[test]
    fn folders_tell_archive_subject_and_clients() {
        let check = |path: &str, root: usize, expected: (&str, &str, Option<u32>)| {
            let cell = place(path, root).cell("sb.met.scan.range100.pk1");
            let found = (cell.experiment.as_str(), cell.subject.as_str(), cell.clients);
            assert_eq!(found, expected, "{path} {root}");
        };
        let subject = "x.my5651_rel.z12a_c8r32.pk1";
        let below = |parent: &str| format!("{parent}/{subject}");
        check(&below("nov25/dop1"), 0, ("nov25", subject, Some(1)));
        // The root may be the folder of the clients or of the subject: the archive is above it.
        check(&below("data/nov25/dop1"), 2, ("nov25", subject, Some(1)));
        check(&below("data/nov25/dop1"), 3, ("nov25", subject, Some(1)));
        check(&below("data/nov25/dop1"), 0, ("data/nov25", subject, Some(1)));
        check(&below("data/apr25/inno"), 1, ("apr25/inno", subject, None));
        check("mysql57", 0, ("", "mysql57", None));
    }

    #[test]
    fn loose_files_are_subjects_or_phases() {
        let check = |path: &str, root: usize, expected: (&str, &str, &str)| {
            let cell = place(path, root).loose_cell("run.1.txt", "tpcb-like");
            let found = (cell.experiment.as_str(), cell.subject.as_str(), cell.phase.as_str());
            assert_eq!(found, expected, "{path} {root}");
        };
        check("home/tests", 1, ("tests", "run.1", "tpcb-like"));
        check("home/tests/pg17", 1, ("tests", "pg17", "run.1"));
        check("home/tests/pg17", 2, ("pg17", "run.1", "tpcb-like"));
    }

    #[test]
    fn an_ending_of_a_file_has_only_letters() {
        let check = |name: &str, expected: &str| assert_eq!(stem(name), expected);
        check("mysql-8.0.44.txt", "mysql-8.0.44");
        check("mysql-8.0.44", "mysql-8.0.44");
        check("before.1", "before.1");
        check("pg9.6_rw", "pg9.6_rw");
        check("pg9.6_rw.out", "pg9.6_rw");
        check("read.run2", "read.run2");
        check(".txt", ".txt");
    }

    #[test]
    fn files_of_phases_belong_to_the_run_above() {
        let check = |path: &str, root: usize, expected: Option<(&str, &str, &str)>| {
            let cell = place(path, root).phase_cell();
            let names = |c: &Cell| (c.experiment.clone(), c.subject.clone(), c.phase.clone());
            let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
            assert_eq!(cell.as_ref().map(names), expected, "{path} {root}");
        };
        let run = "data/ib/4u.1tno/80m.a.c";
        for root in [1, 2, 3, 4] {
            check(&format!("{run}/qr100.L1"), root, Some(("ib", "a.c", "qr100.L1")));
        }
        check(&format!("{run}/q.L4.ips200"), 0, Some(("data/ib", "a.c", "q200.2")));
        check("80m.a.c/l.i0", 0, Some(("80m.a.c", "a.c", "l.i0")));
        check(run, 1, None);
        check("l.i0", 0, None);
        assert_eq!(place(&format!("{run}/l.i0"), 1).phase_cell().unwrap().clients, Some(4));
    }

    #[test]
    fn names_of_folders_have_parts() {
        let levels = levels_of("x.fbmy8032_rel_971.za4_jemalloc_c32r128.pk1");
        assert_eq!(levels["build"], "fbmy8032_rel_971");
        assert_eq!(levels["config"], "za4_jemalloc_c32r128");
        assert_eq!(levels["pk"], "1");
        assert!(levels_of("mysql57").is_empty());
        assert!(levels_of("x.a.b.pk2").is_empty());
    }
}
