//! `git`: a revision of a repository, by the program `git`. Its history is kept in a bare
//! repository of dbdyno's own, whose configuration nobody else writes; the user's is only read
//! from.

use super::{Identity, Kind, Known, check_word, refused};
use crate::{Places, Result, archive, client, manifest::Download, registry::Destination};
use fs_err as fs;
use model::recipe::Tree;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

pub(super) struct Git;

/// Branches, tags, and what is checked out.
const REFERENCES: [&str; 3] =
    ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/dbdyno/HEAD"];

/// Trees come out as they were committed.
const ATTRIBUTES: &str =
    "* -export-ignore -export-subst -filter -text -ident -working-tree-encoding\n";

impl Kind for Git {
    fn name(&self) -> &'static str {
        "git"
    }

    fn check(&self, tree: &Tree) -> Result<()> {
        check_word(tree, &tree.at)?;
        if tree.revision.is_empty() {
            return Err(refused(tree, "lacks `rev`; name a tag, a branch or a commit"));
        }
        check_word(tree, &tree.revision)
    }

    fn identify(&self, tree: &Tree, places: &Places) -> Result<Identity> {
        self.check(tree)?;
        let mirror = Mirror::open(tree, places)?;
        // A commit that is there stays what it is; a branch moves.
        let is_exact = tree.revision.len() >= 40;
        let commit = match mirror.commit().filter(|_| is_exact) {
            Some(commit) => commit,
            None => mirror.update()?,
        };
        let hash = mirror.run(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        Ok(Identity { hash: format!("git-tree:{}", hash.trim()), revision: commit })
    }

    fn unpack(&self, what: &Known<'_>, to: &Destination<'_>) -> Result<Vec<Download>> {
        let mirror = Mirror::open(what.tree, what.places)?;
        let tarball = to.scratch.join("tree.tar");
        let output = format!("--output={}", tarball.display());
        mirror.run(&["archive", "--format=tar", &output, &what.identity.revision])?;
        archive::unpack(&tarball, to.folder)?;
        fs::remove_file(tarball)?;
        Ok(Vec::new())
    }
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
        let revision = match self.tree.revision.strip_prefix("HEAD") {
            Some(rest) => format!("refs/dbdyno/HEAD{rest}"),
            None => self.tree.revision.clone(),
        };
        let revision = format!("{revision}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
        let text = self.run(&words).ok()?;
        text.lines().last().map(|line| line.trim().to_owned())
    }

    /// The same after a look at the user's repository.
    fn update(&self) -> Result<String> {
        let mut words = vec!["fetch", "--quiet", "--force", "--no-write-fetch-head", "--"];
        words.push(&self.address);
        words.extend(REFERENCES);
        self.run(&words)?;
        self.commit().ok_or_else(|| {
            refused(self.tree, "has no such revision; name a tag, a branch or a commit")
        })
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        // No transport that is a command, and no question to the user.
        let fixed = ["-c", "protocol.ext.allow=never", "-c", "core.askPass=true"];
        let all = [&fixed[..], words].concat();
        client::run("git", &all, &self.folder, &self.tree.to_string())
    }
}
