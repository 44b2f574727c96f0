use super::*;
use fs_err as fs;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

fn tree(kind: &str, at: &Path, revision: &str) -> Tree {
    Tree { kind: kind.to_owned(), at: at.display().to_string(), revision: revision.to_owned() }
}

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
    /// A tree in a new folder, and what it is.
    fn unpacked(&self, tree: &Tree) -> Result<(tempfile::TempDir, Identity)> {
        let target = tempfile::tempdir().unwrap();
        let (scratch, folder) = (target.path().join("scratch"), target.path().join("tree"));
        fs::create_dir(&scratch).unwrap();
        fs::create_dir(&folder).unwrap();
        let kind = of(tree)?;
        let identity = (kind.identify)(tree, &self.places)?;
        let known = Known { tree, identity: &identity, places: &self.places };
        (kind.unpack)(&known, &Destination { scratch: &scratch, folder: &folder })?;
        Ok((target, identity))
    }
}

#[test]
fn what_names_no_tree_is_refused_in_one_sentence() {
    let bench = bench();
    let file = bench.root.path().join("file");
    fs::write(&file, "").unwrap();
    let check = |kind: &str, at: &Path, revision: &str, expected: &str| {
        let tree = tree(kind, at, revision);
        let found = of(&tree).and_then(|kind| (kind.check)(&tree));
        let said = found.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        assert!(!said.contains('\n'), "{said}");
    };
    let root = bench.root.path();
    check("path", root, "", "");
    check("path", &file, "", "is no folder; write `archive` for a tarball");
    check("path", &root.join("no"), "", "does not exist; name the folder of a source tree");
    check("archive", &file, "", "");
    check("archive", root, "", "is a folder; write `path` for it");
    check("archive", &root.join("no"), "", "does not exist; name a tarball");
    check("git", root, "", "lacks `rev`");
    check("git", &root.join("no"), "main", "does not exist; name the folder of a repository, or");
    for address in [
        "https://example.invalid/db.git",
        "https://me@example.invalid:8443/db.git",
        "example.invalid:db",
        "ssh://git@x/db",
    ] {
        check("git", Path::new(address), "main", "");
    }
    let secret = Path::new("https://me:hunter2@example.invalid/db.git");
    check("git", secret, "main", "`git https://example.invalid/db.git main` has a password in");
    check("git", root, "--upload-pack=/bin/x", "is no name");
    check("git", Path::new("--upload-pack=/bin/x"), "main", "is no name");
    check("crate", Path::new("libsqlite3-sys"), "0.30.1", "");
    check("crate", Path::new("libsqlite3-sys"), "", "is no name");
    check("crate", Path::new("libsqlite3-sys"), "^0.30", "is no crate with an exact `version`");
    check("crate", Path::new("a\" b"), "1.0.0", "is no crate");
    check("crate", Path::new("a"), "1\nb = \"2\"", "is no name");
    check("svn", root, "", "is of no known kind");
}

#[test]
fn the_hash_of_a_folder_is_that_of_names_modes_and_contents() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let bench = bench();
    let folder = bench.root.path().join("tree");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::write(folder.join("src/a.c"), "int a;").unwrap();
    let hash = || super::folder::hash(&folder).unwrap();
    let first = hash();
    assert_eq!(first.len(), "sha256:".len() + 64);
    fs::write(folder.join(".git/index"), "changes").unwrap();
    assert_eq!(hash(), first, "the history is no part of a tree");
    let mut seen = vec![first.clone()];
    let mut differs = |what: &str| {
        let now = hash();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    fs::write(folder.join("src/a.c"), "int b;").unwrap();
    differs("content");
    let mode = std::fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.join("src/a.c"), mode).unwrap();
    differs("mode");
    fs::rename(folder.join("src/a.c"), folder.join("src/b.c")).unwrap();
    differs("name");
    symlink("/etc/passwd", folder.join("link")).unwrap();
    differs("link");
    fs::create_dir(folder.join("src/.git")).unwrap();
    differs("folder");
}

#[test]
fn a_copy_of_a_folder_has_no_history_and_keeps_links() {
    use std::os::unix::fs::symlink;
    let bench = bench();
    let folder = bench.root.path().join("tree");
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::write(folder.join("a.c"), "int a;").unwrap();
    symlink("/etc/passwd", folder.join("link")).unwrap();
    let (target, identity) = bench.unpacked(&tree("path", &folder, "")).unwrap();
    let copy = target.path().join("tree");
    assert_eq!(super::folder::hash(&copy).unwrap(), identity.hash);
    assert!(!copy.join(".git").exists());
    assert!(fs::symlink_metadata(copy.join("link")).unwrap().is_symlink());
}

#[test]
fn a_folder_that_holds_the_cache_is_refused() {
    let bench = bench();
    fs::write(bench.root.path().join("a.c"), "int a;").unwrap();
    let refused = bench.unpacked(&tree("path", bench.root.path(), "")).unwrap_err().to_string();
    assert!(refused.contains("where builds lie; name another cache"), "{refused}");
}

/// Runs git in a repository, with an author of its own.
fn git(folder: &Path, words: &[&str]) -> String {
    let own = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
    let output = Command::new("git").args(own).args(words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{words:?} {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// An empty repository; none where there is no git.
fn repository() -> Option<(Bench, PathBuf)> {
    if Command::new("git").arg("--version").output().is_err() {
        println!("skipped: there is no git");
        return None;
    }
    let bench = bench();
    let folder = bench.root.path().join("repository");
    fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "--quiet", "."]);
    Some((bench, folder))
}

#[test]
fn a_revision_is_found_by_its_tag_or_its_name_and_comes_out_as_it_was_committed() {
    let Some((bench, folder)) = repository() else { return };
    fs::write(folder.join("a.c"), "one $Format:%H$\n").unwrap();
    fs::write(folder.join(".gitattributes"), "a.c export-subst\nb.c export-ignore\n").unwrap();
    fs::write(folder.join("b.c"), "b\n").unwrap();
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "-m", "one"]);
    git(&folder, &["tag", "v1"]);
    let first = git(&folder, &["rev-parse", "HEAD"]);
    fs::write(folder.join("a.c"), "two\n").unwrap();
    git(&folder, &["commit", "--quiet", "-am", "two"]);

    let (target, tagged) = bench.unpacked(&tree("git", &folder, "v1")).unwrap();
    assert_eq!(tagged.revision, first);
    let text = |name: &str| fs::read_to_string(target.path().join("tree").join(name)).unwrap();
    assert_eq!((text("a.c").as_str(), text("b.c").as_str()), ("one $Format:%H$\n", "b\n"));
    let (_, named) = bench.unpacked(&tree("git", &folder, &first)).unwrap();
    assert_eq!(named, tagged);
    let (target, head) = bench.unpacked(&tree("git", &folder, "HEAD")).unwrap();
    assert_ne!(head.hash, tagged.hash);
    let text = fs::read_to_string(target.path().join("tree/a.c")).unwrap();
    assert_eq!(text, "two\n");
    let missing = "has no such revision; name a tag";
    let error = bench.unpacked(&tree("git", &folder, "v2")).unwrap_err().to_string();
    assert!(error.contains(missing), "{error}");
    let check = |at: &Path, revision: &str, expected: &str| {
        let tree = tree("git", at, revision);
        let said = of(&tree).and_then(|kind| (kind.check)(&tree));
        let said = said.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        assert!(!said.contains('\n'), "{said}");
    };
    for revision in ["v1", "HEAD", "HEAD~1", &first, &first[..12]] {
        check(&folder, revision, "");
    }
    check(&folder, "v2", missing);
    check(&folder, &"0".repeat(40), missing);
    let address = format!("file://{}", folder.display());
    check(Path::new(&address), "v1", "");
    check(Path::new(&address), "v2", missing);
    // A folder inside a repository is none.
    fs::create_dir(folder.join("below")).unwrap();
    let none = "cannot be read; name the folder of a repository: not a git repository";
    check(&folder.join("below"), "v1", none);
    check(bench.root.path(), "v1", none);
}

#[test]
fn branches_move_vanish_and_may_be_called_as_commits_or_heads_are() {
    let Some((bench, folder)) = repository() else { return };
    let commit = |text: &str| {
        fs::write(folder.join("a.c"), text).unwrap();
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "--quiet", "-m", text]);
        git(&folder, &["rev-parse", "HEAD"])
    };
    let found = |revision: &str| {
        let tree = tree("git", &folder, revision);
        (of(&tree).unwrap().identify)(&tree, &bench.places).map(|identity| identity.revision)
    };
    let long = "a-branch-whose-name-is-longer-than-a-whole-commit-is";
    let first = commit("one");
    git(&folder, &["checkout", "--quiet", "-b", long]);
    assert_eq!(found(long).unwrap(), first);
    let second = commit("two");
    assert_eq!(found(long).unwrap(), second);
    git(&folder, &["branch", "HEADERS", &first]);
    assert_eq!(found("HEADERS").unwrap(), first);
    assert_eq!(found("HEAD~1").unwrap(), first);
    assert_eq!((found("@").unwrap(), found("@~1").unwrap()), (second.clone(), first.clone()));
    // A folder of branches in the place of a branch.
    git(&folder, &["branch", "-D", "HEADERS"]);
    git(&folder, &["branch", "HEADERS/new", &second]);
    assert_eq!(found("HEADERS/new").unwrap(), second);
    // What a copy has of others, by its name and by its commit.
    let third = commit("three");
    git(&folder, &["update-ref", "refs/remotes/origin/main", &third]);
    git(&folder, &["reset", "--quiet", "--hard", &second]);
    assert_eq!(found("origin/main").unwrap(), third);
    assert_eq!(found(&third).unwrap(), third);
}

#[test]
fn a_shallow_clone_has_its_revision_and_later_those_before_it() {
    let Some((bench, folder)) = repository() else { return };
    for text in ["one", "two"] {
        fs::write(folder.join("a.c"), text).unwrap();
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "--quiet", "-m", text]);
    }
    let address = format!("file://{}", folder.display());
    git(bench.root.path(), &["clone", "--quiet", "--depth", "1", &address, "clone"]);
    let clone = bench.root.path().join("clone");
    let found = |revision: &str| {
        let (target, _) = bench.unpacked(&tree("git", &clone, revision)).unwrap();
        fs::read_to_string(target.path().join("tree/a.c")).unwrap()
    };
    assert_eq!(found("HEAD"), "two");
    git(&clone, &["fetch", "--quiet", "--unshallow"]);
    assert_eq!((found("HEAD~1"), found("HEAD")), ("one".to_owned(), "two".to_owned()));
}
