//! What experiments and catalog files may say, and what is said back.
#![allow(clippy::unwrap_used, reason = "a test that cannot prepare its input has failed")]

mod catalog;
mod editor;
mod errors;
mod estimates;
mod format;
mod insert_benchmark;
mod limits;
mod mutant;
mod mutation;
mod plans;
mod roles;
mod scripts;
mod suites;
mod workload_errors;

use model::{
    attach::Attach,
    lua::{LuaFile, LuaFound},
    subject::{Build, Subject},
};
use plan::{Catalog, Draft, Error, Overrides, Versions, load_experiment};
use std::{collections::BTreeMap, path::Path};

/// A host that could install these products.
pub(crate) struct Host;

impl Versions for Host {
    fn products(&self) -> Vec<String> {
        ["mariadb", "mysql", "postgres", "sqlite"].map(str::to_owned).to_vec()
    }

    fn is_embedded(&self, server: &str) -> bool {
        server == "sqlite"
    }

    fn available(&self, server: &str) -> Vec<String> {
        let known: &[&str] = match server {
            "mysql" => &["9.7.4", "5.6.24", "5.5.9"],
            "mariadb" => &["11.8.9", "10.11.19", "10.5.23", "10.1.23"],
            "postgres" => &["18.6", "17.6", "11.22"],
            _ => &["3.50.4"],
        };
        known.iter().map(|version| (*version).to_owned()).collect()
    }

    fn resolve(&self, server: &str, version: &str) -> Result<String, String> {
        let mut known = self.available(server).into_iter();
        known
            .find(|known| known.starts_with(version))
            // Shipped experiments name many more, exactly.
            .or_else(|| version.contains('.').then(|| version.to_owned()))
            .ok_or_else(|| format!("{server} has no version `{version}`"))
    }

    fn script(&self, path: &str, _: &BTreeMap<String, String>) -> Result<LuaFound, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let sha256 = "0".repeat(64);
        let files = vec![LuaFile { path: path.to_owned(), sha256 }];
        // The first line of a script of a test names the function of its data.
        let prepare = text.lines().next().and_then(|line| line.strip_prefix("-- "));
        let options = ["table_size", "skip_trx"].map(str::to_owned).to_vec();
        Ok(LuaFound { files, options, prepare: prepare.map(str::to_owned) })
    }

    fn check_basedir(&self, build: &Build) -> Result<(), String> {
        match &build.basedir {
            Some(path) if path.ends_with("missing") => Err("`missing` does not exist".to_owned()),
            _ => Ok(()),
        }
    }

    fn product_of(&self, attach: &Attach) -> Result<String, String> {
        match attach.host.as_str() {
            "postgres.example" => Ok("postgres".to_owned()),
            host => Err(format!("`{host}` does not answer")),
        }
    }

    fn check_prefix(&self, build: &Build) -> Result<(), String> {
        match build.prefix.first() {
            Some(program) if program.ends_with("missing") => Err(format!("no `{program}`")),
            _ => Ok(()),
        }
    }

    fn check_source(&self, build: &Build) -> Result<(), String> {
        match &build.compilation.tree {
            Some(tree) if tree.at.ends_with("missing") => Err(format!("no `{tree}`")),
            _ => Ok(()),
        }
    }

    fn start_with(
        &self,
        factor: &str,
        level: &str,
        subject: &mut Subject,
    ) -> Result<String, String> {
        if level == "impossible" {
            return Err(format!("`{level}` is no level"));
        }
        subject.levels.insert(factor.to_owned(), level.to_owned());
        Ok(level.trim_end_matches('\'').to_owned())
    }
}

pub(crate) fn catalog() -> Catalog {
    Catalog::embedded().unwrap()
}

/// Writes `text` to a file of its own and drafts it.
pub(crate) fn draft(folder: &Path, text: &str) -> Result<Draft, Error> {
    let path = folder.join("mine.toml");
    fs_err::write(&path, text).unwrap();
    load_experiment(path.to_str().unwrap(), &catalog(), &Overrides::default())
}

pub(crate) fn plan_of(text: &str) -> Result<model::plan::Plan, Error> {
    let folder = tempfile::tempdir().unwrap();
    plan::plan(&draft(folder.path(), text)?, &catalog(), &Host)
}

pub(crate) fn shipped(name: &str, set: &[&str]) -> Result<model::plan::Plan, Error> {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    let overrides = Overrides { set, only: Vec::new(), ..Overrides::default() };
    plan::plan(&load_experiment(name, &catalog(), &overrides)?, &catalog(), &Host)
}
