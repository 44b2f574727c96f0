//! `prefix`: words before a server's command.

use super::{Factor, Up, processes};
use crate::{Places, is_embedded, setup, task};
use model::{
    secret,
    subject::{Build, Subject},
};
use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "prefix",
    help: "words before the command (`nice -n 5`), or empty for none",
    give,
    label,
    missed,
};

fn give(level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
    let words: Vec<String> = level.split_whitespace().map(str::to_owned).collect();
    if !secret::secrets_in(&words).is_empty() {
        let remedy = "levels are shown: set it by `prefix` of `[servers.NAME]`";
        return Err(format!("a word of it looks like a secret, and {remedy}"));
    }
    check(&words, &subject.build)?;
    subject.build.prefix.extend(words);
    Ok(())
}

/// The program is shown by the last part of its path.
fn label(level: &str) -> String {
    let mut words = level.split_whitespace();
    let program = words.next().and_then(|word| word.rsplit('/').next());
    program.into_iter().chain(words).collect::<Vec<_>>().join("-")
}

/// What a prefix does is its own; it has to end in the server.
fn missed(up: &Up<'_>) -> Option<String> {
    if up.subject.build.prefix.is_empty() {
        return None;
    }
    let program = up.program.canonicalize().unwrap_or_else(|_| up.program.to_owned());
    let runs = |pid: &u32| task::mapped_code(*pid).contains(&program);
    if processes(up).iter().any(runs) {
        return None;
    }
    let program = program.display();
    Some(format!("none of its processes runs `{program}`; let the prefix execute what follows"))
}

/// Refuses words whose program this host lacks. `build` is what they start. Executes nothing: what
/// the program does with the other words is its own.
pub fn check(words: &[String], build: &Build) -> Result<(), String> {
    words.first().map_or(Ok(()), |program| check_program(program, build))
}

/// Refuses a program that this host lacks, looked for as by the process that executes it.
pub(super) fn check_program(name: &str, build: &Build) -> Result<(), String> {
    let is_program = |path: &PathBuf| {
        let about = fs_err::metadata(path);
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    // An embedded engine works in the driver, which starts where dbdyno does; a server in `/`.
    let embedded = is_embedded(&build.server);
    let start = Path::new(if embedded { "." } else { "/" });
    if name.contains('/') {
        return match is_program(&start.join(name)) {
            true => Ok(()),
            false => Err(format!("`{name}` is no program: name a file that can be executed")),
        };
    }
    let own = build.environment.iter().rev().find(|(name, _)| name == "PATH");
    let inherited = embedded.then(|| std::env::var("PATH").ok()).flatten();
    let path = own.map(|(_, path)| path.clone()).or(inherited);
    let path = path.unwrap_or_else(|| setup::PATH.to_owned());
    match path.split(':').map(|folder| start.join(folder).join(name)).any(|path| is_program(&path))
    {
        true => Ok(()),
        false => Err(format!(
            "no program `{name}` is in `{path}`: install it there, or write its whole path"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs_err::write(path("own"), "").unwrap();
        fs_err::write(path("text"), "").unwrap();
        fs_err::set_permissions(path("own"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let check = |words: &str, build: &Build, expected: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            assert_eq!(check(&words, build).err().unwrap_or_default(), expected, "{words:?}");
        };
        let server = Build::of("mysql", "");
        check("", &server, "");
        check("nice -n 5", &server, "");
        check("nice no-such-program", &server, "");
        check(&path("own"), &server, "");
        let missing = "no program `no-such-program` is in `/usr/bin:/bin`: install it there, or \
                       write its whole path";
        check("no-such-program -x", &server, missing);
        for name in ["text", "none"] {
            let expected =
                format!("`{}` is no program: name a file that can be executed", path(name));
            check(&path(name), &server, &expected);
        }
        let variable = ("PATH".to_owned(), folder.path().display().to_string());
        let elsewhere = Build { environment: vec![variable], ..Build::of("mysql", "") };
        check("own", &elsewhere, "");
        let missing = format!(
            "no program `nice` is in `{}`: install it there, or write its whole path",
            folder.path().display()
        );
        check("nice", &elsewhere, &missing);
        // The driver of an embedded engine has the path of dbdyno.
        check("nice", &Build::of("sqlite", ""), "");
    }
}
