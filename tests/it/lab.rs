//! What the tests share: folders, commands, tables.

use std::{
    borrow::BorrowMut,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A folder for one test's results, and the commands that run in it.
pub(crate) struct Lab {
    folder: tempfile::TempDir,
    has_small_logs: bool,
}

/// The folder of a lab's own files of the catalog.
const CATALOG: &str = "catalog";
/// Commands that start servers by the files of a catalog.
const STARTING: [&str; 4] = ["plan", "run", "up", "verify"];
/// Configurations on which all others of their products are built, and their sizes of the log.
const WITH_LOGS: [(&str, &str, &[&str]); 2] = [
    (
        "mysql",
        include_str!("../../catalog/configs/mysql/base.toml"),
        &["log_file_size]\nvalue = \"512M\"", "redo_log_capacity]\nvalue = \"1G\""],
    ),
    (
        "mariadb",
        include_str!("../../catalog/configs/mariadb/base.toml"),
        &["log_file_size]\nvalue = \"1G\"\nbefore = { \"10.5\" = \"512M\" }"],
    ),
];

/// Adds an end of line to a file, which its checksum finds.
pub(crate) fn lengthen(file: &Path) {
    let whole = std::fs::read(file).unwrap();
    std::fs::write(file, [&whole, &b"\n"[..]].concat()).unwrap();
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), has_small_logs: false }
    }

    /// With logs of 16 MiB in the place of 1 GiB, which servers write before they do anything: for
    /// tests of which many run at a time, on disks that are slow.
    pub(crate) fn with_small_logs() -> Self {
        let lab = Self { has_small_logs: true, ..Self::new() };
        for (product, base, sizes) in WITH_LOGS {
            let mut text = base.to_owned();
            for size in sizes {
                assert!(text.contains(size), "{product}: {size}");
                let small = size.replace("512M", "16M").replace("1G", "16M");
                text = text.replace(size, &small);
            }
            let folder = format!("{CATALOG}/configs/{product}");
            std::fs::create_dir_all(lab.path(&folder)).unwrap();
            lab.write(&format!("{folder}/base.toml"), &text);
        }
        lab
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The folders of a run's records.
    pub(crate) fn records_of(&self, run: &str) -> Vec<PathBuf> {
        let all = std::fs::read_dir(self.path("dbdyno-results/records")).unwrap().flatten();
        let is_own = |record: &PathBuf| {
            std::fs::read_to_string(record.join("trial.toml")).unwrap().contains(run)
        };
        all.map(|record| record.path()).filter(is_own).collect()
    }

    /// The binary with arguments, in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
        command.args(arguments).current_dir(self.folder.path()).env("NO_COLOR", "1");
        let starts = arguments.first().is_some_and(|one| STARTING.contains(one));
        if self.has_small_logs && starts && !arguments.contains(&"--catalog") {
            command.args(["--catalog", CATALOG]);
        }
        command.env_remove("COLUMNS");
        // Tests load the host all at once, and are not to refuse or mark each other.
        command.env("DBDYNO_ANNOUNCEMENTS", self.folder.path());
        // Tests disturb each other.
        command.env("DBDYNO_NO_REPETITION", "1");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its stdout.
    #[track_caller]
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        self.ends(0, arguments).0
    }

    /// Runs a command that must be refused, and returns its stderr.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str]) -> String {
        self.ends(2, arguments).1
    }

    /// Runs a command that must end with this exit code, and returns its stdout and its stderr.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> (String, String) {
        ends(code, self.command(arguments))
    }

    /// The slices of all records, those of one record in their order.
    pub(crate) fn slices(&self) -> Vec<serde_json::Value> {
        let texts = self.of_records("slices.jsonl");
        let lines = texts.iter().flat_map(|text| text.lines());
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The text of a file of every record.
    pub(crate) fn of_records(&self, file: &str) -> Vec<String> {
        let records = std::fs::read_dir(self.path("dbdyno-results/records")).unwrap().flatten();
        records.map(|record| std::fs::read_to_string(record.path().join(file)).unwrap()).collect()
    }

    /// `compare --format json` of the results folder.
    pub(crate) fn comparison(&self) -> serde_json::Value {
        serde_json::from_str(&self.succeed(&["compare", "--format", "json"])).unwrap()
    }
}

/// Runs a command that must end with this exit code, and returns its stdout and its stderr.
#[track_caller]
pub(crate) fn ends(code: i32, mut command: impl BorrowMut<Command>) -> (String, String) {
    let command: &mut Command = command.borrow_mut();
    let output = command.output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{out}\n{err}");
    (out, err)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value of one metric of one variant, or of the base, in one workload.
pub(crate) fn value(
    comparison: &serde_json::Value,
    workload: &str,
    variant: &str,
    metric: &str,
) -> Option<f64> {
    let rows = |key: &str| comparison[key].as_array().unwrap();
    // What has no variant beside it is told as a base alone.
    let rows = rows("comparisons").iter().chain(rows("bases"));
    let mut rows = rows.filter(|r| r["workload"] == workload && r["metric"] == metric);
    rows.find_map(|row| {
        let is = |key: &str| row[key].as_str().is_some_and(|name| name.starts_with(variant));
        let key = [("variant", "value"), ("base", "base_value")].into_iter().find(|(k, _)| is(k));
        key.and_then(|(_, value)| row[value].as_f64())
    })
}

/// The same, which has to be there. None, with the reason printed, where the run says that a busy
/// host cost it slices.
#[track_caller]
pub(crate) fn known(
    comparison: &serde_json::Value,
    workload: &str,
    variant: &str,
    metric: &str,
) -> Option<f64> {
    let found = value(comparison, workload, variant, metric);
    let place = format!("{variant} {workload}: no {metric}");
    if found.is_none() && is_lost(comparison, &place) { None } else { Some(found.expect(&place)) }
}

/// Whether a busy host cost a comparison slices, which is printed as the reason of a skip.
pub(crate) fn is_lost(comparison: &serde_json::Value, what: &str) -> bool {
    let warnings = comparison["warnings"].to_string();
    let is_lost = is_told_of_lost(&warnings);
    if is_lost {
        println!("skipped: {what}: {warnings}");
    }
    is_lost
}

/// Whether a row has so many blocks, or fewer because a busy host cost it some, which is said.
pub(crate) fn has_blocks(row: &serde_json::Value, blocks: u64, warnings: &str) -> bool {
    let found = row["blocks"].as_u64().unwrap();
    found == blocks || (1..blocks).contains(&found) && is_told_of_lost(warnings)
}

/// Whether warnings say that slices are left out.
pub(crate) fn is_told_of_lost(warnings: &str) -> bool {
    [" slice left out: ", " slices left out: "].iter().any(|words| warnings.contains(words))
}

/// Ids of living processes whose command line or environment names `word`.
pub(crate) fn processes_naming(word: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && text(&line).contains(word) {
            found.push(pid);
        }
    }
    found
}

/// Identifiers of System V shared memory segments created by one of `pids`.
pub(crate) fn segments_of(pids: &[u32]) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let creator: u32 = fields.get(4)?.parse().ok()?;
        pids.contains(&creator).then(|| fields[1].to_owned())
    };
    table.lines().skip(1).filter_map(of).collect()
}

/// The only folder below `parent`, once there is one.
pub(crate) fn only_child(parent: &Path) -> Option<PathBuf> {
    std::fs::read_dir(parent).ok()?.flatten().next().map(|entry| entry.path())
}
