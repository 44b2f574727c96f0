//! Secrets of an experiment reach its server, and nothing else shows them: no plan, record, report,
//! log, message or command line.

use crate::{
    lab::{Lab, only_child, processes_naming, text},
    running::eventually,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

const EXPERIMENT: &str = r#"
question = "Who sees the secrets?"
suite = "quick"
rows = 2000
blocks = 1
rounds = 1
slice_seconds = 2
warmup_seconds = 0.1
[factors]
build = ["guarded"]
config = ["guarded"]
[servers.guarded]
server = "postgres"
version = "18"
prefix = ["env", "WRAP_TOKEN=hunter2-of-prefix"]
environment = { UPSTREAM_PASSWORD = "hunter2-of-environment" }
[configs.guarded]
extends = "base"
transport = "tcp"
[configs.guarded.settings]
primary_conninfo = { value = "'password=hunter2-of-setting'", secret = true, reason = "a test" }
"#;

/// By an option of the command line, where the caller wrote it.
const SET: [&str; 2] = ["--set", "servers.guarded.environment.EXTRA_TOKEN=\"hunter2-of-option\""];
const SECRET: &str = "hunter2";
/// In the command line of the run itself.
const CALL: &str = " run guarded.toml";

/// The first process of the server, once it has become the server.
fn server_of(run: &str) -> Option<u32> {
    let is_server = |pid: &u32| {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        exe.ends_with("bin/postgres")
    };
    processes_naming(run).into_iter().find(is_server)
}

fn command_line(pid: u32) -> String {
    text(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}

/// What every user of the host can see of processes, and their user of the rest.
#[derive(Default)]
struct Seen {
    lines: BTreeSet<String>,
    environments: BTreeSet<String>,
}

/// Command lines of all processes of a run until its end, and the environments that it gave its
/// own.
fn watch(run: &mut Child) -> Seen {
    let mut seen = Seen::default();
    while run.try_wait().unwrap().is_none() {
        for pid in probe::process_tree(&[run.id()]) {
            let line = command_line(pid);
            // Until it becomes another program, a new process is a copy of the run, with what the
            // caller gave that. At the moment when it becomes one it has no line.
            let is_copy = line.is_empty() || line.contains(CALL);
            seen.lines.insert(line);
            let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            if !is_copy && exe == Path::new(env!("CARGO_BIN_EXE_dbdyno")) {
                let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                seen.environments.insert(text(&environment));
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    seen
}

/// Files below a folder in which a text is.
pub(crate) fn files_with(folder: &Path, secret: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, secret));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let mut parts = bytes.windows(secret.len());
            found.extend(parts.any(|part| part == secret.as_bytes()).then_some(path));
        }
    }
    found
}

#[test]
fn no_secret_is_shown_or_recorded() {
    let lab = Lab::new();
    let experiment = lab.write("guarded.toml", EXPERIMENT);
    for format in ["text", "json"] {
        let plan = lab.succeed(&[&["plan", "guarded.toml", "--format", format], &SET[..]].concat());
        assert!(!plan.contains(SECRET) && plan.contains("guarded"), "{plan}");
    }
    let words = ["run", "guarded.toml", "--counts", "none", "--progress", "plain"];
    let only = ["--only", "point-query", "--keep-data"];
    let open = |name: &str| std::fs::File::create(lab.path(name)).unwrap();
    let mut command = lab.command(&[&words[..], &only, &SET].concat());
    command.env("CALLERS_TOKEN", "hunter2-of-caller");
    command.stdin(Stdio::null()).stdout(open("stdout")).stderr(open("stderr"));
    let mut child = command.spawn().unwrap();
    let said = || std::fs::read_to_string(lab.path("stderr")).unwrap();
    let folder = eventually("a run began", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
        only_child(&lab.path("dbdyno-results/runs"))
    });
    let id = folder.file_name().unwrap().to_string_lossy().into_owned();
    // One that only tries the settings may end before it is looked at.
    let (environment, line) = eventually("a server is up", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
        let server = server_of(&id)?;
        let environment = text(&std::fs::read(format!("/proc/{server}/environ")).ok()?);
        let line = command_line(server);
        (!environment.is_empty() && line.contains("config_file=")).then_some((environment, line))
    });
    // The server has them all, so it is known what must not be found elsewhere.
    for name in ["of-prefix", "of-environment", "of-option"] {
        assert!(environment.contains(name), "{name}: {environment}");
    }
    assert!(!environment.contains("of-caller"), "{environment}");
    let config = line.split(' ').find_map(|word| word.strip_prefix("config_file=")).unwrap();
    assert!(std::fs::read_to_string(config).unwrap().contains("hunter2-of-setting"));
    let place = Path::new(config).ancestors().find(|path| path.ends_with(&id)).unwrap().to_owned();
    let password = std::fs::read_to_string(place.join("password")).unwrap();
    assert_eq!(password.len(), 32);

    let Seen { lines, environments } = watch(&mut child);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", said());
    // The caller's own command has what the caller wrote, and so has `env` until it is the server.
    let ours = |line: &&String| !line.contains(CALL) && !line.starts_with("env ");
    let shown = lines.iter().filter(ours).find(|l| l.contains(SECRET) || l.contains(&password));
    assert_eq!(shown, None);
    assert!(lines.len() > 3 && !environments.is_empty(), "{lines:?}");
    for environment in environments.iter().filter(|all| !all.contains("bin/postgres")) {
        assert!(!environment.contains(SECRET) && !environment.contains(&password), "{environment}");
    }

    for format in ["csv", "json", "table", "tsv"] {
        let table = lab.succeed(&["compare", "--format", format]);
        std::fs::write(lab.path(format), table).unwrap();
    }
    lab.succeed(&["export", "--format", "csv", "--out", "out"]);
    std::fs::remove_file(experiment).unwrap();
    for secret in [SECRET, &password] {
        assert_eq!(files_with(&lab.path(""), secret), Vec::<PathBuf>::new(), "{secret}");
        assert_eq!(files_with(&place.join("log"), secret), Vec::<PathBuf>::new(), "{secret}");
    }
    assert!(!files_with(&lab.path("dbdyno-results"), "***").is_empty(), "nothing is hidden");
    std::fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_server_that_refuses_a_secret_value_is_quoted_without_it() {
    let lab = Lab::new();
    let wrong =
        "shared_buffers = { value = \"'hunter2-wrong'\", secret = true, reason = \"a test\" }";
    lab.write("guarded.toml", &format!("{EXPERIMENT}{wrong}\n"));
    let said = lab.refuses(&["run", "guarded.toml", "--counts", "none", "--progress", "none"]);
    assert!(said.contains("shared_buffers") && said.contains("***"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
}
