use super::*;
use model::recipe::Compilation;

/// A library that says it is SQLite, and nothing else.
const FAKE: &str = "const char sqlite3_version[] = \"3.99.1\";\n";

struct Bench {
    root: tempfile::TempDir,
    places: Places,
}

fn bench() -> Bench {
    let root = tempfile::tempdir().unwrap();
    let places = Places::at(&root.path().join("places"), None).unwrap();
    Bench { root, places }
}

impl Bench {
    /// A build from the folder `tree` with this source.
    fn build(&self, source: &str) -> Build {
        let folder = self.root.path().join("tree");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("sqlite3.c"), source).unwrap();
        fs::write(folder.join("sqlite3.h"), "").unwrap();
        let at = folder.display().to_string();
        let tree = Tree { kind: "path".to_owned(), at, revision: String::new() };
        let compilation = Compilation { tree: Some(tree), ..Compilation::default() };
        Build { compilation, ..Build::of("sqlite", "") }
    }

    fn make(&self, build: &Build, said: &mut Vec<String>) -> Result<Installed> {
        let order = Order::of(build, None)?.unwrap();
        order.check()?;
        let mut progress = |text: &str| said.push(text.to_owned());
        make(&order, &self.places, &mut Watch { progress: &mut progress, stopped: &|| false })
    }
}

/// Whether this host can compile; prints the reason where it cannot.
fn has_compiler() -> bool {
    let has = compiler::program("gcc").is_some();
    if !has {
        println!("skipped: there is no gcc");
    }
    has
}

#[test]
fn a_tree_is_compiled_once_for_each_source_flags_and_compiler() {
    if !has_compiler() {
        return;
    }
    let bench = bench();
    let mut build = bench.build(FAKE);
    let mut said = Vec::new();
    let first = bench.make(&build, &mut said).unwrap();
    assert_eq!((first.server.as_str(), first.version.as_str()), ("sqlite", "3.99.1"));
    assert!(said.iter().any(|text| text.ends_with("step 1 of 1, `gcc`")), "{said:?}");
    let provenance = first.provenance(model::Levels::new()).unwrap();
    assert!(provenance.compiler.starts_with("GCC "), "{provenance:?}");
    assert_eq!(
        (provenance.source.as_str(), provenance.packager.as_str()),
        ("path", "compiled here")
    );
    assert_eq!(provenance.flags, "rel: -O2 -g1");
    assert!(provenance.tree.starts_with("sha256:"), "{provenance:?}");
    let log = fs::read_to_string(first.basedir.join(LOG)).unwrap();
    assert!(log.starts_with("$ /") && log.contains("gcc -O2 -g1 -fPIC"), "{log}");

    said.clear();
    assert_eq!(bench.make(&build, &mut said).unwrap(), first);
    assert!(said.is_empty(), "{said:?}");
    let order = Order::of(&build, None).unwrap().unwrap();
    assert_eq!(installed(&order, &bench.places).unwrap(), Some(first.clone()));

    build.compilation.flags = "-O1".to_owned();
    let other = bench.make(&build, &mut said).unwrap();
    assert_ne!(other.basedir, first.basedir);
    assert_eq!(other.provenance(model::Levels::new()).unwrap().flags, "-O1");
    let changed = bench.make(&bench.build(&format!("{FAKE}int more;\n")), &mut said).unwrap();
    assert!(changed.basedir != first.basedir && changed.basedir != other.basedir);
    let left = fs::read_dir(bench.places.compile_folder().unwrap()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the turn and the folder of logs: {left:?}");
}

#[test]
fn a_build_that_fails_shows_its_log_and_leaves_no_build() {
    if !has_compiler() {
        return;
    }
    let bench = bench();
    let build = bench.build("int main( { }\n");
    let said = bench.make(&build, &mut Vec::new()).unwrap_err().to_string();
    let (first, rest) = said.split_once('\n').unwrap();
    assert!(first.starts_with("cannot compile sqlite from path "), "{said}");
    assert!(first.contains(": step 1 of 1, `gcc`: exit code 1; the log is `"), "{said}");
    assert!(rest.contains("error:"), "{said}");
    let path = first.split('`').nth(3).unwrap();
    assert!(fs::read_to_string(path).unwrap().contains("error:"), "{path}");
    assert_eq!(fs::read_dir(bench.places.builds()).unwrap().count(), 0);
    // A library that is none.
    let said = bench.make(&bench.build("int a;\n"), &mut Vec::new()).unwrap_err().to_string();
    assert!(said.contains("is `a file without a version`, not a library of SQLite"), "{said}");
    assert_eq!(fs::read_dir(bench.places.builds()).unwrap().count(), 0);
}

#[test]
fn a_build_that_fails_is_told_from_others_of_its_source() {
    if !has_compiler() {
        return;
    }
    let bench = bench();
    let mut build = bench.build("int main( { }\n");
    build.compilation.flags = "rel_o3".to_owned();
    build.compilation.compiler = "gcc".to_owned();
    let said = bench.make(&build, &mut Vec::new()).unwrap_err().to_string();
    assert!(said.contains("/tree, rel_o3, gcc: step 1 of 1, `gcc`: exit code 1; "), "{said}");
}

#[test]
fn a_revision_that_fails_without_its_submodules_names_a_remedy() {
    if !has_compiler() || compiler::program("git").is_none() {
        println!("skipped: git and gcc are needed");
        return;
    }
    let bench = bench();
    let mut build = bench.build("int main( { }\n");
    let folder = bench.root.path().join("tree");
    fs::write(folder.join(".gitmodules"), "").unwrap();
    let git = |words: &[&str]| {
        let own = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
        let mut command = std::process::Command::new("git");
        let output = command.args(own).args(words).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{words:?}");
    };
    git(&["init", "--quiet", "."]);
    git(&["add", "."]);
    git(&["-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "broken"]);
    let hint = "exit code 1 (its submodules are not there: name a folder that holds them by \
                `path`)";
    let said = bench.make(&build, &mut Vec::new()).unwrap_err().to_string();
    assert!(!said.contains(hint), "a folder has what it has: {said}");
    let tree = build.compilation.tree.as_mut().unwrap();
    "git".clone_into(&mut tree.kind);
    "HEAD".clone_into(&mut tree.revision);
    let said = bench.make(&build, &mut Vec::new()).unwrap_err().to_string();
    assert!(said.contains(hint), "{said}");
}

#[test]
fn what_cannot_be_compiled_is_refused_before_anything_is_executed() {
    let bench = bench();
    let check = |change: &dyn Fn(&mut Build), expected: &str| {
        let mut build = bench.build(FAKE);
        change(&mut build);
        let said = bench.make(&build, &mut Vec::new()).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains('\n'), "{said}");
    };
    let flags = "cannot compile sqlite: `o9` is no set of flags: write `rel`, ";
    check(&|build| build.compilation.flags = "o9".to_owned(), flags);
    let compiler = "this host has no compiler `no-such-cc`";
    check(&|build| build.compilation.compiler = "no-such-cc".to_owned(), compiler);
    let plain = bench.root.path().join("cc");
    fs::write(&plain, "").unwrap();
    let closed = format!("the compiler `{}` cannot be executed: ", plain.display());
    check(&|build| build.compilation.compiler = plain.display().to_string(), &closed);
    if has_compiler() {
        let empty = tempfile::tempdir().unwrap();
        let at = empty.path().display().to_string();
        let shape = "is no source tree of it: no folder holds `configure`, `src/sqlite.h.in`, or \
                     `sqlite3.c`, `sqlite3.h`";
        let other = |build: &mut Build| build.compilation.tree.as_mut().unwrap().at = at.clone();
        check(&other, shape);
    }
}

#[test]
fn a_build_ends_with_everything_it_started_when_it_is_to_stop() {
    let bench = bench();
    let mut build = bench.build(FAKE);
    let mut recipe = recipe::of(&build).unwrap().clone();
    recipe.ways.retain(|way| way.name == "amalgamation");
    let pid = bench.root.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", pid.display());
    recipe.ways[0].steps = vec![["sh", "-c", &script].map(str::to_owned).to_vec()];
    build.compilation.recipe = Some(recipe);
    let order = Order::of(&build, None).unwrap().unwrap();
    let stopped = || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'));
    let mut progress = |_: &str| {};
    let mut watch = Watch { progress: &mut progress, stopped: &stopped };
    let said = make(&order, &bench.places, &mut watch).unwrap_err().to_string();
    assert!(said.contains("was interrupted; the next run begins it anew"), "{said}");
    let pid: u32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let is_alive = || {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while is_alive() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(!is_alive());
}

#[test]
fn the_place_of_a_way_is_searched_from_the_top_down() {
    let tree = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        fs::create_dir_all(tree.path().join(name)).unwrap();
        fs::write(tree.path().join(name).join("sqlite3.c"), "").unwrap();
        fs::write(tree.path().join(name).join("sqlite3.h"), "").unwrap();
    };
    let build = Build::of("sqlite", "");
    let recipe = recipe::of(&build).unwrap();
    let way = recipe.ways.iter().find(|way| way.name == "amalgamation").unwrap();
    let found = || {
        let place = place_of(way, tree.path()).unwrap()?;
        Some(place.strip_prefix(tree.path()).unwrap().display().to_string())
    };
    assert_eq!(found(), None);
    folder("a/b/c");
    folder("sqlcipher");
    assert_eq!(found(), None);
    folder("z/b");
    assert_eq!(found().as_deref(), Some("z/b"));
    folder("sqlite3");
    assert_eq!(found().as_deref(), Some("sqlite3"));
}

#[test]
fn an_amalgamation_in_a_whole_tree_is_made_anew() {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir(tree.path().join("src")).unwrap();
    for name in ["configure", "src/sqlite.h.in", "sqlite3.c", "sqlite3.h"] {
        fs::write(tree.path().join(name), "").unwrap();
    }
    let build = Build::of("sqlite", "");
    let recipe = recipe::of(&build).unwrap();
    let fits = |way: &&Way| place_of(way, tree.path()).unwrap().is_some();
    let way = recipe.ways.iter().find(fits).unwrap();
    assert!(way.programs.is_empty(), "a host without one would take the amalgamation as it is");
    let steps = &way.steps;
    let place = |words: [&str; 2]| steps.iter().position(|step| *step == words);
    let (clean, made) = (place(["make", "clean"]), place(["make", "sqlite3.c"]));
    assert!(clean.is_some() && clean < made, "{steps:?}");
}
