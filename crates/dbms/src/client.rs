//! Executing other programs to their end: clients of registries, and servers that are asked for
//! their version.

use crate::{Error, Result, ServerUser, installed::Program};
use std::{
    ffi::OsStr,
    io::ErrorKind,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Output, Stdio},
};

const LAST_LINES: usize = 3;

/// Variables of the caller that processes of dbdyno keep: where things lie, and how texts look.
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LUA_PATH",
    "PATH",
    "RUST_BACKTRACE",
    "TMPDIR",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Leaves a command few variables of the caller: others may hold secrets, and the size of all
/// moves the stack, and results with it.
pub fn inherit_little(command: &mut Command) {
    command.env_clear();
    let kept = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.envs(kept);
}

/// Variables that lead git to another repository than that of its folder: a hook of git sets them.
const OF_REPOSITORIES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Executes a registry's client in a folder and returns what it said on standard output.
pub(crate) fn run<S: AsRef<OsStr>>(
    program: &str,
    arguments: &[S],
    folder: &Path,
    package: &str,
) -> Result<String> {
    let mut command = of_registry(program, folder);
    let output = command.args(arguments).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::ClientMissing { program: program.to_owned(), package: package.to_owned() }
        }
        _ => failed(program, package, &error.to_string()),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(failed(program, package, &text))
}

/// A registry's client, which follows the caller's settings.
fn of_registry(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    for name in OF_REPOSITORIES {
        command.env_remove(name);
    }
    // English, and UTF-8 in paths: Java of Maven finds no file with other letters in plain `C`.
    command.env("LC_ALL", "C.UTF-8").env_remove("LANGUAGE");
    command.current_dir(folder).env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null());
    command
}

/// What a server's program wrote.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The last line of its complaint, if it has any.
    pub(crate) complaint: Option<String>,
}

/// Executes a server's program for an answer, as the server user, with nothing else in its
/// environment. The answer is what it wrote, whether it succeeded or not.
pub(crate) fn ask(
    words: &[String],
    environment: &[(String, String)],
    user: Option<ServerUser>,
) -> Result<Answer> {
    let output = output(words, environment, user)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    let complaint = said.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned);
    Ok(Answer { text, complaint })
}

/// How the loaders of GNU and musl begin to say, in letters of either case, that there is no such
/// library.
const NO_LIBRARY: &str = "loading shared librar";

/// What a program says about its version.
pub(crate) fn ask_version(program: &Program, user: Option<ServerUser>) -> Result<String> {
    let mut words = program.command();
    words.push("--version".to_owned());
    let answer = ask(&words, &program.environment, user)?;
    if answer.text.trim().is_empty() {
        let is_of_library = |line: &&String| line.to_lowercase().contains(NO_LIBRARY);
        if let Some(line) = answer.complaint.as_ref().filter(is_of_library) {
            let remedy = "install the package of this host that has the library, or take a build \
                          that brings its own";
            let reason = format!("does not start: {line}; {remedy}");
            return Err(Error::Basedir { path: program.binary.clone(), reason });
        }
        let found = match answer.complaint {
            Some(line) => format!("a program that does not start: {line}"),
            None => "a program that does not report its version".to_owned(),
        };
        let wanted = "a server".to_owned();
        return Err(Error::OtherBuild { binary: program.binary.clone(), found, wanted });
    }
    // MySQL and MariaDB begin with their path, whose folders may hold other versions and products.
    let path = program.binary.display().to_string();
    let name = program.binary.file_name().unwrap_or_default().to_string_lossy();
    Ok(answer.text.replace(&path, &name))
}

/// Executes a server's program as [`ask`] does; whether it succeeded.
pub(crate) fn succeeds(
    words: &[String],
    environment: &[(String, String)],
    user: Option<ServerUser>,
) -> Result<bool> {
    Ok(output(words, environment, user)?.status.success())
}

/// Executes a server's program to its end. An error names the program.
fn output(
    words: &[String],
    environment: &[(String, String)],
    user: Option<ServerUser>,
) -> Result<Output> {
    let mut command = prepared(words, environment, user)?;
    command.output().map_err(|error| {
        let program = Path::new(command.get_program());
        // The kernel gives the same error where the interpreter of a program is missing.
        let remedy = match error.kind() == ErrorKind::NotFound && program.exists() {
            true => {
                "; the loader or interpreter that it names is missing: with musl, take a host or \
                 a container with the GNU C library"
            }
            false => "",
        };
        let text = format!("cannot execute `{}`: {error}{remedy}", program.display());
        std::io::Error::new(error.kind(), text).into()
    })
}

fn prepared(
    words: &[String],
    environment: &[(String, String)],
    user: Option<ServerUser>,
) -> Result<Command> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| Error::Keeper { reason: "a command has no words".to_owned() })?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.current_dir("/").stdin(Stdio::null());
    if let Some(user) = user {
        command.gid(user.gid).uid(user.uid);
    }
    Ok(command)
}

fn failed(program: &str, package: &str, text: &str) -> Error {
    let lines: Vec<&str> = text.lines().map(plain).filter(|line| says_something(line)).collect();
    let (mut kept, rest): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| is_error(program, line));
    if kept.is_empty() {
        kept = rest;
        kept.drain(..kept.len().saturating_sub(LAST_LINES));
    }
    // Maven says what is wrong first, and then how to ask it for more.
    kept.truncate(if program == "mvn" { 1 } else { LAST_LINES });
    let text = without_credentials(&kept.join("; "));
    Error::ClientFailed { program: program.to_owned(), package: package.to_owned(), text }
}

// Maven resets colors that it did not set.
fn plain(line: &str) -> &str {
    let line = line.trim().trim_start_matches("\u{1b}[0m");
    line.strip_suffix("-> [Help 1]").unwrap_or(line).trim_end()
}

fn says_something(line: &str) -> bool {
    line.len() > "[ERROR]".len() && !line.starts_with("[ERROR] [Help")
}

fn is_error(program: &str, line: &str) -> bool {
    let marks: &[&str] = match program {
        // Advice follows, without the file that it is about.
        "git" => &["fatal: ", "error: "],
        _ => &["E: ", "[ERROR]", "npm error", "npm ERR!"],
    };
    marks.iter().any(|mark| line.starts_with(mark))
}

/// A text without what stands before a host: an address may hold a user and a password.
pub(crate) fn without_credentials(text: &str) -> String {
    let mut parts = text.split("://");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(part.len());
        let host = part[..end].rfind('@').map_or(0, |at| at + 1);
        clean.push_str("://");
        clean.push_str(&part[host..]);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_dbdyno_inherit_few_variables() {
        let mut command = Command::new("env");
        command.env("SOME_TOKEN", "hunter2");
        inherit_little(&mut command);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.split('=').next());
        assert!(names.clone().any(|name| name == "PATH"), "{text}");
        names.for_each(|name| assert!(INHERITED.contains(&name), "{name}"));
    }

    #[test]
    fn a_client_is_not_led_to_the_repository_of_a_hook() {
        let command = of_registry("git", Path::new("/"));
        let removed = |name: &str| command.get_envs().any(|(own, to)| own == name && to.is_none());
        assert!(removed("GIT_DIR") && removed("GIT_OBJECT_DIRECTORY"));
        assert!(!removed("GIT_SSH_COMMAND") && !removed("HTTPS_PROXY"));
    }

    #[test]
    fn a_client_speaks_english_and_knows_all_letters_of_paths() {
        let command = of_registry("mvn", Path::new("/"));
        let set = |name: &str| command.get_envs().find(|(own, _)| *own == name).map(|(_, to)| to);
        assert_eq!(set("LC_ALL"), Some(Some(OsStr::new("C.UTF-8"))));
        assert_eq!(set("LANGUAGE"), Some(None));
    }

    #[test]
    fn a_program_that_cannot_be_executed_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("postgres");
        fs_err::write(&program, "#!/no/such/loader\n").unwrap();
        let said = || {
            let words = [program.display().to_string()];
            ask(&words, &[], None).map(drop).unwrap_err().to_string()
        };
        assert!(said().starts_with(&format!("cannot execute `{}`: Perm", program.display())));
        fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(said().contains("the loader or interpreter that it names is missing"));
        fs_err::remove_file(&program).unwrap();
        assert!(said().ends_with("No such file or directory (os error 2)"));
    }

    #[test]
    fn a_missing_client_names_the_remedy() {
        let error = run("no-such-client", &["x"], Path::new("/"), "server@1").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`no-such-client` is needed to fetch `server@1`; install it, or give a build by \
             `basedir`"
        );
    }

    #[test]
    fn a_client_that_fails_is_quoted_without_passwords() {
        let script = "echo noise; exec >&2; \
                      echo 'E: cannot reach https://me:secret@mirror.example/debian'; exit 3";
        let error = run("sh", &["-c", script], Path::new("/"), "server@1").unwrap_err().to_string();
        assert!(error.ends_with("E: cannot reach https://mirror.example/debian"), "{error}");
        assert!(!error.contains("noise"), "{error}");
    }

    #[test]
    fn maven_is_quoted_by_its_first_error() {
        let said = "\u{1b}[0m\u{1b}[0m[ERROR] Could not find artifact x -> [Help 1]\n\
                    [ERROR] \n[ERROR] Re-run Maven using -X\n[ERROR] [Help 1] http://x\n";
        let message = failed("mvn", "server@1", said).to_string();
        assert!(message.ends_with(": [ERROR] Could not find artifact x"), "{message}");
    }

    #[test]
    fn git_is_quoted_by_the_file_that_one_that_was_killed_has_left() {
        let said = "fatal: Unable to create '/x/packed-refs.lock': File exists.\n\n\
                    Another git process seems to be running in this repository, e.g.\n\
                    an editor opened by 'git commit'. Please make sure all processes\n\
                    are terminated then try again. If it still fails, a git process\n\
                    may have crashed in this repository earlier:\n\
                    remove the file manually to continue.\n";
        let message = failed("git", "git x", said).to_string();
        assert!(message.ends_with(": fatal: Unable to create '/x/packed-refs.lock': File exists."));
    }

    #[test]
    fn a_version_is_not_looked_for_in_the_path_of_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("MariaDB 10/bin");
        fs_err::create_dir_all(&bin).unwrap();
        let (binary, loader) = (bin.join("mysqld"), vec!["/bin/sh".to_owned()]);
        fs_err::write(&binary, "echo \"$0  Ver 8.0.36 for Linux\"\n").unwrap();
        let program = Program { binary, loader, environment: Vec::new() };
        assert_eq!(ask_version(&program, None).unwrap(), "mysqld  Ver 8.0.36 for Linux\n");
    }

    #[test]
    fn an_answer_is_asked_for_in_a_bare_environment() {
        let words = ["env".to_owned()];
        let answer = ask(&words, &[("LD_LIBRARY_PATH".to_owned(), "/x".to_owned())], None).unwrap();
        let mut lines: Vec<&str> = answer.text.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["LC_ALL=C", "LD_LIBRARY_PATH=/x", "PATH=/usr/bin:/bin"]);
    }
}
