//! The ordered list that is bisected, and how each of its positions becomes a part of a plan.

use anyhow::{Context, ensure};
use dbms::{
    Places,
    product::DBMSES,
    revision::{Built, Revision, Source, build_sha256, code_sha256},
};
use model::{plan::Plan, quoted, subject::Build};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The factor of versions and revisions.
const BUILD: &str = "build";
/// Characters of a commit that name a build.
const SHORT: usize = 12;

/// Positions, the good end first.
pub(crate) struct Positions {
    /// The factor whose levels they are: `build` for versions and revisions.
    factor: String,
    all: Vec<Position>,
    source: Option<Revisions>,
}

/// One of them.
struct Position {
    /// What people call it.
    name: String,
    /// The level of the factor.
    level: String,
    /// The program or library, where it is a build of the user's.
    basedir: Option<PathBuf>,
}

/// Where revisions come from.
struct Revisions {
    source: Source,
    all: Vec<Revision>,
    server: String,
    /// What of the installed build is its `basedir`.
    within: Option<PathBuf>,
    built: BTreeMap<usize, PathBuf>,
}

/// Whether a position can be measured.
pub(crate) enum Reachable {
    Yes,
    /// Why not.
    No(String),
}

impl Positions {
    /// The levels of a factor between two of them, in the experiment's order. `basedirs` has the
    /// folders of builds that the experiment names.
    pub(crate) fn of_levels(
        (factor, levels): (&str, &[String]),
        ends: [&str; 2],
        basedirs: &BTreeMap<String, PathBuf>,
    ) -> anyhow::Result<Self> {
        ensure!(
            !levels.is_empty(),
            "the experiment has no factor `{factor}`: add `factors.{factor}` with the levels in \
             their order"
        );
        let place = |end: &str| levels.iter().position(|level| level == end);
        let places = [place(ends[0]), place(ends[1])];
        let [Some(good), Some(bad)] = places else {
            let missing = if places[0].is_none() { ends[0] } else { ends[1] };
            anyhow::bail!(
                "`{missing}` is no level of `factors.{factor}`; there are: {}",
                quoted(levels)
            );
        };
        check_differ(ends, [&levels[good], &levels[bad]])?;
        let mut chosen = levels[good.min(bad)..=good.max(bad)].to_vec();
        if good > bad {
            chosen.reverse();
        }
        // Levels of other factors may be called as builds are.
        let basedir = |level: &String| basedirs.get(level).filter(|_| factor == BUILD).cloned();
        let position =
            |level: String| Position { name: level.clone(), basedir: basedir(&level), level };
        let all = chosen.into_iter().map(position).collect();
        Ok(Self { factor: factor.to_owned(), all, source: None })
    }

    /// The versions of a product from one to another, of those that there are. `levels` are the
    /// builds of the experiment, which say what product a version without one may be meant of.
    pub(crate) fn of_versions(
        ends: [&str; 2],
        levels: &[String],
        places: &Places,
    ) -> anyhow::Result<Self> {
        for (option, end) in [("--good", ends[0]), ("--bad", ends[1])] {
            ensure!(
                !end.starts_with(|first: char| first.is_ascii_digit()),
                "`{option} {end}` has no product: write `{}@{end}`",
                product_of(end, levels)
            );
        }
        let [good, bad] = ends.map(Build::named);
        ensure!(
            good.server == bad.server,
            "`{}` and `{}` are two products: their versions have no common order",
            good.server,
            bad.server
        );
        let exact = |build: &Build| dbms::resolve(build, places).map(|found| found.version);
        let versions = [exact(&good)?, exact(&bad)?];
        check_differ(ends, [&versions[0], &versions[1]])?;
        // A suite may have moved to a version that no table knows; a bundled library has no number.
        let is_number = |version: &&String| version.starts_with(|c: char| c.is_ascii_digit());
        let own: Vec<String> = versions.iter().filter(is_number).cloned().collect();
        let known = dbms::provenance::versions(dbms::find(&good.server)?, places, &own)?;
        let levels: Vec<String> =
            known.iter().map(|version| format!("{}@{version}", good.server)).collect();
        let ends = versions.map(|version| format!("{}@{version}", good.server));
        Self::of_levels((BUILD, &levels), [&ends[0], &ends[1]], &BTreeMap::new())
    }

    /// The revisions of a repository. `within` says what of the installed build is its `basedir`.
    pub(crate) fn of_revisions(
        source: Source,
        ends: [&str; 2],
        server: &str,
        within: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        dbms::find(server)?;
        ensure!(
            source.repository.is_dir(),
            "there is no folder `{}`, given by `--source`",
            source.repository.display()
        );
        let all = source.revisions(ends[0], ends[1])?;
        let position = |revision: &Revision| Position {
            name: format!("{} {}", short(&revision.commit), revision.subject),
            level: short(&revision.commit),
            basedir: None,
        };
        let positions = all.iter().map(position).collect();
        let server = server.to_owned();
        let source = Revisions { source, all, server, within, built: BTreeMap::new() };
        Ok(Self { factor: BUILD.to_owned(), all: positions, source: Some(source) })
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn name(&self, position: usize) -> &str {
        self.all.get(position).map_or("", |position| &position.name)
    }

    /// Makes a position ready: builds its revision, if it is one.
    pub(crate) fn reach(
        &mut self,
        position: usize,
        places: &Places,
        stopped: &dyn Fn() -> bool,
    ) -> anyhow::Result<Reachable> {
        let Some(own) = &mut self.source else { return Ok(Reachable::Yes) };
        let revision = own.all.get(position).context("there is no such revision")?;
        if own.built.contains_key(&position) {
            return Ok(Reachable::Yes);
        }
        crate::talk::say(&format!("building {} {}", short(&revision.commit), revision.subject));
        let folder = match own.source.build(revision, places, stopped)? {
            Built::Done(folder) => folder,
            Built::Failed(reason) => return Ok(Reachable::No(reason)),
        };
        let basedir = match &own.within {
            Some(within) => Some(folder.join(within)),
            None if dbms::is_embedded(&own.server) => library(&folder),
            None => Some(folder.clone()),
        };
        let Some(basedir) = basedir.filter(|path| path.exists()) else {
            return Ok(Reachable::No(format!("no build is in `{}`", folder.display())));
        };
        let build = Build { basedir: Some(basedir.clone()), ..Build::named(&own.server) };
        if let Err(error) = dbms::check_basedir(&build, places) {
            return Ok(Reachable::No(error.to_string()));
        }
        self.all[position].basedir = Some(basedir.clone());
        own.built.insert(position, basedir);
        Ok(Reachable::Yes)
    }

    /// SHA-256 of a position's code, where it is a build of the user's.
    pub(crate) fn code(&self, position: usize) -> Option<String> {
        let basedir = self.all.get(position)?.basedir.as_deref()?;
        if basedir.is_file() {
            return code_sha256(basedir);
        }
        let programs =
            ["bin/postgres", "bin/mysqld", "sbin/mysqld", "bin/mariadbd", "sbin/mariadbd"];
        programs.iter().find_map(|program| build_sha256(basedir, &basedir.join(program)))
    }

    /// What puts these positions into an experiment, the first as the base.
    pub(crate) fn overrides(&self, positions: &[usize]) -> Vec<String> {
        let chosen: Vec<&Position> =
            positions.iter().filter_map(|position| self.all.get(*position)).collect();
        let mut set = Vec::new();
        if let Some(source) = &self.source {
            let own = chosen.iter().filter_map(|one| Some((one, one.basedir.as_ref()?)));
            set.extend(own.map(|(one, basedir)| {
                let (level, server) = (&one.level, &source.server);
                let libraries = libraries(basedir);
                format!("servers.{level}={{server={server:?},basedir={basedir:?}{libraries}}}")
            }));
        }
        let levels: Vec<String> = chosen.iter().map(|one| format!("{:?}", one.level)).collect();
        set.push(format!("factors.{}=[{}]", self.factor, levels.join(",")));
        let base = levels.first().cloned().unwrap_or_default();
        set.push(format!("baseline={{{}={base}}}", self.factor));
        set
    }
}

/// Whether a plan has one subject for each of so many positions, and the test as one phase of its
/// own name: levels of other factors, and other ranges, are in the names of phases.
pub(super) fn fits(plan: &Plan, positions: usize, test: &str) -> bool {
    plan.subjects.len() == positions && plan.phases.iter().any(|phase| phase.name == test)
}

/// Refuses ends that are the same position. `found` says what they stand for.
fn check_differ(ends: [&str; 2], found: [&str; 2]) -> anyhow::Result<()> {
    ensure!(
        found[0] != found[1],
        "the ends are the same: `--good {}` and `--bad {}` are both `{}`; name two that differ",
        ends[0],
        ends[1],
        found[0]
    );
    Ok(())
}

/// The product that has a version: one of the experiment's builds, otherwise the first that has it.
fn product_of(version: &str, levels: &[String]) -> String {
    let has = |server: &String| {
        let product = DBMSES.iter().find(|product| product.name() == server.as_str());
        let releases = product.map(|product| product.releases()).unwrap_or_default();
        releases.iter().any(|release| {
            let rest = release.version.strip_prefix(version);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let own = levels.iter().map(|level| Build::named(level).server);
    let all = DBMSES.iter().map(|product| product.name().to_owned());
    own.chain(all).find(has).unwrap_or_else(|| "PRODUCT".to_owned())
}

fn short(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

/// What has a build find its libraries: it was told another place than where it lies by now.
fn libraries(basedir: &Path) -> String {
    let folder = basedir.join("lib");
    match folder.is_dir() {
        true => format!(",environment={{LD_LIBRARY_PATH={folder:?}}}"),
        false => String::new(),
    }
}

/// The SQLite library of an installed build.
fn library(folder: &Path) -> Option<PathBuf> {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.starts_with("libsqlite3.so"))
    };
    let inside = |folder: &Path| {
        let mut found: Vec<PathBuf> =
            fs_err::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        found.sort();
        found.into_iter().find(is_library)
    };
    inside(folder).or_else(|| inside(&folder.join("lib")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels() -> Vec<String> {
        ["1", "2", "3", "4"].map(str::to_owned).to_vec()
    }

    #[test]
    fn levels_are_taken_in_order_from_the_good_end_to_the_bad_one() {
        let of =
            |good, bad| Positions::of_levels(("config", &levels()), [good, bad], &BTreeMap::new());
        let names = |found: &Positions| {
            (0..found.count()).map(|n| found.name(n).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&of("2", "4").unwrap()), ["2", "3", "4"]);
        assert_eq!(names(&of("3", "1").unwrap()), ["3", "2", "1"]);
        let refused = |good, bad, expected: &str| {
            let said = of(good, bad).err().unwrap().to_string();
            assert!(said.contains(expected), "{said}");
        };
        let folders = BTreeMap::from([("2".to_owned(), PathBuf::from("/builds/2"))]);
        let folder = |factor: &str| {
            let found = Positions::of_levels((factor, &levels()), ["2", "4"], &folders).unwrap();
            found.all[0].basedir.clone()
        };
        assert_eq!((folder(BUILD), folder("config")), (Some("/builds/2".into()), None));
        refused("2", "2", "the ends are the same: `--good 2` and `--bad 2` are both `2`");
        refused("2", "9", "`9` is no level of `factors.config`; there are: `1`");
    }

    #[test]
    fn ends_that_cannot_be_bisected_are_one_sentence() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let said = |found: anyhow::Result<Positions>| found.err().unwrap().to_string();
        let versions = said(Positions::of_versions(["3.24.0", "3.46.0"], &[], &places));
        assert_eq!(versions, "`--good 3.24.0` has no product: write `sqlite@3.24.0`");
        let second = said(Positions::of_versions(["sqlite@3.24.0", "9999"], &[], &places));
        assert_eq!(second, "`--bad 9999` has no product: write `PRODUCT@9999`");
        let none = said(Positions::of_levels(("memory", &[]), ["1G", "2G"], &BTreeMap::new()));
        assert!(none.contains("has no factor `memory`: add `factors.memory`"), "{none}");
        let repository = PathBuf::from("/nonexistent/tree");
        let source = Source { repository, command: "true".to_owned() };
        let folder = said(Positions::of_revisions(source, ["a", "b"], "sqlite", None));
        assert_eq!(folder, "there is no folder `/nonexistent/tree`, given by `--source`");
    }

    #[test]
    fn builds_that_are_started_otherwise_are_not_told_by_their_code() {
        let server = |name: &str, more: &str| {
            format!("servers.{name}={{server=\"sqlite\",basedir=\"/x.so\"{more}}}")
        };
        let set = vec![
            server("plain", ""),
            server("told", ",environment={A=\"1\"}"),
            server("nice", ",prefix=[\"nice\"]"),
        ];
        let catalog = plan::Catalog::embedded().unwrap();
        let overrides = plan::Overrides { set, ..plan::Overrides::default() };
        let draft = plan::load_experiment("quickstart", &catalog, &overrides).unwrap();
        assert_eq!(draft.basedirs().into_keys().collect::<Vec<_>>(), ["plain"]);
    }

    #[test]
    fn a_test_is_one_phase_of_its_name() {
        let plan = |set: &str| crate::versions::tests::plan_of(&[set]);
        // Two configurations.
        assert!(fits(&plan("factors.clients=[1]"), 2, "point-query"));
        assert!(!fits(&plan("factors.clients=[1]"), 3, "point-query"));
        assert!(!fits(&plan("factors.clients=[1, 8]"), 2, "point-query"));
    }

    #[test]
    fn a_revision_finds_the_libraries_that_were_built_with_it() {
        let root = tempfile::tempdir().unwrap();
        let source = Source { repository: PathBuf::from("/src"), command: "true".to_owned() };
        let position = |basedir: PathBuf| {
            let (name, level) = ("1a2b fix".to_owned(), "1a2b".to_owned());
            let (server, built) = ("postgres".to_owned(), BTreeMap::new());
            let revisions =
                Revisions { source: source.clone(), all: Vec::new(), server, within: None, built };
            let all = vec![Position { name, level, basedir: Some(basedir) }];
            Positions { factor: BUILD.to_owned(), all, source: Some(revisions) }
        };
        let basedir = root.path().to_owned();
        let own = position(basedir.clone()).overrides(&[0]).remove(0);
        assert_eq!(own, format!("servers.1a2b={{server=\"postgres\",basedir={basedir:?}}}"));
        let libraries = basedir.join("lib");
        fs_err::create_dir(&libraries).unwrap();
        let own = position(basedir).overrides(&[0]).remove(0);
        let expected = format!(",environment={{LD_LIBRARY_PATH={libraries:?}}}}}");
        assert!(own.ends_with(&expected), "{own}");
    }

    #[test]
    fn positions_become_levels_and_the_first_the_base() {
        let found =
            Positions::of_levels(("config", &levels()), ["1", "4"], &BTreeMap::new()).unwrap();
        let expected = ["factors.config=[\"1\",\"4\",\"2\"]", "baseline={config=\"1\"}"];
        assert_eq!(found.overrides(&[0, 3, 1]), expected);
    }
}
