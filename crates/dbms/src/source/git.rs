//! `git`: a revision of a repository, by the program `git`. Its history is kept in a bare
//! repository of dbdyno's own, whose configuration nobody else writes; the user's is only read
//! from.

use super::{Identity, Kind, Known, check_word, refused};
use crate::{Error, Places, Result, archive, client, manifest::Download, registry::Destination};
use fs_err as fs;
use model::recipe::Tree;
use sha2::{Digest, Sha256};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub(super) const KIND: Kind = Kind { name: "git", check, identify, unpack };

/// Branches, tags, what a copy knows of the branches of others, and what is checked out.
const REFERENCES: [&str; 4] = [
    "+refs/heads/*:refs/heads/*",
    "+refs/tags/*:refs/tags/*",
    "+refs/remotes/*:refs/remotes/*",
    "+HEAD:refs/dbdyno/HEAD",
];

/// Digits of a whole commit, by SHA-1 and by SHA-256.
const COMMIT: [usize; 2] = [40, 64];

/// Trees come out as they were committed.
const ATTRIBUTES: &str =
    "* -export-ignore -export-subst -filter -text -ident -working-tree-encoding\n";

fn check(tree: &Tree) -> Result<()> {
    if holds_password(&tree.at) {
        let tree = Tree { at: client::without_credentials(&tree.at), ..tree.clone() };
        let reason = "has a password in its address, which command lines and records would show; \
                      leave it out, and let git find it by its `credential.helper` or a key of ssh";
        return Err(refused(&tree, reason));
    }
    check_word(tree, &tree.at)?;
    if tree.revision.is_empty() {
        return Err(refused(tree, "lacks `rev`; name a tag, a branch or a commit"));
    }
    check_word(tree, &tree.revision)?;
    match place(tree)? {
        Some(folder) => check_revision(tree, &folder),
        None => Ok(()),
    }
}

/// Whether an address has a password before its host: `https://USER:PASSWORD@HOST/…`.
fn holds_password(address: &str) -> bool {
    let Some((_, rest)) = address.split_once("://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

fn identify(tree: &Tree, places: &Places) -> Result<Identity> {
    check(tree)?;
    let mirror = Mirror::open(tree, places)?;
    // A commit that is there stays what it is; a branch moves.
    let commit = match mirror.commit().filter(|_| is_commit(&tree.revision)) {
        Some(commit) => commit,
        None => mirror.update()?,
    };
    let hash = mirror.run(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
    Ok(Identity { hash: format!("git-tree:{}", hash.trim()), revision: commit })
}

fn unpack(what: &Known<'_>, to: &Destination<'_>) -> Result<Vec<Download>> {
    let mirror = Mirror::open(what.tree, what.places)?;
    let tarball = to.scratch.join("tree.tar");
    let output = format!("--output={}", tarball.display());
    mirror.run(&["archive", "--format=tar", &output, &what.identity.revision])?;
    archive::unpack(&tarball, to.folder)?;
    fs::remove_file(tarball)?;
    Ok(Vec::new())
}

/// The folder of a repository on this host; none for an address, and for a file that holds one:
/// what is there is known when it is fetched.
fn place(tree: &Tree) -> Result<Option<PathBuf>> {
    let at = tree.at.strip_prefix("file://").unwrap_or(&tree.at);
    let is_folder = |path: &String| Path::new(path).is_dir();
    if let Some(folder) = [at.to_owned(), format!("{at}.git")].into_iter().find(is_folder) {
        return Ok(Some(fs::canonicalize(folder)?));
    }
    // `https://HOST/…`, or `HOST:PATH` as ssh has it.
    let is_address = at.split('/').next().is_some_and(|start| start.contains(':'));
    match is_address || Path::new(at).is_file() {
        true => Ok(None),
        false => {
            Err(refused(tree, "does not exist; name the folder of a repository, or its address"))
        }
    }
}

/// Refuses a folder that is no repository, and one without the revision. git only reads here: it
/// does not search above the folder, and may not fetch what a partial copy lacks, because the
/// repository itself says by which command.
fn check_revision(tree: &Tree, folder: &Path) -> Result<()> {
    let mut git = Command::new("git");
    client::inherit_little(&mut git);
    let revision = format!("{}^{{commit}}", tree.revision);
    git.arg("-C")
        .arg(folder)
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])
        .env("LC_ALL", "C")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder))
        // Under `sudo` it reads a repository of the user behind root.
        .envs(std::env::var_os("SUDO_UID").map(|user| ("SUDO_UID", user)))
        .stdin(Stdio::null());
    let output = git.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::ClientMissing { program: "git".to_owned(), package: tree.to_string() }
        }
        _ => error.into(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().next() {
        None => Err(no_revision(tree)),
        Some(line) => Err(refused(tree, unreadable(line, folder))),
    }
}

/// Why git does not read a folder, from the first line of its complaint, and the remedy.
fn unreadable(line: &str, folder: &Path) -> String {
    let reason = line.trim_start_matches("fatal: ");
    let remedy = match reason.contains("dubious ownership") {
        true => format!(
            "permit git to read it by `git config --global --add safe.directory {0}`, and to \
             fetch from it by the same for `{0}/.git`",
            folder.display()
        ),
        false => "name the folder of a repository".to_owned(),
    };
    format!("cannot be read; {remedy}: {reason}")
}

/// Whether a revision is a commit by all of its digits, which a long name of a branch is not.
fn is_commit(revision: &str) -> bool {
    COMMIT.contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A revision as the repository of dbdyno's own calls it: `HEAD`, `@`, `HEAD~1` or `@^2` are those
/// of the user's.
fn named_here(revision: &str) -> String {
    let own = revision.strip_prefix("HEAD").or_else(|| revision.strip_prefix('@'));
    match own.filter(|rest| rest.is_empty() || rest.starts_with(['~', '^', '@'])) {
        Some(rest) => format!("refs/dbdyno/HEAD{rest}"),
        None => revision.to_owned(),
    }
}

fn no_revision(tree: &Tree) -> Error {
    refused(tree, "has no such revision; name a tag, a branch or a commit")
}

/// The repository of dbdyno's own.
struct Mirror<'a> {
    tree: &'a Tree,
    address: String,
    folder: PathBuf,
    /// Two users of one repository take turns.
    _lock: fs::File,
}

impl<'a> Mirror<'a> {
    fn open(tree: &'a Tree, places: &Places) -> Result<Self> {
        let at = Path::new(&tree.at);
        let address = match at.is_dir() {
            true => fs::canonicalize(at)?.display().to_string(),
            false => tree.at.clone(),
        };
        let hash = Sha256::digest(&address);
        let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let above = places.registry(&format!("git-{name}"))?;
        let lock = fs::File::create(above.join("turn"))?;
        lock.file().lock()?;
        let folder = above.join("repository");
        let mirror = Self { tree, address, folder, _lock: lock };
        if !mirror.folder.join("HEAD").is_file() {
            fs::create_dir_all(&mirror.folder)?;
            mirror.run(&["init", "--bare", "--quiet", "."])?;
        }
        let attributes = mirror.folder.join("info");
        fs::create_dir_all(&attributes)?;
        fs::write(attributes.join("attributes"), ATTRIBUTES)?;
        Ok(mirror)
    }

    /// The commit that is meant, if it is there.
    fn commit(&self) -> Option<String> {
        let revision = format!("{}^{{commit}}", named_here(&self.tree.revision));
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let text = self.run(&words).ok()?;
        text.lines().last().map(|line| line.trim().to_owned())
    }

    /// The same after a look at the user's repository.
    fn update(&self) -> Result<String> {
        // A branch that is gone may not be taken for one, nor be in the way of another.
        let mut words = vec!["fetch", "--quiet", "--force", "--prune", "--no-write-fetch-head"];
        // A shallow clone has a revision without all before it, and may get these later.
        let is_shallow = self.folder.join("shallow").exists();
        words.extend(["--update-shallow"].into_iter().chain(is_shallow.then_some("--unshallow")));
        words.extend(["--", &self.address]);
        words.extend(REFERENCES);
        self.run(&words)?;
        self.commit().ok_or_else(|| no_revision(self.tree))
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        // No transport that is a command, no question to the user, and no cleaning up that goes on
        // while servers are measured.
        let fixed = ["protocol.ext.allow=never", "core.askPass=true", "gc.autoDetach=false"];
        let fixed: Vec<&str> = fixed.iter().flat_map(|setting| ["-c", *setting]).collect();
        let all = [&fixed[..], words].concat();
        client::run("git", &all, &self.folder, &self.tree.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_packed_before_anything_is_measured() {
        if Command::new("git").arg("--version").output().is_err() {
            println!("skipped: there is no git");
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(&root.path().join("places"), None).unwrap();
        let at = root.path().display().to_string();
        let tree = Tree { kind: "git".to_owned(), at, revision: "HEAD".to_owned() };
        let mirror = Mirror::open(&tree, &places).unwrap();
        assert_eq!(mirror.run(&["config", "gc.autoDetach"]).unwrap().trim(), "false");
    }

    #[test]
    fn a_repository_of_another_user_has_another_remedy_than_a_folder_that_is_none() {
        let check = |line: &str, expected: &str| {
            assert_eq!(unreadable(line, Path::new("/src/db")), expected);
        };
        check(
            "fatal: detected dubious ownership in repository at '/src/db'",
            "cannot be read; permit git to read it by `git config --global --add safe.directory \
             /src/db`, and to fetch from it by the same for `/src/db/.git`: detected dubious \
             ownership in repository at '/src/db'",
        );
        check(
            "fatal: not a git repository",
            "cannot be read; name the folder of a repository: not a git repository",
        );
    }
}
