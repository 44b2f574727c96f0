//! The base folder of a build: checked without executing anything in it, and asked for its version.

use crate::{
    Error, Installed, Places, Result, ServerUser, access, archive, find,
    installed::Program,
    manifest::Manifest,
    product::{DBMSES, Dbms},
    version,
};
use fs_err as fs;
use model::subject::Build;
use std::path::{Path, PathBuf};

/// Refuses a `basedir` that no run could start: it is missing, it is no base folder of the product,
/// or the server user cannot read it. Executes nothing, so the version stays unknown.
pub fn check_basedir(build: &Build, places: &Places) -> Result<()> {
    let Some(basedir) = &build.basedir else { return Ok(()) };
    let product = find(&build.server)?;
    if product.embedded() {
        return check_library(&build.server, basedir);
    }
    locate(product, basedir, places.user).map(|_| ())
}

/// A base folder without links, and the program in it.
struct Located {
    basedir: PathBuf,
    program: Program,
}

/// Finds the program of a base folder, which the server user has to be able to read.
fn locate(product: &dyn Dbms, basedir: &Path, user: Option<ServerUser>) -> Result<Located> {
    let refused = |reason: String| Error::Basedir { path: basedir.to_owned(), reason };
    if !basedir.exists() {
        return Err(refused("does not exist; name the base folder of a build".to_owned()));
    }
    let given = basedir;
    let basedir = fs::canonicalize(basedir)?;
    if !basedir.is_dir() {
        let remedy = suggestion(product, &basedir);
        return Err(refused(format!("is a file, not the base folder of a build; {remedy}")));
    }
    let program = product.program(&basedir).map_err(|error| match error {
        Error::NoBuild { server, missing, .. } => refused(format!(
            "holds no {server} build: `{missing}` is missing; {}",
            suggestion(product, given)
        )),
        other => other,
    })?;
    access::check(&program.binary, user)?;
    Ok(Located { basedir, program })
}

/// Looks at a base folder and asks its program for the version.
pub(crate) fn installed_in(
    product: &dyn Dbms,
    basedir: &Path,
    user: Option<ServerUser>,
) -> Result<Installed> {
    let Located { basedir, program } = locate(product, basedir, user)?;
    let found = product.version_text(&program, user)?;
    let other = |found: &str| Error::OtherBuild {
        binary: program.binary.clone(),
        found: found.trim().to_owned(),
        wanted: format!("a {} server", product.name()),
    };
    if !product.recognises(&found) {
        return Err(other(&found));
    }
    let version = version::version_in(&found).ok_or_else(|| other(&found))?.to_owned();
    let binary_sha256 = match Manifest::read(&basedir)? {
        Some(manifest) => manifest.binary_sha256,
        None => archive::sha256(&program.binary)?,
    };
    Ok(Installed {
        server: product.name().to_owned(),
        version,
        basedir,
        binary: program.binary,
        binary_sha256,
        loader: program.loader,
        environment: program.environment,
    })
}

/// A library of the user's that holds an embedded engine.
pub fn installed_library(server: &str, path: &Path) -> Result<Installed> {
    Ok(Installed {
        server: server.to_owned(),
        version: String::new(),
        basedir: path.to_owned(),
        binary: path.to_owned(),
        binary_sha256: archive::sha256(path)?,
        loader: Vec::new(),
        environment: Vec::new(),
    })
}

/// What was probably meant: a folder above or below, or another product.
fn suggestion(product: &dyn Dbms, path: &Path) -> String {
    let holds = |product: &dyn Dbms, folder: &Path| {
        folder.is_dir() && !product.embedded() && product.program(folder).is_ok()
    };
    let below =
        fs::read_dir(path).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let near = path.ancestors().skip(1).take(2).map(Path::to_owned).chain(below);
    if let Some(folder) = near.into_iter().find(|folder| holds(product, folder)) {
        return format!("did you mean `{}`?", folder.display());
    }
    match DBMSES.iter().find(|other| other.name() != product.name() && holds(**other, path)) {
        Some(other) => format!("it holds a {0} build: write `server = \"{0}\"`", other.name()),
        None => "name the folder that holds `bin`".to_owned(),
    }
}

fn check_library(server: &str, path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(());
    }
    let what = if path.is_dir() { "is a folder" } else { "does not exist" };
    let reason = format!("{what}; {server} is embedded: name its shared library, a file");
    Err(Error::Basedir { path: path.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ask_version;

    fn refusal(server: &str, basedir: &Path) -> String {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let build = Build { basedir: Some(basedir.to_owned()), ..Build::of(server, "") };
        check_basedir(&build, &places).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_wrong_basedir_is_refused_with_what_was_meant() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("pg");
        fs::create_dir_all(base.join("bin")).unwrap();
        fs::write(base.join("bin/postgres"), "").unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        let check = |server: &str, below: &str, expected: &str| {
            let path = folder.path().join(below);
            let found = refusal(server, &path).replace(folder.path().to_str().unwrap(), "");
            assert_eq!(found, expected, "{server} {below}");
        };
        check("postgres", "pg", "");
        check("postgres", "no", "`/no` does not exist; name the base folder of a build");
        let missing = "holds no postgres build: `bin/postgres` is missing";
        let meant = "did you mean `/pg`?";
        check("postgres", "pg/bin", &format!("`/pg/bin` {missing}; {meant}"));
        check("postgres", "", &format!("`/` {missing}; {meant}"));
        let file = "is a file, not the base folder of a build";
        check("postgres", "pg/bin/postgres", &format!("`/pg/bin/postgres` {file}; {meant}"));
        check(
            "mysql",
            "pg",
            "`/pg` holds no mysql build: `bin/mysqld` is missing; it holds a postgres build: \
             write `server = \"postgres\"`",
        );
        check("sqlite", "pg/bin/postgres", "");
        let library = "sqlite is embedded: name its shared library, a file";
        check("sqlite", "pg", &format!("`/pg` is a folder; {library}"));
        check("sqlite", "no", &format!("`/no` does not exist; {library}"));
    }

    #[test]
    fn a_folder_without_any_build_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/empty");
        fs::create_dir_all(&path).unwrap();
        let message = refusal("mariadb", &path);
        assert!(message.ends_with("is missing; name the folder that holds `bin`"), "{message}");
    }

    #[test]
    fn a_build_that_does_not_start_is_refused_with_its_own_words() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("postgres");
        let check = |script: &str, expected: &str| {
            fs::write(&binary, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755)).unwrap();
            let (loader, environment) = (Vec::new(), Vec::new());
            let program = Program { binary: binary.clone(), loader, environment };
            let found = ask_version(&program, None).map_err(|error| error.to_string());
            let found = found.unwrap_or_else(|message| message);
            assert!(found.contains(expected), "{found}");
        };
        check("echo postgres 18", "postgres 18");
        check("echo libssl.so.1.1: not found >&2; exit 127", "does not start: libssl.so.1.1: not");
        check("exit 1", "does not report its version");
        let missing = "error while loading shared libraries: libaio.so.1: cannot open";
        let script = format!("echo 'postgres: {missing}' >&2; exit 127");
        check(&script, &format!("` does not start: postgres: {missing}; install the package"));
    }
}
