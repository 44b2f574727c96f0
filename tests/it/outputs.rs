//! What commands write, and what they leave alone: files of others, damaged runs, missing paths.

use crate::{
    archives::write_archive,
    errors::{QUESTION, SUITE, as_nobody},
    lab::{Lab, text},
};
use std::path::Path;

/// A folder with the archive of two variants.
fn imported() -> Lab {
    let lab = Lab::with_small_logs();
    write_archive(&lab);
    lab.succeed(&["import", "mine"]);
    lab
}

#[test]
fn a_report_overwrites_pages_only() {
    let lab = imported();
    let letter = lab.write("letter", "dear reader");
    let said = lab.refuses(&["report", "--out", "letter"]);
    assert!(said.contains("`letter` is a file and does not end in `.html`"), "{said}");
    assert_eq!(std::fs::read_to_string(letter).unwrap(), "dear reader");
    let page = lab.write("page.HTML", "");
    lab.succeed(&["report", "--out", "page.HTML"]);
    assert!(std::fs::read_to_string(page).unwrap().starts_with("<!DOCTYPE html>"));
    lab.succeed(&["report", "--out", "page.HTML"]);
}

#[test]
fn a_page_of_another_one_is_left_alone() {
    let lab = imported();
    std::fs::create_dir(lab.path("pages")).unwrap();
    let index = lab.write("pages/index.html", "<title>mine</title>");
    for command in ["report", "site"] {
        let said = lab.refuses(&[command, "--out", "pages"]);
        assert!(said.contains("`pages/index.html` is not overwritten"), "{said}");
        assert!(said.contains("no page of dbdyno: name another path with `--out`"), "{said}");
        assert_eq!(std::fs::read_dir(lab.path("pages")).unwrap().count(), 1, "{command}");
    }
    std::fs::remove_file(&index).unwrap();
    lab.succeed(&["site", "--out", "pages"]);
    lab.succeed(&["site", "--out", "pages"]);
    let said = lab.refuses(&["report", "--out", "pages"]);
    assert!(said.contains("because `dbdyno site` wrote it"), "{said}");
    std::fs::remove_file(&index).unwrap();
    lab.succeed(&["report", "--out", "pages"]);
    lab.succeed(&["report", "--out", "pages"]);
    let said = lab.refuses(&["site", "--out", "pages"]);
    assert!(said.contains("because `dbdyno report` wrote it"), "{said}");
}

#[test]
fn bases_and_groups_are_named_as_tables_show_them() {
    let lab = imported();
    let table = lab.succeed(&["compare", "--base", "my2.c"]);
    assert!(table.contains("`x.my1.c.pk1` compared with `x.my2.c.pk1`"), "{table}");
    lab.succeed(&["compare", "--base", "old", "--alias", "x.my1.c.pk1=old"]);
    let said = lab.refuses(&["compare", "--base", "my3"]);
    assert!(said.contains("no variant fits `my3` of `--base`"), "{said}");
    lab.write("groups", "my1.c\nmy2.c\n");
    let export = ["export", "--format", "mytools", "--out", "out", "--groups", "groups"];
    lab.succeed(&export);
    let said = lab.refuses(&[&export[..], &["--variant", "my1.c"]].concat());
    assert!(said.contains("'--variant"), "{said}");
}

#[test]
fn what_is_there_is_imported_beside_a_path_that_is_not() {
    let lab = Lab::with_small_logs();
    write_archive(&lab);
    let said = lab.refuses(&["import", "nosuch", "mine"]);
    assert!(said.contains("`nosuch`: there is no such file or folder"), "{said}");
    let table = lab.succeed(&["compare"]);
    assert!(table.contains("from `mine`"), "{table}");
}

#[test]
fn a_damaged_run_costs_a_line_and_not_the_list() {
    let lab = imported();
    let short = ["run", "--counts", "none", "--only", "point-query", "--progress", "none"];
    let short = [&short[..], &["--set", "rows=500", "--set", "blocks=1"]].concat();
    let short = [&short[..], &["--set", "slice_seconds=0.05"]].concat();
    lab.succeed(&short);
    lab.succeed(&short);
    let runs = lab.path("dbdyno-results/runs");
    let mut own: Vec<_> = std::fs::read_dir(runs).unwrap().flatten().map(|e| e.path()).collect();
    own.sort();
    std::fs::remove_file(own[1].join("plan.json")).unwrap();
    std::fs::remove_file(own[2].join("run.json")).unwrap();
    let (list, said) = lab.ends(0, &["list", "runs"]);
    assert!(list.lines().count() == 2 && list.contains("damaged"), "{list}");
    assert!(said.contains("run.json` is missing"), "{said}");
    let (_, said) = lab.ends(0, &["compare", "--all"]);
    assert!(said.contains("left out: ") && said.contains("plan.json"), "{said}");
    let (_, said) = lab.ends(0, &["export", "--all", "--format", "csv", "--out", "out"]);
    assert!(said.contains("left out: ") && said.contains("plan.json"), "{said}");
}

#[test]
fn what_is_no_bank_is_refused_without_dangerous_advice() {
    let lab = imported();
    lab.write("letter", "dear reader");
    let said = lab.refuses(&["compare", "--bank", "letter"]);
    assert!(said.contains("`letter` is no bank that `dbdyno calibrate` wrote"), "{said}");
    assert!(!said.contains("remove"), "{said}");
}

#[test]
fn a_metric_that_nothing_was_measured_of_is_named() {
    let lab = imported();
    let output = lab.run(&["compare", "--metric", "latency_us_p99"]);
    let said = text(&output.stderr);
    assert!(said.contains("nothing was measured of `latency_us_p99`"), "{said}");
    let said = lab.refuses(&["compare", "--metric", "status.Foo"]);
    assert!(said.contains("no record has a counter `status.Foo` that moved"), "{said}");
    let title = "Throughput: operations per second";
    assert!(!text(&output.stdout).contains(title), "only that metric is asked for");
    assert!(lab.succeed(&["compare", "--metric", "ops_per_second"]).contains(title));
    assert!(lab.succeed(&["compare"]).contains(title));
}

/// What a user who is not root sees with this home and this folder of caches; none as another user.
fn without_home(lab: &Lab, cache: Option<&str>, arguments: &[&str]) -> Option<(i32, String)> {
    let mut command = as_nobody(lab, arguments)?;
    command.env("HOME", "/nonexistent").env_remove("XDG_CACHE_HOME");
    command.envs(cache.map(|cache| ("XDG_CACHE_HOME", cache)));
    let output = command.output().unwrap();
    Some((output.status.code().unwrap(), text(&output.stderr)))
}

#[test]
fn whoever_only_looks_needs_no_home() {
    let base = [QUESTION, SUITE, "factors.build = [\"sqlite\"]"].join("\n");
    let looks: [&[&str]; 2] = [&["plan", "base.toml"], &["list", "builds", "sqlite"]];
    for arguments in looks {
        let lab = Lab::with_small_logs();
        lab.write("base.toml", &base);
        let Some((code, said)) = without_home(&lab, None, arguments) else { return };
        assert_eq!(code, 0, "{arguments:?}: {said}");
    }
    // The second one asks which versions there are.
    for arguments in [["run", "base.toml"], ["plan", "mysql-5.6-vs-9"]] {
        let lab = Lab::with_small_logs();
        lab.write("base.toml", &base);
        let Some((code, said)) = without_home(&lab, None, &arguments) else { return };
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("`/nonexistent/.cache/dbdyno` cannot be created"), "{said}");
        assert!(said.contains("set `XDG_CACHE_HOME` to a folder that you may write to"), "{said}");
    }
    let lab = Lab::with_small_logs();
    let list = ["list", "builds", "sqlite"];
    let Some((code, said)) = without_home(&lab, Some("here"), &list) else { return };
    assert!(code == 0 && said.contains("`XDG_CACHE_HOME` is `here`, no absolute path"), "{said}");
    assert!(!lab.path("here").exists());
}

#[test]
fn a_results_folder_that_cannot_be_entered_is_said_with_the_reason() {
    let lab = Lab::with_small_logs();
    std::os::unix::fs::symlink("loop", lab.path("loop")).unwrap();
    let said = lab.refuses(&["list", "runs", "--results", "loop"]);
    assert!(said.contains("a symbolic link that leads to itself; name another folder"), "{said}");
    let private = lab.path("private");
    std::fs::create_dir_all(private.join("runs")).unwrap();
    std::fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .unwrap();
    let list = ["list", "runs", "--results", "private"];
    let Some((code, said)) = without_home(&lab, None, &list) else { return };
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("belongs to user `root`, who does not let others in"), "{said}");
}

#[test]
fn what_is_none_is_refused_in_one_sentence() {
    let lab = Lab::with_small_logs();
    lab.write(".toml", &[QUESTION, SUITE, "factors.build = [\"sqlite\"]"].join("\n"));
    lab.write("e.toml", "suite = \"quick\"\nquestion = \"\"\nfactors.build = [\"sqlite\"]\n");
    let check = |arguments: &[&str], expected: &str| {
        let said = lab.refuses(arguments);
        assert!(said.contains(expected) && said.lines().count() == 1, "{arguments:?}: {said}");
    };
    check(&["collect", "nix"], "no fan-out in `nix`; `dbdyno submit EXPERIMENT --folder nix`");
    check(&["show", "experiment", "/etc/passwd"], "`/etc/passwd`: this is no experiment: ");
    check(&["plan", ".toml"], "this file has no name before `.toml`; rename it");
    check(&["plan", "e.toml"], "`e.toml:2`: the experiment has no `question`");
    lab.write("mine.txt", "");
    check(&["plan", "mine.txt"], "there is the file `mine.txt`: name it by its path, `./mine.txt`");
    check(&["list"], "say what to list, as in `dbdyno list builds`; there are `servers`");
    let set = ["plan", "quickstart", "--set", "require=[root]"];
    check(&set, "texts in a list or a table have double quotes, and the whole has single ones");
    check(&["plan", "a\nb\t.toml"], "a\\nb\\t.toml");
    check(&["pla\nn"], "`pla\\nn`");
}

#[test]
fn names_from_outside_stay_on_their_line() {
    let lab = imported();
    let alias = ["compare", "--alias", "x.my2.c.pk1=a\nb\tc"];
    let output = lab.run(&alias);
    let all = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && all.contains("a\\nb\\tc"), "{all}");
    assert!(!all.contains("a\nb"), "{all}");
    let said = lab.refuses(&["compare", "--alias", "no\nne=x"]);
    assert!(said.contains("`no\\nne`") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_number_of_clients_that_no_file_tells_is_empty() {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/archives");
    let archive = archive.join("nov25.sb.mysql");
    if !archive.is_dir() {
        println!("skipped: the archive nov25.sb.mysql is not beside this repository");
        return;
    }
    let lab = Lab::with_small_logs();
    let output = lab.run(&["import", &archive.display().to_string()]);
    let said = text(&output.stderr);
    let sum = said.lines().find_map(|line| line.strip_prefix("752 files: ")).unwrap();
    let numbers = sum.split(", ").filter_map(|part| part.split(' ').next()?.parse::<u64>().ok());
    assert_eq!(numbers.sum::<u64>(), 752, "{said}");
    let csv = lab.succeed(&["compare", "--format", "csv"]);
    let titles: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let place = titles.iter().position(|title| *title == "clients").unwrap();
    let clients = |line: &str| line.split(',').nth(place).unwrap().to_owned();
    let load = csv.lines().find(|line| line.starts_with("nov25.sb.mysql,load,load")).unwrap();
    assert_eq!(clients(load), "", "{load}");
    assert!(csv.lines().skip(1).all(|line| clients(line) != "0"));
}

/// A report of sysbench with this rate.
fn sysbench(rate: f64) -> String {
    let text = include_str!("../../crates/archive/tests/data/sysbench-1.0.txt");
    let queries = "162498 (8121.98 per sec";
    assert!(text.contains(queries));
    // In the 20.007 s of the report.
    text.replace(queries, &format!("{:.0} ({rate:.2} per sec", 20.007 * rate))
}

#[test]
fn repeated_runs_of_sysbench_are_judged_and_one_alone_is_told_the_remedy() {
    let lab = Lab::with_small_logs();
    for (variant, rate) in [("after", 900.0), ("before", 1000.0)] {
        std::fs::create_dir_all(lab.path(variant)).unwrap();
        for (number, noise) in (1..).zip([-2.0, 1.0, 3.0, 0.0, -1.0]) {
            lab.write(&format!("{variant}/read-{number}.txt"), &sysbench(rate + noise));
        }
    }
    let said = lab.succeed(&["import", "before", "after"]);
    assert!(said.contains("of 2 variants, up to 5 repetitions"), "{said}");
    let table = lab.succeed(&["compare", "latest"]);
    assert!(
        table.contains("`after` compared with `before`: 0.90x throughput (p < 0.001)"),
        "{table}"
    );
    assert!(table.contains("hold if the runs of the variants alternated"), "{table}");
    std::fs::remove_file(lab.path("after/read-2.txt")).unwrap();
    lab.succeed(&["import", "before", "after"]);
    let said = text(&lab.run(&["compare", "latest"]).stderr);
    assert!(
        said.contains(
            "in no ratio, and not in the values that it is made of: 1 of `before` in `read`\n"
        ),
        "{said}"
    );
    for (variant, rate) in [("after", 900.0), ("before", 1000.0)] {
        for number in 1..=3 {
            lab.write(&format!("{variant}/write-{number}.txt"), &sysbench(rate));
        }
    }
    lab.succeed(&["import", "before", "after"]);
    let table = lab.succeed(&["compare", "latest"]);
    assert!(table.contains("tests have different blocks"), "{table}");
    lab.succeed(&["import", "after/read-1.txt"]);
    let output = lab.run(&["compare", "latest"]);
    let said = text(&output.stderr);
    assert!(said.contains("import the files of both together"), "{said}");
    let said = lab.refuses(&["report", "--format", "json"]);
    assert!(said.contains("`dbdyno compare`") && said.contains("have it"), "{said}");
}
