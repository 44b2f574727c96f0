//! What the server user can do through a server, and what root must not do then.

use crate::{
    bench::{bench, bench_at},
    wire::Connection,
};
use dbms::Places;
use rustix::process::geteuid;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

/// A superuser of Postgres executes programs as the server user: it replaces and plants what it
/// can. Then root starts the server again, copies its data, and removes the run.
pub(crate) fn programs_of_a_superuser() {
    if !geteuid().is_root() {
        println!("  skipped: servers run as the caller, who is the attacker's user already");
        return;
    }
    let bench = bench("attack");
    let subject = bench.subject("postgres@18", &["shared_buffers=16MB"]);
    bench.initialise(&subject);
    let server = bench.start(&subject).unwrap();
    let precious = Precious::new();
    let script = script(bench.place.data(), &subject.label, &precious);
    let mut connection = Connection::open(server.target()).unwrap();
    connection.query(&format!("COPY (SELECT 1) TO PROGRAM '{script}'")).unwrap();
    let said = fs::read_to_string(subject.data.join("said")).unwrap();
    assert!(said.contains("planted data"), "the attack did not happen: {said}");
    for folder in ["run", "root", "log", "conf", "data", "sockets", "builds"] {
        assert!(!said.contains(&format!("replaced {folder}")), "{said}");
    }
    drop(connection);
    server.stop().unwrap();
    // The next start, the copy of the data, and the end of the run.
    bench.start(&subject).unwrap().stop().unwrap();
    let copy = bench.place.folder_for_data("block").unwrap().join("copy");
    dbms::copy_folder(&subject.data, &copy).unwrap();
    assert!(fs::symlink_metadata(copy.join("link")).unwrap().is_symlink());
    assert!(!copy.join("pipe").exists());
    precious.check();
    let folder = bench.place.data().to_owned();
    bench.keeper.clone().end().unwrap();
    bench.place.remove().unwrap();
    assert!(!folder.exists());
    precious.check();
}

/// Another user of this host neither lists nor reads nor enters anything of a run.
pub(crate) fn another_user() {
    if !geteuid().is_root() {
        println!("  skipped: only root can act as another user");
        return;
    }
    let bench = bench("stranger");
    let subject = bench.subject("postgres@18", &["shared_buffers=16MB"]);
    bench.initialise(&subject);
    let server = bench.start(&subject).unwrap();
    let run = bench.place.data();
    let targets = [
        bench.places.runs(),
        run.to_owned(),
        subject.data.clone(),
        run.join("log"),
        run.join("conf"),
        run.join("tmp"),
        bench.place.sockets().to_owned(),
    ];
    for folder in targets {
        assert!(!stranger("ls", &[folder.to_str().unwrap()]), "{} is listed", folder.display());
    }
    let conf = run.join("conf").join(&subject.label).join("server.conf");
    assert!(conf.exists() && !stranger("cat", &[conf.to_str().unwrap()]));
    let build = bench.places.builds();
    assert!(stranger("ls", &[build.to_str().unwrap()]), "strangers cannot even execute `ls`");
    let written = build.join("x");
    assert!(!stranger("touch", &[written.to_str().unwrap()]));
    server.stop().unwrap();
}

/// One byte of a library that the server maps is changed, and its times are as before.
pub(crate) fn changed_library() {
    let original = bench("unchanged").subject("postgres@18", &[]).installed.basedir;
    // A copy, because other tests start the build itself.
    let root = tempfile::tempdir().unwrap();
    let user = geteuid().is_root().then(|| Places::of_this_host(dbms::SERVER_USER).unwrap().user);
    let places = Places::at(root.path(), user.flatten()).unwrap();
    let copied = Command::new("cp").arg("-a").args([&original, &places.builds()]).status();
    assert!(copied.unwrap().success());
    let bench = bench_at(places, "changed");
    let subject = bench.subject("postgres@18", &["shared_buffers=16MB"]);
    let folder = subject.installed.basedir.clone();
    assert!(folder.starts_with(bench.places.builds()));
    bench.initialise(&subject);
    let server = bench.start(&subject).unwrap();
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    let mut mapped =
        maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let is_library = |path: &&Path| path.starts_with(folder.join("lib"));
    let library = mapped.find(is_library).expect("it maps libraries of its build");
    server.stop().unwrap();

    let bytes = fs::read(library).unwrap();
    let change = |at: usize, byte: u8| {
        let times = fs::metadata(library).unwrap().modified().unwrap();
        let mut changed = bytes.clone();
        changed[at] = byte;
        fs::write(library, changed).unwrap();
        fs::File::options().write(true).open(library).unwrap().set_modified(times).unwrap();
    };
    let middle = bytes.len() / 2;
    change(middle, bytes[middle] ^ 1);
    let message = bench.start(&subject).unwrap_err().to_string();
    let expected = format!(
        "the build `postgres@{}` has changed since it was installed: `{}` differs",
        subject.installed.version,
        library.display()
    );
    assert!(message.starts_with(&expected), "{message}");
    change(middle, bytes[middle]);
    bench.start(&subject).unwrap().stop().unwrap();
}

fn stranger(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=64321", "--regid=64321", "--clear-groups", program]).args(words);
    command.output().unwrap().status.success()
}

/// A folder and a file that no run may touch.
struct Precious {
    folder: tempfile::TempDir,
}

impl Precious {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::set_permissions(folder.path().join("secret"), PermissionsExt::from_mode(0o600))
            .unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn secret(&self) -> PathBuf {
        self.folder.path().join("secret")
    }

    fn check(&self) {
        assert_eq!(fs::read_to_string(self.secret()).unwrap(), "secret");
        let (folder, file) =
            (fs::metadata(self.folder.path()).unwrap(), fs::metadata(self.secret()).unwrap());
        assert_eq!((folder.uid(), folder.mode() & 0o7777), (0, 0o755));
        assert_eq!((file.uid(), file.mode() & 0o7777), (0, 0o600));
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 1);
    }
}

/// The attacker's program: it says what it could replace by a link, in the file `said`.
fn script(run: &Path, label: &str, precious: &Precious) -> String {
    let (folder, secret) = (precious.folder.path().display(), precious.secret());
    let secret = secret.display();
    let data = run.join("data").join(label);
    let (data, root) = (data.display(), run.parent().unwrap().parent().unwrap().display());
    let run = run.display();
    let replace = |name: &str, path: String, target: String| {
        format!("mv {path} {path}.x && ln -s {target} {path} && echo replaced {name}\n")
    };
    let text = [
        "exec 2>&1\n".to_owned(),
        replace("run", run.to_string(), folder.to_string()),
        replace("root", format!("{root}/run"), folder.to_string()),
        replace("builds", format!("{root}/builds"), folder.to_string()),
        replace("log", format!("{run}/log/{label}"), folder.to_string()),
        replace("conf", format!("{run}/conf/{label}/server.conf"), secret.to_string()),
        replace("data", data.to_string(), folder.to_string()),
        replace("sockets", format!("{root}/s"), folder.to_string()),
        format!("ln -s {secret} {data}/link && ln -s {folder} {data}/folder\n"),
        format!("ln {secret} {data}/hard\nmkfifo {data}/pipe\n"),
        format!("ln -s {secret} {run}/tmp/{label}/server.conf\n"),
        format!("ln -s {folder} {run}/tmp/{label}/folder && echo planted data\nexit 0\n"),
    ];
    // Single quotes would end the statement's text.
    let file = precious
        .folder
        .path()
        .parent()
        .unwrap()
        .join(format!("dbdyno-attack-{}.sh", std::process::id()));
    fs::write(&file, text.concat()).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    format!("sh {} > {data}/said", file.display())
}
