//! From an empty folder to a clean stop.

use crate::{
    bench::{Bench, Subject, answers, bench},
    wire::{Connection, PASSWORD},
};
use dbms::{Failure, NotReady, Server, Size};
use model::{
    drive::{Endpoint, Target},
    subject::Transport,
};
use std::{path::Path, time::Duration};

pub(crate) fn postgres() {
    let told = "primary_conninfo='password=hunter2'";
    let settings = [
        "shared_buffers=0.0625GB",
        "io_method?=sync",
        "no_such_setting?=1",
        "auto_explain.log_timing?=off",
        told,
    ];
    live("postgres@18", &settings, "");
}

pub(crate) fn postgres_9_6() {
    live("postgres@9.6", &["shared_buffers=64MB", "io_method?=sync", "no_such_setting?=1"], "");
}

const INNODB: &[&str] = &[
    "innodb_buffer_pool_size=64M",
    "performance_schema=0",
    "no_such_setting?=1",
    "no_such_token?=hunter2",
];

pub(crate) fn mysql_5_5() {
    live("mysql@5.5", INNODB, "");
}

pub(crate) fn mysql_5_6() {
    live("mysql@5.6", INNODB, "");
}

pub(crate) fn mysql_9() {
    live("mysql@9", INNODB, "");
}

pub(crate) fn mariadb() {
    live("mariadb@10.11", INNODB, "");
}

pub(crate) fn mariadb_of_maven() {
    live("mariadb@10.1", INNODB, "");
}

pub(crate) fn myrocks() {
    let settings =
        ["plugin_load_add=ha_rocksdb", "default_storage_engine=rocksdb", "no_such_setting?=1"];
    live("mariadb@10.11", &settings, "rocksdb");
}

pub(crate) fn any(name: &str) {
    let settings: &[&str] = if name.starts_with("postgres") {
        &["shared_buffers=64MB", "no_such_setting?=1"]
    } else {
        INNODB
    };
    live(name, settings, "");
}

fn live(name: &str, settings: &[&str], engine: &str) {
    let bench = bench("life");
    let mut subject = bench.subject(name, settings);
    subject.config.engine = Some(engine.to_owned()).filter(|engine| !engine.is_empty());
    bench.initialise(&subject);
    let mut server = bench.start(&subject).unwrap();
    let ignored = &server.rendered().ignored;
    assert!(ignored.contains(&"no_such_setting".to_owned()), "{ignored:?}");
    assert!(ignored.iter().all(|name| !name.contains('.')), "{ignored:?}");
    assert!(server.rendered().text.contains(settings[0].split('=').next().unwrap()));
    // MySQL and MariaDB quote what they do not know.
    assert!(!server.log_tail(usize::MAX).contains("hunter2"));
    understands(&subject, &server);
    owns_its_tasks(&server, &bench);
    stands_still(&mut server);
    let (pid, target) = (server.pid(), server.target().clone());
    server.stop().unwrap();
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    // What was written before a clean stop is there after the next start.
    let server = bench.start(&subject).unwrap();
    let mut connection = Connection::open(server.target()).unwrap();
    assert_eq!(connection.first_value("SELECT COUNT(*) FROM numbers").unwrap(), "3");
    server.stop().unwrap();
    assert!(answers(&target).is_err());
    let sockets = bench.place.sockets().to_owned();
    bench.keeper.clone().end().unwrap();
    assert!(!sockets.exists());
}

fn understands(subject: &Subject, server: &Server) {
    let product = dbms::find(&subject.installed.server).unwrap();
    let mut connection = Connection::open(server.target()).unwrap();
    connection.query("CREATE TABLE numbers (id INT PRIMARY KEY)").unwrap();
    connection.query("INSERT INTO numbers VALUES (1), (2), (3)").unwrap();
    let settings = connection.query(product.settings_sql()).unwrap();
    assert!(settings.len() > 100 && !format!("{settings:?}").contains("hunter2"));
    let mut told = 0;
    for debt in product.debts(&subject.config) {
        let answer = connection.query(debt.sql);
        told += usize::from(answer.as_ref().is_ok_and(|rows| !rows.is_empty()));
        println!("  {}: {answer:?}", debt.name);
    }
    assert!(told > 0, "no debt is known");
    let version = &subject.installed.version;
    let minute = product.limit_sql(version, Some(Duration::from_secs(60)));
    let none = product.limit_sql(version, None);
    let can_be_told = subject.installed.server != "mysql";
    assert_eq!(minute.is_some(), can_be_told);
    assert_eq!(none.is_some(), can_be_told);
    let settle = product.settle_sql(&subject.config, version);
    for statement in settle.iter().chain(&product.unsettle_sql(&subject.config)) {
        match connection.query(&statement.sql.replace("{table}", "numbers")) {
            Err(error) if statement.failure == Failure::Expected => println!("  expected: {error}"),
            other => drop(other.unwrap()),
        }
    }
    for limit in [minute, none].into_iter().flatten() {
        connection.query(&limit).unwrap();
    }
    sees_an_index_grow(subject, &mut connection);
}

/// The size of tables and indexes is known at once, and not when a server has counted it again.
fn sees_an_index_grow(subject: &Subject, connection: &mut Connection) {
    let product = dbms::find(&subject.installed.server).unwrap();
    let version = &subject.installed.version;
    let size = |connection: &mut Connection| match product.size(&subject.config, version) {
        Size::Sql(sql) => connection.first_value(sql).unwrap().parse::<f64>().unwrap() as u64,
        files @ Size::Files(_) => files.of_files(&subject.data).unwrap(),
    };
    let mut query = |sql: &str| drop(connection.query(sql).unwrap());
    query("CREATE TABLE words (id INT PRIMARY KEY, word VARCHAR(200))");
    query("INSERT INTO words VALUES (0, REPEAT('word', 40))");
    for doubling in 0..16 {
        query(&format!("INSERT INTO words SELECT id + {}, word FROM words", 1 << doubling));
    }
    let before = size(connection);
    connection.query("CREATE INDEX words_word ON words (word, id)").unwrap();
    let after = size(connection);
    println!("  size {before} bytes, with an index {after}");
    // 65,536 entries of 160 letters, more than the room by which files grow; Postgres and MyRocks
    // keep them shorter than they are.
    assert!(before > 0 && after >= before + 100_000, "{before} {after}");
}

fn owns_its_tasks(server: &Server, bench: &Bench) {
    assert!(server.is_alive());
    assert!(server.processes().contains(&server.pid()));
    assert!(server.tasks().len() > 3, "{:?}", server.tasks());
    assert!(!server.tasks().contains(&bench.keeper.pid()));
    if let Some(user) = bench.place.user() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
        let line = format!("Uid:\t{0}\t{0}\t{0}\t{0}", user.uid);
        assert!(status.contains(&line), "{status}");
    }
}

/// CPU time of all tasks, in ticks.
fn ticks(server: &Server) -> u64 {
    let of = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = text[text.rfind(')').unwrap()..].split_whitespace().collect();
        fields[12].parse::<u64>().unwrap() + fields[13].parse::<u64>().unwrap()
    };
    server.processes().into_iter().map(of).sum()
}

fn stands_still(server: &mut Server) {
    let target = server.target().clone();
    let start = std::time::Instant::now();
    server.freeze().unwrap();
    let frozen = start.elapsed();
    let before = ticks(server);
    let asker = std::thread::spawn(move || answers(&target));
    std::thread::sleep(Duration::from_millis(300));
    assert!(!asker.is_finished(), "a frozen server answered");
    assert_eq!(ticks(server), before, "a frozen server used CPU time");
    let start = std::time::Instant::now();
    server.thaw().unwrap();
    println!("  frozen in {frozen:?}, thawed in {:?}", start.elapsed());
    asker.join().unwrap().unwrap();
}

pub(crate) fn tcp() {
    let names = ["postgres@9.6", "postgres@18", "mysql@5.5", "mysql@5.6", "mysql@9"];
    for name in names.into_iter().chain(["mariadb@10.1", "mariadb@10.11"]) {
        let bench = bench("tcp");
        let mut subject = bench.subject(name, &[]);
        subject.config.transport = Transport::Tcp;
        bench.initialise(&subject);
        let server = start_on_tcp(&bench, &subject);
        let Endpoint::Port(port) = server.target().endpoint else { panic!("no port") };
        assert_eq!(listeners(&server), [format!("0100007F:{port:04X}")], "{name}");
        let password = server.target().password.reveal();
        assert_eq!(password.len(), 32);
        shows_no_password(&bench, &server, password);
        server.stop().unwrap();
    }
}

/// Starts a server on TCP, which asks a client that knows no password for one.
fn start_on_tcp(bench: &Bench, subject: &Subject) -> Server {
    let mut ready = |target: &Target| match Connection::open(target).map(drop) {
        Err(error) if error == PASSWORD => Ok(()),
        Err(error) => Err(NotReady::Yet(error)),
        Ok(()) => Err(NotReady::Never("it lets everybody in".to_owned())),
    };
    dbms::start(&bench.launch(subject), &bench.keeper, &mut ready).unwrap()
}

/// Addresses at which a server's processes listen, of both versions of the protocol. A process that
/// ended since they were listed listens nowhere.
fn listeners(server: &Server) -> Vec<String> {
    let mut sockets = Vec::new();
    for pid in server.processes() {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        let links = entries.flatten().flat_map(|entry| std::fs::read_link(entry.path()));
        sockets.extend(links.map(|link| link.display().to_string()));
    }
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in std::fs::read_to_string(table).unwrap_or_default().lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_its = sockets.contains(&format!("socket:[{}]", fields[9]));
            if fields[3] == "0A" && is_its {
                found.push(fields[1].to_owned());
            }
        }
    }
    found
}

/// No command line, environment, log or configuration of a server has its password.
fn shows_no_password(bench: &Bench, server: &Server, password: &str) {
    for pid in server.processes() {
        for file in ["cmdline", "environ"] {
            let text = std::fs::read(format!("/proc/{pid}/{file}"));
            // Others may have ended since they were listed, as the one that a client had.
            assert!(text.is_ok() || pid != server.pid(), "{file}: {text:?}");
            let text = text.unwrap_or_default();
            assert!(!String::from_utf8_lossy(&text).contains(password), "{file}");
        }
    }
    let grep = std::process::Command::new("grep")
        .args(["-rlF", password, "log", "conf", "tmp"])
        .current_dir(bench.place.data())
        .output();
    assert_eq!(String::from_utf8_lossy(&grep.unwrap().stdout), "");
    assert!(!format!("{:?}", server.target()).contains(password));
}

pub(crate) fn wrong_setting() {
    for (name, setting) in [("postgres@18", "shared_bufers=1GB"), ("mysql@5.6", "inodb_x=1")] {
        let bench = bench("wrong");
        let mut subject = bench.subject(name, &[]);
        bench.initialise(&subject);
        subject.config = crate::bench::config(&[setting]);
        let message = bench.start(&subject).unwrap_err().to_string();
        assert!(message.contains("did not start (exit code "), "{message}");
        assert!(message.contains(setting.split('=').next().unwrap()), "{message}");
    }
}

pub(crate) fn data_folder_in_use() {
    let bench = bench("used");
    let subject = bench.subject("postgres@18", &[]);
    bench.initialise(&subject);
    let message = dbms::initialise(&bench.launch(&subject), &bench.keeper).unwrap_err().to_string();
    assert!(message.contains("is not empty"), "{message}");
    let mut other = bench.subject("mysql@5.6", &[]);
    other.data.clone_from(&subject.data);
    let message = bench.start(&other).unwrap_err().to_string();
    assert!(message.contains("mysql did not start"), "{message}");
}

pub(crate) fn socket_or_port_in_use() {
    let bench = bench("taken");
    let mut subject = bench.subject("postgres@18", &[]);
    bench.initialise(&subject);
    let server = bench.start(&subject).unwrap();
    let message = bench.start(&subject).unwrap_err().to_string();
    assert!(message.contains(".s.PGSQL.5432` is in use"), "{message}");
    assert!(server.is_alive());
    server.stop().unwrap();
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    subject.config = crate::bench::config(&[&format!("port={port}")]);
    subject.config.transport = Transport::Tcp;
    let message = bench.start(&subject).unwrap_err().to_string();
    assert!(message.contains(&format!("port `{port}` of 127.0.0.1 is in use")), "{message}");
    drop(listener);
    let server = start_on_tcp(&bench, &subject);
    assert_eq!(server.target().endpoint, model::drive::Endpoint::Port(port));
    server.stop().unwrap();
}

pub(crate) fn allocator() {
    let bench = bench("allocator");
    let mut subject = bench.subject("postgres@18", &[]);
    bench.initialise(&subject);
    let library = "/usr/lib/x86_64-linux-gnu/libnuma.so.1";
    subject.build.environment = vec![("LD_PRELOAD".to_owned(), library.to_owned())];
    if Path::new(library).exists() {
        bench.start(&subject).unwrap().stop().unwrap();
    }
    subject.build.environment[0].1 = "/no/such/allocator.so".to_owned();
    let message = bench.start(&subject).unwrap_err().to_string();
    assert!(
        message.contains("`/no/such/allocator.so` of `LD_PRELOAD` was not loaded"),
        "{message}"
    );
}

/// What is asked for holds for the making of the data folder too.
pub(crate) fn prefix() {
    let bench = bench("prefix");
    let mut subject = bench.subject("mysql@5.6", &[]);
    // The user of the servers writes into it.
    let folder = tempfile::tempdir().unwrap();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path(), everyone).unwrap();
    let told = folder.path().join("told");
    let script = format!("echo \"$DBDYNO_TEST\" >> {}; exec \"$@\"", told.display());
    let words = ["taskset", "-c", "0", "sh", "-c", &script, "sh"];
    subject.build.prefix = words.map(str::to_owned).to_vec();
    subject.build.environment = vec![("DBDYNO_TEST".to_owned(), "1".to_owned())];
    bench.initialise(&subject);
    let steps = std::fs::read_to_string(&told).unwrap();
    assert!(!steps.is_empty() && steps.lines().all(|line| line == "1"), "{steps}");
    let server = bench.start(&subject).unwrap();
    assert!(std::fs::read_to_string(&told).unwrap().len() > steps.len());
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", server.pid()));
    assert!(read("status").unwrap().contains("Cpus_allowed_list:\t0\n"));
    let environment = read("environ").unwrap();
    let mut names: Vec<&str> =
        environment.split_terminator('\0').filter_map(|entry| entry.split('=').next()).collect();
    // The shell sets its own.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["DBDYNO_TEST", "HOME", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ"]);
    server.stop().unwrap();
}

/// Levels of factors are read back from a server, and one without effect is named.
pub(crate) fn factors() {
    for name in ["postgres@18", "mysql@5.6"] {
        let bench = bench("factors");
        let mut subject = bench.subject(name, &[]);
        let mut about = model::subject::Subject {
            label: subject.label.clone(),
            build: subject.build.clone(),
            config: subject.config.clone(),
            levels: Default::default(),
        };
        let levels = [
            ("transport", "tcp"),
            ("cpu_set", "0"),
            ("environment", "DBDYNO_TEST=1"),
            ("prefix", "nice -n 1"),
            ("allocator", "mimalloc"),
        ];
        for (factor, level) in levels {
            dbms::factor::give(factor, level, &mut about, &bench.places).unwrap();
        }
        let mut said = Vec::new();
        let mut say = |text: &str| said.push(text.to_owned());
        let mut watch = dbms::Watch { progress: &mut say, stopped: &|| false };
        dbms::provide_allocators(&about.build, &bench.places, &mut watch).unwrap();
        (subject.build, subject.config) = (about.build.clone(), about.config.clone());
        bench.initialise(&subject);
        let server = start_on_tcp(&bench, &subject);
        let allocator = dbms::allocator_of(server.pid());
        assert!(allocator.contains("mimalloc"), "{allocator} after {said:?}");
        let check = |about: &model::subject::Subject| {
            let up = dbms::factor::Up {
                subject: about,
                pid: server.pid(),
                target: server.target(),
                encryption: None,
                program: &subject.installed.binary,
                version: &subject.installed.version,
                settings: None,
            };
            dbms::factor::check(&up).map_err(|error| error.to_string())
        };
        assert_eq!(check(&about), Ok(()), "{name}");
        let told = |change: &dyn Fn(&mut model::subject::Subject)| {
            let mut other = about.clone();
            change(&mut other);
            check(&other).unwrap_err()
        };
        let cpus = told(&|one| drop(one.levels.insert("cpu_set".to_owned(), "0-1".to_owned())));
        assert!(cpus.starts_with("`cpu_set` had no effect on `"), "{cpus}");
        let variable = told(&|one| one.build.environment[0].1 = "2".to_owned());
        assert!(variable.contains("has no `DBDYNO_TEST=2`"), "{variable}");
        let socket = told(&|one| one.config.transport = Transport::Socket);
        assert!(socket.starts_with("`transport` had no effect on `"), "{socket}");
        server.stop().unwrap();
    }
}

pub(crate) fn import() {
    let bench = bench("import");
    let original = bench.subject("mysql@5.6", &[]);
    let tarball = bench.place.data().join("mysql.tar");
    let mut tar = tar::Builder::new(std::fs::File::create(&tarball).unwrap());
    tar.follow_symlinks(false);
    tar.append_dir_all("mysql-5.6.24-linux/bin", &original.installed.basedir).unwrap();
    tar.finish().unwrap();
    let root = bench.place.data().join("places");
    let places = dbms::Places::at(&root, bench.places.user).unwrap();
    let import = |name: &str| dbms::import_tarball(name, &tarball, &places, &mut |_| {});
    let message = import("mysql@8.0").unwrap_err().to_string();
    assert!(message.contains("is `5.6.24`, not mysql 8.0"), "{message}");
    let outside = import("mysql@../x").unwrap_err();
    assert!(outside.to_string().contains("`mysql@../x`; a version has letters"), "{outside}");
    let message = import("mariadb@").unwrap_err().to_string();
    assert!(message.contains("not a mariadb server"), "{message}");
    let imported = import("mysql@5.6.24").unwrap();
    assert_eq!(imported.binary_sha256, original.installed.binary_sha256);
    let found = dbms::resolve(&original.build, &places).unwrap();
    assert_eq!(found.source, dbms::Source::Cache);
    let left: Vec<_> = std::fs::read_dir(places.builds())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".lock"))
        .collect();
    assert_eq!(left, ["mysql-5.6.24"]);
}

pub(crate) fn basedir() {
    let bench = bench("basedir");
    let original = bench.subject("mysql@5.6", &[]);
    let mut build = original.build.clone();
    build.basedir = Some(original.installed.basedir.clone());
    build.version = String::new();
    let resolved = dbms::resolve(&build, &bench.places).unwrap();
    assert_eq!(resolved.version, "5.6.24");
    let installed = dbms::install(&resolved, &bench.places, &mut |_| {}).unwrap();
    assert_eq!(installed, original.installed);
    build.server = "postgres".to_owned();
    let message = dbms::resolve(&build, &bench.places).unwrap_err().to_string();
    assert!(message.contains("holds no postgres build: `bin/postgres` is missing"), "{message}");
    build.server = "mysql".to_owned();
    build.version = "8.0".to_owned();
    let message = dbms::resolve(&build, &bench.places).unwrap_err().to_string();
    assert!(message.contains("is `5.6.24`, not mysql 8.0"), "{message}");
}
