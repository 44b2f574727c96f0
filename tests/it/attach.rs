//! Servers that are there already: entered over TLS, measured, and left as they were.

mod agent;
mod away;
mod crash;
mod delay;
mod struck;

use crate::{
    lab::{Lab, known, text, value},
    secrets::files_with,
};
use away::Away;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// A password that is found nowhere.
const CANARY: &str = "hunter2-Canary";
const VARIABLE: &str = "AWAY_PASSWORD";

const EXPERIMENT: &str = r#"
question = "How fast is the server that is there?"
suite = "quick"
design = "classic"
blocks = 1
rows = 1000
read_seconds = 0.5
write_seconds = 0.5
warmup_seconds = 0.1
[factors]
build = ["away"]
[servers.away]
"#;

const POSTGRES_USER: &[&str] = &["CREATE ROLE bench LOGIN CREATEDB PASSWORD 'hunter2-Canary'"];
const MYSQL_USER: &[&str] = &[
    "CREATE USER bench@'127.0.0.1' IDENTIFIED BY 'hunter2-Canary'",
    "GRANT ALL ON `dbdyno\\_%`.* TO bench@'127.0.0.1'",
];

/// Puts an experiment into a lab; `keys` are those of `attach` beside the address.
fn lab_at(away: &Away, keys: &str) -> Lab {
    lab_with_text(away, EXPERIMENT, keys)
}

fn lab_with_text(away: &Away, experiment: &str, keys: &str) -> Lab {
    let lab = lab_with(away, "");
    let attach = format!("host = \"127.0.0.1\", port = {}, {keys}", away.port());
    lab.write("away.toml", &format!("{experiment}attach = {{ {attach} }}\n"));
    lab
}

fn lab_with(away: &Away, attach: &str) -> Lab {
    let lab = Lab::new();
    lab.write("ca.pem", away.certificate());
    lab.write("away.toml", &format!("{EXPERIMENT}attach = {{ {attach} }}\n"));
    lab
}

const GOOD: &str = "user = \"bench\", password_env = \"AWAY_PASSWORD\", tls = { ca = \"ca.pem\" }";

fn run(lab: &Lab) -> Command {
    let mut command = lab.command(&["run", "away.toml", "--progress", "plain"]);
    command.env(VARIABLE, CANARY).stdin(Stdio::null());
    command
}

fn refused(lab: &Lab, output: &Output, parts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in parts {
        assert!(said.contains(part), "`{part}` in\n{said}");
    }
    assert!(!said.contains(CANARY), "{said}");
    assert!(files_with(&lab.path(""), CANARY).is_empty());
}

/// The quick suite on a server; what it printed.
fn measured(away: &Away) -> (Lab, String) {
    let lab = lab_at(away, GOOD);
    let (out, err) = (lab.path("stdout"), lab.path("stderr"));
    let open = |path: &Path| std::fs::File::create(path).unwrap();
    let mut child = run(&lab).stdout(open(&out)).stderr(open(&err)).spawn().unwrap();
    let seen = watch(&mut child);
    let status = child.wait().unwrap();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let said = format!("{}{}", read(&out), read(&err));
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(seen.iter().find(|all| all.contains(CANARY)), None);
    assert!(seen.len() > 2, "{seen:?}");
    assert_eq!(files_with(&lab.path(""), CANARY), Vec::<PathBuf>::new());
    (lab, said)
}

/// Command lines of all processes of a run until its end, and the environments that it gave them.
fn watch(run: &mut Child) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let read = |pid: u32, file: &str| {
        text(&std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default())
    };
    while run.try_wait().unwrap().is_none() {
        for pid in probe::process_tree(&[run.id()]) {
            let line = read(pid, "cmdline");
            // The caller gave the password to the run itself. A new process is a copy of it,
            // without a line of its own at the moment when it becomes another program.
            if !line.is_empty() && !line.contains("\0run\0") {
                seen.insert(read(pid, "environ"));
            }
            seen.insert(line);
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    seen
}

/// A server of a product is measured, with what is known of it and nothing else.
fn measures(away: &Away, product: &str) {
    let (lab, said) = measured(away);
    for part in [&format!("attached to {product} "), "round trip", "point-query", "insert"] {
        assert!(said.contains(part), "`{part}` in\n{said}");
    }
    let comparison = lab.comparison();
    for workload in ["point-query", "range-covered-pk", "update-nonindex", "insert"] {
        let rate = known(&comparison, workload, "away", "ops_per_second");
        assert!(rate.is_none_or(|rate| rate > 0.0), "{workload}: {rate:?}\n{said}");
        for metric in ["server_cpu_us_per_op", "server_user_instructions_per_op"] {
            assert_eq!(value(&comparison, workload, "away", metric), None, "{metric}");
        }
    }
    let trials = lab.of_records("trial.toml");
    let trial: &str = &trials[0];
    assert!(trial.contains("round_trip_us = ") && trial.contains("[settings]"), "{trial}");
    assert!(trial.contains("TLS 1.3"), "{trial}");
    assert_eq!(away.databases(), None);
    assert!(away.server.as_ref().unwrap().is_alive());
}

#[test]
fn mysql_is_measured_with_caching_sha2_over_tls() {
    let away = Away::start("mysql@9", &["innodb_buffer_pool_size=64M"]);
    away.execute(&[
        "CREATE USER bench@'127.0.0.1' IDENTIFIED WITH caching_sha2_password \
         BY 'hunter2-Canary' REQUIRE SSL",
        "GRANT ALL ON `dbdyno\\_%`.* TO bench@'127.0.0.1'",
    ]);
    measures(&away, "mysql");
}

/// Where a host may have MariaDB's plugin, which the packages of the server alone lack.
const PLUGINS: &[&str] = &["/usr/lib/mysql/plugin", "/usr/lib/mariadb/plugin"];

#[test]
fn mariadb_is_measured_with_ed25519_over_tls() {
    let named = std::env::var("DBDYNO_TEST_MARIADB_PLUGINS").ok();
    let folders = named.iter().map(String::as_str).chain(PLUGINS.iter().copied());
    let mut folders = folders.filter(|folder| Path::new(folder).join("auth_ed25519.so").exists());
    let Some(folder) = folders.next() else {
        println!("skipped: no `auth_ed25519.so`; name its folder by DBDYNO_TEST_MARIADB_PLUGINS");
        return;
    };
    let plugins = format!("plugin_dir={folder}");
    let away = Away::start("mariadb@11.8", &["plugin_maturity=unknown", &plugins]);
    away.execute(&[
        "INSTALL SONAME 'auth_ed25519'",
        "CREATE USER bench@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('hunter2-Canary') \
         REQUIRE SSL",
        "GRANT ALL ON `dbdyno\\_%`.* TO bench@'127.0.0.1'",
    ]);
    measures(&away, "mariadb");
}

#[test]
fn postgres_is_measured_with_scram_over_tls() {
    let away = Away::start("postgres@18", &["shared_buffers=64MB"]);
    away.execute(POSTGRES_USER);
    let stored = away.value("SELECT rolpassword FROM pg_authid WHERE rolname = 'bench'").unwrap();
    assert!(stored.starts_with("SCRAM-SHA-256$"), "{stored}");
    measures(&away, "postgres");
}

#[test]
fn what_keeps_us_out_is_one_sentence_and_leaves_nothing() {
    let away = Away::start("postgres@18", &[]);
    away.execute(POSTGRES_USER);
    away.execute(&["CREATE ROLE guest LOGIN PASSWORD 'hunter2-Canary'"]);
    let check = |keys: &str, parts: &[&str]| {
        let lab = lab_at(&away, keys);
        refused(&lab, &run(&lab).output().unwrap(), parts);
        assert_eq!(away.databases(), None, "{keys}");
    };
    let wrong = lab_at(&away, GOOD);
    let output = run(&wrong).env(VARIABLE, "other").output().unwrap();
    let place = format!("127.0.0.1:{}: ", away.port());
    refused(&wrong, &output, &["password authentication failed for user \"bench\"", &place]);
    let output = run(&wrong).env_remove(VARIABLE).output().unwrap();
    refused(&wrong, &output, &["`AWAY_PASSWORD`", "is not set", "export it"]);
    check(&GOOD.replace("bench", "guest"), &["`CREATEDB`", "`ALTER ROLE guest CREATEDB`"]);
    check("user = \"bench\", password_env = \"AWAY_PASSWORD\"", &["signed by nobody", "`tls = "]);
    away.execute(&["CREATE DATABASE dbdyno_mine"]);
    let mine = lab_at(&away, &format!("{GOOD}, database = \"dbdyno_mine\""));
    refused(&mine, &run(&mine).output().unwrap(), &["`dbdyno_mine` exists already"]);
    assert_eq!(away.databases().as_deref(), Some("dbdyno_mine"));
}

#[test]
fn an_address_that_leads_nowhere_is_named() {
    let check = |attach: &str, parts: &[&str]| {
        let lab = Lab::new();
        let attach = format!("product = \"postgres\"\nattach = {{ {attach}, tls = \"off\" }}");
        lab.write("away.toml", &format!("{EXPERIMENT}{attach}\n"));
        refused(&lab, &run(&lab).output().unwrap(), parts);
    };
    check("host = \"no.such.invalid\"", &["`no.such.invalid` does not resolve"]);
    check("host = \"127.0.0.1\", port = 1", &["`127.0.0.1:1`", "refused"]);
    check("socket = \"/no/such/socket\"", &["`/no/such/socket`"]);
    let lab = Lab::new();
    let attach = "product = \"postgres\"\nattach = { service = \"nope\" }\n";
    lab.write("away.toml", &format!("{EXPERIMENT}{attach}"));
    let output = run(&lab).env("PGSERVICEFILE", "/no/such/file").output().unwrap();
    refused(&lab, &output, &["`service nope`: `/no/such/file` is no file", "`PGSERVICEFILE`"]);
}

#[test]
fn mysql_names_the_grant_that_is_missing() {
    let away = Away::start("mysql@9", &["innodb_buffer_pool_size=64M"]);
    away.execute(&[
        "CREATE USER bench@'127.0.0.1' IDENTIFIED BY 'hunter2-Canary'",
        "GRANT SELECT, INSERT, UPDATE, CREATE, DROP, INDEX, ALTER ON `dbdyno\\_bench`.* \
         TO bench@'127.0.0.1'",
    ]);
    let lab = lab_at(&away, GOOD);
    let grant = "`GRANT DELETE ON `dbdyno\\_bench`.* TO `bench`@`127.0.0.1``";
    refused(&lab, &run(&lab).output().unwrap(), &["lacks DELETE on", grant]);
    let output = run(&lab).env(VARIABLE, "other").output().unwrap();
    refused(&lab, &output, &["Access denied for user 'bench'@"]);
    let attach = format!("attach = {{ host = \"127.0.0.1\", port = {}, {GOOD} }}\n", away.port());
    lab.write("away.toml", &format!("{EXPERIMENT}product = \"postgres\"\n{attach}"));
    let mistaken = "greets as `mysql`, and `product` says `postgres`: leave `product` out";
    refused(&lab, &run(&lab).output().unwrap(), &[mistaken]);
    away.execute(&["GRANT ALL ON *.* TO bench@'127.0.0.1'", "SET GLOBAL read_only = 1"]);
    let lab = lab_at(&away, GOOD);
    refused(&lab, &run(&lab).output().unwrap(), &["the server is read-only, as a replica is"]);
    assert_eq!(away.databases(), None);
}

#[test]
fn a_file_of_the_servers_own_clients_says_where_and_how() {
    let away = Away::start("mariadb@11.8", &["innodb_buffer_pool_size=64M"]);
    away.execute(&[
        "CREATE USER bench@'%' IDENTIFIED VIA mysql_native_password USING \
         PASSWORD('hunter2-Canary')",
        "GRANT ALL ON `dbdyno\\_%`.* TO bench@'%'",
    ]);
    // The certificate is for the address, and not for the name.
    let lab = lab_with(&away, "defaults_file = \"my.cnf\", tls = { verify = false }");
    let secret = tempfile::NamedTempFile::new().unwrap();
    let port = away.port();
    let text = format!("[client]\nhost=localhost\nport={port}\nuser=bench\npassword={CANARY}\n");
    std::fs::write(secret.path(), text).unwrap();
    std::os::unix::fs::symlink(secret.path(), lab.path("my.cnf")).unwrap();
    let output = run(&lab).args(["--only", "point-query"]).output().unwrap();
    let said = text_of(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("attached to mariadb 11.8"), "{said}");
    std::fs::remove_file(lab.path("my.cnf")).unwrap();
    assert_eq!(files_with(&lab.path(""), CANARY), Vec::<PathBuf>::new());
    assert_eq!(away.databases(), None);
}

fn text_of(output: &Output) -> String {
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn designs_and_factors_that_start_servers_are_refused_before_anything() {
    let check = |from: &str, to: &str, parts: &[&str]| {
        let lab = Lab::new();
        let text = format!("{EXPERIMENT}product = \"postgres\"\nattach = {{ host = \"h\" }}\n");
        assert!(text.contains(from));
        lab.write("away.toml", &text.replace(from, to));
        refused(&lab, &run(&lab).output().unwrap(), parts);
    };
    let classic = "design = \"classic\"";
    check(classic, "", &["`away` is there already", "cannot be frozen", classic]);
    let factors = "build = [\"away\"]";
    let memory = format!("{factors}\nmemory = [\"1GiB\"]");
    check(factors, &memory, &["`memory` acts on the start", "`away` is there already"]);
    let config = format!("{factors}\nconfig = [\"durable\"]");
    check(factors, &config, &["`config` acts on the start", "`away` is there already"]);
    let attach = "product = \"postgres\"\n";
    check(attach, "basedir = \"/opt/pg\"\n", &["remove `basedir`", "runs as it is"]);
}
